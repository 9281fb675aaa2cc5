package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	requests "k8s.io/component-helpers/resource"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// Reasons and messages are those of kubernetes pkg/kubelet/lifecycle/predicate.go,
// pkg/kubelet/sysctl and the scheduler's plugins. Importing these packages would link a kubelet and
// a scheduler.

// admit decides once whether a pod may run beside the pods that were admitted before it. waits
// means that the pod is critical and waits until other pods have made room.
func (m *podManager) admit(ctx context.Context, pod *corev1.Pod) (v verdict, waits bool) {
	v = m.judge(ctx, pod)
	if !strings.HasPrefix(v.reason, outOf) || !critical(pod) {
		return v, false
	}
	return m.preempt(pod, v)
}

func (m *podManager) judge(ctx context.Context, pod *corev1.Pod) verdict {
	if v := refuseSysctls(pod, m.k.c.OS, m.k.c.Version); v.reason != "" {
		return v
	}
	if want, ok := pod.Labels[corev1.LabelOSStable]; ok && want != m.k.c.OS {
		return verdict{"PodOSSelectorNodeLabelDoesNotMatch", "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"}
	}
	if o := pod.Spec.OS; o != nil && string(o.Name) != m.k.c.OS {
		return verdict{"PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"}
	}
	if s := pod.Spec.SecurityContext; s != nil && s.SupplementalGroupsPolicy != nil &&
		*s.SupplementalGroupsPolicy == corev1.SupplementalGroupsPolicyStrict && !m.k.c.newRuntime() {
		return verdict{"SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicy=Strict is not supported in this node"}
	}
	node := m.k.node.get()
	if node == nil {
		return m.keep(pod, m.checkSupport(pod))
	}
	v := m.fits(pod, node)
	if v.reason == affinityFailed {
		// The labels may have changed since this kubelet saw its Node.
		if fresh, err := m.k.api.Load().core.Nodes().Get(ctx, m.k.nodeName, metav1.GetOptions{}); err == nil {
			m.k.node.set(fresh)
			v = m.fits(pod, fresh)
		}
	}
	if v.reason == "" {
		v = m.checkSupport(pod)
	}
	return m.keep(pod, v)
}

// checkSupport returns the verdict for a pod that needs a feature that kubelets on this OS do not have.
func (m *podManager) checkSupport(pod *corev1.Pod) verdict {
	if m.k.c.OS == "windows" && requests.IsPodLevelResourcesSet(pod) {
		return verdict{"PodLevelResourcesNotSupported", noPodResources}
	}
	return verdict{}
}

// Messages of a kubelet on Windows about resources of a whole pod, and about changes of resources.
// Source: kubernetes pkg/kubelet/lifecycle/features_windows.go,
// pkg/kubelet/allocation/features_windows.go.
const (
	noPodResources = "pod-level resources are not supported on Windows"
	noResize       = "In-place pod resize is not supported on Windows"
)

const affinityFailed = "NodeAffinity"

// outOf begins the reason for a pod that requests more of a resource than is available.
const outOf = "OutOf"

// keep adds a pod to the pods that use the node, if the verdict admits it, and returns the verdict.
func (m *podManager) keep(pod *corev1.Pod, v verdict) verdict {
	if v.reason == "" {
		m.mu.Lock()
		m.admitted[pod.UID] = pod
		m.mu.Unlock()
	}
	return v
}

// dropAdmitted removes a pod that has ended from the pods that use the node.
func (m *podManager) dropAdmitted(uid types.UID) {
	m.mu.Lock()
	delete(m.admitted, uid)
	m.mu.Unlock()
}

// fits applies the scheduler's predicates that a kubelet repeats, in the kubelet's order.
func (m *podManager) fits(pod *corev1.Pod, node *corev1.Node) verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	short := m.shortages(pod, node.Status.Allocatable)
	if len(short) > 0 && !critical(pod) {
		return short[0].verdict()
	}
	failed := func(name, text string) verdict { return verdict{name, "Predicate " + name + " failed: " + text} }
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err == nil && !ok {
		return failed(affinityFailed, "node(s) didn't match Pod's node affinity/selector")
	}
	if m.portTaken(pod) {
		return failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
	}
	executes := func(t *corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }
	if _, bad := scheduling.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations, executes, false); bad {
		return failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")
	}
	if len(short) > 0 {
		return short[0].verdict()
	}
	return verdict{}
}

// shortage is a resource of which the node has too little for a pod.
type shortage struct {
	name                      corev1.ResourceName
	requested, used, capacity int64
}

func (s shortage) verdict() verdict {
	return verdict{outOf + string(s.name), fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d",
		s.name, s.requested, s.used, s.capacity)}
}

// shortages returns the resources of which the node has too little. The kubelet does not count
// extended resources that the node does not have.
func (m *podManager) shortages(pod *corev1.Pod, allocatable corev1.ResourceList) []shortage {
	var short []shortage
	used := corev1.ResourceList{}
	others := int64(0)
	for uid, other := range m.admitted {
		if uid == pod.UID {
			continue
		}
		others++
		for name, amount := range requests.PodRequests(other, requests.PodResourcesOptions{}) {
			total := used[name]
			total.Add(amount)
			used[name] = total
		}
	}
	if pods, ok := allocatable[corev1.ResourcePods]; ok && others+1 > pods.Value() {
		short = append(short, shortage{corev1.ResourcePods, 1, others, pods.Value()})
	}
	asked := requests.PodRequests(pod, requests.PodResourcesOptions{})
	counted := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		_, has := allocatable[name]
		if !slices.Contains(counted, name) && (has || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)) {
			counted = append(counted, name)
		}
	}
	for _, name := range counted {
		s := shortage{name, amount(asked, name), amount(used, name), amount(allocatable, name)}
		if s.requested > 0 && s.requested > s.capacity-s.used {
			short = append(short, s)
		}
	}
	return short
}

// amount returns a quantity as the scheduler counts it: in thousandths of cores, and in whole units
// of all other resources.
func amount(list corev1.ResourceList, name corev1.ResourceName) int64 {
	q := list[name]
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

// hostPort is a port of the machine that a pod requests.
type hostPort struct {
	port     int32
	protocol corev1.Protocol
	ip       string
}

func hostPorts(pod *corev1.Pod) []hostPort {
	var ports []hostPort
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			for _, p := range list[i].Ports {
				if p.HostPort > 0 && (len(pod.Spec.InitContainers) == 0 || &list[0] != &pod.Spec.InitContainers[0] || sidecar(&list[i])) {
					ports = append(ports, hostPort{p.HostPort, cmp.Or(p.Protocol, corev1.ProtocolTCP), p.HostIP})
				}
			}
		}
	}
	return ports
}

// portTaken reports whether another pod uses a port of the machine that this pod requests.
func (m *podManager) portTaken(pod *corev1.Pod) bool {
	anywhere := func(ip string) bool { return ip == "" || ip == "0.0.0.0" }
	for _, p := range hostPorts(pod) {
		for uid, other := range m.admitted {
			if uid == pod.UID {
				continue
			}
			for _, q := range hostPorts(other) {
				if p.port == q.port && p.protocol == q.protocol && (p.ip == q.ip || anywhere(p.ip) || anywhere(q.ip)) {
					return true
				}
			}
		}
	}
	return false
}

// safeSysctls maps the sysctls that a kubelet of Linux allows without a flag to the first minor
// version that does. Some of them need a minimal kernel version, which all node images have.
// Source: kubernetes pkg/kubelet/sysctl/safe_sysctls.go.
func safeSysctls() map[string]uint {
	return map[string]uint{
		"kernel.shm_rmid_forced": 4, "net.ipv4.ip_local_port_range": 4, "net.ipv4.tcp_syncookies": 4,
		"net.ipv4.ping_group_range": 21, "net.ipv4.ip_unprivileged_port_start": 22, "net.ipv4.ip_local_reserved_ports": 27,
		"net.ipv4.tcp_keepalive_time": 29, "net.ipv4.tcp_fin_timeout": 29, "net.ipv4.tcp_keepalive_intvl": 29,
		"net.ipv4.tcp_keepalive_probes": 29, "net.ipv4.tcp_rmem": 32, "net.ipv4.tcp_wmem": 32,
		"net.ipv4.tcp_slow_start_after_idle": 37, "net.ipv4.tcp_notsent_lowat": 37,
	}
}

// refuseSysctls refuses unsafe sysctls; on Windows no sysctl is safe.
func refuseSysctls(pod *corev1.Pod, os, version string) verdict {
	if pod.Spec.SecurityContext == nil {
		return verdict{}
	}
	for _, s := range pod.Spec.SecurityContext.Sysctls {
		name := strings.ReplaceAll(s.Name, "/", ".")
		space := "net"
		if strings.HasPrefix(name, "kernel.") {
			space = "ipc"
		}
		since, safe := safeSysctls()[name]
		switch {
		case !safe || minorOf(version) < since || os == "windows":
			return verdict{"SysctlForbidden", fmt.Sprintf("forbidden sysctl: %q not allowlisted", name)}
		case space == "net" && pod.Spec.HostNetwork, space == "ipc" && pod.Spec.HostIPC:
			return verdict{"SysctlForbidden", fmt.Sprintf("forbidden sysctl: %q not allowed with host %s enabled", name, space)}
		}
	}
	return verdict{}
}

// breaksNonRoot returns an error if runAsNonRoot forbids the user that a container would run as.
// The default user of an image is not known here. Source: kubernetes
// pkg/kubelet/kuberuntime/security_context_*.go, verifyRunAsNonRoot.
func breaksNonRoot(pod *corev1.Pod, c *corev1.Container, os string) error {
	nonRoot, user, name := false, (*int64)(nil), RunAsUserName(pod, c)
	if s := pod.Spec.SecurityContext; s != nil {
		nonRoot, user = s.RunAsNonRoot != nil && *s.RunAsNonRoot, s.RunAsUser
	}
	if s := c.SecurityContext; s != nil {
		if s.RunAsNonRoot != nil {
			nonRoot = *s.RunAsNonRoot
		}
		if s.RunAsUser != nil {
			user = s.RunAsUser
		}
	}
	where := fmt.Sprintf("(pod: %q, container: %s)", fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID), c.Name)
	switch {
	case !nonRoot:
	case os == "windows" && strings.EqualFold(name, "ContainerAdministrator"):
		return fmt.Errorf("container's runAsUserName (%s) which will be regarded as root identity and will break non-root policy %s",
			name, where)
	case os != "windows" && user != nil && *user == 0:
		return fmt.Errorf("container's runAsUser breaks non-root policy %s", where)
	}
	return nil
}
