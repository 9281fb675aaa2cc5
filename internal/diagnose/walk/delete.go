package walk

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/redact"
)

// deletionUnderWay is the cause where nothing is wrong but that an object goes.
const deletionUnderWay = "Deleting"

// maxWaiting is how many of the objects are named that a deletion waits for.
const maxWaiting = 3

// deleting is what there is to say of a cluster that is being deleted: what Azure
// refuses, else that it is on its way, and what it waits for. What is missing of the
// rest is no trouble then.
func (f walker) deleting() *Answer {
	if f.Cluster.DeletionTimestamp.IsZero() {
		return nil
	}
	a := &Answer{Step: "owner", At: "Cluster/" + f.Cluster.Name, Cause: deletionUnderWay, Says: "the cluster is being deleted",
		Next: fmt.Sprintf("casement wait %s -n %s --for deleted", f.Cluster.Name, f.Cluster.Namespace)}
	for i := range f.Machines {
		if m := &f.Machines[i]; !m.DeletionTimestamp.IsZero() && len(a.Evidence) < maxWaiting {
			a.Evidence = append(a.Evidence, f.leaving(m).line())
		}
	}
	ac := f.AzureCluster
	if ac == nil || ac.DeletionTimestamp.IsZero() {
		return a
	}
	if c := specific(ac.GetConditions()); c != nil && !inProgress(c.Reason) {
		return found("infrastructure", "AzureCluster/"+ac.Name, c.Reason, c.Message, "kubectl describe azurecluster "+ac.Name+" -n "+ac.Namespace)
	} else if c != nil {
		a.Evidence = append(a.Evidence, redact.Line("AzureCluster/"+ac.Name+": "+c.Message, maxEvidence))
	}
	return a
}

// leaving is what there is to say of a machine that is being deleted.
func (f walker) leaving(m *clusterv1.Machine) *Answer {
	at, next := "Machine/"+m.Name, "kubectl describe machine "+m.Name+" -n "+m.Namespace
	if am := f.AzureMachines[m.Spec.InfrastructureRef.Name]; am != nil && !am.DeletionTimestamp.IsZero() {
		if c := specific(am.GetConditions()); c != nil && !inProgress(c.Reason) {
			return found("infrastructure", "AzureMachine/"+am.Name, c.Reason, c.Message, next)
		}
	}
	a := &Answer{Step: "owner", At: at, Cause: deletionUnderWay, Says: "the machine is being deleted", Next: next}
	for _, c := range m.Status.Conditions {
		if c.Type == clusterv1.MachineDeletingCondition && c.Status == metav1.ConditionTrue {
			reported := found("owner", at, c.Reason, c.Message, next)
			if reported.Fix != "" {
				return reported
			}
			a.Evidence = reported.Evidence
		}
	}
	return a
}

// line is an answer in a line of another's evidence.
func (a *Answer) line() string {
	text := a.At + ": " + a.Says
	if len(a.Evidence) > 0 {
		text = a.At + ": " + a.Evidence[0]
	}
	return redact.Line(text, maxEvidence)
}
