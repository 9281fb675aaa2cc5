package namespaced

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/manager"
	"casement.dev/casement/internal/testing/emulator"
)

// writes contains the paths that a client has written to.
type writes struct {
	mu    sync.Mutex
	paths []string
}

func (w *writes) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.paths = append(w.paths, r.Method+" "+r.URL.Path)
		}
		return next.RoundTrip(r)
	})
}

// in returns the writes in a namespace.
func (w *writes) in(namespace string) (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range w.paths {
		if strings.Contains(path, "/namespaces/"+namespace+"/") {
			out = append(out, path)
		}
	}
	return out
}

// TestShards runs two managers with different watch-filters. One works on a cluster, and the other
// writes none of its objects.
func TestShards(t *testing.T) {
	scheme, err := manager.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(plane.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	azure := emulator.Serve(t, azuresim.Config{Subscriptions: []string{subscription}, TenantID: tenant})
	shards := map[string]*writes{"blue": {}, "green": {}}
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer func() { stop(); running.Wait() }()
	for name, written := range shards {
		if err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
		o := manager.Defaults()
		o.MetricsAddress, o.HealthAddress, o.WebhookPort, o.WatchFilter, o.SkipNameValidation = "0", "0", 0, name, true
		o.Azure = manager.Azure{Endpoints: manager.Endpoints{
			AuthorityHost: azure.Cloud.AuthorityHost, ResourceManagerEndpoint: azure.Cloud.ResourceManagerEndpoint,
		}, CAFile: azure.Cloud.CAFile}
		cfg := rest.CopyConfig(plane.Config())
		cfg.Wrap(written.wrap)
		mgr, err := manager.New(cfg, o)
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := mgr.Start(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for name, other := range map[string]string{"blue": "green", "green": "blue"} {
		live(t, admin, name, name, azure.Azure.Client().ID, azure.Azure.Client().Secret)
		if own, foreign := shards[name].in(name), shards[other].in(name); len(own) == 0 || len(foreign) > 0 {
			t.Errorf("%s was written %d times by its manager, and by that of %s: %v", name, len(own), other, foreign)
		}
	}
}
