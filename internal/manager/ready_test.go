package manager

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestCertificateServed: ready means that a currently valid certificate is served.
func TestCertificateServed(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	host, text, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	expires := server.Certificate().NotAfter
	for _, test := range []struct {
		name string
		port int
		now  time.Time
		want string
	}{
		{"valid", port, expires.Add(-time.Hour), ""},
		{"expired", port, expires.Add(time.Hour), "valid from"},
		{"not listening", 1, expires.Add(-time.Hour), "does not answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := certificateServed(host, test.port,
				func() time.Time { return test.now })(httptest.NewRequest(http.MethodGet, "/readyz", nil))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// TestCertificateCheckedAgain: a successful check is valid for a minute, and no longer.
func TestCertificateCheckedAgain(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	host, text, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	now := server.Certificate().NotBefore.Add(time.Hour)
	check := certificateServed(host, port, func() time.Time { return now })
	probe := httptest.NewRequest(http.MethodGet, "/readyz", nil)
	if err := check(probe); err != nil {
		t.Fatal(err)
	}
	server.Close()
	now = now.Add(checkedFor - time.Second)
	if err := check(probe); err != nil {
		t.Errorf("within a minute of a good answer: %v", err)
	}
	now = now.Add(time.Second)
	if err := check(probe); err == nil {
		t.Error("a server that ended a minute ago is still ready")
	}
}
