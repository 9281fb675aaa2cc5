package timeline

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
)

// windowsMachine adds a machine whose VM runs after a time and whose node is ready 60 s later.
func windowsMachine(f *facts.Snapshot, name string, runs int64, change func(*infrav1.AzureMachine)) {
	m := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: at(0)}}
	m.Spec.InfrastructureRef.Name, m.Status.NodeRef.Name = name, name
	am := &infrav1.AzureMachine{}
	am.SetConditions([]metav1.Condition{{Type: infrav1.VMRunningCondition, Status: metav1.ConditionTrue, LastTransitionTime: at(runs)}})
	if change != nil {
		change(am)
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: at(runs + 20), Labels: map[string]string{corev1.LabelOSStable: "windows"},
	}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: at(runs + 60)}}
	f.Machines, f.AzureMachines[name], f.Nodes[name] = append(f.Machines, m), am, n
}

func TestOfFleet(t *testing.T) {
	f := &facts.Snapshot{AzureMachines: map[string]*infrav1.AzureMachine{}, Nodes: map[string]*corev1.Node{}}
	ephemeral := func(a *infrav1.AzureMachine) {
		a.Spec.OSDisk.DiffDiskSettings = &infrav1.DiffDiskSettings{Option: "Local"}
	}
	windowsMachine(f, "a", 100, nil)
	windowsMachine(f, "b", 140, nil)
	windowsMachine(f, "c<d>", 40, ephemeral)
	fleet := OfFleet(f)
	if got := fmt.Sprint(fleet.Stages); got != "[{VM provisioned, agent ready 3 100 140 b} {node registered 3 "+
		"20 20 b} {node ready (CNI configured) 3 40 40 b}]" {
		t.Errorf("stages: %s", got)
	}
	if fleet.Machines[0].Machine != "b" {
		t.Errorf("the slowest is not first: %s", fleet.Machines[0].Machine)
	}
	said := ""
	for _, a := range fleet.Advice {
		said += a.Text() + "\n"
	}
	for _, want := range []string{
		"an ephemeral OS disk saves 60 s, as machines of this cluster that have it show for 2 machines",
		"a node image that has the container images already saves at most 40 s for 3 machines",
		"a size of 8 cores or more saves at most 60 s for 3 machines",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	for _, none := range []string{"a faster OS disk"} { // a trait without an effect on its stages
		if strings.Contains(said, none) {
			t.Errorf("%q in\n%s", none, said)
		}
	}
	wellFormed(t, fleet.SVG())
	wellFormed(t, Fleet{}.SVG())
}

// TestNamesFit: the names of machines are at the left of their bars, which leave room for the longest one.
func TestNamesFit(t *testing.T) {
	stages := []Stage{{Name: "node registered", After: 9, Took: 9}}
	long := Fleet{Machines: []Timeline{{Machine: strings.Repeat("n", 63), Stages: stages}, {Machine: "short", Stages: stages}}}
	for name, test := range map[string]struct {
		fleet Fleet
		want  string
	}{
		"long names":  {long, `<text x="447" y="42" text-anchor="end">nnn`},
		"short names": {Fleet{Machines: long.Machines[1:]}, `<text x="214" y="42" text-anchor="end">short`},
	} {
		if got := string(test.fleet.SVG()); !strings.Contains(got, test.want) {
			t.Errorf("%s: no %s in\n%s", name, test.want, got)
		}
	}
}

func wellFormed(t *testing.T, text []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
}

func TestCores(t *testing.T) {
	for size, want := range map[string]int{"Standard_D4s_v3": 4, "Standard_D16ads_v5": 16, "Standard_NC6": 6, "": 0, "other": 0} {
		if got := cores(size); got != want {
			t.Errorf("%s: %d, want %d", size, got, want)
		}
	}
}
