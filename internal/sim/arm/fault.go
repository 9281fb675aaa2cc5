package arm

import (
	"net/http"

	"casement.dev/casement/internal/sim/fault"
)

// Faults are the rules by which the server fails on purpose. They last as long
// as the process.
func (s *Server) Faults() *fault.Set { return s.faults }

// faultTarget is what fault rules see of an ID.
func faultTarget(verb string, id resourceID) fault.Target {
	return fault.Target{Verb: verb, Type: id.fullType(), Group: id.Group, Name: id.name()}
}

// strike answers a call by a fault, if one strikes.
func (c *call) strike() *Error {
	target := faultTarget(c.r.Method, c.id)
	if _, poll := c.operationPath(); poll {
		target.Type = "operations"
	}
	rule, ok := c.s.faults.Strike(target, fault.Throttle, fault.Conflict, fault.Unavailable, fault.Drop, fault.Lose)
	if !ok {
		return nil
	}
	c.fault = string(rule.Kind) + " " + rule.ID
	var e *Error
	switch rule.Kind {
	case fault.Drop:
		c.abort = true
		return errDropped
	case fault.Lose:
		c.abort = true
		return nil
	case fault.Throttle:
		e = refuse(http.StatusTooManyRequests, "TooManyRequests", "The request is being throttled as the limit has been reached for operation type - %s. For more information, see - https://aka.ms/srpthrottlinglimits", c.id.childType())
		e.RetryAfter = 1
	case fault.Conflict:
		e = conflict("AnotherOperationInProgress", "Another operation on this or dependent resource is in progress.")
		e.RetryAfter = 1
	default:
		e = refuse(http.StatusServiceUnavailable, "ServerTimeout", "The request timed out. Diagnostic information: none, for this is a fault of the local Azure.")
	}
	return overlay(e, rule)
}

// errDropped stands for the answer that is never given.
var errDropped = &Error{Status: http.StatusServiceUnavailable, Code: "ConnectionDropped", Message: "The connection was dropped by a fault rule."}

// overlay puts what a rule says in the place of what its kind says.
func overlay(e *Error, rule fault.Rule) *Error {
	if rule.Status != 0 {
		e.Status = rule.Status
	}
	if rule.Code != "" {
		e.Code = rule.Code
	}
	if rule.Message != "" {
		e.Message = rule.Message
	}
	if rule.RetryAfter != 0 {
		e.RetryAfter = rule.RetryAfter
	}
	return e
}

// spoil lets an operation fail that a rule is for.
func (s *Server) spoil(op *operation) {
	id, err := parseID(op.Target)
	if err != nil {
		return
	}
	if rule, ok := s.faults.Strike(faultTarget(op.Method, id), fault.Operation); ok {
		op.Fault = overlay(conflict("InternalExecutionError", "An internal execution error occurred. Please retry later."), rule)
	}
}

// awaitIdle waits until nothing is under way on a resource.
func (s *Server) awaitIdle(id string) error {
	for {
		changed := s.running.wait()
		busy := false
		s.read(func(t *tx) { busy = t.open[lower(id)] != nil })
		if !busy {
			return nil
		}
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-changed:
		}
	}
}
