package life

import (
	"encoding/json"
	"fmt"
)

// topology changes the topology of the Cluster if it has a ClusterClass.
func (l *life) topology(change func(topology map[string]any)) {
	l.t.Helper()
	var cluster struct {
		Spec struct{ Topology map[string]any }
	}
	if err := json.Unmarshal([]byte(l.management("get", "cluster", "demo", "-o", "json")), &cluster); err != nil {
		l.t.Fatal(err)
	}
	change(cluster.Spec.Topology)
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"topology": cluster.Spec.Topology}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.management("patch", "cluster", "demo", "--type", "merge", "-p", string(patch))
}

// named returns the element with a name in a list.
func (l *life) named(list any, name string) map[string]any {
	l.t.Helper()
	entries, _ := list.([]any)
	for _, e := range entries {
		if entry, _ := e.(map[string]any); entry["name"] == name {
			return entry
		}
	}
	l.t.Fatalf("no %s in the topology: %v", name, list)
	return nil
}

// resize requests a number of Windows machines.
func (l *life) resize(n int) {
	kind, name, _ := l.group()
	if !l.class {
		l.management("scale", kind, name, "--replicas", fmt.Sprint(n))
		return
	}
	l.topology(func(topology map[string]any) {
		workers, _ := topology["workers"].(map[string]any)
		if l.pools {
			l.named(workers["machinePools"], "mp-win")["replicas"] = n
		} else {
			l.named(workers["machineDeployments"], "md-win")["replicas"] = n
		}
	})
}
