package posh

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// host keeps files in a map and answers one command.
type host struct {
	files map[string]string
	out   strings.Builder
}

func (h *host) Known(name string) bool {
	return name == "get" || name == "write-output" || name == "out-null" || name == "invoke-expression"
}

func (h *host) Command(_ context.Context, name string, _ []any, parameters map[string]any) (any, error) {
	if u := fmt.Sprint(parameters["uri"]); u != "good" {
		return nil, &Thrown{Message: "refused " + u, Details: "body"}
	}
	return map[string]any{"Value": "v", "n": map[string]any{"x": int64(1)}}, nil
}

func (h *host) Variable(name string) any { return map[string]any{"env:temp": `C:\T`}[name] }
func (h *host) Print(text string)        { h.out.WriteString(strings.ReplaceAll(text, "\r\n", "\n")) }

func (h *host) WriteFile(name string, data []byte, appending bool) error {
	if !appending {
		h.files[name] = ""
	}
	h.files[name] += string(data)
	return nil
}

func (h *host) ReadFile(name string) ([]byte, error) { return []byte(h.files[name]), nil }

func TestRun(t *testing.T) {
	for _, tc := range []struct {
		name, script, want string
		code               int
	}{
		{"variables and strings", "$a = 'x'\n$b = \"[$a] ${a}y $($a.Length) `$a\"\nWrite-Output $b", "[x] xy 1 $a\n", 0},
		{"environment", "Write-Output $env:TEMP", "C:\\T\n", 0},
		{"loop with break", "for ($i = 0; $i -lt 10; $i++) { if ($i -eq 3) { break } }\nWrite-Output $i", "3\n", 0},
		{"while and continue", "$n = 0\nwhile ($n -lt 5) {\n  $n += 1\n  if ($n -le 4) { continue }\n  Write-Output \"at $n\"\n}", "at 5\n", 0},
		{"foreach", "foreach ($x in @('a', 'b')) { Write-Output $x }", "a\nb\n", 0},
		{"else", "if (-not '') { Write-Output yes } else { Write-Output no }", "yes\n", 0},
		{"elseif", "$a = 2\nif ($a -eq 1) { Write-Output one }\nelseif ($a -eq 2) { Write-Output two }\nelse { Write-Output more }", "two\n", 0},
		{"an answer's member", "$v = (Get -Headers @{ A = 'b' } -Uri good).value\nWrite-Output $v", "v\n", 0},
		{"a member's member", "$v = Get -Uri good\nWrite-Output $v.n.x", "1\n", 0},
		{"catch", "try { $v = Get -Uri bad } catch { $r = $_.Exception.Message }\nWrite-Output $r", "refused bad\n", 0},
		{"uncaught", "Get -Uri bad\nWrite-Output never", "refused bad\n", 1},
		{"throw", "try { throw 'x' } catch { Write-Output \"got $($_.Exception.Message)\" }", "got x\n", 0},
		{"exit", "exit 3", "", 3},
		{"files", "[IO.File]::WriteAllText('f', 'a-b'.Replace('-', '+'))\n[IO.File]::AppendAllText('f', 'c')\nWrite-Output ([IO.File]::ReadAllText('f'))", "a+bc\n", 0},
		{"gzip", "$b = [Convert]::FromBase64String('H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA==')\n$z = [IO.Compression.GzipStream]::new([IO.MemoryStream]::new($b), [IO.Compression.CompressionMode]::Decompress)\ntry { Write-Output ([IO.StreamReader]::new($z).ReadToEnd()) } catch { Write-Output 'bad' }", "hello\n", 0},
		{"expression", "$s = 'Write-Output inner; exit 4'\nInvoke-Expression $s", "inner\n", 4},
		{"setting", "[Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12\nexit 0", "", 0},
		{"out-null", "Get -Uri good | Out-Null", "", 0},
		{"no end", "while ($true) { $a = 1 }", "the script was ended, because it takes more than 1000000 steps (a bound of the simulation)\n", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := &host{files: map[string]string{}}
			p, err := Parse(tc.script, h.Known)
			if err != nil {
				t.Fatal(err)
			}
			if code, _ := p.Run(t.Context(), h); code != tc.code || h.out.String() != tc.want {
				t.Errorf("%q and %d, want %q and %d", h.out.String(), code, tc.want, tc.code)
			}
		})
	}
}

// TestRefused are scripts that are no programs: nothing of them is run.
func TestRefused(t *testing.T) {
	for _, script := range []string{
		"function f { }", "Get-Unknown", "$a = [pscustomobject]@{}", "if ($a) {", "$x = 'open", "1 = 2", "Get -Uri good | Sort-Object", "[No.Such]::Thing()", "try { }", strings.Repeat("(", 500),
	} {
		if _, err := Parse(script, (&host{}).Known); err == nil {
			t.Errorf("%q is taken for a program", script)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("$a = 1\nif ($a -eq 1) { Write-Output \"$a\" }")
	f.Fuzz(func(t *testing.T, script string) {
		if p, err := Parse(script, func(string) bool { return true }); (p == nil) == (err == nil) {
			t.Errorf("%v and %v", p, err)
		}
	})
}

// TestBounds holds that a program which asks for too much is ended, each by its
// bound.
func TestBounds(t *testing.T) {
	for name, c := range map[string]struct{ script, bound string }{
		"a loop":             {"while ($true) { }", "steps"},
		"a loop of loops":    {"$a = @(1,2,3,4,5,6,7,8,9)\nwhile ($true) { foreach ($x in $a) { foreach ($y in $a) { } } }", "steps"},
		"doubling":           {"$x = 'a'\nwhile ($true) { $x = $x + $x }", "a value of more than"},
		"doubling, +=":       {"$x = 'a'\nwhile ($true) { $x += $x }", "a value of more than"},
		"doubling in text":   {"$x = 'a'\nwhile ($true) { $x = \"$x$x\" }", "a value of more than"},
		"doubling lists":     {"$x = @('a', 'a')\nfor ($i = 0; $i -lt 60; $i++) { $x = @($x, $x) }\nWrite-Output \"$x\"", "a value of more than"},
		"deep lists":         {"$x = 'a'\nfor ($i = 0; $i -lt 100000; $i++) { $x = @($x) }\nWrite-Output \"$x\"", "a value of more than"},
		"replacing":          {"$x = 'aaaaaaaaaaaaaaaa'\nwhile ($true) { $x = $x.Replace('a', $x) }", "a value of more than"},
		"many values":        {"$x = 'aaaaaaaaaaaaaaaa'\nfor ($i = 0; $i -lt 16; $i++) { $x = $x + $x }\nwhile ($true) { $y = $x.ToUpper() }", "MiB of values"},
		"printing":           {"$x = 'aaaaaaaaaaaaaaaa'\nfor ($i = 0; $i -lt 16; $i++) { $x = $x + $x }\nwhile ($true) { Write-Output $x }", "MiB of values"},
		"itself":             {"$x = 'Invoke-Expression $x'\nInvoke-Expression $x", "Invoke-Expression"},
		"comparing":          {"$x = 'aaaaaaaaaaaaaaaa'\nfor ($i = 0; $i -lt 16; $i++) { $x = $x + $x }\nwhile ($x -ne 'b') { }", "MiB of values"},
		"try does not catch": {"while ($true) { try { while ($true) { } } catch { } }", "steps"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &host{files: map[string]string{}}
			p, err := Parse(c.script, h.Known)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Run(t.Context(), discard{h}); err == nil || !strings.Contains(err.Error(), c.bound) {
				t.Errorf("error %v does not name %q", err, c.bound)
			}
		})
	}
}

// discard prints nothing.
type discard struct{ *host }

func (discard) Print(string) {}

// FuzzRunIsBounded holds that no program runs longer than its steps.
func FuzzRunIsBounded(f *testing.F) {
	for _, s := range []string{"$x = 'a'; while ($true) { $x += $x }", "foreach ($i in @(1,2)) { iex '$a' }", "$h = @{ a = 'b' }; Write-Output $h.a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		h := &host{files: map[string]string{}}
		p, err := Parse(script, h.Known)
		if err != nil {
			return
		}
		m := &run{host: discard{h}, vars: map[string]any{}, types: types()}
		_ = m.block(t.Context(), p.body) // any end is good
		if m.steps > maxSteps+1 || m.made > 2*maxMade {
			t.Errorf("%d steps, %d bytes", m.steps, m.made)
		}
	})
}
