// Package kind is the table of the kinds that declare a cluster: the kinds of Cluster API, the kubeadm providers and
// casement, with their resources, short names and the path of a machine's spec in them. Code that reads manifests or an
// argument KIND/NAME uses it.
//
// It uses no Go types of the kinds, so that a linter can import it. Any package may import it; it imports nothing.
package kind

// Groups of the kinds.
const (
	Core           = "cluster.x-k8s.io"
	Bootstrap      = "bootstrap.cluster.x-k8s.io"
	ControlPlane   = "controlplane.cluster.x-k8s.io"
	Infrastructure = "infrastructure.cluster.x-k8s.io"
)

// Kind describes a kind of object of Cluster API or casement.
type Kind struct {
	Name, Group, Resource string
	// Short is the short name, or "".
	Short string
	// Machine is the path of the machines' spec in a kind that creates machines; nil for other kinds.
	Machine []string
	// VM is the path of the virtual machine's spec in an infrastructure kind; nil for other kinds.
	VM []string
	// AKS is true for CAPZ's kinds for managed clusters, which casement does not serve.
	AKS bool
}

var (
	inSpec         = []string{"spec"}
	inTemplate     = []string{"spec", "template", "spec"}
	inPoolTemplate = []string{"spec", "template"}
)

// All are the kinds; each owner is before the kinds that it creates.
var All = []Kind{
	{Name: "Cluster", Group: Core, Resource: "clusters", Short: "cl"},
	{Name: "KubeadmControlPlane", Group: ControlPlane, Resource: "kubeadmcontrolplanes", Short: "kcp", Machine: inSpec},
	{Name: "MachineDeployment", Group: Core, Resource: "machinedeployments", Short: "md", Machine: inTemplate},
	{Name: "MachineSet", Group: Core, Resource: "machinesets", Short: "ms", Machine: inTemplate},
	{Name: "MachinePool", Group: Core, Resource: "machinepools", Short: "mp", Machine: inTemplate},
	{Name: "Machine", Group: Core, Resource: "machines", Short: "ma", Machine: inSpec},
	{Name: "KubeadmConfigTemplate", Group: Bootstrap, Resource: "kubeadmconfigtemplates"},
	{Name: "KubeadmConfig", Group: Bootstrap, Resource: "kubeadmconfigs"},
	{Name: "AzureCluster", Group: Infrastructure, Resource: "azureclusters"},
	{Name: "AzureClusterTemplate", Group: Infrastructure, Resource: "azureclustertemplates"},
	{Name: "AzureClusterIdentity", Group: Infrastructure, Resource: "azureclusteridentities"},
	{Name: "AzureMachineTemplate", Group: Infrastructure, Resource: "azuremachinetemplates", VM: inTemplate},
	{Name: "AzureMachine", Group: Infrastructure, Resource: "azuremachines", VM: inSpec},
	{Name: "AzureMachinePoolTemplate", Group: Infrastructure, Resource: "azuremachinepooltemplates"},
	{Name: "AzureMachinePool", Group: Infrastructure, Resource: "azuremachinepools", Short: "amp", VM: inPoolTemplate},
	{Name: "AzureMachinePoolMachine", Group: Infrastructure, Resource: "azuremachinepoolmachines", Short: "ampm"},
	{Name: "AzureManagedMachinePool", Group: Infrastructure, Resource: "azuremanagedmachinepools", VM: inSpec, AKS: true},
}

// Makers returns the kinds that create machines, each with the path of the machines' spec.
func Makers() map[string][]string {
	return paths(func(k Kind) []string { return k.Machine })
}

// VMs returns the kinds with a virtual machine's spec, each with the path of the spec. If aks is true, it includes the
// kinds for managed clusters.
func VMs(aks bool) map[string][]string {
	return paths(func(k Kind) []string {
		if k.AKS && !aks {
			return nil
		}
		return k.VM
	})
}

// Matching returns the kinds for which is returns true, in the order of All.
func Matching(is func(Kind) bool) []Kind {
	var out []Kind
	for _, k := range All {
		if is(k) {
			out = append(out, k)
		}
	}
	return out
}

func paths(of func(Kind) []string) map[string][]string {
	out := map[string][]string{}
	for _, k := range All {
		if path := of(k); path != nil {
			out[k.Name] = path
		}
	}
	return out
}
