package kubelet

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestCloudTaint: a node with an external cloud provider registers with the provider's taint only
// once, even if its configuration contains the taint too.
func TestCloudTaint(t *testing.T) {
	uninitialized := corev1.Taint{Key: cloudTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule}
	other := corev1.Taint{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}
	for name, test := range map[string]struct {
		provider string
		asked    []corev1.Taint
		want     int
	}{
		"external":                  {"external", nil, 1},
		"external, asked for too":   {"external", []corev1.Taint{uninitialized}, 1},
		"external, another is kept": {"external", []corev1.Taint{other}, 2},
		"asked for alone":           {"", []corev1.Taint{uninitialized}, 1},
		"neither":                   {"", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			facts := nodeFacts{name: "n", config: &Config{Hostname: "n", OS: "windows"},
				settings: &settings{RegisterWithTaints: test.asked}, flags: &Flags{CloudProvider: test.provider}}
			taints := newNode(facts, 1).Spec.Taints
			if len(taints) != test.want {
				t.Errorf("taints %v, want %d", taints, test.want)
			}
			for i, a := range taints {
				for _, b := range taints[:i] {
					if a.MatchTaint(&b) {
						t.Errorf("%s is given twice: the API server refuses the node", a.Key)
					}
				}
			}
		})
	}
}

// TestTTL: a new Node has the annotation that the controller manager would write.
func TestTTL(t *testing.T) {
	for name, test := range map[string]struct {
		nodes int
		want  string
	}{
		"the first":        {1, "0"},
		"a hundred":        {100, "0"},
		"one more":         {101, "15"},
		"half a thousand":  {500, "15"},
		"a thousand":       {1000, "30"},
		"two thousand":     {2000, "60"},
		"more than others": {2001, "300"},
	} {
		t.Run(name, func(t *testing.T) {
			facts := nodeFacts{name: "n", config: &Config{Hostname: "n", OS: "windows"}, settings: &settings{}, flags: &Flags{}}
			if got := newNode(facts, test.nodes).Annotations[corev1.ObjectTTLAnnotationKey]; got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
