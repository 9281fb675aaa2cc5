package stub

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

const kubeletPage = `# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="app",namespace="shop",pod="web"} 50 1000000
# TYPE container_memory_working_set_bytes gauge
container_memory_working_set_bytes{container="app",namespace="shop",pod="web"} 6.7108864e+07 1000000
# TYPE container_start_time_seconds gauge
container_start_time_seconds{container="app",namespace="shop",pod="web"} 900
# TYPE node_memory_working_set_bytes gauge
node_memory_working_set_bytes 1.34217728e+08 1000000
`

// TestScrape: the CPU usage is an average since the start of a container, the memory usage is the
// kubelet's value.
func TestScrape(t *testing.T) {
	s, err := readScrape(strings.NewReader(kubeletPage), time.Unix(1000, 0))
	if err != nil {
		t.Fatal(err)
	}
	app := s.pods["shop/web"][0].Usage
	if app.Cpu().String() != "500m" || app.Memory().String() != "64Mi" || s.node.Memory().String() != "128Mi" ||
		s.node.Cpu().String() != "500m" {
		t.Errorf("the container uses %v, the node %v", app, s.node)
	}
}

// TestMetricsAPI checks the requests that clients and the API server send to metrics.k8s.io.
func TestMetricsAPI(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var list any = corev1.NodeList{Items: []corev1.Node{{}}}
		if strings.HasSuffix(r.URL.Path, "/pods") {
			pod := corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}
			pod.Namespace, pod.Name = "shop", "web"
			pods := corev1.PodList{Items: []corev1.Pod{pod}}
			if field := r.URL.Query().Get("fieldSelector"); field != "" && field != "metadata.name=web" {
				pods.Items = nil
			}
			list = pods
		} else if nodes, ok := list.(corev1.NodeList); ok {
			nodes.Items[0].Name = "n"
			list = nodes
		}
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(api.Close)
	core, err := corev1client.NewForConfig(&rest.Config{Host: api.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := readScrape(strings.NewReader(kubeletPage), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	m := &metricsAPI{core: core, kubelets: http.DefaultClient, scraped: map[string]scrape{"n": s}}
	for path, test := range map[string]struct {
		status int
		want   string
	}{
		"/readyz":                                                {200, "ok"},
		"/apis":                                                  {200, `"APIGroupList"`},
		"/apis/metrics.k8s.io":                                   {200, `"APIGroup"`},
		"/apis/metrics.k8s.io/v1beta1":                           {200, `"PodMetrics"`},
		"/apis/metrics.k8s.io/v1beta1/nodes":                     {200, `"memory":"128Mi"`},
		"/apis/metrics.k8s.io/v1beta1/nodes/n":                   {200, `"kind":"NodeMetrics"`},
		"/apis/metrics.k8s.io/v1beta1/pods":                      {200, `"memory":"64Mi"`},
		"/apis/metrics.k8s.io/v1beta1/nowhere":                   {404, ""},
		"/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods":      {200, `"kind":"PodMetricsList"`},
		"/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods/web":  {200, `"kind":"PodMetrics"`},
		"/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods/none": {404, `"reason":"NotFound"`},
	} {
		t.Run(path, func(t *testing.T) {
			w := httptest.NewRecorder()
			m.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}
