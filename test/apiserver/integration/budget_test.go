package integration

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/discovery"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// asked counts the manager's requests to the management API, by namespace, verb and resource.
type asked struct {
	mu     sync.Mutex
	counts map[string]map[string]int
}

// count wraps the manager's transport to count its requests.
func (a *asked) count(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if _, rest, ok := strings.Cut(r.URL.Path, "/namespaces/"); ok && r.URL.Query().Get("watch") == "" {
			parts := strings.Split(rest, "/") // NAMESPACE/RESOURCE[/NAME[/SUBRESOURCE]]
			if len(parts) > 1 {
				call := r.Method + " " + parts[1]
				if len(parts) > 3 {
					call += "/" + parts[3]
				}
				if err == nil && response.StatusCode == http.StatusConflict {
					call += " 409"
				}
				a.mu.Lock()
				if a.counts[parts[0]] == nil {
					a.counts[parts[0]] = map[string]int{}
				}
				a.counts[parts[0]][call]++
				a.mu.Unlock()
			}
		}
		return response, err
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// of returns the counts of a namespace.
func (a *asked) of(namespace string) map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.counts[namespace])
}

// webhookCalls returns the number of calls of the webhooks of a kind.
func (b *bed) webhookCalls(kind string) (calls int) {
	b.t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(b.config)
	if err != nil {
		b.t.Fatal(err)
	}
	text, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, m := range families["apiserver_admission_webhook_request_total"].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "name" && strings.Contains(l.GetValue(), "."+kind+".") {
				calls += int(m.GetCounter().GetValue())
			}
		}
	}
	return calls
}

// TestManagementCalls limits the requests for one machine from its creation until it runs: the
// manager's reads and writes, and the calls of its webhooks, which only the creation of the objects
// may cause.
func TestManagementCalls(t *testing.T) {
	b := newBed(t)
	b.provision()
	const machines = 5
	before, hooks := b.asked.of(b.namespace), b.webhookCalls("azuremachine")
	var all []*infrav1.AzureMachine
	for i := range machines {
		m := b.machine(fmt.Sprint("windows-", i), "Windows", false)
		b.create(m)
		all = append(all, m)
	}
	for _, m := range all {
		b.running(m)
	}
	most := map[string]int{
		"PATCH azuremachines":            2, // adds finalizer and block-move, then adds provider ID and removes block-move
		"PATCH azuremachines/status":     3, // the reason for waiting, the creation, and that the machine is ready
		"PATCH azuremachines 409":        1, // conflict of an outdated object; the reconcile is repeated
		"PATCH azuremachines/status 409": 1,
		"POST events":                    2, // that it is ready, and sometimes why it waited
		"GET secrets":                    2, // one, and another if the identity changes meanwhile
	}
	after := b.asked.of(b.namespace)
	for _, call := range slices.Sorted(maps.Keys(after)) {
		n := after[call] - before[call]
		t.Logf("%-32s %.1f a machine", call, float64(n)/machines)
		if limit, ok := most[call]; ok && n > limit*machines {
			t.Errorf("%s: %d for %d machines, at most %d each", call, n, machines, limit)
		}
	}
	if calls := b.webhookCalls("azuremachine") - hooks; calls > 2*machines {
		t.Errorf("%d calls of webhooks for %d machines, at most 2 each, which are of the creation", calls, machines)
	} else {
		t.Logf("%-32s %.1f a machine", "webhooks", float64(calls)/machines)
	}
	for _, m := range all {
		b.delete(m)
	}
	for _, m := range all {
		b.gone(m)
	}
	b.delete(b.azureC)
	b.gone(b.azureC)
}
