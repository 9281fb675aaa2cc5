package ui

import (
	"context"
	"sync"
	"time"

	"casement.dev/casement/internal/ui/model"
)

// The pause between two reads: least while something changes, most while nothing does. After a slow read the pause is
// share times its duration, so that reading takes at most a fifth of the time.
const (
	leastPause = time.Second
	mostPause  = 5 * time.Second
	share      = 4
)

// hub reads the model for all pages together, while a page is connected.
type hub struct {
	read func(context.Context) model.Model

	mu      sync.Mutex
	pages   int
	stop    context.CancelFunc
	current model.Model
	// changed is closed when there is a new current model.
	changed chan struct{}
}

func newHub(read func(context.Context) model.Model) *hub {
	return &hub{read: read, changed: make(chan struct{})}
}

// join counts a connected page until leave is called. It refuses pages beyond the limit.
func (h *hub) join(ctx context.Context) (leave func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pages == maxStreams {
		return nil, false
	}
	if h.pages++; h.pages == 1 {
		var loop context.Context
		loop, h.stop = context.WithCancel(context.WithoutCancel(ctx))
		h.current = nil
		go h.run(loop)
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.pages--; h.pages == 0 {
			h.stop()
		}
	}, true
}

// run reads the model repeatedly until ctx ends.
func (h *hub) run(ctx context.Context) {
	pause := leastPause
	for ctx.Err() == nil {
		began := time.Now()
		if h.set(ctx, h.read(ctx)) {
			pause = leastPause
		} else {
			pause = min(pause*3/2, mostPause)
		}
		timer := time.NewTimer(max(pause, share*time.Since(began)))
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
}

// set makes a model the current one and reports whether it differs from the previous one. It ignores the model of a
// stopped loop, because another loop may be running already.
func (h *hub) set(ctx context.Context, m model.Model) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() != nil || h.current != nil && model.Diff(h.current, m).Empty() {
		return false
	}
	h.current = m
	close(h.changed)
	h.changed = make(chan struct{})
	return true
}

// next returns the current model as soon as it differs from have, or have itself after the time patience. It returns
// false when ctx ends.
func (h *hub) next(ctx context.Context, have model.Model, patience time.Duration) (model.Model, bool) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		h.mu.Lock()
		current, changed := h.current, h.changed
		h.mu.Unlock()
		if current != nil && (have == nil || !model.Diff(have, current).Empty()) {
			return current, true
		}
		select {
		case <-ctx.Done():
			return nil, false
		case <-timer.C:
			return have, true
		case <-changed:
		}
	}
}
