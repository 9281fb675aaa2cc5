package kubelet

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"casement.dev/casement/internal/contain"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/sim/kubelet"
	"casement.dev/casement/internal/sim/pull"
	"casement.dev/casement/internal/sim/stub"
)

var costNodes = flag.Int("cost", 0, "simulate so many Windows nodes with a pod each, and say what they cost; 0 does not")

// costRest is the time that the nodes are idle, except for their leases and statuses.
const costRest = 30 * time.Second

// TestCost measures the cost of Windows nodes: the CPU seconds of this process, which runs nothing
// else, until each node has a running pod and while the nodes are idle, and the heap per node. `go
// test ./test/e2e/kubelet -run TestCost -cost 1000 -v` compares two commits.
func TestCost(t *testing.T) {
	if *costNodes == 0 {
		t.Skip("takes a minute of a core: -cost 1000")
	}
	plane, err := kubeproc.Start(t.Context(), kubeproc.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plane.Stop(context.Background()) })
	if err := plane.StartControllerManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	config := plane.Config()
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	for {
		if _, err := client.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{}); err == nil {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("no service account")
		}
		time.Sleep(100 * time.Millisecond)
	}
	heapBefore, before := heap(), cpuSeconds(t)
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	defer func() { stop(); work.Wait() }()
	network := &counter{pods: map[string]bool{}}
	for i := range *costNodes {
		startWindows(t, ctx, &work, plane, network, i, "127.0.0.1:0")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("app-%d", i), Namespace: "default"}, Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("win-%d", i), Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{Name: "app", Image: "example.com/app:1", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}}}
		if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for began := time.Now(); network.count() < *costNodes; time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 8*time.Minute {
			t.Fatalf("%d of %d pods run", network.count(), *costNodes)
		}
	}
	started := cpuSeconds(t)
	time.Sleep(costRest)
	rested := cpuSeconds(t)
	n := *costNodes
	t.Logf("%d nodes: %.2f CPU seconds until their pods run, %.2f in %s of rest; %.1f KiB of heap each", n, started-before, rested-started,
		costRest, float64(heap()-heapBefore)/1024/float64(n))
}

// heap returns the size of the live heap.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// cpuSeconds returns the processor time of this process.
func cpuSeconds(t *testing.T) float64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// counter is a network that counts the pods that answer.
type counter struct {
	mu   sync.Mutex
	pods map[string]bool
}

func (c *counter) AddPod(namespace, name string, _ netip.Addr, _ []int32, _ func(int32, net.Conn)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[namespace+"/"+name] = true
}

func (*counter) RemovePod(string, string, netip.Addr) {}

func (c *counter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pods)
}

// startWindows runs a simulated Windows node with its API at the given address until ctx ends.
func startWindows(t *testing.T, ctx context.Context, work *sync.WaitGroup, plane *kubeproc.Plane, network kubelet.Network, i int,
	at string) {
	t.Helper()
	ca, _ := plane.CA()
	files := tree(t, map[string]string{
		"/etc/kubernetes/pki/ca.crt":   string(ca),
		"/etc/kubernetes/kubelet.conf": string(plane.Kubeconfig()),
		"/var/lib/kubelet/config.yaml": "clusterDNS: [10.96.0.10]\nclusterDomain: cluster.local\n",
		"/etc/cni/net.d/10-net.conf":   `{"name":"net","cniVersion":"0.3.0","type":"win-bridge"}`,
	})
	images, err := pull.New(pull.Known, nil)
	if err != nil {
		t.Fatal(err)
	}
	var dialer net.Dialer
	k, err := kubelet.New(kubelet.Config{
		Files: files, OS: "windows", Hostname: fmt.Sprintf("win-%d", i), InternalIP: netip.MustParseAddrPort(at).Addr(),
		Release: kubelet.Release{OSImage: "Windows Server 2022 Datacenter", KernelVersion: "10.0.20348.2700", Build: "10.0.20348"},
		Listen:  func() (net.Listener, error) { return net.Listen("tcp", at) },
		Version: "v1.36.3", RuntimeVersion: "containerd://1.7.28", Cores: cores, MemoryMiB: memoryMiB, DiskGiB: diskGiB, Dial: dialer.DialContext,
		Programs: func(string) (stub.Program, bool) { return nil, false }, Processes: processes{}, Images: images, Network: network,
		PodIPs: &addresses{next: netip.MustParseAddr("127.3.0.1")}, Nodes: func() int { return *costNodes },
		Wall: &contain.Wall{}, Log: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	work.Go(func() {
		if err := k.Run(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("win-%d: %v", i, err)
		}
	})
}
