package facts

import (
	"context"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// Machine gathers the facts of one machine: its cluster's network and control plane, on which it depends, the machine
// itself, and their nodes with the nodes' pods. The cluster's other machines are not included.
func Machine(ctx context.Context, c client.Client, key client.ObjectKey, name string) (*Snapshot, error) {
	f, err := newFacts(ctx, c, key)
	if err != nil {
		return nil, err
	}
	if err := machines(ctx, c, key, name, f); err != nil {
		return nil, err
	}
	err = together(
		func() error {
			if err := cluster(ctx, c, key, f); err != nil {
				return err
			}
			return together(func() error { return configs(ctx, c, f) }, func() error { return dangling(ctx, c, f) }, // configs needs the pools
				func() error { return drainRules(ctx, c, f) })
		},
		func() error { return infrastructure(ctx, c, f) },
		func() error {
			short, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if err := nodes(short, c, key, name, f); err != nil {
				f.Unreachable, f.Slow = once(err), len(f.Nodes)+len(f.Pods) > 0
			}
			return ctx.Err()
		})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// machines reads the control plane's machines and the requested machine.
func machines(ctx context.Context, c client.Client, key client.ObjectKey, name string, f *Snapshot) error {
	own := &clusterv1.Machine{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: name}, own); err != nil {
		return err
	}
	control := []client.ListOption{
		client.InNamespace(key.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: key.Name},
		client.HasLabels{clusterv1.MachineControlPlaneLabel},
	}
	return listed(ctx, c, control, func(all *clusterv1.MachineList) {
		for i := range all.Items {
			if all.Items[i].Name != name {
				f.Machines = append(f.Machines, all.Items[i])
			}
		}
		f.Machines = append(f.Machines, *own)
	})
}

// infrastructure reads the infrastructure objects of the machines.
func infrastructure(ctx context.Context, c client.Client, f *Snapshot) error {
	var mu sync.Mutex
	var reads []func() error
	for i := range f.Machines {
		ref, namespace := f.Machines[i].Spec.InfrastructureRef, f.Machines[i].Namespace
		reads = append(reads, func() error {
			at := client.ObjectKey{Namespace: namespace, Name: ref.Name}
			instance, vm := &infrav1.AzureMachinePoolMachine{}, &infrav1.AzureMachine{}
			var err error
			if pool := ref.Kind == infrav1.AzureMachinePoolMachineKind; pool {
				err = c.Get(ctx, at, instance)
			} else {
				err = c.Get(ctx, at, vm)
			}
			if err != nil {
				return client.IgnoreNotFound(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if instance.Name != "" {
				f.PoolMachines[ref.Name] = instance
			} else {
				f.AzureMachines[ref.Name] = vm
			}
			return nil
		})
	}
	return together(reads...)
}

// nodes reads the nodes of the machines with all their pods, because a fault may be visible in any pod of a node, and
// the warnings.
func nodes(ctx context.Context, c client.Client, key client.ObjectKey, name string, f *Snapshot) error {
	w, cfg, err := Workload(ctx, c, key)
	if err != nil {
		return err
	}
	f.Logs, f.PodsOf = logs(cfg), map[string]bool{}
	var mu sync.Mutex
	reads := []func() error{
		func() error { return warnings(ctx, w, f) },
		func() error { // they show whether a CNI is installed
			return f.allowed(map[string]func() error{
				"DaemonSets": func() error {
					return listed(ctx, w, nil, func(all *appsv1.DaemonSetList) { f.Workloads.DaemonSets = all.Items })
				},
				"Deployments": func() error {
					return listed(ctx, w, nil, func(all *appsv1.DeploymentList) { f.Workloads.Deployments = all.Items })
				},
			})
		},
		func() (err error) {
			f.Calico, err = degraded(ctx, w)
			return err
		},
	}
	for i := range f.Machines {
		m := &f.Machines[i]
		node := m.Status.NodeRef.Name
		if node == "" && m.Name == name { // its node may exist without being matched to it yet
			reads = append(reads, func() error {
				return listed(ctx, w, nil, func(all *corev1.NodeList) {
					mu.Lock()
					defer mu.Unlock()
					for i := range all.Items {
						f.Nodes[all.Items[i].Name] = &all.Items[i]
					}
				})
			})
		}
		if node == "" {
			continue
		}
		reads = append(reads, func() error {
			n := &corev1.Node{}
			if err := w.Get(ctx, client.ObjectKey{Name: node}, n); err != nil {
				return client.IgnoreNotFound(err)
			}
			mu.Lock()
			defer mu.Unlock()
			f.Nodes[node] = n
			return nil
		})
		f.PodsOf[node] = true
		reads = append(reads, func() error {
			return listed(ctx, w, []client.ListOption{client.MatchingFields{"spec.nodeName": node}}, func(pods *corev1.PodList) {
				mu.Lock()
				defer mu.Unlock()
				f.Pods = append(f.Pods, pods.Items...)
			})
		})
	}
	return together(reads...)
}
