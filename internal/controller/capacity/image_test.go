package capacity

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "casement.dev/casement/api/v1beta1"
)

func TestImage(t *testing.T) {
	machine := func(os string, annotations map[string]string) *infrav1.AzureMachine {
		m := &infrav1.AzureMachine{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
		m.Spec.OSDisk.OSType = os
		return m
	}
	own := machine("Linux", nil)
	own.Spec.Image = &infrav1.Image{ID: new("/subscriptions/s/my-image")}
	for _, test := range []struct {
		name, version string
		machine       *infrav1.AzureMachine
		want          string
	}{
		{"own", "v1.36.3", own, "/subscriptions/s/my-image"},
		{"gallery", "v1.34.1", machine("Windows", map[string]string{"windowsServerVersion": "windows-2025"}),
			"ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019/capi-win-2025-containerd/1.34.1"},
		{"marketplace", "v1.22.1", machine("Windows", nil), "cncf-upstream:capi-windows:k8s-1dot22dot1-windows-2019-containerd:latest"},
	} {
		t.Run(test.name, func(t *testing.T) {
			image, err := Image(&test.machine.Spec, test.machine.Annotations, test.version)
			if err != nil || ImageName(image) != test.want {
				t.Errorf("image %s, %v, want %s", ImageName(image), err, test.want)
			}
		})
	}
	if _, err := Image(&machine("Windows", nil).Spec, nil, "one"); err == nil {
		t.Error("a version that is none has an image")
	}
}
