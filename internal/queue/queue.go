// Package queue has the work queues of the controllers: an object rests between two passes over it, so that one pass
// serves several events.
//
// It does not depend on kinds of objects. Package manager uses it.
package queue

import (
	"maps"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// sampleEvery is the interval at which a work queue samples its metrics workqueue_unfinished_work_seconds and
// workqueue_longest_running_processor_seconds; they are rarely scraped more often.
const sampleEvery = 15 * time.Second

// Queue is the interface of a controller's work queue.
type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Rest is the minimum time between two passes over an object: Factor times the duration of the pass, but not longer
// than Longest.
type Rest struct {
	Factor  time.Duration
	Longest time.Duration
}

// New returns a function that creates the work queue of a controller. The queue is client-go's, with slow tickers.
// controller-runtime's priority queue samples twice a second and has no setting for that; with seven controllers, this
// was two thirds of an idle manager's work.
func New(rest Rest) func(string, workqueue.TypedRateLimiter[reconcile.Request]) Queue {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) Queue {
		return &restingQueue{
			TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
				workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name, Clock: slowTicks{}}),
			rest:  rest,
			turns: map[reconcile.Request]turn{},
		}
	}
}

// restingQueue delays an object for which an event arrives during its pass or its rest, so that one pass
// serves several events: a pass over a pool costs more with each of its instances, and each instance
// triggers passes. A pass that was requested for a later time runs at that time, and a retry after its
// back-off.
type restingQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	rest Rest

	mu    sync.Mutex
	turns map[reconcile.Request]turn
	swept time.Time
}

// turn is the last pass of one object.
type turn struct {
	begun time.Time // start of the running pass; zero while none is running
	next  time.Time // the earliest time of the next pass
	again bool      // an event arrived during the pass
}

// Add implements workqueue.TypedInterface.
func (q *restingQueue) Add(r reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t, ok := q.turns[r]
	switch {
	case ok && !t.begun.IsZero():
		t.again = true
		q.turns[r] = t
	case ok && time.Until(t.next) > 0:
		q.TypedRateLimitingInterface.AddAfter(r, time.Until(t.next))
	default:
		q.TypedRateLimitingInterface.Add(r)
	}
}

// Get implements workqueue.TypedInterface.
func (q *restingQueue) Get() (reconcile.Request, bool) {
	r, shutdown := q.TypedRateLimitingInterface.Get()
	if !shutdown {
		q.mu.Lock()
		q.turns[r] = turn{begun: time.Now()}
		q.mu.Unlock()
	}
	return r, shutdown
}

// Done implements workqueue.TypedInterface.
func (q *restingQueue) Done(r reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	t := q.turns[r]
	rest := min(q.rest.Factor*now.Sub(t.begun), q.rest.Longest)
	q.turns[r] = turn{next: now.Add(rest)}
	q.TypedRateLimitingInterface.Done(r)
	if t.again {
		q.TypedRateLimitingInterface.AddAfter(r, rest)
	}
	if now.Sub(q.swept) > max(q.rest.Longest, time.Second) {
		q.swept = now
		maps.DeleteFunc(q.turns, func(_ reconcile.Request, t turn) bool { return t.begun.IsZero() && t.next.Before(now) })
	}
}

// slowTicks is the real clock, except that tickers tick at most once per sampleEvery. Its timers, with which a queue
// adds an item later, are as exact as the real clock's.
type slowTicks struct{ clock.RealClock }

// NewTicker implements clock.WithTicker.
func (c slowTicks) NewTicker(d time.Duration) clock.Ticker {
	return c.RealClock.NewTicker(max(d, sampleEvery))
}
