package supervisor

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"casement.dev/casement/internal/addons"
	"casement.dev/casement/internal/helm/v1alpha1"
	"casement.dev/casement/internal/kubeproc"
)

// addonInstaller offers addons in the namespaces of the Clusters that request them, because a ClusterResourceSet only
// applies to its own namespace, and Cluster API reconciles every offered addon at each change of a Cluster in the
// namespace. It withdraws an addon that HelmChartProxies install on all Clusters that request it.
type addonInstaller struct {
	client client.Client
	cache  client.Reader
	// offered is, by namespace and addon, whether the addon is offered there; an entry is missing until this is first decided.
	offered map[string]bool
}

func (a *addonInstaller) setUp(mgr ctrl.Manager) error {
	namespace := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace()}}}
	})
	return ctrl.NewControllerManagedBy(mgr).Named("addons").Watches(&clusterv1.Cluster{},
		namespace).Watches(&v1alpha1.HelmChartProxy{}, namespace).
		WithOptions(controller.Options{SkipNameValidation: new(true), MaxConcurrentReconciles: 1}).Complete(a)
}

// Reconcile implements reconcile.Reconciler. It offers or withdraws an addon once per change, so that later edits by
// users are kept.
func (a *addonInstaller) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var clusters clusterv1.ClusterList
	var proxies v1alpha1.HelmChartProxyList
	if err := a.cache.List(ctx, &clusters, client.InNamespace(request.Namespace)); err != nil {
		return ctrl.Result{}, err
	}
	if len(clusters.Items) == 0 {
		return ctrl.Result{}, nil
	}
	if err := a.cache.List(ctx, &proxies, client.InNamespace(request.Namespace)); err != nil {
		return ctrl.Result{}, err
	}
	for _, addon := range addons.All() {
		requested := func(c clusterv1.Cluster) bool { return addon.Asked(c.Labels) }
		if !slices.ContainsFunc(clusters.Items, requested) {
			continue
		}
		key, offer := request.Namespace+"/"+addon.Name, !broughtByCharts(addon, clusters.Items, proxies.Items)
		if offered, known := a.offered[key]; known && offered == offer {
			continue
		}
		if err := a.set(ctx, addon, request.Namespace, offer); err != nil {
			return ctrl.Result{}, err
		}
		a.offered[key] = offer
	}
	return ctrl.Result{}, nil
}

// set offers an addon in a namespace, or withdraws it. The addon's ConfigMap is kept.
func (a *addonInstaller) set(ctx context.Context, addon addons.Addon, namespace string, offer bool) error {
	objects, err := addon.ResourceSets(namespace, addons.Params{KubernetesVersion: kubeproc.Version()})
	if err != nil {
		return err
	}
	for _, o := range objects {
		_, set := o.(*addonsv1.ClusterResourceSet)
		switch {
		case offer:
			err = applyObject(ctx, a.client, o)
		case set:
			err = client.IgnoreNotFound(a.client.Delete(ctx, o))
		}
		if err != nil {
			return fmt.Errorf("install or withdraw %T %s/%s: %w", o, namespace, o.GetName(), err)
		}
	}
	return nil
}

// broughtByCharts reports whether HelmChartProxies with the addon's charts select every Cluster that requests the addon.
func broughtByCharts(addon addons.Addon, clusters []clusterv1.Cluster, proxies []v1alpha1.HelmChartProxy) bool {
	var selectors []labels.Selector
	for _, p := range proxies {
		selector, err := metav1.LabelSelectorAsSelector(&p.Spec.ClusterSelector)
		if err == nil && p.DeletionTimestamp.IsZero() && slices.Contains(addon.Charts, p.Spec.ChartName) {
			selectors = append(selectors, selector)
		}
	}
	asksInVain := func(c clusterv1.Cluster) bool {
		return addon.Asked(c.Labels) &&
			!slices.ContainsFunc(selectors, func(s labels.Selector) bool { return s.Matches(labels.Set(c.Labels)) })
	}
	return len(selectors) > 0 && !slices.ContainsFunc(clusters, asksInVain)
}
