package desired

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/name"
)

// ClusterInput has all values that the resources of a cluster depend on.
type ClusterInput struct {
	// Cluster is the AzureCluster with its admission defaults.
	Cluster *infrav1.AzureCluster
	// ClusterName is the name of the owning Cluster, from which names and tags are derived.
	ClusterName string
	// APIServerPort is the port of the API server's load balancer; 0 means 6443.
	APIServerPort int32
	// Zones are the zones of a load balancer's public IPs, for load balancers whose spec has no zones.
	Zones []string
	// ForeignVNet is true if the virtual network exists and does not have this cluster's ownership tag. It and its
	// subnets are then only read, and the NSGs, route tables and NAT gateways that would be attached to them are left
	// out.
	ForeignVNet bool
	// Vault is the key vault for bootstrap secrets; an empty name means that there is none.
	Vault Vault
}

// InvalidError means that a spec cannot become Azure resources until one of its fields changes.
type InvalidError struct {
	Field, Reason, Fix string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s: %s; %s", e.Field, e.Reason, e.Fix)
}

// Cluster returns every Azure resource of a cluster, each after the resources that it needs. The error, if
// any, is an *InvalidError.
func Cluster(in ClusterInput) ([]Resource, error) {
	if err := checkCluster(in); err != nil {
		return nil, err
	}
	return clusterResources(in), nil
}

// ClusterToDelete returns the resources that a cluster may have in Azure. It returns no
// error, because a resource whose name is invalid was never created.
func ClusterToDelete(in ClusterInput) []Resource {
	spec := &in.Cluster.Spec
	if name.Check(name.Subscription, spec.SubscriptionID) != "" || name.Check(name.ResourceGroup, spec.ResourceGroup) != "" {
		return nil
	}
	return slices.DeleteFunc(clusterResources(in), func(r Resource) bool { return name.Check(name.Path, r.ID) != "" })
}

func clusterResources(in ClusterInput) []Resource {
	b := newClusterBuilder(in)
	b.resourceGroups()
	if !in.ForeignVNet {
		b.securityGroups()
		b.routeTables()
		b.natGateways()
	}
	b.virtualNetwork()
	b.subnets()
	b.peerings()
	b.loadBalancers()
	b.privateDNS()
	b.privateEndpoints()
	b.bastion()
	b.vault()
	return b.resources
}

func checkCluster(in ClusterInput) error {
	spec := &in.Cluster.Spec
	switch {
	case spec.SubscriptionID == "":
		return &InvalidError{"spec.subscriptionID", "is empty", "set the ID of the Azure subscription to use"}
	case spec.ResourceGroup == "":
		return &InvalidError{"spec.resourceGroup", "is empty", "set the name of the resource group to use"}
	case spec.NetworkSpec.Vnet.Name == "":
		return &InvalidError{"spec.networkSpec.vnet.name", "is empty", "set the name of the virtual network"}
	}
	if wrong := ClusterNames(spec); len(wrong) > 0 {
		return wrong[0]
	}
	return nil
}

// clusterBuilder collects resources; each of its methods adds the resources of one kind.
type clusterBuilder struct {
	ClusterInput
	tagger
	spec      *infrav1.AzureClusterSpec
	group     Group
	vnetGroup Group
	resources []Resource
}

func newClusterBuilder(in ClusterInput) *clusterBuilder {
	spec := &in.Cluster.Spec
	in.APIServerPort = cmp.Or(in.APIServerPort, 6443)
	return &clusterBuilder{
		ClusterInput: in,
		tagger:       taggerOf(in.Cluster, in.ClusterName, ""),
		spec:         spec,
		group:        ClusterGroup(in.Cluster),
		vnetGroup:    VNetGroup(in.Cluster),
	}
}

// ClusterGroup returns the resource group of a cluster.
func ClusterGroup(c *infrav1.AzureCluster) Group {
	return Group{Subscription: c.Spec.SubscriptionID, Name: c.Spec.ResourceGroup}
}

// VNetGroup returns the resource group of a cluster's virtual network, its subnets,
// security groups and route tables.
func VNetGroup(c *infrav1.AzureCluster) Group {
	name := cmp.Or(c.Spec.NetworkSpec.Vnet.ResourceGroup, c.Spec.ResourceGroup)
	return Group{Subscription: c.Spec.SubscriptionID, Name: name}
}

// VNetID returns the ID of a cluster's virtual network.
func VNetID(c *infrav1.AzureCluster) string {
	return VNetGroup(c).Network("virtualNetworks", c.Spec.NetworkSpec.Vnet.Name)
}

// add appends a resource unless one with its ID was added before: two subnets may share one
// security group, which is written once.
func (b *clusterBuilder) add(r Resource) {
	if slices.ContainsFunc(b.resources, func(o Resource) bool { return sameID(o.ID, r.ID) }) {
		return
	}
	if r.Policy == "" {
		r.Policy = Manage
	}
	b.resources = append(b.resources, r)
}

// network adds a Microsoft.Network resource that casement manages.
func (b *clusterBuilder) network(id string, body any, condition, field string, needs ...string) {
	b.add(Resource{ID: id, APIVersion: NetworkAPIVersion, Body: body, Condition: condition, Field: field, Needs: needs})
}

func (b *clusterBuilder) resourceGroups() {
	b.resourceGroup(b.group, "spec.resourceGroup")
	if !b.ForeignVNet {
		b.resourceGroup(b.vnetGroup, "spec.networkSpec.vnet.resourceGroup")
	}
}

func (b *clusterBuilder) resourceGroup(g Group, field string) {
	b.add(Resource{
		ID:         g.ID(),
		APIVersion: ResourcesAPIVersion,
		Body: armresources.ResourceGroup{
			Location: &b.spec.Location,
			Tags:     b.tags(g.Name, roleCommon),
		},
		Condition: infrav1.ResourceGroupReadyCondition,
		Field:     field,
	})
}

// extendedLocation returns the edge zone, or nil outside edge zones.
func (b *clusterBuilder) extendedLocation() *armnetwork.ExtendedLocation {
	if b.spec.ExtendedLocation == nil {
		return nil
	}
	return &armnetwork.ExtendedLocation{
		Name: &b.spec.ExtendedLocation.Name,
		Type: new(armnetwork.ExtendedLocationTypesEdgeZone),
	}
}

func pointers[T any](values []T) []*T {
	if len(values) == 0 {
		return nil
	}
	out := make([]*T, len(values))
	for i := range values {
		out[i] = &values[i]
	}
	return out
}
