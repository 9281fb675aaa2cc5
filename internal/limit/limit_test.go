package limit_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"casement.dev/casement/internal/limit"
)

// pipes is a listener in memory, so that its connections wait in a bubble's time.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p pipes) Close() error   { close(p.done); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// serve serves h within the limits until the test ends, and returns a function that connects to it.
func serve(t *testing.T, limits limit.Limits, h http.HandlerFunc) func() net.Conn {
	t.Helper()
	l := pipes{make(chan net.Conn), make(chan struct{})}
	server := limits.Server(h)
	go func() { _ = server.Serve(limits.Listener(l)) }() // the server ends with the test
	t.Cleanup(func() { _ = server.Close() })
	return func() net.Conn {
		near, far := net.Pipe()
		t.Cleanup(func() { near.Close(); far.Close() })
		l.conns <- far
		return near
	}
}

// trickle sends a text one byte per second, until the server closes the connection.
func trickle(c net.Conn, text string) error {
	go func() { _, _ = io.Copy(io.Discard, c) }()
	for i := range text {
		if _, err := c.Write([]byte(text[i : i+1])); err != nil {
			return err
		}
		time.Sleep(time.Second)
	}
	return nil
}

var limits = limit.Limits{Head: 5 * time.Second, Body: 10 * time.Second, Idle: 20 * time.Second, Connections: 2}

func echo(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, "slow", http.StatusRequestTimeout)
		return
	}
	_, _ = io.WriteString(w, "done")
}

func ask(c net.Conn, request string) (string, error) {
	if _, err := io.WriteString(c, request); err != nil {
		return "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(resp.Body)
	return string(data), err
}

// TestSlow sends heads and bodies one byte at a time: the connection is closed, and another client that waits for a
// slot is served.
func TestSlow(t *testing.T) {
	for name, begin := range map[string]string{
		"head": "GET / HTTP/1.1\r\nHost: x\r\nX-Long: ",
		"body": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := limits
				if name == "body" {
					l.Head = time.Hour
				}
				connect := serve(t, l, echo)
				slow := make(chan error, 2)
				for range 2 {
					c := connect()
					go func() {
						if _, err := io.WriteString(c, begin); err != nil {
							t.Error(err)
						}
						slow <- trickle(c, strings.Repeat("x", 1000))
					}()
				}
				if got, err := ask(connect(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil || got != "done" {
					t.Errorf("a client that waits got %q, %v", got, err)
				}
				for range 2 {
					if err := <-slow; !errors.Is(err, io.ErrClosedPipe) {
						t.Errorf("a slow client ended with %v, want its connection cut", err)
					}
				}
			})
		})
	}
}

// TestIdle leaves a connection idle.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, limits, echo)()
		if _, err := ask(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("an idle connection ends with %v", err)
		}
	})
}

// TestLong: a response and a tunnel may last longer than every limit.
func TestLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connect := serve(t, limits, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodConnect {
				c, buffered, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Hour)
				buffer := make([]byte, 4)
				_, err = io.ReadFull(buffered, buffer) // the server may have read some of it
				if _, err2 := c.Write(buffer); err != nil || err2 != nil {
					t.Error(err, err2)
				}
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case <-time.After(time.Hour):
			case <-r.Context().Done():
				t.Error("the request was given up")
			}
			_, _ = io.WriteString(w, "late")
		})
		if got, err := ask(connect(), "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"); err != nil || got != "late" {
			t.Errorf("a late answer is %q, %v", got, err)
		}
		c := connect()
		if _, err := io.WriteString(c, "CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "ping"); err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 4)
		if _, err := io.ReadFull(c, buffer); err != nil || string(buffer) != "ping" {
			t.Errorf("through the tunnel: %q, %v", buffer, err)
		}
	})
}

// TestGuests: the listeners of all machines share one limit, a connection beyond it is closed, and the end of a
// connection frees a slot.
func TestGuests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := pipes{make(chan net.Conn), make(chan struct{})}, pipes{make(chan net.Conn), make(chan struct{})}
		accepted := make(chan net.Conn, 1<<13)
		for _, l := range []pipes{one, other} {
			bounded := limit.Guests(l)
			go func() {
				for {
					c, err := bounded.Accept()
					if err != nil {
						return
					}
					accepted <- c
				}
			}()
			defer l.Close()
		}
		bound := limit.Default().Connections
		connect := func(l pipes) (closed bool) {
			near, far := net.Pipe()
			l.conns <- far
			synctest.Wait()
			if near.SetReadDeadline(time.Now()) != nil {
				return true // the other end is closed
			}
			_, err := near.Read(make([]byte, 1))
			return errors.Is(err, io.EOF)
		}
		for i := range bound {
			if connect([]pipes{one, other}[i%2]) {
				t.Fatalf("connection %d of %d is refused", i, bound)
			}
		}
		if !connect(one) || !connect(other) {
			t.Error("a connection beyond the bound is taken")
		}
		c := <-accepted
		if err := errors.Join(c.Close(), c.Close()); err != nil {
			t.Error(err)
		}
		if connect(other) {
			t.Error("a connection that ended makes no room")
		}
		for len(accepted) > 0 {
			(<-accepted).Close()
		}
	})
}
