package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/check"
)

const (
	// placedHead begins the pods on Windows: warned has a warning (WIN002), wrong has other findings. tidy has no findings.
	placedHead = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  nodeSelector: {kubernetes.io/os: windows}\n"
	warned     = placedHead + "  containers:\n  - {name: a, image: 'contoso.example/a:1', resources: {limits: " +
		"{memory: 1Gi, cpu: 1}, requests: {memory: 1Gi, cpu: 1}}}\n"
	wrong = placedHead + "  os: {name: windows}\n  hostPID: true\n  containers:\n  - {name: a, image: 'contoso.example/a:1'}\n"
	tidy  = "apiVersion: v1\nkind: Pod\nmetadata: {name: l}\nspec:\n  containers:\n  - {name: a, image: 'contoso.example/a:1'}\n"
)

// runLint runs the command line in a directory with files, and returns its exit code and outputs.
func runLint(t *testing.T, files map[string]string, stdin string, args ...string) (code int, out, errs string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("CASEMENT_HOME", dir)
	t.Setenv("KUBECONFIG", "")
	t.Setenv("DOCKER_CONFIG", dir)
	var stdout, stderr bytes.Buffer
	code = Main(append([]string{"casement", "lint"}, args...), app.Streams{In: strings.NewReader(stdin), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

// TestLintExitCodes checks the table in docs/lint.md.
func TestLintExitCodes(t *testing.T) {
	files := map[string]string{
		"warned.yaml": warned, "wrong.yaml": wrong, "tidy.yaml": tidy, "torn.yaml": "a: [\n", "torn-and-wrong.yaml": wrong + "---\na: [\n",
		"binary.yaml": "\x00\x01", "odd.config": "windowsReleases: [2022]\n", "empty/notes.txt": "nothing",
	}
	for name, c := range map[string]struct {
		args []string
		want int
		// says is a text that the output or the errors contain.
		says string
	}{
		"nothing found":                {[]string{"tidy.yaml"}, app.ExitDone, ""},
		"a directory without files":    {[]string{"empty"}, app.ExitDone, ""},
		"a warning":                    {[]string{"warned.yaml"}, app.ExitFailed, "WIN002"},
		"a warning below --fail-on":    {[]string{"--fail-on", "error", "warned.yaml"}, app.ExitDone, "WIN002"},
		"an error":                     {[]string{"--fail-on", "error", "wrong.yaml"}, app.ExitFailed, "hostPID"},
		"advice above --fail-on":       {[]string{"--fail-on", "info", "warned.yaml"}, app.ExitFailed, "WIN517"},
		"no input":                     {nil, app.ExitUsage, "name files"},
		"a flag that is not there":     {[]string{"--colour", "tidy.yaml"}, app.ExitUsage, "--colour"},
		"a format that is not there":   {[]string{"-o", "xml", "tidy.yaml"}, app.ExitUsage, "sarif"},
		"a severity that is not there": {[]string{"--fail-on", "fatal", "tidy.yaml"}, app.ExitUsage, "fatal"},
		"another system":               {[]string{"--assume-os", "plan9", "tidy.yaml"}, app.ExitUsage, "plan9"},
		"a version that is none":       {[]string{"--kubernetes-version", "newest", "tidy.yaml"}, app.ExitUsage, "newest"},
		"a release that is none":       {[]string{"--windows-release", "2021", "tidy.yaml"}, app.ExitUsage, "2021"},
		"a path of no template":        {[]string{"--template-path", "Rollout", "tidy.yaml"}, app.ExitUsage, "Rollout"},
		"a configuration that is bad":  {[]string{"--config", "odd.config", "tidy.yaml"}, app.ExitUsage, "windowsReleases"},
		"a configuration not there":    {[]string{"--config", "none.yaml", "tidy.yaml"}, app.ExitUsage, "none.yaml"},
		"a baseline without its file":  {[]string{"--update-baseline", "tidy.yaml"}, app.ExitUsage, "--baseline"},
		"repair of standard input":     {[]string{"--fix", "-"}, app.ExitUsage, "standard input"},
		"a rule that is not there":     {[]string{"explain", "WIN999"}, app.ExitUsage, "WIN999"},
		"files and a cluster":          {[]string{"-A", "tidy.yaml"}, app.ExitUsage, "tidy.yaml"},
		"repair of a cluster":          {[]string{"-A", "--fix"}, app.ExitUsage, "--fix"},
		"one and all namespaces":       {[]string{"-A", "-n", "x"}, app.ExitUsage, "not both"},
		"a file that is not there":     {[]string{"missing.yaml"}, check.ExitUnreadable, "missing.yaml"},
		"a document that is torn":      {[]string{"torn.yaml"}, check.ExitUnreadable, "torn.yaml:"},
		"binary":                       {[]string{"binary.yaml"}, check.ExitUnreadable, "UTF-8"},
		"torn beside an error":         {[]string{"torn-and-wrong.yaml"}, check.ExitUnreadable, "hostPID"},
		"a kubeconfig not there":       {[]string{"--kubeconfig", "none.kubeconfig"}, check.ExitUnreadable, "none.kubeconfig"},
		"the local plane not there":    {[]string{"-A"}, check.ExitUnreadable, "casement up"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := runLint(t, files, "", c.args...)
			if code != c.want || !strings.Contains(out+errs, c.says) {
				t.Errorf("exit code %d, not %d, or nothing of %q:\n%s%s", code, c.want, c.says, out, errs)
			}
		})
	}
}

// TestLintFixExitCode: after --fix, the remaining findings determine the exit code.
func TestLintFixExitCode(t *testing.T) {
	const text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  os:\n    name: windows\n" +
		"  nodeSelector:\n    kubernetes.io/os: windows\n  containers:\n  - name: a\n" +
		"    image: contoso.example/a:1\n    resources:\n      limits:\n        memory: 800m\n"
	code, _, errs := runLint(t, map[string]string{"p.yaml": text}, "", "--fix", "--fail-on", "error", "p.yaml")
	data, err := os.ReadFile("p.yaml")
	if err != nil || code != app.ExitDone || !strings.Contains(errs, "fixed 1") || string(data) != strings.Replace(text, "800m", "800Mi", 1) {
		t.Errorf("exit code %d, %v, %s\n%s", code, err, errs, data)
	}
	if code, out, _ := runLint(t, map[string]string{"p.yaml": text}, "", "--diff", "p.yaml"); code != app.ExitDone ||
		!strings.Contains(out, "+        memory: 800Mi") {
		t.Errorf("--diff: exit code %d\n%s", code, out)
	}
}

// finding is a finding in JSON output, as docs/lint.md describes it.
type finding struct {
	Rule, Severity, File, Path, Object, Message, Fix string
	Line, Column                                     int
}

func findings(t *testing.T, out string) []finding {
	t.Helper()
	var file struct{ Findings []finding }
	decoder := json.NewDecoder(strings.NewReader(out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file.Findings
}

// TestLintRegistry: with --check-images the registry's manifest list is decisive; without the flag no registry is
// called. A registry that does not respond does not change the exit code.
func TestLintRegistry(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	index := v1.ImageIndex(empty.Index)
	for _, p := range []v1.Platform{
		{OS: "windows", OSVersion: "10.0.17763.5329"}, {OS: "windows", OSVersion: "10.0.26100.1"}, {OS: "linux"},
	} {
		image, err := random.Image(64, 1)
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &p}})
	}
	ref, err := name.ParseReference(host + "/app:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	manifest := strings.ReplaceAll(placedHead, "spec:\n", "spec:\n  os: {name: windows}\n") +
		"  containers:\n  - {name: a, image: '" + host + "/app:1'}\n"
	lint := func(args ...string) (int, string, string) {
		return runLint(t, nil, manifest, append(args, "-o", "json", "--fail-on", "error", "-")...)
	}
	if code, out, errs := lint("--check-images", "--windows-release", "2022"); code != app.ExitFailed || errs != "" ||
		!strings.Contains(out, "an image for Windows 10.0.17763.5329 and 10.0.26100.1 does not run on nodes with Windows Server 2022") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	for name, args := range map[string][]string{"a build that fits": {"--check-images", "--windows-release", "2025"},
		"not asked": {"--windows-release", "2022"}} {
		if code, out, errs := lint(args...); code != app.ExitDone || errs != "" || strings.Contains(out, "WIN702") {
			t.Errorf("%s: exit code %d, %s%s", name, code, out, errs)
		}
	}
	server.Close()
	code, out, errs := lint("--check-images", "--windows-release", "2022")
	if code != app.ExitDone || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "casement: warning: --check-images: "+host+": ") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}
