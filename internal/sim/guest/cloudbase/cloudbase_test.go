package cloudbase

import (
	"net/netip"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

func TestBatchOf(t *testing.T) {
	for name, test := range map[string]struct {
		commands any
		want     string // the text without its first line; with !, a part of the error
	}{
		"strings":       {[]any{"echo a", "b"}, "echo a\r\nb\r\n"},
		"words":         {[]any{[]any{"echo", "a b", 1}}, "echo a b 1\r\n"},
		"letter by one": {"ab", "a\r\nb\r\n"},
		"a number":      {[]any{"a", 5}, "!runcmd entry 2 is neither"},
		"no list":       {5, "!runcmd is no list"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := batchOf(test.commands)
			if problem, fails := strings.CutPrefix(test.want, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), problem) {
					t.Errorf("the error is %v, want %q", err, problem)
				}
				return
			}
			if want := "rem cmd\r\n" + test.want; got != want || err != nil {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
		})
	}
}

func TestExitCodesThatAsk(t *testing.T) {
	for code, want := range map[int]outcome{
		0: {}, 1: {}, 1000: {}, 1001: {reboot: true}, 1002: {again: true}, 1003: {again: true, reboot: true}, 1004: {},
	} {
		if got := outcomeOf(code); got != want || Asks(code) != (want != outcome{}) {
			t.Errorf("%d asks for %+v, want %+v", code, got, want)
		}
	}
}

func TestEmptyValue(t *testing.T) {
	for _, v := range []any{nil, false, "", 0, 0.0, []any{}} {
		if !emptyValue(v) {
			t.Errorf("%#v is true for Python", v)
		}
	}
	for _, v := range []any{true, "0", 1, []any{nil}} {
		if emptyValue(v) {
			t.Errorf("%#v is false for Python", v)
		}
	}
}

// TestRunAgain checks that user data runs once per instance, and that a script that requests another run gets it at
// the next boot.
func TestRunAgain(t *testing.T) {
	for name, test := range map[string]struct {
		data string
		boot []Result
		ran  string // the content of C:\count after the boots
	}{
		"once": {"#cloud-config\nruncmd:\n- echo ran>>C:\\count\n", []Result{{Ran: true}, {}}, "ran\r\n"},
		"asked for again": {"rem cmd\r\necho ran>>C:\\count\r\nexit 1002",
			[]Result{{Ran: true, ExitCode: 1002}, {Ran: true, ExitCode: 1002}}, "ran\r\nran\r\n"},
		"a reboot": {"rem cmd\r\necho ran>>C:\\count\r\nexit 1001",
			[]Result{{Ran: true, ExitCode: 1001, Reboot: true}, {}}, "ran\r\n"},
		"what cannot be":   {"\x1f\x8bgzip", []Result{{Ran: true, Failed: true}, {Ran: true, Failed: true}}, ""},
		"an exit code":     {"#cloud-config\nruncmd:\n- exit 3\n", []Result{{Ran: true, ExitCode: 3}}, ""},
		"a PowerShell one": {"#ps1\nSet-Content C:\\count ran", []Result{{Ran: true}}, "ran\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := machine.New(machine.Spec{
				ID: "vm", Dir: t.TempDir(), OS: machine.Windows, ComputerName: "node-1", IPs: []netip.Addr{netip.MustParseAddr("10.1.0.4")},
				Image: machine.Image{Build: "10.0.20348.1", ServiceManager: machine.NSSM}, CustomData: []byte(test.data),
			}, nil, clock.RealClock{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for i, want := range test.boot {
				got, err := Run(t.Context(), m, shell.New(m, nil, nil))
				if err != nil || got.Ran != want.Ran || got.ExitCode != want.ExitCode ||
					got.Reboot != want.Reboot || got.Failed != want.Failed {
					t.Errorf("boot %d: %+v, %v; want %+v", i, got, err, want)
				}
			}
			if data, _ := m.Root.ReadFile(`C:\count`); string(data) != test.ran {
				t.Errorf("C:\\count has %q, want %q", data, test.ran)
			}
		})
	}
}
