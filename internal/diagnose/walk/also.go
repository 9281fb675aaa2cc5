package walk

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"casement.dev/casement/internal/diagnose/facts"
)

// maxAlso is the number of other causes in an answer.
const maxAlso = 5

// also returns the other faults of the objects for which keep returns true, each cause once, and the objects whose
// controllers have not observed their current spec yet. It returns nothing for a healthy object.
func (w walker) also(first *finding, keep func(at string) bool) []Seen {
	if first == nil || keep == nil {
		return nil
	}
	return w.rest(first, w.all(), keep)
}

// besides returns the other faults of the objects that an object of the workload cluster owns or selects.
func (w walker) besides(first *finding, o facts.Object) []Seen {
	owner := w.found(o)
	if first == nil || owner == nil {
		return nil
	}
	var all []Answer
	seen := map[string]bool{}
	for _, check := range w.parts(owner) {
		if a := check(); a != nil && !a.Waiting && !seen[a.At+"\x00"+a.Cause] {
			seen[a.At+"\x00"+a.Cause] = true
			all = append(all, w.answer(a, a.At))
		}
	}
	return w.rest(first, all, func(string) bool { return true })
}

// rest returns the answers other than the first one about objects for which keep returns true, each cause once.
func (w walker) rest(first *finding, all []Answer, keep func(at string) bool) []Seen {
	out, of, left := []Seen{}, map[string]int{}, 0
	more := map[string]int{}
	add := func(name string, s Seen) {
		if i, is := of[name]; is {
			more[out[i].At]++
			return
		}
		if len(out) == maxAlso {
			left++
			return
		}
		of[name] = len(out)
		out = append(out, s)
	}
	for _, a := range all {
		if a.At == first.At && a.Name() == first.Cause || a.Name() == first.Cause || len(a.Seen) == 0 || !keep(a.At) {
			continue
		}
		s := a.Seen[0]
		if s.Line == "" {
			s.Line = a.Means.Says
		}
		if s.Reason == "" {
			s.Reason = a.Name()
		}
		add(a.Name(), s)
	}
	for _, s := range w.unobserved() {
		if keep(s.At) && s.At != first.At {
			add(s.Reason, s)
		}
	}
	for i := range out {
		if n := more[out[i].At]; n > 0 {
			out[i].Line += fmt.Sprintf(" (and so %d more)", n)
		}
	}
	if left > 0 {
		out = append(out, Seen{At: "Cluster/" + w.Cluster.Name, Line: fmt.Sprintf("%d more causes", left),
			Show: "casement doctor " + w.Cluster.Name + w.in()})
	}
	return out
}

// unobserved returns the objects whose controllers have not observed their current spec.
func (w walker) unobserved() (out []Seen) {
	add := func(kind string, o metav1.Object, observed int64) {
		if observed > 0 && observed < o.GetGeneration() {
			out = append(out, Seen{At: kind + "/" + o.GetName(), Type: "Field", Reason: "OldGeneration",
				Line: fmt.Sprintf("status.observedGeneration: %d; metadata.generation: %d", observed, o.GetGeneration())})
		}
	}
	add("Cluster", w.Cluster, w.Cluster.Status.ObservedGeneration)
	if w.ControlPlane != nil {
		add("KubeadmControlPlane", w.ControlPlane, w.ControlPlane.Status.ObservedGeneration)
	}
	for i := range w.Deployments {
		add("MachineDeployment", &w.Deployments[i], w.Deployments[i].Status.ObservedGeneration)
	}
	for i := range w.Sets {
		add("MachineSet", &w.Sets[i], w.Sets[i].Status.ObservedGeneration)
	}
	return out
}

// concerned returns a function that reports whether an object belongs to the named object; nil if only the named object does.
func (w walker) concerned(kind, name string) func(at string) bool {
	switch kind {
	case "Cluster", "KubeadmControlPlane":
		return func(string) bool { return true }
	case "Machine":
		return w.concerns(name)
	case "MachinePool":
		return w.concernsPool(name)
	}
	return nil
}
