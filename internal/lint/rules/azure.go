package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

// clusterName is what an AzureCluster may be called.
var clusterName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,42}[a-z0-9]$`)

// serverVersion is the form of the annotation windowsServerVersion.
var serverVersion = regexp.MustCompile(`^windows-(\d{4})$`)

// vmSize is the series, the number of processors and the features of an Azure size.
var vmSize = regexp.MustCompile(`^Standard_[A-Z]+(\d+)(?:-\d+)?([a-z]*)(?:_|$)`)

// suffix is what Cluster API appends to the names of a MachineDeployment's machines.
const suffix = "-abcde-fghij"

// azure are the rules about the infrastructure of Windows machines.
func azure() []lint.Rule {
	return []lint.Rule{
		{
			ID: "WIN801", Severity: lint.Error, Title: "A control plane of Windows", Oracle: lint.Unit,
			Doc: "kube-apiserver and etcd do not run on Windows: the control plane's machine template has to be a Linux one. Source: kubernetes-sigs/cluster-api docs/proposals/20200804-windows-support.md.",
			Bad: controlPlane("Windows"), Good: controlPlane("Linux"),
			Check: func(p *lint.Pass) {
				for _, m := range groups(p.Set) {
					if m.owner.Kind == "KubeadmControlPlane" && m.windows() {
						p.Report(m.owner, m.owner.Root.At("spec", "machineTemplate"), fmt.Sprintf("%s has Windows, on which no control plane runs", m.infra), say("a machine template with osType Linux"))
					}
				}
			},
		},
		{
			ID: "WIN802", Severity: lint.Info, Title: "The computer's name is another", Oracle: lint.Unit,
			Doc: "A Windows computer name has at most 15 characters. The virtual machine and the node of a longer machine name are called by its first nine characters and its last five. That works, but you look for another name than the Machine's. Source: kubernetes-sigs/cluster-api-provider-azure azure/scope/machine.go.",
			Bad: strings.ReplaceAll(workers("v1.36.3", "users: []\n"), "name: win\n", "name: frontend-win\n"), Good: workers("v1.36.3", "users: []\n"),
			Check: func(p *lint.Pass) {
				for _, m := range groups(p.Set) {
					full := m.owner.Name
					if m.owner.Kind == "MachineDeployment" || m.owner.Kind == "MachineSet" {
						full += suffix
					}
					if m.windows() && slices.Contains([]string{"MachineDeployment", "MachineSet", "AzureMachine"}, m.owner.Kind) && len(full) > windows.MaxComputerName && m.owner.Name != "" && !unfilled(full) {
						p.Report(m.owner, m.owner.Root.At("metadata", "name"), fmt.Sprintf("a machine %s is the computer and node %s: Windows names have at most %d characters", full, windows.ComputerName(full, nil), windows.MaxComputerName), say("accept it, or a name of 3 characters"))
					}
				}
			},
		},
		{
			ID: "WIN803", Severity: lint.Error, Title: "Two scale sets of one name", Oracle: lint.Unit,
			Doc: "The scale set of a Windows machine pool with more than nine characters is called `win-` and the last five of them: two pools that end alike collide in one resource group. A longer name without a twin is an info that reports the computed name. Source: kubernetes-sigs/cluster-api-provider-azure azure/scope/machinepool.go.",
			Bad: machinePool("eastern-win01") + "---\n" + machinePool("western-win01"), Good: machinePool("east") + "---\n" + machinePool("west"),
			Check: scaleSetNames,
		},
		{
			ID: "WIN804", Severity: lint.Error, Title: "A Windows pool of AKS", Oracle: lint.Unit,
			Doc: "AKS wants Windows pools with at most six characters in their name, never as System pools, and with the network plugin azure. Source: kubernetes-sigs/cluster-api-provider-azure internal/webhooks/azuremanagedmachinepool_validation.go.",
			Bad: managedPool("windowspool", "User"), Good: managedPool("win1", "User"),
			Check: eachWindows(managedPools),
		},
		{
			ID: "WIN805", Severity: lint.Error, Title: "A cluster's name that Azure refuses", Oracle: lint.CAPZ,
			Doc: "An AzureCluster's name has 2 to 44 lower-case letters, digits and dashes. `windows` and `microsoft` are reserved words of Azure: a managed cluster of that name is refused, and a public DNS name with one may be. Source: kubernetes-sigs/cluster-api-provider-azure internal/webhooks/azurecluster_validation.go; learn.microsoft.com, reserved resource names.",
			Bad: azureCluster("Production"), Good: azureCluster("production"),
			Check: func(p *lint.Pass) {
				for _, o := range ofKind(p.Set, "AzureCluster", "AzureManagedControlPlane") {
					v := o.Root.At("metadata", "name")
					reserved := strings.Contains(strings.ToLower(o.Name), "windows") || strings.Contains(strings.ToLower(o.Name), "microsoft")
					switch {
					case o.Name == "" || unfilled(o.Name): // generateName, or a template's
					case o.Kind == "AzureCluster" && !clusterName.MatchString(o.Name):
						p.Report(o, v, "2 to 44 lower-case letters, digits and dashes, with a letter or digit at both ends", say("rename the cluster"))
					case o.Kind == "AzureCluster" && reserved:
						p.ReportAs(lint.Warning, o, v, "Azure reserves the words windows and microsoft, and may refuse the public DNS name", say("rename the cluster"))
					case reserved:
						p.Report(o, v, "Azure refuses a managed cluster with windows or microsoft in its name", say("rename it"))
					}
				}
			},
		},
		{
			ID: "WIN809", Severity: lint.Error, Title: "A container runtime that is no more", Oracle: lint.Unit,
			Doc: "The annotation `runtime` of a machine template is containerd or absent; dockershim went with Kubernetes 1.24, and there is no image with it. Source: kubernetes-sigs/cluster-api-provider-azure azure/services/virtualmachineimages/images.go.",
			Bad: strings.Replace(windowsTemplate(""), "windowsServerVersion", "runtime: dockershim\n        windowsServerVersion", 1), Good: strings.Replace(windowsTemplate(""), "windowsServerVersion", "runtime: containerd\n        windowsServerVersion", 1),
			Check: eachWindows(func(p *lint.Pass, m machines) {
				v, t := m.annotation(windows.RuntimeAnnotation), m.target(p.Target)
				if old := v.Str() == "dockershim" && !t.AtLeast(24); v.Exists() && v.Str() != "" && v.Str() != windows.Containerd && !old {
					p.Report(m.infra, v, fmt.Sprintf("no image has the runtime %q", v.Str()), safe("containerd", lint.Replace(v, "containerd")))
				}
				for _, kind := range []string{"marketplace", "computeGallery", "sharedGallery"} {
					if v := m.vm().At("image", kind, "sku"); strings.Contains(v.Str(), "docker") && t.AtLeast(24) {
						p.Report(m.infra, v, "an image with Docker, which Kubernetes cannot use since 1.24", say("an image with containerd"))
					}
				}
			}),
		},
		{
			ID: "WIN810", Severity: lint.Error, Title: "The annotation windowsServerVersion", Oracle: lint.Unit,
			Doc: "It is `windows-` and a year: windows-2019, windows-2022 or windows-2025; anything else has no image. Without it, or with it empty, and without an image of your own the machines get Server 2022, or 2019 from the images of before the community gallery, which is an info. Source: kubernetes-sigs/cluster-api-provider-azure azure/services/virtualmachineimages/images.go.",
			Bad: strings.Replace(windowsTemplate(""), "windows-2022", "ltsc2022", 1), Good: windowsTemplate(""),
			Check: eachWindows(func(p *lint.Pass, m machines) {
				v := m.annotation("windowsServerVersion")
				if m.managed() || m.vm().At("image").Exists() || unfilled(v.Str()) {
					return
				}
				year := serverVersion.FindStringSubmatch(v.Str())
				switch {
				case v.Str() == "":
					p.ReportAs(lint.Info, m.infra, v, fmt.Sprintf("the machines get Windows Server %s, as nothing says otherwise", m.defaultRelease()), say("windowsServerVersion: windows-2022"))
				case year == nil:
					p.Report(m.infra, v, fmt.Sprintf("%q is no version that has an image", v.Str()), say("windows-2019, windows-2022 or windows-2025"))
				default:
					if r, ok := windows.ReleaseByName(year[1]); !ok || !r.Node {
						p.ReportAs(lint.Info, m.infra, v, fmt.Sprintf("there is no reference image for Windows Server %s", year[1]), say("windows-2019, windows-2022 or windows-2025"))
					}
				}
			}),
		},
		{
			ID: "WIN819", Severity: lint.Warning, Title: "A machine too small for Windows", Oracle: lint.Unit,
			Doc: "Windows nodes want 4 processors, 8 GB of memory and a system disk of 128 GB for images and layers. There are none for Arm, which is an error. Source: kubernetes.io/docs/concepts/windows/intro; the templates of kubernetes-sigs/cluster-api-provider-azure.",
			Bad: windowsTemplate("        diskSizeGB: 64\n      vmSize: Standard_B2ms\n"), Good: windowsTemplate("        diskSizeGB: 128\n      vmSize: Standard_D4s_v3\n"),
			Check: eachWindows(func(p *lint.Pass, m machines) {
				if v := m.vm().At("osDisk", "diskSizeGB"); v.Exists() {
					if n, ok := v.Int(); ok && n < 128 {
						p.Report(m.infra, v, fmt.Sprintf("%d GB: Windows, its images and layers hardly fit", n), say("128 or more"))
					}
				}
				v := m.vm().At("vmSize")
				if m.infra.Kind == "AzureManagedMachinePool" {
					v = m.vm().At("sku")
				}
				if parts := vmSize.FindStringSubmatch(v.Str()); parts != nil {
					if n, _ := strconv.Atoi(parts[1]); strings.Contains(parts[2], "p") {
						p.ReportAs(lint.Error, m.infra, v, v.Str()+" is an Arm size: Kubernetes has no Windows for it", say("a size with x64 processors"))
					} else if n < 4 {
						p.Report(m.infra, v, fmt.Sprintf("%s has %d processors: Windows nodes want 4, and 8 GB of memory", v.Str(), n), say("Standard_D4s_v3 or larger"))
					}
				}
			}),
		},
	}
}

// scaleSetNames finds machine pools whose scale sets would have one name.
func scaleSetNames(p *lint.Pass) {
	type place struct{ namespace, cluster, name string }
	first := map[place]*lint.Object{}
	for _, m := range groups(p.Set) {
		if m.infra == nil || m.infra.Kind != "AzureMachinePool" || !m.windows() || m.infra.Name == "" || unfilled(m.infra.Name) {
			continue
		}
		computed := windows.ScaleSetName(m.infra.Name, nil)
		key := place{namespace: m.infra.Namespace, name: strings.ToLower(computed)}
		if m.cluster != nil {
			key.cluster = m.cluster.Name
		}
		at := m.infra.Root.At("metadata", "name")
		switch other := first[key]; {
		case other != nil && other != m.infra:
			p.Report(m.infra, at, fmt.Sprintf("its scale set would be %s, as that of %s", computed, other), say("names of up to 9 characters, or that end differently"))
		case other == nil && computed != m.infra.Name:
			p.ReportAs(lint.Info, m.infra, at, fmt.Sprintf("its scale set is called %s", computed), say("a name of up to 9 characters, or accept it"))
		}
		if first[key] == nil {
			first[key] = m.infra
		}
	}
}

// managedPools is about the pools of AKS.
func managedPools(p *lint.Pass, m machines) {
	if m.infra.Kind != "AzureManagedMachinePool" {
		return
	}
	name := m.vm().At("name")
	if !name.Exists() {
		name = m.infra.Root.At("metadata", "name")
	}
	if len(name.Str()) > 6 {
		p.Report(m.infra, name, fmt.Sprintf("%q has more than 6 characters, which AKS refuses for Windows", name.Str()), say("a name of up to 6 characters"))
	}
	if v := m.vm().At("mode"); v.Str() == "System" {
		p.Report(m.infra, v, "AKS takes no Windows pool as a System pool", say("mode: User"))
	}
	for _, plane := range ofKind(p.Set, "AzureManagedControlPlane") {
		v := plane.Root.At("spec", "networkPlugin")
		ours := plane.Namespace == m.infra.Namespace && (m.cluster == nil || m.cluster.Root.At("spec", "controlPlaneRef", "name").Str() == plane.Name)
		if ours && v.Exists() && v.Str() != "azure" {
			p.Report(plane, v, fmt.Sprintf("%s has Windows, which needs the network plugin azure", m.infra), say("networkPlugin: azure"))
		}
	}
}

func controlPlane(os string) string {
	return "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: demo\nspec:\n  version: v1.36.3\n  machineTemplate:\n    infrastructureRef:\n      kind: AzureMachineTemplate\n      name: win\n---\n" + strings.Replace(windowsTemplate(""), "osType: Windows", "osType: "+os, 1)
}

func machinePool(name string) string {
	return "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureMachinePool\nmetadata:\n  name: " + name + "\nspec:\n  template:\n    osDisk:\n      osType: Windows\n"
}

func managedPool(name, mode string) string {
	return "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureManagedMachinePool\nmetadata:\n  name: " + name + "\nspec:\n  osType: Windows\n  mode: " + mode + "\n"
}

func azureCluster(name string) string {
	return "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureCluster\nmetadata:\n  name: " + name + "\nspec:\n  location: westeurope\n"
}

// defaultRelease is the Windows Server that machines get which name none.
func (m machines) defaultRelease() string {
	image, err := windows.DefaultImage(m.version.Str(), windows.OSWindows, map[string]string{windows.RuntimeAnnotation: m.annotation(windows.RuntimeAnnotation).Str()})
	if err != nil {
		return windows.DefaultRelease
	}
	if on, ok := windows.ParseImage(image.Reference()); ok {
		return on.Release.Name
	}
	return windows.DefaultRelease
}

// unfilled says whether a text has variables of a template left in it.
func unfilled(text string) bool { return strings.Contains(text, "${") || strings.Contains(text, "{{") }
