package kubelet

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
)

// nodeFacts contains all data from which a Node is built.
type nodeFacts struct {
	name     string
	config   *Config
	flags    *Flags
	settings *settings
	// networkProblem is "" if the container network is ready.
	networkProblem string
	health         Health
	images         []corev1.ContainerImage
	now            time.Time
}

const (
	cloudTaint        = "node.cloudprovider.kubernetes.io/uninitialized"
	providedIP        = "alpha.kubernetes.io/provided-node-ip"
	attachDetach      = "volumes.kubernetes.io/controller-managed-attach-detach"
	windowsBuildLabel = "node.kubernetes.io/windows-build"
	// networkNotReady is the message of a kubelet whose containerd has no CNI configuration.
	networkNotReady = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady " +
		"message:Network plugin returns error: cni plugin not initialized"
	// runtimeDown is the message of a kubelet whose container runtime does not answer.
	runtimeDown = "[container runtime is down, PLEG is not healthy: pleg has yet to be successful]"
)

// ttlOf returns the number of seconds for which a kubelet may cache a Secret or ConfigMap in a
// cluster with a number of nodes. The controller manager writes the number to each Node after its
// creation. A Node that is created with it saves this write, and the events of the write for all
// watchers of Nodes. Source: k8s.io/kubernetes/pkg/controller/ttl, ttlBoundaries.
func ttlOf(nodes int) int {
	switch {
	case nodes <= 100:
		return 0
	case nodes <= 500:
		return 15
	case nodes <= 1000:
		return 30
	case nodes <= 2000:
		return 60
	}
	return 300
}

// newNode returns the Node as the kubelet creates it in a cluster with a number of nodes. Taints
// are set only here: a kubelet that restarts with other taints does not add them.
func newNode(f nodeFacts, nodes int) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:        f.name,
		Labels:      nodeLabels(f),
		Annotations: map[string]string{attachDetach: "true", corev1.ObjectTTLAnnotationKey: strconv.Itoa(ttlOf(nodes))},
	}}
	n.Spec.Taints = slices.Clone(f.settings.RegisterWithTaints)
	if f.flags.CloudProvider == "external" {
		// Templates of CAPZ v1.26 set the taint with register-with-taints too, and with the images
		// in use such a Node has the taint only once
		// (kubernetes-sigs/cluster-api-provider-azure#6293).
		if !registersCloudTaint(f.settings) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: cloudTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule})
		}
		if f.flags.NodeIP.IsValid() {
			n.Annotations[providedIP] = f.flags.NodeIP.String()
		}
	}
	n.Spec.ProviderID = f.settings.ProviderID
	if inTree(f) {
		n.Spec.ProviderID = f.config.Cloud.ProviderID
	}
	n.Status = nodeStatus(f, corev1.NodeStatus{})
	return n
}

// registersCloudTaint reports whether the settings already contain the taint for an external cloud
// provider.
func registersCloudTaint(s *settings) bool {
	return slices.ContainsFunc(s.RegisterWithTaints, func(t corev1.Taint) bool {
		return t.Key == cloudTaint && t.Effect == corev1.TaintEffectNoSchedule
	})
}

// inTree reports whether the kubelet uses its own Azure provider.
func inTree(f nodeFacts) bool { return f.flags.CloudProvider == "azure" }

// defaultLabels returns the labels that a kubelet writes again when it restarts.
func defaultLabels(f nodeFacts) map[string]string {
	l := map[string]string{
		corev1.LabelHostname: strings.ToLower(f.config.Hostname),
		corev1.LabelOSStable: f.config.OS, corev1.LabelArchStable: "amd64",
		"beta.kubernetes.io/os": f.config.OS, "beta.kubernetes.io/arch": "amd64",
	}
	if f.flags.HostnameOverride != "" {
		l[corev1.LabelHostname] = f.name
	}
	if f.config.OS == "windows" && f.config.Release.Build != "" {
		l[windowsBuildLabel] = f.config.Release.Build
	}
	if c := f.config.Cloud; inTree(f) {
		for key, value := range map[string]string{
			corev1.LabelInstanceTypeStable: c.InstanceType, corev1.LabelInstanceType: c.InstanceType,
			corev1.LabelTopologyRegion: c.Region, corev1.LabelFailureDomainBetaRegion: c.Region,
			corev1.LabelTopologyZone: c.Zone, corev1.LabelFailureDomainBetaZone: c.Zone,
		} {
			if value != "" {
				l[key] = value
			}
		}
	}
	return l
}

func nodeLabels(f nodeFacts) map[string]string {
	l := defaultLabels(f)
	maps.Copy(l, f.flags.Labels)
	return l
}

// nodeStatus returns the new status of the node; it keeps fields that other clients write (a cloud
// provider's addresses, images, attached volumes).
func nodeStatus(f nodeFacts, old corev1.NodeStatus) corev1.NodeStatus {
	s := *old.DeepCopy()
	s.Capacity = capacity(f)
	s.Allocatable = allocatable(f, s.Capacity)
	s.NodeInfo = nodeInfo(f)
	s.DaemonEndpoints.KubeletEndpoint.Port = 10250
	s.Addresses = addresses(f, old.Addresses)
	s.Conditions = conditions(f, old.Conditions)
	if f.images != nil {
		s.Images = f.images
	}
	if s.RuntimeHandlers == nil && minorOf(f.config.Version) >= 30 && strings.HasPrefix(f.config.RuntimeVersion, "containerd") {
		s.RuntimeHandlers = []corev1.NodeRuntimeHandler{{Name: ""}}
		if f.config.newRuntime() {
			features := &corev1.NodeRuntimeHandlerFeatures{RecursiveReadOnlyMounts: new(true), UserNamespaces: new(true)}
			s.RuntimeHandlers = []corev1.NodeRuntimeHandler{{Name: "", Features: features}, {Name: "runc", Features: features}}
			s.Features = &corev1.NodeFeatures{SupplementalGroupsPolicy: new(true)}
		}
	}
	return s
}

// newRuntime reports whether the runtime, on Linux, has these features of containerd 2.0: strict
// supplemental groups, user namespaces and recursive read-only mounts. Source:
// https://github.com/containerd/containerd/blob/main/docs/containerd-2.0.md.
func (c *Config) newRuntime() bool {
	return c.OS == "linux" && c.containerdSince("2.0")
}

// containerdSince reports whether the runtime is containerd of at least a version.
func (c *Config) containerdSince(least string) bool {
	name, text, _ := cutRuntime(c.RuntimeVersion)
	v, err := version.ParseGeneric(text)
	return name == "containerd" && err == nil && v.AtLeast(version.MustParseGeneric(least))
}

func nodeInfo(f nodeFacts) corev1.NodeSystemInfo {
	c := f.config
	info := corev1.NodeSystemInfo{
		MachineID:               c.Hostname,
		SystemUUID:              strings.ToUpper(uuidOf(c.Cloud.ProviderID + c.Hostname)),
		BootID:                  c.BootID,
		KernelVersion:           c.Release.KernelVersion,
		OSImage:                 c.Release.OSImage,
		ContainerRuntimeVersion: c.RuntimeVersion,
		KubeletVersion:          c.Version,
		OperatingSystem:         c.OS,
		Architecture:            "amd64",
	}
	if minorOf(c.Version) >= 37 {
		info.RunningInUserNamespace = new(false)
	}
	if c.OS != "windows" {
		info.MachineID = strings.ReplaceAll(uuidOf(c.Hostname+c.Cloud.ProviderID), "-", "")
		info.SystemUUID = strings.ToLower(info.SystemUUID)
	}
	if minor := minorOf(c.Version); minor > 0 && minor < 33 {
		info.KubeProxyVersion = c.Version
	}
	return info
}

// addresses returns the addresses of the node. As with a real kubelet, with an external provider
// and no node IP only the host name is known until the provider sets the rest.
func addresses(f nodeFacts, old []corev1.NodeAddress) []corev1.NodeAddress {
	hostname := strings.ToLower(f.config.Hostname)
	if f.flags.HostnameOverride != "" {
		hostname = f.name
	}
	ip := f.flags.NodeIP
	if f.flags.CloudProvider == "external" {
		if len(old) > 0 {
			return old
		}
		if !ip.IsValid() {
			return []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: hostname}}
		}
	}
	if !ip.IsValid() || ip.IsUnspecified() || ip == (netip.Addr{}) {
		ip = f.config.InternalIP
	}
	var list []corev1.NodeAddress
	if ip.IsValid() {
		list = append(list, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip.String()})
	}
	return append(list, corev1.NodeAddress{Type: corev1.NodeHostName, Address: hostname})
}

func capacity(f nodeFacts) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(f.config.Cores), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(int64(f.config.MemoryMiB)<<20, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(int64(f.config.DiskGiB)<<30, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(int64(f.settings.MaxPods), resource.DecimalSI),
	}
	if f.config.OS != "windows" {
		list["hugepages-1Gi"] = resource.MustParse("0")
		list["hugepages-2Mi"] = resource.MustParse("0")
	}
	return list
}

// allocatable returns the capacity less the reservations and the hard eviction thresholds. The
// default threshold of memory is 500Mi on Windows and 100Mi on Linux.
func allocatable(f nodeFacts, capacity corev1.ResourceList) corev1.ResourceList {
	thresholds := map[string]string{"memory.available": "100Mi", "nodefs.available": "10%"}
	if f.config.OS == "windows" {
		thresholds["memory.available"] = "500Mi"
	}
	maps.Copy(thresholds, f.settings.EvictionHard)
	taken := map[corev1.ResourceName][]string{
		corev1.ResourceMemory:           {thresholds["memory.available"]},
		corev1.ResourceEphemeralStorage: {thresholds["nodefs.available"]},
	}
	for _, reserved := range []map[string]string{f.settings.SystemReserved, f.settings.KubeReserved} {
		for name, amount := range reserved {
			taken[corev1.ResourceName(name)] = append(taken[corev1.ResourceName(name)], amount)
		}
	}
	list := capacity.DeepCopy()
	for name, amounts := range taken {
		left, ok := list[name]
		if !ok {
			continue
		}
		for _, amount := range amounts {
			left.Sub(share(amount, capacity[name]))
		}
		if left.Sign() < 0 {
			left = *resource.NewQuantity(0, left.Format)
		}
		list[name] = left
	}
	return list
}

// share parses a quantity, or a percentage of whole; an invalid text counts as zero.
func share(amount string, whole resource.Quantity) resource.Quantity {
	if digits, ok := strings.CutSuffix(amount, "%"); ok {
		var percent float64
		if _, err := fmt.Sscanf(digits, "%g", &percent); err != nil {
			return resource.Quantity{}
		}
		return *resource.NewQuantity(int64(percent/100*float64(whole.Value())), whole.Format)
	}
	q, err := resource.ParseQuantity(amount)
	if err != nil {
		return resource.Quantity{}
	}
	return q
}

// conditions returns the kubelet's four conditions, Ready last, which keep their transition times,
// and the conditions of other clients.
func conditions(f nodeFacts, old []corev1.NodeCondition) []corev1.NodeCondition {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		Message: "kubelet is posting ready status"}
	if f.networkProblem != "" {
		ready.Status, ready.Reason, ready.Message = corev1.ConditionFalse, "KubeletNotReady", f.networkProblem
	}
	if f.health.RuntimeDown {
		ready.Status, ready.Reason, ready.Message = corev1.ConditionFalse, "KubeletNotReady", runtimeDown
	}
	disk := corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse,
		Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"}
	if f.health.DiskFull {
		disk.Status, disk.Reason, disk.Message = corev1.ConditionTrue, "KubeletHasDiskPressure", "kubelet has disk pressure"
	}
	memory := corev1.NodeCondition{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse,
		Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"}
	if f.health.MemoryCommitted {
		memory.Status, memory.Reason, memory.Message = corev1.ConditionTrue, "KubeletHasInsufficientMemory",
			"kubelet has insufficient memory available"
	}
	ours := []corev1.NodeCondition{
		memory, disk,
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID",
			Message: "kubelet has sufficient PID available"},
		ready,
	}
	var list []corev1.NodeCondition
	for _, c := range old {
		if !slices.ContainsFunc(ours, func(o corev1.NodeCondition) bool { return o.Type == c.Type }) {
			list = append(list, c)
		}
	}
	now := metav1.NewTime(f.now)
	for _, c := range ours {
		c.LastHeartbeatTime, c.LastTransitionTime = now, now
		for _, o := range old {
			if o.Type == c.Type && o.Status == c.Status {
				c.LastTransitionTime = o.LastTransitionTime
			}
		}
		list = append(list, c)
	}
	return list
}

// statusChanged reports whether two statuses differ, ignoring heartbeat times.
func statusChanged(a, b corev1.NodeStatus) bool {
	strip := func(s corev1.NodeStatus) corev1.NodeStatus {
		s = *s.DeepCopy()
		for i := range s.Conditions {
			s.Conditions[i].LastHeartbeatTime = metav1.Time{}
		}
		return s
	}
	return !semanticEqual(strip(a), strip(b))
}

// uuidOf returns a UUID that is always the same for a name.
func uuidOf(name string) string {
	var b [16]byte
	for i := range 4 {
		h := hash32(fmt.Sprintf("%d/%s", i, name))
		b[4*i], b[4*i+1], b[4*i+2], b[4*i+3] = byte(h>>24), byte(h>>16), byte(h>>8), byte(h)
	}
	b[6], b[8] = b[6]&0x0f|0x50, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
