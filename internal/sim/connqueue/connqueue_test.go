package connqueue

import (
	"context"
	"errors"
	"net"
	"testing"
)

// TestListener checks that a connection is passed on once, and remains its owner's after an error.
func TestListener(t *testing.T) {
	at := &net.UnixAddr{Name: "here", Net: "unix"}
	l := New(at)
	if l.Addr() != at {
		t.Errorf("address %v", l.Addr())
	}
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	given := make(chan error)
	go func() { given <- l.Give(t.Context(), theirs) }()
	if got, err := l.Accept(); got != theirs || err != nil {
		t.Errorf("accepted %v, %v", got, err)
	}
	if err := <-given; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Give(ctx, theirs); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing accepts: %v", err)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if err := l.Give(t.Context(), theirs); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it is closed: %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it is closed: %v", err)
	}
}
