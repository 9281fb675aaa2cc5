package azuresim

import (
	"strings"
	"testing"

	"casement.dev/casement/azuresim/internal/engine"
)

// TestActionPath: the rows of actions are found by the path below their resource.
func TestActionPath(t *testing.T) {
	r := engine.NewRegistry(providers(Config{}))
	const set = "/subscriptions/s/resourceGroups/g/providers/microsoft.compute/virtualMachineScaleSets/n"
	for _, c := range []struct{ method, path, owner, action string }{
		{"GET", set, "", ""},
		{"GET", set + "/instanceView", "n", "instanceview"},
		{"GET", set + "/virtualMachines", "n", "virtualmachines"},
		{"GET", set + "/virtualMachines/3", "", ""},
		{"POST", set + "/virtualMachines/3/reimage", "3", "reimage"},
		{"GET", set + "/virtualMachines/3/reimage", "", ""},
		{"GET", set + "/virtualMachines/3/networkInterfaces/a", "", ""},
		{"GET", set + "/rollingUpgrades/latest", "n", "rollingupgrades/latest"},
		{"GET", set + "/extensions/x", "", ""},
		{"GET", "/subscriptions/s/providers/Microsoft.Compute/skus", "", ""},
	} {
		id, err := engine.ParseID(c.path)
		if err != nil {
			t.Fatal(err)
		}
		name, of := "", ""
		if a, owner := r.Action(id, c.method); a != nil {
			name, of = a.Name, owner.Name()
		}
		if name != c.action || of != c.owner {
			t.Errorf("%s %s is the action %q of %q, want %q of %q", c.method, c.path, name, of, c.action, c.owner)
		}
	}
}

// TestRows checks that each name to which the providers' tables refer exists.
func TestRows(t *testing.T) {
	r := engine.NewRegistry(providers(Config{}))
	for _, k := range r.Types {
		for _, ref := range k.Refs {
			id, err := engine.ParseID("/subscriptions/s/resourceGroups/g/providers/" +
				strings.Replace(strings.ReplaceAll(ref.To, "/", "/x/"), "/x/", "/", 1) + "/x")
			if err != nil {
				t.Fatal(err)
			}
			if to, _, _ := r.KindOf(id); to == nil && ref.To != "Microsoft.Network/loadBalancers/inboundNatPools" {
				t.Errorf("%s refers to %s, which no provider has", k.Name, ref.To)
			}
		}
	}
}

// FuzzActionPath searches for a path that the tables cannot handle.
func FuzzActionPath(f *testing.F) {
	for _, p := range []string{"/virtualMachines/3/start", "/rollingUpgrades/latest", "//", "/virtualMachines/%2f/x/y/z"} {
		f.Add(p)
	}
	r := engine.NewRegistry(providers(Config{}))
	f.Fuzz(func(t *testing.T, tail string) {
		id, err := engine.ParseID("/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/n" + tail)
		if err != nil {
			return
		}
		if a, owner := r.Action(id, "POST"); a != nil && !owner.IsResource() {
			t.Errorf("%q: the action %s of %v", tail, a.Name, owner)
		}
	})
}
