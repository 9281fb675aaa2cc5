// Package flavors has the cluster templates that casement publishes and fills templates as clusterctl does. The
// templates are rendered from base.yaml or, for clusters with a ClusterClass, from topology.yaml and clusterclass.yaml,
// all with the parts in parts.yaml. The flavor determines the values in [[ ]]; clusterctl's variables remain.
//
// It is no templating language and accesses no cluster: it converts text to text. internal/cli, hack/release and tests
// may import it.
package flavors

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"casement.dev/casement/internal/windows"
)

//go:embed base.yaml parts.yaml clusterclass.yaml topology.yaml
var base embed.FS

// flavor has the values from which a template is generated.
type flavor struct {
	name, about string
	Windows     bool // a group of Windows workers in addition to the Linux group
	Private     bool // API server behind an internal load balancer
	Pools       bool // workers are machine pools instead of machine deployments
	Topology    bool // the cluster is made from the ClusterClass
	AzureCNI    bool // pods have addresses in the virtual network
	Joined      bool // Windows workers join a domain
	Plugin      bool // Windows workers get domain passwords through a plug-in of their image
}

// podsPerNode is the maximum number of pods on a node with Azure's CNI, each with an address of the node's interface.
// It is the default of AKS. Source: learn.microsoft.com/azure/aks/quotas-skus-regions.
const podsPerNode = 30

// CNI returns the label of the addon.
func (f flavor) CNI() string {
	if f.AzureCNI {
		return "azure"
	}
	return "calico"
}

// PodsPerNode returns the limit with Azure's CNI, 0 with another CNI.
func (f flavor) PodsPerNode() int {
	if f.AzureCNI {
		return podsPerNode
	}
	return 0
}

// Addresses returns the number of IP addresses of a node's interface: its own and one for each pod. 0 means the
// interface's default.
func (f flavor) Addresses() int {
	if f.AzureCNI {
		return podsPerNode + 1
	}
	return 0
}

// workers is a group of worker machines.
type workers struct {
	Suffix, Replicas, Size string
	Windows                bool
	// Joined is true if the machines join a domain; Plugin is true if they get the gMSA passwords through a plug-in of
	// their image.
	Joined, Plugin bool
	// Class is the group's worker class in the ClusterClass; SizeVariable is the variable that
	// sets its VM size.
	Class, SizeVariable string
	// PodsPerNode and Addresses are copied from the flavor.
	PodsPerNode, Addresses int
}

// variable is a variable of the ClusterClass.
type variable struct {
	Name, About, Default, Enum string
	Required                   bool
}

// Variables returns the variables of the ClusterClass.
func (f flavor) Variables() []variable {
	const size, windowsSize = "Standard_D2s_v3", "Standard_D4s_v3" // Windows needs 4 processors
	return []variable{
		{Name: "location", About: "Azure region of the cluster", Required: true},
		{Name: "subscriptionID", About: "subscription that the cluster is made in", Required: true},
		{Name: "identityName", About: "AzureClusterIdentity in the cluster's namespace", Required: true},
		{Name: "windowsServerVersion", About: "Windows release of the Windows workers", Default: "windows-2022",
			Enum: "[windows-" + strings.Join(windows.ServerReleases(), ", windows-") + "]"},
		{Name: "windowsImage", About: "ID of the image version of the Windows workers; empty is the default one of the Kubernetes version",
			Default: `""`},
		{Name: "controlPlaneSize", About: "VM size of the control plane", Default: size},
		{Name: "nodeSize", About: "VM size of the Linux workers", Default: size},
		{Name: "windowsNodeSize", About: "VM size of the Windows workers", Default: windowsSize},
		{Name: "sshPublicKey", About: "base64 of an OpenSSH public key for Linux machines; empty for none", Default: `""`},
	}
}

// Releases lists the values of the annotation windowsServerVersion.
func (workers) Releases() string { return windows.ServerChoice("windows-") }

// Workers returns the flavor's groups.
func (f flavor) Workers() []workers {
	out := []workers{{Suffix: "0", Class: "linux", SizeVariable: "nodeSize", Replicas: "${WORKER_MACHINE_COUNT:=1}",
		Size: "${AZURE_NODE_MACHINE_TYPE:=Standard_D2s_v3}"}}
	if f.Windows {
		out = append(out, workers{
			Suffix: "win", Class: "windows", SizeVariable: "windowsNodeSize", Windows: true, Joined: f.Joined, Plugin: f.Plugin,
			Replicas: "${WINDOWS_WORKER_MACHINE_COUNT:=${WORKER_MACHINE_COUNT:=1}}",
			Size:     "${AZURE_WINDOWS_NODE_MACHINE_TYPE:=${AZURE_NODE_MACHINE_TYPE:=Standard_D4s_v3}}",
		})
	}
	for i := range out {
		out[i].PodsPerNode, out[i].Addresses = f.PodsPerNode(), f.Addresses()
	}
	return out
}

func all() []flavor {
	return []flavor{
		{name: "default", about: "Linux control plane and workers"},
		{name: "machinepool", about: "as default, with the workers in a machine pool", Pools: true},
		{name: "machinepool-windows", about: "as windows, with the workers in machine pools", Windows: true, Pools: true},
		{name: "private", about: "as default, with the API server behind an internal load balancer", Private: true},
		{name: "topology-machinepool-windows",
			about: "as machinepool-windows, made from the ClusterClass " + ClassName, Windows: true, Topology: true,
			Pools: true},
		{name: "topology-windows", about: "as windows, made from the ClusterClass " + ClassName, Windows: true, Topology: true},
		{name: "windows", about: "Linux control plane and workers, and Windows workers", Windows: true},
		{name: "windows-azure-cni", about: "as windows, with Azure CNI: pods have addresses of the virtual network",
			Windows: true, AzureCNI: true},
		{name: "windows-gmsa", about: "as windows, with Windows workers that join an Active Directory domain, for gMSA",
			Windows: true, Joined: true},
		{name: "windows-gmsa-plugin",
			about:   "as windows, with an own image that has a plug-in by which its machines, in no domain, fetch passwords for gMSA",
			Windows: true, Plugin: true},
		{name: "windows-internal-lb", about: "as windows, with the API server behind an internal load balancer",
			Windows: true, Private: true},
	}
}

// List returns the names of the flavors, sorted.
func List() []string {
	var out []string
	for _, f := range all() {
		out = append(out, f.name)
	}
	slices.Sort(out)
	return out
}

// Describe returns a short description of a flavor, or "" for an unknown name.
func Describe(name string) string {
	for _, f := range all() {
		if f.name == name {
			return f.about
		}
	}
	return ""
}

// ClassName is the ClusterClass that topology flavors refer to.
const ClassName = "casement-windows"

// Class returns the template of the ClusterClass with all objects that it refers to.
func Class() ([]byte, error) {
	text, err := render("clusterclass.yaml", flavor{Windows: true, Topology: true})
	if err != nil {
		return nil, fmt.Errorf("ClusterClass %s: %w", ClassName, err)
	}
	return text, nil
}

// WithClass returns the same as Get, preceded by the ClusterClass, as clusterctl adds it if the management cluster lacks it.
func WithClass(name string) ([]byte, error) {
	class, err := Class()
	if err != nil {
		return nil, err
	}
	template, err := Get(name)
	if err != nil {
		return nil, err
	}
	return slices.Concat(bytes.TrimRight(class, "\n"), []byte("\n---\n"), template), nil
}

// Topology reports whether a flavor's clusters need the ClusterClass.
func Topology(name string) bool {
	return slices.ContainsFunc(all(), func(f flavor) bool { return f.name == name && f.Topology })
}

// Get returns the clusterctl template of a flavor; "" is the default one.
func Get(name string) ([]byte, error) {
	if name == "" {
		name = "default"
	}
	i := slices.IndexFunc(all(), func(f flavor) bool { return f.name == name })
	if i < 0 {
		return nil, fmt.Errorf("no flavor %q; there are %s", name, strings.Join(List(), ", "))
	}
	file := "base.yaml"
	if all()[i].Topology {
		file = "topology.yaml"
	}
	text, err := render(file, all()[i])
	if err != nil {
		return nil, fmt.Errorf("flavor %s: %w", name, err)
	}
	return text, nil
}

func render(file string, f flavor) ([]byte, error) {
	t := template.New(file).Delims("[[", "]]")
	// part renders a named template with an indentation, for parts that are used at several depths.
	part := func(name string, dot any, depth int) (string, error) {
		var out bytes.Buffer
		if err := t.ExecuteTemplate(&out, name, dot); err != nil {
			return "", err
		}
		indent := strings.Repeat(" ", depth)
		return indent + strings.ReplaceAll(strings.Trim(out.String(), "\n"), "\n", "\n"+indent), nil
	}
	// controlPlane returns the template data for the part of the same name.
	controlPlane := func(cluster, secret string) map[string]any {
		return map[string]any{"Cluster": cluster, "Secret": secret, "PodsPerNode": f.PodsPerNode()}
	}
	if _, err := t.Funcs(template.FuncMap{"part": part, "controlPlane": controlPlane}).ParseFS(base, file, "parts.yaml"); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err := t.Execute(&out, f)
	return out.Bytes(), err
}

// ClassFileName is the file name under which clusterctl looks for the ClusterClass.
const ClassFileName = "clusterclass-" + ClassName + ".yaml"

// FileName returns the file name under which clusterctl looks for a flavor's template.
func FileName(name string) string {
	if name == "" || name == "default" {
		return "cluster-template.yaml"
	}
	return "cluster-template-" + name + ".yaml"
}
