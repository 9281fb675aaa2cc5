package cause

import "strings"

// sources describe the texts of each step.
var sources = map[Step]string{
	Azure: "a condition of an Azure object", Data: "a condition of a KubeadmConfig", Guest: "a line of a boot log",
	Node:  "a condition of a Node",
	Reach: "the error of a request to the API server", Admission: "a condition or event of what makes objects",
	Schedule: "the condition PodScheduled",
	Pull:     "a container's state, or an event about its image", Sandbox: "an event about a pod's sandbox", Volume: "an event about a volume",
	Container: "a container's state", Log: "a line of a container's log", Probe: "an event about a probe", Service: "an event about a Service",
	Deletion: "the condition Deleting",
}

// Needs returns a description of the evidence for a cause at a step: its source, the reasons and codes, the text, and
// the programs that have to have written it.
func (c Cause) Needs(step Step) string {
	parts := []string{}
	if len(c.reasons) > 0 {
		parts = append(parts, "the reason or code "+strings.Join(c.reasons, ", "))
	}
	if c.pattern != "" {
		parts = append(parts, "a text like "+c.pattern)
	}
	out := sources[step] + " with " + strings.Join(parts, ", or ")
	switch c.by {
	case nodeProgram:
		out += ", written by kubeadm, the kubelet or containerd"
	case agent:
		out += ", written by the boot agent or about it"
	}
	return out
}
