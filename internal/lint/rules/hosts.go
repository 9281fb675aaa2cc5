package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

// pauseImage matches a pause image, and its version if the registry is Kubernetes'.
var pauseImage = regexp.MustCompile(`(mcr\.microsoft\.com/k8s/core/pause|kubeletwin/pause|mcr\.microsoft\.com/oss/kubernetes/pause|` +
	`(?:registry\.k8s\.io|k8s\.gcr\.io)/pause)(?::v?(\d+)\.(\d+)(?:\.(\d+))?)?`)

// imageOnBuild returns a Windows pod with an image tag, on nodes with a build.
func imageOnBuild(tag, selector string) string {
	return windowsPod + selector + "  containers:\n  - name: app\n    image: mcr.microsoft.com/windows/servercore:" + tag + "\n"
}

// on2022 selects nodes of Windows Server 2022.
const on2022 = "    node.kubernetes.io/windows-build: 10.0.20348\n"

// imageBuilds returns the Windows builds of an image, from its reference or its registry, and a name for them; none if
// they are unknown.
func imageBuilds(s *lint.Set, reference string) (builds []string, name string) {
	if r, ok := windows.ImageRelease(reference); ok {
		return []string{r.Build}, "Windows Server " + r.Name
	}
	known, _ := s.Platforms(reference)
	builds = known.Builds()
	return builds, "an image for Windows " + strings.Join(builds, " and ")
}

// canRun reports whether a host can run one of an image's builds.
func canRun(host string, image []string) bool {
	return slices.ContainsFunc(image, func(build string) bool { return windows.CanRun(host, build) })
}

// selectedBuild returns the windows-build that the pod or its RuntimeClass selects.
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

// hostBuilds returns the builds of the nodes that the pod can be scheduled on, and their source; none if they are unknown.
func hostBuilds(p *lint.Pass, pod *lint.Pod) (builds []string, from string) {
	if build, ok := selectedBuild(p.Set, pod); ok {
		if !windowsBuild.MatchString(build) {
			return nil, "" // rule WIN008 reports it
		}
		return []string{build}, "the nodes of build " + build
	}
	return targetBuilds(p.Target), "nodes with Windows Server " + strings.Join(p.Target.Windows, ", ")
}

// pause reports pause images in a text that do not match the Windows nodes.
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
	have := []int{major, minor, patch}
	switch {
	case strings.Contains(m[1], "k8s/core") || strings.Contains(m[1], "kubeletwin"):
		p.Report(o, at, m[0]+" gets no updates and fits no release of today", say("registry.k8s.io/pause:3.10.2"))
	case known && withoutPause(releases, have) != "":
		p.Report(o, at, m[0]+" has no image for Windows Server "+withoutPause(releases, have), say("registry.k8s.io/pause:3.10.2"))
	case known && slices.Compare(have[:2], []int{3, 9}) >= 0 && slices.Contains(releases, "20H2"):
		p.Report(o, at, m[0]+" has no image for 20H2", say("nodes of Windows Server 2022"))
	}
}

// withoutPause returns the first of the releases for which a version of the pause image has no variant, or "".
func withoutPause(releases []string, version []int) string {
	for _, name := range releases {
		r, ok := windows.ReleaseByName(name)
		var oldest [3]int
		if n, _ := fmt.Sscanf(r.Pause, "%d.%d.%d", &oldest[0], &oldest[1], &oldest[2]); ok && n == len(oldest) &&
			slices.Compare(version, oldest[:]) < 0 {
			return name
		}
	}
	return ""
}
