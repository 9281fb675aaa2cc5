package limit_test

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"casement.dev/casement/internal/limit"
)

// TestGuest: the usage of two programs of a guest adds up; the program that exceeds the limit ends, and its
// usage is returned.
func TestGuest(t *testing.T) {
	var g limit.Guest
	first, second := g.Meter(t.Context()), g.Meter(t.Context())
	first.Hold(limit.GuestMemory / 2)
	err := second.Run(func() {
		second.Hold(limit.GuestMemory / 2)
		second.Hold(1)
		t.Error("the program goes on")
	})
	if !errors.Is(err, limit.ErrExceeded) {
		t.Errorf("ended with %v", err)
	}
	second.Close()
	if got := g.InUse(); got != limit.GuestMemory/2 {
		t.Errorf("%d bytes are held", got)
	}
	first.During(limit.GuestMemory/2, func() {})
	first.Close()
	if got := g.InUse(); got != 0 {
		t.Errorf("%d bytes are held at the end", got)
	}
}

// TestMeterSeesTheEnd: a loop ends with its context.
func TestMeterSeesTheEnd(t *testing.T) {
	var g limit.Guest
	ctx, cancel := context.WithCancel(t.Context())
	m := g.Meter(ctx)
	err := m.Run(func() {
		for i := 0; ; i++ {
			if m.Step(); i == 1000 {
				cancel()
			}
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	defer func() {
		if recover() != "other" {
			t.Error("another panic does not pass")
		}
	}()
	_ = m.Run(func() { panic("other") })
}

// TestGuestFiles: a guest cannot have more files open than permitted, and can open others once it closes some.
func TestGuestFiles(t *testing.T) {
	var g limit.Guest
	var releases []func()
	for {
		release, err := g.Open()
		if err != nil {
			if !errors.Is(err, syscall.EMFILE) {
				t.Error(err)
			}
			break
		}
		releases = append(releases, release)
	}
	if n := uint64(len(releases)); n < 64 || n > max(limit.Files()/16, 64) {
		t.Errorf("%d files are open", n)
	}
	for range 2 { // a file that is closed twice counts once
		releases[0]()
	}
	if got := g.Files(); got != int64(len(releases)-1) {
		t.Errorf("%d files are open, and %d were", got, len(releases))
	}
}
