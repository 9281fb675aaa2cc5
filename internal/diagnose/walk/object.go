package walk

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/facts"
)

// walker implements the walk over a snapshot.
type walker struct{ *facts.Snapshot }

// Cluster returns the first fault of a cluster and of the objects in it.
func Cluster(s *facts.Snapshot) Answer { return walker{s}.forCluster() }

// All returns the faults of all objects, without Waiting answers and objects that are being deleted. A fault of the
// cluster comes first. A fault that two objects report is returned once.
func All(s *facts.Snapshot) []Answer { return walker{s}.all() }

// Concerns returns a function that reports whether an answer's object, as KIND/NAME, belongs to o: for a machine
// itself, its config, its VM, its node, and the pods on that node; for a machine pool itself, its scale set, its config
// and its machines. For a cluster it returns nil, as every object belongs to it.
func Concerns(s *facts.Snapshot, o facts.Object) func(at string) bool {
	switch o.Kind {
	case "Machine":
		return walker{s}.concerns(o.Name)
	case "MachinePool":
		return walker{s}.concernsPool(o.Name)
	}
	return nil
}

// Object returns the first fault of an object and of the objects that it depends on. It returns an error if the
// snapshot does not contain the object.
func Object(s *facts.Snapshot, o facts.Object) (Answer, error) {
	w := walker{s}
	if o.Kind == "Cluster" {
		return w.forCluster(), nil
	}
	if s.Asked != nil {
		return w.done(w.other(s.Asked, true), o.Kind+"/"+o.Name), nil
	}
	own := w.managed(o)
	if own != nil {
		a := w.done(own(), o.Kind+"/"+o.Name)
		w.note(&a, o)
		return a, nil
	}
	if own = w.running(o); own != nil {
		return w.done(own(), o.Kind+"/"+o.Name), nil
	}
	switch {
	case o.Namespace == "":
		return Answer{}, fmt.Errorf("%s %s is not in cluster %s", o.Kind, o.Name, o.Cluster.Name)
	case s.Unreachable != "":
		return Answer{}, fmt.Errorf("ask cluster %s for its %ss: %s", o.Cluster.Name, o.Kind, s.Unreachable)
	}
	return Answer{}, fmt.Errorf("there is no %s %s in namespace %s of cluster %s; name it as %s/NAMESPACE/NAME",
		o.Kind, o.Name, o.Namespace, o.Cluster.Name, o.Kind)
}

// note adds notes about the boot if the examined object is a machine.
func (f walker) note(a *Answer, o facts.Object) {
	for i := range f.Machines {
		if m := &f.Machines[i]; o.Kind == "Machine" && m.Name == o.Name && len(a.Notes) == 0 && a.Step != "guest" {
			a.Notes = f.BootNotes(m)
		}
	}
}

// managed returns the walk for an object of the management cluster, or nil if there is no such object.
func (f walker) managed(o facts.Object) func() *finding {
	switch o.Kind {
	case "Machine":
		return of(f.Machines, func(m *clusterv1.Machine) bool { return m.Name == o.Name }, f.forMachine)
	case "MachinePool":
		return of(f.Pools, func(p *clusterv1.MachinePool) bool { return p.Name == o.Name }, f.forPool)
	case "MachineDeployment":
		return of(f.Deployments, func(d *clusterv1.MachineDeployment) bool { return d.Name == o.Name }, f.forDeployment)
	case "MachineSet":
		return of(f.Sets, func(s *clusterv1.MachineSet) bool { return s.Name == o.Name }, f.forSet)
	case "KubeadmControlPlane":
		if f.ControlPlane != nil && f.ControlPlane.Name == o.Name {
			return f.cluster
		}
	}
	return nil
}

// of returns the walk for the item of a list that meant accepts, or nil.
func of[T any](items []T, meant func(*T) bool, walk func(*T) *finding) func() *finding {
	for i := range items {
		if meant(&items[i]) {
			return func() *finding { return walk(&items[i]) }
		}
	}
	return nil
}

// forCluster examines the cluster, its network, its control plane, then its pools, sets, machines and workloads, and
// last its Available condition.
func (f walker) forCluster() Answer {
	a := f.cluster()
	if a == nil || a.Waiting {
		rest := func() *finding {
			return first(each(f.Pools, f.pool), each(f.Machines, f.machine), each(f.Deployments, f.deployment), each(f.Sets, f.set),
				each(f.HealthChecks, f.healthCheck), f.workloads, f.others, f.available)
		}
		a = first(func() *finding { return a }, rest)
	}
	return f.done(a, "Cluster/"+f.Cluster.Name)
}

// forMachine examines the objects that the machine depends on, then the machine. A fault of its pool is reported only
// if the machine has none.
func (f walker) forMachine(m *clusterv1.Machine) *finding {
	needs := f.cluster()
	own := f.machine(m)
	if own != nil && (needs == nil || needs.Waiting || needs.Step == "workload" || needs.Step == "cni") {
		return own
	}
	if pool := f.poolOf(m); needs == nil && pool != nil {
		return f.pool(pool)
	}
	return needs
}

// forPool examines the cluster, the machine pool, and its machines.
func (f walker) forPool(p *clusterv1.MachinePool) *finding {
	return first(f.cluster, func() *finding { return f.pool(p) },
		each(f.machinesWhere(func(m *clusterv1.Machine) bool { return f.poolOf(m) == p }), f.machine))
}

// forDeployment examines the cluster, a MachineDeployment, its sets and its machines.
func (f walker) forDeployment(d *clusterv1.MachineDeployment) *finding {
	sets := f.Sets[:0:0]
	for i := range f.Sets {
		if f.Sets[i].Labels[clusterv1.MachineDeploymentNameLabel] == d.Name {
			sets = append(sets, f.Sets[i])
		}
	}
	own := f.machinesWhere(func(m *clusterv1.Machine) bool { return m.Labels[clusterv1.MachineDeploymentNameLabel] == d.Name })
	return f.own(each(own, f.machine), func() *finding { return f.deployment(d) }, each(sets, f.set),
		func() *finding { return f.short(d) })
}

// forSet examines the cluster, a MachineSet and its machines.
func (f walker) forSet(s *clusterv1.MachineSet) *finding {
	own := f.machinesWhere(func(m *clusterv1.Machine) bool { return ownedBy(m, s.UID) })
	return f.own(each(own, f.machine), func() *finding { return f.set(s) })
}

// own examines what a set of machines needs, and then the set. A fault of the control plane explains a set only if the set
// itself is not well; otherwise it is the control plane's own.
func (f walker) own(checks ...func() *finding) *finding {
	a := f.cluster()
	if a == nil || a.Step != "controlplane" {
		return first(append([]func() *finding{func() *finding { return a }}, checks...)...)
	}
	own := first(checks...)
	if own != nil && own.Waiting {
		return a
	}
	return own
}

func (f walker) machinesWhere(meant func(*clusterv1.Machine) bool) (out []clusterv1.Machine) {
	for i := range f.Machines {
		if meant(&f.Machines[i]) {
			out = append(out, f.Machines[i])
		}
	}
	return out
}

// gaps returns the parts that were not read, and those that would be needed to explain more.
func (f walker) gaps() []string {
	out := slices.Clone(f.NotExamined)
	if f.Unreachable != "" {
		out = append(out, "nodes, pods and workloads: the API server of the cluster is not reached")
	}
	unregistered := slices.ContainsFunc(f.Machines, func(m clusterv1.Machine) bool { return m.Status.NodeRef.Name == "" })
	if f.Console == nil && unregistered {
		out = append(out, "boot logs of virtual machines: read from the local plane alone; casement logs MACHINE asks Azure")
	}
	if len(f.Cluster.Status.Conditions) == 0 && !f.Cluster.CreationTimestamp.IsZero() {
		out = append(out, "Cluster/"+f.Cluster.Name+": Cluster API has reported no condition of it")
	}
	return out
}

// forPod examines the node that a pod runs on, if it has a fault, and then the pod.
func (f walker) forPod(p *corev1.Pod) *finding {
	for i := range f.Machines {
		if m := &f.Machines[i]; p.Spec.NodeName != "" && m.Status.NodeRef.Name == p.Spec.NodeName {
			if a := f.machine(m); a != nil && !a.Waiting {
				return a
			}
		}
	}
	return f.pod(p)
}
