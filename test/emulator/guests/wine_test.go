package guests

import (
	"bytes"
	"context"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

var wineDir = flag.String("wine", "", "Wine's source, whose tests of cmd hold lines that were checked on Windows")

const (
	wineWork        = `C:\judge\work`
	wineDifferences = "testdata/wine.differences.tsv"
	// wineLeast is the percentage of lines that must be right.
	wineLeast = 91
)

// wineFiles are the batch files of Wine's tests, each with a pattern for the beginning of a
// section.
var wineFiles = []struct {
	name string
	head *regexp.Regexp
}{
	{"test_builtins.cmd", regexp.MustCompile(`(?:-{9,} ?Testing|-{9,} success|--- success/failure for) ?(.*?)(?: -{9,})?$`)},
	{"test_builtins.bat", regexp.MustCompile(`--- success/failure for ?(.*?)$`)},
	{"test_cmdline.cmd", regexp.MustCompile(`--- (Test \d+)$`)},
}

// TestWine runs Wine's tests of cmd section by section, each in a separate guest, and counts the
// lines that are equal to those of Windows. A section that differs is a departure, whose reason is
// listed.
func TestWine(t *testing.T) {
	if *wineDir == "" {
		t.Skip("needs Wine's source, which is not part of this repository: make e2e-guests-wine WINE=DIR")
	}
	reasons := map[string]string{}
	for _, line := range strings.Split(readText(t, wineDifferences), "\n") {
		if section, reason, ok := strings.Cut(line, "\t"); ok && !strings.HasPrefix(line, "#") {
			reasons[section] = reason
		}
	}
	right, total := 0, 0
	for _, file := range wineFiles {
		path := filepath.Join(*wineDir, "programs/cmd/tests", file.name)
		source := strings.NewReplacer("@space@", " ", "@tab@", "\t").Replace(readText(t, path))
		wanted := map[string][]string{}
		for _, s := range sections(readText(t, path+".exp"), file.head, "") {
			wanted[s.title] = append(wanted[s.title], s.lines...)
		}
		for _, s := range sections(source, file.head, "echo ") {
			want := strings.Split(strings.TrimRight(strings.Join(wanted[s.title], "\n"), "\n"), "\n")
			if want[0] == "" && len(want) == 1 {
				continue
			}
			script := s.script(file.name) + "\n@goto :eof\n" + source // the source follows only for its labels
			got := inWindows(t, strings.ReplaceAll(script, "\n", "\r\n"), filepath.Ext(file.name))
			missed := aligned(want, got)
			right, total = right+len(want)-len(missed), total+len(want)
			reason, known := reasons[file.name+" "+s.title]
			switch {
			case len(missed) > 0 && !known:
				t.Errorf("%s %s: %d of %d lines are not there, without a reason in %s:\n%s", file.name, s.title, len(missed), len(want),
					wineDifferences, strings.Join(missed, "\n"))
			case len(missed) == 0 && known:
				t.Errorf("%s lists %s %s, which is right", wineDifferences, file.name, s.title)
			case len(missed) > 0:
				t.Logf("%s %s: %d of %d lines are not there: %s", file.name, s.title, len(missed), len(want), reason)
				if *verbose {
					t.Logf("%s", strings.Join(missed, "\n"))
				}
			}
		}
	}
	t.Logf("%d of %d lines are right", right, total)
	if right*100 < wineLeast*total {
		t.Errorf("%d of %d lines are right: at least %d of a hundred were", right, total, wineLeast)
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	runes := make([]rune, 0, len(data))
	for _, b := range data { // the files are Latin-1
		runes = append(runes, rune(b))
	}
	return strings.ReplaceAll(string(runes), "\r\n", "\n")
}

// section is a part of a batch file, or of its output.
type section struct {
	title string
	lines []string
}

func sections(text string, head *regexp.Regexp, before string) []section {
	all := []section{{title: "start"}}
	for line := range strings.SplitSeq(text, "\n") {
		plain := strings.TrimPrefix(strings.TrimPrefix(line, "@todo_wine@"), "@")
		if rest, ok := strings.CutPrefix(plain, before); ok {
			if m := head.FindStringSubmatch(rest); m != nil && strings.HasPrefix(rest, m[0]) {
				all = append(all, section{title: m[1]})
			}
		}
		last := &all[len(all)-1]
		last.lines = append(last.lines, line)
	}
	return all
}

// script returns a section as a separate file, with the state that earlier sections of the file
// leave.
func (s section) script(file string) string {
	first := ""
	if file == "test_builtins.cmd" && s.title != "start" && s.title != "'echo' [ON]" || file != "test_builtins.cmd" && s.title != "start" {
		first = "@echo off\n"
	}
	if strings.Contains(s.lines[0], "success/failure") || strings.HasSuffix(file, ".bat") || strings.Contains(s.title, "return codes") {
		first += "setlocal EnableDelayedExpansion\n"
	}
	return first + strings.Join(s.lines, "\n")
}

// inWindows returns the lines that cmd of a fresh guest prints for a batch file.
func inWindows(t *testing.T, script, ext string) []string {
	t.Helper()
	dir := t.TempDir()
	defer os.RemoveAll(dir)
	m, err := machine.New(machine.Spec{ID: "/vm/wine", Dir: dir, OS: machine.Windows, ComputerName: "judge-1",
		IPs: []netip.Addr{netip.MustParseAddr("10.1.0.4")}, Image: machine.Image{Name: "Windows Server 2022 Datacenter", Release: "2022",
			Build: "10.0.20348.2700", ServiceManager: machine.NSSM}}, nil, clock.RealClock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.Services.StartAutomatic()
	file := wineWork + `\test` + ext
	if err := m.Root.MkdirAll(wineWork); err != nil {
		t.Fatal(err)
	}
	if err := m.Root.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out bytes.Buffer
	_, _ = shell.New(m, shell.Table{}, nil).Exec(ctx, []string{"cmd", "/c", file},
		shell.Session{Stdout: &out, Stderr: &bytes.Buffer{}, Dir: wineWork})
	return strings.Split(strings.ReplaceAll(out.String(), "\r\n", "\n"), "\n")
}

var wineMark = regexp.MustCompile(`@[a-z_]+@|@\\x[0-9a-f]{2}@`)

// winePattern returns a pattern for an expected line; @or_broken@ separates alternatives that are
// also right.
func winePattern(line string) *regexp.Regexp {
	var all []string
	for one := range strings.SplitSeq(line, "@or_broken@") {
		at, b := 0, strings.Builder{}
		for _, m := range wineMark.FindAllStringIndex(one, -1) {
			b.WriteString(regexp.QuoteMeta(one[at:m[0]]))
			mark := one[m[0]:m[1]]
			if n, err := strconv.ParseUint(strings.Trim(mark, `@\x`), 16, 8); err == nil && strings.HasPrefix(mark, `@\x`) {
				b.WriteString(regexp.QuoteMeta(string(rune(n))))
			} else {
				b.WriteString(map[string]string{"@pwd@": regexp.QuoteMeta(wineWork), "@drive@": "C:", "@path@": `\\judge\\work\\`,
					"@shortpath@": `\\judge\\work\\`, "@space@": " ", "@tab@": "\t", "@spaces@": " +", "@formfeed@": "\f"}[mark])
			}
			at = m[1]
		}
		all = append(all, b.String()+regexp.QuoteMeta(one[at:]))
	}
	return regexp.MustCompile(`(?is)^(?:` + strings.Join(all, "|") + `)$`)
}

// aligned matches as many lines as possible of want and got in their order, and returns the lines
// of want that are not matched.
func aligned(want, got []string) (missed []string) {
	patterns := make([]*regexp.Regexp, len(want))
	best := make([][]int, len(want)+1)
	for i := range best {
		best[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		patterns[i] = winePattern(want[i])
		for j := len(got) - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if patterns[i].MatchString(got[j]) {
				best[i][j] = best[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(want) && j < len(got) {
		switch {
		case patterns[i].MatchString(got[j]):
			i, j = i+1, j+1
		case best[i+1][j] >= best[i][j+1]:
			missed = append(missed, want[i])
			i++
		default:
			j++
		}
	}
	return append(missed, want[i:]...)
}
