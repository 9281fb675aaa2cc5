package kubelet

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/windows"
)

// errImagePull is the kubelet's reason for an image that cannot be pulled, until it backs
// off from the next attempt.
const errImagePull = "ErrImagePull"

// refuseImage returns why an image cannot be pulled or cannot run here, in the words of the
// kubelet or of containerd; the reason is empty where it can.
func (w *worker) refuseImage(c *corev1.Container) (reason, message string) {
	image := c.Image
	if w.static {
		return "", "" // its program is part of the machine
	}
	if r := w.k.c.Images.Refuse(image); r != nil {
		return r.Reason, r.Message
	}
	if c.ImagePullPolicy == corev1.PullNever && !w.k.runtime.has(image) {
		return "ErrImageNeverPull", fmt.Sprintf("Container image %q is not present with pull policy of Never", image)
	}
	release, windowsImage := windows.ImageRelease(image)
	switch os := w.k.c.OS; {
	case os == "linux" && (windowsImage || windows.IsWindowsImage(image)):
		return errImagePull, "no match for platform in manifest: not found"
	case os == "windows" && windowsImage && !windows.CanRun(w.k.c.Release.Build, release.Build):
		return "CreateContainerError", "failed to create containerd task: failed to create shim task: hcs::CreateComputeSystem: " +
			"The container operating system does not match the host operating system.: unknown"
	}
	return "", ""
}

// checkPullSecrets says which secrets for registries a pod names and does not have, where an image was not pulled. Source:
// kubernetes v1.37 pkg/kubelet/kubelet.go, SyncPod; kubelets before say it of images that are pulled too.
func (w *worker) checkPullSecrets(ctx context.Context, pod *corev1.Pod) {
	var failed []string
	for _, s := range pod.Spec.ImagePullSecrets {
		if s.Name == "" {
			continue
		}
		if _, err := permitted(ctx, w.k, w.k.api.Load().core.Secrets(w.namespace).Get, s.Name); err != nil {
			failed = append(failed, s.Name)
		}
	}
	if len(failed) > 0 && ctx.Err() == nil {
		w.event(ctx, corev1.EventTypeWarning, "FailedToRetrieveImagePullSecret", fmt.Sprintf("Unable to retrieve some image pull "+
			"secrets (%s); attempting to pull the image may not succeed.", strings.Join(failed, ", ")), "")
	}
}

// failPull notes why a container has no image, with the kubelet's events.
func (w *worker) failPull(ctx context.Context, c *container, reason, message string) {
	c.waiting = corev1.ContainerStateWaiting{Reason: reason, Message: message}
	switch reason {
	case errImagePull:
		w.event(ctx, corev1.EventTypeNormal, "Pulling", fmt.Sprintf("Pulling image %q", c.spec.Image), c.fieldPath())
		w.event(ctx, corev1.EventTypeWarning, "Failed", fmt.Sprintf("Failed to pull image %q: %s", c.spec.Image, message), c.fieldPath())
		w.event(ctx, corev1.EventTypeWarning, "Failed", "Error: "+reason, c.fieldPath())
	case "ErrImageNeverPull":
		w.event(ctx, corev1.EventTypeWarning, reason, message, c.fieldPath())
		w.event(ctx, corev1.EventTypeWarning, "Failed", "Error: "+reason, c.fieldPath())
	case "InvalidImageName":
		w.event(ctx, corev1.EventTypeWarning, "InspectFailed", message, c.fieldPath())
		w.event(ctx, corev1.EventTypeWarning, "Failed", "Error: "+reason, c.fieldPath())
	default:
		w.event(ctx, corev1.EventTypeWarning, "Failed", message, c.fieldPath())
	}
}
