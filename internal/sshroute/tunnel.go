package sshroute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Tunnel forwards the connections that l accepts to a port of the machine, until ctx ends or the entrance is lost; then
// it closes l and every connection. The errors of single connections are written to notes.
func (e *Dialer) Tunnel(ctx context.Context, l net.Listener, port string, notes io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	wg.Go(func() { cancel(e.lost(ctx)) })
	context.AfterFunc(ctx, func() { l.Close() })
	for {
		c, err := l.Accept()
		if ctx.Err() != nil {
			if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
				return cause
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("tunnel: %w", err)
		}
		wg.Go(func() {
			defer c.Close()
			far, err := e.Dial(ctx, port)
			if err != nil {
				fmt.Fprintln(notes, err)
				return
			}
			defer far.Close()
			stop := context.AfterFunc(ctx, func() { c.Close(); far.Close() })
			defer stop()
			join(c, far)
		})
	}
}

// join copies in both directions until both have ended; the end of one direction is passed on.
func join(a, b net.Conn) {
	var wg sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		wg.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // a broken connection is treated like the end of the direction
			if half, ok := way[0].(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			} else {
				_ = way[0].Close()
			}
		})
	}
	wg.Wait()
}

// RDPFile returns a Remote Desktop file for a tunnel at address (host:port).
func RDPFile(address, user string) []byte {
	return fmt.Appendf(nil,
		"full address:s:%s\r\nusername:s:%s\r\nprompt for credentials:i:1\r\nauthentication level:i:2\r\n", address,
		user)
}
