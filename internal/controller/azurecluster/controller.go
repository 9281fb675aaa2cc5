// Package azurecluster creates and deletes the Azure network of an AzureCluster: resource groups, virtual network, load
// balancers and the control plane's endpoint.
//
// It does not handle virtual machines or wire formats. Only package manager imports it.
package azurecluster

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/pass"
	"casement.dev/casement/internal/controller/record"
	"casement.dev/casement/internal/controller/wake"
	"casement.dev/casement/internal/trace"
)

// Reconciler reconciles AzureClusters.
type Reconciler struct {
	Client   client.Client
	Opener   *cloud.Opener
	Recorder events.EventRecorder
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that objects must
	// have to be reconciled; "" means all.
	WatchFilter string
	// Resync is the interval at which a cluster without changes is compared with Azure.
	Resync time.Duration

	versions record.Versions
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azureclusters,verbs=list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azureclusters/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azureclusteridentities,verbs=list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller and its watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	toAzureCluster := util.ClusterToInfrastructureMapFunc(ctx, infrav1.GroupVersion.WithKind("AzureCluster"),
		mgr.GetClient(), &infrav1.AzureCluster{})
	b := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.AzureCluster{}, record.Own(mgr, r.WatchFilter)).
		WithOptions(options).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(toAzureCluster), record.Asked()).
		Watches(&infrav1.AzureMachine{}, handler.EnqueueRequestsFromMapFunc(r.ofMachine), builder.WithPredicates(gone()))
	return wake.Credentials(b, r.Client, requestForObject).Complete(trace.Reconciler("AzureCluster", r))
}

// requestForObject returns the request that reconciles the object that was changed.
func requestForObject(_ context.Context, c client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(c)}}
}

// ofMachine returns the requests for the clusters whose deletion waits for a machine.
func (r *Reconciler) ofMachine(ctx context.Context, m client.Object) []reconcile.Request {
	var all infrav1.AzureClusterList
	if err := r.Client.List(ctx, &all, client.InNamespace(m.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if c := &all.Items[i]; !c.DeletionTimestamp.IsZero() && wake.ClusterOf(c) == wake.ClusterOf(m) {
			requests = append(requests, requestForObject(ctx, c)...)
		}
	}
	return requests
}

// gone selects the events after which no cluster waits for a machine any more.
func gone() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return controllerutil.ContainsFinalizer(e.ObjectOld, infrav1.MachineFinalizer) &&
				!controllerutil.ContainsFinalizer(e.ObjectNew, infrav1.MachineFinalizer)
		},
	}
}

// scope is the state of one pass over a cluster.
type scope struct {
	pass.Scope
	// foreignVNet is true if the virtual network is not the cluster's own.
	foreignVNet bool
	// toDelete are the resources that a deletion removes from Azure.
	toDelete []desired.Resource
}

// Object implements pass.Subject.
func (s *scope) Object() condition.Object { return s.AzureCluster }

// Operations implements pass.Subject.
func (s *scope) Operations() *[]infrav1.LongRunningOperationState {
	return &s.AzureCluster.Status.LongRunningOperationStates
}

// Block implements pass.Subject.
func (s *scope) Block(r pass.Result) {
	condition.False(s.AzureCluster, infrav1.NetworkInfrastructureReadyCondition, r.Reason, r.Message)
}

// kind describes the reconciliation of AzureClusters. A pass that has to wait ends in one of these steps:
//
//   - apply, while Azure creates the network;
//   - cleanup, while Azure deletes security rules that were removed from the spec;
//   - report, until the API server's public IP has an address;
//   - machines, until the cluster's machines are gone, and remove, while Azure deletes the
//     network.
func (r *Reconciler) kind() pass.Kind[*scope] {
	return pass.Kind[*scope]{
		Client: r.Client, Opener: r.Opener, Recorder: r.Recorder, Resync: r.Resync, Versions: &r.versions,
		Finalizer: infrav1.ClusterFinalizer, Conditions: condition.Cluster, More: blocksMove,
		Steps: []pass.Step[*scope]{
			{Name: "own", Run: r.own},
			{Name: "open", Run: r.open},
			{Name: "observe", Run: r.observe},
			{Name: "apply", Run: r.apply},
			{Name: "cleanup", Run: r.cleanup},
			{Name: "report", Run: r.report},
		},
		Deletion: []pass.Step[*scope]{
			{Name: "abandon", Run: r.abandon},
			{Name: "own", Run: r.own},
			{Name: "machines", Run: r.machines},
			{Name: "open", Run: r.openToDelete},
			{Name: "observe", Run: r.observeToDelete},
			{Name: "remove", Run: r.remove},
		},
	}
}

// Reconcile makes one pass over an AzureCluster.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	azureCluster := &infrav1.AzureCluster{}
	if ours, err := record.Read(ctx, r.Client, request.NamespacedName, azureCluster, r.WatchFilter); !ours {
		return ctrl.Result{}, err
	}
	cluster, err := util.GetOwnerCluster(ctx, r.Client, azureCluster.ObjectMeta)
	if err != nil {
		s := &scope{Scope: pass.Scope{AzureCluster: azureCluster}}
		return ctrl.Result{}, r.kind().Fail(ctx, s, fmt.Errorf("get the owner of AzureCluster %s: %w", request, err))
	}
	if cluster == nil {
		return ctrl.Result{}, nil // the Cluster controller sets the owner, which triggers a pass
	}
	if annotations.IsExternallyManaged(azureCluster) {
		// cluster.x-k8s.io/managed-by: another controller manages the infrastructure, the finalizer and the status. The
		// machines still need the record of their owner.
		if annotations.IsPaused(cluster, azureCluster) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, r.Opener.Own(ctx, azureCluster.DeepCopy(), azureCluster, cluster)
	}
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Cluster", klog.KObj(cluster)))
	return r.kind().Run(ctx, &scope{Scope: pass.Scope{Cluster: cluster, AzureCluster: azureCluster}})
}
