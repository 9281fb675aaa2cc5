package desired

import (
	"cmp"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// Made is what is recorded of a machine's resources: what Azure and the machine's status
// show, and of the spec nothing but names.
type Made struct {
	// NICs are the IDs of its network interfaces.
	NICs []string
	// PublicIP, NATRule and Role say that there may be an address, an SSH rule and a
	// role of its own.
	PublicIP, NATRule, Role bool
	// AvailabilitySet is the name of its set where it is the last one in it, or "".
	AvailabilitySet string
}

// MachineToDelete returns what may be in Azure of a machine, with the names and tags
// that it was made with. It has no error: a spec that cannot become resources any more,
// or never could, is no reason to leave some.
func MachineToDelete(c *infrav1.AzureCluster, m *infrav1.AzureMachine, clusterName, vmName string, made Made) []Resource {
	group, tags := ClusterGroup(c), tagger{cluster: clusterName}.tags("", "")
	vm := Resource{
		ID: VMID(c, vmName), APIVersion: ComputeAPIVersion, Body: armcompute.VirtualMachine{Tags: tags},
		Policy: CreateOnly, Condition: infrav1.VMRunningCondition, Field: "spec", Needs: made.NICs,
	}
	var out, first []Resource
	add := func(list *[]Resource, id, apiVersion, condition string, body any) string {
		*list = append(*list, Resource{ID: id, APIVersion: apiVersion, Body: body, Policy: CreateOnly, Condition: condition, Field: "spec"})
		return id
	}
	var needs []string
	if made.PublicIP {
		needs = append(needs, add(&first, group.Network("publicIPAddresses", "pip-"+vmName), NetworkAPIVersion,
			infrav1.PublicIPsReadyCondition, armnetwork.PublicIPAddress{Tags: tags}))
	}
	if lb := SSHRuleLB(c); made.NATRule && lb != "" {
		needs = append(needs, add(&first, lb+"/inboundNatRules/"+vmName, NetworkAPIVersion,
			infrav1.InboundNATRulesReadyCondition, armnetwork.InboundNatRule{}))
	}
	for _, id := range made.NICs {
		add(&out, id, NetworkAPIVersion, infrav1.NetworkInterfaceReadyCondition, armnetwork.Interface{Tags: tags})
		out[len(out)-1].Needs = needs
	}
	if made.AvailabilitySet != "" {
		vm.Needs = append(vm.Needs, add(&out, group.Compute("availabilitySets", made.AvailabilitySet),
			ComputeAPIVersion, infrav1.AvailabilitySetReadyCondition, armcompute.AvailabilitySet{Tags: tags}))
	}
	out = append(append(first, out...), vm)
	if role := m.Spec.SystemAssignedIdentityRole; made.Role && role != nil && role.Name != "" {
		add(&out, RoleAssignmentID(cmp.Or(role.Scope, "/subscriptions/"+c.Spec.SubscriptionID), role.Name),
			AuthorizationAPIVersion, infrav1.RoleAssignmentReadyCondition, nil)
		out[len(out)-1].Needs = []string{vm.ID}
	}
	return out
}

// RoleAssignmentID is the ID of a role assignment of a scope.
func RoleAssignmentID(scope, name string) string {
	return trimSlash(scope) + "/providers/Microsoft.Authorization/roleAssignments/" + name
}
