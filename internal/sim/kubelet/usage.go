package kubelet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// Nothing runs here, so usage is simulated: the usage of a container is its requests, or a small
// amount if it has none.
const (
	idleCPU    = 1        // in thousandths of a core
	idleMemory = 16 << 20 // in bytes
)

// usage is the resource usage of a running container.
type usage struct {
	pod       *corev1.Pod
	container string
	id, image string
	started   time.Time
	cpu       int64 // in thousandths of a core
	memory    int64 // in bytes
}

// seconds returns the CPU time that was used until a moment.
func (u usage) seconds(now time.Time) float64 {
	return float64(u.cpu) / 1000 * max(now.Sub(u.started).Seconds(), 0)
}

// usages returns the usage of each running container, sorted by name.
func (k *Kubelet) usages() []usage {
	var list []usage
	for _, w := range k.pods.all() {
		s := w.shown.Load()
		if s == nil {
			continue
		}
		for _, c := range slices.Concat(s.status.InitContainerStatuses, s.status.ContainerStatuses, s.status.EphemeralContainerStatuses) {
			if c.State.Running == nil {
				continue
			}
			u := usage{pod: s.pod, container: c.Name, started: c.State.Running.StartedAt.Time, cpu: idleCPU, memory: idleMemory}
			_, u.id, _ = cutRuntime(c.ContainerID)
			u.image = c.Image
			if c.Resources != nil {
				u.cpu = cmp.Or(c.Resources.Requests.Cpu().MilliValue(), u.cpu)
				u.memory = cmp.Or(c.Resources.Requests.Memory().Value(), u.memory)
			}
			list = append(list, u)
		}
	}
	slices.SortFunc(list, func(a, b usage) int {
		return cmp.Or(cmp.Compare(a.pod.Namespace, b.pod.Namespace), cmp.Compare(a.pod.Name, b.pod.Name), cmp.Compare(a.container, b.container))
	})
	return list
}

// byPod groups usages by pod.
func byPod(list []usage) [][]usage {
	var pods [][]usage
	for i, u := range list {
		if i == 0 || list[i-1].pod.UID != u.pod.UID {
			pods = append(pods, nil)
		}
		pods[len(pods)-1] = append(pods[len(pods)-1], u)
	}
	return pods
}

func total(list []usage, now time.Time) (seconds float64, cpu, memory int64) {
	for _, u := range list {
		seconds, cpu, memory = seconds+u.seconds(now), cpu+u.cpu, memory+u.memory
	}
	return seconds, cpu, memory
}

// serveResourceMetrics answers /metrics/resource, which metrics-server reads. Names and help are from
// kubernetes pkg/kubelet/metrics/collectors/resource_metrics.go.
func (k *Kubelet) serveResourceMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	list, now := k.usages(), k.c.Clock.Now()
	seconds, _, memory := total(list, now)
	family := func(name, kind, help string) {
		fmt.Fprintf(w, "# HELP %s [STABLE] %s (simulated)\n# TYPE %s %s\n", name, help, name, kind)
	}
	sample := func(out io.Writer, name, labels string, value float64) {
		fmt.Fprintf(out, "%s%s %g %d\n", name, labels, value, now.UnixMilli())
	}
	of := func(u usage) string {
		return fmt.Sprintf("{container=%q,namespace=%q,pod=%q}", u.container, u.pod.Namespace, u.pod.Name)
	}
	family("container_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed by the container in core-seconds")
	for _, u := range list {
		sample(w, "container_cpu_usage_seconds_total", of(u), u.seconds(now))
	}
	family("container_memory_working_set_bytes", "gauge", "Current working set of the container in bytes")
	for _, u := range list {
		sample(w, "container_memory_working_set_bytes", of(u), float64(u.memory))
	}
	family("container_start_time_seconds", "gauge", "Start time of the container since unix epoch in seconds")
	for _, u := range list {
		fmt.Fprintf(w, "container_start_time_seconds%s %d\n", of(u), u.started.Unix())
	}
	family("node_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed by the node in core-seconds")
	sample(w, "node_cpu_usage_seconds_total", "", seconds)
	family("node_memory_working_set_bytes", "gauge", "Current working set of the node in bytes")
	sample(w, "node_memory_working_set_bytes", "", float64(memory))
	for _, name := range []string{"pod_cpu_usage_seconds_total", "pod_memory_working_set_bytes"} {
		if name == "pod_cpu_usage_seconds_total" {
			family(name, "counter", "Cumulative cpu time consumed by the pod in core-seconds")
		} else {
			family(name, "gauge", "Current working set of the pod in bytes")
		}
		for _, pod := range byPod(list) {
			seconds, _, memory := total(pod, now)
			value := float64(memory)
			if name == "pod_cpu_usage_seconds_total" {
				value = seconds
			}
			sample(w, name, fmt.Sprintf("{namespace=%q,pod=%q}", pod[0].pod.Namespace, pod[0].pod.Name), value)
		}
	}
	if k.c.OS != "windows" { // a kubelet reports no swap on Windows, and nothing here swaps
		family("node_swap_usage_bytes", "gauge", "Current swap usage of the node in bytes. Reported only on non-windows systems")
		sample(w, "node_swap_usage_bytes", "", 0)
		for _, name := range []string{"container_swap_usage_bytes", "container_swap_limit_bytes"} {
			family(name, "gauge", "Current amount of the container's swap in bytes. Reported only on non-windows systems")
			for _, u := range list {
				sample(w, name, of(u), 0)
			}
		}
		family("pod_swap_usage_bytes", "gauge", "Current amount of the pod swap usage in bytes. Reported only on non-windows systems")
		for _, pod := range byPod(list) {
			sample(w, "pod_swap_usage_bytes", fmt.Sprintf("{namespace=%q,pod=%q}", pod[0].pod.Namespace, pod[0].pod.Name), 0)
		}
	}
	family("scrape_error", "gauge", "1 if there was an error while getting container metrics, 0 otherwise")
	fmt.Fprintln(w, "scrape_error 0")
	family("resource_scrape_error", "gauge", "1 if there was an error while getting container metrics, 0 otherwise")
	fmt.Fprintln(w, "resource_scrape_error 0")
}

// serveSummary answers /stats/summary. Fields without a simulated value are omitted.
func (k *Kubelet) serveSummary(w http.ResponseWriter, _ *http.Request) {
	list, now := k.usages(), k.c.Clock.Now()
	at := metav1.NewTime(now)
	cpu := func(list []usage) *stats.CPUStats {
		seconds, milli, _ := total(list, now)
		return &stats.CPUStats{Time: at, UsageNanoCores: new(uint64(milli) * 1e6), UsageCoreNanoSeconds: new(uint64(seconds * 1e9))}
	}
	memory := func(list []usage, limit int64) *stats.MemoryStats {
		_, _, bytes := total(list, now)
		m := &stats.MemoryStats{Time: at, UsageBytes: new(uint64(bytes)), WorkingSetBytes: new(uint64(bytes)), RSSBytes: new(uint64(bytes))}
		if limit > 0 {
			m.AvailableBytes = new(uint64(max(limit-bytes, 0)))
		}
		return m
	}
	disk := func() *stats.FsStats {
		size := uint64(k.c.DiskGiB) << 30
		used := uint64(0) // no container writes files
		if k.c.Health().DiskFull {
			used = size
		}
		return &stats.FsStats{Time: at, CapacityBytes: &size, UsedBytes: &used, AvailableBytes: new(size - used)}
	}
	swap := func() *stats.SwapStats {
		if k.c.OS == "windows" {
			return nil
		}
		return &stats.SwapStats{Time: at, SwapUsageBytes: new(uint64(0)), SwapAvailableBytes: new(uint64(0))}
	}
	summary := stats.Summary{Node: stats.NodeStats{NodeName: k.nodeName, StartTime: at, CPU: cpu(list),
		Memory: memory(list, int64(k.c.MemoryMiB)<<20), Swap: swap(), Fs: disk(),
		Runtime: &stats.RuntimeStats{ImageFs: disk(), ContainerFs: disk()}}, Pods: []stats.PodStats{}}
	for _, pod := range byPod(list) {
		p := stats.PodStats{PodRef: stats.PodReference{Name: pod[0].pod.Name, Namespace: pod[0].pod.Namespace, UID: string(pod[0].pod.UID)},
			StartTime: metav1.NewTime(pod[0].started), CPU: cpu(pod), Memory: memory(pod, 0), Swap: swap(), EphemeralStorage: disk()}
		for _, u := range pod {
			one := []usage{u}
			p.Containers = append(p.Containers, stats.ContainerStats{Name: u.container, StartTime: metav1.NewTime(u.started),
				CPU: cpu(one), Memory: memory(one, 0), Swap: swap()})
		}
		summary.Pods = append(summary.Pods, p)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(summary)
}

// serveRunningPods answers /runningpods/: the pods of the runtime, only with names and images.
func (k *Kubelet) serveRunningPods(w http.ResponseWriter, _ *http.Request) {
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{}}
	for _, pod := range byPod(k.usages()) {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod[0].pod.Name, Namespace: pod[0].pod.Namespace, UID: pod[0].pod.UID}}
		for _, u := range pod {
			for _, c := range slices.Concat(u.pod.Spec.InitContainers, u.pod.Spec.Containers) {
				if c.Name == u.container {
					p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: c.Name, Image: c.Image})
				}
			}
		}
		list.Items = append(list.Items, p)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list)
}
