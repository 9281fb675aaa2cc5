package arm

import (
	"errors"
	"sync"
	"time"
)

// Bounds of the wait after a failure within an outage; callers have waits of their own for shorter ones.
const (
	shortestOutageWait = 15 * time.Second
	longestOutageWait  = 2 * time.Minute
)

// outage is a time in which every call of a subscription fails for a moment's reason. The longer it lasts, the longer callers
// wait: ten thousand machines that each try again after a few seconds keep all workers busy with calls that fail.
type outage struct {
	mu    sync.Mutex
	since time.Time // of the first failure; zero while calls are answered
}

// learn notes how a call ended. In an outage, an error for which Azure asks for no wait gets a quarter of the outage's length.
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
