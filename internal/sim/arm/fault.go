package arm

import (
	"context"
	"net/http"
	"time"

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

// capacity refuses a machine for lack of quota or of its size, if a rule says so.
func (t *tx) capacity(d *doc, s size, used int) *Error {
	rule, ok := t.s.faults.Strike(faultTarget(http.MethodPut, d.id), fault.Quota, fault.SKU)
	switch {
	case !ok:
		return nil
	case rule.Kind == fault.SKU:
		return overlay(errSKU(s.name, d.location()), rule)
	}
	return overlay(errQuota(s.family, d.location(), used, used, s.cores), rule)
}

// bootFault spoils or delays a boot. It returns the error that the operation of
// a machine ends with whose guest never reports.
func (s *Server) bootFault(ctx context.Context, vm VM) *Error {
	id, err := parseID(vm.ID)
	if err != nil {
		return nil
	}
	target := faultTarget(http.MethodPut, id)
	if rule, ok := s.faults.Strike(target, fault.SlowBoot); ok {
		if s.until(ctx, s.clock.Now().Add(rule.Wait())) != nil {
			return refuse(http.StatusServiceUnavailable, "ServerTimeout", "The local Azure is stopping.")
		}
	}
	rule, ok := s.faults.Strike(target, fault.BootFailure)
	if !ok {
		return nil
	}
	if s.until(ctx, s.clock.Now().Add(s.latency(provisioningTimeout))) != nil {
		return refuse(http.StatusServiceUnavailable, "ServerTimeout", "The local Azure is stopping.")
	}
	return overlay(conflict("OSProvisioningTimedOut", "OS Provisioning for VM '%s' did not finish in the allotted time. The VM may still finish provisioning successfully. Please check provisioning state later.", vm.Name), rule)
}

// threaten lets a spot VM that has come up be evicted later, if a rule says so.
func (s *Server) threaten(id string) {
	parsed, err := parseID(id)
	if err != nil || !s.isSpotMachine(id) {
		return
	}
	rule, ok := s.faults.Strike(faultTarget(http.MethodPut, parsed), fault.Eviction)
	if !ok {
		return
	}
	s.work.Go(func() {
		if s.until(s.ctx, s.clock.Now().Add(rule.Wait())) != nil || s.awaitIdle(id) != nil {
			return
		}
		if e := s.evict(id); e != nil {
			s.log.Info("A spot VM was not evicted", "vm", id, "reason", e.Message)
		}
	})
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

// provisioningTimeout is how long Azure waits for a guest to report, 40 minutes
// by its documentation of provisioning failures.
const provisioningTimeout = 40 * time.Minute
