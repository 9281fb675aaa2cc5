package why

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/diagnose/facts"
)

// asking adds objects to the scene and names the object that the user asks about; "" means the
// cluster.
func asking(asked string, objects ...client.Object) func(*scene) {
	return func(s *scene) {
		s.more = append(s.more, objects...)
		if asked != "" {
			s.asked = asked
		}
	}
}

// both applies several changes.
func both(changes ...func(*scene)) func(*scene) {
	return func(s *scene) {
		for _, change := range changes {
			change(s)
		}
	}
}

// asks names the object that the user asks about.
func asks(what string) func(*scene) { return func(s *scene) { s.asked = what } }

// behind blocks the route to the API server with an Azure resource.
func behind(cause, line string) func(*scene) {
	return both(boots(`error execution phase preflight: couldn't validate the identity of the API Server: Get "https://10.0.0.100:6443/`+
		`api/v1/namespaces/kube-public/configmaps/cluster-info": dial tcp 10.0.0.100:6443: i/o timeout`),
		func(s *scene) { s.closed = []facts.Obstacle{{Cause: cause, Line: line}} })
}

// stalled makes the cluster's topology report why it is not applied.
func stalled(reason, message string) func(*scene) {
	return func(s *scene) {
		s.more = append(s.more, &clusterv1.ClusterClass{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "windows"}, Spec: class()})
		s.cluster.Spec.Topology.ClassRef.Name, s.cluster.Spec.Topology.Version = "windows", "v1.36.3"
		s.cluster.Status.Conditions = append(s.cluster.Status.Conditions,
			is(clusterv1.ClusterTopologyReconciledCondition, metav1.ConditionFalse, reason, message))
	}
}

// resources returns a ClusterResourceSet with a condition.
func resources(reason, message string) *addonsv1.ClusterResourceSet {
	r := &addonsv1.ClusterResourceSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "calico"}}
	r.Spec.ClusterSelector.MatchLabels = map[string]string{"cni": "calico"}
	r.Spec.Resources = []addonsv1.ResourceRef{{Name: "calico", Kind: "ConfigMap"}}
	r.Status.Conditions = []metav1.Condition{is("ResourcesApplied", metav1.ConditionFalse, reason, message)}
	return r
}

// scaler returns an autoscaler of the Deployment with a condition.
func scaler(kind, reason, message string) *autoscalingv2.HorizontalPodAutoscaler {
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
	h.Spec.MaxReplicas = 3
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	h.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.HorizontalPodAutoscalerConditionType(kind),
		Status: corev1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: past()}}
	return h
}

// ingressOf returns an Ingress of a class that sends requests to a service.
func ingressOf(class, service string) *networkingv1.Ingress {
	i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}}
	if class != "" {
		i.Spec.IngressClassName = new(class)
	}
	i.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service,
		Port: networkingv1.ServiceBackendPort{Number: 80}}}
	return i
}

// goesSince makes an object one that is being deleted and waits for a finalizer.
func goesSince(o client.Object, finalizer string) {
	o.SetFinalizers([]string{finalizer})
	o.SetDeletionTimestamp(new(metav1.Now()))
}

// strangers returns failures of kinds that were not used when the causes were written, with the
// messages of the programs that write them.
func strangers() []report {
	sandbox := func(message string) func(*scene) {
		return creating("FailedCreatePodSandBox", "Failed to create pod sandbox: rpc error: code = Unknown desc = "+message)
	}
	at := func(where, name, cause, shows string, change func(*scene)) report {
		return report{"", failure{name, cause, where, shows, change}}
	}
	pod := func(name, cause, shows string, change func(*scene)) report {
		return at("Pod/web-1-x", name, cause, shows, change)
	}
	guest := func(name, cause, shows string, lines ...string) report {
		return at("guest of Machine/md-0", name, cause, shows, boots(lines...))
	}
	vm := func(name, cause, shows, code, message string) report {
		return at("AzureMachine/md-0", name, cause, shows, refused(code, message))
	}
	return []report{
		// Admission and the API server.
		at("MachineSet/md-x", "a conversion webhook that does not answer", "ConversionWebhookUnavailable", "conversion webhook",
			uncreated("InfrastructureTemplateCloningFailed", `conversion webhook for infrastructure.cluster.x-k8s.io/v1beta1, `+
				`Kind=AzureMachineTemplate failed: Post "https://casement-webhook.casement-system.svc:443/convert?timeout=30s": dial tcp `+
				`10.96.3.3:443: connect: connection refused`)),
		at("ReplicaSet/web-1", "etcd without space", "EtcdFull", "database space exceeded",
			refusedPods("etcdserver: mvcc: database space exceeded")),
		at("ReplicaSet/web-1", "etcd that does not answer in time", "EtcdSlow", "request timed out",
			refusedPods("etcdserver: request timed out, possibly due to previous leader failure")),
		at("ReplicaSet/web-1", "a policy engine", "WebhookDenied", "validate.kyverno.svc-fail", refusedPods(`admission webhook `+
			`"validate.kyverno.svc-fail" denied the request: resource Pod/why/web was blocked due to the following policies`)),
		at("ReplicaSet/web-1", "a LimitRange's ratio", "LimitRangeViolated", "maxLimitRequestRatio",
			refusedPods(`pods "web-1-x" is forbidden: cpu max limit to request ratio per Container is 2, but provided ratio is `+
				`10.000000 (maxLimitRequestRatio)`)),
		at("ReplicaSet/web-1", "a minimum of a LimitRange", "LimitRangeViolated", "minimum cpu",
			refusedPods(`pods "web-1-x" is forbidden: minimum cpu usage per Container is 100m, but request is 50m`)),
		at("ReplicaSet/web-1", "an API server that is overloaded", seen, "too many requests",
			refusedPods("the server has received too many requests and has asked us to try again later")),
		at("Cluster/demo", "a topology's variable that is not valid", "TopologyNotReconciled", "vmSize", stalled(
			clusterv1.ClusterTopologyReconciledFailedReason, `error computing the desired state of the Cluster topology: failed to apply `+
				`patches: failed to generate patches for patch "size": failed to calculate value for template: vmSize is not defined`)),
		at("Cluster/demo", "a hook of an extension that blocks for hours", "ClusterUpgrading", "BeforeClusterUpgrade", stalled(
			"ClusterUpgrading", "Cluster is upgrading to v1.37.2\n  * Following hooks are blocking upgrade: BeforeClusterUpgrade: "+
				"backup is not done")),
		at("ClusterResourceSet/calico", "resources that somebody else owns", seen, "conflict",
			asking("clusterresourceset/calico", resources("ApplyFailed", `failed to apply resource: Apply failed with 1 conflict: conflict `+
				`with "helm": .spec.template`))),
		at("ClusterResourceSet/calico", "resources that are not applied, asked as the cluster", seen, "does not exist",
			both(asking("", resources("WrongSecretType", "ConfigMap calico does not exist")), func(s *scene) {
				s.cluster.Labels = map[string]string{"cni": "calico"}
			})),
		at("MachineHealthCheck/md", "a health check that the control plane cannot follow", "RemediationBlocked", "not allowed",
			func(s *scene) {
				h := &clusterv1.MachineHealthCheck{ObjectMeta: meta("md", nil)}
				h.Spec.ClusterName, h.Spec.Selector.MatchLabels = "demo", map[string]string{"set": "md"}
				h.Status.Conditions = []metav1.Condition{is(clusterv1.MachineHealthCheckRemediationAllowedCondition, metav1.ConditionFalse,
					clusterv1.MachineHealthCheckTooManyUnhealthyReason, "Remediation is not allowed")}
				s.more = append(s.more, h)
			}),
		at("Machine/md-0", "a machine that its owner cannot repair", seen, "quorum", func(s *scene) {
			s.worker.Status.Conditions = []metav1.Condition{is(clusterv1.MachineOwnerRemediatedCondition, metav1.ConditionFalse,
				"CannotBeRemediated", "KubeadmControlPlane can't remediate this machine because this could result in etcd loosing quorum")}
		}),
		at("CertificateSigningRequest/kubelet-md-0", "a request that waits for approval", "CSRPending", "kubelet-serving", func(s *scene) {
			r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "kubelet-md-0"}}
			r.Spec.Request, r.Spec.SignerName = request(), certificatesv1.KubeletServingSignerName
			r.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}
			s.more, s.asked = append(s.more, r), "csr/kubelet-md-0"
		}),
		// Azure.
		vm("a family's quota, as a code of operations", "QuotaExceeded", "standardDSv3Family", "OperationNotAllowed", "Operation could not "+
			"be completed as it results in exceeding approved standardDSv3Family Cores quota. Additional details - Current Limit: 10"),
		vm("a spot VM that was evicted", "SpotEvicted", "evicted", "VMDeallocated", "the Spot virtual machine was evicted by Azure"),
		vm("too many disks for the size", "DiskLimit", "of this size is 4", "OperationNotAllowed", "The maximum number of data disks allowed "+
			"to be attached to a VM of this size is 4."),
		vm("an image that is not in the region", "ImageNotFound", "not been replicated", "GalleryImageNotFound", "The gallery image "+
			"/subscriptions/x/galleries/g/images/i/versions/1.0.0 is not available in westeurope region; it has not been replicated"),
		vm("an Arm image on an x64 size", "ArchitectureMismatch", "Arm64", "InvalidParameter", "The VM size 'Standard_D2s_v3' with CPU "+
			"architecture 'x64' cannot be used with an image of architecture 'Arm64'."),
		vm("a SAS that has expired", "SASExpired", "Signature not valid", "InaccessibleImage", "The source blob cannot be read: "+
			"AuthenticationFailed: Signature not valid in the specified time frame: Start [Mon] - Expiry [Tue] - Current [Wed]"),
		vm("a subnet that is full", "SubnetFull", "capacity for 1 IP", "SubnetIsFull", "Subnet node-subnet with address prefix 10.1.0.0/29 "+
			"does not have enough capacity for 1 IP addresses."),
		vm("an encryption set without its key", seen, "does not have access", "DiskEncryptionSetKeyVaultAccessDenied",
			"The disk encryption set des does not have access to the key vault key"),
		vm("a host group that is full", seen, "dedicated host", "DedicatedHostCapacityMissing", "the dedicated host has no capacity left"),
		at("guest of Machine/md-0", "a zone that is not linked", "DNSLinkMissing", "apiserver.capz.io", both(boots(
			`error execution phase preflight: couldn't validate the identity of the API Server: Get "https://apiserver.capz.io:6443/api": `+
				`dial tcp: lookup apiserver.capz.io on 168.63.129.16:53: no such host`), func(s *scene) {
			s.closed = []facts.Obstacle{{Cause: "DNSLinkMissing", Line: "private DNS zone capz.io has no link to demo-vnet"}}
		})),
		at("guest of Machine/md-0", "a probe on another port", "ProbeFails", "8443",
			behind("ProbeFails", "probe https of demo-public-lb asks port 8443; the rule sends to 6443")),
		at("guest of Machine/md-0", "an empty pool", "BackendPoolEmpty", "demo-public-lb",
			behind("BackendPoolEmpty", "pool backend of demo-public-lb has no member")),
		at("guest of Machine/md-0", "an appliance that is off", "NextHopDead", "10.9.0.4",
			behind("NextHopDead", "route to 0.0.0.0/0 of node-rt: next hop 10.9.0.4 is a VM that is deallocated")),
		// The boot.
		guest("a proxy that does not answer", "ProxyFails", "proxyconnect", `error execution phase preflight: couldn't validate the `+
			`identity of the API Server: Get "https://10.0.0.100:6443/api/v1": proxyconnect tcp: dial tcp 10.9.9.9:3128: i/o timeout`),
		guest("a proxy that wants a password", "ProxyFails", "407", `error execution phase preflight: Get "https://10.0.0.100:6443/api": `+
			`proxyconnect tcp: Proxy Authentication Required 407`),
		guest("a kubelet's client certificate that is over", "KubeletCertificateExpired", "is expired", `E1127 06:00:00.000000 1 `+
			`bootstrap.go:265] part of the existing bootstrap client certificate in /etc/kubernetes/kubelet.conf is expired: 2026-01-01`),
		guest("cgroup drivers that differ", "KubeletEnds", "cgroup driver", `E1127 06:00:00.000000 1 server.go:302] "Failed to run `+
			`kubelet" err="failed to run Kubelet: misconfiguration: kubelet cgroup driver: \"cgroupfs\" is different from docker cgroup `+
			`driver: \"systemd\""`),
		guest("a feature gate that is gone", "UnknownFlag", "WindowsHostProcessContainers", `E1127 06:00:00.000000 1 run.go:72] "command `+
			`failed" err="failed to set feature gates from initial flags-based config: unrecognized feature gate: WindowsHostProcessContainers"`),
		guest("a request that waits for approval, while joining", "TLSBootstrapFails", "kubelet-start",
			"[kubelet-start] Waiting for the kubelet "+
				"to perform the TLS Bootstrap", "error execution phase kubelet-start: timed out waiting for the condition"),
		guest("a name of the node that the kubelet may not write", "NodeNameMismatch", "not allowed to modify node", `E1127 06:00:00.000000 1 `+
			`kubelet_node_status.go:106] "Unable to register node with API server" err="nodes \"MD-0-LONG\" is forbidden: node \"md-0\" is not `+
			`allowed to modify node \"MD-0-LONG\"" node="MD-0-LONG"`),
		guest("a registry that wants a login", "ControlPlaneImageMissing", "401", "\t[ERROR ImagePull]: failed to pull image "+
			"registry.example/pause:3.10: 401 Unauthorized"),
		guest("the ConfigMap with a cluster's address", "ClusterInfoMissing", "cluster-info", `error execution phase preflight: couldn't `+
			`validate the identity of the API Server: configmaps "cluster-info" not found`),
		guest("a ConfigMap that kubeadm reads to join", "JoinConfigUnread", "is forbidden", `error execution phase kubelet-start: configmaps `+
			`"kubelet-config" is forbidden: User "system:bootstrap:abcdef" cannot get resource "configmaps" in API group "" in the namespace `+
			`"kube-system"`),
		guest("a directory of patches that is not there", "KubeadmPhaseFailed", "patchez", `error execution phase kubelet-start: could not list `+
			`patch files for path "/etc/kubernetes/patchez": lstat /etc/kubernetes/patchez: no such file or directory`),
		guest("a cloud provider that is gone", "CloudProviderUnknown", "azure", `E1127 06:00:00.000000 1 run.go:72] "command failed" err="cloud `+
			`provider \"azure\" was specified, but built-in cloud providers are disabled. Please set --cloud-provider=external"`),
		at("AzureMachine/md-0", "a Secret of one's own that is not there", "BootstrapSecretMissing", "does not exist", func(s *scene) {
			s.worker.Status.NodeRef.Name = ""
			s.vm.SetConditions([]metav1.Condition{is(clusterv1.ReadyCondition, metav1.ConditionFalse, "WaitingForBootstrapData", "VMRunning: no"),
				is("VMRunning", metav1.ConditionFalse, "WaitingForBootstrapData", "secret why/md-0 with the bootstrap data does not exist")})
			s.asked = "machine/md-0"
		}),
		at("AzureCluster/demo", "a right on a resource that the call names", "LinkedAuthorizationFailed", "linked scope",
			network("NetworkInfrastructureReady", "LinkedAuthorizationFailed", "The client 'c' has permission to perform action "+
				"'Microsoft.Network/virtualNetworks/write'; however, it does not have permission to perform action(s) "+
				"'Microsoft.Network/ddosProtectionPlans/join/action' on the linked scope(s) 'x' or the linked scope(s) are invalid.")),
		at("Node/md-0", "a node that leaves nothing to pods", "NothingAllocatable", "status.allocatable.memory: 0", func(s *scene) {
			s.node.Status.Capacity = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Gi")}
			s.node.Status.Allocatable = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("0")}
		}),
		at("Service/web", "a service that goes, and stays", "DeletionStays", "load-balancer-cleanup", func(s *scene) {
			goesSince(s.service, "service.kubernetes.io/load-balancer-cleanup")
			s.asked = "service/why/web"
		}),
		// Pods.
		pod("a program for another processor", "WrongArchitecture", "exec format error", crashes(1, "Error", "",
			"exec /app/server: exec format error")),
		pod("an image for another processor", "WrongOS", "linux/arm64", pulling(`failed to pull and unpack image "registry.example/web:1": `+
			`no match for platform in manifest sha256:x: linux/arm64: not found`)),
		pod("a clock that is behind", "ClockWrong", "is before", crashes(1, "Error", "", "x509: certificate has expired or is not yet valid: "+
			"current time 2026-11-21T14:00:00Z is before 2026-11-22T00:00:00Z")),
		pod("a proxy before the registry", "ProxyFails", "proxyconnect", pulling(`failed to do request: Head "https://registry.example/v2/": `+
			`proxyconnect tcp: dial tcp 10.9.9.9:3128: connect: connection refused`)),
		pod("a SAS of a mounted container", "SASExpired", "Signature not valid", creating("FailedMount", `MountVolume.MountDevice failed for `+
			`volume "blob" : rpc error: code = Internal desc = AuthenticationFailed: Signature not valid in the specified time frame`)),
		pod("a CNI version", "CNIConfigInvalid", "incompatible CNI versions", sandbox(`plugin type="win-overlay" failed (add): incompatible `+
			`CNI versions; config is "1.1.0", plugin supports ["0.1.0" "0.2.0" "0.3.0"]`)),
		pod("more volumes than the size takes", "Unschedulable", "max volume count",
			unscheduled("0/2 nodes are available: 2 node(s) exceed max volume count.")),
		pod("a port of the host", "Unschedulable", "free ports",
			unscheduled("0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports.")),
		pod("a volume of another zone", "VolumeElsewhere", "affinity conflict",
			unscheduled("0/3 nodes are available: 3 node(s) had volume node affinity conflict.")),
		pod("a path of the host", "HostPathMissing", "hostPath type check failed", creating("FailedMount",
			`MountVolume.SetUp failed for volume "logs" : hostPath type check failed: C:\logs is not a directory`)),
		pod("a pull secret that is not there", "PullDenied", "401", func(s *scene) {
			pulling("failed to authorize: failed to fetch anonymous token: unexpected status from GET " +
				"request to https://r/token: 401 Unauthorized")(s)
			s.events = append(s.events, event{s.pod, "FailedToRetrieveImagePullSecret", "Unable to retrieve some image pull secrets (regcred)"})
		}),
		pod("exec probes that time out", "ReadinessProbeFails", "timed out", runs("Readiness probe failed: command timed out: \"cmd /c check\" "+
			"timed out after 1s")),
		pod("a finalizer on a pod", "StuckTerminating", "example.com/drain", func(s *scene) {
			goesSince(s.pod, "example.com/drain")
			s.asked = "pod/why/web-1-x"
		}),
		pod("a token for a service account", seen, "serviceaccounts", creating("FailedMount", `MountVolume.SetUp failed for volume `+
			`"kube-api-access-x" : failed to fetch token: serviceaccounts "pods" is forbidden: no relationship found`)),
		// Workloads.
		at("HorizontalPodAutoscaler/web", "an autoscaler without metrics", "MetricsMissing", "metrics.k8s.io", asking("hpa/why/web",
			scaler("ScalingActive", "FailedGetResourceMetric", "the HPA was unable to compute the replica count: failed to get cpu "+
				"utilization: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get "+
				"pods.metrics.k8s.io)"))),
		at("HorizontalPodAutoscaler/web", "an autoscaler, asked as the cluster", "MetricsMissing", "metrics", asking("",
			scaler("ScalingActive", "FailedGetExternalMetric", "unable to get external metric: no external metrics returned"))),
		at("Ingress/shop", "an Ingress of a class that is not there", "IngressClassMissing", "nginx",
			asking("ingress/why/shop", ingressOf("nginx", "web"))),
		at("Ingress/shop", "an Ingress without its service", "BackendMissing", "wbe", asking("ing/why/shop", ingressOf("nginx", "wbe"),
			&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "nginx"}, Spec: networkingv1.IngressClassSpec{Controller: "k8s.io/x"}})),
		at("Service/web", "a service of a class without a controller", "LoadBalancerPending", "metallb", func(s *scene) {
			balanced()(s)
			s.service.Spec.LoadBalancerClass = new("example.com/metallb")
		}),
		at("Pod/web-1-x", "a service of a pod that is not Ready", seen, "ReadinessGatesNotReady", func(s *scene) {
			s.pod.Status.ContainerStatuses[0].Ready = true
			s.pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady",
				LastTransitionTime: past()}}
			s.asked = "service/why/web"
		}),
		at("CronJob/nightly", "a CronJob that missed too many times", seen, "too many missed", func(s *scene) {
			c := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nightly"}}
			c.Spec.Schedule, c.Spec.JobTemplate.Spec.Template = "0 0 * * *", *s.web.Spec.Template.DeepCopy()
			c.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
			s.more, s.asked = append(s.more, c), "cronjob/why/nightly"
			s.events = []event{{c, "TooManyMissedTimes", "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check " +
				"clock skew"}}
		}),
		at("Deployment/web", "a Deployment that somebody paused", "Paused", "spec.paused", func(s *scene) {
			s.web.Spec.Paused = true
			s.asked = "deployment/why/web"
		}),
		at("DaemonSet/agent", "a DaemonSet for labels that no node has", "NoNodeFits", "gpu", func(s *scene) {
			d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "agent"}}
			d.Spec.Selector, d.Spec.Template = s.web.Spec.Selector, *s.web.Spec.Template.DeepCopy()
			d.Spec.Template.Spec.NodeSelector = map[string]string{"gpu": "yes"}
			s.more, s.asked = append(s.more, d), "ds/why/agent"
		}),
		// Objects that are being deleted.
		at("Machine/md-0", "a budget that blocks a drain", "EvictionBlocked", "disruption budget", leaves(
			clusterv1.MachineDeletingDrainingNodeReason, "Drain not completed yet:\n* Pod why/web-1-x: cannot evict pod as it would violate "+
				"the pod's disruption budget. The disruption budget web needs 1 healthy pods and has 1 currently")),
		at("AzureCluster/demo", "a finalizer of an addon on the network", "FinalizerStays", "example.com/firewall", func(s *scene) {
			goesSince(s.cluster, "cluster.cluster.x-k8s.io")
			goesSince(s.azure, "example.com/firewall")
		}),
		at("PersistentVolume/pv-1", "a volume that is kept", "VolumeReleased", "Released", asking("pv/pv-1", volumeOf("pv-1"))),
		// Nodes and the control plane.
		at("Node/md-0", "a runtime of which the kubelet knows nothing", seen, "container runtime status check", unready(corev1.NodeReady,
			corev1.ConditionFalse, "KubeletNotReady", "container runtime status check may not have completed yet")),
		at("Node/md-0", "a CSINode that is not there", "CSIDriverMissing", "CSINode", unready(corev1.NodeReady, corev1.ConditionFalse,
			"KubeletNotReady", "CSINode is not yet initialized")),
		at("KubeadmControlPlane/demo", "a control plane that waits for a repair", seen, "remediat", kcpSays(
			controlplanev1.KubeadmControlPlaneMachinesReadyCondition, "RemediationFailed", "* Machine cp-0: remediation was given up")),
		at("Cluster/demo", "a kubeconfig that is gone", "KubeconfigMissing", "kubeconfig", func(s *scene) {
			s.gone = append(s.gone, s.kubeconfig)
		}),
	}
}

// volumeOf returns a volume whose claim was deleted.
func volumeOf(name string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: ns, Name: "data", UID: "gone"}
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disk.csi.azure.com", VolumeHandle: "/subscriptions/s/disks/d"}
	v.Status.Phase = corev1.VolumeReleased
	return v
}

// TestStrangers stores each failure in turn and checks that no answer is wrong and that none
// reports a healthy cluster.
func TestStrangers(t *testing.T) {
	hold(t, strangers(), 40, 70)
}

// request returns a certificate request in PEM.
func request() []byte {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:md-0", Organization: []string{"system:nodes"}}, DNSNames: []string{"md-0"}}, key)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
