package docs

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

var full = flag.Bool("full", false, "the pages that need a plane too")

// light are the pages that need no plane.
var light = []string{"docs/install.md", "docs/local-azure.md", "docs/command-line.md"}

// endless matches the commands that only Ctrl-C ends.
var endless = regexp.MustCompile(`^casement (azure serve|azure log --follow|ui *(#|$))`)

// patience limits all the commands together.
const patience = 20 * time.Minute

// TestBlocks checks that every fenced block declares its language, and that a block that is not run
// contains the reason.
func TestBlocks(t *testing.T) {
	root := plane.Root(t)
	all, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	run, kept := 0, 0
	for _, page := range all {
		blocks, err := blocksOf(root, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			if !slices.Contains(languages, b.language) {
				t.Errorf("%s:%d: the block is of %q; it has to be one of %v", b.page, b.line, b.language, languages)
			}
			switch {
			case b.language != "sh":
			case b.reason == "":
				run += len(b.commands())
			default:
				kept += len(b.commands())
			}
		}
	}
	t.Logf("of %d pages %d commands are run, %d are not", len(all), run, kept)
	if run < 30 {
		t.Errorf("only %d commands are run", run)
	}
}

// TestCommands runs the commands of all pages on one plane, page by page, each page in a separate
// shell.
func TestCommands(t *testing.T) {
	root := plane.Root(t)
	all, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	p := plane.New(t)
	s := newShell(t, root, p.Home)
	run := 0
	for _, page := range all {
		if !*full && !slices.Contains(light, page) {
			continue
		}
		blocks, err := blocksOf(root, page)
		if err != nil {
			t.Fatal(err)
		}
		var commands []command
		for _, b := range blocks {
			switch {
			case b.language != "sh":
			case b.reason != "":
				t.Logf("%s:%d: not run, %d commands: %s", b.page, b.line, len(b.commands()), b.reason)
			default:
				commands = append(commands, b.commands()...)
			}
		}
		if len(commands) > 0 {
			t.Run(page, func(t *testing.T) { run += s.run(t, commands) })
		}
	}
	t.Logf("%d commands ran", run)
	if run == 0 {
		t.Error("no command ran")
	}
}

// shell runs commands in a folder with the files of a checkout.
type shell struct {
	dir string
	env []string
}

// newShell returns a shell with a home directory, a kubectl, and casement's programs in its PATH.
func newShell(t *testing.T, root, state string) *shell {
	t.Helper()
	home, err := os.MkdirTemp("", "doc") // the path of t.TempDir is too long for Unix sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	kubectl := "#!/bin/sh\nexec casement kubectl \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "examples"), filepath.Join(home, "examples")); err != nil {
		t.Fatal(err)
	}
	programs := filepath.Dir(plane.Binary(t, "casement"))
	return &shell{dir: home, env: append(os.Environ(), "HOME="+home, "CASEMENT_HOME="+state,
		"KUBECONFIG="+filepath.Join(state, "kubeconfig"),
		"PATH="+bin+":"+programs+":"+os.Getenv("PATH"), "SSH_AUTH_SOCK=")}
}

// run runs the commands of a page in one shell and returns the number of commands that succeeded.
func (s *shell) run(t *testing.T, commands []command) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script(commands))
	cmd.Dir, cmd.Env = s.dir, s.env
	// Commands that run in the background are ended with the shell.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	begun := strings.Count(out.String(), began)
	if err != nil {
		t.Errorf("%v; the last command failed:\n%s", err, out.String())
		return begun - 1
	}
	if begun != len(commands) {
		t.Errorf("%d of %d commands ran:\n%s", begun, len(commands), out.String())
	}
	return begun
}

// began marks the beginning of a command in the output.
const began = "\n=== "

// script returns a shell script that prints each command and runs it; the first failure ends the
// script. Commands that do not end run in the background until the script ends; for a local Azure,
// the script waits until it answers.
func script(commands []command) string {
	var b strings.Builder
	b.WriteString("set -euo pipefail\ntrap 'jobs=$(jobs -p); [ -z \"$jobs\" ] || { kill -TERM $jobs; wait || true; }' EXIT\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "printf '\\n=== %%s\\n' %s\n", quote(c.at+": "+c.text))
		if !endless.MatchString(c.text) {
			b.WriteString(c.text + "\n")
			continue
		}
		text, _, _ := strings.Cut(c.text, "#")
		b.WriteString(text + " &\n")
		if strings.Contains(text, "azure serve") {
			b.WriteString("for i in {1..100}; do if casement azure env >/dev/null 2>&1; then break; fi; sleep 0.1; done\n")
		}
	}
	return b.String()
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
