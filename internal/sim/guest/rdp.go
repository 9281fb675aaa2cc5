package guest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"casement.dev/casement/internal/pki"
)

// Numbers of the Remote Desktop Protocol: [MS-RDPBCGR] 2.2.1.1 and 2.2.1.2.
const (
	protocolTLS       = 1
	negRequest        = 1
	negResponse       = 2
	negFailure        = 3
	failureNeedsTLS   = 1
	rdpTimeout        = 30 * time.Second
	x224Request       = 0xe0
	x224Confirm       = 0xd0
	longestRDPMessage = 64 << 10
)

// ServeRDP answers on the guest's Remote Desktop port until ctx is done or l is
// closed. There is no desktop: a client's negotiation and TLS handshake succeed,
// so that what leads to the port is proven, and then the server disconnects it.
func (g *Guest) ServeRDP(ctx context.Context, l net.Listener) error {
	cert, err := selfSigned(g.m.ComputerName, g.m.Clock.Now())
	if err != nil {
		return fmt.Errorf("RDP certificate of guest %s: %w", g.m.ComputerName, err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	return g.serve(ctx, l, "TermService", func(ctx context.Context, c net.Conn) {
		_ = c.SetDeadline(time.Now().Add(rdpTimeout)) // a connection without deadlines is not ours
		outcome := "was shown that there is no desktop"
		if err := handleRDP(ctx, c, config); err != nil {
			outcome = "left: " + err.Error()
		}
		fmt.Fprintf(g.m.Console, "guest: a Remote Desktop client %s (simulated)\n", outcome)
	})
}

func handleRDP(ctx context.Context, c net.Conn, config *tls.Config) error {
	request, err := readTPKT(c)
	if err != nil {
		return fmt.Errorf("read the connection request: %w", err)
	}
	asked, err := askedProtocols(request)
	if err != nil {
		return err
	}
	if asked&protocolTLS == 0 {
		if _, err := c.Write(confirm(negFailure, failureNeedsTLS)); err != nil {
			return err
		}
		return errors.New("it does not offer TLS")
	}
	if _, err := c.Write(confirm(negResponse, protocolTLS)); err != nil {
		return err
	}
	t := tls.Server(c, config)
	if err := t.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	if _, err := readTPKT(t); err != nil { // its MCS Connect Initial
		return err
	}
	// MCS Disconnect Provider Ultimatum, reason provider-initiated.
	if _, err := t.Write([]byte{3, 0, 0, 9, 2, 0xf0, 0x80, 0x20, 0x80}); err != nil {
		return err
	}
	return t.Close()
}

// readTPKT reads one message and returns what follows its four byte header.
func readTPKT(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(head[2:]))
	if head[0] != 3 || n < 7 || n > longestRDPMessage {
		return nil, errors.New("it speaks no RDP")
	}
	body := make([]byte, n-4)
	_, err := io.ReadFull(r, body)
	return body, err
}

// askedProtocols reads the negotiation request at the end of an X.224 connection
// request. A client without one speaks standard RDP security only.
func askedProtocols(body []byte) (uint32, error) {
	if len(body) < 7 || body[1]&0xf0 != x224Request {
		return 0, errors.New("its first message is no connection request")
	}
	rest := body[7:]
	if len(rest) < 8 || rest[len(rest)-8] != negRequest {
		return 0, nil
	}
	return binary.LittleEndian.Uint32(rest[len(rest)-4:]), nil
}

// confirm is an X.224 connection confirm with a negotiation answer.
func confirm(kind byte, value uint32) []byte {
	m := []byte{3, 0, 0, 19, 14, x224Confirm, 0, 0, 0x12, 0x34, 0, kind, 0, 8, 0}
	return binary.LittleEndian.AppendUint32(m, value)
}

func selfSigned(name string, now time.Time) (tls.Certificate, error) {
	return pki.Issue(x509.Certificate{
		Subject: pkix.Name{CommonName: name, Organization: []string{"simulated by casement"}}, DNSNames: []string{name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, 0, nil)
}
