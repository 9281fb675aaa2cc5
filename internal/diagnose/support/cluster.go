package support

import (
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/diagnose/checks"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
)

// Cluster adds the gathered facts, and the results of why and doctor for them.
func (a *Archive) Cluster(f *facts.Snapshot, events []corev1.Event) error {
	err := errors.Join(
		a.Object("why.yaml", walk.All(f)),
		a.Object("doctor.yaml", checks.Examine(f, nil)),
		a.Object("management/cluster.yaml", f.Cluster),
		a.Object("management/azurecluster.yaml", f.AzureCluster),
		a.Object("management/controlplane.yaml", f.ControlPlane),
		a.Object("management/machines.yaml", f.Machines),
		a.Object("management/azuremachines.yaml", inOrder(f.AzureMachines)),
		a.Object("management/machinedeployments.yaml", f.Deployments),
		a.Object("management/machinesets.yaml", f.Sets),
		a.Object("management/machinehealthchecks.yaml", f.HealthChecks),
		a.Object("management/machinepools.yaml", f.Pools),
		a.Object("management/azuremachinepools.yaml", inOrder(f.AzurePools)),
		a.Object("management/azuremachinepoolmachines.yaml", inOrder(f.PoolMachines)),
		a.Object("management/kubeadmconfigs.yaml", inOrder(f.Configs)),
		a.Object("management/events.yaml", events),
		a.Object("workload/nodes.yaml", inOrder(f.Nodes)),
		a.Object("workload/pods.yaml", f.Pods),
		a.Object("workload/deployments.yaml", f.Workloads.Deployments),
		a.Object("workload/replicasets.yaml", f.Workloads.ReplicaSets),
		a.Object("workload/statefulsets.yaml", f.Workloads.StatefulSets),
		a.Object("workload/daemonsets.yaml", f.Workloads.DaemonSets),
		a.Object("workload/jobs.yaml", f.Workloads.Jobs),
		a.Object("workload/services.yaml", f.Workloads.Services),
		a.Object("workload/persistentvolumeclaims.yaml", f.Workloads.Claims),
		a.Object("workload/warnings.yaml", f.Warnings),
	)
	if f.Unreachable != "" {
		err = errors.Join(err, a.Text("workload/unreachable.txt", f.Unreachable+"\n"))
	}
	if f.Console == nil {
		return err
	}
	for i := range f.Machines {
		if text := f.Console(&f.Machines[i]); text != "" {
			err = errors.Join(err, a.Text("logs/"+f.Machines[i].Name+".log", text))
		}
	}
	return err
}

// inOrder returns the values of a map, sorted by their keys.
func inOrder[V any](m map[string]V) []V {
	out := []V{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}
