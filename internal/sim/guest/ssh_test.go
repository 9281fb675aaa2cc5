package guest_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"casement.dev/casement/internal/sim/guest"
)

// identity returns a client's key and its authorized_keys line.
func identity(t *testing.T) (ssh.Signer, string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serveSSH serves a guest's SSH until the test ends and returns the address.
func serveSSH(t *testing.T, g *guest.Guest, dial guest.Dial) string {
	t.Helper()
	l := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.ServeSSH(ctx, l, dial) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("ServeSSH: %v", err)
		}
	})
	return l.Addr().String()
}

func dialSSH(address, user string, key ssh.Signer) (*ssh.Client, error) {
	return ssh.Dial("tcp", address, &ssh.ClientConfig{
		User: user, Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
}

// session opens a session of the user capi, whose connection is closed when the test ends.
func session(t *testing.T, g *guest.Guest, key ssh.Signer) *ssh.Session {
	t.Helper()
	client, err := dialSSH(serveSSH(t, g, nil), "capi", key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	s, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func withKey(c guest.Config, line string) guest.Config {
	c.Machine.SSHPublicKeys = []string{line}
	c.Machine.CustomData = []byte("#cloud-config\nusers:\n- default\n- name: capi\n  ssh_authorized_keys:\n  - " + line + "\n")
	return c
}

func TestSSHCommands(t *testing.T) {
	key, line := identity(t)
	for _, c := range []struct {
		name, command, out string
		config             guest.Config
		code               int
	}{
		{"linux", "hostname; cd /tmp && pwd; exit 3", "c1-md-0-abcde\n/tmp\n", withKey(linux(t, nil), line), 3},
		{"linux unknown", "nope", "", withKey(linux(t, nil), line), 127},
		{"linux user", "whoami; pwd; echo $HOME", "capi\n/home/capi\n/home/capi\n", withKey(linux(t, nil), line), 0},
		{"windows", "hostname", "c1-md-wi-abcde\r\n", withKey(windows(t, nil), line), 0},
		{"windows sentinel", `Test-Path C:\run\cluster-api\bootstrap-success.complete`, "False\r\n", withKey(windows(t, nil), line), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, _ := boot(t, c.config)
			s := session(t, g, key)
			out, err := s.Output(c.command)
			code := 0
			if exit, ok := err.(*ssh.ExitError); ok {
				code = exit.ExitStatus()
			} else if err != nil {
				t.Fatal(err)
			}
			if string(out) != c.out || code != c.code {
				t.Errorf("got %q and %d, want %q and %d", out, code, c.out, c.code)
			}
		})
	}
}

func TestSSHRefuses(t *testing.T) {
	key, line := identity(t)
	other, _ := identity(t)
	onlyProfile := windows(t, nil) // the VM's sshPublicKey does not reach Windows
	onlyProfile.Machine.SSHPublicKeys = []string{line}
	hash := windows(t, []byte("#cloud-config\nusers:\n- name: ops\n  passwd: $6$rounds=4096$abcdefghijklmnop\n"+
		"  ssh_authorized_keys:\n  - "+line+"\n"))
	for _, c := range []struct {
		name, user string
		config     guest.Config
		key        ssh.Signer
	}{
		{"another key", "capi", withKey(linux(t, nil), line), other},
		{"another user", "root", withKey(linux(t, nil), line), key},
		{"a path for a user", "../home/capi", withKey(linux(t, nil), line), key},
		{"windows without cloudbase-init's keys", "capi", onlyProfile, key},
		{"windows user with a hashed password", "ops", hash, key},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, _ := boot(t, c.config)
			client, err := dialSSH(serveSSH(t, g, nil), c.user, c.key)
			if err == nil {
				client.Close()
				t.Error("the login worked")
			}
		})
	}
}

func TestSSHKeepsItsHostKeyAndHeedsTheService(t *testing.T) {
	key, line := identity(t)
	g, _ := boot(t, withKey(linux(t, nil), line))
	seen := map[string]bool{}
	for range 2 {
		config := &ssh.ClientConfig{User: "capi", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)},
			HostKeyCallback: func(_ string, _ net.Addr, k ssh.PublicKey) error {
				seen[ssh.FingerprintSHA256(k)] = true
				return nil
			}}
		client, err := ssh.Dial("tcp", serveSSH(t, g, nil), config)
		if err != nil {
			t.Fatal(err)
		}
		client.Close()
	}
	if len(seen) != 1 {
		t.Errorf("%d host keys", len(seen))
	}
	if err := g.Services().Stop("ssh"); err != nil {
		t.Fatal(err)
	}
	if client, err := dialSSH(serveSSH(t, g, nil), "capi", key); err == nil {
		client.Close()
		t.Error("a login worked while the service was stopped")
	}
}

func TestSSHShellKeepsState(t *testing.T) {
	key, line := identity(t)
	for _, c := range []struct {
		name, in, out string
		config        guest.Config
	}{
		{"bash", "x=5\ncd /etc\nif true; then\necho $x $PWD\nfi\nexit\n", "5 /etc\n", withKey(linux(t, nil), line)},
		{"powershell", "cd C:\\k\n(pwd).Path\nexit\n", "C:\\k\r\n", withKey(windows(t, nil), line)},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, _ := boot(t, c.config)
			s := session(t, g, key)
			var out bytes.Buffer
			s.Stdin, s.Stdout = strings.NewReader(c.in), &out
			if err := s.Shell(); err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(); err != nil || out.String() != c.out {
				t.Errorf("got %q, %v; want %q", out.String(), err, c.out)
			}
		})
	}
}

// TestSSHJump connects through a Linux guest to a Windows guest, as the documented ProxyCommand with -W does.
func TestSSHJump(t *testing.T) {
	key, line := identity(t)
	w, _ := boot(t, withKey(windows(t, nil), line))
	inner := serveSSH(t, w, nil)
	g, _ := boot(t, withKey(linux(t, nil), line))
	outer := serveSSH(t, g, func(ctx context.Context, address string) (net.Conn, error) {
		if address != "10.1.0.5:22" {
			return nil, &net.AddrError{Err: "no route", Addr: address}
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", inner)
	})
	jump, err := dialSSH(outer, "capi", key)
	if err != nil {
		t.Fatal(err)
	}
	defer jump.Close()
	if c, err := jump.Dial("tcp", "10.1.0.9:22"); err == nil {
		c.Close()
		t.Error("a connection to nowhere was made")
	}
	c, err := jump.Dial("tcp", "10.1.0.5:22")
	if err != nil {
		t.Fatal(err)
	}
	conn, chans, reqs, err := ssh.NewClientConn(c, "w", &ssh.ClientConfig{
		User: "capi", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	if err != nil {
		t.Fatal(err)
	}
	client := ssh.NewClient(conn, chans, reqs)
	defer client.Close()
	s, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := s.Output("hostname"); err != nil || string(out) != "c1-md-wi-abcde\r\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestSFTP(t *testing.T) {
	key, line := identity(t)
	for _, c := range []struct {
		name, dir, file, guestFile string
		config                     guest.Config
	}{
		{"linux", "/home/capi", "/tmp/a.txt", "/tmp/a.txt", withKey(linux(t, nil), line)},
		{"windows", "/C:/Users/capi", "/C:/k/A.txt", `c:\k\a.TXT`, withKey(windows(t, nil), line)},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, _ := boot(t, c.config)
			conn, err := dialSSH(serveSSH(t, g, nil), "capi", key)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			client, err := sftp.NewClient(conn)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if wd, err := client.Getwd(); err != nil || wd != c.dir {
				t.Errorf("starts in %q, %v; want %q", wd, err, c.dir)
			}
			f, err := client.Create(c.file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write([]byte("hello")); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if got := read(t, g, c.guestFile); got != "hello" {
				t.Errorf("the guest has %q", got)
			}
			if _, err := client.Open("/../../../../etc/passwd/../../../../../../journal.json"); err == nil {
				t.Error("a file outside of the tree was opened")
			}
			if err := client.Remove(c.file); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestSFTPEndsWithAStatus checks that an SFTP session ends with an exit status, which scp reads.
func TestSFTPEndsWithAStatus(t *testing.T) {
	key, line := identity(t)
	g, _ := boot(t, withKey(linux(t, nil), line))
	client, err := dialSSH(serveSSH(t, g, nil), "capi", key)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ch, requests, err := client.OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := ch.SendRequest("subsystem", true, ssh.Marshal(struct{ Name string }{"sftp"})); err != nil || !ok {
		t.Fatalf("subsystem: %v, %v", ok, err)
	}
	if err := ch.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for r := range requests {
		if r.Type == "exit-status" && bytes.Equal(r.Payload, []byte{0, 0, 0, 0}) {
			return
		}
	}
	t.Error("the session ended without an exit status of 0")
}

func TestRDP(t *testing.T) {
	g, _ := boot(t, windows(t, nil))
	request := func(protocols byte) []byte {
		return []byte{3, 0, 0, 19, 14, 0xe0, 0, 0, 0, 0, 0, 1, 0, 8, 0, protocols, 0, 0, 0}
	}
	for _, c := range []struct {
		name      string
		protocols byte
		answer    byte
	}{
		{"a client with TLS", 3, 2},
		{"a client without TLS", 0, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := listen(t)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- g.ServeRDP(ctx, l) }()
			defer func() {
				cancel()
				if err := <-done; err != nil {
					t.Errorf("ServeRDP: %v", err)
				}
			}()
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write(request(c.protocols)); err != nil {
				t.Fatal(err)
			}
			answer := make([]byte, 19)
			if _, err := io.ReadFull(conn, answer); err != nil || answer[5] != 0xd0 || answer[11] != c.answer || answer[15] != 1 {
				t.Fatalf("answer is %x, %v", answer, err)
			}
			if c.answer != 2 {
				return
			}
			secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
			if err := secure.HandshakeContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"c1-md-wi-abcde", "localhost", "127.0.0.1", "10.1.0.4"} {
				if err := secure.ConnectionState().PeerCertificates[0].VerifyHostname(name); err != nil {
					t.Errorf("the certificate: %v", err)
				}
			}
		})
	}
}
