package ignition

import (
	"net/netip"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// TestRun checks that Ignition applies its config once, or fails provisioning and names the parts that it cannot
// apply.
func TestRun(t *testing.T) {
	const head = `{"ignition":{"version":"2.3.0"},`
	for name, test := range map[string]struct {
		config  string
		file    string // the content of /etc/a
		problem string // empty if the boot succeeds
	}{
		"a file": {head + `"storage":{"files":[{"filesystem":"root","path":"/etc/a","mode":420,` +
			`"contents":{"source":"data:,text%0A"}}]}}`, "text\n", ""},
		"nothing":   {"", "", ""},
		"no config": {"#cloud-config", "", "no Ignition config of specification 2.x"},
		"version 3": {`{"ignition":{"version":"3.0.0"}}`, "", "no Ignition config of specification 2.x"},
		"an array": {head + `"storage":{"raid":[{"name":"r","level":"raid1","devices":["/dev/sdb","/dev/sdc"]}]}}`,
			"", "storage.raid: casement does not simulate arrays"},
		"one to get": {`{"ignition":{"version":"2.3.0","config":{"replace":{"source":"http://h/c"}}}}`, "",
			"does not simulate configs that are fetched"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := machine.New(machine.Spec{
				ID: "vm", Dir: t.TempDir(), OS: machine.Linux, ComputerName: "node-1", AdminUsername: "capi",
				IPs: []netip.Addr{netip.MustParseAddr("10.1.0.4")}, CustomData: []byte(test.config),
			}, nil, clock.RealClock{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for boot := range 2 {
				provisioned := false
				got, err := Run(t.Context(), m, shell.New(m, nil, nil), func() { provisioned = true })
				if err != nil {
					t.Fatal(err)
				}
				failed := test.problem != ""
				if got.Failed != failed || provisioned == failed || got.Ran != (boot == 0 || failed) {
					t.Errorf("boot %d: %+v, provisioned %v", boot, got, provisioned)
				}
				if all := strings.Join(got.Problems, "\n"); !strings.Contains(all, test.problem) || failed == (all == "") {
					t.Errorf("boot %d: the problems are %q, want %q", boot, all, test.problem)
				}
			}
			if data, _ := m.Root.ReadFile("/etc/a"); string(data) != test.file {
				t.Errorf("/etc/a has %q, want %q", data, test.file)
			}
		})
	}
}
