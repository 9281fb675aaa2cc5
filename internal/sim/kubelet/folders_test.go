package kubelet

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestFolders: changes in a folder are reported, even if it does not exist yet, and changes of
// other folders are not.
func TestFolders(t *testing.T) {
	f := NewFolders()
	defer f.Close()
	if f.watcher == nil {
		t.Skip("the kernel gives this user no further watcher")
	}
	root := t.TempDir()
	dir, other := filepath.Join(root, "a", "b"), filepath.Join(root, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	quiet, leaveQuiet := f.watch(other)
	defer leaveQuiet()
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"the folder above is made", func() error { return os.Mkdir(filepath.Dir(dir), 0o755) }},
		{"the folder is made", func() error { return os.Mkdir(dir, 0o755) }},
		{"a file is made", func() error { return os.WriteFile(filepath.Join(dir, "x.yaml"), []byte("a"), 0o600) }},
		{"a file goes", func() error { return os.Remove(filepath.Join(dir, "x.yaml")) }},
		{"the folder goes", func() error { return os.Remove(dir) }},
		{"the folder is made again", func() error { return os.Mkdir(dir, 0o755) }},
	} {
		changed, leave := f.watch(dir)
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Fatalf("%s: nothing is heard of it", step.name)
		}
		leave()
	}
	select {
	case <-quiet:
		t.Error("the other folder reports a change")
	default:
	}
}
