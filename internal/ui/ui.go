// Package ui serves the page that shows clusters in a browser: a server on 127.0.0.1 with a token in its URL, one
// stream of events to each page, and the embedded files of the page itself. It only reads. internal/ui/model builds the
// page's content; the server sends its changes. It uses the local plane only through the interface Local. The command
// line imports it.
package ui

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/ui/model"
)

// Source is the source of the server's data.
type Source interface {
	// Read returns the whole model; the model lists the objects that could not be read.
	Read(ctx context.Context) model.Model
	// Why returns the first fault of a row's object.
	Why(ctx context.Context, s Selection) (walk.Answer, error)
	// Console writes the boot log of a machine to w without secrets; with follow, until ctx ends.
	Console(ctx context.Context, s Selection, follow bool, w io.Writer) error
	// Show writes data about a row's object from the API server or the kubelet, without secrets: its YAML, its events,
	// or a pod's logs.
	Show(ctx context.Context, s Selection, what string, w io.Writer) error
	// Account reads the quotas and the activity log of the clusters' subscription.
	Account(ctx context.Context) (model.Account, error)
}

// Limits of the server. A page has one stream, and one console stream while it shows a console.
const (
	maxStreams  = 16
	maxConsoles = 16
	maxAnswers  = 2
	// heartbeat is the interval of the messages that keep an idle stream open.
	heartbeat = 15 * time.Second
	// writeTimeout is the timeout of one write to a page; readTimeout is the timeout for reading the header of a request.
	writeTimeout = 10 * time.Second
	readTimeout  = 5 * time.Second
	// answerTimeout is the timeout of one answer of Why.
	answerTimeout = 30 * time.Second
)

// Server serves the page.
type Server struct {
	// open returns the source for a context, and false if the context does not exist.
	open    func(context string) (Source, bool)
	mu      sync.Mutex
	windows map[string]*window

	token    string
	host     string
	consoles chan struct{}
	answers  chan struct{}
	mux      *http.ServeMux
}

// window is the state of a context that pages show.
type window struct {
	source Source
	hub    *hub
}

// New returns a server for a listener's address, with a new token. Pages request a context by its name, at first by "";
// open returns its source, and false if the context does not exist.
func New(open func(context string) (Source, bool), address net.Addr) *Server {
	s := &Server{open: open, windows: map[string]*window{}, token: rand.Text(), host: address.String(),
		consoles: make(chan struct{}, maxConsoles), answers: make(chan struct{}, maxAnswers), mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /{$}", s.page)
	s.mux.HandleFunc("GET /app.js", asset("text/javascript; charset=utf-8", script))
	s.mux.HandleFunc("GET /app.css", asset("text/css; charset=utf-8", style))
	s.mux.HandleFunc("GET /events", s.of(s.events))
	s.mux.HandleFunc("GET /why", s.of(s.why))
	s.mux.HandleFunc("GET /console", s.of(s.console))
	s.mux.HandleFunc("GET /show", s.of(s.show))
	s.mux.HandleFunc("GET /account", s.of(s.account))
	return s
}

// of returns a handler that uses the context that a request names.
func (s *Server) of(answer func(*window, http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Query().Get("context")
		s.mu.Lock()
		v := s.windows[name]
		if v == nil {
			if source, ok := s.open(name); ok {
				v = &window{source, newHub(source.Read)}
				s.windows[name] = v
			}
		}
		s.mu.Unlock()
		if v == nil {
			http.Error(w, "the kubeconfig has no such context", http.StatusNotFound)
			return
		}
		answer(v, w, r)
	}
}

// Address returns the URL of the page. Everyone who knows it can read the page.
func (s *Server) Address() string { return "http://" + s.host + "/" + s.token + "/" }

// Serve serves a listener until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: readTimeout, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // this also ends the streams
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP implements http.Handler. It answers 403 to a request without the token, with another
// Host than the server's, or from another origin.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	rest, ok := s.allowed(r)
	if !ok {
		http.Error(w, "403: open the address that 'casement ui' printed, with its token", http.StatusForbidden)
		return
	}
	http.StripPrefix(strings.TrimSuffix(r.URL.Path, rest), s.mux).ServeHTTP(w, r)
}

// allowed returns the path after the token, and whether the request may be answered.
func (s *Server) allowed(r *http.Request) (string, bool) {
	if _, port, err := net.SplitHostPort(s.host); err != nil || r.Host != s.host && r.Host != "localhost:"+port {
		return "", false
	}
	if origin, has := r.Header["Origin"]; has && (len(origin) != 1 || origin[0] != "http://"+r.Host) {
		return "", false
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return "", false
	}
	token, rest, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return "/" + rest, ok && subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) == 1
}

// events streams the model and then its changes. A slow page gets fewer and larger changes.
func (s *Server) events(v *window, w http.ResponseWriter, r *http.Request) {
	leave, ok := v.hub.join(r.Context())
	if !ok {
		http.Error(w, "too many pages are open; close some", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(text ...[]byte) error {
		if err := out.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return err
		}
		for _, t := range text {
			if _, err := w.Write(t); err != nil {
				return err
			}
		}
		return out.Flush()
	}
	var have model.Model
	for {
		next, ok := v.hub.next(r.Context(), have, heartbeat)
		if !ok || r.Context().Err() != nil {
			return
		}
		change := model.Diff(have, next)
		if change.Empty() {
			if send([]byte(": still here\n\n")) != nil {
				return
			}
			continue
		}
		data, err := json.Marshal(change)
		if err != nil || send([]byte("data: "), data, []byte("\n\n")) != nil {
			return
		}
		have = next
	}
}

// why responds with the first fault of a row's object.
func (s *Server) why(v *window, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	if !take(ctx, s.answers) {
		return
	}
	defer func() { <-s.answers }()
	answer, err := v.source.Why(ctx, selection(r))
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": redacted(err)}) // the browser has disconnected
		return
	}
	_ = json.NewEncoder(w).Encode(model.Redacted(answer)) // the browser has disconnected
}

// console streams the boot log of a machine while the page reads it.
func (s *Server) console(v *window, w http.ResponseWriter, r *http.Request) {
	if !take(r.Context(), s.consoles) {
		return
	}
	defer func() { <-s.consoles }()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	out := &flushed{w: w, out: http.NewResponseController(w)}
	if err := v.source.Console(r.Context(), selection(r), true, out); err != nil && !out.began && r.Context().Err() == nil {
		http.Error(w, redacted(err), http.StatusNotFound)
	}
}

// show responds with the YAML, the events or the logs of a row's object.
func (s *Server) show(v *window, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	if !take(ctx, s.answers) {
		return
	}
	defer func() { <-s.answers }()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	var text bytes.Buffer
	if err := v.source.Show(ctx, selection(r), r.URL.Query().Get("what"), &text); err != nil {
		http.Error(w, redacted(err), http.StatusNotFound)
		return
	}
	_, _ = w.Write(text.Bytes()) // the browser has disconnected
}

// account responds with the quotas and the activity log.
func (s *Server) account(v *window, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	if !take(ctx, s.answers) {
		return
	}
	defer func() { <-s.answers }()
	account, err := v.source.Account(ctx)
	if err != nil {
		http.Error(w, redacted(err), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(account.Sorted()) // the browser has disconnected
}

// take waits for a free slot in places; it returns false if ctx ends first.
func take(ctx context.Context, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// flushed is a writer that flushes after each write.
type flushed struct {
	w     io.Writer
	out   *http.ResponseController
	began bool
}

func (f *flushed) Write(b []byte) (int, error) {
	f.began = true
	if err := f.out.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	n, err := f.w.Write(b)
	return n, errors.Join(err, f.out.Flush())
}
