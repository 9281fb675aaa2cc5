package plan

import (
	"strings"
	"sync"
	"time"

	"casement.dev/casement/internal/azure/arm"
)

const (
	// typicalNetwork is how long a write to a network resource is taken to last before one
	// was seen to end: Azure announces those without Retry-After, and they take 2 to 10 s.
	typicalNetwork = 4 * time.Second
	// longestExpected bounds the first wait, so that one slow operation does not make the
	// next ones late.
	longestExpected = time.Minute
)

// durations remembers how long operations last, by the type of the resource and the verb:
// an operation is first polled when it is expected to have ended, which is one poll for
// most, and not before Azure's Retry-After. It is safe for concurrent use.
type durations struct {
	mu sync.Mutex
	of map[string]time.Duration
}

func durationKey(id string, verb Verb) string {
	return string(verb) + " " + strings.ToLower(arm.TypeOf(id))
}

// expected returns how long an operation that has just begun is likely to last, given
// Azure's Retry-After, or 0 when neither is known.
func (d *durations) expected(id string, verb Verb, retryAfter time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.of[durationKey(id, verb)]
	if !ok && retryAfter == 0 && strings.HasPrefix(strings.ToLower(arm.TypeOf(id)), "microsoft.network/") {
		known = typicalNetwork
	}
	return max(retryAfter, min(known, longestExpected))
}

// ended takes in that an operation has ended after at most elapsed; exact is what Azure
// itself says of its duration, 0 for nothing. Durations that get shorter are followed at
// once where Azure states them and a little with each operation where it does not, ones
// that get longer by a quarter of the difference.
func (d *durations) ended(id string, verb Verb, elapsed, exact time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[string]time.Duration{}
	}
	key := durationKey(id, verb)
	known, ok := d.of[key]
	took := exact
	if exact == 0 {
		took = elapsed * 49 / 50
	}
	if ok && took > known {
		took = known + (took-known)/4
	}
	d.of[key] = took
}
