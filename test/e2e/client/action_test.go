package client

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/testing/plane"
)

// action contains the parts of action.yml that this test's runner reads in place of GitHub's.
type action struct {
	Inputs map[string]struct {
		Default string `json:"default"`
	} `json:"inputs"`
	Runs struct {
		Steps []struct {
			Name string            `json:"name"`
			ID   string            `json:"id"`
			Run  string            `json:"run"`
			Env  map[string]string `json:"env"`
		} `json:"steps"`
	} `json:"runs"`
}

const (
	onWindows = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  os: {name: windows}\n" +
		"  nodeSelector: {kubernetes.io/os: windows}\n" +
		"  containers:\n  - {name: web, image: example.com/web:1, securityContext: {privileged: true}}\n"
	onLinux = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  os: {name: linux}\n" +
		"  containers: [{name: web, image: example.com/web:1}]\n"
)

// TestAction runs the scripts of action.yml as a runner does, with a release of the built program.
func TestAction(t *testing.T) {
	for _, program := range []string{"bash", "curl", "tar"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing: %v", program, err)
		}
	}
	release := archive(t, plane.Binary(t, "casement"))
	sum := fmt.Sprintf("%x  kubectl-casement_linux_amd64.tar.gz\n", sha256.Sum256(release))
	for name, test := range map[string]struct {
		manifest string
		inputs   map[string]string
		sums     string
		failing  string // name of the failing step
		code     string
		says     string
	}{
		"finding": {manifest: onWindows, sums: sum, failing: "Result", code: "1", says: "WIN"},
		"annotations": {manifest: onWindows, sums: sum, failing: "Result", code: "1",
			inputs: map[string]string{"upload": "false"}, says: "::error"},
		"clean":   {manifest: onLinux, sums: sum, code: "0"},
		"version": {manifest: onLinux, sums: sum, code: "0", inputs: map[string]string{"version": "v0.1.0"}},
		"arguments": {manifest: onLinux, sums: sum, failing: "casement lint", code: "2",
			inputs: map[string]string{"arguments": "--assume-os=plan9"}},
		"unreadable":   {manifest: "a: [", sums: sum, failing: "Result", code: "4"},
		"not released": {manifest: onLinux, sums: sum, failing: "Install casement", inputs: map[string]string{"version": "v9.9.9"}},
		"other bytes":  {manifest: onLinux, sums: strings.Repeat("0", 64) + sum[64:], failing: "Install casement", says: "FAILED"},
	} {
		t.Run(name, func(t *testing.T) {
			files := http.NewServeMux()
			for _, folder := range []string{"/download/v0.1.0/", "/latest/download/"} {
				files.HandleFunc(folder+"kubectl-casement_linux_amd64.tar.gz",
					func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(release) })
				files.HandleFunc(folder+"SHA256SUMS", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(test.sums)) })
			}
			server := httptest.NewServer(files)
			defer server.Close()
			r := newRunner(t, test.inputs, server.URL)
			r.write("pod.yaml", test.manifest)
			failing := r.run()
			if failing != test.failing || r.outputs["lint.exit-code"] != test.code {
				t.Errorf("step %q fails and the exit code is %q, want %q and %q\n%s", failing,
					r.outputs["lint.exit-code"], test.failing, test.code, r.log.String())
			}
			if !strings.Contains(r.log.String(), test.says) {
				t.Errorf("no %q in\n%s", test.says, r.log.String())
			}
			if test.code == "0" || test.code == "1" {
				r.sarif(test.code == "1")
			}
		})
	}
}

// archive packs a program as a release does.
func archive(t *testing.T, program string) []byte {
	t.Helper()
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "casement", Mode: 0o755, Size: int64(len(data)), Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// runner is the part of GitHub's runner that the action needs.
type runner struct {
	t       *testing.T
	action  action
	inputs  map[string]string
	outputs map[string]string // outputs of steps, by STEP.NAME
	dir     string
	log     bytes.Buffer
}

func newRunner(t *testing.T, inputs map[string]string, downloads string) *runner {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(plane.Root(t), "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{t: t, inputs: map[string]string{}, outputs: map[string]string{}, dir: t.TempDir()}
	if err := yaml.Unmarshal(text, &r.action); err != nil {
		t.Fatal(err)
	}
	for name, input := range r.action.Inputs {
		r.inputs[name] = input.Default
	}
	for name, value := range inputs {
		r.inputs[name] = value
	}
	r.inputs["downloads"] = downloads
	for _, name := range []string{"path", "output"} {
		r.write(name, "")
	}
	return r
}

func (r *runner) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *runner) lines(name string) []string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Fields(string(data))
}

// run runs the steps that have a script and returns the name of the failing step, or "".
func (r *runner) run() (failing string) {
	r.t.Helper()
	for _, step := range r.action.Runs.Steps {
		if step.Run == "" {
			continue
		}
		cmd := exec.CommandContext(r.t.Context(), "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step.Run)
		cmd.Dir, cmd.Stdout, cmd.Stderr = r.dir, &r.log, &r.log
		path := append(r.lines("path"), os.Getenv("PATH"))
		cmd.Env = append(os.Environ(), "RUNNER_OS=Linux", "RUNNER_ARCH=X64", "RUNNER_TEMP="+r.dir, "PATH="+strings.Join(path, ":"),
			"GITHUB_PATH="+filepath.Join(r.dir, "path"), "GITHUB_OUTPUT="+filepath.Join(r.dir, "output"))
		for name, value := range step.Env {
			cmd.Env = append(cmd.Env, name+"="+r.expand(value))
		}
		err := cmd.Run()
		for _, line := range r.lines("output") {
			name, value, _ := strings.Cut(line, "=")
			r.outputs[step.ID+"."+name] = value
		}
		if err != nil {
			return step.Name
		}
	}
	return ""
}

var expression = regexp.MustCompile(`\$\{\{ (.*?) \}\}`)

// expand replaces expressions by their values; of several alternatives it takes the first that is
// not empty.
func (r *runner) expand(text string) string {
	r.t.Helper()
	return expression.ReplaceAllStringFunc(text, func(found string) string {
		for _, name := range strings.Split(expression.FindStringSubmatch(found)[1], " || ") {
			value := ""
			switch context, rest, _ := strings.Cut(name, "."); context {
			case "inputs":
				if _, declared := r.action.Inputs[rest]; !declared {
					r.t.Errorf("action.yml has no input %s", rest)
				}
				value = r.inputs[rest]
			case "steps":
				value = r.outputs[strings.Replace(rest, ".outputs.", ".", 1)]
			case "github":
				value = "main"
			default:
				r.t.Errorf("this test has no %s", name)
			}
			if value != "" {
				return value
			}
		}
		return ""
	})
}

// sarif checks that code scanning can read the file of findings.
func (r *runner) sarif(found bool) {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, r.inputs["sarif-file"]))
	if err != nil {
		r.t.Fatal(err)
	}
	var report struct {
		Version string
		Runs    []struct{ Results []struct{ RuleID string } }
	}
	if err := json.Unmarshal(data, &report); err != nil || report.Version != "2.1.0" || len(report.Runs) != 1 {
		r.t.Fatalf("%v\n%s", err, data)
	}
	if got := len(report.Runs[0].Results) > 0; got != found {
		r.t.Errorf("findings %t, want %t", got, found)
	}
}
