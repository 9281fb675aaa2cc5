package helm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"casement.dev/casement/internal/helm/v1alpha1"
)

// chartProxies reconciles HelmChartProxies: it creates a HelmReleaseProxy for each Cluster that a HelmChartProxy selects.
type chartProxies struct{ client.Client }

func (r *chartProxies) setUp(mgr ctrl.Manager) error {
	changed := builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}))
	return ctrl.NewControllerManagedBy(mgr).Named("helmchartproxy").For(&v1alpha1.HelmChartProxy{}).Owns(&v1alpha1.HelmReleaseProxy{}).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster), changed).Complete(r)
}

// ofCluster returns the HelmChartProxies in a Cluster's namespace, including those that may no longer select it.
func (r *chartProxies) ofCluster(ctx context.Context, o client.Object) []reconcile.Request {
	var all v1alpha1.HelmChartProxyList
	if err := r.List(ctx, &all, client.InNamespace(o.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "HelmChartProxies of a changed Cluster are not listed", "Cluster", o.GetName())
	}
	var out []reconcile.Request
	for i := range all.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
	}
	return out
}

// Reconcile implements reconcile.Reconciler.
func (r *chartProxies) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	p := &v1alpha1.HelmChartProxy{}
	if err := r.Get(ctx, request.NamespacedName, p); err != nil || paused(p) {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var releases v1alpha1.HelmReleaseProxyList
	if err := r.List(ctx, &releases, client.InNamespace(p.Namespace), client.MatchingLabels{v1alpha1.ChartProxyLabel: p.Name}); err != nil {
		return ctrl.Result{}, err
	}
	if !p.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.remove(ctx, p, releases.Items)
	}
	if controllerutil.AddFinalizer(p, v1alpha1.ChartProxyFinalizer) {
		if err := r.Update(ctx, p); err != nil {
			return ctrl.Result{}, err
		}
	}
	before := p.DeepCopy()
	err := r.place(ctx, p, releases.Items)
	p.Status.ObservedGeneration = p.Generation
	summarize(&p.Status.Conditions, p.Generation, v1alpha1.ReleaseProxySpecsUpToDateCondition, v1alpha1.ReleaseProxiesReadyCondition)
	return ctrl.Result{}, errorsOf(err, r.patch(ctx, p, before))
}

func (r *chartProxies) patch(ctx context.Context, p, before *v1alpha1.HelmChartProxy) error {
	return client.IgnoreNotFound(r.Status().Patch(ctx, p, client.MergeFrom(before)))
}

// remove deletes the releases, and removes the finalizer when all of them are gone.
func (r *chartProxies) remove(ctx context.Context, p *v1alpha1.HelmChartProxy, releases []v1alpha1.HelmReleaseProxy) error {
	for i := range releases {
		if err := r.Delete(ctx, &releases[i]); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if len(releases) > 0 || !controllerutil.RemoveFinalizer(p, v1alpha1.ChartProxyFinalizer) {
		return nil // the deletion of each release triggers the next reconcile of this object
	}
	return client.IgnoreNotFound(r.Update(ctx, p))
}

// place creates, changes and deletes releases so that they match the clusters that the object selects, and sets its conditions.
func (r *chartProxies) place(ctx context.Context, p *v1alpha1.HelmChartProxy, releases []v1alpha1.HelmReleaseProxy) error {
	fail := func(reason string, err error) error {
		set(&p.Status.Conditions, p.Generation, v1alpha1.ReleaseProxySpecsUpToDateCondition, reason, err.Error())
		return err
	}
	last := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ReleaseProxySpecsUpToDateCondition)
	if finalBefore(last, p.Generation, v1alpha1.LimitExceededReason) {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(&p.Spec.ClusterSelector)
	if err != nil {
		return fail(v1alpha1.ClusterSelectionFailedReason, fmt.Errorf("spec.clusterSelector: %w", err))
	}
	var clusters clusterv1.ClusterList
	if err := r.List(ctx, &clusters, client.InNamespace(p.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return fail(v1alpha1.ClusterSelectionFailedReason, err)
	}
	p.Status.MatchingClusters = nil
	placed := map[string]*v1alpha1.HelmReleaseProxy{}
	for i := range releases {
		placed[releases[i].Spec.ClusterRef.Name] = &releases[i]
	}
	orphans := maps.Clone(placed)
	for i := range clusters.Items {
		c := &clusters.Items[i]
		delete(orphans, c.Name)
		p.Status.MatchingClusters = append(p.Status.MatchingClusters, reference(c))
		if !c.DeletionTimestamp.IsZero() {
			continue
		}
		if reason, err := r.placeOn(ctx, p, c, placed[c.Name]); err != nil {
			if final, ok := errors.AsType[finalError](err); ok {
				reason, err = final.reason, reconcile.TerminalError(err)
			} else if apierrors.IsInvalid(err) || errors.As(err, new(nameError)) {
				reason, err = v1alpha1.InvalidSpecReason, reconcile.TerminalError(err)
			}
			return fail(reason, err)
		}
	}
	if p.Spec.ReconcileStrategy != v1alpha1.InstallOnce {
		for _, name := range slices.Sorted(maps.Keys(orphans)) {
			if err := r.Delete(ctx, orphans[name]); client.IgnoreNotFound(err) != nil {
				return fail(v1alpha1.ReleaseProxyReinstallingReason, err)
			}
		}
	}
	set(&p.Status.Conditions, p.Generation, v1alpha1.ReleaseProxySpecsUpToDateCondition, "", "")
	reason, message := unready(releases)
	set(&p.Status.Conditions, p.Generation, v1alpha1.ReleaseProxiesReadyCondition, reason, message)
	return nil
}

// placeOn creates or changes the release for one cluster. A release with another chart, name or namespace is removed
// first; its deletion triggers this function again.
func (r *chartProxies) placeOn(ctx context.Context, p *v1alpha1.HelmChartProxy, c *clusterv1.Cluster,
	have *v1alpha1.HelmReleaseProxy) (reason string, err error) {
	prefix := p.Spec.ChartName + "-" + c.Name + "-"
	if faults := validation.NameIsDNSSubdomain(prefix, true); len(faults) > 0 || p.Spec.ChartName == "" {
		return "", nameError{fmt.Errorf("spec.chartName: %.100q is no name of a chart, which has lower case letters, digits, \"-\" and \".\": %s",
			p.Spec.ChartName, strings.Join(faults, ", "))}
	}
	if err := checkRepository(p.Spec.RepoURL); err != nil {
		return "", err
	}
	values, err := fillValues(ctx, r, p, c)
	if err != nil {
		return v1alpha1.ValueParsingFailedReason, err
	}
	want := &v1alpha1.HelmReleaseProxy{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.Namespace, GenerateName: prefix,
		Labels: map[string]string{clusterv1.ClusterNameLabel: c.Name, v1alpha1.ChartProxyLabel: p.Name},
	}}
	want.Spec = v1alpha1.HelmReleaseProxySpec{ClusterRef: reference(c), Chart: *p.Spec.Chart.DeepCopy(), Values: values}
	if have == nil {
		if err := controllerutil.SetControllerReference(p, want, r.Scheme()); err != nil {
			return v1alpha1.ReleaseProxyReinstallingReason, err
		}
		return v1alpha1.ReleaseProxyReinstallingReason, r.Create(ctx, want)
	}
	generated := have.Annotations[v1alpha1.GeneratedNameAnnotation] == "true"
	if generated && want.Spec.ReleaseName == "" {
		want.Spec.ReleaseName = have.Spec.ReleaseName
	}
	old := have.Spec.Chart
	if old.ChartName != want.Spec.ChartName || old.RepoURL != want.Spec.RepoURL ||
		old.ReleaseName != want.Spec.ReleaseName || old.ReleaseNamespace != want.Spec.ReleaseNamespace {
		return v1alpha1.ReleaseProxyReinstallingReason, client.IgnoreNotFound(r.Delete(ctx, have))
	}
	before := have.DeepCopy()
	have.Spec = want.Spec
	have.Spec.ClusterRef = before.Spec.ClusterRef
	return v1alpha1.ReleaseProxyReinstallingReason, r.Patch(ctx, have, client.MergeFrom(before))
}

// nameError is the error for a name or a repository that no chart can have.
type nameError struct{ error }

func reference(c *clusterv1.Cluster) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Namespace: c.Namespace, Name: c.Name}
}

// unready returns the reason why releases are not ready, with their names; both are "" if all are ready.
func unready(releases []v1alpha1.HelmReleaseProxy) (reason, message string) {
	var waits []string
	for i := range releases {
		c := meta.FindStatusCondition(releases[i].Status.Conditions, clusterv1.ReadyCondition)
		switch {
		case c == nil:
			waits = append(waits, "Cluster "+releases[i].Spec.ClusterRef.Name+": not looked at yet")
		case c.Status != metav1.ConditionTrue:
			waits = append(waits, "Cluster "+releases[i].Spec.ClusterRef.Name+": "+c.Message)
		}
	}
	if len(waits) == 0 {
		return "", ""
	}
	slices.Sort(waits)
	return v1alpha1.ReleaseProxiesNotReadyReason, strings.Join(waits, "; ")
}

// paused reports whether an object is paused.
func paused(o client.Object) bool {
	_, yes := o.GetAnnotations()[clusterv1.PausedAnnotation]
	return yes
}

// errorsOf returns the first error other than a conflict: after a conflict, the next event triggers another pass.
func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}
