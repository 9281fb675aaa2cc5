package walk

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"casement.dev/casement/internal/diagnose/facts"
)

// TestBuilds: the regressions of a node's Windows build are shown with the answers for the node and its pods, and none
// for a build without regressions.
func TestBuilds(t *testing.T) {
	for build, want := range map[string]string{"10.0.20348.2582": "KB5040437", "10.0.20348.4294": "", "": ""} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		n.Status.NodeInfo.KernelVersion = build
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n"}}
		w := walker{Snapshot: &facts.Snapshot{Nodes: map[string]*corev1.Node{"n": n}, Pods: []corev1.Pod{p}}}
		for _, at := range []string{"Node/n", "Pod/p"} {
			var lines []string
			for _, s := range w.builds(at) {
				lines = append(lines, s.Line)
			}
			if got := strings.Join(lines, "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s with %s: %q", at, build, got)
			}
		}
		if also := w.builds("Pod/other"); also != nil {
			t.Errorf("a pod that is not there: %v", also)
		}
	}
}
