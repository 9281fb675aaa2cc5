package desired

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// Priorities of the rules that every control-plane security group gets, unless the spec has
// a rule for the same port.
const (
	allowSSHPriority       = 2200
	allowAPIServerPriority = 2201
)

func (b *clusterBuilder) securityGroups() {
	for i, subnet := range b.allSubnets() {
		if subnet.SecurityGroup.Name == "" {
			continue
		}
		b.network(b.securityGroupID(subnet), armnetwork.SecurityGroup{
			Location: &b.spec.Location,
			Tags:     b.tags(subnet.SecurityGroup.Name, "", subnet.SecurityGroup.Tags),
			Properties: &armnetwork.SecurityGroupPropertiesFormat{
				SecurityRules: b.securityRules(subnet.SecurityGroup.Name),
			},
		}, infrav1.SecurityGroupsReadyCondition, fmt.Sprintf("spec.networkSpec.subnets[%d].securityGroup", i), b.vnetGroup.ID())
	}
}

// securityRules returns the rules of all subnets that share the security group, and the two default rules if one of the
// subnets is a control-plane subnet.
func (b *clusterBuilder) securityRules(group string) []*armnetwork.SecurityRule {
	var rules []infrav1.SecurityRule
	controlPlane := false
	for _, subnet := range b.allSubnets() {
		if subnet.SecurityGroup.Name != group {
			continue
		}
		controlPlane = controlPlane || hasRole(subnet, infrav1.SubnetControlPlane)
		for _, rule := range subnet.SecurityGroup.SecurityRules {
			if !slices.ContainsFunc(rules, func(r infrav1.SecurityRule) bool { return r.Name == rule.Name }) {
				rules = append(rules, rule)
			}
		}
	}
	if controlPlane && b.controlPlaneEnabled() {
		rules = append(rules, b.defaultRules(rules)...)
	}
	out := []*armnetwork.SecurityRule{}
	for _, rule := range rules {
		out = append(out, securityRule(rule))
	}
	return out
}

func (b *clusterBuilder) defaultRules(given []infrav1.SecurityRule) []infrav1.SecurityRule {
	var out []infrav1.SecurityRule
	for _, d := range []struct {
		name, description string
		priority, port    int32
	}{
		{"allow_ssh", "Allow SSH", allowSSHPriority, 22},
		{"allow_apiserver", "Allow K8s API Server", allowAPIServerPriority, b.APIServerPort},
	} {
		port := strconv.Itoa(int(d.port))
		taken := slices.ContainsFunc(given, func(r infrav1.SecurityRule) bool {
			return r.DestinationPorts != nil && *r.DestinationPorts == port
		})
		if !taken {
			out = append(out, infrav1.SecurityRule{
				Name: d.name, Description: d.description, Priority: d.priority,
				Protocol: infrav1.SecurityGroupProtocolTCP, Direction: infrav1.SecurityRuleDirectionInbound,
				Action: infrav1.SecurityRuleActionAllow,
				Source: new("*"), SourcePorts: new("*"), Destination: new("*"), DestinationPorts: &port,
			})
		}
	}
	return out
}

func securityRule(r infrav1.SecurityRule) *armnetwork.SecurityRule {
	p := &armnetwork.SecurityRulePropertiesFormat{
		Description:              &r.Description,
		Priority:                 &r.Priority,
		Protocol:                 new(armnetwork.SecurityRuleProtocol(r.Protocol)),
		Direction:                new(armnetwork.SecurityRuleDirection(r.Direction)),
		Access:                   new(armnetwork.SecurityRuleAccess(cmp.Or(r.Action, infrav1.SecurityRuleActionAllow))),
		SourcePortRange:          orAny(r.SourcePorts),
		DestinationPortRange:     orAny(r.DestinationPorts),
		DestinationAddressPrefix: orAny(r.Destination),
	}
	if len(r.Sources) > 0 {
		p.SourceAddressPrefixes = r.Sources
	} else {
		p.SourceAddressPrefix = orAny(r.Source)
	}
	return &armnetwork.SecurityRule{Name: &r.Name, Properties: p}
}

func orAny(s *string) *string {
	if s == nil || *s == "" {
		return new("*")
	}
	return s
}

// routeTables adds empty route tables; cloud-provider-azure writes the routes.
func (b *clusterBuilder) routeTables() {
	for i, subnet := range b.allSubnets() {
		if subnet.RouteTable.Name == "" {
			continue
		}
		b.network(b.routeTableID(subnet), armnetwork.RouteTable{
			Location: &b.spec.Location,
			Tags:     b.tags(subnet.RouteTable.Name, ""),
		}, infrav1.RouteTablesReadyCondition, fmt.Sprintf("spec.networkSpec.subnets[%d].routeTable", i), b.vnetGroup.ID())
	}
}

// virtualNetwork adds the virtual network. It is written once, with its subnets, and never again: a later PUT would
// delete every subnet that its body lacks, including subnets of others. Changes are written to the subnets themselves.
func (b *clusterBuilder) virtualNetwork() {
	id, vnet := VNetID(b.Cluster), &b.spec.NetworkSpec.Vnet
	if b.ForeignVNet {
		b.add(Resource{ID: id, APIVersion: NetworkAPIVersion, Policy: Observe,
			Condition: infrav1.VNetReadyCondition, Field: "spec.networkSpec.vnet"})
		return
	}
	needs := []string{b.vnetGroup.ID()}
	var subnets []*armnetwork.Subnet
	for _, subnet := range b.allSubnets() {
		subnets = append(subnets, b.subnet(subnet))
		needs = append(needs, b.subnetNeeds(subnet)...)
	}
	b.add(Resource{
		ID: id, APIVersion: NetworkAPIVersion, Policy: CreateOnly,
		Condition: infrav1.VNetReadyCondition, Field: "spec.networkSpec.vnet",
		Needs: unique(needs),
		Body: armnetwork.VirtualNetwork{
			Location:         &b.spec.Location,
			ExtendedLocation: b.extendedLocation(),
			Tags:             b.tags(vnet.Name, roleCommon, vnet.Tags),
			Properties: &armnetwork.VirtualNetworkPropertiesFormat{
				AddressSpace: &armnetwork.AddressSpace{AddressPrefixes: pointers(vnet.CIDRBlocks)},
				Subnets:      subnets,
			},
		},
	})
}

// subnets adds the subnets, each after the previous one, because Azure locks the virtual
// network for each write.
func (b *clusterBuilder) subnets() {
	before := VNetID(b.Cluster)
	for i, subnet := range b.allSubnets() {
		r := Resource{
			ID: b.subnetID(subnet.Name), APIVersion: NetworkAPIVersion, Policy: Manage,
			Body:      *b.subnet(subnet),
			Condition: infrav1.SubnetsReadyCondition, Field: fmt.Sprintf("spec.networkSpec.subnets[%d]", i),
			Needs: unique(append([]string{before}, b.subnetNeeds(subnet)...)),
		}
		if b.ForeignVNet {
			r.Policy, r.Body, r.Needs = Observe, nil, []string{VNetID(b.Cluster)}
		}
		b.add(r)
		before = r.ID
	}
}

func (b *clusterBuilder) subnet(s infrav1.SubnetSpec) *armnetwork.Subnet {
	p := &armnetwork.SubnetPropertiesFormat{}
	if len(s.CIDRBlocks) == 1 {
		p.AddressPrefix = &s.CIDRBlocks[0]
	} else {
		p.AddressPrefixes = pointers(s.CIDRBlocks)
	}
	if s.SecurityGroup.Name != "" {
		p.NetworkSecurityGroup = &armnetwork.SecurityGroup{ID: new(b.securityGroupID(s))}
	}
	if s.RouteTable.Name != "" {
		p.RouteTable = &armnetwork.RouteTable{ID: new(b.routeTableID(s))}
	}
	if b.wantsNatGateway(s) {
		p.NatGateway = &armnetwork.SubResource{ID: new(b.natGatewayID(s))}
	}
	for _, e := range s.ServiceEndpoints {
		p.ServiceEndpoints = append(p.ServiceEndpoints, &armnetwork.ServiceEndpointPropertiesFormat{
			Service: &e.Service, Locations: pointers(e.Locations),
		})
	}
	return &armnetwork.Subnet{Name: &s.Name, Properties: p}
}

func (b *clusterBuilder) subnetNeeds(s infrav1.SubnetSpec) []string {
	var needs []string
	if s.SecurityGroup.Name != "" {
		needs = append(needs, b.securityGroupID(s))
	}
	if s.RouteTable.Name != "" {
		needs = append(needs, b.routeTableID(s))
	}
	if b.wantsNatGateway(s) {
		needs = append(needs, b.natGatewayID(s))
	}
	return needs
}

// allSubnets returns the subnets of the spec, followed by the bastion's subnet.
func (b *clusterBuilder) allSubnets() []infrav1.SubnetSpec {
	subnets := slices.Clone(b.spec.NetworkSpec.Subnets)
	if bastion := b.spec.BastionSpec.AzureBastion; bastion != nil {
		subnets = append(subnets, bastion.Subnet)
	}
	return subnets
}

func (b *clusterBuilder) securityGroupID(s infrav1.SubnetSpec) string {
	return b.vnetGroup.Network("networkSecurityGroups", s.SecurityGroup.Name)
}

func (b *clusterBuilder) routeTableID(s infrav1.SubnetSpec) string {
	return b.vnetGroup.Network("routeTables", s.RouteTable.Name)
}

func (b *clusterBuilder) subnetID(name string) string { return SubnetID(b.Cluster, name) }

// SubnetID returns the ID of a subnet of the cluster's virtual network.
func SubnetID(c *infrav1.AzureCluster, name string) string {
	return VNetGroup(c).Network("virtualNetworks", c.Spec.NetworkSpec.Vnet.Name, "subnets", name)
}

func (b *clusterBuilder) controlPlaneEnabled() bool { return b.spec.ControlPlaneEnabled }

// hasRole reports whether a subnet has a role; a subnet with the role cluster has both other roles.
func hasRole(s infrav1.SubnetSpec, role infrav1.SubnetRole) bool {
	return s.Role == role || s.Role == infrav1.SubnetCluster && (role == infrav1.SubnetControlPlane || role == infrav1.SubnetNode)
}

// unique removes repeated IDs and keeps the order.
func unique(ids []string) []string {
	var out []string
	for _, id := range ids {
		if !slices.ContainsFunc(out, func(o string) bool { return sameID(o, id) }) {
			out = append(out, id)
		}
	}
	return out
}

// sameID compares resource IDs as Azure does.
func sameID(a, b string) bool { return strings.EqualFold(a, b) }
