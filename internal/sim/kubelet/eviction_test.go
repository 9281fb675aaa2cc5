package kubelet

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestEvictedByCommittedMemory: since 1.31 a kubelet on Windows evicts pods without a memory limit,
// and no others.
func TestEvictedByCommittedMemory(t *testing.T) {
	for name, c := range map[string]struct {
		os, version, limit string
		critical, evicted  bool
	}{
		"no limit":         {"windows", "v1.31.0", "", false, true},
		"a limit":          {"windows", "v1.36.3", "1Gi", false, false},
		"critical":         {"windows", "v1.36.3", "", true, false},
		"an older kubelet": {"windows", "v1.30.4", "", false, false},
		"Linux":            {"linux", "v1.36.3", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			k := &Kubelet{c: Config{OS: c.os, Version: c.version, Health: func() Health { return Health{MemoryCommitted: true} }}}
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}}}
			if c.limit != "" {
				pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(c.limit)}
			}
			if c.critical {
				pod.Spec.Priority = new(int32(systemCritical + 1000))
			}
			why, evicted := (&worker{k: k}).evicted(pod)
			if evicted != c.evicted || evicted && !strings.Contains(why.message, "low on resource: memory") {
				t.Errorf("evicted %v: %v", evicted, why)
			}
		})
	}
}
