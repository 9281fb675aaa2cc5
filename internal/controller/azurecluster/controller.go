// Package azurecluster makes and unmakes the Azure network of a cluster: from
// AzureCluster to resource groups, virtual network, load balancers and the
// control plane's endpoint.
//
// It knows no virtual machine and no wire format. Only package manager imports it.
package azurecluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/paused"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/grant"
	"casement.dev/casement/internal/trace"
)

// Reconciler reconciles AzureClusters.
type Reconciler struct {
	Client   client.Client
	Opener   *cloud.Opener
	Recorder events.EventRecorder
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that
	// objects need to be looked at; "" means all.
	WatchFilter string
	// Resync is how long a settled cluster waits for its next comparison with
	// Azure.
	Resync time.Duration
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azureclusters,verbs=list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azureclusters/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azureclusteridentities,verbs=list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller and what it watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	toAzureCluster := util.ClusterToInfrastructureMapFunc(ctx, infrav1.GroupVersion.WithKind("AzureCluster"), mgr.GetClient(), &infrav1.AzureCluster{})
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.AzureCluster{}, cloud.Own(mgr, r.WatchFilter)).
		WithOptions(options).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(toAzureCluster),
			builder.WithPredicates(predicates.ClusterPausedTransitions(mgr.GetScheme(), mgr.GetLogger()))).
		Watches(&infrav1.AzureClusterIdentity{}, handler.EnqueueRequestsFromMapFunc(r.ofIdentity)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret)).
		Complete(trace.Reconciler("AzureCluster", r))
}

// ofIdentity finds the clusters that use an identity.
func (r *Reconciler) ofIdentity(ctx context.Context, identity client.Object) []reconcile.Request {
	var all infrav1.AzureClusterList
	if err := r.Client.List(ctx, &all); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if cloud.IdentityKey(&all.Items[i]) == client.ObjectKeyFromObject(identity) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
		}
	}
	return requests
}

// ofSecret finds the clusters whose identity keeps its credentials in a secret.
func (r *Reconciler) ofSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	var all infrav1.AzureClusterIdentityList
	if err := r.Client.List(ctx, &all); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if grant.SecretOf(&all.Items[i]) == client.ObjectKeyFromObject(secret) {
			requests = append(requests, r.ofIdentity(ctx, &all.Items[i])...)
		}
	}
	return requests
}

// scope is what the steps of one reconcile share.
type scope struct {
	cluster      *clusterv1.Cluster
	azureCluster *infrav1.AzureCluster
	azure        *cloud.Session
	client       client.Client
	foreignVNet  bool
}

// step is one part of a reconcile. A step that returns a result other than zero
// ends the pass.
type step func(*Reconciler, context.Context, *scope) (ctrl.Result, error)

// Reconcile brings Azure closer to one AzureCluster.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	azureCluster := &infrav1.AzureCluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, azureCluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if annotations.IsExternallyManaged(azureCluster) {
		// cluster.x-k8s.io/managed-by: something else owns the infrastructure, its finalizer and its status.
		return ctrl.Result{}, nil
	}
	cluster, err := util.GetOwnerCluster(ctx, r.Client, azureCluster.ObjectMeta)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get the owner of AzureCluster %s: %w", request, err)
	}
	if cluster == nil {
		return ctrl.Result{}, nil // the Cluster controller sets the owner, and that is an event
	}
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Cluster", klog.KObj(cluster)))
	// Its own writes are no events here, so the pass goes on where it wrote.
	if isPaused, _, err := paused.EnsurePausedCondition(ctx, r.Client, cluster, azureCluster); err != nil {
		return ctrl.Result{}, err
	} else if isPaused {
		return r.Opener.Settle(ctx, r.Client, azureCluster, azureCluster, &azureCluster.Status.LongRunningOperationStates)
	}
	if azureCluster.DeletionTimestamp.IsZero() {
		// The write itself brings the object back.
		if added, err := finalizers.EnsureFinalizer(ctx, r.Client, azureCluster, infrav1.ClusterFinalizer); err != nil || added {
			return ctrl.Result{}, err
		}
	}
	before := azureCluster.DeepCopy()
	defer func() {
		err = errors.Join(err, r.save(ctx, before, azureCluster))
	}()
	s := &scope{cluster: cluster, azureCluster: azureCluster, client: r.Client}
	if !azureCluster.DeletionTimestamp.IsZero() {
		return r.delete(ctx, s)
	}
	for _, step := range []step{(*Reconciler).open, (*Reconciler).failureDomains, (*Reconciler).network, (*Reconciler).endpoint} {
		if result, err := step(r, ctx, s); err != nil || !result.IsZero() {
			return result, err
		}
	}
	return ctrl.Result{RequeueAfter: cloud.Jitter(r.Resync, string(azureCluster.UID))}, nil
}

// save summarises and writes what the pass changed, and tells of transitions.
func (r *Reconciler) save(ctx context.Context, before, azureCluster *infrav1.AzureCluster) error {
	condition.Summarise(azureCluster, table())
	condition.Emit(r.Recorder, azureCluster, before.Status.Conditions)
	return cloud.Save(ctx, r.Client, before, azureCluster, azureCluster.Status.LongRunningOperationStates, false)
}

// table lists the conditions of an AzureCluster in the order in which they become
// true.
func table() condition.Table {
	return condition.Table{
		Required: []string{
			infrav1.NetworkInfrastructureReadyCondition,
			infrav1.ResourceGroupReadyCondition,
			infrav1.VNetReadyCondition,
			infrav1.SubnetsReadyCondition,
		},
		Optional: []string{
			infrav1.SecurityGroupsReadyCondition,
			infrav1.RouteTablesReadyCondition,
			infrav1.PublicIPsReadyCondition,
			infrav1.NATGatewaysReadyCondition,
			infrav1.VnetPeeringReadyCondition,
			infrav1.LoadBalancersReadyCondition,
			infrav1.PrivateDNSZoneReadyCondition,
			infrav1.PrivateDNSLinkReadyCondition,
			infrav1.PrivateDNSRecordReadyCondition,
			infrav1.PrivateEndpointsReadyCondition,
			infrav1.BastionHostReadyCondition,
			infrav1.VaultReadyCondition,
		},
	}
}
