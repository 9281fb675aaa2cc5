package kubelet

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRefuseSandbox(t *testing.T) {
	long := corev1.PodSpec{SetHostnameAsFQDN: new(true), Hostname: strings.Repeat("a", 40), Subdomain: "site"}
	for name, test := range map[string]struct {
		os, runtime string
		spec        corev1.PodSpec
		want        string
	}{
		"users of its own, old runtime": {"linux", "containerd://1.7.28", corev1.PodSpec{HostUsers: new(false)}, "user namespaces"},
		"users of its own":              {"linux", "containerd://2.1.4", corev1.PodSpec{HostUsers: new(false)}, ""},
		"users of the host":             {"linux", "containerd://1.7.28", corev1.PodSpec{HostUsers: new(true)}, ""},
		// pkg/kubelet/userns/userns_manager_windows.go does not check it.
		"users of its own, Windows": {"windows", "containerd://1.7.28", corev1.PodSpec{HostUsers: new(false)}, ""},
		"a long name":               {"linux", "containerd://2.1.4", long, "64 characters is the max"},
		"a short name": {"linux", "containerd://2.1.4",
			corev1.PodSpec{SetHostnameAsFQDN: new(true), Hostname: "a", Subdomain: "b"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := &Kubelet{c: Config{OS: test.os, RuntimeVersion: test.runtime}}
			k.settings.ClusterDomain = "cluster.local"
			err := k.refuseSandbox(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}, Spec: test.spec})
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestDNSLimits(t *testing.T) {
	k := &Kubelet{c: Config{OS: "linux"}}
	k.settings.ClusterDomain, k.settings.ClusterDNS = "cluster.local", []string{"10.96.0.10"}
	searches := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("s%d.example", i))
		}
		return list
	}
	for name, test := range map[string]struct {
		config            corev1.PodDNSConfig
		servers, searches int
		cut               string
	}{
		"fits": {corev1.PodDNSConfig{Nameservers: []string{"10.1.2.3", "10.96.0.10"}, Searches: searches(2)}, 2, 5, ""},
		"four servers": {corev1.PodDNSConfig{Nameservers: []string{"10.1.2.3", "10.1.2.4", "10.1.2.5"}},
			3, 3, "line is: 10.96.0.10 10.1.2.3 10.1.2.4"},
		"many searches":   {corev1.PodDNSConfig{Searches: searches(30)}, 1, 32, "Search Line limits"},
		"one very long":   {corev1.PodDNSConfig{Searches: []string{strings.Repeat("a", 254)}}, 1, 3, "Search Line limits"},
		"a line too long": {corev1.PodDNSConfig{Searches: []string{strings.Repeat("a", 250), strings.Repeat("b", 250)}}, 1, 5, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, cut := k.dns(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}, Spec: corev1.PodSpec{DNSConfig: &test.config}})
			if len(got.Servers) != test.servers || len(got.Search) != test.searches || (cut == "") != (test.cut == "") ||
				!strings.Contains(cut, test.cut) {
				t.Errorf("%d servers, %d searches, %q; want %d, %d, %q", len(got.Servers), len(got.Search), cut,
					test.servers, test.searches, test.cut)
			}
		})
	}
}

func TestCheckPages(t *testing.T) {
	asks := func(names ...corev1.ResourceName) *corev1.Pod {
		list := corev1.ResourceList{}
		for _, name := range names {
			list[name] = resource.MustParse("2Mi")
		}
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list}}}}}
	}
	for name, test := range map[string]struct {
		medium corev1.StorageMedium
		pod    *corev1.Pod
		fails  bool
	}{
		"memory":        {corev1.StorageMediumMemory, asks(), false},
		"none asked":    {corev1.StorageMediumHugePages, asks(corev1.ResourceCPU), true},
		"asked":         {corev1.StorageMediumHugePages, asks("hugepages-2Mi"), false},
		"two sizes":     {corev1.StorageMediumHugePages, asks("hugepages-2Mi", "hugepages-1Gi"), true},
		"by size":       {corev1.StorageMediumHugePagesPrefix + "2Mi", asks("hugepages-2Mi", "hugepages-1Gi"), false},
		"of other size": {corev1.StorageMediumHugePagesPrefix + "1Gi", asks("hugepages-2Mi"), true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkPages(test.medium, test.pod); (err != nil) != test.fails {
				t.Errorf("%v, want failure %v", err, test.fails)
			}
		})
	}
}

// TestLogTail: the end of the last run's log is the message of a container that fails, if its spec
// requests that.
func TestLogTail(t *testing.T) {
	b := newBench(t)
	w := newWorker(b.kubelet(t), probedPod(func(*corev1.Container) {}))
	c := w.containers[0]
	write := func(text string) {
		f, err := w.k.c.Files.Appender(w.logFile(c), 0o600)()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n")
	write("panic: no\n")
	if got := w.logTail(c, int64(len("before\n"))); got != "panic: no\n" {
		t.Errorf("the end is %q", got)
	}
	write(strings.Repeat("line\n", 100))
	if got := strings.Count(w.logTail(c, 0), "\n"); got != messageLines {
		t.Errorf("it has %d lines", got)
	}
	write(strings.Repeat("x", 5000))
	if got := w.logTail(c, 0); len(got) != messageBytes {
		t.Errorf("it has %d bytes", len(got))
	}
}
