package cloudinit

import (
	"net/netip"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

func TestShellify(t *testing.T) {
	for name, test := range map[string]struct {
		commands any
		want     string // the script without its first line, or the error
		fails    bool
	}{
		"strings":        {[]any{"echo a", "b"}, "echo a\nb\n", false},
		"words":          {[]any{[]any{"echo", "it's", 1, true}}, `'echo' 'it'\''s' '1' 'True'` + "\n", false},
		"null":           {[]any{nil, "a"}, "a\n", false},
		"no list":        {"echo a", "the commands are no list but a string", true},
		"a mapping":      {[]any{map[string]any{"a": 1}}, "command 1 is neither a string nor a list", true},
		"nothing at all": {[]any{}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := shellify(test.commands)
			if test.fails {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("the error is %v, want %q", err, test.want)
				}
				return
			}
			if want := "#!/bin/sh\n" + test.want; got != want || err != nil {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
		})
	}
}

func TestSniff(t *testing.T) {
	for body, want := range map[string]string{
		"#cloud-config\n": "text/cloud-config", " \n#Cloud-Config\n": "text/cloud-config",
		"## template: jinja\n#cloud-config": "text/jinja2",
		"#!/bin/sh":                         "text/x-shellscript", "#include http://x": "text/x-include-url",
		"#include-once":         "text/x-include-once-url",
		"#cloud-config-archive": "text/cloud-config-archive", "runcmd: []": "", "": "",
	} {
		if got := sniff([]byte(body)); got != want {
			t.Errorf("%q is %q, want %q", body, got, want)
		}
	}
}

// TestRunOnce checks that a boot runs the user's commands once, and that the next boot of the instance does not.
func TestRunOnce(t *testing.T) {
	m, err := machine.New(machine.Spec{
		ID: "vm", Dir: t.TempDir(), OS: machine.Linux, ComputerName: "node-1", IPs: []netip.Addr{netip.MustParseAddr("10.1.0.4")},
		Image: machine.Image{Release: "24.04"}, CustomData: []byte("#cloud-config\nruncmd:\n- echo ran >> /count\n- exit 7\n"),
	}, nil, clock.RealClock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for boot, want := range []Result{{Ran: true, ExitCode: 7}, {}} {
		provisioned := false
		got, err := Run(t.Context(), m, shell.New(m, nil, nil), func() { provisioned = true })
		if err != nil || got.Ran != want.Ran || got.ExitCode != want.ExitCode || !provisioned {
			t.Errorf("boot %d: %+v, %v, provisioned %v; want %+v", boot, got, err, provisioned, want)
		}
	}
	if data, err := m.Root.ReadFile("/count"); err != nil || string(data) != "ran\n" {
		t.Errorf("the commands wrote %q, %v", data, err)
	}
}
