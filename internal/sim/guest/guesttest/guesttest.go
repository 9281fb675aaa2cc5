// Package guesttest boots guests for tests that log in to them. Only tests import it.
package guesttest

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"casement.dev/casement/internal/sim/guest"
)

// Boot boots a guest whose bootstrap data gives the user capi an SSH key, a line of authorized_keys. The end of the
// test removes the guest.
func Boot(t *testing.T, system, name, ip, key string) *guest.Guest {
	t.Helper()
	image := guest.Image{Name: "Ubuntu 24.04", Release: "24.04", Build: "6.8.0-1030-azure", KubernetesVersion: "v1.36.3"}
	if system == guest.Windows {
		image = guest.Image{Name: "Windows Server 2022 Datacenter", Release: "2022", Build: "10.0.20348.2700", KubernetesVersion: "v1.36.3"}
	}
	g, err := guest.New(guest.Config{Machine: guest.Machine{
		ID: "/vm/" + name, InstanceID: name, Dir: t.TempDir(), OS: system, ComputerName: name,
		AdminUsername: "capi", IPs: []netip.Addr{netip.MustParseAddr(ip)}, Image: image,
		CustomData: []byte("#cloud-config\nwrite_files:\n- path: /etc/kubernetes/here\n  content: yes\nusers:\n" +
			"- name: capi\n  ssh_authorized_keys:\n  - " + key + "\n"),
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

// Serve runs a server until the test ends and returns the server's address.
func Serve(t *testing.T, run func(context.Context, net.Listener) error) string {
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

// Jump serves the SSH of a guest that can reach other guests and returns the SSH address. network has the real
// address for each address that the guest dials.
func Jump(t *testing.T, g *guest.Guest, network map[string]string) string {
	t.Helper()
	return Serve(t, func(ctx context.Context, l net.Listener) error {
		return g.ServeSSH(ctx, l, func(ctx context.Context, address string) (net.Conn, error) {
			if network[address] == "" {
				return nil, fmt.Errorf("no route to %s", address)
			}
			var d net.Dialer
			return d.DialContext(ctx, "tcp", network[address])
		})
	})
}
