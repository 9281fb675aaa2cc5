package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"casement.dev/casement/internal/cli/app"
)

// TestNamedFiles: an endless file is refused immediately wherever a user can name a file.
func TestNamedFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CASEMENT_HOME", filepath.Join(dir, "home"))
	t.Setenv("KUBECONFIG", "")
	build := filepath.Join("..", "image", "testdata", "windows-2022.yaml")
	template := filepath.Join(dir, "main.json")
	if err := os.WriteFile(template, []byte(expandTemplate), 0o600); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
users: [{name: u, user: {}}], clusters: [{name: c, cluster: {server: "https://127.0.0.1:1", certificate-authority: /dev/zero}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"a kubeconfig":              {"get", "clusters", "--kubeconfig", "/dev/zero"},
		"the CA of a kubeconfig":    {"get", "clusters", "--kubeconfig", kubeconfig},
		"the pins of a build":       {"images", "build", build, "--pins", "/dev/zero", "--print"},
		"a build":                   {"images", "build", "/dev/zero", "--print"},
		"a snapshot":                {"azure", "restore", "/dev/zero"},
		"a template":                {"azure", "expand", "/dev/zero"},
		"parameters":                {"azure", "expand", template, "--parameters", "/dev/zero"},
		"what is linted":            {"lint", "/dev/zero"},
		"the configuration of lint": {"lint", kubeconfig, "--config", "/dev/zero"},
		"a baseline":                {"lint", kubeconfig, "--baseline", "/dev/zero"},
		"preflight":                 {"preflight", "/dev/zero"},
		"a cluster's template":      {"generate", "cluster", "c", "--from", "/dev/zero"},
		"fault rules":               {"azure", "serve", "--state", filepath.Join(dir, "state"), "--faults", "/dev/zero"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := Main(append([]string{"casement"}, args...), app.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			if code == 0 || !strings.Contains(out.String()+errs.String(), "/dev/zero is a device") {
				t.Errorf("code %d, printed %s%s", code, &out, &errs)
			}
		})
	}
}
