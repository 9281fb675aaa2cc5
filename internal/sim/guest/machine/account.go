package machine

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// account is what the guest keeps of a password, as an OS does: enough to know it
// again.
type account struct{ Salt, Hash []byte }

// passwordRounds makes guessing slow and a test quick.
const passwordRounds = 10_000

func (m *Machine) accountsFile() string { return filepath.Join(m.Dir, "accounts.json") }

func (m *Machine) accounts() (map[string]account, error) {
	out := map[string]account{}
	data, err := os.ReadFile(m.accountsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(data, &out)
}

// SetPassword gives a user a password, and makes the user if need be. Of the
// password a salted hash is kept.
func (m *Machine) SetPassword(user, password string) error {
	if _, err := m.AddUser(user, "", "/bin/bash"); err != nil {
		return err
	}
	accounts, err := m.accounts()
	if err != nil {
		return fmt.Errorf("accounts of guest %s: %w", m.ComputerName, err)
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails (crypto/rand)
	hash, err := pbkdf2.Key(sha256.New, password, salt, passwordRounds, sha256.Size)
	if err != nil {
		return err
	}
	accounts[strings.ToLower(user)] = account{salt, hash}
	data, err := json.Marshal(accounts)
	if err != nil {
		return err
	}
	return os.WriteFile(m.accountsFile(), data, 0o600)
}

// PasswordIs says whether it is the user's password.
func (m *Machine) PasswordIs(user, password string) bool {
	accounts, err := m.accounts()
	a, ok := accounts[strings.ToLower(user)]
	if err != nil || !ok {
		return false
	}
	hash, err := pbkdf2.Key(sha256.New, password, a.Salt, passwordRounds, sha256.Size)
	return err == nil && subtle.ConstantTimeCompare(hash, a.Hash) == 1
}
