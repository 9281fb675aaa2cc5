package shell_test

import (
	"io"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// TestStreams checks that a command reads no more of a pipe than it needs, and ends if nothing reads its output, as
// GNU sed 4.9, grep 3.8, coreutils 9.1 and bash 5.2.15 do.
func TestStreams(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"yes | sed 2q", "y\ny\n0\n"},
		{"yes | sed -n '2{p;q}'", "y\n0\n"},
		{"yes | sed p | head -n 2", "y\ny\n0\n"},
		{"yes | grep -m1 y", "y\n0\n"},
		{"yes | grep -q y", "0\n"},
		{"yes | grep -l y", "(standard input)\n0\n"},
		{"yes | grep -n y | head -2", "1:y\n2:y\n0\n"},
		{"yes | grep -m2 -c y", "2\n0\n"},
		{"yes | head -c 5", "y\ny\ny0\n"},
		{"yes | awk 'NR==3{print NR; exit}'", "3\n0\n"},
		{"yes a b | awk '{print $2}' | head -1", "b\n0\n"},
		{"yes | cat | head -1", "y\n0\n"},
		{"yes | cat -n | head -1", "     1\ty\n0\n"},
		{"yes | tr y n | head -1", "n\n0\n"},
		{"yes ab | cut -c2 | head -1", "b\n0\n"},
		{"yes ab | rev | head -1", "ba\n0\n"},
		{"yes | nl | head -1", "     1\ty\n0\n"},
		{"yes | tee /f | head -1; test -s /f", "y\n0\n"},
		{"yes | { read a; read b; echo $a$b; }", "yy\n0\n"},
		{"yes | while read a; do echo $a; break; done", "y\n0\n"},
		{"read a < <(yes); echo $a", "y\n0\n"},
		{"set -o pipefail; yes | cat | head -1", "y\n141\n"},
		{"set -o pipefail; yes | sed 1q", "y\n141\n"},
	} {
		m := newMachine(t, machine.Linux, "")
		script := c.script + "; echo $?"
		var out, errOut strings.Builder
		shell.New(m, nil, nil).Run(t.Context(), script, shell.Session{Stdout: &out, Stderr: &errOut})
		if out.String() != c.want || errOut.Len() > 0 {
			t.Errorf("%s: printed %q and %q, want %q", c.script, out.String(), errOut.String(), c.want)
		}
	}
}

// TestStreamOfASlowWriter checks that input is passed on before the writer continues.
func TestStreamOfASlowWriter(t *testing.T) {
	for _, command := range []string{"cat", "sed -u ''", "grep -m1 .", "tr a a", "cut -c1-", "awk 1", "tee /f", "head -1", "sed 1q"} {
		m := newMachine(t, machine.Linux, "")
		in, feed := io.Pipe()
		read, out := io.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			shell.New(m, nil, nil).Run(t.Context(), command, shell.Session{Stdin: in, Stdout: out})
		}()
		if _, err := io.WriteString(feed, "a\n"); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 2)
		if _, err := io.ReadFull(read, got); err != nil || string(got) != "a\n" {
			t.Errorf("%s: got %q, %v", command, got, err)
		}
		if err := feed.Close(); err != nil {
			t.Fatal(err)
		}
		<-done
	}
}
