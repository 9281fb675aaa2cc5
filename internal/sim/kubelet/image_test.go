package kubelet

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/sim/pull"
)

func TestImageThatCannotBePulled(t *testing.T) {
	for name, test := range map[string]struct {
		image, mode, reason, message, event string
	}{
		"unknown tag": {"nginx:no-such-tag", "", "ImagePullBackOff",
			`Back-off pulling image "nginx:no-such-tag": ErrImagePull: rpc error: code = NotFound`, "Failed: Error: ImagePullBackOff"},
		"wrong name":  {"NGINX", "", "InvalidImageName", "must be lowercase", "Failed: Error: InvalidImageName"},
		"other build": {"mcr.microsoft.com/windows/nanoserver:ltsc2019", "", "CreateContainerError", "does not match the host", ""},
		"for Linux": {"nginx", "", "ImagePullBackOff", `failed to pull and unpack image "docker.io/library/nginx:latest": ` +
			"no match for platform in manifest: not found", "Failed: Error: ErrImagePull"},
		"of Docker Hub": {"microsoft/iis", "", "CreateContainerError", "does not match the host", ""},
		"private":       {"contoso.azurecr.io/app:x", "", "", "", ""},
		"not admitted": {"contoso.azurecr.io/app:x", pull.Listed, "ImagePullBackOff", "not found (simulated",
			"BackOff: Back-off pulling image \"contoso.azurecr.io/app:x\""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			synctest.Test(t, func(t *testing.T) {
				k := b.kubelet(t)
				images, err := pull.New(test.mode, nil)
				if err != nil {
					t.Fatal(err)
				}
				k.c.Images = images
				w := newWorker(k, probedPod(func(c *corev1.Container) { c.Image = test.image }))
				w.sandbox = sandbox{ready: true}
				settle(t, w, time.Second)
				got := settle(t, w, time.Second).State.Waiting
				if got == nil {
					got = &corev1.ContainerStateWaiting{}
				}
				if got.Reason != test.reason || !strings.Contains(got.Message, test.message) {
					t.Errorf("it waits for %s: %s; want %s: %s", got.Reason, got.Message, test.reason, test.message)
				}
				if test.event != "" && !slices.Contains(seen(w), test.event) {
					t.Errorf("the events are %q, want %q", seen(w), test.event)
				}
				b.runtime.Close()
			})
		})
	}
}

// TestImageVolume: the image of a volume is pulled like a container's, and delays only the
// containers that mount it.
func TestImageVolume(t *testing.T) {
	for name, test := range map[string]struct {
		image       string
		mounts      bool
		reason      string
		event, path string
	}{
		"there":     {"example.com/data:1", true, "", `Pulling: Pulling image "example.com/data:1"`, ""},
		"absent":    {"nginx:no-such-tag", true, "ImagePullBackOff", `BackOff: Back-off pulling image "nginx:no-such-tag"`, ""},
		"unmounted": {"nginx:no-such-tag", false, "", `Pulling: Pulling image "nginx:no-such-tag"`, ""},
		"as the container shows": {"nginx:no-such-tag", true, "ImagePullBackOff", "Failed: Error: ImagePullBackOff",
			"spec.containers{app}"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			synctest.Test(t, func(t *testing.T) {
				k := b.kubelet(t)
				images, err := pull.New("", nil)
				if err != nil {
					t.Fatal(err)
				}
				k.c.Images = images
				pod := probedPod(func(c *corev1.Container) {
					if test.mounts {
						c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
					}
				})
				pod.Spec.Volumes = []corev1.Volume{{Name: "v",
					VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: test.image}}}}
				w := newWorker(k, pod)
				w.sandbox = sandbox{ready: true}
				settle(t, w, time.Second)
				got := settle(t, w, time.Second)
				if (got.State.Running == nil) != (test.reason != "") || got.State.Waiting != nil && got.State.Waiting.Reason != test.reason {
					t.Errorf("the state is %+v, want %q", got.State, test.reason)
				}
				reason, message, _ := strings.Cut(test.event, ": ")
				if !w.events[event{reason, message, test.path}] {
					t.Errorf("the events are %q, want %q at %q", seen(w), test.event, test.path)
				}
				b.runtime.Close()
			})
		})
	}
}

// TestPlatform: an image can be pulled only on the operating system for which it is made.
func TestPlatform(t *testing.T) {
	for image, at := range map[string]string{
		"nginx:1.29":                                    "linux",
		"registry.k8s.io/kube-proxy:v1.36.3":            "linux",
		"registry.k8s.io/pause:3.10-linux-amd64":        "linux",
		"mcr.microsoft.com/windows/nanoserver:ltsc2022": "windows",
		"mcr.microsoft.com/dotnet/framework/aspnet:4.8": "windows",
		"sigwindowstools/kube-proxy:v1.34.2-calico":     "windows",
		"registry.k8s.io/pause:3.10":                    "linux windows",
		"golang:1.26":                                   "linux windows",
		"contoso.azurecr.io/nginx:1":                    "linux windows",
	} {
		for _, os := range []string{"linux", "windows"} {
			k := newBench(t).kubelet(t)
			k.c.OS = os
			w := newWorker(k, probedPod(func(*corev1.Container) {}))
			reason, message := w.refuseImage(imageUse{image: image})
			if (reason == "") != strings.Contains(at, os) {
				t.Errorf("%s on %s: %s %s", image, os, reason, message)
			}
		}
	}
}
