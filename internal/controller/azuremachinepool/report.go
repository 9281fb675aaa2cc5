package azuremachinepool

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/pass"
	"casement.dev/casement/internal/controller/record"
)

// report writes the scale set's state to the status. A write that failed or takes long does not end the pass: some
// instances exist, and those that will never become nodes have to be deleted.
func (r *Reconciler) report(ctx context.Context, s *scope) pass.Result {
	condition.Fold(s.pool, s.outcome)
	if err := s.reportSet(); err != nil {
		return pass.Error(err)
	}
	done, again := s.outcome.State == plan.Done, time.Duration(0)
	if !done {
		again = cloud.Requeue(s.outcome, r.Resync)
	}
	switch {
	case !done && s.live == nil, s.outcome.State == plan.Waiting && !s.slow(time.Now()):
		return pass.Wait(again)
	case s.outcome.State == plan.Waiting:
		s.busy = true
		return pass.Within(again) // the status shows an older read; the end of the write triggers a new one
	}
	if s.underway || s.outcome.Writes > 0 || s.live != nil && int(s.live.SKU.Capacity) != s.present() {
		if result := r.readInstances(ctx, s, true); result.Ends() {
			return result
		}
		if err := s.compare(s.set); err != nil {
			return pass.Error(err)
		}
	}
	return pass.Within(again)
}

// slowWrite is the duration of a write of the scale set after which its instances are shown individually. A single
// guest that never reports makes Azure wait for almost an hour.
const slowWrite = time.Minute

// slow reports whether a write of the scale set takes longer than slowWrite.
func (s *scope) slow(now time.Time) bool {
	return slices.ContainsFunc(record.Tokens(s.pool.Status.LongRunningOperationStates), func(t plan.Token) bool {
		return strings.EqualFold(t.ID, s.setID()) && t.Resume != "" && now.Sub(t.Begun) > slowWrite
	})
}

// reportSet copies the scale set's state in Azure into the pool's status.
func (s *scope) reportSet() error {
	var raw json.RawMessage
	for id, live := range s.outcome.Live {
		if strings.EqualFold(id, s.setID()) {
			raw = live
		}
	}
	set, err := parseSet(raw)
	if err != nil || set == nil {
		return err
	}
	s.live = set
	status := &s.pool.Status
	state := infrav1.ProvisioningState(set.Properties.ProvisioningState)
	status.ProvisioningState = &state
	s.pool.Spec.ProviderID = desired.ProviderID(s.setID())
	if state == infrav1.Succeeded {
		status.Ready = true
		status.Initialization.Provisioned = new(true)
	}
	return nil
}
