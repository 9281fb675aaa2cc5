package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/kubeconfig"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"casement.dev/casement/internal/helm/v1alpha1"
)

// releaseProxies reconciles HelmReleaseProxies: it installs, upgrades and removes their releases.
type releaseProxies struct {
	client.Client
	options Options
}

func (r *releaseProxies) setUp(mgr ctrl.Manager) error {
	begun := builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1.Cluster)
		after, fine := e.ObjectNew.(*clusterv1.Cluster)
		return ok && fine && (initialized(before) != initialized(after) ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero())
	}})
	return ctrl.NewControllerManagedBy(mgr).Named("helmreleaseproxy").
		For(&v1alpha1.HelmReleaseProxy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster), begun).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).Complete(r)
}

func initialized(c *clusterv1.Cluster) bool {
	return c.Status.Initialization.ControlPlaneInitialized != nil && *c.Status.Initialization.ControlPlaneInitialized
}

func (r *releaseProxies) ofCluster(ctx context.Context, o client.Object) []reconcile.Request {
	var all v1alpha1.HelmReleaseProxyList
	if err := r.List(ctx, &all, client.InNamespace(o.GetNamespace()),
		client.MatchingLabels{clusterv1.ClusterNameLabel: o.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "HelmReleaseProxies of a changed Cluster are not listed", "Cluster", o.GetName())
	}
	var out []reconcile.Request
	for i := range all.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
	}
	return out
}

// Reconcile implements reconcile.Reconciler.
func (r *releaseProxies) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	p := &v1alpha1.HelmReleaseProxy{}
	if err := r.Get(ctx, request.NamespacedName, p); err != nil || paused(p) {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if p.DeletionTimestamp.IsZero() && controllerutil.AddFinalizer(p, v1alpha1.ReleaseProxyFinalizer) {
		if err := r.Update(ctx, p); err != nil {
			return ctrl.Result{}, errorsOf(err)
		}
	}
	before := p.DeepCopy()
	gone := !p.DeletionTimestamp.IsZero()
	err := r.release(ctx, p)
	if gone && err == nil {
		controllerutil.RemoveFinalizer(p, v1alpha1.ReleaseProxyFinalizer)
		return ctrl.Result{}, client.IgnoreNotFound(r.Patch(ctx, p, client.MergeFrom(before)))
	}
	p.Status.ObservedGeneration = p.Generation
	summarize(&p.Status.Conditions, p.Generation, v1alpha1.ClusterAvailableCondition, v1alpha1.ReleaseReadyCondition)
	return ctrl.Result{}, errorsOf(err, r.save(ctx, p, before))
}

// save writes the object's release name and annotations first, and then its status: a release whose name is lost would
// be installed twice.
func (r *releaseProxies) save(ctx context.Context, p, before *v1alpha1.HelmReleaseProxy) error {
	status := p.Status
	if err := r.Patch(ctx, p, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	p.Status = status
	return client.IgnoreNotFound(r.Status().Patch(ctx, p, client.MergeFrom(before)))
}

// release installs, upgrades or removes the release, and sets the conditions.
func (r *releaseProxies) release(ctx context.Context, p *v1alpha1.HelmReleaseProxy) error {
	gone := !p.DeletionTimestamp.IsZero()
	condition := func(kind, reason, message string) {
		set(&p.Status.Conditions, p.Generation, kind, reason, message)
	}
	once := p.Spec.ReconcileStrategy == v1alpha1.InstallOnce
	last := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ReleaseReadyCondition)
	if !gone && finalBefore(last, p.Generation, v1alpha1.LimitExceededReason, v1alpha1.InvalidSpecReason) {
		return nil
	}
	if once && (gone || p.Annotations[v1alpha1.InstalledAnnotation] == "true") {
		return nil
	}
	if meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ReleaseReadyCondition) == nil {
		condition(v1alpha1.ReleaseReadyCondition, v1alpha1.PreparingToInstallReason, "the chart is not installed yet")
	}
	config, reason, err := r.connect(ctx, p, gone)
	switch {
	case err != nil:
		condition(v1alpha1.ClusterAvailableCondition, reason, err.Error())
		return err
	case gone && config == nil:
		return nil // without its cluster the release is gone
	case reason == v1alpha1.GetClusterFailedReason:
		condition(v1alpha1.ClusterAvailableCondition, reason, "there is no Cluster "+p.Spec.ClusterRef.Name)
		return nil
	case config == nil:
		condition(v1alpha1.ClusterAvailableCondition, reason, "the control plane of the cluster has not begun to answer")
		return nil
	}
	condition(v1alpha1.ClusterAvailableCondition, "", "")
	t, done, err := r.trust(ctx, p)
	if err != nil {
		condition(v1alpha1.ClusterAvailableCondition, v1alpha1.GetCredentialsFailedReason, err.Error())
		return err
	}
	defer done()
	work := step{Release: &p.Spec, Remove: gone, Kubeconfig: config, Options: r.options, Trust: t}
	did, err := work.run(ctx)
	final, isFinal := errors.AsType[finalError](err)
	if err == nil && gone {
		return nil
	}
	note(p, did.Made)
	switch {
	case gone:
		condition(v1alpha1.ReleaseReadyCondition, v1alpha1.ReleaseDeletionFailedReason, err.Error())
	case isFinal:
		condition(v1alpha1.ReleaseReadyCondition, final.reason,
			fmt.Sprintf("chart %s: %v", p.Spec.ChartName, err))
		return reconcile.TerminalError(err)
	case err != nil:
		condition(v1alpha1.ReleaseReadyCondition, v1alpha1.InstallOrUpgradeFailedReason, err.Error())
	default:
		p.Annotations[v1alpha1.InstalledAnnotation] = "true"
		condition(v1alpha1.ReleaseReadyCondition, "", did.Made.Note)
	}
	return err
}

// note records the outcome of a release.
func note(p *v1alpha1.HelmReleaseProxy, m *made) {
	if m == nil {
		return
	}
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	if p.Spec.ReleaseName == "" {
		p.Annotations[v1alpha1.GeneratedNameAnnotation] = "true"
	}
	p.Status.Status, p.Status.Revision, p.Spec.ReleaseName = m.Status, m.Revision, m.Name
}

// isStub reports whether a chart is one of casement's stubs.
func isStub(c *chart.Chart) bool {
	return c != nil && c.Metadata != nil && strings.HasPrefix(c.Metadata.Description, simulated)
}

// connect returns the kubeconfig of the cluster. It returns nil without an error if there is no cluster or its control
// plane is not ready, because an event of the Cluster then triggers another pass; and, for a release that is being
// removed, if the cluster is being deleted or no longer exists.
func (r *releaseProxies) connect(ctx context.Context, p *v1alpha1.HelmReleaseProxy, gone bool) ([]byte, string, error) {
	key := client.ObjectKey{Namespace: cmp.Or(p.Spec.ClusterRef.Namespace, p.Namespace), Name: p.Spec.ClusterRef.Name}
	var c clusterv1.Cluster
	err := r.Get(ctx, key, &c)
	switch {
	case gone && (apierrors.IsNotFound(err) || err == nil && (!c.DeletionTimestamp.IsZero() || !initialized(&c))):
		return nil, "", nil
	case apierrors.IsNotFound(err):
		return nil, v1alpha1.GetClusterFailedReason, nil
	case err != nil:
		return nil, v1alpha1.GetClusterFailedReason, fmt.Errorf("get Cluster %s: %w", key, err)
	case !initialized(&c):
		return nil, v1alpha1.ControlPlaneNotInitializedReason, nil
	}
	config, err := kubeconfig.FromSecret(ctx, r, key)
	if err != nil {
		return nil, v1alpha1.GetKubeconfigFailedReason, fmt.Errorf("read the kubeconfig of Cluster %s: %w", key, err)
	}
	return config, "", nil
}

// trust writes the credentials and the CA that the object refers to into files, as Helm requires, and returns a
// function that removes them.
func (r *releaseProxies) trust(ctx context.Context, p *v1alpha1.HelmReleaseProxy) (trust, func(), error) {
	var t trust
	credentials, tls := p.Spec.Credentials, p.Spec.TLSConfig
	if credentials == nil && (tls == nil || tls.CASecretRef == nil) {
		return t, func() {}, nil
	}
	if err := os.MkdirAll(r.options.Cache, 0o700); err != nil {
		return t, nil, err
	}
	dir, err := os.MkdirTemp(r.options.Cache, "trust")
	if err != nil {
		return t, nil, err
	}
	done := func() { _ = os.RemoveAll(dir) }
	if credentials != nil {
		t.Credentials = filepath.Join(dir, "config.json")
		err = r.writeSecretKey(ctx, p.Namespace, credentials.Secret, cmp.Or(credentials.Key, "config.json"), t.Credentials)
	}
	if tls != nil && tls.CASecretRef != nil {
		t.CA = filepath.Join(dir, "ca.crt")
		err = errors.Join(err, r.writeSecretKey(ctx, p.Namespace, *tls.CASecretRef, "ca.crt", t.CA))
	}
	if err != nil {
		done()
		return t, nil, err
	}
	return t, done, nil
}

// writeSecretKey writes one key of a Secret to a file.
func (r *releaseProxies) writeSecretKey(ctx context.Context, namespace string, ref corev1.SecretReference, key, file string) error {
	var s corev1.Secret
	at := client.ObjectKey{Namespace: cmp.Or(ref.Namespace, namespace), Name: ref.Name}
	if err := r.Get(ctx, at, &s); err != nil {
		return fmt.Errorf("get Secret %s: %w", at, err)
	}
	data, ok := s.Data[key]
	if !ok {
		return fmt.Errorf("the Secret %s has no key %s", at, key)
	}
	return os.WriteFile(file, data, 0o600)
}
