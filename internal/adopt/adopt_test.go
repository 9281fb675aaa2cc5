package adopt

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// stored returns an object as CAPZ left it, of a kind and with a status in YAML.
func stored(t *testing.T, kind, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetKind(kind)
	o.SetName("x")
	return o
}

func does(changes []Change) (out []string) {
	for _, c := range changes {
		out = append(out, c.Object+": "+c.Does)
	}
	return out
}

func TestTidy(t *testing.T) {
	for name, test := range map[string]struct {
		kind, object string
		want         []string
	}{
		"an object of ours": {"AzureMachine", `
status:
  ready: true
  initialization: {provisioned: true}
  conditions: [{type: Ready, status: "True", reason: Ready, message: ""}]
  longRunningOperationStates: [{serviceName: ` + infrav1.OperationService + `}]`, nil},
		"an object that was never ready": {"AzureMachine", "{}", nil},
		"ready by the v1beta1 contract": {"AzureMachine", "status: {ready: true}",
			[]string{"AzureMachine/x: set status.initialization.provisioned"}},
		"an instance of a scale set": {"AzureMachinePoolMachine", "status: {ready: true}", nil},
		"conditions of the v1beta1 contract": {"AzureCluster", `
status:
  conditions:
  - {type: Ready, status: "True"}
  - {type: NetworkInfrastructureReady, status: "False", reason: Failed, message: x, severity: Error}
  - {type: Kept, status: "True", reason: Kept, message: ""}`,
			[]string{"AzureCluster/x: drop the conditions Ready, NetworkInfrastructureReady"}},
		"operations of CAPZ": {
			"AzureMachine", "status: {longRunningOperationStates: [{serviceName: virtualmachine, data: x}]}",
			[]string{"AzureMachine/x: drop the record of operations under way"},
		},
		"failure domains in a map": {"AzureCluster", `status: {failureDomains: {"1": {controlPlane: true}}}`,
			[]string{"AzureCluster/x: drop status.failureDomains"}},
		"failure domains in a list": {"AzureCluster", `status: {failureDomains: [{name: "1"}]}`, nil},
		"CAPZ held it against moves": {"AzureCluster", "metadata: {annotations: {" + blockMove + ": \"true\"}}",
			[]string{"AzureCluster/x: remove the annotation " + blockMove}},
		"a status that is no map":  {"AzureMachine", "status: odd", nil},
		"conditions that are none": {"AzureMachine", "status: {conditions: [odd]}", []string{"AzureMachine/x: drop the conditions "}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, does(Adopter{}.tidy(stored(t, test.kind, test.object), false))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDropKeepsWhatIsOurs(t *testing.T) {
	o := stored(t, "AzureMachine", `
status:
  conditions: [{type: Old, status: "True"}, {type: Ours, status: "True", reason: Ours, message: ""}]
  longRunningOperationStates: [{serviceName: virtualmachine}, {serviceName: `+infrav1.OperationService+`, name: ours}]
  other: kept`)
	dropConditions(o)
	dropOperations(o)
	if conditions := conditionsOf(o); len(conditions) != 1 || isOld(conditions[0]) {
		t.Errorf("conditions: %v", conditions)
	}
	if operations := operationsOf(o); len(operations) != 1 || isForeign(operations[0]) {
		t.Errorf("operations: %v", operations)
	}
	if other, _, _ := unstructured.NestedString(o.Object, "status", "other"); other != "kept" {
		t.Errorf("status: %v", o.Object["status"])
	}
}

// TestPause: a cluster that was paused before remains paused; a cluster that adopt paused is unpaused, also after an
// interruption.
func TestPause(t *testing.T) {
	for name, test := range map[string]struct {
		paused      *bool
		annotations map[string]string
		want        []string
	}{
		"it runs":                  {nil, nil, []string{"Cluster/demo: pause", "Cluster/demo: go on"}},
		"it runs, and says so":     {new(false), nil, []string{"Cluster/demo: pause", "Cluster/demo: go on"}},
		"somebody else paused it":  {new(true), nil, nil},
		"adopt was interrupted":    {new(true), map[string]string{pausedHere: "true"}, []string{"Cluster/demo: go on"}},
		"unpaused in the meantime": {nil, map[string]string{pausedHere: "true"}, []string{"Cluster/demo: pause", "Cluster/demo: go on"}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Annotations: test.annotations}}
			cluster.Spec.Paused = test.paused
			if diff := cmp.Diff(test.want, does(slices.Concat(Adopter{}.pause(cluster), Adopter{}.goOn(cluster)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRefusedPlanChangesNothing(t *testing.T) {
	p := &Plan{Refusals: []string{"CAPZ still runs"}, Changes: []Change{{Object: "x"}}}
	err := p.Apply(t.Context(), func(c Change) { t.Errorf("%s is changed", c.Object) })
	if err == nil || !strings.Contains(err.Error(), "CAPZ still runs") {
		t.Errorf("got %v", err)
	}
}

func TestOwnedBy(t *testing.T) {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	cluster.Spec.InfrastructureRef.Name = "demo-azure"
	for name, test := range map[string]struct {
		owners []metav1.OwnerReference
		want   bool
	}{
		"its AzureCluster's":     {[]metav1.OwnerReference{{Kind: "AzureCluster", Name: "demo-azure"}}, true},
		"another AzureCluster's": {[]metav1.OwnerReference{{Kind: "AzureCluster", Name: "other"}}, false},
		"of another kind":        {[]metav1.OwnerReference{{Kind: "Cluster", Name: "demo-azure"}}, false},
		"without an owner":       {nil, false},
		"with several owners": {
			[]metav1.OwnerReference{{Kind: "Cluster", Name: "demo"}, {Kind: "AzureCluster", Name: "demo-azure"}},
			true,
		},
	} {
		if got := ownedBy(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{OwnerReferences: test.owners}}, cluster); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// FuzzTidy: no status causes a panic, and a second call removes nothing more.
func FuzzTidy(f *testing.F) {
	for _, s := range []string{"status: odd", "status: {conditions: odd}", "status: {conditions: [1, {type: 2}]}",
		"status: {longRunningOperationStates: [null]}", "metadata: {annotations: 1}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := &unstructured.Unstructured{}
		if yaml.Unmarshal([]byte(text), &o.Object) != nil || o.Object == nil {
			return
		}
		Adopter{}.tidy(o, false)
		if len(oldConditions(o)) > 0 {
			if dropConditions(o); len(oldConditions(o)) > 0 {
				t.Errorf("conditions are left: %v", o.Object)
			}
		}
		if len(foreignOperations(o)) > 0 {
			if dropOperations(o); len(foreignOperations(o)) > 0 {
				t.Errorf("operations are left: %v", o.Object)
			}
		}
	})
}
