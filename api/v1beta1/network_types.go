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

// What a security rule does.
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

	// Vnet is the vnet.
	// +optional
	Vnet VnetSpec `json:"vnet,omitempty"`

	// Subnets: needs one control-plane and at least one node subnet, or one cluster subnet (both roles); missing ones are defaulted.
	// +listType=map
	// +listMapKey=name
	// +optional
	Subnets []SubnetSpec `json:"subnets,omitempty"`

	// APIServerLB: API server load balancer; absent = one Public LB is defaulted; forced to nil when controlPlaneEnabled is false.
	// +optional
	APIServerLB *LoadBalancerSpec `json:"apiServerLB,omitempty"`

	// NodeOutboundLB: egress LB for workers; v1.26 defaults it only for IPv6 node subnets of public clusters, v1.0.0 for any node subnet without NAT gateway.
	// +optional
	NodeOutboundLB *LoadBalancerSpec `json:"nodeOutboundLB,omitempty"`

	// ControlPlaneOutboundLB: egress LB for control planes of a private cluster; nil = no managed egress; forbidden when apiServerLB is Public.
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

	// PrivateDNSZone: None = do not make a private DNS zone for a private API server (user resolves apiserver.<zone> himself); nil acts as System.
	// +kubebuilder:validation:Enum=System;None
	// +optional
	PrivateDNSZone *PrivateDNSZoneMode `json:"privateDNSZone,omitempty"`
}

// VnetSpec is the virtual network.
type VnetSpec struct {
	// ResourceGroup: group of vnet, subnets, NSGs, route tables; default spec.resourceGroup; another group = usual sign of a bring-your-own vnet.
	// +optional
	ResourceGroup string `json:"resourceGroup,omitempty"`

	// ID: written by the controller.
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

// VnetPeeringSpec is the vnet peering part of a spec.
type VnetPeeringSpec struct {
	// ResourceGroup: group of the remote vnet; default spec.resourceGroup.
	// +optional
	ResourceGroup string `json:"resourceGroup,omitempty"`

	// RemoteVnetName is the remote vnet name.
	// +required
	RemoteVnetName string `json:"remoteVnetName"`

	// ForwardPeeringProperties: options of cluster vnet -> remote vnet.
	// +optional
	ForwardPeeringProperties VnetPeeringProperties `json:"forwardPeeringProperties,omitempty"`

	// ReversePeeringProperties: options of remote vnet -> cluster vnet.
	// +optional
	ReversePeeringProperties VnetPeeringProperties `json:"reversePeeringProperties,omitempty"`
}

// VnetPeeringProperties is the vnet peering properties part of a spec.
type VnetPeeringProperties struct {
	// AllowForwardedTraffic is the allow forwarded traffic.
	// +optional
	AllowForwardedTraffic *bool `json:"allowForwardedTraffic,omitempty"`

	// AllowGatewayTransit is the allow gateway transit.
	// +optional
	AllowGatewayTransit *bool `json:"allowGatewayTransit,omitempty"`

	// AllowVirtualNetworkAccess is the allow virtual network access.
	// +optional
	AllowVirtualNetworkAccess *bool `json:"allowVirtualNetworkAccess,omitempty"`

	// UseRemoteGateways is the use remote gateways.
	// +optional
	UseRemoteGateways *bool `json:"useRemoteGateways,omitempty"`
}

// VnetClassSpec is the part of the virtual network that a ClusterClass may carry.
type VnetClassSpec struct {
	// CIDRBlocks: default 10.0.0.0/8; overwritten from Azure for an existing vnet.
	// +optional
	CIDRBlocks []string `json:"cidrBlocks,omitempty"`

	// Tags: tags seen on the vnet in Azure; the ownership tag here decides whether the vnet counts as managed.
	// +optional
	Tags Tags `json:"tags,omitempty"`
}

// SubnetSpec is the subnet part of a spec.
type SubnetSpec struct {
	// ID: written by the controller; a set id on a node subnet also stops NAT gateway defaulting.
	// +optional
	ID string `json:"id,omitempty"`

	// SecurityGroup is the security group.
	// +optional
	SecurityGroup SecurityGroup `json:"securityGroup,omitempty"`

	// RouteTable is the route table.
	// +optional
	RouteTable RouteTable `json:"routeTable,omitempty"`

	// NatGateway is the nat gateway.
	// +optional
	NatGateway NatGateway `json:"natGateway,omitempty"`

	SubnetClassSpec `json:",inline"`
}

// SecurityGroup is the security group part of a spec.
type SecurityGroup struct {
	// ID is the id.
	// +optional
	ID string `json:"id,omitempty"`

	// Name: default <cluster>-controlplane-nsg / <cluster>-node-nsg / <cluster>-nsg.
	// +required
	Name string `json:"name"`

	SecurityGroupClass `json:",inline"`
}

// SecurityGroupClass is the security group part of a spec.
type SecurityGroupClass struct {
	// SecurityRules: rules wanted; rules once applied by the controller and later dropped from the spec are removed (tracked by annotation), foreign rules stay.
	// +listType=map
	// +listMapKey=name
	// +optional
	SecurityRules []SecurityRule `json:"securityRules,omitempty"`

	// Tags is the tags.
	// +optional
	Tags Tags `json:"tags,omitempty"`
}

// SecurityRule is the security rule part of a spec.
type SecurityRule struct {
	// Name is the name.
	// +required
	Name string `json:"name"`

	// Description is the description.
	// +required
	Description string `json:"description"`

	// Protocol is the protocol.
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

	// SourcePorts is the source ports.
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

	// Destination is the destination.
	// +optional
	Destination *string `json:"destination,omitempty"`

	// Action is the action.
	// +kubebuilder:validation:Enum=Allow;Deny
	// +kubebuilder:default=Allow
	// +optional
	Action SecurityRuleAccess `json:"action,omitempty"`
}

// RouteTable is the route table part of a spec.
type RouteTable struct {
	// ID is the id.
	// +optional
	ID string `json:"id,omitempty"`

	// Name: default <cluster>-node-routetable (node), <cluster>-routetable (cluster); v1.26 also gives the control-plane subnet the table of the first node/cluster subnet; v1.0.0 gives it none.
	// +required
	Name string `json:"name"`
}

// NatGateway is the nat gateway part of a spec.
type NatGateway struct {
	// ID: written by the controller.
	// +optional
	ID string `json:"id,omitempty"`

	// NatGatewayIP is the nat gateway ip.
	// +optional
	NatGatewayIP PublicIPSpec `json:"ip,omitempty"`

	// Zones: zone of the NAT gateway.
	// +optional
	Zones []string `json:"zones,omitempty"`

	NatGatewayClassSpec `json:",inline"`
}

// PublicIPSpec is the public ip part of a spec.
type PublicIPSpec struct {
	// Name: default pip-<natgw name> (v1.0.0: pip-<cluster>-<subnet>-natgw).
	// +required
	Name string `json:"name"`

	// DNSName: full FQDN; its first label becomes the Azure domain label; generated when empty.
	// +optional
	DNSName string `json:"dnsName,omitempty"`

	// IPTags is the iptags.
	// +optional
	IPTags []IPTag `json:"ipTags,omitempty"`
}

// IPTag is the iptag part of a spec.
type IPTag struct {
	// Type is the type.
	// +required
	Type string `json:"type"`

	// Tag is the tag.
	// +required
	Tag string `json:"tag"`
}

// NatGatewayClassSpec is the nat gateway class part of a spec.
type NatGatewayClassSpec struct {
	// Name: v1.26 default <cluster>-node-natgw-<n> for listed IPv4 node subnets without id, <cluster>-node-natgw for the implicit one, <cluster>-natgw for cluster role; v1.0.0 has no default (NAT off); non-empty name = NAT gateway enabled.
	// +required
	Name string `json:"name"`
}

// SubnetClassSpec is the subnet class part of a spec.
type SubnetClassSpec struct {
	// Name: defaults: <cluster>-controlplane-subnet, <cluster>-node-subnet (a listed unnamed node subnet gets -<n> appended), <cluster>-subnet for role cluster.
	// +required
	Name string `json:"name"`

	// Role: node, control-plane, cluster (= both) or bastion.
	// +kubebuilder:validation:Enum=node;control-plane;bastion;cluster
	// +required
	Role SubnetRole `json:"role"`

	// CIDRBlocks: defaults: control-plane 10.0.0.0/16, n-th node subnet 10.n.0.0/16, cluster 10.0.0.0/16; overwritten with what Azure reports for an existing subnet.
	// +optional
	CIDRBlocks []string `json:"cidrBlocks,omitempty"`

	// ServiceEndpoints is the service endpoints.
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

// ServiceEndpointSpec is the service endpoint part of a spec.
type ServiceEndpointSpec struct {
	// Service: e.g. Microsoft.Storage.
	// +required
	Service string `json:"service"`

	// Locations: regions or *.
	// +required
	Locations []string `json:"locations"`
}

// PrivateEndpointSpec is the private endpoint part of a spec.
type PrivateEndpointSpec struct {
	// Name is the name.
	// +required
	Name string `json:"name"`

	// Location is the location.
	// +optional
	Location string `json:"location,omitempty"`

	// PrivateLinkServiceConnections: target services; must not be empty.
	// +optional
	PrivateLinkServiceConnections []PrivateLinkServiceConnection `json:"privateLinkServiceConnections,omitempty"`

	// CustomNetworkInterfaceName is the custom network interface name.
	// +optional
	CustomNetworkInterfaceName string `json:"customNetworkInterfaceName,omitempty"`

	// PrivateIPAddresses: static addresses, inside the subnet CIDR.
	// +optional
	PrivateIPAddresses []string `json:"privateIPAddresses,omitempty"`

	// ApplicationSecurityGroups is the application security groups.
	// +optional
	ApplicationSecurityGroups []string `json:"applicationSecurityGroups,omitempty"`

	// ManualApproval: ask the service owner for approval.
	// +optional
	ManualApproval bool `json:"manualApproval,omitempty"`
}

// PrivateLinkServiceConnection is the private link service connection part of a spec.
type PrivateLinkServiceConnection struct {
	// Name is the name.
	// +optional
	Name string `json:"name,omitempty"`

	// PrivateLinkServiceID: ARM id of the target.
	// +optional
	PrivateLinkServiceID string `json:"privateLinkServiceID,omitempty"`

	// GroupIDs: sub-resource names on the target.
	// +optional
	GroupIDs []string `json:"groupIDs,omitempty"`

	// RequestMessage is the request message.
	// +kubebuilder:validation:MaxLength=140
	// +optional
	RequestMessage string `json:"requestMessage,omitempty"`
}

// LoadBalancerSpec is the load balancer part of a spec.
type LoadBalancerSpec struct {
	// ID is the id.
	// +optional
	ID string `json:"id,omitempty"`

	// Name: default <cluster>-public-lb or <cluster>-internal-lb.
	// +optional
	Name string `json:"name,omitempty"`

	// FrontendIPs: Public: exactly one entry with publicIP (plus one private entry if gate APIServerILB); Internal: exactly one with privateIP.
	// +optional
	FrontendIPs []FrontendIP `json:"frontendIPs,omitempty"`

	// FrontendIPsCount: only 1 is legal here.
	// +optional
	FrontendIPsCount *int32 `json:"frontendIPsCount,omitempty"`

	// BackendPool is the backend pool.
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

// FrontendIP is the frontend ip part of a spec.
type FrontendIP struct {
	// Name: default <lb name>-frontEnd.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`

	// PublicIP is the public ip.
	// +optional
	PublicIP *PublicIPSpec `json:"publicIP,omitempty"`

	FrontendIPClass `json:",inline"`
}

// FrontendIPClass is the frontend ip part of a spec.
type FrontendIPClass struct {
	// PrivateIPAddress: static address inside the control-plane subnet; default 10.0.0.100.
	// +optional
	PrivateIPAddress string `json:"privateIP,omitempty"`
}

// BackendPool is the backend pool part of a spec.
type BackendPool struct {
	// Name: default <lb name>-backendPool.
	// +optional
	Name string `json:"name,omitempty"`
}

// LoadBalancerClassSpec is the load balancer class part of a spec.
type LoadBalancerClassSpec struct {
	// SKU: only Standard is accepted.
	// +optional
	SKU SKU `json:"sku,omitempty"`

	// Type: Public or Internal (checked by webhook, not by schema).
	// +optional
	Type LBType `json:"type,omitempty"`

	// IdleTimeoutInMinutes: TCP idle timeout of rules and outbound rule.
	// +optional
	IdleTimeoutInMinutes *int32 `json:"idleTimeoutInMinutes,omitempty"`
}

// LoadBalancerPort is the load balancer port part of a spec.
type LoadBalancerPort struct {
	// Name is the name.
	// +required
	Name string `json:"name"`

	// Port is the port.
	// +required
	Port int32 `json:"port"`
}
