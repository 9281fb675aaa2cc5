package shell_test

import (
	"context"
	"io"
	"testing"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// TestMissing checks which programs the images of each family do not have.
func TestMissing(t *testing.T) {
	flatcar := machine.Image{Name: "Flatcar Container Linux by Kinvolk 4230.2.1", Release: "4230.2.1", Build: "6.6.95", Ignition: true}
	azure := machine.Image{Name: "Microsoft Azure Linux 3.0", Release: "3.0", Build: "6.6.96"}
	plain := machine.Image{Name: "Ubuntu 24.04 LTS", Release: "24.04", Build: "6.8.0", Plain: true}
	node := machine.Image{Name: "Ubuntu 24.04.2 LTS", Release: "24.04", Build: "6.8.0"}
	for _, c := range []struct {
		name    string
		image   machine.Image
		command string
		found   bool
	}{
		{"a node has apt-get", node, "apt-get", true},
		{"a node has kubeadm", node, "kubeadm", true},
		{"Ubuntu's own image has no kubeadm", plain, "kubeadm", false},
		{"Ubuntu's own image has apt-get", plain, "apt-get", true},
		{"Flatcar has no package manager", flatcar, "apt-get", false},
		{"Flatcar has no Python", flatcar, "python3", false},
		{"nor by its path", flatcar, "/usr/bin/python3", false},
		{"Flatcar has envsubst", flatcar, "envsubst", true},
		{"Azure Linux has no apt-get", azure, "apt-get", false},
		{"Azure Linux has Python", azure, "python3", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := machine.New(machine.Spec{ID: "vm", Dir: t.TempDir(), OS: machine.Linux, ComputerName: "node-1", Image: c.image},
				nil, clock.RealClock{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { m.Close() })
			sh := shell.New(m, shell.Table{"kubeadm": func(context.Context, *shell.Process) int { return 0 }}, nil)
			o := shell.Session{Stdout: io.Discard, Stderr: io.Discard}
			code := sh.Run(t.Context(), "command -v "+c.command, o)
			if (code == 0) != c.found {
				t.Errorf("code %d, want found %v", code, c.found)
			}
			if _, found := sh.Exec(t.Context(), []string{c.command, "--version"}, o); found != c.found {
				t.Errorf("found %v by its name", found)
			}
		})
	}
}
