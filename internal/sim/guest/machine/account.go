package machine

import (
	"fmt"
	"strings"
)

// AddUser makes an account and its home, if it is not there. Reports whether it
// was made.
func (m *Machine) AddUser(name, gecos, shell string) (bool, error) {
	if !validUser(name) {
		return false, fmt.Errorf("%q is no user name", name)
	}
	home := m.Home(name)
	made := !m.Root.IsDir(home)
	if err := m.Root.MkdirAll(home); err != nil {
		return false, fmt.Errorf("make the home of user %s: %w", name, err)
	}
	if m.OS == Linux && !m.HasUser(name) {
		line := fmt.Sprintf("%s:x:%d:%d:%s:%s:%s\n", name, 1000+len(m.Users())-1, 1000+len(m.Users())-1, gecos, home, shell)
		if err := m.Root.AppendFile("/etc/passwd", []byte(line), 0o644); err != nil {
			return made, fmt.Errorf("add user %s: %w", name, err)
		}
	}
	return made, nil
}

// validUser keeps names apart from paths and lines.
func validUser(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\:*?\"<>|\x00\r\n")
}

// HasUser says whether an account exists.
func (m *Machine) HasUser(name string) bool {
	if !validUser(name) {
		return false
	}
	if m.OS == Windows {
		return m.Root.IsDir(m.Home(name))
	}
	data, err := m.Root.ReadFile("/etc/passwd")
	return err == nil && strings.Contains("\n"+string(data), "\n"+name+":")
}

// AuthorizedKeys is the guest path of a user's SSH keys.
func (m *Machine) AuthorizedKeys(user string) string {
	return m.Root.Abs(m.Home(user), ".ssh/authorized_keys")
}

// SetAuthorizedKeys replaces a user's SSH keys.
func (m *Machine) SetAuthorizedKeys(user string, keys []string) error {
	var lines strings.Builder
	for _, k := range keys {
		if k = strings.TrimSpace(k); k != "" {
			lines.WriteString(k + "\n")
		}
	}
	if err := m.Root.MkdirAll(m.Root.Abs(m.Home(user), ".ssh")); err != nil {
		return fmt.Errorf("keys of user %s: %w", user, err)
	}
	if err := m.Root.WriteFile(m.AuthorizedKeys(user), []byte(lines.String()), 0o600); err != nil {
		return fmt.Errorf("keys of user %s: %w", user, err)
	}
	return nil
}
