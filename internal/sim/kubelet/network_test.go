package kubelet

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCNIConfigured checks that a node sees each change of its CNI configuration, and does not look for one that it has
// found.
func TestCNIConfigured(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "net.d")
	looked := 0
	k := &Kubelet{c: Config{Path: func(guest string) (string, error) {
		if guest != cniFolder {
			t.Errorf("the kubelet asks for %s", guest)
		}
		looked++
		return folder, nil
	}}}
	const valid, invalid = `{"name": "cbr0", "plugins": [{"type": "flannel"}]}`, `{"name": "cbr0", "plugins": []}`
	write := func(name, text string) func() error {
		return func() error { return os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600) }
	}
	for _, step := range []struct {
		name   string
		change func() error
		want   bool
		looks  int
	}{
		{"no folder", nil, false, 1},
		{"an empty folder", func() error { return os.Mkdir(folder, 0o700) }, false, 1},
		{"an invalid file", write("10-a.conflist", invalid), false, 1},
		{"a valid file", write("10-b.conflist", valid), true, 1},
		{"the same", nil, true, 0},
		{"another file", write("20-c.conf", "{}"), true, 0},
		{"it is invalid now", write("10-b.conflist", invalid), false, 1},
		{"it is valid again", write("10-b.conflist", valid), true, 1},
		{"it is removed", func() error { return os.Remove(filepath.Join(folder, "10-b.conflist")) }, false, 1},
	} {
		if step.change != nil {
			if err := step.change(); err != nil {
				t.Fatal(err)
			}
		}
		looked = 0
		if got := k.cniConfigured(); got != step.want || looked != step.looks {
			t.Errorf("%s: configured %v, want %v; it looked %d times, want %d", step.name, got, step.want, looked, step.looks)
		}
	}
}
