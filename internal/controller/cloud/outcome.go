package cloud

import (
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/condition"
)

// InvalidConfiguration is the reason of a problem that only a change of the spec solves.
const InvalidConfiguration = "InvalidConfiguration"

// Sooner returns the shorter of two waits; 0 means none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Explain returns the reason and message of a condition for an outcome: the code of its
// failure, or busy if nothing failed, and one line.
func Explain(outcome plan.Outcome, busy string) (reason, message string) {
	done, waiting := 0, ""
	for _, r := range outcome.Resources {
		switch {
		case r.State == plan.Done:
			done++
		case r.State == plan.Failed || r.Class != "":
			return r.Reason, r.Message
		case r.Reason != condition.WaitingForNeeds && waiting == "":
			// The message of the other resource explains why this one waits.
			waiting = ", " + r.Message
		}
	}
	return busy, fmt.Sprintf("%d of %d Azure resources done%s", done, len(outcome.Resources), waiting)
}

// Requeue returns the time until the next pass for an outcome that is not Done. A failure that only a change of the
// spec solves is checked again after the resync.
func Requeue(outcome plan.Outcome, resync time.Duration) time.Duration {
	if outcome.RequeueAfter > 0 {
		return outcome.RequeueAfter
	}
	return resync
}

// Waits before the next request if Azure requests none.
const (
	TransientWait = 15 * time.Second
	DeniedWait    = 2 * time.Minute
	invalidWait   = time.Hour
)

// azureUnreachable is the reason for errors that do not come from Azure.
const azureUnreachable = "AzureUnreachable"

// RetryOf returns the time until the next attempt after a failed read, and the reason for a condition.
func RetryOf(err error) (time.Duration, string) {
	if _, invalid := errors.AsType[*desired.InvalidError](err); invalid {
		return invalidWait, InvalidConfiguration
	}
	class := arm.ClassOf(err)
	wait := arm.RetryAfter(err)
	switch {
	case wait > 0:
	case class == arm.Denied || class == arm.Invalid:
		wait = DeniedWait
	default:
		wait = TransientWait
	}
	if class == arm.Unknown {
		return wait, azureUnreachable
	}
	return wait, string(class)
}

// Passes reports whether the problem with a reason of RetryOf may be temporary.
func Passes(reason string) bool {
	switch arm.Class(reason) {
	case arm.Transient, arm.Throttled, arm.Busy, arm.Conflict, azureUnreachable:
		return true
	}
	return false
}

// Patience is the time for which possibly temporary problems are reported as waiting.
const Patience = 10 * time.Minute

// NextLook returns the time until the next comparison with Azure. The comparisons for a key happen once per period, at
// a time that the key determines; the result is at least a tenth of the period. All objects of a cluster have the same
// key, so that they share reads; the times of different clusters are spread over the period.
func NextLook(period time.Duration, key string, now time.Time) time.Duration {
	if period <= 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(key))
	since := time.Duration((uint64(now.UnixNano()) - h.Sum64()%uint64(period)) % uint64(period))
	wait := period - since
	if wait < period/10 {
		wait += period
	}
	return wait
}
