package client

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

var wine = flag.String("wine", "", "wine's program, with which the client for Windows is run")

// wineTimeout limits one command; the first command creates wine's folders.
const wineTimeout = 3 * time.Minute

// TestWindows runs the client for Windows.
func TestWindows(t *testing.T) {
	if *wine == "" {
		t.Skip("it runs a program for Windows, which needs wine: make e2e-wine")
	}
	w := windows{t: t, program: plane.Binary(t, "casement.exe"), dir: t.TempDir()}
	w.write("pod.yaml", onWindows)
	w.write("linux.yaml", onLinux)
	for _, test := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"version", []string{"version"}, 0, []string{"Cluster API"}},
		{"lint/findings", []string{"lint", "pod.yaml"}, 1, []string{"pod.yaml:", "WIN"}},
		{"lint/folder", []string{"lint", "."}, 1, []string{"pod.yaml:"}},
		{"lint/glob", []string{"lint", "*.yaml"}, 1, []string{"pod.yaml:"}},
		{"lint/sarif", []string{"lint", "-o", "sarif", "pod.yaml"}, 1, []string{`"uri": "pod.yaml"`}},
		{"lint/clean", []string{"lint", "linux.yaml"}, 0, nil},
		{"lint/absent", []string{"lint", "none.yaml"}, 4, []string{"none.yaml"}},
		{"lint/fix", []string{"lint", "--diff", "pod.yaml"}, 0, nil},
		{"up", []string{"up"}, 1, []string{"runs on Linux only"}},
	} {
		t.Run(test.name, func(t *testing.T) { w.expect(t, nil, test.args, test.code, test.says) })
	}
	t.Run("generate and preflight", func(t *testing.T) {
		out := w.expect(t, generated, []string{"generate", "cluster", "demo", "--flavor", "windows"}, 0,
			[]string{"kind: AzureMachineTemplate", "osType: Windows"})
		w.write("demo.yaml", out)
		w.expect(t, nil, []string{"preflight", "--offline", "demo.yaml"}, 0, nil)
		w.write("bad.yaml", strings.ReplaceAll(out, "192.168.0.0/16", "10.0.0.0/16"))
		w.expect(t, nil, []string{"preflight", "--offline", "bad.yaml"}, 1, []string{"bad.yaml:", "PRE202"})
	})
}

// generated contains the variables of the templates that have no default.
var generated = []string{"AZURE_SUBSCRIPTION_ID=00000000-0000-0000-0000-000000000001",
	"AZURE_TENANT_ID=00000000-0000-0000-0000-000000000002",
	"AZURE_CLIENT_ID=00000000-0000-0000-0000-000000000003", "AZURE_LOCATION=westeurope", "AZURE_CLUSTER_IDENTITY_SECRET_NAME=login",
	"CLUSTER_IDENTITY_NAME=identity"}

// windows runs a program for Windows in a folder.
type windows struct {
	t            *testing.T
	program, dir string
}

func (w windows) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// expect runs the program and returns its output. It checks the exit code and that the
// output contains the texts.
func (w windows) expect(t *testing.T, env, args []string, code int, says []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wineTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, *wine, append([]string{w.program}, args...)...)
	cmd.Dir, cmd.Env = w.dir, append(os.Environ(), env...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if got != code {
		t.Errorf("%s: exit code %d, want %d\n%s\n%.2000s", strings.Join(args, " "), got, code, problems.String(), out.String())
	}
	for _, text := range says {
		if !strings.Contains(out.String()+problems.String(), text) {
			t.Errorf("%s: no %q in\n%s\n%.2000s", strings.Join(args, " "), text, problems.String(), out.String())
		}
	}
	return out.String()
}
