package walk

import (
	"maps"
	"slices"
)

// all implements All.
func (f walker) all() []Answer {
	var out []Answer
	seen := map[string]bool{}
	add := func(a *finding) {
		if a == nil || a.Waiting || a.Cause == deletionUnderWay || seen[a.At+"\x00"+a.Cause] {
			return
		}
		seen[a.At+"\x00"+a.Cause] = true
		out = append(out, f.answer(a, a.At))
	}
	add(f.cluster())
	every(f.Pools, f.pool, add)
	every(f.Machines, f.machine, add)
	every(f.Deployments, f.deployment, add)
	every(f.Sets, f.set, add)
	every(f.HealthChecks, f.healthCheck, add)
	for _, node := range slices.Sorted(maps.Keys(f.Inside)) {
		for _, p := range Probes() {
			add(f.judge(p, node))
		}
	}
	f.everyWorkload(add)
	return out
}

// every adds the answer for each item.
func every[T any](items []T, examine func(*T) *finding, add func(*finding)) {
	for i := range items {
		add(examine(&items[i]))
	}
}

// concerns implements Concerns for a machine.
func (f walker) concerns(name string) func(at string) bool {
	own := map[string]bool{"Machine/" + name: true, "guest of Machine/" + name: true}
	for i := range f.Machines {
		m := &f.Machines[i]
		if m.Name != name {
			continue
		}
		own[m.Spec.InfrastructureRef.Kind+"/"+m.Spec.InfrastructureRef.Name] = true
		own["KubeadmConfig/"+m.Spec.Bootstrap.ConfigRef.Name] = true
		own["Node/"+m.Status.NodeRef.Name] = true
		for j := range f.Pods {
			if f.Pods[j].Spec.NodeName == m.Status.NodeRef.Name && m.Status.NodeRef.Name != "" {
				own["Pod/"+f.Pods[j].Name] = true
			}
		}
	}
	return func(at string) bool { return own[at] }
}

// concernsPool implements Concerns for a machine pool.
func (f walker) concernsPool(name string) func(at string) bool {
	own := map[string]bool{"MachinePool/" + name: true}
	var of []func(string) bool
	for i := range f.Pools {
		p := &f.Pools[i]
		if p.Name != name {
			continue
		}
		own["AzureMachinePool/"+p.Spec.Template.Spec.InfrastructureRef.Name] = true
		own["KubeadmConfig/"+p.Spec.Template.Spec.Bootstrap.ConfigRef.Name] = true
		for j := range f.Machines {
			if f.poolOf(&f.Machines[j]) == p {
				of = append(of, f.concerns(f.Machines[j].Name))
			}
		}
	}
	return func(at string) bool {
		return own[at] || slices.ContainsFunc(of, func(concerns func(string) bool) bool { return concerns(at) })
	}
}
