package kubelet

import (
	"context"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// TestPodStatusPatch: the patch removes the reason of a condition that becomes true, and keeps
// another client's conditions.
func TestPodStatusPatch(t *testing.T) {
	ready := func(status corev1.ConditionStatus, reason string) corev1.PodCondition {
		return corev1.PodCondition{Type: corev1.PodReady, Status: status, Reason: reason, Message: reason}
	}
	theirs := corev1.PodCondition{Type: "example.com/gate", Status: corev1.ConditionFalse, Reason: "Closed"}
	was, err := json.Marshal(corev1.Pod{Status: corev1.PodStatus{
		Reason: "NodeLost", Conditions: []corev1.PodCondition{theirs, ready(corev1.ConditionFalse, "ContainersNotReady")}}})
	if err != nil {
		t.Fatal(err)
	}
	patch, err := podStatusPatch("u", &corev1.PodStatus{Conditions: []corev1.PodCondition{ready(corev1.ConditionTrue, "")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := strategicpatch.StrategicMergePatch(was, patch, corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	var now corev1.Pod
	if err := json.Unmarshal(merged, &now); err != nil {
		t.Fatal(err)
	}
	found := map[corev1.PodConditionType]corev1.PodCondition{}
	for _, c := range now.Status.Conditions {
		found[c.Type] = c
	}
	if found[corev1.PodReady] != ready(corev1.ConditionTrue, "") || found[theirs.Type] != theirs || now.Status.Reason != "" {
		t.Errorf("the status is %+v", now.Status)
	}
}

// TestStoppedStart: a kubelet that stops while it starts a container causes no backoff in the next
// kubelet.
func TestStoppedStart(t *testing.T) {
	b := libraryBench(t, &library{})
	pod := webPod(0)
	pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}
	w := newWorker(b.kubelet(t), pod)
	w.sandbox.ready = true
	ctx, stop := context.WithCancel(t.Context())
	stop()
	w.runContainers(ctx, pod)
	if c := w.containers[0]; c.run != nil || c.pause != 0 || c.waiting.Reason == "CreateContainerConfigError" {
		t.Errorf("the container runs: %v, and waits %v for %+v", c.run != nil, c.pause, c.waiting)
	}
}
