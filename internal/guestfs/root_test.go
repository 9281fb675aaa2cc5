package guestfs

import (
	"context"
	"errors"
	"testing"
)

// TestUntil: every access to a guest's files fails after the guest's end, and works again for remaining work.
func TestUntil(t *testing.T) {
	dir := t.TempDir()
	r, err := At(dir).Root(false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	lift := r.Until(ctx)
	if err := r.WriteFile("/f", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cancel()
	for err == nil { // like a program that does not check whether it should end
		err = r.WriteFile("/f", nil, 0o600)
	}
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	lift()
	if _, err := r.ReadFile("/f"); err != nil {
		t.Error(err)
	}
}
