package compute

import (
	"context"
	"net/http"
	"time"

	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/azuresim/internal/compute/catalogue"
	"casement.dev/casement/azuresim/internal/engine"
)

// capacity refuses a machine with a quota or size error if a fault rule acts on it.
func capacity(t *engine.Tx, d *engine.Doc, s catalogue.Size, used int) *engine.Error {
	rule, ok := t.Server.Faults().Match(engine.FaultTarget(http.MethodPut, d.Parsed), fault.Quota, fault.SKU)
	switch {
	case !ok:
		return nil
	case rule.Kind == fault.SKU:
		return engine.Overlay(errSKU(s.Name, d.Location()), rule)
	}
	return engine.Overlay(errQuota(s.Family, d.Location(), used, used, s.VCPUs), rule)
}

// bootFault lets fault rules fail or delay a boot. It returns the error of the operation
// for a guest that never reports.
func bootFault(s *engine.Server, ctx context.Context, vm host.VM) *engine.Error {
	id, err := engine.ParseID(vm.ID)
	if err != nil {
		return nil
	}
	target := engine.FaultTarget(http.MethodPut, id)
	if rule, ok := s.Faults().Match(target, fault.SlowBoot); ok {
		if s.Until(ctx, s.Clock.Now().Add(rule.Wait())) != nil {
			return engine.Refuse(http.StatusServiceUnavailable, "ServerTimeout", "The local Azure is stopping.")
		}
	}
	rule, ok := s.Faults().Match(target, fault.BootFailure)
	if !ok {
		return nil
	}
	if s.Until(ctx, s.Clock.Now().Add(s.Latency(provisioningTimeout))) != nil {
		return engine.Refuse(http.StatusServiceUnavailable, "ServerTimeout", "The local Azure is stopping.")
	}
	return engine.Overlay(engine.Conflict("OSProvisioningTimedOut", "OS Provisioning for VM '%s' did not finish "+
		"in the allotted time. The VM may still finish provisioning successfully. Please check provisioning "+
		"state later.", vm.Name), rule)
}

// scheduleEviction schedules the eviction of a running spot VM if a fault rule selects it.
func scheduleEviction(s *engine.Server, id string) {
	parsed, err := engine.ParseID(id)
	if err != nil || !isSpotMachine(s, id) {
		return
	}
	rule, ok := s.Faults().Match(engine.FaultTarget(http.MethodPut, parsed), fault.Eviction)
	if !ok {
		return
	}
	s.Spawn(func() {
		if s.Until(s.Life, s.Clock.Now().Add(rule.Wait())) != nil || s.AwaitIdle(id) != nil {
			return
		}
		if e := evict(s, id); e != nil {
			s.Log.Info("A spot VM was not evicted", "vm", id, "reason", e.Message)
		}
	})
}

// provisioningTimeout is how long Azure waits for a guest to report, 40 minutes
// by its documentation of provisioning failures.
const provisioningTimeout = 40 * time.Minute
