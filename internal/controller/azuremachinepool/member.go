package azuremachinepool

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/labels/format"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/pass"
)

// member is one instance with its AzureMachinePoolMachine and Machine; each of the three may be missing.
type member struct {
	// instance is nil if the instance does not exist in Azure any more.
	instance *instance
	// shown is the AzureMachinePoolMachine; nil for a new instance until the next pass.
	shown *infrav1.AzureMachinePoolMachine
	// machine is Cluster API's Machine. Its deletion drains the node before shown is deleted.
	machine *clusterv1.Machine
}

// dying reports whether the member is being deleted.
func (m *member) dying() bool {
	return m.instance == nil || strings.EqualFold(m.instance.state, string(infrav1.Deleting)) ||
		m.shown != nil && !m.shown.DeletionTimestamp.IsZero() || m.machine != nil && !m.machine.DeletionTimestamp.IsZero()
}

// lost reports whether the member's node is lost, or a MachineHealthCheck considers it unhealthy.
func (m member) lost() bool {
	return m.instance != nil && !m.dying() && (cloud.NodeLost(m.machine) || unhealthy(m.machine))
}

// vanished reports whether an instance that no controller deletes is missing in Azure.
func (m member) vanished() bool {
	return m.instance == nil && m.shown != nil && m.shown.DeletionTimestamp.IsZero()
}

// ready reports whether the member has a node that accepts pods.
func (m *member) ready() bool { return nodeReady(m.machine) }

// readyFor returns the time for which the member's node still has to be ready before it counts, according to
// minReadySeconds of the MachinePool.
func (m *member) readyFor(b budget) time.Duration {
	if b.minReady == 0 || !m.ready() {
		return 0
	}
	return max(conditions.Get(m.machine, clusterv1.MachineNodeReadyCondition).LastTransitionTime.Add(b.minReady).Sub(b.now), 0)
}

// poolField is the index of Machines and AzureMachinePoolMachines by the label with the name of their pool: a list by
// labels alone would read all objects in a namespace.
const poolField = "casement.metadata.labels.poolName"

func poolOf(o client.Object) []string {
	if name := o.GetLabels()[clusterv1.MachinePoolNameLabel]; name != "" {
		return []string{name}
	}
	return nil
}

// ofPool returns the options of a list of the pool's machines.
func (s *scope) ofPool() []client.ListOption {
	labels := s.labels()
	return []client.ListOption{client.InNamespace(s.pool.Namespace), client.MatchingLabels(labels),
		client.MatchingFields{poolField: labels[clusterv1.MachinePoolNameLabel]}}
}

func (s *scope) labels() map[string]string {
	return map[string]string{
		clusterv1.ClusterNameLabel:     s.Cluster.Name,
		clusterv1.MachinePoolNameLabel: format.MustFormatValue(s.machinePool.Name),
	}
}

// join matches instances with their AzureMachinePoolMachines, Machines and Nodes.
func (r *Reconciler) join(ctx context.Context, s *scope, found []instance) ([]member, error) {
	var shown infrav1.AzureMachinePoolMachineList
	if err := r.Client.List(ctx, &shown, s.ofPool()...); err != nil {
		return nil, fmt.Errorf("list the machines of AzureMachinePool %s: %w", s.pool.Name, err)
	}
	var machines clusterv1.MachineList
	if err := r.Client.List(ctx, &machines, s.ofPool()...); err != nil {
		return nil, fmt.Errorf("list the Machines of MachinePool %s: %w", s.machinePool.Name, err)
	}
	ofShown := map[string]*clusterv1.Machine{} // by name of the AzureMachinePoolMachine
	for i := range machines.Items {
		if ref := machines.Items[i].Spec.InfrastructureRef; ref.Kind == infrav1.AzureMachinePoolMachineKind {
			ofShown[ref.Name] = &machines.Items[i]
		}
	}
	var members []member
	at := map[string]int{} // the index of a member by its provider ID in lower case
	for i := range shown.Items {
		m := member{shown: &shown.Items[i], machine: ofShown[shown.Items[i].Name]}
		id := strings.ToLower(m.shown.Spec.ProviderID)
		if j, ok := at[id]; !ok || s.better(m.shown, members[j].shown) {
			at[id] = len(members) // a duplicate has no instance
		}
		members = append(members, m)
	}
	for i := range found {
		j, ok := at[strings.ToLower(desired.ProviderID(found[i].id))]
		if !ok {
			members = append(members, member{})
			j = len(members) - 1
		}
		members[j].instance = &found[i]
	}
	return members, nil
}

// better reports whether, of two objects for one instance, the first was created for it: it has the instance's name, or
// otherwise it is the older one.
func (s *scope) better(a, b *infrav1.AzureMachinePoolMachine) bool {
	name := machineName(s.pool.Name, desired.LastSegment(a.Spec.ProviderID))
	if (a.Name == name) != (b.Name == name) {
		return a.Name == name
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// showInstances creates and updates one AzureMachinePoolMachine for each instance, and writes the pool's list of
// provider IDs.
func (r *Reconciler) showInstances(ctx context.Context, s *scope) pass.Result {
	var ids []string
	for i := range s.members {
		m := &s.members[i]
		if m.instance == nil {
			if err := r.removeMember(ctx, m); err != nil {
				return pass.Error(err)
			}
			continue
		}
		ids = append(ids, desired.ProviderID(m.instance.id))
		if err := r.show(ctx, s, m); err != nil {
			return pass.Error(err)
		}
	}
	slices.Sort(ids)
	s.pool.Spec.ProviderIDList = ids
	s.pool.Status.Replicas = int32(len(ids))
	return pass.Next()
}

// show creates or updates the AzureMachinePoolMachine of an instance.
func (r *Reconciler) show(ctx context.Context, s *scope, m *member) error {
	if err := r.present(ctx, s, m); err != nil {
		return err
	}
	before := m.shown.DeepCopy()
	status := &m.shown.Status
	status.InstanceName = m.instance.computer
	status.ProvisioningState = m.instance.provisioningState()
	status.FailureDomain = m.instance.zone
	status.LatestModelApplied = !m.instance.outdated
	status.Version = versionOf(m.machine)
	if m.instance.addresses != nil {
		status.Addresses = m.instance.addresses
	}
	if m.machine != nil && m.machine.Status.NodeRef.IsDefined() {
		status.NodeRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: m.machine.Status.NodeRef.Name}
	}
	view := s.views[strings.ToLower(m.instance.id)]
	off := view.Off("instance "+m.instance.number, s.spec.SpotVMOptions != nil)
	switch state := infrav1.ProvisioningState(m.instance.state); {
	case off != "":
		condition.False(m.shown, clusterv1.ReadyCondition, cloud.VMStopped, off)
	case state == infrav1.Succeeded, state == infrav1.Updating:
		status.Ready, status.Initialization.Provisioned = true, new(true)
		condition.True(m.shown, clusterv1.ReadyCondition, condition.Provisioned)
	case state == infrav1.Failed:
		status.Ready = false
		condition.False(m.shown, clusterv1.ReadyCondition, infrav1.VMProvisionFailedReason,
			fmt.Sprintf("Azure failed to provision instance %s: %s; delete the Machine to get another",
				m.instance.number, cmp.Or(view.Failure, "it gives no reason; see the AzureMachinePool")))
	default:
		condition.False(m.shown, clusterv1.ReadyCondition, m.instance.state,
			"instance "+m.instance.number+" is "+strings.ToLower(m.instance.state))
	}
	if reflect.DeepEqual(before.Status, *status) {
		return nil
	}
	err := r.Client.Status().Patch(ctx, m.shown, client.MergeFrom(before))
	return client.IgnoreNotFound(err)
}

// present creates the AzureMachinePoolMachine of an instance if it is missing.
func (r *Reconciler) present(ctx context.Context, s *scope, m *member) error {
	if m.shown == nil {
		made := s.machineOf(m.instance)
		if err := r.Client.Create(ctx, made); err != nil {
			return fmt.Errorf("show instance %s of AzureMachinePool %s: %w", m.instance.number, s.pool.Name, err)
		}
		m.shown = made
	}
	return r.restore(ctx, s, m.shown)
}

// restore sets the finalizer and owner of an object, which may be missing after a restored backup: without the
// finalizer, an instance would outlive its object. It also sets the model of an object that another provider or an
// older casement created.
func (r *Reconciler) restore(ctx context.Context, s *scope, shown *infrav1.AzureMachinePoolMachine) error {
	if !shown.DeletionTimestamp.IsZero() {
		return nil
	}
	before := shown.DeepCopy()
	controllerutil.AddFinalizer(shown, infrav1.MachinePoolMachineFinalizer)
	shown.OwnerReferences = util.EnsureOwnerRef(shown.OwnerReferences, s.owner())
	if shown.Labels == nil {
		shown.Labels = map[string]string{}
	}
	for name, value := range s.labels() {
		if shown.Labels[name] == "" {
			shown.Labels[name] = value
		}
	}
	if model := s.pool.Annotations[modelAnnotation]; model != "" && shown.Annotations[modelAnnotation] == "" {
		metav1.SetMetaDataAnnotation(&shown.ObjectMeta, modelAnnotation, model)
	}
	if reflect.DeepEqual(before.ObjectMeta, shown.ObjectMeta) {
		return nil
	}
	if err := r.Client.Patch(ctx, shown, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("restore the finalizer and owner of AzureMachinePoolMachine %s: %w", shown.Name, err)
	}
	return nil
}

// owner returns the owner reference to the pool for its AzureMachinePoolMachines.
func (s *scope) owner() metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: infrav1.GroupVersion.String(), Kind: "AzureMachinePool", Name: s.pool.Name, UID: s.pool.UID}
}

// machineOf returns the AzureMachinePoolMachine of an instance. Cluster API creates a
// Machine for it.
func (s *scope) machineOf(i *instance) *infrav1.AzureMachinePoolMachine {
	m := &infrav1.AzureMachinePoolMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.pool.Namespace, Name: machineName(s.pool.Name, i.number), Labels: s.labels(),
			Finalizers:      []string{infrav1.MachinePoolMachineFinalizer},
			OwnerReferences: []metav1.OwnerReference{s.owner()},
		},
		Spec: infrav1.AzureMachinePoolMachineSpec{ProviderID: desired.ProviderID(i.id)},
	}
	if model := s.pool.Annotations[modelAnnotation]; model != "" {
		m.Annotations = map[string]string{modelAnnotation: model}
	}
	if !s.flexible() {
		m.Spec.InstanceID = i.number
	}
	return m
}

// machineName returns the name of an instance's AzureMachinePoolMachine. It differs from the names of Flexible
// instances, which Kubernetes would refuse.
func machineName(pool, number string) string {
	name := strings.ToLower(strings.ReplaceAll(number, "_", "-"))
	if strings.HasPrefix(name, pool+"-") {
		return name
	}
	return pool + "-" + name
}

// removeMember removes the AzureMachinePoolMachine of an instance that does not exist in Azure any
// more, and deletes its Machine.
func (r *Reconciler) removeMember(ctx context.Context, m *member) error {
	if m.machine != nil && m.machine.DeletionTimestamp.IsZero() {
		if err := client.IgnoreNotFound(r.Client.Delete(ctx, m.machine)); err != nil {
			return fmt.Errorf("delete Machine %s, whose instance is gone: %w", m.machine.Name, err)
		}
	}
	return r.release(ctx, m.shown)
}

// release removes the finalizer of an AzureMachinePoolMachine without an instance, and deletes the object.
func (r *Reconciler) release(ctx context.Context, shown *infrav1.AzureMachinePoolMachine) error {
	if shown == nil {
		return nil
	}
	before := shown.DeepCopy()
	if controllerutil.RemoveFinalizer(shown, infrav1.MachinePoolMachineFinalizer) {
		if err := client.IgnoreNotFound(r.Client.Patch(ctx, shown, client.MergeFrom(before))); err != nil {
			return fmt.Errorf("release AzureMachinePoolMachine %s: %w", shown.Name, err)
		}
	}
	if shown.DeletionTimestamp.IsZero() {
		if err := client.IgnoreNotFound(r.Client.Delete(ctx, shown)); err != nil {
			return fmt.Errorf("delete AzureMachinePoolMachine %s: %w", shown.Name, err)
		}
	}
	return nil
}

// releaseOrphans removes the finalizers of AzureMachinePoolMachines that are being deleted
// and whose pool does not exist any more.
func (r *Reconciler) releaseOrphans(ctx context.Context, request ctrl.Request) error {
	var all infrav1.AzureMachinePoolMachineList
	if err := r.Client.List(ctx, &all, client.InNamespace(request.Namespace)); err != nil {
		return fmt.Errorf("list the machines of AzureMachinePool %s, which is gone: %w", request, err)
	}
	for i := range all.Items {
		shown := &all.Items[i]
		if !shown.DeletionTimestamp.IsZero() && slices.ContainsFunc(shown.OwnerReferences,
			func(o metav1.OwnerReference) bool { return o.Kind == "AzureMachinePool" && o.Name == request.Name }) {
			if err := r.release(ctx, shown); err != nil {
				return err
			}
		}
	}
	return nil
}
