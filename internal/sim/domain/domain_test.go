package domain

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func corp() Domain {
	return Domain{
		Name: "Corp.example", DNS: []string{"10.1.0.4"},
		Users: []User{{Name: "joiner", Password: "right", MayJoin: true}, {Name: "reader", Password: "other"}},
		Accounts: []Account{{Name: "WebApp1", Allowed: []string{DomainComputers, "reader"}},
			{Name: "Old", Allowed: []string{"web-1"}, Expired: true}},
	}
}

func open(t *testing.T) *Directory {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "domains.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Add(corp()); err != nil {
		t.Fatal(err)
	}
	return d
}

var (
	near  = []string{"10.1.0.4"}
	azure = []string{"168.63.129.16"}
	web1  = Computer{"WEB-1", "vm1"}
)

func TestJoin(t *testing.T) {
	for name, tc := range map[string]struct {
		domain string
		dns    []string
		by     Credential
		want   error
	}{
		"as a user":          {"corp.example", near, Credential{`CORP\joiner`, "right"}, nil},
		"by principal name":  {"CORP", near, Credential{"joiner@corp.example", "right"}, nil},
		"wrong password":     {"corp.example", near, Credential{`CORP\joiner`, "wrong"}, ErrLogonFailure},
		"user of another":    {"corp.example", near, Credential{`OTHER\joiner`, "right"}, ErrLogonFailure},
		"user may not":       {"corp.example", near, Credential{"reader", "other"}, ErrAccessDenied},
		"Azure's DNS":        {"corp.example", azure, Credential{"joiner", "right"}, ErrNoSuchDomain},
		"no network":         {"corp.example", nil, Credential{"joiner", "right"}, ErrNoSuchDomain},
		"no such domain":     {"elsewhere.example", near, Credential{"joiner", "right"}, ErrNoSuchDomain},
		"no password at all": {"corp.example", near, Credential{"joiner", ""}, ErrLogonFailure},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			joined, err := d.Join(tc.domain, tc.dns, web1, tc.by)
			if !errors.Is(err, tc.want) || err == nil && joined != "corp.example" {
				t.Errorf("joined %q, %v, want %v", joined, err, tc.want)
			}
		})
	}
}

func TestRetrieve(t *testing.T) {
	d := open(t)
	ask := func(c Computer, account string) error { return d.AsComputer("corp.example", near, c, account) }
	if err := ask(web1, "WebApp1"); !errors.Is(err, ErrTrust) {
		t.Errorf("before it joined: %v", err)
	}
	if _, err := d.Join("corp.example", near, web1, Credential{"joiner", "right"}); err != nil {
		t.Fatal(err)
	}
	if err := ask(web1, "WebApp1$"); err != nil {
		t.Errorf("a computer of the domain: %v", err)
	}
	if err := ask(Computer{"web-1", "vm2"}, "WebApp1"); !errors.Is(err, ErrTrust) {
		t.Errorf("another machine of the same name: %v", err)
	}
	if err := ask(web1, "Old"); !errors.Is(err, ErrPasswordExpired) {
		t.Errorf("an expired password: %v", err)
	}
	if err := ask(web1, "None"); !errors.Is(err, ErrNoSuchAccount) {
		t.Errorf("an account that is not there: %v", err)
	}
	if err := d.SetAccount("corp.example", Account{Name: "webapp1", Allowed: []string{"web-2"}}); err != nil {
		t.Fatal(err)
	}
	if err := ask(web1, "WebApp1"); !errors.Is(err, ErrAccessDenied) {
		t.Errorf("a computer that may not: %v", err)
	}
	if err := d.AsUser("corp.example", near, Credential{"reader", "other"}, "Old"); !errors.Is(err, ErrAccessDenied) {
		t.Errorf("a user that may not: %v", err)
	}
	if err := d.SetAccount("corp.example", Account{Name: "Old", Allowed: []string{"reader"}}); err != nil {
		t.Fatal(err)
	}
	if err := d.AsUser("corp.example", near, Credential{`corp\reader`, "other"}, "Old"); err != nil {
		t.Errorf("a user that may: %v", err)
	}
}

func TestKept(t *testing.T) {
	d := open(t)
	if _, err := d.Join("corp.example", near, web1, Credential{"joiner", "right"}); err != nil {
		t.Fatal(err)
	}
	again, err := Open(d.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Trusts("corp.example", near, web1); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	if info, err := os.Stat(d.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with passwords: %v, %v", info, err)
	}
	for _, u := range again.List()[0].Users {
		if u.Password != "" {
			t.Errorf("the list shows the password of %s", u.Name)
		}
	}
	if again.named("corp.example").Users[0].Password != "right" {
		t.Error("the list took the password away")
	}
}

func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Domain)
		want   string
	}{
		"single label":   {func(d *Domain) { d.Name = "corp" }, "DNS name"},
		"no server":      {func(d *Domain) { d.DNS = nil }, "no DNS server"},
		"server's name":  {func(d *Domain) { d.DNS = []string{"dc.corp.example"} }, "no IP address"},
		"long account":   {func(d *Domain) { d.Accounts[0].Name = "WebApplication01" }, "1 to 15"},
		"long NetBIOS":   {func(d *Domain) { d.NetBIOS = "CORPORATIONOFEXAMPLE" }, "NetBIOS"},
		"empty password": {func(d *Domain) { d.Users[0].Password = "" }, "password"},
	} {
		t.Run(name, func(t *testing.T) {
			d := corp()
			tc.change(&d)
			if err := new(Directory).Add(d); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if err := open(t).Add(corp()); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second one: %v", err)
	}
	var none *Directory
	if _, err := none.Join("corp.example", near, web1, Credential{}); !errors.Is(err, ErrNoSuchDomain) {
		t.Errorf("without domains: %v", err)
	}
}
