package walk

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
)

func ownedBy(o metav1.Object, uid types.UID) bool {
	owner := metav1.GetControllerOf(o)
	return owner != nil && owner.UID == uid && uid != ""
}

// deployment examines whether a MachineDeployment's templates exist and whether it can create its MachineSets.
func (w walker) deployment(d *clusterv1.MachineDeployment) *finding {
	at := "MachineDeployment/" + d.Name
	if !d.DeletionTimestamp.IsZero() {
		s := said{"owner", cause.Deletion, at, "kubectl describe machinedeployment " + d.Name + " -n " + d.Namespace}
		return w.addFinalizers(w.waits(s, deletionUnderWay, "the machine deployment to be deleted", d.DeletionTimestamp.Time), &d.ObjectMeta)
	}
	if a := w.dangles(at, "template"); a != nil {
		return a
	}
	if p := condition(d.Status.Conditions, clusterv1.PausedCondition); p != nil && p.Status == metav1.ConditionTrue {
		return w.status(said{"owner", cause.Admission, at, "kubectl describe machinedeployment " + d.Name + " -n " + d.Namespace}, p)
	}
	s := said{"admission", cause.Admission, at, "kubectl describe machinedeployment " + d.Name + " -n " + d.Namespace}
	return w.refusal(s, d.UID, d.Spec.Replicas, d.Status.Replicas)
}

// short finds a MachineDeployment with fewer machines than its spec requires although its machines have no fault.
func (w walker) short(d *clusterv1.MachineDeployment) *finding {
	s := said{"owner", cause.Admission, "MachineDeployment/" + d.Name,
		"kubectl describe machinedeployment " + d.Name + " -n " + d.Namespace}
	c := bad(d.Status.Conditions, clusterv1.MachineDeploymentAvailableCondition)
	if c == nil && w.growing() {
		return nil
	} else if c == nil {
		return w.left(s, d.Status.Conditions)
	}
	return w.overdue(w.waits(s, c.Reason, "machines: "+reported(c), c.LastTransitionTime.Time), c.LastTransitionTime.Time, slowAzure)
}

// keepsOldTemplate reports, for a MachineDeployment that a user named, that its machines keep the previous template because its
// strategy requires it.
func (w walker) keepsOldTemplate(d *clusterv1.MachineDeployment) *finding {
	c := bad(d.Status.Conditions, clusterv1.MachineDeploymentMachinesUpToDateCondition)
	if c == nil || d.Spec.Rollout.Strategy.Type != clusterv1.OnDeleteMachineDeploymentStrategyType {
		return nil
	}
	s := said{"owner", cause.Admission, "MachineDeployment/" + d.Name, "kubectl describe machinedeployment " + d.Name + " -n " + d.Namespace}
	a := w.waits(s, "OldTemplateKept", "its strategy to be changed, or its machines to be deleted: they have the former template", time.Time{})
	a.Type, a.Evidence = c.Type, []string{"spec.rollout.strategy.type: OnDelete", redact.Line(reported(c), maxEvidence)}
	return a
}

// set examines why a MachineSet does not create its machines: a missing template, a preflight check, or an admission
// refusal.
func (w walker) set(set *clusterv1.MachineSet) *finding {
	if !set.DeletionTimestamp.IsZero() || !fewer(set.Spec.Replicas, set.Status.Replicas) {
		return nil
	}
	s := said{"admission", cause.Admission, "MachineSet/" + set.Name, "kubectl describe machineset " + set.Name + " -n " + set.Namespace}
	if a := w.dangles("MachineSet/"+set.Name, "template"); a != nil {
		return a
	}
	if c := created(set); c != nil && c.Status != corev1.ConditionTrue && c.Message != "" {
		if strings.Contains(c.Reason, "PreflightCheck") {
			return w.overdue(w.waits(s, c.Reason, "a preflight check of the MachineSet: "+c.Message, c.LastTransitionTime.Time),
				c.LastTransitionTime.Time, slowAzure)
		}
		a := s.because(c.Reason, c.Message)
		if strings.HasSuffix(c.Reason, "CloningFailed") && a.Cause == c.Reason {
			a.Cause, a.Step, a.Says, a.Fix = "TemplateUnusable", "template",
				"no machine can be made of the template", "correct the template that the message names"
		}
		a.Evidence = append(a.Evidence, counts(set.Spec.Replicas, set.Status.Replicas))
		return a
	}
	if a := w.refusal(s, set.UID, set.Spec.Replicas, set.Status.Replicas); a != nil {
		return a
	}
	c := condition(set.Status.Conditions, clusterv1.MachineSetScalingUpCondition)
	if c == nil || c.Status != metav1.ConditionTrue {
		return nil
	}
	if strings.Contains(c.Message, "blocked because") && !strings.Contains(c.Message, "preflight check") {
		a := s.condition(c)
		a.Step, a.Evidence = "template", evidence(reported(c))
		return a
	}
	return w.overdue(w.waits(s, c.Reason, "machines: "+reported(c), c.LastTransitionTime.Time), c.LastTransitionTime.Time, slowAzure)
}

// created returns Cluster API's condition about a MachineSet that could not create a machine. In the current API
// version it is only a deprecated condition.
func created(set *clusterv1.MachineSet) *clusterv1.Condition {
	old := set.Status.Deprecated
	if old == nil || old.V1Beta1 == nil {
		return nil
	}
	for i := range old.V1Beta1.Conditions {
		if c := &old.V1Beta1.Conditions[i]; c.Type == clusterv1.MachinesCreatedV1Beta1Condition {
			return c
		}
	}
	return nil
}

// refusal finds the newest warning about an object with fewer machines than its spec requires that could not create one.
func (w walker) refusal(s said, uid types.UID, asked, have *int32) *finding {
	if !fewer(asked, have) {
		return nil
	}
	for _, e := range w.events(w.Notices, uid) {
		if strings.HasPrefix(e.Reason, "Failed") {
			a := s.because(e.Reason, e.Message)
			a.Evidence = append(a.Evidence, counts(asked, have))
			return a
		}
	}
	return nil
}

func fewer(asked, have *int32) bool { return deref(have) < deref(asked) }

func deref(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

func counts(asked, have *int32) string {
	return fmt.Sprintf("%d of %d exist", deref(have), deref(asked))
}

// stale is the age from which an event is no longer current: a controller that still fails would have reported it
// again. Source: the longest pause of client-go's work queues, 1000 s.
const stale = 20 * time.Minute

// events returns the events of an object that are not stale, the newest first.
func (w walker) events(all []corev1.Event, uid types.UID) (out []*corev1.Event) {
	for i := range all {
		at := when(&all[i])
		old := !at.IsZero() && !w.Taken.IsZero() && w.Taken.Sub(at) > stale
		if all[i].InvolvedObject.UID == uid && uid != "" && !old {
			out = append(out, &all[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *corev1.Event) int { return when(b).Compare(when(a)) })
	return out
}

// healthCheck finds a MachineHealthCheck that repairs nothing because too many machines are unhealthy. Machines that
// have not started count too, so this occurs during a rollout, and is no fault while no machine has to be repaired.
func (w walker) healthCheck(h *clusterv1.MachineHealthCheck) *finding {
	if a := w.loops(h); a != nil {
		return a
	}
	c := condition(h.Status.Conditions, clusterv1.MachineHealthCheckRemediationAllowedCondition)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != clusterv1.MachineHealthCheckTooManyUnhealthyReason {
		return nil
	}
	var unwell []string
	for i := range w.Machines {
		m := &w.Machines[i]
		checked := condition(m.Status.Conditions, clusterv1.MachineHealthCheckSucceededCondition)
		if slices.Contains(h.Status.Targets, m.Name) && checked != nil && checked.Status == metav1.ConditionFalse {
			unwell = append(unwell, "Machine/"+m.Name+": "+reported(checked))
		}
	}
	if len(h.Status.Targets) > 0 && len(unwell) == 0 {
		return nil
	}
	a := &finding{Step: "owner", At: "MachineHealthCheck/" + h.Name, Type: c.Type, Reason: c.Reason, Since: c.LastTransitionTime.Time,
		Cause:    "RemediationBlocked",
		Says:     "more machines are unhealthy than the health check may repair, so it repairs none",
		Evidence: evidence(reported(c)), Fix: "repair the machines, or raise remediation.triggerIf of the MachineHealthCheck",
		Next: "kubectl describe machinehealthcheck " + h.Name + " -n " + h.Namespace}
	if most := h.Spec.Remediation.TriggerIf.UnhealthyLessThanOrEqualTo; most != nil {
		a.Evidence = append(a.Evidence, "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo: "+most.String())
	}
	if within := h.Spec.Remediation.TriggerIf.UnhealthyInRange; within != "" {
		a.Evidence = append(a.Evidence, "spec.remediation.triggerIf.unhealthyInRange: "+within)
	}
	for _, line := range unwell[:min(len(unwell), maxWaiting)] {
		a.Evidence = append(a.Evidence, redact.Line(line, maxEvidence))
	}
	return a
}

// often is the number of machines of one set that a health check replaces within the time stale from which on this is a fault.
const often = 3

// loops finds a MachineHealthCheck that replaces the machines of a set repeatedly: every new machine has the same
// fault, or the check gives them less time than they need.
func (w walker) loops(h *clusterv1.MachineHealthCheck) *finding {
	var lines []string
	var last time.Time
	marks := "by " + h.Namespace + "/" + h.Name
	for i := range w.Remediations {
		e := &w.Remediations[i]
		gone := !slices.ContainsFunc(w.Machines, func(m clusterv1.Machine) bool {
			return m.Name == e.InvolvedObject.Name && m.DeletionTimestamp.IsZero()
		})
		if at := when(e); gone && w.Taken.Sub(at) < stale && strings.HasSuffix(e.Message, marks) {
			lines = append(lines, e.Message)
			if at.After(last) {
				last = at
			}
		}
	}
	starting := slices.ContainsFunc(w.Machines, func(m clusterv1.Machine) bool {
		return slices.Contains(h.Status.Targets, m.Name) && m.Status.NodeRef.Name == ""
	})
	if len(lines) < often || !starting {
		return nil
	}
	a := &finding{Step: "owner", At: "MachineHealthCheck/" + h.Name, Type: "Event", Reason: "MachineMarkedUnhealthy", Since: last,
		Cause: "RemediationLoops",
		Says:  "the health check replaces machine after machine: they have a fault in common, or the check gives them too little time to start",
		Fix: "see why the machines do not become nodes, or raise spec.checks.nodeStartupTimeoutSeconds; a pause of the health check " +
			"leaves the next machine to be looked at",
		Next: "kubectl describe machinehealthcheck " + h.Name + " -n " + h.Namespace}
	slices.Sort(lines)
	a.Evidence = []string{fmt.Sprintf("%d machines in %s; %s", len(lines), age(stale), redact.Line(lines[len(lines)-1], maxEvidence))}
	if start := h.Spec.Checks.NodeStartupTimeoutSeconds; start != nil {
		a.Evidence = append(a.Evidence, fmt.Sprintf("spec.checks.nodeStartupTimeoutSeconds: %d", *start))
	}
	return a
}

// selectsNone reports, for an object that a user named, that its selector matches nothing, so that the object has no
// effect. This is a fault only if the user meant the selector to match.
func (w walker) selectsNone(s said, what string, by *metav1.LabelSelector) *finding {
	a := w.waits(s, "SelectsNothing", "a "+what+" that its selector matches; so far it does nothing", time.Time{})
	a.Type, a.Evidence = "Field", []string{"selector " + metav1.FormatLabelSelector(by)}
	a.Fix = "correct the selector, or the labels of what it is meant for"
	return a
}

// unhealthy reports, for a MachineHealthCheck that a user named, that some of its machines are not healthy.
func (w walker) unhealthy(h *clusterv1.MachineHealthCheck) *finding {
	healthy, expected := deref(h.Status.CurrentHealthy), deref(h.Status.ExpectedMachines)
	s := said{"owner", cause.Admission, "MachineHealthCheck/" + h.Name, "kubectl describe machinehealthcheck " + h.Name + " -n " + h.Namespace}
	if expected == 0 && !slices.ContainsFunc(w.Machines, func(m clusterv1.Machine) bool { return selects(&h.Spec.Selector, m.Labels) }) {
		return w.selectsNone(s, "machine of cluster "+h.Spec.ClusterName, &h.Spec.Selector)
	}
	if healthy >= expected {
		return nil
	}
	targets := w.machinesWhere(func(m *clusterv1.Machine) bool { return slices.Contains(h.Status.Targets, m.Name) })
	if a := each(targets, w.machine)(); a != nil {
		return a
	}
	failed := func(m clusterv1.Machine) bool {
		c := condition(m.Status.Conditions, clusterv1.MachineHealthCheckSucceededCondition)
		return c != nil && c.Status == metav1.ConditionFalse
	}
	if !slices.ContainsFunc(targets, failed) {
		a := w.waits(s, "MachinesUnhealthy", fmt.Sprintf("the health check to see its machines: %d of %d are healthy", healthy, expected),
			time.Time{})
		return w.overdue(a, changed(h, true), slowStatus)
	}
	return &finding{Step: "owner", At: "MachineHealthCheck/" + h.Name, Type: "Field", Cause: "MachinesUnhealthy",
		Says:     "not all machines of the health check are healthy; it repairs those that stay so for its timeouts",
		Evidence: []string{fmt.Sprintf("status.currentHealthy: %d, expectedMachines: %d", healthy, expected)},
		Fix:      "see what is wrong with the machines: casement why " + w.Cluster.Name,
		Next:     "kubectl describe machinehealthcheck " + h.Name + " -n " + h.Namespace}
}
