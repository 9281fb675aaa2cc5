package host

import (
	"cmp"
	"strings"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/windows"
)

// plainContents returns the contents of a marketplace image that is not a Kubernetes node image: only the
// operating system.
func plainContents(vm host.VM) (windows.Contents, bool) {
	sku := strings.ToLower(vm.Image.Offer + " " + vm.Image.SKU)
	switch {
	case strings.EqualFold(vm.Image.Publisher, "MicrosoftWindowsServer"):
		for _, r := range windows.Releases() {
			if strings.Contains(sku, strings.ToLower(r.Name)) {
				return windows.Contents{OS: windows.OSWindows, Release: r, OSImage: r.OSImage, KernelVersion: r.KernelVersion()}, true
			}
		}
	case strings.EqualFold(vm.Image.Publisher, "kinvolk"):
		return windows.FlatcarContents(cmp.Or(vm.Image.ExactVersion, vm.Image.Version)), true
	case strings.EqualFold(vm.Image.Publisher, "Canonical"), strings.EqualFold(vm.Image.Publisher, "microsoft-dsvm") && // Ubuntu HPC images
		strings.Contains(sku, "ubuntu"):
		distribution := "22.04"
		for _, d := range []string{"24.04", "20.04", "18.04"} {
			if strings.Contains(strings.ReplaceAll(sku, "_", ""), strings.ReplaceAll(d, ".", "")) {
				distribution = d
			}
		}
		return windows.Contents{
			OS: windows.OSLinux, Distribution: distribution, OSImage: "Ubuntu " + distribution + " LTS",
			KernelVersion: cmp.Or(map[string]string{"24.04": "6.8.0-1031-azure"}[distribution], "6.5.0-1025-azure"),
		}, true
	}
	return windows.Contents{}, false
}
