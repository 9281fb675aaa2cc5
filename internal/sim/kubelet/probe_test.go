package kubelet

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"casement.dev/casement/internal/sim/stub"
)

func tcp(port int32) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}}}
}

func get(port intstr.IntOrString, scheme corev1.URIScheme) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Port: port, Path: "/healthz?all", Scheme: scheme},
	}}
}

func grpc(port int32) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: port}}}
}

func exec(command ...string) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}}}
}

// probedPod returns a pod with one container that declares port 80 as web.
func probedPod(change func(*corev1.Container)) *corev1.Pod {
	c := corev1.Container{Name: "app", Image: "example.com/app", Ports: []corev1.ContainerPort{
		{Name: "web", ContainerPort: 80}, {ContainerPort: 53, Protocol: corev1.ProtocolUDP}}}
	change(&c)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "app", UID: types.UID("u")},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{c}},
	}
}

// seen returns the events that a worker has written, as "reason: message".
func seen(w *worker) []string {
	var list []string
	for e := range w.events {
		list = append(list, e.reason+": "+e.message)
	}
	slices.Sort(list)
	return list
}

// settle runs a worker for a while and returns the status of its container.
func settle(t *testing.T, w *worker, d time.Duration) corev1.ContainerStatus {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	w.sandbox.ready = true
	w.run(ctx)
	return w.shown.Load().status.ContainerStatuses[0]
}

func TestProbes(t *testing.T) {
	const refused = "10.244.1.2:81: connect: connection refused"
	const unready = "Unhealthy: Readiness probe failed: "
	readiness := func(p *corev1.Probe) func(*corev1.Container) {
		return func(c *corev1.Container) { c.ReadinessProbe = p }
	}
	number, named := intstr.FromInt32(81), intstr.FromString
	for name, test := range map[string]struct {
		change   func(*corev1.Container)
		ready    bool
		restarts int32
		event    string // an expected event; if empty, there must be no event Unhealthy
	}{
		"none":               {func(*corev1.Container) {}, true, 0, ""},
		"declared port":      {readiness(tcp(80)), true, 0, ""},
		"declared by name":   {readiness(get(named("web"), "")), true, 0, ""},
		"gRPC of a declared": {readiness(grpc(80)), true, 0, ""},
		"exec is not run":    {readiness(exec("false")), true, 0, ""},
		"nothing listens":    {readiness(tcp(81)), false, 0, unready + "dial tcp " + refused},
		"UDP is no TCP":      {readiness(tcp(53)), false, 0, unready + "dial tcp 10.244.1.2:53: connect: connection refused"},
		"HTTP, nothing": {readiness(get(number, "")), false, 0,
			unready + `Get "http://10.244.1.2:81/healthz?all": dial tcp ` + refused},
		"HTTPS, nothing": {readiness(get(number, "HTTPS")), false, 0,
			unready + `Get "https://10.244.1.2:81/healthz?all": dial tcp ` + refused},
		"gRPC, nothing": {readiness(grpc(81)), false, 0,
			unready + `timeout: failed to connect service "10.244.1.2:81" within 1s: context deadline exceeded`},
		"no port of that name": {readiness(get(named("api"), "")), false, 0,
			`Unhealthy: Readiness probe errored and resulted in unknown state: port "api" not found`},
		"liveness": {func(c *corev1.Container) { c.LivenessProbe = tcp(81) }, false, 1,
			"Killing: Container app failed liveness probe, will be restarted"},
		"liveness of one that does not restart": {func(c *corev1.Container) {
			c.LivenessProbe, c.RestartPolicy = tcp(81), new(corev1.ContainerRestartPolicyNever)
		}, false, 0, "Killing: Stopping container app"},
		"startup": {func(c *corev1.Container) { c.StartupProbe, c.ReadinessProbe = tcp(81), tcp(80) }, false, 1,
			"Killing: Container app failed startup probe, will be restarted"},
		"startup passes": {func(c *corev1.Container) {
			c.StartupProbe, c.ReadinessProbe, c.LivenessProbe = tcp(80), tcp(80), tcp(80)
		},
			true, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			synctest.Test(t, func(t *testing.T) {
				w := b.serving(t, b.kubelet(t), probedPod(test.change))
				// With a period of ten seconds, the third failure is at 20 s; a restart is at 30 s.
				got := settle(t, w, 35*time.Second)
				if got.Ready != test.ready && test.restarts == 0 || got.RestartCount != test.restarts {
					t.Errorf("ready is %v, %d restarts; want %v, %d", got.Ready, got.RestartCount, test.ready, test.restarts)
				}
				events := seen(w)
				unhealthy := strings.Contains(strings.Join(events, "\n"), "Unhealthy")
				if test.event == "" && unhealthy || test.event != "" && !slices.Contains(events, test.event) {
					t.Errorf("the events are %q, want %q", events, test.event)
				}
				b.runtime.Close()
			})
		})
	}
}

func TestReadinessWaitsForItsDelay(t *testing.T) {
	b := newBench(t)
	synctest.Test(t, func(t *testing.T) {
		w := b.serving(t, b.kubelet(t), probedPod(func(c *corev1.Container) {
			c.ReadinessProbe = tcp(80)
			c.ReadinessProbe.InitialDelaySeconds = 30
		}))
		if settle(t, w, 29*time.Second).Ready {
			t.Error("it is ready before the probe is asked")
		}
		p, _ := b.runtime.take(w.uid)
		w.containers = p.containers
		if !settle(t, w, 2*time.Second).Ready {
			t.Error("it is not ready after the delay")
		}
		b.runtime.Close()
	})
}

// TestLivenessEndsTheRun: a restart by the liveness probe looks like a program that was ended by a
// signal.
func TestLivenessEndsTheRun(t *testing.T) {
	b := newBench(t)
	synctest.Test(t, func(t *testing.T) {
		w := b.serving(t, b.kubelet(t), probedPod(func(c *corev1.Container) { c.LivenessProbe = tcp(81) }))
		last := settle(t, w, 25*time.Second).LastTerminationState.Terminated
		if last == nil || last.Reason != "Error" || last.ExitCode != endedExitCode("windows") {
			t.Errorf("the last run ended so: %v", last)
		}
		b.runtime.Close()
	})
}

// TestPassedProbeIsNotAskedAgain: a probe whose answer cannot change by itself is not repeated on
// an idle node.
func TestPassedProbeIsNotAskedAgain(t *testing.T) {
	now := time.Now()
	p := newProber("Readiness", tcp(80), now, false)
	if again, failed := p.take(answer{steady: true}, now); again != 0 || failed || !p.ok {
		t.Errorf("again after %s, failed %v, ok %v", again, failed, p.ok)
	}
	if again, _ := p.take(answer{}, now); again != p.period() {
		t.Errorf("an answer from outside is asked for again after %s", again)
	}
	for i, want := range []bool{false, false, true} {
		if _, failed := p.take(answer{failure: "no"}, now); failed != want || p.ok == want {
			t.Errorf("failure %d: failed is %v, ok is %v", i+1, failed, p.ok)
		}
	}
}

func TestPodsCutOffFailTheirProbes(t *testing.T) {
	b := newBench(t)
	synctest.Test(t, func(t *testing.T) {
		k := b.kubelet(t)
		k.c.Health = func() Health { return Health{PodsCutOff: true} }
		w := b.serving(t, k, probedPod(func(c *corev1.Container) { c.ReadinessProbe = tcp(80) }))
		ready := settle(t, w, time.Second).Ready
		if ready || !slices.Contains(seen(w), "Unhealthy: Readiness probe failed: dial tcp 10.244.1.2:80: i/o timeout") {
			t.Errorf("the events are %q", seen(w))
		}
		b.runtime.Close()
	})
}

// opening is a stub whose program listens on a port that no manifest declares.
type opening struct{ stub.Program }

func (opening) Run(ctx context.Context, _ stub.Env) error { <-ctx.Done(); return nil }
func (opening) Ports() []int32                            { return []int32{81} }

func TestPortsOfStubs(t *testing.T) {
	b := newBench(t)
	synctest.Test(t, func(t *testing.T) {
		k := b.kubelet(t)
		k.c.Programs = func(string) (stub.Program, bool) { return opening{}, true }
		w := b.serving(t, k, probedPod(func(c *corev1.Container) { c.ReadinessProbe = tcp(81) }))
		if !settle(t, w, time.Second).Ready || !slices.Contains(w.sandbox.ports, 81) {
			t.Errorf("the events are %q, the ports %v", seen(w), w.sandbox.ports)
		}
		b.runtime.Close()
	})
}

// TestHostNetworkProbesReachSockets: on the machine's own network a probe reaches the ports that the
// machine's programs have opened.
func TestHostNetworkProbesReachSockets(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		probe  *corev1.Probe
		want   string // of the failure message
	}{
		"HTTP":        {http.StatusOK, get(intstr.FromInt32(10248), ""), ""},
		"HTTP failed": {http.StatusInternalServerError, get(intstr.FromInt32(10248), ""), "HTTP probe failed with statuscode: 500"},
		"TCP":         {http.StatusOK, tcp(10248), ""},
		"TCP closed":  {http.StatusOK, tcp(10249), "connection refused"},
		"declared":    {http.StatusOK, tcp(80), ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(test.status) }))
			defer server.Close()
			b := newBench(t)
			k := b.kubelet(t)
			k.c.OS = "linux"
			k.c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				if !strings.HasSuffix(address, ":10248") {
					return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
				}
				var d net.Dialer
				return d.DialContext(ctx, network, server.Listener.Addr().String())
			}
			pod := probedPod(func(*corev1.Container) {})
			pod.Spec.HostNetwork = true
			w := newWorker(k, pod)
			w.sandbox = sandbox{ready: true, ip: netip.MustParseAddr("10.0.0.4")}
			w.runContainers(t.Context(), pod)
			got := w.ask(t.Context(), pod, w.containers[0], test.probe).failure
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestUnprobedIsSaid(t *testing.T) {
	b := newBench(t)
	w := b.serving(t, b.kubelet(t), probedPod(func(c *corev1.Container) { c.LivenessProbe = exec("redis-cli", "ping") }))
	b.runtime.leave(w)
	b.runtime.Close()
	files, err := filepath.Glob(filepath.Join(b.root, podLogFolder, "*", "app", "0.log"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if want := `its liveness probe ["redis-cli" "ping"] is not run`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("the log is %q, want %q; %v", text, want, err)
	}
}
