package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/golden"
)

// TestClientDeps keeps the client small: every package that casement links without the local plane, on
// Linux with the tag client, is in deps-client.txt, and some are forbidden.
func TestClientDeps(t *testing.T) {
	linked := map[string]bool{}
	for _, system := range []string{"linux", "windows", "darwin"} {
		for _, pkg := range deps(t, system) {
			linked[pkg] = true
			for forbidden, why := range map[string]string{
				"casement.dev/casement/internal/sim":              "a client simulates nothing",
				"casement.dev/casement/internal/plane/supervisor": "a local plane runs on Linux",
				"casement.dev/casement/internal/controlplane":     "a client runs no control plane",
				"casement.dev/casement/internal/kubeproc":         "a client runs no Kubernetes processes",
				"casement.dev/casement/internal/manager":          "a client runs no controllers",
				"casement.dev/casement/azuresim/internal":         "a client has no emulator",
				"k8s.io/kubernetes":                               "it is 80 MB that only casement-kube needs",
				"go.etcd.io":                                      "a client speaks to API servers only",
			} {
				if pkg == forbidden || strings.HasPrefix(pkg, forbidden+"/") {
					t.Errorf("%s: links %s: %s", system, pkg, why)
				}
			}
		}
	}
	all := make([]string, 0, len(linked))
	for pkg := range linked {
		all = append(all, pkg)
	}
	slices.Sort(all)
	golden.Compare(t, "deps-client.txt", []byte(strings.Join(all, "\n")+"\n"))
}

// deps lists the packages that the client links on a system, without Go's own.
func deps(t *testing.T, system string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-tags", "client", "-deps", "-f",
		"{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s: %v", system, err)
	}
	return strings.Fields(string(out))
}
