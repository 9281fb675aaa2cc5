package engine

import (
	"net/http"

	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/azuresim/internal/value"
)

// Faults returns the rules by which the server fails on purpose. They are not stored: they end
// with the process.
func (s *Server) Faults() *fault.Set { return s.faults }

// FaultTarget returns the fields of an ID that fault rules can match.
func FaultTarget(verb string, id ID) fault.Target {
	return fault.Target{Verb: verb, Type: id.FullType(), Group: id.Group, Name: id.Name()}
}

// fail answers a request with the error of a fault rule, if one matches.
func (c *Request) fail() *Error {
	target := FaultTarget(c.HTTP.Method, c.ID)
	if _, poll := c.OperationPath(); poll {
		target.Type = "operations"
	}
	rule, ok := c.Server.faults.Match(target, fault.Throttle, fault.Conflict, fault.Unavailable, fault.Drop, fault.Lose)
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
		e = Refuse(http.StatusTooManyRequests, "TooManyRequests", "The request is being throttled as the limit "+
			"has been reached for operation type - %s. For more information, see - "+
			"https://aka.ms/srpthrottlinglimits", c.ID.ChildType())
		e.RetryAfter = 1
	case fault.Conflict:
		e = Conflict("AnotherOperationInProgress", "Another operation on this or dependent resource is in progress.")
		e.RetryAfter = 1
	default:
		e = Refuse(http.StatusServiceUnavailable, "ServerTimeout",
			"The request timed out. Diagnostic information: none, for this is a fault of the local Azure.")
	}
	return Overlay(e, rule)
}

// errDropped is the result of a request whose connection closes without an answer.
var errDropped = &Error{Status: http.StatusServiceUnavailable, Code: "ConnectionDropped",
	Message: "The connection was dropped by a fault rule."}

// Overlay returns a fault kind's error with the fields that a rule sets replaced.
func Overlay(e *Error, rule fault.Rule) *Error {
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

// corrupt makes an operation fail if a fault rule matches it.
func corrupt(s *Server, op *Operation) {
	id, err := ParseID(op.Target)
	if err != nil {
		return
	}
	if rule, ok := s.faults.Match(FaultTarget(op.Method, id), fault.Operation); ok {
		op.Fault = Overlay(Conflict("InternalExecutionError", "An internal execution error occurred. Please retry later."), rule)
	}
}

// AwaitIdle waits until no operation is in progress on a resource.
func (s *Server) AwaitIdle(id string) error {
	for {
		changed := s.running.wait()
		busy := false
		s.Read(func(t *Tx) { busy = t.open[value.Lower(id)] != nil })
		if !busy {
			return nil
		}
		select {
		case <-s.Life.Done():
			return s.Life.Err()
		case <-changed:
		}
	}
}
