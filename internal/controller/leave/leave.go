// Package leave removes the nodes of machines that are being deleted from the load balancers of their cluster's
// services: it labels them, and the cloud provider removes them while the node is drained. Otherwise a load balancer
// sends connections to a machine until its probe fails, which on Azure is ten seconds after the machine is gone.
//
// It changes nothing in Azure. Package manager imports it.
package leave

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/workload"
	"casement.dev/casement/internal/trace"
)

// Reconciler labels the nodes of Machines that are being deleted.
type Reconciler struct {
	Client client.Client
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that Machines must have; "" watches all.
	WatchFilter string
}

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines;clusters,verbs=list;watch

// SetupWithManager registers the controller and its watch.
func (r *Reconciler) SetupWithManager(_ context.Context, mgr ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(mgr).Named("leave").
		For(&clusterv1.Machine{}, builder.WithPredicates(begins(r.WatchFilter))).
		WithOptions(options).
		Complete(trace.Reconciler("Leave", r))
}

// begins selects Machines whose deletion begins, or is in progress when the manager starts.
func begins(filter string) predicate.Predicate {
	ours := func(o client.Object) bool {
		m, ok := o.(*clusterv1.Machine)
		return ok && !m.DeletionTimestamp.IsZero() && m.Status.NodeRef.IsDefined() &&
			m.Spec.InfrastructureRef.APIGroup == infrav1.GroupVersion.Group && (filter == "" || m.Labels[clusterv1.WatchLabel] == filter)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return ours(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return ours(e.ObjectNew) && e.ObjectOld.GetDeletionTimestamp().IsZero()
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

const (
	// timeout limits the call to a workload cluster, which may be gone.
	timeout = 5 * time.Second
	// useful is the time after the beginning of its deletion in which a machine is labelled: later the machine is gone,
	// or its cluster does not respond.
	useful = 2 * time.Minute
)

// excluded returns the patch that adds the label with which cloud providers exclude a node from load balancers. Source:
// kubernetes.io/docs/reference/labels-annotations-taints.
func excluded() ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{corev1.LabelNodeExcludeBalancers: ""}}})
}

// Reconcile labels the node of a Machine.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	m := &clusterv1.Machine{}
	if err := r.Client.Get(ctx, request.NamespacedName, m); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	cluster, err := cloud.ClusterOf(ctx, r.Client, m, m)
	if err != nil || cluster == nil || !cluster.DeletionTimestamp.IsZero() || time.Since(m.DeletionTimestamp.Time) > useful {
		return ctrl.Result{}, err
	}
	cfg, err := workload.Config(ctx, r.Client, client.ObjectKeyFromObject(cluster))
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	cfg.Timeout, cfg.UserAgent = timeout, "casement-leave"
	remote, err := corev1client.NewForConfig(cfg)
	if err != nil {
		return ctrl.Result{}, err
	}
	patch, err := excluded()
	if err != nil {
		return ctrl.Result{}, err
	}
	_, err = remote.Nodes().Patch(ctx, m.Status.NodeRef.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case err != nil: // a restarting control plane responds soon; a deleted one must not fail the deletion
		ctrl.LoggerFrom(ctx).V(2).Info("The node stays in load balancers until it is gone", "node", m.Status.NodeRef.Name, "reason", err.Error())
		return ctrl.Result{RequeueAfter: timeout}, nil
	}
	ctrl.LoggerFrom(ctx).V(2).Info("The node leaves the load balancers", "node", m.Status.NodeRef.Name)
	return ctrl.Result{}, nil
}
