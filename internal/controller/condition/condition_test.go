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
		{"all done", []plan.ResourceStatus{{Condition: "A", State: plan.Done}, {Condition: "A", State: plan.Done}}, metav1.ConditionTrue, Provisioned, ""},
		{"one waits", []plan.ResourceStatus{{Condition: "A", State: plan.Done}, {Condition: "A", State: plan.Waiting, Reason: "Creating", Message: "lb is being made"}}, metav1.ConditionFalse, "Creating", "lb is being made"},
		{"failure beats waiting", []plan.ResourceStatus{{Condition: "A", State: plan.Waiting, Reason: "Creating", Message: "x"}, {Condition: "A", State: plan.Failed, Reason: "SubnetIsFull", Message: "y"}}, metav1.ConditionFalse, "SubnetIsFull", "y"},
		{"same message once", []plan.ResourceStatus{{Condition: "A", State: plan.Failed, Message: "y"}, {Condition: "A", State: plan.Failed, Message: "y"}}, metav1.ConditionFalse, "Failed", "y"},
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

func TestSummarise(t *testing.T) {
	table := Table{Required: []string{"A"}, Optional: []string{"B"}}
	c := &infrav1.AzureCluster{}
	if err := Summarise(c, table); err != nil || !conditions.IsUnknown(c, clusterv1.ReadyCondition) {
		t.Errorf("nothing known: %v, %+v", err, c.Status.Conditions)
	}
	True(c, "A", Provisioned)
	if err := Summarise(c, table); err != nil || !conditions.IsTrue(c, clusterv1.ReadyCondition) {
		t.Errorf("an optional condition is missed: %v, %+v", err, c.Status.Conditions)
	}
	False(c, "B", "Why", "because")
	if err := Summarise(c, table); err != nil || !conditions.IsFalse(c, clusterv1.ReadyCondition) || conditions.GetReason(c, clusterv1.ReadyCondition) != "Why" {
		t.Errorf("a false one does not count: %v, %+v", err, c.Status.Conditions)
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
