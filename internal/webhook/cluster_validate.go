package webhook

import (
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// A cluster's name becomes part of DNS labels and resource names.
var clusterNamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,42}[a-z0-9]$`)

func validateCluster(old, c *infrav1.AzureCluster) field.ErrorList {
	var errs field.ErrorList
	spec, path := &c.Spec, field.NewPath("spec")
	if old == nil {
		if !clusterNamePattern.MatchString(c.Name) {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), c.Name, "must be 2 to 44 lower-case letters, digits and dashes, with a letter or digit at both ends"))
		}
	} else {
		errs = append(errs, clusterImmutable(&old.Spec, spec, path)...)
	}
	if ref := spec.IdentityRef; ref == nil {
		errs = append(errs, field.Required(path.Child("identityRef"), "name the AzureClusterIdentity with which to log in to Azure"))
	} else if ref.Kind != "AzureClusterIdentity" {
		errs = append(errs, field.NotSupported(path.Child("identityRef", "kind"), ref.Kind, []string{"AzureClusterIdentity"}))
	}
	network := path.Child("networkSpec")
	errs = append(errs, validateSubnets(spec, network)...)
	errs = append(errs, validateLBs(spec, network)...)
	seen := map[string]bool{}
	for i, p := range spec.NetworkSpec.Vnet.Peerings {
		if seen[p.RemoteVnetName] {
			errs = append(errs, field.Duplicate(network.Child("vnet", "peerings").Index(i).Child("remoteVnetName"), p.RemoteVnetName))
		}
		seen[p.RemoteVnetName] = true
	}
	if b := spec.BastionSpec.AzureBastion; b != nil && b.EnableTunneling && b.Sku != "Standard" {
		errs = append(errs, field.Invalid(path.Child("bastionSpec", "azureBastion", "enableTunneling"), true, "tunnelling needs sku Standard"))
	}
	if spec.ExtendedLocation != nil {
		errs = append(errs, field.Forbidden(path.Child("extendedLocation"), "edge zones need the feature gate EdgeZone, which casement does not have"))
	}
	return errs
}

// immutable reports a change of a field that was set.
func immutable[T any](path *field.Path, old, value T) field.ErrorList {
	if reflect.DeepEqual(old, value) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "field is immutable")}
}

// onceSet is immutable for a field that may still be filled.
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
	errs = append(errs, onceSet(path.Child("azureEnvironment"), old.AzureEnvironment, s.AzureEnvironment)...)
	errs = append(errs, onceSet(path.Child("controlPlaneEndpoint", "host"), old.ControlPlaneEndpoint.Host, s.ControlPlaneEndpoint.Host)...)
	errs = append(errs, onceSet(path.Child("controlPlaneEndpoint", "port"), old.ControlPlaneEndpoint.Port, s.ControlPlaneEndpoint.Port)...)
	errs = append(errs, onceSet(path.Child("bastionSpec", "azureBastion"), old.BastionSpec.AzureBastion, s.BastionSpec.AzureBastion)...)
	network, was, is := path.Child("networkSpec"), &old.NetworkSpec, &s.NetworkSpec
	errs = append(errs, immutable(network.Child("privateDNSZoneName"), was.PrivateDNSZoneName, is.PrivateDNSZoneName)...)
	errs = append(errs, immutable(network.Child("privateDNSZoneResourceGroup"), was.PrivateDNSZoneResourceGroup, is.PrivateDNSZoneResourceGroup)...)
	errs = append(errs, immutable(network.Child("controlPlaneOutboundLB"), was.ControlPlaneOutboundLB, is.ControlPlaneOutboundLB)...)
	if a, b := was.APIServerLB, is.APIServerLB; a != nil && b != nil {
		lb := network.Child("apiServerLB")
		errs = append(errs, onceSet(lb.Child("name"), a.Name, b.Name)...)
		errs = append(errs, onceSet(lb.Child("type"), a.Type, b.Type)...)
		errs = append(errs, onceSet(lb.Child("sku"), a.SKU, b.SKU)...)
		errs = append(errs, onceSet(lb.Child("idleTimeoutInMinutes"), a.IdleTimeoutInMinutes, b.IdleTimeoutInMinutes)...)
		errs = append(errs, onceSet(lb.Child("availabilityZones"), a.AvailabilityZones, b.AvailabilityZones)...)
	}
	for i, subnet := range is.Subnets {
		j := slices.IndexFunc(was.Subnets, func(o infrav1.SubnetSpec) bool { return o.Name == subnet.Name })
		if j < 0 {
			continue
		}
		p, before := network.Child("subnets").Index(i), was.Subnets[j]
		errs = append(errs, onceSet(p.Child("cidrBlocks"), before.CIDRBlocks, subnet.CIDRBlocks)...)
		errs = append(errs, onceSet(p.Child("securityGroup", "name"), before.SecurityGroup.Name, subnet.SecurityGroup.Name)...)
		errs = append(errs, onceSet(p.Child("routeTable", "name"), before.RouteTable.Name, subnet.RouteTable.Name)...)
		errs = append(errs, onceSet(p.Child("natGateway", "name"), before.NatGateway.Name, subnet.NatGateway.Name)...)
	}
	return errs
}

func validateSubnets(s *infrav1.AzureClusterSpec, network *field.Path) field.ErrorList {
	var errs field.ErrorList
	path := network.Child("subnets")
	vnet := prefixes(s.NetworkSpec.Vnet.CIDRBlocks)
	names := map[string]bool{}
	for i, subnet := range s.NetworkSpec.Subnets {
		p := path.Index(i)
		if names[subnet.Name] {
			errs = append(errs, field.Duplicate(p.Child("name"), subnet.Name))
		}
		names[subnet.Name] = true
		for j, cidr := range subnet.CIDRBlocks {
			prefix, err := netip.ParsePrefix(cidr)
			if err != nil {
				errs = append(errs, field.Invalid(p.Child("cidrBlocks").Index(j), cidr, "must be an address range such as 10.1.0.0/16"))
			} else if !slices.ContainsFunc(vnet, func(v netip.Prefix) bool { return v.Contains(prefix.Addr()) }) {
				errs = append(errs, field.Invalid(p.Child("cidrBlocks").Index(j), cidr, fmt.Sprintf("must lie inside spec.networkSpec.vnet.cidrBlocks %v", s.NetworkSpec.Vnet.CIDRBlocks)))
			} else {
				errs = append(errs, overlaps(s.NetworkSpec.Subnets[:i], prefix, p.Child("cidrBlocks").Index(j))...)
			}
		}
		errs = append(errs, validateRules(subnet.SecurityGroup.SecurityRules, p.Child("securityGroup", "securityRules"))...)
	}
	if s.ControlPlaneEnabled && !hasRole(s, infrav1.SubnetControlPlane, infrav1.SubnetCluster) {
		errs = append(errs, field.Required(path, "one subnet must have the role control-plane or cluster"))
	}
	if !hasRole(s, infrav1.SubnetNode, infrav1.SubnetCluster) {
		errs = append(errs, field.Required(path, "one subnet must have the role node or cluster"))
	}
	return errs
}

func overlaps(others []infrav1.SubnetSpec, prefix netip.Prefix, path *field.Path) field.ErrorList {
	for _, other := range others {
		for _, o := range prefixes(other.CIDRBlocks) {
			if o.Overlaps(prefix) {
				return field.ErrorList{field.Invalid(path, prefix.String(), fmt.Sprintf("overlaps %s of subnet %s; Azure refuses that", o, other.Name))}
			}
		}
	}
	return nil
}

func validateRules(rules []infrav1.SecurityRule, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, r := range rules {
		if r.Priority < 100 || r.Priority > 4096 {
			errs = append(errs, field.Invalid(path.Index(i).Child("priority"), r.Priority, "must be between 100 and 4096"))
		}
		if r.Source != nil && len(r.Sources) > 0 {
			errs = append(errs, field.Invalid(path.Index(i).Child("sources"), r.Name, "give source or sources, not both"))
		}
	}
	return errs
}

func validateLBs(s *infrav1.AzureClusterSpec, network *field.Path) field.ErrorList {
	var errs field.ErrorList
	n := &s.NetworkSpec
	if lb := n.APIServerLB; s.ControlPlaneEnabled && lb != nil {
		path := network.Child("apiServerLB")
		errs = append(errs, validateLB(lb, path)...)
		if len(lb.FrontendIPs) != 1 {
			errs = append(errs, field.Invalid(path.Child("frontendIPs"), len(lb.FrontendIPs), "must be exactly one"))
		} else if f := lb.FrontendIPs[0]; lb.Type == infrav1.Internal {
			errs = append(errs, validateInternalIP(s, f, path.Child("frontendIPs").Index(0))...)
		} else if f.PrivateIPAddress != "" {
			errs = append(errs, field.Forbidden(path.Child("frontendIPs").Index(0).Child("privateIP"), "a public load balancer has a public IP"))
		}
	}
	if n.PrivateDNSZoneName != "" && n.APIServerLB != nil && n.APIServerLB.Type != infrav1.Internal {
		errs = append(errs, field.Invalid(network.Child("privateDNSZoneName"), n.PrivateDNSZoneName, "only an internal API server has a private DNS zone"))
	}
	if lb := n.NodeOutboundLB; lb != nil {
		path := network.Child("nodeOutboundLB")
		errs = append(errs, validateLB(lb, path)...)
		if c := lb.FrontendIPsCount; c != nil && *c > 16 {
			errs = append(errs, field.Invalid(path.Child("frontendIPsCount"), *c, "must be at most 16"))
		}
	}
	return errs
}

func validateLB(lb *infrav1.LoadBalancerSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if lb.SKU != infrav1.SKUStandard {
		errs = append(errs, field.NotSupported(path.Child("sku"), lb.SKU, []infrav1.SKU{infrav1.SKUStandard}))
	}
	if m := lb.IdleTimeoutInMinutes; m != nil && (*m < 4 || *m > 30) {
		errs = append(errs, field.Invalid(path.Child("idleTimeoutInMinutes"), *m, "must be between 4 and 30"))
	}
	return errs
}

func validateInternalIP(s *infrav1.AzureClusterSpec, f infrav1.FrontendIP, path *field.Path) field.ErrorList {
	if f.PublicIP != nil {
		return field.ErrorList{field.Forbidden(path.Child("publicIP"), "an internal load balancer has a private IP")}
	}
	ip, err := netip.ParseAddr(f.PrivateIPAddress)
	if err != nil {
		return field.ErrorList{field.Invalid(path.Child("privateIP"), f.PrivateIPAddress, "must be an IP address")}
	}
	for _, subnet := range s.NetworkSpec.Subnets {
		if subnet.Role != infrav1.SubnetControlPlane && subnet.Role != infrav1.SubnetCluster {
			continue
		}
		if slices.ContainsFunc(prefixes(subnet.CIDRBlocks), func(p netip.Prefix) bool { return p.Contains(ip) }) {
			return nil
		}
	}
	return field.ErrorList{field.Invalid(path.Child("privateIP"), f.PrivateIPAddress, "must lie in the control plane's subnet")}
}

// prefixes parses what is valid; the rest is reported where it stands.
func prefixes(cidrs []string) []netip.Prefix {
	var out []netip.Prefix
	for _, c := range cidrs {
		if p, err := netip.ParsePrefix(c); err == nil {
			out = append(out, p)
		}
	}
	return out
}

func hasIPv6(cidrs []string) bool {
	return slices.ContainsFunc(prefixes(cidrs), func(p netip.Prefix) bool { return p.Addr().Is6() })
}

func ipv6Only(cidrs []string) bool {
	return hasIPv6(cidrs) && !slices.ContainsFunc(prefixes(cidrs), func(p netip.Prefix) bool { return p.Addr().Is4() })
}
