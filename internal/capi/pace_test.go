package capi

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestPace(t *testing.T) {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	one := reconcile.Request{NamespacedName: types.NamespacedName{Name: "one"}}
	const backOff = 10 * time.Millisecond
	for _, test := range []struct {
		name string
		took time.Duration
		// during and after request another pass: during the first one, or after it.
		during, after func(queue)
		waited        time.Duration
	}{
		{name: "a short pass has a short rest", took: 4 * time.Millisecond, after: func(q queue) { q.Add(one) }, waited: 20 * time.Millisecond},
		{name: "a long one a long rest", took: 100 * time.Millisecond, after: func(q queue) { q.Add(one) }, waited: 500 * time.Millisecond},
		{name: "the rest is bounded", took: time.Minute, after: func(q queue) { q.Add(one) }, waited: time.Second},
		{name: "what is asked for during a pass comes after the rest", took: 20 * time.Millisecond,
			during: func(q queue) { q.Add(one); q.AddAfter(one, time.Hour) }, waited: 100 * time.Millisecond},
		{name: "a later time stays", took: 20 * time.Millisecond, after: func(q queue) { q.AddAfter(one, time.Hour) }, waited: time.Hour},
		{name: "a retry waits for the rest", took: 100 * time.Millisecond,
			during: func(q queue) { q.AddRateLimited(one) }, waited: 500 * time.Millisecond},
		{name: "a retry waits for its back-off", took: time.Millisecond, during: func(q queue) { q.AddRateLimited(one) }, waited: backOff},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := (&pacer{}).options(1).NewQueue("machine",
					workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](backOff, time.Hour))
				defer q.ShutDown()
				q.Add(one)
				if got, _ := q.Get(); got != one {
					t.Fatalf("%v has its turn, want %v", got, one)
				}
				if test.during != nil {
					test.during(q)
				}
				time.Sleep(test.took)
				q.Done(one)
				ended := time.Now()
				if test.after != nil {
					test.after(q)
				}
				q.Get()
				if waited := time.Since(ended); waited != test.waited {
					t.Errorf("the next pass began %v after the first, want %v", waited, test.waited)
				}
				q.Done(one)
			})
		})
	}
}

// TestTurns checks that the rest grows with the number of objects, up to a bound.
func TestTurns(t *testing.T) {
	for _, test := range []struct {
		objects int
		want    time.Duration
	}{
		{1, 50 * time.Millisecond}, {4, 50 * time.Millisecond}, {100, 400 * time.Millisecond}, {1000, 4 * time.Second}, {5000, longestTurn},
	} {
		if got := restAfter(10*time.Millisecond, test.objects); got != test.want {
			t.Errorf("with %d objects the rest is %v, want %v", test.objects, got, test.want)
		}
	}
}

func TestPaceForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Hour)
		q := (&pacer{}).options(1).NewQueue("machine", limiter)
		defer q.ShutDown()
		for _, name := range []string{"one", "two", "three"} {
			q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
			r, _ := q.Get()
			time.Sleep(2 * longestTurn)
			q.Done(r)
		}
		of, ok := q.(*pacedQueue)
		if !ok || len(of.turns) != 1 {
			t.Errorf("the queue remembers objects that are due again: %v", of.turns)
		}
	})
}

// TestBehind checks that objects wait while the pass that they are behind takes long, and until its end.
func TestBehind(t *testing.T) {
	set := types.NamespacedName{Name: "set"}
	for name, test := range map[string]struct {
		creating time.Duration // for how long the pass over the set has run
		object   string
		waits    bool
	}{
		"a short pass":               {shortPass, "config", false},
		"a long pass":                {2 * shortPass, "config", true},
		"an object of another owner": {2 * shortPass, "other", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pacer{}
				limiter := workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()
				sets := p.options(1).NewQueue("machineset", limiter)
				defer sets.ShutDown()
				configs := p.optionsBehind(1, func(name types.NamespacedName) (pass, bool) {
					return pass{"machineset", set}, name.Name == "config"
				}).NewQueue("kubeadmconfig", limiter)
				defer configs.ShutDown()
				sets.Add(reconcile.Request{NamespacedName: set})
				creation, _ := sets.Get()
				time.Sleep(test.creating)

				request := reconcile.Request{NamespacedName: types.NamespacedName{Name: test.object}}
				configs.Add(request)
				var began time.Time
				go func() {
					got, _ := configs.Get()
					began = time.Now()
					configs.Done(got)
				}()
				asked := time.Now()
				time.Sleep(time.Minute)
				synctest.Wait()
				if !test.waits {
					if !began.Equal(asked) {
						t.Errorf("the pass began at %v, want %v", began, asked)
					}
					sets.Done(creation)
					return
				}
				if !began.IsZero() {
					t.Errorf("a pass began at %v, during that over the set", began)
				}
				sets.Done(creation)
				ended := time.Now()
				synctest.Wait()
				if !began.Equal(ended) {
					t.Errorf("the pass began at %v, want %v", began, ended)
				}
			})
		})
	}
}
