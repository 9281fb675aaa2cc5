package proxy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/proxy"
)

// client starts a proxy that answers for example.com (the name in httptest's certificate) and for
// plain HTTP to one address, and returns a client that uses the proxy.
func client(t *testing.T, password string, refused chan<- string) *http.Client {
	t.Helper()
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the site itself") }))
	t.Cleanup(site.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- proxy.Serve(ctx, l, proxy.Config{
			TLS: &tls.Config{Certificates: site.TLS.Certificates},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, r.Proto+" "+r.Host+" "+r.URL.Path)
			}),
			Serves: func(host string) bool { return host == "example.com" },
			Dial: func(_ context.Context, target string) (net.Conn, bool, error) {
				if target != "example.com:6443" {
					return nil, false, nil
				}
				conn, err := net.Dial("tcp", site.Listener.Addr().String())
				return conn, true, err
			},
			Plain: func(r *http.Request) http.Handler {
				if r.URL.Host != "169.254.169.254" {
					return nil
				}
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					io.WriteString(w, r.Proto+" "+r.Host+" "+r.URL.Path)
				})
			},
			Password: "right",
			Refused:  func(target string) { refused <- target },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	roots := x509.NewCertPool()
	roots.AddCert(site.Certificate())
	transport := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) {
		return url.Parse(proxy.URL(l.Addr().String(), password))
	}, TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestProxy(t *testing.T) {
	refused := make(chan string, 1)
	c := client(t, "right", refused)
	for _, tc := range []struct{ name, url, body, refused string }{
		{name: "a host that it answers for", url: "https://example.com/path", body: "HTTP/2.0 example.com /path"},
		{name: "again", url: "https://example.com/other", body: "HTTP/2.0 example.com /other"},
		{name: "plain HTTP that it answers", url: "http://169.254.169.254/metadata", body: "HTTP/1.1 169.254.169.254 /metadata"},
		{name: "what the caller connects to", url: "https://example.com:6443/", body: "the site itself"},
		{name: "another host", url: "https://example.org/", refused: "example.org:443"},
		{name: "another port", url: "https://example.com:8443/", refused: "example.com:8443"},
		{name: "other plain HTTP", url: "http://example.com/", refused: "example.com"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, err := c.Get(tc.url)
			if tc.refused != "" {
				if err == nil {
					resp.Body.Close()
				}
				if err == nil && resp.StatusCode != http.StatusForbidden || err != nil && !strings.Contains(err.Error(), "Forbidden") {
					t.Errorf("answered: %v, %v", resp, err)
				}
				if got := <-refused; got != tc.refused {
					t.Errorf("refused %s, want %s", got, tc.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if body, _ := io.ReadAll(resp.Body); string(body) != tc.body {
				t.Errorf("got %q, want %q", body, tc.body)
			}
		})
	}
}

// TestPassword sends requests without the password to a proxy, as another user of the computer
// could.
func TestPassword(t *testing.T) {
	for _, password := range []string{"", "wrong", "right "} {
		c := client(t, password, make(chan string, 1))
		for _, target := range []string{"https://example.com/", "http://169.254.169.254/metadata", "http://example.com/"} {
			resp, err := c.Get(target)
			if err == nil {
				resp.Body.Close()
			}
			if err == nil && resp.StatusCode != http.StatusProxyAuthRequired ||
				err != nil && !strings.Contains(err.Error(), "Proxy Authentication Required") {
				t.Errorf("%s with %q: %v, %v", target, password, resp, err)
			}
		}
	}
}
