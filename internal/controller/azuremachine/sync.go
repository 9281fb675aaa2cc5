package azuremachine

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
)

// synced clears the condition that unsynced sets.
func (s *scope) synced() {
	if conditions.Has(s.azureMachine, infrav1.SyncedCondition) && !conditions.IsTrue(s.azureMachine, infrav1.SyncedCondition) {
		condition.True(s.azureMachine, infrav1.SyncedCondition, condition.Provisioned)
	}
}

// unsynced explains why a running machine could not be compared with Azure or updated. The condition does not affect
// Ready, because the machine works. It is Unknown for a problem that may be temporary, and False if the problem lasts
// too long.
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
