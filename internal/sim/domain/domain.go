// Package domain is the Active Directory of a local plane, simulated: domains with the users that
// may join computers, the joined computers, and group managed service accounts (gMSA) with the
// computers and users that may retrieve their passwords. It answers the requests of computers that
// join and of Container Credential Guard (CCG), with the messages of Windows.
//
// It is no directory server: it speaks no LDAP and no Kerberos, and knows no machine, no vault and
// no pod. The simulator and internal/plane/supervisor may import it.
package domain

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Domain is one domain.
type Domain struct {
	// Name is the domain's DNS name, NetBIOS its short name.
	Name    string `json:"name"`
	NetBIOS string `json:"netbios"`
	// SID and GUID identify the domain. They are derived from its name.
	SID  string `json:"sid"`
	GUID string `json:"guid"`
	// DNS are the addresses of the domain's DNS servers: a machine that uses other servers does
	// not find the domain.
	DNS       []string   `json:"dns"`
	Users     []User     `json:"users,omitempty"`
	Accounts  []Account  `json:"accounts,omitempty"`
	Computers []Computer `json:"computers,omitempty"`
}

// User is an account with a password.
type User struct {
	Name     string `json:"name"`
	Password string `json:"password,omitempty"`
	// MayJoin is set if the user may join computers.
	MayJoin bool `json:"mayJoin,omitempty"`
}

// Account is a group managed service account.
type Account struct {
	Name string `json:"name"`
	// Allowed are the principals that may retrieve the account's password
	// (PrincipalsAllowedToRetrieveManagedPassword): names of computers or users, or the group
	// DomainComputers.
	Allowed []string `json:"allowed"`
	// Expired is set if the account's password has expired.
	Expired bool `json:"expired,omitempty"`
}

// Computer is a joined computer. Owner distinguishes machines with the same computer name.
type Computer struct {
	Name  string `json:"name"`
	Owner string `json:"owner"`
}

// DomainComputers is the group of all joined computers.
const DomainComputers = "Domain Computers"

// maxNetBIOS is the largest length of a NetBIOS name. Source:
// learn.microsoft.com/troubleshoot/windows-server/active-directory/naming-conventions-for-computer-domain-site-ou.
const maxNetBIOS = 15

// Error is a system error of Windows.
// Source: learn.microsoft.com/windows/win32/debug/system-error-codes.
type Error struct {
	Code    uint32
	Message string
}

// Error returns the message of Windows.
func (e *Error) Error() string { return e.Message }

// The errors of joining a domain and of CCG.
var (
	ErrAccessDenied    = &Error{5, "Access is denied."}
	ErrLogonFailure    = &Error{1326, "The user name or password is incorrect."}
	ErrPasswordExpired = &Error{1330, "The password for this account has expired."}
	ErrNoSuchDomain    = &Error{1355, "The specified domain either does not exist or could not be contacted."}
	ErrNoSuchAccount   = &Error{1317, "The specified account does not exist."}
	ErrTrust           = &Error{1789, "The trust relationship between this workstation and the primary domain failed."}
)

// Directory contains all domains of a plane and stores them in a file. A nil Directory has no
// domains. Its methods may be called concurrently.
type Directory struct {
	file string

	mu      sync.Mutex
	domains []Domain
}

// Open returns a Directory with the domains in a file; it is empty if the file does not exist.
func Open(file string) (*Directory, error) {
	d := &Directory{file: file}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &d.domains); err != nil {
		return nil, fmt.Errorf("read the simulated domains of %s: %w; delete the file to begin without any", filepath.Base(file), err)
	}
	return d, nil
}

var (
	dnsName     = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$`)
	accountName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

// check returns an error for a domain that Active Directory refuses.
func (d Domain) check() error {
	if !dnsName.MatchString(d.Name) {
		return fmt.Errorf("domain %q: its name is no DNS name of two parts or more, such as corp.example", d.Name)
	}
	if !accountName.MatchString(d.NetBIOS) || len(d.NetBIOS) > maxNetBIOS {
		return fmt.Errorf("domain %s: its NetBIOS name %q is none of 1 to %d letters, digits and hyphens", d.Name, d.NetBIOS, maxNetBIOS)
	}
	if len(d.DNS) == 0 {
		return fmt.Errorf("domain %s: it has no DNS server; without one no machine finds it", d.Name)
	}
	for _, s := range d.DNS {
		if _, err := netip.ParseAddr(s); err != nil {
			return fmt.Errorf("domain %s: DNS server %q is no IP address", d.Name, s)
		}
	}
	for _, u := range d.Users {
		if !accountName.MatchString(u.Name) || u.Password == "" {
			return fmt.Errorf("domain %s: user %q needs a plain name and a password", d.Name, u.Name)
		}
	}
	for _, a := range d.Accounts {
		// The SamAccountName has at most 15 characters before its $. Source:
		// learn.microsoft.com/powershell/module/activedirectory/new-adserviceaccount.
		if !accountName.MatchString(a.Name) || len(a.Name) > maxNetBIOS {
			return fmt.Errorf("domain %s: the gMSA's name %q is none of 1 to %d characters, without $", d.Name, a.Name, maxNetBIOS)
		}
	}
	return nil
}

// identify sets the fields that are derived from the name.
func (d *Domain) identify() {
	d.Name = strings.ToLower(d.Name)
	if d.NetBIOS == "" {
		first, _, _ := strings.Cut(d.Name, ".")
		d.NetBIOS = strings.ToUpper(first[:min(len(first), maxNetBIOS)])
	}
	h := sha256.Sum256([]byte(d.Name))
	part := func(at int) uint32 { return binary.BigEndian.Uint32(h[at:]) }
	d.SID = fmt.Sprintf("S-1-5-21-%d-%d-%d", part(0), part(4), part(8))
	d.GUID = fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", part(12), part(16)>>16, part(16)&0xfff, part(20)&0xfff, h[24:30])
}

// Add adds a domain.
func (s *Directory) Add(d Domain) error {
	d.identify()
	d.Computers = nil
	if err := d.check(); err != nil {
		return err
	}
	return s.edit(func() error {
		if s.named(d.Name) != nil {
			return fmt.Errorf("the domain %s is there already; remove it first", d.Name)
		}
		s.domains = append(s.domains, d)
		return nil
	})
}

// Remove removes a domain.
func (s *Directory) Remove(name string) error {
	return s.edit(func() error {
		if s.named(name) == nil {
			return fmt.Errorf("there is no domain %s", name)
		}
		s.domains = slices.DeleteFunc(s.domains, func(d Domain) bool { return strings.EqualFold(d.Name, name) })
		return nil
	})
}

// SetAccount creates or changes a gMSA of a domain.
func (s *Directory) SetAccount(name string, a Account) error {
	return s.edit(func() error {
		d := s.named(name)
		if d == nil {
			return fmt.Errorf("there is no domain %s", name)
		}
		changed := *d
		changed.Accounts = slices.DeleteFunc(slices.Clone(d.Accounts), func(o Account) bool { return strings.EqualFold(o.Name, a.Name) })
		changed.Accounts = append(changed.Accounts, a)
		if err := changed.check(); err != nil {
			return err
		}
		*d = changed
		return nil
	})
}

// List returns the domains, sorted by name, without passwords.
func (s *Directory) List() []Domain {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Domain{}
	for _, d := range s.domains {
		d.Users = slices.Clone(d.Users)
		for i := range d.Users {
			d.Users[i].Password = ""
		}
		d.Accounts, d.Computers = slices.Clone(d.Accounts), slices.Clone(d.Computers)
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b Domain) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// named returns the domain with a DNS or NetBIOS name, or nil. The caller has locked s.
func (s *Directory) named(name string) *Domain {
	for i := range s.domains {
		if d := &s.domains[i]; strings.EqualFold(d.Name, name) || strings.EqualFold(d.NetBIOS, name) {
			return d
		}
	}
	return nil
}

// edit applies a change to the domains and saves them.
func (s *Directory) edit(change func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := slices.Clone(s.domains)
	err := change()
	if err == nil {
		err = s.save()
	}
	if err != nil {
		s.domains = before
	}
	return err
}

// save writes the file, which contains passwords, atomically.
func (s *Directory) save() error {
	if s.file == "" {
		return nil
	}
	data, err := json.Marshal(s.domains)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(s.file), filepath.Base(s.file)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), s.file)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // only the first error is reported
	}
	return err
}

// find returns the domain with a name, if a client with these DNS servers can find it.
func (s *Directory) find(name string, dns []string) (*Domain, error) {
	d := s.named(name)
	if d == nil || !slices.ContainsFunc(dns, func(server string) bool { return slices.Contains(d.DNS, server) }) {
		return nil, ErrNoSuchDomain
	}
	return d, nil
}

// Credential is a user with a password.
type Credential struct {
	// User is NAME, DOMAIN\NAME or NAME@DOMAIN.
	User, Password string
}

// user returns the user of a credential after checking the password.
func (d *Domain) user(c Credential) (User, error) {
	name := c.User
	if of, rest, ok := strings.Cut(name, `\`); ok {
		if !strings.EqualFold(of, d.NetBIOS) && !strings.EqualFold(of, d.Name) {
			return User{}, ErrLogonFailure
		}
		name = rest
	} else if rest, of, ok := strings.Cut(name, "@"); ok {
		if !strings.EqualFold(of, d.Name) {
			return User{}, ErrLogonFailure
		}
		name = rest
	}
	for _, u := range d.Users {
		if strings.EqualFold(u.Name, name) && subtle.ConstantTimeCompare([]byte(u.Password), []byte(c.Password)) == 1 {
			return u, nil
		}
	}
	return User{}, ErrLogonFailure
}

// Join joins a computer and returns the domain's DNS name.
func (s *Directory) Join(domain string, dns []string, c Computer, by Credential) (joined string, err error) {
	if s == nil {
		return "", ErrNoSuchDomain
	}
	err = s.edit(func() error {
		d, err := s.find(domain, dns)
		if err != nil {
			return err
		}
		u, err := d.user(by)
		if err != nil {
			return err
		}
		if !u.MayJoin {
			return ErrAccessDenied
		}
		computers := slices.DeleteFunc(slices.Clone(d.Computers), func(o Computer) bool { return strings.EqualFold(o.Name, c.Name) })
		d.Computers = append(computers, c)
		joined = d.Name
		return nil
	})
	return joined, err
}

// Trusts returns nil if a domain trusts a computer that joined it, and ErrTrust if another machine
// has taken over the computer's account.
func (s *Directory) Trusts(domain string, dns []string, c Computer) error {
	if s == nil {
		return ErrNoSuchDomain
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.find(domain, dns)
	if err != nil {
		return err
	}
	return d.trusts(c)
}

func (d *Domain) trusts(c Computer) error {
	for _, o := range d.Computers {
		if strings.EqualFold(o.Name, c.Name) && o.Owner == c.Owner {
			return nil
		}
	}
	return ErrTrust
}

// AsComputer requests a gMSA's password as a joined computer. No password is returned: success is
// the absence of an error.
func (s *Directory) AsComputer(domain string, dns []string, c Computer, account string) error {
	return s.retrieve(domain, dns, account, func(d *Domain) (string, error) { return c.Name, d.trusts(c) }, true)
}

// AsUser requests a gMSA's password as a user. Like AsComputer it returns no password.
func (s *Directory) AsUser(domain string, dns []string, by Credential, account string) error {
	return s.retrieve(domain, dns, account, func(d *Domain) (string, error) {
		u, err := d.user(by)
		return u.Name, err
	}, false)
}

func (s *Directory) retrieve(domain string, dns []string, account string, logon func(*Domain) (string, error), computer bool) error {
	if s == nil {
		return ErrNoSuchDomain
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.find(domain, dns)
	if err != nil {
		return err
	}
	who, err := logon(d)
	if err != nil {
		return err
	}
	for _, a := range d.Accounts {
		switch {
		case !strings.EqualFold(a.Name, strings.TrimSuffix(account, "$")):
		case !a.allows(who, computer):
			return ErrAccessDenied
		case a.Expired:
			return ErrPasswordExpired
		default:
			return nil
		}
	}
	return ErrNoSuchAccount
}

func (a Account) allows(who string, computer bool) bool {
	return slices.ContainsFunc(a.Allowed, func(p string) bool {
		return computer && strings.EqualFold(p, DomainComputers) || strings.EqualFold(strings.TrimSuffix(p, "$"), who)
	})
}
