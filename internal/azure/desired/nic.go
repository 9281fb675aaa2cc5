package desired

import (
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// Ports that the SSH NAT rules of control-plane machines can have: 22, then the range. Source: CAPZ's load balancer rules.
const (
	sshPort          = 22
	firstSSHFallback = 2201
	lastSSHFallback  = 2219
)

// FreeSSHPort returns the first free frontend port for an SSH NAT rule; 0 if all are in use, and then the machine gets no rule.
func FreeSSHPort(taken map[int32]bool) int32 {
	if !taken[sshPort] {
		return sshPort
	}
	for port := int32(firstSSHFallback); port <= lastSSHFallback; port++ {
		if !taken[port] {
			return port
		}
	}
	return 0
}

// SSHRuleLB returns the ID of the load balancer with the SSH NAT rules; "" for a private cluster, whose machines are
// reachable from its network.
func SSHRuleLB(c *infrav1.AzureCluster) string {
	if APIServerPublicIPID(c) == "" {
		return ""
	}
	return LoadBalancerID(c, c.Spec.NetworkSpec.APIServerLB.Name)
}

func (b *machineBuilder) natRuleID() string {
	lb := SSHRuleLB(b.Cluster)
	if lb == "" || !b.ControlPlane || b.SSHPort == 0 {
		return ""
	}
	return lb + "/inboundNatRules/" + b.VMName
}

func (b *machineBuilder) natRule() {
	id := b.natRuleID()
	if id == "" {
		return
	}
	frontend := SSHRuleLB(b.Cluster) + "/frontendIPConfigurations/" + publicFrontendOf(b.Cluster)
	b.add(Resource{
		ID: id,
		Body: armnetwork.InboundNatRule{
			Name: &b.VMName,
			Properties: &armnetwork.InboundNatRulePropertiesFormat{
				Protocol:                new(armnetwork.TransportProtocolTCP),
				FrontendPort:            &b.SSHPort,
				BackendPort:             new(int32(sshPort)),
				EnableFloatingIP:        new(false),
				IdleTimeoutInMinutes:    new(int32(4)),
				FrontendIPConfiguration: &armnetwork.SubResource{ID: &frontend},
			},
		},
		Policy: CreateOnly, Condition: infrav1.InboundNATRulesReadyCondition, Field: "spec",
	})
}

// NICIDs returns the IDs of the machine's network interfaces, the primary one first.
func NICIDs(c *infrav1.AzureCluster, m *infrav1.AzureMachine, vmName string) []string {
	group := ClusterGroup(c)
	if len(m.Spec.NetworkInterfaces) < 2 {
		return []string{group.Network("networkInterfaces", vmName+"-nic")}
	}
	var ids []string
	for i := range m.Spec.NetworkInterfaces {
		ids = append(ids, group.Network("networkInterfaces", fmt.Sprintf("%s-nic-%d", vmName, i)))
	}
	return ids
}

func (b *machineBuilder) networkInterfaces() error {
	interfaces := b.spec.NetworkInterfaces
	if len(interfaces) == 0 {
		interfaces = []infrav1.NetworkInterface{
			{SubnetName: b.spec.SubnetName, AcceleratedNetworking: b.spec.AcceleratedNetworking, PrivateIPConfigs: 1},
		}
	}
	for i, id := range NICIDs(b.Cluster, b.Machine, b.VMName) {
		field := fmt.Sprintf("spec.networkInterfaces[%d]", i)
		subnet, err := b.subnet(interfaces[i].SubnetName, field+".subnetName")
		if err != nil {
			return err
		}
		b.networkInterface(id, field, interfaces[i], subnet, i == 0)
	}
	return nil
}

// subnet returns the named subnet or, without a name, the only one with the role.
func (b *machineBuilder) subnet(name, field string) (*infrav1.SubnetSpec, error) {
	role := infrav1.SubnetNode
	if b.ControlPlane {
		role = infrav1.SubnetControlPlane
	}
	var found []*infrav1.SubnetSpec
	var names []string
	for i := range b.Cluster.Spec.NetworkSpec.Subnets {
		s := &b.Cluster.Spec.NetworkSpec.Subnets[i]
		names = append(names, s.Name)
		if s.Name == name && name != "" {
			return s, nil
		}
		if name == "" && hasRole(*s, role) {
			found = append(found, s)
		}
	}
	switch {
	case name != "":
		return nil, &InvalidError{field, fmt.Sprintf("the cluster has no subnet %q", name), "name one of " + strings.Join(names, ", ")}
	case len(found) == 0:
		return nil, &InvalidError{field, fmt.Sprintf("the cluster has no subnet with role %s", role),
			"add one to spec.networkSpec.subnets of the AzureCluster"}
	case len(found) > 1:
		return nil, &InvalidError{
			field, fmt.Sprintf("the cluster has %d subnets with role %s and none is named", len(found), role),
			"name the one to use",
		}
	}
	return found[0], nil
}

func (b *machineBuilder) networkInterface(id, field string, n infrav1.NetworkInterface, subnet *infrav1.SubnetSpec, primary bool) {
	name := LastSegment(id)
	accelerated := n.AcceleratedNetworking
	if accelerated == nil {
		accelerated = &b.AcceleratedNetworking
	}
	p := &armnetwork.InterfacePropertiesFormat{
		EnableAcceleratedNetworking: accelerated,
		EnableIPForwarding:          &b.spec.EnableIPForwarding,
		IPConfigurations:            b.ipConfigurations(name, n, subnet, primary),
	}
	if primary && len(b.spec.DNSServers) > 0 {
		p.DNSSettings = &armnetwork.InterfaceDNSSettings{DNSServers: pointers(b.spec.DNSServers)}
	}
	var needs []string
	if primary && b.wantsPublicIP() {
		needs = append(needs, b.publicIPID())
	}
	if rule := b.natRuleID(); primary && rule != "" {
		needs = append(needs, rule)
	}
	b.add(Resource{
		ID: id,
		Body: armnetwork.Interface{
			Location:   b.location(),
			Tags:       b.tags(name, "", b.spec.AdditionalTags, b.cloudProviderTags()),
			Properties: p,
		},
		Policy: CreateOnly, Condition: infrav1.NetworkInterfaceReadyCondition, Field: field, Needs: needs,
	})
}

// ipConfigurations returns the interface's IP configurations: the primary one with all
// settings, further ones with only an address, and one for IPv6 if the subnet has it.
func (b *machineBuilder) ipConfigurations(nic string, n infrav1.NetworkInterface, subnet *infrav1.SubnetSpec,
	primary bool) []*armnetwork.InterfaceIPConfiguration {
	subnetRef := &armnetwork.Subnet{ID: new(SubnetID(b.Cluster, subnet.Name))}
	first := &armnetwork.InterfaceIPConfigurationPropertiesFormat{
		Primary:                   new(true),
		PrivateIPAllocationMethod: new(armnetwork.IPAllocationMethodDynamic),
		Subnet:                    subnetRef,
	}
	if primary {
		for _, pool := range b.pools(subnet) {
			first.LoadBalancerBackendAddressPools = append(first.LoadBalancerBackendAddressPools, &armnetwork.BackendAddressPool{ID: &pool})
		}
		if rule := b.natRuleID(); rule != "" {
			first.LoadBalancerInboundNatRules = []*armnetwork.InboundNatRule{{ID: &rule}}
		}
		if b.wantsPublicIP() {
			first.PublicIPAddress = &armnetwork.PublicIPAddress{ID: new(b.publicIPID())}
		}
	}
	configs := []*armnetwork.InterfaceIPConfiguration{{Name: new("pipConfig"), Properties: first}}
	for i := 1; i < n.PrivateIPConfigs; i++ {
		configs = append(configs, &armnetwork.InterfaceIPConfiguration{
			Name: new(fmt.Sprintf("%s-%d", nic, i)),
			Properties: &armnetwork.InterfaceIPConfigurationPropertiesFormat{
				Primary: new(false), PrivateIPAllocationMethod: new(armnetwork.IPAllocationMethodDynamic), Subnet: subnetRef,
			},
		})
	}
	if hasIPv6(subnet) {
		configs = append(configs, &armnetwork.InterfaceIPConfiguration{
			Name: new("ipConfigv6"),
			Properties: &armnetwork.InterfaceIPConfigurationPropertiesFormat{
				Primary: new(false), PrivateIPAddressVersion: new(armnetwork.IPVersionIPv6), Subnet: subnetRef,
			},
		})
	}
	return configs
}

func hasIPv6(s *infrav1.SubnetSpec) bool {
	for _, cidr := range s.CIDRBlocks {
		if strings.Contains(cidr, ":") {
			return true
		}
	}
	return false
}

// pools returns the backend pools that the machine's primary address joins.
func (b *machineBuilder) pools(subnet *infrav1.SubnetSpec) []string {
	network := &b.Cluster.Spec.NetworkSpec
	if b.ControlPlane {
		return b.controlPlanePools(network)
	}
	if lb := network.NodeOutboundLB; lb != nil && subnet.NatGateway.Name == "" && !b.wantsPublicIP() {
		return []string{b.pool(lb.Name, outboundPoolName(lb))}
	}
	return nil
}

func (b *machineBuilder) controlPlanePools(network *infrav1.NetworkSpec) []string {
	lb := network.APIServerLB
	if lb == nil || !b.Cluster.Spec.ControlPlaneEnabled {
		return nil
	}
	pools := []string{b.pool(lb.Name, poolName(lb))}
	if lb.Type == infrav1.Internal {
		if out := network.ControlPlaneOutboundLB; out != nil {
			pools = append(pools, b.pool(out.Name, outboundPoolName(out)))
		}
		return pools
	}
	for _, f := range lb.FrontendIPs {
		if f.PublicIP == nil {
			return append(pools, b.pool(lb.Name+"-internal", poolName(lb)+"-internal"))
		}
	}
	return pools
}

func (b *machineBuilder) pool(lb, pool string) string {
	return LoadBalancerID(b.Cluster, lb) + "/backendAddressPools/" + pool
}
