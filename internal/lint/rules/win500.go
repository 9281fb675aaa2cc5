package rules

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

// win501: A user name that Windows does not know.
var win501 = lint.Rule{
	ID:       "WIN501",
	Severity: lint.Error,
	Title:    "A user name that Windows does not know",
	Since:    17,
	Oracle:   lint.APIServer,
	Doc: "`runAsUserName` is USER or DOMAIN\\USER; the API server refuses user@domain, more than one backslash, and " +
		"more than 104 characters. Source: validation.go, validateWindowsSecurityContextOptions.",
	Bad:   options(windowsPod, "runAsUserName: user@example.com"),
	Good:  options(windowsPod, "runAsUserName: ContainerUser"),
	Check: eachOption("runAsUserName", checkWIN501),
}

func checkWIN501(p *lint.Pass, pod *lint.Pod, v lint.Value) {
	if problem := userProblem(v.Str()); problem != "" {
		p.Report(pod.Object, v, problem, say(`USER or DOMAIN\USER`))
	}
}

// win502: The name of a gMSA credential spec.
var win502 = lint.Rule{
	ID:       "WIN502",
	Severity: lint.Error,
	Title:    "The name of a gMSA credential spec",
	Since:    16,
	Oracle:   lint.APIServer,
	Doc:      "The name is a DNS subdomain, in lower case; the API server refuses capitals. Source: validation.go.",
	Bad:      options(windowsPod, "gmsaCredentialSpecName: gmsa-WebApp1"),
	Good:     options(windowsPod, "gmsaCredentialSpecName: gmsa-webapp1"),
	Check:    eachOption("gmsaCredentialSpecName", checkWIN502),
}

func checkWIN502(p *lint.Pass, pod *lint.Pod, v lint.Value) {
	if problems := validation.IsDNS1123Subdomain(v.Str()); len(problems) > 0 {
		p.Report(pod.Object, v, problems[0], say("write it in lower case, in the credential spec and its role too"))
	}
}

// win503: A credential spec that was written by hand.
var win503 = lint.Rule{
	ID:       "WIN503",
	Severity: lint.Error,
	Title:    "A credential spec by hand",
	Since:    16,
	Oracle:   lint.APIServer,
	Doc: "The gMSA webhook writes `gmsaCredentialSpec` from the object that `gmsaCredentialSpecName` names. The API " +
		"server refuses an empty one and one over 64 KiB, and the webhook one without the name. Leave it out. Source: " +
		"validation.go; kubernetes-sigs/windows-gmsa admission-webhook/webhook.go.",
	Bad:   options(windowsPod, "gmsaCredentialSpec: ''"),
	Good:  options(windowsPod, "gmsaCredentialSpecName: web"),
	Check: checkWIN503,
}

func checkWIN503(p *lint.Pass) {
	report := func(pod *lint.Pod, context lint.Value) {
		v := context.At("windowsOptions", "gmsaCredentialSpec")
		switch {
		case !v.Exists():
		case v.Str() == "":
			p.Report(pod.Object, v, "the API server refuses an empty credential "+
				"spec", say("gmsaCredentialSpecName alone"))
		case len(v.Str()) > maxCredentialSpec:
			p.Report(pod.Object, v, "the API server takes at most 64 KiB", say("gmsaCredentialSpecName alone"))
		case !context.At("windowsOptions", "gmsaCredentialSpecName").Exists():
			p.Report(pod.Object, v, "the gMSA webhook refuses a credential spec without its "+
				"name", say("gmsaCredentialSpecName alone"))
		}
	}
	for _, pod := range p.Set.Pods {
		report(pod, pod.Spec.At("securityContext"))
		for _, c := range pod.Containers() {
			report(pod, c.At("securityContext"))
		}
	}
}

// win504: A gMSA that the pod may not use.
var win504 = lint.Rule{
	ID:       "WIN504",
	Severity: lint.Warning,
	Title:    "A gMSA that the pod may not use",
	Since:    16,
	Oracle:   lint.Unit,
	Doc: "The pod's service account needs the verb `use` on the credential spec, by a role that is bound to it; else " +
		"the gMSA webhook refuses the pod. Looked at when the input has GMSACredentialSpecs. Source: " +
		"kubernetes-sigs/windows-gmsa admission-webhook/webhook.go.",
	Bad:   gmsa("other"),
	Good:  gmsa("default"),
	Check: gmsaAccess,
}

// win505: HostProcess for some containers.
var win505 = lint.Rule{
	ID:       "WIN505",
	Severity: lint.Error,
	Title:    "HostProcess for some containers",
	Since:    22,
	Oracle:   lint.APIServer,
	Doc: "If one container of a pod is a HostProcess one, all have to be, init containers too. Set it on the pod. " +
		"Source: validation.go, validateWindowsHostProcessPod.",
	Bad: windowsPod + "  hostNetwork: true\n" + container + "    securityContext:\n      windowsOptions:\n        " +
		"" + strings.ReplaceAll(asSystem, "\n", "\n  ") + "\n  - name: other\n    image: " +
		"mcr.microsoft.com/windows/nanoserver:ltsc2022\n",
	Good: options(windowsPod+"  hostNetwork: true\n", asSystem),
	Pod:  checkWIN505,
}

func checkWIN505(p *lint.Pass, pod *lint.Pod) {
	if !runsHostProcess(pod) {
		return
	}
	for _, c := range pod.Containers() {
		if v := c.WindowsOption("hostProcess"); !v.True() {
			p.Report(pod.Object, c.At("securityContext", "windowsOptions", "hostProcess"), "all "+
				"containers of the pod have to be HostProcess containers", say("set hostProcess on the pod"))
		}
	}
}

// win506: HostProcess without hostNetwork.
var win506 = lint.Rule{
	ID:       "WIN506",
	Severity: lint.Error,
	Title:    "HostProcess without hostNetwork",
	Since:    22,
	Oracle:   lint.APIServer,
	Doc: "HostProcess containers share the node's network: hostNetwork has to be true. Source: validation.go, " +
		"validateWindowsHostProcessPod.",
	Bad:  options(windowsPod, asSystem),
	Good: options(windowsPod+"  hostNetwork: true\n", asSystem),
	Pod:  checkWIN506,
}

func checkWIN506(p *lint.Pass, pod *lint.Pod) {
	v := pod.Spec.At("hostNetwork")
	if !runsHostProcess(pod) || v.True() {
		return
	}
	edit := lint.Insert(pod.Spec, "hostNetwork: true\n")
	if v.Exists() {
		edit = lint.Replace(v, "true")
	}
	p.Report(pod.Object, v, "hostNetwork must be true if pod contains any hostProcess "+
		"containers", safe("hostNetwork: true", edit))
}

// win507: hostProcess of pod and container differ.
var win507 = lint.Rule{
	ID:       "WIN507",
	Severity: lint.Error,
	Title:    "hostProcess of pod and container differ",
	Since:    22,
	Oracle:   lint.APIServer,
	Doc:      "Where both are set they have to be the same. Source: validation.go, validateWindowsHostProcessPod.",
	Bad: options(windowsPod+"  hostNetwork: true\n", asSystem) + "    securityContext:\n      " +
		"windowsOptions:\n        hostProcess: false\n",
	Good: options(windowsPod+"  hostNetwork: true\n", asSystem),
	Pod:  checkWIN507,
}

func checkWIN507(p *lint.Pass, pod *lint.Pod) {
	ofPod, set := pod.Spec.At("securityContext", "windowsOptions", "hostProcess").Bool()
	for _, c := range pod.Containers() {
		v := c.At("securityContext", "windowsOptions", "hostProcess")
		if own, ok := v.Bool(); ok && set && own != ofPod {
			p.Report(pod.Object, v, "pod hostProcess value must be identical if both are "+
				"specified", say("leave one out"))
		}
	}
}

// win508: HostProcess without an account of the host.
var win508 = lint.Rule{
	ID:       "WIN508",
	Severity: lint.Warning,
	Title:    "HostProcess without an account of the host",
	Since:    22,
	Oracle:   lint.Unit,
	Doc: "The account of a HostProcess container is one of the node: `NT AUTHORITY\\SYSTEM`, `Local service`, " +
		"`NetworkService`, or a local group. ContainerUser and ContainerAdministrator do not exist there. Source: " +
		"kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod.",
	Bad:  options(windowsPod+"  hostNetwork: true\n", "hostProcess: true\n      runAsUserName: ContainerUser"),
	Good: options(windowsPod+"  hostNetwork: true\n", asSystem),
	Pod:  eachContainer(checkWIN508),
}

func checkWIN508(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	if !c.WindowsOption("hostProcess").True() {
		return
	}
	v := c.WindowsOption("runAsUserName")
	if name := strings.ToLower(v.Str()); name == "" || name == "containeruser" || name == "containeradministrator" {
		p.Report(pod.Object, v, "a HostProcess container runs under an account of the "+
			"node", say(`set runAsUserName, such as NT AUTHORITY\SYSTEM`))
	}
}

// win509: HostProcess with runAsNonRoot.
var win509 = lint.Rule{
	ID:       "WIN509",
	Severity: lint.Warning,
	Title:    "HostProcess with runAsNonRoot",
	Since:    22,
	Oracle:   lint.Unit,
	Doc: "Kubernetes does not support runAsNonRoot for HostProcess containers, and the kubelet does not stop SYSTEM " +
		"with it. Leave it out. Source: kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod.",
	Bad:  options(inHostNetwork, asSystem+"\n    runAsNonRoot: true"),
	Good: options(inHostNetwork, asSystem),
	Pod:  eachContainer(checkWIN509),
}

func checkWIN509(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	if v := c.RunAsNonRoot(); v.True() && c.WindowsOption("hostProcess").True() {
		p.Report(pod.Object, v, "not supported for HostProcess containers, and does not stop "+
			"SYSTEM", say("take it out"))
	}
}

// win510: A pipe mounted into HostProcess.
var win510 = lint.Rule{
	ID:       "WIN510",
	Severity: lint.Error,
	Title:    "A pipe mounted into HostProcess",
	Since:    22,
	Oracle:   lint.Unit,
	Doc: "Named pipes and sockets cannot be mounted into HostProcess containers, which see the node's anyway: the " +
		"container is not made. Open the pipe by its path. Source: microsoft/hcsshim internal/jobcontainers/mounts.go.",
	Bad: options(inHostNetwork, asSystem) + "  volumes:\n  - name: runtime\n    hostPath:\n      path: " +
		"'\\\\.\\pipe\\containerd-containerd'\n",
	Good: options(inHostNetwork, asSystem),
	Pod:  eachVolume(checkWIN510),
}

func checkWIN510(p *lint.Pass, pod *lint.Pod, volume lint.Value) {
	v := volume.At("hostPath", "path")
	if pod.HostProcess() && (isPipe(v.Str()) || volume.At("hostPath", "type").Str() == "Socket") {
		p.Report(pod.Object, v, "HostProcess containers cannot mount pipes and sockets, they see the "+
			"node's", say("take the volume out, and open the path itself"))
	}
}

// win511: HostProcess on a release without it.
var win511 = lint.Rule{
	ID:       "WIN511",
	Severity: lint.Error,
	Title:    "HostProcess on a release without it",
	Oracle:   lint.Unit,
	For:      lint.Target{Minor: 21},
	Doc: "HostProcess containers came with 1.22, behind the feature gate WindowsHostProcessContainers (`featureGates` " +
		"of the configuration), and are on since 1.23; they need containerd 1.6 (`containerd`) and not Docker. With " +
		"containerd 1.6 volumes are below `$CONTAINER_SANDBOX_MOUNT_POINT` alone, which is a warning. Source: " +
		"KEP-1981; kubernetes-sigs/cluster-api-provider-azure docs/book/src/self-managed/windows.md.",
	Bad:  options(inHostNetwork, asSystem),
	Good: windowsPod + container,
	Pod:  checkWIN511,
}

func checkWIN511(p *lint.Pass, pod *lint.Pod) {
	if !pod.HostProcess() {
		return
	}
	at := pod.Spec.At("securityContext", "windowsOptions", "hostProcess")
	switch t := p.Target; {
	case !t.AtLeast(22):
		p.Report(pod.Object, at, "Kubernetes has HostProcess containers since 1.22", say("upgrade"))
	case !t.AtLeast(23) && !t.Gates["WindowsHostProcessContainers"]:
		p.Report(pod.Object, at, "off on 1.22 without the feature gate "+
			"WindowsHostProcessContainers", say("set the gate on API server and kubelets, or upgrade"))
	case t.Docker:
		p.Report(pod.Object, at, "Docker has no HostProcess containers", say("nodes with containerd"))
	case olderContainerd(t, 6):
		p.Report(pod.Object, at, fmt.Sprintf("containerd %s has no HostProcess "+
			"containers", t.Containerd), say("containerd 1.7 or newer"))
	case olderContainerd(t, 7):
		p.ReportAs(lint.Warning, pod.Object, at, "with containerd 1.6 volumes are below "+
			"$CONTAINER_SANDBOX_MOUNT_POINT alone, and the in-cluster configuration is not "+
			"found", say("containerd 1.7 or newer"))
	}
}

// win512: HostProcess in a namespace that forbids it.
var win512 = lint.Rule{
	ID:       "WIN512",
	Severity: lint.Error,
	Title:    "HostProcess in a namespace that forbids it",
	Since:    23,
	Oracle:   lint.PodSecurity,
	Doc: "The levels baseline and restricted forbid HostProcess pods, host networks and hostPath volumes. Put the pod " +
		"in a namespace of the level privileged. Source: kubernetes/pod-security-admission policy/check_windowsHostProcess.go.",
	Bad:  namespaced("baseline", options(windowsPod+"  hostNetwork: true\n", asSystem)),
	Good: namespaced("privileged", options(windowsPod+"  hostNetwork: true\n", asSystem)),
	Pod:  checkWIN512,
}

func checkWIN512(p *lint.Pass, pod *lint.Pod) {
	if level, _ := enforced(p.Set, pod); (level == "baseline" || level == "restricted") && pod.HostProcess() {
		at := pod.Spec.At("securityContext", "windowsOptions", "hostProcess")
		for _, c := range pod.Containers() {
			if own := c.At("securityContext", "windowsOptions", "hostProcess"); own.True() && !at.True() {
				at = own
			}
		}
		p.Report(pod.Object, at, fmt.Sprintf("the namespace's Pod Security level %s forbids HostProcess "+
			"pods", level), say("a namespace of the level privileged"))
	}
}

// win513: HostProcess as SYSTEM.
var win513 = lint.Rule{
	ID:       "WIN513",
	Severity: lint.Info,
	Title:    "HostProcess as SYSTEM",
	Since:    22,
	Oracle:   lint.Unit,
	Doc: "SYSTEM may do everything on the node. `NT AUTHORITY\\Local service` or a local group of your own often is " +
		"enough. Source: kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod.",
	Bad:  options(inHostNetwork, asSystem),
	Good: options(inHostNetwork, "hostProcess: true\n      runAsUserName: 'NT AUTHORITY\\Local service'"),
	Pod:  checkWIN513,
}

func checkWIN513(p *lint.Pass, pod *lint.Pod) {
	seen := map[string]bool{}
	for _, c := range pod.Containers() {
		v := c.WindowsOption("runAsUserName")
		if c.WindowsOption("hostProcess").True() && strings.EqualFold(v.Str(), `NT AUTHORITY\SYSTEM`) && !seen[v.Path()] {
			seen[v.Path()] = true
			p.Report(pod.Object, v, "SYSTEM may do everything on the "+
				"node", say(`NT AUTHORITY\Local service or a local group, if that is enough`))
		}
	}
}

// win514: The level restricted without os.name.
var win514 = lint.Rule{
	ID:       "WIN514",
	Severity: lint.Error,
	Title:    "The level restricted without os.name",
	Since:    25,
	Oracle:   lint.PodSecurity,
	Doc: "The level restricted asks for a seccomp profile, dropped capabilities and no privilege escalation, which " +
		"Windows does not have. With `os.name: windows` (and a policy of 1.25 or newer) these are waived, and the API " +
		"server forbids the fields; do not add them. `runAsNonRoot: true` is asked of Windows pods too; give them " +
		"`runAsUserName: ContainerUser`. Source: kubernetes/pod-security-admission policy/check_*.go.",
	Bad: namespaced("restricted", placedPod+container),
	Good: namespaced("restricted", windowsPod+"  securityContext:\n    runAsNonRoot: true\n    windowsOptions:\n      "+
		"runAsUserName: ContainerUser\n"+container),
	Pod: checkWIN514,
}

func checkWIN514(p *lint.Pass, pod *lint.Pod) {
	level, version := enforced(p.Set, pod)
	if level != "restricted" {
		return
	}
	if missing := notRestricted(pod, version); len(missing) > 0 && (pod.OSName() != "windows" || version < 25) {
		p.Report(pod.Object, pod.Spec.At("os", "name"), fmt.Sprintf("the namespace's Pod Security level "+
			"restricted refuses the pod for %s, which does not count with os.name: "+
			"windows", strings.Join(missing, ", ")), say("os: {name: windows}"))
	}
	if at, ok := mayBeRoot(pod, version); ok {
		p.Report(pod.Object, at, "the namespace's Pod Security level restricted asks for runAsNonRoot, on "+
			"Windows too", say("runAsNonRoot: true with runAsUserName: ContainerUser"))
	}
}

// win515: runAsNonRoot as administrator.
var win515 = lint.Rule{
	ID:       "WIN515",
	Severity: lint.Error,
	Title:    "runAsNonRoot as administrator",
	Since:    20,
	Oracle:   lint.Unit,
	Doc: "The kubelet refuses to start a container that runs as ContainerAdministrator beside runAsNonRoot " +
		"(CreateContainerConfigError). Source: kubernetes pkg/kubelet/kuberuntime/security_context_windows.go.",
	Bad: windowsPod + "  securityContext:\n    runAsNonRoot: true\n    windowsOptions:\n      runAsUserName: " +
		"ContainerAdministrator\n" + container,
	Good: windowsPod + "  securityContext:\n    runAsNonRoot: true\n    windowsOptions:\n      runAsUserName: " +
		"ContainerUser\n" + container,
	Pod: eachContainer(checkWIN515),
}

func checkWIN515(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	if v := c.WindowsOption("runAsUserName"); c.RunAsNonRoot().True() && strings.EqualFold(v.Str(), "ContainerAdministrator") {
		p.Report(pod.Object, v, "ContainerAdministrator beside runAsNonRoot: the container does not "+
			"start", say("ContainerUser"))
	}
}

// win516: runAsNonRoot without a user.
var win516 = lint.Rule{
	ID:       "WIN516",
	Severity: lint.Warning,
	Title:    "runAsNonRoot without a user",
	Since:    20,
	Oracle:   lint.Unit,
	Doc: "The kubelet refuses only an image that declares ContainerAdministrator; one that declares no user passes, " +
		"and Server Core then runs as administrator. Source: kubernetes pkg/kubelet/kuberuntime/helpers.go, getImageUser.",
	Bad: windowsPod + "  securityContext:\n    runAsNonRoot: true\n" + container,
	Good: windowsPod + "  securityContext:\n    runAsNonRoot: true\n    windowsOptions:\n      runAsUserName: " +
		"ContainerUser\n" + container,
	Pod: eachContainer(checkWIN516),
}

func checkWIN516(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	if v := c.RunAsNonRoot(); v.True() && !c.WindowsOption("runAsUserName").Exists() && !c.WindowsOption("hostProcess").True() {
		p.Report(pod.Object, v, "a false comfort: an image that declares no user can still run as "+
			"administrator", say("set runAsUserName: ContainerUser"))
	}
}

// win517: An administrator in the container.
var win517 = lint.Rule{
	ID:       "WIN517",
	Severity: lint.Info,
	Title:    "An administrator in the container",
	Oracle:   lint.Unit,
	Doc: "Images of Server Core run as ContainerAdministrator unless the pod says `runAsUserName: ContainerUser`; " +
		"Nano Server ones run as ContainerUser. With a hostPath volume the administrator writes to the node: a " +
		"warning. Source: learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-security.",
	Bad:  windowsPod + "  containers:\n  - name: app\n    image: mcr.microsoft.com/windows/servercore:ltsc2022\n",
	Good: windowsPod + container,
	Pod:  eachContainer(checkWIN517),
}

func checkWIN517(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	v := c.WindowsOption("runAsUserName")
	admin := strings.EqualFold(v.Str(), administrator) || !v.Exists() && !strings.Contains(c.At("image").Str(), "nanoserver")
	if !admin || pod.HostProcess() {
		return
	}
	if mountsNode(pod, c) {
		p.ReportAs(lint.Warning, pod.Object, v, "an administrator with a directory of the node mounted: "+
			"it can write there", say("runAsUserName: ContainerUser"))
		return
	}
	p.Report(pod.Object, v, "the container runs as administrator unless its image says "+
		"otherwise", say("runAsUserName: ContainerUser"))
}

// win518: An account that the image does not have.
var win518 = lint.Rule{
	ID:       "WIN518",
	Severity: lint.Error,
	Title:    "An account that the image does not have",
	Since:    17,
	Oracle:   lint.Unit,
	Doc: "The runtime does not start a container as a user that its image does not have: the user name or password is incorrect " +
		"(StartError). Microsoft's images have ContainerUser, ContainerAdministrator and the service accounts of `NT AUTHORITY`; " +
		"another is made in an image of your own. A pod's own `runAsUserName` is its sandbox's too, whose pause image has no more " +
		"than these: name a user of your image on the container. Source: kubernetes.io/docs/tasks/configure-pod-container/" +
		"configure-runasusername; kubernetes issue 104635.",
	Bad:  options(windowsPod, "runAsUserName: app"),
	Good: options(windowsPod, "runAsUserName: ContainerUser"),
	Pod:  checkWIN518,
}

func checkWIN518(p *lint.Pass, pod *lint.Pod) {
	if pod.HostProcess() {
		return
	}
	whole := pod.Spec.At("securityContext", "windowsOptions", "runAsUserName")
	if whole.Exists() && userProblem(whole.Str()) == "" && !windows.SandboxHasAccount(whole.Str()) {
		p.Report(pod.Object, whole, fmt.Sprintf("the pod's sandbox runs as %s too, which the pause image does not have", whole.Str()),
			say("ContainerUser here, and the user of your image on its container"))
	}
	for _, c := range pod.Containers() {
		v, image := c.At("securityContext", "windowsOptions", "runAsUserName"), c.At("image").Str()
		if v.Exists() && userProblem(v.Str()) == "" && !windows.HasAccount(image, v.Str()) {
			p.Report(pod.Object, v, fmt.Sprintf("%s has no account %s: the container does not start", image, v.Str()),
				say("ContainerUser or ContainerAdministrator"))
		}
	}
}
