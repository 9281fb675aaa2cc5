// Package azuremachinepool makes and unmakes the virtual machine scale set behind an
// AzureMachinePool, shows each of its instances as an AzureMachinePoolMachine, and
// replaces instances of an old model.
//
// It talks to Azure for a pool as a whole: one list for all instances, one call for
// all that go. It knows no network of the cluster beyond IDs and no wire format. Only
// package manager imports it.
package azuremachinepool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
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
	"casement.dev/casement/internal/trace"
)

// Reconciler reconciles AzureMachinePools and their AzureMachinePoolMachines.
type Reconciler struct {
	Client   client.Client
	Opener   *cloud.Opener
	Recorder events.EventRecorder
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that
	// objects need to be looked at; "" means all.
	WatchFilter string
	// Resync is how long a settled pool waits for its next comparison with Azure.
	Resync time.Duration
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachinepools,verbs=list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachinepools/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachinepools/finalizers,verbs=update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachinepoolmachines,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachinepoolmachines/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinepools,verbs=list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=list;watch;delete

// SetupWithManager registers the controller and what it watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	ofCluster, err := util.ClusterToTypedObjectsMapper(mgr.GetClient(), &infrav1.AzureMachinePoolList{}, mgr.GetScheme())
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.AzureMachinePool{}, cloud.Own(mgr, r.WatchFilter)).
		WithOptions(options).
		Watches(&clusterv1.MachinePool{}, handler.EnqueueRequestsFromMapFunc(ofMachinePool), cloud.Asked()).
		Watches(&infrav1.AzureMachinePoolMachine{}, handler.EnqueueRequestsFromMapFunc(r.ofMachine), cloud.Asked()).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.ofMachine), builder.WithPredicates(nodeChanged())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(ofCluster),
			builder.WithPredicates(predicates.ClusterPausedTransitionsOrInfrastructureProvisioned(mgr.GetScheme(), mgr.GetLogger()))).
		Watches(&infrav1.AzureCluster{}, handler.EnqueueRequestsFromMapFunc(r.pending)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.pending)).
		Complete(trace.Reconciler("AzureMachinePool", r))
}

// ofMachinePool names the pool that a MachinePool refers to.
func ofMachinePool(_ context.Context, o client.Object) []reconcile.Request {
	p, ok := o.(*clusterv1.MachinePool)
	if !ok || p.Spec.Template.Spec.InfrastructureRef.Kind != "AzureMachinePool" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: p.Namespace, Name: p.Spec.Template.Spec.InfrastructureRef.Name}}}
}

// ofMachine finds the pools of a machine's MachinePool.
func (r *Reconciler) ofMachine(ctx context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[clusterv1.MachinePoolNameLabel]
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == "AzureMachinePool" {
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: ref.Name}}}
		}
	}
	if name == "" {
		return nil
	}
	pool, err := util.GetMachinePoolByLabels(ctx, r.Client, o.GetNamespace(), o.GetLabels())
	if err != nil || pool == nil {
		return nil
	}
	return ofMachinePool(ctx, pool)
}

// pending finds the pools of an object's cluster that have no scale set yet: a change
// of the AzureCluster or of bootstrap data may be what they wait for.
func (r *Reconciler) pending(ctx context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return nil
	}
	var all infrav1.AzureMachinePoolList
	if err := r.Client.List(ctx, &all, client.InNamespace(o.GetNamespace()), client.MatchingLabels{clusterv1.ClusterNameLabel: name}); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if all.Items[i].Spec.ProviderID == "" || !all.Items[i].DeletionTimestamp.IsZero() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
		}
	}
	return requests
}

// scope is what the steps of one reconcile share.
type scope struct {
	cluster      *clusterv1.Cluster
	machinePool  *clusterv1.MachinePool
	azureCluster *infrav1.AzureCluster
	pool         *infrav1.AzureMachinePool
	spec         infrav1.AzureMachineSpec
	azure        *cloud.Session
	// name is the scale set's, live what Azure shows of it, nil for none.
	name string
	live *liveSet
	// members are the pool's instances with what Kubernetes knows of them.
	members []member
	// views are what Azure knows of lost and failed instances, by ID in lower case; nil
	// while there are none.
	views map[string]cloud.View
	input inputs
	// groupGoes says that the cluster is deleted with its resource group.
	groupGoes bool
	// again is when the pool wants another pass, 0 for the resync.
	again time.Duration
	// busy says that a write of the scale set is under way.
	busy bool
}

// step is one part of a reconcile. A step that returns a result other than zero
// ends the pass.
type step func(*Reconciler, context.Context, *scope) (ctrl.Result, error)

// steps are run in this order.
func steps() []step {
	return []step{
		(*Reconciler).wait,
		(*Reconciler).open,
		(*Reconciler).chooseName,
		(*Reconciler).look,
		(*Reconciler).endInstances,
		(*Reconciler).prepare,
		(*Reconciler).apply,
		(*Reconciler).lookAtLost,
		(*Reconciler).address,
		(*Reconciler).showInstances,
		(*Reconciler).roll,
		(*Reconciler).lookAtBootstrap,
	}
}

// Reconcile brings Azure closer to one AzureMachinePool.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	s, err := r.load(ctx, request)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Cluster", klog.KObj(s.cluster), "MachinePool", klog.KObj(s.machinePool)))
	if isPaused, _, err := paused.EnsurePausedCondition(ctx, r.Client, s.cluster, s.pool); err != nil {
		return ctrl.Result{}, err
	} else if isPaused {
		return r.Opener.Settle(ctx, r.Client, s.azureCluster, s.pool, &s.pool.Status.LongRunningOperationStates)
	}
	if s.pool.DeletionTimestamp.IsZero() {
		// The write itself brings the object back.
		if added, err := finalizers.EnsureFinalizer(ctx, r.Client, s.pool, infrav1.MachinePoolFinalizer); err != nil || added {
			return ctrl.Result{}, err
		}
	}
	before := s.pool.DeepCopy()
	defer func() {
		err = errors.Join(err, r.save(ctx, before, s.pool))
	}()
	if !s.pool.DeletionTimestamp.IsZero() {
		return r.delete(ctx, s)
	}
	s.pool.Status.InfrastructureMachineKind = infrav1.AzureMachinePoolMachineKind
	for _, step := range steps() {
		if result, err := step(r, ctx, s); err != nil || !result.IsZero() {
			return result, err
		}
	}
	return ctrl.Result{RequeueAfter: cloud.Sooner(cloud.Jitter(r.Resync, string(s.pool.UID)), s.again)}, nil
}

// load reads the pool and what it hangs on. It returns nil when there is nothing to
// do yet; each missing link is an event when it comes.
func (r *Reconciler) load(ctx context.Context, request ctrl.Request) (*scope, error) {
	s := &scope{pool: &infrav1.AzureMachinePool{}, azureCluster: &infrav1.AzureCluster{}}
	err := r.Client.Get(ctx, request.NamespacedName, s.pool)
	if apierrors.IsNotFound(err) {
		return nil, r.releaseOrphans(ctx, request)
	}
	if err != nil {
		return nil, err
	}
	if s.machinePool, err = ownerOf(ctx, r.Client, s.pool); err != nil {
		return nil, err
	}
	if s.machinePool == nil && s.pool.DeletionTimestamp.IsZero() {
		return nil, nil // Cluster API sets the owner, and that is an event
	}
	if s.machinePool == nil {
		// What is being deleted goes on without its MachinePool.
		s.machinePool = &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: s.pool.Namespace, Name: s.pool.Name, Labels: s.pool.Labels}}
	}
	if s.cluster, err = cloud.ClusterOf(ctx, r.Client, s.pool, s.machinePool); err != nil {
		return nil, err
	}
	s.spec = s.pool.MachineSpec()
	key := client.ObjectKey{Namespace: s.pool.Namespace, Name: s.cluster.Spec.InfrastructureRef.Name}
	err = r.Client.Get(ctx, key, s.azureCluster)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get the AzureCluster of AzureMachinePool %s: %w", request, err)
	}
	if err != nil {
		s.azureCluster = nil
	}
	return s, nil
}

// ownerOf is the MachinePool that a pool belongs to, nil while there is none.
func ownerOf(ctx context.Context, c client.Client, pool *infrav1.AzureMachinePool) (*clusterv1.MachinePool, error) {
	for _, ref := range pool.OwnerReferences {
		if ref.Kind != "MachinePool" {
			continue
		}
		owner := &clusterv1.MachinePool{}
		err := c.Get(ctx, client.ObjectKey{Namespace: pool.Namespace, Name: ref.Name}, owner)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get the owner of AzureMachinePool %s: %w", pool.Name, err)
		}
		if err == nil {
			return owner, nil
		}
	}
	return nil, nil
}

// save summarises and writes what the pass changed, and tells of transitions.
func (r *Reconciler) save(ctx context.Context, before, p *infrav1.AzureMachinePool) error {
	condition.Summarise(p, table())
	condition.Emit(r.Recorder, p, before.Status.Conditions, waitingForInfrastructure, waitingForBootstrapData, infrav1.CreatingReason, infrav1.UpdatingReason, scaling, rolling)
	return cloud.Save(ctx, r.Client, before, p, p.Status.LongRunningOperationStates, false)
}

// table lists the conditions of an AzureMachinePool in the order in which they become
// true.
func table() condition.Table {
	return condition.Table{
		Required: []string{infrav1.ScaleSetRunningCondition},
		Optional: []string{
			infrav1.RoleAssignmentReadyCondition,
			infrav1.BootstrapSecretReadyCondition,
			infrav1.ScaleSetDesiredReplicasCondition,
			infrav1.ScaleSetModelUpdatedCondition,
		},
	}
}

// hold ends the pass with a condition that says what has to change first.
func (s *scope) hold(reason, message string, again time.Duration) (ctrl.Result, error) {
	if conditions.IsTrue(s.pool, infrav1.ScaleSetRunningCondition) && s.live != nil {
		// The scale set runs; what waits is a change of it.
		condition.False(s.pool, infrav1.ScaleSetModelUpdatedCondition, reason, message)
		return ctrl.Result{RequeueAfter: again}, nil
	}
	condition.False(s.pool, infrav1.ScaleSetRunningCondition, reason, message)
	return ctrl.Result{RequeueAfter: again}, nil
}

// retry ends a pass that failed to read from Azure, until Azure says to ask again.
func (s *scope) retry(err error, doing string) (ctrl.Result, error) {
	after, reason := cloud.RetryOf(err)
	return s.hold(reason, fmt.Sprintf("cannot %s: %v", doing, err), after)
}

// liveSet is what casement reads of a scale set.
type liveSet struct {
	ID   string            `json:"id"`
	Tags map[string]string `json:"tags"`
	SKU  struct {
		Capacity int32 `json:"capacity"`
	} `json:"sku"`
	Identity struct {
		PrincipalID string `json:"principalId"`
	} `json:"identity"`
	Properties struct {
		ProvisioningState string `json:"provisioningState"`
	} `json:"properties"`
	raw json.RawMessage
}

func parseSet(live json.RawMessage) (*liveSet, error) {
	if live == nil {
		return nil, nil
	}
	set := &liveSet{raw: live}
	if err := json.Unmarshal(live, set); err != nil {
		return nil, fmt.Errorf("read the scale set: %w", err)
	}
	return set, nil
}
