package desired

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// wantsNatGateway reports whether casement creates a NAT gateway for a subnet.
func (b *clusterBuilder) wantsNatGateway(s infrav1.SubnetSpec) bool {
	return s.NatGateway.Name != ""
}

func (b *clusterBuilder) natGatewayID(s infrav1.SubnetSpec) string {
	return b.group.Network("natGateways", s.NatGateway.Name)
}

func (b *clusterBuilder) natGateways() {
	for i, subnet := range b.allSubnets() {
		if !b.wantsNatGateway(subnet) {
			continue
		}
		gateway, field := subnet.NatGateway, fmt.Sprintf("spec.networkSpec.subnets[%d].natGateway", i)
		ip := gateway.NatGatewayIP
		ip.Name = cmp.Or(ip.Name, "pip-"+gateway.Name)
		b.publicIP(ip, gateway.Zones, field+".ip")
		b.network(b.natGatewayID(subnet), armnetwork.NatGateway{
			Location: &b.spec.Location,
			SKU:      &armnetwork.NatGatewaySKU{Name: new(armnetwork.NatGatewaySKUNameStandard)},
			Tags:     b.tags(gateway.Name, ""),
			Zones:    pointers(gateway.Zones),
			Properties: &armnetwork.NatGatewayPropertiesFormat{
				PublicIPAddresses: []*armnetwork.SubResource{{ID: new(b.publicIPID(ip.Name))}},
			},
		}, infrav1.NATGatewaysReadyCondition, field, b.group.ID(), b.publicIPID(ip.Name))
	}
}

func (b *clusterBuilder) publicIPID(name string) string {
	return b.group.Network("publicIPAddresses", name)
}

// publicIP adds a static public IP of SKU Standard. ip.DNSName is a full name; its first
// label becomes the DNS label.
func (b *clusterBuilder) publicIP(ip infrav1.PublicIPSpec, zones []string, field string) {
	p := &armnetwork.PublicIPAddressPropertiesFormat{
		PublicIPAddressVersion:   new(armnetwork.IPVersionIPv4),
		PublicIPAllocationMethod: new(armnetwork.IPAllocationMethodStatic),
	}
	if label, _, _ := strings.Cut(ip.DNSName, "."); label != "" {
		p.DNSSettings = &armnetwork.PublicIPAddressDNSSettings{DomainNameLabel: &label}
	}
	for _, t := range ip.IPTags {
		p.IPTags = append(p.IPTags, &armnetwork.IPTag{IPTagType: &t.Type, Tag: &t.Tag})
	}
	b.network(b.publicIPID(ip.Name), armnetwork.PublicIPAddress{
		Location:         &b.spec.Location,
		ExtendedLocation: b.extendedLocation(),
		SKU:              &armnetwork.PublicIPAddressSKU{Name: new(armnetwork.PublicIPAddressSKUNameStandard)},
		Tags:             b.tags(ip.Name, ""),
		Zones:            pointers(zones),
		Properties:       p,
	}, infrav1.PublicIPsReadyCondition, field, b.group.ID())
}

// apiServerDNSLabel returns the DNS label of the API server's public IP. It contains a hash, so that clusters with the
// same name in the region get different labels.
func apiServerDNSLabel(c *infrav1.AzureCluster, clusterName, ipName string) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%s/%s", c.Spec.SubscriptionID, c.Spec.ResourceGroup, ipName)
	return fmt.Sprintf("%s-%x", strings.ToLower(clusterName), h.Sum32())
}

// publicFrontendOf returns the name of the API server's public frontend, or "".
func publicFrontendOf(c *infrav1.AzureCluster) string {
	for _, f := range c.Spec.NetworkSpec.APIServerLB.FrontendIPs {
		if f.PublicIP != nil {
			return f.Name
		}
	}
	return ""
}

// APIServerPublicIPID returns the ID of the API server's public IP; "" for a private cluster and for a cluster whose
// control plane casement does not manage.
func APIServerPublicIPID(c *infrav1.AzureCluster) string {
	lb := c.Spec.NetworkSpec.APIServerLB
	if lb == nil || lb.Type == infrav1.Internal || !c.Spec.ControlPlaneEnabled {
		return ""
	}
	for _, f := range lb.FrontendIPs {
		if f.PublicIP != nil {
			return ClusterGroup(c).Network("publicIPAddresses", f.PublicIP.Name)
		}
	}
	return ""
}
