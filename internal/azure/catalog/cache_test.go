package catalog

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestReadOutlivesItsCaller checks that a read continues for other callers when the first
// caller gives up.
func TestReadOutlivesItsCaller(t *testing.T) {
	c := newCache[string](time.Now)
	reading, answer := make(chan struct{}), make(chan struct{})
	read := func(ctx context.Context) (string, time.Duration, error) {
		close(reading)
		<-answer
		return "value", time.Hour, ctx.Err()
	}
	first, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := c.get(first, "key", read)
		left <- err
	}()
	<-reading
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the first one left with %v", err)
	}
	close(answer)
	// This call joins the read or comes after it; it never reads a second time.
	if value, err := c.get(t.Context(), "key", read); err != nil || value != "value" {
		t.Errorf("got %q, %v", value, err)
	}
}
