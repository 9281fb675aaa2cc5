package kubelet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	requests "k8s.io/component-helpers/resource"
)

// publish computes the pod's status and writes it if it has changed.
func (w *worker) publish(ctx context.Context) {
	pod, gone := w.current()
	w.status = podStatus(pod, w)
	w.shown.Store(&snapshot{pod: pod, status: w.status, containers: slices.Clone(w.containers)})
	if gone || ctx.Err() != nil {
		return
	}
	name, uid, latest := w.name, w.uid, pod
	if w.static {
		mirror := w.ensureMirror(ctx, pod)
		if mirror == nil {
			return
		}
		if w.mirror != mirror.UID {
			w.mirror, w.written = mirror.UID, nil
		}
		name, uid, latest = mirror.Name, mirror.UID, mirror
	}
	if w.written != nil && semanticEqual(*w.written, w.status) && !w.overruled(latest) {
		return
	}
	patch, err := podStatusPatch(uid, &w.status, latest.Status.Conditions)
	if err != nil {
		w.k.log.Error("Failed to compute the status for pod", "pod", w.namespace+"/"+name, "err", err)
		return
	}
	for range 3 {
		var shown *corev1.Pod
		shown, err = w.k.api.Load().core.Pods(w.namespace).Patch(ctx, name, types.StrategicMergePatchType, patch,
			metav1.PatchOptions{}, "status")
		if err == nil {
			w.written, w.version = w.status.DeepCopy(), shown.ResourceVersion
			return
		}
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || !w.k.sleep(ctx, 200*time.Millisecond) {
			return
		}
	}
	w.k.log.Error("Failed to update status for pod", "pod", w.namespace+"/"+name, "err", err)
	w.signalLater(ctx)
}

// podStatusPatch returns the strategic merge patch that writes a pod's status. The patch merges
// conditions by their type, so it explicitly removes the reason and message of conditions that no
// longer have them, and the condition of a resize that has ended.
func podStatusPatch(uid types.UID, s *corev1.PodStatus, shown []corev1.PodCondition) ([]byte, error) {
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		return nil, err
	}
	explain := func(fields map[string]any) {
		for _, name := range []string{"reason", "message"} {
			if _, ok := fields[name]; !ok {
				fields[name] = nil
			}
		}
	}
	explain(status)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if fields, ok := c.(map[string]any); ok {
			explain(fields)
		}
	}
	resizing := func(c corev1.PodCondition) bool { return c.Type == corev1.PodResizePending }
	if slices.ContainsFunc(shown, resizing) && !slices.ContainsFunc(s.Conditions, resizing) {
		status["conditions"] = append(conditions, map[string]any{"type": string(corev1.PodResizePending), "$patch": "delete"})
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": status})
}

// overruled reports whether another client has changed a condition of the kubelet after its last write, as
// the node lifecycle controller does with the pods of a lost node.
func (w *worker) overruled(latest *corev1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(latest.ResourceVersion, w.version)
	if err != nil || order <= 0 {
		return false // the watch has not delivered that write yet
	}
	return slices.ContainsFunc(w.status.Conditions, func(ours corev1.PodCondition) bool {
		return slices.ContainsFunc(latest.Status.Conditions, func(theirs corev1.PodCondition) bool {
			return theirs.Type == ours.Type && theirs.Status != ours.Status
		})
	})
}

// signalLater wakes the worker some seconds after a failed write.
func (w *worker) signalLater(ctx context.Context) {
	w.k.c.Wall.Go(&w.k.pods.running, "pod", func() {
		if w.k.sleep(ctx, 2*time.Second) {
			w.signal()
		}
	})
}

// rejected begins the message of a pod that the kubelet did not admit.
const rejected = "Pod was rejected: "

// podStatus returns the status of a pod in the worker's current state.
func podStatus(pod *corev1.Pod, w *worker) corev1.PodStatus {
	if w.settled && terminal(w.status.Phase) && len(w.status.ContainerStatuses) > 0 {
		return w.status // no more changes
	}
	now := metav1.NewTime(w.k.c.Clock.Now().Truncate(time.Second))
	s := corev1.PodStatus{StartTime: w.status.StartTime, QOSClass: pod.Status.QOSClass, Phase: w.status.Phase,
		NominatedNodeName: pod.Status.NominatedNodeName, ObservedGeneration: pod.Generation}
	if s.StartTime == nil {
		s.StartTime = &now
	}
	if w.verdict.reason != "" && !w.admitted && pod.DeletionTimestamp == nil {
		s.Phase, s.Reason, s.Message = corev1.PodFailed, w.verdict.reason, rejected+w.verdict.message
		s.Conditions = pod.Status.Conditions
		return s
	}
	s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses = w.views()
	if minorOf(w.k.c.Version) >= 36 {
		// Source: kubernetes pkg/kubelet/kubelet_pods.go, convertToAPIPodLevelResourcesStatus.
		sized := w.sized(pod)
		if asked := requests.PodRequests(sized, requests.PodResourcesOptions{}); len(asked) > 0 {
			s.AllocatedResources = asked
			s.Resources = &corev1.ResourceRequirements{Requests: asked, Limits: requests.PodLimits(sized, requests.PodResourcesOptions{})}
		}
	}
	terminating := pod.DeletionTimestamp != nil
	if w.verdict.reason != "" {
		s.Phase, s.Reason, s.Message = corev1.PodFailed, w.verdict.reason, w.verdict.message
		if !w.admitted {
			s.Message = rejected + s.Message
		}
	}
	if !terminal(s.Phase) {
		s.Phase = phase(&pod.Spec, s.InitContainerStatuses, s.ContainerStatuses, terminating)
	}
	if ip := w.k.c.InternalIP; ip.IsValid() {
		s.HostIP = ip.String()
		s.HostIPs = []corev1.HostIP{{IP: s.HostIP}}
	}
	if w.sandbox.ip.IsValid() && (w.sandbox.ready || w.settled) {
		s.PodIP = w.sandbox.ip.String()
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	} else if pod.Spec.HostNetwork && s.HostIP != "" {
		s.PodIP = s.HostIP
		s.PodIPs = []corev1.PodIP{{IP: s.HostIP}}
	}
	s.Conditions = podConditions(pod, w.status.Conditions, &s, w.sandbox.ready && !terminating, w.noSandbox(&s), now)
	s.Conditions = append(s.Conditions, w.notices(pod, now)...)
	if w.settled && !w.static {
		markLost(pod, s.InitContainerStatuses, s.ContainerStatuses)
		if !terminal(s.Phase) {
			s.Phase = corev1.PodFailed
		}
	}
	return s
}

// views returns the statuses of the init containers, the regular containers and the ephemeral
// containers.
func (w *worker) views() (inits, mains, ephemerals []corev1.ContainerStatus) {
	for _, c := range w.containers {
		switch {
		case c.init:
			inits = append(inits, c.view())
		case c.ephemeral:
			ephemerals = append(ephemerals, c.view())
		default:
			mains = append(mains, c.view())
		}
	}
	return inits, mains, ephemerals
}

// markLost marks containers of a pod that has ended whose own end was not seen: the regular
// containers if all init containers had ended, and the init containers up to the last that had
// begun. Source: kubernetes pkg/kubelet/status/status_manager.go, TerminatePod.
func markLost(pod *corev1.Pod, inits, mains []corev1.ContainerStatus) {
	lose := func(list []corev1.ContainerStatus) {
		for i := range list {
			if list[i].State.Terminated == nil {
				list[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137,
					Reason: "ContainerStatusUnknown", Message: "The container could not be located when the pod was terminated"}}
			}
		}
	}
	began := func(s corev1.ContainerStatus) bool {
		return s.State.Waiting == nil || s.LastTerminationState.Terminated != nil
	}
	initialized := len(inits) == 0 || slices.ContainsFunc(mains, began)
	if last := len(inits) - 1; last >= 0 {
		t := cmp.Or(inits[last].State.Terminated, inits[last].LastTerminationState.Terminated)
		initialized = initialized || !sidecar(&pod.Spec.InitContainers[last]) && t != nil && t.ExitCode == 0
	}
	if initialized {
		lose(mains)
	}
	for i, s := range slices.Backward(inits) {
		if i == 0 || began(s) {
			lose(inits[:i+1])
			break
		}
	}
}

// phase returns the pod's phase by the kubelet's rules. Source: kubernetes
// pkg/kubelet/kubelet_pods.go, getPhase.
func phase(spec *corev1.PodSpec, inits, mains []corev1.ContainerStatus, terminating bool) corev1.PodPhase {
	var pending, running, waiting, succeeded, failed, restarting int
	started := slices.ContainsFunc(mains, func(s corev1.ContainerStatus) bool { return s.State.Running != nil })
	for i, s := range inits {
		t := cmp.Or(s.State.Terminated, s.LastTerminationState.Terminated)
		switch c := &spec.InitContainers[i]; {
		case sidecar(c):
			if s.State.Running != nil {
				running++
			}
			if !started && (s.State.Running != nil && !*s.Started || s.State.Waiting != nil && t == nil) {
				pending++
			}
		case s.State.Running != nil || t == nil:
			pending++
		case t.ExitCode != 0 && !restarts(c, spec, t.ExitCode):
			return corev1.PodFailed
		}
	}
	for i, s := range mains {
		switch t := cmp.Or(s.State.Terminated, s.LastTerminationState.Terminated); {
		case s.State.Running != nil:
			running++
		case t == nil:
			waiting++
		default:
			if restarts(&spec.Containers[i], spec, t.ExitCode) {
				restarting++
			}
			if s.State.Terminated != nil && t.ExitCode == 0 {
				succeeded++
			} else {
				failed++
			}
		}
	}
	switch {
	case pending+waiting > 0:
		return corev1.PodPending
	case running > 0, restarting > 0 && !terminating:
		return corev1.PodRunning
	case failed > 0:
		return corev1.PodFailed
	}
	return corev1.PodSucceeded
}

// noSandbox returns the message that kubelets since 1.37 write for a pod whose sandbox is not
// ready. Source: kubernetes pkg/kubelet/status/generate.go.
func (w *worker) noSandbox(s *corev1.PodStatus) string {
	switch {
	case minorOf(w.k.c.Version) < 37:
		return ""
	case w.sandbox.ip.IsValid(), slices.ContainsFunc(slices.Concat(s.InitContainerStatuses, s.ContainerStatuses),
		func(c corev1.ContainerStatus) bool { return c.ContainerID != "" }):
		return "pod sandbox is not ready"
	}
	return "no pod sandbox exists"
}

// podConditions returns the kubelet's five conditions and the conditions of other controllers. The
// transition times come from last, the conditions of the kubelet's previous status, because on a
// busy machine the watch may not have delivered them yet, and a new time would cause a write at
// every step.
func podConditions(pod *corev1.Pod, last []corev1.PodCondition, s *corev1.PodStatus, sandbox bool, without string,
	now metav1.Time) []corev1.PodCondition {
	var list []corev1.PodCondition
	set := func(kind corev1.PodConditionType, ok bool, reason, message string) {
		c := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now, ObservedGeneration: pod.Generation}
		if !ok {
			c.Status, c.Reason, c.Message = corev1.ConditionFalse, reason, message
		}
		for _, o := range last {
			if o.Type == kind && o.Status == c.Status {
				c.LastTransitionTime = o.LastTransitionTime
			}
		}
		list = append(list, c)
	}
	var uninitialized, unready []string
	for i, c := range s.InitContainerStatuses {
		done := c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
		if sidecar(&pod.Spec.InitContainers[i]) {
			done = c.Started != nil && *c.Started
			if !c.Ready {
				unready = append(unready, c.Name)
			}
		}
		if !done {
			uninitialized = append(uninitialized, c.Name)
		}
	}
	for _, c := range s.ContainerStatuses {
		if !c.Ready {
			unready = append(unready, c.Name)
		}
	}
	completed := s.Phase == corev1.PodSucceeded
	reason, message := "ContainersNotReady", fmt.Sprintf("containers with unready status: %v", unready)
	if completed {
		reason, message = "PodCompleted", ""
	} else if s.Phase == corev1.PodFailed {
		reason, message = "PodFailed", ""
	}
	ready := len(unready) == 0 && !terminal(s.Phase)
	gates := closedGates(pod)
	why := ""
	if without != "" {
		why = "PodSandboxNotReady"
	}
	set(corev1.PodReadyToStartContainers, sandbox && !terminal(s.Phase), why, without)
	started := slices.ContainsFunc(s.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
	})
	set(corev1.PodInitialized, len(uninitialized) == 0 || completed || started, "ContainersNotInitialized",
		fmt.Sprintf("containers with incomplete status: %v", uninitialized))
	if completed {
		list[len(list)-1].Reason = "PodCompleted"
	}
	if ready && gates != "" {
		set(corev1.PodReady, false, "ReadinessGatesNotReady", gates)
	} else {
		set(corev1.PodReady, ready, reason, message)
	}
	set(corev1.ContainersReady, ready, reason, message)
	set(corev1.PodScheduled, true, "", "")
	for _, o := range pod.Status.Conditions {
		notice := o.Type == corev1.PodResizePending || o.Type == corev1.DisruptionTarget // notices returns these
		if !notice && !slices.ContainsFunc(list, func(c corev1.PodCondition) bool { return c.Type == o.Type }) {
			list = append(list, o)
		}
	}
	return list
}

// notices returns the conditions about recent events of a pod: a resize that has to wait, and an
// eviction for a critical pod.
func (w *worker) notices(pod *corev1.Pod, now metav1.Time) []corev1.PodCondition {
	var list []corev1.PodCondition
	add := func(kind corev1.PodConditionType, reason, message string) *corev1.PodCondition {
		c := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: now,
			ObservedGeneration: pod.Generation}
		for _, o := range w.status.Conditions {
			if o.Type == kind {
				c.LastTransitionTime, c.LastProbeTime = o.LastTransitionTime, o.LastProbeTime
			}
		}
		list = append(list, c)
		return &list[len(list)-1]
	}
	if w.delayed.reason != "" && !w.settled {
		if c := add(corev1.PodResizePending, w.delayed.reason, w.delayed.message); c.LastProbeTime.IsZero() {
			c.LastProbeTime = now
		}
	}
	switch i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget }); {
	case w.verdict.reason == preempting:
		add(corev1.DisruptionTarget, corev1.PodReasonTerminationByKubelet, "Pod was preempted by Kubelet to accommodate a critical pod.")
	case i >= 0:
		list = append(list, pod.Status.Conditions[i])
	}
	return list
}

// closedGates returns the message about readiness gates that keep a pod from being ready, "" for
// none.
func closedGates(pod *corev1.Pod) string {
	var closed []string
	for _, g := range pod.Spec.ReadinessGates {
		i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == g.ConditionType })
		switch {
		case i < 0:
			closed = append(closed, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", g.ConditionType))
		case pod.Status.Conditions[i].Status != corev1.ConditionTrue:
			closed = append(closed, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", g.ConditionType,
				pod.Status.Conditions[i].Status))
		}
	}
	return strings.Join(closed, ", ")
}
