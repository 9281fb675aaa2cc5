package walk

import (
	"regexp"
	"strings"
	"testing"

	"casement.dev/casement/internal/diagnose/cause"
)

// programs matches the programs that begin a command.
var programs = regexp.MustCompile(`^(az|casement|clusterctl|kubectl) `)

// prose matches text that a command does not contain: a list of alternatives, placeholders in capitals, or three dots.
var prose = regexp.MustCompile(`[,;:] |\b(or|and|the) |…|\.\.\.|` +
	`\b(GROUP|NODE|MACHINE|CLUSTER|VM|ZONE|NAMESPACE|NAME|REGION|SIZE|P|O|SKU)\b`)

// runs fails the test for a command in an answer that cannot be run as it is, or that queries the wrong cluster.
func runs(t *testing.T, a Answer) {
	t.Helper()
	next := a.Next()
	if !programs.MatchString(next) || prose.MatchString(next) {
		t.Errorf("no command: %q", next)
	}
	kind, _, _ := strings.Cut(strings.TrimPrefix(a.At, "guest of "), "/")
	inside := map[string]bool{"Pod": true, "Node": true, "Service": true, "PersistentVolumeClaim": true, "DaemonSet": true, "Job": true,
		"Ingress": true, "TigeraStatus": true, "ClusterRole": true}
	if inside[kind] && strings.Contains(next, "kubectl ") && !strings.Contains(next, "kubectl --kubeconfig ") {
		t.Errorf("asks the management cluster of a %s: %q", kind, next)
	}
	if programs.MatchString(a.Means.Fix) && prose.MatchString(a.Means.Fix) {
		t.Errorf("a fix that begins as a command and is none: %q", a.Means.Fix)
	}
}

// TestFixesRun: a fix of a cause that begins like a command is one, except for the placeholders that the walk replaces.
func TestFixesRun(t *testing.T) {
	filled := strings.NewReplacer("CLUSTER", "c", "REGION", "r", "GROUP", "g", "NODE", "n", "MACHINE", "m")
	for _, step := range cause.Steps() {
		for _, c := range cause.Of(step) {
			if fix := filled.Replace(c.Fix); programs.MatchString(fix) && prose.MatchString(fix) {
				t.Errorf("%s %s: %q", step, c.Name, c.Fix)
			}
		}
	}
	for _, m := range misfits {
		if programs.MatchString(m.fix) {
			t.Errorf("one of several fixes begins as a command: %q", m.fix)
		}
	}
}
