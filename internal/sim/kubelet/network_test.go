package kubelet

import (
	"os"
	"path/filepath"
	"testing"

	"casement.dev/casement/internal/testing/guesttree"
)

// TestCNIConfigured: a node notices each change of its CNI configuration, and does not search again
// after it has found one.
func TestCNIConfigured(t *testing.T) {
	files, root := guesttree.New(t)
	folder := filepath.Join(root, cniFolder)
	k := &Kubelet{c: Config{Files: files}}
	const valid, invalid = `{"name": "cbr0", "plugins": [{"type": "flannel"}]}`, `{"name": "cbr0", "plugins": []}`
	write := func(name, text string) func() error {
		return func() error { return os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600) }
	}
	for _, step := range []struct {
		name   string
		change func() error
		want   bool
		kept   bool
	}{
		{"no folder", nil, false, false},
		{"an empty folder", func() error { return os.MkdirAll(folder, 0o700) }, false, false},
		{"an invalid file", write("10-a.conflist", invalid), false, false},
		{"a valid file", write("10-b.conflist", valid), true, false},
		{"the same", nil, true, true},
		{"another file", write("20-c.conf", "{}"), true, true},
		{"it is invalid now", write("10-b.conflist", invalid), false, false},
		{"it is valid again", write("10-b.conflist", valid), true, false},
		{"it is removed", func() error { return os.Remove(filepath.Join(folder, "10-b.conflist")) }, false, false},
	} {
		if step.change != nil {
			if err := step.change(); err != nil {
				t.Fatal(err)
			}
		}
		before := k.cni.info
		got := k.cniConfigured()
		if kept := before != nil && k.cni.info == before; got != step.want || kept != step.kept {
			t.Errorf("%s: configured %v, want %v; it kept what it had found: %v, want %v", step.name, got, step.want, kept, step.kept)
		}
	}
}
