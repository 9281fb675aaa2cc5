package host

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// A kubeadm that met a full disk of the real machine starts again, without the half of a
// file that it wrote.
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
