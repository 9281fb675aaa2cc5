package walk

import (
	"maps"
	"slices"
)

// all implements the function All.
func (w walker) all() []Answer {
	var out []Answer
	seen := map[string]bool{}
	add := func(a *finding) {
		if a == nil || a.Waiting || a.Cause == deletionUnderWay || seen[a.At+"\x00"+a.Cause] {
			return
		}
		seen[a.At+"\x00"+a.Cause] = true
		out = append(out, w.answer(a, a.At))
	}
	add(w.cluster())
	every(w.Pools, w.pool, add)
	every(w.Machines, w.machine, add)
	every(w.Deployments, w.deployment, add)
	every(w.Sets, w.set, add)
	every(w.HealthChecks, w.healthCheck, add)
	for _, node := range slices.Sorted(maps.Keys(w.Inside)) {
		for _, p := range Probes() {
			add(w.judge(p, node))
		}
	}
	w.everyWorkload(add)
	return out
}

// every calls add with the result of examine for each item.
func every[T any](items []T, examine func(*T) *finding, add func(*finding)) {
	for i := range items {
		add(examine(&items[i]))
	}
}

// concerns implements Concerns for a machine.
func (w walker) concerns(name string) func(at string) bool {
	own := map[string]bool{"Machine/" + name: true, "guest of Machine/" + name: true}
	for i := range w.Machines {
		m := &w.Machines[i]
		if m.Name != name {
			continue
		}
		own[m.Spec.InfrastructureRef.Kind+"/"+m.Spec.InfrastructureRef.Name] = true
		own["KubeadmConfig/"+m.Spec.Bootstrap.ConfigRef.Name] = true
		own["Node/"+m.Status.NodeRef.Name] = true
		for j := range w.Pods {
			if node := m.Status.NodeRef.Name; node != "" && (w.Pods[j].Spec.NodeName == node || pinned(&w.Pods[j]) == node) {
				own["Pod/"+w.Pods[j].Name] = true
			}
		}
	}
	return func(at string) bool { return own[at] }
}

// concernsPool implements Concerns for a machine pool.
func (w walker) concernsPool(name string) func(at string) bool {
	own := map[string]bool{"MachinePool/" + name: true}
	var of []func(string) bool
	for i := range w.Pools {
		p := &w.Pools[i]
		if p.Name != name {
			continue
		}
		own["AzureMachinePool/"+p.Spec.Template.Spec.InfrastructureRef.Name] = true
		own["KubeadmConfig/"+p.Spec.Template.Spec.Bootstrap.ConfigRef.Name] = true
		for j := range w.Machines {
			if w.poolOf(&w.Machines[j]) == p {
				of = append(of, w.concerns(w.Machines[j].Name))
			}
		}
	}
	return func(at string) bool {
		return own[at] || slices.ContainsFunc(of, func(concerns func(string) bool) bool { return concerns(at) })
	}
}
