// Package guesttree creates file trees of simulated machines for tests.
package guesttree

import (
	"path/filepath"
	"testing"

	"casement.dev/casement/internal/guestfs"
)

// New returns the empty tree of a Linux machine and its directory on this computer. Files that a test
// writes there appear in the machine.
func New(t testing.TB) (files *guestfs.Root, dir string) {
	t.Helper()
	home := t.TempDir()
	files, err := guestfs.At(home).Root(false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	return files, filepath.Join(home, "rootfs")
}
