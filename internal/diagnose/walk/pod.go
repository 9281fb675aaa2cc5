package walk

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/cause"
)

const (
	// slowPod is the time after which a pod without started containers is a fault: Windows images have gigabytes.
	slowPod = 15 * time.Minute
	// slowReady is the time after which a running container that is not ready is a fault.
	slowReady = time.Minute
)

// when returns the time of an event, or zero if it has none.
func when(e *corev1.Event) time.Time {
	if e.Series != nil && !e.Series.LastObservedTime.IsZero() {
		return e.Series.LastObservedTime.Time
	}
	for _, t := range []time.Time{e.LastTimestamp.Time, e.EventTime.Time, e.FirstTimestamp.Time} {
		if !t.IsZero() {
			return t
		}
	}
	return e.CreationTimestamp.Time
}

// stepOf maps the reasons of events about a pod to steps.
var stepOf = map[string]cause.Step{
	"FailedScheduling": cause.Schedule, "FailedCreatePodSandBox": cause.Sandbox,
	"FailedPodSandBoxStatus": cause.Sandbox, "NetworkNotReady": cause.Sandbox,
	"FailedMount": cause.Volume, "FailedAttachVolume": cause.Volume, "FailedMapVolume": cause.Volume, "VolumeResizeFailed": cause.Volume,
	"Unhealthy": cause.Probe, "ProbeWarning": cause.Probe, "FailedPostStartHook": cause.Probe, "FailedPreStopHook": cause.Probe,
	"InspectFailed": cause.Pull, "ErrImageNeverPull": cause.Pull,
}

// pod examines the state of a waiting pod, then its events. The reason why its controller does not replace it takes precedence.
func (w walker) pod(p *corev1.Pod) *finding {
	a := w.state(p)
	if blocked := w.rolloutBlocked(p, a); blocked != nil {
		return blocked
	}
	return a
}

// rolloutBlocked finds a faulty pod that its StatefulSet does not replace although its template has changed since:
// under OrderedReady the controller waits for each pod to be ready before it compares the revisions. Sources:
// k8s.io/kubernetes pkg/controller/statefulset/stateful_set_control.go; "Forced rollback" in
// kubernetes.io/docs/concepts/workloads/controllers/statefulset.
func (w walker) rolloutBlocked(p *corev1.Pod, fault *finding) *finding {
	if fault == nil || fault.Waiting {
		return nil
	}
	i := slices.IndexFunc(w.Workloads.StatefulSets, func(s appsv1.StatefulSet) bool { return ownedBy(p, s.UID) })
	if i < 0 {
		return nil
	}
	s := &w.Workloads.StatefulSets[i]
	has, wants := p.Labels[appsv1.StatefulSetRevisionLabel], s.Status.UpdateRevision
	if has == "" || has == wants || s.Status.ObservedGeneration < s.Generation || s.Spec.PodManagementPolicy == appsv1.ParallelPodManagement ||
		s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return nil
	}
	return &finding{Step: "pod", At: "Pod/" + p.Name, Type: "Field", Cause: "RolloutBlocked",
		Says: "the template of the StatefulSet has changed since the pod was made, and its controller waits for this pod to become " +
			"ready before it replaces it",
		Evidence: append([]string{fmt.Sprintf("label %s: %s; status.updateRevision of StatefulSet/%s: %s", appsv1.StatefulSetRevisionLabel,
			has, s.Name, wants)}, fault.Evidence...),
		Fix:  fmt.Sprintf("kubectl delete pod %s -n %s", p.Name, p.Namespace),
		Harm: "the pod ends, and another one of the present template takes its place and its claims", Next: fault.Next}
}

// state examines the state of a waiting pod, then its events.
func (w walker) state(p *corev1.Pod) *finding {
	if p.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	s := said{"pod", cause.Container, "Pod/" + p.Name, fmt.Sprintf("kubectl describe pod %s -n %s", p.Name, p.Namespace)}
	if !p.DeletionTimestamp.IsZero() {
		return w.terminating(s, p)
	}
	if m := w.leavingWith(p); m != nil {
		return w.waits(s, deletionUnderWay, "Machine/"+m.Name+", on which the pod is, to be deleted", m.DeletionTimestamp.Time)
	}
	if a := w.orphaned(s, p); a != nil {
		return a
	}
	if p.Status.Phase == corev1.PodFailed {
		return w.ended(s, p)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			s.kind = cause.Schedule
			if c.Reason == corev1.PodReasonSchedulingGated {
				return w.gates(s, p, &c)
			}
			a := s.because(c.Reason, c.Message)
			if a.Cause == "ClaimUnbound" {
				if claim := w.unprovisioned(p); claim != nil {
					return claim
				}
			}
			if pinned(p) != "" {
				return w.pinnedPod(s, a, p, &c)
			}
			if since := c.LastTransitionTime.Time; cured(a, c.Message) && w.growing() && w.Taken.Sub(since) < slowAzure {
				return w.waits(s, c.Reason, "a node for the pod, while nodes are on their way: "+c.Message, since)
			}
			return w.misfit(a, p, c.Message)
		}
	}
	statuses := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
	if a := w.unplaced(s, p); a != nil {
		return a
	}
	if a := w.unhosted(s, p); a != nil {
		return a
	}
	if a := w.unstarted(s, p, statuses); a != nil {
		return a
	}
	checks := make([]func() *finding, len(statuses))
	for i := range statuses {
		checks[i] = func() *finding { return w.container(s, p, &statuses[i]) }
	}
	return first(append(checks, func() *finding { return w.gated(s, p) }, func() *finding { return w.unready(s, p) },
		func() *finding { return nameless(s, p) })...)
}

// gates returns the finding about a pod's remaining scheduling gates, each of which its own controller removes.
func (w walker) gates(s said, p *corev1.Pod, c *corev1.PodCondition) *finding {
	var names []string
	for _, gate := range p.Spec.SchedulingGates {
		names = append(names, gate.Name)
	}
	a := w.waits(s, c.Reason, "the controllers of its scheduling gates to lift them", c.LastTransitionTime.Time)
	a.Type, a.Evidence = "Field", []string{"spec.schedulingGates: " + strings.Join(names, ", ")}
	a.Fix = "see whether the controller that each gate's name says runs, and what it waits for"
	return a
}

// nameless finds a running pod without the gMSA that it names: the kubelet uses only the credential spec itself, which
// the webhook of windows-gmsa inserts. Source: kubernetes.io/docs/tasks/configure-pod-container/configure-gmsa.
func nameless(s said, p *corev1.Pod) *finding {
	find := func(at string, o *corev1.WindowsSecurityContextOptions) *finding {
		if o == nil || o.GMSACredentialSpecName == nil || o.GMSACredentialSpec != nil {
			return nil
		}
		return &finding{Step: s.step, At: s.at, Type: "Field", Cause: "GMSASpecEmpty",
			Says:     "the pod names a gMSA's credential spec and has none: it runs without the account, as no webhook has put the spec in",
			Evidence: []string{at + ".windowsOptions.gmsaCredentialSpecName: " + *o.GMSACredentialSpecName + "; gmsaCredentialSpec is empty"},
			Fix:      "install the webhook of windows-gmsa and the GMSACredentialSpec, and make the pod again", Next: s.next}
	}
	if p.Spec.SecurityContext != nil {
		if a := find("spec.securityContext", p.Spec.SecurityContext.WindowsOptions); a != nil {
			return a
		}
	}
	for _, c := range p.Spec.Containers {
		if c.SecurityContext != nil {
			if a := find("spec.containers["+c.Name+"].securityContext", c.SecurityContext.WindowsOptions); a != nil {
				return a
			}
		}
	}
	return nil
}

// unready finds a running pod that is not Ready although its containers and gates are.
func (w walker) unready(s said, p *corev1.Pod) *finding {
	for _, c := range p.Status.Conditions {
		if since := c.LastTransitionTime.Time; c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse &&
			p.Status.Phase == corev1.PodRunning && !since.IsZero() && w.Taken.Sub(since) > slowStatus {
			return s.unknown(string(c.Type), c.Reason, string(c.Type)+" is False ("+c.Reason+") "+c.Message, since)
		}
	}
	return nil
}

// unplaced examines a pod without a node and without a message of the scheduler: its claims, or its scheduler.
func (w walker) unplaced(s said, p *corev1.Pod) *finding {
	since := p.CreationTimestamp.Time
	if p.Status.Phase != corev1.PodPending || p.Spec.NodeName != "" || since.IsZero() {
		return nil
	}
	if a := w.unprovisioned(p); a != nil {
		return a
	}
	for _, e := range w.events(w.Warnings, p.UID) {
		if stepOf[e.Reason] == cause.Schedule { // the pod was read before the scheduler wrote its condition
			return w.waits(s, "NotScheduled", "the condition of the scheduler, which has said: "+e.Message, since)
		}
		if strings.HasPrefix(e.Reason, "Failed") {
			return s.because(e.Reason, e.Message) // about an object that has to exist before the scheduler runs, such as a resource claim
		}
	}
	scheduler := p.Spec.SchedulerName
	a := w.waits(s, "NotScheduled", "a scheduler to look at the pod", since)
	if w.Taken.Sub(since) < slowStatus {
		return a
	}
	a.Waiting, a.Cause, a.Type = false, "SchedulerSilent", "Field"
	a.Says = "no scheduler has looked at the pod"
	a.Evidence = []string{"spec.schedulerName: " + scheduler + "; the pod has no condition PodScheduled and no node"}
	a.Fix = "look at the scheduler of that name, or correct spec.schedulerName"
	if w.schedules(scheduler, since) {
		a.Cause, a.Unknown = "NotScheduled", true
		a.Says = "the scheduler places other pods and has not looked at this one"
		a.Fix = "see what the pod needs before a scheduler looks at it: spec.resourceClaims, spec.schedulingGates"
	}
	return a
}

// schedules reports whether a scheduler has placed a pod after a time.
func (w walker) schedules(scheduler string, since time.Time) bool {
	return slices.ContainsFunc(w.Pods, func(p corev1.Pod) bool {
		placed := func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && c.LastTransitionTime.After(since)
		}
		return p.Spec.SchedulerName == scheduler && p.Spec.NodeName != "" && slices.ContainsFunc(p.Status.Conditions, placed)
	})
}

// unprovisioned finds a claim of a pod that has no volume.
func (w walker) unprovisioned(p *corev1.Pod) *finding {
	for i := range w.Workloads.Claims {
		if c := &w.Workloads.Claims[i]; c.Namespace == p.Namespace && claims(p, c.Name) {
			if a := w.claim(c); a != nil {
				return a
			}
		}
	}
	return nil
}

// gated finds a pod that has ready containers but is not Ready because of a readiness gate.
func (w walker) gated(s said, p *corev1.Pod) *finding {
	for _, gate := range p.Spec.ReadinessGates {
		status, said := corev1.ConditionFalse, "no such condition has been set"
		since := p.CreationTimestamp.Time
		for _, c := range p.Status.Conditions {
			if c.Type == gate.ConditionType {
				status, said, since = c.Status, c.Reason+": "+c.Message, c.LastTransitionTime.Time
			}
		}
		if status == corev1.ConditionTrue || p.Status.Phase != corev1.PodRunning {
			continue
		}
		a := w.waits(s, "ReadinessGate", "its readiness gate "+string(gate.ConditionType), since)
		a.Type, a.Evidence = string(gate.ConditionType), []string{string(gate.ConditionType) + " is " + string(status) + ": " + said}
		a = w.overdue(a, since, slowStatus)
		a.Fix = "look at the controller that sets this condition of pods; until then no service sends to the pod"
		return a
	}
	return nil
}

// growing reports whether machines are being replaced or have no node yet, a scale set is being changed, or a node
// accepts no pods yet.
func (w walker) growing() bool {
	for i := range w.Machines {
		m := &w.Machines[i]
		since := m.CreationTimestamp.Time
		if !m.DeletionTimestamp.IsZero() {
			since = m.DeletionTimestamp.Time
		} else if m.Status.NodeRef.Name != "" {
			continue
		}
		// A machine with a fault will not provide a node.
		if a := w.machine(m); w.Taken.Sub(since) < slowAzure && (a == nil || a.Waiting) {
			return true
		}
	}
	for _, p := range w.AzurePools {
		if bad(p.GetConditions(), infrav1.ScaleSetModelUpdatedCondition, infrav1.ScaleSetDesiredReplicasCondition) != nil {
			return true
		}
	}
	for _, n := range w.Nodes {
		if w.arrives(n) {
			return true
		}
	}
	return false
}

// leavingWith returns the machine of a pod if the machine is being deleted, or nil: failures of such a pod are no fault.
func (w walker) leavingWith(p *corev1.Pod) *clusterv1.Machine {
	for i := range w.Machines {
		if m := &w.Machines[i]; p.Spec.NodeName != "" && m.Status.NodeRef.Name == p.Spec.NodeName && !m.DeletionTimestamp.IsZero() {
			return m
		}
	}
	return nil
}

// orphaned returns the finding for a pod whose node no longer exists; the pod garbage collector deletes such a pod.
func (w walker) orphaned(s said, p *corev1.Pod) *finding {
	gone := p.Spec.NodeName != "" && len(w.Nodes) > 0 && w.Nodes[p.Spec.NodeName] == nil
	for _, c := range p.Status.Conditions {
		collected := c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "DeletionByPodGC"
		if (collected || gone && c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse) &&
			w.Taken.Sub(c.LastTransitionTime.Time) < slowStatus {
			return w.waits(s, "NodeLost", "the pod, whose node is gone, to be deleted", c.LastTransitionTime.Time)
		}
	}
	return nil
}

// unhosted finds a pod that names a nonexistent node, so that no kubelet starts it.
func (w walker) unhosted(s said, p *corev1.Pod) *finding {
	if p.Spec.NodeName == "" || len(w.Nodes) == 0 || w.Nodes[p.Spec.NodeName] != nil || p.Status.StartTime != nil {
		return nil
	}
	since := p.CreationTimestamp.Time
	a := w.waits(s, "NodeUnknown", "node "+p.Spec.NodeName+", which does not exist", since)
	a.Type, a.Evidence, a.Next = "Field", []string{"spec.nodeName: " + p.Spec.NodeName}, "kubectl get nodes"
	a.Fix = "leave spec.nodeName to the scheduler, and choose nodes by labels: nodeSelector or affinity"
	return w.overdue(a, since, justApplied)
}

// unstarted examines a pod without started containers: its sandbox, its volumes.
func (w walker) unstarted(s said, p *corev1.Pod, statuses []corev1.ContainerStatus) *finding {
	if p.Status.Phase != corev1.PodPending || p.Spec.NodeName == "" && len(statuses) == 0 {
		return nil
	}
	for i := range statuses {
		workloads := statuses[i].State.Waiting
		if workloads == nil || workloads.Reason != "ContainerCreating" && workloads.Reason != "PodInitializing" {
			return nil
		}
	}
	for _, e := range w.events(w.Warnings, p.UID) {
		if step, known := stepOf[e.Reason]; known && (step == cause.Sandbox || step == cause.Volume) {
			s.kind = step
			return w.tried(s.because(e.Reason, e.Message), p.CreationTimestamp.Time, "the pod's containers to be created")
		}
	}
	since := p.CreationTimestamp.Time
	if p.Status.StartTime != nil {
		since = p.Status.StartTime.Time
	}
	if since.IsZero() {
		return nil
	}
	return w.overdue(w.waits(s, "ContainerCreating", "the pod's containers to be created", since), since, slowPod)
}

// container examines one container: its image, its start, its exit, its probes.
func (w walker) container(s said, p *corev1.Pod, c *corev1.ContainerStatus) *finding {
	workloads := c.State.Waiting
	switch {
	case workloads == nil:
		return w.started(s, p, c)
	case workloads.Reason == "PodInitializing", workloads.Reason == "ContainerCreating":
		return nil
	case workloads.Reason == "CrashLoopBackOff":
		return w.crashes(s, p, c)
	case pulls(workloads.Reason):
		s.kind = cause.Pull
		return w.richest(s, p, workloads.Reason, workloads.Message)
	}
	return w.richest(s, p, workloads.Reason, workloads.Message)
}

// pulls reports whether the reason of a waiting container is about its image.
func pulls(reason string) bool {
	return strings.Contains(reason, "Image") || reason == "RegistryUnavailable" || reason == "SignatureValidationFailed"
}

// richest returns the finding for a container's message, or for the newest event of the same step if the event has more
// details: "Back-off pulling image" hides the error.
func (w walker) richest(s said, p *corev1.Pod, reason, message string) *finding {
	if c, _, ok := cause.Classify(s.kind, reason, message); ok && !c.Follows {
		return s.because(reason, message)
	}
	for _, e := range w.events(w.Warnings, p.UID) {
		step, known := stepOf[e.Reason]
		if known && step != s.kind && step != cause.Sandbox {
			continue
		}
		if known {
			s.kind = step
		}
		if c, _, ok := cause.Classify(s.kind, "", e.Message); ok && !c.Follows {
			return s.because(e.Reason, e.Message)
		}
	}
	a := s.because(reason, message)
	for _, e := range w.events(w.Warnings, p.UID) {
		// The event has the runtime's message; the container's state only shows that the kubelet waits.
		if strings.HasPrefix(e.Message, "Failed to pull image") && s.kind == cause.Pull {
			a.Evidence = append(evidence(e.Message), a.Evidence...)
			break
		}
	}
	return a
}

// crashes examines a container that ends repeatedly: the reason why it was killed, its last log lines, and its exit code.
func (w walker) crashes(s said, p *corev1.Pod, c *corev1.ContainerStatus) *finding {
	s.next = fmt.Sprintf("kubectl logs %s -n %s -c %s --previous", p.Name, p.Namespace, c.Name)
	_, static := p.Annotations[corev1.MirrorPodAnnotationKey]
	if static && c.RestartCount < 2 && w.rolling() {
		// A component of the control plane exits when it loses the leader lease.
		return w.waits(s, "CrashLoop",
			"container "+c.Name+" to be started again, while machines of the control plane are replaced",
			time.Time{})
	}
	last, exit := c.LastTerminationState.Terminated, ""
	if last != nil && c.RestartCount < 2 && !last.FinishedAt.IsZero() && w.Taken.Sub(last.FinishedAt.Time) < slowReady {
		// A program that ends once because something that it needs does not exist yet is started again.
		a := w.waits(s, "CrashLoop", "container "+c.Name+" to be started again, which has ended", last.FinishedAt.Time)
		a.Evidence = []string{fmt.Sprintf("container %s ended with exit code %d (%s)", c.Name, last.ExitCode, last.Reason)}
		return a
	}
	if last != nil {
		exit = fmt.Sprintf("container %s ended with exit code %d (%s) after %d restarts", c.Name, last.ExitCode,
			last.Reason, c.RestartCount)
		if _, _, ok := cause.Classify(cause.Container, last.Reason, last.Message); ok {
			return s.because(last.Reason, last.Message).with(exit)
		}
	}
	if w.Logs != nil {
		if a := w.lastWords(s, p, c, exit); a != nil {
			return a
		}
	}
	for _, e := range w.events(w.Warnings, p.UID) {
		step, known := stepOf[e.Reason]
		if !known {
			step = cause.Container
		}
		if cause, _, ok := cause.Classify(step, "", e.Message); ok && cause.Name != "ReadinessProbeFails" {
			s.kind = step
			return s.because(e.Reason, e.Message).with(exit)
		}
	}
	a := &finding{Step: s.step, At: s.at, Cause: "CrashLoop", Says: "the container ends again and again",
		Fix: "read what it says before it ends", Next: s.next}
	if w.Logs != nil { // the program's own message is decisive
		line := lastLine(w.Logs(p, c.Name))
		if known, _, ok := cause.Classify(cause.Guest, "", line); ok && static && !known.Follows {
			a.Cause, a.Says, a.Fix = known.Name, known.Says, known.Fix
		}
		a.with(line)
	}
	if last != nil && last.Message != "" {
		exit += ": " + last.Message
	}
	return a.with(exit).with(c.State.Waiting.Message)
}

// lastWords returns the finding for the last log lines of a container, if they contain a known cause.
func (w walker) lastWords(s said, p *corev1.Pod, c *corev1.ContainerStatus, exit string) *finding {
	s.kind = cause.Log
	for _, line := range slices.Backward(strings.Split(w.Logs(p, c.Name), "\n")) {
		if known, _, ok := cause.Classify(cause.Log, "", line); ok {
			return s.because(known.Name, line).with(exit)
		}
	}
	return nil
}

// with adds a line of evidence.
func (a *finding) with(line string) *finding {
	a.Evidence = append(a.Evidence, evidence(line)...)
	return a
}

// addEvidence adds the lines of evidence that do not repeat the first line.
func (a *finding) addEvidence(lines []string) {
	for _, line := range lines {
		if len(a.Evidence) == 0 || !strings.Contains(line, strings.TrimPrefix(a.Evidence[0], "guest: ")) {
			a.Evidence = append(a.Evidence, line)
		}
	}
}

// since sets the time at which the reported fault began.
func (a *finding) since(t time.Time) *finding {
	a.Since = t
	return a
}

// started examines a container that is running and not ready, or has ended and is not restarted yet.
func (w walker) started(s said, p *corev1.Pod, c *corev1.ContainerStatus) *finding {
	if t := c.State.Terminated; t != nil {
		if t.ExitCode == 0 || slices.ContainsFunc(p.Status.InitContainerStatuses,
			func(i corev1.ContainerStatus) bool { return i.Name == c.Name && t.ExitCode == 0 }) {
			return nil
		}
		s.next = fmt.Sprintf("kubectl logs %s -n %s -c %s", p.Name, p.Namespace, c.Name)
		return w.richest(s, p, t.Reason, t.Message).with(fmt.Sprintf("container %s ended with exit code %d", c.Name, t.ExitCode))
	}
	r := c.State.Running
	if a := w.restarted(s, p, c); a != nil {
		return a
	}
	if c.Ready || r == nil || r.StartedAt.IsZero() || p.Status.Phase != corev1.PodRunning {
		return nil
	}
	s.kind = cause.Probe
	for _, e := range w.events(w.Warnings, p.UID) {
		if stepOf[e.Reason] == cause.Probe && w.Taken.Sub(r.StartedAt.Time) > slowReady {
			return s.because(e.Reason, e.Message)
		}
	}
	return w.waits(s, "NotReady", "container "+c.Name+" to be ready", r.StartedAt.Time)
}

// manyRestarts is the number of restarts from which a running container counts as one that ends repeatedly, if its last
// end was within restartWindow.
const (
	manyRestarts  = 5
	restartWindow = 10 * time.Minute
)

// restarted finds a running container that has ended repeatedly until recently.
func (w walker) restarted(s said, p *corev1.Pod, c *corev1.ContainerStatus) *finding {
	last := c.LastTerminationState.Terminated
	if c.State.Running == nil || last == nil || c.RestartCount < manyRestarts || w.Taken.Sub(last.FinishedAt.Time) > restartWindow {
		return nil
	}
	s.next = fmt.Sprintf("kubectl logs %s -n %s -c %s --previous", p.Name, p.Namespace, c.Name)
	exit := fmt.Sprintf("container %s ended with exit code %d (%s) at %s, after %d restarts", c.Name, last.ExitCode, last.Reason,
		last.FinishedAt.UTC().Format(time.RFC3339), c.RestartCount)
	a := s.because(last.Reason, last.Message)
	if a.Unknown {
		a.Unknown, a.Cause, a.Says = false, "RestartsOften", "the container runs, and has ended again and again"
		a.Fix = "read what it says before it ends"
	}
	a.Evidence = append([]string{exit}, a.Evidence...)
	return a
}

// ended examines a failed pod. The pods of a Job are examined with the Job.
func (w walker) ended(s said, p *corev1.Pod) *finding {
	for _, o := range p.OwnerReferences {
		if o.Kind == "Job" && p.Status.Reason == "" {
			return nil
		}
	}
	reason, message := p.Status.Reason, p.Status.Message
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if t := c.State.Terminated; reason == "" && t != nil && t.ExitCode != 0 {
			reason, message = t.Reason, fmt.Sprintf("container %s ended with exit code %d: %s", c.Name, t.ExitCode, t.Message)
			s.next = fmt.Sprintf("kubectl logs %s -n %s -c %s", p.Name, p.Namespace, c.Name)
		}
	}
	a := s.because(reason, message)
	if a.Fix == "" {
		a.Fix = "delete the pod, so that its controller makes another"
	}
	return a
}

// terminating examines a pod that is being deleted; this is a fault if its node should have ended it long ago.
func (w walker) terminating(s said, p *corev1.Pod) *finding {
	since := p.DeletionTimestamp.Time
	a := &finding{Step: s.step, At: s.at, Type: "Field", Since: since, Cause: "StuckTerminating",
		Says:     "the pod is being deleted since " + age(w.Taken.Sub(since)) + ", and its node does not end it",
		Evidence: []string{"node " + p.Spec.NodeName},
		Fix:      "look at the kubelet of the node; kubectl delete pod --force when the node is gone",
		Next:     "casement why " + p.Spec.NodeName}
	if left := since.Sub(w.Taken); left > slowStatus { // the deletion timestamp is the end of the grace period
		a = w.waits(s, a.Cause, "the pod to end, for which its grace period leaves it "+age(left), time.Time{})
		a.Type, a.Evidence = "Field", []string{"metadata.deletionTimestamp: " + since.UTC().Format(time.RFC3339)}
		if grace := p.DeletionGracePeriodSeconds; grace != nil {
			a.with(fmt.Sprintf("metadata.deletionGracePeriodSeconds: %d", *grace))
		}
		a.Fix = fmt.Sprintf("let it end, or kubectl delete pod %s -n %s --grace-period SECONDS, if its program may be cut off", p.Name,
			p.Namespace)
		return a
	}
	if len(p.Finalizers) > 0 {
		a.Says, a.Evidence, a.Next = "a finalizer keeps the pod, which is being deleted", []string{"finalizer " + p.Finalizers[0]}, s.next
		a.Fix = "let the finalizer's owner finish, or remove it when its owner is gone"
	}
	return w.soon(a, "the pod to end")
}
