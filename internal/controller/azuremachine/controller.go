// Package azuremachine creates and deletes the virtual machine of an AzureMachine, with the resources that belong to it
// alone: interfaces, disks, address, NAT rule, extensions.
//
// It uses only the IDs of the cluster's network, and no wire formats. Only package manager imports it.
package azuremachine

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

// Reconciler reconciles AzureMachines.
type Reconciler struct {
	Client   client.Client
	Opener   *cloud.Opener
	Recorder events.EventRecorder
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that objects must
	// have to be reconciled; "" means all.
	WatchFilter string
	// Resync is the interval at which a machine without changes is compared with Azure.
	Resync time.Duration
	// LeaveDelay is the maximum time for which the machine of a deleted node waits until load balancers no longer use it.
	LeaveDelay time.Duration

	looks    console.Looks
	versions record.Versions
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachines,verbs=list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=azuremachines/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=list;watch

// SetupWithManager registers the controller and its watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &clusterv1.Machine{}, dataSecretField, dataSecret); err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.AzureMachine{}, azurename.Field, naming().Index); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.AzureMachine{}, record.Own(mgr, r.WatchFilter)).
		WithOptions(options).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(
			util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("AzureMachine"))), builder.WithPredicates(machineMatters())).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret))
	inputs := wake.Inputs{Client: r.Client, List: &infrav1.AzureMachineList{}, Settled: settled}
	return inputs.Watch(b).Complete(trace.Reconciler("AzureMachine", r))
}

// scope is the state of one pass over a machine.
type scope struct {
	pass.Scope
	machine      *clusterv1.Machine
	azureMachine *infrav1.AzureMachine
	// vmName is the computer name; vm is the virtual machine in Azure, or nil.
	vmName string
	vm     *liveVM
	// foreign is true if a deletion finds a virtual machine with the machine's name that belongs to another owner.
	foreign bool
	input   inputs
	outcome plan.Outcome
	// toDelete are the resources that a deletion removes from Azure.
	toDelete []desired.Resource
}

// Object implements pass.Subject.
func (s *scope) Object() condition.Object { return s.azureMachine }

// Operations implements pass.Subject.
func (s *scope) Operations() *[]infrav1.LongRunningOperationState {
	return &s.azureMachine.Status.LongRunningOperationStates
}

// Block implements pass.Subject: it writes the reason to VMRunning or, for a running machine, to Synced. For a machine
// that has failed permanently, the reason is also its failure reason.
func (s *scope) Block(r pass.Result) {
	switch {
	case r.Lasting:
		reason, message := r.Reason, condition.Short(r.Message)
		s.azureMachine.Status.FailureReason, s.azureMachine.Status.FailureMessage = &reason, &message
		condition.False(s.azureMachine, infrav1.VMRunningCondition, reason, message)
	case conditions.IsTrue(s.azureMachine, infrav1.VMRunningCondition):
		s.unsynced(r.Reason, r.Message, time.Now())
	default:
		condition.False(s.azureMachine, infrav1.VMRunningCondition, r.Reason, r.Message)
	}
}

// kind describes the reconciliation of AzureMachines. A pass that has to wait ends in one of these steps:
//
//   - wait, until the cluster's network exists and the bootstrap data is rendered;
//   - apply to report, while Azure creates the machine; bootstrap, power and cleanup still
//     run then, and each requests its own next pass;
//   - leave, while load balancers still use its node;
//   - remove, while Azure deletes it.
func (r *Reconciler) kind() pass.Kind[*scope] {
	return pass.Kind[*scope]{
		Client: r.Client, Opener: r.Opener, Recorder: r.Recorder, Resync: r.Resync, Versions: &r.versions,
		Finalizer: infrav1.MachineFinalizer, Conditions: condition.Machine, More: moreOperations, Unmade: notYetCreated,
		Steps: []pass.Step[*scope]{
			{Name: "wait", Run: r.wait},
			{Name: "refuse", Run: r.refuse},
			{Name: "open", Run: r.open},
			{Name: "name", Run: r.name},
			{Name: "observe", Run: r.observe},
			{Name: "claim", Run: r.claim},
			{Name: "prepare", Run: r.prepare},
			{Name: "apply", Run: r.apply},
			{Name: "report", Run: r.report},
			{Name: "power", Run: r.power},
			{Name: "bootstrap", Run: r.bootstrap},
			{Name: "cleanup", Run: r.cleanup},
		},
		Deletion: []pass.Step[*scope]{
			{Name: "abandon", Run: r.abandon},
			{Name: "open", Run: r.openToDelete},
			{Name: "name", Run: r.name},
			{Name: "leave", Run: r.leave},
			{Name: "observe", Run: r.observeToDelete},
			{Name: "remove", Run: r.remove},
		},
	}
}

// Reconcile makes one pass over an AzureMachine.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s, err := r.load(ctx, request)
	if err != nil && s != nil {
		return ctrl.Result{}, r.kind().Fail(ctx, s, err)
	}
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Cluster", klog.KObj(s.Cluster), "Machine", klog.KObj(s.machine)))
	return r.kind().Run(ctx, s)
}

// load reads the machine and the objects that it depends on. It returns nil if there is nothing to do yet; the creation
// of a missing object triggers another pass. With an error, it returns the objects read so far if the machine is one of
// them.
func (r *Reconciler) load(ctx context.Context, request ctrl.Request) (*scope, error) {
	s := &scope{azureMachine: &infrav1.AzureMachine{}}
	if ours, err := record.Read(ctx, r.Client, request.NamespacedName, s.azureMachine, r.WatchFilter); !ours {
		return nil, err
	}
	if owned, err := r.owners(ctx, s); err != nil {
		return s, err
	} else if !owned {
		return nil, nil
	}
	var err error
	if s.AzureCluster, err = cloud.AzureClusterOf(ctx, r.Client, s.Cluster); err != nil {
		return s, fmt.Errorf("get the AzureCluster of AzureMachine %s: %w", request, err)
	}
	return s, nil
}

// owners reads the Machine and the Cluster, and reports whether there is something to do. A
// machine that is being deleted is reconciled without its Machine.
func (r *Reconciler) owners(ctx context.Context, s *scope) (bool, error) {
	m := s.azureMachine
	var err error
	s.machine, err = util.GetOwnerMachine(ctx, r.Client, m.ObjectMeta)
	gone := s.machine == nil && (err == nil || apierrors.IsNotFound(err))
	switch {
	case gone && m.DeletionTimestamp.IsZero():
		return false, nil // the Machine controller sets the owner, which triggers a pass
	case gone:
		s.machine = &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, Labels: m.Labels}}
	case err != nil:
		return false, fmt.Errorf("get the owner of AzureMachine %s: %w", m.Name, err)
	}
	s.Cluster, err = cloud.ClusterOf(ctx, r.Client, m, s.machine)
	return err == nil && s.Cluster != nil, err
}

// moreOperations reports whether operations will follow those in progress: the machine is not running yet, has not failed
// permanently and is not being deleted.
func moreOperations(s *scope) bool {
	m := s.azureMachine
	return !conditions.IsTrue(m, infrav1.VMRunningCondition) && m.Status.FailureReason == nil && m.DeletionTimestamp.IsZero()
}
