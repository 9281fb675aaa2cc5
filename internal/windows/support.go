package windows

import (
	"fmt"
	"slices"
	"strings"
)

// Level is the extent to which a project supports a Windows release.
type Level string

// Levels.
const (
	// Supported means that the project names the release.
	Supported Level = "supported"
	// Conditional means that the project supports some builds or versions.
	Conditional Level = "supported on a condition"
	// Unnamed means that the project neither names nor refuses the release.
	Unnamed Level = "not named"
	// Unsupported means that the project states that it does not support the release.
	Unsupported Level = "not supported"
)

// Support is the statement of one project about one Windows release as a node.
type Support struct {
	// By is Kubernetes, a network's Project, or AKS, which is given for comparison.
	By, Release string
	Level       Level
	// From is the first Kubernetes minor version that the row is for; zero means all.
	From int
	Note string
	// Source is a URL, and Checked the day on which it was read.
	Source, Checked string
}

// Project returns the part of a network's name that rows of support use: Calico, Flannel or Azure CNI.
func (n Network) Project() string {
	for _, name := range []string{"Calico", "Flannel", "Azure CNI"} {
		if strings.HasPrefix(n.Name, name) {
			return name
		}
	}
	return n.Name
}

// ReleaseList returns the releases that the network supports, with the project's statement about the others.
func (n Network) ReleaseList() string {
	if len(n.Releases) > 0 {
		return strings.Join(n.Releases, ", ")
	}
	var all []string
	for _, name := range ServerReleases() {
		if s, ok := SupportOf(n.Project(), name, 0); ok && s.Level != Supported {
			name += " (" + string(s.Level) + ")"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

// supports is the table of support.
var supports = []Support{
	{"Kubernetes", "2019", Unnamed, 36, "its documentation names 2022 and 2025 alone",
		"https://kubernetes.io/docs/concepts/windows/intro/", "2026-11-27"},
	{"Kubernetes", "2019", Supported, 0, "", "https://kubernetes.io/docs/concepts/windows/intro/", "2026-11-27"},
	{"Kubernetes", "2022", Supported, 0, "", "https://kubernetes.io/docs/concepts/windows/intro/", "2026-11-27"},
	{"Kubernetes", "2025", Supported, 35, "", "https://github.com/kubernetes/website/pull/53724", "2026-11-27"},
	{"Kubernetes", "2025", Unnamed, 0, "it is named from 1.35 on", "https://github.com/kubernetes/website/pull/53724", "2026-11-27"},
	{"Calico", "2019", Supported, 0, "", "https://github.com/projectcalico/calico/issues/11691", "2026-11-27"},
	{"Calico", "2022", Supported, 0, "", "https://github.com/projectcalico/calico/issues/11691", "2026-11-27"},
	{"Calico", "2025", Unsupported, 0, "its request is open; overlays on 2025 need build 10.0.26100.6899 in any case",
		"https://github.com/projectcalico/calico/issues/11691", "2026-11-27"},
	{"Flannel", "2019", Supported, 0, "", "https://github.com/kubernetes-sigs/sig-windows-tools/tree/master/hostprocess/flannel",
		"2026-11-27"},
	{"Flannel", "2022", Supported, 0, "", "https://github.com/kubernetes-sigs/sig-windows-tools/tree/master/hostprocess/flannel",
		"2026-11-27"},
	{"Flannel", "2025", Unnamed, 0, "overlays on 2025 need build 10.0.26100.6899",
		"https://github.com/rancher/rancher/issues/50915", "2026-11-27"},
	{"Azure CNI", "2019", Unnamed, 37, "AKS has retired it, and the CNI is made for AKS",
		"https://learn.microsoft.com/azure/aks/upgrade-windows-os", "2026-11-27"},
	{"Azure CNI", "2019", Supported, 0, "", "https://learn.microsoft.com/azure/aks/upgrade-windows-os", "2026-11-27"},
	{"Azure CNI", "2022", Supported, 0, "", "https://learn.microsoft.com/azure/aks/upgrade-windows-os", "2026-11-27"},
	{"Azure CNI", "2025", Supported, 0, "the default of AKS from 1.37 on", "https://learn.microsoft.com/azure/aks/upgrade-windows-os",
		"2026-11-27"},
}

// SupportOf returns the statement of a project about a release in a minor version of Kubernetes; zero means the newest.
// ok is false for a project or a release without a row.
func SupportOf(by, release string, minor int) (s Support, ok bool) {
	i := slices.IndexFunc(supports, func(s Support) bool {
		return s.By == by && s.Release == release && (minor == 0 || minor >= s.From)
	})
	if i < 0 {
		return Support{}, false
	}
	return supports[i], true
}

// String returns the row in a line.
func (s Support) String() string {
	text := fmt.Sprintf("Windows Server %s is %s by %s", s.Release, s.Level, s.By)
	if s.Note != "" {
		text += ": " + s.Note
	}
	return fmt.Sprintf("%s (%s, %s)", text, s.Source, s.Checked)
}

// modern is the first minor version for which 2025 is chosen if the network supports it, as in AKS. Source:
// https://learn.microsoft.com/azure/aks/upgrade-windows-os.
const modern = 37

// ChooseRelease returns the release for machines of a new cluster with a minor version (zero means the newest) and a
// network: 2025 from 1.37 on if Kubernetes and the network's project support it, otherwise DefaultRelease. Machines
// that name no release get DefaultRelease with any network, because the image of a running template must not change.
func ChooseRelease(minor int, n Network) string {
	kube, _ := SupportOf("Kubernetes", "2025", minor)
	cni, _ := SupportOf(n.Project(), "2025", minor)
	if (minor == 0 || minor >= modern) && kube.Level == Supported && cni.Level == Supported {
		return "2025"
	}
	return DefaultRelease
}
