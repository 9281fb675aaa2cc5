package plan

import (
	"strings"
	"sync"
	"time"

	"casement.dev/casement/internal/azure/arm"
)

const (
	// typicalNetwork and typicalMachine are how long the first write to a network resource or
	// a virtual machine is taken to last: 2 to 10 s and about half a minute. Azure's
	// Retry-After is the least to wait, and says 1 to 3 s and 10 s.
	typicalNetwork = 5 * time.Second
	typicalMachine = 31 * time.Second
	// scaled is the Retry-After below which this is no Azure but one that runs faster.
	scaled = time.Second
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

// expected returns how long an operation that has just begun will probably last, given
// Azure's Retry-After; 0 if there is neither experience nor a Retry-After.
func (d *durations) expected(id string, verb Verb, retryAfter time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.of[durationKey(id, verb)]
	if !ok && (retryAfter == 0 || retryAfter >= scaled) {
		known = typical(id, verb)
	}
	return max(retryAfter, min(known, longestExpected))
}

// typical returns the assumed duration of a write of a type of which no operation has ended
// yet, or 0.
func typical(id string, verb Verb) time.Duration {
	kind := strings.ToLower(arm.TypeOf(id))
	switch {
	case verb == Put && strings.HasPrefix(kind, "microsoft.network/"):
		return typicalNetwork
	case verb == Put && kind == "microsoft.compute/virtualmachines":
		return typicalMachine
	}
	return 0
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
