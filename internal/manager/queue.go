package manager

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// sampleEvery is how often a work queue samples its metrics workqueue_unfinished_work_seconds
// and workqueue_longest_running_processor_seconds; they are scraped seldom more often.
const sampleEvery = 15 * time.Second

// newQueue returns the work queue of a controller. It is client-go's, with slow tickers:
// the priority queue of controller-runtime samples twice a second, which cannot be set, and
// with seven controllers that was two thirds of what an idle manager did.
func newQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name, Clock: slowTicks{}})
}

// slowTicks is the real clock, with tickers that tick every sampleEvery at most. Its timers,
// by which a queue adds an item later, are as exact as ever.
type slowTicks struct{ clock.RealClock }

// NewTicker implements clock.WithTicker.
func (c slowTicks) NewTicker(d time.Duration) clock.Ticker {
	return c.RealClock.NewTicker(max(d, sampleEvery))
}
