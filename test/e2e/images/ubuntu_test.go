package images

import (
	"strings"
	"testing"
	"time"
)

// ubuntu builds an Ubuntu image, whose machine joins a cluster before the image is published, and
// runs builds of images that cannot be built.
func (b *bench) ubuntu(t *testing.T) {
	more := "  services:\n  - {name: systemd-timesyncd, start: Disabled}\n  updates: security\n"
	t.Run("build and join", func(t *testing.T) {
		b.t = t
		image := build{release: "ubuntu-24.04", version: "1.0.0", more: more,
			after: "#!/bin/sh\nmkdir -p /opt/agent\nif [ -f /opt/agent/asked ]; then exit 0; fi\ntouch /opt/agent/asked\nexit 194"}
		file, pins := b.write(image)
		began := time.Now()
		out := b.Run(nil, "images", "build", file, "--pins", pins, "--azure", "local", "--join")
		t.Logf("built and joined in %.1f s:\n%s", time.Since(began).Seconds(), out)
		for _, want := range []string{"kubelet " + kubernetes, "kubeadm " + kubernetes, "containerd v2.1.4", "runc 1.3.0", "ubuntu 24.04",
			"own asks for a restart", "2 machines are Ready nodes", "/versions/1.0.0"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in the output", want)
			}
		}
		b.noTrial("img-ubuntu-2404")
	})
	for _, tc := range []struct {
		name, after string
		want        []string
	}{
		{"an own script", "#!/bin/sh\necho 'no licence'\nexit 7", []string{"step customise, script own", "exit code 7: no licence"}},
		{"kubelet is removed", "#!/bin/sh\nrm -f /usr/bin/kubelet",
			[]string{"step verify, script verify", "FAILED: /usr/bin/kubelet is missing"}},
		{"containerd is disabled", "#!/bin/sh\nsystemctl disable --now containerd",
			[]string{"step verify, script verify", "FAILED: the unit containerd does not start with the machine"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b.t = t
			file, pins := b.write(build{release: "ubuntu-24.04", version: "9.0.0", more: more, after: tc.after})
			_, err := b.Try(nil, "images", "build", file, "--pins", pins, "--azure", "local")
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(tc.want, "nothing of the build is left in Azure") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in:\n%v", want, err)
				}
			}
			b.nothingLeft()
		})
	}
}
