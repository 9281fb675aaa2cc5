// Command release writes the files of a clusterctl provider: the components, the
// metadata and the cluster templates. make release runs it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"casement.dev/casement/config"
	"casement.dev/casement/internal/flavors"
)

// metadata says which Cluster API contract a release series is for; a new minor
// release adds a line.
const metadata = `apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Metadata
releaseSeries:
- major: 0
  minor: 1
  contract: v1beta2
`

func main() {
	dir := flag.String("dir", "", "directory to write to")
	image := flag.String("image", "", "image of casement-manager")
	flag.Parse()
	if err := write(*dir, *image); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func write(dir, image string) error {
	if dir == "" || image == "" {
		return fmt.Errorf("--dir and --image are needed")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	components, err := config.Components(image)
	if err != nil {
		return err
	}
	files := map[string][]byte{"infrastructure-components.yaml": components, "metadata.yaml": []byte(metadata)}
	for _, name := range flavors.List() {
		if files[flavors.FileName(name)], err = flavors.Get(name); err != nil {
			return err
		}
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
