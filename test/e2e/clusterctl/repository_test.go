package clusterctl

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/plane"
)

// provider is a provider of the local repository.
type provider struct {
	// label is its name in the repository, name and kind those in the configuration.
	label, name, kind string
	// file has the components; source is their kustomization in the cluster-api
	// module, "" for ours.
	file, source string
}

func providers() []provider {
	return []provider{
		{"cluster-api", "cluster-api", "CoreProvider", "core-components.yaml", "core"},
		{"bootstrap-kubeadm", "kubeadm", "BootstrapProvider", "bootstrap-components.yaml", "bootstrap/kubeadm"},
		{"control-plane-kubeadm", "kubeadm", "ControlPlaneProvider", "control-plane-components.yaml", "controlplane/kubeadm"},
		{"infrastructure-azure", "azure", "InfrastructureProvider", "infrastructure-components.yaml", ""},
	}
}

// Releases of ours that the repository offers.
const (
	first  = "v0.1.0"
	second = "v0.1.1"
)

// repository is a directory in the layout that clusterctl reads: PROVIDER/VERSION/FILE.
// Source: cluster-api.sigs.k8s.io/clusterctl/configuration.
type repository struct {
	dir     string
	version string // of Cluster API
}

// image is how Cluster API's kustomizations name the images of the main branch.
var image = regexp.MustCompile(`gcr\.io/k8s-staging-cluster-api/([a-z-]+):main`)

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{dir: t.TempDir()}
	version, module, _ := strings.Cut(strings.TrimSpace(string(run(t, plane.Root(t), "go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", "sigs.k8s.io/cluster-api"))), " ")
	r.version = version
	for _, p := range providers() {
		if p.source == "" {
			continue
		}
		dir := filepath.Join(r.dir, p.label, version)
		components := run(t, plane.Root(t), "bin/casement-kube", "kubectl", "kustomize", filepath.Join(module, p.source, "config/default"))
		components = image.ReplaceAll(components, []byte("registry.k8s.io/cluster-api/$1:"+version))
		metadata, err := os.ReadFile(filepath.Join(module, "metadata.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, p.file), components)
		write(t, filepath.Join(dir, "metadata.yaml"), metadata)
	}
	r.release(t, first)
	return r
}

// ours is the directory of a release of ours.
func (r repository) ours(version string) string {
	return filepath.Join(r.dir, "infrastructure-azure", version)
}

// release publishes a release of ours.
func (r repository) release(t *testing.T, version string) {
	t.Helper()
	run(t, plane.Root(t), "go", "run", "./hack/release", "--dir", r.ours(version), "--image", ourImage+version, "--version", version)
}

// config is a configuration of clusterctl with these providers and variables.
func (r repository) config(t *testing.T, variables string) string {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("providers:\n")
	for _, p := range providers() {
		version := r.version
		if p.source == "" {
			version = first
		}
		fmt.Fprintf(&out, "- {name: %s, type: %s, url: %q}\n", p.name, p.kind, filepath.Join(r.dir, p.label, version, p.file))
	}
	out.WriteString(variables)
	path := filepath.Join(r.dir, "clusterctl.yaml")
	write(t, path, out.Bytes())
	return path
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, problems.Bytes())
	}
	return out
}
