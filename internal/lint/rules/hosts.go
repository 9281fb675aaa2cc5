package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

// pauseImage is a pause image, and its version when the registry is Kubernetes'.
var pauseImage = regexp.MustCompile(`(mcr\.microsoft\.com/k8s/core/pause|kubeletwin/pause|mcr\.microsoft\.com/oss/kubernetes/pause|(?:registry\.k8s\.io|k8s\.gcr\.io)/pause)(?::v?(\d+)\.(\d+)(?:\.(\d+))?)?`)

// hosts are the rules about images and the Windows builds of the nodes they run on.
func hosts() []lint.Rule {
	image := func(tag, selector string) string {
		return windowsPod + selector + "  containers:\n  - name: app\n    image: mcr.microsoft.com/windows/servercore:" + tag + "\n"
	}
	const on2022 = "    node.kubernetes.io/windows-build: 10.0.20348\n"
	return []lint.Rule{
		{
			ID: "WIN702", Severity: lint.Error, Title: "An image for another Windows build", Oracle: lint.Unit,
			Doc: "A host before Windows Server 2022 runs containers of its own build alone; from then on those from the release before it up to its own. The rest fail: the operating system of the container does not match that of the host (0xc0370101). Compared are the tag (with `--check-images` also what the registry has for Windows, of which one has to fit), the windows-build selector of the pod or its RuntimeClass, else the nodes' releases (`--windows-release`), and the pod's containers with each other. Source: learn.microsoft.com/virtualization/windowscontainers/deploy-containers/version-compatibility.",
			Bad: image("ltsc2019", on2022), Good: image("ltsc2022", on2022),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				if pod.HostProcess() {
					return
				}
				builds, from := hostBuilds(p, pod)
				fits := windows.Releases()
				for _, c := range pod.Containers() {
					v := c.At("image")
					own, name := imageBuilds(p.Set, v.Str())
					if len(own) == 0 {
						continue
					}
					runs := func(build string) bool { return canRun(build, own) }
					if len(builds) > 0 && !slices.ContainsFunc(builds, runs) {
						p.Report(pod.Object, v, fmt.Sprintf("%s does not run on %s", name, from), say("an image of the nodes' release, or other nodes"))
						return
					}
					fits = slices.DeleteFunc(fits, func(host windows.Release) bool { return !runs(host.Build) })
					if len(fits) == 0 {
						p.Report(pod.Object, v, "no host runs this image beside those of the pod's other containers", say("images of one release"))
						return
					}
				}
			},
		},
		{
			ID: "WIN703", Severity: lint.Warning, Title: "Several Windows builds and no selector", Since: 17, Oracle: lint.Unit, For: lint.Target{Windows: []string{"2019", "2022"}},
			Doc: "The cluster has nodes of several Windows releases (`--windows-release`) of which not all run the image, and nothing says to which of them the pod belongs. Select `node.kubernetes.io/windows-build`. Source: kubernetes.io/docs/concepts/windows/user-guide.",
			Bad: image("ltsc2022", ""), Good: image("ltsc2022", on2022),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
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
						p.Report(pod.Object, pod.Spec.At("nodeSelector"), fmt.Sprintf("the pod can land on nodes of build %s, which do not run %s", builds[bad], v.Str()), say("node.kubernetes.io/windows-build: "+fix))
						return
					}
				}
			},
		},
		{
			ID: "WIN707", Severity: lint.Warning, Title: "An old pause image", Oracle: lint.Unit,
			Doc: "Every pod's sandbox runs the pause image: that of Microsoft's old registries gets no updates, one before 3.10.2 has none for Windows Server 2025, and from 3.9 on there is none for 20H2. Looked for in kubelet flags and files of bootstrap, ConfigMaps and containers. Source: kubernetes build/pause/CHANGELOG.md.",
			Bad: workers("v1.23.0", kubelet("pod-infra-container-image: mcr.microsoft.com/k8s/core/pause:1.2.0")), Good: workers("v1.23.0", kubelet("pod-infra-container-image: registry.k8s.io/pause:3.10.2")),
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				pause(p, pod.Object, c.At("image"), c.At("image").Str(), p.Target.Windows)
			}),
			Check: func(p *lint.Pass) {
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
			},
		},
	}
}

// imageBuilds are the Windows builds that an image has, as its reference says or its
// registry, and what to call it; none when they are not known.
func imageBuilds(s *lint.Set, reference string) (builds []string, name string) {
	if r, ok := windows.ImageRelease(reference); ok {
		return []string{r.Build}, "Windows Server " + r.Name
	}
	known, _ := s.Platforms(reference)
	builds = known.Builds()
	return builds, "an image for Windows " + strings.Join(builds, " and ")
}

// canRun says whether a host runs one of an image's builds.
func canRun(host string, image []string) bool {
	return slices.ContainsFunc(image, func(build string) bool { return windows.CanRun(host, build) })
}

// selectedBuild is the windows-build that the pod or its RuntimeClass selects.
func selectedBuild(s *lint.Set, pod *lint.Pod) (string, bool) {
	if v := pod.Spec.At("nodeSelector", lint.LabelWindowsBuild); v.Exists() {
		return v.Str(), true
	}
	if class := runtimeClass(s, pod); class != nil {
		if v := class.Root.At("scheduling", "nodeSelector", lint.LabelWindowsBuild); v.Exists() {
			return v.Str(), true
		}
	}
	return "", false
}

// hostBuilds are the builds of nodes that the pod can land on, and where that is from;
// none when it is not known.
func hostBuilds(p *lint.Pass, pod *lint.Pod) (builds []string, from string) {
	if build, ok := selectedBuild(p.Set, pod); ok {
		if !windowsBuild.MatchString(build) {
			return nil, "" // WIN008 reports it
		}
		return []string{build}, "the nodes of build " + build
	}
	for _, name := range p.Target.Windows {
		if r, ok := windows.ReleaseByName(name); ok {
			builds = append(builds, r.Build)
		}
	}
	return builds, "nodes with Windows Server " + strings.Join(p.Target.Windows, ", ")
}

// pause finds pause images in a text and what is wrong with them.
func pause(p *lint.Pass, o *lint.Object, at lint.Value, text string, releases []string) {
	m := pauseImage.FindStringSubmatch(text)
	if m == nil {
		return
	}
	var major, minor, patch int
	known := m[2] != ""
	fmt.Sscan(m[2], &major)
	fmt.Sscan(m[3], &minor)
	fmt.Sscan(m[4], &patch)
	switch newer := slices.Compare([]int{major, minor, patch}, []int{3, 10, 2}) >= 0; {
	case strings.Contains(m[1], "k8s/core") || strings.Contains(m[1], "kubeletwin"):
		p.Report(o, at, m[0]+" gets no updates and fits no release of today", say("registry.k8s.io/pause:3.10.2"))
	case known && !newer && slices.Contains(releases, "2025"):
		p.Report(o, at, m[0]+" has no image for Windows Server 2025", say("registry.k8s.io/pause:3.10.2"))
	case known && slices.Compare([]int{major, minor}, []int{3, 9}) >= 0 && slices.Contains(releases, "20H2"):
		p.Report(o, at, m[0]+" has no image for 20H2", say("nodes of Windows Server 2022"))
	}
}
