package image

import (
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/windows"
)

// osLinux and osWindows are the operating systems of images, as Azure's osDisk.osType spells them.
const (
	osLinux   = windows.OSLinux
	osWindows = windows.OSWindows
)

// release is an operating system release from which images are built.
type release struct {
	// Name is the value of spec.source.release, and Title the product's name.
	Name, Title string
	// OS is Windows or Linux.
	OS string
	// Publisher, Offer and SKU identify the marketplace image.
	Publisher, Offer, SKU string
	// EndOfSupport is the last day of the publisher's general support.
	EndOfSupport time.Time
}

// ubuntus are the Ubuntu releases, with the end of standard support. Sources: https://ubuntu.com/about/release-cycle,
// https://learn.microsoft.com/azure/virtual-machines/linux/endorsed-distros.
var ubuntus = []release{
	{"ubuntu-22.04", "Ubuntu 22.04 LTS", osLinux, "Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts-gen2",
		time.Date(2027, 4, 30, 0, 0, 0, 0, time.UTC)},
	{"ubuntu-24.04", "Ubuntu 24.04 LTS", osLinux, "Canonical", "ubuntu-24_04-lts", "server",
		time.Date(2029, 4, 30, 0, 0, 0, 0, time.UTC)},
}

// windowsOffer is the marketplace offer of all Windows Server images.
const windowsOffer = "WindowsServer"

// releases returns all releases from which images are built.
func releases() []release {
	var out []release
	for _, r := range windows.Releases() {
		if r.Node && r.SKU != "" {
			out = append(out, release{r.Name, "Windows Server " + r.Name, osWindows, r.Publisher, windowsOffer, r.SKU, r.EndOfSupport})
		}
	}
	return append(out, ubuntus...)
}

// releaseNames returns the permitted values of spec.source.release.
func releaseNames() []string {
	var out []string
	for _, r := range releases() {
		out = append(out, r.Name)
	}
	return out
}

// releaseNamed finds a release by its name.
func releaseNamed(name string) (release, bool) {
	at := slices.IndexFunc(releases(), func(r release) bool { return r.Name == name })
	if at < 0 {
		return release{}, false
	}
	return releases()[at], true
}

// supportedAt reports whether the release is supported at a time.
func (r release) supportedAt(t time.Time) bool { return t.Before(r.EndOfSupport.AddDate(0, 0, 1)) }

// generation returns the Hyper-V generation of an image, which the name of its SKU shows.
func (r release) generation(sku string) string {
	sku = strings.ToLower(sku)
	second := strings.HasSuffix(sku, "-g2") || strings.HasSuffix(sku, "-gen2") || strings.HasSuffix(sku, "-gensecond") ||
		strings.Contains(sku, "azure-edition")
	// In Ubuntu 24.04, the SKU names mark generation 1 instead.
	if second || r.Name == "ubuntu-24.04" && !strings.HasSuffix(sku, "-gen1") {
		return "V2"
	}
	return "V1"
}

// os returns the operating system of the image: Windows or Linux.
func (s Spec) os() string {
	r, _ := releaseNamed(s.Source.Release) // the name is valid
	return r.OS
}
