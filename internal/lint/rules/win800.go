package rules

import (
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/internal/kubeflags"
	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

// win801: A control plane of Windows.
var win801 = lint.Rule{
	ID:       "WIN801",
	Severity: lint.Error,
	Title:    "A control plane of Windows",
	Oracle:   lint.Unit,
	Doc: "kube-apiserver and etcd do not run on Windows: the control plane's machine template has to be a Linux one. " +
		"Source: kubernetes-sigs/cluster-api docs/proposals/20200804-windows-support.md.",
	Bad:   controlPlane("Windows"),
	Good:  controlPlane("Linux"),
	Check: checkWIN801,
}

func checkWIN801(p *lint.Pass) {
	for _, m := range groups(p.Set) {
		if m.owner.Kind == "KubeadmControlPlane" && m.windows() {
			p.Report(m.owner, m.owner.Root.At("spec", "machineTemplate"), fmt.Sprintf("%s has Windows, on "+
				"which no control plane runs", m.infra), say("a machine template with osType Linux"))
		}
	}
}

// win802: A computer name that differs from the node's name.
var win802 = lint.Rule{
	ID:       "WIN802",
	Severity: lint.Info,
	Title:    "The computer's name is another",
	Oracle:   lint.Unit,
	Doc: "A Windows computer name has at most 15 characters. The virtual machine and the node of a longer machine " +
		"name are called by its first nine characters and its last five. That works, but you look for another name " +
		"than the Machine's. Source: kubernetes-sigs/cluster-api-provider-azure azure/scope/machine.go.",
	Bad:   strings.ReplaceAll(workers(kuberelease.Default, "users: []\n"), "name: win\n", "name: frontend-win\n"),
	Good:  workers(kuberelease.Default, "users: []\n"),
	Check: checkWIN802,
}

func checkWIN802(p *lint.Pass) {
	for _, m := range groups(p.Set) {
		full := m.owner.Name
		if m.owner.Kind == "MachineDeployment" || m.owner.Kind == "MachineSet" {
			full += suffix
		}
		if m.windows() && slices.Contains([]string{"MachineDeployment", "MachineSet", "AzureMachine"}, m.owner.Kind) &&
			len(full) > windows.MaxComputerName && m.owner.Name != "" && !unfilled(full) {
			p.Report(m.owner, m.owner.Root.At("metadata", "name"), fmt.Sprintf("a machine %s is the "+
				"computer and node %s: Windows names have at most %d "+
				"characters", full, windows.ComputerName(full, nil), windows.MaxComputerName), say("accept it, or a name of 3 characters"))
		}
	}
}

// win803: Two scale sets of one name.
var win803 = lint.Rule{
	ID:       "WIN803",
	Severity: lint.Error,
	Title:    "Two scale sets of one name",
	Oracle:   lint.Unit,
	Doc: "The scale set of a Windows machine pool with more than nine characters is called `win-` and the last five " +
		"of them: two pools that end alike collide in one resource group. A longer name without a twin is an info " +
		"that reports the computed name. Source: kubernetes-sigs/cluster-api-provider-azure azure/scope/machinepool.go.",
	Bad:   machinePool("eastern-win01") + "---\n" + machinePool("western-win01"),
	Good:  machinePool("east") + "---\n" + machinePool("west"),
	Check: scaleSetNames,
}

// win804: A Windows pool of AKS.
var win804 = lint.Rule{
	ID:       "WIN804",
	Severity: lint.Error,
	Title:    "A Windows pool of AKS",
	Oracle:   lint.Unit,
	Doc: "AKS wants Windows pools with at most six characters in their name, never as System pools, and with the " +
		"network plugin azure. Source: kubernetes-sigs/cluster-api-provider-azure " +
		"internal/webhooks/azuremanagedmachinepool_validation.go.",
	Bad:   managedPool("windowspool", "User"),
	Good:  managedPool("win1", "User"),
	Check: eachWindows(managedPools),
}

// win805: A cluster's name that Azure refuses.
var win805 = lint.Rule{
	ID:       "WIN805",
	Severity: lint.Error,
	Title:    "A cluster's name that Azure refuses",
	Oracle:   lint.CAPZ,
	Doc: "An AzureCluster's name has 2 to 44 lower-case letters, digits and dashes. `windows` and `microsoft` are " +
		"reserved words of Azure: a managed cluster of that name is refused, and a public DNS name with one may be. " +
		"Source: kubernetes-sigs/cluster-api-provider-azure internal/webhooks/azurecluster_validation.go; " +
		"learn.microsoft.com, reserved resource names.",
	Bad:   azureCluster("Production"),
	Good:  azureCluster("production"),
	Check: checkWIN805,
}

func checkWIN805(p *lint.Pass) {
	for _, o := range ofKind(p.Set, "AzureCluster", "AzureManagedControlPlane") {
		v := o.Root.At("metadata", "name")
		reserved := strings.Contains(strings.ToLower(o.Name), "windows") || strings.Contains(strings.ToLower(o.Name), "microsoft")
		switch {
		case o.Name == "" || unfilled(o.Name): // generateName, or a template's name
		case o.Kind == "AzureCluster" && !clusterName.MatchString(o.Name):
			p.Report(o, v, "2 to 44 lower-case letters, digits and dashes, with a letter or digit at both "+
				"ends", say("rename the cluster"))
		case o.Kind == "AzureCluster" && reserved:
			p.ReportAs(lint.Warning, o, v, "Azure reserves the words windows and microsoft, and may "+
				"refuse the public DNS name", say("rename the cluster"))
		case reserved:
			p.Report(o, v, "Azure refuses a managed cluster with windows or microsoft in its name", say("rename it"))
		}
	}
}

// win806: No SSH key reaches Windows.
var win806 = lint.Rule{
	ID:       "WIN806",
	Severity: lint.Warning,
	Title:    "No SSH key reaches Windows",
	Oracle:   lint.Unit,
	Doc: "The machine template's `sshPublicKey` is for Linux alone; Windows gets a random password that is not kept. " +
		"Name a user of the group Administrators with `sshAuthorizedKeys` in the kubeadm configuration. Source: " +
		"kubernetes-sigs/cluster-api-provider-azure docs/book/src/self-managed/windows.md.",
	Bad:   workers(kuberelease.Default, "users:\n- name: capi\n  groups: Administrators\n"),
	Good:  workers(kuberelease.Default, "users:\n- name: capi\n  groups: Administrators\n  sshAuthorizedKeys: [ssh-rsa AAAA]\n"),
	Check: eachBootstrap(checkWIN806),
}

func checkWIN806(p *lint.Pass, m machines, k lint.Value) {
	for _, u := range k.At("users").Items() {
		if slices.ContainsFunc(u.At("sshAuthorizedKeys").Strings(), func(key string) bool { return key != "" }) {
			return
		}
	}
	p.Report(m.config, k.At("users"), "no login by SSH is possible: the machine template's key is for "+
		"Linux alone", say("a user of the group Administrators with sshAuthorizedKeys"))
}

// win807: A socket that the runtime does not listen on.
var win807 = lint.Rule{
	ID:       "WIN807",
	Severity: lint.Error,
	Title:    "A socket that the runtime does not listen on",
	Oracle:   lint.Unit,
	Doc: "containerd on Windows listens on `" + containerdPipe + "`, which is kubeadm's default there; with any other " +
		"criSocket the kubelet does not reach it. Source: kubernetes cmd/kubeadm/app/constants/constants_windows.go.",
	Bad:   workers(kuberelease.Default, "joinConfiguration:\n  nodeRegistration:\n    criSocket: unix:///run/containerd/containerd.sock\n"),
	Good:  workers(kuberelease.Default, "joinConfiguration:\n  nodeRegistration:\n    criSocket: "+containerdPipe+"\n"),
	Check: eachBootstrap(checkWIN807),
}

func checkWIN807(p *lint.Pass, m machines, k lint.Value) {
	v := k.At("joinConfiguration", "nodeRegistration", "criSocket")
	if old := v.Str() == "npipe:////./pipe/dockershim" && !m.target(p.Target).AtLeast(24); v.Str() != "" &&
		v.Str() != containerdPipe && !old {
		p.Report(m.config, v, fmt.Sprintf("no runtime listens on %s on "+
			"Windows", v.Str()), safe(containerdPipe, lint.Replace(v, containerdPipe)))
	}
}

// win808: No network for Windows nodes.
var win808 = lint.Rule{
	ID:       "WIN808",
	Severity: lint.Error,
	Title:    "No network for Windows nodes",
	Oracle:   lint.Unit,
	Doc: "Nodes stay NotReady until a CNI and a kube-proxy for Windows run on them. ClusterResourceSets and Helm " +
		"chart proxies install them by the cluster's labels: `windows: enabled` with `cni: calico` or `cni-windows: " +
		"calico`, or whatever label selects the add-on in your set. Without `csi-proxy: enabled` there are no volumes on Windows, " +
		"which is a warning. Where the input has no such add-on it is an info, as they may be installed afterwards. AKS " +
		"brings its own. Source: " +
		"kubernetes-sigs/cluster-api-provider-azure templates/addons.",
	Bad: strings.Replace(cluster(podCIDR+"10.0.0.0/16"+serviceCIDR), "    windows: enabled\n    cni: "+
		"calico\n", "", 1) + workers(kuberelease.Default, "users: []\n") + windowsSet,
	Good:  cluster(podCIDR+"10.0.0.0/16"+serviceCIDR) + workers(kuberelease.Default, "users: []\n") + windowsSet,
	Check: eachCluster(checkWIN808),
}

// windowsSet is a ClusterResourceSet for an example, which installs Calico for Windows.
const windowsSet = "---\napiVersion: addons.cluster.x-k8s.io/v1beta1\nkind: ClusterResourceSet\nmetadata:\n" +
	"  name: calico-windows\nspec:\n  clusterSelector:\n    matchLabels: {windows: enabled}\n" +
	"  resources: [{kind: ConfigMap, name: calico-windows}]\n"

func checkWIN808(p *lint.Pass, o *lint.Object) {
	labels := o.Root.At("metadata", "labels")
	networks := slices.DeleteFunc(slices.Clone(ofKind(p.Set, "ClusterResourceSet", "HelmChartProxy")),
		func(addon *lint.Object) bool { return !windowsNetwork(addon) })
	switch {
	case networkLabels(labels), slices.ContainsFunc(networks, func(addon *lint.Object) bool { return selects(addon, o) }):
	case len(networks) > 0:
		p.Report(o, labels, "it has Windows machines, and no label that installs a CNI and kube-proxy for "+
			"Windows: the nodes stay NotReady", say("windows: enabled and cni: calico, or the labels that "+
			"your add-ons select"))
	default: // many users install it afterwards, with Helm
		p.ReportAs(lint.Info, o, labels, "it has Windows machines, and nothing here installs a CNI and kube-proxy for "+
			"Windows: the nodes stay NotReady until something does", say("install them once the cluster can be reached, or by "+
			"add-ons that a label of the cluster selects"))
	}
	if !labels.At("csi-proxy").Exists() && !slices.ContainsFunc(p.Set.Kind("DaemonSet"),
		func(d *lint.Object) bool { return strings.Contains(d.Name, "csi-proxy") }) {
		p.ReportAs(lint.Warning, o, labels, "nothing installs csi-proxy: CSI drivers that need it mount "+
			"no volume on Windows", say("csi-proxy: enabled"))
	}
}

// win809: A container runtime that is not supported any more.
var win809 = lint.Rule{
	ID:       "WIN809",
	Severity: lint.Error,
	Title:    "A container runtime that is no more",
	Oracle:   lint.Unit,
	Doc: "The annotation `runtime` of a machine template is containerd or absent; dockershim went with Kubernetes " +
		"1.24, and there is no image with it. Source: kubernetes-sigs/cluster-api-provider-azure " +
		"azure/services/virtualmachineimages/images.go.",
	Bad:   strings.Replace(windowsTemplate(""), "windowsServerVersion", "runtime: dockershim\n        windowsServerVersion", 1),
	Good:  strings.Replace(windowsTemplate(""), "windowsServerVersion", "runtime: containerd\n        windowsServerVersion", 1),
	Check: eachWindows(checkWIN809),
}

func checkWIN809(p *lint.Pass, m machines) {
	v, t := m.annotation(windows.RuntimeAnnotation), m.target(p.Target)
	if old := v.Str() == "dockershim" && !t.AtLeast(24); v.Exists() && v.Str() != "" && v.Str() != windows.Containerd && !old {
		p.Report(m.infra, v, fmt.Sprintf("no image has the runtime "+
			"%q", v.Str()), safe("containerd", lint.Replace(v, "containerd")))
	}
	for _, kind := range []string{"marketplace", "computeGallery", "sharedGallery"} {
		if v := m.vm().At("image", kind, "sku"); strings.Contains(v.Str(), "docker") && t.AtLeast(24) {
			p.Report(m.infra, v, "an image with Docker, which Kubernetes cannot use since 1.24", say("an "+
				"image with containerd"))
		}
	}
}

// win810: The annotation windowsServerVersion.
var win810 = lint.Rule{
	ID:       "WIN810",
	Severity: lint.Error,
	Title:    "The annotation windowsServerVersion",
	Oracle:   lint.Unit,
	Doc: "It is `windows-` and a year: " + windows.ServerChoice("windows-") + "; anything else has no image. " +
		"Without it, or with it empty, and without an image of your own the machines get Server 2022, or 2019 from " +
		"the images of before the community gallery, which is an info. Source: " +
		"kubernetes-sigs/cluster-api-provider-azure azure/services/virtualmachineimages/images.go.",
	Bad:   strings.Replace(windowsTemplate(""), "windows-2022", "ltsc2022", 1),
	Good:  windowsTemplate(""),
	Check: eachWindows(checkWIN810),
}

func checkWIN810(p *lint.Pass, m machines) {
	v := m.annotation("windowsServerVersion")
	if m.managed() || m.vm().At("image").Exists() || unfilled(v.Str()) {
		return
	}
	year := serverVersion.FindStringSubmatch(v.Str())
	switch {
	case v.Str() == "":
		p.ReportAs(lint.Info, m.infra, v, fmt.Sprintf("the machines get Windows Server %s, as nothing "+
			"says otherwise", m.defaultRelease()), say("windowsServerVersion: windows-2022"))
	case year == nil:
		p.Report(m.infra, v, fmt.Sprintf("%q is no version that has an "+
			"image", v.Str()), say(windows.ServerChoice("windows-")))
	default:
		if r, ok := windows.ReleaseByName(year[1]); !ok || !r.Node {
			p.ReportAs(lint.Info, m.infra, v, fmt.Sprintf("there is no reference image for Windows Server "+
				"%s", year[1]), say(windows.ServerChoice("windows-")))
		}
	}
}

// win830: A Windows release that is not supported.
var win830 = lint.Rule{
	ID:       "WIN830",
	Severity: lint.Warning,
	Title:    "A Windows release that its network or Kubernetes does not support",
	Oracle:   lint.Unit,
	Doc: "Calico does not support Windows Server 2025: its request is open. That is a warning for a cluster whose labels ask for " +
		"Calico. A release that Kubernetes or the network does not name, as Kubernetes does not name 2019, is an info. " +
		"docs/reference/windows-releases.md has what each project says, with its source and the day. Source: " +
		"projectcalico/calico issue 11691; kubernetes.io/docs/concepts/windows/intro.",
	Bad: cluster(podCIDR+"10.0.0.0/16"+serviceCIDR) + strings.Replace(workers(kuberelease.Default, "users: []\n"),
		"windows-2022", "windows-2025", 1),
	Good:  cluster(podCIDR+"10.0.0.0/16"+serviceCIDR) + workers(kuberelease.Default, "users: []\n"),
	Check: eachWindows(checkWIN830),
}

func checkWIN830(p *lint.Pass, m machines) {
	v := m.annotation(windows.WindowsServerVersionAnnotation)
	year := serverVersion.FindStringSubmatch(v.Str())
	if m.managed() || year == nil || m.vm().At("image").Exists() {
		return
	}
	projects := []string{"Kubernetes"}
	if m.cluster != nil {
		labels := map[string]string{}
		for _, f := range m.cluster.Root.At("metadata", "labels").Fields() {
			labels[f.Key] = f.Value.Str()
		}
		if n, ok := windows.NetworkByLabels(labels); ok {
			projects = append(projects, n.Project())
		}
	}
	for _, by := range projects {
		switch s, ok := windows.SupportOf(by, year[1], m.target(p.Target).Minor); {
		case ok && s.Level == windows.Unsupported:
			p.Report(m.infra, v, s.String(), say("windows-"+windows.DefaultRelease+", or another network"))
		case ok && s.Level == windows.Unnamed:
			p.ReportAs(lint.Info, m.infra, v, s.String(), say("windows-"+windows.DefaultRelease))
		}
	}
}

// win811: Feature gates.
var win811 = lint.Rule{
	ID:       "WIN811",
	Severity: lint.Error,
	Title:    "Feature gates that a component refuses, or that do nothing on Windows",
	Oracle:   lint.Unit,
	Doc: "A component exits at its start when it does not know a gate or may not change it: " +
		"WindowsHostProcessContainers is unknown from 1.28 on (and has to be set on 1.22), HyperVContainer from 1.21, " +
		"WindowsGracefulNodeShutdown and WindowsCPUAndMemoryAffinity before 1.32; WinDSR and WinOverlay are locked on from " +
		"1.34, NodeLogQuery two minors later. So is any other gate that a minor from 1.23 on has dropped, on control planes and on Linux " +
		"machines too. WindowsHostNetwork does nothing and is deprecated since 1.33 (a warning). A gate of " +
		"Linux in what Windows machines alone get is an info. docs/reference/kubernetes.md has all of them. Source: " +
		"the gates that the sources of 1.22 to 1.37 register; kubernetes issue 95505.",
	Bad:   workers(kuberelease.Default, kubelet("feature-gates: WindowsHostProcessContainers=true")),
	Good:  workers(kuberelease.Default, kubelet("feature-gates: WindowsGracefulNodeShutdown=true")),
	Check: gates,
}

// win812: A kubelet flag that was removed.
var win812 = lint.Rule{
	ID:       "WIN812",
	Severity: lint.Error,
	Title:    "A kubelet flag that is gone",
	Oracle:   lint.Unit,
	Doc: "kubelet, kube-apiserver, kube-controller-manager and kube-scheduler do not start with a flag they do not know: " +
		"the node never joins, or there is no control plane. The flags of dockershim and CNI went with 1.24, klog's with " +
		"1.26, container-runtime with 1.27, the API server's cloud-config with 1.33, kubelet's with 1.34, " +
		"pod-infra-container-image with 1.35, 18 of cAdvisor with 1.37; cloud-provider takes external or nothing. A flag that no " +
		"kubelet ever had is misspelt. Linux machines and control planes are checked too. No kubelet on Windows has a flag of " +
		"cAdvisor, housekeeping-interval neither, and none on Linux has windows-priorityclass. Where the version is a variable " +
		"that is not filled in, this is a warning. Source: the registrations of flags in the sources of Kubernetes 1.22 to 1.37, " +
		"kubernetes/kubeadm issue 2742.",
	Bad:   workers(kuberelease.Default, kubelet("pod-infra-container-image: registry.k8s.io/pause:3.10")),
	Good:  workers(kuberelease.Default, kubelet("v: '2'")),
	Check: checkWIN812,
}

// checkWIN812 checks Linux machines and control planes too, because a cluster needs them for its Windows nodes.
func checkWIN812(p *lint.Pass) {
	seen := map[*lint.Object]bool{}
	for _, m := range groups(p.Set) {
		k := m.kubeadm()
		if !k.Exists() || seen[m.config] {
			continue
		}
		seen[m.config] = true
		for _, args := range extraArgs {
			for _, f := range flags(k.At(args.at...)) {
				checkFlag(p, m, args.program, f)
			}
		}
	}
}

func checkFlag(p *lint.Pass, m machines, program string, f arg) {
	t, severity := m.target(p.Target), lint.Error
	if unfilled(m.version.Str()) {
		severity = lint.Warning // this is about the newest release: the machines may get an older one
	}
	system := strings.ToLower(m.vm().At("osDisk", "osType").Str())
	if program != "kubelet" || m.infra == nil {
		system = ""
	}
	switch gone, known := kubeflags.Dropped(program, f.name); {
	case system != "" && kubeflags.Lacks(program, system, f.name):
		p.Report(m.config, f.at, fmt.Sprintf("%s on %s has no --%s and does not start with it", program,
			m.vm().At("osDisk", "osType").Str(), f.name), f.drop("take it out"))
	case known && t.AtLeast(gone):
		p.ReportAs(severity, m.config, f.at, fmt.Sprintf("%s has no --%s since 1.%d and does not "+
			"start with it", program, f.name, gone), f.drop("take it out"))
	case program == "kubelet" && !t.AtLeast(kubeflags.Newest+1) && !unfilled(f.name) && kubeflags.Never(f.name):
		p.ReportAs(severity, m.config, f.at, fmt.Sprintf("no kubelet from 1.22 to 1.%d has --%s, and none starts with it", kubeflags.Newest,
			f.name), f.drop("take it out, or spell it right"))
	case f.name == "cloud-provider" && f.value != "external" && f.value != "" && t.AtLeast(31):
		p.ReportAs(severity, m.config, f.at, fmt.Sprintf("%s knows no cloud provider %q any more", program, f.value), say("external"))
	}
}

// win813: An external cloud provider without its taint.
var win813 = lint.Rule{
	ID:       "WIN813",
	Severity: lint.Warning,
	Title:    "An external cloud provider without its taint",
	Oracle:   lint.Unit,
	Doc: "The cloud node manager takes no node that registers without the taint `" + cloudTaint + "`: its providerID " +
		"stays empty and the Machine never becomes Ready. Windows images whose kubelet is a service of its own lose " +
		"flags that kubeadm sets, so set it with register-with-taints or, better, in the kubelet's configuration by a " +
		"patch. Reported where neither is there. Source: kubernetes-sigs/cluster-api-provider-azure pull 6293.",
	Bad:   workers(kuberelease.Default, kubelet("cloud-provider: external")),
	Good:  workers(kuberelease.Default, kubelet("cloud-provider: external", "register-with-taints: "+cloudTaint+"=true:NoSchedule")),
	Check: eachBootstrap(checkWIN813),
}

func checkWIN813(p *lint.Pass, m machines, k lint.Value) {
	f, ok := named(kubeletFlags(k), "cloud-provider")
	if !ok || f.value != "external" || !m.target(p.Target).AtLeast(35) || mentions(k, cloudTaint) {
		return
	}
	p.Report(m.config, f.at, "the node registers without the taint that the cloud provider waits for, and "+
		"gets no providerID", say("register-with-taints: "+cloudTaint+"=true:NoSchedule"))
}

// win814: Sections that cloudbase-init does not read.
var win814 = lint.Rule{
	ID:       "WIN814",
	Severity: lint.Warning,
	Title:    "What cloudbase-init does not read",
	Oracle:   lint.Unit,
	Doc: "cloudbase-init knows write_files, set_timezone, set_hostname, ntp, groups, users and runcmd; bootCommands, " +
		"diskSetup and mounts are ignored. Ignition it cannot read at all, which is an error. Use preKubeadmCommands. " +
		"Source: cloudbase/cloudbase-init, cloudconfigplugins/factory.py.",
	Bad:   workers(kuberelease.Default, "mounts:\n- [LABEL=data, /data]\n"),
	Good:  workers(kuberelease.Default, "preKubeadmCommands: [powershell C:/k/prepare.ps1]\n"),
	Check: eachBootstrap(checkWIN814),
}

func checkWIN814(p *lint.Pass, m machines, k lint.Value) {
	for _, key := range []string{"bootCommands", "diskSetup", "mounts"} {
		if v := k.At(key); v.Exists() {
			p.Report(m.config, v, "cloudbase-init ignores "+key, say("preKubeadmCommands or postKubeadmCommands"))
		}
	}
	if v := k.At("format"); v.Str() == "ignition" {
		p.ReportAs(lint.Error, m.config, v, "Windows cannot read Ignition", say("format: cloud-config"))
	}
	if v := k.At("ignition"); v.Exists() {
		p.Report(m.config, v, "Windows cannot read Ignition", say("take it out"))
	}
}
