package plan

import (
	"strings"
	"sync"
	"time"

	"casement.dev/casement/internal/azure/arm"
)

const (
	// typicalNetwork and typicalMachine are the assumed durations of the first write to a network resource or a virtual
	// machine. Measured durations were 2 to 10 s and about half a minute, while Azure's Retry-After, which is a
	// minimum, is 1 to 3 s and 10 s.
	typicalNetwork = 5 * time.Second
	typicalMachine = 31 * time.Second
	// scaled is the Retry-After below which the server is not Azure but an emulator that runs faster.
	scaled = time.Second
	// longestExpected bounds the first wait, so that one slow operation does not delay the ones after it.
	longestExpected = time.Minute
)

// durations records the durations of operations, by resource type and verb. An operation is first polled when it is
// expected to have ended, but not before Azure's Retry-After; most operations then need only one poll. It is safe for
// concurrent use.
type durations struct {
	mu sync.Mutex
	of map[string]time.Duration
}

func durationKey(id string, verb Verb) string {
	return string(verb) + " " + strings.ToLower(arm.TypeOf(id))
}

// expected returns the expected duration of an operation that has just begun, given Azure's Retry-After; 0 if neither a
// duration nor a Retry-After is known.
func (d *durations) expected(id string, verb Verb, retryAfter time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.of[durationKey(id, verb)]
	if !ok && (retryAfter == 0 || retryAfter >= scaled) {
		known = typical(id, verb)
	}
	return max(retryAfter, min(known, longestExpected))
}

// typical returns the assumed duration of a write to a resource type for which no operation has ended yet,
// or 0.
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

// ended records the duration of an operation: exact if Azure states it, otherwise (0) at most elapsed. A
// shorter duration replaces the known one, reduced by 2 % where it is not exact; a longer one raises it by
// a quarter of the difference.
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
