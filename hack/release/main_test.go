package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestWrite: a release has what clusterctl reads, and made twice it is the same. (That
// the image is, TestWrite of hack/image says.)
func TestWrite(t *testing.T) {
	dirs := [2]string{t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		if err := write(dir, "example.com/casement-manager:v0.1.0"); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		var data [2][]byte
		for i, dir := range dirs {
			if data[i], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(data[0], data[1]) {
			t.Errorf("%s is not the same when it is made again", e.Name())
		}
	}
	for _, want := range []string{"infrastructure-components.yaml", "metadata.yaml", "cluster-template.yaml", "cluster-template-windows.yaml", "clusterclass-casement-windows.yaml"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s among %v", want, names)
		}
	}
}
