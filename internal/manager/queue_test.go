package manager

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestQueue checks that slow tickers delay no item: one that is added for later comes when
// it is due.
func TestQueue(t *testing.T) {
	q := newQueue("test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
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
