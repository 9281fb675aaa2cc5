package walk

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/cause"
)

// misfits are the scheduler's messages about nodes with their fixes, the last filter first: a node that a late filter
// rejects has passed the filters before, and so is closest to a fit. Source: messages and order of the plugins in
// k8s.io/kubernetes pkg/scheduler/framework/plugins and pkg/scheduler/apis/config/v1/default_plugins.go.
var misfits = []struct{ says, fix string }{
	{"device class", "make the DeviceClass that the message names, or install the driver that brings it: kubectl get deviceclasses"},
	{"anti-affinity", "add nodes, or relax the pod's anti-affinity"},
	{"missing required label", "label the nodes with the topologyKey of topologySpreadConstraints, or correct it"},
	{"topology spread", "add nodes in the missing domain, or relax topologySpreadConstraints"},
	{"persistent volumes to bind", "make a volume that fits the pod's claims, or name a StorageClass that makes one"},
	{"max volume count", "take a VM size with more data disks or add nodes: each claim of the pod is one disk of its node"},
	{"Insufficient ", "lower the pod's requests, or add machines: kubectl scale machinedeployment NAME --replicas N (in " +
		"the management cluster)"},
	{"Too many pods", "add nodes, or raise maxPods of the kubelet"},
	{"free ports", "take hostPort out, or run one such pod per node"},
	{"untolerated taint", "give the pod a toleration of the taint that keeps it off, or take the taint off the nodes"},
	{"were unschedulable", "uncordon the nodes (kubectl uncordon NODE), once whoever cordoned them is done"},
	{"node affinity/selector", "correct nodeSelector or affinity, or label the nodes"}, // last: most pods exclude some nodes so
}

// offered is the fix for a missing extended resource, such as microsoft.com/directx: a device plugin provides it, so new
// machines do not help.
const offered = "run the device plugin that offers the resource, which the message names, on the nodes, or take the resource out of the pod"

// extended matches a scheduler's message about an extended resource, whose name has a domain.
var extended = regexp.MustCompile(`Insufficient \S+/\S+`)

// tainted returns the taints that keep a pod off the nodes with the labels that it requires, without the control
// plane's own taint.
func (w walker) tainted(p *corev1.Pod) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(w.Nodes)) {
		n := w.Nodes[name]
		if !selects(&metav1.LabelSelector{MatchLabels: p.Spec.NodeSelector}, n.Labels) {
			continue
		}
		for _, t := range n.Spec.Taints {
			tolerated := slices.ContainsFunc(p.Spec.Tolerations, func(by corev1.Toleration) bool {
				return by.ToleratesTaint(klog.Background(), &t, false)
			})
			if !tolerated && t.Effect != corev1.TaintEffectPreferNoSchedule && t.Key != controlPlane && t.Key != corev1.TaintNodeUnschedulable &&
				len(lines) < maxNodes {
				lines = append(lines, "Node/"+name+" has the taint "+t.ToString())
			}
		}
	}
	return lines
}

// controlPlane is the label of the nodes of the control plane, and the taint that keeps pods off them.
const controlPlane = "node-role.kubernetes.io/control-plane"

// leavingTaint is the taint that the cluster autoscaler sets on a node before it removes the node; its value is the
// time in seconds. Source: k8s.io/autoscaler cluster-autoscaler/utils/taints.
const leavingTaint = "ToBeDeletedByClusterAutoscaler"

// abandoned finds a machine whose node the cluster autoscaler has marked for removal but not removed.
func (w walker) abandoned(m *clusterv1.Machine) *finding {
	n := w.Nodes[m.Status.NodeRef.Name]
	if n == nil || !m.DeletionTimestamp.IsZero() {
		return nil
	}
	i := slices.IndexFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == leavingTaint })
	if i < 0 {
		return nil
	}
	since := n.Spec.Taints[i].TimeAdded.DeepCopy()
	if seconds, err := strconv.ParseInt(n.Spec.Taints[i].Value, 10, 64); err == nil {
		since = new(metav1.Unix(seconds, 0))
	}
	s := said{"node", cause.Node, "Node/" + n.Name, "kubectl describe node " + n.Name}
	a := w.waits(s, "AutoscalerTaint", "the cluster autoscaler, which has marked the node for removal, to remove its machine", time.Time{})
	a.Type, a.Evidence = "Field", []string{"spec.taints: " + n.Spec.Taints[i].ToString()}
	if since != nil && w.Taken.Sub(since.Time) > slowAzure {
		a.Waiting, a.Says = false, "the cluster autoscaler has marked the node for removal and has not removed it, so no pod is placed on it"
		a.Fix, a.Harm = "kubectl taint node "+n.Name+" "+leavingTaint+"-", "see first that no autoscaler is at work on the node: its log, its pod"
	}
	return a
}

// cured reports whether a new node may accept a pod with this scheduler's message.
func cured(a *finding, message string) bool {
	return (a.Cause == "Unschedulable" || a.Cause == "VolumeElsewhere") && !strings.Contains(message, "device class")
}

// cordonedFor returns the worker nodes with the labels that a pod requires, if all of them are cordoned.
func (w walker) cordonedFor(p *corev1.Pod) (names []string) {
	for name, n := range w.Nodes {
		_, plane := n.Labels[controlPlane]
		fits := !plane
		for label, value := range p.Spec.NodeSelector {
			fits = fits && n.Labels[label] == value
		}
		switch {
		case fits && !n.Spec.Unschedulable:
			return nil
		case fits:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// since returns the time at which a node was cordoned, or zero.
func (w walker) since(node string) time.Time {
	for _, t := range w.Nodes[node].Spec.Taints {
		if t.Key == corev1.TaintNodeUnschedulable && t.TimeAdded != nil {
			return t.TimeAdded.Time
		}
	}
	return time.Time{}
}

// cordoned finds a machine whose node has been cordoned for longer than any drain takes.
func (w walker) cordoned(m *clusterv1.Machine) *finding {
	n := w.Nodes[m.Status.NodeRef.Name]
	if n == nil || !n.Spec.Unschedulable || !m.DeletionTimestamp.IsZero() {
		return nil
	}
	since := w.since(n.Name)
	s := said{"node", cause.Node, "Node/" + n.Name, "kubectl describe node " + n.Name}
	a := w.waits(s, "Cordoned", "whoever cordoned the node, so that no pod is placed on it", since)
	a.Type, a.Evidence = "Field", []string{"spec.unschedulable: true"}
	if w.Taken.Sub(since) > slowAzure {
		a.Waiting, a.Says = false, "the node is cordoned, so no pod is placed on it"
		a.Fix, a.Harm = "kubectl uncordon "+n.Name, "whoever cordoned it may have had a reason"
	}
	return a
}

// misfit sets the fix for a pod that fits no node, from the scheduler's message, and adds the required labels that no node has.
func (w walker) misfit(a *finding, p *corev1.Pod, message string) *finding {
	if a.Cause != "Unschedulable" {
		return a
	}
	message, _, _ = strings.Cut(message, "preemption:")
	cordoned := w.cordonedFor(p)
	if len(cordoned) > 0 && strings.Contains(message, "were unschedulable") && !strings.Contains(message, "Insufficient ") {
		a.Cause, a.Says = "NodesCordoned", "the nodes that the pod asks for are cordoned, so no pod is placed on them"
		a.Fix, a.Harm = "kubectl uncordon "+strings.Join(cordoned, " "), "whoever cordoned them may not be done"
		a.Waiting = w.Taken.Sub(w.since(cordoned[0])) < slowStatus // the pods of a drained node are created again before the node is uncordoned
		return a.with("spec.unschedulable: true of Node/" + strings.Join(cordoned, ", Node/"))
	}
	var fixes []string
	for _, m := range misfits {
		switch {
		case m.says == "Insufficient " && extended.MatchString(message):
			fixes = append(fixes, offered)
		case m.says == "topology spread" && strings.Contains(message, "missing required label"):
		case strings.Contains(message, m.says):
			fixes = append(fixes, m.fix)
		}
	}
	_, reasons, _ := strings.Cut(message, "available: ")
	other := slices.ContainsFunc(strings.Split(reasons, ", "), func(reason string) bool {
		return !slices.ContainsFunc(misfits, func(m struct{ says, fix string }) bool { return strings.Contains(reason, m.says) })
	})
	if len(fixes) > 0 && other {
		fixes = append(fixes, "see what the message says of the other nodes")
	}
	if len(fixes) > 0 {
		a.Fix = strings.Join(fixes, "; ")
	}
	if strings.Contains(message, "untolerated taint") {
		a.Evidence = append(a.Evidence, w.tainted(p)...)
	}
	for _, label := range slices.Sorted(maps.Keys(p.Spec.NodeSelector)) {
		value, has := p.Spec.NodeSelector[label], false
		for _, n := range w.Nodes {
			has = has || n.Labels[label] == value
		}
		if !has && len(w.Nodes) > 0 {
			a.Evidence = append(a.Evidence, fmt.Sprintf("nodeSelector %s=%s: none of the %d nodes that were read has "+
				"it", label, value, len(w.Nodes)))
		}
	}
	return a
}
