// Package kind is the table of the kinds that declare a cluster: Cluster API's, the kubeadm providers' and
// ours, with their resources, short names and the path of a machine's spec in them. Code that reads
// manifests or an argument KIND/NAME uses it.
//
// It refuses to know Go types, so that a linter can import it. Anybody may import it; it imports nothing.
package kind

// Groups of the kinds.
const (
	Core           = "cluster.x-k8s.io"
	Bootstrap      = "bootstrap.cluster.x-k8s.io"
	ControlPlane   = "controlplane.cluster.x-k8s.io"
	Infrastructure = "infrastructure.cluster.x-k8s.io"
)

// Kind is one kind.
type Kind struct {
	Name, Group, Resource string
	// Short is the short name, "" for none.
	Short string
	// Machine is where an object that makes machines keeps their spec; nil for other kinds.
	Machine []string
	// VM is where an object of infrastructure keeps the spec of a virtual machine; nil for others.
	VM []string
	// AKS is true for CAPZ's kinds for managed clusters, which casement does not serve.
	AKS bool
}

var (
	inSpec         = []string{"spec"}
	inTemplate     = []string{"spec", "template", "spec"}
	inPoolTemplate = []string{"spec", "template"}
)

// All are the kinds; each owner comes before the kinds that it creates.
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

// Makers returns the kinds that make machines, each with where it keeps their spec.
func Makers() map[string][]string {
	return paths(func(k Kind) []string { return k.Machine })
}

// VMs returns the kinds with a virtual machine's spec and the path of the spec in each; aks
// says whether the kinds of managed clusters are included.
func VMs(aks bool) map[string][]string {
	return paths(func(k Kind) []string {
		if k.AKS && !aks {
			return nil
		}
		return k.VM
	})
}

// Matching returns the kinds for which is holds, in the order of All.
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
