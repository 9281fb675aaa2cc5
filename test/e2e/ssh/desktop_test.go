package ssh

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/freeport"
)

// Security protocols of [MS-RDPBCGR] 2.2.1.1.1.
const (
	protocolTLS      = 1
	protocolHybrid   = 2
	protocolHybridEx = 8
)

// desktop opens the guide's tunnel and speaks the Remote Desktop protocol through it.
func (s *site) desktop(t *testing.T) {
	ports, err := freeport.Choose("127.0.0.1", 1)
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(ports[0])
	ctx, cancel := context.WithTimeout(t.Context(), sessionTimeout)
	defer cancel()
	c := s.command(ctx, strings.Replace(guideRDP, "5555", port, 1))
	in, err := c.StdinPipe() // the command also opens a shell, which runs until this is closed
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// The shell answers when the login is complete, and then the tunnel is open too.
	if _, err := fmt.Fprintln(in, "hostname"); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 100)); err != nil {
		t.Fatalf("the shell beside the tunnel: %v", err)
	}
	address := net.JoinHostPort("localhost", port)
	t.Run("a client as FreeRDP", func(t *testing.T) { s.freeRDP(t, address) })
	t.Run("a client without TLS", func(t *testing.T) {
		conn := dialDesktop(t, address)
		if kind, value := negotiate(t, conn, 0); kind != 3 || value != 1 {
			t.Errorf("the answer is %d %d, want a failure (3) that asks for TLS (1)", kind, value)
		}
	})
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("ssh: %v", err)
	}
}

// freeRDP negotiates as FreeRDP does, checks the certificate, and lets the real client show the
// screen.
func (s *site) freeRDP(t *testing.T, address string) {
	conn := dialDesktop(t, address)
	if kind, value := negotiate(t, conn, protocolTLS|protocolHybrid|protocolHybridEx); kind != 2 || value != protocolTLS {
		t.Fatalf("the answer is %d %d, want a response (2) that selects TLS (1)", kind, value)
	}
	secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // the certificate is self-signed, as on a real machine
	if err := secure.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	certificate := secure.ConnectionState().PeerCertificates[0]
	for _, name := range []string{s.windowsName, s.windows, "localhost", "127.0.0.1"} {
		if err := certificate.VerifyHostname(name); err != nil {
			t.Errorf("the certificate: %v", err)
		}
	}
	shownByFreeRDP(t, address)
}

func dialDesktop(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(sessionTimeout)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// negotiate sends an X.224 connection request with the user's cookie and returns the type and the
// value of the negotiation response.
func negotiate(t *testing.T, conn net.Conn, protocols uint32) (kind byte, value uint32) {
	t.Helper()
	body := []byte("\x00\xe0\x00\x00\x00\x00\x00Cookie: mstshash=capi\r\n")
	body = binary.LittleEndian.AppendUint32(append(body, 1, 0, 8, 0), protocols)
	body[0] = byte(len(body) - 1)
	packet := append(binary.BigEndian.AppendUint16([]byte{3, 0}, uint16(len(body)+4)), body...)
	if _, err := conn.Write(packet); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 19)
	if _, err := io.ReadFull(conn, answer); err != nil {
		t.Fatal(err)
	}
	if answer[0] != 3 || answer[5] != 0xd0 {
		t.Fatalf("the answer is no connection confirm: %x", answer)
	}
	return answer[11], binary.LittleEndian.Uint32(answer[15:])
}
