package walk

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pinned returns the only node that a pod may run on, or "". The DaemonSet controller limits its pods in this way.
func pinned(p *corev1.Pod) string {
	if host := p.Spec.NodeSelector[corev1.LabelHostname]; host != "" {
		return host
	}
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil {
		return ""
	}
	required := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil || len(required.NodeSelectorTerms) != 1 {
		return ""
	}
	for _, field := range required.NodeSelectorTerms[0].MatchFields {
		if field.Key == metav1.ObjectNameField && field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
			return field.Values[0]
		}
	}
	return ""
}

// agent finds the fault of a DaemonSet's pod on a node that waits for this pod, or nil. The pod is more informative
// than the node.
func (w walker) agent(n *corev1.Node, serves func(*appsv1.DaemonSet) bool) *finding {
	for i := range w.Workloads.DaemonSets {
		d := &w.Workloads.DaemonSets[i]
		if !serves(d) || osOf(&d.Spec.Template.Spec) != n.Status.NodeInfo.OperatingSystem {
			continue
		}
		for j := range w.Pods {
			p := &w.Pods[j]
			if !ownedBy(p, d.UID) || p.Spec.NodeName != n.Name && pinned(p) != n.Name {
				continue
			}
			if a := w.pod(p); a != nil && !a.Waiting {
				return a.with(fmt.Sprintf("Node/%s waits for this pod of DaemonSet/%s", n.Name, d.Name))
			}
		}
	}
	return nil
}

// bringsCNI reports whether the pods of a DaemonSet install a CNI: they mount its directory.
func bringsCNI(d *appsv1.DaemonSet) bool {
	return slices.ContainsFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool {
		return v.HostPath != nil && strings.Contains(strings.ReplaceAll(v.HostPath.Path, `\`, "/"), "/cni")
	})
}

// managesNodes reports whether the pods of a DaemonSet initialize nodes for the cloud provider.
func managesNodes(d *appsv1.DaemonSet) bool { return strings.Contains(d.Name, "cloud-node-manager") }

// starved finds a node whose kubelet reserves all of a resource for itself, so that no pod that requests it fits.
func starved(n *corev1.Node) *finding {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		left, known := n.Status.Allocatable[name]
		if total := n.Status.Capacity[name]; known && left.Sign() <= 0 && total.Sign() > 0 {
			return &finding{Step: "node", At: "Node/" + n.Name, Type: "Field", Cause: "NothingAllocatable",
				Says:     "the node leaves nothing of a resource to pods: the kubelet reserves as much as there is, or more",
				Evidence: []string{fmt.Sprintf("status.allocatable.%[1]s: %[2]s, status.capacity.%[1]s: %[3]s", name, left.String(), total.String())},
				Fix: "lower system-reserved, kube-reserved or eviction-hard of the kubelet (kubeletExtraArgs of the bootstrap template), or " +
					"choose a larger VM size, and replace the machine", Next: "kubectl describe node " + n.Name}
		}
	}
	return nil
}

// full reports whether a scheduler's message means that nodes lack capacity, which pods return when they end.
func full(message string) bool {
	return slices.ContainsFunc([]string{"Insufficient ", "Too many pods", "free ports", "max volume count"}, func(words string) bool {
		return strings.Contains(message, words)
	})
}

// pinnedPod judges a scheduler's message about a pod that may run on only one node, so that new nodes do not help. Its node
// may be new and not accept pods until it is ready; or it may be full while a DaemonSet replaces the pod there.
func (w walker) pinnedPod(s said, a *finding, p *corev1.Pod, c *corev1.PodCondition) *finding {
	n, since := w.Nodes[pinned(p)], c.LastTransitionTime.Time
	if n != nil && strings.Contains(c.Message, "untolerated taint") && w.arrives(n) {
		return w.waits(s, c.Reason, "Node/"+n.Name+", which is new, to take pods: "+c.Message, since)
	}
	if n != nil {
		if none := starved(n); none != nil {
			none.Evidence = append(none.Evidence, a.Evidence...)
			return none
		}
	}
	if a = w.misfit(a, p, c.Message); a.Cause == "Unschedulable" && full(c.Message) {
		a.Fix = "make room on the node, which is the only one that the pod may run on: lower the requests of its pods, move others away, " +
			"or choose a larger VM size"
		return w.soon(a.since(since), "room on the pod's node")
	}
	return a
}

// arrives reports whether a node is new and does not accept pods yet.
func (w walker) arrives(n *corev1.Node) bool {
	if born := n.CreationTimestamp.Time; !born.IsZero() && w.Taken.Sub(born) > slowAzure {
		return false // a node that is not ready for so long will provide no capacity
	}
	return slices.ContainsFunc(n.Spec.Taints,
		func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady || t.Key == uninitializedTaint })
}
