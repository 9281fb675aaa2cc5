// Package azuremachinepool creates and deletes the virtual machine scale set of an AzureMachinePool, shows each of its
// instances as an AzureMachinePoolMachine, and replaces instances with an old model.
//
// It calls Azure for a pool as a whole: one list for all instances, one call for all instances to be deleted. It uses
// only the IDs of the cluster's network, and no wire formats. Only package manager imports it.
package azuremachinepool

import (
	"context"
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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/azurename"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/console"
	"casement.dev/casement/internal/controller/pass"
	"casement.dev/casement/internal/controller/record"
	"casement.dev/casement/internal/controller/wake"
	"casement.dev/casement/internal/trace"
)

// Reconciler reconciles AzureMachinePools and their AzureMachinePoolMachines.
type Reconciler struct {
	Client   client.Client
	Opener   *cloud.Opener
	Recorder events.EventRecorder
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that objects must
	// have to be reconciled; "" means all.
	WatchFilter string
	// Resync is the interval at which a pool without changes is compared with Azure.
	Resync time.Duration
	// LeaveDelay is the maximum time for which the instance of a deleted node waits until load balancers no longer use it.
	LeaveDelay time.Duration

	looks    console.Looks
	parser   parser
	digests  digests
	versions record.Versions
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachinepools,verbs=list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachinepools/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachinepools/finalizers,verbs=update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachinepoolmachines,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachinepoolmachines/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinepools,verbs=list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=list;watch;delete

// SetupWithManager registers the controller and its watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.AzureMachinePool{}, azurename.Field, naming().Index); err != nil {
		return err
	}
	for _, o := range []client.Object{&clusterv1.Machine{}, &infrav1.AzureMachinePoolMachine{}} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, o, poolField, poolOf); err != nil {
			return err
		}
	}
	b := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.AzureMachinePool{}, record.Own(mgr, r.WatchFilter)).
		WithOptions(options).
		Watches(&clusterv1.MachinePool{}, handler.EnqueueRequestsFromMapFunc(ofMachinePool), record.Asked()).
		Watches(&infrav1.AzureMachinePoolMachine{}, handler.EnqueueRequestsFromMapFunc(r.ofMachine), record.Asked()).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.ofMachine), builder.WithPredicates(nodeChanged())).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret))
	inputs := wake.Inputs{Client: r.Client, List: &infrav1.AzureMachinePoolList{}, Settled: settled}
	return inputs.Watch(b).Complete(trace.Reconciler("AzureMachinePool", r))
}

// ofMachinePool returns a request for the pool that a MachinePool refers to.
func ofMachinePool(_ context.Context, o client.Object) []reconcile.Request {
	p, ok := o.(*clusterv1.MachinePool)
	if !ok || p.Spec.Template.Spec.InfrastructureRef.Kind != "AzureMachinePool" {
		return nil
	}
	return []reconcile.Request{
		{NamespacedName: client.ObjectKey{Namespace: p.Namespace, Name: p.Spec.Template.Spec.InfrastructureRef.Name}},
	}
}

// ofMachine returns requests for the pools of a machine's MachinePool.
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

// ofSecret returns requests for the pools whose bootstrap data is in a secret.
func (r *Reconciler) ofSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	var all clusterv1.MachinePoolList
	if err := r.Client.List(ctx, &all, client.InNamespace(secret.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if name := all.Items[i].Spec.Template.Spec.Bootstrap.DataSecretName; name != nil && *name == secret.GetName() {
			requests = append(requests, ofMachinePool(ctx, &all.Items[i])...)
		}
	}
	return requests
}

// settled reports whether a pool does not wait for its AzureCluster.
func settled(o client.Object) bool {
	p, ok := o.(*infrav1.AzureMachinePool)
	return ok && p.Spec.ProviderID != "" && !wake.Pending(p)
}

// scope is the state of one pass over a pool.
type scope struct {
	pass.Scope
	machinePool *clusterv1.MachinePool
	pool        *infrav1.AzureMachinePool
	spec        infrav1.AzureMachineSpec
	// name is the scale set's name; live is its state in Azure, or nil.
	name string
	live *liveSet
	// members are the pool's instances, each with its Machine and Node.
	members []member
	// views have the instance views of lost and failed instances, by ID in lower case; nil
	// if there are none.
	views map[string]cloud.View
	input inputs
	// model is the model of new instances, as in modelAnnotation.
	model string
	// set is the desired scale set, and outcome the result of applying it.
	set     desired.Resource
	outcome plan.Outcome
	// underway is true if operations of an earlier pass have not ended; busy is true if a write of the scale set is in progress.
	underway, busy bool
	// toDelete are the resources that a deletion removes from Azure.
	toDelete []desired.Resource
}

// Object implements pass.Subject.
func (s *scope) Object() condition.Object { return s.pool }

// Operations implements pass.Subject.
func (s *scope) Operations() *[]infrav1.LongRunningOperationState {
	return &s.pool.Status.LongRunningOperationStates
}

// Block implements pass.Subject: it writes the reason to ScaleSetRunning or, if the scale set is running and a change
// of it has to wait, to ScaleSetModelUpdated.
func (s *scope) Block(r pass.Result) {
	if conditions.IsTrue(s.pool, infrav1.ScaleSetRunningCondition) && s.live != nil {
		condition.False(s.pool, infrav1.ScaleSetModelUpdatedCondition, r.Reason, r.Message)
		return
	}
	condition.False(s.pool, infrav1.ScaleSetRunningCondition, r.Reason, r.Message)
}

// kind describes the reconciliation of AzureMachinePools. A pass that has to wait ends in one of these steps:
//
//   - wait, until the cluster's network exists and the bootstrap data is rendered;
//   - shrink, while Azure deletes instances;
//   - report, while Azure creates the scale set; a write that takes long does not end the
//     pass, because some of its instances exist already;
//   - remove, while Azure deletes the scale set.
func (r *Reconciler) kind() pass.Kind[*scope] {
	return pass.Kind[*scope]{
		Client: r.Client, Opener: r.Opener, Recorder: r.Recorder, Resync: r.Resync, Versions: &r.versions,
		Finalizer: infrav1.MachinePoolFinalizer, Conditions: condition.MachinePool,
		Steps: []pass.Step[*scope]{
			{Name: "wait", Run: r.wait},
			{Name: "open", Run: r.open},
			{Name: "name", Run: r.chooseName},
			{Name: "observe", Run: r.observe},
			{Name: "shrink", Run: r.deleteMarkedInstances},
			{Name: "prepare", Run: r.prepare},
			{Name: "apply", Run: r.apply},
			{Name: "report", Run: r.report},
			{Name: "power", Run: r.power},
			{Name: "address", Run: r.address},
			{Name: "show", Run: r.showInstances},
			{Name: "roll", Run: r.roll},
			{Name: "bootstrap", Run: r.bootstrap},
		},
		Deletion: []pass.Step[*scope]{
			{Name: "abandon", Run: r.abandon},
			{Name: "open", Run: r.openToDelete},
			{Name: "name", Run: r.chooseName},
			{Name: "observe", Run: r.observeToDelete},
			{Name: "remove", Run: r.remove},
		},
	}
}

// Reconcile makes one pass over an AzureMachinePool.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s, err := r.load(ctx, request)
	if err != nil && s != nil {
		return ctrl.Result{}, r.kind().Fail(ctx, s, err)
	}
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Cluster", klog.KObj(s.Cluster), "MachinePool", klog.KObj(s.machinePool)))
	return r.kind().Run(ctx, s)
}

// load reads the pool and the objects that it depends on. It returns nil if there is nothing to do yet; the creation of
// a missing object triggers another pass. With an error, it returns the objects read so far if the pool is one of them.
func (r *Reconciler) load(ctx context.Context, request ctrl.Request) (*scope, error) {
	s := &scope{pool: &infrav1.AzureMachinePool{}}
	err := r.Client.Get(ctx, request.NamespacedName, s.pool)
	if apierrors.IsNotFound(err) {
		return nil, r.releaseOrphans(ctx, request)
	}
	if err != nil || !record.Ours(s.pool, r.WatchFilter) {
		return nil, err
	}
	if s.machinePool, err = ownerOf(ctx, r.Client, s.pool); err != nil {
		return s, err
	}
	if s.machinePool == nil && s.pool.DeletionTimestamp.IsZero() {
		return nil, nil // Cluster API sets the owner, which triggers a pass
	}
	if s.machinePool == nil {
		// A pool that is being deleted is reconciled without its MachinePool.
		s.machinePool = &clusterv1.MachinePool{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.pool.Namespace, Name: s.pool.Name, Labels: s.pool.Labels},
		}
	}
	if s.Cluster, err = cloud.ClusterOf(ctx, r.Client, s.pool, s.machinePool); err != nil {
		return s, err
	}
	s.spec = s.pool.MachineSpec()
	if s.AzureCluster, err = cloud.AzureClusterOf(ctx, r.Client, s.Cluster); err != nil {
		return s, fmt.Errorf("get the AzureCluster of AzureMachinePool %s: %w", request, err)
	}
	return s, nil
}

// ownerOf returns the MachinePool that a pool belongs to, or nil.
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
