// Package rollout reports whether the statuses of a cluster's objects describe their current specs, and which parts of
// the specs are not fulfilled yet. A status that was written before the last change of its spec is not trusted.
//
// It uses only the reports of Cluster API's controllers; it queries neither Azure nor nodes. The command line and tests
// may import it.
package rollout

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Objects are a cluster and its objects that have replicas.
type Objects struct {
	Cluster *clusterv1.Cluster
	// ControlPlane is nil if the cluster has another kind of control plane.
	ControlPlane *controlplanev1.KubeadmControlPlane
	Deployments  []clusterv1.MachineDeployment
	Pools        []clusterv1.MachinePool
	Machines     []clusterv1.Machine
}

// Read returns the cluster's objects that its rollout depends on, or the API server's error.
func Read(ctx context.Context, c client.Client, key client.ObjectKey) (Objects, error) {
	o, err := ReadOwners(ctx, c, key)
	if err != nil {
		return o, err
	}
	o.Machines, err = Machines(ctx, c, key)
	return o, err
}

// ReadOwners is like Read, but without the machines, which are most of the objects of a large cluster.
func ReadOwners(ctx context.Context, c client.Client, key client.ObjectKey) (Objects, error) {
	o := Objects{Cluster: &clusterv1.Cluster{}}
	if err := c.Get(ctx, key, o.Cluster); err != nil {
		return o, err
	}
	var deployments clusterv1.MachineDeploymentList
	var pools clusterv1.MachinePoolList
	for _, list := range []client.ObjectList{&deployments, &pools} {
		if err := c.List(ctx, list, of(key)...); err != nil {
			return o, err
		}
	}
	o.Deployments, o.Pools = deployments.Items, pools.Items
	if ref := o.Cluster.Spec.ControlPlaneRef; ref.Kind == "KubeadmControlPlane" {
		found := &controlplanev1.KubeadmControlPlane{}
		err := c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: ref.Name}, found)
		if client.IgnoreNotFound(err) != nil {
			return o, err
		}
		if err == nil {
			o.ControlPlane = found
		}
	}
	return o, nil
}

// Machines returns the machines of a cluster.
func Machines(ctx context.Context, c client.Client, key client.ObjectKey) ([]clusterv1.Machine, error) {
	var machines clusterv1.MachineList
	err := c.List(ctx, &machines, of(key)...)
	return machines.Items, err
}

// of returns the list options that select the objects of a cluster.
func of(key client.ObjectKey) []client.ListOption {
	return []client.ListOption{client.InNamespace(key.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: key.Name}}
}

// NodesReady counts the machines whose nodes are ready for pods.
func (o Objects) NodesReady() int {
	n := 0
	for i := range o.Machines {
		if meta.IsStatusConditionTrue(o.Machines[i].Status.Conditions, clusterv1.MachineNodeReadyCondition) {
			n++
		}
	}
	return n
}

// Missing returns the part that is missing until the specs are fulfilled, or "": every status describes the current
// spec, every replica count is reached by machines of the current template, every machine has a ready node and none is
// being deleted.
func (o Objects) Missing() string {
	return cmp.Or(o.MissingOfOwners(), o.machines())
}

// MissingOfOwners is like Missing, but does not examine the machines.
func (o Objects) MissingOfOwners() string {
	for _, check := range []func(Objects) string{Objects.cluster, Objects.controlPlane, Objects.deployments, Objects.pools} {
		if missing := check(o); missing != "" {
			return missing
		}
	}
	return ""
}

func (o Objects) cluster() string {
	c := o.Cluster
	switch {
	case c.Spec.Topology.IsDefined() && !current(c, clusterv1.ClusterTopologyReconciledCondition):
		return "Cluster " + c.Name + ": its topology is not reconciled" + because(c, clusterv1.ClusterTopologyReconciledCondition)
	case !meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1.ClusterAvailableCondition):
		return "Cluster " + c.Name + ": it is not available" + because(c, clusterv1.ClusterAvailableCondition)
	}
	return stale("Cluster", c, c.Status.ObservedGeneration)
}

// conditioned is an object with conditions.
type conditioned interface{ GetConditions() []metav1.Condition }

// current reports whether a condition is True and was set for the object's current spec.
func current(o interface {
	conditioned
	metav1.Object
}, kind string) bool {
	c := meta.FindStatusCondition(o.GetConditions(), kind)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration >= o.GetGeneration()
}

func because(o conditioned, kind string) string {
	if c := meta.FindStatusCondition(o.GetConditions(), kind); c != nil && c.Message != "" {
		return ": " + c.Message
	}
	return ""
}

// stale returns the message that a status is older than its spec, or "".
func stale(kind string, o metav1.Object, observed int64) string {
	if observed >= o.GetGeneration() {
		return ""
	}
	return fmt.Sprintf("%s %s: its status is of generation %d, its spec of %d", kind, o.GetName(), observed, o.GetGeneration())
}

// count is one of the replica counts in a status.
type count struct {
	what string
	have *int32
}

// short describes the count that differs from the spec, or returns "".
func short(kind, name string, asked *int32, counts ...count) string {
	want := int32(1) // the API server's default
	if asked != nil {
		want = *asked
	}
	for _, c := range counts {
		switch {
		case c.have == nil && want == 0:
		case c.have == nil:
			return fmt.Sprintf("%s %s: nothing is known of its %s replicas yet", kind, name, c.what)
		case *c.have != want:
			return fmt.Sprintf("%s %s: %d of %d replicas are %s", kind, name, *c.have, want, c.what)
		}
	}
	return ""
}

// behind returns the message that a status is older than its spec or that its replica
// counts differ from the spec, or "".
func behind(kind string, o metav1.Object, observed int64, asked *int32, counts ...count) string {
	return cmp.Or(stale(kind, o, observed), short(kind, o.GetName(), asked, counts...))
}

func (o Objects) controlPlane() string {
	k := o.ControlPlane
	if k == nil {
		s := o.Cluster.Status.ControlPlane
		if s == nil {
			return "" // another controller manages it
		}
		return short("the control plane of Cluster", o.Cluster.Name, s.DesiredReplicas, count{"ready", s.ReadyReplicas})
	}
	return behind("KubeadmControlPlane", k, k.Status.ObservedGeneration, k.Spec.Replicas,
		count{"there", k.Status.Replicas}, count{"up to date", k.Status.UpToDateReplicas},
		count{"ready", k.Status.ReadyReplicas})
}

func (o Objects) deployments() string {
	for i := range o.Deployments {
		d := &o.Deployments[i]
		if missing := behind("MachineDeployment", d, d.Status.ObservedGeneration, d.Spec.Replicas,
			count{"there", d.Status.Replicas}, count{"up to date", d.Status.UpToDateReplicas},
			count{"ready", d.Status.ReadyReplicas}); missing != "" {
			return missing
		}
	}
	return ""
}

// pools returns the missing part of the machine pools, or "". It checks the kubelet versions of the nodes, because
// Cluster API does not report up-to-date replicas for a pool.
func (o Objects) pools() string {
	const kind = "MachinePool"
	for i := range o.Pools {
		p := &o.Pools[i]
		if missing := behind(kind, p, p.Status.ObservedGeneration, p.Spec.Replicas,
			count{"there", p.Status.Replicas}, count{"ready", p.Status.ReadyReplicas}); missing != "" {
			return missing
		}
		for j := range o.Machines {
			m := &o.Machines[j]
			if m.Labels[clusterv1.MachinePoolNameLabel] != p.Name || m.Status.NodeInfo == nil || p.Spec.Template.Spec.Version == "" {
				continue
			}
			if runs := m.Status.NodeInfo.KubeletVersion; runs != p.Spec.Template.Spec.Version {
				return fmt.Sprintf("Machine %s of %s %s: its kubelet is %s, not %s yet", m.Name, kind, p.Name, runs,
					p.Spec.Template.Spec.Version)
			}
		}
	}
	return ""
}

func (o Objects) machines() string {
	if len(o.Machines) == 0 {
		return "Cluster " + o.Cluster.Name + ": it has no machines"
	}
	for i := range o.Machines {
		m := &o.Machines[i]
		switch {
		case !m.DeletionTimestamp.IsZero():
			return "Machine " + m.Name + ": it is on its way out"
		case !meta.IsStatusConditionTrue(m.Status.Conditions, clusterv1.MachineNodeReadyCondition):
			return "Machine " + m.Name + ": its node is not ready" + because(m, clusterv1.MachineNodeReadyCondition)
		}
	}
	return ""
}
