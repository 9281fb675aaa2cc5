package ui

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/ui/model"
)

// TestLateClusters: clusters that cannot be read now are shown as they were last read, and the page says so; a cluster
// that is no longer listed is not shown.
func TestLateClusters(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clusterv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"Cluster", "MachineDeployment"} {
		mapper.Add(clusterv1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	lists := map[string]string{
		"/apis/cluster.x-k8s.io/v1beta2/clusters":           `{"items":[{"metadata":{"namespace":"ns","name":"late"}}]}`,
		"/apis/cluster.x-k8s.io/v1beta2/machinedeployments": `{"items":[]}`,
	}
	for _, test := range []struct {
		name  string
		lists map[string]string
		last  string
		shown bool
	}{
		{"one that is late", lists, "late", true},
		{"all are late", nil, "late", true},
		{"one that is gone", lists, "gone", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				answer, ok := test.lists[req.URL.Path]
				if !ok {
					w.WriteHeader(http.StatusInternalServerError)
				}
				_, _ = io.WriteString(w, answer)
			}))
			defer server.Close()
			c, err := client.New(&rest.Config{Host: server.URL}, client.Options{Scheme: scheme, Mapper: mapper})
			if err != nil {
				t.Fatal(err)
			}
			before := seenCluster{Cluster: model.Cluster{Snapshot: &facts.Snapshot{Cluster: &clusterv1.Cluster{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: test.last}}}}, at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
			r := &Reader{Client: func() (client.Client, error) { return c, nil },
				last: map[client.ObjectKey]seenCluster{{Namespace: "ns", Name: test.last}: before}}
			for range 2 {
				clusters, err := r.clusters(t.Context(), nil)
				if shown := len(clusters) == 1; err == nil || shown != test.shown ||
					shown != strings.Contains(err.Error(), "ns/late is shown as of 03:04:05 UTC") {
					t.Errorf("%d clusters are shown, with %v", len(clusters), err)
				}
			}
		})
	}
}
