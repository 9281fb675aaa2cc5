package why

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// report is a failure from a public report: it has the same messages at the same step, with the
// names of the scene.
type report struct {
	// source is OWNER/REPOSITORY#NUMBER on GitHub.
	source string
	failure
}

// seen is the expected cause of a failure whose cause cannot be derived from the evidence: the line
// is shown without a cause.
const seen = ""

// podReport returns a report about the pod that why is asked about.
func podReport(source, name, cause, shows string, change func(*scene)) report {
	return report{source, failure{name, cause, "Pod/web-1-x", shows, change}}
}

func reports() []report {
	drain := func(line string) func(*scene) {
		return leaves(clusterv1.MachineDeletingDrainingNodeReason, "Drain not completed yet (started at 2026-11-21T14:00:00Z):\n* "+line)
	}
	sandbox := func(message string) func(*scene) {
		return creating("FailedCreatePodSandBox", "Failed to create pod sandbox: rpc error: code = Unknown desc = "+message)
	}
	mount := func(reason, message string) func(*scene) {
		return creating(reason, message)
	}
	const task = "failed to create containerd task: failed to create shim task: "
	all := []report{
		{"kubernetes-sigs/windows-testing#496", failure{"a VM whose agent runs and never reports", "ProvisioningFailed", "AzureMachine/md-0",
			"did not finish in the allotted time", refused("ResourceOperationFailure", "The resource operation completed with terminal "+
				"provisioning state 'Failed'. OSProvisioningClientError: OS Provisioning for VM 'md-0' did not finish in the allotted time. "+
				"However, the VM guest agent was detected running.")}},
		{"kubernetes-sigs/cluster-api-provider-azure#3903", failure{"the bootstrapping extension fails", "ExtensionFailed", "AzureMachine/md-0",
			"bootstrap-success", refused("VMExtensionProvisioningError", "VM has reported a failure when processing extension "+
				"'CAPZ.Windows.Bootstrapping': command terminated with exit status=1, waiting for bootstrap-success.complete")}},
		{"Azure/azure-cli#2401", failure{"no capacity, inside of a deployment's error", "AllocationFailed", "AzureMachine/md-0",
			"reducing the VM size", refused("ResourceDeploymentFailure", "The resource operation completed with terminal provisioning "+
				"state 'Failed'. AllocationFailed: Allocation failed. Please try reducing the VM size or number of VMs")}},
		{"Azure/azure-cli#15158", failure{"an operation that Azure cancelled", "OperationCancelled", "AzureMachine/md-0",
			"Resource state Canceled",
			refused("Canceled", "Operation failed with status: 200. Details: Resource state Canceled")}},
		{"kubernetes-sigs/cluster-api#10812", failure{"a ClusterClass with an invalid variable", "TopologyNotReconciled", "Cluster/demo",
			"VariablesReconciled", func(s *scene) {
				s.more = append(s.more, &clusterv1.ClusterClass{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "windows"}, Spec: class()})
				s.cluster.Spec.Topology.ClassRef.Name, s.cluster.Spec.Topology.Version = "windows", "v1.36.3"
				s.cluster.Status.Conditions = append(s.cluster.Status.Conditions, is(clusterv1.ClusterTopologyReconciledCondition,
					metav1.ConditionFalse, clusterv1.ClusterTopologyReconciledClusterClassNotReconciledReason,
					`ClusterClass is not successfully reconciled: status of VariablesReconciled condition on ClusterClass must be "True"`))
			}}},
		{"kubernetes-sigs/cluster-api#4886", failure{"etcd that Cluster API does not reach", seen, "KubeadmControlPlane/demo", "any etcd node",
			kcpSays(controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition, "HealthUnknown",
				"* Machine cp-0:\n  * EtcdMemberHealthy: Failed to connect to etcd: could not establish a connection to any etcd node")}},
		{"kubernetes-sigs/cluster-api#4057", failure{"a control plane machine without its pods' conditions", seen, "KubeadmControlPlane/demo",
			"APIServerPodHealthy", kcpSays(controlplanev1.KubeadmControlPlaneControlPlaneComponentsHealthyCondition, "NotHealthy",
				"* Machine cp-0:\n  * APIServerPodHealthy: Pod does not exist")}},
		{"kubernetes-sigs/cluster-api#2998", failure{"a drain whose pods a stopped kubelet does not end", "PodsStay", "Machine/md-0",
			"still not removed from the Node",
			drain("Pod kube-system/coredns-6955: deletionTimestamp set, but still not removed from the Node")}},
		{"kubernetes-sigs/cluster-api#10661", failure{"volumes of a machine that was stopped", "VolumeAttached", "Machine/md-0", "pvc-1",
			leaves(clusterv1.MachineDeletingWaitingForVolumeDetachReason, "Waiting for Node volumes to be detached: pvc-1")}},
		{"Azure/AKS#2114", failure{"a drain that large images make slow", "EvictionBlocked", "Machine/md-0", "disruption budget",
			drain("Pod why/web: cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 2 healthy pods")}},
		{"kubernetes-sigs/cluster-api#7112", failure{"a node that somebody deleted", "NodeDeleted", "Node/md-0", "md-0",
			func(s *scene) { s.gone = append(s.gone, s.node) }}},
		{"kubernetes-sigs/cluster-api-provider-aws#3066", failure{"a kubeconfig that is refused", "KubeconfigRefused", "Cluster/demo",
			"credentials", func(s *scene) {
				s.kubeconfig.Data["value"] = []byte(strings.Replace(string(s.kubeconfig.Data["value"]),
					"    client-certificate-data", "    token: x\n    unused-certificate-data", 1))
			}}},
		{"kubernetes-sigs/cluster-api-provider-azure#2591", failure{"a node that no cloud provider initialises", "CloudProviderMissing",
			"Node/md-0", "uninitialized", func(s *scene) {
				s.node.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}}
			}}},
		{"kubernetes/kubernetes#110143", failure{"PLEG of a Windows node", "RuntimeDown", "Node/md-0", "PLEG", unready(corev1.NodeReady,
			corev1.ConditionFalse, "KubeletNotReady", "PLEG is not healthy: pleg was last seen active 3m21.3659944s ago; threshold is 3m0s")}},
		{"Azure/AKS#2491", failure{"a Windows node that froze", "KubeletStopped", "Node/md-0", "stopped posting", unready(corev1.NodeReady,
			corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")}},
		{"kubernetes/kubernetes#80400", failure{"a preflight check of kubeadm", "PreflightFailed", "guest of Machine/md-0",
			"unsupported graph driver", boots("error execution phase preflight: [preflight] Some fatal errors occurred:",
				"        [ERROR SystemVerification]: unsupported graph driver: overlay2")}},
		{"kubernetes/kubernetes#123173", failure{"a kubelet service that is paused", "KubeletUnhealthy", "guest of Machine/md-0", "10248",
			boots("[kubelet-check] The HTTP call equal to 'curl -sSL http://localhost:10248/healthz' failed with error: connection refused.")}},
		{"kubernetes-sigs/sig-windows-tools#72", failure{"a kubelet without its CA", "KubeletEnds", "guest of Machine/md-0", "client CA file",
			boots(`E1127 06:00:00.000000    4512 run.go:74] "command failed" err="failed to construct kubelet dependencies: unable to load ` +
				`client CA file \\etc\\kubernetes\\pki\\ca.crt: open \\etc\\kubernetes\\pki\\ca.crt: The system cannot find the path specified."`)}},
		podReport("Azure/AKS#2490", "a container that the runtime does not create in time", "RuntimeTimesOut", "deadline exceeded",
			crashes(128, "StartError", "failed to create containerd task: context deadline exceeded: unknown", "")),
		podReport("Azure/AKS#3627", "a network namespace that is not attached", "NetworkNotAttached", "attach namespace",
			waits("CreateContainerError", task+"hcs::CreateComputeSystem web: The requested operation for attach namespace failed.: unknown")),
		podReport("microsoft/hcsshim#598", "a compute system that exits", seen, "0xc0370106",
			waits("CreateContainerError", task+"hcs::System::Start web: The compute system exited unexpectedly. (0xc0370106): unknown")),
		podReport("microsoft/hcsshim#437", "no system resources", "NodeResourcesUsedUp", "Insufficient system resources",
			waits("CreateContainerError", task+"hcs::CreateComputeSystem web: Insufficient system resources exist to complete the requested "+
				"service. (0x800705aa): unknown")),
		podReport("microsoft/hcsshim#2017", "access denied without a credential spec", seen, "Access is denied",
			waits("CreateContainerError", task+"hcs::CreateComputeSystem web: Access is denied.: unknown")),
		podReport("kubernetes/kubernetes#107561", "a sandbox name that is reserved", "NameReserved", "failed to reserve sandbox name",
			sandbox(`failed to reserve sandbox name "web-1-x_why_ddc4e2a5_0": name is reserved for "e41d37b94b4d"`)),
		podReport("k3s-io/k3s#2312", "a container name that is reserved", "NameReserved", "failed to reserve container name",
			waits("CreateContainerError", `failed to reserve container name "web_web-1-x_why_37b2_1": name is reserved for "7c54f31e3fc8"`)),
		podReport("microsoft/Windows-Containers#109", "a layer that is not ready", "LayerNotReady", "The device is not ready",
			sandbox("failed to start sandbox container: hcsshim::PrepareLayer - failed failed in Win32: The device is not ready. (0x15)")),
		podReport("Azure/aks-engine#5086", "a working directory that is not in the image", "WorkingDirMissing", "directory name is invalid",
			waits("RunContainerError", `failed to start containerd task "web": hcs::System::CreateProcess web: `+
				`The directory name is invalid.: unknown`)),
		podReport("Azure/acs-engine#4046", "a network that HNS does not find", "HNSNetworkGone", "Element not found",
			sandbox("NetworkPlugin cni failed to set up pod network: Failed to create endpoint: HNS failed with error : Element not found.")),
		podReport("microsoft/SDN#298", "an endpoint that exists", "HNSLeak", "already exists",
			sandbox("failed to setup network for sandbox: hnsCall failed in Win32: The object already exists. (0x1392)")),
		podReport("Azure/azure-container-networking#774", "a store that is locked", "CNIStoreLocked", "timed out locking store",
			sandbox("plugin type=\"azure-vnet\" failed (add): Failed to initialize key-value store of network plugin, err:timed out "+
				"locking store.")),
		podReport("kubernetes/kubernetes#79515", "kube-proxy and a network of another name", "HNSNetworkMissing", "specified by cbr0",
			crashes(1, "Error", "", "E0628 16:57:08.673912 1180 proxier.go:564] Unable to find HNS Network specified by cbr0. Please check "+
				"network name and CNI deployment")),
		podReport("projectcalico/calico#9905", "Felix exits", "CrashLoop", "will schedule a retry", crashes(1, "Error", "",
			"felix/endpoint_mgr.go 440: Failed to look up one or more HNS endpoints; will schedule a retry")),
		podReport("Azure/AKS#2568", "a CSI driver without csi-proxy", "CSIProxyMissing", "csi-proxy-filesystem", crashes(255, "Error", "",
			`F0113 11:39:40.379419 856 azuredisk.go:181] Failed to get safe mounter. Error: open \\.\pipe\csi-proxy-filesystem-v1beta1: The `+
				`system cannot find the file specified.`)),
		podReport("Azure/AKS#2568", "a disk that cannot be formatted", seen, "could not format", mount("FailedMount", `MountVolume.`+
			`MountDevice failed for volume "pvc-8646" : rpc error: code = Internal desc = could not format "18"(lun: "0" ), and mount it at "x"`)),
		podReport("kubernetes-sigs/azuredisk-csi-driver#2365", "a disk behind an NVMe controller", "DiskNotSeen", "findDiskByLun",
			mount("FailedMount", `MountVolume.MountDevice failed for volume "pvc-dcde" : rpc error: code = Internal desc = failed to find disk `+
				`on lun 0. azureDisk - findDiskByLun(0) failed with error(could not find disk id for lun: 0)`)),
		podReport("kubernetes/kubernetes#78657", "a disk that is being detached", "DiskBusy", "AttachDiskWhileBeingDetached",
			mount("FailedAttachVolume", `AttachVolume.Attach failed for volume "pvc-0a60" : Attach volume to instance "11" failed with `+
				`Code="AttachDiskWhileBeingDetached" Message="Cannot attach data disk to VM because the disk is currently being detached"`)),
		podReport("coreos/tectonic-installer#2347", "a node that Azure does not know", "InstanceUnknown", "azure instance id",
			mount("FailedAttachVolume", `AttachVolume.Attach failed for volume "x" : failed to get azure instance id for node "md-0"`)),
		podReport("Azure/acs-engine#2906", "a managed disk on a VM with blobs", seen, "blob based disks", mount("FailedAttachVolume",
			`AttachVolume.Attach failed for volume "x" : Code="OperationNotAllowed" Message="Addition of a managed disk to a VM with blob `+
				`based disks is not supported."`)),
		podReport("Azure/AKS#245", "a pull that is cut off", "PullCutOff", "context canceled",
			pulling("rpc error: code = Canceled desc = context canceled")),
		podReport("Azure/AKS#55", "a layer that does not register", "LayerCorrupt", "failed to register layer",
			pulling(`failed to register layer: re-exec error: exit status 1: output: remove C:\x\diagtrack.dll: Access is denied.`)),
		podReport("Azure/AKS#3612", "a crash of .NET Framework without words", "CrashLoop", "-2147467259",
			crashes(-2147467259, "Error", "", "")),
		{"kubernetes/kubernetes#86686", failure{"a load balancer, without the reason", seen, "Service/web", "timed out waiting",
			balanced("Error creating load balancer (will retry): failed to ensure load balancer for service why/web: timed out waiting " +
				"for the condition")}},
		{"seanknox/aztack#3", failure{"an interface in two load balancers", "TwoBalancers", "Service/web", "more than one load balancer",
			balanced(`Error creating load balancer: failed to ensure load balancer: Code="NetworkInterfaceUsesMultipleLoadBalancersOfSameType" ` +
				`Message="Network interface x references more than one load balancer of the same type"`)}},
		{"kubernetes/kubernetes#103348", failure{"machines of another type than azure.json says", "VMTypeMismatch", "Service/web",
			"not a vmss instance", balanced("Error syncing load balancer: failed to ensure load balancer: not a vmss instance")}},
		{"kubernetes/kubernetes#94590", failure{"an address that is not provisioned", "AzureBusy", "Service/web", "Cannot proceed",
			balanced(`Error syncing load balancer: failed to ensure load balancer: Code="ReferencedResourceNotProvisioned" Message="Cannot ` +
				`proceed with operation because resource x is not in Succeeded state."`)}},
	}
	return append(all, second()...)
}

// smb returns a failed mount of a share on Windows.
func smb(output string) func(*scene) {
	return creating("FailedMount", `MountVolume.MountDevice failed for volume "pvc-1" : rpc error: code = Internal desc = volume(x) mount `+
		`"//x.file.core.windows.net/share" failed with NewSmbGlobalMapping failed. output: "`+output+`", err: exit status 1`)
}

// second returns the reports that were tested after the causes for the first reports were written.
func second() []report {
	const sandbox = "Failed to create pod sandbox: rpc error: code = Unknown desc = "
	return []report{
		podReport("kubernetes-sigs/azuredisk-csi-driver#2082", "PowerShell that does not start", "ProcessesUsedUp", "0xc0000142",
			smb("exit status 0xc0000142")),
		podReport("kubernetes-csi/csi-driver-smb#453", "a mapping with a wrong parameter", seen, "parameter is incorrect",
			smb("New-SmbGlobalMapping : The parameter is incorrect")),
		podReport("kubernetes-csi/csi-driver-smb#294", "a server of the cluster's DNS", "ShareNotFound", "network path was not found",
			smb("New-SmbGlobalMapping : The network path was not found. FullyQualifiedErrorId : Windows System Error 53,New-SmbGlobalMapping")),
		podReport("kubernetes-sigs/azurefile-csi-driver#1610", "a share's password", "ShareDenied", "password is incorrect",
			smb("New-SmbGlobalMapping : The user name or password is incorrect. FullyQualifiedErrorId : Windows System Error 1326")),
		podReport("Azure/AKS#5612", "a second account for a server", "ShareConflict", "more than one user name",
			smb("New-SmbGlobalMapping : Multiple connections to a server or shared resource by the same user, using more than one user name, "+
				"are not allowed. FullyQualifiedErrorId : Windows System Error 1219")),
		podReport("Azure/acs-engine#3831", "a parameter that HNS refuses", seen, "parameter is incorrect", creating("FailedCreatePodSandBox",
			sandbox+"NetworkPlugin cni failed to set up pod network: Failed to create endpoint: HNS failed with error : The parameter is "+
				"incorrect.")),
		podReport("kubernetes/kubernetes#74766", "an endpoint of an earlier try", "HNSLeak", "already exists", creating("FailedCreatePodSandBox",
			sandbox+"error while ProvisionEndpoint: failed to create the new HNSEndpoint: hnsCall failed in Win32: The object already "+
				"exists. (0x1392)")),
		podReport("Azure/acs-engine#4352", "an HNS network that is missing", "HNSNetworkGone", "0x490", creating("FailedCreatePodSandBox",
			sandbox+"Failed to create endpoint: hnsCall failed in Win32: Element not found. (0x490)")),
		{"kubernetes-sigs/cluster-api#11427", failure{"the bootstrap's script fails", "CommandFailed", "guest of Machine/md-0", "scripts-user",
			boots("cc_scripts_user.py[WARNING]: Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)")}},
		{"kubernetes-sigs/cluster-api#8669", failure{"a preflight check that holds a MachineSet for hours", "PreflightCheckFailed",
			"MachineSet/md-x", "PreflightCheckFailed", uncreated("PreflightCheckFailed",
				`KubeadmControlPlane why/demo is provisioning ("ControlPlaneIsStable" preflight check failed)`)}},
		{"jenkins-infra/azure#719", failure{"a code without a row", seen, "AzureMachine/md-0", "must have a NAT gateway",
			refused("SubnetNotAssociatedWithNATGateway", "Subnet 'node' must have a NAT gateway associated for outbound connection.")}},
		{"kubernetes-sigs/cluster-api-provider-azure#1612", failure{"a balancer that does not exist", "AzureResourceGone", "AzureCluster/demo",
			"outbound", network("LoadBalancersReady", "ResourceNotFound", "The Resource 'loadBalancers/demo-outbound' was not found.")}},
		{"kubernetes-sigs/cluster-api-provider-azure#3664", failure{"machines without a way out", "NotRegistered", "Machine/md-0",
			"registry.example", boots("curl: (28) Failed to connect to registry.example port 443: Connection timed out")}},
	}
}

// TestReports stores each reported failure in turn. No answer is wrong or calls the cluster
// healthy, and a failure without enough evidence for a cause is shown as it was observed.
func TestReports(t *testing.T) { hold(t, reports(), 40, 80) }

// hold stores failures in turn and checks the answers. There must be at least atLeast failures; for
// percent of them the answer must name the cause, and for the others it must show the evidence.
func hold(t *testing.T, all []report, atLeast, percent int) {
	t.Helper()
	c := connect(t)
	prepare(t, c)
	known, shown := 0, 0
	var table strings.Builder
	for _, r := range all {
		t.Run(r.name, func(t *testing.T) {
			s := well()
			s.kubeconfig = kubeconfigOf(t, server)
			r.change(s)
			s.store(t, c)
			a := s.answer(t, c)
			fmt.Fprintf(&table, "%-46s %-60s %-24s %s\n", r.source, r.name, a.Means.Cause, a.At)
			lines := strings.Join(a.Lines(), "\n")
			switch {
			case a.Healthy || a.Waiting:
				t.Errorf("nothing is wrong, it says: %+v", a)
			case a.Means.Cause != r.cause || a.Means.Known != (r.cause != seen):
				t.Errorf("got %q, want %q: %+v", a.Means.Cause, r.cause, a)
			case !strings.HasPrefix(a.At, r.at) || !strings.Contains(lines, r.shows):
				t.Errorf("at %s, %q; want %q at %s", a.At, lines, r.shows, r.at)
			case a.Means.Fix == "" || a.Next() == "":
				t.Errorf("no fix or no command: %+v", a)
			case r.cause == seen:
				shown++
			default:
				known++
			}
		})
	}
	t.Logf("%d failures: %d named, %d seen and not known\n%s", len(all), known, shown, table.String())
	if len(all) < atLeast || known*100 < len(all)*percent {
		t.Errorf("%d of %d are named, want %d %% of at least %d", known, len(all), percent, atLeast)
	}
}
