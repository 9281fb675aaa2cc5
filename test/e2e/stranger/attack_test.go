package stranger

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/crypto/ssh"
)

// task contains the attempts that a process must make.
type task struct {
	// Listeners are addresses to connect to; Files are paths to open.
	Listeners, Files                         []string
	Endpoint, Tenant, Subscription, ClientID string
}

// report contains the attempts that succeeded but should not have, and the number of attempts.
type report struct {
	Got   []string
	Tried int
	mu    sync.Mutex
}

func (r *report) got(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Got = append(r.Got, fmt.Sprintf(format, args...))
}

func (r *report) tried() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Tried++
}

// attack makes all attempts of a task and writes the report.
func attack(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var t task
	if err := json.Unmarshal(data, &t); err != nil {
		return err
	}
	r := &report{}
	for _, path := range t.Files {
		r.open(path)
	}
	var asked sync.WaitGroup
	for _, at := range t.Listeners {
		host, _, _ := net.SplitHostPort(at)
		if !net.ParseIP(host).IsLoopback() {
			r.got("%s is reachable from other machines", at)
			continue
		}
		asked.Go(func() { r.ask(at); r.shell(at) })
	}
	asked.Wait()
	r.azure(t)
	return json.NewEncoder(os.Stdout).Encode(r)
}

// open opens a file, or connects if the path is a socket.
func (r *report) open(path string) {
	r.tried()
	if f, err := os.Open(path); err == nil {
		f.Close()
		r.got("%s can be opened", path)
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		r.got("%s can be connected to", path)
	}
}

// paths are URL paths that servers of the plane serve to the plane's owner.
var paths = []string{
	"/", "/api/v1/secrets", "/pods", "/runningpods/", "/logs/", "/metrics", "/configz", "/debug/pprof/",
	"/exec/a/b/c", "/containerLogs/kube-system/a/b", "/v2/keys", "/status", "/azure/snapshot", "/console",
	"/metadata/instance?api-version=2021-02-01",
	"/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://management.azure.com/",
	"/subscriptions?api-version=2022-12-01",
}

// ask reads paths of a listener, by HTTP and HTTPS, and tries to use it as a proxy.
func (r *report) ask(at string) {
	client := &http.Client{Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		// The attacker does not care about certificates.
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, at)
			}}}
	defer client.CloseIdleConnections()
	for _, scheme := range []string{"https", "http"} {
		for _, path := range paths {
			r.tried()
			req, err := http.NewRequest(http.MethodGet, scheme+"://"+at+path, nil)
			if err != nil {
				continue
			}
			req.Header.Set("Metadata", "true")
			resp, err := client.Do(req)
			if err != nil {
				break // the listener speaks another protocol
			}
			body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
			resp.Body.Close()
			if resp.StatusCode < 300 && !harmless(at, path, string(body)) {
				r.got("%s://%s%s answers %s: %.120q", scheme, at, path, resp.Status, body)
			}
		}
	}
	for _, target := range []string{"10.0.0.4:22", "10.0.0.4:6443", "management.azure.com:443", "169.254.169.254:80"} {
		r.tried()
		if c, err := net.DialTimeout("tcp", at, 5*time.Second); err == nil {
			_ = c.SetDeadline(time.Now().Add(5 * time.Second)) // if the deadline fails, only the read bytes count
			fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
			answer, _ := io.ReadAll(io.LimitReader(c, 1<<10))
			_, body, _ := strings.Cut(string(answer), "\r\n\r\n")
			if strings.HasPrefix(string(answer), "HTTP/1.1 200") && !harmless(at, "", body) {
				r.got("%s connects to %s", at, target)
			}
			c.Close()
		}
	}
}

// harmless reports whether a response reveals nothing about the plane: health endpoints,
// kube-proxy's response to any path, counters of a machine's etcd, and pages of simulated
// containers.
func harmless(at, path, body string) bool {
	switch _, port, _ := net.SplitHostPort(at); {
	case port == "10256":
		return strings.TrimSpace(body) == "{}"
	case port == "2381" && path == "/metrics":
		return strings.HasPrefix(body, "# HELP etcd_")
	}
	return strings.TrimSpace(body) == "ok" || strings.Contains(body, "simulated") && !strings.Contains(body, "secret")
}

// shell tries to log in by SSH without a key, with passwords, and with a key of its own.
func (r *report) shell(at string) {
	_, own, err := newKey()
	if err != nil {
		return
	}
	for _, user := range []string{"capi", "root", "Administrator", "azureuser"} {
		for _, auth := range [][]ssh.AuthMethod{nil, {ssh.Password("")}, {ssh.Password("capi")}, {ssh.PublicKeys(own)}} {
			c, err := net.DialTimeout("tcp", at, 5*time.Second)
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			if !strings.HasSuffix(at, ":22") {
				c.Close()
				return
			}
			r.tried()
			conn, _, _, err := ssh.NewClientConn(c, at,
				&ssh.ClientConfig{User: user, Auth: auth, HostKeyCallback: ssh.InsecureIgnoreHostKey()})
			if err == nil {
				conn.Close()
				r.got("%s lets %s in by SSH", at, user)
			}
			c.Close()
		}
	}
}

func newKey() (*ecdsa.PrivateKey, ssh.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	signer, err := ssh.NewSignerFromKey(key)
	return key, signer, err
}

// azure sends tokens that anybody can create, and guesses secrets.
func (r *report) azure(t task) {
	// the attacker cannot read the CA's file
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	key, _, err := newKey()
	if err != nil {
		r.got("no key: %v", err)
		return
	}
	claims := func(life time.Duration) jwt.MapClaims {
		return jwt.MapClaims{"aud": t.Endpoint, "iss": "https://sts.windows.net/" + t.Tenant + "/", "tid": t.Tenant,
			"sub": t.ClientID, "appid": t.ClientID, "exp": time.Now().Add(life).Unix()}
	}
	signed := func(m jwt.SigningMethod, key any, life time.Duration) string {
		s, _ := jwt.NewWithClaims(m, claims(life)).SignedString(key) // an empty token is refused too
		return s
	}
	for name, token := range map[string]string{
		"unsigned": signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType,
			time.Hour), "foreign": signed(jwt.SigningMethodES256, key, time.Hour),
		"expired": signed(jwt.SigningMethodES256, key, -time.Hour),
		"shared":  signed(jwt.SigningMethodHS256, []byte("secret"), time.Hour), "none": "",
	} {
		for method, path := range map[string]string{http.MethodGet: "", http.MethodPut: "/resourceGroups/stranger"} {
			r.tried()
			req, err := http.NewRequest(method,
				t.Endpoint+"/subscriptions/"+t.Subscription+path+"?api-version=2022-12-01",
				strings.NewReader(`{"location":"westeurope"}`))
			if err != nil {
				continue
			}
			req.Header.Set("Authorization", "Bearer "+token)
			resp, err := client.Do(req)
			if err != nil {
				r.got("the local Azure does not answer: %v", err)
				continue
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") == "" {
				r.got("%s with a token that is %s: %s", method, name, resp.Status)
			}
		}
	}
	for _, secret := range []string{"", "local", "secret", t.ClientID} {
		r.tried()
		resp, err := client.PostForm(t.Endpoint+"/"+t.Tenant+"/oauth2/v2.0/token", url.Values{
			"grant_type": {"client_credentials"}, "client_id": {t.ClientID}, "client_secret": {secret},
			"scope": {"https://management.azure.com/.default"},
		})
		if err != nil {
			r.got("the token service does not answer: %v", err)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			r.got("the secret %q is taken", secret)
		}
	}
}
