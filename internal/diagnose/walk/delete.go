package walk

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
)

// deletionUnderWay is the cause in an answer about an object whose deletion makes progress.
const deletionUnderWay = "Deleting"

// maxWaiting is the maximum number of objects that an answer names as the ones a deletion waits for.
const maxWaiting = 3

// slowDeletion is the time after which the deletion of an object that reports no reason for waiting is a fault.
const slowDeletion = 30 * time.Minute

// deleting returns the finding for a cluster that is being deleted: an obstacle, otherwise the objects for which the
// deletion waits. Missing objects are then no fault.
func (w walker) deleting() *finding {
	if w.Cluster.DeletionTimestamp.IsZero() {
		return nil
	}
	key := w.Cluster.Name + " -n " + w.Cluster.Namespace
	s := said{"owner", cause.Deletion, "Cluster/" + w.Cluster.Name, "casement wait " + key + " --for deleted"}
	a := w.waits(s, deletionUnderWay, "the cluster to be deleted", w.Cluster.DeletionTimestamp.Time)
	for i := range w.Machines {
		m := &w.Machines[i]
		if m.DeletionTimestamp.IsZero() {
			continue
		}
		leaving := w.leaving(m)
		if !leaving.Waiting {
			return leaving
		}
		if len(a.Evidence) < maxWaiting {
			a.Evidence = append(a.Evidence, leaving.line())
		}
	}
	if ac := w.AzureCluster; ac != nil && !ac.DeletionTimestamp.IsZero() {
		s := said{"infrastructure", cause.Azure, "AzureCluster/" + ac.Name,
			"kubectl describe azurecluster " + ac.Name + " -n " + ac.Namespace}
		if c := specific(ac.GetConditions()); c != nil && !inProgress(c.Reason) {
			return s.condition(c)
		} else if c != nil {
			a.Evidence = append(a.Evidence, redact.Line("AzureCluster/"+ac.Name+": "+c.Message, maxEvidence))
		}
	}
	if ac := w.AzureCluster; ac != nil && !ac.DeletionTimestamp.IsZero() {
		own := w.waits(said{"infrastructure", cause.Azure, "AzureCluster/" + ac.Name, "kubectl describe azurecluster " + ac.Name +
			" -n " + ac.Namespace}, deletionUnderWay, "the cluster's network to be deleted", ac.DeletionTimestamp.Time)
		if own = w.addFinalizers(own, &ac.ObjectMeta); own.Cause == "FinalizerStays" {
			return own
		}
	}
	if kcp := w.ControlPlane; kcp != nil && !kcp.DeletionTimestamp.IsZero() {
		own := w.waits(said{"controlplane", cause.Admission, "KubeadmControlPlane/" + kcp.Name, "kubectl describe kubeadmcontrolplane " +
			kcp.Name + " -n " + kcp.Namespace}, deletionUnderWay, "the control plane to be deleted", kcp.DeletionTimestamp.Time)
		if own = w.addFinalizers(own, &kcp.ObjectMeta); own.Cause == "FinalizerStays" {
			return own
		}
	}
	if c := condition(w.Cluster.Status.Conditions, clusterv1.ClusterDeletingCondition); c != nil && c.Status == metav1.ConditionTrue {
		if known := s.condition(c); !known.Unknown {
			return known
		}
		a.Evidence = append(a.Evidence, redact.Line(reported(c), maxEvidence))
	}
	if len(w.Machines)+len(w.Pools) == 0 && w.AzureCluster == nil && w.ControlPlane == nil {
		return w.addDanglingEvidence(w.addFinalizers(a, &w.Cluster.ObjectMeta))
	}
	return w.addFinalizers(a, &w.Cluster.ObjectMeta)
}

// addDanglingEvidence adds evidence to the finding about a cluster that is being deleted after all its objects are gone: dangling
// references, conditions and finalizers. A working controller would have removed its finalizer.
func (w walker) addDanglingEvidence(a *finding) *finding {
	if a.Cause != deletionUnderWay {
		return a
	}
	a.Evidence = nil
	if d := w.dangles("Cluster/", "owner"); d != nil {
		a.Evidence = append(a.Evidence, d.line()+", and it is not there")
	}
	for i := range w.Cluster.Status.Conditions {
		if c := &w.Cluster.Status.Conditions[i]; c.Status != metav1.ConditionTrue && c.Message != "" {
			a.Evidence = append(a.Evidence, redact.Line(reported(c), maxEvidence))
		}
	}
	for _, finalizer := range w.Cluster.Finalizers {
		a.Evidence = append(a.Evidence, "finalizer "+finalizer)
	}
	if w.Taken.Sub(w.Cluster.DeletionTimestamp.Time) > slowStatus {
		a.Waiting, a.Unknown, a.Type = false, true, "Field"
		a.Says = "the cluster is being deleted, nothing that belongs to it is left, and it stays; the cause is not known here"
		a.Fix = "make what the evidence names, so that its controller can finish; the log of Cluster API's manager says what it waits for"
	}
	return a
}

// addFinalizers adds foreign finalizers to the finding about an object that is being deleted, and turns it into a fault if the
// deletion takes long.
func (w walker) addFinalizers(a *finding, o *metav1.ObjectMeta) *finding {
	for _, finalizer := range o.Finalizers {
		if !strings.Contains(finalizer, "cluster.x-k8s.io") {
			a.Waiting, a.Cause = false, "FinalizerStays"
			a.Says = "a finalizer that is none of Cluster API's keeps " + a.At
			a.Evidence = append([]string{"finalizer " + finalizer}, a.Evidence...)
			a.Fix = "let the finalizer's owner finish, or remove it when its owner is gone"
			a.Harm = "without the finalizer, what its owner still has to clean up stays"
			return a
		}
	}
	return w.overdue(a, o.DeletionTimestamp.Time, slowDeletion)
}

// leaving returns the finding for a machine that is being deleted.
func (w walker) leaving(m *clusterv1.Machine) *finding {
	s := said{"owner", cause.Deletion, "Machine/" + m.Name, "kubectl describe machine " + m.Name + " -n " + m.Namespace}
	if am := w.AzureMachines[m.Spec.InfrastructureRef.Name]; am != nil && !am.DeletionTimestamp.IsZero() {
		if c := specific(am.GetConditions()); c != nil && !inProgress(c.Reason) {
			return said{"infrastructure", cause.Azure, "AzureMachine/" + am.Name, s.next}.condition(c)
		}
	}
	if a := w.paused(s.at, m, s.next); a != nil {
		return a
	}
	a := w.waits(s, deletionUnderWay, "the machine to be deleted", m.DeletionTimestamp.Time)
	if am := w.AzureMachines[m.Spec.InfrastructureRef.Name]; am != nil && !am.DeletionTimestamp.IsZero() {
		at, next := "AzureMachine/"+am.Name, "kubectl describe azuremachine "+am.Name+" -n "+am.Namespace
		if p := w.paused(at, am, next); p != nil {
			return p
		}
		own := w.waits(said{"infrastructure", cause.Azure, at, next}, deletionUnderWay, "the virtual machine to be deleted",
			am.DeletionTimestamp.Time)
		if own = w.addFinalizers(own, &am.ObjectMeta); own.Cause == "FinalizerStays" {
			return own
		}
	}
	if c := condition(m.Status.Conditions, clusterv1.MachineDeletingCondition); c != nil && c.Status == metav1.ConditionTrue {
		known := s.condition(c)
		known.Evidence = append(known.Evidence, w.drainRules(m, c.Message)...)
		if known.Cause == "HookWaits" {
			known.Evidence = append(known.Evidence, hooks(m)...)
		}
		if known.Cause == "EvictionBlocked" {
			known.Next = "kubectl get poddisruptionbudgets -A"
		}
		if !known.Unknown && !w.normalWait(m, known) {
			return known
		}
		a.Evidence = known.Evidence
	}
	return w.addFinalizers(a, &m.ObjectMeta)
}

// awaited matches the pods whose end Cluster API waits for; a message can name several such groups.
var awaited = regexp.MustCompile(`Pods? ([^:]+): waiting for completion`)

// drainRules returns the reasons why a drain waits for the pods that a message names: the MachineDrainRules that select
// the machine and the pod, or the pod's own label, which takes precedence. Source: sigs.k8s.io/cluster-api
// internal/controllers/machine/drain.
func (w walker) drainRules(m *clusterv1.Machine, message string) (lines []string) {
	match := awaited.FindStringSubmatch(message)
	if match == nil {
		return nil
	}
	for i := range w.Pods {
		p := &w.Pods[i]
		if !slices.Contains(strings.Split(match[1], ", "), p.Namespace+"/"+p.Name) {
			continue
		}
		own, labelled := p.Labels[clusterv1.PodDrainLabel]
		if labelled {
			lines = append(lines, fmt.Sprintf("Pod/%s: label %s: %s", p.Name, clusterv1.PodDrainLabel, own))
		}
		for j := range w.DrainRules {
			r := &w.DrainRules[j]
			if !labelled && r.Spec.Drain.Behavior == clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted && w.drains(r, m, p) {
				lines = append(lines, fmt.Sprintf("MachineDrainRule/%s: spec.drain.behavior: %s; it selects Pod/%s", r.Name,
					r.Spec.Drain.Behavior, p.Name))
			}
		}
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	return lines[:min(len(lines), maxWaiting)]
}

// drains reports whether a rule selects a machine and a pod on it. Of the pod's namespace, only the label with its name is known.
func (w walker) drains(r *clusterv1.MachineDrainRule, m *clusterv1.Machine, p *corev1.Pod) bool {
	machine := len(r.Spec.Machines) == 0 || slices.ContainsFunc(r.Spec.Machines, func(s clusterv1.MachineDrainRuleMachineSelector) bool {
		return selects(s.Selector, m.Labels) && selects(s.ClusterSelector, w.Cluster.Labels)
	})
	return machine && (len(r.Spec.Pods) == 0 || slices.ContainsFunc(r.Spec.Pods, func(s clusterv1.MachineDrainRulePodSelector) bool {
		return selects(s.Selector, p.Labels) && selects(s.NamespaceSelector, map[string]string{corev1.LabelMetadataName: p.Namespace})
	}))
}

// selects reports whether labels match a selector; a nil selector matches all.
func selects(s *metav1.LabelSelector, of map[string]string) bool {
	if s == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(of))
}

// normalWait reports whether a machine's deletion waits for something that is part of every upgrade: the hook of its
// KubeadmControlPlane, which is removed when the machine's etcd member is gone, a disruption budget that lets pods
// leave one by one as others become ready elsewhere, pods that are ending, or disks that Azure detaches.
func (w walker) normalWait(m *clusterv1.Machine, a *finding) bool {
	since := w.Taken.Sub(m.DeletionTimestamp.Time)
	switch a.Cause {
	case "HookWaits":
		_, own := m.Annotations[controlplanev1.PreTerminateHookCleanupAnnotation]
		return (own && w.ControlPlane != nil || !hooked(m)) && since < slowAzure
	case "DrainRuleWaits":
		return since < slowDeletion
	case "EvictionBlocked", "PodsStay":
		return since < slowStatus
	case "VolumeAttached":
		return since < slowAzure
	}
	return false
}

// hooked reports whether a machine has a hook; its condition still names a hook for a short time after the hook was removed.
func hooked(m *clusterv1.Machine) bool { return len(hooks(m)) > 0 }

// hooks returns a machine's hooks with their owners, which are the values of the annotations, sorted.
func hooks(m *clusterv1.Machine) (lines []string) {
	for name, owner := range m.Annotations {
		if strings.HasPrefix(name, clusterv1.PreDrainDeleteHookAnnotationPrefix) ||
			strings.HasPrefix(name, clusterv1.PreTerminateDeleteHookAnnotationPrefix) {
			lines = append(lines, redact.Line(name+", owner: "+cmp.Or(owner, "not said"), maxEvidence))
		}
	}
	slices.Sort(lines)
	return lines
}

// line formats a finding as one line of evidence for another finding.
func (a *finding) line() string {
	text := fmt.Sprintf("%s: %s", a.At, a.Says)
	if len(a.Evidence) > 0 {
		text = a.At + ": " + a.Evidence[0]
	}
	return redact.Line(text, maxEvidence)
}
