package shell_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// TestScriptsAreBounded checks that no script exhausts the process that runs the guests, and that the guest stores
// the bound that ended the script.
func TestScriptsAreBounded(t *testing.T) {
	for name, c := range map[string]struct{ os, script, bound string }{
		"sh: a loop":               {machine.Linux, "while :; do :; done", "commands"},
		"sh: a loop of programs":   {machine.Linux, "while true; do cat /etc/hostname; done", "commands"},
		"sh: a function in itself": {machine.Linux, "f() { f; }; f", "too deep"},
		"sh: a script in itself":   {machine.Linux, "echo 'sh /tmp/a' > /tmp/a; sh /tmp/a", "deep"},
		"sh: a long sequence":      {machine.Linux, "echo {1..1000000000}", "sequence"},
		"sh: many sequences":       {machine.Linux, "echo {1..100}{1..100}{1..100}{1..100}", "sequence"},
		"sh: many alternatives":    {machine.Linux, "echo " + strings.Repeat("{a,b}", 60), "sequence"},
		"sh: doubling":             {machine.Linux, "x=a; while true; do x=$x$x; done", "variables"},
		"sh: doubling in silence":  {machine.Linux, "x=a; while ((1)); do x=$x$x; done", "variables"},
		"sh: doubling by another":  {machine.Linux, "a=x; while true; do b=$a$a; a=$b; done", "variables"},
		"sh: doubling in eval":     {machine.Linux, "a=x; while true; do eval 'a=$a$a'; done", "variables"},
		"sh: doubling in a source": {machine.Linux, "echo 'x=a; while ((1)); do x=$x$x; done' > /tmp/s; . /tmp/s", "variables"},
		"sh: doubling in a trap":   {machine.Linux, "trap 'x=a; while ((1)); do x=$x$x; done' EXIT", "variables"},
		"sh: doubling arguments":   {machine.Linux, "set -- aaaaaaaaaaaaaaaa; while :; do set -- \"$@\" \"$@\"; done", "command of more"},
		"sh: doubling an array":    {machine.Linux, "a=(x y); while ((1)); do a+=(\"${a[@]}\"); done", "variables"},
		"sh: doubling loops": {machine.Linux,
			"x=a; " + strings.Repeat("for x in \"$x$x$x$x$x$x$x$x$x$x\"; do ", 30) + ":" + strings.Repeat("; done", 30),
			"variables"},
		"sh: doubling defaults": {machine.Linux,
			"a=aaaa; : ${b:=$a$a$a$a$a$a$a$a$a$a} ${c:=$b$b$b$b$b$b$b$b$b$b} ${d:=$c$c$c$c$c$c$c$c$c$c} ${e:=$d$d$d$d$d$d$d$d} " +
				"${f:=$e$e$e$e$e$e$e$e$e$e}",
			"variables"},
		"sh: replacing": {machine.Linux, "x=aaaaaaaaaaaaaaaa; while :; do x=${x//a/$x}; done", "expands"},
		"sh: a chain": {machine.Linux, "a=x; b=$a$a$a$a; c=$b$b$b$b; d=$c$c$c$c; e=$d$d$d$d; " +
			"f=$e$e$e$e; g=$f$f$f$f; h=$g$g$g$g; i=$h$h$h$h; j=$i$i$i$i; k=$j$j$j$j", "variables"},
		"sh: a substitution": {machine.Linux,
			"x=$(while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done)", "substitutes"},
		"sh: output":           {machine.Linux, "x=$(printf '%065536d' 1); while true; do echo $x$x$x$x; done", "writes more than"},
		"batch: a loop":        {machine.Windows, "cmd /c c:\\a.cmd", "lines"},
		"powershell: doubling": {machine.Windows, "$x = 'a'\nwhile ($true) { $x = $x + $x }", "a value of more than"},
		"powershell: a loop":   {machine.Windows, "$x = 1\nwhile ($true) { $x = 2 }", "steps"},
		"powershell: itself":   {machine.Windows, "c:\\a.ps1", "deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, c.os, "")
			for file, text := range map[string]string{`c:\a.cmd`: ":a\r\ngoto a\r\n", `c:\a.ps1`: "c:\\a.ps1\r\n"} {
				if c.os == machine.Windows {
					if err := m.Root.WriteFile(file, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			code := shell.New(m, nil, nil).Run(t.Context(), c.script, shell.Session{Stdout: io.Discard, Stderr: io.Discard})
			if reason := m.TakeOverrun(); !strings.Contains(reason, c.bound) {
				t.Errorf("ended with %d and %q, want a reason that names %q", code, reason, c.bound)
			}
		})
	}
}

// TestLoopsEndWithTheirContext checks that a guest that is deleted does not wait for its scripts.
func TestLoopsEndWithTheirContext(t *testing.T) {
	for os, script := range map[string]string{machine.Linux: "while ((1)); do ((i++)); done",
		machine.Windows: "$x = 1\nwhile ($true) { Start-Sleep -Seconds 1 }"} {
		m := newMachine(t, os, "")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			shell.New(m, nil, nil).Run(ctx, script, shell.Session{})
		}()
		cancel()
		<-done
	}
}

// FuzzScripts checks that any script ends in a shell of either OS.
func FuzzScripts(f *testing.F) {
	for _, s := range []string{"f() { f; }; f", "for i in 1 2; do echo $i; done | cat", ":a\ngoto a", "$x = 'a'; $x += $x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		for _, lang := range []string{machine.Linux, machine.Windows} {
			shell.New(newMachine(t, lang, ""), nil, nil).Run(t.Context(), script, shell.Session{})
		}
	})
}

// TestGrowthIsAllowed checks that scripts may build long variables in the ways that real scripts do.
func TestGrowthIsAllowed(t *testing.T) {
	m := newMachine(t, machine.Linux, "")
	const script = `PATH=$PATH:/opt/bin; list=; line=; for i in {1..50}; do list="$list $i"; line="$list:$i"; args+=" --x=$i"; done
f() { local a="$1" b="${1//a/$2}"; echo "$a$b" > /dev/null; }; f a b
url="https://$HOSTNAME/$PATH/$list"; url="$url?$line"; eval "x=\"$url\""`
	if code := shell.New(m, nil, nil).Bash(t.Context(), script, shell.Session{}); code != 0 || m.TakeOverrun() != "" {
		t.Errorf("the script ended with %d", code)
	}
}
