package desired

import (
	"cmp"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/privatedns/armprivatedns"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// APIServerRecord is the name of the API server's record in the private zone.
const APIServerRecord = "apiserver"

const recordTTLSeconds = 300

// PrivateZone returns the name of the private DNS zone of a private cluster's API server.
func PrivateZone(c *infrav1.AzureCluster, clusterName string) string {
	return cmp.Or(c.Spec.NetworkSpec.PrivateDNSZoneName, clusterName+".capz.io")
}

// hasPrivateZone reports whether casement creates the private DNS zone: for an internal API server load balancer unless
// the spec says None.
func hasPrivateZone(c *infrav1.AzureCluster) bool {
	network := &c.Spec.NetworkSpec
	none := network.PrivateDNSZone != nil && *network.PrivateDNSZone == infrav1.PrivateDNSZoneModeNone
	return c.Spec.ControlPlaneEnabled && network.APIServerLB != nil && network.APIServerLB.Type == infrav1.Internal && !none
}

// privateDNS adds the zone, a link for the virtual network and each of its peers,
// and the record of the API server.
func (b *clusterBuilder) privateDNS() {
	if !hasPrivateZone(b.Cluster) {
		return
	}
	group := Group{Subscription: b.spec.SubscriptionID, Name: cmp.Or(b.spec.NetworkSpec.PrivateDNSZoneResourceGroup, b.spec.ResourceGroup)}
	b.resourceGroup(group, "spec.networkSpec.privateDNSZoneResourceGroup")
	zone := PrivateZone(b.Cluster, b.ClusterName)
	id := group.Network("privateDnsZones", zone)
	b.dns(id, armprivatedns.PrivateZone{
		Location: new("global"),
		Tags:     b.tags("", ""),
	}, infrav1.PrivateDNSZoneReadyCondition, group.ID())

	vnet := b.spec.NetworkSpec.Vnet
	b.zoneLink(id, vnet.Name, VNetID(b.Cluster))
	for _, p := range vnet.Peerings {
		b.zoneLink(id, p.RemoteVnetName, b.peerID(p))
	}

	record := armprivatedns.RecordSet{Properties: &armprivatedns.RecordSetProperties{TTL: new(int64(recordTTLSeconds))}}
	for _, f := range b.spec.NetworkSpec.APIServerLB.FrontendIPs {
		record.Properties.ARecords = append(record.Properties.ARecords, &armprivatedns.ARecord{IPv4Address: &f.PrivateIPAddress})
	}
	b.dns(id+"/A/"+APIServerRecord, record, infrav1.PrivateDNSRecordReadyCondition, id)
}

func (b *clusterBuilder) zoneLink(zone, vnetName, vnetID string) {
	name := vnetName + "-link"
	b.dns(zone+"/virtualNetworkLinks/"+name, armprivatedns.VirtualNetworkLink{
		Location: new("global"),
		Tags:     b.tags("", ""),
		Properties: &armprivatedns.VirtualNetworkLinkProperties{
			VirtualNetwork:      &armprivatedns.SubResource{ID: &vnetID},
			RegistrationEnabled: new(false),
		},
	}, infrav1.PrivateDNSLinkReadyCondition, zone, VNetID(b.Cluster))
}

func (b *clusterBuilder) dns(id string, body any, condition string, needs ...string) {
	b.add(Resource{
		ID: id, APIVersion: PrivateDNSAPIVersion, Body: body, Needs: needs,
		Condition: condition, Field: "spec.networkSpec.privateDNSZoneName",
	})
}
