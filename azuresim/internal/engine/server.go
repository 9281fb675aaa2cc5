package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/azuresim/internal/throttle"
	"casement.dev/casement/azuresim/internal/value"
	"casement.dev/casement/internal/private"
)

// Default values of Options. The tenant and the subscription exist only in casement.
const (
	DefaultTenant       = "00000000-0000-0000-0000-0000000000a0"
	DefaultSubscription = "00000000-0000-0000-0000-0000000000a1"
)

// Options are the options of an engine.
type Options struct {
	// Dir is the state directory; empty keeps the state in memory.
	Dir string
	Log logr.Logger
	// Clock is the source of time; nil means the real clock.
	Clock clock.WithTicker
	// Latency scales how long operations last.
	Latency Latency
	// Throttle scales the limits of requests.
	Throttle Throttle
	// TenantID and Subscriptions default to the constants above.
	TenantID      string
	Subscriptions []string
	// Faults are the fault rules at the start; nil means none.
	Faults *fault.Set
}

// Server is a running local Azure.
type Server struct {
	Options Options
	Log     logr.Logger
	Clock   clock.WithTicker
	pace    Latency
	Life    context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup
	// starting is locked while background work starts, so that none starts while Close
	// waits.
	starting sync.Mutex
	Registry *registry
	running  *running
	feed     *feed
	calls    *callLog
	faults   *fault.Set
	budgets  throttle.Buckets
	pki      *serving
	Signer   *signer
	verified verifiedTokens
	Port     atomic.Int64 // the port on which Serve listens; 0 before

	mu    sync.RWMutex
	store *store
}

// Open opens the state and resumes the operations in progress. The providers' tables belong
// to this server afterwards.
func Open(cfg Options, providers ...Provider) (*Server, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.TenantID == "" {
		cfg.TenantID = DefaultTenant
	}
	if len(cfg.Subscriptions) == 0 {
		cfg.Subscriptions = []string{DefaultSubscription}
	}
	if cfg.Faults == nil {
		cfg.Faults = &fault.Set{}
	}
	if cfg.Dir != "" {
		if err := private.Dir(cfg.Dir); err != nil {
			return nil, fmt.Errorf("the local Azure's state: %w", err)
		}
	}
	types := NewRegistry(providers)
	store, err := openStore(cfg.Dir, types, cfg.Log)
	if err != nil {
		return nil, err
	}
	s := &Server{Options: cfg, Log: cfg.Log, Clock: cfg.Clock, pace: cfg.Latency, Registry: types,
		running: newRunning(), feed: newFeed(), calls: newCallLog(), faults: cfg.Faults, store: store}
	if err := prepare(s); err != nil {
		store.close()
		return nil, err
	}
	s.Life, s.stop = context.WithCancel(context.Background())
	s.Spawn(func() { s.feed.run(s.Life) })
	s.resume()
	return s, nil
}

// prepare reads the files in the state directory, or creates them.
func prepare(s *Server) (err error) {
	if s.pki, err = loadServing(s.Options.Dir, s.Registry.hosts()); err != nil {
		return fmt.Errorf("the local Azure's CA: %w", err)
	}
	if s.Signer, err = loadSigner(s.Options.Dir); err != nil {
		return fmt.Errorf("the key that signs the local Azure's tokens: %w", err)
	}
	for _, p := range s.Registry.providers {
		if p.Open == nil {
			continue
		}
		if err := p.Open(s); err != nil {
			return err
		}
	}
	return nil
}

// resume starts the providers' background work and the operations that were in progress.
func (s *Server) resume() {
	var open []*Operation
	s.Read(func(t *Tx) { open = t.OpenOperations() })
	for _, p := range s.Registry.providers {
		if p.Start != nil {
			p.Start(s)
		}
	}
	for _, op := range open {
		s.drive(op)
	}
}

// Close stops the server; operations in progress continue at the next Open of the same
// directory.
func (s *Server) Close() error {
	s.starting.Lock()
	s.stop()
	s.starting.Unlock()
	s.work.Wait()
	return s.store.close()
}

// Broadcast wakes operations that wait for an event outside the store.
func (s *Server) Broadcast() { s.running.broadcast() }

// List returns the documents of a resource type in the form that clients see.
func (s *Server) List(resourceType string) []json.RawMessage {
	var out []json.RawMessage
	s.Read(func(t *Tx) {
		for r := range t.Scan(resourceType, "") {
			out = append(out, t.Shown(r, ""))
		}
	})
	return out
}

// Get returns one document in the form that clients see.
func (s *Server) Get(id string) (json.RawMessage, bool) {
	var out json.RawMessage
	s.Read(func(t *Tx) {
		if r := t.Record(strings.TrimRight(id, "/")); r != nil {
			out = t.Shown(r, "")
		}
	})
	return out, out != nil
}

// Resources returns the IDs of all resources, sorted.
func (s *Server) Resources() []string {
	var out []string
	s.Read(func(t *Tx) {
		for r := range Ascend(t.Order, "") {
			if k := s.Registry.TypeOf(r.Type); k == nil || !k.Remains {
				out = append(out, r.ID)
			}
		}
	})
	return out
}

// Do answers a request without a network connection, like the transport of an HTTP client.
func (s *Server) Do(r *http.Request) (*http.Response, error) { return RoundTrip(s, r) }

func marshal(o value.Object) json.RawMessage {
	data, err := json.Marshal(o)
	if err != nil {
		return json.RawMessage("{}") // an object decoded from JSON always encodes
	}
	return data
}

// CAFile returns the path of the CA certificate, or "" for a server in memory.
func (s *Server) CAFile() string {
	if s.Options.Dir == "" {
		return ""
	}
	return filepath.Join(s.Options.Dir, "ca.crt")
}
