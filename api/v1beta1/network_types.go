package v1beta1

// SubnetRole says what a subnet is for.
type SubnetRole string

// Roles of subnets.
const (
	SubnetNode         SubnetRole = "node"
	SubnetControlPlane SubnetRole = "control-plane"
	SubnetCluster      SubnetRole = "cluster"
	SubnetBastion      SubnetRole = "bastion"
)

// LBType is Public or Internal.
type LBType string

// Types of load balancers.
const (
	Internal LBType = "Internal"
	Public   LBType = "Public"
)

// SKU is a load balancer's SKU; Azure creates Standard ones only.
type SKU string

// SKUStandard is the only SKU that casement makes.
const SKUStandard SKU = "Standard"

// SecurityGroupProtocol is the protocol of a security rule.
type SecurityGroupProtocol string

// Protocols of security rules.
const (
	SecurityGroupProtocolAll  SecurityGroupProtocol = "*"
	SecurityGroupProtocolTCP  SecurityGroupProtocol = "Tcp"
	SecurityGroupProtocolUDP  SecurityGroupProtocol = "Udp"
	SecurityGroupProtocolICMP SecurityGroupProtocol = "Icmp"
)

// SecurityRuleDirection is Inbound or Outbound.
type SecurityRuleDirection string

// Directions of security rules.
const (
	SecurityRuleDirectionInbound  SecurityRuleDirection = "Inbound"
	SecurityRuleDirectionOutbound SecurityRuleDirection = "Outbound"
)

// SecurityRuleAccess is Allow or Deny.
type SecurityRuleAccess string

// Actions of a security rule.
const (
	SecurityRuleActionAllow SecurityRuleAccess = "Allow"
	SecurityRuleActionDeny  SecurityRuleAccess = "Deny"
)

// PrivateDNSZoneMode is System or None.
type PrivateDNSZoneMode string

// Who makes the private DNS zone of an internal API server.
const (
	PrivateDNSZoneModeSystem PrivateDNSZoneMode = "System"
	PrivateDNSZoneModeNone   PrivateDNSZoneMode = "None"
)

// NetworkSpec is the cluster's network.
type NetworkSpec struct {
	NetworkClassSpec `json:",inline"`

	// Vnet is the virtual network.
	// +optional
	Vnet VnetSpec `json:"vnet,omitempty"`

	// Subnets: needs one control-plane and at least one node subnet, or one cluster subnet (both roles); missing ones are defaulted.
	// +listType=map
	// +listMapKey=name
	// +optional
	Subnets []SubnetSpec `json:"subnets,omitempty"`

	// APIServerLB is the load balancer of the API server. Default: a public one; none when
	// controlPlaneEnabled is false.
	// +optional
	APIServerLB *LoadBalancerSpec `json:"apiServerLB,omitempty"`

	// NodeOutboundLB is the way out of nodes. Default: none, because IPv4 nodes have NAT gateways; one
	// for public clusters with IPv6 nodes.
	// +optional
	NodeOutboundLB *LoadBalancerSpec `json:"nodeOutboundLB,omitempty"`

	// ControlPlaneOutboundLB: egress LB for control planes of a private cluster; nil = no managed
	// egress; forbidden when apiServerLB is Public.
	// +optional
	ControlPlaneOutboundLB *LoadBalancerSpec `json:"controlPlaneOutboundLB,omitempty"`

	// AdditionalAPIServerLBPorts: more TCP rules on the API server LB (e.g. 9345 for RKE2), all sharing the HTTPS probe.
	// +optional
	AdditionalAPIServerLBPorts []LoadBalancerPort `json:"additionalAPIServerLBPorts,omitempty"`
}

// NetworkClassSpec is the part of the network that a ClusterClass may carry.
type NetworkClassSpec struct {
	// PrivateDNSZoneName: zone name for a private cluster; default <cluster>.capz.io; only with Internal apiServerLB.
	// +optional
	PrivateDNSZoneName string `json:"privateDNSZoneName,omitempty"`

	// PrivateDNSZoneResourceGroup: resource group of that zone; needs privateDNSZoneName.
	// +optional
	PrivateDNSZoneResourceGroup string `json:"privateDNSZoneResourceGroup,omitempty"`

	// PrivateDNSZone: None = do not make a private DNS zone for a private API server (user resolves
	// apiserver.<zone> himself); nil acts as System.
	// +kubebuilder:validation:Enum=System;None
	// +optional
	PrivateDNSZone *PrivateDNSZoneMode `json:"privateDNSZone,omitempty"`
}

// VnetSpec is the virtual network.
type VnetSpec struct {
	// ResourceGroup of the network, its security groups and route tables. Default: the cluster's.
	// +optional
	ResourceGroup string `json:"resourceGroup,omitempty"`

	// ID is accepted and not acted on.
	// +optional
	ID string `json:"id,omitempty"`

	// Name: default <cluster>-vnet.
	// +required
	Name string `json:"name"`

	// Peerings: each entry makes a peering in both directions.
	// +optional
	Peerings []VnetPeeringSpec `json:"peerings,omitempty"`

	VnetClassSpec `json:",inline"`
}

// VnetPeeringSpec joins the cluster's network with another, both ways.
type VnetPeeringSpec struct {
	// ResourceGroup: group of the remote vnet; default spec.resourceGroup.
	// +optional
	ResourceGroup string `json:"resourceGroup,omitempty"`

	// RemoteVnetName is the other network.
	// +required
	RemoteVnetName string `json:"remoteVnetName"`

	// ForwardPeeringProperties: options of cluster vnet -> remote vnet.
	// +optional
	ForwardPeeringProperties VnetPeeringProperties `json:"forwardPeeringProperties,omitempty"`

	// ReversePeeringProperties: options of remote vnet -> cluster vnet.
	// +optional
	ReversePeeringProperties VnetPeeringProperties `json:"reversePeeringProperties,omitempty"`
}

// VnetPeeringProperties is what may pass in one direction.
type VnetPeeringProperties struct {
	// AllowForwardedTraffic that does not begin in the network.
	// +optional
	AllowForwardedTraffic *bool `json:"allowForwardedTraffic,omitempty"`

	// AllowGatewayTransit lets the other network use this one's gateway.
	// +optional
	AllowGatewayTransit *bool `json:"allowGatewayTransit,omitempty"`

	// AllowVirtualNetworkAccess between the machines of both.
	// +optional
	AllowVirtualNetworkAccess *bool `json:"allowVirtualNetworkAccess,omitempty"`

	// UseRemoteGateways of the other network.
	// +optional
	UseRemoteGateways *bool `json:"useRemoteGateways,omitempty"`
}

// VnetClassSpec is the part of the virtual network that a ClusterClass may carry.
type VnetClassSpec struct {
	// CIDRBlocks are the network's ranges. Default: 10.0.0.0/8.
	// +optional
	CIDRBlocks []string `json:"cidrBlocks,omitempty"`

	// Tags of the network.
	// +optional
	Tags Tags `json:"tags,omitempty"`
}

// SubnetSpec is a subnet and what hangs on it.
type SubnetSpec struct {
	// ID of a subnet that exists; no NAT gateway is made for it by default.
	// +optional
	ID string `json:"id,omitempty"`

	// SecurityGroup is the subnet's network security group.
	// +optional
	SecurityGroup SecurityGroup `json:"securityGroup,omitempty"`

	// RouteTable is the subnet's; cloud-provider-azure writes the routes.
	// +optional
	RouteTable RouteTable `json:"routeTable,omitempty"`

	// NatGateway is the way out of the subnet's machines.
	// +optional
	NatGateway NatGateway `json:"natGateway,omitempty"`

	SubnetClassSpec `json:",inline"`
}

// SecurityGroup is a network security group.
type SecurityGroup struct {
	// ID is accepted and not acted on.
	// +optional
	ID string `json:"id,omitempty"`

	// Name: default <cluster>-controlplane-nsg / <cluster>-node-nsg / <cluster>-nsg.
	// +required
	Name string `json:"name"`

	SecurityGroupClass `json:",inline"`
}

// SecurityGroupClass is the part of a security group that a ClusterClass may carry.
type SecurityGroupClass struct {
	// SecurityRules that are wanted. Those that leave the spec are removed; those that others made
	// stay.
	// +listType=map
	// +listMapKey=name
	// +optional
	SecurityRules []SecurityRule `json:"securityRules,omitempty"`

	// Tags of the security group.
	// +optional
	Tags Tags `json:"tags,omitempty"`
}

// SecurityRule lets traffic pass, or not.
type SecurityRule struct {
	// Name of the rule.
	// +required
	Name string `json:"name"`

	// Description for people.
	// +required
	Description string `json:"description"`

	// Protocol is Tcp, Udp, Icmp, or * for all.
	// +kubebuilder:validation:Enum=Tcp;Udp;Icmp;*
	// +required
	Protocol SecurityGroupProtocol `json:"protocol"`

	// Direction: default Inbound.
	// +kubebuilder:validation:Enum=Inbound;Outbound
	// +required
	Direction SecurityRuleDirection `json:"direction"`

	// Priority: 100..4096, lower wins.
	// +optional
	Priority int32 `json:"priority,omitempty"`

	// SourcePorts is a port, a range such as 1000-2000, or *. Default: all.
	// +optional
	SourcePorts *string `json:"sourcePorts,omitempty"`

	// DestinationPorts: port, range or *; one rule naming exactly 22 or the API port stops the matching default rule.
	// +optional
	DestinationPorts *string `json:"destinationPorts,omitempty"`

	// Source: CIDR, service tag or *; exclusive with sources.
	// +optional
	Source *string `json:"source,omitempty"`

	// Sources: list of CIDRs; exclusive with source.
	// +optional
	Sources []*string `json:"sources,omitempty"`

	// Destination is a range of addresses, a service tag, or *. Default: all.
	// +optional
	Destination *string `json:"destination,omitempty"`

	// Action is Allow (default) or Deny.
	// +kubebuilder:validation:Enum=Allow;Deny
	// +kubebuilder:default=Allow
	// +optional
	Action SecurityRuleAccess `json:"action,omitempty"`
}

// RouteTable is a route table.
type RouteTable struct {
	// ID is accepted and not acted on.
	// +optional
	ID string `json:"id,omitempty"`

	// Name of the table. Default: <cluster>-node-routetable, or <cluster>-routetable for role cluster;
	// the control plane's subnet has that of the first node subnet.
	// +required
	Name string `json:"name"`
}

// NatGateway is a NAT gateway.
type NatGateway struct {
	// ID is accepted and not acted on.
	// +optional
	ID string `json:"id,omitempty"`

	// NatGatewayIP is its public address.
	// +optional
	NatGatewayIP PublicIPSpec `json:"ip,omitempty"`

	// Zones: zone of the NAT gateway.
	// +optional
	Zones []string `json:"zones,omitempty"`

	NatGatewayClassSpec `json:",inline"`
}

// PublicIPSpec is a public IP address.
type PublicIPSpec struct {
	// Name of the address. One that exists without the cluster's ownership tag is used and never
	// deleted.
	// +required
	Name string `json:"name"`

	// DNSName: full FQDN; its first label becomes the Azure domain label; generated when empty.
	// +optional
	DNSName string `json:"dnsName,omitempty"`

	// IPTags of Azure, such as RoutingPreference.
	// +optional
	IPTags []IPTag `json:"ipTags,omitempty"`
}

// IPTag is a tag that Azure's network reads.
type IPTag struct {
	// Type of the tag.
	// +required
	Type string `json:"type"`

	// Tag is its value.
	// +required
	Tag string `json:"tag"`
}

// NatGatewayClassSpec is the part of a NAT gateway that a ClusterClass may carry.
type NatGatewayClassSpec struct {
	// Name of the gateway. Default for IPv4 node subnets without an ID: <cluster>-node-natgw-<n>, or
	// <cluster>-node-natgw if no subnet was listed; <cluster>-natgw for role cluster.
	// +required
	Name string `json:"name"`
}

// SubnetClassSpec is the part of a subnet that a ClusterClass may carry.
type SubnetClassSpec struct {
	// Name: defaults: <cluster>-controlplane-subnet, <cluster>-node-subnet (a listed unnamed node
	// subnet gets -<n> appended), <cluster>-subnet for role cluster.
	// +required
	Name string `json:"name"`

	// Role: node, control-plane, cluster (= both) or bastion.
	// +kubebuilder:validation:Enum=node;control-plane;bastion;cluster
	// +required
	Role SubnetRole `json:"role"`

	// CIDRBlocks are the subnet's ranges. Default: 10.0.0.0/16 for control-plane and cluster,
	// 10.n.0.0/16 for the n-th node subnet.
	// +optional
	CIDRBlocks []string `json:"cidrBlocks,omitempty"`

	// ServiceEndpoints lead to Azure's services without leaving its network.
	// +listType=map
	// +listMapKey=service
	// +optional
	ServiceEndpoints []ServiceEndpointSpec `json:"serviceEndpoints,omitempty"`

	// PrivateEndpoints: private endpoints created in this subnet.
	// +listType=map
	// +listMapKey=name
	// +optional
	PrivateEndpoints []PrivateEndpointSpec `json:"privateEndpoints,omitempty"`
}

// ServiceEndpointSpec is a way to a service of Azure.
type ServiceEndpointSpec struct {
	// Service: e.g. Microsoft.Storage.
	// +required
	Service string `json:"service"`

	// Locations: regions or *.
	// +required
	Locations []string `json:"locations"`
}

// PrivateEndpointSpec gives a service an address in the subnet.
type PrivateEndpointSpec struct {
	// Name of the endpoint.
	// +required
	Name string `json:"name"`

	// Location of the endpoint. Default: the cluster's.
	// +optional
	Location string `json:"location,omitempty"`

	// PrivateLinkServiceConnections: target services; must not be empty.
	// +optional
	PrivateLinkServiceConnections []PrivateLinkServiceConnection `json:"privateLinkServiceConnections,omitempty"`

	// CustomNetworkInterfaceName is what its network card is called.
	// +optional
	CustomNetworkInterfaceName string `json:"customNetworkInterfaceName,omitempty"`

	// PrivateIPAddresses: static addresses, inside the subnet CIDR.
	// +optional
	PrivateIPAddresses []string `json:"privateIPAddresses,omitempty"`

	// ApplicationSecurityGroups are resource IDs of groups that it joins.
	// +optional
	ApplicationSecurityGroups []string `json:"applicationSecurityGroups,omitempty"`

	// ManualApproval: ask the service owner for approval.
	// +optional
	ManualApproval bool `json:"manualApproval,omitempty"`
}

// PrivateLinkServiceConnection is what a private endpoint leads to.
type PrivateLinkServiceConnection struct {
	// Name of the connection.
	// +optional
	Name string `json:"name,omitempty"`

	// PrivateLinkServiceID: ARM id of the target.
	// +optional
	PrivateLinkServiceID string `json:"privateLinkServiceID,omitempty"`

	// GroupIDs: sub-resource names on the target.
	// +optional
	GroupIDs []string `json:"groupIDs,omitempty"`

	// RequestMessage is what the service's owner reads.
	// +kubebuilder:validation:MaxLength=140
	// +optional
	RequestMessage string `json:"requestMessage,omitempty"`
}

// LoadBalancerSpec is a load balancer.
type LoadBalancerSpec struct {
	// ID is accepted and not acted on.
	// +optional
	ID string `json:"id,omitempty"`

	// Name of the load balancer. Default: <cluster>-public-lb or <cluster>-internal-lb for the API
	// server, <cluster> for nodes, <cluster>-outbound-lb for a private control plane.
	// +optional
	Name string `json:"name,omitempty"`

	// FrontendIPs are its addresses; the API server has exactly one.
	// +optional
	FrontendIPs []FrontendIP `json:"frontendIPs,omitempty"`

	// FrontendIPsCount is how many addresses an outbound load balancer has: 0 to 16, default 1. Only 1
	// for the API server.
	// +optional
	FrontendIPsCount *int32 `json:"frontendIPsCount,omitempty"`

	// BackendPool holds the machines.
	// +optional
	BackendPool BackendPool `json:"backendPool,omitempty"`

	// AvailabilityZones: zones of the frontend: on the frontend itself for Internal, on the public IP for Public.
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:Pattern=`^[1-3]$`
	// +listType=set
	// +optional
	AvailabilityZones []string `json:"availabilityZones,omitempty"`

	LoadBalancerClassSpec `json:",inline"`
}

// FrontendIP is an address of a load balancer.
type FrontendIP struct {
	// Name: default <lb name>-frontEnd.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`

	// PublicIP of a public load balancer.
	// +optional
	PublicIP *PublicIPSpec `json:"publicIP,omitempty"`

	FrontendIPClass `json:",inline"`
}

// FrontendIPClass is the part of an address that a ClusterClass may carry.
type FrontendIPClass struct {
	// PrivateIPAddress: static address inside the control-plane subnet; default 10.0.0.100.
	// +optional
	PrivateIPAddress string `json:"privateIP,omitempty"`
}

// BackendPool is a load balancer's pool of machines.
type BackendPool struct {
	// Name: default <lb name>-backendPool.
	// +optional
	Name string `json:"name,omitempty"`
}

// LoadBalancerClassSpec is the part of a load balancer that a ClusterClass may carry.
type LoadBalancerClassSpec struct {
	// SKU: only Standard is accepted.
	// +optional
	SKU SKU `json:"sku,omitempty"`

	// Type is Public or Internal. Outbound load balancers are Public.
	// +optional
	Type LBType `json:"type,omitempty"`

	// IdleTimeoutInMinutes is when an idle TCP connection is forgotten: 4 to 30, default 4.
	// +optional
	IdleTimeoutInMinutes *int32 `json:"idleTimeoutInMinutes,omitempty"`
}

// LoadBalancerPort is one more port of the API server's load balancer.
type LoadBalancerPort struct {
	// Name of the rule.
	// +required
	Name string `json:"name"`

	// Port that is listened on and forwarded to.
	// +required
	Port int32 `json:"port"`
}
