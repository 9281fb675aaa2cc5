package metric

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/record"
)

var born = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func machine(name string, change func(*infrav1.AzureMachine)) *infrav1.AzureMachine {
	m := &infrav1.AzureMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: name, CreationTimestamp: metav1.NewTime(born),
		Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"},
	}}
	change(m)
	return m
}

func vm(status metav1.ConditionStatus, reason string) func(*infrav1.AzureMachine) {
	return func(m *infrav1.AzureMachine) {
		m.SetConditions([]metav1.Condition{{Type: infrav1.VMRunningCondition, Status: status, Reason: reason,
			LastTransitionTime: metav1.NewTime(born.Add(90 * time.Second))}})
	}
}

// TestTally: the reported counts match the states of the objects.
func TestTally(t *testing.T) {
	begun := func(verb plan.Verb, id string) []infrav1.LongRunningOperationState {
		failed := plan.Token{Verb: verb, ID: id + "2"} // this operation has failed, so it is no longer in progress
		return record.States([]plan.Token{{Verb: verb, ID: id, Resume: "token"}, failed})
	}
	put := begun("PUT", "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/v")
	machines := []infrav1.AzureMachine{
		*machine("a", vm(metav1.ConditionTrue, "Provisioned")),
		*machine("b", vm(metav1.ConditionTrue, "Provisioned")),
		*machine("c", func(m *infrav1.AzureMachine) {
			vm(metav1.ConditionFalse, infrav1.CreatingReason)(m)
			m.Spec.OSDisk.OSType, m.Status.LongRunningOperationStates = "Windows", put
		}),
		*machine("d", func(m *infrav1.AzureMachine) { m.Status.FailureReason = new("x") }),
		*machine("e", func(m *infrav1.AzureMachine) { m.DeletionTimestamp = new(metav1.NewTime(born)) }),
		*machine("f", func(*infrav1.AzureMachine) {}),
	}
	clusters := []infrav1.AzureCluster{{Status: infrav1.AzureClusterStatus{LongRunningOperationStates: begun("DELETE",
		"/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v")}}}
	pools := []infrav1.AzureMachinePool{{Status: infrav1.AzureMachinePoolStatus{LongRunningOperationStates: put}}}
	count, operations := tally(machines, clusters, pools)
	if diff := cmp.Diff(map[[4]string]int{
		{"team", "demo", "linux", "Deleting"}: 1, {"team", "demo", "linux", "Failed"}: 1, {"team", "demo", "linux", "Pending"}: 1,
		{"team", "demo", "linux", "Running"}: 2, {"team", "demo", "windows", "Creating"}: 1,
	}, count); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[[3]string]int{
		{"AzureCluster", "delete", "microsoft.network/virtualnetworks"}:  1,
		{"AzureMachine", "put", "microsoft.compute/virtualmachines"}:     1,
		{"AzureMachinePool", "put", "microsoft.compute/virtualmachines"}: 1,
	}, operations); diff != "" {
		t.Error(diff)
	}
}

func TestObserve(t *testing.T) {
	m := New(nil)
	get := arm.Call{Verb: "get", ResourceType: "microsoft.compute/virtualmachines", Code: 200}
	m.Observe(arm.Observation{Call: get, SubscriptionID: "s", Took: time.Second, Remaining: map[string]int{"reads": 11}})
	m.Observe(arm.Observation{Call: get, SubscriptionID: "s", Took: time.Second, Remaining: map[string]int{"reads": 10}})
	get.Code = 429
	m.Observe(arm.Observation{Call: get, SubscriptionID: "s"})
	if n := testutil.ToFloat64(m.calls.WithLabelValues("s", "get", get.ResourceType, "200")); n != 2 {
		t.Errorf("%v calls with 200, want 2", n)
	}
	if n := testutil.ToFloat64(m.calls.WithLabelValues("s", "get", get.ResourceType, "429")); n != 1 {
		t.Errorf("%v calls with 429, want 1", n)
	}
	if n := testutil.ToFloat64(m.remaining.WithLabelValues("s", "reads")); n != 10 {
		t.Errorf("%v reads remain, want 10", n)
	}
}

// TestJoins: a boot ends once, when its node registers.
func TestJoins(t *testing.T) {
	of := func(kind, node string) *clusterv1.Machine {
		return &clusterv1.Machine{
			Spec:   clusterv1.MachineSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{Kind: kind, Name: "a"}},
			Status: clusterv1.MachineStatus{NodeRef: clusterv1.MachineNodeReference{Name: node}},
		}
	}
	for _, test := range []struct {
		name, kind, before, after string
		want                      bool
	}{
		{"comes", "AzureMachine", "", "node", true},
		{"stays", "AzureMachine", "node", "node", false},
		{"not yet", "AzureMachine", "", "", false},
		{"of a pool", "AzureMachinePoolMachine", "", "node", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := joins(of(test.kind, test.before), of(test.kind, test.after)); got != test.want {
				t.Errorf("joins %v, want %v", got, test.want)
			}
		})
	}
}

// TestTransition: a phase is timed once, when it ends during a boot.
func TestTransition(t *testing.T) {
	none, running, stopped := func(*infrav1.AzureMachine) {}, vm(metav1.ConditionTrue, "Provisioned"), vm(metav1.ConditionFalse, "Stopped")
	wasUp := func(m *infrav1.AzureMachine) { stopped(m); m.Status.Ready = true }
	for _, test := range []struct {
		name          string
		before, after func(*infrav1.AzureMachine)
		want          int
	}{
		{"comes up", none, running, 1},
		{"stays up", running, running, 0},
		{"still creating", none, stopped, 0},
		{"comes up again", wasUp, running, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := New(nil)
			m.transition(machine("a", test.before), machine("a", test.after))
			if n := testutil.CollectAndCount(m.boot); n != test.want {
				t.Errorf("%d phases timed, want %d", n, test.want)
			}
		})
	}
}
