package guests

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
	"casement.dev/casement/internal/testing/golden"
)

const (
	powershellFile        = "testdata/powershell.json"
	powershellDifferences = "testdata/powershell.differences.tsv"
	// powershellFloor is the percentage of scripts that must have the same answer. It is only ever
	// raised.
	powershellFloor = 95
	// psScriptPeriod is the time that a script may run in a guest.
	psScriptPeriod = 20 * time.Second
	// psStart is the time that the real PowerShell may need to start on a busy machine.
	psStart = 2 * time.Minute
	// psBatch is the number of scripts that one run of the real PowerShell executes.
	psBatch = 500
)

var (
	pwsh     = flag.String("pwsh", "", "a PowerShell whose answers are recorded again (with -update) or compared (with -scripts)")
	pwshList = flag.String("scripts", "", "a list of scripts to put to a guest and to the PowerShell of -pwsh, in place of the corpus")
)

// psScript is a script of the corpus with the answer of the real PowerShell: its output, its exit code, and
// the message of its first error.
type psScript struct {
	ID     string   `json:"id"`
	Group  string   `json:"group"`
	Script string   `json:"script"`
	Mode   string   `json:"mode,omitempty"` // "command" if it runs with -Command instead of -File
	Args   []string `json:"args,omitempty"`
	Stdout string   `json:"stdout"`
	Code   int      `json:"code"`
	Error  string   `json:"error,omitempty"`
}

// TestPowerShell checks that the PowerShell of a guest answers as the real one does or refuses by
// name.
func TestPowerShell(t *testing.T) {
	var all []psScript
	read(t, cmp.Or(*pwshList, powershellFile), &all)
	if *pwsh != "" && (golden.Update() || *real || *pwshList != "") {
		askPowerShell(t, all)
	}
	if golden.Update() && *pwsh != "" && *pwshList == "" {
		writePowerShell(t, all)
	}
	known := map[string]string{}
	if *pwshList == "" {
		known = knownDifferences(t, powershellDifferences)
	}
	g := newPSGuest(t)
	type tally struct{ same, refused, known, differ int }
	groups, sum := map[string]*tally{}, tally{}
	for _, c := range all {
		if groups[c.Group] == nil {
			groups[c.Group] = &tally{}
		}
		n := groups[c.Group]
		out, errs, code := g.run(t, c)
		difference := c.differs(out, errs, code)
		_, listed := known[c.ID]
		delete(known, c.ID)
		refused := strings.Contains(errs, "casement does not simulate")
		switch {
		case difference == "":
			n.same, sum.same = n.same+1, sum.same+1
			if listed {
				t.Errorf("%s: the listed difference is gone: take it out of %s", c.ID, powershellDifferences)
			}
		case refused:
			n.refused, sum.refused = n.refused+1, sum.refused+1
			if *verbose {
				t.Logf("%s refused: %s\n%s\n---- real, code %d\n%s%s", c.ID, firstError(errs), c.Script, c.Code, plainOutput(c.Stdout), c.Error)
			}
		case listed:
			n.known, sum.known = n.known+1, sum.known+1
		default:
			n.differ, sum.differ = n.differ+1, sum.differ+1
			if *verbose {
				t.Logf("%s differs: %s\n%s\n---- guest, code %d\n%s%s\n---- real, code %d\n%s%s", c.ID, difference, c.Script,
					code, plainOutput(out), plainOutput(errs), c.Code, plainOutput(c.Stdout), c.Error)
			}
		}
	}
	for name := range known {
		t.Errorf("%s lists a script that is not there: %s", powershellDifferences, name)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		n := groups[name]
		t.Logf("%-14s same %3d, refused by name %3d, known %2d, different %3d", name, n.same, n.refused, n.known, n.differ)
	}
	t.Logf("%d scripts: same %d, refused by name %d, known to differ %d, different without a word %d",
		len(all), sum.same, sum.refused, sum.known, sum.differ)
	if *pwshList == "" && sum.same*100 < powershellFloor*len(all) {
		t.Errorf("%d of %d scripts answer as the real PowerShell: %d in 100 did", sum.same, len(all), powershellFloor)
	}
}

// psGuest is a Windows guest that also has sh, through the shell of a Linux guest, because the
// machine on which the answers were recorded has it.
type psGuest struct {
	m  *machine.Machine
	sh *shell.Shell
}

const psBase = `C:\judge`

func newPSGuest(t testing.TB) *psGuest {
	t.Helper()
	boot := func(os, name, build string) *machine.Machine {
		m, err := machine.New(machine.Spec{ID: "vm", Dir: t.TempDir(), OS: os, ComputerName: "node-1",
			IPs:   []netip.Addr{netip.MustParseAddr("10.1.0.4")},
			Image: machine.Image{Name: name, Release: "2022", Build: build}}, nil, clock.RealClock{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	linux := shell.New(boot(machine.Linux, "Ubuntu 24.04", "6.8.0"), nil, nil)
	m := boot(machine.Windows, "Windows Server 2022 Datacenter", "10.0.20348.2700")
	sh := func(ctx context.Context, p *shell.Process) int {
		code, _ := linux.Exec(ctx, p.Args, shell.Session{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr})
		return code
	}
	return &psGuest{m: m, sh: shell.New(m, shell.Table{"sh": sh}, nil)}
}

// run runs a script in a fresh folder. A panic fails the test and is returned as an error text.
func (g *psGuest) run(t testing.TB, c psScript) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: panic: %v\n%s\n%s", c.ID, p, c.Script, debug.Stack())
			stdout, stderr, code = out.String(), fmt.Sprint("panic: ", p), -1
		}
	}()
	g.m.Root.RemoveAll(psBase)
	if err := g.m.Root.MkdirAll(psBase + `\work`); err != nil {
		t.Fatal(err)
	}
	if err := g.m.Root.WriteFile(psBase+`\x.ps1`, []byte("\ufeff"+c.Script), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), psScriptPeriod)
	defer cancel()
	defer func() {
		if ctx.Err() != nil {
			t.Errorf("%s does not end within %v in a guest\n%s", c.ID, psScriptPeriod, c.Script)
		}
	}()
	s := shell.Session{Stdout: &out, Stderr: &errs, Dir: psBase + `\work`,
		Env: map[string]string{"WORK": psBase + `\work`, "JUDGE": "1"}}
	if c.Mode == "command" {
		code = g.sh.PowerShellCommand(ctx, c.Script, s)
	} else {
		s.Name, s.Args = psBase+`\x.ps1`, c.Args
		code = g.sh.PowerShell(ctx, c.Script, s)
	}
	return out.String(), errs.String(), code
}

var (
	psMessage = regexp.MustCompile(`(?s)^(.*?)\n(?:At |\+ CategoryInfo| *\+ |    \+ )`)
	psPlace   = regexp.MustCompile(`(?i)c:[\\/]judge`)
	psColour  = regexp.MustCompile("\x1b\\[[0-9;]*m")
	psDrive   = regexp.MustCompile(`(?i)\bc:/`)
)

// psWords replaces words in messages of PowerShell 7 by the words of Windows PowerShell 5.1.
var psWords = strings.NewReplacer(
	"is not recognized as a name of a cmdlet, function, script file, or executable program.\nCheck",
	"is not recognized as the name of a cmdlet, function, script file, or operable program. Check",
	"is not recognized as a name of a cmdlet, function, script file, or executable program",
	"is not recognized as the name of a cmdlet, function, script file, or operable program",
)

// psInput matches how .NET since 7.0 quotes the text that it cannot parse as a number.
var psInput = regexp.MustCompile(`The input string '[^']*' was not`)

// plainOutput removes blank lines, blanks at line ends and the folders in which the two sides keep
// their files.
func plainOutput(s string) string {
	s = psPlace.ReplaceAllString(strings.ReplaceAll(s, "\r\n", "\n"), "@BASE@")
	s = psDrive.ReplaceAllString(strings.ReplaceAll(s, `\`, "/"), "/")
	s = strings.ReplaceAll(s, "\u202f", " ") // the narrow space that ICU writes before AM and PM
	s = psInput.ReplaceAllString(psWords.Replace(s), "Input string was not")
	var b strings.Builder
	for line := range strings.SplitSeq(s, "\n") {
		if line = strings.TrimRight(line, " \t\r"); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// firstError returns the message of the first error of a console's text.
func firstError(stderr string) string {
	s := plainOutput(stderr)
	if rest, ok := strings.CutPrefix(s, "At "); ok { // a syntax error begins with its position
		for i, line := range strings.Split(rest, "\n") {
			if i > 0 && !strings.HasPrefix(line, "+") {
				return strings.TrimSpace(line)
			}
		}
	}
	if m := psMessage.FindStringSubmatch(s); m != nil {
		s = m[1]
	}
	if _, message, ok := strings.Cut(s, " : "); ok {
		s = message
	}
	return strings.TrimSpace(s)
}

func (c psScript) differs(out, errs string, code int) string {
	switch {
	case code != c.Code:
		return "the code"
	case plainOutput(out) != plainOutput(c.Stdout):
		return "the output"
	case (strings.TrimSpace(errs) == "") != (c.Error == ""):
		return "whether there is an error"
	case c.Error != "" && !strings.Contains(strings.Join(strings.Fields(plainOutput(errs)), " "), strings.Join(strings.Fields(c.Error), " ")):
		return "the error"
	}
	return ""
}

// askPowerShell runs scripts in the real PowerShell. A script that does not end there fails the
// test by its name.
func askPowerShell(t *testing.T, all []psScript) {
	t.Helper()
	for batch := range slices.Chunk(all, psBatch) {
		askBatch(t, batch)
	}
}

func askBatch(t *testing.T, all []psScript) {
	t.Helper()
	dir := t.TempDir()
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	in, out := filepath.Join(dir, "scripts.json"), filepath.Join(dir, "results.json")
	if err := os.WriteFile(in, data, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), psStart+time.Duration(len(all))*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, *pwsh, "--batch", in, out, "--bound", "8")
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "TERM=dumb", "TZ=UTC", "LANG=en_US.UTF-8")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the real PowerShell gives no answers to the scripts from %s to %s: %v\n%s", all[0].ID, all[len(all)-1].ID, err, text)
	}
	var answers map[string]struct {
		Stdout, Stderr, Work, File string
		Code                       int
		Hung                       bool
	}
	read(t, out, &answers)
	for i := range all {
		a := answers[all[i].ID]
		if a.Hung {
			t.Errorf("%s does not end in the real PowerShell\n%s", all[i].ID, all[i].Script)
		}
		place := func(s string) string {
			s = psColour.ReplaceAllString(s, "")
			if base := filepath.Dir(a.Work); base != "." {
				s = strings.ReplaceAll(s, base, "@BASE@")
			}
			return s
		}
		all[i].Stdout, all[i].Code, all[i].Error = place(a.Stdout), a.Code, firstError(place(a.Stderr))
	}
}

func writePowerShell(t *testing.T, all []psScript) {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("[")
	for i, c := range all {
		var line bytes.Buffer
		e := json.NewEncoder(&line)
		e.SetEscapeHTML(false)
		if err := e.Encode(c); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n" + strings.TrimSpace(line.String()))
	}
	b.WriteString("\n]\n")
	if err := os.WriteFile(powershellFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPowerShellMutants runs scripts of the corpus with some parts changed and checks that none of
// them panics.
func TestPowerShellMutants(t *testing.T) {
	var all []psScript
	read(t, powershellFile, &all)
	g := newPSGuest(t)
	random := rand.New(rand.NewPCG(53, 1))
	parts := []string{"", "(", ")", "{", "}", "$null", "@()", "-1", "[0]", ".", "::", "|", "'", "\"", "$(", "@{", ";", "\n", "`", "1..3",
		"[int]", "-f", "*"}
	for _, c := range all {
		for n := range 3 {
			runes := []rune(c.Script)
			for range 1 + n {
				at := random.IntN(len(runes) + 1)
				end := min(at+random.IntN(6), len(runes))
				other := []rune(parts[random.IntN(len(parts))])
				if random.IntN(3) == 0 { // a piece of another script
					from := []rune(all[random.IntN(len(all))].Script)
					i := random.IntN(len(from) + 1)
					other = from[i:min(i+random.IntN(30), len(from))]
				}
				runes = append(runes[:at:at], append(slices.Clone(other), runes[end:]...)...)
			}
			g.run(t, psScript{ID: c.ID, Script: string(runes), Mode: c.Mode, Args: c.Args})
		}
	}
}
