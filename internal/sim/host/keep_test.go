package host

import (
	"os"
	"testing"

	"casement.dev/casement/azuresim/host"
)

var _ host.Keeper = (*Host)(nil)

// TestKeep holds that what is left of a VM that the local Azure does not have goes, and nothing where it has none.
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
