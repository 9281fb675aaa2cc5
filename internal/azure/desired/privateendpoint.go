package desired

import (
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	infrav1 "casement.dev/casement/api/v1beta1"
)

func (b *clusterBuilder) privateEndpoints() {
	for i, s := range b.allSubnets() {
		for j, e := range s.PrivateEndpoints {
			b.privateEndpoint(s, e, fmt.Sprintf("spec.networkSpec.subnets[%d].privateEndpoints[%d]", i, j))
		}
	}
}

func (b *clusterBuilder) privateEndpoint(s infrav1.SubnetSpec, e infrav1.PrivateEndpointSpec, field string) {
	subnet := b.subnetID(s.Name)
	p := &armnetwork.PrivateEndpointProperties{Subnet: &armnetwork.Subnet{ID: &subnet}}
	if e.CustomNetworkInterfaceName != "" {
		p.CustomNetworkInterfaceName = &e.CustomNetworkInterfaceName
	}
	for _, g := range e.ApplicationSecurityGroups {
		p.ApplicationSecurityGroups = append(p.ApplicationSecurityGroups, &armnetwork.ApplicationSecurityGroup{ID: &g})
	}
	for _, ip := range e.PrivateIPAddresses {
		p.IPConfigurations = append(p.IPConfigurations, &armnetwork.PrivateEndpointIPConfiguration{
			Properties: &armnetwork.PrivateEndpointIPConfigurationProperties{PrivateIPAddress: &ip},
		})
	}
	for _, c := range e.PrivateLinkServiceConnections {
		connection := &armnetwork.PrivateLinkServiceConnection{
			Name: &c.Name,
			Properties: &armnetwork.PrivateLinkServiceConnectionProperties{
				PrivateLinkServiceID: &c.PrivateLinkServiceID,
				GroupIDs:             pointers(c.GroupIDs),
			},
		}
		if c.RequestMessage != "" {
			connection.Properties.RequestMessage = &c.RequestMessage
		}
		if e.ManualApproval {
			p.ManualPrivateLinkServiceConnections = append(p.ManualPrivateLinkServiceConnections, connection)
		} else {
			p.PrivateLinkServiceConnections = append(p.PrivateLinkServiceConnections, connection)
		}
	}
	location := b.spec.Location
	if e.Location != "" {
		location = e.Location
	}
	b.network(b.group.Network("privateEndpoints", e.Name), armnetwork.PrivateEndpoint{
		Location: &location, ExtendedLocation: b.extendedLocation(),
		Tags:       b.tags(e.Name, ""),
		Properties: p,
	}, infrav1.PrivateEndpointsReadyCondition, field, b.group.ID(), subnet)
}
