package powershell

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/windows"
)

var networkCmdlets = []cmdlet{
	{name: "Get-NetAdapter", parameters: "Name%:0 InterfaceDescription InterfaceIndex|ifIndex Physical? IncludeHidden?~", run: getAdapter},
	{name: "Get-NetIPAddress", parameters: "IPAddress:0 InterfaceAlias InterfaceIndex|ifIndex AddressFamily", run: getAddress},
	{name: "Get-NetIPConfiguration", parameters: "InterfaceAlias:0 All?~ Detailed?~", run: getConfiguration},
	{name: "Get-NetIPInterface", parameters: "InterfaceAlias:0 AddressFamily InterfaceIndex|ifIndex", run: getInterface},
	{name: "Set-NetIPInterface",
		parameters: "InterfaceAlias:0 AddressFamily~ NlMtuBytes InterfaceIndex|ifIndex InterfaceMetric^ PolicyStore~",
		run:        setInterface},
	{name: "Get-NetRoute", parameters: "DestinationPrefix:0 InterfaceAlias AddressFamily", run: getRoute},
	{name: "Get-NetTCPConnection", parameters: "State", run: getConnection},
	{name: "Test-NetConnection", parameters: "ComputerName:0 Port InformationLevel CommonTCPPort:1", run: testConnection},
	{name: "Resolve-DnsName",
		parameters: "Name%:0 Type:1 Server DnsOnly?~ NoHostsFile?~ QuickTimeout?~ TcpOnly?~ CacheOnly?~", run: resolveName},
	{name: "Set-DnsClientServerAddress", parameters: "InterfaceAlias:0 InterfaceIndex|ifIndex " +
		"ServerAddresses|Addresses ResetServerAddresses? InputObject", run: setDNS},
	{name: "Get-DnsClientServerAddress", parameters: "InterfaceAlias:0 InterfaceIndex|ifIndex AddressFamily", run: getDNS},
	{name: "New-NetFirewallRule", parameters: "Name% DisplayName Description~ Direction Action Protocol " +
		"LocalPort RemotePort~ LocalAddress~ RemoteAddress~ Enabled Profile~ Program~ Group~ Service~ " +
		"EdgeTraversalPolicy~ InterfaceAlias~ IcmpType~ PolicyStore~", run: newRule},
	{name: "Get-NetFirewallRule", parameters: "Name%:0 DisplayName Enabled Direction", run: getRule},
	{name: "Get-HnsNetwork", parameters: "Name%:0", run: getHNS},
	{name: "New-HnsNetwork",
		parameters: "Type Name% AddressPrefix Gateway AdapterName~ SubnetPolicies JsonString^ DNSServer^ Verbose?~",
		run:        newHNS},
	{name: "Get-HnsEndpoint", parameters: "", run: getEndpoint},
	{name: "Remove-HnsEndpoint", parameters: "InputObject:0", run: removeEndpoint},
	{name: "Get-HnsPolicyList", parameters: "", run: getPolicyList},
}

func (r *run) mac() string { return strings.ToUpper(strings.ReplaceAll(r.m.MAC(), ":", "-")) }

// adapter returns the name and index of the network adapter with the machine's addresses.
func (r *run) adapter() (name string, index int64) {
	if name = r.m.Adapter(); name != "Ethernet" {
		return name, 9
	}
	return name, 4
}

func getAdapter(c *call) error {
	shown := []string{"Name", "InterfaceDescription", "ifIndex", "Status", "MacAddress", "LinkSpeed"}
	made := func(name, description string, index int64) *object {
		return system("Microsoft.Management.Infrastructure.CimInstance#MSFT_NetAdapter", shown, "Name", name,
			"InterfaceDescription", description, "ifIndex", index, "Status", "Up", "MacAddress", c.mac(),
			"LinkSpeed", "50 Gbps", "InterfaceIndex", index, "InterfaceAlias", name, "ifAlias", name, "MtuSize",
			int64(c.m.Pulse.Get().MTU), "Virtual", index != 4, "HardwareInterface", index == 4, "AdminStatus", "Up",
			"MediaConnectionState", "Connected")
	}
	all := []*object{made("Ethernet", "Microsoft Hyper-V Network Adapter", 4)}
	if len(c.m.HNSNetworks()) > 0 && !c.is("physical") {
		all = append(all, made("vEthernet (Ethernet)", "Hyper-V Virtual Ethernet Adapter", 9))
	}
	return c.pickInstances(all, map[string]string{
		"name": "Name", "interfacedescription": "InterfaceDescription", "interfaceindex": "ifIndex",
	}, "MSFT_NetAdapter")
}

// pickInstances emits the instances whose properties match the patterns of the parameters; by has the property
// of each parameter. A name without wildcards that matches no instance is an error.
func (c *call) pickInstances(all []*object, by map[string]string, class string) error {
	found := 0
	err := every(c, all, func(o *object) error {
		for parameter, property := range by {
			if v, _ := o.get(property); c.has(parameter) && !likeAny(text(v), c.textsOf(parameter)) {
				return nil
			}
		}
		found++
		return c.emit(o)
	})
	if err != nil || found > 0 {
		return err
	}
	for parameter, property := range by {
		if c.has(parameter) && !strings.ContainsAny(c.textOf(parameter), "*?") {
			return c.fault(noInstance(c.cmd.name, class, property, c.textOf(parameter)))
		}
	}
	return nil
}

func getAddress(c *call) error {
	name, index := c.adapter()
	var all []*object
	add := func(ip, alias string, index, bits int64, family string) {
		all = append(all, tabled(kindAddress, 4, "IPAddress", ip, "InterfaceAlias", alias, "PrefixLength", bits, "AddressFamily",
			family, "InterfaceIndex", index, "ifIndex", index, "PrefixOrigin", "Dhcp", "SuffixOrigin", "Dhcp", "AddressState",
			"Preferred", "Type", "Unicast", "IPv4Address", ip))
	}
	for _, ip := range c.m.IPs {
		if ip.Is6() {
			add(ip.String(), name, index, 64, "IPv6")
		} else {
			add(ip.String(), name, index, int64(c.m.Subnet().Bits()), "IPv4")
		}
	}
	add("127.0.0.1", "Loopback Pseudo-Interface 1", 1, 8, "IPv4")
	return c.pickInstances(all, map[string]string{"ipaddress": "IPAddress", "interfacealias": "InterfaceAlias",
		"interfaceindex": "InterfaceIndex", "addressfamily": "AddressFamily"}, "MSFT_NetIPAddress")
}

// gateway returns the machine's default gateway, or "".
func (r *run) gateway() string {
	if g := r.m.Gateway(); g.IsValid() {
		return g.String()
	}
	return ""
}

func getConfiguration(c *call) error {
	name, index := c.adapter()
	addresses := newArray()
	for _, ip := range c.m.IPs {
		if ip.Is4() {
			addresses.items = append(addresses.items,
				tabled(kindAddress, 1, "IPAddress", ip.String(), "PrefixLength", int64(c.m.Subnet().Bits())))
		}
	}
	gateway := tabled("CimInstance#MSFT_NetRoute", 1, "NextHop", c.gateway())
	o := tabled("NetIPConfiguration", 3, "InterfaceAlias", name, "InterfaceIndex", index, "IPv4Address", single(addresses.items),
		"IPv4DefaultGateway", gateway, "DNSServer",
		system("CimInstance#MSFT_DNSClientServerAddress", []string{"ServerAddresses"}, "ServerAddresses", textArray(c.m.DNSServers())),
		"NetAdapter", system("CimInstance#MSFT_NetAdapter", []string{"Status"}, "Status", "Up", "Name", name))
	return c.pickInstances([]*object{o}, map[string]string{"interfacealias": "InterfaceAlias"}, "MSFT_NetIPInterface")
}

func getInterface(c *call) error {
	shown := []string{"ifIndex", "InterfaceAlias", "AddressFamily", "NlMtu(Bytes)", "InterfaceMetric", "Dhcp",
		"ConnectionState", "PolicyStore"}
	made := func(index int64, alias string, mtu, metric int64, dhcp string) *object {
		return system("Microsoft.Management.Infrastructure.CimInstance#MSFT_NetIPInterface", shown, "ifIndex",
			index, "InterfaceAlias", alias, "AddressFamily", "IPv4", "NlMtu(Bytes)", mtu, "NlMtu", mtu,
			"InterfaceMetric", metric, "Dhcp", dhcp, "ConnectionState", "Connected", "PolicyStore", "ActiveStore",
			"InterfaceIndex", index)
	}
	all := []*object{made(10, "vEthernet (Ethernet)", int64(c.m.Pulse.Get().MTU), 15, "Enabled"),
		made(1, "Loopback Pseudo-Interface 1", 4294967295, 75, "Disabled")}
	return c.pickInstances(all, map[string]string{
		"interfacealias": "InterfaceAlias", "addressfamily": "AddressFamily", "interfaceindex": "ifIndex",
	}, "MSFT_NetIPInterface")
}

func setInterface(c *call) error {
	if !c.has("nlmtubytes") {
		c.mark("Set-NetIPInterface", "only -NlMtuBytes has an effect")
		return nil
	}
	mtu, err := c.integerOf("nlmtubytes", 0)
	if err != nil {
		return err
	}
	if mtu < 352 || mtu > 65535 { // 352 is the smallest MTU that Windows accepts for IPv4
		return c.systemError(87, "The parameter is incorrect.")
	}
	return c.m.Pulse.Edit(func(v *machine.Vitals) { v.MTU = mtu })
}

func getRoute(c *call) error {
	name, index := c.adapter()
	o := tabled("Microsoft.Management.Infrastructure.CimInstance#MSFT_NetRoute", 4, "ifIndex", index, "DestinationPrefix", "0.0.0.0/0",
		"NextHop", c.gateway(), "RouteMetric", int64(0), "InterfaceAlias", name, "InterfaceIndex", index, "AddressFamily", "IPv4")
	if c.has("destinationprefix") && c.textOf("destinationprefix") != "0.0.0.0/0" {
		return lacking("routes other than the default route")
	}
	if !c.has("destinationprefix") {
		return lacking("Get-NetRoute without -DestinationPrefix 0.0.0.0/0")
	}
	return c.pickInstances([]*object{o},
		map[string]string{"interfacealias": "InterfaceAlias", "addressfamily": "AddressFamily"}, "MSFT_NetRoute")
}

// getConnection emits the established connections and the unanswered connection attempts. The remote ends of
// established connections are not simulated.
func getConnection(c *call) error {
	v, port := c.m.Pulse.Get(), int64(65535)
	show := func(state string, more ...any) error {
		port--
		if err := c.step(); err != nil || c.has("state") && !strings.EqualFold(c.textOf("state"), state) {
			return err
		}
		return c.emit(system("Microsoft.Management.Infrastructure.CimInstance#MSFT_NetTCPConnection",
			[]string{"LocalAddress", "LocalPort", "State"},
			append([]any{"LocalAddress", c.m.IP().String(), "LocalPort", port + 1, "State", state}, more...)...))
	}
	for range v.Connections {
		if err := show("Established"); err != nil {
			return err
		}
	}
	for _, remote := range v.Waiting {
		to, err := netip.ParseAddrPort(remote)
		if err == nil {
			err = show("SynSent", "RemoteAddress", to.Addr().String(), "RemotePort", int64(to.Port()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func setDNS(c *call) error {
	if !c.has("interfacealias") && !c.has("interfaceindex") && !c.has("inputobject") && !c.piped {
		return c.need("interfacealias")
	}
	if alias := c.textOf("interfacealias"); c.has("interfacealias") {
		name, _ := c.adapter()
		if !likeAny(name, []string{alias}) && !strings.EqualFold(alias, "Ethernet") {
			return c.fault(noInstance(c.cmd.name, "MSFT_DNSClientServerAddress", "InterfaceAlias", alias))
		}
	}
	var servers []string
	for _, s := range c.textsOf("serveraddresses") {
		for one := range strings.SplitSeq(s, ",") {
			one = strings.TrimSpace(one)
			if _, err := netip.ParseAddr(one); err != nil {
				return c.systemError(87, "Invalid DNS server address %s", one)
			}
			servers = append(servers, one)
		}
	}
	if !c.is("resetserveraddresses") {
		if err := c.need("serveraddresses"); err != nil {
			return err
		}
	}
	return diskError(c.m.SetDNSServers(servers), "the registry")
}

func getDNS(c *call) error {
	name, index := c.adapter()
	o := system("Microsoft.Management.Infrastructure.CimInstance#MSFT_DNSClientServerAddress",
		[]string{"InterfaceAlias", "InterfaceIndex", "ServerAddresses"}, "InterfaceAlias", name, "InterfaceIndex",
		index, "AddressFamily", "IPv4", "ServerAddresses", textArray(c.m.DNSServers()))
	if strings.EqualFold(c.textOf("addressfamily"), "ipv4") {
		delete(c.given, "addressfamily")
	}
	return c.pickInstances([]*object{o}, map[string]string{
		"interfacealias": "InterfaceAlias", "interfaceindex": "InterfaceIndex", "addressfamily": "AddressFamily",
	}, "MSFT_DNSClientServerAddress")
}

// rulesKey is the registry key of the firewall rules.
const rulesKey = `HKLM\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules`

func newRule(c *call) error {
	if err := c.need("displayname"); err != nil {
		return err
	}
	name := c.textOf("name")
	if name == "" {
		name = "{" + string(newGUID()) + "}"
	}
	if _, ok := c.m.Registry().Value(rulesKey, name); ok {
		return c.systemError(183, "Cannot create a file when that file already exists.")
	}
	part := func(parameter, otherwise string) string {
		if c.has(parameter) {
			return strings.Join(c.textsOf(parameter), ",")
		}
		return otherwise
	}
	rule := fmt.Sprintf("v2.30|Action=%s|Active=%s|Dir=%s|Protocol=%s|LPort=%s|Name=%s|", part("action", "Allow"),
		part("enabled", "True"), part("direction", "Inbound"), part("protocol", "Any"), part("localport", "Any"),
		c.textOf("displayname"))
	if err := c.m.Registry().Set(rulesKey, name, machine.Value{Kind: "String", Text: rule}); err != nil {
		return diskError(err, rulesKey)
	}
	c.mark("New-NetFirewallRule", "the rule is kept and no packet is filtered")
	return c.emit(ruleObject(name, rule))
}

// ruleObject returns the object of a firewall rule, from its text in the registry.
func ruleObject(name, rule string) *object {
	o := system("Microsoft.Management.Infrastructure.CimInstance#root/standardcimv2/MSFT_NetFirewallRule",
		[]string{"Name", "DisplayName", "Enabled", "Direction", "Action"}, "Name", name)
	for part := range strings.SplitSeq(rule, "|") {
		k, v, _ := strings.Cut(part, "=")
		if property, ok := map[string]string{"Action": "Action", "Active": "Enabled", "Dir": "Direction", "Name": "DisplayName"}[k]; ok {
			o.set(property, v)
		}
	}
	return o
}

func getRule(c *call) error {
	if !c.has("name") && !c.has("displayname") {
		return lacking("the firewall rules of the image; name a rule")
	}
	k, _ := c.m.Registry().Key(rulesKey)
	var all []*object
	for _, name := range valueNames(k) {
		all = append(all, ruleObject(name, k.Values[name].Text))
	}
	return c.pickInstances(all, map[string]string{
		"name": "Name", "displayname": "DisplayName", "enabled": "Enabled", "direction": "Direction",
	}, "MSFT_NetFirewallRule")
}

// getHNS emits the HNS networks.
func getHNS(c *call) error {
	address := ""
	if c.m.Pulse.Get().ManagementIP {
		address = c.m.IP().String()
	}
	return every(c, c.m.HNSNetworks(), func(n machine.HNSNetwork) error {
		if c.has("name") && !likeAny(n.Name, c.textsOf("name")) {
			return nil
		}
		endpoints := int64(0)
		if n.CNI {
			endpoints = int64(len(c.m.HNSEndpoints()))
		}
		return c.emit(system("HnsNetwork", []string{"Name", "Type", "ManagementIP"}, "ID", machine.HNSID("network", n.Name),
			"Name", n.Name, "Type", n.Type, "ManagementIP", address, "Subnets", subnetsOf(n), "NetworkAdapterName", "Ethernet",
			"DNSServerList", strings.Join(n.Endpoint.DNS, ","), "DNSSuffix", strings.Join(n.Endpoint.Search, ","),
			"CurrentEndpointCount", endpoints, "TotalEndpoints", endpoints, "Policies", newArray(), "State", int64(1)))
	})
}

// subnetsOf returns the subnets of a network. The number of an overlay network is a policy of its subnet.
func subnetsOf(n machine.HNSNetwork) *array {
	out := newArray()
	for _, s := range n.Subnets {
		policies := newArray()
		if s.VSID != 0 {
			policies.items = append(policies.items, tabled("HnsPolicy", 2, "Type", "VSID", "VSID", int64(s.VSID)))
		}
		out.items = append(out.items, system("HnsSubnet", []string{"AddressPrefix", "GatewayAddress", "Policies"},
			"ID", machine.HNSID("subnet", n.Name+s.Prefix.String()), "AddressPrefix", s.Prefix.String(), "GatewayAddress", s.Gateway.String(),
			"Policies", policies, "State", int64(0)))
	}
	return out
}

// policiesOf returns the endpoint policies of a CNI configuration.
func (r *run) policiesOf(p machine.HNSPolicy) *array {
	out := newArray()
	for _, data := range p.Policies {
		if v, err := r.fromJSON(data); err == nil { // HNS ignores a policy that is not valid JSON
			out.items = append(out.items, v)
		}
	}
	return out
}

// newHNS adds an HNS network.
func newHNS(c *call) error {
	name := cmp.Or(c.textOf("name"), c.textOf("type"))
	if name == "" {
		return lacking("New-HnsNetwork without -Name and -Type")
	}
	n := machine.HNSNetwork{Name: name, Type: cmp.Or(c.textOf("type"), machine.Overlay)}
	if c.has("addressprefix") {
		s, ok := c.newSubnet()
		if !ok { // the error of HNS does not name the parameter
			return c.fault(broken("System.Runtime.InteropServices.COMException", "HnsCall", "HNS failed with error : The parameter is incorrect. "))
		}
		n.Subnets = []machine.HNSSubnet{s}
	}
	if err := c.m.AddHNSNetwork(n); err != nil {
		return diskError(err, "HNS")
	}
	return c.emit(system("HnsNetwork", []string{"Name", "Type"}, "ID", machine.HNSID("network", name), "Name", name, "Type", n.Type,
		"Subnets", subnetsOf(n), "State", int64(1)))
}

// newSubnet returns the subnet that the parameters of New-HnsNetwork describe; ok is false if HNS would refuse it.
func (c *call) newSubnet() (s machine.HNSSubnet, ok bool) {
	prefix, err := netip.ParsePrefix(c.textOf("addressprefix"))
	if err != nil {
		return s, false
	}
	s.Prefix, s.Gateway = prefix, prefix.Masked().Addr().Next()
	if c.has("gateway") {
		if s.Gateway, err = netip.ParseAddr(c.textOf("gateway")); err != nil {
			return s, false
		}
	}
	for _, v := range list(c.given["subnetpolicies"]) {
		h, is := v.(*hashtable)
		if !is {
			continue
		}
		if n, has := h.get("VSID"); has {
			if s.VSID, err = strconv.Atoi(text(n)); err != nil {
				return s, false
			}
		}
	}
	return s, true
}

// getEndpoint emits the HNS endpoints of pods, of backends on other nodes, and the stale endpoints of crashed pods.
func getEndpoint(c *call) error {
	shown := []string{"ID", "Name", "VirtualNetworkName", "MacAddress", "IPAddress", "IsRemoteEndpoint", "State"}
	network, _ := c.m.PodNetwork()
	overhead := int64(0)
	if network.Type == machine.Overlay {
		overhead = windows.AzureMTU - windows.OverlayMTU
	}
	for _, e := range c.m.HNSEndpoints() {
		name := e.Name + "_" + network.Name
		if e.Remote {
			name = "Ethernet"
		}
		o := system("HnsEndpoint", shown, "ID", machine.HNSID("endpoint", e.IP.String()), "Name", name,
			"VirtualNetworkName", network.Name, "VirtualNetwork", machine.HNSID("network", network.Name),
			"MacAddress", podMAC(e.IP), "IPAddress", e.IP.String(), "IsRemoteEndpoint", e.Remote, "EncapOverhead", overhead,
			"State", int64(3))
		bits, gateway, policy := int64(0), "", machine.HNSPolicy{}
		if i := slices.IndexFunc(network.Subnets, func(s machine.HNSSubnet) bool { return s.Prefix.Contains(e.IP) }); i >= 0 && !e.Remote {
			bits, gateway, policy = int64(network.Subnets[i].Prefix.Bits()), network.Subnets[i].Gateway.String(), network.Endpoint
		}
		o.set("PrefixLength", bits)
		o.set("GatewayAddress", gateway)
		o.set("DNSServerList", strings.Join(policy.DNS, ","))
		o.set("DNSSuffix", strings.Join(policy.Search, ","))
		o.set("Policies", c.policiesOf(policy))
		if err := c.emit(o); err != nil {
			return err
		}
	}
	for i := range c.m.Pulse.Get().StaleEndpoints {
		if err := c.emit(system("HnsEndpoint", []string{"Name", "State"}, "Name", "stale-"+strconv.Itoa(i), "IPAddress", "",
			"IsRemoteEndpoint", false, "State", int64(3))); err != nil {
			return err
		}
	}
	return nil
}

// removeEndpoint removes stale endpoints of crashed pods. The container runtime owns the endpoints of running
// pods, so they are refused.
func removeEndpoint(c *call) error {
	stale := 0
	for _, v := range append(list(c.given["inputobject"]), c.input...) {
		o, ok := v.(*object)
		if !ok {
			return lacking("Remove-HnsEndpoint of what Get-HnsEndpoint did not give")
		}
		if name, _ := o.get("Name"); !strings.HasPrefix(text(name), "stale-") {
			return lacking("Remove-HnsEndpoint of a pod that runs")
		}
		stale++
	}
	return diskError(c.m.Pulse.Edit(func(v *machine.Vitals) { v.StaleEndpoints = max(v.StaleEndpoints-stale, 0) }), "HNS")
}

// podMAC returns the hardware address of a pod in a Windows overlay network: a fixed prefix and the pod's IP address.
func podMAC(ip netip.Addr) string {
	b := ip.AsSlice()
	return fmt.Sprintf("0E-2A-%02X-%02X-%02X-%02X", b[len(b)-4], b[len(b)-3], b[len(b)-2], b[len(b)-1])
}

// getPolicyList emits the load balancers that kube-proxy created for Services.
func getPolicyList(c *call) error {
	for _, b := range c.m.HNSBalancers() {
		if err := c.step(); err != nil {
			return err
		}
		vips, references := newArray(), newArray()
		for _, ip := range b.VIPs {
			vips.items = append(vips.items, ip.String())
		}
		for _, ip := range b.Endpoints {
			references.items = append(references.items, "/endpoints/"+machine.HNSID("endpoint", ip.String()))
		}
		policies := newArray(tabled("HnsPolicy", 5, "Type", "ELB", "VIPs", vips, "ExternalPort", int64(b.Port), "InternalPort",
			int64(b.Target), "Protocol", int64(6)))
		if err := c.emit(tabled("HnsPolicyList", 3, "ID", machine.HNSID("policy", fmt.Sprint(b.VIPs, b.Port)), "References", references,
			"Policies", policies)); err != nil {
			return err
		}
	}
	return nil
}

// noInstance returns the failure of a CIM cmdlet whose class has no instance with a property's value.
func noInstance(command, class, property, name string) error {
	return broken("Microsoft.PowerShell.Cmdletization.Cim.CimJobException", "CmdletizationQuery_NotFound_"+property+","+command,
		"No %s objects found with property '%s' equal to '%s'.  Verify the value of the property and retry.", class, property, name)
}

// systemError reports the failure of a CIM cmdlet with the number of a Windows error.
func (c *call) systemError(number int, format string, a ...any) error {
	return c.fault(broken("Microsoft.Management.Infrastructure.CimException", fmt.Sprintf("Windows System Error %d,%s", number, c.cmd.name),
		format, a...))
}
