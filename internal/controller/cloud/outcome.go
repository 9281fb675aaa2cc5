package cloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/condition"
)

// States converts tokens to the form in which an object's status stores them.
func States(tokens []plan.Token) []infrav1.LongRunningOperationState {
	var states []infrav1.LongRunningOperationState
	for _, t := range tokens {
		data, err := json.Marshal(t)
		if err != nil {
			continue // a token has only text, numbers and times
		}
		states = append(states, infrav1.LongRunningOperationState{
			Type: string(t.Verb), Name: arm.NameOf(t.ID), ResourceGroup: arm.NameOf(arm.GroupOf(t.ID)),
			ServiceName: infrav1.OperationService, Data: string(data),
		})
	}
	return states
}

// Sooner returns the shorter of two waits; 0 means none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Tokens parses what States returned. A state that cannot be parsed is left out, and Azure
// is read instead.
func Tokens(states []infrav1.LongRunningOperationState) []plan.Token {
	var tokens []plan.Token
	for _, s := range states {
		var t plan.Token
		if s.ServiceName == infrav1.OperationService && json.Unmarshal([]byte(s.Data), &t) == nil {
			tokens = append(tokens, t)
		}
	}
	return tokens
}

// Kept returns states with those of before in place of the ones that only a poll has changed, which need no
// write.
func Kept(before, states []infrav1.LongRunningOperationState) []infrav1.LongRunningOperationState {
	was, is := Tokens(before), Tokens(states)
	if len(was) != len(before) || len(is) != len(states) {
		return states // some are not casement's
	}
	kept := slices.Clone(states)
	for i, t := range is {
		if j := slices.IndexFunc(was, t.Polled); j >= 0 {
			kept[i] = before[j]
		}
	}
	return kept
}

// Forgive drops the remembered failures of a resource, because their cause is gone and the
// same write may be tried again.
func Forgive(states []infrav1.LongRunningOperationState, id string) []infrav1.LongRunningOperationState {
	return without(states, id, func(t plan.Token) bool { return t.Class != "" && t.Resume == "" })
}

// Unsettled drops the memory that a write of a resource did not result in the desired
// state, because the resource has changed since and the same write may be tried again.
func Unsettled(states []infrav1.LongRunningOperationState, id string) []infrav1.LongRunningOperationState {
	return without(states, id, func(t plan.Token) bool { return t.Class == "" && t.Resume == "" })
}

// Creating reports whether a resource may be missing because it is being created, or
// created again.
func Creating(states []infrav1.LongRunningOperationState, id string) bool {
	return slices.ContainsFunc(Tokens(states), func(t plan.Token) bool { return strings.EqualFold(t.ID, id) && t.Creating() })
}

// Forget drops all tokens of a resource or action, because its result was observed.
func Forget(states []infrav1.LongRunningOperationState, id string) []infrav1.LongRunningOperationState {
	return without(states, id, func(plan.Token) bool { return true })
}

// without removes the tokens of a resource for which drop is true.
func without(states []infrav1.LongRunningOperationState, id string, drop func(plan.Token) bool) []infrav1.LongRunningOperationState {
	return States(slices.DeleteFunc(Tokens(states), func(t plan.Token) bool { return strings.EqualFold(t.ID, id) && drop(t) }))
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

// Requeue returns when an outcome that is not done needs another pass; a failure that only
// a change of the spec solves is checked again after the resync.
func Requeue(outcome plan.Outcome, resync time.Duration) time.Duration {
	if outcome.RequeueAfter > 0 {
		return outcome.RequeueAfter
	}
	return resync
}

// Waits before the next request if Azure asks for none.
const (
	transientWait = 15 * time.Second
	deniedWait    = 2 * time.Minute
	invalidWait   = time.Hour
)

// azureUnreachable is the reason of errors that are not Azure's own.
const azureUnreachable = "AzureUnreachable"

// RetryOf returns when to try again after a failed read, and the reason for a condition.
func RetryOf(err error) (time.Duration, string) {
	if _, invalid := errors.AsType[*desired.InvalidError](err); invalid {
		return invalidWait, InvalidConfiguration
	}
	class := arm.ClassOf(err)
	wait := arm.RetryAfter(err)
	switch {
	case wait > 0:
	case class == arm.Denied || class == arm.Invalid:
		wait = deniedWait
	default:
		wait = transientWait
	}
	if class == arm.Unknown {
		return wait, azureUnreachable
	}
	return wait, string(class)
}

// Passes reports whether a reason of RetryOf may pass without a change.
func Passes(reason string) bool {
	switch arm.Class(reason) {
	case arm.Transient, arm.Throttled, arm.Busy, arm.Conflict, azureUnreachable:
		return true
	}
	return false
}

// Patience is for how long problems that may pass are reported as waiting.
const Patience = 10 * time.Minute

// NextLook returns how long to wait for the next comparison with Azure: until the next of
// the key's times, which come once a period, but at least a tenth of the period. All
// objects of a cluster have one key, so that they share reads; clusters are spread over the
// period.
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
