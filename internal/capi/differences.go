package capi

import "fmt"

// Difference is one difference between Cluster API on a local plane and upstream's Cluster API.
type Difference struct {
	// What describes the difference, Why is its reason, and Safe is the rule that makes it safe. Test is the name of
	// that rule's test, or "" if the rule is upstream's own. Buys is the measured cost of leaving the difference out.
	What, Why, Safe, Test, Buys string
}

// Differences returns all differences. They are for a machine with a few processors that runs everything; --upstream
// turns them off.
func Differences() []Difference {
	return []Difference{
		{"The gate ReconcilerRateLimiting is off; reads of a manager's cache wait for the manager's own writes (own.go).",
			"The gate lets an object have one pass a second, and a machine one in five seconds, which is most of the time that " +
				"a small cluster takes.",
			"A pass never acts on a list that lacks what its controller created or deleted: the read waits until the cache has it, " +
				"or until the time of the pass is over, after which the pass can write nothing.", "TestOwnWrites, TestOwnWritesOutliveNoPass",
			"50 nodes in 125 s for 192 s of a processor"},
		{"A failed connection to a workload cluster is tried again after 2 s in place of 30 s.",
			"A control plane boots within seconds.",
			"A cluster that answers is connected to once.", "",
			"2 nodes in 41 s"},
		{"Machine, MachineSet and ClusterResourceSetBinding are served in their stored version alone (components.go).",
			"The API server converts each change to each served version by webhook, 20 times for one machine.",
			"Controllers write these kinds; no template has them.", "TestServedVersions",
			"50 nodes in 61 s for 104 s of a processor"},
		{"Webhooks are not asked about updates that leave spec, labels and annotations alone, nor about updates of Machines and " +
			"KubeadmConfigs by Cluster API itself (components.go).",
			"Five calls for each machine, to servers of the same process.",
			"What users write is checked as upstream checks it.", "TestAskOfChanges",
			"50 nodes in 70 s for 119 s of a processor"},
		{"A pass over a MachineSet may take three minutes in place of one.",
			"It creates all missing machines one after the other.",
			"As upstream has it for control planes.", "",
			"400 nodes: nothing; 1,000 on a busy machine: an AzureMachine and a KubeadmConfig without Machine, which a pass " +
				"that ended in a creation left behind"},
	}
}

// Describe returns one line about the mode in which Cluster API runs.
func Describe(upstream bool) string {
	if upstream {
		return "as upstream ships it"
	}
	return fmt.Sprintf("%d differences from upstream, for speed (docs/design/cluster-api.md; up --upstream has none)", len(Differences()))
}
