package host

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/domain"
	"casement.dev/casement/internal/sim/guest"
	guestmachine "casement.dev/casement/internal/sim/guest/machine"
)

// ccgNode returns a Windows machine of a domain's network, whose metadata service and key
// vault are servers of the test.
func ccgNode(t *testing.T, secret string) *node {
	t.Helper()
	directory, err := domain.Open("")
	if err != nil {
		t.Fatal(err)
	}
	if err := directory.Add(domain.Domain{
		Name: "corp.example", DNS: []string{"10.1.0.4"},
		Users: []domain.User{{Name: "joiner", Password: "right", MayJoin: true}, {Name: "reader", Password: "right"}},
		Accounts: []domain.Account{{Name: "WebApp1", Allowed: []string{"reader", domain.DomainComputers}},
			{Name: "Old", Allowed: []string{domain.DomainComputers}, Expired: true}, {Name: "Closed", Allowed: []string{"another"}}},
	}); err != nil {
		t.Fatal(err)
	}
	body, err := guest.New(guest.Config{Machine: guest.Machine{
		ID: "/vm", Dir: t.TempDir(), OS: guest.Windows, ComputerName: "web-1", IPs: []netip.Addr{netip.MustParseAddr("10.1.0.9")},
		DNS: []string{"10.1.0.4"}, Directory: directory, Image: guest.Image{Name: "Windows Server 2022", Build: "10.0.20348.2700"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { body.Close() })
	if err := body.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata") != "true" || r.URL.Query().Get("object_id") != "principal" {
			http.Error(w, "no identity", http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"access_token": "token of %s"}`, r.URL.Query().Get("resource"))
	}))
	t.Cleanup(metadata.Close)
	vault := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token of https://com" || r.URL.Path != "/secrets/join" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, `{"value": %q}`, secret)
	}))
	t.Cleanup(vault.Close)
	roots := x509.NewCertPool()
	roots.AddCert(vault.Certificate()) // the certificate of example.com
	return &node{body: body, console: io.Discard, ctx: t.Context(), web: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			to := metadata.Listener.Addr().String()
			if strings.HasSuffix(address, ":443") {
				to = vault.Listener.Addr().String()
			}
			return new(net.Dialer).DialContext(ctx, network, to)
		},
	}}
}

func specOf(account, plugin string) string {
	active := "{}"
	if plugin != "" {
		active = fmt.Sprintf(`{"HostAccountConfig": {"PortableCcgVersion": "1", "PluginGUID": "{CCC2A336-D7F3-4818-A213-272B7924213E}", `+
			`"PluginInput": %q}}`, plugin)
	}
	return fmt.Sprintf(`{"DomainJoinConfig": {"DnsName": "corp.example", "NetBiosName": "CORP", "MachineAccountName": %q},
		"ActiveDirectoryConfig": %s}`, account, active)
}

// TestContainerIdentity checks the answers of CCG for each kind of credential spec, on machines that have
// joined a domain and on others.
func TestContainerIdentity(t *testing.T) {
	const input = "ObjectId=principal;SecretUri=https://example.com/secrets/join"
	const reader = `CORP\reader:right`
	for name, tc := range map[string]struct {
		joined, plugged bool
		spec, secret    string
		want            string // the identity, or a part of the error message
	}{
		"joined":      {true, false, specOf("WebApp1", ""), "", `CORP\WebApp1$`},
		"not joined":  {false, false, specOf("WebApp1", ""), "", "0x8007054b"},
		"expired":     {true, false, specOf("Old", ""), "", "the credential spec's account Old"},
		"not allowed": {true, false, specOf("Closed", ""), "", "Access is denied"},
		"unknown":     {true, false, specOf("Other", ""), "", "the credential spec's account Other"},
		"no JSON":     {true, false, "{", "", "the credential spec is no JSON object"},
		"no account":  {true, false, "{}", "", "no DomainJoinConfig with DnsName and MachineAccountName"},
		"a plug-in":   {false, true, specOf("WebApp1", input), reader, `CORP\WebApp1$`},
		"no plug-in":  {false, false, specOf("WebApp1", input), reader, "Object was not found in registry"},
		"another plug-in": {false, true, strings.Replace(specOf("WebApp1", input), "CCC2A336", "00000000", 1),
			reader, "Object was not found in registry"},
		"another identity": {false, true, specOf("WebApp1", strings.Replace(input, "principal", "else", 1)),
			reader, "the metadata service gives no token"},
		"another secret": {false, true, specOf("WebApp1", input+"s"), reader, "the key vault refuses: 403"},
		"http": {false, true, specOf("WebApp1", strings.Replace(input, "https", "http", 1)), reader,
			"SecretUri is no https URL"},
		"a secret of no user":  {false, true, specOf("WebApp1", input), "secret-without-colon", `is not of the form DOMAIN\USER:PASSWORD`},
		"a wrong password":     {false, true, specOf("WebApp1", input), `CORP\reader:wrong`, "0x8007052e"},
		"a user who may not":   {false, true, specOf("WebApp1", input), `CORP\joiner:right`, "0x80070005"},
		"a network that is up": {true, false, specOf("webapp1$", ""), "", `CORP\webapp1$`},
	} {
		t.Run(name, func(t *testing.T) {
			n := ccgNode(t, tc.secret)
			if tc.joined {
				run := `$c = New-Object PSCredential 'CORP\joiner', (ConvertTo-SecureString 'right' -AsPlainText -Force)
Add-Computer -DomainName corp.example -Credential $c -ErrorAction Stop`
				if code := n.body.Exec(t.Context(), run, nil, io.Discard, io.Discard); code != 0 {
					t.Fatalf("joining ended with %d", code)
				}
				if err := n.body.Machine().SettleDomain(); err != nil {
					t.Fatal(err)
				}
			}
			if tc.plugged {
				if err := n.body.Machine().Registry().Set(pluginKey+keyVaultPlugin, "",
					guestmachine.Value{Kind: "String", Text: "plug-in"}); err != nil {
					t.Fatal(err)
				}
			}
			got, err := n.containerIdentity(t.Context(), "c", tc.spec)
			if err != nil {
				got = err.Error()
				if !strings.Contains(got, "hcs::CreateComputeSystem c: ") {
					t.Errorf("the error does not name the container: %s", got)
				}
			}
			if !strings.Contains(got, tc.want) || err == nil && got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if _, password, some := strings.Cut(tc.secret, ":"); strings.Contains(got, tc.secret) &&
				tc.secret != "" || some && strings.Contains(got, ":"+password) {
				t.Errorf("the answer has the secret: %q", got)
			}
		})
	}
}

// FuzzCredentialSpec: any credential spec is either parsed completely or refused.
func FuzzCredentialSpec(f *testing.F) {
	f.Add(specOf("WebApp1", ""))
	f.Add(specOf("WebApp1", "ObjectId=principal;SecretUri=https://example.com/secrets/join"))
	f.Add(`{"DomainJoinConfig": []}`)
	f.Add("null")
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := parseCredentialSpec(text)
		if err == nil && (spec.DomainJoinConfig.DnsName == "" || spec.DomainJoinConfig.MachineAccountName == "") {
			t.Errorf("%q was taken without a domain or an account", text)
		}
		if config := spec.ActiveDirectoryConfig.HostAccountConfig; err == nil && config != nil {
			for name, value := range pluginInput(config.PluginInput) {
				if strings.ContainsAny(name, ";=") || strings.Contains(value, ";") {
					t.Errorf("%q: the input has %q = %q", text, name, value)
				}
			}
		}
	})
}
