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

// All returns the faults of all objects, without Waiting answers and without objects that are being deleted. Faults of
// the cluster come first. A fault that two objects report is returned once.
func All(s *facts.Snapshot) []Answer { return walker{s}.all() }

// Concerns returns a function that reports whether an answer's object, as KIND/NAME, belongs to o: for a machine, these
// are the machine, its config, its VM, its node, and the pods on that node; for a machine pool, the pool, its scale
// set, its config and its machines. For a cluster it returns nil, because every object belongs to it.
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
		return w.done(first(w.step(o), func() *finding { return w.other(s.Asked, true) }), o.Kind+"/"+o.Name), nil
	}
	own := w.managed(o)
	if own != nil {
		notes, failed := w.notes(o)
		found := first(own, func() *finding { return failed })
		a := w.done(found, o.Kind+"/"+o.Name)
		a.Also = append(a.Also, w.also(found, w.concerned(o.Kind, o.Name))...)
		if len(a.Notes) == 0 && a.Step != "guest" {
			a.Notes = notes
		}
		return a, nil
	}
	if own = w.running(o); own != nil {
		found := own()
		a := w.done(found, o.Kind+"/"+o.Name)
		a.Also = append(a.Also, w.besides(found, o)...)
		return a, nil
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

// NeedsOthers reports whether objects of other kinds, which facts.Snapshot.More reads, may explain a fault of an object
// of this kind whose usual objects are healthy.
func NeedsOthers(kind string) bool { return kind == "Cluster" || kind == "PersistentVolumeClaim" }

// mostNotes is the maximum number of notes about the machines of a set, whose boots are alike.
const mostNotes = 5

// notes returns notes about the boots of the named machine or of the machines of the named set, and the first failure among them.
func (w walker) notes(o facts.Object) (notes []string, failed *finding) {
	for i := range w.Machines {
		m := &w.Machines[i]
		switch {
		case o.Kind == "Machine" && m.Name == o.Name, o.Kind == "MachineDeployment" && m.Labels[clusterv1.MachineDeploymentNameLabel] == o.Name,
			o.Kind == "MachineSet" && m.Labels[clusterv1.MachineSetNameLabel] == o.Name:
		default:
			continue
		}
		own := w.BootNotes(m)
		if failed == nil && m.DeletionTimestamp.IsZero() {
			failed = w.failedBootCommand(m, own)
		}
		for _, note := range own {
			if !slices.Contains(notes, note) && (o.Kind == "Machine" || len(notes) < mostNotes) {
				notes = append(notes, note)
			}
		}
	}
	return notes, failed
}

// managed returns the walk for an object of the management cluster, or nil if there is no such object.
func (w walker) managed(o facts.Object) func() *finding {
	switch o.Kind {
	case "Machine":
		return of(w.Machines, func(m *clusterv1.Machine) bool { return m.Name == o.Name }, w.forMachine)
	case "MachinePool":
		return of(w.Pools, func(p *clusterv1.MachinePool) bool { return p.Name == o.Name }, w.forPool)
	case "MachineDeployment":
		return of(w.Deployments, func(d *clusterv1.MachineDeployment) bool { return d.Name == o.Name }, w.forDeployment)
	case "MachineSet":
		return of(w.Sets, func(s *clusterv1.MachineSet) bool { return s.Name == o.Name }, w.forSet)
	case "KubeadmControlPlane":
		if w.ControlPlane != nil && w.ControlPlane.Name == o.Name {
			return w.cluster
		}
	}
	return nil
}

// step returns the function that examines an object without a walk of its own.
func (w walker) step(o facts.Object) func() *finding {
	return func() *finding {
		switch {
		case o.Kind == "AzureCluster" && w.AzureCluster != nil && w.AzureCluster.Name == o.Name:
			return first(w.infra, w.serverUnreachable)
		case o.Kind == "MachineHealthCheck":
			return each(slices.DeleteFunc(slices.Clone(w.HealthChecks), func(h clusterv1.MachineHealthCheck) bool { return h.Name != o.Name }),
				func(h *clusterv1.MachineHealthCheck) *finding {
					return first(func() *finding { return w.healthCheck(h) }, func() *finding { return w.unhealthy(h) })
				})()
		case o.Kind == "Node": // a node that no machine has yet
			return each(w.machinesWhere(func(m *clusterv1.Machine) bool {
				am := w.AzureMachines[m.Spec.InfrastructureRef.Name]
				if am == nil || am.Spec.ProviderID == nil {
					return false
				}
				n := w.nodeOf(*am.Spec.ProviderID, am.Status.Addresses)
				return n != nil && n.Name == o.Name
			}), w.machine)()
		case o.Kind == "KubeadmConfig":
			return each(w.machinesWhere(func(m *clusterv1.Machine) bool { return m.Spec.Bootstrap.ConfigRef.Name == o.Name }),
				func(m *clusterv1.Machine) *finding { return w.bootstrap(m.Namespace, &m.Spec.Bootstrap) })()
		}
		return nil
	}
}

// of returns the walk for the item of a list for which meant returns true, or nil.
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
func (w walker) forCluster() Answer {
	a := w.cluster()
	if !w.Cluster.DeletionTimestamp.IsZero() { // the cluster's pods no longer have a node
		return w.done(a, "Cluster/"+w.Cluster.Name)
	}
	if a == nil || a.Waiting {
		rest := func() *finding {
			return first(each(w.Pools, w.pool), each(w.Machines, w.machine), each(w.Deployments, w.deployment), each(w.Sets, w.set),
				each(w.HealthChecks, w.healthCheck), w.workloads, w.others, each(w.Machines, w.version))
		}
		a = first(func() *finding { return a }, rest)
		if a == nil { // a Waiting finding is more informative than the cluster's condition Available
			a = w.available()
		}
	}
	out := w.done(a, "Cluster/"+w.Cluster.Name)
	out.Also = w.also(a, w.concerned("Cluster", w.Cluster.Name))
	return out
}

// forMachine examines the objects that the machine depends on, then the machine. It reports a fault of its pool only if
// the machine has none.
func (w walker) forMachine(m *clusterv1.Machine) *finding {
	needs := w.cluster()
	own := first(func() *finding { return w.machine(m) }, func() *finding { return w.version(m) }, func() *finding { return w.cordoned(m) },
		func() *finding { return w.abandoned(m) })
	if own != nil && (needs == nil || needs.Waiting || needs.Step == "workload" || needs.Step == "cni") {
		return own
	}
	if own != nil && needs != nil && needs.Step == "infrastructure" && !m.DeletionTimestamp.IsZero() && len(own.Evidence) > 0 {
		return own // the deletion's finding has the reason for waiting
	}
	if pool := w.poolOf(m); needs == nil && pool != nil {
		return w.pool(pool)
	}
	return needs
}

// forPool examines the cluster, the machine pool, and its machines.
func (w walker) forPool(p *clusterv1.MachinePool) *finding {
	own := w.machinesWhere(func(m *clusterv1.Machine) bool { return w.poolOf(m) == p })
	return first(w.cluster, func() *finding { return w.pool(p) }, each(own, w.machine), each(own, w.version))
}

// forDeployment examines the cluster, a MachineDeployment, its sets and its machines.
func (w walker) forDeployment(d *clusterv1.MachineDeployment) *finding {
	sets := w.Sets[:0:0]
	for i := range w.Sets {
		if w.Sets[i].Labels[clusterv1.MachineDeploymentNameLabel] == d.Name {
			sets = append(sets, w.Sets[i])
		}
	}
	own := w.machinesWhere(func(m *clusterv1.Machine) bool { return m.Labels[clusterv1.MachineDeploymentNameLabel] == d.Name })
	return w.own(each(own, w.machine), func() *finding { return w.deployment(d) }, each(sets, w.set),
		w.remedied(own), func() *finding { return w.short(d) }, each(own, w.version), func() *finding { return w.keepsOldTemplate(d) })
}

// forSet examines the cluster, a MachineSet and its machines.
func (w walker) forSet(s *clusterv1.MachineSet) *finding {
	own := w.machinesWhere(func(m *clusterv1.Machine) bool { return ownedBy(m, s.UID) })
	return w.own(each(own, w.machine), func() *finding { return w.set(s) }, w.remedied(own))
}

// remedied returns the function that examines the health checks of machines.
func (w walker) remedied(machines []clusterv1.Machine) func() *finding {
	var of []clusterv1.MachineHealthCheck
	for _, h := range w.HealthChecks {
		if slices.ContainsFunc(machines, func(m clusterv1.Machine) bool { return slices.Contains(h.Status.Targets, m.Name) }) {
			of = append(of, h)
		}
	}
	return each(of, w.loops)
}

// own examines the cluster, and then a set of machines. A fault of the control plane explains a set only if the set
// itself waits; otherwise the set's own finding is returned.
func (w walker) own(checks ...func() *finding) *finding {
	a := w.cluster()
	if a == nil || a.Step != "controlplane" {
		return first(append([]func() *finding{func() *finding { return a }}, checks...)...)
	}
	own := first(checks...)
	if own != nil && own.Waiting {
		return a
	}
	return own
}

func (w walker) machinesWhere(meant func(*clusterv1.Machine) bool) (out []clusterv1.Machine) {
	for i := range w.Machines {
		if meant(&w.Machines[i]) {
			out = append(out, w.Machines[i])
		}
	}
	return out
}

// gaps returns the parts that were not read, and the parts that would be needed for more findings.
func (w walker) gaps() []string {
	out := slices.Clone(w.NotExamined)
	if w.Unreachable != "" {
		out = append(out, "nodes, pods and workloads: the API server of the cluster is not reached")
	}
	unregistered := slices.ContainsFunc(w.Machines, func(m clusterv1.Machine) bool { return m.Status.NodeRef.Name == "" })
	if w.Console == nil && unregistered {
		out = append(out, "boot logs of virtual machines: read from the local plane alone; casement logs MACHINE asks Azure")
	}
	if len(w.Cluster.Status.Conditions) == 0 && !w.Cluster.CreationTimestamp.IsZero() {
		out = append(out, "Cluster/"+w.Cluster.Name+": Cluster API has reported no condition of it")
	}
	return out
}

// forPod examines the node of a pod, or its virtual machine, and then the pod. Other faults of the machine, such as a
// pause, a waiting deletion or a failed command in the boot, do not prevent pods on its node from running.
func (w walker) forPod(p *corev1.Pod) *finding {
	for i := range w.Machines {
		if m := &w.Machines[i]; p.Spec.NodeName != "" && m.Status.NodeRef.Name == p.Spec.NodeName {
			if a := w.machine(m); a != nil && !a.Waiting && slices.Contains([]string{"node", "cni", "infrastructure", "pod"}, a.Step) {
				return a
			}
		}
	}
	return w.pod(p)
}
