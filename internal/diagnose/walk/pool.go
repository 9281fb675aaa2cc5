package walk

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels/format"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
)

// poolOf returns the machine pool that a machine belongs to, or nil.
func (w walker) poolOf(m *clusterv1.Machine) *clusterv1.MachinePool {
	label := m.Labels[clusterv1.MachinePoolNameLabel]
	for i := range w.Pools {
		if label != "" && label == format.MustFormatValue(w.Pools[i].Name) {
			return &w.Pools[i]
		}
	}
	return nil
}

// pool examines a machine pool's templates, its bootstrap data and its scale set.
func (w walker) pool(p *clusterv1.MachinePool) *finding {
	spec, at := &p.Spec.Template.Spec, "MachinePool/"+p.Name
	if !p.DeletionTimestamp.IsZero() {
		return w.waits(said{
			"owner", cause.Deletion, at, "kubectl describe machinepool " + p.Name + " -n " + p.Namespace,
		}, deletionUnderWay, "the machine pool to be deleted", p.DeletionTimestamp.Time)
	}
	a := w.AzurePools[spec.InfrastructureRef.Name]
	if a == nil {
		return w.applying(p, &finding{Step: "infrastructure", At: at, Cause: "AzureMachinePoolMissing",
			Says:     "the AzureMachinePool of the machine pool does not exist",
			Evidence: []string{"spec.template.spec.infrastructureRef.name: " + spec.InfrastructureRef.Name},
			Fix:      "apply it", Next: "kubectl describe machinepool " + p.Name + " -n " + p.Namespace})
	}
	if missing := w.dangles(at, "template"); missing != nil {
		return missing
	}
	if b := w.bootstrap(p.Namespace, &spec.Bootstrap); b != nil {
		return b
	}
	s := said{"infrastructure", cause.Azure, "AzureMachinePool/" + a.Name,
		"kubectl describe azuremachinepool " + a.Name + " -n " + a.Namespace}
	if c := specific(a.GetConditions()); c != nil {
		answer := w.status(s, c)
		if c.Reason == "InvalidBootstrapData" {
			answer.Step = "bootstrap"
		}
		return answer
	}
	if c := later(a.GetConditions()); c != nil {
		return w.status(s, c)
	}
	if wanted := p.Spec.Replicas; wanted != nil && a.Status.Replicas < *wanted {
		return w.applying(p, &finding{Step: "infrastructure", At: s.at, Cause: "InstancesMissing",
			Says:     "the scale set has fewer instances than the machine pool asks for",
			Evidence: []string{fmt.Sprintf("spec.replicas %d, instances %d", *wanted, a.Status.Replicas)},
			Fix:      "see the scale set's activity log in Azure", Next: s.next})
	}
	return nil
}

// instanceGone returns the finding for a Machine whose instance of the scale set is gone: Cluster API will remove the Machine.
func (w walker) instanceGone(m *clusterv1.Machine, next string) *finding {
	a := &finding{Step: "infrastructure", At: "Machine/" + m.Name, Type: "Field", Cause: "InstanceGone", Since: w.Taken,
		Says:     "the instance of the scale set is gone, and Cluster API has not removed its Machine",
		Evidence: []string{"spec.infrastructureRef: " + m.Spec.InfrastructureRef.Name + ", which does not exist"},
		Fix:      "kubectl delete machine " + m.Name + " -n " + m.Namespace, Next: next}
	if c := condition(m.Status.Conditions, clusterv1.MachineInfrastructureReadyCondition); c != nil && c.Status != metav1.ConditionTrue {
		a.Since = c.LastTransitionTime.Time
		a.Evidence = append(a.Evidence, redact.Line(reported(c), maxEvidence))
	}
	return w.soon(a, "Cluster API to remove the Machine, whose instance of the scale set is gone,")
}

// instance examines one instance of a scale set; if the guest failed, the console has more details.
func (w walker) instance(m *clusterv1.Machine) *finding {
	describe := "kubectl describe machine " + m.Name + " -n " + m.Namespace
	a := w.PoolMachines[m.Spec.InfrastructureRef.Name]
	if a == nil {
		return w.instanceGone(m, describe)
	}
	c := specific(a.GetConditions())
	if c == nil {
		return nil
	}
	answer := w.status(said{"infrastructure", cause.Azure, "AzureMachinePoolMachine/" + a.Name, w.showCommand(m)}, c)
	if g := w.guest(m); g != nil && (answer.Unknown || answer.Fix == "" || answer.Follows) {
		g.Evidence = append(g.Evidence, answer.Evidence...)
		return g
	}
	return answer
}
