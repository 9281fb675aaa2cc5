package model

import (
	"path"
	"strconv"
	"strings"

	azcorearm "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/redact"
)

// vnet is a row of a virtual network.
type vnet struct {
	Group    string   `json:"group"`
	Name     string   `json:"name"`
	Location string   `json:"location,omitempty"`
	Prefixes []string `json:"prefixes,omitempty"`
}

// subnet is a row of a subnet; NSG is the key of its security group.
type subnet struct {
	Group    string   `json:"group"`
	VNet     string   `json:"vnet"`
	Name     string   `json:"name"`
	Prefixes []string `json:"prefixes,omitempty"`
	NSG      string   `json:"nsg,omitempty"`
	NAT      string   `json:"nat,omitempty"`
}

// nsg is a row of a network security group.
type nsg struct {
	Group string `json:"group"`
	Name  string `json:"name"`
	Rules []rule `json:"rules"`
}

type rule struct {
	Priority    int    `json:"priority"`
	Name        string `json:"name"`
	Inbound     bool   `json:"inbound"`
	Allow       bool   `json:"allow"`
	Protocol    string `json:"protocol"`
	Ports       string `json:"ports"`
	Source      string `json:"source"`
	Destination string `json:"destination"`
}

// balancer is a row of a load balancer.
type balancer struct {
	Group    string   `json:"group"`
	Name     string   `json:"name"`
	Internal bool     `json:"internal,omitempty"`
	IPs      []string `json:"ips,omitempty"`
	Ports    []string `json:"ports,omitempty"`
}

// scaleSet is a row of a virtual machine scale set.
type scaleSet struct {
	Group    string `json:"group"`
	Name     string `json:"name"`
	Size     string `json:"size"`
	OS       string `json:"os"`
	Capacity int    `json:"capacity"`
	Subnet   string `json:"subnet,omitempty"`
}

// vm is a row of a virtual machine or of an instance of a scale set.
type vm struct {
	Group string `json:"group"`
	Name  string `json:"name"`
	// Subnet, Set and Machine are keys, and Balancers are too.
	Subnet    string   `json:"subnet,omitempty"`
	Set       string   `json:"set,omitempty"`
	Machine   string   `json:"machine,omitempty"`
	Balancers []string `json:"lbs,omitempty"`
	OS        string   `json:"os,omitempty"`
	Size      string   `json:"size,omitempty"`
	Address   string   `json:"address,omitempty"`
	// Phase is the state that Azure or the guest reports, and Message the reason.
	Phase   string   `json:"phase,omitempty"`
	Message string   `json:"message,omitempty"`
	State   State    `json:"state"`
	Boot    progress `json:"boot"`
}

// azureKey returns the key of a resource in a resource group.
func azureKey(what, group string, names ...string) string {
	return strings.ToLower(what + "/" + group + "/" + strings.Join(names, "/"))
}

// specNetwork adds the network that an AzureCluster requests.
func (b *builder) specNetwork(ac *infrav1.AzureCluster) {
	if ac == nil {
		return
	}
	spec, group := ac.Spec.NetworkSpec, ac.Spec.ResourceGroup
	where := spec.Vnet.ResourceGroup
	if where == "" {
		where = group
	}
	net := azureKey("vnet", where, spec.Vnet.Name)
	b.put(net, vnet{Group: group, Name: spec.Vnet.Name, Location: ac.Spec.Location, Prefixes: spec.Vnet.CIDRBlocks})
	for _, s := range spec.Subnets {
		row := subnet{Group: group, VNet: net, Name: s.Name, Prefixes: s.CIDRBlocks, NAT: s.NatGateway.Name}
		if s.SecurityGroup.Name != "" {
			row.NSG = azureKey("nsg", where, s.SecurityGroup.Name)
			b.put(row.NSG, nsg{Group: group, Name: s.SecurityGroup.Name, Rules: specRules(s.SecurityGroup.SecurityRules)})
		}
		b.put(azureKey("subnet", where, spec.Vnet.Name, s.Name), row)
	}
	for _, lb := range []*infrav1.LoadBalancerSpec{spec.APIServerLB, spec.NodeOutboundLB, spec.ControlPlaneOutboundLB} {
		if lb == nil {
			continue
		}
		row := balancer{Group: group, Name: lb.Name, Internal: lb.Type == infrav1.Internal}
		if lb == spec.APIServerLB && ac.Spec.ControlPlaneEndpoint.Host != "" {
			row.IPs = []string{ac.Spec.ControlPlaneEndpoint.Host}
			row.Ports = []string{"Tcp " + strconv.Itoa(int(ac.Spec.ControlPlaneEndpoint.Port))}
		}
		b.put(azureKey("lb", group, lb.Name), row)
	}
}

func specRules(rules []infrav1.SecurityRule) []rule {
	out := []rule{}
	text := func(s *string) string {
		if s == nil {
			return "*"
		}
		return *s
	}
	for _, r := range rules {
		row := rule{Priority: int(r.Priority), Name: r.Name,
			Inbound:  r.Direction != infrav1.SecurityRuleDirectionOutbound,
			Allow:    r.Action != infrav1.SecurityRuleActionDeny,
			Protocol: string(r.Protocol), Ports: text(r.DestinationPorts), Source: text(r.Source), Destination: text(r.Destination)}
		for i, s := range r.Sources {
			if i == 0 {
				row.Source = text(s)
			} else {
				row.Source += ", " + text(s)
			}
		}
		out = append(out, row)
	}
	return out
}

// machineVMs adds the VMs of a cluster's machines, from the machines' objects.
func (b *builder) machineVMs(c *Cluster) {
	s := c.Snapshot
	for name, p := range s.AzurePools {
		b.poolSet(c, name, p)
	}
	for i := range s.Machines {
		m := &s.Machines[i]
		infra, ok := b.infrastructure(c, m)
		if !ok {
			continue
		}
		row := &vm{Name: infra.Name, Machine: objectKey("Machine", m.Namespace, m.Name), State: b.state(c, m), Boot: progressOf(c, m)}
		if s.AzureCluster != nil {
			row.Group = s.AzureCluster.Spec.ResourceGroup
		}
		id := m.Spec.ProviderID
		if a := s.AzureMachines[infra.Name]; infra.Kind == "AzureMachine" && a != nil {
			b.ownVM(c, m, a, row)
			if a.Spec.ProviderID != nil {
				id = *a.Spec.ProviderID
			}
		} else if p := s.PoolMachines[infra.Name]; p != nil {
			id = p.Spec.ProviderID
			row.Address = internalIP(p.Status.Addresses)
			row.Phase, row.Name = string(deref(p.Status.ProvisioningState)), p.Status.InstanceName
		}
		key := azureKey("vm", row.Group, row.Name)
		if group, names := resourceNames(strings.TrimPrefix(id, "azure://")); len(names) > 0 {
			key = azureKey("vm", group, names...)
			if len(names) == 1 {
				row.Name = names[0]
			} else {
				row.Set = azureKey("set", group, names[0])
			}
		}
		b.vms[key] = row
	}
}

// ownVM sets the fields of a VM's row from the machine's AzureMachine.
func (b *builder) ownVM(c *Cluster, m *clusterv1.Machine, a *infrav1.AzureMachine, row *vm) {
	row.OS, row.Size, row.Address = string(a.Spec.OSDisk.OSType), a.Spec.VMSize, internalIP(a.Status.Addresses)
	row.Phase = string(deref(a.Status.VMState))
	if states := a.Status.LongRunningOperationStates; len(states) > 0 && a.Spec.ProviderID == nil &&
		!strings.Contains(states[0].Name, "/") {
		row.Name = states[0].Name // Azure creates the VM with this name
	}
	var name string
	if len(a.Spec.NetworkInterfaces) > 0 {
		name = a.Spec.NetworkInterfaces[0].SubnetName
	}
	_, control := m.Labels[clusterv1.MachineControlPlaneLabel]
	row.Subnet = subnetOf(c.Snapshot.AzureCluster, name, control)
	if ac := c.Snapshot.AzureCluster; ac != nil && control && ac.Spec.NetworkSpec.APIServerLB != nil {
		row.Balancers = []string{azureKey("lb", ac.Spec.ResourceGroup, ac.Spec.NetworkSpec.APIServerLB.Name)}
	}
}

// poolSet adds the scale set of a machine pool.
func (b *builder) poolSet(c *Cluster, name string, p *infrav1.AzureMachinePool) {
	ac := c.Snapshot.AzureCluster
	if ac == nil {
		return
	}
	var in string
	if nics := p.Spec.Template.NetworkInterfaces; len(nics) > 0 {
		in = nics[0].SubnetName
	}
	set := name
	if group, names := resourceNames(strings.TrimPrefix(p.Spec.ProviderID, "azure://")); len(names) > 0 && group != "" {
		set = names[0]
	}
	b.put(azureKey("set", ac.Spec.ResourceGroup, set), scaleSet{Group: ac.Spec.ResourceGroup, Name: set, Size: p.Spec.Template.VMSize,
		OS: string(p.Spec.Template.OSDisk.OSType), Capacity: int(p.Status.Replicas), Subnet: subnetOf(ac, in, false)})
}

// subnetOf returns the key of a subnet by its name, or by its role if there is no name.
func subnetOf(ac *infrav1.AzureCluster, name string, control bool) string {
	if ac == nil {
		return ""
	}
	net := ac.Spec.NetworkSpec.Vnet
	group := net.ResourceGroup
	if group == "" {
		group = ac.Spec.ResourceGroup
	}
	for _, s := range ac.Spec.NetworkSpec.Subnets {
		role := s.Role == infrav1.SubnetCluster || control == (s.Role == infrav1.SubnetControlPlane) && s.Role != infrav1.SubnetBastion
		if s.Name == name || name == "" && role {
			return azureKey("subnet", group, net.Name, s.Name)
		}
	}
	return ""
}

// resourceNames returns the resource group and the names in a resource ID, parents first.
func resourceNames(id string) (group string, names []string) {
	parsed, err := azcorearm.ParseResourceID(id)
	if err != nil {
		return "", nil
	}
	for at := parsed; at != nil && at.ResourceType.Namespace != azcorearm.ResourceGroupResourceType.Namespace; at = at.Parent {
		names = append([]string{at.Name}, names...)
	}
	return parsed.ResourceGroupName, names
}

func internalIP(addresses []clusterv1.MachineAddress) string {
	for _, a := range addresses {
		if a.Type == clusterv1.MachineInternalIP {
			return a.Address
		}
	}
	return ""
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// guest adds the phase and message of a guest's boot to its VM.
func (v *vm) guest(g Guest) {
	v.Phase, v.Message = g.Phase, redact.Line(g.Message, 300)
	if g.Phase == "Failed" {
		v.State = Bad
	}
}

func lastName(id string) string { return path.Base(id) }
