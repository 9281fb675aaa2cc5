package timeline

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
)

func at(seconds int64) metav1.Time { return metav1.Unix(1000+seconds, 0) }

func TestOf(t *testing.T) {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", CreationTimestamp: at(0)}}
	m.Spec.InfrastructureRef.Name, m.Status.NodeRef.Name = "am", "n"
	am := &infrav1.AzureMachine{}
	am.SetConditions([]metav1.Condition{
		{Type: infrav1.VMRunningCondition, Status: metav1.ConditionTrue, LastTransitionTime: at(40)},
		{Type: infrav1.NetworkInterfaceReadyCondition, Status: metav1.ConditionFalse, LastTransitionTime: at(10)}})
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", CreationTimestamp: at(60)}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: at(80)}}
	f := &facts.Snapshot{AzureMachines: map[string]*infrav1.AzureMachine{"am": am}, Nodes: map[string]*corev1.Node{"n": n}}
	for _, ready := range []int64{100, 90} {
		p := corev1.Pod{}
		p.Spec.NodeName = "n"
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at(ready)}}
		f.Pods = append(f.Pods, p)
	}
	got := Of(f, m)
	var names []string
	var took []float64
	for _, s := range got.Stages {
		names, took = append(names, s.Name), append(took, s.Took)
	}
	if want := []string{"machine requested", "VM provisioned, agent ready", "node registered",
		"node ready (CNI configured)", "first pod ready"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if want := []float64{0, 40, 20, 20, 10}; !slices.Equal(took, want) {
		t.Errorf("took %v, want %v", took, want)
	}
	if want := []string{"bootstrap data rendered", "network interface"}; !slices.Equal(got.Missing, want) {
		t.Errorf("missing %q, want %q", got.Missing, want)
	}
	if !got.Stages[0].At.Equal(time.Unix(1000, 0)) {
		t.Errorf("starts at %v", got.Stages[0].At)
	}
	if bar := got.Bar(1, 9); bar != "████" {
		t.Errorf("bar %q", bar)
	}
	if bar := got.Bar(2, 9); bar != "    ██" {
		t.Errorf("bar %q", bar)
	}
}
