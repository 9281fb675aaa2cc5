package capi

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// After a pass an object waits the longer of two rests: restFactor times as long as the pass took,
// but not longer than longestRest; and restPerObject for each object that was reconciled a
// moment ago, but not longer than longestTurn.
const (
	restFactor    = 5
	longestRest   = time.Second
	restPerObject = 4 * time.Millisecond
	longestTurn   = 10 * time.Second
)

// shortPass is how long a pass takes that no other object waits for.
const shortPass = time.Second

// pacer lets objects rest between two passes. Each event of a Machine triggers a pass over it
// and over all that look at it, and a pass on a stale cache writes what the next one writes
// again; after a rest one pass serves several events. A small cluster does not notice the
// rest, where upstream's gate ReconcilerRateLimiting always waits a second. Of a thousand
// machines each has a pass every eight seconds, and so has their MachineSet, whose passes
// look at all of them: what one machine costs does not grow with their number.
//
// Objects of some controllers wait, besides, while a pass over another object takes long. A MachineSet creates its machines
// one after the other. If each joined as soon as it exists, the joins and the creations would slow each other down, and
// the cluster's controllers would have more passes, of fewer nodes each: 400 nodes together take a tenth less.
//
// Without the gate PriorityQueue, whose queue this is, nothing rests or waits.
type pacer struct {
	mu     sync.Mutex // guards the queues' turns too
	queues []*pacedQueue
	swept  time.Time
	ended  []func(pass) (again time.Duration, err error) // called at the end of each pass
}

// pass is a pass of a controller over an object.
type pass struct {
	controller string
	name       types.NamespacedName
}

// ends adds a function that is called at the end of each pass. An error triggers another pass after a
// back-off, and a time one after that.
func (p *pacer) ends(f func(pass) (again time.Duration, err error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = append(p.ended, f)
}

// during calls f if a pass is running, and before its end; it reports whether it is.
func (p *pacer) during(of pass, f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun(of).IsZero() {
		return false
	}
	f()
	return true
}

// begun returns when a running pass began, zero for one that does not run; p.mu is held.
func (p *pacer) begun(of pass) time.Time {
	for _, q := range p.queues {
		if q.name != of.controller {
			continue
		}
		if t := q.turns[reconcile.Request{NamespacedName: of.name}]; t != nil && !t.begun.IsZero() {
			return t.begun
		}
	}
	return time.Time{}
}

// takesLong reports whether a pass is running that is not short; p.mu is held.
func (p *pacer) takesLong(of pass) bool {
	begun := p.begun(of)
	return !begun.IsZero() && time.Since(begun) > shortPass
}

// release returns functions that add the objects that wait for a pass to their queues again; p.mu is held.
func (p *pacer) release(of pass) (add []func()) {
	for _, q := range p.queues {
		for r := range q.waiting[of] {
			add = append(add, func() { q.Add(r) })
		}
		delete(q.waiting, of)
	}
	return add
}

// options are the options of a controller with n workers whose objects rest.
func (p *pacer) options(n int) controller.Options { return p.optionsBehind(n, nil) }

// optionsBehind are the options of a controller with n workers whose objects rest, and wait while the pass that behind
// returns for them takes long; nil returns none.
func (p *pacer) optionsBehind(n int, behind func(types.NamespacedName) (pass, bool)) controller.Options {
	options := concurrency(n)
	if feature.Gates.Enabled(feature.PriorityQueue) {
		options.NewQueue = func(name string,
			limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return p.newQueue(name, limiter, behind)
		}
	}
	return options
}

func (p *pacer) newQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
	behind func(types.NamespacedName) (pass, bool)) *pacedQueue {
	q := &pacedQueue{
		PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter }),
		name:          name,
		limiter:       limiter,
		pacer:         p,
		turns:         map[reconcile.Request]*turn{},
		behind:        behind,
		waiting:       map[pass]map[reconcile.Request]bool{},
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queues = append(p.queues, q)
	return q
}

// rest returns how long an object waits after a pass that took a time; p.mu is held.
func (p *pacer) rest(took time.Duration) time.Duration { return restAfter(took, p.objects()) }

// objects returns the number of objects that were reconciled a moment ago; p.mu is held.
func (p *pacer) objects() (n int) {
	for _, q := range p.queues {
		n += len(q.turns)
	}
	return n
}

// manyObjects is the number of objects of some twenty machines.
const manyObjects = 60

// turn returns how long an object rests because many others are being reconciled; 0 if few are.
func (p *pacer) turn() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.objects()
	if n < manyObjects {
		return 0
	}
	return restAfter(0, n)
}

// restAfter returns how long an object waits after a pass that took a time, when a number of
// objects is being reconciled.
func restAfter(took time.Duration, objects int) time.Duration {
	return max(min(restFactor*took, longestRest), min(restPerObject*time.Duration(objects), longestTurn))
}

// sweep forgets the objects that have rested; p.mu is held.
func (p *pacer) sweep(now time.Time) {
	if now.Sub(p.swept) <= longestTurn {
		return
	}
	p.swept = now
	for _, q := range p.queues {
		maps.DeleteFunc(q.turns, func(_ reconcile.Request, t *turn) bool { return t.begun.IsZero() && t.next.Before(now) })
	}
}

// pacedQueue delays an object that was reconciled a moment ago. A retry after an error waits for
// its back-off and that delay: at once it would read the same stale cache that made it fail.
type pacedQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	name    string // of the controller
	limiter workqueue.TypedRateLimiter[reconcile.Request]
	pacer   *pacer
	turns   map[reconcile.Request]*turn
	// behind returns the pass that an object waits for while it takes long; nil returns none.
	behind func(types.NamespacedName) (of pass, ok bool)
	// waiting are the objects that wait, by the pass that they wait for.
	waiting map[pass]map[reconcile.Request]bool
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
	q.pacer.mu.Lock()
	defer q.pacer.mu.Unlock()
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
	for {
		r, priority, shutdown := q.PriorityQueue.GetWithPriority()
		if shutdown || q.begin(r) {
			return r, priority, shutdown
		}
		q.PriorityQueue.Done(r)
	}
}

// begin begins a pass over an object, unless the object waits for another pass.
func (q *pacedQueue) begin(r reconcile.Request) bool {
	var of pass
	waits := false
	if q.behind != nil {
		of, waits = q.behind(r.NamespacedName)
	}
	q.pacer.mu.Lock()
	defer q.pacer.mu.Unlock()
	if !waits || !q.pacer.takesLong(of) {
		q.turns[r] = &turn{begun: time.Now()}
		return true
	}
	if q.waiting[of] == nil {
		q.waiting[of] = map[reconcile.Request]bool{}
	}
	q.waiting[of][r] = true
	return false
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
	asked, ended, released := q.end(r)
	for _, f := range ended {
		switch again, err := f(pass{q.name, r.NamespacedName}); {
		case err != nil:
			asked = append(asked, priorityqueue.AddOpts{After: q.limiter.When(r)})
		case again > 0:
			asked = append(asked, priorityqueue.AddOpts{After: again})
		}
	}
	q.PriorityQueue.Done(r) // the next pass may begin
	for _, o := range asked {
		q.add(o, r)
	}
	for _, add := range released {
		add()
	}
}

// end records that a pass has ended, and returns the requests that arrived during it, what is to be called, and what
// releases the objects that waited for it.
func (q *pacedQueue) end(r reconcile.Request) (asked []priorityqueue.AddOpts, ended []func(pass) (time.Duration, error),
	released []func()) {
	q.pacer.mu.Lock()
	defer q.pacer.mu.Unlock()
	t := q.turns[r]
	if t == nil {
		return nil, q.pacer.ended, nil
	}
	now := time.Now()
	asked = t.asked
	*t = turn{next: now.Add(q.pacer.rest(now.Sub(t.begun)))}
	q.pacer.sweep(now)
	return asked, q.pacer.ended, q.pacer.release(pass{q.name, r.NamespacedName})
}
