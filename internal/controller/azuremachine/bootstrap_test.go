package azuremachine

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "casement.dev/casement/api/v1beta1"
)

func TestReadConsoleWithoutACall(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := &Reconciler{}
	s := testScope() // there is no session, so a call would panic
	s.vm = &liveVM{}
	conditions.Set(s.azureMachine, metav1.Condition{Type: infrav1.VMRunningCondition, Status: metav1.ConditionTrue,
		Reason: "Provisioned", LastTransitionTime: metav1.NewTime(now.Add(-20 * time.Second))})
	if got := r.readConsole(t.Context(), s, now); got != 40*time.Second {
		t.Errorf("a young machine is looked at in %v, want 40s", got)
	}
	if got := r.readConsole(t.Context(), s, now.Add(2*time.Hour)); got != 0 {
		t.Errorf("an old machine is looked at in %v", got)
	}
	conditions.Set(s.azureMachine, metav1.Condition{
		Type: infrav1.BootstrapSucceededCondition, Status: metav1.ConditionFalse, Reason: "NoRouteToAPI",
	})
	s.machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: "n"}
	if got := r.readConsole(t.Context(), s, now.Add(2*time.Hour)); got != 0 ||
		!conditions.IsTrue(s.azureMachine, infrav1.BootstrapSucceededCondition) {
		t.Errorf("a machine that joined: %v, %v", got, conditions.Get(s.azureMachine, infrav1.BootstrapSucceededCondition))
	}
}
