package gmsa

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"casement.dev/casement/internal/gmsa"
	"casement.dev/casement/internal/testing/plane"
)

// imageWithPlugin is an image build with a script that registers the plug-in as the plug-in's
// installer does.
const imageWithPlugin = `apiVersion: image.casement.dev/v1alpha1
kind: ImageBuild
metadata: {name: win-2022}
spec:
  location: westeurope
  source: {release: "2022"}
  target: {resourceGroup: shared, gallery: nodes, definition: win-2022, version: 1.0.0}
  kubernetesVersion: %s
  containerdVersion: 2.1.4
  images: ["mcr.microsoft.com/oss/kubernetes/pause:3.10"]
  scripts:
    after:
    - name: plug-in
      script: reg add "HKLM\SYSTEM\CurrentControlSet\Control\CCG\COMClasses\%s" /f
`

// TestPlugin checks that machines of the flavor windows-gmsa-plugin, which are in no domain, give a
// pod its identity through the plug-in of an image that casement built.
func TestPlugin(t *testing.T) {
	if !*full {
		t.Skip("only with -full: it builds an image; make e2e-gmsa has it")
	}
	p := plane.New(t)
	p.Run(nil, "up")
	p.Run([]byte(password+"\n"), "azure", "domain", "add", domainName, "--dns", dnsServer, "--join-user", "joiner",
		"--join-password-file", "-", "--gmsa", "WebApp1")
	p.Run(nil, "azure", "domain", "gmsa", domainName, "WebApp1", "--allow", "joiner")
	variables, principal := shared(t, p)
	p.Put(group+"/providers/Microsoft.Compute/galleries/nodes", "2023-07-03", map[string]any{"location": "westeurope"})
	buildImage(t, p)
	for _, v := range append(variables, "WINDOWS_IMAGE_GALLERY=nodes", "WINDOWS_IMAGE_RESOURCE_GROUP=shared",
		"WINDOWS_IMAGE_NAME=win-2022", "WINDOWS_IMAGE_VERSION=1.0.0") {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	p.Create(cluster, "windows-gmsa-plugin")
	p.Run(nil, "wait", cluster, "--timeout", "5m")
	if out := p.Run(nil, "azure", "domain", "list", "-o", "json"); strings.Contains(out, `"owner"`) {
		t.Errorf("a machine joined the domain:\n%s", out)
	}

	s := &scene{Plane: p, t: t, workload: p.Workload(cluster)}
	kubeconfig := p.Kubeconfig(cluster)
	apply := func(manifest string) {
		p.Run([]byte(manifest), "kubectl", "--kubeconfig", kubeconfig, "apply", "-f", "-")
	}
	apply(p.Run(nil, "generate", "gmsa"))
	s.workload("wait", "crd/gmsacredentialspecs.windows.k8s.io", "--for=condition=Established", "--timeout=1m")
	apply(p.Run(nil, "generate", "gmsa", "WebApp1", "--domain", domainName, "--secret", os.Getenv("DOMAIN_JOIN_SECRET_URL"),
		"--identity", principal, "--service-account", "default/default"))
	s.workload("rollout", "status", "-n", "gmsa-webhook", "deployment/gmsa-webhook", "--timeout=2m")
	s.again(kubeconfig)
	s.ready(kubeconfig)

	p.Put(secret, "2023-07-01", map[string]any{"properties": map[string]any{"value": "neither user nor password"}})
	s.again(kubeconfig)
	s.why("GMSACredentialUnread", "pod/iis", "--cluster", cluster)
}

// buildImage builds the image version that the machines use.
func buildImage(t *testing.T, p *plane.Plane) {
	t.Helper()
	dir := t.TempDir()
	file, pins := filepath.Join(dir, "build.yaml"), filepath.Join(dir, "pins")
	if err := os.WriteFile(file, fmt.Appendf(nil, imageWithPlugin, plane.Kubernetes(), gmsa.KeyVaultPlugin), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pins, []byte(p.Run(nil, "images", "pins", file, "--azure", "local")), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Run(nil, "images", "build", file, "--pins", pins, "--azure", "local")
}
