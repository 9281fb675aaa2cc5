// Package azuremachine makes and unmakes the virtual machine behind an
// AzureMachine, with what belongs to it alone: interfaces, disks, address, NAT
// rule, extensions.
//
// It knows no network of the cluster beyond IDs and no wire format. Only package
// manager imports it.
package azuremachine

import (
	"context"
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

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/trace"
)

// Reconciler reconciles AzureMachines.
type Reconciler struct {
	Client   client.Client
	Opener   *cloud.Opener
	Recorder events.EventRecorder
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that
	// objects need to be looked at; "" means all.
	WatchFilter string
	// Resync is how long a settled machine waits for its next comparison with
	// Azure.
	Resync time.Duration
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachines,verbs=list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachines/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=list;watch

// SetupWithManager registers the controller and what it watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	ofCluster, err := util.ClusterToTypedObjectsMapper(mgr.GetClient(), &infrav1.AzureMachineList{}, mgr.GetScheme())
	if err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &clusterv1.Machine{}, dataSecretField, dataSecret); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.AzureMachine{}, cloud.Own(mgr, r.WatchFilter)).
		WithOptions(options).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(
			util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("AzureMachine"))), builder.WithPredicates(machineMatters())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(ofCluster),
			builder.WithPredicates(predicates.ClusterPausedTransitionsOrInfrastructureProvisioned(mgr.GetScheme(), mgr.GetLogger()))).
		Watches(&infrav1.AzureCluster{}, handler.EnqueueRequestsFromMapFunc(r.ofAzureCluster)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret)).
		Complete(trace.Reconciler("AzureMachine", r))
}

// scope is what the steps of one reconcile share.
type scope struct {
	cluster      *clusterv1.Cluster
	machine      *clusterv1.Machine
	azureCluster *infrav1.AzureCluster
	azureMachine *infrav1.AzureMachine
	azure        *cloud.Session
	// vmName is the computer name, vm what Azure shows of it, nil for none.
	vmName string
	vm     *liveVM
	input  inputs
	// groupGoes says that the cluster is deleted with its resource group.
	groupGoes bool
}

// step is one part of a reconcile. A step that returns a result other than zero
// ends the pass.
type step func(*Reconciler, context.Context, *scope) (ctrl.Result, error)

// steps are run in this order.
func steps() []step {
	return []step{
		(*Reconciler).wait,
		(*Reconciler).refuse,
		(*Reconciler).open,
		(*Reconciler).name,
		(*Reconciler).look,
		(*Reconciler).prepare,
		(*Reconciler).apply,
	}
}

// Reconcile brings Azure closer to one AzureMachine.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	s, err := r.load(ctx, request)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Cluster", klog.KObj(s.cluster), "Machine", klog.KObj(s.machine)))
	// Its own writes are no events here, so the pass goes on where it wrote.
	if isPaused, _, err := paused.EnsurePausedCondition(ctx, r.Client, s.cluster, s.azureMachine); err != nil {
		return ctrl.Result{}, err
	} else if isPaused {
		return r.Opener.Settle(ctx, r.Client, s.azureCluster, s.azureMachine, &s.azureMachine.Status.LongRunningOperationStates)
	}
	if s.azureMachine.DeletionTimestamp.IsZero() {
		// The write itself brings the object back.
		if added, err := finalizers.EnsureFinalizer(ctx, r.Client, s.azureMachine, infrav1.MachineFinalizer); err != nil || added {
			return ctrl.Result{}, err
		}
	}
	before := s.azureMachine.DeepCopy()
	defer func() {
		err = errors.Join(err, r.save(ctx, before, s.azureMachine))
	}()
	if !s.azureMachine.DeletionTimestamp.IsZero() {
		return r.delete(ctx, s)
	}
	if s.azureMachine.Status.FailureReason != nil {
		return ctrl.Result{}, nil // only a new machine helps
	}
	for _, step := range steps() {
		if result, err := step(r, ctx, s); err != nil || !result.IsZero() || s.azureMachine.Status.FailureReason != nil {
			return result, err
		}
	}
	return ctrl.Result{RequeueAfter: cloud.Jitter(r.Resync, string(s.azureMachine.UID))}, nil
}

// load reads the machine and what it hangs on. It returns nil when there is
// nothing to do yet; each missing link is an event when it comes.
func (r *Reconciler) load(ctx context.Context, request ctrl.Request) (*scope, error) {
	s := &scope{azureMachine: &infrav1.AzureMachine{}, azureCluster: &infrav1.AzureCluster{}}
	if err := r.Client.Get(ctx, request.NamespacedName, s.azureMachine); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if owned, err := r.owners(ctx, s); err != nil || !owned {
		return nil, err
	}
	key := client.ObjectKey{Namespace: s.azureMachine.Namespace, Name: s.cluster.Spec.InfrastructureRef.Name}
	err := r.Client.Get(ctx, key, s.azureCluster)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get the AzureCluster of AzureMachine %s: %w", request, err)
	}
	if err != nil {
		s.azureCluster = nil
	}
	return s, nil
}

// owners finds the Machine and the Cluster, and says whether there is something to do.
// A machine that is being deleted goes on without its Machine.
func (r *Reconciler) owners(ctx context.Context, s *scope) (bool, error) {
	m := s.azureMachine
	var err error
	s.machine, err = util.GetOwnerMachine(ctx, r.Client, m.ObjectMeta)
	gone := s.machine == nil && (err == nil || apierrors.IsNotFound(err))
	switch {
	case gone && m.DeletionTimestamp.IsZero():
		return false, nil // the Machine controller sets the owner, and that is an event
	case gone:
		s.machine = &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, Labels: m.Labels}}
	case err != nil:
		return false, fmt.Errorf("get the owner of AzureMachine %s: %w", m.Name, err)
	}
	s.cluster, err = cloud.ClusterOf(ctx, r.Client, m, s.machine)
	return err == nil && s.cluster != nil, err
}

// save summarises and writes what the pass changed, and tells of transitions.
func (r *Reconciler) save(ctx context.Context, before, m *infrav1.AzureMachine) error {
	condition.Summarise(m, table())
	logSync(ctx, m, before.Status.Conditions)
	condition.Emit(r.Recorder, m, before.Status.Conditions, waitingForInfrastructure, waitingForBootstrapData, infrav1.CreatingReason)
	return cloud.Save(ctx, r.Client, before, m, m.Status.LongRunningOperationStates, !ended(m))
}

// ended says whether no further operation makes the machine: it runs, has failed for good
// or is being deleted.
func ended(m *infrav1.AzureMachine) bool {
	return conditions.IsTrue(m, infrav1.VMRunningCondition) || m.Status.FailureReason != nil || !m.DeletionTimestamp.IsZero()
}

// table lists the conditions of an AzureMachine in the order in which they become
// true.
func table() condition.Table {
	return condition.Table{
		Required: []string{infrav1.VMRunningCondition},
		Optional: []string{
			infrav1.PublicIPsReadyCondition,
			infrav1.InboundNATRulesReadyCondition,
			infrav1.NetworkInterfaceReadyCondition,
			infrav1.AvailabilitySetReadyCondition,
			infrav1.RoleAssignmentReadyCondition,
			infrav1.BootstrapSecretReadyCondition,
			infrav1.BootstrapSucceededCondition,
		},
		Beside: []string{infrav1.SyncedCondition},
	}
}

// fail gives the machine up: only a changed spec, which means another machine,
// can help.
func (s *scope) fail(reason, message string) {
	message = condition.Short(message)
	s.azureMachine.Status.FailureReason = &reason
	s.azureMachine.Status.FailureMessage = &message
	condition.False(s.azureMachine, infrav1.VMRunningCondition, reason, message)
}

// hold ends the pass with a condition that says what has to change first: VMRunning
// or, of a machine that runs, Synced.
func (s *scope) hold(reason, message string, again time.Duration) (ctrl.Result, error) {
	if conditions.IsTrue(s.azureMachine, infrav1.VMRunningCondition) {
		s.unsynced(reason, message, time.Now())
	} else {
		condition.False(s.azureMachine, infrav1.VMRunningCondition, reason, message)
	}
	return ctrl.Result{RequeueAfter: again}, nil
}
