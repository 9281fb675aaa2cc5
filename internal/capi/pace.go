package capi

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// After a pass an object waits restFactor times as long as the pass took, and longestRest at most.
const (
	restFactor  = 5
	longestRest = time.Second
)

// paced are the options of a controller with n workers whose objects rest between two
// passes. Each event of a Machine triggers a pass, and a pass on a stale cache writes what
// the next one writes again; after a rest one pass serves several events. Passes are short
// while few objects are reconciled, so that a small cluster does not notice the rest,
// where upstream's gate ReconcilerRateLimiting always waits a second.
//
// Without the gate PriorityQueue, whose queue this is, nothing rests.
func paced(n int) controller.Options {
	options := concurrency(n)
	if feature.Gates.Enabled(feature.PriorityQueue) {
		options.NewQueue = newPacedQueue
	}
	return options
}

func newPacedQueue(name string,
	limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return &pacedQueue{
		PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter }),
		limiter:       limiter,
		turns:         map[reconcile.Request]*turn{},
	}
}

// pacedQueue delays an object that was reconciled a moment ago. A retry after an error waits for
// its back-off and that delay: at once it would read the same stale cache that made it fail.
type pacedQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	limiter workqueue.TypedRateLimiter[reconcile.Request]

	mu    sync.Mutex
	turns map[reconcile.Request]*turn
	swept time.Time
}

// turn is the last pass of one object.
type turn struct {
	// begun is when the running pass began; zero while none runs.
	begun time.Time
	// next is when the next pass may begin.
	next time.Time
	// asked are the requests for another pass that arrived during this one.
	asked []priorityqueue.AddOpts
}

// AddWithOpts implements priorityqueue.PriorityQueue.
func (q *pacedQueue) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, r := range requests {
		one := o
		if o.RateLimited {
			one.RateLimited, one.After = false, max(o.After, q.limiter.When(r))
		}
		q.add(one, r)
	}
}

func (q *pacedQueue) add(o priorityqueue.AddOpts, r reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := q.turns[r]; t != nil {
		if !t.begun.IsZero() {
			t.asked = append(t.asked, o)
			return
		}
		o.After = max(o.After, time.Until(t.next))
	}
	q.PriorityQueue.AddWithOpts(o, r)
}

// Add implements workqueue.TypedInterface.
func (q *pacedQueue) Add(r reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, r) }

// AddAfter implements workqueue.TypedDelayingInterface.
func (q *pacedQueue) AddAfter(r reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, r)
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (q *pacedQueue) GetWithPriority() (reconcile.Request, int, bool) {
	r, priority, shutdown := q.PriorityQueue.GetWithPriority()
	if !shutdown {
		q.mu.Lock()
		q.turns[r] = &turn{begun: time.Now()}
		q.mu.Unlock()
	}
	return r, priority, shutdown
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *pacedQueue) AddRateLimited(r reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, r)
}

// Get implements workqueue.TypedInterface.
func (q *pacedQueue) Get() (reconcile.Request, bool) {
	r, _, shutdown := q.GetWithPriority()
	return r, shutdown
}

// Done implements workqueue.TypedInterface.
func (q *pacedQueue) Done(r reconcile.Request) {
	asked := q.end(r)
	q.PriorityQueue.Done(r)
	for _, o := range asked {
		q.add(o, r)
	}
}

// end records that a pass has ended, and returns the requests that arrived during it.
func (q *pacedQueue) end(r reconcile.Request) []priorityqueue.AddOpts {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.turns[r]
	if t == nil {
		return nil
	}
	now := time.Now()
	asked := t.asked
	*t = turn{next: now.Add(min(restFactor*now.Sub(t.begun), longestRest))}
	if now.Sub(q.swept) > longestRest {
		q.swept = now
		for of, t := range q.turns {
			if t.begun.IsZero() && t.next.Before(now) {
				delete(q.turns, of)
			}
		}
	}
	return asked
}
