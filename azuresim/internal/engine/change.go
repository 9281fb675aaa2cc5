package engine

import (
	"context"
	"sync"
)

// Change reports that a resource was written or deleted. A change of a child that is part of its
// parent's document (subnets, rules) is reported as a change of the parent.
type Change struct {
	ID, Type string
	Deleted  bool
}

// feed passes changes to subscribers one after another, in the order of the commits. It uses its
// own goroutine, so that a subscriber may read the store.
type feed struct {
	mu    sync.Mutex
	queue []Change
	subs  []func(Change)
	wake  chan struct{}
}

func newFeed() *feed { return &feed{wake: make(chan struct{}, 1)} }

func (f *feed) add(c []Change) {
	if len(c) == 0 {
		return
	}
	f.mu.Lock()
	if len(f.subs) > 0 {
		f.queue = append(f.queue, c...)
	}
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *feed) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		for {
			f.mu.Lock()
			queue, subs := f.queue, f.subs
			f.queue = nil
			f.mu.Unlock()
			if len(queue) == 0 {
				break
			}
			for _, c := range queue {
				for _, s := range subs {
					s(c)
				}
			}
		}
	}
}

// Subscribe calls fn after each later change, in the order of the changes. A slow fn delays other
// subscribers but no request.
func (s *Server) Subscribe(fn func(Change)) {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.feed.subs = append(append([]func(Change){}, s.feed.subs...), fn)
}

// Changed returns a channel that closes when the next operation ends or Broadcast is called.
func (s *Server) Changed() <-chan struct{} { return s.running.wait() }

// Spawn runs fn in the background; Close waits until fn returns. After Close, Spawn does nothing:
// if a request was still being answered then, its operation continues when New opens the store
// again.
func (s *Server) Spawn(fn func()) {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.Life.Err() == nil {
		s.work.Go(fn)
	}
}

// running has the cancel functions of all operations in progress.
type running struct {
	mu sync.Mutex
	m  map[string]context.CancelFunc
	// ended is closed and replaced whenever an operation ends.
	ended chan struct{}
}

func newRunning() *running {
	return &running{m: map[string]context.CancelFunc{}, ended: make(chan struct{})}
}

func (r *running) add(id string, cancel context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.m[id] = cancel
}

func (r *running) done(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.m, id)
	close(r.ended)
	r.ended = make(chan struct{})
}

func (r *running) cancel(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.m[id]; c != nil {
		c()
	}
}

func (r *running) wait() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}
