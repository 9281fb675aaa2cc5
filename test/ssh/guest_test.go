package ssh

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"casement.dev/casement/internal/sim/guest"
)

// TestGuests runs the sessions against three guests and no plane: a control plane
// machine that stands for the endpoint, and two behind it.
func TestGuests(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	public, err := ssh.NewPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))
	windows := boot(t, guest.Windows, "c1-md-wi-abcde", "10.1.0.5", line)
	linux := boot(t, guest.Linux, "c1-md-0-abcde", "10.1.0.6", line)
	plane := boot(t, guest.Linux, "c1-control-plane-abcde", "10.0.0.4", line)
	behind := map[string]string{
		"10.1.0.5:22":   serve(t, func(ctx context.Context, l net.Listener) error { return windows.ServeSSH(ctx, l, nil) }),
		"10.1.0.5:3389": serve(t, windows.ServeRDP),
		"10.1.0.6:22":   serve(t, func(ctx context.Context, l net.Listener) error { return linux.ServeSSH(ctx, l, nil) }),
	}
	endpoint := serve(t, func(ctx context.Context, l net.Listener) error {
		return plane.ServeSSH(ctx, l, func(ctx context.Context, address string) (net.Conn, error) {
			if behind[address] == "" {
				return nil, fmt.Errorf("no route to %s", address)
			}
			var d net.Dialer
			return d.DialContext(ctx, "tcp", behind[address])
		})
	})
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, host, port, pem.EncodeToMemory(block))
	s.windows, s.linux = "10.1.0.5", "10.1.0.6"
	s.apiName, s.windowsName, s.linuxName = "c1-control-plane-abcde", "c1-md-wi-abcde", "c1-md-0-abcde"
	s.sessions(t)
}

// boot boots a guest whose bootstrap data gives user capi the key.
func boot(t *testing.T, system, name, ip, key string) *guest.Guest {
	t.Helper()
	image := guest.Image{Name: "Ubuntu 24.04", Release: "24.04", Build: "6.8.0-1030-azure", KubernetesVersion: "v1.36.3"}
	if system == guest.Windows {
		image = guest.Image{Name: "Windows Server 2022 Datacenter", Release: "2022", Build: "10.0.20348.2700", KubernetesVersion: "v1.36.3"}
	}
	g, err := guest.New(guest.Config{Machine: guest.Machine{
		ID: "/vm/" + name, InstanceID: name, Dir: t.TempDir(), OS: system, ComputerName: name, AdminUsername: "capi", IPs: []netip.Addr{netip.MustParseAddr(ip)}, Image: image,
		CustomData: []byte("#cloud-config\nwrite_files:\n- path: /etc/kubernetes/here\n  content: yes\nusers:\n- name: capi\n  ssh_authorized_keys:\n  - " + key + "\n"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	if err := g.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

// serve runs a server until the test ends and returns its address.
func serve(t *testing.T, run func(context.Context, net.Listener) error) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}
