package checks

import (
	"slices"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/diagnose/facts"
)

// areas come after the named patterns: each takes the faults at some steps of package walk, whatever their causes are,
// so that a new cause belongs to a check by the step at which it is found.
var areas = []check{
	{id: "A01", symptom: "Azure refuses a resource", cause: "see each finding: quota, size, capacity, image, rights, policy, addresses",
		fix: "see each finding", steps: []string{"infrastructure", "network"}},
	{id: "A02", symptom: "an object of Cluster API is paused, refused, incomplete or stays", cause: "see each finding",
		fix: "see each finding", steps: []string{"owner", "template", "admission", "object", "deletion"}},
	{id: "A03", symptom: "the control plane is not well", cause: "see each finding", fix: "see each finding",
		steps: []string{"controlplane"}},
	{id: "A04", symptom: "a machine does not boot into a node", cause: "see each finding", fix: "see each finding",
		onNode: "casement logs MACHINE", steps: []string{"bootstrap", "guest"}},
	{id: "A05", symptom: "a node or its network is not well", cause: "see each finding", fix: "see each finding",
		steps: []string{"node", "cni"}},
	{id: "A06", symptom: "a workload does not run", cause: "see each finding", fix: "see each finding",
		steps: []string{"workload", "pod", "service", "volume"}},
}

// inManagement are the steps of areas whose evidence is only in the management cluster.
var inManagement = []string{"infrastructure", "network", "owner", "template", "admission", "object", "deletion", "bootstrap", "guest"}

// read reports whether the facts that a check needs were read; only then can it pass.
func (c check) read(f *facts.Snapshot) bool {
	switch {
	case c.inside && len(f.Inside) == 0, len(c.causes) == 0 && len(c.steps) == 0 && c.observe == nil:
		return false
	case slices.Contains(c.steps, "guest") && !bootsRead(f), c.ofBoot() && !bootsRead(f):
		return false
	case slices.Contains(c.steps, "infrastructure"):
		return f.AzureCluster != nil || len(f.AzureMachines)+len(f.AzurePools) > 0
	case len(c.steps) > 0 && slices.Contains(inManagement, c.steps[0]):
		return true
	}
	return f.Unreachable == "" // otherwise nodes and pods are unknown
}

// ofBoot reports whether one of the check's causes is found in boot logs.
func (c check) ofBoot() bool {
	return slices.ContainsFunc(cause.Of(cause.Guest), func(known cause.Cause) bool { return slices.Contains(c.causes, known.Name) })
}

// bootsRead reports whether the results of all boots are known: their logs can be read, or each boot has resulted in a node.
func bootsRead(f *facts.Snapshot) bool {
	if f.Console != nil {
		return true
	}
	for i := range f.Machines {
		if f.Machines[i].Status.NodeRef.Name == "" {
			return false
		}
	}
	return true
}
