package webhook

import (
	"fmt"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// The defaults of a cluster's network, as in CAPZ v1.26, except for the range of the bastion: Azure requires at least a
// /26 (learn.microsoft.com/azure/bastion, AzureBastionSubnet).
const (
	defaultVnetCIDR         = "10.0.0.0/8"
	defaultControlPlaneCIDR = "10.0.0.0/16"
	defaultNodeCIDRPattern  = "10.%d.0.0/16"
	defaultInternalIP       = "10.0.0.100"
	defaultBastionCIDR      = "10.255.255.192/26"
	bastionSubnetName       = "AzureBastionSubnet" // Azure requires this name
	defaultIdleMinutes      = 4
	defaultEnvironment      = "AzurePublicCloud"
	maxOutboundIPs          = 16 // Azure's limit for public IPs in an outbound rule
)

// defaultCluster sets the defaults of fields that the user did not set. It is idempotent.
func defaultCluster(c *infrav1.AzureCluster) error {
	name := clusterName(c)
	s := &c.Spec
	setDefault(&s.ResourceGroup, c.Name)
	setDefault(&s.AzureEnvironment, defaultEnvironment)
	setDefault(&s.NetworkSpec.Vnet.ResourceGroup, s.ResourceGroup)
	setDefault(&s.NetworkSpec.Vnet.Name, name+"-vnet")
	if len(s.NetworkSpec.Vnet.CIDRBlocks) == 0 {
		s.NetworkSpec.Vnet.CIDRBlocks = []string{defaultVnetCIDR}
	}
	for i := range s.NetworkSpec.Vnet.Peerings {
		setDefault(&s.NetworkSpec.Vnet.Peerings[i].ResourceGroup, s.ResourceGroup)
	}
	defaultSubnets(name, s)
	if s.ControlPlaneEnabled {
		defaultAPIServerLB(name, s)
		defaultControlPlaneOutboundLB(name, s)
	} else {
		s.NetworkSpec.APIServerLB = nil // another controller manages the control plane
	}
	defaultNodeOutboundLB(name, s)
	defaultBastion(name, s)
	return nil
}

// clusterName returns the name of the owning Cluster, which may differ from the AzureCluster's name in a topology.
func clusterName(c *infrav1.AzureCluster) string {
	if name := c.Labels[clusterv1.ClusterNameLabel]; name != "" {
		return name
	}
	return c.Name
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func hasRole(s *infrav1.AzureClusterSpec, roles ...infrav1.SubnetRole) bool {
	return slices.ContainsFunc(s.NetworkSpec.Subnets, func(subnet infrav1.SubnetSpec) bool { return slices.Contains(roles, subnet.Role) })
}

func defaultSubnets(name string, s *infrav1.AzureClusterSpec) {
	n := &s.NetworkSpec
	if s.ControlPlaneEnabled && !hasRole(s, infrav1.SubnetControlPlane, infrav1.SubnetCluster) {
		n.Subnets = append([]infrav1.SubnetSpec{{SubnetClassSpec: infrav1.SubnetClassSpec{Role: infrav1.SubnetControlPlane}}}, n.Subnets...)
	}
	made := false
	if !hasRole(s, infrav1.SubnetNode, infrav1.SubnetCluster) {
		made = true
		n.Subnets = append(n.Subnets, infrav1.SubnetSpec{
			SubnetClassSpec: infrav1.SubnetClassSpec{Name: name + "-node-subnet", Role: infrav1.SubnetNode},
		})
	}
	nodes := 0
	var nodeRouteTable string
	for i := range n.Subnets {
		subnet := &n.Subnets[i]
		switch subnet.Role {
		case infrav1.SubnetControlPlane:
			defaultSubnet(subnet, name+"-controlplane-subnet", defaultControlPlaneCIDR, name+"-controlplane-nsg")
		case infrav1.SubnetCluster:
			defaultSubnet(subnet, name+"-subnet", defaultControlPlaneCIDR, name+"-nsg")
			setDefault(&subnet.RouteTable.Name, name+"-routetable")
			defaultNatGateway(subnet, name+"-natgw")
		case infrav1.SubnetNode:
			nodes++
			defaultSubnet(subnet, fmt.Sprintf("%s-node-subnet-%d", name, nodes),
				fmt.Sprintf(defaultNodeCIDRPattern, nodes), name+"-node-nsg")
			setDefault(&subnet.RouteTable.Name, name+"-node-routetable")
			gateway := fmt.Sprintf("%s-node-natgw-%d", name, nodes)
			if made {
				gateway = name + "-node-natgw"
			}
			defaultNatGateway(subnet, gateway)
		}
		if nodeRouteTable == "" && (subnet.Role == infrav1.SubnetNode || subnet.Role == infrav1.SubnetCluster) {
			nodeRouteTable = subnet.RouteTable.Name
		}
	}
	for i := range n.Subnets {
		if n.Subnets[i].Role == infrav1.SubnetControlPlane {
			setDefault(&n.Subnets[i].RouteTable.Name, nodeRouteTable)
		}
	}
}

func defaultSubnet(subnet *infrav1.SubnetSpec, name, cidr, group string) {
	setDefault(&subnet.Name, name)
	if len(subnet.CIDRBlocks) == 0 {
		subnet.CIDRBlocks = []string{cidr}
	}
	setDefault(&subnet.SecurityGroup.Name, group)
	defaultRules(subnet.SecurityGroup.SecurityRules)
}

func defaultRules(rules []infrav1.SecurityRule) {
	for i := range rules {
		setDefault(&rules[i].Direction, infrav1.SecurityRuleDirectionInbound)
		setDefault(&rules[i].Action, infrav1.SecurityRuleActionAllow)
	}
}

// defaultNatGateway adds a NAT gateway to every IPv4 node subnet that is not the user's own.
func defaultNatGateway(subnet *infrav1.SubnetSpec, name string) {
	if subnet.ID != "" || ipv6Only(subnet.CIDRBlocks) {
		return
	}
	setDefault(&subnet.NatGateway.Name, name)
	setDefault(&subnet.NatGateway.NatGatewayIP.Name, "pip-"+subnet.NatGateway.Name)
}

func defaultAPIServerLB(name string, s *infrav1.AzureClusterSpec) {
	if s.NetworkSpec.APIServerLB == nil {
		s.NetworkSpec.APIServerLB = &infrav1.LoadBalancerSpec{}
	}
	lb := s.NetworkSpec.APIServerLB
	setDefault(&lb.Type, infrav1.Public)
	suffix := "-public-lb"
	if lb.Type == infrav1.Internal {
		suffix = "-internal-lb"
	}
	setDefault(&lb.Name, name+suffix)
	defaultLB(lb)
	setDefault(&lb.BackendPool.Name, lb.Name+"-backendPool")
	if len(lb.FrontendIPs) == 0 {
		lb.FrontendIPs = []infrav1.FrontendIP{{Name: lb.Name + "-frontEnd"}}
	}
	for i := range lb.FrontendIPs {
		f := &lb.FrontendIPs[i]
		switch lb.Type {
		case infrav1.Public:
			if f.PublicIP == nil && f.PrivateIPAddress != "" {
				continue // the frontend of the internal load balancer in addition to the public one
			}
			defaultPublicIP(f, "pip-"+name+"-apiserver")
		case infrav1.Internal:
			setDefault(&f.PrivateIPAddress, defaultInternalIP)
		}
	}
}

func defaultPublicIP(f *infrav1.FrontendIP, name string) {
	if f.PublicIP == nil {
		f.PublicIP = &infrav1.PublicIPSpec{}
	}
	setDefault(&f.PublicIP.Name, name)
}

func defaultLB(lb *infrav1.LoadBalancerSpec) {
	setDefault(&lb.SKU, infrav1.SKUStandard)
	if lb.IdleTimeoutInMinutes == nil {
		lb.IdleTimeoutInMinutes = new(int32(defaultIdleMinutes))
	}
}

// needsNodeOutboundLB reports whether nodes need a load balancer for outbound traffic: only IPv6 nodes of a public
// cluster do, because nodes with IPv4 use NAT gateways.
func needsNodeOutboundLB(s *infrav1.AzureClusterSpec) bool {
	lb := s.NetworkSpec.APIServerLB
	return lb != nil && lb.Type == infrav1.Public && slices.ContainsFunc(s.NetworkSpec.Subnets, func(subnet infrav1.SubnetSpec) bool {
		return (subnet.Role == infrav1.SubnetNode || subnet.Role == infrav1.SubnetCluster) && hasIPv6(subnet.CIDRBlocks)
	})
}

func defaultNodeOutboundLB(name string, s *infrav1.AzureClusterSpec) {
	if s.NetworkSpec.NodeOutboundLB == nil {
		if !needsNodeOutboundLB(s) {
			return
		}
		s.NetworkSpec.NodeOutboundLB = &infrav1.LoadBalancerSpec{}
	}
	setDefault(&s.NetworkSpec.NodeOutboundLB.Name, name)
	defaultOutboundLB(s.NetworkSpec.NodeOutboundLB, "pip-"+name+"-node-outbound")
}

func defaultControlPlaneOutboundLB(name string, s *infrav1.AzureClusterSpec) {
	lb := s.NetworkSpec.ControlPlaneOutboundLB
	if lb == nil || s.NetworkSpec.APIServerLB.Type != infrav1.Internal {
		return
	}
	setDefault(&lb.Name, name+"-outbound-lb")
	defaultOutboundLB(lb, "pip-"+name+"-controlplane-outbound")
}

func defaultOutboundLB(lb *infrav1.LoadBalancerSpec, ip string) {
	lb.Type = infrav1.Public
	defaultLB(lb)
	setDefault(&lb.BackendPool.Name, lb.Name+"-outboundBackendPool")
	if lb.FrontendIPsCount == nil {
		lb.FrontendIPsCount = new(int32(1))
	}
	count := int(*lb.FrontendIPsCount)
	if count < 0 || count > maxOutboundIPs {
		return // validation refuses the value, and the list would be too long
	}
	if len(lb.FrontendIPs) != count {
		lb.FrontendIPs = make([]infrav1.FrontendIP, count)
	}
	for i := range lb.FrontendIPs {
		suffix := ""
		if count > 1 {
			suffix = fmt.Sprintf("-%d", i+1)
		}
		setDefault(&lb.FrontendIPs[i].Name, lb.Name+"-frontEnd"+suffix)
		defaultPublicIP(&lb.FrontendIPs[i], ip+suffix)
	}
}

func defaultBastion(name string, s *infrav1.AzureClusterSpec) {
	b := s.BastionSpec.AzureBastion
	if b == nil {
		return
	}
	setDefault(&b.Name, name+"-azure-bastion")
	setDefault(&b.Sku, "Basic")
	setDefault(&b.Subnet.Name, bastionSubnetName)
	setDefault(&b.Subnet.Role, infrav1.SubnetBastion)
	defaultRules(b.Subnet.SecurityGroup.SecurityRules)
	if len(b.Subnet.CIDRBlocks) == 0 {
		b.Subnet.CIDRBlocks = []string{defaultBastionCIDR}
	}
	setDefault(&b.PublicIP.Name, name+"-azure-bastion-pip")
}
