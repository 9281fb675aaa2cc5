package desired

import (
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// bastion adds an Azure Bastion host and its public IP; its subnet is added with the virtual network.
func (b *clusterBuilder) bastion() {
	host := b.spec.BastionSpec.AzureBastion
	if host == nil {
		return
	}
	const field = "spec.bastionSpec.azureBastion"
	ip := host.PublicIP
	if ip.DNSName == "" {
		ip.DNSName = host.Name + "-bastion"
	}
	b.publicIP(ip, nil, field+".publicIP")
	subnet := b.subnetID(host.Subnet.Name)
	b.network(b.group.Network("bastionHosts", host.Name), armnetwork.BastionHost{
		Location: &b.spec.Location,
		Tags:     b.tags(host.Name, roleBastion),
		SKU:      &armnetwork.SKU{Name: new(armnetwork.BastionHostSKUName(host.Sku))},
		Properties: &armnetwork.BastionHostPropertiesFormat{
			EnableTunneling: &host.EnableTunneling,
			IPConfigurations: []*armnetwork.BastionHostIPConfiguration{{
				Name: new(host.Name + "-bastionIP"),
				Properties: &armnetwork.BastionHostIPConfigurationPropertiesFormat{
					Subnet:                    &armnetwork.SubResource{ID: &subnet},
					PublicIPAddress:           &armnetwork.SubResource{ID: new(b.publicIPID(ip.Name))},
					PrivateIPAllocationMethod: new(armnetwork.IPAllocationMethodDynamic),
				},
			}},
		},
	}, infrav1.BastionHostReadyCondition, field, subnet, b.publicIPID(ip.Name))
}
