package shell_test

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"casement.dev/casement/internal/contain"
	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// TestPanicsAreContained checks, for every way of running a command, that a panic of the command only ends the
// command, with code 139, and that the script continues.
func TestPanicsAreContained(t *testing.T) {
	commands := shell.Table{"boom": func(context.Context, *shell.Process) int { panic("boom") }}
	for _, c := range []struct{ name, os, script, want string }{
		{"a command", machine.Linux, "boom; echo $?", "139\n"},
		{"the start of a pipe", machine.Linux, "set -o pipefail; boom | cat; echo $?", "139\n"},
		{"the end of a pipe", machine.Linux, "echo x | boom; echo $?", "139\n"},
		{"the middle of a pipe", machine.Linux, "echo x | boom | cat; echo on", "on\n"},
		{"a job", machine.Linux, "boom & wait $!; echo $?", "139\n"},
		{"a group that is a job", machine.Linux, "{ boom; echo $?; } & wait; echo on", "139\non\n"},
		{"a substitution", machine.Linux, "x=$(boom); echo $?", "139\n"},
		{"a substitution in a pipe", machine.Linux, "echo $(boom; echo $?) | cat", "139\n"},
		{"a file of output", machine.Linux, "echo x > >(boom); echo on", "on\n"},
		{"a file of input", machine.Linux, "cat <(boom; echo $?)", "139\n"},
		{"a function", machine.Linux, "f() { boom | cat; }; f & wait; echo on", "on\n"},
		{"a script", machine.Linux, "printf 'boom\\necho $?\\n' > /tmp/a; sh /tmp/a", "139\n"},
		{"xargs", machine.Linux, "echo a | xargs boom; echo on", "on\n"},
		{"timeout", machine.Linux, "timeout 5 boom; echo $?", "139\n"},
		{"a trap", machine.Linux, "trap 'boom; echo $?' EXIT", "139\n"},
		{"PowerShell", machine.Windows, "boom; $LASTEXITCODE", "139\r\n"},
		{"cmd", machine.Windows, "cmd /v:on /c \"boom & echo !errorlevel!\"", "139\r\n"},
		{"a pipe of cmd", machine.Windows, "cmd /c \"(echo x| boom) & echo yes\"", "yes\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t, c.os, "")
			var panics atomic.Int64
			m.Wall = &contain.Wall{Report: func(*contain.Panic) { panics.Add(1) }}
			table := maps.Clone(commands)
			var out, errOut bytes.Buffer
			shell.New(m, table, nil).Run(t.Context(), c.script, shell.Session{Stdout: &out, Stderr: &errOut})
			if out.String() != c.want || panics.Load() != 1 {
				t.Errorf("printed %q, want %q; %d panics; standard error:\n%s", out.String(), c.want, panics.Load(), errOut.String())
			}
			if c.os == machine.Linux && !strings.Contains(errOut.String(), "own fault") && !strings.Contains(c.name, "output") {
				t.Errorf("standard error does not say whose fault it is: %q", errOut.String())
			}
		})
	}
}

// TestTraceShowsTheScriptAlone checks that a trace does not show the internal names of the parts of a pipe.
func TestTraceShowsTheScriptAlone(t *testing.T) {
	m := newMachine(t, machine.Linux, "")
	var out bytes.Buffer
	shell.New(m, nil, nil).Run(t.Context(), "set -x\necho a | cat\ntrue &\nwait\n", shell.Session{Stderr: &out})
	for line := range strings.Lines(out.String()) {
		if strings.ContainsAny(line, "\x01") || strings.Contains(line, "part") {
			t.Errorf("the trace has %q", line)
		}
	}
}

// TestMistakesOfCmd runs scripts of cmd.exe that panicked, as TestMistakes does.
func TestMistakesOfCmd(t *testing.T) {
	for _, script := range []string{`cmd /c "echo`, `cmd /c "`, `cmd /c "dir >^&"`, `cmd /c "dir >&"`} {
		m := newMachine(t, machine.Windows, "")
		m.Wall = &contain.Wall{Report: func(p *contain.Panic) { t.Errorf("%s: %v\n%s", script, p, p.Trace) }}
		shell.New(m, nil, nil).Batch(t.Context(), script, shell.Session{EchoOff: true})
	}
}

// TestMistakesOfPowerShell runs PowerShell scripts that panicked, and checks that they now have the result of
// Windows.
func TestMistakesOfPowerShell(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"([hashtable]$null) -eq $null; ([System.Collections.Hashtable]$null).Clear(); 'on'", "True\r\non\r\n"},
		{"'a,b','1,2' | ConvertFrom-Csv | ForEach-Object $null; 'on'", "on\r\n"},
		{"([System.Collections.Hashtable]$_).Synchronized(1); 'on'", "on\r\n"},
		{"$x.a.1.7976931348623157e308D; 'on'", ""},
	} {
		m := newMachine(t, machine.Windows, "")
		m.Wall = &contain.Wall{Report: func(p *contain.Panic) { t.Errorf("%s: %v\n%s", c.script, p, p.Trace) }}
		var out, errOut bytes.Buffer
		shell.New(m, nil, nil).Run(t.Context(), c.script, shell.Session{Stdout: &out, Stderr: &errOut})
		if out.String() != c.want || errOut.Len() == 0 {
			t.Errorf("%.200s: printed %.200q and %.200q, want %q", c.script, out.String(), errOut.String(), c.want)
		}
	}
}

// TestMistakes runs scripts that once ended the plane.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`awk 'BEGIN{print substr("a",)}'; echo $?`, "2\n"},
		{"printf '#!/usr/bin/python3\\n' > /tmp/p; chmod +x /tmp/p; cd /tmp; ./p | cat; echo on", "on\n"},
		{"declare -A m; m[node-ip]=1; k=a; m[$k/x]=2; m[\"q r\"]=3; echo ${m[node-ip]} ${m[a/x]} ${m[\"q r\"]}", "1 2 3\n"},
		{"declare -A m=([node-ip]=1 [b]=2); echo ${m[node-ip]} ${m[b]}", "1 2\n"},
		{"declare -A m=(a 1 b-c 2 d); echo ${m[a]} ${m[b-c]} x${m[d]}", "1 2 x\n"},
		{"f() { m=(a 1); echo ${m[a]}; }; declare -A m; f", "1\n"},
		{"declare -A m=([a]=1 b); echo on", "on\n"},
		{"h;ash\xff", ""},
		{"echo 'eval \"export X=\"; echo x$X' > /tmp/s; sh /tmp/s", "x\n"},
		{"+=1=[multi word]; echo $?; +=2 a=b c; echo $?", "127\n127\n"},
		{"trap -- 'echo bye' EXIT; trap -- >/dev/null; echo on", "on\nbye\n"},
		{"set -- a b; shift -1; echo $? $#; builtin shift -1; command shift -1; echo $#; command shift; echo $1", "1 2\n2\nb\n"},
		{"dash -c 'set -- a; shift -1; echo no'; echo $?", "2\n"},
		{"shift() { echo mine; }; set -- a b; builtin shift -1; command shift; echo $1; shift", "b\nmine\n"},
		{"builtin printf '%5d|' 1; builtin echo -n x; builtin nothing; echo $?", "    1|x1\n"},
		{"printf 'a\\n\\nb' | { mapfile x; echo ${#x[@]} \"${x[0]}${x[2]}\"; }", "3 a\nb\n"},
		{"mapfile -t -d : x <<<a:b:; echo ${#x[@]} \"${x[1]}\"; mapfile -t; echo ${#MAPFILE[@]}; mapfile 1x; echo $?", "3 b\n0\n1\n"},
		{"echo abc | xargs -d '' echo; echo $?; printf 'a:b:' | xargs -d : echo; xargs -d ab echo </dev/null; echo $?", "1\na b\n1\n"},
		{"nohup; echo $?; nice; setsid; stdbuf -oL; echo abc | base64 -w -1; echo $?; echo abc | base64 -w x; echo $?", "125\n1\n1\n"},
		{"expr substr abc 2 9223372036854775807; mkdir -p /q/a; tar czf /q.tgz /q/a; tar xzf /q.tgz --strip-components=-1; echo $?", "bc\n2\n"},
		{"declare -A m; eval 'm[a-b]=1'; echo ${m[a-b]} | cat", "1\n"},
		{"echo abc | od -N -1; echo $?; echo abc | od -w0; echo $?; echo abc | xxd -c 9223372036854775807; echo $?", "1\n1\n1\n"},
		{"echo abc | dd seek=-1 of=/x 2>/dev/null; echo $?; echo a | dd bs=64M seek=64M of=/x 2>/dev/null; echo $?", "1\n1\n"},
		{"echo abc | split -a -1; echo $?; echo abc | split -a 1000000000; echo $?", "1\n1\n"},
		{"shuf -i -9000000000000000000-1 2>&1; shuf -i 1-9223372036854775807 | wc -l; shuf -n 1 -i 5-5",
			"shuf: invalid input range: '-9000000000000000000-1'\n0\n5\n"},
		{"x=ab; echo \"${x:\"\":1}\"", "a\n"},
		{"set -- a; x=-1; echo \"${!x}\"\necho $?; x=1 y=@; echo ${!x} ${!y}", "1\na a\n"},
		{"getopts a,b x -ab; echo $x; getopts a x /; echo $? $x", "a\n1 ?\n"},
		{"head -c 3000000 /dev/zero | wc -c; head -c 9223372036854775807 /dev/zero | wc -c; head -c 3 /dev/zero | od -An -tx1",
			"3000000\n0\n 00 00 00\n"},
		{"printf 'echo a\\n()\\necho b\\n' >/s; bash /s; echo $?; sh /s; echo $?", "a\n2\na\n2\n"},
		{"echo $((" + strings.Repeat("-", 100000) + "1))\necho on", "on\n"},
		{"echo '" + strings.Repeat("(", 100000) + "' | bc >/dev/null; echo $?; echo '2^9223372036854775807' | bc; echo $?", "127\n127\n"},
	} {
		m := newMachine(t, machine.Linux, "")
		m.Wall = &contain.Wall{Report: func(p *contain.Panic) { t.Errorf("%s: %v\n%s", c.script, p, p.Trace) }}
		var out, errOut bytes.Buffer
		shell.New(m, nil, nil).Run(t.Context(), c.script, shell.Session{Stdout: &out, Stderr: &errOut})
		if out.String() != c.want {
			t.Errorf("%s: printed %q and %q, want %q", c.script, out.String(), errOut.String(), c.want)
		}
	}
}
