package desired

import (
	"strings"
)

// API versions sent with every call, one per resource provider. Each is the
// version of the SDK models in this package.
const (
	NetworkAPIVersion       = "2025-05-01"
	ComputeAPIVersion       = "2026-04-01"
	DiskAPIVersion          = "2026-03-02"
	ResourcesAPIVersion     = "2021-04-01"
	PrivateDNSAPIVersion    = "2024-06-01"
	AuthorizationAPIVersion = "2022-04-01"
	IdentityAPIVersion      = "2024-11-30"
	VaultAPIVersion         = "2026-02-01"
)

// instanceNICAPIVersion is the only API version in which the network provider returns the
// interfaces of a scale set's instances, under Microsoft.Compute's name. Source:
// armnetwork's InterfacesClient.NewListVirtualMachineScaleSetNetworkInterfacesPager.
const instanceNICAPIVersion = "2018-10-01"

// APIVersion returns the API version of this package's models of a resource type; "" for an unknown namespace.
func APIVersion(resourceType string) string {
	namespace, kind, _ := strings.Cut(strings.ToLower(resourceType), "/")
	switch namespace {
	case "microsoft.network":
		if strings.HasPrefix(kind, "privatednszones") {
			return PrivateDNSAPIVersion
		}
		return NetworkAPIVersion
	case "microsoft.compute":
		switch {
		case strings.HasPrefix(kind, "disks"):
			return DiskAPIVersion
		case strings.HasPrefix(kind, "virtualmachinescalesets/") && strings.HasSuffix(kind, "/networkinterfaces"):
			return instanceNICAPIVersion
		}
		return ComputeAPIVersion
	case "microsoft.resources":
		return ResourcesAPIVersion
	case "microsoft.authorization":
		return AuthorizationAPIVersion
	case "microsoft.managedidentity":
		return IdentityAPIVersion
	case "microsoft.keyvault":
		return VaultAPIVersion
	}
	return ""
}

// LeavesAt returns the step of a group's deletion in which resources of a type are deleted: 0 for machines, 1 for other
// resources in a subnet, 2 for networks, 3 for resources that others may use.
func LeavesAt(resourceType string) int {
	switch strings.ToLower(resourceType) {
	case "microsoft.compute/virtualmachines", "microsoft.compute/virtualmachinescalesets":
		return 0
	case "microsoft.network/networkinterfaces", "microsoft.network/loadbalancers", "microsoft.network/natgateways",
		"microsoft.network/bastionhosts", "microsoft.network/privateendpoints":
		return 1
	}
	return 3
}

// Group is a resource group of one subscription, the beginning of resource IDs.
type Group struct {
	Subscription string
	Name         string
}

// ID returns the resource group's own ID.
func (g Group) ID() string {
	return "/subscriptions/" + g.Subscription + "/resourceGroups/" + g.Name
}

// Network returns the ID of a Microsoft.Network resource: kind is the ARM type without its
// namespace; child has pairs of type and name.
func (g Group) Network(kind, name string, child ...string) string {
	return join(g.ID()+"/providers/Microsoft.Network", kind, name, child)
}

// Compute returns the ID of a Microsoft.Compute resource; see Network.
func (g Group) Compute(kind, name string, child ...string) string {
	return join(g.ID()+"/providers/Microsoft.Compute", kind, name, child)
}

func join(prefix, kind, name string, child []string) string {
	return strings.Join(append([]string{prefix, kind, name}, child...), "/")
}

// ProviderID returns the Kubernetes provider ID of a virtual machine: its ARM ID with the
// resource group in lower case, as cloud-provider-azure writes it on the Node.
func ProviderID(vmID string) string {
	parts := strings.Split(vmID, "/")
	for i, part := range parts {
		if strings.EqualFold(part, "resourceGroups") && i+1 < len(parts) {
			parts[i+1] = strings.ToLower(parts[i+1])
		}
	}
	return "azure://" + strings.Join(parts, "/")
}

// LastSegment returns the last segment of a resource ID, which is the resource's name.
func LastSegment(id string) string {
	return id[strings.LastIndex(id, "/")+1:]
}
