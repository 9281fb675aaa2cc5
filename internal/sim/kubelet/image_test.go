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
		"private":     {"contoso.azurecr.io/app:x", "", "", "", ""},
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
