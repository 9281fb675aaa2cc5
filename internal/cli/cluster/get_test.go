package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWriteSecret: a kubeconfig is for its owner alone, also in place of a file that others could read.
func TestWriteSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "demo.kubeconfig")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeSecret(file, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
