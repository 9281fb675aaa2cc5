package windows

import (
	"fmt"
	"regexp"
	"strings"
)

// Contents is the software on a reference image.
type Contents struct {
	// OS is OSWindows or OSLinux.
	OS string
	// Release is the Windows release; the zero value on Linux.
	Release Release
	// Distribution is the Linux release, such as "24.04"; "" on Windows.
	Distribution string
	// OSImage and KernelVersion are the values that kubelet reports for the node.
	OSImage, KernelVersion string
	// KubernetesVersion is the version of kubelet and kubeadm, with "v".
	KubernetesVersion string
	// Runtime is Containerd or Docker, and RuntimeVersion its version.
	Runtime, RuntimeVersion string
	// Ignition is true on Flatcar, which uses Ignition instead of cloud-config.
	Ignition bool
	// KubeletService is true if kubelet runs as a native Windows service, which ignores
	// kubeadm-flags.env; false with nssm and on Linux.
	KubeletService bool
}

// ParseImage returns the contents of a reference image from its name: a marketplace publisher:offer:sku:version, or the
// ID of a version in a community or private gallery whose definition has a name of image-builder. ok is false for other
// images and for images whose name does not show the Kubernetes version, such as a bare Windows Server.
func ParseImage(reference string) (Contents, bool) {
	definition, imageVersion, ok := splitReference(reference)
	if !ok {
		return Contents{}, false
	}
	v, ok := imageKubernetesVersion(definition, imageVersion)
	if !ok {
		return Contents{}, false
	}
	if year, windows := windowsDefinitionYear(definition); windows {
		return windowsContents(v, year, strings.Contains(definition, Containerd) || !v.less(version{1, 24, 0, ""}))
	}
	return linuxContents(v, definition, imageVersion)
}

// splitReference returns the SKU or image definition, in lower case, and version.
func splitReference(reference string) (definition, version string, ok bool) {
	if !strings.HasPrefix(reference, "/") {
		parts := strings.Split(reference, ":")
		if len(parts) != 4 {
			return "", "", false
		}
		return strings.ToLower(parts[2]), parts[3], true
	}
	segments := strings.Split(strings.Trim(reference, "/"), "/")
	for i := range len(segments) - 1 {
		switch strings.ToLower(segments[i]) {
		case "images":
			definition = strings.ToLower(segments[i+1])
		case "versions":
			version = segments[i+1]
		}
	}
	return definition, version, definition != "" && version != ""
}

// Patterns of names and versions of images.
var (
	skuForm        = regexp.MustCompile(`^k8s-(\d+)dot(\d+)dot(\d+)-`)
	frozenForm     = regexp.MustCompile(`^1(\d\d)\.(\d{1,2})\.20\d{6}$`)
	flatcarForm    = regexp.MustCompile(`^flatcar-.*-capi-v(\d+\.\d+\.\d+)$`)
	windowsForm    = regexp.MustCompile(`(?:^|-)win(?:dows)?-(\d{4}|23h2|annual)(?:-|$)`)
	azureLinuxForm = regexp.MustCompile(`(?:^|-)azurelinux-(\d)(?:-|$)`)
	ubuntuForm     = regexp.MustCompile(`(?:ubuntu|ubun2)-(\d\d)(\d\d)(?:-|$)`)
)

// imageKubernetesVersion returns the version in the SKU (k8s-1dot22dot1-...), in a frozen marketplace version
// (128.5.20240102), in the name of Flatcar's definition, or in the gallery version itself.
func imageKubernetesVersion(definition, imageVersion string) (version, bool) {
	if m := skuForm.FindStringSubmatch(definition); m != nil {
		v, err := parseVersion(strings.Join(m[1:], "."))
		return v, err == nil
	}
	if m := frozenForm.FindStringSubmatch(imageVersion); m != nil {
		v, err := parseVersion("1." + m[1] + "." + m[2])
		return v, err == nil
	}
	if m := flatcarForm.FindStringSubmatch(definition); m != nil {
		v, err := parseVersion(m[1])
		return v, err == nil
	}
	v, err := parseVersion(imageVersion)
	return v, err == nil && v.major == 1 && v.minor < 1000
}

func windowsDefinitionYear(definition string) (string, bool) {
	m := windowsForm.FindStringSubmatch(definition)
	if m == nil {
		return "", false
	}
	if m[1] == "annual" {
		return "23H2", true
	}
	return m[1], true
}

func windowsContents(v version, year string, containerd bool) (Contents, bool) {
	release, ok := ReleaseByName(year)
	if !ok || !release.Node {
		return Contents{}, false
	}
	c := Contents{
		OS: OSWindows, Release: release, OSImage: release.OSImage, KernelVersion: release.KernelVersion(),
		KubernetesVersion: "v" + v.String(), Runtime: Docker, RuntimeVersion: dockerVersion,
		KubeletService: !v.less(version{1, 36, 0, ""}),
	}
	if containerd {
		c.Runtime, c.RuntimeVersion = Containerd, windowsContainerd(v)
	}
	return c, true
}

func linuxContents(v version, definition, imageVersion string) (Contents, bool) {
	if strings.HasPrefix(definition, "flatcar-") {
		c := FlatcarContents(imageVersion)
		c.KubernetesVersion = "v" + v.String()
		return c, true
	}
	if m := azureLinuxForm.FindStringSubmatch(definition); m != nil {
		return Contents{
			OS: OSLinux, Distribution: m[1] + ".0", OSImage: "Microsoft Azure Linux " + m[1] + ".0", KernelVersion: "6.6.96.2-2.azl" + m[1],
			KubernetesVersion: "v" + v.String(), Runtime: Containerd, RuntimeVersion: containerdVersion(v),
		}, true
	}
	m := ubuntuForm.FindStringSubmatch(definition)
	if m == nil {
		return Contents{}, false
	}
	distribution := m[1] + "." + m[2]
	patch, kernel := ubuntu(distribution)
	return Contents{
		OS: OSLinux, Distribution: distribution,
		OSImage: fmt.Sprintf("Ubuntu %s%s LTS", distribution, patch), KernelVersion: kernel,
		KubernetesVersion: "v" + v.String(), Runtime: Containerd, RuntimeVersion: containerdVersion(v),
	}, true
}

// FlatcarContents returns the contents of Flatcar's own image, which has containerd and no
// Kubernetes. Source: the release notes of Flatcar 4230 (containerd 1.7, Linux 6.6); the
// patch levels are of 4230.2.1.
func FlatcarContents(release string) Contents {
	return Contents{
		OS: OSLinux, Distribution: release, OSImage: "Flatcar Container Linux by Kinvolk " + release, KernelVersion: "6.6.95-flatcar",
		Runtime: Containerd, RuntimeVersion: "1.7.23", Ignition: true,
	}
}

// ubuntu returns the point release and Azure kernel in recent images.
func ubuntu(distribution string) (pointRelease, kernel string) {
	switch distribution {
	case "18.04":
		return ".6", "5.4.0-1089-azure"
	case "20.04":
		return ".6", "5.15.0-1064-azure"
	case "22.04":
		return ".5", "6.5.0-1025-azure"
	}
	return ".3", "6.8.0-1031-azure"
}

// dockerVersion is the Docker EE of image-builder v0.1.7 to v0.1.21, as dockershim
// reports it.
const dockerVersion = "19.3.12"

// windowsContainerd is the containerd of Windows images: HostProcess containers need at least the beta of 1.6, so the
// first images for 1.22 have this beta. Source: capz.sigs.k8s.io, Windows clusters; kubernetes KEP 1981.
func windowsContainerd(v version) string {
	if v.minor < 23 {
		return "1.6.0-beta.0"
	}
	return containerdVersion(v)
}

// containerdVersion returns a version of containerd that image-builder shipped at the time of a Kubernetes minor
// version. Image names do not show it; the patch version may differ.
func containerdVersion(v version) string {
	switch {
	case v.minor < 23:
		return "1.5.7"
	case v.minor < 27:
		return "1.6.18"
	case v.minor < 34:
		return "1.7.20"
	case v.minor < 36:
		return "2.1.4"
	}
	return "2.3.2"
}
