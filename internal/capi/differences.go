package capi

import "fmt"

// Difference is one way in which Cluster API on a local plane is not as upstream ships it.
type Difference struct {
	// What differs from upstream, Why, and the rule that keeps the difference Safe. Test is the name of
	// that rule's test, or "" if the rule is upstream's own.
	What, Why, Safe, Test string
}

// Differences returns all of them. They are for a machine with a few processors that runs everything; --upstream turns them off.
func Differences() []Difference {
	return []Difference{
		{"The gate ReconcilerRateLimiting is off; reads of a manager's cache wait for the manager's own writes (own.go).",
			"The gate lets an object have one pass a second, and a machine one in five seconds, which is most of the time that " +
				"a small cluster takes.",
			"A pass never acts on a list that lacks what its controller created or deleted: the read waits until the cache has it, " +
				"or until the time of the pass is over, after which the pass can write nothing.", "TestOwnWrites, TestOwnWritesOutliveNoPass"},
		{"An object rests after a pass: five times as long as the pass took, a second at most, and 10 ms for each object of its " +
			"kind that is being reconciled (internal/queue).",
			"One pass serves several events, and what a machine costs does not grow with their number.",
			"An event during the rest triggers a pass after it; retries and later times stay as they are.", "TestRest"},
		{"The three managers share one cache (cache.go).",
			"Each alone would watch and decode the same Machines and Clusters.",
			"It keeps all that one of their own caches keeps.", "TestSharedCache"},
		{"Machines are not reconciled when the status of their MachineSet or MachineDeployment alone changes (quiet.go).",
			"The status of a set changes with each of its machines, and a pass over all of them followed.",
			"The Machine controller reads the spec and the annotations of a set, and no status.", "TestQuiet"},
		{"Lists of all nodes of a cluster share the cache's objects (nodes.go).",
			"The copies for a new cluster grow with the square of its size.",
			"Only lists without options, whose readers in Cluster API copy what they change.", "TestUncopiedNodes"},
		{"The bootstrap data of machine pools is made as soon as their control plane is initialized (bootstrap.go, joinPools).",
			"No event of a pool's config says so; it waits for half a minute.",
			"It triggers the same pass earlier.", ""},
		{"A failed connection to a workload cluster is tried again after 2 s in place of 30 s.",
			"A control plane boots within seconds.",
			"A cluster that answers is connected to once.", ""},
		{"Machine, MachineSet and ClusterResourceSetBinding are served in their stored version alone (components.go).",
			"The API server converts each change to each served version by webhook, 20 times for one machine.",
			"Controllers write these kinds; no template has them.", "TestServedVersions"},
		{"Webhooks are not asked about updates that leave spec, labels and annotations alone, nor about updates of Machines and " +
			"KubeadmConfigs by Cluster API itself (components.go).",
			"Five calls for each machine, to servers of the same process.",
			"What users write is checked as upstream checks it.", "TestAskOfChanges"},
		{"A pass over a MachineSet may take three minutes in place of one.",
			"It creates all missing machines one after the other.",
			"As upstream has it for control planes.", ""},
	}
}

// Describe returns a line about how Cluster API runs.
func Describe(upstream bool) string {
	if upstream {
		return "as upstream ships it"
	}
	return fmt.Sprintf("%d differences from upstream, for speed (docs/design/cluster-api.md; up --upstream has none)", len(Differences()))
}
