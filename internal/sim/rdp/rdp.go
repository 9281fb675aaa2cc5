// Package rdp is the server's side of Remote Desktop ([MS-RDPBCGR]), as far as a client needs it to
// show one still picture: negotiation with TLS, the MCS and GCC connection, licensing, the exchange
// of capabilities, and bitmap updates without compression.
//
// It is no desktop: it offers no network level authentication, never reads the credentials that a
// client sends, has no virtual channel and discards all input. It parses a client's messages with
// limits. Guests of the simulator import it.
package rdp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"image"
	"net"
	"time"
)

const (
	// handshake is the longest time until the picture is shown.
	handshake = 30 * time.Second
	// idle is the longest time for which a client may send nothing after the picture is shown.
	idle = 15 * time.Minute
)

// Server shows a picture to each client.
type Server struct {
	// TLS contains the certificate.
	TLS *tls.Config
	// Picture returns the screen in the size that the client requests, in pixels.
	Picture func(width, height int) image.Image
}

// Serve shows one client the picture until it leaves or sends nothing for a quarter of an hour. The
// caller closes c. The error names the step at which the client left.
func (s *Server) Serve(ctx context.Context, c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(handshake)); err != nil {
		return err
	}
	asked, err := negotiate(c)
	if err != nil {
		return err
	}
	secure := tls.Server(c, s.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	session := &session{conn: secure, picture: s.Picture}
	if err := session.connect(asked); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	if err := session.run(); !errors.Is(err, errLeft) {
		return err
	}
	return secure.Close()
}
