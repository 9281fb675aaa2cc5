package addons

import (
	"fmt"
	"strings"
)

// indented returns a file of manifests as a YAML block, indented by the number of spaces.
func indented(name string, spaces int) (string, error) {
	data, err := manifests.ReadFile("manifests/" + name)
	if err != nil {
		return "", fmt.Errorf("embedded file: %w", err)
	}
	return indent(string(data), spaces), nil
}

// indent returns a text as a YAML block, indented by the number of spaces.
func indent(text string, spaces int) string {
	in := strings.Repeat(" ", spaces)
	return in + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+in)
}

// csiDriver is a CSI driver of Azure.
type csiDriver struct {
	// Name is the name of the driver's objects; Driver is the name that storage classes refer to.
	Name, Driver, Title string
	// Image and Program are the driver's image and executable; Registry is the folder of all its
	// images.
	Image, Program, Registry string
	// Attach is true if volumes are attached to a machine before they are mounted.
	Attach bool
	Version, Provisioner, Attacher,
	Resizer, Registrar, Liveness string
	port int
}

// Port returns the driver's reserved port with a last digit.
func (d csiDriver) Port(digit int) int { return d.port + digit }

// csiImages is the registry path of Microsoft's images of the drivers and their sidecars.
const csiImages = "mcr.microsoft.com/oss/v2/kubernetes-csi"

// csiDrivers are the CSI drivers by the name of their addon; the versions of the sidecars are from the
// driver's release.
// Source: github.com/kubernetes-sigs/azuredisk-csi-driver and azurefile-csi-driver, charts.
var csiDrivers = map[string]csiDriver{
	"azuredisk-csi": {
		Name: "csi-azuredisk", Driver: "disk.csi.azure.com", Title: "disks", Attach: true, port: 29600, Registry: csiImages,
		Image: "azuredisk-csi", Program: "[azurediskplugin.exe]", Version: "v1.34.4",
		Provisioner: "v6.2.0", Attacher: "v4.11.0", Resizer: "v2.1.0", Registrar: "v2.16.0", Liveness: "v2.18.0",
	},
	"azurefile-csi": {
		Name: "csi-azurefile", Driver: "file.csi.azure.com", Title: "file shares", port: 29610, Registry: csiImages,
		Image: "azurefile-csi", Program: "[azurefileplugin.exe]", Version: "v1.34.5",
		Provisioner: "v6.2.0", Resizer: "v2.1.0", Registrar: "v2.16.0", Liveness: "v2.18.0",
	},
}

// problem is a condition that node-problem-detector monitors on a Windows node.
type problem struct {
	Name, Condition, Healthy, Unhealthy, Message string
	// Path is a program on the node and Args are its arguments, both encoded as JSON.
	Path, Args string
}

// problems returns the conditions of Windows nodes. The health checker is in the image.
// Source: github.com/kubernetes/node-problem-detector, Dockerfile.windows and
// config/windows-*.json.
func problems() []problem {
	const checker = `C:\\hpc\\etc\\kubernetes\\node\\bin\\health-checker.exe`
	check := func(component string) string {
		return fmt.Sprintf(`["--component=%s", "--enable-repair=false", "--health-check-timeout=20s"]`, component)
	}
	return []problem{
		{"kubelet", "KubeletUnhealthy", "KubeletIsHealthy", "KubeletUnhealthy", "kubelet answers",
			checker, check("kubelet")},
		{"containerd", "ContainerRuntimeUnhealthy", "ContainerRuntimeIsHealthy", "ContainerdUnhealthy", "containerd answers",
			checker, check("cri")},
		{"hns", "HostNetworkUnhealthy", "HostNetworkIsHealthy", "HostNetworkUnhealthy", "HNS runs and has a network",
			"powershell.exe",
			`["-NoProfile", "-ExecutionPolicy", "Bypass", "-File", "C:\\hpc\\monitors\\hns.ps1"]`},
	}
}
