package fabric

import (
	"net/netip"
	"slices"
	"strings"
)

type lbDoc struct {
	ID         string `json:"id"`
	Properties struct {
		Frontends []struct {
			ID         string `json:"id"`
			Name       string `json:"name"`
			Properties struct {
				PrivateIPAddress string `json:"privateIPAddress"`
				Subnet           *ref   `json:"subnet"`
				PublicIPAddress  *ref   `json:"publicIPAddress"`
			} `json:"properties"`
		} `json:"frontendIPConfigurations"`
		Pools    []poolDoc `json:"backendAddressPools"`
		Rules    []ruleDoc `json:"loadBalancingRules"`
		NATRules []ruleDoc `json:"inboundNatRules"`
		Probes   []struct {
			ID         string `json:"id"`
			Name       string `json:"name"`
			Properties struct {
				Protocol       string `json:"protocol"`
				Port           uint16 `json:"port"`
				RequestPath    string `json:"requestPath"`
				ProbeThreshold int    `json:"probeThreshold"`
			} `json:"properties"`
		} `json:"probes"`
	} `json:"properties"`
}

type poolDoc struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Properties struct {
		VirtualNetwork *ref `json:"virtualNetwork"`
		Addresses      []struct {
			Properties struct {
				IPAddress      string `json:"ipAddress"`
				VirtualNetwork *ref   `json:"virtualNetwork"`
				Subnet         *ref   `json:"subnet"`
			} `json:"properties"`
		} `json:"loadBalancerBackendAddresses"`
	} `json:"properties"`
}

// ruleDoc is a load balancing or an inbound NAT rule.
type ruleDoc struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Properties struct {
		Frontend     *ref   `json:"frontendIPConfiguration"`
		Pool         *ref   `json:"backendAddressPool"`
		Pools        []ref  `json:"backendAddressPools"`
		Probe        *ref   `json:"probe"`
		Target       *ref   `json:"backendIPConfiguration"`
		Protocol     string `json:"protocol"`
		FrontendPort uint16 `json:"frontendPort"`
		BackendPort  uint16 `json:"backendPort"`
		Floating     bool   `json:"enableFloatingIP"`
	} `json:"properties"`
}

func (d lbDoc) model() LoadBalancer {
	lb := LoadBalancer{ID: fold(d.ID)}
	child := func(given, kind, name string) string {
		if given != "" {
			return fold(given)
		}
		return lb.ID + "/" + fold(kind) + "/" + fold(name)
	}
	for _, f := range d.Properties.Frontends {
		ip, _ := netip.ParseAddr(f.Properties.PrivateIPAddress)
		lb.Frontends = append(lb.Frontends, Frontend{
			ID:       child(f.ID, "frontendIPConfigurations", f.Name),
			PublicIP: id(f.Properties.PublicIPAddress), VNet: parent(id(f.Properties.Subnet), 1), IP: ip,
		})
	}
	for _, p := range d.Properties.Pools {
		lb.Pools = append(lb.Pools, Pool{ID: child(p.ID, "backendAddressPools", p.Name), Members: p.members()})
	}
	for _, p := range d.Properties.Probes {
		lb.Probes = append(lb.Probes, Probe{
			ID: child(p.ID, "probes", p.Name), Protocol: strings.ToLower(p.Properties.Protocol), Path: p.Properties.RequestPath,
			Port: p.Properties.Port, Threshold: max(1, p.Properties.ProbeThreshold),
		})
	}
	for _, r := range d.Properties.Rules {
		p := r.Properties
		pools := ids(p.Pools)
		if one := id(p.Pool); one != "" && !slices.Contains(pools, one) {
			pools = append(pools, one)
		}
		lb.Rules = append(lb.Rules, LoadBalancingRule{
			ID: child(r.ID, "loadBalancingRules", r.Name), Frontend: id(p.Frontend), Probe: id(p.Probe), Pools: pools,
			Protocol: strings.ToLower(p.Protocol), FrontendPort: p.FrontendPort, BackendPort: p.BackendPort, Floating: p.Floating,
		})
	}
	for _, r := range d.Properties.NATRules {
		p := r.Properties
		lb.NATRules = append(lb.NATRules, NATRule{
			ID: child(r.ID, "inboundNatRules", r.Name), Frontend: id(p.Frontend), Target: id(p.Target),
			Protocol: strings.ToLower(p.Protocol), FrontendPort: p.FrontendPort, BackendPort: p.BackendPort,
		})
	}
	return lb
}

func (p poolDoc) members() []Member {
	var out []Member
	for _, a := range p.Properties.Addresses {
		ip, err := netip.ParseAddr(a.Properties.IPAddress)
		if err != nil {
			continue
		}
		vnet := id(a.Properties.VirtualNetwork)
		if vnet == "" {
			vnet = parent(id(a.Properties.Subnet), 1)
		}
		if vnet == "" {
			vnet = id(p.Properties.VirtualNetwork)
		}
		out = append(out, Member{VNet: vnet, IP: ip})
	}
	return out
}

type nsgDoc struct {
	ID         string `json:"id"`
	Properties struct {
		Rules []struct {
			Name       string `json:"name"`
			Properties struct {
				Priority                   int      `json:"priority"`
				Direction                  string   `json:"direction"`
				Access                     string   `json:"access"`
				Protocol                   string   `json:"protocol"`
				SourceAddressPrefix        string   `json:"sourceAddressPrefix"`
				SourceAddressPrefixes      []string `json:"sourceAddressPrefixes"`
				DestinationAddressPrefix   string   `json:"destinationAddressPrefix"`
				DestinationAddressPrefixes []string `json:"destinationAddressPrefixes"`
				SourcePortRange            string   `json:"sourcePortRange"`
				SourcePortRanges           []string `json:"sourcePortRanges"`
				DestinationPortRange       string   `json:"destinationPortRange"`
				DestinationPortRanges      []string `json:"destinationPortRanges"`
			} `json:"properties"`
		} `json:"securityRules"`
	} `json:"properties"`
}

func (d nsgDoc) model() SecurityGroup {
	g := SecurityGroup{ID: fold(d.ID)}
	for _, r := range d.Properties.Rules {
		p := r.Properties
		g.Rules = append(g.Rules, SecurityRule{
			Name: r.Name, Priority: p.Priority,
			Inbound: strings.EqualFold(p.Direction, "Inbound"), Allow: strings.EqualFold(p.Access, "Allow"),
			Protocol:         strings.ToLower(p.Protocol),
			Sources:          both(p.SourceAddressPrefix, p.SourceAddressPrefixes),
			Destinations:     both(p.DestinationAddressPrefix, p.DestinationAddressPrefixes),
			SourcePorts:      both(p.SourcePortRange, p.SourcePortRanges),
			DestinationPorts: both(p.DestinationPortRange, p.DestinationPortRanges),
		})
	}
	return g
}

// both returns the values of the singular and the plural form of a rule's field together.
func both(one string, many []string) []string {
	if one == "" {
		return many
	}
	return append([]string{one}, many...)
}
