package walk

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"

	"casement.dev/casement/internal/diagnose/facts"
)

// healthy returns the facts of a cluster with one Windows machine, a Ready node and one pod.
func healthy() *facts.Snapshot {
	m := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "default"}}
	m.Spec.ClusterName, m.Spec.Bootstrap.DataSecretName, m.Spec.InfrastructureRef.Name = "c", new("data"), "am"
	m.Spec.Bootstrap.ConfigRef.Name, m.Status.NodeRef.Name = "kc", "n"
	am := &infrav1.AzureMachine{ObjectMeta: metav1.ObjectMeta{Name: "am"}}
	am.SetConditions([]metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready"}})
	ac := &infrav1.AzureCluster{ObjectMeta: metav1.ObjectMeta{Name: "ac"}}
	ac.SetConditions([]metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready"}})
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	n.Status.NodeInfo.OperatingSystem = "windows"
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "u"}}
	p.Spec.NodeName, p.Status.Phase = "n", corev1.PodRunning
	c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "default"}}
	c.Spec.ClusterNetwork.Pods.CIDRBlocks, c.Spec.ClusterNetwork.Services.CIDRBlocks = []string{"192.168.0.0/16"}, []string{"10.96.0.0/12"}
	return &facts.Snapshot{Cluster: c, AzureCluster: ac, Machines: []clusterv1.Machine{m},
		AzureMachines: map[string]*infrav1.AzureMachine{"am": am}, Nodes: map[string]*corev1.Node{"n": n}, Pods: []corev1.Pod{p}}
}

// vm makes the AzureMachine fail with a condition.
func vm(condition, reason, message string) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		f.AzureMachines["am"].SetConditions([]metav1.Condition{
			{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, Message: condition + ": " + message},
			{Type: condition, Status: metav1.ConditionFalse, Reason: reason, Message: message}})
	}
}

// network makes the AzureCluster fail with a condition.
func network(condition, reason, message string) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		f.AzureCluster.SetConditions([]metav1.Condition{{Type: condition, Status: metav1.ConditionFalse, Reason: reason, Message: message}})
	}
}

// console leaves the machine without a node and with a last line on its console.
func console(line string) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		f.Machines[0].Status.NodeRef.Name = ""
		f.Console = func(*clusterv1.Machine) string { return "[preflight] Running pre-flight checks\n" + line + "\n" }
	}
}

func ready(reason, message string) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		f.Nodes["n"].Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: reason, Message: message},
		}
	}
}

// pod makes the pod wait, with a warning event.
func pod(reason, event string) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		f.Pods[0].Status.Phase = corev1.PodPending
		f.Pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{
			{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}},
		}
		f.Warnings = []corev1.Event{{InvolvedObject: corev1.ObjectReference{UID: "u"}, Reason: "FailedCreatePodSandBox", Message: event}}
	}
}

// waiting makes a container wait, with the kubelet's message.
func waiting(reason, message string) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		f.Pods[0].Status.Phase = corev1.PodPending
		f.Pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}
	}
}

// crash makes a container end repeatedly, with a last line in its log.
func crash(line string) func(*facts.Snapshot) {
	return func(f *facts.Snapshot) {
		waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container")(f)
		f.Logs = func(*corev1.Pod, string) string { return "starting\n" + line + "\n" }
	}
}

// osProvisioning is the beginning of Azure's message about a guest whose provisioning failed.
const osProvisioning = "put Microsoft.Compute/virtualMachines/m: OSProvisioningClientError: " +
	"OS Provisioning for VM 'm' failed. Error details: "

// faults are changes to objects with the expected answers; test/e2e/faults produces the same faults in guests, where
// the local plane can.
var faults = []struct {
	name, cause, step string
	inject            func(*facts.Snapshot)
}{
	{"quota", "QuotaExceeded", "infrastructure", vm("VMRunning", "QuotaExceeded",
		"Operation could not be completed as it results in exceeding approved Total Regional Cores quota")},
	{"sku missing", "SKUNotAvailable", "infrastructure", vm("VMRunning", "SkuNotAvailable",
		"The requested VM size Standard_D2s_v3 is currently not available in location westeurope")},
	{"no capacity", "AllocationFailed", "infrastructure",
		vm("VMRunning", "ZonalAllocationFailed", "Allocation failed. We do not have sufficient capacity")},
	{"image missing", "ImageNotFound", "infrastructure",
		vm("VMRunning", "GalleryImageNotFound", "The gallery image /CommunityGalleries/x is not available")},
	{"rights missing", "AuthorizationFailed", "infrastructure", network("ResourceGroupReady", "AuthorizationFailed",
		"The client does not have authorization to perform action")},
	{"secret expired", "CredentialsRefused", "infrastructure",
		network("ResourceGroupReady", "Failed", "AADSTS7000222: The provided client secret keys are expired")},
	{"policy", "PolicyDenied", "infrastructure",
		network("VNetReady", "RequestDisallowedByPolicy", "Resource 'vnet' was disallowed by policy")},
	{"subnet full", "SubnetFull", "infrastructure",
		vm("NetworkInterfacesReady", "SubnetIsFull", "Subnet node with address prefix 10.1.0.0/29 is already full")},
	{"overlap", "AddressOverlap", "infrastructure",
		network("SubnetsReady", "NetcfgInvalidSubnet", "Subnet 'node' is not valid in virtual network")},
	{"throttled", "Throttled", "infrastructure", vm("VMRunning", "TooManyRequests", "The request is being throttled")},
	{"evicted", "SpotEvicted", "infrastructure", vm("VMRunning", "Deleted", "the spot VM was evicted")},
	{"gzip", "UserDataCompressed", "bootstrap", vm("VMRunning", "InvalidBootstrapData", "the data is compressed with gzip")},
	{"provisioning failed", "ProvisioningFailed", "infrastructure", vm("VMRunning", "OSProvisioningClientError",
		osProvisioning+"of a fault")},
	{"provisioning failed, with details", "JinjaSyntax", "infrastructure",
		vm("VMRunning", "OSProvisioningClientError", osProvisioning+"plugin 'UserDataPlugin' failed with error: jinja syntax")},
	{"provisioning failed, with a console", "UserDataCompressed", "guest", func(f *facts.Snapshot) {
		vm("VMRunning", "OSProvisioningClientError", osProvisioning+"no header")(f)
		console("no header could be found: the user data is compressed or not UTF-8")(f)
	}},
	{"jinja variable", "MissingJinjaVariable", "guest", console("[preflight] invalid node name CI_MISSING_JINJA_VAR_vm_id")},
	{"password", "PasswordTooLong", "bootstrap", vm("VMRunning", "InvalidBootstrapData",
		"users[0].passwd: longer than the 20 characters that cloudbase-init takes")},
	{"wrong criSocket", "WrongCRISocket", "bootstrap", vm("VMRunning", "InvalidBootstrapData",
		"write_files[2] criSocket line 24: the container runtime's socket is not a Windows pipe")},
	{"taints twice", "TaintsNotUnique", "guest",
		console("Unable to register node with API server: spec.taints[1]: taints must be unique by key and effect pair")},
	{"bad token", "TokenInvalid", "guest", console(`[discovery] Failed to request cluster info: could not find ` +
		`a JWS signature in the cluster-info ConfigMap for token ID "abcdef": the token is invalid for this ` +
		`cluster or it has expired`)},
	{"wrong CA", "CACertHashMismatch", "guest", console("error: cluster CA found in cluster-info ConfigMap is " +
		"invalid: none of the public keys \"sha256:0\" are pinned")},
	{"no route to API", "NoRouteToAPI", "guest", console("Get " +
		"\"https://10.0.0.100:6443/api/v1/namespaces/kube-public/configmaps/cluster-info\": dial tcp " +
		"10.0.0.100:6443: i/o timeout")},
	{"node name taken", "NodeNameTaken", "guest",
		console(`a Node with name "demo-md-w-x7k2p" and status "Ready" already exists in the cluster`)},
	{"no kubelet", "NotRegistered", "node", console("nothing that is known")},
	{"node deleted", "NodeDeleted", "node", func(f *facts.Snapshot) { delete(f.Nodes, "n") }},
	{"cni missing", "CNIMissing", "cni", ready("KubeletNotReady", "container runtime network not ready: "+
		"NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not "+
		"initialized")},
	{"runtime down", "RuntimeDown", "node", ready("KubeletNotReady", "container runtime is down")},
	{"kubelet stopped", "KubeletStopped", "node", ready("NodeStatusUnknown", "Kubelet stopped posting node status.")},
	{"cloud provider", "CloudProviderMissing", "node", func(f *facts.Snapshot) {
		f.Nodes["n"].Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized"}}
	}},
	{"disk full", "DiskFull", "node", func(f *facts.Snapshot) {
		f.Nodes["n"].Status.Conditions = append(f.Nodes["n"].Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue, Message: "kubelet has disk pressure",
		})
	}},
	{"hns leak", "HNSLeak", "pod", pod("ContainerCreating", "hcnCreateEndpoint failed in Win32: IP address is "+
		"either invalid or not part of any configured subnet(s). (0x803b001e)")},
	{"image mismatch", "HostBuildMismatch", "pod", pod("ContainerCreating",
		"The container operating system does not match the host operating system. (0xc0370101)")},
	{"subnet.env", "SubnetEnvMissing", "pod", pod("ContainerCreating", "open /run/flannel/subnet.env: no such file or directory")},
	{"hostname override", "HostnameOverride", "pod", crash("invalid configuration: --hostname-override is empty")},
	{"source vip", "SourceVIPMissing", "pod", crash("source-vip flag not set")},
	{"image tag missing", "ContainerImageNotFound", "pod", waiting("ImagePullBackOff",
		`Back-off pulling image "nginx:no": ErrImagePull: rpc error: code = NotFound desc = `+
			`failed to pull and unpack image "docker.io/library/nginx:no": failed to resolve reference `+
			`"docker.io/library/nginx:no": docker.io/library/nginx:no: not found (simulated: x)`)},
	{"image pull", "ImagePull", "pod", waiting("ImagePullBackOff", "Back-off pulling image \"nowhere.invalid/x\"")},
	{"no node fits", "Unschedulable", "pod", func(f *facts.Snapshot) {
		f.Pods[0].Status.Phase, f.Pods[0].Spec.NodeName = corev1.PodPending, ""
		f.Pods[0].Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
			Message: "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector",
		}}
	}},
	{"claim missing", "ClaimMissing", "pod", func(f *facts.Snapshot) {
		f.Pods[0].Status.Phase, f.Pods[0].Spec.NodeName = corev1.PodPending, ""
		f.Pods[0].Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
			Message: `0/3 nodes are available: persistentvolumeclaim "data" not found.`,
		}}
	}},
	{"config missing", "ConfigMissing", "pod", waiting("CreateContainerConfigError", `configmap "settings" not found`)},
	{"pod evicted", "DiskFull", "pod", func(f *facts.Snapshot) {
		f.Pods[0].Status.Phase, f.Pods[0].Status.Reason, f.Pods[0].Status.Message = corev1.PodFailed, "Evicted",
			"The node was low on resource: ephemeral-storage."
	}},
	{"deleting", "Deleting", "owner", func(f *facts.Snapshot) {
		f.Cluster.DeletionTimestamp, f.Unreachable, f.AzureCluster = new(metav1.Now()), "connection refused", nil
	}},
	{"deletion refused", "AuthorizationFailed", "infrastructure", func(f *facts.Snapshot) {
		network("ResourceGroupReady", "AuthorizationFailed", "The client does not have authorization to perform action")(f)
		f.Cluster.DeletionTimestamp, f.AzureCluster.DeletionTimestamp = new(metav1.Now()), new(metav1.Now())
	}},
	{"drain held", "EvictionBlocked", "owner", func(f *facts.Snapshot) {
		f.Taken = time.Now()
		f.Machines[0].DeletionTimestamp = new(metav1.NewTime(f.Taken.Add(-10 * time.Minute)))
		f.Machines[0].Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineDeletingCondition,
			Status: metav1.ConditionTrue, Reason: clusterv1.MachineDeletingDrainingNodeReason,
			Message: "Drain not completed yet (started at 2026-11-21T14:00:00Z):\n* Pod default/p: cannot evict " +
				"pod as it would violate the pod's disruption budget. The disruption budget p needs 1 healthy " +
				"pods"}}
	}},
	{"paused", "Paused", "owner", func(f *facts.Snapshot) {
		f.Cluster.Spec.Paused = new(true)
		f.Deployments = []clusterv1.MachineDeployment{{ObjectMeta: metav1.ObjectMeta{Name: "md", Generation: 2}}}
	}},
	{"api refused", "APIRefused", "workload",
		func(f *facts.Snapshot) { f.Unreachable = "dial tcp 10.0.0.100:6443: connect: connection refused" }},
}

func TestFaults(t *testing.T) {
	if a := Cluster(healthy()); !a.Healthy {
		t.Fatalf("a healthy cluster is not: %+v", a)
	}
	var table strings.Builder
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			f := healthy()
			fault.inject(f)
			a := Cluster(f)
			fmt.Fprintf(&table, "%-20s %-22s %s\n", fault.name, a.Name(), a.At)
			if a.Name() != fault.cause || a.Step != fault.step {
				t.Errorf("got %s at %s, want %s at %s: %+v", a.Name(), a.Step, fault.cause, fault.step, a)
			}
			if a.Next() == "" || a.Means.Says == "" {
				t.Errorf("no next command or no words: %+v", a)
			}
			runs(t, a)
		})
	}
	t.Logf("\n%s", table.String())
}

// TestWhatIsNoFault: a machine that is being deleted, and a control plane's kubelet that starts before its API server,
// are no faults.
func TestWhatIsNoFault(t *testing.T) {
	for name, change := range map[string]func(*facts.Snapshot){
		"a new node waits for the cloud provider": func(f *facts.Snapshot) {
			f.Taken = time.Now()
			f.Nodes["n"].CreationTimestamp = metav1.Now()
			f.Nodes["n"].Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized"}}
		},
		"the identity was applied last": func(f *facts.Snapshot) {
			f.Taken = time.Now()
			network("NetworkInfrastructureReady", "IdentityNotFound", "spec.identityRef: AzureClusterIdentity default/x does not exist")(f)
			conditions := f.AzureCluster.GetConditions()
			for i := range conditions {
				conditions[i].LastTransitionTime = metav1.Now()
			}
			f.AzureCluster.SetConditions(conditions)
		},
		"a machine is deleted": func(f *facts.Snapshot) { f.Machines[0].DeletionTimestamp = new(metav1.Now()) },
		"a control plane boots": func(f *facts.Snapshot) {
			console("Unable to register node with API server: dial tcp 10.0.0.4:6443: connect: connection refused")(f)
			f.Machines[0].Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			change(f)
			if a := Cluster(f); !a.Healthy && !a.Waiting && a.Name() != "NotRegistered" {
				t.Errorf("%+v", a)
			}
		})
	}
	f := healthy()
	f.Machines[0].DeletionTimestamp = new(metav1.Now())
	if a := (walker{f}).forMachine(&f.Machines[0]); a == nil || a.Cause != deletionUnderWay || a.Next == "" {
		t.Errorf("of the machine itself: %+v", a)
	}
}

func TestEvidenceHoldsNoSecret(t *testing.T) {
	f := healthy()
	console("discovery with token abcdef.c4n4ryc4n4ryc4n4 has expired")(f)
	a := Cluster(f)
	if a.Name() != "TokenInvalid" {
		t.Fatalf("got %s", a.Name())
	}
	if text := fmt.Sprintf("%+v", a); strings.Contains(text, "c4n4ry") {
		t.Errorf("the answer holds a token: %s", text)
	}
}

// TestProgramDies: an API server that does not respond is explained by a program that has ended repeatedly on a machine
// of the control plane since it booted, but not by a program that ended while the machine started.
func TestProgramDies(t *testing.T) {
	const boots = "guest: m boots: Ubuntu\n"
	ends := func(program string, times int) string {
		return strings.Repeat("casement: the static pod kube-system/"+program+"-m/"+program+" ended with code 2\n", times)
	}
	for name, test := range map[string]struct{ console, cause, says string }{
		"damaged data":             {boots + ends("kube-apiserver", 9) + ends("etcd", 5), "ControlPlaneProgramDies", "etcd of"},
		"the API server alone":     {boots + ends("kube-apiserver", 3), "ControlPlaneProgramDies", "kube-apiserver of"},
		"a start":                  {boots + ends("kube-apiserver", 2) + ends("etcd", 1), "APIRefused", ""},
		"before the last boot":     {boots + ends("etcd", 9) + boots, "APIRefused", ""},
		"a program beside the two": {boots + ends("kube-scheduler", 9), "APIRefused", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			f.Taken, f.Unreachable = time.Now(), "dial tcp 10.0.0.100:6443: connect: connection refused"
			f.Machines[0].Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
			f.Console = func(*clusterv1.Machine) string { return test.console }
			a := walker{Snapshot: f}.serverUnreachable()
			if a == nil || a.Cause != test.cause || !strings.Contains(a.Says, test.says) {
				t.Errorf("the answer is %+v", a)
			}
		})
	}
}
