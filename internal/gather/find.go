package gather

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Object is what a user named: exactly one of Cluster, Machine, MachinePool and Pod,
// with the cluster that it belongs to.
type Object struct {
	Cluster client.ObjectKey
	// Kind is Cluster, Machine, MachinePool or Pod.
	Kind, Name string
	// Namespace is the pod's.
	Namespace string
}

// Find resolves KIND/NAME, or NAME alone, to an object. A pod needs its kind, as
// pod/NAME or pod/NAMESPACE/NAME, and cluster, unless there is only one cluster.
func Find(ctx context.Context, c client.Client, namespace, cluster, what string) (Object, error) {
	kind, name, has := strings.Cut(what, "/")
	if !has {
		kind, name = "", what
	}
	kind = strings.ToLower(strings.TrimSuffix(strings.ToLower(kind), "s"))
	switch kind {
	case "pod", "po":
		return findPod(ctx, c, namespace, cluster, name)
	case "", "cluster", "machine", "azuremachine", "azuremachinepoolmachine", "node", "no":
	case "machinepool", "mp", "azuremachinepool":
		return findPool(ctx, c, namespace, name)
	default:
		return Object{}, fmt.Errorf("%s is none of cluster, machine, machinepool, node and pod", kind)
	}
	if kind == "" || kind == "cluster" {
		key := client.ObjectKey{Namespace: namespace, Name: name}
		err := c.Get(ctx, key, &clusterv1.Cluster{})
		if err == nil {
			return Object{Cluster: key, Kind: "Cluster", Name: name}, nil
		}
		if !apierrors.IsNotFound(err) || kind == "cluster" {
			return Object{}, err
		}
	}
	own := &clusterv1.Machine{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, own)
	if err == nil {
		return Object{Cluster: client.ObjectKey{Namespace: namespace, Name: own.Spec.ClusterName}, Kind: "Machine", Name: name}, nil
	}
	if !apierrors.IsNotFound(err) {
		return Object{}, err
	}
	var found *Object
	err = listed(ctx, c, []client.ListOption{client.InNamespace(namespace)}, func(machines *clusterv1.MachineList) {
		for i := range machines.Items {
			m := &machines.Items[i]
			if m.Name == name || m.Status.NodeRef.Name == name || m.Spec.InfrastructureRef.Name == name {
				found = &Object{Cluster: client.ObjectKey{Namespace: namespace, Name: m.Spec.ClusterName}, Kind: "Machine", Name: m.Name}
			}
		}
	})
	if err != nil {
		return Object{}, err
	}
	if found == nil && kind == "" {
		if pool, err := findPool(ctx, c, namespace, name); err == nil {
			return pool, nil
		}
	}
	if found == nil {
		return Object{}, fmt.Errorf("no cluster, machine, machine pool or node is called %q in namespace %s; name a pod as pod/NAME: casement get clusters", name, namespace)
	}
	return *found, nil
}

func findPod(ctx context.Context, c client.Client, namespace, cluster, name string) (Object, error) {
	podNamespace, pod, has := strings.Cut(name, "/")
	if !has {
		podNamespace, pod = "default", name
	}
	if cluster == "" {
		var clusters clusterv1.ClusterList
		if err := c.List(ctx, &clusters, client.InNamespace(namespace)); err != nil {
			return Object{}, err
		}
		if len(clusters.Items) != 1 {
			return Object{}, fmt.Errorf("there are %d clusters in namespace %s: say which one the pod is in with --cluster", len(clusters.Items), namespace)
		}
		cluster = clusters.Items[0].Name
	}
	return Object{Cluster: client.ObjectKey{Namespace: namespace, Name: cluster}, Kind: "Pod", Name: pod, Namespace: podNamespace}, nil
}

// findPool finds a machine pool by its own name or that of its AzureMachinePool.
func findPool(ctx context.Context, c client.Client, namespace, name string) (Object, error) {
	var all clusterv1.MachinePoolList
	if err := c.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return Object{}, err
	}
	for i := range all.Items {
		if p := &all.Items[i]; p.Name == name || p.Spec.Template.Spec.InfrastructureRef.Name == name {
			return Object{Cluster: client.ObjectKey{Namespace: namespace, Name: p.Spec.ClusterName}, Kind: "MachinePool", Name: p.Name}, nil
		}
	}
	return Object{}, fmt.Errorf("no machine pool is called %q in namespace %s: kubectl get machinepools", name, namespace)
}
