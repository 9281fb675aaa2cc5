package machine

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// AddUser adds a user account and its home directory. It returns false if the account exists
// already.
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
		if err := m.AddGroup(name); err != nil {
			return made, err
		}
	}
	return made, nil
}

// validUser reports whether a user name is neither a path nor breaks a line of /etc/passwd.
func validUser(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\:*?\"<>|\x00\r\n")
}

// HasUser reports whether an account exists.
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

// Account is a line of /etc/passwd.
type Account struct {
	Name        string
	UID, GID    int
	Home, Shell string
}

// Group is a line of /etc/group.
type Group struct {
	Name    string
	GID     int
	Members []string
}

// Account returns a Linux account by its name.
func (m *Machine) Account(name string) (Account, bool) {
	for _, f := range m.database("/etc/passwd", 7) {
		if f[0] == name {
			uid, _ := strconv.Atoi(f[2])
			gid, _ := strconv.Atoi(f[3])
			return Account{f[0], uid, gid, f[5], f[6]}, true
		}
	}
	return Account{}, false
}

// Groups returns the Linux groups in the order of /etc/group.
func (m *Machine) Groups() (out []Group) {
	for _, f := range m.database("/etc/group", 4) {
		gid, _ := strconv.Atoi(f[2])
		out = append(out, Group{f[0], gid, strings.FieldsFunc(f[3], func(r rune) bool { return r == ',' })})
	}
	return out
}

// HasGroup reports whether a Linux group exists.
func (m *Machine) HasGroup(name string) bool {
	return slices.ContainsFunc(m.Groups(), func(g Group) bool { return g.Name == name })
}

// GroupsOf returns the groups of a user, the primary group first.
func (m *Machine) GroupsOf(user string) []Group {
	account, _ := m.Account(user)
	own := Group{Name: user, GID: account.GID}
	var more []Group
	for _, g := range m.Groups() {
		switch {
		case g.GID == account.GID:
			own = g
		case slices.Contains(g.Members, user):
			more = append(more, g)
		}
	}
	return append([]Group{own}, more...)
}

// AddGroup adds a Linux group unless it exists, and adds members to it.
func (m *Machine) AddGroup(name string, members ...string) error {
	data, err := m.Root.ReadFile("/etc/group")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("add group %s: %w", name, err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	gid, found := 1000, false
	for i, line := range lines {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(f) != 4 {
			continue
		}
		if n, err := strconv.Atoi(f[2]); err == nil && n >= gid && n < 60000 {
			gid = n + 1
		}
		if f[0] == name {
			found = true
			all := strings.FieldsFunc(f[3], func(r rune) bool { return r == ',' })
			for _, m := range members {
				if !slices.Contains(all, m) {
					all = append(all, m)
				}
			}
			f[3] = strings.Join(all, ",")
			lines[i] = strings.Join(f, ":") + "\n"
		}
	}
	if !found {
		lines = append(lines, fmt.Sprintf("%s:x:%d:%s\n", name, gid, strings.Join(members, ",")))
	}
	return m.Root.WriteFile("/etc/group", []byte(strings.Join(lines, "")), 0o644)
}

// database returns the fields of each line of a file such as /etc/passwd.
func (m *Machine) database(file string, fields int) (rows [][]string) {
	data, err := m.Root.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), ":"); len(f) == fields {
			rows = append(rows, f)
		}
	}
	return rows
}

// AuthorizedKeys returns the guest path of a user's SSH keys.
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

// account is the salted hash of a password.
type account struct{ Salt, Hash []byte }

// passwordRounds is the number of rounds of the hash: enough to make guessing slow, and few enough for tests.
const passwordRounds = 10_000

// accountsFile stores the hashes of passwords, beside the file tree.
const accountsFile = "accounts.json"

func (m *Machine) accounts() (map[string]account, error) {
	out := map[string]account{}
	data, err := m.Folder.ReadFile(accountsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(data, &out)
}

// SetPassword gives a user a password, and adds a missing user. Only a salted hash of the password is stored.
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
	return m.Folder.WriteFile(accountsFile, data)
}
