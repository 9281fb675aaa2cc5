package guide

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// row is a promise of a guide.
type row struct {
	promise string
	// is describes the promise briefly.
	is string
	// do checks the promise; shown names other tests and rules that check it; refused is the reason
	// why it is not checked.
	do             func(w *world)
	shown, refused string
}

// document is a guide with its promises.
type document struct {
	title string
	rows  []row
}

func documents() []document {
	return []document{
		{"Windows clusters", guide()},
		{"Windows workers by Cluster API", proposal()},
		{"Windows in Kubernetes", introduction()},
	}
}

// guideManifest contains the decisive parts of the Deployment in CAPZ's guide: memory in
// milli-bytes and an image for Windows Server 2019.
const guideManifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: iis-1809}
spec:
  selector: {matchLabels: {app: iis-1809}}
  template:
    metadata: {labels: {app: iis-1809}}
    spec:
      nodeSelector: {kubernetes.io/os: windows}
      containers:
      - name: iis
        image: mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2019
        resources: {limits: {cpu: 1, memory: 800m}, requests: {cpu: .1, memory: 300m}}
`

func guide() []row {
	return []row{
		{promise: "a flavor makes clusters with Windows nodes that run containerd", is: "flavor `windows`", do: func(w *world) {
			w.has(w.kubectl("get", "nodes", "-o", "wide"), "Windows Server 2022 Datacenter", "containerd://")
		}},
		{promise: "HostProcess containers need 1.22 and their feature gate there", is: "lint finds a missing gate, the kubelet makes no sandbox",
			shown: "[WIN511](../rules/WIN511.md), [WIN811](../rules/WIN811.md), `internal/sim/kubelet TestHostProcessGate`"},
		{promise: "they need containerd 1.6, which the reference image of 1.22.1 has", is: "`images show`", do: func(w *world) {
			w.has(w.casement("images", "show", "v1.22.1"), "containerd 1.6", "k8s-1dot22dot1-windows-2019-containerd")
		}},
		{promise: "kube-proxy and the CNI of Windows nodes are HostProcess containers", is: "addons of the flavor", do: func(w *world) {
			for _, name := range []string{"kube-proxy-windows", "calico-node-windows"} {
				w.has(w.kubectl("get", "daemonset", "-n", "kube-system", name, "-o",
					"jsonpath={.spec.template.spec.securityContext.windowsOptions.hostProcess} {.status.numberReady}"), "true 1")
			}
		}},
		{promise: "they come by ClusterResourceSets", is: "one for each addon", do: func(w *world) {
			w.has(w.casement("kubectl", "get", "clusterresourcesets"), "addon-calico-windows")
		}},
		{promise: "the guide's own workload", is: "lint says what is wrong with its memory", do: func(w *world) {
			_, found := w.p.Try([]byte(guideManifest), "lint", "-")
			w.has(fmt.Sprint(found), "WIN205", "WIN702")
		}},
		{promise: "a workload runs on Windows", is: "examples/iis.yaml", do: func(w *world) {
			w.has(w.kubectl("get", "pods", "-l", "app=iis", "-o", "jsonpath={.items[*].spec.nodeName}"), w.node)
		}},
		{promise: "its Service has an external address that answers", is: "a load balancer of the local Azure", do: func(w *world) {
			w.has(w.casement("fetch", "service/iis"), "200 OK", "simulated container default/iis-")
		}},
		{promise: "names of Windows machines have at most 15 characters", is: "CAPZ's algorithm, collisions resolved", do: func(w *world) {
			if name := strings.TrimSpace(w.powershell("$env:COMPUTERNAME")); len(name) > 15 || !strings.EqualFold(name, w.node) {
				w.t.Errorf("the computer is called %q, the node %q", name, w.node)
			}
		}},
		{promise: "long names of machine pools become win- and their last five characters", is: "the same for the scale set",
			shown: "[WIN803](../rules/WIN803.md), `test/e2e/matrix TestMatrix`"},
		{promise: "the password is random and set by cloudbase-init", is: "its log says so", do: func(w *world) {
			w.has(w.casement("logs", w.node, "boot"), "set a random password")
		}},
		{promise: "SSH through the API server's machine", is: "by hand, or `casement ssh`", do: func(w *world) {
			w.has(strings.ToLower(w.casement("ssh", w.node, "--", "hostname")), w.node)
		}, shown: "`test/e2e/ssh TestPlane`"},
		{promise: "Remote Desktop through a forwarded port", is: "by hand, or `casement rdp`",
			shown: "`test/e2e/ssh TestPlane`, `internal/sim/guest TestRDP`"},
		{promise: "az lists the published images", is: "the same table, from 1.18 on", do: func(w *world) {
			w.has(w.casement("images", "list", "-o", "name"), "cncf-upstream:capi-windows:k8s-1dot22dot1-windows-2019-containerd:2021.10.15")
		}},
		{promise: "custom images are built", is: "`casement images build`", shown: "`test/e2e/images TestImages`"},
		{promise: "Docker by dockershim below 1.24, with wins.exe", is: "the annotation `runtime`",
			shown: "[WIN809](../rules/WIN809.md), `test/e2e/matrix TestMatrix`"},
		{promise: "Flannel takes 50 bytes of the 1400 that eth0 is set to", is: "netplan sets eth0, Flannel follows",
			shown: "`internal/sim/guest/shell TestNetplanMTU`, `internal/sim/stub TestFlannelNeedsPodCIDR`"},
		{promise: "AKS has Windows nodes too", is: "none",
			refused: "managed clusters are another provider's; lint and preflight know their pools' names"},
	}
}

func proposal() []row {
	return []row{
		{promise: "cloudbase-init reads the same bootstrap data as cloud-init", is: "simulated by the image's agent", do: func(w *world) {
			w.has(w.casement("logs", w.node, "boot"), "kubeadm", "cloudbaseinit")
		}},
		{promise: "Windows machines are declared, made and counted as Linux ones", is: "a MachineDeployment each", do: func(w *world) {
			for _, name := range []string{"demo-md-0", "demo-md-win"} {
				w.has(w.casement("kubectl", "get", "machinedeployment", name, "-o", "jsonpath=ready {.status.readyReplicas}"), "ready 1")
			}
		}, shown: "`test/e2e/life TestLife`"},
		{promise: "an image has to bring cloudbase-init", is: "one without it reads no custom data, and `why` says NotANodeImage",
			shown: "`test/e2e/images TestImages`"},
		{promise: "machines join with tokens of a limited life alone", is: "bootstrap tokens with an end", do: func(w *world) {
			tokens := w.kubectl("get", "secrets", "-n", "kube-system", "--field-selector", "type=bootstrap.kubernetes.io/token",
				"-o", `jsonpath={range .items[*]}token {.data.expiration}{"\n"}{end}`)
			for line := range strings.Lines(tokens) {
				if strings.TrimSpace(line) == "token" {
					w.t.Errorf("a bootstrap token has no end:\n%s", tokens)
				}
			}
		}},
		{promise: "the token is kept out of what others may read", is: "a secret of a key vault for each machine",
			shown: "`internal/azure/loader TestMake`"},
		{promise: "bootstrap providers other than kubeadm's", is: "none", refused: "the proposal leaves them out, and so does casement"},
		{promise: "Windows nodes in the management cluster", is: "none", refused: "the proposal leaves them out, and so does casement"},
		{promise: "commands run before and after kubeadm", is: "in their order",
			shown: "`internal/sim/guest TestWindowsTraps`, `internal/sim/guest TestLinuxTraps`"},
		{promise: "long names work by DNS, NetBIOS cuts them at 15", is: "refused above 15, as Azure does",
			shown: "[WIN802](../rules/WIN802.md)"},
		{promise: "nodes join a domain by commands", is: "flavor `windows-gmsa`", shown: "`test/e2e/gmsa TestGMSA`"},
		{promise: "machines are immutable and replaced", is: "a rollout", shown: "`test/e2e/life TestLife`"},
		{promise: "the control plane runs on Linux alone", is: "none on Windows", refused: "Kubernetes' control plane runs on Linux alone"},
		{promise: "addresses of scripts and programs can be one's own, with signed ones", is: "components of an image build",
			shown: "`test/e2e/images TestImages`"},
		{promise: "whoever builds images answers for Windows' licences", is: "docs/images.md says whose duty it is",
			refused: "a licence is no behaviour of a program"},
	}
}

func introduction() []row {
	return []row{
		{promise: "a container runs on hosts of its build", is: "found before, and fails as on Windows",
			shown: "[WIN702](../rules/WIN702.md), [WIN703](../rules/WIN703.md)"},
		{promise: "Linux and Windows nodes in one cluster", is: "each pod on its own, whose images alone are pulled", do: func(w *world) {
			w.has(w.kubectl("get", "nodes", "-o", "jsonpath={.items[*].status.nodeInfo.operatingSystem}"), "linux", "windows")
		}, shown: "[WIN001](../rules/WIN001.md), [WIN704](../rules/WIN704.md), `internal/sim/kubelet TestPlatform`"},
		{promise: "exit codes are handed on as on Linux", is: "by exec too", do: func(w *world) {
			w.has(w.p.Everything("kubectl", "--kubeconfig", w.kubeconfig, "exec", w.pod, "--", "cmd", "/c", "exit", "3"), "exit code 3")
		}},
		{promise: "Windows has no OOM killer: limit memory", is: "kubelets evict by committed memory",
			shown: "[WIN204](../rules/WIN204.md), `internal/sim/kubelet TestEvictedByCommittedMemory`"},
		{promise: "NodePorts answer other machines", is: "kube-proxy of each node", do: func(w *world) {
			w.kubectl("expose", "deployment", "iis", "--name", "ports", "--type", "NodePort", "--port", "80")
			port := strings.TrimSpace(w.kubectl("get", "service", "ports", "-o", "jsonpath={.spec.ports[0].nodePort}"))
			address := strings.TrimSpace(w.kubectl("get", "node", w.node, "-o", `jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`))
			linux := strings.TrimSpace(w.kubectl("get", "nodes", "-l", "kubernetes.io/os=linux,!node-role.kubernetes.io/control-plane",
				"-o", "jsonpath={.items[0].metadata.name}"))
			w.has(w.casement("ssh", linux, "--", "curl -s --retry 10 --retry-connrefused http://"+address+":"+port),
				"simulated container default/iis-")
		}},
		{promise: "services of one's own by sc.exe", is: "made, queried, deleted", do: func(w *world) {
			const program = `C:\Windows\System32\svchost.exe`
			w.has(w.casement("ssh", w.node, "--", `sc.exe create guide binPath= "`+program+`"`), "SUCCESS")
			w.has(w.powershell("(Get-Service guide).Status"), "Stopped")
			w.has(w.casement("ssh", w.node, "--", "sc.exe delete guide"), "SUCCESS")
		}},
		{promise: "nssm makes programs services", is: "on images that have it",
			shown: "`internal/sim/guest/shell TestNoNSSMOnNewerImages`, `test/e2e/matrix TestMatrix`"},
		{promise: "DNS: no ClusterFirstWithHostNet, one suffix", is: "found",
			shown: "[WIN402](../rules/WIN402.md), [WIN403](../rules/WIN403.md)"},
		{promise: "a source VIP of a former subnet has to be deleted", is: "`doctor` and `why` name it, and the files",
			shown: "`test/e2e/faults TestProbesInGuests`"},
		{promise: "flanneld waits for a network without a management address", is: "`doctor` and `why` name it",
			shown: "`test/e2e/faults TestProbesInGuests`"},
		{promise: "a Windows node does not reach Services by their addresses", is: "`why` names it; the simulated node does reach them",
			shown: "`test/e2e/faults TestProbesInGuests`"},
		{promise: "MAC spoofing has to be allowed to virtual machines", is: "none",
			refused: "a setting of Hyper-V on one's own hosts; Azure's machines have none"},
		{promise: "memory of a node is reserved for Windows", is: "2 GiB by the flavors", do: func(w *world) {
			amounts := strings.Fields(w.kubectl("get", "node", w.node, "-o", "jsonpath={.status.capacity.memory} {.status.allocatable.memory}"))
			left := resource.MustParse(amounts[0])
			left.Sub(resource.MustParse(amounts[1]))
			if left.Value() < 2<<30 {
				w.t.Errorf("%s are reserved of %s", left.String(), amounts[0])
			}
		}},
		{promise: "kubelet and containerd are services that start again", is: "sc.exe and nssm show them", do: func(w *world) {
			w.has(w.powershell("(Get-Service kubelet,containerd).Status -join ','"), "Running,Running")
			w.has(w.casement("ssh", w.node, "--", "sc.exe qfailure kubelet"), "RESTART")
		}},
		{promise: "the network of pods is one of HNS", is: "Overlay for Calico, L2Bridge for Azure's CNI", do: func(w *world) {
			w.has(w.powershell("(Get-HnsNetwork | ? Name -EQ Calico).Type"), "Overlay")
			w.has(w.powershell("(Get-HnsNetwork | ? Name -EQ Calico).Subnets.Policies.VSID"), "4096")
			w.has(w.powershell(`(Get-NetAdapter | ? Name -Like 'vEthernet (Ethernet*').Name`), "vEthernet")
		}, shown: "`internal/sim/guest/shell TestHNS`"},
		{promise: "pods have endpoints, Services policies", is: "of the node's pods and of kube-proxy", do: func(w *world) {
			pod := strings.TrimSpace(w.kubectl("get", w.pod, "-o", "jsonpath={.status.podIP}"))
			service := strings.TrimSpace(w.kubectl("get", "service", "iis", "-o", "jsonpath={.spec.clusterIP}"))
			w.has(w.powershell("(Get-HnsEndpoint).IPAddress -join ','"), pod)
			w.has(w.powershell("(Get-HnsPolicyList).Policies.VIPs -join ','"), service)
		}},
		{promise: "the ExceptionList has what is not translated", is: "in the node's CNI configuration", do: func(w *world) {
			w.has(w.powershell(`Get-Content C:\etc\cni\net.d\10-calico.conflist`), "ExceptionList", "10.96.0.0/12", "Nameservers")
		}, shown: "[WIN823](../rules/WIN823.md)"},
		{promise: "pods reach Services by name, and the outside by TCP",
			is: "in the cluster; the outside is refused with a reason", do: func(w *world) {
				w.has(w.exec("curl -s http://iis.default.svc.cluster.local"), "simulated container default/iis-")
				w.has(w.exec("powershell (Resolve-DnsName kubernetes.default.svc.cluster.local).IPAddress"), "10.96.0.1")
			}, shown: "`internal/sim/host TestExecReachesTheFabric`"},
		{promise: "Services of every type", is: "ExternalName is another name, headless ones have the pods' addresses",
			shown: "`internal/sim/host TestNamesOfOtherNames`, `test/e2e/guide TestGuide`"},
		{promise: "secrets lie on the node's disk: restrict them by access lists",
			is: "icacls keeps lists; nothing is refused by them", do: func(w *world) {
				const pods = `C:\var\lib\kubelet\pods`
				w.casement("ssh", w.node, "--", `icacls `+pods+` /inheritance:r /grant "*S-1-5-18:(OI)(CI)F" "*S-1-5-32-544:(OI)(CI)F"`)
				if list := w.casement("ssh", w.node, "--", "icacls "+pods); strings.Contains(list, "Users") ||
					!strings.Contains(list, `NT AUTHORITY\SYSTEM`) {
					w.t.Errorf("the list is\n%s", list)
				}
			}, shown: "[WIN306](../rules/WIN306.md)"},
		{promise: "encrypt the volume", is: "`Get-BitLockerVolume` shows one that is not; encryption at host is the VM's", do: func(w *world) {
			w.has(w.powershell("(Get-BitLockerVolume C:).ProtectionStatus"), "Off")
		}},
		{promise: "containers run as users of Windows", is: "runAsUserName, if the image has it; runAsUser is found", do: func(w *world) {
			w.has(w.exec("whoami"), `user manager\containeradministrator`)
			host := strings.TrimSpace(w.kubectl("get", "pods", "-n", "kube-system", "-l", "k8s-app=calico-node-windows", "-o", "name"))
			w.has(w.kubectl("exec", "-n", "kube-system", host, "-c", "node", "--", "whoami"), `nt authority\system`)
		}, shown: "[WIN106](../rules/WIN106.md), [WIN518](../rules/WIN518.md), `internal/sim/guest TestContainerUser`, " +
			"`internal/sim/kubelet TestUserThatDoesNotExist`"},
		{promise: "privileges and security contexts of Linux do not exist", is: "found, and refused by the kubelet",
			shown: "[WIN117](../rules/WIN117.md), [WIN113](../rules/WIN113.md), `internal/sim/kubelet TestAdmission`"},
		{promise: "volumes of Secrets, ConfigMaps and claims", is: "in containers, by the kubelet's layout",
			shown: "`test/e2e/quickstart TestQuickstart`, `internal/sim/kubelet TestVolumes`, `internal/sim/kubelet TestClaims`"},
		{promise: "CSI by csi-proxy", is: "an addon of the flavor", do: func(w *world) {
			w.has(w.kubectl("get", "pods", "-n", "kube-system", "-o", "wide"), "csi-proxy")
		}},
		{promise: "a node does not reach its own node ports", is: "`why` names it; the simulated node does reach them",
			shown: "`test/e2e/faults TestProbesInGuests`"},
		{promise: "flanneld leaves subnet.env", is: "without it no sandbox", shown: "`internal/sim/kubelet TestSandboxProblem`"},
		{promise: "kube-proxy needs --hostname-override", is: "a check of `doctor`", shown: "`test/e2e/faults TestFaults`"},
		{promise: "the pause image fits the host", is: "found", shown: "[WIN707](../rules/WIN707.md)"},
		{promise: "Hyper-V isolation by RuntimeClass", is: "found: Kubernetes does not support it",
			shown: "[WIN708](../rules/WIN708.md), [WIN709](../rules/WIN709.md)"},
		{promise: "logs, exec and cp as for Linux", is: "of simulated containers", do: func(w *world) {
			w.has(w.kubectl("logs", w.pod), "simulated container")
			w.has(w.exec("cmd /c ver"), "Version 10.0.20348.")
		}},
		{promise: "flags of the kubelet that guides still have are gone", is: "found", shown: "[WIN812](../rules/WIN812.md)"},
		{promise: "IPv6 and dual stack", is: "L2bridge alone", refused: "Windows' overlay carries no IPv6, and the local plane none at all"},
	}
}

// shows returns the text of the table's column with the proof of a row.
func (r row) shows() string {
	switch {
	case r.refused != "":
		return "Refused: " + r.refused
	case r.do == nil:
		return r.shown
	}
	return strings.TrimSuffix("`test/e2e/guide TestGuide`, "+r.shown, ", ")
}

// table returns the rows as Markdown tables, one section for each guide.
func table() string {
	var out strings.Builder
	for _, d := range documents() {
		fmt.Fprintf(&out, "### %s\n\n| what is promised | what there is | shown by |\n|---|---|---|\n", d.title)
		for _, r := range d.rows {
			fmt.Fprintf(&out, "| %s | %s | %s |\n", r.promise, r.is, r.shows())
		}
		out.WriteString("\n")
	}
	return out.String()
}
