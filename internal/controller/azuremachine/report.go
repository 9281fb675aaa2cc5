package azuremachine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/pass"
)

// Values of status.failureReason, as in CAPZ.
const (
	createError = "CreateError"
	updateError = "UpdateError"
)

// soon is the wait before the next pass over a machine with remaining work.
const soon = 5 * time.Second

// report writes the machine's state in Azure into its status.
func (r *Reconciler) report(_ context.Context, s *scope) pass.Result {
	condition.Fold(s.azureMachine, s.outcome)
	result := s.reportVM()
	if result.Ends() {
		return result
	}
	s.synced()
	if s.outcome.State == plan.Failed && conditions.IsTrue(s.azureMachine, infrav1.VMRunningCondition) {
		reason, message := cloud.Explain(s.outcome, infrav1.UpdatingReason)
		s.unsynced(reason, message, time.Now())
	}
	if s.outcome.State != plan.Done {
		again := cloud.Requeue(s.outcome, r.Resync)
		return pass.Within(again)
	}
	return pass.Within(s.nextPass())
}

// nextPass returns the time until the next pass over a machine that is done: its system-assigned identity is known only
// after the VM exists, and the identity's role is assigned after that.
func (s *scope) nextPass() time.Duration {
	role := s.azureMachine.Spec.SystemAssignedIdentityRole
	wanted := s.azureMachine.Spec.Identity == infrav1.VMIdentitySystemAssigned && role != nil && role.Name != ""
	if wanted && (s.vm == nil || s.vm.Identity.PrincipalID == "") {
		return soon
	}
	return 0
}

// reportVM writes the virtual machine's state into the status.
func (s *scope) reportVM() pass.Result {
	id := desired.VMID(s.AzureCluster, s.vmName)
	vm, err := parseVM(liveOf(s.outcome, id))
	if err != nil || vm == nil {
		return pass.Error(err)
	}
	status := &s.azureMachine.Status
	state := infrav1.ProvisioningState(vm.Properties.ProvisioningState)
	status.VMState = &state
	s.azureMachine.Spec.ProviderID = new(desired.ProviderID(id))
	if status.Addresses, err = addresses(s, s.outcome); err != nil {
		return pass.Error(err)
	}
	if len(vm.Zones) > 0 {
		status.FailureDomain = vm.Zones[0]
	}
	switch state {
	case infrav1.Succeeded:
		status.Initialization.Provisioned = new(true)
		status.Ready = true
		condition.True(s.azureMachine, infrav1.VMRunningCondition, condition.Provisioned)
	case infrav1.Failed:
		return s.reportFailed(id)
	default:
		condition.False(s.azureMachine, infrav1.VMRunningCondition, infrav1.CreatingReason,
			fmt.Sprintf("virtual machine %s is %s", s.vmName, state))
	}
	return pass.Next()
}

// reportFailed marks a machine as failed permanently if it never ran and cannot be created again. A failure of a
// machine that has run is only reported, because a user may repair the machine.
func (s *scope) reportFailed(id string) pass.Result {
	message, final := "Azure failed to provision virtual machine "+s.vmName, true
	for _, r := range s.outcome.Resources {
		if strings.EqualFold(r.ID, id) && r.Message != "" {
			message, final = r.Message, r.Terminal
		}
	}
	s.azureMachine.Status.Ready = false
	switch p := s.azureMachine.Status.Initialization.Provisioned; {
	case p != nil && *p:
		condition.False(s.azureMachine, infrav1.VMRunningCondition, infrav1.VMProvisionFailedReason, message)
	case final:
		return pass.Failed(createError, message)
	}
	return pass.Next()
}

// liveOf returns the live state of a resource by its ID, whose case is ignored.
func liveOf(outcome plan.Outcome, id string) json.RawMessage {
	for key, live := range outcome.Live {
		if strings.EqualFold(key, id) {
			return live
		}
	}
	return nil
}
