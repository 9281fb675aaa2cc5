package pass

import (
	"fmt"
	"time"

	"casement.dev/casement/internal/controller/cloud"
)

// Result is what a step ends with. The zero Result lets the pass go on.
type Result struct {
	// End ends the pass with this step.
	End bool
	// Again is when the object wants another pass at the latest; 0 is no wish.
	Again time.Duration
	// Reason and Message say in a condition what has to change first; "" says nothing.
	Reason, Message string
	// Condition is the type of that condition; "" leaves the choice to the kind.
	Condition string
	// Lasting says that only a new object helps.
	Lasting bool
	// Err is a failure to read or write Kubernetes, after which the queue tries again with
	// its own back-off. Failures of Azure are results of Unread.
	Err error
}

// Ends reports whether no further step is run.
func (r Result) Ends() bool { return r.End || r.Err != nil }

// On says it in a condition of this type.
func (r Result) On(condition string) Result {
	r.Condition = condition
	return r
}

// Next lets the pass go on.
func Next() Result { return Result{} }

// Within lets the pass go on, and wants another one after a time; 0 is no wish.
func Within(again time.Duration) Result { return Result{Again: again} }

// Wait ends the pass until something changes or a time has passed.
func Wait(again time.Duration) Result { return Result{End: true, Again: again} }

// Done ends the pass.
func Done() Result { return Result{End: true} }

// Blocked ends the pass with a condition that says what has to change first.
func Blocked(reason, message string, again time.Duration) Result {
	return Result{End: true, Reason: reason, Message: message, Again: again}
}

// Unread ends a pass that failed to read from Azure, until Azure says to ask again.
func Unread(err error, doing string) Result {
	after, reason := cloud.RetryOf(err)
	return Blocked(reason, fmt.Sprintf("cannot %s: %v", doing, err), after)
}

// Failed ends all passes: only another object helps.
func Failed(reason, message string) Result {
	return Result{End: true, Reason: reason, Message: message, Lasting: true}
}

// Error ends the pass where err is not nil.
func Error(err error) Result { return Result{Err: err} }
