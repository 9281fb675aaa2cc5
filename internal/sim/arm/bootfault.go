package arm

import (
	"context"
	"net/http"
	"time"

	"casement.dev/casement/internal/sim/fault"
)

// capacity refuses a machine for lack of quota or of its size, if a rule says so.
func (t *tx) capacity(d *doc, s size, used int) *Error {
	rule, ok := t.s.Faults().Strike(faultTarget(http.MethodPut, d.id), fault.Quota, fault.SKU)
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
	if rule, ok := s.Faults().Strike(target, fault.SlowBoot); ok {
		if s.until(ctx, s.clock.Now().Add(rule.Wait())) != nil {
			return refuse(http.StatusServiceUnavailable, "ServerTimeout", "The local Azure is stopping.")
		}
	}
	rule, ok := s.Faults().Strike(target, fault.BootFailure)
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
	rule, ok := s.Faults().Strike(faultTarget(http.MethodPut, parsed), fault.Eviction)
	if !ok {
		return
	}
	s.spawn(func() {
		if s.until(s.ctx, s.clock.Now().Add(rule.Wait())) != nil || s.awaitIdle(id) != nil {
			return
		}
		if e := s.evict(id); e != nil {
			s.log.Info("A spot VM was not evicted", "vm", id, "reason", e.Message)
		}
	})
}

// provisioningTimeout is how long Azure waits for a guest to report, 40 minutes
// by its documentation of provisioning failures.
const provisioningTimeout = 40 * time.Minute
