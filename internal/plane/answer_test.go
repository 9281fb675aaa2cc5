package plane

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestHalfAnAnswer: a plane that begins a response and does not finish it counts as not answering, and a command that
// starts the plane keeps waiting.
func TestHalfAnAnswer(t *testing.T) {
	dir := Dir(t.TempDir())
	if err := dir.Make(); err != nil {
		t.Fatal(err)
	}
	lock, err := dir.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	l, err := net.Listen("unix", dir.Socket())
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-r.Context().Done()
	})}
	defer server.Close()
	go func() { _ = server.Serve(l) }()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var s Status
	if err := NewClient(dir).get(ctx, "/status", &s); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("%v, want %v", err, ErrNoAnswer)
	}
}
