// Package patch moves the pools of clusters to newer versions of their images, as package patchday decides:
// MachineDeployments by a new machine template, pools of a topology by a variable, AzureMachinePools by their image.
//
// It does not replace machines itself: Cluster API and the pools' own rollouts do. Its state is in an annotation of the
// pool, so that any replica of the manager can continue. Only package manager imports it.
package patch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/record"
	"casement.dev/casement/internal/patchday"
	"casement.dev/casement/internal/trace"
)

// Reconciler moves the pools of one cluster at a time.
type Reconciler struct {
	Client client.Client
	// Live reads without the cache.
	Live     client.Reader
	Opener   *cloud.Opener
	Recorder events.EventRecorder
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that Clusters must have;
	// "" watches all.
	WatchFilter string
	// Resync is the interval at which the versions of images are checked.
	Resync time.Duration
	// ReadTTL is the maximum age of a list of an image's versions.
	ReadTTL time.Duration
	// Workload returns a client of a workload cluster; nil means a client with the cluster's kubeconfig.
	Workload func(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
}

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinedeployments;machinepools,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinedeployments/status;machinepools/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachinetemplates,verbs=get;list;watch;create;delete

// SetupWithManager registers the controller and its watches.
func (r *Reconciler) SetupWithManager(_ context.Context, mgr ctrl.Manager, options controller.Options) error {
	ofCluster := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		name := o.GetLabels()[clusterv1.ClusterNameLabel]
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}}
	})
	return ctrl.NewControllerManagedBy(mgr).Named("patchday").
		For(&clusterv1.Cluster{}, record.Own(mgr, r.WatchFilter)).
		WithOptions(options).
		Watches(&clusterv1.MachineDeployment{}, ofCluster, record.Asked()).
		Watches(&clusterv1.MachinePool{}, ofCluster, record.Asked()).
		Watches(&infrav1.AzureMachinePool{}, ofCluster, record.Asked()).
		Watches(&clusterv1.Machine{}, ofCluster, builder.WithPredicates(healthChanged())).
		Complete(trace.Reconciler("PatchDay", r))
}

// healthChanged selects Machines that are created or deleted, and those whose node's health has changed.
func healthChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, a := e.ObjectOld.(*clusterv1.Machine)
		updated, b := e.ObjectNew.(*clusterv1.Machine)
		healthy := func(m *clusterv1.Machine) bool { return conditions.IsTrue(m, clusterv1.MachineNodeHealthyCondition) }
		return a && b && (healthy(old) != healthy(updated) || old.DeletionTimestamp.IsZero() != updated.DeletionTimestamp.IsZero())
	}}
}

// observeEvery is the interval of passes over a cluster while a pool moves: some changes that a move waits for trigger no event.
const observeEvery = 30 * time.Second

// Reconcile makes one pass over the pools of a cluster.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := &clusterv1.Cluster{}
	if ours, err := record.Read(ctx, r.Client, request.NamespacedName, cluster, r.WatchFilter); !ours {
		return ctrl.Result{}, err
	}
	if !cluster.DeletionTimestamp.IsZero() || annotations.IsPaused(cluster, cluster) {
		return ctrl.Result{}, nil
	}
	pools, failed, err := r.read(ctx, cluster)
	if err != nil || len(pools) == 0 {
		return ctrl.Result{}, err
	}
	now := time.Now()
	input := make([]patchday.Pool, len(pools))
	for i, p := range pools {
		input[i] = p.plan
	}
	wake, ordered := now.Add(r.Resync), cluster.Annotations[infrav1.PatchRollbackAnnotation] != ""
	var errs []error
	for i, d := range patchday.Decide(now, input, failed) {
		if !d.Wake.IsZero() && d.Wake.Before(wake) {
			wake = d.Wake
		}
		if soon := now.Add(observeEvery); d.State.Phase != "" && soon.Before(wake) {
			wake = soon
		}
		if err := r.carryOut(ctx, cluster, pools[i], d); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", pools[i].plan.Name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return ctrl.Result{}, err
	}
	if ordered {
		if err := r.unorder(ctx, cluster); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: max(wake.Sub(now), time.Second)}, nil
}

// carryOut applies a decision to a pool and reports it.
func (r *Reconciler) carryOut(ctx context.Context, cluster *clusterv1.Cluster, p *pool, d patchday.Decision) error {
	begins := p.plan.State.Phase == "" && d.State.Phase != ""
	moves := d.State.Phase != "" || d.State.Was != nil
	if d.State.Phase != "" && d.State.Was == nil {
		d.State.Was = new(p.settings())
	}
	ends := d.State.Phase == "" && d.State.Was != nil
	if begins || d.State.Phase != p.plan.State.Phase && d.State.Phase != "" { // the state is stored before the pool is changed
		if err := r.remember(ctx, p, d.State); err != nil {
			return err
		}
	}
	if moves {
		if err := r.set(ctx, cluster, p, d); err != nil {
			return errors.Join(err, r.say(ctx, p, metav1.ConditionFalse, infrav1.PatchChangeRefusedReason, err.Error()))
		}
	}
	if ends {
		d.State.Was = nil
		r.tidy(ctx, p, d)
	}
	if err := r.remember(ctx, p, d.State); err != nil {
		return err
	}
	if d.Test {
		if err := r.test(ctx, p); err != nil {
			ctrl.LoggerFrom(ctx).V(2).Info("The Job of patch day was not started", "pool", p.plan.Name, "reason", err.Error())
		}
	}
	if d.Ordered {
		if err := r.unorder(ctx, p.object); err != nil {
			return err
		}
	}
	return r.say(ctx, p, d.Status, d.Reason, d.Message)
}

// remember writes the state into the pool's annotation, unless the annotation has changed since it was
// read.
func (r *Reconciler) remember(ctx context.Context, p *pool, s patchday.State) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	old := p.object.GetAnnotations()[infrav1.PatchStateAnnotation]
	if old == string(data) || old == "" && string(data) == "{}" {
		return nil
	}
	if old == "" {
		before, _ := p.object.DeepCopyObject().(client.Object)
		all := p.object.GetAnnotations()
		if all == nil {
			all = map[string]string{}
		}
		all[infrav1.PatchStateAnnotation] = string(data)
		p.object.SetAnnotations(all)
		err = r.Client.Patch(ctx, p.object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	} else { // a changed status is no conflict, because others write it often
		const path = "/metadata/annotations/infrastructure.cluster.x-k8s.io~1patch-state"
		patch, _ := json.Marshal([]map[string]any{{"op": "test", "path": path, "value": old},
			{"op": "replace", "path": path, "value": string(data)}}) // both values are strings
		err = r.Client.Patch(ctx, p.object, client.RawPatch(types.JSONPatchType, patch))
	}
	if err != nil {
		return fmt.Errorf("keep the state of the move: %w", err)
	}
	return nil
}

// unorder removes the annotation that requests a rollback.
func (r *Reconciler) unorder(ctx context.Context, o client.Object) error {
	if _, ok := o.GetAnnotations()[infrav1.PatchRollbackAnnotation]; !ok {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, infrav1.PatchRollbackAnnotation)
	if err := r.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("remove the order to go back: %w", err)
	}
	return nil
}

// fieldOwner owns the condition that patch day sets.
const fieldOwner = client.FieldOwner("casement-patchday")

// say sets the condition, and emits an event if the reason has changed.
func (r *Reconciler) say(ctx context.Context, p *pool, status metav1.ConditionStatus, reason, message string) error {
	message = condition.Short(message)
	old := p.said
	if old != nil && old.Status == status && old.Reason == reason && old.Message == message {
		return nil
	}
	since := metav1.NewTime(time.Now().Truncate(time.Second))
	if old != nil && old.Status == status {
		since = old.LastTransitionTime
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": infrav1.ImageUpToDateCondition, "status": string(status), "reason": reason, "message": message,
		"lastTransitionTime": since.UTC().Format(time.RFC3339),
	}}}}}
	u.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(p.kind))
	u.SetNamespace(p.object.GetNamespace())
	u.SetName(p.object.GetName())
	if err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), fieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("set the condition %s: %w", infrav1.ImageUpToDateCondition, err)
	}
	if old == nil || old.Reason != reason {
		kind := corev1.EventTypeNormal
		if reason == infrav1.PatchRollingBackReason || reason == infrav1.PatchRolledBackReason {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(p.object, nil, kind, "Image"+cmp.Or(reason, "UpToDate"), "PatchDay", "%s", message)
	}
	return nil
}
