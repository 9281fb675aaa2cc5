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

// bucket answers as Azure does with a bucket of 200 writes and ten more a second.
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

// TestCrowd: a thousand machines of four writes each, ten of which are worked on at once, take little longer than Azure's limit
// asks for. Nothing is refused by Azure, few passes are in vain, and a pass that is due begins soon.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const machines, writes, workers = 1000, 4, 10
		azure := &bucket{left: 200, at: time.Now()}
		c := newClientOver(t, azure)
		free := make(chan struct{}, workers)
		var mu sync.Mutex
		var waits []time.Duration
		began := time.Now()
		var all sync.WaitGroup
		for range machines {
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
		took, least := time.Since(began), (machines*writes-200)/10*time.Second
		slices.Sort(waits)
		late := waits[len(waits)*99/100]
		t.Logf("%d machines took %s, at least %s; %d passes, %d refused, wait p99 %s", machines, took, least, len(waits), azure.refused, late)
		if took > least*11/10 || len(waits) > 3*writes*machines || azure.refused > 0 || late > 5*time.Second {
			t.Error("the machines hold each other up")
		}
	})
}
