package webhook

import (
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "casement.dev/casement/api/v1beta1"
)

func validateLBs(s *infrav1.AzureClusterSpec, network *field.Path) field.ErrorList {
	var errs field.ErrorList
	n := &s.NetworkSpec
	private := n.APIServerLB != nil && n.APIServerLB.Type == infrav1.Internal
	if lb := n.APIServerLB; s.ControlPlaneEnabled && lb != nil {
		errs = append(errs, validateAPIServerLB(s, lb, network.Child("apiServerLB"))...)
	}
	if !private && n.PrivateDNSZoneName != "" {
		errs = append(errs, field.Invalid(network.Child("privateDNSZoneName"), n.PrivateDNSZoneName,
			"only an internal API server has a private DNS zone"))
	}
	if n.PrivateDNSZoneResourceGroup != "" && n.PrivateDNSZoneName == "" {
		errs = append(errs, field.Required(network.Child("privateDNSZoneName"), "privateDNSZoneResourceGroup needs the zone's name"))
	}
	if lb := n.ControlPlaneOutboundLB; lb != nil {
		path := network.Child("controlPlaneOutboundLB")
		if !private {
			errs = append(errs, field.Forbidden(path, "the control plane of a public cluster leaves through apiServerLB"))
		} else {
			errs = append(errs, validateOutboundLB(lb, path)...)
		}
	}
	if lb := n.NodeOutboundLB; lb != nil {
		errs = append(errs, validateOutboundLB(lb, network.Child("nodeOutboundLB"))...)
	}
	return append(errs, validatePorts(n.AdditionalAPIServerLBPorts, network.Child("additionalAPIServerLBPorts"))...)
}

func validateAPIServerLB(s *infrav1.AzureClusterSpec, lb *infrav1.LoadBalancerSpec, path *field.Path) field.ErrorList {
	errs := validateLB(lb, path)
	if c := lb.FrontendIPsCount; c != nil && *c != 1 {
		errs = append(errs, field.Invalid(path.Child("frontendIPsCount"), *c, "the API server has one address"))
	}
	if lb.Type == infrav1.Internal {
		if len(lb.FrontendIPs) != 1 {
			return append(errs, field.Invalid(path.Child("frontendIPs"), len(lb.FrontendIPs), "must be exactly one"))
		}
		return append(errs, validateInternalIP(s, lb.FrontendIPs[0], path.Child("frontendIPs").Index(0))...)
	}
	return append(errs, validatePublicIPs(s, lb.FrontendIPs, path.Child("frontendIPs"))...)
}

// validatePublicIPs checks the frontends of a public cluster's API server: one public address and, if the spec requests
// it, a private one, on a separate internal load balancer.
func validatePublicIPs(s *infrav1.AzureClusterSpec, frontends []infrav1.FrontendIP, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	public, private := 0, 0
	for i, f := range frontends {
		switch {
		case f.PublicIP == nil:
			private++
			errs = append(errs, validateInternalIP(s, f, path.Index(i))...)
		case f.PrivateIPAddress != "":
			errs = append(errs, field.Forbidden(path.Index(i).Child("privateIP"),
				"a frontend has a public IP or a private one; add a second frontend for the other"))
			public++
		default:
			public++
		}
	}
	if public != 1 || private > 1 {
		errs = append(errs, field.Invalid(path, len(frontends), "must be exactly one with a public IP, and at most one with a private IP"))
	}
	return errs
}

func validateLB(lb *infrav1.LoadBalancerSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if lb.SKU != infrav1.SKUStandard {
		errs = append(errs, field.NotSupported(path.Child("sku"), lb.SKU, []infrav1.SKU{infrav1.SKUStandard}))
	}
	if lb.Type != infrav1.Public && lb.Type != infrav1.Internal {
		errs = append(errs, field.NotSupported(path.Child("type"), lb.Type, []infrav1.LBType{infrav1.Public, infrav1.Internal}))
	}
	if m := lb.IdleTimeoutInMinutes; m != nil && (*m < 4 || *m > 30) {
		errs = append(errs, field.Invalid(path.Child("idleTimeoutInMinutes"), *m, "must be between 4 and 30"))
	}
	return errs
}

func validateOutboundLB(lb *infrav1.LoadBalancerSpec, path *field.Path) field.ErrorList {
	errs := validateLB(lb, path)
	if c := lb.FrontendIPsCount; c != nil && (*c < 0 || *c > maxOutboundIPs) {
		errs = append(errs, field.Invalid(path.Child("frontendIPsCount"), *c, "must be between 0 and 16"))
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

func validatePorts(ports []infrav1.LoadBalancerPort, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := map[string]bool{}
	for i, p := range ports {
		if p.Port < 1 || p.Port > 65535 {
			errs = append(errs, field.Invalid(path.Index(i).Child("port"), p.Port, "must be between 1 and 65535"))
		}
		if names[p.Name] {
			errs = append(errs, field.Duplicate(path.Index(i).Child("name"), p.Name))
		}
		names[p.Name] = true
	}
	return errs
}
