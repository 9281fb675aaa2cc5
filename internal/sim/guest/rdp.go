package guest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"image"
	"net"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/pki"
	"casement.dev/casement/internal/sim/rdp"
)

// ServeRDP serves the guest's Remote Desktop port until ctx is done or l is closed. There is no desktop: a client
// sees one picture that says so. Credentials are not checked.
func (g *Guest) ServeRDP(ctx context.Context, l net.Listener) error {
	cert, err := g.desktopCertificate(l.Addr())
	if err != nil {
		return fmt.Errorf("RDP certificate of guest %s: %w", g.m.ComputerName, err)
	}
	server := rdp.Server{TLS: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, Picture: g.desktop}
	return g.serve(ctx, l, "TermService", func(ctx context.Context, c net.Conn) {
		outcome := "was shown that there is no desktop"
		if err := server.Serve(ctx, c); err != nil {
			outcome = "left: " + err.Error()
		}
		fmt.Fprintf(g.m.Console, "guest: a Remote Desktop client %s (simulated)\n", outcome)
	})
}

// desktop returns the picture that clients see.
func (g *Guest) desktop(width, height int) image.Image {
	node := strings.ToLower(g.m.ComputerName)
	return rdp.Screen(width, height, "Simulated Windows: "+g.m.ComputerName,
		g.m.Image.Name+", build "+g.m.Image.Build+", Kubernetes "+g.m.Image.KubernetesVersion,
		"",
		"This is a virtual machine of casement's local Azure. It has no desktop, and this picture is all that Remote Desktop shows of it.",
		"The account and the password of this connection were not read.",
		"",
		"What to do next, in a terminal:",
		"",
		"  casement ssh "+node,
		"  casement logs "+node,
		"  casement why "+node)
}

// desktopCertificate returns the guest's self-signed certificate, as Windows has one, for every name of the port: the
// computer's name, the addresses of its network and of the listener, and the local end of a tunnel.
func (g *Guest) desktopCertificate(listens net.Addr) (tls.Certificate, error) {
	addresses := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	for _, ip := range g.m.IPs {
		addresses = append(addresses, ip.AsSlice())
	}
	if tcp, ok := listens.(*net.TCPAddr); ok && !slices.ContainsFunc(addresses, tcp.IP.Equal) {
		addresses = append(addresses, tcp.IP)
	}
	now := g.m.Clock.Now()
	return pki.Issue(x509.Certificate{
		Subject:  pkix.Name{CommonName: g.m.ComputerName, Organization: []string{"simulated by casement"}},
		DNSNames: []string{g.m.ComputerName, "localhost"}, IPAddresses: addresses,
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, 0, nil)
}
