package walk

import (
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels/format"
)

// poolOf is the machine pool that a machine belongs to, or nil.
func (f walker) poolOf(m *clusterv1.Machine) *clusterv1.MachinePool {
	label := m.Labels[clusterv1.MachinePoolNameLabel]
	for i := range f.Pools {
		if label != "" && label == format.MustFormatValue(f.Pools[i].Name) {
			return &f.Pools[i]
		}
	}
	return nil
}

// pool looks at a machine pool's bootstrap data and its scale set.
func (f walker) pool(p *clusterv1.MachinePool) *Answer {
	spec := &p.Spec.Template.Spec
	if a := f.bootstrap(p.Namespace, &spec.Bootstrap); a != nil {
		return a
	}
	a := f.AzurePools[spec.InfrastructureRef.Name]
	if a == nil {
		return &Answer{Step: "infrastructure", At: "MachinePool/" + p.Name, Cause: "AzureMachinePoolMissing", Says: "the AzureMachinePool of the machine pool does not exist",
			Fix: "apply it", Next: "kubectl describe machinepool " + p.Name + " -n " + p.Namespace}
	}
	next := "kubectl describe azuremachinepool " + a.Name + " -n " + a.Namespace
	if c := specific(a.GetConditions()); c != nil {
		answer := found("infrastructure", "AzureMachinePool/"+a.Name, c.Reason, c.Message, next)
		if c.Reason == "InvalidBootstrapData" {
			answer.Step = "bootstrap"
		}
		return answer
	}
	if wanted := p.Spec.Replicas; wanted != nil && a.Status.Replicas < *wanted {
		return &Answer{Step: "infrastructure", At: "AzureMachinePool/" + a.Name, Cause: "InstancesMissing", Says: "the scale set has fewer instances than the machine pool asks for",
			Evidence: []string{fmt.Sprintf("spec.replicas %d, instances %d", *wanted, a.Status.Replicas)}, Next: next}
	}
	return nil
}

// instance looks at one instance of a scale set; a guest that failed says more on
// its console.
func (f walker) instance(m *clusterv1.Machine) *Answer {
	next := "casement logs " + m.Name
	a := f.PoolMachines[m.Spec.InfrastructureRef.Name]
	if a == nil {
		return &Answer{Step: "infrastructure", At: "Machine/" + m.Name, Cause: "InstanceGone", Says: "the instance of the scale set is gone", Next: "kubectl describe machine " + m.Name + " -n " + m.Namespace}
	}
	c := specific(a.GetConditions())
	if c == nil {
		return nil
	}
	answer := found("infrastructure", "AzureMachinePoolMachine/"+a.Name, c.Reason, c.Message, next)
	if g := f.guest(m); g != nil && answer.Fix == "" {
		g.Evidence = append(g.Evidence, answer.Evidence...)
		return g
	}
	return answer
}
