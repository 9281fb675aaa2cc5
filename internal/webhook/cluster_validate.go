package webhook

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
)

// clusterNamePattern matches a valid name of a cluster, which becomes part of DNS labels and resource names.
var clusterNamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,42}[a-z0-9]$`)

func validateCluster(old, c *infrav1.AzureCluster) field.ErrorList {
	if old == nil {
		errs := named(field.NewPath("metadata", "name"), c.Name, clusterNamePattern,
			"must be 2 to 44 lower-case letters, digits and dashes, with a letter or digit at both ends")
		if len(errs) > 0 {
			return errs // names that contain the invalid name are not checked
		}
		return validateClusterSpec(&c.Spec)
	}
	// A default that admission sets is no change. An error that the stored object has already does not prevent writing
	// finalizers and labels.
	was := old.DeepCopy()
	was.Labels = c.Labels // the Cluster's name in the labels determines names
	if err := defaultCluster(was); err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
	}
	errs := clusterImmutable(&was.Spec, &c.Spec, field.NewPath("spec"))
	return append(errs, added(validateClusterSpec(&was.Spec), validateClusterSpec(&c.Spec))...)
}

// added returns the errors of after that are not in before.
func added(before, after field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(after, func(e *field.Error) bool {
		return slices.ContainsFunc(before, func(b *field.Error) bool { return b.Error() == e.Error() })
	})
}

func validateClusterSpec(s *infrav1.AzureClusterSpec) field.ErrorList {
	path := field.NewPath("spec")
	network := path.Child("networkSpec")
	errs := validateIdentityRef(s.IdentityRef, path.Child("identityRef"))
	if s.IdentityRef == nil {
		errs = append(errs, field.Required(path.Child("identityRef"), "name the AzureClusterIdentity with which to log in to Azure"))
	}
	errs = append(errs, misnamed(desired.ClusterNames(s))...)
	errs = append(errs, validateExtendedLocation(&s.AzureClusterClassSpec, path)...)
	errs = append(errs, validateVnet(s, network.Child("vnet"))...)
	errs = append(errs, validateSubnets(s, network)...)
	errs = append(errs, validateLBs(s, network)...)
	errs = append(errs, validateBastion(s.BastionSpec.AzureBastion, path.Child("bastionSpec", "azureBastion"))...)
	if !s.ControlPlaneEnabled && s.NetworkSpec.ControlPlaneOutboundLB != nil {
		errs = append(errs, field.Forbidden(network.Child("controlPlaneOutboundLB"),
			"controlPlaneEnabled is false: there is no control plane here"))
	}
	return errs
}

// misnamed returns the errors of names and IDs that Azure does not accept.
func misnamed(wrong []*desired.InvalidError) field.ErrorList {
	var errs field.ErrorList
	for _, w := range wrong {
		errs = append(errs, &field.Error{Type: field.ErrorTypeForbidden, Field: w.Field, Detail: w.Reason})
	}
	return errs
}

func validateIdentityRef(ref *corev1.ObjectReference, path *field.Path) field.ErrorList {
	if ref == nil || ref.Kind == "AzureClusterIdentity" {
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Child("kind"), ref.Kind, []string{"AzureClusterIdentity"})}
}

func validateExtendedLocation(s *infrav1.AzureClusterClassSpec, path *field.Path) field.ErrorList {
	if s.ExtendedLocation == nil {
		return nil
	}
	return named(path.Child("extendedLocation", "name"), s.ExtendedLocation.Name, resourceNamePattern, nameRule)
}

func validateBastion(b *infrav1.AzureBastion, path *field.Path) field.ErrorList {
	if b == nil {
		return nil
	}
	var errs field.ErrorList
	if b.EnableTunneling && b.Sku != "Standard" {
		errs = append(errs, field.Invalid(path.Child("enableTunneling"), true, "tunnelling needs sku Standard"))
	}
	if b.Subnet.Name != bastionSubnetName {
		errs = append(errs, field.NotSupported(path.Child("subnet", "name"), b.Subnet.Name, []string{bastionSubnetName}))
	}
	return append(errs, validateRules(b.Subnet.SecurityGroup.SecurityRules, path.Child("subnet", "securityGroup", "securityRules"))...)
}

// immutable returns an error if a field has changed.
func immutable[T any](path *field.Path, old, value T) field.ErrorList {
	if reflect.DeepEqual(old, value) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "field is immutable")}
}

// onceSet returns an error if a field has changed, except from empty to a value.
func onceSet[T any](path *field.Path, old, value T) field.ErrorList {
	if reflect.ValueOf(&old).Elem().IsZero() {
		return nil
	}
	return immutable(path, old, value)
}

func clusterImmutable(old, s *infrav1.AzureClusterSpec, path *field.Path) field.ErrorList {
	errs := immutable(path.Child("resourceGroup"), old.ResourceGroup, s.ResourceGroup)
	errs = append(errs, onceSet(path.Child("subscriptionID"), old.SubscriptionID, s.SubscriptionID)...)
	errs = append(errs, immutable(path.Child("location"), old.Location, s.Location)...)
	errs = append(errs, immutable(path.Child("azureEnvironment"), old.AzureEnvironment, s.AzureEnvironment)...)
	errs = append(errs, onceSet(path.Child("controlPlaneEndpoint", "host"), old.ControlPlaneEndpoint.Host, s.ControlPlaneEndpoint.Host)...)
	errs = append(errs, onceSet(path.Child("controlPlaneEndpoint", "port"), old.ControlPlaneEndpoint.Port, s.ControlPlaneEndpoint.Port)...)
	errs = append(errs, onceSet(path.Child("bastionSpec", "azureBastion"), old.BastionSpec.AzureBastion, s.BastionSpec.AzureBastion)...)
	network, was, is := path.Child("networkSpec"), &old.NetworkSpec, &s.NetworkSpec
	errs = append(errs, immutable(network.Child("privateDNSZoneName"), was.PrivateDNSZoneName, is.PrivateDNSZoneName)...)
	errs = append(errs, immutable(network.Child("privateDNSZoneResourceGroup"), was.PrivateDNSZoneResourceGroup,
		is.PrivateDNSZoneResourceGroup)...)
	errs = append(errs, immutable(network.Child("privateDNSZone"), zoneMode(was), zoneMode(is))...)
	errs = append(errs, immutable(network.Child("controlPlaneOutboundLB"), was.ControlPlaneOutboundLB, is.ControlPlaneOutboundLB)...)
	errs = append(errs, apiServerLBImmutable(was.APIServerLB, is.APIServerLB, network.Child("apiServerLB"))...)
	errs = append(errs, nodeOutboundLBImmutable(was.NodeOutboundLB, is.NodeOutboundLB, network.Child("nodeOutboundLB"))...)
	return append(errs, subnetsImmutable(was, is, s.ResourceGroup, network.Child("subnets"))...)
}

func zoneMode(n *infrav1.NetworkSpec) infrav1.PrivateDNSZoneMode {
	if n.PrivateDNSZone == nil {
		return infrav1.PrivateDNSZoneModeSystem
	}
	return cmp.Or(*n.PrivateDNSZone, infrav1.PrivateDNSZoneModeSystem)
}

func apiServerLBImmutable(was, is *infrav1.LoadBalancerSpec, path *field.Path) field.ErrorList {
	if was == nil || is == nil {
		return nil
	}
	errs := onceSet(path.Child("name"), was.Name, is.Name)
	errs = append(errs, onceSet(path.Child("type"), was.Type, is.Type)...)
	errs = append(errs, onceSet(path.Child("sku"), was.SKU, is.SKU)...)
	errs = append(errs, onceSet(path.Child("idleTimeoutInMinutes"), was.IdleTimeoutInMinutes, is.IdleTimeoutInMinutes)...)
	errs = append(errs, immutable(path.Child("availabilityZones"), zones(was), zones(is))...)
	if was.Type == infrav1.Internal && len(was.FrontendIPs) == 1 && len(is.FrontendIPs) == 1 {
		errs = append(errs, onceSet(path.Child("frontendIPs").Index(0).Child("privateIP"),
			was.FrontendIPs[0].PrivateIPAddress, is.FrontendIPs[0].PrivateIPAddress)...)
	}
	return errs
}

// zones returns the availability zones, never nil, so that an absent list equals an empty one.
func zones(lb *infrav1.LoadBalancerSpec) []string { return append([]string{}, lb.AvailabilityZones...) }

// nodeOutboundLBImmutable refuses changes of the nodes' outbound load balancer, except of the number of addresses, and
// of their names together with the number.
func nodeOutboundLBImmutable(was, is *infrav1.LoadBalancerSpec, path *field.Path) field.ErrorList {
	if was == nil || is == nil {
		return nil
	}
	errs := onceSet(path.Child("name"), was.Name, is.Name)
	errs = append(errs, onceSet(path.Child("id"), was.ID, is.ID)...)
	errs = append(errs, onceSet(path.Child("idleTimeoutInMinutes"), was.IdleTimeoutInMinutes, is.IdleTimeoutInMinutes)...)
	errs = append(errs, immutable(path.Child("availabilityZones"), zones(was), zones(is))...)
	if reflect.DeepEqual(was.FrontendIPsCount, is.FrontendIPsCount) {
		errs = append(errs, onceSet(path.Child("frontendIPs"), was.FrontendIPs, is.FrontendIPs)...)
	}
	return errs
}

// subnetsImmutable refuses changes of subnets. It allows changes of the ranges of a network in another resource group,
// because the network is the user's, and the ranges only describe it.
func subnetsImmutable(was, is *infrav1.NetworkSpec, group string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, subnet := range is.Subnets {
		j := slices.IndexFunc(was.Subnets, func(o infrav1.SubnetSpec) bool { return o.Name == subnet.Name })
		if j < 0 {
			continue
		}
		p, before := path.Index(i), was.Subnets[j]
		if is.Vnet.ResourceGroup == group {
			errs = append(errs, onceSet(p.Child("cidrBlocks"), before.CIDRBlocks, subnet.CIDRBlocks)...)
		}
		errs = append(errs, onceSet(p.Child("securityGroup", "name"), before.SecurityGroup.Name, subnet.SecurityGroup.Name)...)
		errs = append(errs, onceSet(p.Child("routeTable", "name"), before.RouteTable.Name, subnet.RouteTable.Name)...)
		errs = append(errs, onceSet(p.Child("natGateway", "name"), before.NatGateway.Name, subnet.NatGateway.Name)...)
	}
	return errs
}
