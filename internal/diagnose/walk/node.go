package walk

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
)

// node examines the conditions of a machine's node, its network, and the results of the probes on it.
func (w walker) node(n *corev1.Node) *finding {
	s := said{"node", cause.Node, "Node/" + n.Name, "kubectl describe node " + n.Name}
	for _, c := range n.Status.Conditions {
		pressure := c.Type == corev1.NodeDiskPressure || c.Type == corev1.NodeMemoryPressure ||
			c.Type == corev1.NodePIDPressure || c.Type == corev1.NodeNetworkUnavailable
		if pressure && c.Status == corev1.ConditionTrue {
			return s.because(string(c.Type), c.Message)
		}
	}
	if a := starved(n); a != nil {
		return a
	}
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return w.notReady(n, c)
		}
	}
	for _, check := range []func() *finding{
		func() *finding { return reportedBy(s, n) }, func() *finding { return w.uninitialized(n) },
		func() *finding { return overlay(n) }, func() *finding { return w.cutOff(n) }, func() *finding { return w.unproxied(n) },
		func() *finding { return w.inside(n.Name, true) }, func() *finding { return w.inside(n.Name, false) },
	} {
		if a := check(); a != nil {
			return a
		}
	}
	return nil
}

// reportedBy finds a node condition that a program other than the kubelet set: such a problem detector reports a
// problem as True. Source: github.com/kubernetes/node-problem-detector, docs.
func reportedBy(s said, n *corev1.Node) *finding {
	for _, c := range n.Status.Conditions {
		kubelets := c.Type == corev1.NodeReady || strings.HasSuffix(string(c.Type), "Pressure") || c.Type == corev1.NodeNetworkUnavailable
		if kubelets || c.Status != corev1.ConditionTrue || strings.HasSuffix(string(c.Type),
			"Ready") || strings.HasSuffix(string(c.Type), "Healthy") {
			continue
		}
		a := s.because(c.Reason, c.Message)
		a.Type, a.Since = string(c.Type), c.LastTransitionTime.Time
		a.Cause, a.Unknown = c.Reason, true
		a.Says = fmt.Sprintf("a program on the node reports %s; the cause is not known here", c.Type)
		a.Fix = "see what the line says; casement logs " + n.Name + " shows the node's own logs"
		return a
	}
	return nil
}

// notReady explains a node that is not Ready by a fault that the probes found, otherwise by the kubelet's message.
func (w walker) notReady(n *corev1.Node, c *corev1.NodeCondition) *finding {
	if a := w.inside(n.Name, true); a != nil {
		a.Evidence = append(a.Evidence, redact.Line(c.Message, maxEvidence))
		return a
	}
	if a := w.noCNI(n); a != nil {
		return a
	}
	s := said{"node", cause.Node, "Node/" + n.Name, "kubectl describe node " + n.Name}
	a := s.because(c.Reason, c.Message)
	if a.Cause == "CNIMissing" {
		a.Step = "cni"
		a.Says = fmt.Sprintf("no CNI has configured this %s node", n.Status.NodeInfo.OperatingSystem)
		a.Next = "kubectl get pods -A --field-selector spec.nodeName=" + n.Name
		if own := w.agent(n, bringsCNI); own != nil {
			own.Evidence = append(own.Evidence, a.Evidence...)
			return own
		}
		if w.installsCNI(n.Status.NodeInfo.OperatingSystem) {
			a.Fix = "see why the CNI that is installed has not configured the node: its pod there, and that pod's log"
		}
	}
	if born := n.CreationTimestamp.Time; !born.IsZero() && w.Taken.Sub(born) < slowStatus {
		waiting := w.waits(s, a.Cause, "the new node to become Ready", born)
		waiting.Step, waiting.Evidence, waiting.Next = a.Step, a.Evidence, a.Next
		return waiting
	}
	return a
}
