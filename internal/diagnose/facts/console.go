package facts

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// Consoles sets the snapshot's Console. vms are the resource IDs of virtual machines; read returns the boot log of a
// VM, or "". A machine whose VM is not in vms has no boot log.
func (s *Snapshot) Consoles(vms []string, read func(id string) string) {
	ids := map[string]string{}
	for _, vm := range vms {
		id := strings.ToLower(vm)
		ids[id] = vm
		ids[id[max(0, strings.Index(id, "/resourcegroups/")):]] = vm
	}
	s.Console = func(m *clusterv1.Machine) string {
		id := s.ProviderID(m)
		if am := s.AzureMachines[m.Spec.InfrastructureRef.Name]; am != nil && am.Spec.ProviderID == nil {
			id = inCreation(am)
		}
		vm, ok := ids[strings.ToLower(strings.TrimPrefix(id, "azure://"))]
		if !ok {
			return ""
		}
		return read(vm)
	}
}

// inCreation returns the resource ID, beginning with the resource group, of the VM that Azure is creating for a
// machine, or "" if no such operation is recorded.
func inCreation(am *infrav1.AzureMachine) string {
	if states := am.Status.LongRunningOperationStates; len(states) > 0 {
		return "/resourceGroups/" + states[0].ResourceGroup + "/providers/Microsoft.Compute/virtualMachines/" + states[0].Name
	}
	return ""
}

// ProviderID returns the provider ID of a machine's VM, or "" if it has none yet.
func (s *Snapshot) ProviderID(m *clusterv1.Machine) string {
	if am := s.AzureMachines[m.Spec.InfrastructureRef.Name]; am != nil && am.Spec.ProviderID != nil {
		return *am.Spec.ProviderID
	}
	return m.Spec.ProviderID
}

// NodeReady reports whether a machine has a Ready node.
func (s *Snapshot) NodeReady(m *clusterv1.Machine) bool {
	n := s.Nodes[m.Status.NodeRef.Name]
	return n != nil && slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
