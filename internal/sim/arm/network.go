package arm

import (
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"time"
)

// Types of the network provider.
const (
	typeVNet     = "Microsoft.Network/virtualNetworks"
	typeNSG      = "Microsoft.Network/networkSecurityGroups"
	typeTable    = "Microsoft.Network/routeTables"
	typeGateway  = "Microsoft.Network/natGateways"
	typePublicIP = "Microsoft.Network/publicIPAddresses"
	typePrefix   = "Microsoft.Network/publicIPPrefixes"
	typeBalancer = "Microsoft.Network/loadBalancers"
	typeNIC      = "Microsoft.Network/networkInterfaces"
	typeBastion  = "Microsoft.Network/bastionHosts"

	typeSubnet = typeVNet + "/subnets"
)

// Network is the configuration of the network provider.
type Network struct {
	// PublicIP allocates the address of a public IP; nil takes 203.0.113.0/24
	// (RFC 5737) in turn.
	PublicIP func(id string) (string, error)
	// FQDN is the name of a public IP that has a DNS label; nil is Azure's form.
	FQDN func(label, location, ip string) string
	// Tunnel carries what goes through Bastion hosts; nil refuses it.
	Tunnel Tunnel
}

// network is what the provider keeps for a server.
type network struct {
	Network
	tunnels tunnels
}

const networkSpace = "Microsoft.Network"

func networkOf(s *Server) *network { return stateOf[*network](s, networkSpace) }

// networkProvider is Microsoft.Network.
func networkProvider(cfg Network) Provider {
	if cfg.FQDN == nil {
		cfg.FQDN = func(label, location, _ string) string { return label + "." + location + ".cloudapp.azure.com" }
	}
	return Provider{
		Namespace: networkSpace,
		Versions:  []string{"2025-03-01", "2024-05-01", "2023-05-01", "2022-07-01", "2022-01-01", "2020-11-01", "2018-11-01", "2018-10-01"},
		State:     &network{Network: cfg},
		Types:     append(networkTypes(), dnsTypes()...),
		Routes: []Route{
			{Method: http.MethodGet, Path: "locations/usages", Serve: networkUsages},
			{Method: http.MethodGet, Path: "locations/checkdnsnameavailability", Serve: checkLabel},
		},
		CheckName: checkNetworkName,
		NotFound: func(id resourceID) *Error {
			if len(id.Types) < 2 {
				return nil
			}
			return refuse(http.StatusNotFound, "NotFound", "Resource %s not found.", id)
		},
		Busy:  networkBusy,
		Front: serveBastion,
		Hosts: []string{"*." + bastionDomain},
	}
}

// networkTypes are the rows of the network provider, private DNS apart.
func networkTypes() []Type {
	short := 5 * time.Second
	rows := []Type{
		{Name: typeVNet, Takes: short, Parts: map[string]bool{"subnets": true, "virtualNetworkPeerings": true}, Prepare: prepareVNet, Guard: guardVNet, GuardPart: guardSubnet, View: viewVNet,
			Refs: []Reference{
				{Path: "subnets.networkSecurityGroup", To: typeNSG}, {Path: "subnets.routeTable", To: typeTable}, {Path: "subnets.natGateway", To: typeGateway},
				{Path: "virtualNetworkPeerings.remoteVirtualNetwork", To: typeVNet},
			},
			Actions: []Action{{Name: "checkipaddressavailability", Method: http.MethodGet, Serve: checkAddress}}},
		{Name: typeNSG, Takes: short, Parts: map[string]bool{"securityRules": true, "defaultSecurityRules": false}, Prepare: prepareNSG, Guard: guardNSG, View: viewUsers("subnets", "networkInterfaces")},
		{Name: typeTable, Takes: short, Parts: map[string]bool{"routes": true}, Prepare: prepareArrays("routes"), Guard: guardTable, View: viewUsers("subnets")},
		{Name: typeGateway, Takes: short, Prepare: prepareGateway, Guard: guardGateway, View: viewUsers("subnets"),
			Refs: []Reference{{Path: "publicIpAddresses", To: typePublicIP}, {Path: "publicIpPrefixes", To: typePrefix}}},
		{Name: typePublicIP, Takes: short, Put: Work{Name: "ip.put", Run: runAddress, Finish: finishAddress}, Prepare: preparePublicIP, Guard: guardPublicIP, View: viewPublicIP,
			Refs: []Reference{{Path: "publicIPPrefix", To: typePrefix}}},
		{Name: typePrefix, Takes: short, Prepare: preparePrefix, Guard: guardPrefix, View: viewPrefix},
		{Name: typeBalancer, Takes: short, Prepare: prepareBalancer, Guard: guardBalancer, View: viewBalancer, Addresses: []string{"frontendIPConfigurations"},
			Parts: map[string]bool{"backendAddressPools": true, "inboundNatRules": true, "frontendIPConfigurations": false, "probes": false, "loadBalancingRules": false, "outboundRules": false},
			Refs: []Reference{
				{Path: "frontendIPConfigurations.subnet", To: typeSubnet, As: asOwner}, {Path: "frontendIPConfigurations.publicIPAddress", To: typePublicIP},
				{Path: "frontendIPConfigurations.publicIPPrefix", To: typePrefix},
				{Path: "loadBalancingRules.frontendIPConfiguration", To: typeBalancer + "/frontendIPConfigurations"}, {Path: "loadBalancingRules.probe", To: typeBalancer + "/probes"},
				{Path: "loadBalancingRules.backendAddressPool", To: typeBalancer + "/backendAddressPools"}, {Path: "loadBalancingRules.backendAddressPools", To: typeBalancer + "/backendAddressPools"},
				{Path: "inboundNatRules.frontendIPConfiguration", To: typeBalancer + "/frontendIPConfigurations"},
				{Path: "outboundRules.frontendIPConfigurations", To: typeBalancer + "/frontendIPConfigurations"}, {Path: "outboundRules.backendAddressPool", To: typeBalancer + "/backendAddressPools"},
			}},
		{Name: typeNIC, Takes: 2 * time.Second, Parts: map[string]bool{"ipConfigurations": false}, Addresses: []string{"ipConfigurations"}, Prepare: prepareNIC, Guard: guardNIC, View: viewNIC,
			Refs: []Reference{
				{Path: "ipConfigurations.subnet", To: typeSubnet, As: asInterface}, {Path: "ipConfigurations.publicIPAddress", To: typePublicIP}, {Path: "networkSecurityGroup", To: typeNSG},
				{Path: "ipConfigurations.loadBalancerBackendAddressPools", To: typeBalancer + "/backendAddressPools", Unlinks: true},
				{Path: "ipConfigurations.loadBalancerInboundNatRules", To: typeBalancer + "/inboundNatRules", Unlinks: true},
			}},
		{Name: typeBastion, Takes: 5 * time.Minute, Prepare: prepareBastion,
			Refs: []Reference{{Path: "ipConfigurations.subnet", To: typeSubnet, As: asOwner}, {Path: "ipConfigurations.publicIPAddress", To: typePublicIP}}},
	}
	for i := range rows {
		rows[i].Style, rows[i].ETag, rows[i].Prepare = styleNetwork, etagWeak, marked(rows[i].Prepare)
	}
	return rows
}

// marked gives a resource the identifier that it keeps for life.
func marked(prepare func(t *tx, d, old *doc) *Error) func(t *tx, d, old *doc) *Error {
	return func(t *tx, d, old *doc) *Error {
		if prepare != nil {
			if e := prepare(t, d, old); e != nil {
				return e
			}
		}
		props(d.Body)["resourceGuid"] = t.s.guid()
		if old != nil && str(old.Body, "properties", "resourceGuid") != "" {
			props(d.Body)["resourceGuid"] = str(old.Body, "properties", "resourceGuid")
		}
		return nil
	}
}

// networkName is the rule for names.
// Source: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules;
// the text is that which the service answers with.
var networkName = regexp.MustCompile(`^[\p{L}\p{N}_]([\p{L}\p{N}_.-]{0,78}[\p{L}\p{N}_])?$`)

// checkNetworkName refuses a name. Zones and records have rules of their own,
// which are not held here.
func checkNetworkName(id resourceID) *Error {
	if strings.HasPrefix(lower(id.fullType()), lower(typeZone)) || networkName.MatchString(id.name()) {
		return nil
	}
	return badRequest("InvalidResourceName", "Resource name %s is invalid. The name can be up to 80 characters long. It must begin with a word character, and it must end with a word character or with '_'. The name may contain word characters or '.', '-', '_'.", id.name())
}

func networkBusy(op *operation) *Error {
	e := conflict("AnotherOperationInProgress", "Another operation on this or dependent resource is in progress. To retrieve status of the operation use uri: https://management.azure.com/subscriptions/%s/providers/%s/locations/%s/operations/%s.", op.Subscription, op.Namespace, op.Location, op.ID)
	e.RetryAfter = 1
	return e
}

// checkLabel answers whether a DNS label is free in a region.
func checkLabel(c *call) *Error {
	c.reply(http.StatusOK, object{"available": labelFree(c, c.query.Get("domainNameLabel"), region(c.id.Names[0]))})
	return nil
}

// checkAddress answers whether an address of a virtual network is free.
func checkAddress(c *call, vnet resourceID) *Error {
	ip, err := netip.ParseAddr(c.query.Get("ipAddress"))
	if err != nil {
		return badRequest("InvalidIPAddress", "The IP address '%s' is invalid.", c.query.Get("ipAddress"))
	}
	var e *Error
	out := object{"available": false, "availableIPAddresses": []any{}, "isPlatformReserved": false}
	c.s.read(func(t *tx) {
		d := t.find(vnet.key())
		if d == nil {
			e = errNotFound(vnet)
			return
		}
		for _, s := range items(d.Body, "properties", "subnets") {
			for _, prefix := range prefixes(props(cloneObject(s))) {
				if prefix.Contains(ip) {
					out["available"] = !t.taken(d.ID+"/subnets/"+str(s, "name"), ip, "")
				}
			}
		}
	})
	if e != nil {
		return e
	}
	c.reply(http.StatusOK, out)
	return nil
}
