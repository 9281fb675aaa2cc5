package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var briefly = Rest{Factor: 5, Longest: time.Second}

// TestQueue checks that slow tickers delay no item: an item added for later arrives when it is due.
func TestQueue(t *testing.T) {
	q := New(briefly)("test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	item := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: "b"}}
	start := time.Now()
	q.AddAfter(item, 20*time.Millisecond)
	got, shutdown := q.Get()
	if got != item || shutdown {
		t.Fatalf("got %v, shut down %t, want %v", got, shutdown, item)
	}
	if waited := time.Since(start); waited < 20*time.Millisecond {
		t.Errorf("the item came after %v, before it was due", waited)
	}
	q.Done(item)
}

// TestRest checks that events during a pass and its rest trigger one more pass, after the rest.
func TestRest(t *testing.T) {
	item := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: "b"}}
	for _, test := range []struct {
		name          string
		took          time.Duration
		during, after func(workqueue.TypedRateLimitingInterface[reconcile.Request])
		waited        time.Duration
	}{
		{name: "events during a pass", took: 20 * time.Millisecond, waited: 100 * time.Millisecond,
			during: func(q workqueue.TypedRateLimitingInterface[reconcile.Request]) { q.Add(item); q.Add(item) }},
		{name: "an event during the rest", took: 20 * time.Millisecond, waited: 100 * time.Millisecond,
			after: func(q workqueue.TypedRateLimitingInterface[reconcile.Request]) { q.Add(item) }},
		{name: "the rest is bounded", took: time.Minute, waited: briefly.Longest,
			after: func(q workqueue.TypedRateLimitingInterface[reconcile.Request]) { q.Add(item) }},
		{name: "a later time stays", took: 20 * time.Millisecond, waited: time.Hour,
			after: func(q workqueue.TypedRateLimitingInterface[reconcile.Request]) { q.AddAfter(item, time.Hour) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(briefly)("test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
				defer q.ShutDown()
				q.Add(item)
				q.Get()
				if test.during != nil {
					test.during(q)
				}
				time.Sleep(test.took)
				q.Done(item)
				ended := time.Now()
				if test.after != nil {
					test.after(q)
				}
				q.Get()
				if waited := time.Since(ended); waited != test.waited {
					t.Errorf("the next pass began %v after the first, want %v", waited, test.waited)
				}
				q.Done(item)
				if q.Len() != 0 {
					t.Errorf("%d more passes are due", q.Len())
				}
			})
		})
	}
}
