package arm

import (
	"testing"
	"time"
)

func TestIsoDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{"PT0S": 0, "PT5M": 5 * time.Minute, "pt1h2m3s": time.Hour + 2*time.Minute + 3*time.Second} {
		if got, ok := isoDuration(in); !ok || got != want {
			t.Errorf("%s is %v (%v), want %v", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "5m", "P1D", "PT5X", "PT99999999999999999999S"} {
		if got, ok := isoDuration(in); ok {
			t.Errorf("%q is read as %v", in, got)
		}
	}
}

func TestScalePath(t *testing.T) {
	const set = "/subscriptions/s/resourceGroups/g/providers/microsoft.compute/virtualMachineScaleSets/n"
	for path, want := range map[string]struct {
		instance, action string
		ok               bool
	}{
		set:                                {"", "", false},
		set + "/instanceView":              {"", "instanceview", true},
		set + "/virtualMachines":           {"", "virtualmachines", true},
		set + "/virtualMachines/3":         {"3", "", true},
		set + "/virtualMachines/3/reimage": {"3", "reimage", true},
		set + "/virtualMachines/3/networkInterfaces/a":      {"", "", false},
		set + "/rollingUpgrades/latest":                     {"", "rollingupgrades/latest", true},
		set + "/extensions/x":                               {"", "", false},
		"/subscriptions/s/providers/Microsoft.Compute/skus": {"", "", false},
	} {
		id, err := parseID(path)
		if err != nil {
			t.Fatal(err)
		}
		p, ok := scalePathOf(id)
		if ok != want.ok || ok && (p.instance.name() != want.instance || p.action != want.action || p.set.name() != "n") {
			t.Errorf("%s: %v, instance %q, action %q", path, ok, p.instance.name(), p.action)
		}
	}
}

func FuzzIsoDuration(f *testing.F) {
	f.Add("PT1H2M3S")
	f.Fuzz(func(t *testing.T, in string) {
		if d, ok := isoDuration(in); ok && d < 0 {
			t.Errorf("%q is %v", in, d)
		}
	})
}

func FuzzScalePath(f *testing.F) {
	for _, p := range []string{"/virtualMachines/3/start", "/rollingUpgrades/latest", "//", "/virtualMachines/%2f/x/y/z"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, tail string) {
		id, err := parseID("/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/n" + tail)
		if err != nil {
			return
		}
		if p, ok := scalePathOf(id); ok && len(p.set.Names) != 1 {
			t.Errorf("%q: set %v", tail, p.set)
		}
	})
}
