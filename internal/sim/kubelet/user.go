package kubelet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/windows"
)

// RunAsUserName returns the user that a pod's spec names for a container on Windows, or "".
func RunAsUserName(pod *corev1.Pod, c *corev1.Container) string {
	if s := c.SecurityContext; s != nil && s.WindowsOptions != nil && s.WindowsOptions.RunAsUserName != nil {
		return *s.WindowsOptions.RunAsUserName
	}
	return podUserName(pod)
}

// podUserName returns the user that a pod's spec names for all its containers on Windows, or "".
func podUserName(pod *corev1.Pod) string {
	if s := pod.Spec.SecurityContext; s != nil && s.WindowsOptions != nil && s.WindowsOptions.RunAsUserName != nil {
		return *s.WindowsOptions.RunAsUserName
	}
	return ""
}

// badLogon is the message of Windows for an account that cannot log in.
const badLogon = "The user name or password is incorrect."

// refuseSandboxUser returns an error if the runtime cannot start a pod's sandbox as the user that
// the pod's spec names. The sandbox of a HostProcess pod has no process.
func (k *Kubelet) refuseSandboxUser(pod *corev1.Pod) error {
	name := podUserName(pod)
	if k.c.OS != "windows" || name == "" || HostProcess(pod) || !k.c.containerdSince("1.6") || windows.SandboxHasAccount(name) {
		return nil
	}
	return fmt.Errorf("rpc error: code = Unknown desc = failed to start sandbox container task %q: "+
		"hcs::System::CreateProcess %s: %s: unknown", pod.UID, pod.UID, badLogon)
}

// refuseUser returns an error if the runtime cannot start a container as the user that is named for
// it.
func (w *worker) refuseUser(pod *corev1.Pod, c *corev1.Container) error {
	name := RunAsUserName(pod, c)
	if w.k.c.OS != "windows" || name == "" || w.static {
		return nil
	}
	at := fmt.Sprintf("failed to start containerd task %q: ", c.Name)
	switch host := HostProcess(pod); {
	case host && !windows.HostHasAccount(name):
		return fmt.Errorf("%sfailed to logon user: %s: unknown", at, badLogon)
	case !host && !windows.HasAccount(c.Image, name):
		return fmt.Errorf("%shcs::System::CreateProcess %s: %s: unknown", at, c.Name, badLogon)
	}
	return nil
}
