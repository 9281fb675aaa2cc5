package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestWrite: a release contains the files that clusterctl reads, and two runs yield the same
// release. (TestWrite of hack/image checks the same for the image.)
func TestWrite(t *testing.T) {
	t.Chdir(filepath.Join("..", "..")) // the changelog's folder
	dirs := [2]string{t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		if err := write(dir, "example.com/casement-manager:v0.1.0", "v0.1.0"); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	err := fs.WalkDir(os.DirFS(dirs[0]), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		names = append(names, name)
		var data [2][]byte
		for i, dir := range dirs {
			if data[i], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		if !bytes.Equal(data[0], data[1]) {
			t.Errorf("%s is not the same when it is made again", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"infrastructure-components.yaml", "metadata.yaml", "cluster-template.yaml",
		"cluster-template-windows.yaml", "clusterclass-casement-windows.yaml", "casement/Chart.yaml"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s among %v", want, names)
		}
	}
}
