package windows

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// CanRun says whether a host of one build runs a container image of another with
// process isolation, which is all that Kubernetes has on Windows; where it does
// not, the runtime says that "the operating system of the container does not
// match the operating system of the host". HostProcess containers are exempt.
// Both builds are versions such as "10.0.17763" or "10.0.17763.6293", or bare
// build numbers; an unreadable one cannot run.
//
// Up to Windows Server 2022 the builds have to be equal. A later host runs the builds
// from the last long-term release before its own up to its own.
// Source: hcsshim osversion, and
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

// longTerm reports whether the release is of the long-term servicing channel, as the tags
// of its container images say.
func (r Release) longTerm() bool { return len(r.Tags) > 0 && strings.HasPrefix(r.Tags[0], "ltsc") }

// buildNumber returns the third part of a version, or a bare number; 0 when there is none.
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

// buildForm is the form of a Windows build in a tag.
var buildForm = regexp.MustCompile(`\b10\.0\.\d{5}\b`)

// wholeBuild is the form with its revision.
var wholeBuild = regexp.MustCompile(`\b10\.0\.\d{5}\.\d+\b`)

// ImageRelease returns the Windows release of a container image, from its reference alone.
// ok is false for images that do not name one: Linux images, and manifest lists for several
// releases.
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

// splitImage cuts a reference into repository and tag, in lower case, and drops a
// digest.
func splitImage(reference string) (repository, tag string) {
	name, _, _ := strings.Cut(strings.ToLower(reference), "@")
	colon := strings.LastIndex(name, ":")
	if colon < 0 || strings.Contains(name[colon:], "/") {
		return name, ""
	}
	return name[:colon], name[colon+1:]
}
