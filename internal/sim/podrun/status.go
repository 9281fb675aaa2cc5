package podrun

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// status returns the status that a kubelet would write for the pod.
func (w *worker) status(now time.Time) corev1.PodStatus {
	s := corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: nodeIP.String(), HostIPs: []corev1.HostIP{{IP: nodeIP.String()}},
		PodIP: w.ip.String(), PodIPs: []corev1.PodIP{{IP: w.ip.String()}}, QOSClass: w.pod.Status.QOSClass,
		StartTime: w.reported.StartTime,
	}
	if s.StartTime == nil {
		s.StartTime = new(metav1.NewTime(now))
	}
	ready := true
	for _, c := range w.containers {
		ready = ready && c.ready
		if c.process == nil {
			s.Phase = corev1.PodPending
		}
		s.ContainerStatuses = append(s.ContainerStatuses, c.status())
	}
	for _, t := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReadyToStartContainers, corev1.PodInitialized} {
		s.Conditions = append(s.Conditions, w.condition(t, true, now))
	}
	for _, t := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		s.Conditions = append(s.Conditions, w.condition(t, ready, now))
	}
	return s
}

func (c *container) status() corev1.ContainerStatus {
	out := corev1.ContainerStatus{Name: c.spec.Name, Image: c.spec.Image, Ready: c.ready, Started: new(c.process != nil)}
	if c.process == nil {
		out.State.Waiting = &corev1.ContainerStateWaiting{Reason: c.reason, Message: c.problem}
		return out
	}
	state := c.process.State()
	out.RestartCount = int32(state.Restarts)
	out.ImageID = "process://" + c.spec.Image
	if state.Running {
		out.State.Running = &corev1.ContainerStateRunning{StartedAt: c.started}
	} else {
		out.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "the process ended and is started again"}
	}
	if state.Restarts > 0 || !state.Running {
		out.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: int32(state.ExitCode), Reason: "Error"}
	}
	return out
}

func (w *worker) condition(t corev1.PodConditionType, ok bool, now time.Time) corev1.PodCondition {
	c := corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}
	if !ok {
		c.Status, c.Reason = corev1.ConditionFalse, "ContainersNotReady"
	}
	for _, before := range w.reported.Conditions {
		if before.Type == t && before.Status == c.Status {
			c.LastTransitionTime = before.LastTransitionTime
		}
	}
	return c
}

func (r *Runner) patchStatus(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		return err
	}
	_, err = r.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	return err
}
