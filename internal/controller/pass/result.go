package pass

import (
	"fmt"
	"time"

	"casement.dev/casement/internal/controller/cloud"
)

// Result is the result of a step. The zero Result continues the pass.
type Result struct {
	// End ends the pass with this step.
	End bool
	// Again is the maximum time until the next pass over the object; 0 means that none is requested.
	Again time.Duration
	// Reason and Message are written to a condition and describe the obstacle; "" writes none.
	Reason, Message string
	// Condition is the type of that condition; "" lets the kind choose.
	Condition string
	// Lasting is true if only a new object helps.
	Lasting bool
	// Err is an error in reading or writing Kubernetes objects, after which the queue retries with its own back-off.
	// Errors of Azure are results of Unread.
	Err error
}

// Ends reports whether the pass ends with this result.
func (r Result) Ends() bool { return r.End || r.Err != nil }

// On returns the result with another condition type.
func (r Result) On(condition string) Result {
	r.Condition = condition
	return r
}

// Next returns a result that continues the pass.
func Next() Result { return Result{} }

// Within returns a result that continues the pass and requests another pass after a time; 0 requests none.
func Within(again time.Duration) Result { return Result{Again: again} }

// Wait returns a result that ends the pass until something changes or a time has passed.
func Wait(again time.Duration) Result { return Result{End: true, Again: again} }

// Done returns a result that ends the pass.
func Done() Result { return Result{End: true} }

// Blocked returns a result that ends the pass and describes the obstacle in a condition.
func Blocked(reason, message string, again time.Duration) Result {
	return Result{End: true, Reason: reason, Message: message, Again: again}
}

// Unread returns the result for a failed read of Azure: it ends the pass until Azure can be called again.
func Unread(err error, doing string) Result {
	after, reason := cloud.RetryOf(err)
	return Blocked(reason, fmt.Sprintf("cannot %s: %v", doing, err), after)
}

// Failed returns a result that ends this pass and all later ones: only another object helps.
func Failed(reason, message string) Result {
	return Result{End: true, Reason: reason, Message: message, Lasting: true}
}

// Error returns a result that ends the pass if err is not nil.
func Error(err error) Result { return Result{Err: err} }
