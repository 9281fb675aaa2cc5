package walk

import (
	"fmt"

	"casement.dev/casement/internal/diagnose/facts"
)

// walker judges a snapshot.
type walker struct{ *facts.Snapshot }

// Cluster returns the first thing that is wrong with a cluster and what is in it.
func Cluster(s *facts.Snapshot) Answer { return walker{s}.forCluster() }

// Object returns the first thing that is wrong with an object and with what it needs. The
// error says that the snapshot does not hold the object.
func Object(s *facts.Snapshot, o facts.Object) (Answer, error) {
	w := walker{s}
	switch o.Kind {
	case "Machine":
		for i := range s.Machines {
			if s.Machines[i].Name == o.Name {
				return w.forMachine(&s.Machines[i]), nil
			}
		}
	case "MachinePool":
		for i := range s.Pools {
			if s.Pools[i].Name == o.Name {
				return w.forPool(&s.Pools[i]), nil
			}
		}
	case "Pod":
		for i := range s.Pods {
			if p := &s.Pods[i]; p.Name == o.Name && p.Namespace == o.Namespace {
				return w.forPod(p), nil
			}
		}
		if s.Unreachable != "" {
			return Answer{}, fmt.Errorf("ask cluster %s for its pods: %s", o.Cluster.Name, s.Unreachable)
		}
		return Answer{}, fmt.Errorf("there is no pod %s in namespace %s of cluster %s; name it as pod/NAMESPACE/NAME", o.Name, o.Namespace, o.Cluster.Name)
	default:
		return w.forCluster(), nil
	}
	return Answer{}, fmt.Errorf("%s %s is not in cluster %s", o.Kind, o.Name, o.Cluster.Name)
}

// All returns what is wrong with every machine and pod, not only the first. A
// fault of the cluster comes first. What two objects report is in it once.
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
