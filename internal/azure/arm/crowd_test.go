package arm

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// bucket responds like Azure with a bucket of 200 writes and ten more per second.
type bucket struct {
	mu      sync.Mutex
	left    float64
	at      time.Time
	refused int
}

func (b *bucket) Do(req *http.Request) (*http.Response, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.left = min(200, b.left+10*now.Sub(b.at).Seconds())
	b.at = now
	rec := httptest.NewRecorder()
	if b.left < 1 {
		b.refused++
		rec.Header().Set("Retry-After", "1")
		rec.WriteHeader(http.StatusTooManyRequests)
	} else {
		b.left--
		rec.Header().Set("x-ms-ratelimit-remaining-subscription-writes", strconv.Itoa(int(b.left)))
		_, _ = rec.WriteString(ready)
	}
	resp := rec.Result()
	resp.Request = req
	return resp, nil
}

// TestCrowd: thousands of machines with four writes each, ten of which are reconciled at the same time, take little
// longer than Azure's limit of each subscription requires. Azure refuses nothing, few passes have no effect, and a pass
// that is due begins soon.
func TestCrowd(t *testing.T) {
	for name, subscriptions := range map[string]int{"one subscription": 1, "twenty subscriptions": 20} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { crowd(t, subscriptions, 200*subscriptions+800) })
		})
	}
}

func crowd(t *testing.T, subscriptions, machines int) {
	const writes, workers = 4, 10
	azures, clients := make([]*bucket, subscriptions), make([]*Client, subscriptions)
	for i := range azures {
		azures[i] = &bucket{left: 200, at: time.Now()}
		clients[i] = newClientOver(t, azures[i])
	}
	free := make(chan struct{}, workers)
	var mu sync.Mutex
	var waits []time.Duration
	began := time.Now()
	var all sync.WaitGroup
	for i := range machines {
		c := clients[i%subscriptions]
		all.Go(func() {
			for done := 0; done < writes; {
				due := time.Now()
				free <- struct{}{}
				waited := time.Since(due)
				var err error
				for err == nil && done < writes {
					if _, err = c.Put(t.Context(), vm, "1", struct{}{}); err == nil {
						done++
					}
				}
				<-free
				mu.Lock()
				waits = append(waits, waited)
				mu.Unlock()
				if err != nil {
					time.Sleep(RetryAfter(err))
				}
			}
		})
	}
	all.Wait()
	refused := 0
	for _, azure := range azures {
		refused += azure.refused
	}
	took, least := time.Since(began), time.Duration(machines*writes/subscriptions-200)/10*time.Second
	slices.Sort(waits)
	late := waits[len(waits)*99/100]
	t.Logf("%d machines took %s, at least %s; %d passes, %d refused, wait p99 %s", machines, took, least, len(waits), refused, late)
	if took > least*11/10 || len(waits) > 3*writes*machines || refused > 0 || late > 5*time.Second {
		t.Error("the machines hold each other up")
	}
}
