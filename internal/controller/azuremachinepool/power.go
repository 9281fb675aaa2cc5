package azuremachinepool

import (
	"context"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/pass"
)

// power reads, with one list, the instance views of all instances whose nodes are lost or whose provisioning failed.
func (r *Reconciler) power(ctx context.Context, s *scope) pass.Result {
	if s.live == nil || !slices.ContainsFunc(s.members, func(m member) bool {
		return m.lost() || m.instance != nil && m.instance.state == string(infrav1.Failed)
	}) {
		return pass.Next()
	}
	views, err := s.Azure.Views(ctx, s.setID())
	if err != nil {
		ctrl.LoggerFrom(ctx).V(2).Info("The power states were not read", "reason", err.Error())
	}
	s.views = views
	return pass.Next()
}
