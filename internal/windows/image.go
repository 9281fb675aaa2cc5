package windows

import (
	"fmt"
	"strings"
)

// The places and names of Cluster API's reference images.
const (
	// CommunityGallery is the public name of the community gallery.
	CommunityGallery = "ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019"
	// Publisher is the marketplace publisher of older images.
	Publisher = "cncf-upstream"

	linuxOffer        = "capi"
	windowsOffer      = "capi-windows"
	linuxDefinition   = "capi-ubun2-2404"
	windowsDefinition = "capi-win-%s-containerd"
)

// Annotations of an infra machine that select a default image.
const (
	// RuntimeAnnotation is "containerd", or "dockershim" for the images of
	// Kubernetes below 1.24.
	RuntimeAnnotation = "runtime"
	// WindowsServerVersionAnnotation is "windows-" and the year.
	WindowsServerVersionAnnotation = "windowsServerVersion"
)

// The container runtimes of images.
const (
	Containerd = "containerd"
	Docker     = "docker"
	dockershim = "dockershim"
)

// Image names an Azure image: in a community gallery if Gallery is set, in the marketplace if Publisher is.
type Image struct {
	// Gallery and Name are the community gallery's public name and the image
	// definition.
	Gallery, Name string
	// Publisher, Offer and SKU name a marketplace image.
	Publisher, Offer, SKU string
	// Version is the version of the image; in the marketplace it may be "latest".
	Version string
}

// Reference returns the image in the form for Azure's command line: a community image ID, or
// publisher:offer:sku:version.
func (i Image) Reference() string {
	if i.Gallery != "" {
		return "/CommunityGalleries/" + i.Gallery + "/Images/" + i.Name + "/Versions/" + i.Version
	}
	return strings.Join([]string{i.Publisher, i.Offer, i.SKU, i.Version}, ":")
}

// DefaultImage returns the image for a machine that names none. kubernetesVersion is the Machine's, with or without
// "v"; osType is OSWindows or OSLinux, and "" means Linux; annotations are the infra machine's.
//
// Images for Kubernetes 1.27 and newer are in the community gallery, except for some versions that stay in the
// marketplace. Older ones are marketplace images, one SKU per version. Errors name the field or annotation that is
// wrong. Source: CAPZ v1.0 azure/defaults.go and v1.26 azure/services/virtualmachineimages.
func DefaultImage(kubernetesVersion, osType string, annotations map[string]string) (Image, error) {
	v, err := parseVersion(kubernetesVersion)
	if err != nil {
		return Image{}, fmt.Errorf("choose an image: Machine field spec.version: %w", err)
	}
	switch osType {
	case OSWindows:
		return defaultWindows(v, annotations)
	case OSLinux, "":
		return defaultLinux(v), nil
	}
	return Image{}, fmt.Errorf("choose an image: spec.osDisk.osType is %q: use %s or %s", osType, OSLinux, OSWindows)
}

// firstGalleryVersion returns the first Kubernetes version with images in the community
// gallery.
func firstGalleryVersion() version { return version{1, 27, 0, ""} }

func defaultLinux(v version) Image {
	if v.less(firstGalleryVersion()) {
		return Image{Publisher: Publisher, Offer: linuxOffer, SKU: v.sku() + "-ubuntu-" + oldUbuntu(v), Version: "latest"}
	}
	if kept, ok := keptLinux()[v.core()]; ok && v.pre == "" {
		return Image{Publisher: Publisher, Offer: linuxOffer, SKU: "ubuntu-2204-gen1", Version: kept}
	}
	return Image{Gallery: CommunityGallery, Name: linuxDefinition, Version: v.String()}
}

// oldUbuntu returns the Ubuntu release of old images: since a patch release of each minor version, 20.04.
func oldUbuntu(v version) string {
	first := map[int]int{18: 20, 19: 12, 20: 8, 21: 2}
	if patch, ok := first[v.minor]; v.minor < 18 || ok && v.patch < patch {
		return "1804"
	}
	return "2004"
}

func defaultWindows(v version, annotations map[string]string) (Image, error) {
	runtime := annotations[RuntimeAnnotation]
	year, err := windowsYear(annotations[WindowsServerVersionAnnotation])
	if err != nil {
		return Image{}, err
	}
	if v.less(firstGalleryVersion()) {
		return oldWindows(v, runtime, year)
	}
	if runtime != "" && runtime != Containerd {
		return Image{}, fmt.Errorf("choose an image: annotation %s is %q: Kubernetes %s runs on %s only; remove "+
			"the annotation", RuntimeAnnotation, runtime, v, Containerd)
	}
	if kept, ok := keptWindows()[v.core()]; ok && v.pre == "" {
		return Image{Publisher: Publisher, Offer: windowsOffer, SKU: "windows-2019-containerd-gen1", Version: kept}, nil
	}
	if year == "" {
		year = DefaultRelease
	}
	return Image{Gallery: CommunityGallery, Name: fmt.Sprintf(windowsDefinition, year), Version: v.String()}, nil
}

// oldWindows returns a marketplace image, which has one SKU per version. For 1.22.0, CAPZ refused containerd if the
// template requested it, and used it by default; this function returns it in both cases.
func oldWindows(v version, runtime, year string) (Image, error) {
	firstContainerd, firstWithoutDockershim := version{1, 22, 0, ""}, version{1, 24, 0, ""}
	switch {
	case runtime != "" && runtime != Containerd && runtime != dockershim:
		return Image{}, fmt.Errorf("choose an image: annotation %s is %q: use %s or %s", RuntimeAnnotation, runtime, Containerd, dockershim)
	case runtime == Containerd && v.less(firstContainerd):
		return Image{}, fmt.Errorf("choose an image: annotation %s is %s: Windows images have it from "+
			"Kubernetes %s on, not at %s; remove the annotation or raise the Machine's "+
			"spec.version", RuntimeAnnotation, runtime, firstContainerd, v)
	case runtime == dockershim && !v.less(firstWithoutDockershim):
		return Image{}, fmt.Errorf("choose an image: annotation %s is %s: Kubernetes dropped it at %s and the "+
			"machine wants %s; remove the annotation", RuntimeAnnotation, runtime, firstWithoutDockershim, v)
	}
	if year == "" {
		year = "2019"
	}
	sku := v.sku() + "-windows-" + year
	if !v.less(firstContainerd) && runtime != dockershim {
		sku += "-" + Containerd
	}
	return Image{Publisher: Publisher, Offer: windowsOffer, SKU: sku, Version: "latest"}, nil
}

// windowsYear returns the year in the annotation "windows-2022"; "" for "".
func windowsYear(annotation string) (string, error) {
	if annotation == "" {
		return "", nil
	}
	year, ok := strings.CutPrefix(annotation, "windows-")
	if !ok || len(year) != 4 || strings.Trim(year, "0123456789") != "" {
		return "", fmt.Errorf("choose an image: annotation %s is %q: write windows- and the year, such as windows-%s",
			WindowsServerVersionAnnotation, annotation, DefaultRelease)
	}
	return year, nil
}

// keptLinux returns the versions whose images stay in the marketplace, so that machines of running clusters are not
// replaced. CAPZ froze the list.
func keptLinux() map[string]string {
	return map[string]string{
		"1.27.14": "127.14.20240517", "1.27.15": "127.15.20240612", "1.27.16": "127.16.20240717",
		"1.28.1": "128.1.20230829", "1.28.2": "128.2.20230918", "1.28.3": "128.3.20231023", "1.28.4": "128.4.20231130",
		"1.28.5": "128.5.20240102", "1.28.6": "128.6.20240201", "1.28.7": "128.7.20240223", "1.28.8": "128.8.20240327",
		"1.28.9": "128.9.20240418", "1.28.10": "128.10.20240517", "1.28.11": "128.11.20240612", "1.28.12": "128.12.20240717",
		"1.29.1": "129.1.20240206", "1.29.2": "129.2.20240223", "1.29.3": "129.3.20240327", "1.29.4": "129.4.20240418",
		"1.29.5": "129.5.20240517", "1.29.6": "129.6.20240612", "1.29.7": "129.7.20240717",
		"1.30.0": "130.0.20240506", "1.30.1": "130.1.20240517", "1.30.2": "130.2.20240612", "1.30.3": "130.3.20240717",
	}
}

// keptWindows is like keptLinux, for Windows, whose list is shorter and has other dates.
func keptWindows() map[string]string {
	return map[string]string{
		"1.27.14": "127.14.20240515",
		"1.28.1":  "128.1.20230830", "1.28.2": "128.2.20230918", "1.28.3": "128.3.20231023", "1.28.4": "128.4.20231122",
		"1.28.5": "128.5.20240102", "1.28.6": "128.6.20240201", "1.28.7": "128.7.20240223", "1.28.8": "128.8.20240327",
		"1.28.9": "128.9.20240418", "1.28.10": "128.10.20240515", "1.28.11": "128.11.20240612", "1.28.12": "128.12.20240717",
		"1.29.1": "129.1.20240201", "1.29.2": "129.2.20240223", "1.29.3": "129.3.20240327", "1.29.4": "129.4.20240418",
		"1.29.5": "129.5.20240515", "1.29.6": "129.6.20240612", "1.29.7": "129.7.20240717",
		"1.30.0": "130.0.20240418", "1.30.1": "130.1.20240515", "1.30.2": "130.2.20240612", "1.30.3": "130.3.20240717",
	}
}
