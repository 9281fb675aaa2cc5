package windows

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// CanRun reports whether a host with one build runs a container image with another build in process isolation, the only
// isolation of Kubernetes on Windows. If it does not, the runtime's error is "the operating system of the container
// does not match the operating system of the host". HostProcess containers are exempt. Both builds are versions such as
// "10.0.17763" or "10.0.17763.6293", or bare build numbers; an unreadable build cannot run.
//
// Up to Windows Server 2022 the builds have to be equal. A newer host runs all builds from the previous long-term
// release up to its own build. Source: hcsshim osversion, and
// https://learn.microsoft.com/virtualization/windowscontainers/deploy-containers/version-compatibility.
func CanRun(hostBuild, imageBuild string) bool {
	const ltsc2022 = 20348
	host, image := buildNumber(hostBuild), buildNumber(imageBuild)
	switch {
	case host == 0 || image == 0:
		return false
	case host < ltsc2022:
		return host == image
	}
	oldest := ltsc2022
	for _, r := range allReleases() {
		if build := buildNumber(r.Build); r.longTerm() && build < host {
			oldest = max(oldest, build)
		}
	}
	return image >= oldest && image <= host
}

// longTerm reports whether the release is in the long-term servicing channel, according to the tags of its container images.
func (r Release) longTerm() bool { return len(r.Tags) > 0 && strings.HasPrefix(r.Tags[0], "ltsc") }

// buildNumber returns the third part of a version, or a bare number; 0 if there is none.
func buildNumber(build string) int {
	parts := strings.Split(build, ".")
	number := parts[0]
	if len(parts) > 2 {
		number = parts[2]
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || len(parts) == 2 {
		return 0
	}
	return n
}

// buildForm matches a Windows build in a tag.
var buildForm = regexp.MustCompile(`\b10\.0\.\d{5}\b`)

// wholeBuild matches a Windows build with its revision.
var wholeBuild = regexp.MustCompile(`\b10\.0\.\d{5}\.\d+\b`)

// ImageRelease returns the Windows release of a container image, only from its reference. ok is false for images that
// name no release: Linux images, and manifest lists for several releases.
func ImageRelease(reference string) (Release, bool) {
	repository, tag := splitImage(reference)
	if build := buildForm.FindString(tag); build != "" {
		return ReleaseByBuild(build)
	}
	tokens := tagTokens(tag)
	windows := isWindowsRepository(repository) || slices.ContainsFunc(tokens, windowsToken.MatchString)
	for _, token := range slices.Backward(tokens) {
		ltsc := strings.HasPrefix(token, "ltsc")
		if !windows && !ltsc {
			continue
		}
		if r, ok := find(func(r Release) bool { return slices.Contains(r.Tags, token) }); ok {
			return r, true
		}
	}
	return Release{}, false
}

// splitImage splits a reference into repository and tag, in lower case, without a digest.
func splitImage(reference string) (repository, tag string) {
	name, _, _ := strings.Cut(strings.ToLower(reference), "@")
	colon := strings.LastIndex(name, ":")
	if colon < 0 || strings.Contains(name[colon:], "/") {
		return name, ""
	}
	return name[:colon], name[colon+1:]
}
