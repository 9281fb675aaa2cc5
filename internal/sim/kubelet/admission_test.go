package kubelet

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAdmission: a pod that the real kubelet refuses is refused with its reason.
func TestAdmission(t *testing.T) {
	cpu := func(amount string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
		}
	}
	sysctl := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: name, Value: "1"}}}
		}
	}
	port := func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	}
	taints := []corev1.Taint{{Key: "drain", Effect: corev1.TaintEffectNoExecute}}
	for name, test := range map[string]struct {
		first, pod func(*corev1.Pod)
		taints     []corev1.Taint
		want       string
	}{
		"plain":            {nil, func(*corev1.Pod) {}, nil, ""},
		"cpu":              {nil, cpu("900"), nil, "OutOfcpu"},
		"cpu of two":       {cpu("3"), cpu("2"), nil, "OutOfcpu"},
		"cpu fits":         {cpu("2"), cpu("2"), nil, ""},
		"selector":         {nil, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }, nil, "NodeAffinity"},
		"sysctl":           {nil, sysctl("kernel.msgmax"), nil, "SysctlForbidden"},
		"safe, on Windows": {nil, sysctl("net.ipv4.tcp_syncookies"), nil, "SysctlForbidden"},
		"host port":        {port, port, nil, "NodePorts"},
		"taint":            {nil, func(*corev1.Pod) {}, taints, "TaintToleration"},
		"tolerated": {nil, func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}, taints, ""},
		"os": {nil, func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: "linux"} }, nil, "PodOSNotSupported"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newBench(t).kubelet(t)
			k.node.set(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "win-1"}, Spec: corev1.NodeSpec{Taints: test.taints},
				Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("110")}}})
			if test.first != nil {
				other := probedPod(func(*corev1.Container) {})
				other.UID = "first"
				test.first(other)
				if v := k.pods.judge(t.Context(), other); v.reason != "" {
					t.Fatalf("the first pod is refused: %v", v)
				}
			}
			pod := probedPod(func(*corev1.Container) {})
			test.pod(pod)
			if v := k.pods.judge(t.Context(), pod); v.reason != test.want {
				t.Errorf("got %v, want %q", v, test.want)
			}
		})
	}
}

// TestReservations: resources that flags reserve are not allocatable, and flags override the file.
func TestReservations(t *testing.T) {
	flags, err := parseFlags([]string{"--system-reserved=memory=2Gi,cpu=500m", "--kube-reserved=memory=1Gi",
		"--eviction-hard=memory.available<1Gi"}, "v1.36.3", "windows")
	if err != nil {
		t.Fatal(err)
	}
	s := settings{SystemReserved: flags.SystemReserved, KubeReserved: flags.KubeReserved, EvictionHard: flags.EvictionHard}
	f := nodeFacts{config: &Config{OS: "windows", Cores: 2, MemoryMiB: 8192, DiskGiB: 30}, settings: &s, flags: &flags}
	got := allocatable(f, capacity(f))
	if got.Memory().String() != "4Gi" || got.Cpu().String() != "1500m" {
		t.Errorf("allocatable: memory %s, cpu %s", got.Memory(), got.Cpu())
	}
	if _, err := parseFlags([]string{"--eviction-hard=memory.available=1Gi"}, "v1.36.3", "windows"); err == nil {
		t.Error("a threshold without < is taken")
	}
}

// TestHostProcessGate: a kubelet of 1.22 creates no sandbox for HostProcess pods unless a flag or
// the configuration file enables the feature gate.
func TestHostProcessGate(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		args    []string
		file    map[string]bool
		off     bool
	}{
		"1.22":           {"v1.22.4", nil, nil, true},
		"1.22, flag":     {"v1.22.4", []string{"--feature-gates=A=true,WindowsHostProcessContainers=true"}, nil, false},
		"1.22, flag off": {"v1.22.4", []string{"--feature-gates=WindowsHostProcessContainers=false"}, nil, true},
		"1.22, file":     {"v1.22.4", nil, map[string]bool{"WindowsHostProcessContainers": true}, false},
		"1.23":           {"v1.23.0", nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			flags, err := parseFlags(c.args, c.version, "windows")
			if err != nil {
				t.Fatal(err)
			}
			k := &Kubelet{c: Config{OS: "windows", Version: c.version}, settings: settings{FeatureGates: c.file}}
			if flags.Gates != nil {
				k.settings.FeatureGates = flags.Gates
			}
			pod := &corev1.Pod{Spec: corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{
				WindowsOptions: &corev1.WindowsSecurityContextOptions{HostProcess: new(true)}}}}
			if err := k.hostProcessOff(pod); (err != nil) != c.off {
				t.Errorf("got %v", err)
			}
			if err := k.hostProcessOff(&corev1.Pod{}); err != nil {
				t.Errorf("a pod without HostProcess: %v", err)
			}
		})
	}
}
