package kubelet

import (
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestUsage: metrics-server gets a container's requests as its usage.
func TestUsage(t *testing.T) {
	b := newBench(t)
	k := b.kubelet(t)
	pod := probedPod(func(c *corev1.Container) {
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
	})
	w := b.serving(t, k, pod)
	k.pods.workers[w.uid] = w
	for path, test := range map[string]struct {
		serve func(*httptest.ResponseRecorder)
		want  string
	}{
		"metrics": {func(r *httptest.ResponseRecorder) { k.serveResourceMetrics(r, nil) },
			`container_memory_working_set_bytes{container="app",namespace="default",pod="app"} 6.7108864e+07 `},
		"summary": {func(r *httptest.ResponseRecorder) { k.serveSummary(r, nil) }, `"workingSetBytes":67108864`},
		"running": {func(r *httptest.ResponseRecorder) { k.serveRunningPods(r, nil) }, `"image":"example.com/app"`},
	} {
		t.Run(path, func(t *testing.T) {
			r := httptest.NewRecorder()
			test.serve(r)
			if !strings.Contains(r.Body.String(), test.want) {
				t.Errorf("%s lacks %s", r.Body, test.want)
			}
		})
	}
}
