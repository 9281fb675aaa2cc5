package walk

import (
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/repair"
)

// Probe is a check that has to run on the node. Its command only reads.
type Probe struct {
	// Name is the cause that the probe finds.
	Name string
	// Command is the PowerShell command of the probe.
	Command   string
	Says, Fix string
	// Remedy is PowerShell that repairs the node and has no other effect, or "". Package repair has the remedies that
	// also run unattended.
	Remedy string
	// Breaks is true if the remedy breaks connections, so that the node has to be drained first.
	Breaks bool
	// basic is true for probes that explain why a node is not Ready; the other probes are for Ready nodes.
	basic bool
	// reads names the probe whose output this probe examines; it is "" for a probe with its own command.
	reads string
	// judge returns the evidence of a fault, or "".
	judge func(out string, at surroundings) string
}

// surroundings are the known facts about the probed node. node may be nil.
type surroundings struct {
	// pods is the number of pods on the node.
	pods    int
	node    *corev1.Node
	cluster *clusterv1.Cluster
}

// Commands whose output two probes examine.
const (
	showCNI     = `Get-Content C:\etc\cni\net.d\*.conf*` // a kubeconfig with a token is in the same directory
	showWaiting = "Get-NetTCPConnection -State SynSent | Select-Object LocalAddress,RemoteAddress,RemotePort | ConvertTo-Json -Compress"
)

// Probes returns the probes in the order in which their results are examined.
func Probes() []Probe {
	all := probes()
	for i := range all {
		if r, ok := repair.Find(all[i].Name); ok {
			all[i].Remedy, all[i].Breaks = r.Step, r.Breaks
		}
	}
	return all
}

func probes() []Probe {
	return []Probe{
		{Name: "ServiceStopped", basic: true, Command: "Get-Service kubelet,containerd", judge: stoppedService,
			Says:   "a service that the node needs has stopped",
			Fix:    "Start-Service kubelet; look at its log and at the system event log (7031, 7034)",
			Remedy: "Start-Service containerd; Start-Service kubelet"},
		{Name: "HNSStopped", Command: "Get-Service hns", judge: stoppedService,
			Says: "the Host Networking Service has stopped: no pod gets an interface, and kube-proxy changes nothing",
			Fix:  "Start-Service hns, restart the node's kube-proxy; look at the system event log (7031, 7034)"},
		{Name: "ManagementIPMissing", basic: true,
			Command: "Get-HnsNetwork | Select-Object Name,Type,ManagementIP | ConvertTo-Json -Compress",
			judge:   noManagementIP,

			Says: "an HNS network has no management address: the switch was made while the adapter had none, and the CNI waits for it",
			Fix:  "restart the CNI's pod on the node with its interface named (flanneld --iface), or restart the node"},
		{Name: "ServiceNotAutomatic", Command: "sc.exe qc kubelet", judge: match(`DEMAND_START|DISABLED`),
			Says:   "the kubelet does not start with the machine, so a reboot takes the node away",
			Fix:    "Set-Service kubelet -StartupType Automatic",
			Remedy: "Set-Service kubelet -StartupType Automatic"},
		{Name: "SourceVIPMissing", Command: `Get-Content C:\sourcevip\sourceVip.json`, judge: brokenJSON,
			Says: "the source VIP that kube-proxy has cached is not valid",
			Fix:  `delete C:\sourcevip\sourceVip.json, restart the node's kube-proxy`},
		{Name: "SourceVIPStale", reads: "SourceVIPMissing", Command: `Get-Content C:\sourcevip\sourceVip.json`, judge: staleVIP,
			Says: "the source VIP that kube-proxy has cached is of a subnet that the node no longer has",
			Fix:  `delete C:\sourcevip\sourceVip.json, restart the node's kube-proxy`},
		{Name: "HNSLeak", Command: "@(Get-HnsEndpoint | Where-Object IsRemoteEndpoint -ne $true).Count", judge: manyEndpoints,
			Says: "the node has far more HNS endpoints than pods; crashed pods have left theirs behind",
			Fix:  "drain the node, remove stale HNS endpoints, restart hns, or replace the machine"},
		{Name: "MTUTooSmall", Command: "Get-NetIPInterface -AddressFamily IPv4", judge: smallMTU,
			Says:   "the adapter's MTU leaves no room for the overlay: small requests work, large ones hang",
			Fix:    "Set-NetIPInterface -InterfaceAlias 'vEthernet (Ethernet)' -NlMtuBytes 1500",
			Remedy: "Set-NetIPInterface -InterfaceAlias 'vEthernet (Ethernet)' -NlMtuBytes 1500"},
		{Name: "PortsExhausted", Command: "netsh int ipv4 show dynamicport tcp; (Get-NetTCPConnection).Count", judge: fewPorts,
			Says:   "outbound connections have used up the dynamic ports",
			Fix:    "netsh int ipv4 set dynamicport tcp start=16385 num=49151; find what leaks connections",
			Remedy: "netsh int ipv4 set dynamicport tcp start=16385 num=49151"},
		{Name: "MetadataBlocked", Command: "Test-NetConnection 169.254.169.254 -Port 80", judge: match(`TcpTestSucceeded\s*:\s*False`),
			Says: "the metadata service does not answer the node",
			Fix:  "route -p add 169.254.169.254 mask 255.255.255.255 GATEWAY; remove firewall rules against it"},
		{Name: "ExceptionListTooWide", Command: showCNI, judge: wideException,
			Says: "the CNI leaves outside addresses out of address translation, so pods have no way there",
			Fix:  "name only the pod, service and node ranges in ExceptionList; recreate the node's pods"},
		{Name: "ClusterDNSMissing", reads: "ExceptionListTooWide", Command: showCNI, judge: foreignDNS,
			Says: "the CNI gives pods a DNS server that is not the cluster's, so names of services do not resolve",
			Fix:  "name the cluster's DNS service in the CNI's dns.nameservers; recreate the node's pods"},
		{Name: "OwnNodePort", Command: showWaiting, judge: ownNodePort,
			Says: "a program on the node waits for a node port of the same node, which Windows does not reach",
			Fix:  "use another node's address, or the pod's"},
		{Name: "ServiceFromNode", reads: "OwnNodePort", Command: showWaiting, judge: serviceFromNode,
			Says: "a program on the node waits for a service's cluster address, which older Windows builds " +
				"reach from pods alone", Fix: "run the program in a pod, or use a node port of another node"},
	}
}
