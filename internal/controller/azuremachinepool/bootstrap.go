package azuremachinepool

import (
	"context"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/console"
	"casement.dev/casement/internal/controller/pass"
)

// bootstrap explains in the condition BootstrapSucceeded of an AzureMachinePoolMachine why its instance has not become
// a node, as far as the serial console shows the reason.
func (r *Reconciler) bootstrap(ctx context.Context, s *scope) pass.Result {
	now, soonest := time.Now(), time.Duration(0)
	for i := range s.members {
		m := &s.members[i]
		if m.instance == nil || m.shown == nil || m.dying() || m.instance.state == string(infrav1.Failed) {
			continue
		}
		again, err := r.readConsole(ctx, s, m, now)
		if err != nil {
			return pass.Error(err)
		}
		soonest = cloud.Sooner(soonest, again)
	}
	return pass.Within(soonest)
}

// readConsole reads the console of one instance and returns the time until the next read, or 0 for none.
func (r *Reconciler) readConsole(ctx context.Context, s *scope, m *member, now time.Time) (time.Duration, error) {
	reported := conditions.Get(m.shown, infrav1.BootstrapSucceededCondition)
	if m.machine == nil || m.machine.Status.NodeRef.IsDefined() {
		if reported == nil || m.machine == nil || conditions.IsTrue(m.shown, infrav1.BootstrapSucceededCondition) {
			return 0, nil
		}
		before := m.shown.DeepCopy()
		condition.True(m.shown, infrav1.BootstrapSucceededCondition, condition.Provisioned)
		return 0, client.IgnoreNotFound(r.Client.Status().Patch(ctx, m.shown, client.MergeFrom(before)))
	}
	due, again := r.looks.Due(m.instance.id, m.instance.created, now)
	if !due {
		return again, nil
	}
	text, err := s.Azure.Console(ctx, m.instance.id)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(2).Info("The serial console was not read", "instance", m.instance.number, "reason", err.Error())
		return again, nil
	}
	if reason, message, failed := console.Failure(text, m.machine.Name); failed {
		before := m.shown.DeepCopy()
		condition.False(m.shown, infrav1.BootstrapSucceededCondition, reason, message)
		return again, client.IgnoreNotFound(r.Client.Status().Patch(ctx, m.shown, client.MergeFrom(before)))
	}
	return again, nil
}
