// Package windows has facts about Windows Server as a Kubernetes node: releases and builds, container tags and the
// hosts that can run them, names that a Windows computer may have, and the reference images of Cluster API.
//
// It has only facts and pure functions over them. It does no I/O, uses no Kubernetes or Azure client, and imports only
// the standard library. Any package may import it.
package windows

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// OS names as Kubernetes resources and Azure's osType spell them.
const (
	OSWindows = "Windows"
	OSLinux   = "Linux"
)

// Release is one release of Windows Server.
type Release struct {
	// Name is the year ("2019") or the annual channel's version ("23H2").
	Name string
	// Build is major, minor and build: the value of the node label
	// node.kubernetes.io/windows-build.
	Build string
	// UBR is the update build revision of a patch level with which reference images were built; it is the fourth part
	// of the kernel version.
	UBR int
	// OSImage is the ProductName in the registry, which kubelet reports as the node's osImage.
	OSImage string
	// Tags are the container image tags of the release's base images, newest
	// spelling first. Source: https://learn.microsoft.com/virtualization/windowscontainers/deploy-containers/base-image-lifecycle.
	Tags []string
	// Publisher, Offer and SKU identify the marketplace image from which Kubernetes images are built; "" if there is
	// none. Source: image-builder's packer configuration for Azure.
	Publisher, Offer, SKU string
	// Released is the first day of its lifecycle; the source is that of EndOfSupport.
	Released time.Time
	// EndOfSupport is the last day of (extended) support.
	// Source: https://learn.microsoft.com/lifecycle/products/export/.
	EndOfSupport time.Time
	// Mainstream is the last day of mainstream support, after which there are only security fixes; zero if it is
	// EndOfSupport. The source is that of EndOfSupport.
	Mainstream time.Time
	// ImagesEnd is the last day of the release's container base images, if it differs from EndOfSupport; the source is
	// that of Tags.
	ImagesEnd time.Time
	// Node is true if Kubernetes nodes of this release are built; the others are only known as container images.
	Node bool
	// Pause is the oldest version of the image registry.k8s.io/pause with a variant for the release; "" if every
	// current version has one. Source: kubernetes build/pause/CHANGELOG.md.
	Pause string
}

// KernelVersion returns the four-part version that kubelet reports for a node.
func (r Release) KernelVersion() string { return fmt.Sprintf("%s.%d", r.Build, r.UBR) }

// SupportedAt reports whether Microsoft still publishes fixes for the release at a time.
func (r Release) SupportedAt(t time.Time) bool { return t.Before(r.EndOfSupport.AddDate(0, 0, 1)) }

// Support returns the ends of Microsoft's support for the release, as seen at a time: of mainstream or of security
// fixes, and of the base images if their end differs.
func (r Release) Support(t time.Time) string {
	end := r.EndOfSupport.Format(time.DateOnly)
	text := "supported until " + end
	switch {
	case !r.SupportedAt(t):
		return "support ended " + end
	case !r.Mainstream.IsZero() && t.Before(r.Mainstream.AddDate(0, 0, 1)):
		text = "mainstream support until " + r.Mainstream.Format(time.DateOnly) + ", security fixes until " + end
	case !r.Mainstream.IsZero():
		text = "mainstream support ended " + r.Mainstream.Format(time.DateOnly) + ", security fixes until " + end
	}
	if !r.ImagesEnd.IsZero() {
		text += ", base images until " + r.ImagesEnd.Format(time.DateOnly)
	}
	return text
}

// DefaultRelease is the release of images if no release is requested.
const DefaultRelease = "2022"

// Releases returns the releases that can be Kubernetes nodes, oldest first.
func Releases() []Release {
	return slices.DeleteFunc(slices.Clone(allReleases()), func(r Release) bool { return !r.Node })
}

// ServerReleases returns the names of the releases that have a marketplace image and a reference image, and that
// templates can select, oldest first: 2019, 2022, 2025.
func ServerReleases() []string {
	var out []string
	for _, r := range Releases() {
		if r.SKU != "" {
			out = append(out, r.Name)
		}
	}
	return out
}

// ServerChoice lists the ServerReleases in a sentence, each with a prefix: "windows-2019, windows-2022 or
// windows-2025".
func ServerChoice(prefix string) string {
	names := ServerReleases()
	for i, name := range names {
		names[i] = prefix + name
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// ReleaseByName returns the release with a name: a year or "23H2".
func ReleaseByName(name string) (Release, bool) {
	return find(func(r Release) bool { return strings.EqualFold(r.Name, name) })
}

// ReleaseByBuild returns the release of a version: "10.0.17763", the four-part "10.0.17763.6293" or the bare build
// number "17763".
func ReleaseByBuild(build string) (Release, bool) {
	number := buildNumber(build)
	return find(func(r Release) bool { return number != 0 && buildNumber(r.Build) == number })
}

func find(match func(Release) bool) (Release, bool) {
	for _, r := range allReleases() {
		if match(r) {
			return r, true
		}
	}
	return Release{}, false
}

// added are releases that a test adds to the table.
var added []Release

// AddForTest adds a release to the table until undo is called, so that a test can show that a new release needs only a
// row. Only tests call it, and not in parallel.
func AddForTest(r Release) (undo func()) {
	added = append(added, r)
	return func() { added = added[:len(added)-1] }
}

const server = "MicrosoftWindowsServer"

// releases is the table. A new release is one row.
var releases = []Release{
	{Name: "2016", Build: "10.0.14393", UBR: 7336, OSImage: "Windows Server 2016 Datacenter",
		Tags: []string{"ltsc2016", "1607"}, Released: date(2016, 10, 15), EndOfSupport: date(2027, 1, 12)},
	{Name: "2019", Build: "10.0.17763", UBR: 7919, OSImage: "Windows Server 2019 Datacenter",
		Tags: []string{"ltsc2019", "1809"}, Released: date(2018, 11, 13), EndOfSupport: date(2029, 1, 9),
		Mainstream: date(2024, 1, 9), Node: true,
		Publisher: server, Offer: "WindowsServer", SKU: "2019-datacenter-core-smalldisk"},
	{Name: "1903", Build: "10.0.18362", UBR: 1256, OSImage: "Windows Server Datacenter", Tags: []string{"1903"},
		Released: date(2019, 5, 21), EndOfSupport: date(2020, 12, 8)},
	{Name: "1909", Build: "10.0.18363", UBR: 1556, OSImage: "Windows Server Datacenter", Tags: []string{"1909"},
		Released: date(2019, 11, 12), EndOfSupport: date(2021, 5, 11)},
	{Name: "2004", Build: "10.0.19041", UBR: 1415, OSImage: "Windows Server Datacenter", Tags: []string{"2004"},
		Released: date(2020, 5, 27), EndOfSupport: date(2021, 12, 14)},
	{Name: "20H2", Build: "10.0.19042", UBR: 1889, OSImage: "Windows Server Datacenter", Tags: []string{"20h2"},
		Released: date(2020, 10, 20), EndOfSupport: date(2022, 8, 9)},
	{Name: "2022", Build: "10.0.20348", UBR: 4294, OSImage: "Windows Server 2022 Datacenter",
		Tags: []string{"ltsc2022"}, Released: date(2021, 8, 18), EndOfSupport: date(2031, 10, 14),
		Mainstream: date(2026, 10, 13), Node: true,
		Publisher: server, Offer: "WindowsServer", SKU: "2022-datacenter-core-smalldisk"},
	{Name: "23H2", Build: "10.0.25398", UBR: 1128, OSImage: "Windows Server Datacenter", Tags: []string{"23h2"},
		Released: date(2023, 10, 24), EndOfSupport: date(2025, 10, 24), Node: true},
	{Name: "2025", Build: "10.0.26100", UBR: 7019, OSImage: "Windows Server 2025 Datacenter",
		Tags: []string{"ltsc2025"}, Released: date(2024, 11, 1), EndOfSupport: date(2034, 11, 14),
		Mainstream: date(2029, 11, 13), ImagesEnd: date(2034, 10, 10), Node: true,
		Pause:     "3.10.2",
		Publisher: server, Offer: "WindowsServer", SKU: "2025-datacenter-core-smalldisk"},
}

// allReleases returns the table, which the caller must not change.
func allReleases() []Release { return append(slices.Clip(releases), added...) }

func date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}
