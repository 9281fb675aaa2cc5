package condition

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/plan"
)

func TestFold(t *testing.T) {
	for _, test := range []struct {
		name      string
		resources []plan.ResourceStatus
		status    metav1.ConditionStatus
		reason    string
		message   string
	}{
		{"all done", []plan.ResourceStatus{{Condition: "A", State: plan.Done}, {Condition: "A", State: plan.Done}},
			metav1.ConditionTrue, Provisioned, ""},
		{"one waits", []plan.ResourceStatus{
			{Condition: "A", State: plan.Done},
			{Condition: "A", State: plan.Waiting, Reason: "Creating", Message: "lb is being made"},
		}, metav1.ConditionFalse, "Creating", "lb is being made"},
		{"failure beats waiting", []plan.ResourceStatus{
			{Condition: "A", State: plan.Waiting, Reason: "Creating", Message: "x"},
			{Condition: "A", State: plan.Failed, Reason: "SubnetIsFull", Message: "y"},
		}, metav1.ConditionFalse, "SubnetIsFull", "y"},
		{"at work beats waiting for it", []plan.ResourceStatus{
			{Condition: "A", State: plan.Waiting, Reason: WaitingForNeeds, Message: "x"},
			{Condition: "A", State: plan.Waiting, Reason: "Creating", Message: "y"},
		}, metav1.ConditionFalse, "Creating", "y"},
		{"same message once", []plan.ResourceStatus{
			{Condition: "A", State: plan.Failed, Message: "y"}, {Condition: "A", State: plan.Failed, Message: "y"},
		}, metav1.ConditionFalse, "Failed", "y"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &infrav1.AzureCluster{}
			Fold(c, plan.Outcome{Resources: test.resources})
			got := conditions.Get(c, "A")
			if got == nil || got.Status != test.status || got.Reason != test.reason || got.Message != test.message {
				t.Errorf("condition %+v", got)
			}
		})
	}
}

// TestForget: the failure of a resource that the spec no longer requests is removed, and other failures are not.
func TestForget(t *testing.T) {
	c := &infrav1.AzureCluster{}
	False(c, infrav1.VnetPeeringReadyCondition, "InvalidResourceReference", "no such network")
	False(c, infrav1.LoadBalancersReadyCondition, "Failed", "x")
	False(c, infrav1.VNetReadyCondition, "Failed", "x")
	Forget(c, Cluster, plan.Outcome{Resources: []plan.ResourceStatus{{Condition: infrav1.LoadBalancersReadyCondition}}})
	if conditions.Get(c, infrav1.VnetPeeringReadyCondition) != nil {
		t.Error("the condition of a peering that is gone stays")
	}
	if conditions.Get(c, infrav1.LoadBalancersReadyCondition) == nil || conditions.Get(c, infrav1.VNetReadyCondition) == nil {
		t.Error("a condition that counts is gone")
	}
}

func TestSummarise(t *testing.T) {
	condition := func(conditionType string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: "why"}
	}
	for _, test := range []struct {
		name    string
		given   []metav1.Condition
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		{"nothing known", nil, metav1.ConditionUnknown, clusterv1.ReadyUnknownReason, "nothing is known yet"},
		{"optional one missing", []metav1.Condition{condition("A", metav1.ConditionTrue, Provisioned)},
			metav1.ConditionTrue, clusterv1.ReadyReason, ""},
		{"optional one false", []metav1.Condition{
			condition("A", metav1.ConditionTrue, Provisioned), condition("B", metav1.ConditionFalse, "Why"),
		}, metav1.ConditionFalse, "Why", "B: why"},
		{"the cause before what waits for it", []metav1.Condition{
			condition("A", metav1.ConditionFalse, WaitingForNeeds),
			condition("B", metav1.ConditionFalse, "SubnetIsFull"),
		}, metav1.ConditionFalse, "SubnetIsFull", "B: why"},
		{"two causes", []metav1.Condition{
			condition("A", metav1.ConditionFalse, "One"), condition("B", metav1.ConditionFalse, "Two"),
		}, metav1.ConditionFalse, "One", "A: why"},
		{"another controller's", []metav1.Condition{
			condition("A", metav1.ConditionTrue, Provisioned),
			condition("Paused", metav1.ConditionFalse, "NotPaused"),
		}, metav1.ConditionTrue, clusterv1.ReadyReason, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &infrav1.AzureCluster{}
			c.Status.Conditions = test.given
			Summarise(c, Table{Required: []string{"A"}, Optional: []string{"B"}})
			got := conditions.Get(c, clusterv1.ReadyCondition)
			if got.Status != test.status || got.Reason != test.reason || got.Message != test.message {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestEmitTellsTransitionsOnce(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	c := &infrav1.AzureCluster{}
	False(c, "A", "Broken", "it broke")
	False(c, "W", "Waiting", "not yet")
	Emit(recorder, c, nil, "Waiting")
	Emit(recorder, c, c.Status.Conditions, "Waiting")
	before := slices.Clone(c.Status.Conditions)
	True(c, clusterv1.ReadyCondition, Provisioned)
	Emit(recorder, c, before, "Waiting")
	close(recorder.Events)
	var got []string
	for e := range recorder.Events {
		got = append(got, e)
	}
	if len(got) != 2 || !strings.Contains(got[0], "Broken A: it broke") || !strings.Contains(got[1], "Normal Ready") {
		t.Errorf("events %q", got)
	}
}

func TestShort(t *testing.T) {
	long := strings.Repeat("ä", maxMessage)
	if got := Short(long); len(got) > maxMessage+3 || !strings.HasSuffix(got, "...") || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("%d bytes: %q", len(got), got[len(got)-10:])
	}
}
