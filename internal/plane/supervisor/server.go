package supervisor

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/plane"
)

// serveControl serves the control socket, which only the owner may open.
func (s *supervisor) serveControl() (*http.Server, error) {
	path := s.opts.Dir.Socket()
	// This process has the lock, so an existing socket is left over from an earlier plane.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.status()) })
	mux.HandleFunc("GET /calls", s.serveCalls)
	mux.HandleFunc("GET /console", s.serveConsole)
	mux.Handle("GET /metrics", metrics(s.panics))
	s.controlAzure(mux)
	mux.HandleFunc("POST /stop", func(http.ResponseWriter, *http.Request) {
		s.setPhase(plane.PhaseStopping, nil)
		s.stop(errStopped)
	})
	bounds := limit.Default()
	server := bounds.Server(mux)
	l = bounds.Listener(l)
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error(err, "control socket")
		}
	}()
	return server, nil
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	// An error here means that the client has disconnected.
	_ = json.NewEncoder(w).Encode(v)
}

func (s *supervisor) serveCalls(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	azure := s.azure
	s.mu.Unlock()
	if azure == nil {
		http.Error(w, "the local Azure has not started yet", http.StatusServiceUnavailable)
		return
	}
	writeJSON(w, azure.calls())
}

// serveConsole streams a VM's console; with follow, until the client disconnects.
func (s *supervisor) serveConsole(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	azure := s.azure
	s.mu.Unlock()
	id := r.URL.Query().Get("id")
	if azure == nil {
		http.Error(w, "the local Azure has not started yet", http.StatusServiceUnavailable)
		return
	}
	if !azure.machines.Has(id) {
		http.Error(w, "no VM "+id+" runs in the local Azure", http.StatusNotFound)
		return
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for sent := 0; ; {
		text := azure.machines.Console(id)
		if len(text) < sent {
			sent = 0 // the log was truncated
		}
		if _, err := w.Write(text[sent:]); err != nil {
			return
		}
		sent = len(text)
		if r.URL.Query().Get("follow") == "" {
			return
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}
