package rules

import (
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

// win701: A base image without a tag.
var win701 = lint.Rule{
	ID:       "WIN701",
	Severity: lint.Error,
	Title:    "A base image without a tag",
	Oracle:   lint.Unit,
	Doc: "Microsoft's base images have had no tag latest since April 2019: the pull fails. Name the release, such as " +
		"ltsc2022. Source: learn.microsoft.com/virtualization/windowscontainers/deploy-containers/version-compatibility.",
	Bad:  withImage("mcr.microsoft.com/windows/servercore"),
	Good: withImage("mcr.microsoft.com/windows/servercore:ltsc2022"),
	Pod:  eachImage(checkWIN701),
}

func checkWIN701(p *lint.Pass, pod *lint.Pod, v lint.Value) {
	if base.MatchString(v.Str()) {
		p.Report(pod.Object, v, "this image has no tag latest: the pull fails", say("a tag of the nodes' "+
			"release, such as ltsc2022"))
	}
}

// win702: An image for another Windows build.
var win702 = lint.Rule{
	ID:       "WIN702",
	Severity: lint.Error,
	Title:    "An image for another Windows build",
	Oracle:   lint.Unit,
	Doc: "A host of Windows Server 2022 or before runs containers of its own build alone; a later one those from the " +
		"long-term release before it up to its own. The rest fail: the operating system of the container does not match that of " +
		"the host (0xc0370101). Compared are the tag (with `--check-images` also what the registry has for Windows, " +
		"of which one has to fit), the windows-build selector of the pod or its RuntimeClass, else the nodes' " +
		"releases (`--windows-release`), and the pod's containers with each other. A selector of a build that no such node " +
		"has leaves the pod Pending. Where nothing says what the nodes are, an image that does not run on Windows Server " +
		"2022, which casement's flavors have by default, is a warning. Source: " +
		"learn.microsoft.com/virtualization/windowscontainers/deploy-containers/version-compatibility.",
	Bad:  imageOnBuild("ltsc2019", on2022),
	Good: imageOnBuild("ltsc2022", on2022),
	Pod:  checkWIN702,
}

// usualRelease returns the default release of nodes: the default of casement's flavors.
func usualRelease() windows.Release {
	r, _ := windows.ReleaseByName(windows.DefaultRelease)
	return r
}

// targetBuilds returns the builds of the target's Windows releases.
func targetBuilds(t lint.Target) (builds []string) {
	for _, name := range t.Windows {
		if r, ok := windows.ReleaseByName(name); ok {
			builds = append(builds, r.Build)
		}
	}
	return builds
}

func checkWIN702(p *lint.Pass, pod *lint.Pod) {
	if pod.HostProcess() {
		return
	}
	builds, from := hostBuilds(p, pod)
	if v := pod.Spec.At("nodeSelector", lint.LabelWindowsBuild); v.Exists() && len(p.Target.Windows) > 0 &&
		windowsBuild.MatchString(v.Str()) && !slices.Contains(targetBuilds(p.Target), v.Str()) {
		p.Report(pod.Object, v, fmt.Sprintf("no node has it, the pod stays Pending: the nodes run Windows Server %s",
			strings.Join(p.Target.Windows, ", ")), say("the build of the nodes: "+strings.Join(targetBuilds(p.Target), " or ")))
		return
	}
	fits, usual := windows.Releases(), usualRelease()
	var unusual lint.Value
	what := ""
	for _, c := range pod.Containers() {
		v := c.At("image")
		own, name := imageBuilds(p.Set, v.Str())
		if len(own) == 0 {
			continue
		}
		runs := func(build string) bool { return canRun(build, own) }
		if len(builds) > 0 && !slices.ContainsFunc(builds, runs) {
			p.Report(pod.Object, v, fmt.Sprintf("%s does not run on %s", name, from), say("an image of "+
				"the nodes' release, or other nodes"))
			return
		}
		if len(builds) == 0 && !unusual.Exists() && !runs(usual.Build) {
			unusual, what = v, name
		}
		fits = slices.DeleteFunc(fits, func(host windows.Release) bool { return !runs(host.Build) })
		if len(fits) == 0 {
			p.Report(pod.Object, v, "no host runs this image beside those of the pod's other "+
				"containers", say("images of one release"))
			return
		}
	}
	if _, selects := selectedBuild(p.Set, pod); unusual.Exists() && !selects {
		p.ReportAs(lint.Warning, pod.Object, unusual, fmt.Sprintf("%s does not run on Windows Server %s, which nodes have "+
			"unless something else is said", what, usual.Name), say("an image of that release, or say which the nodes "+
			"have: --windows-release, WINDOWS_SERVER_VERSION of the flavor"))
	}
}

// win703: Several Windows builds and no selector.
var win703 = lint.Rule{
	ID:       "WIN703",
	Severity: lint.Warning,
	Title:    "Several Windows builds and no selector",
	Since:    17,
	Oracle:   lint.Unit,
	For:      lint.Target{Windows: []string{"2019", "2022"}},
	Doc: "The cluster has nodes of several Windows releases (`--windows-release`) of which not all run the image, and " +
		"nothing says to which of them the pod belongs. Select `node.kubernetes.io/windows-build`. Source: " +
		"kubernetes.io/docs/concepts/windows/user-guide.",
	Bad:  imageOnBuild("ltsc2022", ""),
	Good: imageOnBuild("ltsc2022", on2022),
	Pod:  checkWIN703,
}

func checkWIN703(p *lint.Pass, pod *lint.Pod) {
	if _, selected := selectedBuild(p.Set, pod); selected || len(p.Target.Windows) < 2 || pod.HostProcess() {
		return
	}
	for _, c := range pod.Containers() {
		v := c.At("image")
		own, _ := imageBuilds(p.Set, v.Str())
		builds, _ := hostBuilds(p, pod)
		bad := slices.IndexFunc(builds, func(host string) bool { return !canRun(host, own) })
		good := slices.IndexFunc(builds, func(host string) bool { return canRun(host, own) })
		if len(own) > 0 && bad >= 0 && good >= 0 {
			fix := builds[good]
			if r, ok := windows.ImageRelease(v.Str()); ok {
				fix = r.Build
			}
			p.Report(pod.Object, pod.Spec.At("nodeSelector"), fmt.Sprintf("the pod can land on nodes of "+
				"build %s, which do not run %s", builds[bad], v.Str()), say("node.kubernetes.io/windows-build: "+fix))
			return
		}
	}
}

// win704: An image for Linux only.
var win704 = lint.Rule{
	ID:       "WIN704",
	Severity: lint.Error,
	Title:    "An image of Linux alone",
	Oracle:   lint.Unit,
	Doc: "The image has no Windows platform: no match for platform in manifest. Known are some names; with " +
		"`--check-images` the registry is asked of the others. Source: gitlab-org/gitlab-runner issue 4014.",
	Bad:  withImage("alpine:3.20"),
	Good: withImage("mcr.microsoft.com/windows/nanoserver:ltsc2022"),
	Pod:  eachImage(checkWIN704),
}

func checkWIN704(p *lint.Pass, pod *lint.Pod, v lint.Value) {
	if notForWindows(p.Set, v.Str()) {
		p.Report(pod.Object, v, fmt.Sprintf("%s has no Windows platform", v.Str()), say("an image for Windows"))
	}
}

// win705: A Windows release past its end.
var win705 = lint.Rule{
	ID:       "WIN705",
	Severity: lint.Warning,
	Title:    "A Windows release past its end",
	Oracle:   lint.Unit,
	Doc: "The release gets no security updates, and no supported node runs it. Source: " +
		"learn.microsoft.com/virtualization/windowscontainers/deploy-containers/base-image-lifecycle.",
	Bad:  withImage("mcr.microsoft.com/windows/servercore:2004"),
	Good: withImage("mcr.microsoft.com/windows/servercore:ltsc2022"),
	Pod:  eachImage(checkWIN705),
}

func checkWIN705(p *lint.Pass, pod *lint.Pod, v lint.Value) {
	if ended.MatchString(v.Str()) && windows.IsWindowsImage(v.Str()) {
		p.Report(pod.Object, v, "the Windows release of this image gets no more updates",
			say("an image of Windows Server "+windows.ServerChoice("")))
	}
}

// win706: An image of the old Docker Hub.
var win706 = lint.Rule{
	ID:       "WIN706",
	Severity: lint.Warning,
	Title:    "An image of the old Docker Hub",
	Oracle:   lint.Unit,
	Doc: "Microsoft's images moved to mcr.microsoft.com; those of Docker Hub fit no node of today. Source: " +
		"learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-base-images.",
	Bad:  withImage("microsoft/iis"),
	Good: withImage("mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022"),
	Pod:  eachImage(checkWIN706),
}

func checkWIN706(p *lint.Pass, pod *lint.Pod, v lint.Value) {
	if strings.HasPrefix(strings.TrimPrefix(v.Str(), "docker.io/"), "microsoft/") {
		p.Report(pod.Object, v, "the image moved to mcr.microsoft.com years ago", say("the image of the "+
			"same name below mcr.microsoft.com/windows"))
	}
}

// win707: An old pause image.
var win707 = lint.Rule{
	ID:       "WIN707",
	Severity: lint.Warning,
	Title:    "An old pause image",
	Oracle:   lint.Unit,
	Doc: "Every pod's sandbox runs the pause image: that of Microsoft's old registries gets no updates, one before " +
		"3.10.2 has none for Windows Server 2025, and from 3.9 on there is none for 20H2. Looked for in kubelet flags " +
		"and files of bootstrap, ConfigMaps and containers. Source: kubernetes build/pause/CHANGELOG.md.",
	Bad:   workers("v1.23.0", kubelet("pod-infra-container-image: mcr.microsoft.com/k8s/core/pause:1.2.0")),
	Good:  workers("v1.23.0", kubelet("pod-infra-container-image: registry.k8s.io/pause:3.10.2")),
	Pod:   eachContainer(checkWIN707),
	Check: checkWIN707b,
}

func checkWIN707(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	pause(p, pod.Object, c.At("image"), c.At("image").Str(), p.Target.Windows)
}

func checkWIN707b(p *lint.Pass) {
	eachBootstrap(func(p *lint.Pass, m machines, k lint.Value) {
		releases := p.Target.Windows
		if year := serverVersion.FindStringSubmatch(m.annotation("windowsServerVersion").Str()); year != nil {
			releases = year[1:]
		}
		for _, f := range kubeletFlags(k) {
			pause(p, m.config, f.at, f.value, releases)
		}
		for _, f := range k.At("files").Items() {
			pause(p, m.config, f.At("content"), f.At("content").Str(), releases)
		}
	})(p)
	for _, o := range p.Set.Kind("ConfigMap") {
		for _, f := range o.Root.At("data").Fields() {
			if strings.Contains(f.Value.Str(), "sandbox_image") && strings.Contains(strings.ToLower(f.Value.Str()), `c:\`) {
				pause(p, o, f.Value, f.Value.Str(), p.Target.Windows)
			}
		}
	}
}

// win708: The annotation for Hyper-V isolation.
var win708 = lint.Rule{
	ID:       "WIN708",
	Severity: lint.Warning,
	Title:    "The annotation for Hyper-V isolation",
	Since:    21,
	Oracle:   lint.Unit,
	Doc: "The annotation was for Docker and went with 1.21: the container gets process isolation without a word. Use " +
		"a RuntimeClass with the handler runhcs-wcow-hypervisor. Source: kubernetes issue 95505.",
	Bad: strings.Replace(windowsPod, "  name: example\n", "  name: example\n  annotations:\n    "+
		"experimental.windows.kubernetes.io/isolation-type: hyperv\n", 1) + container,
	Good: windowsPod + container,
	Pod:  checkWIN708,
}

func checkWIN708(p *lint.Pass, pod *lint.Pod) {
	if v := pod.Meta.At("annotations", "experimental.windows.kubernetes.io/isolation-type"); v.Exists() {
		p.Report(pod.Object, v, "nothing reads it since 1.21: the container gets process "+
			"isolation", say("a RuntimeClass with the handler runhcs-wcow-hypervisor"))
	}
}

// win709: Hyper-V isolation.
var win709 = lint.Rule{
	ID:       "WIN709",
	Severity: lint.Info,
	Title:    "Hyper-V isolation",
	Since:    20,
	Oracle:   lint.Unit,
	Doc: "The handler `" + hypervisor + "` runs each pod in a small virtual machine. Kubernetes calls it unsupported; " +
		"it needs containerd 1.7, the class on the nodes and VM sizes with nested virtualization. HostProcess " +
		"containers cannot have it, which is an error. Source: kubernetes.io/docs/concepts/windows/intro; kubernetes " +
		"test/e2e/windows/hyperv.go.",
	Bad:  withClass(hypervisor, "kubernetes.io/os: windows"),
	Good: withClass("runhcs-wcow-process", "kubernetes.io/os: windows"),
	Pod:  checkWIN709,
}

func checkWIN709(p *lint.Pass, pod *lint.Pod) {
	name := pod.Spec.At("runtimeClassName")
	handler := name.Str()
	if class := runtimeClass(p.Set, pod); class != nil {
		handler = class.Root.At("handler").Str()
	}
	switch {
	case !strings.HasPrefix(handler, hypervisor):
	case pod.HostProcess():
		p.ReportAs(lint.Error, pod.Object, name, "HostProcess containers cannot run in a virtual "+
			"machine", say("take it out"))
	default:
		p.Report(pod.Object, name, "Hyper-V isolation needs nodes with nested virtualization, and "+
			"Kubernetes does not support it", say("process isolation, unless your nodes are made for it"))
	}
}

// win710: A deadline shorter than the first pull.
var win710 = lint.Rule{
	ID:       "WIN710",
	Severity: lint.Warning,
	Title:    "A deadline shorter than the first pull",
	Oracle:   lint.Unit,
	Doc: "Images of Windows have 300 MB to over 10 GB: the first pull on a node can take longer than ten minutes. " +
		"Leave progressDeadlineSeconds and activeDeadlineSeconds at 600 or more, and do not pull base images at every " +
		"start. Source: kubernetes.io/docs/concepts/windows/intro, hardware.",
	Bad:  deadline(120),
	Good: deadline(900),
	Pod:  checkWIN710,
}

func checkWIN710(p *lint.Pass, pod *lint.Pod) {
	root := pod.Object.Root
	deadlines := map[string]lint.Value{"Deployment": root.At("spec", "progressDeadlineSeconds"), "Job": root.At("spec",
		"activeDeadlineSeconds"), "CronJob": root.At("spec", "jobTemplate", "spec", "activeDeadlineSeconds")}
	if v := deadlines[pod.Object.Kind]; v.Exists() {
		if n, ok := v.Int(); ok && n < 600 {
			p.Report(pod.Object, v, fmt.Sprintf("%d seconds: the first pull of a Windows image can take "+
				"longer", n), say("600 or more"))
		}
	}
	for _, c := range pod.Containers() {

		image := c.At("image").Str()
		_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
		if v := c.At("imagePullPolicy"); v.Str() == "Always" && tag != "" && tag != "latest" && strings.HasPrefix(image,
			"mcr.microsoft.com/windows") {
			p.Report(pod.Object, v, "base images are large and their tags move once a month: asking the "+
				"registry at every start delays it", say("IfNotPresent"))
		}
	}
}

// win711: A base image with a known regression.
var win711 = lint.Rule{
	ID:       "WIN711",
	Severity: lint.Warning,
	Title:    "A base image with a known regression",
	Oracle:   lint.Unit,
	Doc: "A tag with a whole Windows build, such as 10.0.20348.2402, has what that month's update broke, and is not repaired by the " +
		"node's updates. docs/reference/windows-builds.md has the builds. HostProcess containers take most from the node and " +
		"are left out, as are tags without a build, which move. Source: the link in the finding.",
	Bad:  imageOnBuild("10.0.17763.1012", ""),
	Good: imageOnBuild("10.0.20348.4294", ""),
	Pod:  checkWIN711,
}

func checkWIN711(p *lint.Pass, pod *lint.Pod) {
	if pod.HostProcess() {
		return
	}
	for _, c := range pod.Containers() {
		v := c.At("image")
		build, ok := windows.ImageBuild(v.Str())
		if !ok {
			continue
		}
		for _, r := range windows.Judge(build, windows.HitsImage).Found {
			nano := strings.Contains(r.What, "Nano Server") && !strings.Contains(v.Str(), "nanoserver")
			if !nano {
				p.Report(pod.Object, v, fmt.Sprintf("an image of Windows %s: %s (%s)", build, r.Name(), r.Source), say(r.Remedy()))
			}
		}
	}
}
