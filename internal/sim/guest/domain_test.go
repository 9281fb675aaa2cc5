package guest

import (
	"bytes"
	"context"
	"io"
	"net/netip"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/domain"
)

// TestDomain runs the commands of scripts that join a machine, and then the queries of an administrator.
func TestDomain(t *testing.T) {
	const credential = `$c = New-Object PSCredential 'CORP\joiner', (ConvertTo-SecureString 'right' -AsPlainText -Force); `
	const add = `Add-Computer -DomainName corp.example -Credential $c -ErrorAction Stop`
	for name, tc := range map[string]struct {
		dns    []string
		before string // a script; the machine restarts after it
		script string
		want   []string
		code   int
	}{
		"joins": {[]string{"10.1.0.4"}, credential + add,
			"(Get-CimInstance Win32_ComputerSystem).Domain; Test-ComputerSecureChannel; Test-ADServiceAccount WebApp1",
			[]string{"corp.example", "True\r\nTrue"}, 0},
		"asks nltest": {[]string{"10.1.0.4"}, credential + add, "nltest /sc_query:corp.example", []string{"0x0 NERR_Success"}, 0},
		"after a restart": {
			[]string{"10.1.0.4"}, "", credential + add + "; (Get-CimInstance Win32_ComputerSystem).PartOfDomain",
			[]string{"after you restart", "False"}, 0,
		},
		"twice": {[]string{"10.1.0.4"}, credential + add, credential + add, []string{"already in that domain"}, 1},
		"wrong password": {[]string{"10.1.0.4"}, "", strings.Replace(credential, "right", "wrong", 1) + add, []string{"failed " +
			"to join domain 'corp.example' from its current workgroup 'WORKGROUP' with following error " +
			"message: The user name or password is incorrect."}, 1},
		"other DNS": {nil, "", credential + add,
			[]string{"The specified domain either does not exist or could not be contacted."}, 1},
		"DNS by script": {nil, "",
			"Set-DnsClientServerAddress -InterfaceAlias Ethernet -ServerAddresses 10.1.0.4; " + credential + add,
			[]string{"after you restart"}, 0},
		"long name": {[]string{"10.1.0.4"}, "", credential + add + " -NewName a-name-of-17-char", []string{"limited to 15 bytes"}, 1},
		"not joined": {[]string{"10.1.0.4"}, "",
			"Test-ADServiceAccount WebApp1; nltest /sc_query:corp.example", []string{"False", "0x54b"}, 1},
		"account unknown": {
			[]string{"10.1.0.4"}, credential + add, "Install-ADServiceAccount Nobody -ErrorAction Stop",
			[]string{"Cannot install service account. Error Message: 'The specified account does not exist.'"}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := domain.Open("")
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Add(domain.Domain{
				Name: "corp.example", DNS: []string{"10.1.0.4"}, Users: []domain.User{{Name: "joiner", Password: "right", MayJoin: true}},
				Accounts: []domain.Account{{Name: "WebApp1", Allowed: []string{domain.DomainComputers}}},
			}); err != nil {
				t.Fatal(err)
			}
			g, err := New(Config{Machine: Machine{
				ID: "/vm", Dir: t.TempDir(), OS: Windows, ComputerName: "web-1",
				IPs: []netip.Addr{netip.MustParseAddr("10.1.0.9")}, DNS: tc.dns, Directory: d,
				Image: Image{Name: "Windows Server 2022", Build: "10.0.20348.2700"},
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			boot := func() {
				if err := g.Boot(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			boot()
			if tc.before != "" {
				if code := g.Exec(context.Background(), tc.before, nil, io.Discard, io.Discard); code != 0 {
					t.Fatalf("joining ended with %d", code)
				}
				g.Stop()
				boot()
			}
			var out bytes.Buffer
			code := g.Exec(context.Background(), tc.script, nil, &out, &out)
			if code != tc.code {
				t.Errorf("code %d, want %d", code, tc.code)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in:\n%s", want, out.String())
				}
			}
			if strings.Contains(out.String(), "'right'") || strings.Contains(out.String(), "wrong'") {
				t.Errorf("the output has the password:\n%s", out.String())
			}
		})
	}
}
