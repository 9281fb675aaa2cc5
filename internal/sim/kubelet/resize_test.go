package kubelet

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func cpu(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
}

// TestResize: new requests are applied immediately if the node has room, and delayed otherwise.
func TestResize(t *testing.T) {
	for name, test := range map[string]struct {
		os, want, reason, allocated string
	}{
		"fits":       {"linux", "2", "", "2"},
		"too much":   {"linux", "5", corev1.PodReasonDeferred, "1"},
		"on Windows": {"windows", "2", corev1.PodReasonInfeasible, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			k := b.kubelet(t)
			k.c.OS = test.os
			k.node.set(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "win-1"}, Status: corev1.NodeStatus{Allocatable: cpu("4")}})
			w := b.serving(t, k, probedPod(func(c *corev1.Container) { c.Resources.Requests = cpu("1") }))
			pod := w.pod.DeepCopy()
			pod.Spec.Containers[0].Resources.Requests = cpu(test.want)
			again := w.resize(t.Context(), pod)
			got := w.containers[0].spec.Resources.Requests.Cpu().String()
			if got != test.allocated || (again > 0) != (test.reason == corev1.PodReasonDeferred) {
				t.Errorf("the container has %s, and the kubelet looks again after %s", got, again)
			}
			reason := ""
			for _, c := range podStatus(pod, w).Conditions {
				if c.Type == corev1.PodResizePending {
					reason = c.Reason
				}
			}
			if reason != test.reason {
				t.Errorf("a condition says %q, want %q", reason, test.reason)
			}
		})
	}
}

// TestVictims: as few pods as possible make room for a critical pod; the pods nearest to the need
// are chosen and, of equally near ones, the smallest.
func TestVictims(t *testing.T) {
	pods := map[types.UID]*corev1.Pod{}
	for uid, amount := range map[types.UID]string{"one": "1", "two": "2", "three": "3"} {
		pods[uid] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}, Status: corev1.PodStatus{QOSClass: corev1.PodQOSBurstable},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: cpu(amount)}}}}}
	}
	pods["system"] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "system"}, Spec: corev1.PodSpec{Priority: new(int32(systemCritical)),
		Containers: pods["three"].Spec.Containers}}
	for name, test := range map[string]struct {
		requested int64
		want      []types.UID
	}{
		"one is enough":   {2000, []types.UID{"two"}},
		"two are":         {4000, []types.UID{"one", "three"}},
		"there is no way": {9000, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := chooseVictims(&corev1.Pod{}, pods, []shortage{{corev1.ResourceCPU, test.requested, 8000, 8000}})
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestRestarts: a container's own rules and policy take precedence over its pod's.
func TestRestarts(t *testing.T) {
	rule := corev1.ContainerRestartRule{Action: corev1.ContainerRestartRuleActionRestart, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{
		Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}}}
	never, failure := new(corev1.ContainerRestartPolicyNever), new(corev1.ContainerRestartPolicyOnFailure)
	ruled := corev1.Container{RestartPolicy: never, RestartPolicyRules: []corev1.ContainerRestartRule{rule}}
	for name, test := range map[string]struct {
		c    corev1.Container
		pod  corev1.RestartPolicy
		code int32
		want bool
	}{
		"the pod's":          {corev1.Container{}, corev1.RestartPolicyAlways, 0, true},
		"on failure":         {corev1.Container{}, corev1.RestartPolicyOnFailure, 0, false},
		"never of its own":   {corev1.Container{RestartPolicy: never}, corev1.RestartPolicyAlways, 1, false},
		"failure of its own": {corev1.Container{RestartPolicy: failure}, corev1.RestartPolicyNever, 1, true},
		"a rule":             {ruled, corev1.RestartPolicyNever, 42, true},
		"no rule":            {ruled, corev1.RestartPolicyNever, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := restarts(&test.c, &corev1.PodSpec{RestartPolicy: test.pod}, test.code); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestHostPath: the types of hostPath volumes are checked on both systems, except for paths of the
// image and the kernel.
func TestHostPath(t *testing.T) {
	for name, test := range map[string]struct {
		path string
		kind corev1.HostPathType
		want string
	}{
		"absent": {"/nowhere", corev1.HostPathDirectory,
			"hostPath type check failed, /nowhere is not a directory, unable to determine its type: path \"/nowhere\" does not exist"},
		"any":           {"/nowhere", corev1.HostPathUnset, ""},
		"made":          {"/data/a", corev1.HostPathDirectoryOrCreate, ""},
		"common":        {"/var/log", corev1.HostPathDirectory, ""},
		"no file":       {"/var/log", corev1.HostPathFile, "hostPath type check failed: /var/log is not a file, it's a Directory"},
		"of the kernel": {"/dev/sdc", corev1.HostPathBlockDev, ""},
		"pipe":          {`\\.\pipe\csi-proxy-disk-v1`, corev1.HostPathSocket, ""},
		"drive":         {`C:\var\log`, corev1.HostPathDirectory, ""},
		"absent on drive": {`C:\nowhere`, corev1.HostPathFile,
			`hostPath type check failed, C:\nowhere is not a file, unable to determine its type: path "C:\\nowhere" does not exist`},
		"Windows's folder": {`C:\Windows\System32`, corev1.HostPathDirectory, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := newBench(t).kubelet(t)
			got := ""
			if err := k.checkHostPath(&corev1.HostPathVolumeSource{Path: test.path, Type: &test.kind}); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestEphemeralContainer: an ephemeral container runs once beside the others and does not affect
// the pod's phase.
func TestEphemeralContainer(t *testing.T) {
	b := newBench(t)
	w := b.serving(t, b.kubelet(t), probedPod(func(*corev1.Container) {}))
	pod := w.pod.DeepCopy()
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "debug", Image: "example.com/tools"}}}
	w.addEphemeral(pod)
	w.runContainers(t.Context(), pod)
	s := podStatus(pod, w)
	if len(s.EphemeralContainerStatuses) != 1 || s.EphemeralContainerStatuses[0].State.Running == nil || s.Phase != corev1.PodRunning {
		t.Errorf("the status is %+v", s)
	}
}
