package faults

// fault is one thing that goes wrong, and what why has to call it.
type fault struct {
	name string
	// cause is the answer's, at the kind of object where the trouble is.
	cause, at string
	// evidence has to be in the answer, if given.
	evidence string
	// rule adds a fault to the local Azure, by the arguments of `azure faults add`.
	rule []string
	// machine says that another Windows machine is asked for after the rule was
	// added; it is deleted again.
	machine bool
	// pod says that a Windows pod is made anew after the rule was added.
	pod bool
	// inject and heal do what rules cannot.
	inject, heal func(*scene)
	// fast marks those of the short run.
	fast bool
}

// ails is an ailment of the Windows guests that run.
func ails(ailment string) []string {
	return []string{"guest", "--ailment", ailment, "--name", windowsVMs}
}

// refuses lets Azure refuse the writes of a type with a code.
func refuses(kind, status, code string) []string {
	return []string{"unavailable", "--verb", "PUT", "--type", "*/" + kind, "--name", windowsVMs + "*", "--status", status, "--code", code}
}

// windowsVMs are the Windows VMs of the cluster, by name.
const windowsVMs = "demo-md-w-*"

// table holds the faults: what Azure refuses, what spoils a boot, what happens to a
// node, what pods meet.
func table() []fault {
	vm := func(name, cause string, rule ...string) fault {
		return fault{name: name, cause: cause, at: "AzureMachine", rule: rule, machine: true}
	}
	boot := func(name, cause, ailment string) fault {
		return fault{name: name, cause: cause, at: "guest of Machine", rule: ails(ailment), machine: true}
	}
	node := func(name, cause, ailment, evidence string) fault {
		return fault{name: name, cause: cause, at: "Node", rule: ails(ailment), evidence: evidence}
	}
	pod := func(name, cause, ailment string) fault {
		return fault{name: name, cause: cause, at: "Pod", rule: ails(ailment), pod: true}
	}
	all := []fault{
		vm("quota used up", "QuotaExceeded", "quota", "--name", windowsVMs),
		vm("VM size not offered", "SKUNotAvailable", "sku", "--name", windowsVMs),
		vm("no capacity", "AllocationFailed", "operation", "--type", "*/virtualMachines", "--name", windowsVMs, "--code", "AllocationFailed"),
		vm("image missing", "ImageNotFound", refuses("virtualMachines", "404", "PlatformImageNotFound")...),
		vm("rights missing", "AuthorizationFailed", refuses("virtualMachines", "403", "AuthorizationFailed")...),
		vm("credentials refused", "CredentialsRefused", refuses("virtualMachines", "403", "InvalidAuthenticationToken")...),
		vm("policy", "PolicyDenied", refuses("virtualMachines", "403", "RequestDisallowedByPolicy")...),
		vm("subnet full", "SubnetFull", refuses("networkInterfaces", "400", "SubnetIsFull")...),
		vm("throttled", "Throttled", "throttle", "--verb", "PUT", "--type", "*/virtualMachines", "--name", windowsVMs, "--retry-after", "2"),
		vm("guest never reports", "ProvisioningTimedOut", "boot-failure", "--name", windowsVMs),
		vm("password too long", "PasswordTooLong"),
		boot("bad token", "TokenInvalid", "bad-token"),
		boot("wrong CA pinned", "CACertHashMismatch", "wrong-ca"),
		boot("wrong criSocket", "WrongCRISocket", "wrong-cri-socket"),
		boot("taint given twice", "TaintsNotUnique", "taints-twice"),
		boot("metadata key unknown", "MissingJinjaVariable", "jinja-variable"),
		boot("Jinja syntax", "JinjaSyntax", "jinja-syntax"),
		boot("user data compressed", "UserDataCompressed", "compressed"),
		boot("no route to API", "NoRouteToAPI", "no-route"),
		{name: "CNI missing on Windows", cause: "CNIMissing", at: "Node", machine: true, inject: nowhere("calico-node-windows"), heal: everywhere("calico-node-windows")},
		{name: "cloud provider missing", cause: "CloudProviderMissing", at: "Node", machine: true, inject: nowhere("cloud-node-manager-windows"), heal: everywhere("cloud-node-manager-windows")},
		node("kubelet stopped", "ServiceStopped", "kubelet-stopped", "kubelet"),
		node("container runtime stopped", "ServiceStopped", "runtime-down", "containerd"),
		node("kubelet starts by hand", "ServiceNotAutomatic", "kubelet-manual", ""),
		node("disk full", "DiskFull", "disk-full", ""),
		node("HNS leak", "HNSLeak", "hns-leak", "4000"),
		node("MTU too small", "MTUTooSmall", "mtu", "1300"),
		node("ports used up", "PortsExhausted", "port-exhaustion", ""),
		node("metadata service blocked", "MetadataBlocked", "metadata-blocked", ""),
		{name: "CNI configuration removed", cause: "CNIMissing", at: "Node", rule: ails("cni-removed"), heal: restart("calico-node-windows")},
		{name: "node deleted", cause: "NodeDeleted", at: "Node", inject: deleteNode, heal: restartKubelet},
		pod("sandbox image of another build", "PauseImageMissing", "pause-image"),
		pod("subnet.env missing", "SubnetEnvMissing", "subnet-env"),
		{name: "source VIP corrupt", cause: "SourceVIPMissing", rule: ails("source-vip"), inject: restart("kube-proxy-windows"), heal: restart("kube-proxy-windows")},
		{name: "hostname override empty", cause: "HostnameOverride", at: "Pod", inject: forgetName, heal: undo("kube-proxy-windows")},
		{name: "image of another Windows", cause: "HostBuildMismatch", at: "Pod", inject: run("windows", "mcr.microsoft.com/windows/nanoserver:ltsc2019"), heal: end},
		{name: "Windows image on Linux", cause: "WrongOS", at: "Pod", inject: run("linux", "mcr.microsoft.com/windows/nanoserver:ltsc2022"), heal: end},
		{name: "no node fits", cause: "Unschedulable", at: "Pod", inject: run("plan9", "mcr.microsoft.com/oss/kubernetes/pause:3.10"), heal: end},
		{name: "cluster paused", cause: "Paused", at: "Cluster", inject: pause("true"), heal: pause("false")},
	}
	for i := range all {
		f := &all[i]
		switch f.name {
		case "Jinja syntax":
			f.at = "AzureMachine" // the guest's agent tells Azure
		case "password too long":
			f.inject, f.heal = password("a-password-of-more-than-20"), password("")
		case "quota used up", "bad token", "disk full", "image of another Windows":
			f.fast = true
		}
	}
	return all
}
