package cluster

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"casement.dev/casement/internal/kind"
	"casement.dev/casement/internal/lint"
)

// resource is a kind to list.
type resource struct {
	schema.GroupVersionResource
	namespaced bool
}

func (r resource) is(group, name string) bool { return r.Group == group && r.Resource == name }

// String returns the kind's name as kubectl writes it: deployments.apps.
func (r resource) String() string { return r.GroupResource().String() }

// facts are the kinds that affect pods; they are read first.
var facts = []schema.GroupResource{
	{Resource: "namespaces"}, {Resource: "nodes"}, {Group: "node.k8s.io", Resource: "runtimeclasses"},
}

// workloads are the kinds that create pods or are examined with them. Owners come before the kinds that they create.
var workloads = []schema.GroupResource{
	{Group: "batch", Resource: "cronjobs"}, {Group: "apps", Resource: "deployments"},
	{Group: "apps", Resource: "statefulsets"}, {Group: "apps", Resource: "daemonsets"},
	{Resource: "replicationcontrollers"}, {Group: "apps", Resource: "replicasets"},
	{Group: "batch", Resource: "jobs"}, {Resource: "podtemplates"}, {Resource: "pods"},
	{Resource: "services"}, {Group: "networking.k8s.io", Resource: "networkpolicies"},
	{Group: "autoscaling", Resource: "horizontalpodautoscalers"},
	{Resource: "persistentvolumeclaims"}, {Resource: "persistentvolumes"}, {Group: "storage.k8s.io", Resource: "storageclasses"},
}

// machineOwners are the kinds of Cluster API that create others, owners first.
var machineOwners = kind.Matching(func(k kind.Kind) bool { return k.Machine != nil || k.Name == "Cluster" })

// choose selects and orders the served resources to read: kinds that affect pods, kinds with pod templates that the
// user named, workloads, and the kinds of Cluster API and its providers. Missing kinds of Kubernetes and of the user
// are reported; kinds of Cluster API are optional.
func choose(served []*metav1.APIResourceList, templates map[string][]string) (chosen []resource, absent []string) {
	known := map[schema.GroupResource]resource{}
	kinds := map[string][]resource{}
	var machines []resource
	for _, list := range served {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // lint reads no API with this name
		}
		for _, r := range list.APIResources {
			one := resource{version.WithResource(r.Name), r.Namespaced}
			known[one.GroupResource()] = one
			kinds[r.Kind] = append(kinds[r.Kind], one)
			if lint.OfClusterAPI(version.Group) {
				machines = append(machines, one)
			}
		}
	}
	built := func(wanted []schema.GroupResource) {
		for _, w := range wanted {
			if r, ok := known[w]; ok {
				chosen = append(chosen, r)
			} else {
				absent = append(absent, w.String())
			}
		}
	}
	built(facts)
	for _, kind := range slices.Sorted(maps.Keys(templates)) {
		if len(kinds[kind]) == 0 {
			absent = append(absent, kind)
		}
		chosen = append(chosen, kinds[kind]...)
	}
	built(workloads)
	slices.SortFunc(machines, func(a, b resource) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.String(), b.String()))
	})
	return unique(append(chosen, machines...)), absent
}

// concerns reports whether a group has kinds that lint reads.
func concerns(group string) bool {
	return lint.OfClusterAPI(group) || slices.ContainsFunc(slices.Concat(facts, workloads),
		func(r schema.GroupResource) bool { return r.Group == group })
}

// rank returns the position of a kind in the order of machine owners.
func rank(r resource) int {
	if i := slices.IndexFunc(machineOwners, func(k kind.Kind) bool { return k.Resource == r.Resource }); i >= 0 {
		return i
	}
	return len(machineOwners)
}

// unique removes duplicates.
func unique(all []resource) []resource {
	seen := map[resource]bool{}
	return slices.DeleteFunc(all, func(r resource) bool {
		again := seen[r]
		seen[r] = true
		return again
	})
}
