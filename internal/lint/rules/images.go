package rules

import (
	"fmt"
	"regexp"
	"strings"

	"casement.dev/casement/internal/lint"
)

// base are Microsoft's base images, which have no tag latest.
var base = regexp.MustCompile(`^mcr\.microsoft\.com/windows(/(nanoserver|servercore|server))?(:latest)?$`)

// linuxImage are images that have no Windows platform.
var linuxImage = regexp.MustCompile(`^((docker\.io/)?(library/)?(alpine|ubuntu|debian|centos|busybox)(:|$)|gcr\.io/distroless/|.*:([^/]*[-._])?(alpine|slim|bookworm|bullseye|jammy|noble)([-.0-9]|$))`)

// ended are releases that get no more security updates.
var ended = regexp.MustCompile(`(:|-)(1607|1709|1803|1903|1909|2004|20H2|ltsc2016)([-_]|$)`)

// notForWindows says whether an image has no Windows platform: as its registry says
// (`--check-images`), else as its name does.
func notForWindows(s *lint.Set, image string) bool {
	if known, ok := s.Platforms(image); ok {
		return len(known.Windows) == 0
	}
	return linuxImage.MatchString(image) && !lint.WindowsImage(image)
}

// images are the rules about images and isolation.
func images() []lint.Rule {
	image := func(name string) string {
		return windowsPod + "  containers:\n  - name: app\n    image: " + name + "\n"
	}
	each := func(check func(p *lint.Pass, pod *lint.Pod, v lint.Value)) func(*lint.Pass, *lint.Pod) {
		return eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
			if v := c.At("image"); v.Exists() {
				check(p, pod, v)
			}
		})
	}
	return []lint.Rule{
		{
			ID: "WIN701", Severity: lint.Error, Title: "A base image without a tag", Oracle: lint.Unit,
			Doc: "Microsoft's base images have had no tag latest since April 2019: the pull fails. Name the release, such as ltsc2022. Source: learn.microsoft.com/virtualization/windowscontainers/deploy-containers/version-compatibility.",
			Bad: image("mcr.microsoft.com/windows/servercore"), Good: image("mcr.microsoft.com/windows/servercore:ltsc2022"),
			Pod: each(func(p *lint.Pass, pod *lint.Pod, v lint.Value) {
				if base.MatchString(v.Str()) {
					p.Report(pod.Object, v, "this image has no tag latest: the pull fails", say("a tag of the nodes' release, such as ltsc2022"))
				}
			}),
		},
		{
			ID: "WIN704", Severity: lint.Error, Title: "An image of Linux alone", Oracle: lint.Unit,
			Doc: "The image has no Windows platform: no match for platform in manifest. Known are some names; with `--check-images` the registry is asked of the others. Source: gitlab-org/gitlab-runner issue 4014.",
			Bad: image("alpine:3.20"), Good: image("mcr.microsoft.com/windows/nanoserver:ltsc2022"),
			Pod: each(func(p *lint.Pass, pod *lint.Pod, v lint.Value) {
				if notForWindows(p.Set, v.Str()) {
					p.Report(pod.Object, v, fmt.Sprintf("%s has no Windows platform", v.Str()), say("an image for Windows"))
				}
			}),
		},
		{
			ID: "WIN705", Severity: lint.Warning, Title: "A Windows release past its end", Oracle: lint.Unit,
			Doc: "The release gets no security updates, and no supported node runs it. Source: learn.microsoft.com/virtualization/windowscontainers/deploy-containers/base-image-lifecycle.",
			Bad: image("mcr.microsoft.com/windows/servercore:2004"), Good: image("mcr.microsoft.com/windows/servercore:ltsc2022"),
			Pod: each(func(p *lint.Pass, pod *lint.Pod, v lint.Value) {
				if ended.MatchString(v.Str()) && lint.WindowsImage(strings.ToLower(v.Str())) {
					p.Report(pod.Object, v, "the Windows release of this image gets no more updates", say("ltsc2022 or ltsc2025"))
				}
			}),
		},
		{
			ID: "WIN706", Severity: lint.Warning, Title: "An image of the old Docker Hub", Oracle: lint.Unit,
			Doc: "Microsoft's images moved to mcr.microsoft.com; those of Docker Hub fit no node of today. Source: learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-base-images.",
			Bad: image("microsoft/iis"), Good: image("mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022"),
			Pod: each(func(p *lint.Pass, pod *lint.Pod, v lint.Value) {
				if strings.HasPrefix(strings.TrimPrefix(v.Str(), "docker.io/"), "microsoft/") {
					p.Report(pod.Object, v, "the image moved to mcr.microsoft.com years ago", say("the image of the same name below mcr.microsoft.com/windows"))
				}
			}),
		},
		{
			ID: "WIN708", Severity: lint.Warning, Title: "The annotation for Hyper-V isolation", Since: 21, Oracle: lint.Unit,
			Doc: "The annotation was for Docker and went with 1.21: the container gets process isolation without a word. Use a RuntimeClass with the handler runhcs-wcow-hypervisor. Source: kubernetes issue 95505.",
			Bad: strings.Replace(windowsPod, "  name: example\n", "  name: example\n  annotations:\n    experimental.windows.kubernetes.io/isolation-type: hyperv\n", 1) + container, Good: windowsPod + container,
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				if v := pod.Meta.At("annotations", "experimental.windows.kubernetes.io/isolation-type"); v.Exists() {
					p.Report(pod.Object, v, "nothing reads it since 1.21: the container gets process isolation", say("a RuntimeClass with the handler runhcs-wcow-hypervisor"))
				}
			},
		},
	}
}
