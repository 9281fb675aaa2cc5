package shell_test

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// hostile are scripts that compute or grow as long as they can.
var hostile = []struct{ name, os, script string }{
	{"sed: a cycle in a line", machine.Linux, "echo a | sed ':x;s/a/aa/;bx'"},
	{"sed: a cycle that grows fast", machine.Linux, "echo a | sed ':x;s/a/aaaaaaaa/g;bx'"},
	{"sed: the join idiom", machine.Linux, "yes | sed ':a;N;ba'"},
	{"sed: the join idiom of long lines", machine.Linux, "yes $(seq 1000) | sed ':a;N;ba'"},
	{"sed: the hold space", machine.Linux, "yes | sed 'H;$!d;x'"},
	{"sed: G", machine.Linux, "yes | sed 'G;h;:a;G;h;ba'"},
	{"a substitution of yes", machine.Linux, "printf '%s\\n' $(yes)"},
	{"a substitution of yes in quotes", machine.Linux, "x=\"$(yes)\"; echo \"$x\""},
	{"a substitution of a file", machine.Linux, "yes | head -c 60000000 > /tmp/f; echo $(</tmp/f)"},
	{"tac", machine.Linux, "yes | tac"},
	{"rev", machine.Linux, "yes | rev"},
	{"nl", machine.Linux, "yes | nl"},
	{"comm", machine.Linux, "comm <(yes) <(yes)"},
	{"head", machine.Linux, "yes | head -n -1"},
	{"tail", machine.Linux, "yes | tail -n +2"},
	{"sort", machine.Linux, "yes | sort"},
	{"sort by keys", machine.Linux, "yes 'a b' | sort -k2,2 -n"},
	{"uniq", machine.Linux, "yes | uniq -c"},
	{"tr", machine.Linux, "yes | tr y z | tr -d '\\n' | tr z a"},
	{"xargs", machine.Linux, "yes | xargs"},
	{"xargs by one", machine.Linux, "yes | xargs -n1 echo"},
	{"cut", machine.Linux, "yes | tr -d '\\n' | cut -c1-"},
	{"grep", machine.Linux, "yes | grep -c y"},
	{"grep of one line", machine.Linux, "yes | tr -d '\\n' | grep -E '(y*)*z'"},
	{"wc", machine.Linux, "yes | wc -mwl"},
	{"tee", machine.Linux, "yes | tee /tmp/a /tmp/b"},
	{"paste", machine.Linux, "yes | paste -s"},
	{"base64", machine.Linux, "yes | base64 | base64 -d"},
	{"cat", machine.Linux, "yes | cat | cat | cat"},
	{"a hundred at once", machine.Linux, "for i in {1..100}; do yes | tac & done; wait"},
	{"awk: a loop", machine.Linux, "awk 'BEGIN{while(1)x++}'"},
	{"awk: a text that doubles", machine.Linux, "awk 'BEGIN{x=\"a\";while(1)x=x x}'"},
	{"awk: an array", machine.Linux, "awk 'BEGIN{while(1)a[i++]=sprintf(\"%01000d\",i)}'"},
	{"awk: lines", machine.Linux, "yes | awk '{a[NR]=$0}END{for(i in a)print a[i]}'"},
	{"awk: gsub", machine.Linux, "awk 'BEGIN{x=\"a\";while(1)gsub(/a/,\"aa\",x)}'"},
	{"awk: split", machine.Linux, "yes | tr -d '\\n' | awk '{n=split($0,a,\"\")}'"},
	{"awk: functions", machine.Linux, "awk 'function f(a){return f(a a)} BEGIN{f(\"a\")}'"},
	{"jq: range", machine.Linux, "jq -n '[range(1e9)]'"},
	{"jq: a text that doubles", machine.Linux, "jq -n '\"a\"|until(false;.+.)'"},
	{"jq: repeat", machine.Linux, "jq -n '[repeat(1)]'"},
	{"jq: multiplied", machine.Linux, "jq -n '\"aaaaaaaa\" * 1000000000'"},
	{"jq: a match", machine.Linux, "jq -n '(\"a\"*100000) | [match(\"a\";\"g\")] | length'"},
	{"a here-document", machine.Linux, "x=$(seq 20000); while :; do cat <<E\n$x$x$x$x\nE\ndone > /dev/null"},
	{"a case of patterns", machine.Linux, "x=$(printf '%060000d' 0); while :; do case $x in *0*0*0*0*0*0*1) ;; esac; done"},
	{"a glob of folders", machine.Linux, "mkdir -p /g/{a,b,c,d,e,f,g,h}; echo " + "/g/*" + strings.Repeat("/../*", 30)},
	{"globs at once", machine.Linux, "mkdir -p /g/{a,b,c,d,e,f}; for i in 1 2 3 4 5; do echo /g/*" + strings.Repeat("/../*", 20) + " & " +
		"done; wait"},
	{"a pattern removed", machine.Linux, "x=$(printf '%0200000d' 0); y=${x##*0*0*0*0*1}; echo ${#y}"},
	{"find", machine.Linux, "while :; do find / -name '*a*' > /dev/null; done"},
	{"mapfile", machine.Linux, "mapfile a < <(yes); yes | mapfile; builtin readarray a < <(yes)"},
	{"read", machine.Linux, "yes | tr -d '\\n' | { read -N 2000000000 x; read y; }; read z < <(yes | tr -d '\\n')"},
	{"split by bytes", machine.Linux, "yes | head -c 60000000 > /f; split -a 8 -b 1 /f /x"},
	{"split by lines", machine.Linux, "yes | head -c 3000000 > /f; split -a 8 -l 1 /f /x"},
	{"csplit by lines", machine.Linux, "yes | head -c 3000000 > /f; csplit -s /f /y/ '{*}'"},
	{"trees that double", machine.Linux, "mkdir -p /t/0; for i in {1..30}; do cp -r /t /u; mv /u /t/$i; done"},
	{"a large tree", machine.Linux, "mkdir /t; cd /t; for i in {1..6}; do mkdir {1..9}{1..9}{1..9}{1..9} && cd 1111; done; du /t; rm -r /t"},
	{"seq to no number", machine.Linux, "seq nan; seq 1 nan 3; seq -inf inf inf"},
	{"seq of numbers that do not differ", machine.Linux, "seq 1e300 1 1e300; seq 9007199254740993 0.1 9007199254740994; seq 1e18 1 1e18"},
	{"seq of long numbers", machine.Linux, "seq 1." + strings.Repeat("0", 60000) + " 100000 | tail -c 1"},
	{"nl of wide numbers", machine.Linux, "while :; do (echo; echo a) | nl -w 999999999 -b a | tail -c 1; done"},
	{"yes of a long line", machine.Linux, "x=$(printf '%0200000d' 0); yes $x $x $x $x $x | tail -c 1"},
	{"grep: each match looks at all", machine.Linux, "yes | head -c 6000000 | tr -d '\\n' | grep -oE '(y|b)*c|y' | tail -1"},
	{"grep: words", machine.Linux, "yes a | head -c 6000000 | tr '\\n' ' ' | grep -owE '(a| )*c|a' | tail -1"},
	{"grep: a large pattern", machine.Linux, "yes | head -c 16000000 | tr -d '\\n' | grep -cE '((y?){500}y{499}){2}z'"},
	{"sed: each match looks at all", machine.Linux, "yes | head -c 6000000 | tr -d '\\n' | sed -E 's/(y|b)*c|y/x/g' | tail -c 1"},
	{"sed: a large pattern", machine.Linux, "yes | head -c 16000000 | tr -d '\\n' | sed -E 's/(y?){500}y{499}z/x/g' | tail -c 1"},
	{"awk: each match looks at all", machine.Linux,
		"yes | head -c 6000000 | tr -d '\\n' | awk '{gsub(/(y|b)*c|y/,\"x\");n=split($0,a,/(x|b)*c|x/)}'"},
	{"numbers in numbers", machine.Linux, "echo " + strings.Repeat("$((", 8000) + "1" + strings.Repeat("))", 8000)},
	{"numbers in numbers that are evaluated", machine.Linux,
		"eval 'echo " + strings.Repeat("$((", 8000) + "1" + strings.Repeat("))", 8000) + "'"},
	{"braces in braces", machine.Linux, "echo " + strings.Repeat("{a,", 16000) + strings.Repeat("}", 16000)},
	{"cut: a long delimiter", machine.Linux, "yes | head -c 20000000 | tr 'y\\n' , | cut -d, -f 1- --output-delimiter=\"$(seq 20000)\""},
	{"awk: a long separator", machine.Linux,
		"yes | head -c 6000000 | tr 'y\\n' , | awk -F, 'BEGIN{x=\"a\";while(length(x)<1000000)x=x x;OFS=x}{$1=1;print}'"},
	{"xargs: an item many times", machine.Linux, "seq 90000 | tr '\\n' x | xargs -I{} echo " + strings.Repeat("{}", 30000)},
	{"awk: it runs itself", machine.Linux, "echo 'BEGIN{while(1){system(\"awk -f /a.awk &\")}}' > /a.awk; awk -f /a.awk"},
	{"a large file at once: sha256sum", machine.Linux, large("sha256sum /big")},
	{"a large file at once: wc", machine.Linux, large("wc -c /big")},
	{"a large file at once: cmp", machine.Linux, large("cmp /big /big")},
	{"a large file at once: a script", machine.Linux, large("/big")},
	{"a large file at once: sourced", machine.Linux, large(". /big")},
	{"a large file at once: sort", machine.Linux, large("sort /big")},
	{"an array whose place is itself", machine.Linux, "a=(1); x='a[x]'; echo $((x)); [[ x -eq 1 ]]; let x; echo ${a[x]}"},
	{"places in places", machine.Linux, "y=" + repeated("a[", 100000) + "; let \"$y$y$y$y$y\""},
	{"what a pattern is not, in a text", machine.Linux, "x=$(printf '%04000d' 0); echo ${x/!(a)b/} ${x#!(0)b}"},
	{"what a pattern is not", machine.Linux, "x=$(printf '%04000d' 0); case $x in *!(a)*b) ;; esac"},
	{"many large patterns", machine.Linux,
		"q=" + repeated("?", 12000) + "; for i in {1..190}; do case x in $q$q$q$q$q$i) ;; esac; done"},
	{"a large pattern of a case", machine.Linux, "q=" + repeated("?", 200000) + "; case x in $q$q$q$q$q$q$q$q$q$q$q$q) ;; esac"},
	{"a large pattern of a long text", machine.Linux,
		"q=" + repeated("*a", 12000) + "; x=" + repeated("a", 200000) + "; case $x in ${q}b) ;; esac"},
	{"patterns in patterns", machine.Linux,
		"p=" + repeated("@(", 50000) + "; e=" + repeated(")", 50000) + "; case x in $p$p${p}a$e$e$e) ;; esac"},
	{"a large pattern of find", machine.Linux, "find / -name $(yes '?' | head -n 1000000 | tr -d '\\n')"},
	{"slashes of a glob", machine.Linux,
		"cd /; mkdir -p bin; y=" + repeated("/", 200000) + "; echo *" + strings.Repeat("$y", 32) + " | tail -c 1"},
	{"dots of a glob", machine.Linux, "cd /; mkdir -p bin; y=" + repeated("/.", 100000) + "; echo *$y$y$y$y$y | tail -c 1"},
	{"open files", machine.Linux, "for i in $(seq 10 30000); do eval \"exec $i>/tmp/x\"; done"},
	{"an expansion of ${", machine.Linux,
		"y=" + repeated("${x:-", 50000) + "; x=$y; : ${x@P}; declare -i z; let \"z=$y$y\"; PS4=$y; set -x; :"},
	{"PowerShell: jobs in jobs", machine.Windows, "$s = 'param($s) Start-Job -ScriptBlock ([scriptblock]::Create($s)) -ArgumentList $s'; " +
		"Start-Job -ScriptBlock ([scriptblock]::Create($s)) -ArgumentList $s"},
	{"PowerShell: a large pattern", machine.Windows, "'a' -match ('a?' * 1000000); [regex]::Match('a', 'a?' * 1000000)"},
	{"PowerShell: a large pattern of -match", machine.Windows, "1..300 | % { 'a' -match ('a?' * 300000 + $_) }"},
	{"PowerShell: a large pattern of -like", machine.Windows, "'a' -like ('*?' * 1000000)"},
	{"PowerShell: Compare-Object", machine.Windows, "$a = 1..1000000; Compare-Object $a ($a | Sort-Object -Descending)"},
	{"PowerShell: long separators", machine.Windows,
		"$a = 1..1000000; Write-Host $a -Separator ('x' * 1000000); $OFS = 'x' * 1000000; \"$a\""},
	{"PowerShell: decimals", machine.Windows, "[decimal]'1e-2000000000'; 1e-2000000000d; [decimal]('9' * 6000000)"},
	{"cmd: a tree copied into itself", machine.Windows, "cmd /c \"for /l %i in (1,1,1000) do @xcopy /s /e /y C:\\ C:\\copy%i\\\""},
	{"PowerShell: Split", machine.Windows, "$s = 'a b ' * 1500000; $s.Split(' ').Count; $s.Split(' ').Count"},
	{"PowerShell: -split", machine.Windows, "$s = 'a b ' * 1500000; ($s -split ' ').Count"},
	{"PowerShell: -replace", machine.Windows, "$s = 'a' * 6000000; ($s -replace 'a', 'b$0').Length"},
	{"PowerShell: -match", machine.Windows, "$s = ('a' * 6000000); while ($true) { $s -match '(a*)*(a*)*b' }"},
	{"PowerShell: an array that doubles", machine.Windows, "$a = 1,2; while ($true) { $a = $a + $a }"},
	{"PowerShell: texts", machine.Windows, "$a = @(); while ($true) { $a += 'x' * 1000000 }"},
	{"PowerShell: a list", machine.Windows, "$a = New-Object System.Collections.ArrayList; while ($true) { [void]$a.Add('x' * 100000) }"},
	{"PowerShell: many variables", machine.Windows, "$i = 0; while ($true) { Set-Variable \"v$i\" ('x' * 1000000); $i++ }"},
	{"PowerShell: a pipe", machine.Windows, "1..1000000 | ForEach-Object { 'x' * 1000 } | Sort-Object"},
	{"PowerShell: join", machine.Windows, "$a = 1..100000; while ($true) { $b = $a -join ('x' * 100) }"},
	{"PowerShell: format", machine.Windows, "while ($true) { $x = '{0,1000000}' -f 1 }"},
	{"PowerShell: a loop", machine.Windows, "while ($true) { }"},
	{"cmd: a loop", machine.Windows, "cmd /c \"for /l %i in (1,0,2) do @rem\""},
	{"cmd: variables", machine.Windows, "cmd /v:on /c \"set x=aaaaaaaa& for /l %i in (1,0,2) do @set x=!x!!x!\""},
}

// repeated returns a substitution of a text that is repeated n times.
func repeated(text string, n int) string {
	return fmt.Sprintf("$(yes '%s' | head -n %d | tr -d '\\n')", text, n)
}

// large returns a script that runs many programs at the same time on one large file.
func large(command string) string {
	return "head -c 15000000 /dev/zero > /a; cat /a /a /a /a > /big; chmod +x /big; " +
		"for i in $(seq 100); do " + command + " > /dev/null & done; wait"
}

// TestHostileScriptsEnd cancels each hostile script while it runs and waits for its end. Until then, the process uses
// no more memory than one guest may.
func TestHostileScriptsEnd(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // so that the heap has little garbage
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t, c.os, "")
			debug.FreeOSMemory()
			own := heap()
			ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
			defer cancel()
			done := make(chan struct{})
			go func() {
				defer close(done)
				shell.New(m, nil, nil).Run(ctx, c.script, shell.Session{Stdout: io.Discard, Stderr: io.Discard})
			}()
			peak := uint64(0)
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			late := time.NewTimer(30 * time.Second)
			defer late.Stop()
			begin := time.Now()
			for running := true; running; {
				select {
				case <-done:
					running = false
				case <-tick.C:
					peak = max(peak, heap())
				case <-late.C:
					t.Fatal("the script does not end")
				}
			}
			t.Logf("ended after %s, with %d MiB at most", time.Since(begin).Round(time.Millisecond), (peak-min(own, peak))>>20)
			if most := own + limit.GuestMemory + 88<<20; peak > most {
				t.Errorf("the process had %d MiB, and %d MiB before", peak>>20, own>>20)
			}
			if inUse, files := m.Usage.InUse(), m.Usage.Files(); inUse != 0 || files != 0 {
				t.Errorf("%d bytes are in use at the end, and %d files", inUse, files)
			}
		})
	}
}

func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// TestOutOfMemoryEndsTheCommand checks that a command that exceeds its guest's memory fails by name, and that the
// script continues.
func TestOutOfMemoryEndsTheCommand(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | sort; echo $?", "137\n"},
		{"awk 'BEGIN{while(1)a[i++]=sprintf(\"%0100000d\",i)}'; echo $?", "137\n"},
	} {
		m := newMachine(t, machine.Linux, "")
		var out, errOut strings.Builder
		shell.New(m, nil, nil).Run(t.Context(), c.script, shell.Session{Stdout: &out, Stderr: &errOut})
		if out.String() != c.want || !strings.Contains(errOut.String(), "this guest used more than 512 MiB") {
			t.Errorf("%s: printed %q and %q", c.script, out.String(), errOut.String())
		}
	}
}

// TestScriptsOfOneText runs scripts that repeat one text up to the longest script: they are nested too deep, too
// large, or wrong. They use no more stack and memory than the process has.
func TestScriptsOfOneText(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // so that the heap has little garbage
	m := newMachine(t, machine.Linux, "")
	for _, text := range []string{"{a,", "$((", "$(", "( ", "if ", "f() ", "${x:-", "<(", "\"$(", "a=( $( ",
		"a[$((", "a&&", "a|", "a;", "time "} {
		t.Run(text, func(t *testing.T) {
			script := strings.Repeat(text, 4<<20/len(text)-4)
			debug.FreeOSMemory()
			own, peak := heap(), uint64(0)
			done := make(chan struct{})
			go func() {
				defer close(done)
				shell.New(m, nil, nil).Bash(t.Context(), "exit\n"+script, shell.Session{Stdout: io.Discard, Stderr: io.Discard})
			}()
			for tick := time.Tick(5 * time.Millisecond); ; {
				select {
				case <-done:
				case <-tick:
					peak = max(peak, heap())
					continue
				}
				break
			}
			if most := own + limit.GuestMemory + 88<<20; peak > most {
				t.Errorf("the process had %d MiB, and %d MiB before", peak>>20, own>>20)
			}
		})
	}
}
