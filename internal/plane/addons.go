package plane

import (
	"context"
	"fmt"
	"sync"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"casement.dev/casement/internal/addons"
	"casement.dev/casement/internal/kubeproc"
)

// addonInstaller offers the addons in every namespace that has a Cluster, as an
// operator would have done: a ClusterResourceSet serves its own namespace only.
type addonInstaller struct {
	client client.Client

	mu   sync.Mutex
	done map[string]bool
}

func (a *addonInstaller) setUp(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("addons").For(&clusterv1.Cluster{}).
		WithOptions(controller.Options{SkipNameValidation: new(true)}).Complete(a)
}

// Reconcile implements reconcile.Reconciler.
func (a *addonInstaller) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, a.install(ctx, request.Namespace)
}

// install applies the addons once per namespace and plane; what was changed there
// by hand since stays.
func (a *addonInstaller) install(ctx context.Context, namespace string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done[namespace] {
		return nil
	}
	sets, err := addons.ClusterResourceSets(namespace, addons.Params{KubernetesVersion: kubeproc.Version()})
	if err != nil {
		return err
	}
	for _, o := range sets {
		if err := applyObject(ctx, a.client, o); err != nil {
			return fmt.Errorf("install %T %s/%s: %w", o, namespace, o.GetName(), err)
		}
	}
	a.done[namespace] = true
	return nil
}
