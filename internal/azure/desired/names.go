package desired

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/name"
)

// maxTags is the maximum number of tags in a spec: Azure allows 50, and casement adds some.
const maxTags = 40

// problems collects the values that Azure would refuse.
type problems []*InvalidError

func (p *problems) say(field, wrong string) {
	if wrong != "" {
		*p = append(*p, &InvalidError{field, wrong, "correct it"})
	}
}

// is checks a name and records its error. An empty name is no error: it has a default or is checked elsewhere.
func (p *problems) is(field string, kind name.Kind, value string) {
	if value != "" {
		p.say(field, name.Check(kind, value))
	}
}

func (p *problems) id(field, value string, types ...string) {
	if value != "" {
		p.say(field, name.CheckID(value, types...))
	}
}

func (p *problems) tags(field string, tags infrav1.Tags) {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		at := fmt.Sprintf("%s[%s]", field, key)
		p.say(at, name.CheckTag(key, tags[key]))
		if ReservedTag(key) {
			p.say(at, "is a tag by which casement knows what is its own")
		}
	}
	if len(tags) > maxTags {
		p.say(field, fmt.Sprintf("has %d tags, and Azure takes 50 on a resource, of which casement needs some: %d at most", len(tags), maxTags))
	}
}

// ClusterNames returns the errors in the names and IDs of a cluster's spec. Admission refuses such a spec, and no
// resource is created for it.
func ClusterNames(spec *infrav1.AzureClusterSpec) []*InvalidError {
	var p problems
	p.is("spec.subscriptionID", name.Subscription, spec.SubscriptionID)
	p.is("spec.resourceGroup", name.ResourceGroup, spec.ResourceGroup)
	p.is("spec.location", name.Location, spec.Location)
	p.tags("spec.additionalTags", spec.AdditionalTags)
	network := &spec.NetworkSpec
	p.is("spec.networkSpec.vnet.resourceGroup", name.ResourceGroup, network.Vnet.ResourceGroup)
	p.is("spec.networkSpec.vnet.name", name.VirtualNetwork, network.Vnet.Name)
	p.tags("spec.networkSpec.vnet.tags", network.Vnet.Tags)
	for i, peer := range network.Vnet.Peerings {
		at := fmt.Sprintf("spec.networkSpec.vnet.peerings[%d].", i)
		p.is(at+"resourceGroup", name.ResourceGroup, peer.ResourceGroup)
		p.is(at+"remoteVnetName", name.VirtualNetwork, peer.RemoteVnetName)
	}
	for i := range network.Subnets {
		p.subnet(fmt.Sprintf("spec.networkSpec.subnets[%d].", i), &network.Subnets[i])
	}
	p.balancer("spec.networkSpec.apiServerLB.", network.APIServerLB)
	p.balancer("spec.networkSpec.nodeOutboundLB.", network.NodeOutboundLB)
	p.balancer("spec.networkSpec.controlPlaneOutboundLB.", network.ControlPlaneOutboundLB)
	for i, port := range network.AdditionalAPIServerLBPorts {
		p.is(fmt.Sprintf("spec.networkSpec.additionalAPIServerLBPorts[%d].name", i), name.Network, port.Name)
	}
	p.is("spec.networkSpec.privateDNSZoneName", name.DNSZone, network.PrivateDNSZoneName)
	p.is("spec.networkSpec.privateDNSZoneResourceGroup", name.ResourceGroup, network.PrivateDNSZoneResourceGroup)
	if b := spec.BastionSpec.AzureBastion; b != nil {
		p.is("spec.bastionSpec.azureBastion.name", name.Network, b.Name)
		p.is("spec.bastionSpec.azureBastion.publicIP.name", name.Network, b.PublicIP.Name)
		p.subnet("spec.bastionSpec.azureBastion.subnet.", &b.Subnet)
	}
	return p
}

func (p *problems) subnet(at string, s *infrav1.SubnetSpec) {
	p.is(at+"name", name.Network, s.Name)
	p.is(at+"securityGroup.name", name.Network, s.SecurityGroup.Name)
	p.tags(at+"securityGroup.tags", s.SecurityGroup.Tags)
	for i, r := range s.SecurityGroup.SecurityRules {
		p.is(fmt.Sprintf("%ssecurityGroup.securityRules[%d].name", at, i), name.Network, r.Name)
	}
	p.is(at+"routeTable.name", name.Network, s.RouteTable.Name)
	p.is(at+"natGateway.name", name.Network, s.NatGateway.Name)
	p.is(at+"natGateway.ip.name", name.Network, s.NatGateway.NatGatewayIP.Name)
	for i, e := range s.PrivateEndpoints {
		at := fmt.Sprintf("%sprivateEndpoints[%d].", at, i)
		p.is(at+"name", name.PrivateEndpoint, e.Name)
		p.is(at+"location", name.Location, e.Location)
		p.is(at+"customNetworkInterfaceName", name.Network, e.CustomNetworkInterfaceName)
		for j, id := range e.ApplicationSecurityGroups {
			p.id(fmt.Sprintf("%sapplicationSecurityGroups[%d]", at, j), id, "Microsoft.Network/applicationSecurityGroups")
		}
		for j, c := range e.PrivateLinkServiceConnections {
			p.is(fmt.Sprintf("%sprivateLinkServiceConnections[%d].name", at, j), name.Network, c.Name)
			p.id(fmt.Sprintf("%sprivateLinkServiceConnections[%d].privateLinkServiceID", at, j), c.PrivateLinkServiceID)
		}
	}
}

func (p *problems) balancer(at string, lb *infrav1.LoadBalancerSpec) {
	if lb == nil {
		return
	}
	p.is(at+"name", name.Network, lb.Name)
	p.is(at+"backendPool.name", name.Network, lb.BackendPool.Name)
	for i, f := range lb.FrontendIPs {
		at := fmt.Sprintf("%sfrontendIPs[%d].", at, i)
		p.is(at+"name", name.Network, f.Name)
		if f.PublicIP != nil {
			p.is(at+"publicIP.name", name.Network, f.PublicIP.Name)
		}
	}
	for i, zone := range lb.AvailabilityZones {
		p.is(fmt.Sprintf("%savailabilityZones[%d]", at, i), name.Zone, zone)
	}
}

// MachineNames returns the errors in the names and IDs of a machine's spec, which is at path in its object.
func MachineNames(spec *infrav1.AzureMachineSpec, path string) []*InvalidError {
	var p problems
	at := path + "."
	p.is(at+"vmSize", name.Size, spec.VMSize)
	p.is(at+"failureDomain", name.Zone, ptr.Deref(spec.FailureDomain, ""))
	p.tags(at+"additionalTags", spec.AdditionalTags)
	p.id(at+"capacityReservationGroupID", ptr.Deref(spec.CapacityReservationGroupID, ""), "Microsoft.Compute/capacityReservationGroups")
	for i, u := range spec.UserAssignedIdentities {
		p.id(fmt.Sprintf("%suserAssignedIdentities[%d].providerID", at, i), IdentityID(u.ProviderID),
			"Microsoft.ManagedIdentity/userAssignedIdentities")
	}
	if role := spec.SystemAssignedIdentityRole; role != nil {
		p.is(at+"systemAssignedIdentityRole.name", name.GUID, role.Name)
		p.is(at+"systemAssignedIdentityRole.scope", name.Path, role.Scope)
		p.is(at+"systemAssignedIdentityRole.definitionID", name.Path, role.DefinitionID)
	}
	p.image(at+"image.", spec.Image)
	p.managedDisk(at+"osDisk.managedDisk.", spec.OSDisk.ManagedDisk)
	for i, d := range spec.DataDisks {
		p.is(fmt.Sprintf("%sdataDisks[%d].nameSuffix", at, i), name.DiskSuffix, d.NameSuffix)
		p.managedDisk(fmt.Sprintf("%sdataDisks[%d].managedDisk.", at, i), d.ManagedDisk)
	}
	for i, e := range spec.VMExtensions {
		p.is(fmt.Sprintf("%svmExtensions[%d].name", at, i), name.Extension, e.Name)
	}
	p.is(at+"subnetName", name.Network, spec.SubnetName)
	for i, n := range spec.NetworkInterfaces {
		p.is(fmt.Sprintf("%snetworkInterfaces[%d].subnetName", at, i), name.Network, n.SubnetName)
	}
	return p
}

func (p *problems) managedDisk(at string, d *infrav1.ManagedDiskParameters) {
	const set = "Microsoft.Compute/diskEncryptionSets"
	if d == nil {
		return
	}
	if d.DiskEncryptionSet != nil {
		p.id(at+"diskEncryptionSet.id", d.DiskEncryptionSet.ID, set)
	}
	if d.SecurityProfile != nil && d.SecurityProfile.DiskEncryptionSet != nil {
		p.id(at+"securityProfile.diskEncryptionSet.id", d.SecurityProfile.DiskEncryptionSet.ID, set)
	}
}

func (p *problems) image(at string, image *infrav1.Image) {
	if image == nil {
		return
	}
	p.id(at+"id", ptr.Deref(image.ID, ""), "Microsoft.Compute/images", "Microsoft.Compute/galleries/images",
		"Microsoft.Compute/galleries/images/versions")
	if g := image.SharedGallery; g != nil {
		at := at + "sharedGallery."
		p.is(at+"subscriptionID", name.Subscription, g.SubscriptionID)
		p.is(at+"resourceGroup", name.ResourceGroup, g.ResourceGroup)
		p.is(at+"gallery", name.Gallery, g.Gallery)
		p.is(at+"name", name.Image, g.Name)
		p.is(at+"version", name.ImageVersion, g.Version)
	}
	if g := image.ComputeGallery; g != nil {
		at := at + "computeGallery."
		of := name.CommunityName // the public name of a community gallery contains dashes
		if g.SubscriptionID != nil {
			of = name.Gallery
		}
		p.is(at+"subscriptionID", name.Subscription, ptr.Deref(g.SubscriptionID, ""))
		p.is(at+"resourceGroup", name.ResourceGroup, ptr.Deref(g.ResourceGroup, ""))
		p.is(at+"gallery", of, g.Gallery)
		p.is(at+"name", name.Image, g.Name)
		p.is(at+"version", name.ImageVersion, g.Version)
	}
	if m := image.Marketplace; m != nil {
		p.is(at+"marketplace.publisher", name.Image, m.Publisher)
		p.is(at+"marketplace.offer", name.Image, m.Offer)
		p.is(at+"marketplace.sku", name.Image, m.SKU)
		p.is(at+"marketplace.version", name.Image, m.Version)
	}
}
