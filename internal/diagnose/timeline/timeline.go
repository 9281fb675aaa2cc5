// Package timeline computes the durations of the stages of a machine's boot, from the request to its first running pod,
// from the times in objects. It does no I/O. A stage whose time no object records is omitted; times have the precision
// of Kubernetes, whole seconds. The command line, internal/mcp and internal/ui/model import it.
package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
)

// Stage is one event in a machine's boot.
type Stage struct {
	// Name is the event; By is the object that records its time.
	Name string    `json:"name"`
	At   time.Time `json:"at"`
	By   string    `json:"by"`
	// After is the time since the request, and Took the time since the previous stage, both in seconds.
	After float64 `json:"afterSeconds"`
	Took  float64 `json:"tookSeconds"`
}

// Timeline is the sequence of stages up to a machine's first running pod.
type Timeline struct {
	Machine string  `json:"machine"`
	Node    string  `json:"node,omitempty"`
	Stages  []Stage `json:"stages"`
	// Missing are the stages that have not happened or whose time is not recorded.
	Missing []string `json:"missing,omitempty"`
	// Notes are the failures in the machine's bootstrap data, and the parts without effect.
	Notes []string `json:"notes,omitempty"`
}

// Of builds the timeline of a machine from the last transition times of conditions: for a node that became ready twice,
// this is the second time.
func Of(f *facts.Snapshot, m *clusterv1.Machine) Timeline {
	t := Timeline{Machine: m.Name, Node: m.Status.NodeRef.Name, Notes: f.BootNotes(m)}
	if m.Spec.InfrastructureRef.Kind == infrav1.AzureMachinePoolMachineKind {
		t.instance(f.PoolMachines[m.Spec.InfrastructureRef.Name])
	}
	t.mark(stageRequested, m.CreationTimestamp.Time, "Machine")
	if m.Spec.InfrastructureRef.Kind != infrav1.AzureMachinePoolMachineKind {
		t.virtualMachine(f, m)
	}
	t.node(f)
	slices.SortStableFunc(t.Stages, func(a, b Stage) int { return a.At.Compare(b.At) })
	for i := range t.Stages {
		s := &t.Stages[i]
		s.After = s.At.Sub(t.Stages[0].At).Seconds()
		if i > 0 {
			s.Took = s.At.Sub(t.Stages[i-1].At).Seconds()
		}
	}
	return t
}

// instance adds the stages of a scale set's instance. No object of the instance has the times of the request to Azure
// and of the guest agent's report.
func (t *Timeline) instance(a *infrav1.AzureMachinePoolMachine) {
	if a == nil {
		a = &infrav1.AzureMachinePoolMachine{}
	}
	t.mark(stageSeen, a.CreationTimestamp.Time, infrav1.AzureMachinePoolMachineKind)
	t.mark(stageProvisioned, since(a.GetConditions(), clusterv1.ReadyCondition), infrav1.AzureMachinePoolMachineKind)
}

// virtualMachine adds the stages of a machine that has its own VM.
func (t *Timeline) virtualMachine(f *facts.Snapshot, m *clusterv1.Machine) {
	config := f.Configs[m.Spec.Bootstrap.ConfigRef.Name]
	if config != nil {
		t.mark(stageData, since(config.Status.Conditions, "DataSecretAvailable"), "KubeadmConfig")
	} else {
		t.mark(stageData, since(m.Status.Conditions, clusterv1.MachineBootstrapConfigReadyCondition), "Machine")
	}
	var conditions []metav1.Condition
	if am := f.AzureMachines[m.Spec.InfrastructureRef.Name]; am != nil {
		conditions = am.GetConditions()
	}
	t.mark(stageInterface, since(conditions, infrav1.NetworkInterfaceReadyCondition), "AzureMachine")
	t.mark(stageProvisioned, since(conditions, infrav1.VMRunningCondition), "AzureMachine")
	// Without a check of the bootstrap, unless the bootstrap failed, this condition is missing or is set later than the event.
	if c := meta.FindStatusCondition(conditions, infrav1.BootstrapSucceededCondition); c != nil && c.Reason != infrav1.JoinedReason {
		t.mark(stageBootstrap, since(conditions, infrav1.BootstrapSucceededCondition), "AzureMachine")
	}
}

// node adds the stages that objects of the workload cluster record.
func (t *Timeline) node(f *facts.Snapshot) {
	node := f.Nodes[t.Node]
	if node == nil {
		node = &corev1.Node{}
	}
	t.mark(stageRegistered, node.CreationTimestamp.Time, "Node")
	t.mark(stageReady, nodeReady(node), "Node")
	t.mark(stagePod, firstPod(f, t.Node), "Pod")
}

func (t *Timeline) mark(name string, at time.Time, by string) {
	if at.IsZero() {
		t.Missing = append(t.Missing, name)
		return
	}
	t.Stages = append(t.Stages, Stage{Name: name, At: at, By: by})
}

// since returns the time at which a condition became True.
func since(conditions []metav1.Condition, kind string) time.Time {
	for _, c := range conditions {
		if c.Type == kind && c.Status == metav1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func nodeReady(n *corev1.Node) time.Time {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func firstPod(f *facts.Snapshot, node string) time.Time {
	var first time.Time
	for i := range f.Pods {
		p := &f.Pods[i]
		if node == "" || p.Spec.NodeName != node {
			continue
		}
		for _, c := range p.Status.Conditions {
			if at := c.LastTransitionTime.Time; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue &&
				(first.IsZero() || at.Before(first)) {
				first = at
			}
		}
	}
	return first
}

// Bar draws a stage's share of the total time on width characters: blank before its start, filled during it. A stage of
// zero length is one thin mark.
func (t Timeline) Bar(i, width int) string {
	if len(t.Stages) == 0 {
		return ""
	}
	whole := cmp.Or(t.Stages[len(t.Stages)-1].After, 1)
	s := t.Stages[i]
	end := int(s.After / whole * float64(width))
	start := int((s.After - s.Took) / whole * float64(width))
	if start >= end {
		return strings.Repeat(" ", min(start, width-1)) + "▏"
	}
	return strings.Repeat(" ", start) + strings.Repeat("█", end-start)
}
