package model

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/redact"
)

// object is a row of the tree.
type object struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"ns"`
	Cluster   string `json:"cluster"`
	// Parent is the key of the row above it.
	Parent string `json:"parent,omitempty"`
	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Message explains a state that is not ok.
	Message string `json:"message,omitempty"`
	Detail  string `json:"detail,omitempty"`
	// First is true for the object with the cluster's first fault.
	First bool `json:"first,omitempty"`
}

// cluster is an additional row for a cluster, with its problem and the counts of its objects.
type cluster struct {
	Name        string      `json:"name"`
	Namespace   string      `json:"ns"`
	State       State       `json:"state"`
	Answer      walk.Answer `json:"answer"`
	Unreachable string      `json:"unreachable,omitempty"`
	Machines    tally       `json:"machines"`
	Nodes       int         `json:"nodes"`
	// Problems is the number of machines, nodes of other machines and pods with problems; it is at least 1 if the
	// cluster has a problem.
	Problems int `json:"problems"`
}

// tally counts objects by state.
type tally map[State]int

func objectKey(kind, namespace, name string) string {
	return "object/" + kind + "/" + namespace + "/" + name
}

// conditioned is any Cluster API object with conditions.
type conditioned interface {
	client.Object
	GetConditions() []metav1.Condition
}

// row returns the tree row of an object, with the message of the condition that summarises it.
func (b *builder) row(c *Cluster, kind string, o conditioned, condition, detail string) object {
	row := object{Kind: kind, Name: o.GetName(), Namespace: o.GetNamespace(), Cluster: c.Snapshot.Cluster.Name, Detail: detail,
		State: stateOf(o, o.GetConditions(), condition, b.in.Now)}
	for _, cond := range o.GetConditions() {
		if cond.Type == condition && cond.Status != metav1.ConditionTrue {
			row.Reason, row.Message = redact.Text(cond.Reason), redact.Text(cond.Message)
		}
	}
	if row.State == Leaving {
		row.Reason = "Deleting"
	}
	return row
}

// cluster adds the tree of a cluster, beginning with the machines, because the state of a row depends on the rows below it.
func (b *builder) cluster(c *Cluster) {
	s := c.Snapshot
	root := b.row(c, "Cluster", s.Cluster, clusterv1.ClusterAvailableCondition, s.Cluster.Status.Phase)
	at := objectKey("Cluster", s.Cluster.Namespace, s.Cluster.Name)
	below, machines := tally{}, tally{}
	owner := func(row object) {
		row.Parent, row.First = at, b.first(c, row)
		below[row.State]++
		b.put(objectKey(row.Kind, row.Namespace, row.Name), row)
	}
	if s.AzureCluster != nil {
		owner(b.row(c, "AzureCluster", s.AzureCluster, clusterv1.ReadyCondition, s.AzureCluster.Spec.Location))
	}
	states := b.machines(c, machines)
	if k := s.ControlPlane; k != nil {
		row := b.row(c, "KubeadmControlPlane", k, controlplanev1.KubeadmControlPlaneAvailableCondition, k.Spec.Version)
		row.settle(states[objectKey(row.Kind, row.Namespace, row.Name)])
		owner(row)
	}
	for i := range c.Deployments {
		d := &c.Deployments[i]
		row := b.row(c, "MachineDeployment", d, clusterv1.MachineDeploymentAvailableCondition,
			fmt.Sprintf("%s · %d of %d ready", d.Spec.Template.Spec.Version, ptr.Deref(d.Status.ReadyReplicas, 0),
				ptr.Deref(d.Spec.Replicas, 0)))
		row.settle(states[objectKey(row.Kind, row.Namespace, row.Name)])
		owner(row)
	}
	for i := range s.Pools {
		owner(b.pool(c, &s.Pools[i], states))
	}
	root.settle(below)
	if !c.Answer.Healthy && !c.Answer.Waiting && root.State == Good && c.Answer.Name() != "" {
		root.State = Bad
		root.Reason, root.Message = redact.Text(c.Answer.Name()), redact.Text(c.Answer.Means.Says)
	}
	b.put(at, root)
	b.put("cluster/"+s.Cluster.Namespace+"/"+s.Cluster.Name, cluster{Name: s.Cluster.Name,
		Namespace: s.Cluster.Namespace, State: root.State,
		Answer: Redacted(c.Answer), Unreachable: redact.Text(s.Unreachable), Machines: machines, Nodes: len(s.Nodes),
		Problems: b.problems(c, root.State)})
}

// problems returns the number of objects with problems in a cluster; a machine and its node count once.
func (b *builder) problems(c *Cluster, state State) (n int) {
	nodes := map[string]bool{}
	for i := range c.Snapshot.Machines {
		if m := &c.Snapshot.Machines[i]; b.state(c, m) == Bad {
			nodes[m.Status.NodeRef.Name] = true
			n++
		}
	}
	for name, node := range c.Snapshot.Nodes {
		if is, _ := nodeState(node, b.in.Now); is == Bad && !nodes[name] {
			n++
		}
	}
	for i := range c.Snapshot.Pods {
		if is, _, _ := podState(&c.Snapshot.Pods[i], b.in.Now); is == Bad {
			n++
		}
	}
	if n == 0 && state == Bad {
		n = 1
	}
	return n
}

// settle adjusts an owner's state to its children's states: a bad child makes it bad; without one, a bad owner with a
// waiting child becomes waiting. The state of an owner that is being deleted does not change.
func (o *object) settle(below tally) {
	switch {
	case o.State == Leaving:
	case below[Bad] > 0:
		o.State = Bad
	case o.State == Bad && below[Waiting] > 0:
		o.State = Waiting
	}
}

// pool returns the tree row of a machine pool, whose state is that of its scale set.
func (b *builder) pool(c *Cluster, p *clusterv1.MachinePool, states map[string]tally) object {
	row := b.row(c, "MachinePool", p, "", fmt.Sprintf("%s · %d replicas", p.Spec.Template.Spec.Version, ptr.Deref(p.Status.Replicas, 0)))
	if a := c.Snapshot.AzurePools[p.Spec.Template.Spec.InfrastructureRef.Name]; a != nil {
		set := b.row(c, "AzureMachinePool", a, clusterv1.ReadyCondition,
			fmt.Sprintf("%s %s", a.Spec.Template.OSDisk.OSType, a.Spec.Template.VMSize))
		set.Parent = objectKey("MachinePool", p.Namespace, p.Name)
		b.put(objectKey(set.Kind, set.Namespace, set.Name), set)
		row.Reason, row.Message = set.Reason, set.Message
		if row.State != Leaving {
			row.State = set.State
		}
	}
	row.settle(states[objectKey("MachinePool", p.Namespace, p.Name)])
	return row
}

// machines adds the rows of machines and their infrastructure, and returns the counts of states by the key of the owner.
func (b *builder) machines(c *Cluster, all tally) map[string]tally {
	s, states := c.Snapshot, map[string]tally{}
	for i := range s.Machines {
		m := &s.Machines[i]
		row := b.row(c, "Machine", m, clusterv1.MachineReadyCondition, "node "+m.Status.NodeRef.Name)
		if m.Status.NodeRef.Name == "" {
			row.Detail = strings.ToLower(m.Status.Phase)
		}
		row.Parent = owner(s.ControlPlane, m)
		at := objectKey("Machine", m.Namespace, m.Name)
		infra, ok := b.infrastructure(c, m)
		if ok {
			infra.Parent, infra.First = at, false
			b.put(objectKey(infra.Kind, infra.Namespace, infra.Name), infra)
		}
		row.State = b.state(c, m)
		row.First = b.first(c, row) || ok && b.first(c, infra)
		if states[row.Parent] == nil {
			states[row.Parent] = tally{}
		}
		states[row.Parent][row.State]++
		all[row.State]++
		b.put(at, row)
	}
	return states
}

// infrastructure returns the tree row of a machine's infrastructure object, if it exists.
func (b *builder) infrastructure(c *Cluster, m *clusterv1.Machine) (object, bool) {
	name := m.Spec.InfrastructureRef.Name
	if p := c.Snapshot.PoolMachines[name]; p != nil && m.Spec.InfrastructureRef.Kind == infrav1.AzureMachinePoolMachineKind {
		return b.row(c, infrav1.AzureMachinePoolMachineKind, p, clusterv1.ReadyCondition, p.Status.InstanceName), true
	}
	if a := c.Snapshot.AzureMachines[name]; a != nil {
		return b.row(c, "AzureMachine", a, clusterv1.ReadyCondition, fmt.Sprintf("%s %s", a.Spec.OSDisk.OSType, a.Spec.VMSize)), true
	}
	return object{State: Waiting}, false
}

// state returns the state of a machine. A machine with the cluster's first fault is bad, however young it is.
func (b *builder) state(c *Cluster, m *clusterv1.Machine) State {
	infra, ok := b.infrastructure(c, m)
	state := machineState(m, infra.State, b.in.Now)
	own := object{Kind: "Machine", Name: m.Name, Detail: "node " + m.Status.NodeRef.Name}
	if state == Waiting && (b.first(c, own) || ok && b.first(c, infra)) {
		return Bad
	}
	return state
}

// owner returns the key of the row above a machine.
func owner(k *controlplanev1.KubeadmControlPlane, m *clusterv1.Machine) string {
	labels := m.Labels
	switch {
	case k != nil && metav1.IsControlledBy(m, k):
		return objectKey("KubeadmControlPlane", k.Namespace, k.Name)
	case labels[clusterv1.MachineDeploymentNameLabel] != "":
		return objectKey("MachineDeployment", m.Namespace, labels[clusterv1.MachineDeploymentNameLabel])
	case labels[clusterv1.MachinePoolNameLabel] != "":
		return objectKey("MachinePool", m.Namespace, labels[clusterv1.MachinePoolNameLabel])
	}
	return objectKey("Cluster", m.Namespace, m.Spec.ClusterName)
}

// first reports whether the cluster's first fault is in an object. A node or a guest has no row, so its machine's row is marked.
func (b *builder) first(c *Cluster, o object) bool {
	at := strings.TrimPrefix(c.Answer.At, "guest of ")
	node, isNode := strings.CutPrefix(at, "Node/")
	return !c.Answer.Healthy && !c.Answer.Waiting && at != "" && (o.Kind+"/"+o.Name == at || isNode && o.Detail == "node "+node)
}

// Redacted returns a copy of an answer without secrets.
func Redacted(a walk.Answer) walk.Answer { return a.Redacted(redact.Text) }
