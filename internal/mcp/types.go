package mcp

import (
	"casement.dev/casement/internal/diagnose/checks"
	"casement.dev/casement/internal/lint"
)

// None is the input of a tool without parameters.
type None struct{}

// Object is the input of why.
type Object struct {
	Object string `json:"object" jsonschema:"NAME of a cluster, machine or node, or KIND/NAME, such as pod/shop/iis"`
	// Cluster is the workload cluster of a node, pod or other workload.
	Cluster   string `json:"cluster,omitempty" jsonschema:"the workload cluster of the object, where there are several"`
	Namespace string `json:"namespace,omitempty" jsonschema:"namespace of the Cluster API objects; the server's own if it is left out"`
}

// Cluster is the input of tree.
type Cluster struct {
	Cluster   string `json:"cluster" jsonschema:"name of the cluster"`
	Namespace string `json:"namespace,omitempty" jsonschema:"namespace of the Cluster API objects; the server's own if it is left out"`
}

// Patient is the input of doctor.
type Patient struct {
	Object    string `json:"object,omitempty" jsonschema:"a cluster, machine pool, machine or node; else the only cluster"`
	Namespace string `json:"namespace,omitempty" jsonschema:"namespace of the Cluster API objects; the server's own if it is left out"`
}

// Machine is the input of timeline.
type Machine struct {
	Machine   string `json:"machine" jsonschema:"a machine or its node"`
	Namespace string `json:"namespace,omitempty" jsonschema:"namespace of the Cluster API objects; the server's own if it is left out"`
}

// Logs is the input of logs.
type Logs struct {
	Machine   string   `json:"machine" jsonschema:"a machine, its node or its AzureMachine"`
	Logs      []string `json:"logs,omitempty" jsonschema:"such as boot, kubelet, containerd, cni, hns, kube-apiserver; else all"`
	Lines     int      `json:"lines,omitempty" jsonschema:"the number of last lines of each log, 1 to 2000; 100 if it is left out"`
	Namespace string   `json:"namespace,omitempty" jsonschema:"namespace of the Cluster API objects; the server's own if it is left out"`
}

// Manifests is the input of lint and preflight.
type Manifests struct {
	Manifests string `json:"manifests" jsonschema:"the manifests themselves, YAML or JSON, several documents in one text"`
}

// Name is the input of explain.
type Name struct {
	Name string `json:"name" jsonschema:"the ID of a rule or check such as WIN201 or D12, or a cause such as QuotaExceeded"`
}

// Tree is the objects of a cluster, each after its owner.
type Tree struct {
	Objects []Row `json:"objects"`
}

// Row is one object of a tree.
type Row struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Owner string `json:"owner,omitempty" jsonschema:"KIND/NAME of the object above it"`
	Ready string `json:"ready" jsonschema:"True, False or Unknown"`
	// Reason and Message are copied from the condition.
	Reason     string `json:"reason,omitempty"`
	Message    string `json:"message,omitempty"`
	Detail     string `json:"detail,omitempty"`
	FirstWrong string `json:"firstWrong,omitempty" jsonschema:"the cause, on the object where the cluster's trouble begins"`
}

// Doctor is the outcome of all checks.
type Doctor struct {
	Checks []checks.Result `json:"checks"`
}

// LogText is the lines of a machine's logs, each log below a heading.
type LogText struct {
	Text string `json:"text"`
	// Notes are messages about access methods and logs that could not be read.
	Notes []string `json:"notes,omitempty" jsonschema:"what could not be read, and why"`
}

// Lint is the result of lint.
type Lint struct {
	Findings []lint.Finding `json:"findings"`
	// Unread are the parts of the input that could not be read.
	Unread []string `json:"unread,omitempty" jsonschema:"parts of the input that could not be read, of which nothing is said"`
}

// Preflight is the result of preflight.
type Preflight struct {
	Findings    []lint.Finding `json:"findings"`
	Clusters    int            `json:"clusters"`
	Machines    int            `json:"machines"`
	Azure       string         `json:"azure,omitempty" jsonschema:"the Azure that was asked"`
	NotAsked    string         `json:"notAsked,omitempty" jsonschema:"why no Azure was asked: nothing is said of what is in it"`
	NotRendered []string       `json:"notRendered,omitempty" jsonschema:"clusters whose ClusterClass could not be rendered, with the reason"`
	Unread      []string       `json:"unread,omitempty" jsonschema:"parts of the input that could not be read, of which nothing is said"`
}

// Explanation is the explanation of a rule, check or cause.
type Explanation struct {
	Kind     string `json:"kind" jsonschema:"rule, check or cause"`
	Name     string `json:"name"`
	Title    string `json:"title,omitempty"`
	Severity string `json:"severity,omitempty"`
	Says     string `json:"says"`
	Fix      string `json:"fix,omitempty"`
	// Steps are the steps at which a cause is looked for.
	Steps []string `json:"steps,omitempty"`
	// Evidence has the evidence for a cause, at each of its steps.
	Evidence []string `json:"evidence,omitempty"`
	Bad      string   `json:"bad,omitempty" jsonschema:"an example that the rule finds"`
	Good     string   `json:"good,omitempty" jsonschema:"the example corrected"`
}
