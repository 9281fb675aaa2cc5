package guests

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// What the guests answer to the scripts of linuxFile must not become worse than this.
const (
	linuxFile         = "testdata/linux.jsonl"
	leastSame         = 125
	mostDifferent     = 2
	linuxBase         = "/root/judge"
	linuxScript       = linuxBase + "/script.sh"
	linuxScriptPeriod = 10 * time.Second
)

// linuxCase is a script and what bash 5.2 and the tools of Debian 12 answer: a line of
// linuxFile.
type linuxCase struct {
	ID     string `json:"id"`
	Script string `json:"script"`
	Stdout string `json:"stdout"`
	Code   int    `json:"code,omitempty"`
}

var refusedByName = regexp.MustCompile(`does not simulate|not simulated|simulated: no effect|guest is simulated|bound of the simulation`)

// TestLinuxScripts holds guests against scripts as people write them for nodes: a guest
// answers as the real machine, or refuses by name, and what it does neither of is counted.
func TestLinuxScripts(t *testing.T) {
	data, err := os.ReadFile(linuxFile)
	if err != nil {
		t.Fatal(err)
	}
	var same, refused, different []string
	for line := range bytes.Lines(data) {
		var c linuxCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		out, errs, code, marks := runLinuxScript(t, c)
		switch {
		case out == c.Stdout && code == c.Code:
			same = append(same, c.ID)
		case marks || refusedByName.MatchString(out+errs):
			refused = append(refused, c.ID)
		default:
			different = append(different, c.ID)
			if *verbose {
				t.Logf("%s:\n%s--- want %d\n%s--- got %d\n%s--- errors\n%s", c.ID, c.Script, c.Code, c.Stdout, code, out, errs)
			}
		}
	}
	t.Logf("%d same, %d refused by name, %d different: %s", len(same), len(refused), len(different), strings.Join(different, " "))
	if len(same) < leastSame || len(different) > mostDifferent {
		t.Errorf("%d same and %d different; at least %d and at most %d were; refused: %s",
			len(same), len(different), leastSame, mostDifferent, strings.Join(refused, " "))
	}
}

// runLinuxScript runs a script as bash --norc FILE does in an empty folder of a fresh guest;
// refused reports that the guest noted something that it does not simulate.
func runLinuxScript(t *testing.T, c linuxCase) (stdout, stderr string, code int, refused bool) {
	t.Helper()
	work := linuxBase + "/work"
	m, err := machine.New(machine.Spec{ID: "/vm/" + c.ID, Dir: t.TempDir(), OS: machine.Linux, ComputerName: "judge-1",
		IPs: []netip.Addr{netip.MustParseAddr("10.1.0.4")},
		Image: machine.Image{Name: "Ubuntu 24.04", Release: "24.04", Build: "6.8.0-1030-azure", KubernetesVersion: "v1.36.3",
			Runtime: "containerd", RuntimeVersion: "2.0.0"}}, nil, clock.RealClock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.Services.StartAutomatic()
	if err := m.Root.MkdirAll(work); err != nil {
		t.Fatal(err)
	}
	if err := m.Root.WriteFile(linuxScript, []byte(c.Script), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), linuxScriptPeriod)
	defer cancel()
	var out, errs bytes.Buffer
	code, _ = shell.New(m, shell.Table{}, nil).Exec(ctx, []string{"bash", "--norc", linuxScript}, shell.Session{
		Stdout: &out, Stderr: &errs, Dir: work, Env: map[string]string{"LC_ALL": "C", "TZ": "UTC", "HOME": work}})
	marks := m.TakeMarks()
	return out.String(), errs.String(), code, len(marks.Refused) > 0 || m.TakeOverrun() != ""
}
