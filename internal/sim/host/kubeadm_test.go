package host

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest"
)

// TestKubeadmOnAFullDisk: after the real disk was full, kubeadm is started again, without the
// half-written file of the first run.
func TestKubeadmOnAFullDisk(t *testing.T) {
	n := testNode(t)
	root, err := n.body.Path("/")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(root, kubernetesDir, "given"), "first")
	var out bytes.Buffer
	if err := n.boot(t.Context(), "init", "", &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if !strings.Contains(out.String(), "no space left on device") || !strings.Contains(out.String(), "starts again") {
		t.Errorf("it does not say why it starts again:\n%s", &out)
	}
}

// TestKubeadmWithoutARuntime: kubeadm reports a container runtime that does not run, with the
// runtime's message.
func TestKubeadmWithoutARuntime(t *testing.T) {
	n := testNode(t)
	n.vm.OS = guest.Linux
	services := n.body.Machine().Services
	services.StartAutomatic()
	if lacks := n.lacks(); len(lacks) > 0 {
		t.Fatalf("a new machine lacks %v", lacks)
	}
	if err := services.Stop("containerd"); err != nil {
		t.Fatal(err)
	}
	lacks := n.lacks()
	if len(lacks) != 1 || lacks[0].Check != "CRI" || !strings.HasPrefix(lacks[0].Reason, "container runtime is not running: ") {
		t.Errorf("without containerd it lacks %v", lacks)
	}
}
