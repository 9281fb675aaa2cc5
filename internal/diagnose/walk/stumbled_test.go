package walk

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
)

// TestStumbled: a failed command in the boot of a machine that became a node is a fault of the machine, whether the
// boot log or only the condition shows it; a part without effect is none.
func TestStumbled(t *testing.T) {
	const failed = "a command of the bootstrap data failed: agent.ps1: agent registration failed: 403"
	recorded := func(message string) func(*facts.Snapshot) {
		return func(f *facts.Snapshot) {
			f.AzureMachines["am"].SetConditions([]metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready"},
				{Type: infrav1.BootstrapSucceededCondition, Status: metav1.ConditionTrue, Reason: infrav1.JoinedReason, Message: message}})
		}
	}
	logged := func(line string) func(*facts.Snapshot) {
		return func(f *facts.Snapshot) { f.Console = func(*clusterv1.Machine) string { return line + "\n" } }
	}
	for name, test := range map[string]struct {
		inject  func(*facts.Snapshot)
		machine bool // otherwise the answer is for the cluster
		line    string
	}{
		"a condition, of the machine":    {recorded("1 thing had no effect (simulated): ntp; " + failed), true, "registration failed: 403"},
		"a condition, of the cluster":    {recorded(failed), false, "registration failed: 403"},
		"a log, of the machine":          {logged("runcmd: line 3 failed with code 1: agent.sh --join"), true, "agent.sh --join"},
		"nothing failed":                 {recorded("1 thing had no effect (simulated): ntp"), true, ""},
		"nothing failed, of the cluster": {recorded("2 things had no effect (simulated): ntp, mounts"), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			test.inject(f)
			a := Cluster(f)
			if test.machine {
				var err error
				if a, err = Object(f, facts.Object{Kind: "Machine", Name: "m"}); err != nil {
					t.Fatal(err)
				}
			}
			if test.line == "" {
				if !a.Healthy {
					t.Errorf("got %+v", a)
				}
				return
			}
			if a.Healthy || a.Means.Cause != "CommandFailed" || !strings.Contains(strings.Join(a.Lines(), "\n"), test.line) {
				t.Errorf("got %+v", a)
			}
		})
	}
}
