package ssh

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"net"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/sim/guest/guesttest"
)

// TestGuests runs the sessions against three guests without a plane: a control plane machine in the
// role of the endpoint, and two machines behind it.
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
	windows := guesttest.Boot(t, guest.Windows, "c1-md-wi-abcde", "10.1.0.5", line)
	linux := guesttest.Boot(t, guest.Linux, "c1-md-0-abcde", "10.1.0.6", line)
	plane := guesttest.Boot(t, guest.Linux, "c1-control-plane-abcde", "10.0.0.4", line)
	behind := map[string]string{
		"10.1.0.5:22":   guesttest.Serve(t, func(ctx context.Context, l net.Listener) error { return windows.ServeSSH(ctx, l, nil) }),
		"10.1.0.5:3389": guesttest.Serve(t, windows.ServeRDP),
		"10.1.0.6:22":   guesttest.Serve(t, func(ctx context.Context, l net.Listener) error { return linux.ServeSSH(ctx, l, nil) }),
	}
	endpoint := guesttest.Jump(t, plane, behind)
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, host, port, pem.EncodeToMemory(block))
	s.windows, s.linux = "10.1.0.5", "10.1.0.6"
	s.apiName, s.windowsName, s.linuxName = "c1-control-plane-abcde", "c1-md-wi-abcde", "c1-md-0-abcde"
	s.sessions(t)
}
