package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"casement.dev/casement/internal/testing/golden"
)

// TestKrew: the manifest contains an entry for each archive, with the archive's checksum and the
// name of the program in it.
func TestKrew(t *testing.T) {
	dir := t.TempDir()
	if err := printKrew(&bytes.Buffer{}, dir, "v0.1.0", "https://example.com"); err == nil {
		t.Error("a release without archives has a manifest")
	}
	for _, name := range []string{"kubectl-casement_linux_amd64.tar.gz", "kubectl-casement_darwin_arm64.tar.gz",
		"kubectl-casement_windows_amd64.tar.gz", "other.tar.gz"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := printKrew(&out, dir, "v0.1.0", "https://example.com/releases/download/"); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/krew.yaml", out.Bytes())
}
