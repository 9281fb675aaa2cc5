package fabric

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
)

// types are the ARM resource types that Read lists. Child resources may be in their parents,
// separate resources, or both.
var types = []string{
	"Microsoft.Network/networkInterfaces",
	"Microsoft.Compute/virtualMachineScaleSets/virtualMachines/networkInterfaces",
	"Microsoft.Network/loadBalancers",
	"Microsoft.Network/networkSecurityGroups",
	"Microsoft.Network/virtualNetworks",
	"Microsoft.Network/virtualNetworks/subnets",
	"Microsoft.Network/virtualNetworks/virtualNetworkPeerings",
	"Microsoft.Network/publicIPAddresses",
	"Microsoft.Network/privateDnsZones/A",
	"Microsoft.Network/privateDnsZones/virtualNetworkLinks",
}

// isInterface reports whether documents of a type are network interfaces.
func isInterface(resourceType string) bool {
	return resourceType == types[0] || resourceType == types[1]
}

// Read returns a model built from ARM documents in the form of the API. list returns the documents
// of one resource type; documents that cannot be parsed are ignored.
func Read(list func(resourceType string) []json.RawMessage) Model {
	var m Model
	for _, d := range decode[nicDoc](list, types[0], types[1]) {
		m.Interfaces = append(m.Interfaces, d.model())
	}
	for _, d := range decode[lbDoc](list, types[2]) {
		m.LoadBalancers = append(m.LoadBalancers, d.model())
	}
	for _, d := range decode[nsgDoc](list, types[3]) {
		m.SecurityGroups = append(m.SecurityGroups, d.model())
	}
	m.Networks = readNetworks(list)
	for _, d := range decode[pipDoc](list, types[7]) {
		ip, _ := netip.ParseAddr(d.Properties.IPAddress)
		m.PublicIPs = append(m.PublicIPs, PublicIP{
			ID: fold(d.ID), IP: ip, FQDN: fold(d.Properties.DNSSettings.FQDN), Basic: strings.EqualFold(d.SKU.Name, "Basic"),
		})
	}
	m.Records = readRecords(list)
	return m
}

func decode[T any](list func(string) []json.RawMessage, resourceTypes ...string) []T {
	var out []T
	for _, t := range resourceTypes {
		for _, raw := range list(t) {
			var d T
			if json.Unmarshal(raw, &d) == nil {
				out = append(out, d)
			}
		}
	}
	return out
}

type ref struct {
	ID string `json:"id"`
}

func id(r *ref) string {
	if r == nil {
		return ""
	}
	return fold(r.ID)
}

func ids(rs []ref) []string {
	var out []string
	for _, r := range rs {
		out = append(out, fold(r.ID))
	}
	return out
}

// parent removes the last levels of type and name from an ID.
func parent(id string, levels int) string {
	for range levels * 2 {
		i := strings.LastIndexByte(id, '/')
		if i < 0 {
			return ""
		}
		id = id[:i]
	}
	return id
}

type nicDoc struct {
	ID         string `json:"id"`
	Properties struct {
		VirtualMachine       *ref `json:"virtualMachine"`
		NetworkSecurityGroup *ref `json:"networkSecurityGroup"`
		IPConfigurations     []struct {
			ID         string `json:"id"`
			Name       string `json:"name"`
			Properties struct {
				PrivateIPAddress string `json:"privateIPAddress"`
				Subnet           *ref   `json:"subnet"`
				PublicIPAddress  *ref   `json:"publicIPAddress"`
				Pools            []ref  `json:"loadBalancerBackendAddressPools"`
				NATRules         []ref  `json:"loadBalancerInboundNatRules"`
			} `json:"properties"`
		} `json:"ipConfigurations"`
	} `json:"properties"`
}

func (d nicDoc) model() Interface {
	n := Interface{ID: fold(d.ID), Machine: id(d.Properties.VirtualMachine), SecurityGroup: id(d.Properties.NetworkSecurityGroup)}
	for _, c := range d.Properties.IPConfigurations {
		p := c.Properties
		ip, _ := netip.ParseAddr(p.PrivateIPAddress)
		subnet := id(p.Subnet)
		cfgID := fold(c.ID)
		if cfgID == "" {
			cfgID = n.ID + "/ipconfigurations/" + fold(c.Name)
		}
		n.Configs = append(n.Configs, IPConfig{
			ID: cfgID, VNet: parent(subnet, 1), Subnet: subnet, IP: ip,
			PublicIP: id(p.PublicIPAddress), Pools: ids(p.Pools), NATRules: ids(p.NATRules),
		})
	}
	return n
}

type subnetDoc struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Properties struct {
		AddressPrefix        string   `json:"addressPrefix"`
		AddressPrefixes      []string `json:"addressPrefixes"`
		NetworkSecurityGroup *ref     `json:"networkSecurityGroup"`
	} `json:"properties"`
}

func (d subnetDoc) model(vnet string) Subnet {
	s := Subnet{ID: fold(d.ID), SecurityGroup: id(d.Properties.NetworkSecurityGroup)}
	if s.ID == "" {
		s.ID = vnet + "/subnets/" + fold(d.Name)
	}
	s.Prefixes = prefixes(append(slices.Clone(d.Properties.AddressPrefixes), d.Properties.AddressPrefix))
	return s
}

type peeringDoc struct {
	ID         string `json:"id"`
	Properties struct {
		RemoteVirtualNetwork      *ref   `json:"remoteVirtualNetwork"`
		AllowVirtualNetworkAccess *bool  `json:"allowVirtualNetworkAccess"`
		PeeringState              string `json:"peeringState"`
	} `json:"properties"`
}

// carries reports whether traffic passes the peering. A peering without its counterpart is
// "Initiated" and carries nothing.
func (d peeringDoc) carries() bool {
	p := d.Properties
	return p.RemoteVirtualNetwork != nil && (p.AllowVirtualNetworkAccess == nil || *p.AllowVirtualNetworkAccess) &&
		!strings.EqualFold(p.PeeringState, "Initiated") && !strings.EqualFold(p.PeeringState, "Disconnected")
}

type vnetDoc struct {
	ID         string `json:"id"`
	Properties struct {
		AddressSpace struct {
			AddressPrefixes []string `json:"addressPrefixes"`
		} `json:"addressSpace"`
		Subnets  []subnetDoc  `json:"subnets"`
		Peerings []peeringDoc `json:"virtualNetworkPeerings"`
	} `json:"properties"`
}

func readNetworks(list func(string) []json.RawMessage) []Network {
	var out []Network
	at := map[string]int{}
	for _, d := range decode[vnetDoc](list, types[4]) {
		n := Network{ID: fold(d.ID), Prefixes: prefixes(d.Properties.AddressSpace.AddressPrefixes)}
		for _, s := range d.Properties.Subnets {
			n.Subnets = append(n.Subnets, s.model(n.ID))
		}
		for _, p := range d.Properties.Peerings {
			n.peer(p)
		}
		at[n.ID] = len(out)
		out = append(out, n)
	}
	for _, d := range decode[subnetDoc](list, types[5]) {
		i, ok := at[parent(fold(d.ID), 1)]
		if !ok {
			continue
		}
		s := d.model(out[i].ID)
		if j := slices.IndexFunc(out[i].Subnets, func(o Subnet) bool { return o.ID == s.ID }); j >= 0 {
			out[i].Subnets[j] = s
		} else {
			out[i].Subnets = append(out[i].Subnets, s)
		}
	}
	for _, d := range decode[peeringDoc](list, types[6]) {
		if i, ok := at[parent(fold(d.ID), 1)]; ok {
			out[i].peer(d)
		}
	}
	return out
}

func (n *Network) peer(d peeringDoc) {
	remote := id(d.Properties.RemoteVirtualNetwork)
	if d.carries() && !slices.Contains(n.Peers, remote) {
		n.Peers = append(n.Peers, remote)
	}
}

func prefixes(in []string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range in {
		if p, err := netip.ParsePrefix(s); err == nil && !slices.Contains(out, p.Masked()) {
			out = append(out, p.Masked())
		}
	}
	return out
}

type pipDoc struct {
	ID  string `json:"id"`
	SKU struct {
		Name string `json:"name"`
	} `json:"sku"`
	Properties struct {
		IPAddress   string `json:"ipAddress"`
		DNSSettings struct {
			FQDN string `json:"fqdn"`
		} `json:"dnsSettings"`
	} `json:"properties"`
}

type recordDoc struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Properties struct {
		Records []struct {
			IP string `json:"ipv4Address"`
		} `json:"aRecords"`
	} `json:"properties"`
}

type linkDoc struct {
	ID         string `json:"id"`
	Properties struct {
		VirtualNetwork *ref `json:"virtualNetwork"`
	} `json:"properties"`
}

func readRecords(list func(string) []json.RawMessage) []Record {
	links := map[string][]string{} // networks by zone ID
	for _, d := range decode[linkDoc](list, types[9]) {
		zone := parent(fold(d.ID), 1)
		links[zone] = append(links[zone], id(d.Properties.VirtualNetwork))
	}
	var out []Record
	for _, d := range decode[recordDoc](list, types[8]) {
		docID := fold(d.ID)
		zone := parent(docID, 1)
		r := Record{
			Name:     docID[strings.LastIndexByte(docID, '/')+1:] + "." + zone[strings.LastIndexByte(zone, '/')+1:],
			Networks: links[zone],
		}
		r.Name = strings.TrimPrefix(r.Name, "@.")
		for _, a := range d.Properties.Records {
			if ip, err := netip.ParseAddr(a.IP); err == nil {
				r.IPs = append(r.IPs, ip)
			}
		}
		out = append(out, r)
	}
	return out
}
