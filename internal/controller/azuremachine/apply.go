package azuremachine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
)

const (
	// Values of status.failureReason, as CAPZ has them.
	createError = "CreateError"
	updateError = "UpdateError"

	deleteWithVM = "Delete"

	soon = 5 * time.Second
)

// liveVM is what casement reads of a virtual machine.
type liveVM struct {
	ID       string            `json:"id"`
	Tags     map[string]string `json:"tags"`
	Zones    []string          `json:"zones"`
	Identity struct {
		PrincipalID            string                     `json:"principalId"`
		UserAssignedIdentities map[string]json.RawMessage `json:"userAssignedIdentities"`
	} `json:"identity"`
	Properties struct {
		ProvisioningState string `json:"provisioningState"`
		NetworkProfile    struct {
			NetworkInterfaces []struct {
				ID         string `json:"id"`
				Properties struct {
					DeleteOption string `json:"deleteOption"`
				} `json:"properties"`
			} `json:"networkInterfaces"`
		} `json:"networkProfile"`
		StorageProfile struct {
			OSDisk    liveDisk   `json:"osDisk"`
			DataDisks []liveDisk `json:"dataDisks"`
		} `json:"storageProfile"`
	} `json:"properties"`
}

type liveDisk struct {
	DeleteOption string `json:"deleteOption"`
	ManagedDisk  struct {
		ID string `json:"id"`
	} `json:"managedDisk"`
}

// takesAlong says whether Azure deletes a resource with the virtual machine.
func (vm *liveVM) takesAlong(id string) bool {
	if vm == nil {
		return false
	}
	for _, nic := range vm.Properties.NetworkProfile.NetworkInterfaces {
		if strings.EqualFold(nic.ID, id) {
			return strings.EqualFold(nic.Properties.DeleteOption, deleteWithVM)
		}
	}
	return false
}

// leftDisks are the disks that Azure does not delete with the virtual machine.
// Those that casement makes all go; a machine of another provider may differ.
func (vm *liveVM) leftDisks() []string {
	if vm == nil {
		return nil
	}
	var ids []string
	for _, disk := range append(vm.Properties.StorageProfile.DataDisks, vm.Properties.StorageProfile.OSDisk) {
		if disk.ManagedDisk.ID != "" && !strings.EqualFold(disk.DeleteOption, deleteWithVM) {
			ids = append(ids, disk.ManagedDisk.ID)
		}
	}
	return ids
}

func parseVM(live json.RawMessage) (*liveVM, error) {
	if live == nil {
		return nil, nil
	}
	vm := &liveVM{}
	if err := json.Unmarshal(live, vm); err != nil {
		return nil, fmt.Errorf("read the virtual machine: %w", err)
	}
	return vm, nil
}

// look reads the virtual machine. One that somebody deleted is not made again: its
// disk is gone and its bootstrap token used.
func (r *Reconciler) look(ctx context.Context, s *scope) (ctrl.Result, error) {
	id := desired.VMID(s.azureCluster, s.vmName)
	if cloud.NodeLost(s.machine) {
		s.azure.Refresh(id) // what was read a while ago may be why
	}
	live, err := s.azure.Live(ctx, id)
	if err != nil {
		return s.retry(err, "read the virtual machine "+s.vmName)
	}
	if s.vm, err = parseVM(live); err != nil {
		return ctrl.Result{}, err
	}
	switch {
	case s.vm == nil && s.azureMachine.Spec.ProviderID != nil && !cloud.Retried(s.azureMachine.Status.LongRunningOperationStates, id):
		s.azureMachine.Status.VMState = new(infrav1.Deleted)
		s.azureMachine.Status.Ready = false
		s.fail(updateError, "virtual machine "+s.vmName+" was deleted in Azure, not through Kubernetes; delete the Machine to get a new one")
	case s.vm != nil && !desired.IsOwned(s.vm.Tags, s.cluster.Name):
		return s.hold(cloud.InvalidConfiguration, fmt.Sprintf("a virtual machine %s that does not belong to the cluster exists in resource group %s; rename or delete it",
			s.vmName, s.azureCluster.Spec.ResourceGroup), r.Resync)
	}
	return ctrl.Result{}, nil
}

// apply compares the machine's resources with Azure and begins what is due.
func (r *Reconciler) apply(ctx context.Context, s *scope) (ctrl.Result, error) {
	resources, result, err := s.resources(ctx)
	if err != nil || !result.IsZero() {
		return result, err
	}
	outcome := s.azure.Apply(ctx, s.cluster.Name, resources, s.azureMachine.Status.LongRunningOperationStates)
	s.azureMachine.Status.LongRunningOperationStates = cloud.States(outcome.Tokens)
	condition.Fold(s.azureMachine, outcome)
	if err := s.report(outcome); err != nil {
		return ctrl.Result{}, err
	}
	s.synced()
	if outcome.State == plan.Failed && conditions.IsTrue(s.azureMachine, infrav1.VMRunningCondition) {
		reason, message := cloud.Explain(outcome, infrav1.UpdatingReason)
		s.unsynced(reason, message, time.Now())
	}
	r.lookAtPower(ctx, s)
	look := r.lookAtBootstrap(ctx, s, time.Now())
	if s.machine.Status.NodeRef.IsDefined() {
		look = cloud.Sooner(look, r.unhide(ctx, s))
	}
	if outcome.State == plan.Done {
		return ctrl.Result{RequeueAfter: cloud.Sooner(s.again(), look)}, nil
	}
	return ctrl.Result{RequeueAfter: cloud.Sooner(cloud.Requeue(outcome, r.Resync), look)}, nil
}

// again is when a machine that is done has something left to do: a VM's own
// identity is known only when the VM is there, and its role comes after.
func (s *scope) again() time.Duration {
	role := s.azureMachine.Spec.SystemAssignedIdentityRole
	wanted := s.azureMachine.Spec.Identity == infrav1.VMIdentitySystemAssigned && role != nil && role.Name != ""
	if wanted && (s.vm == nil || s.vm.Identity.PrincipalID == "") {
		return soon
	}
	return 0
}

// resources are the desired ones of the machine.
func (s *scope) resources(ctx context.Context) ([]desired.Resource, ctrl.Result, error) {
	port, err := s.sshPort(ctx)
	if err != nil {
		result, err := s.retry(err, "read the API server's load balancer")
		return nil, result, err
	}
	in := desired.MachineInput{
		Cluster: s.azureCluster, Machine: s.azureMachine, ClusterName: s.cluster.Name,
		VMName: s.vmName, ControlPlane: util.IsControlPlaneMachine(s.machine), Zone: s.zone(),
		Image: s.input.image, BootstrapData: s.input.bootstrapData, AdminPassword: s.input.password,
		AcceleratedNetworking: s.input.size.AcceleratedNetworking, ARM64: s.input.size.ARM64,
		AvailabilitySet: s.availabilitySet(), SSHPort: port,
	}
	if s.vm != nil {
		in.Exists = true
		in.PrincipalID = s.vm.Identity.PrincipalID
	}
	if s.input.secret != nil {
		in.SecretReader = s.input.secret.ReaderID(s.azureCluster)
	}
	resources, err := desired.Machine(in)
	if s.input.secret != nil && err == nil {
		right := s.input.secret.Right(s.azureCluster)
		resources = append([]desired.Resource{right}, s.needing(resources, right.ID)...)
	}
	if invalid, ok := errors.AsType[*desired.InvalidError](err); ok {
		result, err := s.hold(cloud.InvalidConfiguration, invalid.Error(), hourly)
		return nil, result, err
	}
	return resources, ctrl.Result{}, err
}

// needing makes the virtual machine wait for one thing more.
func (s *scope) needing(resources []desired.Resource, id string) []desired.Resource {
	for i := range resources {
		if strings.EqualFold(resources[i].ID, desired.VMID(s.azureCluster, s.vmName)) {
			resources[i].Needs = append(resources[i].Needs, id)
		}
	}
	return resources
}

// unhide takes the bootstrap secret away: nobody needs it any more. It returns when to
// try again, 0 for not at all.
func (r *Reconciler) unhide(ctx context.Context, s *scope) time.Duration {
	err := s.azure.Unhide(ctx, s.azureCluster, s.cluster.Name, s.azureMachine)
	if refused, ok := errors.AsType[*cloud.BootstrapError](err); ok {
		condition.False(s.azureMachine, infrav1.BootstrapSecretReadyCondition, refused.Reason, refused.Message)
		return refused.After
	}
	return 0
}

// report writes what Azure shows of the machine into its status.
func (s *scope) report(outcome plan.Outcome) error {
	id := desired.VMID(s.azureCluster, s.vmName)
	vm, err := parseVM(liveOf(outcome, id))
	if err != nil || vm == nil {
		return err
	}
	status := &s.azureMachine.Status
	state := infrav1.ProvisioningState(vm.Properties.ProvisioningState)
	status.VMState = &state
	s.azureMachine.Spec.ProviderID = new(desired.ProviderID(id))
	if status.Addresses, err = addresses(s, outcome); err != nil {
		return err
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
		s.reportFailed(outcome, id)
	default:
		condition.False(s.azureMachine, infrav1.VMRunningCondition, infrav1.CreatingReason, fmt.Sprintf("virtual machine %s is %s", s.vmName, state))
	}
	return nil
}

// reportFailed gives up a machine that never ran and cannot be created again. One that
// did run is only reported: somebody may mend it by hand.
func (s *scope) reportFailed(outcome plan.Outcome, id string) {
	message, final := "Azure failed to provision virtual machine "+s.vmName, true
	for _, r := range outcome.Resources {
		if strings.EqualFold(r.ID, id) && r.Message != "" {
			message, final = r.Message, r.Terminal
		}
	}
	s.azureMachine.Status.Ready = false
	switch p := s.azureMachine.Status.Initialization.Provisioned; {
	case p != nil && *p:
		condition.False(s.azureMachine, infrav1.VMRunningCondition, infrav1.VMProvisionFailedReason, message)
	case final:
		s.fail(createError, message)
	}
}

// liveOf finds a resource by its ID, in any case of letters.
func liveOf(outcome plan.Outcome, id string) json.RawMessage {
	for key, live := range outcome.Live {
		if strings.EqualFold(key, id) {
			return live
		}
	}
	return nil
}
