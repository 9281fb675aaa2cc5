package azuremachine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
	"casement.dev/casement/internal/controller/record"
)

// deleteWithVM is the deleteOption of resources that Azure deletes with their virtual
// machine.
const deleteWithVM = "Delete"

// liveVM has the fields of a virtual machine that casement reads.
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

// cascadesDelete reports whether Azure deletes a resource with the virtual machine.
func (vm *liveVM) cascadesDelete(id string) bool {
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

// leftDisks returns the disks that Azure does not delete with the virtual machine. Azure deletes the disks of machines
// that casement created, but possibly not those of other providers' machines.
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

// observe reads the virtual machine. A virtual machine that a user deleted is not created
// again: its disk is lost and its bootstrap token used.
func (r *Reconciler) observe(ctx context.Context, s *scope) pass.Result {
	id := desired.VMID(s.AzureCluster, s.vmName)
	if cloud.NodeLost(s.machine) {
		s.Azure.Refresh(id) // the cached list may be outdated
	}
	live, err := s.Azure.Live(ctx, id)
	if err != nil {
		return pass.Unread(err, "read the virtual machine "+s.vmName)
	}
	if live == nil && s.azureMachine.Spec.ProviderID != nil && !record.Creating(*s.Operations(), id) {
		// The list may be older than the machine, which another manager may have created.
		s.Azure.Refresh(id)
		if live, err = s.Azure.Live(ctx, id); err != nil {
			return pass.Unread(err, "read the virtual machine "+s.vmName)
		}
	}
	if s.vm, err = parseVM(live); err != nil {
		return pass.Error(err)
	}
	if s.vm != nil {
		if other := s.Azure.Other(ctx, s.vm.Tags, s.Cluster.Name, false); other != "" {
			return pass.Blocked(infrav1.OwnedByAnotherReason, r.Opener.Explain(ctx, s.AzureCluster, "virtual machine "+s.vmName, other),
				cloud.OwnerPause)
		}
	}
	switch {
	case s.vm == nil && s.azureMachine.Spec.ProviderID != nil && !record.Creating(*s.Operations(), id):
		s.azureMachine.Status.VMState = new(infrav1.Deleted)
		s.azureMachine.Status.Ready = false
		return pass.Failed(updateError, "virtual machine "+s.vmName+
			" was deleted in Azure, not through Kubernetes; delete the Machine to get a new one")
	case s.vm != nil && !desired.IsOwned(s.vm.Tags, s.Cluster.Name):
		return pass.Blocked(cloud.InvalidConfiguration, fmt.Sprintf("a virtual machine %s that does not belong "+
			"to the cluster exists in resource group %s; rename or delete it",
			s.vmName, s.AzureCluster.Spec.ResourceGroup), r.Resync)
	}
	return pass.Next()
}
