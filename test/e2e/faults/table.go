package faults

// noCheck is the check of a fault for which no check of doctor fails, because nothing waits for its
// end.
const noCheck = "none"

// fault is one fault and the answer that why must give.
type fault struct {
	name string
	// cause is the cause in the answer, at the kind of object that has the fault; it is empty if
	// only doctor reports the fault.
	cause, at string
	// evidence must be in the answer, if it is not empty.
	evidence string
	// rule adds a fault to the local Azure, by the arguments of `azure faults add`.
	rule []string
	// machine is set if the fault needs a new Windows machine after the rule was added; the machine
	// is deleted again.
	machine bool
	// pod is set if the fault needs a new Windows pod after the rule was added.
	pod bool
	// inject and heal cause and remove faults that rules cannot cause.
	inject, heal func(*scene)
	// check is the number of doctor's check for the fault.
	check string
	// repairs is set if doctor --fix repairs the fault.
	repairs bool
	// fast marks the faults of the short run.
	fast bool
}

// guestFault returns a rule that injects a guest fault into the running Windows guests.
func guestFault(injected string) []string {
	return []string{"guest", "--guest-fault", injected, "--name", windowsVMs}
}

// refuses returns a rule that makes Azure refuse the writes of a type with a code.
func refuses(kind, status, code string) []string {
	return []string{"unavailable", "--verb", "PUT", "--type", "*/" + kind, "--name", windowsVMs + "*", "--status", status, "--code", code}
}

// windowsVMs is a pattern for the names of the cluster's Windows VMs.
const windowsVMs = "demo-md-w-*"

// table returns the faults: refusals of Azure, corrupted boots, faults of nodes, and faults of
// pods.
func table() []fault {
	vm := func(name, cause string, rule ...string) fault {
		return fault{name: name, cause: cause, at: "AzureMachine", rule: rule, machine: true}
	}
	boot := func(name, cause, injected string) fault {
		return fault{name: name, cause: cause, at: "guest of Machine", rule: guestFault(injected), machine: true}
	}
	node := func(name, cause, injected, evidence string) fault {
		return fault{name: name, cause: cause, at: "Node", rule: guestFault(injected), evidence: evidence}
	}
	pod := func(name, cause, injected string) fault {
		return fault{name: name, cause: cause, at: "Pod", rule: guestFault(injected), pod: true}
	}
	all := []fault{
		vm("quota used up", "QuotaExceeded", "quota", "--name", windowsVMs),
		vm("VM size not offered", "SKUNotAvailable", "sku", "--name", windowsVMs),
		vm("no capacity", "AllocationFailed", "operation", "--type", "*/virtualMachines", "--name", windowsVMs,
			"--code", "AllocationFailed"),
		vm("image missing", "ImageNotFound", refuses("virtualMachines", "404", "PlatformImageNotFound")...),
		vm("rights missing", "AuthorizationFailed", refuses("virtualMachines", "403", "AuthorizationFailed")...),
		vm("credentials refused", "CredentialsRefused", refuses("virtualMachines", "403", "InvalidAuthenticationToken")...),
		vm("policy", "PolicyDenied", refuses("virtualMachines", "403", "RequestDisallowedByPolicy")...),
		vm("subnet full", "SubnetFull", refuses("networkInterfaces", "400", "SubnetIsFull")...),
		vm("throttled", "Throttled", "throttle", "--verb", "PUT", "--type", "*/virtualMachines", "--name",
			windowsVMs, "--retry-after", "2"),
		vm("guest never reports", "ProvisioningTimedOut", "boot-failure", "--name", windowsVMs),
		vm("password too long", "PasswordTooLong"),
		// It is a fault only after a minute, when the machine's own condition reports it too.
		{name: "bad token", cause: "TokenInvalid", rule: guestFault("bad-token"), machine: true},
		boot("wrong CA pinned", "CACertHashMismatch", "wrong-ca"),
		boot("wrong criSocket", "WrongCRISocket", "wrong-cri-socket"),
		boot("taint given twice", "TaintsNotUnique", "taints-twice"),
		boot("metadata key unknown", "MissingJinjaVariable", "jinja-variable"),
		boot("Jinja syntax", "JinjaSyntax", "jinja-syntax"),
		boot("user data compressed", "UserDataCompressed", "compressed"),
		boot("no route to API", "NoRouteToAPI", "no-route"),
		{name: "CNI missing on Windows", cause: "CNIMissing", at: "Node", machine: true,
			inject: nowhere("calico-node-windows"), heal: everywhere("calico-node-windows")},
		{name: "cloud provider missing", cause: "CloudProviderMissing", at: "Node", machine: true,
			inject: nowhere("cloud-node-manager-windows"), heal: everywhere("cloud-node-manager-windows")},
		node("kubelet stopped", "ServiceStopped", "kubelet-stopped", "kubelet"),
		node("container runtime stopped", "ServiceStopped", "runtime-down", "containerd"),
		node("kubelet starts by hand", "ServiceNotAutomatic", "kubelet-manual", ""),
		node("disk full", "DiskFull", "disk-full", ""),
		node("memory committed", "MemoryPressure", "memory-committed", ""),
		node("HNS leak", "HNSLeak", "hns-leak", "HNS endpoints for"),
		node("MTU too small", "MTUTooSmall", "mtu", "1300"),
		node("ports used up", "PortsExhausted", "port-exhaustion", ""),
		node("metadata service blocked", "MetadataBlocked", "metadata-blocked", ""),
		{name: "CNI configuration removed", cause: "CNIMissing", at: "Node", rule: guestFault("cni-removed"),
			heal: restart("calico-node-windows")},
		{name: "node deleted", cause: "NodeDeleted", at: "Node", inject: deleteNode, heal: restartKubelet},
		pod("sandbox image of another build", "PauseImageMissing", "pause-image"),
		pod("subnet.env missing", "SubnetEnvMissing", "subnet-env"),
		{name: "source VIP corrupt", cause: "SourceVIPMissing", rule: guestFault("source-vip"),
			inject: restart("kube-proxy-windows"), heal: restart("kube-proxy-windows")},
		{name: "hostname override empty", cause: "HostnameOverride", at: "Pod", inject: forgetName, heal: undo("kube-proxy-windows")},
		{name: "image of another Windows", cause: "HostBuildMismatch", at: "Pod",
			inject: run("windows", "mcr.microsoft.com/windows/nanoserver:ltsc2019"), heal: end},
		{name: "Windows image on Linux", cause: "WrongOS", at: "Pod",
			inject: run("linux", "mcr.microsoft.com/windows/nanoserver:ltsc2022"), heal: end},
		{name: "no node fits", cause: "Unschedulable", at: "Pod",
			inject: run("plan9", "mcr.microsoft.com/oss/kubernetes/pause:3.10"), heal: end},
		node("pods without network", "PodsCutOff", "mac-spoofing", "i/o timeout"),
		node("HNS without an address", "ManagementIPMissing", "no-management-ip", "ManagementIP"),
		node("own node port", "OwnNodePort", "own-node-port", "30080"),
		node("service from the node", "ServiceFromNode", "service-from-node", "10.96.0.10"),
		node("CNI leaves everything out", "ExceptionListTooWide", "cni-exceptions", "0.0.0.0/0"),
		node("CNI with another DNS", "ClusterDNSMissing", "cni-dns", "168.63.129.16"),
		{name: "source VIP of a former subnet", cause: "SourceVIPStale", at: "Node", evidence: "172.30.7.2",
			rule: guestFault("source-vip-stale"), repairs: true},
		{name: "VXLAN identifier too low", cause: "VXLANMismatch", at: "Node",
			inject: flannel(`{"VNI":1,"VtepMAC":"0e:2a:0a:01:00:04"}`), heal: flannel("")},
		{name: "Calico refuses Windows", cause: "CalicoRefusesWindows", at: "TigeraStatus", inject: tigera, heal: noTigera},
		{name: "computer name too long", inject: longName, heal: noLongName},
		{name: "cluster paused", cause: "Paused", at: "Cluster", inject: pause("true"), heal: pause("false")},
		// It is the last fault because it replaces the machine.
		{name: "sandbox image, Server 2025", cause: "PauseImageMissing", at: "Pod", inject: newRelease},
	}
	for i := range all {
		f := &all[i]
		f.check = checkNumbers()[f.name]
		if f.check == "" && f.at == "AzureMachine" {
			f.check = "A01"
		}
		switch f.name {
		case "password too long":
			f.inject, f.heal = password("a-password-of-more-than-20"), password("")
		case "kubelet stopped", "container runtime stopped", "kubelet starts by hand", "MTU too small", "ports used up", "node deleted":
			f.repairs = true
		case "quota used up", "bad token", "disk full", "image of another Windows":
			f.fast = true
		}
	}
	return all
}

// checkNumbers returns the numbers of doctor's checks by the names of faults; a number with an A
// belongs to an area.
func checkNumbers() map[string]string {
	return map[string]string{
		"password too long": "D29", "bad token": "D19", "wrong CA pinned": "D16", "wrong criSocket": "D16", "taint given twice": "D21",
		"metadata key unknown": "D18", "Jinja syntax": "D17", "user data compressed": "D17", "no route to API": "D16",
		"CNI missing on Windows": "D11", "cloud provider missing": "D20", "kubelet stopped": "D31", "container runtime stopped": "D33",
		"kubelet starts by hand": "D02", "disk full": "D34", "memory committed": "A05", "HNS leak": "D25", "MTU too small": "D26",
		"ports used up":            "D35",
		"metadata service blocked": "D32", "CNI configuration removed": "D11", "node deleted": "D01",
		"sandbox image of another build": "D12",
		"subnet.env missing":             "D09", "source VIP corrupt": "D24", "hostname override empty": "D22",
		"image of another Windows": "D14",
		"pods without network":     "D03", "HNS without an address": "D08", "own node port": "D05",
		"service from the node": "D10", "CNI leaves everything out": "D04",
		"CNI with another DNS": "D13", "source VIP of a former subnet": "D07", "VXLAN identifier too low": "D27",
		"Calico refuses Windows": "D28",
		"computer name too long": "D30", "sandbox image, Server 2025": "D15",
		"Windows image on Linux": "D14", "no node fits": "A06", "cluster paused": noCheck,
	}
}
