package webhook

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// Patterns of the names that Azure accepts, as CAPZ checks them.
var (
	resourceNamePattern     = regexp.MustCompile(`^[-\w\._]+$`)
	serviceEndpointPattern  = regexp.MustCompile(`^Microsoft\.[a-zA-Z]{1,42}[a-zA-Z0-9]{0,42}$`)
	endpointLocationPattern = regexp.MustCompile(`^([a-z]{1,42}\d{0,5}|[*])$`)
)

const nameRule = "must be letters, digits, '-', '_' and '.'"

// named returns an error for a name that Azure would not accept.
func named(path *field.Path, name string, pattern *regexp.Regexp, rule string) field.ErrorList {
	if pattern.MatchString(name) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, rule)}
}

func validateVnet(s *infrav1.AzureClusterSpec, path *field.Path) field.ErrorList {
	vnet := &s.NetworkSpec.Vnet
	var errs field.ErrorList
	for i, cidr := range vnet.CIDRBlocks {
		if _, err := netip.ParsePrefix(cidr); err != nil {
			errs = append(errs, field.Invalid(path.Child("cidrBlocks").Index(i), cidr, "must be an address range such as 10.0.0.0/8"))
		}
	}
	seen := map[string]bool{}
	for i, p := range vnet.Peerings {
		if seen[p.RemoteVnetName] {
			errs = append(errs, field.Duplicate(path.Child("peerings").Index(i).Child("remoteVnetName"), p.RemoteVnetName))
		}
		seen[p.RemoteVnetName] = true
	}
	return errs
}

func validateSubnets(s *infrav1.AzureClusterSpec, network *field.Path) field.ErrorList {
	var errs field.ErrorList
	path := network.Child("subnets")
	names := map[string]bool{}
	for i, subnet := range s.NetworkSpec.Subnets {
		p := path.Index(i)
		if names[subnet.Name] {
			errs = append(errs, field.Duplicate(p.Child("name"), subnet.Name))
		}
		names[subnet.Name] = true
		errs = append(errs, validateSubnetClass(&subnet, p)...)
		errs = append(errs, validateRanges(s, i, p.Child("cidrBlocks"))...)
	}
	if s.ControlPlaneEnabled && !hasRole(s, infrav1.SubnetControlPlane, infrav1.SubnetCluster) {
		errs = append(errs, field.Required(path, "one subnet must have the role control-plane or cluster"))
	}
	if !hasRole(s, infrav1.SubnetNode, infrav1.SubnetCluster) {
		errs = append(errs, field.Required(path, "one subnet must have the role node or cluster"))
	}
	return errs
}

// validateSubnetClass checks the fields of a subnet that do not depend on its network.
func validateSubnetClass(subnet *infrav1.SubnetSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if subnet.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "the name of the subnet"))
	}
	errs = append(errs, validateRules(subnet.SecurityGroup.SecurityRules, path.Child("securityGroup", "securityRules"))...)
	errs = append(errs, validateServiceEndpoints(subnet.ServiceEndpoints, path.Child("serviceEndpoints"))...)
	return append(errs, validatePrivateEndpoints(subnet, path.Child("privateEndpoints"))...)
}

// validateRanges returns errors for ranges that cannot be parsed, are outside of the network, or overlap those of an
// earlier subnet.
func validateRanges(s *infrav1.AzureClusterSpec, i int, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	vnet, subnets := prefixes(s.NetworkSpec.Vnet.CIDRBlocks), s.NetworkSpec.Subnets
	for j, cidr := range subnets[i].CIDRBlocks {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			errs = append(errs, field.Invalid(path.Index(j), cidr, "must be an address range such as 10.1.0.0/16"))
		} else if !slices.ContainsFunc(vnet, func(v netip.Prefix) bool { return v.Contains(prefix.Addr()) }) {
			errs = append(errs, field.Invalid(path.Index(j), cidr,
				fmt.Sprintf("must lie inside spec.networkSpec.vnet.cidrBlocks %v", s.NetworkSpec.Vnet.CIDRBlocks)))
		} else {
			errs = append(errs, overlaps(subnets[:i], prefix, path.Index(j))...)
		}
	}
	return errs
}

func overlaps(others []infrav1.SubnetSpec, prefix netip.Prefix, path *field.Path) field.ErrorList {
	for _, other := range others {
		for _, o := range prefixes(other.CIDRBlocks) {
			if o.Overlaps(prefix) {
				return field.ErrorList{field.Invalid(path, prefix.String(),
					fmt.Sprintf("overlaps %s of subnet %s; Azure refuses that", o, other.Name))}
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

func validateServiceEndpoints(endpoints []infrav1.ServiceEndpointSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	services := map[string]bool{}
	for i, e := range endpoints {
		p := path.Index(i)
		errs = append(errs, named(p.Child("service"), e.Service, serviceEndpointPattern, "must be a service such as Microsoft.Storage")...)
		if services[e.Service] {
			errs = append(errs, field.Duplicate(p.Child("service"), e.Service))
		}
		services[e.Service] = true
		if len(e.Locations) == 0 {
			errs = append(errs, field.Required(p.Child("locations"), "name regions, or * for all"))
		}
		locations := map[string]bool{}
		for j, l := range e.Locations {
			errs = append(errs, named(p.Child("locations").Index(j), l, endpointLocationPattern,
				"must be a region such as westeurope, or *")...)
			if locations[l] {
				errs = append(errs, field.Duplicate(p.Child("locations").Index(j), l))
			}
			locations[l] = true
		}
	}
	return errs
}

func validatePrivateEndpoints(subnet *infrav1.SubnetSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	ranges := prefixes(subnet.CIDRBlocks)
	for i, e := range subnet.PrivateEndpoints {
		p := path.Index(i)
		if e.Name == "" {
			errs = append(errs, field.Required(p.Child("name"), "the name of the private endpoint"))
		}
		if len(e.PrivateLinkServiceConnections) == 0 {
			errs = append(errs, field.Required(p.Child("privateLinkServiceConnections"), "name the services to connect to"))
		}
		for j, c := range e.PrivateLinkServiceConnections {
			if c.PrivateLinkServiceID == "" {
				errs = append(errs, field.Required(p.Child("privateLinkServiceConnections").Index(j).
					Child("privateLinkServiceID"), "the resource ID of the service"))
			}
		}
		for j, text := range e.PrivateIPAddresses {
			ip, err := netip.ParseAddr(text)
			if err != nil {
				errs = append(errs, field.Invalid(p.Child("privateIPAddresses").Index(j), text, "must be an IP address"))
			} else if len(ranges) > 0 && !slices.ContainsFunc(ranges, func(r netip.Prefix) bool { return r.Contains(ip) }) {
				errs = append(errs, field.Invalid(p.Child("privateIPAddresses").Index(j), text, "must lie in the subnet's cidrBlocks"))
			}
		}
	}
	return errs
}

// prefixes returns the valid ranges; invalid ones are reported at their own field.
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
