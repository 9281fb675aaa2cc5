package host

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/contain"
	"casement.dev/casement/internal/sim/guest"
)

// TestLost: the disk of a VM that had booted is moved to the lost folder and never moved again.
// Notices reports it, a regenerated host key, and panics.
func TestLost(t *testing.T) {
	m := testHost(t.TempDir())
	for _, id := range []string{killer, bystander} {
		if err := os.MkdirAll(m.home(id), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{m.home(killer) + "/boot-ended", m.home(killer) + "/disk", m.home(bystander) + "/" + guest.BrokenHostKey} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := m.Keep([]string{bystander}); err != nil {
			t.Fatal(err)
		}
	}
	disks, _ := filepath.Glob(filepath.Join(m.config.Dir, "vms", "@lost", "*", "disk"))
	if _, err := os.Stat(m.home(killer)); err == nil || len(disks) != 1 {
		t.Errorf("the folder is there (%v), set aside are %v", err, disks)
	}
	var heard []string
	m.config.OnPanic = func(id string, _ *contain.Panic) { heard = append(heard, id) }
	w := &contain.Wall{Report: m.panicked("/vms/node-1", "node-1")}
	for range 3 {
		w.Call("awk", func() { panic("x") })
	}
	if !slices.Equal(heard, []string{"/vms/node-1"}) {
		t.Errorf("of three panics of one cause in one machine was heard %v", heard)
	}
	if counted := m.Panics(); !maps.Equal(counted, map[string]int{"host": 3}) {
		t.Errorf("counted %v", counted)
	}
	said := strings.Join(m.Notices(), "\n")
	for _, want := range []string{"met 3 times since the plane began, last by node-1", "host key of", "@lost"} {
		if !strings.Contains(said, want) {
			t.Errorf("the notices lack %q:\n%s", want, said)
		}
	}
}

var _ host.Keeper = (*Host)(nil)

// TestKeep: the folder of a VM that the local Azure does not have is moved to the lost folder,
// unless the local Azure has no VMs at all.
func TestKeep(t *testing.T) {
	const instance = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/set/virtualMachines/3"
	m := testHost(t.TempDir())
	for _, id := range []string{killer, bystander, instance} {
		if err := os.MkdirAll(m.home(id), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct{ known, left []string }{
		{nil, []string{killer, bystander, instance}},
		{[]string{bystander, instance}, []string{bystander, instance}},
		{[]string{bystander}, []string{bystander}},
	} {
		if err := m.Keep(step.known); err != nil {
			t.Fatal(err)
		}
		left := map[string]bool{}
		for _, id := range step.left {
			left[id] = true
		}
		for _, id := range []string{killer, bystander, instance} {
			if _, err := os.Stat(m.home(id)); (err == nil) != left[id] {
				t.Errorf("of %v known, %s: %v", step.known, id, err)
			}
		}
	}
}
