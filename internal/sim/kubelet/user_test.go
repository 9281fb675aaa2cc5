package kubelet

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// named returns the options of a pod or container that runs as a user.
func named(user string, host bool) *corev1.WindowsSecurityContextOptions {
	return &corev1.WindowsSecurityContextOptions{RunAsUserName: &user, HostProcess: &host}
}

// TestUserThatDoesNotExist: a container whose user does not exist in its image ends before it runs,
// as in containerd.
func TestUserThatDoesNotExist(t *testing.T) {
	const nano, own = "mcr.microsoft.com/windows/nanoserver:ltsc2022", "example.com/app"
	for name, test := range map[string]struct {
		image, user string
		host        bool
		policy      corev1.RestartPolicy
		waits       string // empty if the container runs
		message     string
	}{
		"of the image": {nano, "ContainerUser", false, corev1.RestartPolicyAlways, "", ""},
		"of no account": {nano, "FooLish", false, corev1.RestartPolicyAlways, "RunContainerError",
			"user name or password is incorrect"},
		"of no account, once":    {nano, "FooLish", false, corev1.RestartPolicyNever, "StartError", "user name or password is incorrect"},
		"of an image of a user":  {own, "app", false, corev1.RestartPolicyAlways, "", ""},
		"of the node":            {own, `NT AUTHORITY\SYSTEM`, true, corev1.RestartPolicyAlways, "", ""},
		"a group of the node":    {own, "Administrators", true, corev1.RestartPolicyAlways, "", ""},
		"no group of the node":   {own, "hpc-users", true, corev1.RestartPolicyAlways, "RunContainerError", "failed to logon user"},
		"of the image, on hosts": {nano, "ContainerUser", true, corev1.RestartPolicyAlways, "RunContainerError", "failed to logon user"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			synctest.Test(t, func(t *testing.T) {
				pod := probedPod(func(c *corev1.Container) {
					c.Image = test.image
					c.SecurityContext = &corev1.SecurityContext{WindowsOptions: named(test.user, test.host)}
				})
				pod.Spec.RestartPolicy = test.policy
				w := newWorker(b.kubelet(t), pod)
				got := settle(t, w, time.Second)
				waits, message := "", ""
				switch s := got.State; {
				case s.Waiting != nil:
					waits, message = s.Waiting.Reason, got.LastTerminationState.Terminated.Message
				case s.Terminated != nil:
					waits, message = s.Terminated.Reason, s.Terminated.Message
				}
				if waits != test.waits || !strings.Contains(message, test.message) {
					t.Errorf("the state is %s: %s, want %s: %s", waits, message, test.waits, test.message)
				}
				said := slices.ContainsFunc(seen(w), func(e string) bool { return strings.HasPrefix(e, "Failed: Error: failed to start") })
				if said != (test.waits != "") {
					t.Errorf("the events are %q", seen(w))
				}
				b.runtime.Close()
			})
		})
	}
}

// TestSandboxUser: the sandbox runs as the user of the whole pod, who must exist in the pause
// image.
func TestSandboxUser(t *testing.T) {
	for name, test := range map[string]struct {
		runtime, user string
		host, refused bool
	}{
		"of no account":                   {"containerd://2.1.4", "FooLish", false, true},
		"of the pause image":              {"containerd://2.1.4", "ContainerAdministrator", false, false},
		"of the node, HostProcess":        {"containerd://2.1.4", "Administrators", true, false},
		"of no account, old containerd":   {"containerd://1.5.7", "FooLish", false, false},
		"of no account, under dockershim": {"docker://20.10.14", "FooLish", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			k := newBench(t).kubelet(t)
			k.c.RuntimeVersion = test.runtime
			pod := probedPod(func(*corev1.Container) {})
			pod.Spec.SecurityContext = &corev1.PodSecurityContext{WindowsOptions: named(test.user, test.host)}
			if err := k.refuseSandbox(pod); (err != nil) != test.refused {
				t.Errorf("the sandbox is refused: %v", err)
			}
		})
	}
}
