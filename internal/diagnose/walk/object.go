package walk

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/facts"
)

// walker judges a snapshot.
type walker struct{ *facts.Snapshot }

// Cluster returns the first thing that is wrong with a cluster and what is in it.
func Cluster(s *facts.Snapshot) Answer { return walker{s}.forCluster() }

// All returns what is wrong with every object, not only the first, and neither what waits
// nor what is being deleted. A fault of the cluster comes first. What two objects report
// is in it once.
func All(s *facts.Snapshot) []Answer { return walker{s}.all() }

// Concerns returns whether an answer's object belongs to an object: to a machine itself,
// its config, its VM, its node, or a pod on that node; to a machine pool itself, its scale
// set, its config, or its machines. It is nil for a cluster, which everything belongs to.
func Concerns(s *facts.Snapshot, o facts.Object) func(at string) bool {
	switch o.Kind {
	case "Machine":
		return walker{s}.concerns(o.Name)
	case "MachinePool":
		return walker{s}.concernsPool(o.Name)
	}
	return nil
}

// Object returns the first thing that is wrong with an object and with what it needs. The
// error says that the snapshot does not hold the object.
func Object(s *facts.Snapshot, o facts.Object) (Answer, error) {
	w := walker{s}
	if o.Kind == "Cluster" {
		return w.forCluster(), nil
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

// note adds what happened in the boot of a machine that is asked about.
func (f walker) note(a *Answer, o facts.Object) {
	for i := range f.Machines {
		if m := &f.Machines[i]; o.Kind == "Machine" && m.Name == o.Name && len(a.Notes) == 0 && a.Step != "guest" {
			a.Notes = f.BootNotes(m)
		}
	}
}

// managed returns the walk of an object of the management cluster, or nil where there is
// no such object.
func (f walker) managed(o facts.Object) func() *Answer {
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

// of returns the walk of the item of a list that is meant, or nil.
func of[T any](items []T, meant func(*T) bool, walk func(*T) *Answer) func() *Answer {
	for i := range items {
		if meant(&items[i]) {
			return func() *Answer { return walk(&items[i]) }
		}
	}
	return nil
}

// forCluster walks the cluster, its network, its control plane, then its pools, sets and
// machines, what runs in it, and at the end whether Cluster API calls it available.
func (f walker) forCluster() Answer {
	a := f.cluster()
	if a == nil || a.Waiting {
		rest := func() *Answer {
			return first(each(f.Pools, f.pool), each(f.Machines, f.machine), each(f.Deployments, f.deployment), each(f.Sets, f.set),
				each(f.HealthChecks, f.healthCheck), f.workloads, f.available)
		}
		a = first(func() *Answer { return a }, rest)
	}
	return f.done(a, "Cluster/"+f.Cluster.Name)
}

// forMachine walks what the machine needs, and then the machine. A pool that is
// in trouble is named only when its machine is well.
func (f walker) forMachine(m *clusterv1.Machine) *Answer {
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

// forPool walks the cluster, the machine pool, and its machines.
func (f walker) forPool(p *clusterv1.MachinePool) *Answer {
	return first(f.cluster, func() *Answer { return f.pool(p) },
		each(f.machinesWhere(func(m *clusterv1.Machine) bool { return f.poolOf(m) == p }), f.machine))
}

// forDeployment walks the cluster, a MachineDeployment, its sets and its machines.
func (f walker) forDeployment(d *clusterv1.MachineDeployment) *Answer {
	sets := f.Sets[:0:0]
	for i := range f.Sets {
		if f.Sets[i].Labels[clusterv1.MachineDeploymentNameLabel] == d.Name {
			sets = append(sets, f.Sets[i])
		}
	}
	own := f.machinesWhere(func(m *clusterv1.Machine) bool { return m.Labels[clusterv1.MachineDeploymentNameLabel] == d.Name })
	return first(f.cluster, each(own, f.machine), func() *Answer { return f.deployment(d) }, each(sets, f.set),
		func() *Answer { return f.short(d) })
}

// forSet walks the cluster, a MachineSet and its machines.
func (f walker) forSet(s *clusterv1.MachineSet) *Answer {
	own := f.machinesWhere(func(m *clusterv1.Machine) bool { return ownedBy(m, s.UID) })
	return first(f.cluster, each(own, f.machine), func() *Answer { return f.set(s) })
}

func (f walker) machinesWhere(meant func(*clusterv1.Machine) bool) (out []clusterv1.Machine) {
	for i := range f.Machines {
		if meant(&f.Machines[i]) {
			out = append(out, f.Machines[i])
		}
	}
	return out
}

// gaps says what was not examined: what was not read, and what of it would be needed to
// say more.
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

// forPod walks the node that a pod runs on, where that is in trouble, and then
// the pod.
func (f walker) forPod(p *corev1.Pod) *Answer {
	for i := range f.Machines {
		if m := &f.Machines[i]; p.Spec.NodeName != "" && m.Status.NodeRef.Name == p.Spec.NodeName {
			if a := f.machine(m); a != nil && !a.Waiting {
				return a
			}
		}
	}
	return f.pod(p)
}
