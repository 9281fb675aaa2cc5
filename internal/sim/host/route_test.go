package host

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/fabric"
)

// TestRoute: a guest can connect to declared addresses, with the TLS configuration of its program,
// and to nothing else on this computer.
func TestRoute(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	m := testHost(t.TempDir())
	defer m.Close()
	const declared = "api.casement.internal:6443"
	m.config.Route = func(address string) string {
		if address == declared {
			return server.Listener.Addr().String()
		}
		return ""
	}
	network, err := fabric.New(fabric.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), External: m.External})
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	m.Open(Azure{Network: network, Roots: trusted}, func(string) {})
	const named = "example.com" // the name in httptest's certificate
	way := corrupting{Transport: m.web(fabric.Origin{VNetID: "/vnets/v"})}
	for name, test := range map[string]struct {
		way  http.RoundTripper
		url  string
		want string // a part of the error message
	}{
		"insecure":       {way.WithTLS(&tls.Config{InsecureSkipVerify: true}), "https://" + declared, ""},
		"no roots given": {way.WithTLS(&tls.Config{ServerName: named}), "https://" + declared, ""}, // the guest's own roots apply
		"roots of others": {way.WithTLS(&tls.Config{RootCAs: x509.NewCertPool(), ServerName: named}),
			"https://" + declared, "unknown authority"},
		"another's name": {way, "https://" + declared, "certificate is valid for"},
		"another port":   {way, "https://api.casement.internal:443", "not part of the local plane"},
		"another name":   {way, "https://example.com:6443", "not part of the local plane"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, test.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if answer, err := test.way.RoundTrip(r); err != nil {
				got = err.Error()
			} else {
				answer.Body.Close()
			}
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
