package arm

import (
	"errors"
	"sync"
	"time"
)

// Limits of the wait after a failure during an outage; for a shorter wait, callers use their own.
const (
	shortestOutageWait = 15 * time.Second
	longestOutageWait  = 2 * time.Minute
)

// outage is a period in which every call of a subscription fails for a temporary reason. The longer it lasts, the
// longer callers wait: ten thousand machines that each retry after a few seconds would keep all workers busy with
// failing calls.
type outage struct {
	mu    sync.Mutex
	since time.Time // the first failure; zero if the last call succeeded
}

// learn records the result of a call. During an outage, an error without a Retry-After gets a quarter of the outage's duration.
func (o *outage) learn(err error, now time.Time) {
	e, failed := errors.AsType[*Error](err)
	if err != nil && (!failed || e.StatusCode == 0 && e.Class != Transient) {
		return // no call was sent
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil || e.Class != Transient:
		o.since = time.Time{}
	case o.since.IsZero():
		o.since = now
	case e.RetryAfter == 0:
		if wait := min(now.Sub(o.since)/4, longestOutageWait); wait >= shortestOutageWait {
			e.RetryAfter = wait
		}
	}
}
