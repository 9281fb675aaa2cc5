package stub

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"casement.dev/casement/internal/pki"
)

// metricsServer runs a stub of metrics-server: an extension API server for metrics.k8s.io that only
// the API server can connect to. It reads /metrics/resource of the kubelets at each request, with
// the rights of its service account.
func (c *Cluster) metricsServer(ctx context.Context, env Env) error {
	config, err := env.Config(ctx)
	if err != nil {
		return err
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return err
	}
	front, err := frontProxy(ctx, core)
	if err != nil {
		return err
	}
	pair, err := pki.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "metrics-server"}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, 365*24*time.Hour, nil)
	if err != nil {
		return err
	}
	var kubelets http.RoundTripper = &http.Transport{DialContext: env.Dial, IdleConnTimeout: scrapeAge, TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // like --kubelet-insecure-tls
	if config.WrapTransport != nil {
		kubelets = config.WrapTransport(kubelets)
	}
	m := &metricsAPI{core: core, kubelets: &http.Client{Transport: kubelets, Timeout: 10 * time.Second}, scraped: map[string]scrape{}}
	if env.Handle != nil {
		for _, p := range env.Container.Ports {
			env.Handle(p.ContainerPort, &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: front,
				ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}, m)
		}
	}
	<-ctx.Done()
	return nil
}

// frontProxy returns the CA of the certificate with which the API server connects to extension API
// servers. Source: kubernetes.io, "Configure the Aggregation Layer".
func frontProxy(ctx context.Context, core corev1client.CoreV1Interface) (*x509.CertPool, error) {
	const name = "extension-apiserver-authentication"
	m, err := core.ConfigMaps(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read who may connect from ConfigMap kube-system/%s: %w", name, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(m.Data["requestheader-client-ca-file"])) {
		return nil, fmt.Errorf("ConfigMap kube-system/%s has no requestheader-client-ca-file: the API server has no aggregation layer", name)
	}
	return pool, nil
}

const (
	// scrapeAge is the longest time for which the answer of a kubelet is reused; metrics-server's
	// default resolution is 15 s.
	scrapeAge = 15 * time.Second
	// scrapers is the number of kubelets that are scraped concurrently; maxScrape is the largest
	// size of an answer in bytes.
	scrapers  = 16
	maxScrape = 16 << 20
	metricsV1 = "metrics.k8s.io/v1beta1"
)

// metricsAPI serves metrics.k8s.io.
type metricsAPI struct {
	core     corev1client.CoreV1Interface
	kubelets *http.Client
	mu       sync.Mutex
	scraped  map[string]scrape // by node
}

// scrape contains the parsed answer of a kubelet.
type scrape struct {
	at   time.Time
	node corev1.ResourceList
	pods map[string][]containerUsage // by namespace/name
}

type containerUsage struct {
	Name  string              `json:"name"`
	Usage corev1.ResourceList `json:"usage"`
}

// usageObject is a NodeMetrics or a PodMetrics.
type usageObject struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta   `json:"metadata"`
	Timestamp       metav1.Time         `json:"timestamp"`
	Window          metav1.Duration     `json:"window"`
	Usage           corev1.ResourceList `json:"usage,omitempty"`
	Containers      []containerUsage    `json:"containers,omitempty"`
}

// ServeHTTP answers API discovery, and requests for metrics of nodes and pods.
func (m *metricsAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	version := metav1.GroupVersionForDiscovery{GroupVersion: metricsV1, Version: "v1beta1"}
	group := metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: "metrics.k8s.io",
		Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
	options := metav1.ListOptions{LabelSelector: r.URL.Query().Get("labelSelector"), FieldSelector: r.URL.Query().Get("fieldSelector")}
	switch under := strings.Join(at[min(3, len(at)):], "/"); {
	case r.URL.Path == "/livez", r.URL.Path == "/readyz", r.URL.Path == "/healthz":
		fmt.Fprint(w, "ok")
	case r.URL.Path == "/apis":
		reply(w, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{group}}, nil)
	case r.URL.Path == "/apis/metrics.k8s.io":
		reply(w, group, nil)
	case len(at) < 3 || strings.Join(at[1:3], "/") != metricsV1 || r.Method != http.MethodGet:
		http.NotFound(w, r)
	case under == "":
		verbs := metav1.Verbs{"get", "list"}
		reply(w, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: metricsV1,
			APIResources: []metav1.APIResource{{Name: "nodes", Kind: "NodeMetrics", Verbs: verbs},
				{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: verbs}}}, nil)
	case under == "nodes":
		list, err := m.nodes(r.Context(), options)
		reply(w, listOf("NodeMetricsList", list), err)
	case len(at) == 5 && at[3] == "nodes":
		list, err := m.nodes(r.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + at[4]})
		one(w, list, err, "nodes", at[4])
	case under == "pods":
		list, err := m.pods(r.Context(), "", options)
		reply(w, listOf("PodMetricsList", list), err)
	case len(at) == 6 && at[3] == "namespaces" && at[5] == "pods":
		list, err := m.pods(r.Context(), at[4], options)
		reply(w, listOf("PodMetricsList", list), err)
	case len(at) == 7 && at[3] == "namespaces" && at[5] == "pods":
		list, err := m.pods(r.Context(), at[4], metav1.ListOptions{FieldSelector: "metadata.name=" + at[6]})
		one(w, list, err, "pods", at[6])
	default:
		http.NotFound(w, r)
	}
}

func listOf(kind string, items []usageObject) any {
	return map[string]any{"kind": kind, "apiVersion": metricsV1, "metadata": map[string]any{}, "items": append([]usageObject{}, items...)}
}

// reply answers with an object, or with a Status for an error.
func reply(w http.ResponseWriter, object any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		status := apierrors.NewInternalError(err).Status()
		if e, ok := errors.AsType[*apierrors.StatusError](err); ok {
			status = e.Status()
		}
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		w.WriteHeader(int(cmp.Or(status.Code, http.StatusInternalServerError)))
		object = status
	}
	_ = json.NewEncoder(w).Encode(object)
}

// one answers with the only object of a list.
func one(w http.ResponseWriter, list []usageObject, err error, kind, name string) {
	if err == nil && len(list) == 0 {
		err = apierrors.NewNotFound(corev1.Resource(kind), name)
	}
	if err != nil {
		reply(w, nil, err)
		return
	}
	reply(w, list[0], nil)
}

func (m *metricsAPI) nodes(ctx context.Context, options metav1.ListOptions) ([]usageObject, error) {
	nodes, err := m.core.Nodes().List(ctx, options)
	if err != nil {
		return nil, err
	}
	var list []usageObject
	for name, s := range m.scrapes(ctx, nodes.Items) {
		i := slices.IndexFunc(nodes.Items, func(n corev1.Node) bool { return n.Name == name })
		list = append(list, usageOf("NodeMetrics", nodes.Items[i].ObjectMeta, s, s.node, nil))
	}
	return sorted(list), nil
}

func (m *metricsAPI) pods(ctx context.Context, namespace string, options metav1.ListOptions) ([]usageObject, error) {
	pods, err := m.core.Pods(namespace).List(ctx, options)
	if err != nil {
		return nil, err
	}
	nodes, err := m.core.Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	used := slices.DeleteFunc(nodes.Items, func(n corev1.Node) bool {
		return !slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Spec.NodeName == n.Name })
	})
	scrapes := m.scrapes(ctx, used)
	var list []usageObject
	for _, p := range pods.Items {
		s := scrapes[p.Spec.NodeName]
		if containers := s.pods[p.Namespace+"/"+p.Name]; containers != nil {
			list = append(list, usageOf("PodMetrics", p.ObjectMeta, s, nil, containers))
		}
	}
	return sorted(list), nil
}

func sorted(list []usageObject) []usageObject {
	slices.SortFunc(list, func(a, b usageObject) int {
		return cmp.Or(cmp.Compare(a.Metadata.Namespace, b.Metadata.Namespace), cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	return list
}

func usageOf(kind string, o metav1.ObjectMeta, s scrape, usage corev1.ResourceList, containers []containerUsage) usageObject {
	return usageObject{TypeMeta: metav1.TypeMeta{Kind: kind, APIVersion: metricsV1}, Timestamp: metav1.NewTime(s.at),
		Metadata: metav1.ObjectMeta{Name: o.Name, Namespace: o.Namespace, Labels: o.Labels, CreationTimestamp: metav1.NewTime(s.at)},
		Window:   metav1.Duration{Duration: scrapeAge}, Usage: usage, Containers: containers}
}

// scrapes returns the answers of the kubelets of nodes, without kubelets that do not answer.
func (m *metricsAPI) scrapes(ctx context.Context, nodes []corev1.Node) map[string]scrape {
	out, slots := map[string]scrape{}, make(chan struct{}, scrapers)
	var mu sync.Mutex
	var work sync.WaitGroup
	for _, n := range nodes {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			s, err := m.scrape(ctx, n)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out[n.Name] = s
		})
	}
	work.Wait()
	return out
}

// scrape returns a recent answer of a kubelet, or requests a new one.
func (m *metricsAPI) scrape(ctx context.Context, n corev1.Node) (scrape, error) {
	m.mu.Lock()
	known, ok := m.scraped[n.Name]
	m.mu.Unlock()
	if ok && time.Since(known.at) < scrapeAge {
		return known, nil
	}
	i := slices.IndexFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
	if i < 0 {
		return scrape{}, fmt.Errorf("node %s has no address", n.Name)
	}
	url := fmt.Sprintf("https://%s:%d/metrics/resource", n.Status.Addresses[i].Address, n.Status.DaemonEndpoints.KubeletEndpoint.Port)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return scrape{}, err
	}
	answer, err := m.kubelets.Do(r)
	if err != nil {
		return scrape{}, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return scrape{}, fmt.Errorf("the kubelet of node %s answers %s", n.Name, answer.Status)
	}
	s, err := readScrape(io.LimitReader(answer.Body, maxScrape), time.Now())
	if err != nil {
		return scrape{}, fmt.Errorf("the metrics of node %s: %w", n.Name, err)
	}
	m.mu.Lock()
	m.scraped[n.Name] = s
	m.mu.Unlock()
	return s, nil
}

// readScrape parses the answer of /metrics/resource. CPU usage is the average since the start of
// each container.
func readScrape(page io.Reader, now time.Time) (scrape, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(page)
	if err != nil {
		return scrape{}, err
	}
	s := scrape{at: now, pods: map[string][]containerUsage{}, node: corev1.ResourceList{}}
	values := func(name string) map[string]float64 {
		out := map[string]float64{}
		for _, metric := range families[name].GetMetric() {
			out[labelOf(metric, "namespace")+"/"+labelOf(metric, "pod")+"/"+labelOf(metric, "container")] =
				metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
		return out
	}
	seconds, starts := values("container_cpu_usage_seconds_total"), values("container_start_time_seconds")
	var all float64
	memory := values("container_memory_working_set_bytes")
	for _, key := range slices.Sorted(maps.Keys(memory)) {
		cores := seconds[key] / max(float64(now.Unix())-starts[key], 1)
		all += cores
		i := strings.LastIndexByte(key, '/')
		s.pods[key[:i]] = append(s.pods[key[:i]], containerUsage{key[i+1:], amounts(cores, memory[key])})
	}
	s.node = amounts(all, values("node_memory_working_set_bytes")["//"])
	return s, nil
}

func amounts(cores, memory float64) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: *resource.NewScaledQuantity(int64(cores*1e9), resource.Nano),
		corev1.ResourceMemory: *resource.NewQuantity(int64(memory)>>10<<10, resource.BinarySI)}
}

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
