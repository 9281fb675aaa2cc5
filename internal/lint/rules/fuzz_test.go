package rules

import (
	"testing"

	"casement.dev/casement/internal/lint"
)

// everything returns a target with every fact known.
func everything() lint.Target {
	return lint.Target{
		Minor: 22, Patch: new(3), Windows: []string{"2019", "2022"}, Mixed: true, Taints: []lint.Taint{{Key: "os", Value: "windows",
			Effect: "NoSchedule"}},
		Sidecars: []string{"example.org/inject"}, Gates: map[string]bool{stopSignals: true}, Docker: true, Containerd: "1.5",
	}
}

// FuzzRules: no input makes a rule panic, and every finding has a place and words.
func FuzzRules(f *testing.F) {
	all := All()
	for _, r := range all {
		f.Add([]byte(r.Bad))
		f.Add([]byte(r.Good))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, target := range []lint.Target{{}, everything()} {
			set, _ := lint.Parse("fuzz", data, lint.Options{AssumeWindows: true})
			findings := lint.Run(set, all, target)
			for _, found := range findings {
				if found.Line < 1 || found.Column < 1 || found.Message == "" {
					t.Errorf("%+v", found)
				}
			}
			lint.ApplyFixes("fuzz", data, findings)
		}
	})
}

// TestLinuxOfAMixedCluster: in a cluster with Windows nodes, no rule reports a pod that is
// declared for Linux.
func TestLinuxOfAMixedCluster(t *testing.T) {
	const pod = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata:\n  name: agent\nspec:\n  template:\n    spec:\n" +
		"      nodeSelector:\n        kubernetes.io/os: linux\n      hostNetwork: true\n      tolerations:\n" +
		"      - operator: Exists\n      containers:\n      - name: agent\n        image: registry.example/agent:1\n" +
		"        command: [sh, -c, sleep 5]\n"
	set, errs := lint.Parse("example", []byte(pod), lint.Options{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, f := range lint.Run(set, All(), everything()) {
		t.Errorf("%s: %s", f.Rule, f.Message)
	}
}
