// Package tmux shows the output of a command in a terminal of a given width, with the program tmux. Only tests import it.
package tmux

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Run runs a shell command in a terminal of a width, and returns the terminal's content, including the lines that have
// scrolled off. It fails the test if the terminal broke a line.
func Run(t *testing.T, width int, env []string, command string) string {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skipf("%v; install it with: apt-get install tmux", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "tmux") // t.TempDir is too long for unix sockets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	run := func(args ...string) string {
		cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Env = append(append(os.Environ(), env...), "TERM=screen-256color", "LC_ALL=C.UTF-8", "TMUX=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	script := filepath.Join(dir, "run")
	text := fmt.Sprintf("%s\necho \"exit code $?\"\ntmux -S %s wait-for -S over\nexec cat\n", command, socket)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run("new-session", "-d", "-x", fmt.Sprint(width), "-y", "60", "sh "+script)
	defer run("kill-server")
	run("wait-for", "over")
	shown, whole := run("capture-pane", "-p", "-S", "-"), run("capture-pane", "-p", "-J", "-S", "-")
	if a, b := strings.Count(shown, "\n"), strings.Count(whole, "\n"); a != b {
		t.Errorf("the terminal broke %d lines of %s:\n%s", a-b, command, shown)
	}
	return Stable(shown)
}

// varies matches the text that differs between runs.
var varies = regexp.MustCompile(` *\b[0-9]+(\.[0-9]+)? ?(s|ms)\b`)

// Stable returns a screen in comparable form: without varying parts and trailing blanks.
func Stable(shown string) string {
	var out strings.Builder
	for line := range strings.Lines(varies.ReplaceAllString(shown, " N s")) {
		fmt.Fprintln(&out, strings.TrimRight(line, " \n"))
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}
