package sshroute_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/sim/guest/guesttest"
	"casement.dev/casement/internal/sshroute"
)

// site is a control plane guest whose SSH server is the endpoint, and a
// Windows guest behind it.
type site struct {
	route   sshroute.Route
	access  sshroute.Access
	notes   *bytes.Buffer
	key     ed25519.PrivateKey
	windows *guest.Guest
}

func newSite(t *testing.T) *site {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	dir := t.TempDir()
	windows := guesttest.Boot(t, guest.Windows, "w", "10.1.0.5", line)
	behind := map[string]string{
		"10.1.0.5:22":   guesttest.Serve(t, func(ctx context.Context, l net.Listener) error { return windows.ServeSSH(ctx, l, nil) }),
		"10.1.0.5:3389": guesttest.Serve(t, windows.ServeRDP),
	}
	linux := guesttest.Boot(t, guest.Linux, "cp", "10.0.0.4", line)
	jump := guesttest.Jump(t, linux, behind)
	s := &site{notes: &bytes.Buffer{}, key: private, windows: windows}
	s.route = sshroute.Route{Cluster: client.ObjectKey{Namespace: "default", Name: "c"}, ClusterUID: "1",
		Machine: "w", Node: "w", Windows: true, Address: "10.1.0.5", Jump: jump, Door: "control-plane-c-1:22"}
	s.access = sshroute.Access{User: sshroute.User, Keys: sshroute.Keys{Identity: writeKey(t, dir, private, "")},
		KnownHosts: s.route.KnownHosts(dir), Notes: s.notes}
	return s
}

func writeKey(t *testing.T, dir string, key ed25519.PrivateKey, passphrase string) string {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "id"+passphrase)
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// run runs a command on the machine and returns its output.
func (s *site) run(t *testing.T, command string) (string, int, error) {
	t.Helper()
	e, err := sshroute.Connect(t.Context(), s.route, s.access)
	if err != nil {
		return "", 0, err
	}
	defer e.Close()
	c, err := e.SSH(t.Context())
	if err != nil {
		return "", 0, err
	}
	defer c.Close()
	var out bytes.Buffer
	code, err := sshroute.Run(t.Context(), c, command, nil, strings.NewReader(""), &out, io.Discard)
	return out.String(), code, err
}

func TestRun(t *testing.T) {
	s := newSite(t)
	out, code, err := s.run(t, "hostname; exit 7")
	if err != nil || code != 7 || strings.TrimSpace(out) != "w" {
		t.Fatalf("got %q, %d, %v", out, code, err)
	}
	if got := strings.Count(s.notes.String(), "is new, remembered"); got != 2 {
		t.Errorf("%d new host keys are reported, want that of the endpoint and that of the machine:\n%s", got, s.notes)
	}
	s.notes.Reset()
	if _, _, err := s.run(t, "hostname"); err != nil || s.notes.Len() > 0 {
		t.Errorf("the second login says %v, %q", err, s.notes)
	}
}

func TestRunRefuses(t *testing.T) {
	for _, c := range []struct {
		name, want string
		edit       func(*testing.T, *site)
	}{
		{"a host key that has changed", "ssh-keygen -f", func(t *testing.T, s *site) {
			if _, _, err := s.run(t, "hostname"); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(s.access.KnownHosts)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(string(data), "\n")
			_, jump, _ := strings.Cut(lines[0], " ")
			if err := os.WriteFile(s.access.KnownHosts, []byte(lines[0]+"w "+jump), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"an endpoint whose key has changed", "ssh-keygen -f", func(t *testing.T, s *site) {
			if _, _, err := s.run(t, "hostname"); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(s.access.KnownHosts)
			if err != nil {
				t.Fatal(err)
			}
			_, machine, _ := strings.Cut(strings.SplitAfter(string(data), "\n")[1], " ")
			if err := os.WriteFile(s.access.KnownHosts, []byte("control-plane-c-1 "+machine), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"a user without the key", "log in to", func(_ *testing.T, s *site) { s.access.User = "root" }},
		{"an address that is not there", "reach port 22 of machine w", func(_ *testing.T, s *site) { s.route.Address = "10.1.0.9" }},
		{"an endpoint that is not there", "--jump", func(_ *testing.T, s *site) { s.route.Jump = "127.0.0.1:1" }},
		{"no key", "--identity", func(_ *testing.T, s *site) { s.access.Keys = sshroute.Keys{Files: []string{"/nowhere"}} }},
		{"a key file that is not there", "SSH key", func(_ *testing.T, s *site) { s.access.Keys = sshroute.Keys{Identity: "/nowhere"} }},
		{"a key with a passphrase", "ssh-add", func(t *testing.T, s *site) {
			s.access.Keys = sshroute.Keys{Identity: writeKey(t, t.TempDir(), s.key, "secret")}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			c.edit(t, s)
			out, _, err := s.run(t, "hostname")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, %v; want an error with %q", out, err, c.want)
			}
		})
	}
}

// agentWith serves an SSH agent that holds keys, and returns its socket.
func agentWith(t *testing.T, keys ...ed25519.PrivateKey) string {
	t.Helper()
	ring := agent.NewKeyring()
	for _, k := range keys {
		if err := ring.Add(agent.AddedKey{PrivateKey: k}); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(ring, c); c.Close() }() // ends with the client
		}
	}()
	return socket
}

// TestAgent logs in with a key that is only in the agent; a file with a passphrase is skipped.
func TestAgent(t *testing.T) {
	s := newSite(t)
	s.access.Keys = sshroute.Keys{AgentSocket: agentWith(t, s.key), Files: []string{writeKey(t, t.TempDir(), s.key, "secret")}}
	if out, _, err := s.run(t, "hostname"); err != nil || strings.TrimSpace(out) != "w" {
		t.Errorf("got %q, %v", out, err)
	}
}

// TestFirstKey: the right key is used before an agent's many other keys, after which the server would have given up.
func TestFirstKey(t *testing.T) {
	s := newSite(t)
	var others []ed25519.PrivateKey
	for range 10 {
		_, other, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, other)
	}
	file, socket := s.access.Keys.Identity, agentWith(t, others...)
	s.access.Keys = sshroute.Keys{First: file, AgentSocket: socket}
	if out, _, err := s.run(t, "hostname"); err != nil || strings.TrimSpace(out) != "w" {
		t.Errorf("got %q, %v", out, err)
	}
	s.access.Keys = sshroute.Keys{Files: []string{file}, AgentSocket: socket}
	if out, _, err := s.run(t, "hostname"); err == nil {
		t.Errorf("the server took the eleventh key and answers %q: the first one need not go first", out)
	}
}

// TestTunnel negotiates RDP through the tunnel until TLS is chosen.
func TestTunnel(t *testing.T) {
	s := newSite(t)
	e, err := sshroute.Connect(t.Context(), s.route, s.access)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- e.Tunnel(t.Context(), l, sshroute.RDPPort, io.Discard) }()
	for range 2 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte{3, 0, 0, 19, 14, 0xe0, 0, 0, 0, 0, 0, 1, 0, 8, 0, 1, 0, 0, 0}); err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, 19)
		if _, err := io.ReadFull(c, answer); err != nil || answer[11] != 2 {
			t.Fatalf("the answer is %x, %v", answer, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("the tunnel of a lost connection ended with %v", err)
	}
}

func TestDesktop(t *testing.T) {
	for _, c := range []struct{ name, installed, want string }{
		{"FreeRDP", "xfreerdp", "/bin/xfreerdp /v:127.0.0.1:5555 /u:capi /cert:tofu"},
		{"Windows", "mstsc.exe", "/bin/mstsc.exe n.rdp"},
		{"none", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			argv, err := sshroute.Desktop(func(name string) (string, error) {
				if name != c.installed {
					return "", os.ErrNotExist
				}
				return "/bin/" + name, nil
			}, "127.0.0.1:5555", "capi", "n.rdp")
			if got := strings.Join(argv, " "); got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// TestAnotherDoorIsTried: a control plane machine that replaced the one with port 22 has a NAT rule with its own port.
func TestAnotherDoorIsTried(t *testing.T) {
	s := newSite(t)
	open := s.route.Jump
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.route.Jump = l.Addr().String()
	l.Close() // nothing responds there any more
	host, port, _ := net.SplitHostPort(open)
	s.access.NATPorts = func(context.Context) ([]string, error) {
		return sshroute.NATPorts(host, []byte(`{"properties":{"inboundNatRules":[
			{"properties":{"frontendPort":22,"backendPort":22}},
			{"properties":{"frontendPort":3389,"backendPort":3389,"backendIPConfiguration":{"id":"x"}}},
			{"properties":{"frontendPort":`+port+`,"backendPort":22,"backendIPConfiguration":{"id":"x"}}}]}}`))
	}
	out, code, err := s.run(t, "hostname")
	if err != nil || code != 0 || strings.TrimSpace(out) != "w" {
		t.Fatalf("got %q, %d, %v", out, code, err)
	}
	s.access.NATPorts = func(context.Context) ([]string, error) { return nil, errors.New("no login") }
	const want = "NAT rules, which may have another port, cannot be read: no login"
	if _, _, err := s.run(t, "hostname"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want that the rules are not known", err)
	}
}

func TestDialFromWithin(t *testing.T) {
	s := newSite(t)
	address := guesttest.Serve(t, func(ctx context.Context, l net.Listener) error { return s.windows.ServeSSH(ctx, l, nil) })
	s.route.Jump = "apiserver.c.capz.io:22" // a name that no resolver knows
	s.access.Dial = func(ctx context.Context, network, to string) (net.Conn, error) {
		if to != "10.1.0.5:22" {
			t.Errorf("%s was dialled", to)
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	if out, code, err := s.run(t, "hostname"); out != "w\r\n" || code != 0 || err != nil {
		t.Errorf("%q, %d, %v", out, code, err)
	}
}
