package desired

import (
	"cmp"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	infrav1 "casement.dev/casement/api/v1beta1"
)

func (b *clusterBuilder) peerID(p infrav1.VnetPeeringSpec) string {
	group := Group{Subscription: b.spec.SubscriptionID, Name: cmp.Or(p.ResourceGroup, b.spec.ResourceGroup)}
	return group.Network("virtualNetworks", p.RemoteVnetName)
}

// peerings adds one peering in each direction per entry, also for a virtual network of the user. Each peering needs the
// previous one and the subnets, because Azure locks the virtual network for each write.
func (b *clusterBuilder) peerings() {
	local, localName := VNetID(b.Cluster), b.spec.NetworkSpec.Vnet.Name
	before := b.lastID()
	for i, p := range b.spec.NetworkSpec.Vnet.Peerings {
		field := fmt.Sprintf("spec.networkSpec.vnet.peerings[%d]", i)
		remote := b.peerID(p)
		forward := local + "/virtualNetworkPeerings/" + localName + "-To-" + p.RemoteVnetName
		reverse := remote + "/virtualNetworkPeerings/" + p.RemoteVnetName + "-To-" + localName
		b.network(forward, peering(remote, p.ForwardPeeringProperties), infrav1.VnetPeeringReadyCondition, field,
			unique([]string{local, before})...)
		b.network(reverse, peering(local, p.ReversePeeringProperties), infrav1.VnetPeeringReadyCondition, field, forward)
		before = reverse
	}
}

func peering(to string, p infrav1.VnetPeeringProperties) armnetwork.VirtualNetworkPeering {
	return armnetwork.VirtualNetworkPeering{Properties: &armnetwork.VirtualNetworkPeeringPropertiesFormat{
		RemoteVirtualNetwork:      &armnetwork.SubResource{ID: &to},
		AllowForwardedTraffic:     p.AllowForwardedTraffic,
		AllowGatewayTransit:       p.AllowGatewayTransit,
		AllowVirtualNetworkAccess: p.AllowVirtualNetworkAccess,
		UseRemoteGateways:         p.UseRemoteGateways,
	}}
}

func (b *clusterBuilder) lastID() string { return b.resources[len(b.resources)-1].ID }
