package facts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/kind"
)

// Object is an object of a cluster that a user named, with the cluster.
type Object struct {
	Cluster client.ObjectKey
	// Kind is Cluster, Machine, MachineDeployment, MachineSet, MachinePool,
	// KubeadmControlPlane, or a kind of the workload cluster such as Pod or Service.
	Kind, Name string
	// Namespace is the namespace of an object of the workload cluster.
	Namespace string
	// generic reads an object whose kind has no walk of its own into the snapshot; nil for other kinds.
	generic *generic
}

// generic has the read function for an object of any kind. It is a struct with a pointer, so that Objects can be compared.
type generic struct {
	read func(context.Context, *Snapshot) error
}

// kinds maps the words that users type to kinds of the workload cluster.
var kinds = map[string]string{
	"pod": "Pod", "po": "Pod",
	"deployment": "Deployment", "deploy": "Deployment", "replicaset": "ReplicaSet", "rs": "ReplicaSet",
	"statefulset": "StatefulSet", "sts": "StatefulSet",
	"daemonset": "DaemonSet", "ds": "DaemonSet", "job": "Job", "service": "Service", "svc": "Service",
	"persistentvolumeclaim": "PersistentVolumeClaim", "pvc": "PersistentVolumeClaim",
}

// ours maps the words that users type to Cluster API's kinds that own machines.
var ours = func() map[string]string {
	out := map[string]string{}
	for _, k := range kind.All {
		// findMachine and findPool find Machines and MachinePools.
		if k.Machine != nil && k.Name != "Machine" && k.Name != "MachinePool" {
			out[strings.ToLower(k.Name)], out[k.Short] = k.Name, k.Name
		}
	}
	return out
}()

// known lists the kinds for error messages.
const known = "cluster, machine, machinedeployment (md), machineset (ms), machinepool (mp), kubeadmcontrolplane " +
	"(kcp), node, pod, deployment, replicaset, statefulset, daemonset, job, service and pvc"

// Find resolves KIND/NAME, or NAME alone, to an object. An object of a workload cluster needs its kind, as pod/NAME or
// pod/NAMESPACE/NAME, and the argument cluster, unless there is only one cluster. NAMESPACE/NAME, where NAMESPACE is no
// kind, is a pod.
func Find(ctx context.Context, c client.Client, namespace, cluster, what string) (Object, error) {
	kind, name, has := strings.Cut(what, "/")
	if !has {
		kind, name = "", what
	}
	word := kindOf(kind)
	if in, is := kinds[word]; is {
		return findInside(ctx, c, namespace, cluster, in, name)
	}
	if of, is := ours[word]; is {
		return findSet(ctx, c, namespace, of, name)
	}
	switch word {
	case "", "cluster", "machine", "azuremachine", "azuremachinepoolmachine", "node", "no":
		o, err := findMachine(ctx, c, namespace, word, name)
		if err == nil || word != "node" && word != "no" {
			return o, err
		}
		// Cluster API may not know the node that the user asks about.
		if n, none := findInside(ctx, c, namespace, cluster, "Node", name); none == nil {
			if n, none = findForeign(ctx, c, n, "node", name); none == nil {
				return n, nil
			}
		}
		return Object{}, err
	case "machinepool", "mp", "azuremachinepool":
		return findPool(ctx, c, namespace, name)
	}
	if k, is := declared(c, word); is && name != "" {
		return findDeclared(ctx, c, namespace, cluster, k, name)
	}
	if _, is := otherOf(word); is || name == "" || strings.Contains(name, "/") {
		o, err := findInside(ctx, c, namespace, cluster, word, name)
		if err != nil {
			return Object{}, err
		}
		return findForeign(ctx, c, o, word, o.Name)
	}
	o, err := findInside(ctx, c, namespace, cluster, word, name)
	if err != nil {
		return Object{}, err
	}
	if o, err = findForeign(ctx, c, o, strings.ToLower(kind), name); err == nil {
		return o, nil
	}
	return findInside(ctx, c, namespace, cluster, "Pod", kind+"/"+name)
}

// kindOf returns a word in lower case and, unless it is a known kind, in the singular.
func kindOf(word string) string {
	word = strings.ToLower(word)
	for _, all := range []map[string]string{kinds, ours} {
		if _, is := all[word]; is {
			return word
		}
	}
	if _, is := otherOf(word); is {
		return word
	}
	if strings.HasSuffix(word, "ss") { // such as clusterclass
		return word
	}
	return strings.TrimSuffix(word, "s")
}

// findMachine finds a cluster, a machine or a node and, if no kind is given, also a pool.
func findMachine(ctx context.Context, c client.Client, namespace, kind, name string) (Object, error) {
	if kind == "" || kind == "cluster" {
		key := client.ObjectKey{Namespace: namespace, Name: name}
		_, err := GetCluster(ctx, c, key)
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
		if _, gone := GetCluster(ctx, c, client.ObjectKey{Namespace: namespace, Name: own.Spec.ClusterName}); apierrors.IsNotFound(gone) {
			return Object{}, missing{gone, fmt.Sprintf("spec.clusterName of Machine %s/%s: %s, so no controller does anything about the machine; "+
				"correct it: delete the Machine and make it again, as the field cannot be changed", namespace, name, gone)}
		}
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
		hint := cmp.Or(elsewhere(ctx, c, name), "name a pod as pod/NAME: casement get clusters")
		return Object{}, fmt.Errorf("no cluster, machine, machine pool or node is called %q in namespace %s; %s", name, namespace, hint)
	}
	return *found, nil
}

// findInside returns an object of a workload cluster. If there are several clusters, it takes the one that has the object.
func findInside(ctx context.Context, c client.Client, namespace, cluster, kind, name string) (Object, error) {
	key, err := clusterOf(ctx, c, namespace, cluster)
	var many several
	if errors.As(err, &many) && len(many.found) <= maxAsked {
		if holders := many.having(ctx, c, namespace, kind, name); len(holders) == 1 {
			key, err = holders[0], nil
		} else if len(holders) > 1 {
			many.found, err = holders, several{holders, "with that object"}
		}
	}
	if err != nil {
		what := strings.ToLower(kind) + "/" + name
		if many.found != nil {
			return Object{}, fmt.Errorf("%w; say which one: casement why %s --cluster %s", err, what, many.found[0].Name)
		}
		return Object{}, fmt.Errorf("%w; say which one %s is in with --cluster", err, what)
	}
	within, own := inside(key, namespace, name)
	return Object{Cluster: key, Kind: kind, Name: own, Namespace: within}, nil
}

// inside returns the namespace and the name of an object of a workload cluster from the user's argument.
func inside(cluster client.ObjectKey, namespace, name string) (within, own string) {
	if within, own, has := strings.Cut(name, "/"); has {
		return within, own
	}
	if cluster.Namespace != namespace {
		return namespace, name
	}
	return "default", name
}

// maxAsked is the maximum number of clusters that are searched for an object whose cluster the user does not name.
const maxAsked = 10

// several is the error for an argument that fits more than one cluster.
type several struct {
	found []client.ObjectKey
	in    string
}

func (s several) Error() string {
	names := make([]string, 0, maxAsked)
	for _, key := range s.found[:min(len(s.found), maxAsked)] {
		names = append(names, key.Name)
	}
	if len(s.found) > maxAsked {
		names = append(names, "...")
	}
	return fmt.Sprintf("there are %d clusters %s (%s)", len(s.found), s.in, strings.Join(names, ", "))
}

// having returns those of the clusters that have an object, which it reads in parallel. A cluster that does not respond
// is left out.
func (s several) having(ctx context.Context, c client.Client, namespace, kind, name string) (out []client.ObjectKey) {
	has := make([]bool, len(s.found))
	calls := make([]func() error, len(s.found))
	for i, key := range s.found {
		calls[i] = func() error {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			w, cfg, err := Workload(ctx, c, key)
			if err != nil {
				return err
			}
			of, err := served(cfg, strings.ToLower(kind))
			if err != nil {
				return err
			}
			group, _ := schema.ParseGroupVersion(of.Group)
			within, own := inside(key, namespace, name)
			missing, _, err := isMissing(ctx, w, schema.GroupKind{Group: group.Group, Kind: of.Kind}, client.ObjectKey{Namespace: within, Name: own})
			has[i] = err == nil && !missing
			return nil
		}
	}
	_ = together(calls...) // a cluster that does not respond is left out
	for i, key := range s.found {
		if has[i] {
			out = append(out, key)
		}
	}
	return out
}

// ErrNoCluster is the error if the user names no cluster and none exists.
var ErrNoCluster = errors.New("there is no cluster in any namespace that may be read: casement generate cluster makes one")

// clusterOf returns the cluster with a name, or the only cluster, in a namespace. If the namespace has no clusters, it
// searches all namespaces: like kubectl's users, the user may have named the object's namespace in the workload
// cluster.
func clusterOf(ctx context.Context, c client.Client, namespace, name string) (client.ObjectKey, error) {
	var all clusterv1.ClusterList
	if err := c.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return client.ObjectKey{}, err
	}
	in := "in namespace " + namespace
	if len(all.Items) == 0 {
		if err := c.List(ctx, &all); err != nil && !apierrors.IsForbidden(err) {
			return client.ObjectKey{}, err
		}
		in = "in namespaces other than " + namespace
	}
	var found []client.ObjectKey
	for i := range all.Items {
		if name == "" || all.Items[i].Name == name {
			found = append(found, client.ObjectKeyFromObject(&all.Items[i]))
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case name != "":
		return client.ObjectKey{Namespace: namespace, Name: name}, nil // the read of the cluster reports that it does not exist
	}
	if len(found) == 0 {
		return client.ObjectKey{}, ErrNoCluster
	}
	return client.ObjectKey{}, several{found, in}
}

// findSet finds a set of machines or a control plane by its name.
func findSet(ctx context.Context, c client.Client, namespace, kind, name string) (Object, error) {
	set := &metav1.PartialObjectMetadata{}
	set.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(kind))
	if kind == "KubeadmControlPlane" {
		set.SetGroupVersionKind(controlplanev1.GroupVersion.WithKind(kind))
	}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, set)
	if apierrors.IsNotFound(err) {
		return Object{}, fmt.Errorf("no %s is called %q in namespace %s: kubectl get %ss", kind, name, namespace, strings.ToLower(kind))
	}
	if err != nil {
		return Object{}, err
	}
	cluster := client.ObjectKey{Namespace: namespace, Name: set.Labels[clusterv1.ClusterNameLabel]}
	if cluster.Name == "" {
		return Object{}, fmt.Errorf("%s %s has no label %s, so its cluster is not known", kind, name, clusterv1.ClusterNameLabel)
	}
	return Object{Cluster: cluster, Kind: kind, Name: name}, nil
}

// Only returns the only cluster in a namespace or, if the namespace has none, the only cluster in all namespaces.
func Only(ctx context.Context, c client.Client, namespace string) (Object, error) {
	key, err := clusterOf(ctx, c, namespace, "")
	return Object{Cluster: key, Kind: "Cluster", Name: key.Name}, err
}

// GetCluster reads a cluster. If it does not exist, the error is NotFound for apierrors and names the namespaces that
// have a cluster of the same name.
func GetCluster(ctx context.Context, c client.Client, key client.ObjectKey) (*clusterv1.Cluster, error) {
	cluster := &clusterv1.Cluster{}
	err := c.Get(ctx, key, cluster)
	if apierrors.IsNotFound(err) {
		return nil, missing{err, fmt.Sprintf("there is no cluster %s; %s", key,
			cmp.Or(elsewhere(ctx, c, key.Name), "there may be others: casement get clusters"))}
	}
	return cluster, err
}

// missing is a NotFound error with a message for command-line users.
type missing struct {
	error
	says string
}

func (m missing) Error() string { return m.says }
func (m missing) Unwrap() error { return m.error }

// elsewhere returns the other namespaces that have a cluster of the same name; "" if there is none or the user may not
// list clusters.
func elsewhere(ctx context.Context, c client.Client, name string) string {
	var all clusterv1.ClusterList
	if err := c.List(ctx, &all); err != nil {
		return ""
	}
	for i := range all.Items {
		if all.Items[i].Name == name {
			return fmt.Sprintf("cluster %s is in namespace %s: -n %[2]s", name, all.Items[i].Namespace)
		}
	}
	return ""
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
