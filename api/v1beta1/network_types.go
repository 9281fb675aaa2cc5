package v1beta1

// SubnetRole is the purpose of a subnet.
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

// SKU is a load balancer's SKU; Azure creates only Standard load balancers.
type SKU string

// SKUStandard is the only SKU that casement creates.
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

// Kinds of the private DNS zone of an internal API server.
const (
	PrivateDNSZoneModeSystem PrivateDNSZoneMode = "System"
	PrivateDNSZoneModeNone   PrivateDNSZoneMode = "None"
)

// NetworkSpec is the cluster's network.
type NetworkSpec struct {
	NetworkClassSpec `json:",inline"`

	// vnet is the virtual network.
	// +optional
	Vnet VnetSpec `json:"vnet,omitempty"`

	// subnets are one control-plane and at least one node subnet, or one cluster subnet, which has
	// both roles. Missing ones are added.
	// +listType=map
	// +listMapKey=name
	// +optional
	Subnets []SubnetSpec `json:"subnets,omitempty"`

	// apiServerLB is the load balancer of the API server. Default: a public one; none when
	// controlPlaneEnabled is false.
	// +optional
	APIServerLB *LoadBalancerSpec `json:"apiServerLB,omitempty"`

	// nodeOutboundLB is the load balancer for outbound traffic of nodes. Default: none, because IPv4 nodes have NAT
	// gateways; one for public clusters with IPv6 nodes.
	// +optional
	NodeOutboundLB *LoadBalancerSpec `json:"nodeOutboundLB,omitempty"`

	// controlPlaneOutboundLB is a load balancer for outbound traffic of the control planes of a
	// private cluster. Without it, their outbound traffic is not managed. It is not allowed if
	// apiServerLB is Public.
	// +optional
	ControlPlaneOutboundLB *LoadBalancerSpec `json:"controlPlaneOutboundLB,omitempty"`

	// additionalAPIServerLBPorts are further TCP ports of the API server's load balancer, such as
	// 9345 for RKE2. All use the probe of the API server.
	// +optional
	AdditionalAPIServerLBPorts []LoadBalancerPort `json:"additionalAPIServerLBPorts,omitempty"`
}

// NetworkClassSpec is the part of the network that a ClusterClass may carry.
type NetworkClassSpec struct {
	// privateDNSZoneName is the name of the private DNS zone of a private cluster; it is allowed
	// only with an Internal apiServerLB. Default: <cluster>.capz.io.
	// +optional
	PrivateDNSZoneName string `json:"privateDNSZoneName,omitempty"`

	// privateDNSZoneResourceGroup is the resource group of the private DNS zone; it requires privateDNSZoneName.
	// +optional
	PrivateDNSZoneResourceGroup string `json:"privateDNSZoneResourceGroup,omitempty"`

	// privateDNSZone set to None creates no private DNS zone for a private API server: the user
	// makes apiserver.<zone> resolve. Default: System.
	// +kubebuilder:validation:Enum=System;None
	// +optional
	PrivateDNSZone *PrivateDNSZoneMode `json:"privateDNSZone,omitempty"`
}

// VnetSpec is the virtual network.
type VnetSpec struct {
	// resourceGroup is the resource group of the network, its security groups and route tables. Default: the cluster's
	// resource group.
	// +optional
	ResourceGroup string `json:"resourceGroup,omitempty"`

	// id is accepted and has no effect.
	// +optional
	ID string `json:"id,omitempty"`

	// name defaults to <cluster>-vnet.
	// +required
	Name string `json:"name"`

	// peerings are the peered virtual networks. Each entry creates a peering in both directions.
	// +optional
	Peerings []VnetPeeringSpec `json:"peerings,omitempty"`

	VnetClassSpec `json:",inline"`
}

// VnetPeeringSpec is a peering between the cluster's virtual network and another one, in both directions.
type VnetPeeringSpec struct {
	// resourceGroup is the group of the remote network. Default: spec.resourceGroup.
	// +optional
	ResourceGroup string `json:"resourceGroup,omitempty"`

	// remoteVnetName is the name of the remote network.
	// +required
	RemoteVnetName string `json:"remoteVnetName"`

	// forwardPeeringProperties are the options of the peering from the cluster's network to the
	// remote one.
	// +optional
	ForwardPeeringProperties VnetPeeringProperties `json:"forwardPeeringProperties,omitempty"`

	// reversePeeringProperties are the options of the peering from the remote network to the
	// cluster's.
	// +optional
	ReversePeeringProperties VnetPeeringProperties `json:"reversePeeringProperties,omitempty"`
}

// VnetPeeringProperties selects the traffic that may pass in one direction.
type VnetPeeringProperties struct {
	// allowForwardedTraffic allows traffic that does not originate in the network.
	// +optional
	AllowForwardedTraffic *bool `json:"allowForwardedTraffic,omitempty"`

	// allowGatewayTransit lets the other network use this one's gateway.
	// +optional
	AllowGatewayTransit *bool `json:"allowGatewayTransit,omitempty"`

	// allowVirtualNetworkAccess allows traffic between the machines of both networks.
	// +optional
	AllowVirtualNetworkAccess *bool `json:"allowVirtualNetworkAccess,omitempty"`

	// useRemoteGateways lets this network use the other network's gateway.
	// +optional
	UseRemoteGateways *bool `json:"useRemoteGateways,omitempty"`
}

// VnetClassSpec is the part of the virtual network that a ClusterClass may carry.
type VnetClassSpec struct {
	// cidrBlocks are the network's ranges. Default: 10.0.0.0/8.
	// +optional
	CIDRBlocks []string `json:"cidrBlocks,omitempty"`

	// tags are the tags of the network.
	// +optional
	Tags Tags `json:"tags,omitempty"`
}

// SubnetSpec is a subnet with the resources attached to it.
type SubnetSpec struct {
	// id is the resource ID of an existing subnet; no NAT gateway is made for it by default.
	// +optional
	ID string `json:"id,omitempty"`

	// securityGroup is the subnet's network security group.
	// +optional
	SecurityGroup SecurityGroup `json:"securityGroup,omitempty"`

	// routeTable is the subnet's route table; cloud-provider-azure writes its routes.
	// +optional
	RouteTable RouteTable `json:"routeTable,omitempty"`

	// natGateway is the gateway for outbound traffic of the subnet's machines.
	// +optional
	NatGateway NatGateway `json:"natGateway,omitempty"`

	SubnetClassSpec `json:",inline"`
}

// SecurityGroup is a network security group.
type SecurityGroup struct {
	// id is accepted and has no effect.
	// +optional
	ID string `json:"id,omitempty"`

	// name defaults to <cluster>-controlplane-nsg / <cluster>-node-nsg / <cluster>-nsg.
	// +required
	Name string `json:"name"`

	SecurityGroupClass `json:",inline"`
}

// SecurityGroupClass is the part of a security group that a ClusterClass may carry.
type SecurityGroupClass struct {
	// securityRules are the group's rules. A rule that is removed from the spec is deleted; rules that other programs
	// added are kept.
	// +listType=map
	// +listMapKey=name
	// +optional
	SecurityRules []SecurityRule `json:"securityRules,omitempty"`

	// tags are the tags of the security group.
	// +optional
	Tags Tags `json:"tags,omitempty"`
}

// SecurityRule allows or denies traffic.
type SecurityRule struct {
	// name is the name of the rule.
	// +required
	Name string `json:"name"`

	// description is a free text.
	// +required
	Description string `json:"description"`

	// protocol is Tcp, Udp, Icmp, or * for all.
	// +kubebuilder:validation:Enum=Tcp;Udp;Icmp;*
	// +required
	Protocol SecurityGroupProtocol `json:"protocol"`

	// direction defaults to Inbound.
	// +kubebuilder:validation:Enum=Inbound;Outbound
	// +required
	Direction SecurityRuleDirection `json:"direction"`

	// priority is 100 to 4096; rules with a lower number take precedence.
	// +optional
	Priority int32 `json:"priority,omitempty"`

	// sourcePorts is a port, a range such as 1000-2000, or *. Default: all.
	// +optional
	SourcePorts *string `json:"sourcePorts,omitempty"`

	// destinationPorts is a port, a range or *. A rule for exactly 22 or the API server's port replaces the default
	// rule for that port.
	// +optional
	DestinationPorts *string `json:"destinationPorts,omitempty"`

	// source is a range of addresses, a service tag, or *. It excludes sources.
	// +optional
	Source *string `json:"source,omitempty"`

	// sources are ranges of addresses. They exclude source.
	// +optional
	Sources []*string `json:"sources,omitempty"`

	// destination is a range of addresses, a service tag, or *. Default: all.
	// +optional
	Destination *string `json:"destination,omitempty"`

	// action is Allow (default) or Deny.
	// +kubebuilder:validation:Enum=Allow;Deny
	// +kubebuilder:default=Allow
	// +optional
	Action SecurityRuleAccess `json:"action,omitempty"`
}

// RouteTable is a route table.
type RouteTable struct {
	// id is accepted and has no effect.
	// +optional
	ID string `json:"id,omitempty"`

	// name is the name of the table. Default: <cluster>-node-routetable, or <cluster>-routetable for role
	// cluster; the control plane's subnet has the table of the first node subnet.
	// +required
	Name string `json:"name"`
}

// NatGateway is a NAT gateway.
type NatGateway struct {
	// id is accepted and has no effect.
	// +optional
	ID string `json:"id,omitempty"`

	// ip is the public address of the NAT gateway.
	// +optional
	NatGatewayIP PublicIPSpec `json:"ip,omitempty"`

	// zones are the availability zones of the NAT gateway.
	// +optional
	Zones []string `json:"zones,omitempty"`

	NatGatewayClassSpec `json:",inline"`
}

// PublicIPSpec is a public IP address.
type PublicIPSpec struct {
	// name is the name of the address. An address that exists without the cluster's ownership tag is used and never deleted.
	// +required
	Name string `json:"name"`

	// dnsName is a full DNS name whose first label becomes the Azure DNS label. It is generated if
	// it is empty.
	// +optional
	DNSName string `json:"dnsName,omitempty"`

	// ipTags are Azure's IP tags, such as RoutingPreference.
	// +optional
	IPTags []IPTag `json:"ipTags,omitempty"`
}

// IPTag is a tag that Azure's network interprets.
type IPTag struct {
	// type is the type of the tag.
	// +required
	Type string `json:"type"`

	// tag is the value of the tag.
	// +required
	Tag string `json:"tag"`
}

// NatGatewayClassSpec is the part of a NAT gateway that a ClusterClass may carry.
type NatGatewayClassSpec struct {
	// name is the name of the gateway. Default for IPv4 node subnets without an ID: <cluster>-node-natgw-<n>, or
	// <cluster>-node-natgw if no subnet was listed; <cluster>-natgw for role cluster.
	// +required
	Name string `json:"name"`
}

// SubnetClassSpec is the part of a subnet that a ClusterClass may carry.
type SubnetClassSpec struct {
	// name defaults to <cluster>-controlplane-subnet, <cluster>-node-subnet (a listed unnamed node
	// subnet gets -<n> appended), <cluster>-subnet for role cluster.
	// +required
	Name string `json:"name"`

	// role is node, control-plane, cluster (both) or bastion.
	// +kubebuilder:validation:Enum=node;control-plane;bastion;cluster
	// +required
	Role SubnetRole `json:"role"`

	// cidrBlocks are the subnet's ranges. Default: 10.0.0.0/16 for control-plane and cluster,
	// 10.n.0.0/16 for the n-th node subnet.
	// +optional
	CIDRBlocks []string `json:"cidrBlocks,omitempty"`

	// serviceEndpoints are the Azure services that the subnet reaches without leaving Azure's network.
	// +listType=map
	// +listMapKey=service
	// +optional
	ServiceEndpoints []ServiceEndpointSpec `json:"serviceEndpoints,omitempty"`

	// privateEndpoints are private endpoints that are created in this subnet.
	// +listType=map
	// +listMapKey=name
	// +optional
	PrivateEndpoints []PrivateEndpointSpec `json:"privateEndpoints,omitempty"`
}

// ServiceEndpointSpec is direct access to an Azure service.
type ServiceEndpointSpec struct {
	// service is the name of an Azure service, such as Microsoft.Storage.
	// +required
	Service string `json:"service"`

	// locations are regions, or *.
	// +required
	Locations []string `json:"locations"`
}

// PrivateEndpointSpec is an address in the subnet for a service.
type PrivateEndpointSpec struct {
	// name is the name of the endpoint.
	// +required
	Name string `json:"name"`

	// location is the location of the endpoint. Default: the cluster's location.
	// +optional
	Location string `json:"location,omitempty"`

	// privateLinkServiceConnections are the connected services, at least one.
	// +optional
	PrivateLinkServiceConnections []PrivateLinkServiceConnection `json:"privateLinkServiceConnections,omitempty"`

	// customNetworkInterfaceName is the name of the endpoint's network interface.
	// +optional
	CustomNetworkInterfaceName string `json:"customNetworkInterfaceName,omitempty"`

	// privateIPAddresses are static addresses in the subnet's range.
	// +optional
	PrivateIPAddresses []string `json:"privateIPAddresses,omitempty"`

	// applicationSecurityGroups are the resource IDs of the application security groups that the endpoint joins.
	// +optional
	ApplicationSecurityGroups []string `json:"applicationSecurityGroups,omitempty"`

	// manualApproval requires the approval of the service's owner.
	// +optional
	ManualApproval bool `json:"manualApproval,omitempty"`
}

// PrivateLinkServiceConnection is the target of a private endpoint.
type PrivateLinkServiceConnection struct {
	// name is the name of the connection.
	// +optional
	Name string `json:"name,omitempty"`

	// privateLinkServiceID is the resource ID of the connected service.
	// +optional
	PrivateLinkServiceID string `json:"privateLinkServiceID,omitempty"`

	// groupIDs are the names of the service's sub-resources.
	// +optional
	GroupIDs []string `json:"groupIDs,omitempty"`

	// requestMessage is a message to the service's owner.
	// +kubebuilder:validation:MaxLength=140
	// +optional
	RequestMessage string `json:"requestMessage,omitempty"`
}

// LoadBalancerSpec is a load balancer.
type LoadBalancerSpec struct {
	// id is accepted and has no effect.
	// +optional
	ID string `json:"id,omitempty"`

	// name is the name of the load balancer. Default: <cluster>-public-lb or <cluster>-internal-lb for the API
	// server, <cluster> for nodes, <cluster>-outbound-lb for a private control plane.
	// +optional
	Name string `json:"name,omitempty"`

	// frontendIPs are the addresses of the load balancer; the API server has exactly one.
	// +optional
	FrontendIPs []FrontendIP `json:"frontendIPs,omitempty"`

	// frontendIPsCount is the number of addresses of an outbound load balancer: 0 to 16, default 1. The API server's
	// has exactly 1.
	// +optional
	FrontendIPsCount *int32 `json:"frontendIPsCount,omitempty"`

	// backendPool is the pool of machines.
	// +optional
	BackendPool BackendPool `json:"backendPool,omitempty"`

	// availabilityZones are the zones of the frontend for type Internal, and of the public IP for
	// type Public.
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:Pattern=`^[1-3]$`
	// +listType=set
	// +optional
	AvailabilityZones []string `json:"availabilityZones,omitempty"`

	LoadBalancerClassSpec `json:",inline"`
}

// FrontendIP is an address of a load balancer.
type FrontendIP struct {
	// name defaults to <lb name>-frontEnd.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`

	// publicIP is the public IP of a public load balancer.
	// +optional
	PublicIP *PublicIPSpec `json:"publicIP,omitempty"`

	FrontendIPClass `json:",inline"`
}

// FrontendIPClass is the part of an address that a ClusterClass may carry.
type FrontendIPClass struct {
	// privateIP is a static address in the control-plane subnet. Default: 10.0.0.100.
	// +optional
	PrivateIPAddress string `json:"privateIP,omitempty"`
}

// BackendPool is a load balancer's pool of machines.
type BackendPool struct {
	// name defaults to <lb name>-backendPool.
	// +optional
	Name string `json:"name,omitempty"`
}

// LoadBalancerClassSpec is the part of a load balancer that a ClusterClass may carry.
type LoadBalancerClassSpec struct {
	// sku must be Standard.
	// +optional
	SKU SKU `json:"sku,omitempty"`

	// type is Public or Internal. Outbound load balancers are Public.
	// +optional
	Type LBType `json:"type,omitempty"`

	// idleTimeoutInMinutes is the time after which an idle TCP connection is dropped: 4 to 30, default 4.
	// +optional
	IdleTimeoutInMinutes *int32 `json:"idleTimeoutInMinutes,omitempty"`
}

// LoadBalancerPort is an additional port of the API server's load balancer.
type LoadBalancerPort struct {
	// name is the name of the rule.
	// +required
	Name string `json:"name"`

	// port is the port of the load balancer and of the machines.
	// +required
	Port int32 `json:"port"`
}
