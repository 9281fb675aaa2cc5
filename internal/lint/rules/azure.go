package rules

import (
	"fmt"
	"regexp"
	"strings"

	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

// clusterName matches the permitted names of an AzureCluster.
var clusterName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,42}[a-z0-9]$`)

// serverVersion matches the value of the annotation windowsServerVersion.
var serverVersion = regexp.MustCompile(`^windows-(\d{4})$`)

// vmSize matches the series, the number of processors and the features of an Azure VM size.
var vmSize = regexp.MustCompile(`^Standard_[A-Z]+(\d+)(?:-\d+)?([a-z]*)(?:_|$)`)

// suffix is as long as the suffix that Cluster API appends to the names of a MachineDeployment's machines.
const suffix = "-abcde-fghij"

// scaleSetNames finds machine pools whose scale sets would have the same name.
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
			p.Report(m.infra, at, fmt.Sprintf("its scale set would be %s, as that of %s", computed, other),
				say("names of up to 9 characters, or that end differently"))
		case other == nil && computed != m.infra.Name:
			p.ReportAs(lint.Info, m.infra, at, fmt.Sprintf("its scale set is called %s", computed),
				say("a name of up to 9 characters, or accept it"))
		}
		if first[key] == nil {
			first[key] = m.infra
		}
	}
}

// managedPools checks the pools of AKS.
func managedPools(p *lint.Pass, m machines) {
	if m.infra.Kind != "AzureManagedMachinePool" {
		return
	}
	name := m.vm().At("name")
	if !name.Exists() {
		name = m.infra.Root.At("metadata", "name")
	}
	if len(name.Str()) > 6 {
		p.Report(m.infra, name, fmt.Sprintf("%q has more than 6 characters, which AKS refuses for Windows", name.Str()),
			say("a name of up to 6 characters"))
	}
	if v := m.vm().At("mode"); v.Str() == "System" {
		p.Report(m.infra, v, "AKS takes no Windows pool as a System pool", say("mode: User"))
	}
	for _, plane := range ofKind(p.Set, "AzureManagedControlPlane") {
		v := plane.Root.At("spec", "networkPlugin")
		ours := plane.Namespace == m.infra.Namespace && (m.cluster == nil || m.cluster.Root.At("spec", "controlPlaneRef",
			"name").Str() == plane.Name)
		if ours && v.Exists() && v.Str() != "azure" {
			p.Report(plane, v, fmt.Sprintf("%s has Windows, which needs the network plugin azure", m.infra), say("networkPlugin: azure"))
		}
	}
}

func controlPlane(os string) string {
	return "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: demo\nspec:\n" +
		"  version: " + kuberelease.Default +
		"\n  machineTemplate:\n    infrastructureRef:\n      kind: AzureMachineTemplate\n      name: win\n---\n" +
		strings.Replace(windowsTemplate(""), "osType: Windows", "osType: "+os, 1)
}

func machinePool(name string) string {
	return "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureMachinePool\nmetadata:\n  name: " + name +
		"\nspec:\n  template:\n    osDisk:\n      osType: Windows\n"
}

func managedPool(name, mode string) string {
	return "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureManagedMachinePool\nmetadata:\n  name: " + name +
		"\nspec:\n  osType: Windows\n  mode: " + mode + "\n"
}

func azureCluster(name string) string {
	return "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureCluster\nmetadata:\n  name: " + name +
		"\nspec:\n  location: westeurope\n"
}

// defaultRelease returns the Windows Server release of machines that specify none.
func (m machines) defaultRelease() string {
	image, err := windows.DefaultImage(m.version.Str(), windows.OSWindows,
		map[string]string{windows.RuntimeAnnotation: m.annotation(windows.RuntimeAnnotation).Str()})
	if err != nil {
		return windows.DefaultRelease
	}
	if on, ok := windows.ParseImage(image.Reference()); ok {
		return on.Release.Name
	}
	return windows.DefaultRelease
}

// unfilled reports whether a text still contains template variables.
func unfilled(text string) bool { return strings.Contains(text, "${") || strings.Contains(text, "{{") }
