// Package repository creates a directory from which clusterctl reads providers: Cluster API's providers from the linked
// module, and casement's or another provider for Azure. It downloads nothing. Only tests that run clusterctl import it.
package repository

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/plane"
)

// Provider is a provider of the repository.
type Provider struct {
	// Label is the provider's name in the repository.
	Label string
	// File is the name of the file with the provider's components.
	File string

	name, kind string // in clusterctl's configuration
	source     string // path of the kustomization in the cluster-api module, "" for the provider for Azure
}

// Providers returns the providers of the repository.
func Providers() []Provider {
	return []Provider{
		{"cluster-api", "core-components.yaml", "cluster-api", "CoreProvider", "core"},
		{"bootstrap-kubeadm", "bootstrap-components.yaml", "kubeadm", "BootstrapProvider", "bootstrap/kubeadm"},
		{"control-plane-kubeadm", "control-plane-components.yaml", "kubeadm", "ControlPlaneProvider", "controlplane/kubeadm"},
		{azure, "infrastructure-components.yaml", "azure", "InfrastructureProvider", ""},
	}
}

// azure is the label of the provider for Azure.
const azure = "infrastructure-azure"

// Image is the name of casement's image, without its tag.
const Image = "ghcr.io/casement-dev/casement-manager:"

// Repository is a directory in the layout that clusterctl reads: PROVIDER/VERSION/FILE.
// Source: cluster-api.sigs.k8s.io/clusterctl/configuration.
type Repository struct {
	Dir     string
	version string // version of Cluster API
}

// staging matches the images of the main branch in Cluster API's kustomizations.
var staging = regexp.MustCompile(`gcr\.io/k8s-staging-cluster-api/([a-z-]+):main`)

// New creates a repository with only Cluster API's providers, which is deleted at the end of the test.
func New(t *testing.T) Repository {
	t.Helper()
	r := Repository{Dir: t.TempDir()}
	version, module, _ := strings.Cut(strings.TrimSpace(string(plane.Output(t, plane.Root(t), "go", "list", "-m",
		"-f", "{{.Version}} {{.Dir}}", "sigs.k8s.io/cluster-api"))), " ")
	r.version = version
	for _, p := range Providers() {
		if p.source == "" {
			continue
		}
		dir := filepath.Join(r.Dir, p.Label, version)
		components := plane.Output(t, plane.Root(t), "bin/casement-kube", "kubectl", "kustomize",
			filepath.Join(module, p.source, "config/default"))
		components = staging.ReplaceAll(components, []byte("registry.k8s.io/cluster-api/$1:"+version))
		metadata, err := os.ReadFile(filepath.Join(module, "metadata.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, p.File), components)
		write(t, filepath.Join(dir, "metadata.yaml"), metadata)
	}
	return r
}

// Azure returns the directory of a release of the provider for Azure.
func (r Repository) Azure(version string) string { return filepath.Join(r.Dir, azure, version) }

// Release publishes casement as a release of the provider for Azure.
func (r Repository) Release(t *testing.T, version string) {
	t.Helper()
	plane.Output(t, plane.Root(t), "go", "run", "./hack/release", "--dir", r.Azure(version), "--image", Image+version, "--version", version)
}

// Foreign publishes the files of a directory, a release of another provider, as a release of the provider for Azure.
func (r Repository) Foreign(t *testing.T, version, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no release in %s: it has no *.yaml (%v)", dir, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(r.Azure(version), filepath.Base(file)), data)
	}
}

// Config writes a clusterctl configuration with these providers, a release of the provider for Azure and variables, and
// returns its path.
func (r Repository) Config(t *testing.T, release, variables string) string {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("providers:\n")
	for _, p := range Providers() {
		version := r.version
		if p.source == "" {
			version = release
		}
		fmt.Fprintf(&out, "- {name: %s, type: %s, url: %q}\n", p.name, p.kind, filepath.Join(r.Dir, p.Label, version, p.File))
	}
	out.WriteString(variables)
	path := filepath.Join(r.Dir, "clusterctl.yaml")
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
