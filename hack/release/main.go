// Command release writes the files of a clusterctl provider (the components, the metadata and the
// cluster templates) and other files for an operator (addons, dashboard, alerts, the release notes,
// and as directories a Helm chart and the overlay for single namespaces). With --sbom it writes the
// bill of materials of a program, with --krew the manifest of the kubectl plugin, with --seal the
// checksums and provenance of a directory, signed if there is a key; with --verify it checks all of
// them. hack/release.sh runs it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"casement.dev/casement/config"
	"casement.dev/casement/internal/addons"
	"casement.dev/casement/internal/flavors"
	"casement.dev/casement/internal/kuberelease"
)

func main() {
	dir := flag.String("dir", "", "directory to write to")
	image := flag.String("image", "", "image of casement-manager")
	program := flag.String("sbom", "", "program whose bill of materials is printed; nothing else is done")
	plugin := flag.Bool("krew", false, "print krew's manifest of the archives in --dir; nothing else is done")
	downloads := flag.String("downloads", "", "URL of the folder that has a folder for each version, for --krew")
	sealed := flag.Bool("seal", false, "write checksums and provenance of the files in --dir; nothing else is done")
	checked := flag.Bool("verify", false, "check --dir against the public --key; nothing else is done")
	keyFile := flag.String("key", "", "PEM file of the key that signs (PKCS#8, ed25519 or ECDSA), or of the public key that verifies")
	commit := flag.String("commit", "", "commit that the release is made from")
	version := flag.String("version", "", "version of the release")
	flag.Parse()
	var err error
	switch {
	case *plugin:
		err = printKrew(os.Stdout, *dir, *version, *downloads)
	case *sealed:
		err = sealWith(*dir, *keyFile, source{Version: *version, Repository: repository, Commit: *commit})
	case *checked:
		err = verifyWith(*dir, *keyFile)
	default:
		err = run(*dir, *image, *program, *version)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// repository is the location of the source.
const repository = "https://casement.dev/casement"

func sealWith(dir, keyFile string, from source) error {
	if dir == "" || from.Version == "" || from.Commit == "" {
		return fmt.Errorf("--dir, --version and --commit are needed")
	}
	key, err := readKey(keyFile)
	if err != nil {
		return err
	}
	return seal(dir, from, key)
}

func verifyWith(dir, keyFile string) error {
	public, err := readPublicKey(keyFile)
	if err != nil {
		return err
	}
	if err := verify(dir, public); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	fmt.Println("verified:", dir)
	return nil
}

func run(dir, image, program, version string) error {
	if program == "" {
		return write(dir, image, version)
	}
	data, err := sbom(program, version)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(data)
	return err
}

func write(dir, image, version string) error {
	if dir == "" || image == "" || version == "" {
		return fmt.Errorf("--dir, --image and --version are needed")
	}
	components, err := config.Components(image)
	if err != nil {
		return err
	}
	metadata, err := os.ReadFile("metadata.yaml")
	if err != nil {
		return fmt.Errorf("run it where metadata.yaml is: %w", err)
	}
	files := map[string][]byte{"infrastructure-components.yaml": components, "metadata.yaml": metadata}
	if files["release-notes.md"], err = notes(version); err != nil {
		return err
	}
	if files["casement-components-selfsigned.yaml"], err = config.SelfSignedComponents(image); err != nil {
		return err
	}
	if files["addons.yaml"], err = addonSets(); err != nil {
		return err
	}
	for _, name := range config.Monitoring() {
		if files["casement-"+name], err = config.MonitoringFile(name); err != nil {
			return err
		}
	}
	if files[flavors.ClassFileName], err = flavors.Class(); err != nil {
		return err
	}
	for _, name := range flavors.List() {
		if files[flavors.FileName(name)], err = flavors.Get(name); err != nil {
			return err
		}
	}
	chart, err := config.Chart(image, version)
	if err != nil {
		return err
	}
	for name, data := range chart {
		files[filepath.Join(config.ChartName, name)] = data
	}
	overlay, err := config.NamespacedOverlay(image)
	if err != nil {
		return err
	}
	for name, data := range overlay {
		files[filepath.Join(config.OverlayName, name)] = data
	}
	for name, data := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// addonSets returns the addons of our flavors for clusters in the namespace default.
func addonSets() ([]byte, error) {
	objects, err := addons.ClusterResourceSets("default", addons.Params{KubernetesVersion: kuberelease.Default})
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, o := range objects {
		data, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		out = append(append(out, "---\n"...), data...)
	}
	return out, nil
}
