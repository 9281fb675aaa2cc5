package arm

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

const (
	// closedFor is the time for which a 429 without Retry-After closes the gate.
	closedFor = 15 * time.Second
	// lowQuota is the number of remaining calls below which the gate paces the calls. ARM's token buckets contain 200
	// or 250 calls.
	lowQuota = 20
	// lowResourceQuota is the same limit for the small buckets of a resource type.
	lowResourceQuota = 2
	// longestPace is the longest time that a call waits; a call that would have to wait longer is refused.
	longestPace = time.Second
	// mostWaiting limits the calls that wait at the same time, over all subscriptions; further calls are refused,
	// because a waiting call blocks a worker that other calls need.
	mostWaiting = 2
	// longestTurn is the longest time for which a refused call is postponed.
	longestTurn = 2 * time.Minute
)

// waiting is the number of waiting calls of all subscriptions, because the same workers serve all of them.
var waiting atomic.Int32

// gate is the first policy of the pipeline. A 429 closes it for every call until Azure's Retry-After has passed;
// meanwhile calls fail immediately as Throttled, without a request. When the headers show that a bucket is nearly
// empty, the gate delays the calls that use it to the rate at which Azure refills it.
type gate struct {
	mu          sync.Mutex
	closedUntil time.Time
	pace        map[string]pace
	// turns is, by bucket, the time at which the most recently refused call may be retried.
	turns map[string]time.Time
}

// pace is the interval between the calls that use one bucket.
type pace struct {
	interval time.Duration
	next     time.Time
}

func (g *gate) Do(req *policy.Request) (*http.Response, error) {
	keys := bucketsOf(req.Raw())
	if err := g.enter(req.Raw().Context(), keys); err != nil {
		return nil, err
	}
	resp, err := req.Next()
	if resp != nil {
		g.learn(resp, keys)
	}
	return resp, err
}

// buckets are the names of the quotas that a call uses.
type buckets struct {
	subscription string // reads, writes or deletes
	resource     string // method and resource type
}

func bucketsOf(r *http.Request) buckets {
	kind := "writes"
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		kind = "reads"
	case http.MethodDelete:
		kind = "deletes"
	}
	return buckets{kind, r.Method + " " + strings.ToLower(TypeOf(r.URL.Path))}
}

// enter waits until the call may be sent, or refuses the call.
func (g *gate) enter(ctx context.Context, keys buckets) error {
	wait, refused := g.reserve(time.Now(), keys)
	if refused != nil {
		return refused
	}
	if wait <= 0 {
		return nil
	}
	defer waiting.Add(-1)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) reserve(now time.Time, keys buckets) (time.Duration, *Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if left := g.closedUntil.Sub(now); left > 0 {
		return 0, &Error{Class: Throttled, Code: "ThrottledLocally", RetryAfter: left,
			Message: fmt.Sprintf("Azure throttled the subscription; no calls for another %s", left.Round(time.Second))}
	}
	var wait time.Duration
	var scarce string
	for _, key := range []string{keys.subscription, keys.resource} {
		if next := g.pace[key].next.Sub(now); next > wait {
			wait, scarce = next, key
		}
	}
	if wait > longestPace || wait > 0 && !mayWait() {
		return 0, &Error{Class: Throttled, Code: "ThrottledLocally", RetryAfter: g.turn(scarce, now),
			Message: "the subscription's quota of calls runs low; calls are spaced out"}
	}
	for _, key := range []string{keys.subscription, keys.resource} {
		if p, ok := g.pace[key]; ok {
			p.next = now.Add(wait + p.interval)
			g.pace[key] = p
		}
	}
	return wait, nil
}

// mayWait adds a call to the waiting calls, if there are fewer than mostWaiting.
func mayWait() bool {
	if waiting.Add(1) <= mostWaiting {
		return true
	}
	waiting.Add(-1)
	return false
}

// turn returns how long a refused call has to wait before its retry. Refused calls are retried one after the other, at
// the rate at which Azure refills the bucket; otherwise thousands of waiting machines would all retry in each second.
// When the wait would exceed longestTurn, the sequence starts again.
func (g *gate) turn(key string, now time.Time) time.Duration {
	p := g.pace[key]
	at := g.turns[key].Add(p.interval)
	if at.Before(p.next) || at.Sub(now) > longestTurn {
		at = p.next
	}
	if g.turns == nil {
		g.turns = map[string]time.Time{}
	}
	g.turns[key] = at
	return at.Sub(now)
}

// learn closes the gate after a 429 and records the remaining quotas.
func (g *gate) learn(resp *http.Response, keys buckets) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if resp.StatusCode == http.StatusTooManyRequests && closesGate(resp) {
		wait := retryAfter(resp.Header)
		if wait == 0 {
			wait = closedFor
		}
		if until := now.Add(wait); until.After(g.closedUntil) {
			g.closedUntil = until
		}
	}
	if left, ok := remaining(resp.Header, "x-ms-ratelimit-remaining-subscription-"+keys.subscription); ok {
		g.setPace(keys.subscription, left < lowQuota, refill(keys.subscription), now)
	}
	if left, ok := remainingResource(resp.Header); ok {
		g.setPace(keys.resource, left <= lowResourceQuota, longestPace/2, now)
	}
}

func (g *gate) setPace(key string, low bool, interval time.Duration, now time.Time) {
	if !low {
		delete(g.pace, key)
		return
	}
	if g.pace == nil {
		g.pace = map[string]pace{}
	}
	if _, ok := g.pace[key]; !ok {
		g.pace[key] = pace{interval: interval, next: now.Add(interval)}
	}
}

// closesGate reports whether a 429 is throttling, and not the refusal of a provider because
// one resource is busy.
func closesGate(resp *http.Response) bool {
	e := responseError("", "", resp)
	return e.Class == Throttled
}

// refill returns how long Azure takes to add one call to a bucket: 25 reads and 10 writes
// or deletes a second. Source:
// https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling.
func refill(kind string) time.Duration {
	if kind == "reads" {
		return time.Second / 25
	}
	return time.Second / 10
}

func remaining(h http.Header, name string) (int, bool) {
	n, err := strconv.Atoi(h.Get(name))
	return n, err == nil
}

// remainingResource returns the smallest number in a header such as
// "Microsoft.Compute/PutVM3Min;238,Microsoft.Compute/PutVM30Min;1197".
func remainingResource(h http.Header) (int, bool) {
	least, found := 0, false
	for _, value := range h.Values("x-ms-ratelimit-remaining-resource") {
		for part := range strings.SplitSeq(value, ",") {
			_, count, _ := strings.Cut(part, ";")
			n, err := strconv.Atoi(strings.TrimSpace(count))
			if err == nil && (!found || n < least) {
				least, found = n, true
			}
		}
	}
	return least, found
}

// quotas returns the numbers of remaining calls in a response's headers, by name of the quota.
func quotas(h http.Header) map[string]int {
	out := map[string]int{}
	for _, kind := range []string{"reads", "writes", "deletes"} {
		if n, ok := remaining(h, "x-ms-ratelimit-remaining-subscription-"+kind); ok {
			out[kind] = n
		}
	}
	for _, value := range h.Values("x-ms-ratelimit-remaining-resource") {
		for part := range strings.SplitSeq(value, ",") {
			name, count, _ := strings.Cut(part, ";")
			if n, err := strconv.Atoi(strings.TrimSpace(count)); err == nil {
				out[strings.TrimSpace(name)] = n
			}
		}
	}
	return out
}

// Throttled returns the time for which the client sends no calls, or 0.
func (c *Client) Throttled() time.Duration {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	return max(0, time.Until(c.gate.closedUntil))
}
