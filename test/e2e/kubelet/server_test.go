package kubelet

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"
)

// server is the HTTP API of a kubelet.
type server struct {
	url    string
	client *http.Client
}

// ask returns the status code and the body of a response.
func (s server) ask(t *testing.T, path string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return 0, ""
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return answer.StatusCode, string(data)
}

// differ reports the members that only one of two sets contains, except those in may.
func differ(t *testing.T, what string, want, got, may map[string]bool) {
	t.Helper()
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !got[name] && !allowed(may, name) {
			lines = append(lines, "  - "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if !want[name] && !allowed(may, name) {
			lines = append(lines, "  + "+name)
		}
	}
	if len(lines) > 0 {
		t.Errorf("%s differ:\n%s", what, strings.Join(lines, "\n"))
	}
}

// allowed reports whether a name, or a field that contains it, may differ.
func allowed(may map[string]bool, name string) bool {
	for at := range may {
		if name == at || strings.HasPrefix(name, at+".") {
			return true
		}
	}
	return false
}

func fields(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, name := range names {
		out[name] = true
	}
	return out
}

var index = regexp.MustCompile(`\[\d+\]`)

// fieldsOf returns the paths of the fields of a JSON value.
func fieldsOf(t *testing.T, v any) map[string]bool {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	for _, line := range flatten("", out) {
		path, _, _ := strings.Cut(line, ": ")
		fields[index.ReplaceAllString(path, "[]")] = true
	}
	return fields
}

// compareNodes compares the fields of both Nodes, of their leases, and of the statuses of all pods.
func compareNodes(t *testing.T, client kubernetes.Interface) {
	nodes, leases, pods := map[string]map[string]bool{}, map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, name := range []string{actual, simulated} {
		node, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		node.ManagedFields = nil
		nodes[name] = fieldsOf(t, node)
		for _, c := range node.Status.Conditions {
			nodes[name][fmt.Sprintf("condition %s %s %s: %s", c.Type, c.Status, c.Reason, c.Message)] = true
		}
		lease, err := client.CoordinationV1().Leases("kube-node-lease").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		lease.ManagedFields = nil
		leases[name] = fieldsOf(t, lease)
		leases[name][fmt.Sprint("held by its node: ", *lease.Spec.HolderIdentity == name, ", for seconds: ",
			*lease.Spec.LeaseDurationSeconds)] = true
		list, err := client.CoreV1().Pods(name).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pods[name] = map[string]bool{}
		for i := range list.Items {
			maps.Copy(pods[name], fieldsOf(t, list.Items[i].Status))
		}
	}
	differ(t, "fields of Nodes", nodes[actual], nodes[simulated], nodeDepartures())
	differ(t, "fields of leases", leases[actual], leases[simulated], nil)
	differ(t, "fields of pods' statuses", pods[actual], pods[simulated], map[string]bool{
		strings.TrimPrefix(gpuLimit, ".items[].status"): true, strings.TrimPrefix(gpuRequest, ".items[].status"): true})
}

// nodeDepartures returns the fields of Nodes that may differ.
func nodeDepartures() map[string]bool {
	return map[string]bool{
		// Fields of kubemark and its fakes.
		".spec.providerID": true, ".metadata.annotations.volumes.kubernetes.io/controller-managed-attach-detach": true,
		".status.allocatable.hugepages-1Gi": true, ".status.allocatable.hugepages-2Mi": true, ".status.capacity.hugepages-1Gi": true,
		".status.capacity.hugepages-2Mi": true,
		// The controller manager, which is missing here, would write it.
		".metadata.annotations.node.alpha.kubernetes.io/ttl": true,
		// A node does not declare features that it does not have.
		".status.declaredFeatures[]": true,
	}
}

var (
	series = regexp.MustCompile(`(?m)^([a-zA-Z_:]+)(\{[^}]*\})? `)
	label  = regexp.MustCompile(`(\w+)="`)
)

// seriesOf returns the names of metrics together with the names of their labels.
func seriesOf(text string) map[string]bool {
	names := map[string]bool{}
	for _, m := range series.FindAllStringSubmatch(text, -1) {
		var labels []string
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			labels = append(labels, l[1])
		}
		slices.Sort(labels)
		names[m[1]+fmt.Sprint(labels)] = true
	}
	return names
}

// compareServers compares the answers of both kubelets.
func compareServers(t *testing.T, servers map[string]server) {
	for _, path := range []string{"/healthz", "/", "/nowhere", "/metrics/nowhere", "/stats/nowhere", "/stats",
		"/containerLogs/NODE/absent/app", "/containerLogs/NODE/plain/absent", "/containerLogs/NODE/plain", "/logs/nowhere",
		"/exec/NODE/absent/app?command=true&output=1", "/attach/NODE/absent/app?output=1", "/portForward/NODE/absent",
		"/run/NODE/absent/app", "/checkpoint/NODE/absent/app"} {
		var answers []string
		for _, node := range []string{actual, simulated} {
			status, body := servers[node].ask(t, strings.ReplaceAll(path, "NODE", node))
			answers = append(answers, strings.ReplaceAll(fmt.Sprintf("%d %q", status, body), node, "NODE"))
		}
		if answers[0] != answers[1] {
			t.Errorf("%s:\n  - %s\n  + %s", path, answers[0], answers[1])
		}
	}
	for _, path := range []string{"/metrics/resource", "/metrics/probes", "/metrics/cadvisor", "/metrics"} {
		_, want := servers[actual].ask(t, path)
		_, got := servers[simulated].ask(t, path)
		may := map[string]bool{}
		if path == "/metrics" || path == "/metrics/cadvisor" {
			may = seriesOf(want) // it may return a part of the metrics, and no others
		}
		for name := range seriesOf(got) {
			if path == "/metrics/cadvisor" && strings.HasPrefix(name, "container_") {
				may[name] = true // the fake cadvisor knows no container
			}
		}
		differ(t, "series of "+path, seriesOf(want), seriesOf(got), may)
	}
	for _, path := range []string{"/stats/summary", "/pods", "/runningpods/"} {
		found := map[string]map[string]bool{}
		for _, node := range []string{actual, simulated} {
			_, body := servers[node].ask(t, path)
			var v any
			if err := json.Unmarshal([]byte(body), &v); err != nil {
				t.Errorf("%s of the %s node: %v", path, node, err)
			}
			found[node] = fieldsOf(t, v)
		}
		differ(t, "fields of "+path, found[actual], found[simulated], answerDepartures(path))
	}
	_, body := servers[simulated].ask(t, "/configz") // kubemark does not serve it
	var config struct {
		Kubelet kubeletconfigv1beta1.KubeletConfiguration `json:"kubeletconfig"`
	}
	if err := yaml.UnmarshalStrict([]byte(body), &config); err != nil {
		t.Errorf("/configz: %v", err)
	}
}

// answerDepartures returns the fields of a response that may differ.
func answerDepartures(path string) map[string]bool {
	return map[string]map[string]bool{
		"/pods": {".items[].metadata.managedFields[].apiVersion": true, ".items[].metadata.managedFields[].fieldsType": true,
			".items[].metadata.managedFields[].manager": true, ".items[].metadata.managedFields[].operation": true,
			".items[].metadata.managedFields[].time": true, gpuLimit: true, gpuRequest: true},
		// Facts of the kernel, which is not simulated: pressure, faults, inodes, processes and the
		// contents of volumes.
		"/stats/summary": fields(".node.cpu.psi", ".node.memory.psi", ".node.memory.majorPageFaults", ".node.memory.pageFaults",
			".node.rlimit", ".node.runtime.containerFs.inodesUsed", ".node.runtime.imageFs.inodesUsed", ".pods[].containers[].io",
			".pods[].containers[].rootfs", ".pods[].ephemeral-storage.inodesUsed", ".pods[].io", ".pods[].memory.availableBytes",
			".pods[].memory.majorPageFaults", ".pods[].memory.pageFaults", ".pods[].volume[]"),
		"/runningpods/": {".items[].spec.containers": true},
	}[path]
}

// The fake container manager, which has no devices, does not count them.
const (
	gpuLimit   = ".items[].status.resources.limits.example.com/gpu"
	gpuRequest = ".items[].status.resources.requests.example.com/gpu"
)
