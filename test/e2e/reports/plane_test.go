package reports

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

var full = flag.Bool("full", false, "the reports that need a local plane too")

// patience limits the wait for the expected output of a command.
const patience = 5 * time.Minute

// TestPlane runs the steps of reports that a local plane can reproduce. A line of NAME.steps is one
// of: a casement command, which gets NAME.yaml as its input if it ends with "-"; `create CLUSTER
// FLAVOR`; or `delete PATH`, of a resource in Azure. A line that begins with ">" is a part of the
// output of the command before it, which is repeated until its output contains the part.
func TestPlane(t *testing.T) {
	if !*full {
		t.Skip("no -full: make e2e-reports starts a local plane")
	}
	files, err := filepath.Glob(filepath.Join(*dir, "*.steps"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("no steps in %s", *dir)
	}
	p := plane.New(t, "WORKER_MACHINE_COUNT=0", "WINDOWS_WORKER_MACHINE_COUNT=0")
	p.Run(nil, "up")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			manifest, err := os.ReadFile(strings.TrimSuffix(file, ".steps") + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range steps(string(script)) {
				step.run(t, p, manifest)
			}
		})
	}
}

// step is a command with the texts that its output must contain.
type step struct {
	command []string
	says    []string
}

func steps(script string) (all []step) {
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		said, expected := strings.CutPrefix(line, ">")
		switch {
		case line == "" || line[0] == '#':
		case expected:
			last := &all[len(all)-1]
			last.says = append(last.says, strings.TrimSpace(said))
		default:
			all = append(all, step{command: strings.Fields(line)})
		}
	}
	return all
}

func (s step) run(t *testing.T, p *plane.Plane, manifest []byte) {
	t.Helper()
	switch s.command[0] {
	case "create":
		p.Create(s.command[1], s.command[2])
		return
	case "delete":
		p.Azure(http.MethodDelete, s.command[1], "2024-05-01", nil)
		return
	}
	for end := time.Now().Add(patience); ; time.Sleep(time.Second) {
		out, err := p.Try(manifest, s.command...)
		if err != nil {
			out = err.Error()
		}
		missing := ""
		for _, text := range s.says {
			if !strings.Contains(out, text) {
				missing = text
			}
		}
		switch {
		case len(s.says) == 0 && err != nil:
			t.Fatal(err)
		case missing == "":
			return
		case time.Now().After(end):
			t.Fatalf("casement %s does not say %q:\n%s", strings.Join(s.command, " "), missing, out)
		}
	}
}
