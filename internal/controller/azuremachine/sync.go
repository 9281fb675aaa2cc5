package azuremachine

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
)

// synced takes back what unsynced said.
func (s *scope) synced() {
	if conditions.Has(s.azureMachine, infrav1.SyncedCondition) && !conditions.IsTrue(s.azureMachine, infrav1.SyncedCondition) {
		condition.True(s.azureMachine, infrav1.SyncedCondition, condition.Provisioned)
	}
}

// unsynced says why a machine that runs could not be compared with Azure, or not be
// made what it should be. It is no part of Ready: the machine does its work. What passes
// by itself is Unknown at first, and False when it has lasted too long.
func (s *scope) unsynced(reason, message string, now time.Time) {
	was := conditions.Get(s.azureMachine, infrav1.SyncedCondition)
	if cloud.Passes(reason) && (was == nil || was.Status == metav1.ConditionTrue) {
		condition.Unknown(s.azureMachine, infrav1.SyncedCondition, reason, message)
		return
	}
	if cloud.Passes(reason) && was.Status == metav1.ConditionUnknown && now.Sub(was.LastTransitionTime.Time) < cloud.Patience {
		return
	}
	condition.False(s.azureMachine, infrav1.SyncedCondition, reason, message)
}
