package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"casement.dev/casement/internal/lint"
)

const containerdPipe = "npipe:////./pipe/containerd-containerd"

// cloudTaint is what the cloud provider waits for on a node.
const cloudTaint = "node.cloudprovider.kubernetes.io/uninitialized"

// linuxCommand is a command line for a shell of Linux.
var linuxCommand = regexp.MustCompile(`^\s*(sudo|bash|sh|sed|awk|systemctl|apt|apt-get|yum|dnf|modprobe|sysctl|export|chmod|chown|ln|cat|ls|cp|mv|rm|touch|service|/\w+)(\s|/|$)|(^|[\s"'=])/(etc|usr|var|opt|tmp|bin)/`)

// windowsShell starts what reads paths with slashes.
var windowsShell = regexp.MustCompile(`(?i)^\s*(powershell|pwsh|cmd)(\.exe)?\s`)

// cryptHash is a password as /etc/shadow keeps it.
var cryptHash = regexp.MustCompile(`^\$(1|2[aby]?|5|6|7|y|gy|sha1)\$`)

// goneFlags are flags that kubelet no longer has, and the minor that took them.
var goneFlags = map[string]int{
	"network-plugin": 24, "cni-conf-dir": 24, "cni-bin-dir": 24, "cni-cache-dir": 24, "network-plugin-mtu": 24, "docker-endpoint": 24,
	"image-pull-progress-deadline": 24, "container-runtime": 27, "pod-infra-container-image": 35,
}

// bootstrap are the rules about the kubeadm configuration of Windows machines.
func bootstrap() []lint.Rule {
	return []lint.Rule{
		{
			ID: "WIN806", Severity: lint.Warning, Title: "No SSH key reaches Windows", Oracle: lint.Unit,
			Doc: "The machine template's `sshPublicKey` is for Linux alone; Windows gets a random password that is not kept. Name a user of the group Administrators with `sshAuthorizedKeys` in the kubeadm configuration. Source: kubernetes-sigs/cluster-api-provider-azure docs/book/src/self-managed/windows.md.",
			Bad: workers("v1.36.3", "users:\n- name: capi\n  groups: Administrators\n"), Good: workers("v1.36.3", "users:\n- name: capi\n  groups: Administrators\n  sshAuthorizedKeys: [ssh-rsa AAAA]\n"),
			Check: eachBootstrap(func(p *lint.Pass, m machines, k lint.Value) {
				for _, u := range k.At("users").Items() {
					if slices.ContainsFunc(u.At("sshAuthorizedKeys").Strings(), func(key string) bool { return key != "" }) {
						return
					}
				}
				p.Report(m.config, k.At("users"), "no login by SSH is possible: the machine template's key is for Linux alone", say("a user of the group Administrators with sshAuthorizedKeys"))
			}),
		},
		{
			ID: "WIN807", Severity: lint.Error, Title: "A socket that the runtime does not listen on", Oracle: lint.Unit,
			Doc: "containerd on Windows listens on `" + containerdPipe + "`, which is kubeadm's default there; with any other criSocket the kubelet does not reach it. Source: kubernetes cmd/kubeadm/app/constants/constants_windows.go.",
			Bad: workers("v1.36.3", "joinConfiguration:\n  nodeRegistration:\n    criSocket: unix:///run/containerd/containerd.sock\n"), Good: workers("v1.36.3", "joinConfiguration:\n  nodeRegistration:\n    criSocket: "+containerdPipe+"\n"),
			Check: eachBootstrap(func(p *lint.Pass, m machines, k lint.Value) {
				v := k.At("joinConfiguration", "nodeRegistration", "criSocket")
				if old := v.Str() == "npipe:////./pipe/dockershim" && !m.target(p.Target).AtLeast(24); v.Str() != "" && v.Str() != containerdPipe && !old {
					p.Report(m.config, v, fmt.Sprintf("no runtime listens on %s on Windows", v.Str()), safe(containerdPipe, lint.Replace(v, containerdPipe)))
				}
			}),
		},
		{
			ID: "WIN811", Severity: lint.Error, Title: "Feature gates of Windows", Oracle: lint.Unit,
			Doc: "A component exits at its start when it does not know a gate or may not change it: WindowsHostProcessContainers is unknown from 1.28 on (and has to be set on 1.22), HyperVContainer from 1.21; WinDSR and WinOverlay are locked on from 1.34. WindowsHostNetwork does nothing and is deprecated since 1.33 (a warning). Source: kubernetes pkg/features/kube_features.go; kubernetes issue 95505.",
			Bad: workers("v1.36.3", kubelet("feature-gates: WindowsHostProcessContainers=true")), Good: workers("v1.36.3", kubelet("feature-gates: WindowsGracefulNodeShutdown=true")),
			Check: gates,
		},
		{
			ID: "WIN812", Severity: lint.Error, Title: "A kubelet flag that is gone", Oracle: lint.Unit,
			Doc: "kubelet does not start with a flag it does not know, and the node never joins. The flags of dockershim and CNI went with 1.24, container-runtime with 1.27, pod-infra-container-image with 1.35; cloud-provider takes external or nothing. Where the version is a variable that is not filled in, this is a warning. Source: kubernetes CHANGELOG-1.24 (106907), kubernetes/kubeadm issue 2742, kubernetes 133779.",
			Bad: workers("v1.36.3", kubelet("pod-infra-container-image: registry.k8s.io/pause:3.10")), Good: workers("v1.36.3", kubelet("v: '2'")),
			Check: eachBootstrap(func(p *lint.Pass, m machines, k lint.Value) {
				t, severity := m.target(p.Target), lint.Error
				if unfilled(m.version.Str()) {
					severity = lint.Warning // of the newest release: the machines may get an older one
				}
				for _, f := range kubeletFlags(k) {
					switch gone := goneFlags[f.name]; {
					case gone > 0 && t.AtLeast(gone):
						p.ReportAs(severity, m.config, f.at, fmt.Sprintf("kubelet has no --%s since 1.%d and does not start with it", f.name, gone), f.drop("take it out"))
					case f.name == "cloud-provider" && f.value != "external" && f.value != "" && t.AtLeast(31):
						p.ReportAs(severity, m.config, f.at, fmt.Sprintf("kubelet knows no cloud provider %q any more", f.value), say("external"))
					}
				}
			}),
		},
		{
			ID: "WIN813", Severity: lint.Warning, Title: "An external cloud provider without its taint", Oracle: lint.Unit,
			Doc: "The cloud node manager takes no node that registers without the taint `" + cloudTaint + "`: its providerID stays empty and the Machine never becomes Ready. Windows images whose kubelet is a service of its own lose flags that kubeadm sets, so set it with register-with-taints or, better, in the kubelet's configuration by a patch. Reported where neither is there. Source: kubernetes-sigs/cluster-api-provider-azure pull 6293.",
			Bad: workers("v1.36.3", kubelet("cloud-provider: external")), Good: workers("v1.36.3", kubelet("cloud-provider: external", "register-with-taints: "+cloudTaint+"=true:NoSchedule")),
			Check: eachBootstrap(func(p *lint.Pass, m machines, k lint.Value) {
				f, ok := named(kubeletFlags(k), "cloud-provider")
				if !ok || f.value != "external" || !m.target(p.Target).AtLeast(35) || mentions(k, cloudTaint) {
					return
				}
				p.Report(m.config, f.at, "the node registers without the taint that the cloud provider waits for, and gets no providerID", say("register-with-taints: "+cloudTaint+"=true:NoSchedule"))
			}),
		},
		{
			ID: "WIN814", Severity: lint.Warning, Title: "What cloudbase-init does not read", Oracle: lint.Unit,
			Doc: "cloudbase-init knows write_files, set_timezone, set_hostname, ntp, groups, users and runcmd; bootCommands, diskSetup and mounts are ignored. Ignition it cannot read at all, which is an error. Use preKubeadmCommands. Source: cloudbase/cloudbase-init, cloudconfigplugins/factory.py.",
			Bad: workers("v1.36.3", "mounts:\n- [LABEL=data, /data]\n"), Good: workers("v1.36.3", "preKubeadmCommands: [powershell C:/k/prepare.ps1]\n"),
			Check: eachBootstrap(func(p *lint.Pass, m machines, k lint.Value) {
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
			}),
		},
		{
			ID: "WIN815", Severity: lint.Error, Title: "Commands of Linux on Windows", Oracle: lint.Unit,
			Doc: "preKubeadmCommands and postKubeadmCommands run in cmd.exe: bash, sed, systemctl and paths such as /etc fail there or do nothing. Write PowerShell. Source: cloudbase/cloudbase-init doc/source/userdata.rst.",
			Bad: workers("v1.36.3", "preKubeadmCommands:\n- systemctl restart containerd\n"), Good: workers("v1.36.3", "preKubeadmCommands:\n- powershell Restart-Service containerd\n"),
			Check: eachBootstrap(func(p *lint.Pass, m machines, k lint.Value) {
				for _, key := range []string{"preKubeadmCommands", "postKubeadmCommands"} {
					for _, v := range k.At(key).Items() {
						if linuxCommand.MatchString(v.Str()) && !windowsShell.MatchString(v.Str()) {
							p.Report(m.config, v, "a command of Linux: cmd.exe runs it", say("PowerShell"))
						}
					}
				}
			}),
		},
		{
			ID: "WIN816", Severity: lint.Warning, Title: "Files for Linux on Windows", Oracle: lint.Unit,
			Doc: "`/etc/kubernetes/azure.json` lands in C:\\etc\\kubernetes, where the components of Windows do not look; owners do not exist. kubeadm's own directories, such as that of its patches, are below C:\\etc there too and are left alone. Source: the Windows templates of kubernetes-sigs/cluster-api-provider-azure; cloudbase-init write_files.py.",
			Bad: workers("v1.36.3", "files:\n- path: /etc/kubernetes/azure.json\n  owner: root:root\n"), Good: workers("v1.36.3", "files:\n- path: c:/k/azure.json\n"),
			Check: eachBootstrap(func(p *lint.Pass, m machines, k lint.Value) {
				patches := k.At("joinConfiguration", "patches", "directory").Str()
				for _, f := range k.At("files").Items() {
					name := f.At("path")
					forKubeadm := patches != "" && strings.HasPrefix(name.Str(), strings.TrimSuffix(patches, "/")+"/") || strings.HasPrefix(name.Str(), "/etc/kubernetes/pki/")
					if strings.HasPrefix(name.Str(), "/") && !forKubeadm {
						p.Report(m.config, name, fmt.Sprintf("it lands in C:%s, where nothing of Windows looks", strings.ReplaceAll(name.Str(), "/", `\`)), say("a path of Windows, such as c:/k/azure.json"))
					}
					if v := f.At("owner"); v.Str() != "" {
						p.Report(m.config, v, "files have no such owner on Windows: ignored", say("take it out"))
					}
				}
			}),
		},
		{
			ID: "WIN817", Severity: lint.Error, Title: "A password's hash", Oracle: lint.Unit,
			Doc: "On Windows `passwd` is the password itself, in plain text: of a hash for Linux, the text of the hash becomes the password. shell, sudo and lockPassword are ignored. Source: cloudbase/cloudbase-init doc/source/userdata.rst.",
			Bad: workers("v1.36.3", "users:\n- name: capi\n  passwd: $6$salt$hash\n  groups: Administrators\n"), Good: workers("v1.36.3", "users:\n- name: capi\n  groups: Administrators\n"),
			Check: eachBootstrap(func(p *lint.Pass, m machines, k lint.Value) {
				for _, u := range k.At("users").Items() {
					if v := u.At("passwd"); cryptHash.MatchString(v.Str()) {
						p.Report(m.config, v, "Windows takes the hash itself as the password", safe("take it out, and use sshAuthorizedKeys", lint.Delete(v)))
					}
				}
			}),
		},
		{
			ID: "WIN818", Severity: lint.Info, Title: "Room for the kubelet", Oracle: lint.Unit,
			Doc: "Busy pods starve the kubelet of processor time unless it has a higher priority class, and Windows pages to disk unless memory is reserved for the system: 2Gi or more. Either may be set by flags or in the kubelet's configuration. Source: kubernetes.io/docs/concepts/configuration/windows-resource-management.",
			Bad: workers("v1.36.3", kubelet("v: '2'")), Good: workers("v1.36.3", kubelet("windows-priorityclass: ABOVE_NORMAL_PRIORITY_CLASS", "system-reserved: memory=2Gi")),
			Check: eachBootstrap(func(p *lint.Pass, m machines, k lint.Value) {
				all, at := kubeletFlags(k), k.At("joinConfiguration", "nodeRegistration", "kubeletExtraArgs")
				if _, ok := named(all, "windows-priorityclass"); !ok && !mentions(k, "windows-priorityclass") {
					p.Report(m.config, at, "the kubelet has no higher priority than pods, which can starve it", say("windows-priorityclass: ABOVE_NORMAL_PRIORITY_CLASS"))
				}
				if !reserves(all) && !mentions(k, "systemReserved") && !mentions(k, "kubeReserved") {
					p.Report(m.config, at, "less than 2Gi of memory is reserved for Windows itself: the node pages before it evicts", say("system-reserved: memory=2Gi"))
				}
			}),
		},
	}
}

// mentions says whether flags, taints or files of a configuration name something.
func mentions(k lint.Value, text string) bool {
	has := func(v lint.Value) bool { return strings.Contains(v.Str(), text) }
	return slices.ContainsFunc(kubeletFlags(k), func(f arg) bool { return strings.Contains(f.value, text) }) ||
		slices.ContainsFunc(k.At("joinConfiguration", "nodeRegistration", "taints").Items(), func(v lint.Value) bool { return has(v.At("key")) }) ||
		slices.ContainsFunc(k.At("files").Items(), func(v lint.Value) bool { return has(v.At("content")) })
}

// reserves says whether flags keep 2Gi of memory from pods.
func reserves(all []arg) bool {
	total := resource.Quantity{}
	for _, name := range []string{"system-reserved", "kube-reserved"} {
		f, _ := named(all, name)
		for part := range strings.SplitSeq(f.value, ",") {
			if amount, ok := strings.CutPrefix(strings.TrimSpace(part), "memory="); ok {
				if q, err := resource.ParseQuantity(amount); err == nil {
					total.Add(q)
				}
			}
		}
	}
	return total.Value() >= 2<<30
}

// gates is about the feature gates of control planes and of Windows machines.
func gates(p *lint.Pass) {
	seen := map[*lint.Object]bool{}
	for _, m := range groups(p.Set) {
		k := m.kubeadm()
		if !k.Exists() || seen[m.config] || m.owner.Kind != "KubeadmControlPlane" && !m.windows() {
			continue
		}
		seen[m.config] = true
		var all []arg
		for _, at := range [][]string{
			{"clusterConfiguration", "apiServer", "extraArgs"}, {"clusterConfiguration", "controllerManager", "extraArgs"},
			{"initConfiguration", "nodeRegistration", "kubeletExtraArgs"}, {"joinConfiguration", "nodeRegistration", "kubeletExtraArgs"},
		} {
			args := flags(k.At(at...))
			f, ok := named(args, "feature-gates")
			if ok {
				all = append(all, f)
			}
			needs := at[1] == "apiServer" && m.owner.Kind == "KubeadmControlPlane" || at[0] == "joinConfiguration" && m.windows()
			if t := m.target(p.Target); t.Minor == 22 && needs && slices.ContainsFunc(p.Set.Pods, (*lint.Pod).HostProcess) && !strings.Contains(f.value, "WindowsHostProcessContainers=true") {
				p.Report(m.config, k.At(at...), "HostProcess containers are off on 1.22 without their gate", say("feature-gates: WindowsHostProcessContainers=true"))
			}
		}
		for _, f := range all {
			for part := range strings.SplitSeq(f.value, ",") {
				name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
				if severity, problem := gate(m.target(p.Target), name, value); problem != "" {
					fix := say("take it out of feature-gates")
					if !strings.Contains(f.value, ",") {
						fix = f.drop("take it out")
					}
					p.ReportAs(severity, m.config, f.at, problem, fix)
				}
			}
		}
	}
}

// gate is what is wrong with one feature gate.
func gate(t lint.Target, name, value string) (lint.Severity, string) {
	switch {
	case name == "WindowsHostProcessContainers" && t.AtLeast(28):
		return lint.Error, name + " is unknown since 1.28: the component exits at its start"
	case name == "HyperVContainer" && t.AtLeast(21):
		return lint.Error, name + " is unknown since 1.21: the component exits at its start"
	case (name == "WinDSR" || name == "WinOverlay") && strings.EqualFold(value, "false") && t.AtLeast(34):
		return lint.Error, name + " is locked on since 1.34: the component exits at its start"
	case name == "WindowsHostNetwork" && strings.EqualFold(value, "true") && t.AtLeast(33):
		return lint.Warning, name + " does nothing and is deprecated since 1.33"
	}
	return 0, ""
}
