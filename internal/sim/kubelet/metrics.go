package kubelet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Names, labels and help are from kubernetes pkg/kubelet/metrics, pkg/kubelet/prober and cadvisor's
// metrics package. Metrics without a simulated value are omitted.

// probed identifies a probe of a container.
type probed struct {
	uid                        types.UID
	namespace, pod, name, kind string
}

// probeCounts counts the results of probes. The zero value is empty.
type probeCounts struct {
	mu   sync.Mutex
	made map[probed]map[string]int
}

func (p *probeCounts) count(what probed, a answer) {
	result := "successful"
	switch {
	case a.errored:
		result = "unknown"
	case a.failure != "":
		result = "failed"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		p.made = map[probed]map[string]int{}
	}
	if p.made[what] == nil {
		p.made[what] = map[string]int{}
	}
	p.made[what][result]++
}

// forget drops the counts of a pod.
func (p *probeCounts) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.made, func(what probed, _ map[string]int) bool { return what.uid == uid })
}

// exposition is a page of metrics.
type exposition struct{ bytes.Buffer }

func (e *exposition) family(name, kind, help string) {
	fmt.Fprintf(e, "# HELP %s %s (simulated)\n# TYPE %s %s\n", name, help, name, kind)
}

func (e *exposition) sample(name, labels string, value float64) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(e, "%s%s %g\n", name, labels, value)
}

func (e *exposition) send(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(e.Bytes())
}

func (k *Kubelet) sampleStart(e *exposition) {
	e.family("process_start_time_seconds", "gauge", "[ALPHA] Start time of the process since unix epoch in seconds.")
	e.sample("process_start_time_seconds", "", float64(k.began.Unix()))
}

// serveProbeMetrics answers /metrics/probes. A probe whose answer cannot change is counted only
// once.
func (k *Kubelet) serveProbeMetrics(w http.ResponseWriter, _ *http.Request) {
	k.asked.mu.Lock()
	defer k.asked.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(k.asked.made), func(a, b probed) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.pod, b.pod), cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind))
	})
	e := &exposition{}
	labels := func(p probed) string {
		return fmt.Sprintf("container=%q,namespace=%q,pod=%q", p.name, p.namespace, p.pod)
	}
	if len(keys) > 0 {
		e.family("prober_probe_duration_seconds", "histogram", "[ALPHA] Duration in seconds for a probe response.")
	}
	for _, p := range keys {
		total := 0
		for _, n := range k.asked.made[p] {
			total += n
		}
		at := labels(p) + fmt.Sprintf(",probe_type=%q", p.kind)
		for _, le := range []string{"0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf"} {
			e.sample("prober_probe_duration_seconds_bucket", at+fmt.Sprintf(",le=%q", le), float64(total))
		}
		e.sample("prober_probe_duration_seconds_sum", at, 0)
		e.sample("prober_probe_duration_seconds_count", at, float64(total))
	}
	if len(keys) > 0 {
		e.family("prober_probe_total", "counter", "[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.")
	}
	for _, p := range keys {
		for _, result := range slices.Sorted(maps.Keys(k.asked.made[p])) {
			e.sample("prober_probe_total", labels(p)+fmt.Sprintf(",pod_uid=%q,probe_type=%q,result=%q", p.uid, p.kind, result),
				float64(k.asked.made[p][result]))
		}
	}
	k.sampleStart(e)
	e.send(w)
}

// serveContainerMetrics answers /metrics/cadvisor. On Windows a kubelet reports there only the
// machine, and no containers.
func (k *Kubelet) serveContainerMetrics(w http.ResponseWriter, _ *http.Request) {
	e := &exposition{}
	list, now := k.usages(), k.c.Clock.Now()
	if k.c.OS == "windows" {
		list = nil
	}
	for _, f := range []struct {
		name, kind, help string
		value            func(usage) float64
	}{
		{"container_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed in seconds.",
			func(u usage) float64 { return u.seconds(now) }},
		{"container_last_seen", "gauge", "Last time a container was seen by the exporter", func(usage) float64 { return float64(now.Unix()) }},
		{"container_memory_rss", "gauge", "Size of RSS in bytes.", func(u usage) float64 { return float64(u.memory) }},
		{"container_memory_usage_bytes", "gauge", "Current memory usage in bytes, including all memory regardless of when it was accessed",
			func(u usage) float64 { return float64(u.memory) }},
		{"container_memory_working_set_bytes", "gauge", "Current working set in bytes.", func(u usage) float64 { return float64(u.memory) }},
		{"container_start_time_seconds", "gauge", "Start time of the container since unix epoch in seconds.",
			func(u usage) float64 { return float64(u.started.Unix()) }},
	} {
		for i, u := range list {
			if i == 0 {
				e.family(f.name, f.kind, f.help)
			}
			cpu := ""
			if f.name == "container_cpu_usage_seconds_total" {
				cpu = `,cpu="total"`
			}
			e.sample(f.name, fmt.Sprintf("container=%q%s,id=%q,image=%q,name=%q,namespace=%q,pod=%q", u.container, cpu,
				"/kubepods/pod"+string(u.pod.UID)+"/"+u.container, u.image, u.id, u.pod.Namespace, u.pod.Name), f.value(u))
		}
	}
	boot, id, uuid := k.machineIDs()
	machine := fmt.Sprintf("boot_id=%q,machine_id=%q,system_uuid=%q", boot, id, uuid)
	e.family("machine_cpu_cores", "gauge", "Number of logical CPU cores.")
	e.sample("machine_cpu_cores", machine, float64(k.c.Cores))
	e.family("machine_memory_bytes", "gauge", "Amount of memory installed on the machine.")
	e.sample("machine_memory_bytes", machine, float64(int64(k.c.MemoryMiB)<<20))
	e.send(w)
}

func (k *Kubelet) machineIDs() (boot, id, uuid string) {
	info := nodeInfo(k.facts())
	return info.BootID, info.MachineID, info.SystemUUID
}

// serveMetrics answers /metrics.
func (k *Kubelet) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	e := &exposition{}
	states, pods := map[string]int{}, 0
	for _, worker := range k.pods.all() {
		s := worker.shown.Load()
		if s == nil {
			continue
		}
		runs := false
		for _, c := range slices.Concat(s.status.InitContainerStatuses, s.status.ContainerStatuses, s.status.EphemeralContainerStatuses) {
			switch {
			case c.State.Running != nil:
				states["running"]++
				runs = true
			case c.State.Terminated != nil && c.ContainerID != "":
				states["exited"]++
			}
		}
		if runs {
			pods++
		}
	}
	e.family("kubelet_node_name", "gauge", "[ALPHA] The node's name. The count is always 1.")
	e.sample("kubelet_node_name", fmt.Sprintf("node=%q", k.nodeName), 1)
	e.family("kubelet_running_containers", "gauge", "[ALPHA] Number of containers currently running")
	for _, state := range slices.Sorted(maps.Keys(states)) {
		e.sample("kubelet_running_containers", fmt.Sprintf("container_state=%q", state), float64(states[state]))
	}
	e.family("kubelet_running_pods", "gauge", "[ALPHA] Number of pods that have a running pod sandbox")
	e.sample("kubelet_running_pods", "", float64(pods))
	k.sampleStart(e)
	e.send(w)
}

// serveConfig answers /configz: the configuration file, with the flags and defaults that have an
// effect here.
func (k *Kubelet) serveConfig(w http.ResponseWriter, _ *http.Request) {
	config := map[string]any{}
	if data, err := k.c.Files.ReadFile(configFile); err == nil {
		_ = yaml.Unmarshal(data, &config) // New has already parsed it
	}
	s := k.settings
	config["kind"], config["apiVersion"] = "KubeletConfiguration", "kubelet.config.k8s.io/v1beta1"
	config["clusterDomain"], config["maxPods"], config["nodeLeaseDurationSeconds"] = s.ClusterDomain, s.MaxPods, s.NodeLeaseDurationSeconds
	config["staticPodPath"] = s.StaticPodPath
	for name, amounts := range map[string]map[string]string{"evictionHard": s.EvictionHard, "systemReserved": s.SystemReserved,
		"kubeReserved": s.KubeReserved} {
		if len(amounts) > 0 {
			config[name] = amounts
		}
	}
	if len(s.ClusterDNS) > 0 {
		config["clusterDNS"] = s.ClusterDNS
	}
	if taints := s.RegisterWithTaints; len(taints) > 0 {
		config["registerWithTaints"] = []corev1.Taint(taints)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"kubeletconfig": config})
}
