package fabric

import (
	"net/netip"
	"slices"
)

// Model is the part of the cloud's state from which the network is built. IDs are ARM resource IDs
// in lower case.
type Model struct {
	Interfaces     []Interface
	LoadBalancers  []LoadBalancer
	SecurityGroups []SecurityGroup
	Networks       []Network
	PublicIPs      []PublicIP
	// Records are the A records of private DNS zones.
	Records []Record
}

// Interface is a network interface of a machine.
type Interface struct {
	ID, Machine, SecurityGroup string
	Configs                    []IPConfig
}

// IPConfig is one address of an interface.
type IPConfig struct {
	ID, VNet, Subnet string
	IP               netip.Addr
	PublicIP         string   // ID
	Pools, NATRules  []string // IDs
}

// Network is a virtual network.
type Network struct {
	ID       string
	Prefixes []netip.Prefix
	Subnets  []Subnet
	Peers    []string // IDs of the networks to which this network has a peering
}

// Subnet is a subnet of a virtual network.
type Subnet struct {
	ID            string
	Prefixes      []netip.Prefix
	SecurityGroup string
}

// PublicIP is a public address.
type PublicIP struct {
	ID   string
	IP   netip.Addr
	FQDN string
	// Basic is set for the SKU Basic: without a security group, Basic addresses are open and
	// Standard addresses are closed.
	Basic bool
}

// Record is a name in a private DNS zone. Networks are the networks that are linked to the zone.
type Record struct {
	Name     string // fully qualified, without the last dot, in lower case
	IPs      []netip.Addr
	Networks []string
}

// LoadBalancer is a load balancer.
type LoadBalancer struct {
	ID        string
	Frontends []Frontend
	Rules     []LoadBalancingRule
	NATRules  []NATRule
	Probes    []Probe
	Pools     []Pool
}

// Frontend is a public address, or an address in a virtual network.
type Frontend struct {
	ID       string
	PublicIP string // ID
	VNet     string
	IP       netip.Addr
}

// Pool is a backend pool with addresses; machines can also join by their interfaces.
type Pool struct {
	ID      string
	Members []Member
}

// Member is an address of a pool.
type Member struct {
	VNet string
	IP   netip.Addr
}

// LoadBalancingRule distributes the connections to a frontend port over pools.
type LoadBalancingRule struct {
	ID, Frontend, Probe       string
	Pools                     []string
	Protocol                  string // tcp, udp, all
	FrontendPort, BackendPort uint16
	// Floating delivers to the frontend's own address and port on the machine (direct server
	// return), as cloud-provider-azure configures its rules.
	Floating bool
}

// NATRule forwards a frontend port to one machine.
type NATRule struct {
	ID, Frontend, Target      string // Target is the ID of an IP configuration
	Protocol                  string
	FrontendPort, BackendPort uint16
}

// Probe is a health probe.
type Probe struct {
	ID, Protocol, Path string // Protocol is tcp, http or https
	Port               uint16
	// Threshold is the number of consecutive successful or failed probes that change the state of a backend, at least 1.
	Threshold int
}

// place is an address in a virtual network.
type place struct {
	vnet string
	ip   netip.Addr
}

// index contains a model and maps for lookups in it.
type index struct {
	Model
	configs   map[place]*IPConfig
	byConfig  map[string]*IPConfig
	iface     map[*IPConfig]*Interface
	groups    map[string]*SecurityGroup
	subnets   map[string]*Subnet
	networks  map[string]*Network
	public    map[string]*PublicIP
	publicIP  map[netip.Addr]*PublicIP
	pools     map[string][]place
	frontends map[string]*Frontend
	probes    map[string]*Probe
}

func newIndex(m Model) *index {
	ix := &index{
		Model: m, configs: map[place]*IPConfig{}, byConfig: map[string]*IPConfig{}, iface: map[*IPConfig]*Interface{},
		groups: map[string]*SecurityGroup{}, subnets: map[string]*Subnet{}, networks: map[string]*Network{},
		public: map[string]*PublicIP{}, publicIP: map[netip.Addr]*PublicIP{}, pools: map[string][]place{},
		frontends: map[string]*Frontend{}, probes: map[string]*Probe{},
	}
	for i := range m.SecurityGroups {
		ix.groups[m.SecurityGroups[i].ID] = &m.SecurityGroups[i]
	}
	for i := range m.Networks {
		n := &m.Networks[i]
		ix.networks[n.ID] = n
		for j := range n.Subnets {
			ix.subnets[n.Subnets[j].ID] = &n.Subnets[j]
		}
	}
	for i := range m.PublicIPs {
		p := &m.PublicIPs[i]
		ix.public[p.ID] = p
		if p.IP.IsValid() {
			ix.publicIP[p.IP] = p
		}
	}
	for i := range m.Interfaces {
		n := &m.Interfaces[i]
		for j := range n.Configs {
			c := &n.Configs[j]
			ix.byConfig[c.ID], ix.iface[c] = c, n
			at := place{c.VNet, c.IP}
			if !c.IP.IsValid() {
				continue
			}
			ix.configs[at] = c
			for _, p := range c.Pools {
				ix.pools[p] = append(ix.pools[p], at)
			}
		}
	}
	for i := range m.LoadBalancers {
		ix.addLoadBalancer(&m.LoadBalancers[i])
	}
	return ix
}

func (ix *index) addLoadBalancer(lb *LoadBalancer) {
	for i := range lb.Frontends {
		ix.frontends[lb.Frontends[i].ID] = &lb.Frontends[i]
	}
	for i := range lb.Probes {
		ix.probes[lb.Probes[i].ID] = &lb.Probes[i]
	}
	for _, p := range lb.Pools {
		for _, m := range p.Members {
			if at := (place{m.VNet, m.IP}); !slices.Contains(ix.pools[p.ID], at) {
				ix.pools[p.ID] = append(ix.pools[p.ID], at)
			}
		}
	}
}

// space returns the prefixes of the service tag VirtualNetwork for vnet: its own prefixes and those
// of its peers.
func (ix *index) space(vnet string) []netip.Prefix {
	n := ix.networks[vnet]
	if n == nil {
		return nil
	}
	out := slices.Clone(n.Prefixes)
	for _, p := range n.Peers {
		if peer := ix.networks[p]; peer != nil {
			out = append(out, peer.Prefixes...)
		}
	}
	return out
}

// locate returns the network that contains ip, for an origin in vnet.
func (ix *index) locate(vnet string, ip netip.Addr) (place, bool) {
	own := place{vnet, ip}
	if ix.has(own) {
		return own, true
	}
	if n := ix.networks[vnet]; n != nil {
		for _, p := range n.Peers {
			if at := (place{p, ip}); ix.has(at) {
				return at, true
			}
		}
	}
	return place{}, false
}

func (ix *index) has(at place) bool {
	if ix.configs[at] != nil {
		return true
	}
	for _, f := range ix.frontends {
		if f.VNet == at.vnet && f.IP == at.ip {
			return true
		}
	}
	return false
}
