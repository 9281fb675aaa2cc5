package kubelet

import (
	"context"
	"fmt"
	"strings"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/windows"
)

// errImagePull is the kubelet's reason for an image that cannot be pulled, until the kubelet backs
// off.
const errImagePull = "ErrImagePull"

// fullName returns an image's reference as the runtime writes it; an invalid reference is returned
// unchanged.
func fullName(image string) string {
	if named, err := reference.ParseNormalizedNamed(image); err == nil {
		return reference.TagNameOnly(named).String()
	}
	return image
}

// errNeverPull and invalidImage are the reasons for images that are not pulled at all.
const errNeverPull, invalidImage = "ErrImageNeverPull", "InvalidImageName"

// isPull reports whether a reason concerns an image, and not a container that cannot run.
func isPull(reason string) bool {
	return reason == errImagePull || reason == errNeverPull || reason == invalidImage
}

// imageUse is an image that a container needs: the container's own, or a volume's, whose events
// belong to the pod.
type imageUse struct {
	image  string
	policy corev1.PullPolicy
	at     string // the field path of its events
}

// pull pulls the images of a container's volumes and its own. It returns an image that could not be
// pulled, and the reason. Source: kubernetes pkg/kubelet/kuberuntime/kuberuntime_manager.go,
// getImageVolumes.
func (w *worker) pull(ctx context.Context, pod *corev1.Pod, c *container) (lacks imageUse, why verdict) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Image == nil || w.static {
			continue
		}
		p := imageUse{v.Image.Reference, v.Image.PullPolicy, ""}
		failed, known := w.pulled[v.Name]
		if !known {
			if w.pulled == nil {
				w.pulled = map[string]verdict{}
			}
			failed = w.ensure(ctx, p)
			w.pulled[v.Name] = failed
		}
		if failed.reason != "" && mounts(&c.spec, v.Name) {
			w.event(ctx, corev1.EventTypeWarning, "Failed", "Error: "+failed.reason, c.fieldPath())
			lacks, why = p, failed
		}
	}
	if why.reason != "" {
		return lacks, why
	}
	lacks = imageUse{c.spec.Image, c.spec.ImagePullPolicy, c.fieldPath()}
	why = w.ensure(ctx, lacks)
	if isPull(why.reason) {
		w.event(ctx, corev1.EventTypeWarning, "Failed", "Error: "+why.reason, c.fieldPath())
	}
	return lacks, why
}

// ensure pulls an image and writes the events of the result. It returns an empty verdict for
// success.
func (w *worker) ensure(ctx context.Context, p imageUse) verdict {
	reason, message := w.refuseImage(p)
	if reason == "" {
		w.recordPulled(ctx, p)
	} else {
		w.recordPullFailure(ctx, p, reason, message)
	}
	return verdict{reason, message}
}

// refuseImage returns the error of the kubelet or of containerd for an image that cannot be pulled
// or cannot run here; the reason is empty if it can.
func (w *worker) refuseImage(p imageUse) (reason, message string) {
	image := p.image
	if w.static {
		return "", "" // a static pod's program is part of the machine
	}
	if r := w.k.c.Images.Refuse(image); r != nil {
		return r.Reason, r.Message
	}
	if p.policy == corev1.PullNever && !w.k.runtime.has(image) {
		return errNeverPull, fmt.Sprintf("Container image %q is not present with pull policy of Never", image)
	}
	release, windowsImage := windows.ImageRelease(image)
	switch os := w.k.c.OS; {
	case os == "linux" && windows.IsWindowsImage(image), os == "windows" && windows.IsLinuxImage(image):
		return errImagePull, fmt.Sprintf("rpc error: code = NotFound desc = failed to pull and unpack image %q: no match for platform in "+
			"manifest: not found", fullName(image))
	case os == "windows" && (windowsImage && !windows.CanRun(w.k.c.Release.Build, release.Build) || windows.IsFormerImage(image)):
		return "CreateContainerError", "failed to create containerd task: failed to create shim task: hcs::CreateComputeSystem: " +
			"The container operating system does not match the host operating system.: unknown"
	}
	return "", ""
}

// checkPullSecrets writes an event about the pull secrets of a pod that do not exist, if an image
// was not pulled. Source: kubernetes v1.37 pkg/kubelet/kubelet.go, SyncPod; earlier kubelets write
// it for pulled images too.
func (w *worker) checkPullSecrets(ctx context.Context, pod *corev1.Pod) {
	var failed []string
	for _, s := range pod.Spec.ImagePullSecrets {
		if s.Name == "" {
			continue
		}
		if _, err := readPermitted(ctx, w.k, w.k.api.Load().core.Secrets(w.namespace).Get, s.Name); err != nil {
			failed = append(failed, s.Name)
		}
	}
	if len(failed) > 0 && ctx.Err() == nil {
		w.event(ctx, corev1.EventTypeWarning, "FailedToRetrieveImagePullSecret", fmt.Sprintf("Unable to retrieve some image pull "+
			"secrets (%s); attempting to pull the image may not succeed.", strings.Join(failed, ", ")), "")
	}
}

// recordPullFailure writes the events of an image that could not be pulled.
func (w *worker) recordPullFailure(ctx context.Context, p imageUse, reason, message string) {
	switch reason {
	case errImagePull:
		w.event(ctx, corev1.EventTypeNormal, "Pulling", fmt.Sprintf("Pulling image %q", p.image), p.at)
		w.event(ctx, corev1.EventTypeWarning, "Failed", fmt.Sprintf("Failed to pull image %q: %s", p.image, message), p.at)
	case errNeverPull:
		w.event(ctx, corev1.EventTypeWarning, reason, message, p.at)
	case invalidImage:
		w.event(ctx, corev1.EventTypeWarning, "InspectFailed", message, p.at)
	default:
		w.event(ctx, corev1.EventTypeWarning, "Failed", message, p.at)
	}
}
