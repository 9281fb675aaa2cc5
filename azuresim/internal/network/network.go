// Package network is the resource provider Microsoft.Network of the local Azure: virtual networks,
// load balancers, interfaces, addresses, private DNS, Bastion hosts. It imports no other provider;
// only package azuresim imports it.
package network

import (
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
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
	typeSecurity = "Microsoft.Network/applicationSecurityGroups"
	typeWatcher  = "Microsoft.Network/networkWatchers"
	typeFlowLog  = typeWatcher + "/flowLogs"

	typeSubnet = typeVNet + "/subnets"
)

// Config is the configuration of the network provider.
type Config struct {
	// PublicIP allocates the address of a public IP; nil allocates the addresses of 203.0.113.0/24
	// (RFC 5737) in turn.
	PublicIP func(id string) (string, error)
	// FQDN returns the name of a public IP that has a DNS label, for clients that address the local
	// Azure by its own host name. All other clients, and all clients if FQDN is nil, get the name
	// in Azure's form.
	FQDN func(label, location, ip string) string
	// Tunnel connects Bastion sessions to machines. With nil, sessions are refused.
	Tunnel Tunnel
}

// state is the provider's own state in one server.
type state struct {
	Config
	tunnels tunnels
}

const networkSpace = "Microsoft.Network"

func networkOf(s *engine.Server) *state { return engine.StateOf[*state](s, networkSpace) }

// New returns the provider Microsoft.Network.
func New(cfg Config) engine.Provider {
	return engine.Provider{
		Namespace: networkSpace,
		State:     &state{Config: cfg},
		Types:     slices.Concat(networkTypes(), dnsTypes(), publicDNSTypes(), keptTypes()),
		Routes: []engine.Route{
			{Method: http.MethodGet, Path: "locations/usages", Serve: networkUsages},
			{Method: http.MethodGet, Path: "locations/checkdnsnameavailability", Serve: checkLabel},
		},
		CheckName: checkNetworkName,
		NotFound: func(id engine.ID) *engine.Error {
			if strings.EqualFold(id.FullType(), typePublicZone) {
				return errNoZone(id)
			}
			if len(id.Types) < 2 {
				return nil
			}
			if value.Lower(id.FullType()) == value.Lower(typeFlowLog) { // ARM itself answers for a tracked resource
				return nil
			}
			return errResource(id)
		},
		Busy:  networkBusy,
		Front: serveBastion,
		Hosts: []string{"*." + bastionDomain},
	}
}

// networkTypes returns the resource types of the network provider except private DNS.
func networkTypes() []engine.Type {
	short := 5 * time.Second
	rows := []engine.Type{
		{Name: typeVNet, Takes: short, Retry: engine.Retry{Write: 3, Delete: 10},
			Parts: map[string]bool{"subnets": true, "virtualNetworkPeerings": true}, Prepare: prepareVNet,
			Guard: guardVNet, GuardPart: guardSubnet, View: viewVNet,
			Refs: []engine.Reference{
				{Path: "subnets.networkSecurityGroup", To: typeNSG}, {Path: "subnets.routeTable", To: typeTable},
				{Path: "subnets.natGateway", To: typeGateway},
				{Path: "virtualNetworkPeerings.remoteVirtualNetwork", To: typeVNet, Anywhere: true},
			},
			Actions: []engine.Action{{Name: "checkipaddressavailability", Method: http.MethodGet, Serve: checkAddress}}},
		{Name: typeNSG, Takes: short, Retry: engine.Retry{Write: 1, Delete: 1},
			Parts: map[string]bool{"securityRules": true, "defaultSecurityRules": false}, SideBySide: true,
			Prepare: prepareNSG, Guard: guardNSG, View: viewNSG,
			Refs: []engine.Reference{{Path: "securityRules.sourceApplicationSecurityGroups", To: typeSecurity},
				{Path: "securityRules.destinationApplicationSecurityGroups", To: typeSecurity}}},
		{Name: typeTable, Takes: short, Retry: engine.Retry{Write: 2, Delete: 2},
			Parts: map[string]bool{"routes": true}, Guard: guardTable,
			View: viewUsers("subnets")},
		{Name: typeGateway, Takes: short, Prepare: prepareGateway, Guard: guardGateway, View: viewGateway,
			Refs: []engine.Reference{{Path: "publicIpAddresses", To: typePublicIP}, {Path: "publicIpPrefixes", To: typePrefix}}},
		{Name: typePublicIP, Takes: short, Retry: engine.Retry{Write: 1, Delete: 10}, Put: addressWork(),
			Update: addressWork(), Prepare: preparePublicIP, Guard: guardPublicIP, View: viewPublicIP,
			Refs: []engine.Reference{{Path: "publicIPPrefix", To: typePrefix}}},
		{Name: typePrefix, Takes: short, Retry: engine.Retry{Write: 3, Delete: 10}, Prepare: preparePrefix,
			Guard: guardPrefix, View: viewPrefix},
		{Name: typeBalancer, Takes: short, Retry: engine.Retry{Write: 3, Delete: 10}, Prepare: prepareBalancer,
			Guard: guardBalancer, View: viewBalancer, AtOnce: balancerAtOnce,
			Addresses: []string{"frontendIPConfigurations"},
			Parts: map[string]bool{"inboundNatPools": false, "backendAddressPools": true,
				"inboundNatRules": true, "frontendIPConfigurations": false, "probes": false,
				"loadBalancingRules": false, "outboundRules": false},
			Refs: []engine.Reference{
				{Path: "frontendIPConfigurations.subnet", To: typeSubnet, As: engine.AsOwner},
				{Path: "frontendIPConfigurations.publicIPAddress", To: typePublicIP},
				{Path: "frontendIPConfigurations.publicIPPrefix", To: typePrefix},

				{Path: "loadBalancingRules.frontendIPConfiguration", To: typeBalancer + "/frontendIPConfigurations"},
				{Path: "loadBalancingRules.probe", To: typeBalancer + "/probes"},
				{Path: "loadBalancingRules.backendAddressPool", To: typeBalancer + "/backendAddressPools"},
				{Path: "loadBalancingRules.backendAddressPools", To: typeBalancer + "/backendAddressPools"},
				{Path: "inboundNatRules.frontendIPConfiguration", To: typeBalancer + "/frontendIPConfigurations"},
				{Path: "outboundRules.frontendIPConfigurations", To: typeBalancer + "/frontendIPConfigurations"},
				{Path: "outboundRules.backendAddressPool", To: typeBalancer + "/backendAddressPools"},
			}},
		{Name: typeNIC, Takes: 2 * time.Second, Parts: map[string]bool{"ipConfigurations": false},
			Addresses: []string{"ipConfigurations"}, Prepare: prepareNIC, Guard: guardNIC, View: viewNIC,
			AtOnce: nicAtOnce, Quiet: true,
			Refs: []engine.Reference{
				{Path: "ipConfigurations.subnet", To: typeSubnet, As: engine.AsInterface}, {
					Path: "ipConfigurations.publicIPAddress", To: typePublicIP,
				}, {Path: "networkSecurityGroup", To: typeNSG},
				{Path: "ipConfigurations.applicationSecurityGroups", To: typeSecurity},
				{Path: "ipConfigurations.loadBalancerBackendAddressPools", To: typeBalancer + "/backendAddressPools", Unlinks: true},
				{Path: "ipConfigurations.loadBalancerInboundNatRules", To: typeBalancer + "/inboundNatRules", Unlinks: true},
			}},
	}
	rows = append(rows, linkTypes()...)
	for i := range rows {
		rows[i].Prepare = withGUID(rows[i].Prepare)
	}
	rows = append(rows, unmarkedTypes()...)
	for i := range rows {
		rows[i].Style, rows[i].ETag = engine.StyleNetwork, engine.EtagWeak
		if rows[i].Retry.Write == 0 {
			rows[i].Retry = engine.Retry{Write: 10, Delete: 10}
		}
		if rows[i].AtOnce == nil {
			rows[i].AtOnce = unchanged
		}
	}
	return rows
}

// unmarkedTypes returns the resource types without a resourceGuid.
func unmarkedTypes() []engine.Type {
	short := 5 * time.Second
	return []engine.Type{
		{Name: typeBastion, Takes: 5 * time.Minute, Prepare: prepareBastion, View: viewBastion,
			Refs: []engine.Reference{{Path: "ipConfigurations.subnet", To: typeSubnet, As: engine.AsOwner},
				{Path: "ipConfigurations.publicIPAddress", To: typePublicIP}}},
		{Name: typeSecurity, Takes: short, Retry: engine.Retry{Write: 1, Delete: 1}},
		{Name: typeWatcher, Takes: short, AtOnce: alwaysAtOnce},
		{Name: typeFlowLog, Takes: short, Prepare: prepareFlowLog},
		{Name: typeZoneGroup, Takes: short, Global: true, Prepare: prepareZoneGroup, View: viewZoneGroup,
			Delete: engine.Work{Name: "dnszonegroup.delete", Finish: finishZoneGroupDelete}},
	}
}

// withGUID returns a Prepare function that also sets the resource's resourceGuid, which never changes
// during the resource's life.
func withGUID(prepare func(t *engine.Tx, d, old *engine.Doc) *engine.Error) func(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	return func(t *engine.Tx, d, old *engine.Doc) *engine.Error {
		if prepare != nil {
			if e := prepare(t, d, old); e != nil {
				return e
			}
		}
		value.Props(d.Body)["resourceGuid"] = uuid.NewString()
		if old != nil && value.Str(old.Body, "properties", "resourceGuid") != "" {
			value.Props(d.Body)["resourceGuid"] = value.Str(old.Body, "properties", "resourceGuid")
		}
		return nil
	}
}

// networkName is the rule for names. Source:
// https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules; the
// message is the service's.
var networkName = regexp.MustCompile(`^[\p{L}\p{N}_]([\p{L}\p{N}_.-]{0,78}[\p{L}\p{N}_])?$`)

// checkNetworkName returns an error for a name that the network provider does not allow.
// Zones and record sets have other rules, which are not checked here.
func checkNetworkName(id engine.ID) *engine.Error {
	typ := value.Lower(id.FullType())
	if strings.HasPrefix(typ, value.Lower(typeZone)) || strings.HasPrefix(typ, value.Lower(typePublicZone)) ||
		networkName.MatchString(id.Name()) {
		return nil
	}
	return engine.BadRequest("InvalidResourceName", "Resource name %s is invalid. The name can be up to 80 "+
		"characters long. It must begin with a word character, and it must end with a word character or with "+
		"'_'. The name may contain word characters or '.', '-', '_'.", id.Name())
}

// networkBusy returns the error for a write during another operation. For a part it is a retryable
// error with the time of the next attempt.
func networkBusy(op *engine.Operation, now time.Time) *engine.Error {
	wait := max(1, int(op.Due.Sub(now).Seconds()+0.999))
	if op.Lock != "" {
		e := engine.Refuse(http.StatusTooManyRequests, "RetryableError", "A retryable error occurred.")
		e.Details = []*engine.Error{{Code: "RetryableErrorDueToAnotherOperation", Message: fmt.Sprintf(
			"Operation %s (%s) is updating resource %s. The call can be retried in %d seconds.", operationName(op), op.ID, op.Lock, wait)}}
		e.RetryAfter = wait
		return e
	}
	e := engine.Conflict("AnotherOperationInProgress", "Another operation on this or dependent resource is in "+
		"progress. To retrieve status of the operation use uri: https://management.azure.com/subscriptions/%s/"+
		"providers/%s/locations/%s/operations/%s.", op.Subscription, op.Namespace, op.Location, op.ID)
	e.RetryAfter = 1
	return e
}

// operationName returns Azure's name of an operation, such as PutRouteOperation.
func operationName(op *engine.Operation) string {
	name := ""
	if id, err := engine.ParseID(op.Target); err == nil && len(id.Types) > 0 {
		name = strings.TrimSuffix(id.Types[len(id.Types)-1], "s")
		name = strings.ToUpper(name[:1]) + name[1:]
	}
	return op.Method[:1] + strings.ToLower(op.Method[1:]) + name + "Operation"
}

// checkLabel answers whether a DNS label is available in a region.
func checkLabel(c *engine.Request) *engine.Error {
	c.Reply(http.StatusOK, value.Object{"available": labelFree(c, c.Query.Get("domainNameLabel"), engine.Region(c.ID.Names[0]))})
	return nil
}

// checkAddress answers whether an address of a virtual network is free.
func checkAddress(c *engine.Request, vnet engine.ID) *engine.Error {
	ip, err := netip.ParseAddr(c.Query.Get("ipAddress"))
	if err != nil {
		return engine.BadRequest("InvalidIPAddress", "The IP address '%s' is invalid.", c.Query.Get("ipAddress"))
	}
	var e *engine.Error
	out := value.Object{"available": false, "availableIPAddresses": []any{}, "isPlatformReserved": false}
	c.Server.Read(func(t *engine.Tx) {
		d := t.Find(vnet.Key())
		if d == nil {
			e = engine.ErrNotFound(vnet)
			return
		}
		for _, s := range value.Items(d.Body, "properties", "subnets") {
			for _, prefix := range engine.Prefixes(value.Props(value.CloneObject(s))) {
				if prefix.Contains(ip) {
					out["available"] = !t.Taken(d.ID+"/subnets/"+value.Str(s, "name"), ip, "")
				}
			}
		}
	})
	if e != nil {
		return e
	}
	c.Reply(http.StatusOK, out)
	return nil
}
