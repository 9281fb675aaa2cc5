package azuremachine

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/record"
	"casement.dev/casement/internal/controller/wake"
)

// machineMatters selects the updates of a Machine that a pass depends on: changes of the spec, whether the Machine has
// a node, and whether that node is lost. Cluster API writes the other fields of its status often.
func machineMatters() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*clusterv1.Machine)
		updated, also := e.ObjectNew.(*clusterv1.Machine)
		return !ok || !also || record.Changed(old, updated) ||
			old.Status.NodeRef.IsDefined() != updated.Status.NodeRef.IsDefined() || cloud.NodeLost(old) != cloud.NodeLost(updated)
	}}
}

// dataSecretField is the index of Machines by the name of the secret with their bootstrap data.
const dataSecretField = "casement.spec.bootstrap.dataSecretName"

func dataSecret(o client.Object) []string {
	if m, ok := o.(*clusterv1.Machine); ok && m.Spec.Bootstrap.DataSecretName != nil {
		return []string{*m.Spec.Bootstrap.DataSecretName}
	}
	return nil
}

// ofSecret returns a request for the machine whose bootstrap data is in a secret, while the machine has no virtual
// machine. If the Machine does not name its secret yet, the later change of the Machine triggers the pass.
func (r *Reconciler) ofSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	var machines clusterv1.MachineList
	if err := r.Client.List(ctx, &machines, client.InNamespace(secret.GetNamespace()),
		client.MatchingFields{dataSecretField: secret.GetName()}); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range machines.Items {
		m := &infrav1.AzureMachine{}
		key := client.ObjectKey{Namespace: machines.Items[i].Namespace, Name: machines.Items[i].Spec.InfrastructureRef.Name}
		if machines.Items[i].Spec.InfrastructureRef.Kind == "AzureMachine" && r.Client.Get(ctx, key, m) == nil && pending(m) {
			requests = append(requests, reconcile.Request{NamespacedName: key})
		}
	}
	return requests
}

// settled reports whether a machine does not wait for its AzureCluster.
func settled(o client.Object) bool {
	m, ok := o.(*infrav1.AzureMachine)
	return ok && !pending(m)
}

// pending reports whether a machine may wait for another object.
func pending(m *infrav1.AzureMachine) bool {
	return m.Spec.ProviderID == nil || wake.Pending(m)
}
