package azuremachinepool

import (
	"context"
	"slices"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
)

// lookAtLost asks Azure, with one list for all, what has become of instances whose
// nodes are lost or that it failed to provision.
func (r *Reconciler) lookAtLost(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.live == nil || !slices.ContainsFunc(s.members, func(m member) bool {
		return m.lost() || m.instance != nil && m.instance.state == string(infrav1.Failed)
	}) {
		return ctrl.Result{}, nil
	}
	views, err := s.azure.Views(ctx, s.setID())
	if err != nil {
		ctrl.LoggerFrom(ctx).V(2).Info("The power states were not read", "reason", err.Error())
	}
	s.views = views
	return ctrl.Result{}, nil
}

// lookAtBootstrap says in BootstrapSucceeded of an AzureMachinePoolMachine why its
// instance has not become a node, as far as the serial console tells, and when to look
// again.
func (r *Reconciler) lookAtBootstrap(ctx context.Context, s *scope) (ctrl.Result, error) {
	now := time.Now()
	for i := range s.members {
		m := &s.members[i]
		if m.instance == nil || m.shown == nil || m.dying() || m.instance.state == string(infrav1.Failed) {
			continue
		}
		again, err := r.lookInside(ctx, s, m, now)
		if err != nil {
			return ctrl.Result{}, err
		}
		s.again = cloud.Sooner(s.again, again)
	}
	return ctrl.Result{}, nil
}

// lookInside looks at one instance and returns when to look again, 0 for not at all.
func (r *Reconciler) lookInside(ctx context.Context, s *scope, m *member, now time.Time) (time.Duration, error) {
	before, told := m.shown.DeepCopy(), conditions.Get(m.shown, infrav1.BootstrapSucceededCondition)
	if m.machine == nil || m.machine.Status.NodeRef.IsDefined() {
		if told == nil || m.machine == nil || conditions.IsTrue(m.shown, infrav1.BootstrapSucceededCondition) {
			return 0, nil
		}
		condition.True(m.shown, infrav1.BootstrapSucceededCondition, condition.Provisioned)
		return 0, client.IgnoreNotFound(r.Client.Status().Patch(ctx, m.shown, client.MergeFrom(before)))
	}
	age := now.Sub(m.instance.created)
	due, again := cloud.BootstrapLook(age)
	if !due || told != nil && now.Sub(told.LastTransitionTime.Time) < age/2 {
		return again, nil // it is too young, or was looked at when it was more than half as old
	}
	text, err := s.azure.Console(ctx, m.instance.id)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(2).Info("The serial console was not read", "instance", m.instance.number, "reason", err.Error())
		return again, nil
	}
	if reason, message, failed := cloud.BootstrapFailure(text, m.machine.Name); failed {
		condition.False(m.shown, infrav1.BootstrapSucceededCondition, reason, message)
		return again, client.IgnoreNotFound(r.Client.Status().Patch(ctx, m.shown, client.MergeFrom(before)))
	}
	return again, nil
}
