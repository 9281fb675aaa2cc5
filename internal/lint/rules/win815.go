package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/kubechange"
	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

// win815: Commands of Linux on Windows.
var win815 = lint.Rule{
	ID:       "WIN815",
	Severity: lint.Error,
	Title:    "Commands of Linux on Windows",
	Oracle:   lint.Unit,
	Doc: "preKubeadmCommands and postKubeadmCommands run in cmd.exe: bash, sed, systemctl and paths such as /etc fail " +
		"there or do nothing, and the bootstrap continues without a message. Write PowerShell. A script that bash is " +
		"to run is a warning: an image can have bash.exe. Source: cloudbase/cloudbase-init doc/source/userdata.rst.",
	Bad:   workers(kuberelease.Default, "preKubeadmCommands:\n- systemctl restart containerd\n"),
	Good:  workers(kuberelease.Default, "preKubeadmCommands:\n- powershell Restart-Service containerd\n"),
	Check: eachBootstrap(checkWIN815),
}

func checkWIN815(p *lint.Pass, m machines, k lint.Value) {
	for _, key := range []string{"preKubeadmCommands", "postKubeadmCommands"} {
		for _, v := range k.At(key).Items() {
			switch {
			case bashScript.MatchString(v.Str()):
				p.ReportAs(lint.Warning, m.config, v, "bash runs a script, and images for Windows nodes have no bash", say("PowerShell"))
			case linuxCommand.MatchString(v.Str()) && !windowsShell.MatchString(v.Str()):
				p.Report(m.config, v, "a command of Linux: cmd.exe runs it", say("PowerShell"))
			}
		}
	}
}

// win816: Files for Linux on Windows.
var win816 = lint.Rule{
	ID:       "WIN816",
	Severity: lint.Warning,
	Title:    "Files for Linux on Windows",
	Oracle:   lint.Unit,
	Doc: "`/etc/kubernetes/azure.json` lands in C:\\etc\\kubernetes, where the components of Windows do not look; " +
		"owners do not exist. kubeadm's own directories, such as that of its patches, are below C:\\etc there too and " +
		"are left alone. Source: the Windows templates of kubernetes-sigs/cluster-api-provider-azure; cloudbase-init " +
		"write_files.py.",
	Bad:   workers(kuberelease.Default, "files:\n- path: /etc/kubernetes/azure.json\n  owner: root:root\n"),
	Good:  workers(kuberelease.Default, "files:\n- path: c:/k/azure.json\n"),
	Check: eachBootstrap(checkWIN816),
}

func checkWIN816(p *lint.Pass, m machines, k lint.Value) {
	patches := k.At("joinConfiguration", "patches", "directory").Str()
	for _, f := range k.At("files").Items() {
		name := f.At("path")
		forKubeadm := patches != "" && strings.HasPrefix(name.Str(), strings.TrimSuffix(patches, "/")+"/") ||
			strings.HasPrefix(name.Str(), "/etc/kubernetes/pki/")
		if strings.HasPrefix(name.Str(), "/") && !forKubeadm {
			p.Report(m.config, name, fmt.Sprintf("it lands in C:%s, where nothing of Windows "+
				"looks", strings.ReplaceAll(name.Str(), "/", `\`)), say("a path of Windows, such as c:/k/azure.json"))
		}
		if v := f.At("owner"); v.Str() != "" {
			p.Report(m.config, v, "files have no such owner on Windows: ignored", say("take it out"))
		}
	}
}

// win817: A password's hash.
var win817 = lint.Rule{
	ID:       "WIN817",
	Severity: lint.Error,
	Title:    "A password's hash",
	Oracle:   lint.Unit,
	Doc: "On Windows `passwd` is the password itself, in plain text: of a hash for Linux, the text of the hash " +
		"becomes the password. shell, sudo and lockPassword are ignored. Source: cloudbase/cloudbase-init " +
		"doc/source/userdata.rst.",
	Bad:   workers(kuberelease.Default, "users:\n- name: capi\n  passwd: $6$salt$hash\n  groups: Administrators\n"),
	Good:  workers(kuberelease.Default, "users:\n- name: capi\n  groups: Administrators\n"),
	Check: eachBootstrap(checkWIN817),
}

func checkWIN817(p *lint.Pass, m machines, k lint.Value) {
	for _, u := range k.At("users").Items() {
		if v := u.At("passwd"); cryptHash.MatchString(v.Str()) {
			p.Report(m.config, v, "Windows takes the hash itself as the password", safe("take it out, and "+
				"use sshAuthorizedKeys", lint.Delete(v)))
		}
	}
}

// win818: Memory reserved for the kubelet.
var win818 = lint.Rule{
	ID:       "WIN818",
	Severity: lint.Info,
	Title:    "Room for the kubelet",
	Oracle:   lint.Unit,
	Doc: "Busy pods starve the kubelet of processor time unless it has a higher priority class, and Windows pages to " +
		"disk unless memory is reserved for the system: 2Gi or more. Either may be set by flags or in the kubelet's " +
		"configuration. From 1.31 on the kubelet evicts by committed memory, with the page file in it; before, a Windows node " +
		"evicted nothing for its memory. Source: kubernetes.io/docs/concepts/configuration/windows-resource-management; " +
		"kubernetes 122922.",
	Bad:   workers(kuberelease.Default, kubelet("v: '2'")),
	Good:  workers(kuberelease.Default, kubelet("windows-priorityclass: ABOVE_NORMAL_PRIORITY_CLASS", "system-reserved: memory=2Gi")),
	Check: eachBootstrap(checkWIN818),
}

func checkWIN818(p *lint.Pass, m machines, k lint.Value) {
	all, at := kubeletFlags(k), k.At("joinConfiguration", "nodeRegistration", "kubeletExtraArgs")
	if _, ok := named(all, "windows-priorityclass"); !ok && !mentions(k, "windows-priorityclass") {
		p.Report(m.config, at, "the kubelet has no higher priority than pods, which can starve "+
			"it", say("windows-priorityclass: ABOVE_NORMAL_PRIORITY_CLASS"))
	}
	if !reserves(all) && !mentions(k, "systemReserved") && !mentions(k, "kubeReserved") {
		then := "before it evicts, as it counts committed memory"
		if !m.target(p.Target).AtLeast(31) {
			then = "and evicts nothing before 1.31"
		}
		p.Report(m.config, at, "less than 2Gi of memory is reserved for Windows itself: the node pages "+then, say("system-reserved: memory=2Gi"))
	}
}

// win819: A machine too small for Windows.
var win819 = lint.Rule{
	ID:       "WIN819",
	Severity: lint.Warning,
	Title:    "A machine too small for Windows",
	Oracle:   lint.Unit,
	Doc: "Windows nodes want 4 processors, 8 GB of memory and a system disk of 128 GB for images and layers. There " +
		"are none for Arm, which is an error. Source: kubernetes.io/docs/concepts/windows/intro; the templates of " +
		"kubernetes-sigs/cluster-api-provider-azure.",
	Bad:   windowsTemplate("        diskSizeGB: 64\n      vmSize: Standard_B2ms\n"),
	Good:  windowsTemplate("        diskSizeGB: 128\n      vmSize: Standard_D4s_v3\n"),
	Check: eachWindows(checkWIN819),
}

func checkWIN819(p *lint.Pass, m machines) {
	if v := m.vm().At("osDisk", "diskSizeGB"); v.Exists() {
		if n, ok := v.Int(); ok && n < 128 {
			p.Report(m.infra, v, fmt.Sprintf("%d GB: Windows, its images and layers hardly "+
				"fit", n), say("128 or more"))
		}
	}
	v := m.vm().At("vmSize")
	if m.infra.Kind == "AzureManagedMachinePool" {
		v = m.vm().At("sku")
	}
	if parts := vmSize.FindStringSubmatch(v.Str()); parts != nil {
		if n, _ := strconv.Atoi(parts[1]); strings.Contains(parts[2], "p") {
			p.ReportAs(lint.Error, m.infra, v, v.Str()+" is an Arm size: Kubernetes has no Windows for "+
				"it", say("a size with x64 processors"))
		} else if n < 4 {
			p.Report(m.infra, v, fmt.Sprintf("%s has %d processors: Windows nodes want 4, and 8 GB of "+
				"memory", v.Str(), n), say("Standard_D4s_v3 or larger"))
		}
	}
}

// win820: Calico without Windows.
var win820 = lint.Rule{
	ID:       "WIN820",
	Severity: lint.Error,
	Title:    "Calico without Windows",
	Oracle:   lint.Unit,
	Doc: "For Windows nodes Calico needs `windowsDataplane: HNS`, the cluster's `serviceCIDRs`, VXLAN without " +
		"CrossSubnet and without BGP (Windows has no IP in IP), and strict affinity of its IP blocks. A " +
		"ClusterResourceSet that installs Calico for Windows apart needs none of the first two. Source: " +
		"templates/addons/windows/calico of kubernetes-sigs/cluster-api-provider-azure; docs.tigera.io, limitations " +
		"of Calico for Windows.",
	Bad:   demoCluster + installation("    windowsDataplane: Disabled\n"),
	Good:  demoCluster + installation("    windowsDataplane: HNS\n  serviceCIDRs: [10.96.0.0/12]\n"),
	Check: eachCalico(calico),
}

// win821: An MTU too large for Azure.
var win821 = lint.Rule{
	ID:       "WIN821",
	Severity: lint.Warning,
	Title:    "An MTU too large for Azure",
	Oracle:   lint.Unit,
	Doc: "Azure's virtual network carries 1400 bytes, of which VXLAN takes 50: a larger MTU than 1350 in Calico loses " +
		"packets between Linux and Windows. Flannel takes off the 50 itself, so its `MTU` is 1400. Source: " +
		"templates/addons/calico/patches/azure-mtu.yaml and the Windows chapter of kubernetes-sigs/cluster-api-provider-azure.",
	Bad:   demoCluster + installation("    mtu: 1450\n"),
	Good:  demoCluster + installation("    mtu: 1350\n"),
	Check: checkWIN821,
}

func checkWIN821(p *lint.Pass) {
	eachCalico(func(p *lint.Pass, o *lint.Object, spec lint.Value, at func(lint.Value) lint.Value) {
		v := spec.At("calicoNetwork", "mtu")
		if n, ok := v.Int(); ok && n > windows.OverlayMTU {
			p.Report(o, at(v), fmt.Sprintf("an MTU of %d: packets between Linux and Windows on Azure are "+
				"lost", n), say(fmt.Sprintf("mtu: %d", windows.OverlayMTU)))
		}
	})(p)
	eachFlannel(func(p *lint.Pass, o *lint.Object, at, conf lint.Value) {
		if n, ok := conf.At("Backend", "MTU").Int(); ok && n != windows.AzureMTU {
			p.Report(o, at, fmt.Sprintf("Flannel's MTU is %d: packets between Linux and Windows on Azure "+
				"are lost", n), say(fmt.Sprintf(`"MTU": %d`, windows.AzureMTU)))
		}
	})(p)
}

// win822: VXLAN settings of Flannel that Windows does not support.
var win822 = lint.Rule{
	ID:       "WIN822",
	Severity: lint.Error,
	Title:    "VXLAN of Flannel that Windows cannot",
	Oracle:   lint.Unit,
	Doc: "VXLAN on Windows takes the network identifier 4096 and the port 4789 alone, and Flannel's own defaults are " +
		"others. Source: kubernetes.io/docs/concepts/services-networking/windows-networking.",
	Bad:   windowsPod + container + "---\n" + flannel(`"Type": "vxlan"`),
	Good:  windowsPod + container + "---\n" + flannel(`"Type": "vxlan", "VNI": 4096, "Port": 4789`),
	Check: eachFlannel(checkWIN822),
}

func checkWIN822(p *lint.Pass, o *lint.Object, at, conf lint.Value) {
	backend := conf.At("Backend")
	vni, _ := backend.At("VNI").Int()
	port, _ := backend.At("Port").Int()
	if strings.EqualFold(backend.At("Type").Str(), "vxlan") && (vni != windows.WindowsVNI || port != windows.WindowsVXLANPort) {
		p.Report(o, at, "Windows takes VXLAN with VNI 4096 and port 4789 alone", say(`"VNI": 4096, "Port": 4789`))
	}
}

// win823: Networks that are not excepted from NAT.
var win823 = lint.Rule{
	ID:       "WIN823",
	Severity: lint.Warning,
	Title:    "Networks that are not excepted from NAT",
	Oracle:   lint.Unit,
	Doc: "The OutBoundNAT policy of the CNI configuration translates every destination that its ExceptionList does " +
		"not name: the pod network, the Service network and the nodes' subnet belong there, and nothing outside the " +
		"cluster. Source: learn.microsoft.com/virtualization/windowscontainers/kubernetes/common-problems.",
	Bad:   demoCluster + cniConf("10.0.0.0/16"),
	Good:  demoCluster + cniConf(`10.96.0.0/12", "10.0.0.0/16`),
	Check: outboundNAT,
}

// win824: A pod network without IPv4.
var win824 = lint.Rule{
	ID:       "WIN824",
	Severity: lint.Error,
	Title:    "A pod network without IPv4",
	Oracle:   lint.Unit,
	Doc: "Windows has no networking of pods with IPv6 alone. With an overlay network dual-stack does not work either, " +
		"and kube-proxy falls back to IPv4: a warning. Source: " +
		"kubernetes.io/docs/concepts/services-networking/dual-stack; KEP-5100.",
	Bad:   cluster(podCIDR+"'fd00::/48'"+serviceCIDR) + workers(kuberelease.Default, "users: []\n"),
	Good:  cluster(podCIDR+"10.0.0.0/16"+serviceCIDR) + workers(kuberelease.Default, "users: []\n"),
	Check: eachCluster(checkWIN824),
}

func checkWIN824(p *lint.Pass, o *lint.Object) {
	v := o.Root.At("spec", "clusterNetwork", "pods", "cidrBlocks")
	four, six := false, false
	for _, block := range v.Strings() {
		if prefix, err := netip.ParsePrefix(block); err == nil {
			four, six = four || prefix.Addr().Is4(), six || prefix.Addr().Is6()
		}
	}
	switch {
	case six && !four:
		p.Report(o, v, "pods on Windows have no IPv6 alone", say("a block of IPv4, or both"))
	case six:
		p.ReportAs(lint.Warning, o, v, "an overlay network on Windows has no dual-stack: kube-proxy falls "+
			"back to IPv4", say("IPv4 alone, unless the CNI is no overlay"))
	}
}

// win825: kube-proxy on Windows.
var win825 = lint.Rule{
	ID:       "WIN825",
	Severity: lint.Warning,
	Title:    "kube-proxy on Windows",
	Oracle:   lint.Unit,
	Doc: "kube-proxy has the cluster's version, the mode kernelspace, which alone exists on Windows, and the node's " +
		"name by `NODE_NAME` or --hostname-override. `externalTrafficPolicy: Local` needs --enable-dsr. From 1.37 kubeadm " +
		"writes `mode: iptables` into the ConfigMap kube-proxy where nothing else is asked for: a kube-proxy on Windows that " +
		"reads it with --config exits, unless its script sets kernelspace. Source: " +
		"templates/addons/windows/calico/kube-proxy-windows.yaml of kubernetes-sigs/cluster-api-provider-azure; " +
		"kubernetes pkg/proxy/apis/config/validation, #139777.",
	Bad:   kubeProxy("v1.34.0", ""),
	Good:  kubeProxy(kuberelease.Default, "    env:\n    - name: NODE_NAME\n      value: x\n"),
	Pod:   eachContainer(kubeProxyContainer),
	Check: checkWIN825,
}

func checkWIN825(p *lint.Pass) {
	for _, o := range p.Set.Kind("ConfigMap") {
		if !strings.Contains(o.Name, "proxy") || !strings.Contains(o.Name, "windows") {
			continue
		}
		for _, f := range o.Root.At("data").Fields() {
			conf := embedded(f.Value.Str())
			if mode := conf.At("mode").Str(); conf.At("kind").Str() == "KubeProxyConfiguration" && slices.Contains([]string{"iptables",
				"ipvs", "nftables"}, mode) {
				p.Report(o, f.Value, fmt.Sprintf("kube-proxy on Windows has no mode "+
					"%s", mode), say("mode: kernelspace"))
			}
		}
	}
}

// win826: A release with known vulnerabilities and defects on Windows.
var win826 = lint.Rule{
	ID:       "WIN826",
	Severity: lint.Warning,
	Title:    "A release with known holes on Windows",
	Oracle:   lint.Unit,
	Doc: "Kubelets before these releases let a user who may create pods become administrator of a Windows node: " +
		"1.28.1, 1.27.5, 1.26.8, 1.25.13, 1.24.17 (CVE-2023-3676, CVE-2023-3955); 1.28.4, 1.27.8, 1.26.11, 1.25.16 " +
		"(CVE-2023-5528); 1.32.1, 1.31.5, 1.30.9, 1.29.13 (CVE-2024-9042). So does csi-proxy up to 1.1.2 " +
		"(CVE-2023-3893). Defects of kubelet and kube-proxy that a release of the same minor has fixed are a warning too, " +
		"those without one an info; they are reported for what they hit: Services with two IP families, L2Bridge networks, " +
		"containers with several subPaths, and the machines where all are hit. docs/reference/kubernetes.md lists them. " +
		"Source: kubernetes issues 119339, 119595, 121879, 129654, 119594, and the CHANGELOG of each minor.",
	Bad:   workers("v1.28.0", "users: []\n"),
	Good:  workers("v1.37.2", "users: []\n"),
	Pod:   checkWIN826Pod,
	Check: checkWIN826,
}

func checkWIN826Pod(p *lint.Pass, pod *lint.Pod) {
	for _, c := range pod.Containers() {
		v := c.At("image")
		var major, minor, patch int
		parts := csiProxyImage.FindStringSubmatch(v.Str())
		if parts != nil {
			if _, err := fmt.Sscan(strings.Join(parts[1:], " "), &major, &minor, &patch); err == nil &&
				slices.Compare([]int{major, minor, patch}, []int{1, 1, 3}) < 0 {
				p.Report(pod.Object, v, "csi-proxy up to 1.1.2 has CVE-2023-3893", say("1.1.3 or newer"))
			}
		}
		if severalSubPaths(c) {
			reportDefects(p, pod.Object, c.At("volumeMounts"), p.Target, kubechange.SubPaths)
		}
	}
	if user := pod.Spec.At("securityContext", "runAsUser"); user.Exists() {
		reportDefects(p, pod.Object, user, p.Target, kubechange.RunAsUser)
	}
}

func checkWIN826(p *lint.Pass) {
	eachWindows(func(p *lint.Pass, m machines) {
		if t := m.target(p.Target); m.version.Exists() && m.target(lint.Target{}).Minor > 0 {
			scopes := []kubechange.Scope{kubechange.Everywhere}
			if m.cluster != nil && strings.Contains(m.cluster.Root.At("metadata", "labels", "cni").Str(), "azure") {
				scopes = append(scopes, kubechange.Bridge)
			}
			if m.cluster != nil && len(m.cluster.Root.At("spec", "clusterNetwork", "services", "cidrBlocks").Items()) > 1 {
				scopes = append(scopes, kubechange.DualStack)
			}
			reportDefects(p, m.owner, m.version, t, scopes...)
		}
	})(p)
	if !windowsMachines(p.Set) {
		return
	}
	for _, s := range p.Set.Kind("Service") {
		if policy := s.Root.At("spec", "ipFamilyPolicy"); strings.HasSuffix(policy.Str(), "DualStack") {
			reportDefects(p, s, policy, p.Target, kubechange.DualStack)
		}
		if policy := s.Root.At("spec", "internalTrafficPolicy"); policy.Str() == "Local" {
			reportDefects(p, s, policy, p.Target, kubechange.LocalTraffic)
		}
	}
}

// reportDefects reports the vulnerabilities and defects of a release in at most two findings: those that a later
// release of the same minor version has fixed, and the others.
func reportDefects(p *lint.Pass, o *lint.Object, at lint.Value, t lint.Target, scopes ...kubechange.Scope) {
	var fixed, open []string
	newest := kubechange.Release{}
	for _, d := range kubechange.Defects() {
		if !slices.Contains(scopes, d.Scope) || !d.Has(t.Minor, t.Patch) {
			continue
		}
		text := fmt.Sprintf("%s (%s: %s)", d.Name, d.Program, d.Why)
		fix := d.Fix(t.Minor)
		if d.CVE || fix.Minor == t.Minor {
			fixed = append(fixed, text)
			if fix.Minor > newest.Minor || fix.Minor == newest.Minor && fix.Patch > newest.Patch {
				newest = fix
			}
			continue
		}
		open = append(open, fmt.Sprintf("%s, until %s", text, fix))
	}
	if len(fixed) > 0 {
		p.Report(o, at, fmt.Sprintf("Kubernetes %s on Windows has %s", name(t), strings.Join(fixed, "; ")), say(newest.String()+" or newer"))
	}
	if len(open) > 0 {
		p.ReportAs(lint.Info, o, at, fmt.Sprintf("no release of %s is without %s", release(t), strings.Join(open, "; ")), say("a newer minor"))
	}
}

// hasDefect reports whether a target has the defect whose name begins with prefix.
func hasDefect(prefix string, t lint.Target) bool {
	return slices.ContainsFunc(kubechange.Defects(), func(d kubechange.Defect) bool {
		return strings.HasPrefix(d.Name, prefix) && d.Has(t.Minor, t.Patch)
	})
}

// name returns a target's Kubernetes version, with its patch version if that is known.
func name(t lint.Target) string {
	if t.Patch == nil {
		return release(t)
	}
	return fmt.Sprintf("%s.%d", release(t), *t.Patch)
}

// win827: Timeouts that are too short for Windows machines.
var win827 = lint.Rule{
	ID:       "WIN827",
	Severity: lint.Info,
	Title:    "Too little patience with Windows machines",
	Oracle:   lint.Unit,
	Doc: "A Windows machine boots, joins and pulls its first images slowly. A MachineHealthCheck whose " +
		"`nodeStartupTimeout` (v1beta2: `checks.nodeStartupTimeoutSeconds`; 10 minutes when unset) is shorter " +
		"replaces it again and again. The bound is `windowsStartupMinutes` of the configuration, 20 by default. " +
		"Source: templates/test/ci/prow-windows of kubernetes-sigs/cluster-api-provider-azure, and experience.",
	Bad:   workers(kuberelease.Default, "users: []\n") + "---\n" + healthCheck("10m"),
	Good:  workers(kuberelease.Default, "users: []\n") + "---\n" + healthCheck("30m"),
	Check: checkWIN827,
}

func checkWIN827(p *lint.Pass) {
	for _, o := range ofKind(p.Set, "MachineHealthCheck") {
		v, patience := startup(o)
		for _, m := range groups(p.Set) {
			if patience < p.Target.Startup() && m.windows() && checks(o, m) {
				p.Report(o, v, fmt.Sprintf("%s gets %v to become a node: Windows may need more, and is "+
					"then replaced again and again", m.owner, patience),
					say(fmt.Sprintf("nodeStartupTimeout %v or more", p.Target.Startup())))
				break
			}
		}
	}
}
