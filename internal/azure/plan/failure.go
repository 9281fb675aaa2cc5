package plan

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"casement.dev/casement/internal/azure/arm"
)

// The pauses between attempts.
const (
	shortestPoll    = 250 * time.Millisecond
	longestPoll     = 15 * time.Second
	transitionPause = 10 * time.Second
	missingPause    = time.Minute
	// confirmPause is the time for which a failure of unknown cause is not final.
	confirmPause = 30 * time.Second
	firstPause   = 5 * time.Second
	slowPause    = time.Minute
	settlePause  = 10 * time.Minute
	longestPause = 15 * time.Minute
	// patience is the time for which a temporary failure is reported as Waiting.
	patience = 10 * time.Minute
)

// backoff doubles a pause with each attempt.
func backoff(attempts int, first, longest time.Duration) time.Duration {
	pause := first
	for range attempts - 1 {
		if pause *= 2; pause >= longest {
			return longest
		}
	}
	return pause
}

// verdict returns the state to report for a repeated failure, Waiting or Failed, and the pause before the next attempt
// (0: no attempt until the spec changes).
func verdict(class arm.Class, attempts int, lasts time.Duration) (State, time.Duration) {
	switch class {
	case arm.Throttled:
		return Waiting, longestPoll
	case arm.InUse:
		return Waiting, backoff(attempts, firstPause, slowPause)
	case arm.Capacity, arm.Quota, arm.Denied, arm.NotFound:
		return Failed, backoff(attempts, slowPause, longestPause)
	}
	if terminal(class) {
		return Failed, 0
	}
	state := Waiting
	if lasts >= patience {
		state = Failed
	}
	return state, backoff(attempts, firstPause, longestPause)
}

// terminal reports whether the same request would fail again.
func terminal(class arm.Class) bool {
	return class == arm.Invalid || class == arm.SKUNotAvailable || class == arm.Failed
}

// failed records a write that failed.
func (p *Planner) failed(it *item, verb Verb, hash string, err error) {
	class, attempts, since := arm.ClassOf(err), it.token.Attempts+1, it.token.Since
	if since.IsZero() {
		since = p.now()
	}
	if class == arm.Throttled {
		attempts--
	}
	_, wait := verdict(class, attempts, 0)
	if verb == Delete && wait == 0 {
		// A delete is retried after any error: Azure's response to a delete is never final.
		wait = backoff(attempts, slowPause, longestPause)
	}
	if wait > 0 {
		wait = max(wait, arm.RetryAfter(err))
	}
	if class == arm.Throttled && arm.RetryAfter(err) > 0 {
		wait = arm.RetryAfter(err)
	}
	it.token = Token{
		ID: it.ID, Verb: verb, Hash: hash, Begun: p.now(), NotBefore: p.now().Add(wait), Attempts: attempts, Since: since,
		Class: class, Code: arm.CodeOf(err), Message: err.Error(),
		// The response may have been lost although the delete was carried out.
		Again: verb == Delete && it.token.Again,
	}
	it.report(p.now())
}

// blocked reports the recorded failure of a write, and returns true, while it is too early or useless to repeat the same write.
func (p *Planner) blocked(it *item, verb Verb, hash string) bool {
	t := it.token
	if t.Class == "" || t.Verb != verb || t.Hash != hash {
		return false
	}
	if !t.final() && !p.now().Before(t.NotBefore) {
		return false
	}
	it.report(p.now())
	return true
}

// final reports whether the write is not retried. A delete always is.
func (t Token) final() bool { return terminal(t.Class) && t.Verb != Delete }

// report sets the status from the recorded failure.
func (it *item) report(now time.Time) {
	t := it.token
	lasts := now.Sub(t.Since)
	state, _ := verdict(t.Class, t.Attempts, lasts)
	message := t.Message
	if !t.final() && lasts >= patience {
		message += fmt.Sprintf(" (tried %d times since %s; it is tried again at least every %.0f minutes)",
			t.Attempts, t.Since.UTC().Format(time.RFC3339), longestPause.Minutes())
	}
	it.set(state, reason(cmp.Or(t.Code, string(t.Class))), message)
	it.status.Class, it.status.Terminal = t.Class, t.final()
	if !it.status.Terminal {
		it.status.RetryAfter = max(t.NotBefore.Sub(now), shortestPoll)
	}
}

// unread sets the status of a resource that could not be read. It records no token, because a read can be
// repeated at no risk.
func (it *item) unread(err error) {
	class := arm.ClassOf(err)
	state, wait := verdict(class, 1, 0)
	it.set(state, reason(cmp.Or(arm.CodeOf(err), string(class))), err.Error())
	it.status.Class = class
	it.status.RetryAfter = cmp.Or(arm.RetryAfter(err), wait, slowPause)
}

// pollLater keeps an operation whose poll failed.
func (it *item) pollLater(now time.Time, err error) {
	class := arm.ClassOf(err)
	state, wait := verdict(class, 1, 0)
	wait = cmp.Or(arm.RetryAfter(err), wait, slowPause)
	it.token.NotBefore = now.Add(wait)
	it.set(state, reason(cmp.Or(arm.CodeOf(err), string(class))), err.Error())
	it.status.Class, it.status.RetryAfter = class, wait
}

// reason turns an ARM code into a valid reason of a condition.
func reason(code string) string {
	keep := func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return -1
	}
	r := strings.Map(keep, code)
	if r == "" || !unicode.IsLetter(rune(r[0])) {
		return "AzureError" + r
	}
	return r
}
