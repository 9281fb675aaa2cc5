package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/config"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/record"
	"casement.dev/casement/internal/webhook/workload"
)

// selector matches the name of a metric with its label matchers, and grouped matches the labels of
// a sum. Other names of the same form are functions or variables.
var (
	selector = regexp.MustCompile(`\b((?:casement|controller_runtime|leader_election|process)_[a-z0-9_]+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	grouped  = regexp.MustCompile(`\bby\s*\(([^)]*)\)`)
)

// TestMetrics checks that a scrape contains every metric that the dashboard and the alert rules
// query, with its labels. It scrapes after a machine was provisioned, during an operation, and
// after an object was linted.
func TestMetrics(t *testing.T) {
	b := newBed(t)
	b.provision()
	m := b.machine("md-win-1", "Windows", false)
	b.create(m)
	b.running(m)
	b.lintSomething()
	pending := &infrav1.AzureCluster{ObjectMeta: b.meta("held"), Spec: b.azureC.Spec}
	pending.Spec.ResourceGroup = "held" // it belongs to no Cluster, so no controller ends its operation
	b.create(pending)
	pending.Status.LongRunningOperationStates = record.States([]plan.Token{
		{ID: b.group().Network("virtualNetworks", "held-vnet"), Verb: http.MethodPut, Resume: "token"},
	})
	if err := b.client.Status().Update(t.Context(), pending); err != nil {
		t.Fatal(err)
	}

	queries, err := config.Queries()
	if err != nil {
		t.Fatal(err)
	}
	token := b.prometheus()
	var missing []string
	if err := wait.PollUntilContextTimeout(t.Context(), often, patience, true, func(ctx context.Context) (bool, error) {
		families := b.scrape(ctx, token)
		missing = nil
		for _, q := range queries {
			missing = append(missing, unanswered(q, families)...)
		}
		return len(missing) == 0, nil
	}); err != nil {
		t.Errorf("dashboard and rules ask for what there is not:\n%s", strings.Join(missing, "\n"))
	}
	for _, bad := range []string{"sum(casement_unknown)", `casement_machines{zone="1"}`, "sum by (zone) (casement_machines)"} {
		if len(unanswered(bad, b.scrape(t.Context(), token))) != 1 {
			t.Errorf("%s is not found out", bad)
		}
	}
}

// unanswered returns the metrics and labels of a query that a scrape does not contain.
func unanswered(query string, families map[string]*dto.MetricFamily) []string {
	var out []string
	labels := map[string]bool{"le": true, "job": true} // le is a label of buckets, job is added by Prometheus
	var needed []string
	for _, s := range selector.FindAllStringSubmatch(query, -1) {
		family := families[s[1]]
		if family == nil {
			family = families[strings.TrimSuffix(s[1], "_bucket")]
		}
		if len(family.GetMetric()) == 0 {
			return []string{query + ": no " + s[1]}
		}
		for _, series := range family.GetMetric() {
			for _, l := range series.GetLabel() {
				labels[l.GetName()] = true
			}
		}
		for _, l := range matcher.FindAllStringSubmatch(s[2], -1) {
			needed = append(needed, l[1])
		}
	}
	for _, by := range grouped.FindAllStringSubmatch(query, -1) {
		for l := range strings.SplitSeq(by[1], ",") {
			needed = append(needed, strings.TrimSpace(l))
		}
	}
	slices.Sort(needed)
	for _, l := range slices.Compact(needed) {
		if !labels[l] {
			out = append(out, query+": no label "+l+" among "+strings.Join(slices.Sorted(maps.Keys(labels)), ", "))
		}
	}
	return out
}

// prometheus returns the token of a service account with the role that the installation provides for reading metrics.
func (b *bed) prometheus() string {
	b.t.Helper()
	b.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "casement-metrics-reader"},
		Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}})
	account := &corev1.ServiceAccount{ObjectMeta: b.meta("prometheus")}
	b.create(account)
	b.create(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "casement-metrics-reader"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: b.namespace, Name: "prometheus"}}})
	request := &authenticationv1.TokenRequest{}
	if err := b.client.SubResource("token").Create(b.t.Context(), account, request); err != nil {
		b.t.Fatal(err)
	}
	return request.Status.Token
}

// scrape reads the metrics, retrying until the manager answers.
func (b *bed) scrape(ctx context.Context, token string) map[string]*dto.MetricFamily {
	b.t.Helper()
	answer, err := b.ask(ctx, http.MethodGet, "https://"+b.metrics+"/metrics", token, nil)
	if err != nil {
		return nil
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(answer))
	if err != nil {
		b.t.Fatal(err)
	}
	return families
}

// lintSomething sends to the lint webhook a Windows pod with fields that Windows nodes refuse.
func (b *bed) lintSomething() {
	b.t.Helper()
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: b.meta("pod")}
	pod.Spec.OS = &corev1.PodOS{Name: corev1.Windows}
	pod.Spec.HostIPC = true
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "mcr.microsoft.com/windows/nanoserver:ltsc2019",
		SecurityContext: &corev1.SecurityContext{Privileged: new(true)}}}
	raw, err := json.Marshal(pod)
	if err != nil {
		b.t.Fatal(err)
	}
	review, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{UID: "1", Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
			Resource:  metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
			Namespace: b.namespace, Name: "pod", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	answer, err := b.ask(b.t.Context(), http.MethodPost, b.webhooks+workload.Path, "", review)
	if err != nil || !bytes.Contains(answer, []byte(`"response"`)) {
		b.t.Fatalf("the lint webhook: %v, %s", err, answer)
	}
}

// ask sends a request to a server of the manager, which has a self-signed certificate.
func (b *bed) ask(ctx context.Context, method, url, token string, body []byte) ([]byte, error) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
	}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(response.Body); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		b.t.Fatalf("%s %s: %s: %s", method, url, response.Status, out.Bytes())
	}
	return out.Bytes(), nil
}
