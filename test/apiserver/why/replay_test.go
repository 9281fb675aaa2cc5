package why

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
)

// paused pauses an object.
func paused(o client.Object) { o.SetAnnotations(map[string]string{clusterv1.PausedAnnotation: ""}) }

// stuck adds a machine whose VM Azure has refused for hours.
func stuck(s *scene) {
	m, vm := machineOf("md-1", "", map[string]string{clusterv1.MachineDeploymentNameLabel: "md"}), vmOf("md-1", "Windows")
	m.Spec.Bootstrap.ConfigRef.Name = "md-0"
	vm.Spec.ProviderID = nil
	vm.SetConditions([]metav1.Condition{is(clusterv1.ReadyCondition, metav1.ConditionFalse, "QuotaExceeded", "x"),
		is(infrav1.VMRunningCondition, metav1.ConditionFalse, "QuotaExceeded", "exceeding approved Total Regional Cores quota")})
	s.more = append(s.more, m, vm)
}

// replay returns failures for which an earlier version of why reported nothing, something vague or
// a wrong cause, each with similar failures.
func replay() []report {
	at := func(where, name, cause, shows string, change func(*scene)) report {
		return report{"", failure{name, cause, where, shows, change}}
	}
	ready := func(conditions ...metav1.Condition) func(*scene) {
		return func(s *scene) { s.vm.SetConditions(append(s.vm.GetConditions(), conditions...)) }
	}
	guest := func(name, cause, shows string, lines ...string) report {
		return at("guest of Machine/md-0", name, cause, shows, boots(lines...))
	}
	wrapped := "guest: casement-apply.sh: line 13 failed with code 1: exit $code"
	entra := func(name, cause, code, message string) report {
		return at("AzureCluster/demo", name, cause, message, network("NetworkInfrastructureReady", code, message))
	}
	pod := func(name, cause, shows string, change func(*scene)) report {
		return at("Pod/web-1-x", name, cause, shows, change)
	}
	nowhere := func(name, shows, message string) report {
		return pod(name, "Unschedulable", shows, unscheduled(message))
	}
	set := func(kind, reason, message string) func(*scene) {
		return both(asks("md/md"), func(s *scene) {
			s.deployment.Status.Conditions = []metav1.Condition{is(kind, metav1.ConditionFalse, reason, message)}
		})
	}
	broken := unready(corev1.NodeReady, corev1.ConditionFalse, "KubeletNotReady", "container runtime network not ready: NetworkReady=false "+
		"reason:NetworkPluginNotReady message:Network plugin returns error: cni config load failed: failed to load CNI config list file "+
		`C:\etc\cni\net.d\10-calico.conflist: error parsing configuration list: invalid character '}' looking for beginning of value`)
	closed := func(name, cause, line string) report {
		return at("guest of Machine/md-0", name, cause, line, behind(cause, line))
	}
	all := []report{
		// Objects that are Ready but have another problem.
		at("AzureMachine/md-0", "Ready, and an extension failed", "ExtensionFailed", "exit code 5", ready(is("ExtensionsReady",
			metav1.ConditionFalse, "VMExtensionProvisioningError", "CustomScript: exit code 5"))),
		at("AzureMachine/md-0", "Ready, and a policy refuses a change", "PolicyDenied", "cost", ready(is("Synced", metav1.ConditionFalse,
			"RequestDisallowedByPolicy", "tags: cost centre"))),
		at("AzureMachine/md-0", "Ready, and a condition of somebody else", seen, "backup", ready(is("BackedUp", metav1.ConditionFalse,
			"NoVault", "no vault for the backup"))),
		at("AzureCluster/demo", "a network that is Ready, and its bastion failed", "BastionSubnetTooSmall", "/27", func(s *scene) {
			s.azure.SetConditions([]metav1.Condition{yes(clusterv1.ReadyCondition), is("BastionHostReady", metav1.ConditionFalse,
				"BastionHostSubnetSizeTooSmall", "AzureBastionSubnet is a /27")})
		}),
		at("Machine/md-0", "a machine whose health check failed", seen, "unhealthy", func(s *scene) {
			s.worker.Status.Conditions = []metav1.Condition{is(clusterv1.MachineHealthCheckSucceededCondition, metav1.ConditionFalse,
				"UnhealthyNode", "Health check failed: the node is unhealthy")}
		}),
		at("MachineDeployment/md", "a set with a condition", seen, "not up-to-date",
			set(clusterv1.MachineDeploymentMachinesUpToDateCondition, "NotUpToDate", "* Machine md-0: not up-to-date")),
		at("KubeadmControlPlane/demo", "a control plane with certificates that are not there", seen, "ca",
			kcpSays(controlplanev1.KubeadmControlPlaneCertificatesAvailableCondition, "InternalError", "Secret demo-ca was not found")),
		// Pods that wait without a message.
		at("PersistentVolumeClaim/data", "a claim without a driver", "VolumeNotMade", "disk.csi.azure.com", func(s *scene) {
			claims("WaitForFirstConsumer", "waiting for first consumer to be created before binding")(s)
			s.events = nil
			s.more[0].SetAnnotations(map[string]string{"volume.kubernetes.io/storage-provisioner": "disk.csi.azure.com"})
			s.pod.Spec.NodeName, s.pod.Status.Phase, s.pod.Status.ContainerStatuses = "", corev1.PodPending, nil
			s.pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		}),
		pod("a readiness gate", "ReadinessGate", "example.com/lb", func(s *scene) {
			s.pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/lb"}}
		}),
		pod("a scheduler that is not there", "SchedulerSilent", "my-scheduler", func(s *scene) {
			s.pod.Spec.NodeName, s.pod.Status.Phase, s.pod.Status.ContainerStatuses = "", corev1.PodPending, nil
			s.pod.Spec.SchedulerName = "my-scheduler"
		}),
		pod("restarts of a container that runs", "RestartsOften", "exit code 3", func(s *scene) {
			c := &s.pod.Status.ContainerStatuses[0]
			c.RestartCount, c.LastTerminationState.Terminated = 9, &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error",
				FinishedAt: justNow()}
		}),
		// Kinds that earlier versions did not read.
		at("Ingress/shop", "an Ingress, asked as the cluster", "IngressClassMissing", "0 classes", asking("", ingressOf("", "web"))),
		at("CronJob/nightly", "a CronJob that is suspended", "Suspended", "suspend", func(s *scene) {
			c := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nightly"}}
			c.Spec.Schedule, c.Spec.Suspend, c.Spec.JobTemplate.Spec.Template = "0 0 * * *", new(true), *s.web.Spec.Template.DeepCopy()
			c.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
			s.more, s.asked = append(s.more, c), "cj/why/nightly"
		}),
		at("NetworkPolicy/deny", "a policy that denies all", "PolicyDeniesAll", "Ingress", func(s *scene) {
			p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deny"}}
			p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
			s.more, s.asked = append(s.more, p), "netpol/why/deny"
		}),
		at("HorizontalPodAutoscaler/web", "an autoscaler without its target", "ScaleTargetMissing", "not found",
			asking("hpa/why/web", scaler("AbleToScale", "FailedGetScale", `deployments.apps "wbe" not found`))),
		at("Service/web", "a numeric port that no container has", "TargetPortUndeclared", "[80]", func(s *scene) {
			s.service.Spec.Ports[0].TargetPort, s.asked = intstr.FromInt32(8080), "service/why/web"
		}),
		at("Namespace/ends", "a namespace that cannot end", "DeletionStays", "metrics.k8s.io", func(s *scene) {
			n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ends"}}
			n.Status.Conditions = []corev1.NamespaceCondition{{Type: corev1.NamespaceDeletionDiscoveryFailure, Status: corev1.ConditionTrue,
				Reason: "DiscoveryFailed", Message: "Discovery failed for some groups: metrics.k8s.io/v1beta1: stale", LastTransitionTime: past()}}
			goesSince(n, "example.com/keep")
			s.more, s.asked = append(s.more, n), "ns/ends"
		}),
		at("PersistentVolume/pv-2", "a volume that failed", seen, "detach", func(s *scene) {
			v := volumeOf("pv-2")
			v.Status.Phase, v.Status.Message = corev1.VolumeFailed, "the disk is still attached; detach it first"
			s.more, s.asked = append(s.more, v), "pv/pv-2"
		}),
		at("ClusterClass/windows", "a class whose variables are not valid", seen, "schema", func(s *scene) {
			c := &clusterv1.ClusterClass{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "windows"}, Spec: class()}
			c.Status.Conditions = []metav1.Condition{is("VariablesReady", metav1.ConditionFalse, "VariableDiscoveryFailed", "schema of vmSize")}
			s.more, s.asked = append(s.more, c), "clusterclass/windows"
		}),
		at("Machine/cp-0", "certificates that expire", "CertificatesExpire", "certificatesExpiryDate", func(s *scene) {
			s.cp.Status.CertificatesExpiryDate = justNow()
		}),
		at("Node/md-0", "a read-only file system", seen, "read-only", unready("ReadonlyFilesystem", corev1.ConditionTrue,
			"FilesystemIsReadOnly", "Remounting filesystem read-only")),
		at("Node/md-0", "processes that are used up", "PIDPressure", "pressure", unready(corev1.NodePIDPressure, corev1.ConditionTrue,
			"KubeletHasInsufficientPID", "kubelet has PID pressure")),
		at("Service/kube-dns", "no CoreDNS", "ClusterDNSGone", "kube-dns", func(s *scene) {
			d := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"}}
			d.Spec.Selector, d.Spec.Ports = map[string]string{"k8s-app": "kube-dns"}, []corev1.ServicePort{{Port: 53}}
			s.more = append(s.more, d)
		}),
		at("DaemonSet/agent", "a DaemonSet that no node fits", "NoNodeFits", "disk:fast", func(s *scene) {
			d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "agent"}}
			d.Spec.Selector, d.Spec.Template = s.web.Spec.Selector, *s.web.Spec.Template.DeepCopy()
			d.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "fast"}
			s.more, s.asked = append(s.more, d), "ds/why/agent"
		}),
		// Pauses and finalizers.
		at("KubeadmControlPlane/demo", "a paused control plane", "Paused", clusterv1.PausedAnnotation, func(s *scene) { paused(s.controlPlane) }),
		at("Machine/md-0", "a paused machine", "Paused", clusterv1.PausedAnnotation, func(s *scene) { paused(s.worker) }),
		at("AzureMachine/md-0", "a paused VM", "Paused", "paused", ready(is(clusterv1.PausedCondition, metav1.ConditionTrue, "Paused",
			"it is paused"))),
		at("Machine/md-0", "a paused machine that goes", "Paused", clusterv1.PausedAnnotation, func(s *scene) {
			paused(s.worker)
			goesSince(s.worker, "machine.cluster.x-k8s.io")
			s.asked = "machine/md-0"
		}),
		at("AzureMachine/md-0", "a paused VM that goes", "Paused", clusterv1.PausedAnnotation, func(s *scene) {
			goesSince(s.worker, "machine.cluster.x-k8s.io")
			paused(s.vm)
			goesSince(s.vm, "azuremachine.infrastructure.cluster.x-k8s.io")
			s.asked = "machine/md-0"
		}),
		at("AzureMachine/md-0", "a foreign finalizer of a VM", "FinalizerStays", "example.com/keep", func(s *scene) {
			goesSince(s.worker, "machine.cluster.x-k8s.io")
			goesSince(s.vm, "example.com/keep")
			s.asked = "machine/md-0"
		}),
		at("Cluster/demo", "a foreign finalizer of a cluster", "FinalizerStays", "example.com/keep", func(s *scene) {
			goesSince(s.cluster, "example.com/keep")
		}),
		at("KubeadmControlPlane/demo", "a foreign finalizer of a control plane", "FinalizerStays", "example.com/keep", func(s *scene) {
			goesSince(s.cluster, "cluster.cluster.x-k8s.io")
			goesSince(s.controlPlane, "example.com/keep")
		}),
		at("MachineDeployment/md", "a paused MachineDeployment", "Paused", "paused", both(asks("md/md"), func(s *scene) {
			s.deployment.Status.Conditions = []metav1.Condition{is(clusterv1.PausedCondition, metav1.ConditionTrue, "Paused", "it is paused")}
		})),
		// Every way to ask has the same answer.
		at("Node/md-0", "a broken CNI file", "CNIConfigInvalid", "invalid character", broken),
		at("Node/md-0", "a broken CNI file, asked as the machine", "CNIConfigInvalid", "invalid character", both(broken, asks("machine/md-0"))),
		at("Node/md-0", "a broken CNI file, asked as the deployment", "CNIConfigInvalid", "invalid character", both(broken, asks("md/md"))),
		at("Node/md-0", "a broken CNI file, asked as the set", "CNIConfigInvalid", "invalid character", both(broken, asks("ms/md-x"))),
		at("Node/md-0", "a broken CNI file, asked as the node", "CNIConfigInvalid", "invalid character", both(broken, asks("node/md-0"))),
		at("Node/md-0", "a broken CNI file, asked as a pod there", "CNIConfigInvalid", "invalid character",
			both(broken, asks("pod/why/web-1-x"))),
		// The route to the API server.
		closed("a rule of somebody else", "NetworkRuleDenies", "security rule corp-deny of corp-nsg (Inbound, priority 100) denies port 6443"),
		closed("no rule", "PortClosed", "no Inbound rule of demo-controlplane-nsg allows port 6443"),
		closed("a probe that is blocked", "ProbeBlocked", "rule deny-lb denies AzureLoadBalancer"),
		closed("a route to nothing", "RouteDrops", "route 0.0.0.0/0 of node-rt has the next hop None"),
		closed("a dead appliance", "NextHopDead", "next hop 10.9.0.4 is a VM that is deallocated"),
		closed("an emptied pool", "BackendPoolEmpty", "pool demo-public-lb-backend has no member"),
		at("AzureMachine/cp-0", "a stopped control plane", "VMStopped", "deallocated", both(
			behind("NetworkRuleDenies", "x"), asks("machine/md-0"), func(s *scene) {
				s.vms = map[string]facts.VM{"cp-0": {Power: "deallocated"}}
			})),
		at("guest of Machine/md-0", "a connection that is refused", "APIRefused", "refused", boots(
			`error execution phase preflight: couldn't validate the identity of the API Server: Get "https://10.0.0.100:6443/api": dial tcp `+
				`10.0.0.100:6443: connect: connection refused`)),
		// The decisive line of the boot log, and not the line of the wrapper script.
		guest("a clock behind, below the wrapper", "ClockWrong", "is before", "error execution phase preflight: couldn't validate the identity "+
			"of the API Server: x509: certificate has expired or is not yet valid: current time 2026-11-21T14:00:00Z is before "+
			"2026-11-22T00:00:00Z", wrapped),
		guest("a name, below the wrapper", "APINameUnresolved", "no such host",
			"error execution phase preflight: couldn't validate the identity "+
				`of the API Server: Get "https://apiserver.capz.io:6443/api": dial tcp: lookup apiserver.capz.io: no such host`, wrapped),
		guest("files of another join, below the wrapper", "AlreadyJoined", "kubelet.conf",
			"\t[ERROR FileAvailable--etc-kubernetes-kubelet.conf]: "+
				"/etc/kubernetes/kubelet.conf already exists", wrapped),
		guest("kubeadm of another version, below the wrapper", "KubeadmVersion", "only supports", "this version of kubeadm only supports "+
			"deploying clusters with the control plane version >= 1.36.0. Current version: v1.34.0", wrapped),
		guest("cgroup v1", "CgroupV1Refused", "cgroup v1", `E1127 06:00:00.000000 1 run.go:72] "command failed" err="kubelet is configured to `+
			`not run on a host using cgroup v1"`),
		guest("swap", "SwapOn", "swap on",
			`E1127 06:00:00.000000 1 run.go:72] "command failed" err="failed to run Kubelet: running with swap on `+
				`is not supported, please disable swap"`),
		guest("a preflight error that no table knows, below the wrapper", "CommandFailed", "the moon is wrong",
			"error execution phase preflight: the moon is wrong", wrapped),
		// The output of users' own commands.
		at("Machine/md-0", "a user's download that is refused", "NotRegistered", "nodeRef",
			boots("curl: (7) Failed to connect to files.example port 443: Connection refused")),
		at("Machine/md-0", "a user's download that times out", "NotRegistered", "nodeRef",
			boots("Invoke-WebRequest : Unable to connect to the remote server: i/o timeout")),
		at("Machine/md-0", "a user's script about a token", "NotRegistered", "nodeRef", boots("vault: the token is invalid")),
		at("KubeadmConfig/md-0", "a syntax error of Cluster API's own", seen, "syntax error", func(s *scene) {
			s.worker.Spec.Bootstrap.DataSecretName = nil
			s.config.Status.Conditions = []metav1.Condition{is("DataSecretAvailable", metav1.ConditionFalse, "NotAvailable",
				"failed to render the template: syntax error in the ignition config")}
		}),
		pod(".NET out of memory", "OutOfMemory", "OutOfMemoryException", crashes(1, "Error", "",
			"Unhandled exception. System.OutOfMemoryException: Array dimensions exceeded supported range.")),
		entra("an expired secret", "CredentialsRefused", "AADSTS7000222", "AADSTS7000222: The provided client secret keys for app are expired."),
		entra("an application that is not there", "IdentityUnknown", "AADSTS700016", "AADSTS700016: Application was not found in the directory"),
		entra("a federation", "FederationMismatch", "AADSTS700213", "AADSTS700213: No matching federated identity record found for subject"),
		entra("a conditional access policy", "SignInBlocked", "AADSTS53003", "AADSTS53003: Access has been blocked by Conditional Access"),
		entra("a sign-in of another kind", "SignInRefused", "AADSTS650052", "AADSTS650052: The app needs access to a service that your "+
			"organization has not subscribed to"),
		entra("a tenant that is not there", "WrongTenant", "AADSTS90002", "AADSTS90002: Tenant 'x' not found"),
		entra("a token of another tenant", "WrongTenant", "InvalidAuthenticationTokenTenant", "The access token is from the wrong issuer"),
		entra("a deny assignment", "DeniedByAssignment", "DenyAssignmentAuthorizationFailed", "however, the access is denied because of the "+
			"deny assignment with name shop"),
		entra("missing rights", "AuthorizationFailed", "AuthorizationFailed", "The client 'x' does not have authorization to perform action"),
		// Reasons that casement itself writes.
		entra("an identity without a field", "IdentityInvalid", "IdentityInvalid", "spec.clientID is empty"),
		entra("a namespace that is not allowed", "NamespaceNotAllowed", "NamespaceNotAllowedByIdentity", "namespace why is not allowed"),
		entra("no identity", "IdentityNotSet", "IdentityNotSet", "spec.identityRef is empty"),
		entra("a secret that is not there", "IdentitySecretMissing", "IdentitySecretNotFound", `secret "x" was not found`),
		entra("an owner of the same name", "OwnedByAnother", "OwnedByAnother", "resource group demo has no tag of casement"),
		// The scheduler's messages, each with its own fix.
		nowhere("no room", "Insufficient cpu", "0/2 nodes are available: 2 Insufficient cpu."),
		nowhere("a taint", "untolerated", "0/2 nodes are available: 2 node(s) had untolerated taint {os: windows}."),
		nowhere("a cordon", "unschedulable", "0/2 nodes are available: 2 node(s) were unschedulable."),
		nowhere("too many pods", "Too many pods", "0/2 nodes are available: 2 Too many pods."),
		nowhere("an anti-affinity", "anti-affinity", "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules."),
		nowhere("a spread", "topology spread", "0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints."),
		// Problems that once hid others, and problems that no longer exist.
		pod("a pod that fits nowhere, and a stuck machine", "Unschedulable", "Insufficient", both(stuck, asks("pod/why/web-1-x"),
			unscheduled("0/2 nodes are available: 2 Insufficient memory."), func(s *scene) {
				s.pod.Status.Conditions[0].LastTransitionTime = justNow()
			})),
		at("guest of Machine/md-0", "a token that is over", "TokenInvalid", "JWS", boots(`could not find a JWS signature in the cluster-info `+
			`ConfigMap for token ID "abcdef"`)),
	}
	return all
}

// TestReplay stores each failure in turn and checks that no answer is wrong and that none reports a
// healthy cluster.
func TestReplay(t *testing.T) { hold(t, replay(), 80, 85) }
