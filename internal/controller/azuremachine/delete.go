package azuremachine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
)

const hourly = time.Hour

// delete removes from Azure what was made for the machine, then the finalizer.
// The virtual machine takes its interfaces and disks along.
func (r *Reconciler) delete(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.azureCluster == nil || cloud.Abandoned(s.azureCluster) || cloud.Abandoned(s.azureMachine) {
		return s.forget()
	}
	session, err := r.Opener.Open(ctx, s.azureCluster)
	if refused, ok := errors.AsType[*cloud.IdentityError](err); ok {
		return r.deleteWithoutIdentity(s, refused)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	s.azure = session
	if result, err := r.name(ctx, s); err != nil || !result.IsZero() {
		return result, err
	}
	resources, err := s.toDelete(ctx)
	if err != nil {
		after, reason := cloud.RetryOf(err)
		condition.False(s.azureMachine, infrav1.VMRunningCondition, reason, "cannot read what has to be deleted: "+err.Error())
		return ctrl.Result{RequeueAfter: after}, nil
	}
	var later time.Duration
	if !s.groupGoes {
		later = r.unhide(ctx, s) // what the vault refuses keeps no machine running
	}
	outcome := s.azure.Delete(ctx, s.cluster.Name, resources, s.azureMachine.Status.LongRunningOperationStates)
	s.azureMachine.Status.LongRunningOperationStates = cloud.States(outcome.Tokens)
	if outcome.State != plan.Done {
		reason, message := cloud.Explain(outcome, infrav1.DeletingReason)
		condition.False(s.azureMachine, infrav1.VMRunningCondition, reason, message)
		return ctrl.Result{RequeueAfter: cloud.Requeue(outcome, r.Resync)}, nil
	}
	if later > 0 {
		return ctrl.Result{RequeueAfter: later}, nil
	}
	return s.forget()
}

// deleteWithoutIdentity handles a machine whose cluster's credentials are gone:
// with nothing ever made there is nothing to call, otherwise somebody has to bring
// them back or give the resources up.
func (r *Reconciler) deleteWithoutIdentity(s *scope, refused *cloud.IdentityError) (ctrl.Result, error) {
	if s.nothingMade() {
		return s.forget()
	}
	condition.False(s.azureMachine, infrav1.VMRunningCondition, refused.Reason, refused.Message+
		". The machine's Azure resources cannot be deleted without it; to leave them in Azure, annotate the AzureMachine or its AzureCluster with "+cloud.AbandonAnnotation+"=true")
	return ctrl.Result{RequeueAfter: r.Resync}, nil
}

func (s *scope) forget() (ctrl.Result, error) {
	controllerutil.RemoveFinalizer(s.azureMachine, infrav1.MachineFinalizer)
	return ctrl.Result{}, nil
}

// toDelete are the resources to delete, by what is recorded of them. When the whole
// cluster goes, with a resource group of its own, only what lies outside of the group
// does: the group takes the rest along.
func (s *scope) toDelete(ctx context.Context) ([]desired.Resource, error) {
	live, err := s.azure.Live(ctx, desired.VMID(s.azureCluster, s.vmName))
	if err != nil {
		return nil, err
	}
	if s.vm, err = parseVM(live); err != nil {
		return nil, err
	}
	if s.vm == nil {
		// It took its interfaces along, as a rule, and what was known of them is
		// old. Asking is cheaper than deleting once more.
		for _, id := range desired.NICIDs(s.azureCluster, s.azureMachine, s.vmName) {
			s.azure.Refresh(id)
		}
	}
	made, err := s.made(ctx)
	if err != nil {
		return nil, err
	}
	resources := s.addDisks(desired.MachineToDelete(s.azureCluster, s.azureMachine, s.cluster.Name, s.vmName, made))
	if secret, ok := cloud.SecretOf(s.azureCluster, s.azureMachine); ok {
		reader := secret.Reader(s.azureCluster, s.cluster.Name, s.azureMachine.Spec.AdditionalTags)
		resources = append([]desired.Resource{reader}, s.needing(resources, reader.ID)...)
	}
	whole, err := s.azure.GroupGoes(ctx, s.cluster, s.azureCluster)
	if err != nil {
		return nil, err
	}
	s.groupGoes = whole
	return slices.DeleteFunc(resources, func(r desired.Resource) bool {
		// Extensions go with their machine, and so do most interfaces.
		return whole && cloud.InGroup(s.azureCluster, r.ID) || s.vm.takesAlong(r.ID)
	}), nil
}

// made gathers what is recorded of the machine's resources.
func (s *scope) made(ctx context.Context) (desired.Made, error) {
	m := s.azureMachine
	made := desired.Made{
		NICs:     desired.NICIDs(s.azureCluster, m, s.vmName),
		PublicIP: m.Spec.AllocatePublicIP || conditions.Has(m, infrav1.PublicIPsReadyCondition),
		NATRule:  util.IsControlPlaneMachine(s.machine) || conditions.Has(m, infrav1.InboundNATRulesReadyCondition),
		Role:     conditions.IsTrue(m, infrav1.RoleAssignmentReadyCondition),
	}
	if s.vm != nil {
		made.Role = made.Role || s.vm.Identity.PrincipalID != ""
		for _, nic := range s.vm.Properties.NetworkProfile.NetworkInterfaces {
			if !slices.ContainsFunc(made.NICs, func(id string) bool { return strings.EqualFold(id, nic.ID) }) {
				made.NICs = append(made.NICs, nic.ID)
			}
		}
	}
	set, err := s.lastOfSet(ctx)
	if set != nil {
		made.AvailabilitySet = set.Name
	}
	return made, err
}

// nothingMade says whether nothing was ever asked of Azure for the machine, as far as is
// recorded. A status is not moved to another management cluster, a provider ID is.
func (s *scope) nothingMade() bool {
	m := s.azureMachine
	id := ptr.Deref(m.Spec.ProviderID, "")
	recorded := id != "" && strings.EqualFold(id, desired.ProviderID(desired.VMID(s.azureCluster, desired.LastSegment(id))))
	return !recorded && m.Status.VMState == nil && len(m.Status.LongRunningOperationStates) == 0 && !conditions.Has(m, infrav1.NetworkInterfaceReadyCondition)
}

// addDisks adds the disks that have to be deleted after the virtual machine, which
// therefore needs them.
func (s *scope) addDisks(resources []desired.Resource) []desired.Resource {
	ids := s.vm.leftDisks()
	for i := range resources {
		if strings.EqualFold(resources[i].ID, desired.VMID(s.azureCluster, s.vmName)) {
			resources[i].Needs = append(resources[i].Needs, ids...)
		}
	}
	for _, id := range ids {
		resources = append(resources, desired.Resource{
			ID: id, APIVersion: desired.DiskAPIVersion, Policy: desired.CreateOnly,
			Condition: infrav1.VMRunningCondition, Field: "spec.osDisk",
		})
	}
	return resources
}

// lastOfSet is the machine's availability set when no other machine is in it.
func (s *scope) lastOfSet(ctx context.Context) (*desired.AvailabilitySet, error) {
	set := s.availabilitySet()
	if set == nil {
		return nil, nil
	}
	live, err := s.azure.Live(ctx, desired.ClusterGroup(s.azureCluster).Compute("availabilitySets", set.Name))
	if err != nil || live == nil {
		return nil, err
	}
	var body struct {
		Properties struct {
			VirtualMachines []struct {
				ID string `json:"id"`
			} `json:"virtualMachines"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(live, &body); err != nil {
		return nil, fmt.Errorf("availability set %s: %w", set.Name, err)
	}
	for _, vm := range body.Properties.VirtualMachines {
		if !strings.EqualFold(desired.LastSegment(vm.ID), s.vmName) {
			return nil, nil
		}
	}
	return set, nil
}
