package azuremachine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/bootdata"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
	"casement.dev/casement/internal/controller/record"
)

// abandon completes the deletion of a machine whose Azure resources cannot be reached any more or were given up.
func (r *Reconciler) abandon(_ context.Context, s *scope) pass.Result {
	if s.AzureCluster == nil || cloud.Abandoned(s.AzureCluster) || cloud.Abandoned(s.azureMachine) {
		return s.forget()
	}
	if !cloud.Recorded(s.AzureCluster, s.Cluster) {
		return pass.Wait(soon) // until it is known which resources belong to the cluster
	}
	return pass.Next()
}

// openToDelete opens a session with the cluster's credentials. If they are missing and nothing was ever created, there
// is nothing to delete; otherwise a user has to restore them or give up the resources.
func (r *Reconciler) openToDelete(ctx context.Context, s *scope) pass.Result {
	result := s.Open(ctx, r.Opener, r.Resync)
	if result.Reason == "" {
		return result
	}
	if s.nothingMade() {
		return s.forget()
	}
	result.Message += ". The machine's Azure resources cannot be deleted without it; to leave them in Azure, " +
		"annotate the AzureMachine or its AzureCluster with " +
		cloud.AbandonAnnotation + "=true"
	return result.On(infrav1.VMRunningCondition)
}

// leave waits, for a limited time, until load balancers no longer use the machine's node.
func (r *Reconciler) leave(ctx context.Context, s *scope) pass.Result {
	left := cloud.Leaves(s.Cluster, s.machine, r.LeaveDelay)
	if left == 0 {
		return pass.Next()
	}
	balancers, err := s.Azure.Balancers(ctx, desired.ClusterGroup(s.AzureCluster))
	if err != nil {
		return pass.Unread(err, "read the load balancers that the machine is to leave").On(infrav1.VMRunningCondition)
	}
	if !balancers.Serve(s.azureMachine.Status.Addresses, desired.NICIDs(s.AzureCluster, s.azureMachine, s.vmName)...) {
		return pass.Next()
	}
	return pass.Wait(min(left, cloud.LookEvery))
}

// observeToDelete determines the resources that the deletion of the machine removes.
func (r *Reconciler) observeToDelete(ctx context.Context, s *scope) pass.Result {
	if err := s.collect(ctx); err != nil {
		return pass.Unread(err, "read what has to be deleted").On(infrav1.VMRunningCondition)
	}
	return pass.Next()
}

// remove deletes the machine's resources from Azure, then the finalizer. Azure deletes the
// interfaces and disks with the virtual machine.
func (r *Reconciler) remove(ctx context.Context, s *scope) pass.Result {
	var later time.Duration
	if !s.GroupGoes {
		later = r.unhide(ctx, s) // a refusal by the vault does not prevent the machine's deletion
	}
	outcome := s.Azure.Delete(ctx, s.Cluster.Name, s.toDelete, *s.Operations())
	*s.Operations() = record.States(outcome.Tokens)
	if outcome.State != plan.Done {
		reason, message := cloud.Explain(outcome, infrav1.DeletingReason)
		return pass.Blocked(reason, message, cloud.Requeue(outcome, r.Resync)).On(infrav1.VMRunningCondition)
	}
	if later > 0 {
		return pass.Wait(later)
	}
	return s.forget()
}

// forget removes the finalizer.
func (s *scope) forget() pass.Result {
	controllerutil.RemoveFinalizer(s.azureMachine, infrav1.MachineFinalizer)
	return pass.Done()
}

// collect determines the resources to delete, from the records of created resources. If the whole cluster
// is deleted with its resource group, these are only the resources outside the group.
func (s *scope) collect(ctx context.Context) error {
	live, err := s.Azure.Live(ctx, desired.VMID(s.AzureCluster, s.vmName))
	if err != nil {
		return err
	}
	if s.vm, err = parseVM(live); err != nil {
		return err
	}
	if s.vm != nil && !s.Azure.Owns(ctx, s.vm.Tags, s.Cluster.Name, false) {
		s.vm, s.foreign = nil, true
	}
	if s.vm == nil {
		// The interfaces were usually deleted with the VM, and the cached list is old. Reading them is cheaper than
		// deleting them again.
		for _, id := range desired.NICIDs(s.AzureCluster, s.azureMachine, s.vmName) {
			s.Azure.Refresh(id)
		}
	}
	made, err := s.made(ctx)
	if err != nil {
		return err
	}
	resources := s.addDisks(desired.MachineToDelete(s.AzureCluster, s.azureMachine, s.Cluster.Name, s.vmName, made))
	if secret, ok := bootdata.SecretOf(s.AzureCluster, s.azureMachine); ok {
		reader := secret.Reader(s.AzureCluster, s.Cluster.Name, desired.ObjectMark("AzureMachine", s.azureMachine.Name),
			s.azureMachine.Spec.AdditionalTags)
		resources = append([]desired.Resource{reader}, s.needing(resources, reader.ID)...)
	}
	whole, err := s.Azure.GroupGoes(ctx, s.Cluster, s.AzureCluster)
	if err != nil {
		return err
	}
	s.GroupGoes = whole
	s.toDelete = slices.DeleteFunc(resources, func(r desired.Resource) bool {
		// Extensions are deleted with their machine, and so are most interfaces.
		return whole && cloud.InGroup(s.AzureCluster, r.ID) || s.vm.cascadesDelete(r.ID)
	})
	return nil
}

// made returns the machine's resources as recorded in the status and the operations.
func (s *scope) made(ctx context.Context) (desired.Made, error) {
	m := s.azureMachine
	made := desired.Made{
		NICs:     desired.NICIDs(s.AzureCluster, m, s.vmName),
		PublicIP: m.Spec.AllocatePublicIP || conditions.Has(m, infrav1.PublicIPsReadyCondition),
		NATRule:  !s.foreign && (util.IsControlPlaneMachine(s.machine) || conditions.Has(m, infrav1.InboundNATRulesReadyCondition)),
		Role:     conditions.IsTrue(m, infrav1.RoleAssignmentReadyCondition),
	}
	if s.vm != nil {
		made.PrincipalID = s.vm.Identity.PrincipalID
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

// nothingMade reports whether, according to the object's records, no Azure resource was ever created for the machine.
// clusterctl move does not keep the status, but it keeps a provider ID.
func (s *scope) nothingMade() bool {
	m := s.azureMachine
	id := ptr.Deref(m.Spec.ProviderID, "")
	recorded := id != "" && strings.EqualFold(id, desired.ProviderID(desired.VMID(s.AzureCluster, desired.LastSegment(id))))
	return !recorded && m.Status.VMState == nil && len(m.Status.LongRunningOperationStates) == 0 &&
		!conditions.Has(m, infrav1.NetworkInterfaceReadyCondition)
}

// addDisks adds the disks that have to be deleted after the virtual machine; they are
// listed among its needs.
func (s *scope) addDisks(resources []desired.Resource) []desired.Resource {
	ids := s.vm.leftDisks()
	var disk armcompute.Disk
	for i := range resources {
		if strings.EqualFold(resources[i].ID, desired.VMID(s.AzureCluster, s.vmName)) {
			resources[i].Needs = append(resources[i].Needs, ids...)
			if vm, ok := resources[i].Body.(armcompute.VirtualMachine); ok {
				disk.Tags = vm.Tags
			}
		}
	}
	for _, id := range ids {
		resources = append(resources, desired.Resource{
			ID: id, APIVersion: desired.DiskAPIVersion, Body: disk, Policy: desired.CreateOnly,
			Condition: infrav1.VMRunningCondition, Field: "spec.osDisk",
		})
	}
	return resources
}

// lastOfSet returns the machine's availability set if no other machine is in it.
func (s *scope) lastOfSet(ctx context.Context) (*desired.AvailabilitySet, error) {
	set := s.availabilitySet()
	if set == nil {
		return nil, nil
	}
	live, err := s.Azure.Live(ctx, desired.ClusterGroup(s.AzureCluster).Compute("availabilitySets", set.Name))
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
