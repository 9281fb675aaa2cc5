package network

import (
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/defaults"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// The types of Private Link. They are documents with addresses; the address of an endpoint is not
// reachable.
const (
	typeEndpoint    = "Microsoft.Network/privateEndpoints"
	typeZoneGroup   = typeEndpoint + "/privateDnsZoneGroups"
	typeLinkService = "Microsoft.Network/privateLinkServices"
)

// linkTypes returns the resource types of Private Link that have a resourceGuid.
func linkTypes() []engine.Type {
	return []engine.Type{
		{Name: typeEndpoint, Takes: 20 * time.Second, Prepare: prepareEndpoint, View: viewEndpoint,
			Delete: engine.Work{Name: "privateendpoint.delete", Finish: finishEndpointDelete},
			Refs:   []engine.Reference{{Path: "subnet", To: typeSubnet}}},
		{Name: typeLinkService, Takes: 10 * time.Second, Prepare: prepareLinkService, View: viewLinkService,
			Delete: engine.Work{Name: "privatelinkservice.delete", Finish: finishLinkServiceDelete},
			Refs: []engine.Reference{{Path: "ipConfigurations.subnet", To: typeSubnet},
				{Path: "loadBalancerFrontendIpConfigurations", To: typeBalancer + "/frontendIPConfigurations"}}},
	}
}

// prepareEndpoint connects a new endpoint: it creates an interface in the endpoint's subnet and
// lists the service's names with the interface's address.
func prepareEndpoint(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	connect(p, "privateLinkServiceConnections", "Approved", "Auto-Approved")
	connect(p, "manualPrivateLinkServiceConnections", "Pending", "Awaiting approval")
	if old != nil {
		before := value.Sub(old.Body, "properties")
		p["networkInterfaces"], p["customDnsConfigs"] = value.Clone(before["networkInterfaces"]), value.Clone(before["customDnsConfigs"])
		return nil
	}
	group, names := serviceOf(p)
	config := value.Object{"privateLinkConnectionProperties": value.Object{
		"groupId": group, "requiredMemberName": group, "fqdns": value.Anys(names),
	}}
	name, subnet := value.Str(p, "customNetworkInterfaceName"), value.Str(p, "subnet", "id")
	nic, e := ownInterface(t, d, name, "privateEndpointIpConfig."+uuid.NewString(), subnet, config)
	if e != nil {
		return e
	}
	value.Props(nic.Body)["privateEndpoint"] = value.Object{"id": d.ID}
	t.Put(nic)
	p["networkInterfaces"] = value.IDs([]string{nic.ID})
	dns := []any{}
	for _, name := range names {
		dns = append(dns, value.Object{"fqdn": name, "ipAddresses": []any{firstAddress(nic)}})
	}
	p["customDnsConfigs"] = dns
	return nil
}

// connect sets the state of an endpoint's connections.
func connect(p value.Object, field, status, description string) {
	for _, c := range value.Items(p, field) {
		value.Props(c)["privateLinkServiceConnectionState"] = value.Object{
			"status": status, "description": description, "actionsRequired": "None",
		}
	}
}

// serviceOf returns the sub-resource of a service to which a private endpoint connects, and the
// public names that resolve to its address. Source:
// https://learn.microsoft.com/azure/private-link/private-endpoint-dns.
func serviceOf(p value.Object) (group string, names []string) {
	service := ""
	for _, field := range []string{"privateLinkServiceConnections", "manualPrivateLinkServiceConnections"} {
		for _, c := range value.Items(p, field) {
			service = value.Str(c, "properties", "privateLinkServiceId")
			if groups := value.Texts(c, "properties", "groupIds"); len(groups) > 0 {
				group = groups[0]
			}
		}
	}
	id, err := engine.ParseID(service)
	if err != nil {
		return group, nil
	}
	name := value.Lower(id.Name())
	switch value.Lower(id.FullType()) {
	case "microsoft.storage/storageaccounts":
		return group, []string{name + "." + group + ".core.windows.net"}
	case "microsoft.keyvault/vaults":
		return group, []string{name + ".vault.azure.net"}
	case "microsoft.compute/diskaccesses":
		return group, []string{"md-impexp-" + name + ".z1.blob.storage.azure.net"}
	}
	return group, nil
}

// ownInterface returns a new interface of a resource in a subnet. The caller stores it.
func ownInterface(t *engine.Tx, owner *engine.Doc, name, config, subnet string,
	extra value.Object) (*engine.Doc, *engine.Error) {
	if name == "" {
		name = owner.Parsed.Name() + ".nic." + uuid.NewString()
	}
	id := engine.ID{
		Subscription: owner.Parsed.Subscription, Group: owner.Parsed.Group, Namespace: networkSpace,
	}.Child("networkInterfaces", name)
	p := value.Object{"subnet": value.Object{"id": subnet}}
	maps.Copy(p, extra)
	nic := &engine.Doc{ID: id.String(), Type: typeNIC, Parsed: id, Hidden: value.Object{},
		Body: value.Object{"location": owner.Location(), "managedBy": owner.ID,
			"properties": value.Object{"macAddress": "", "ipConfigurations": []any{value.Object{"name": config, "properties": p}}}}}
	if e := withGUID(prepareNIC)(t, nic, nil); e != nil {
		return nil, e
	}
	defaults.Fill(typeNIC, "", nic.Body)
	value.Props(nic.Body)["provisioningState"] = engine.StatusSucceeded
	return nic, nil
}

func firstAddress(nic *engine.Doc) string {
	for _, c := range value.Items(nic.Body, "properties", "ipConfigurations") {
		return value.Str(c, "properties", "privateIPAddress")
	}
	return ""
}

func viewEndpoint(t *engine.Tx, _ *engine.Doc, body value.Object, _ string) {
	p := value.Props(body)
	for _, field := range []string{"privateLinkServiceConnections", "manualPrivateLinkServiceConnections"} {
		completeChildren(body, field, field, false)
	}
	if value.Str(p, "provisioningState") == updating {
		p["customDnsConfigs"] = []any{}
		for _, c := range value.Items(p, "privateLinkServiceConnections") {
			value.Sub(c, "properties", "privateLinkServiceConnectionState")["description"] = "Auto Approved"
		}
	}
}

// finishEndpointDelete removes an endpoint with its interface and the records of its zone groups.
func finishEndpointDelete(t *engine.Tx, op *engine.Operation, _ any, err *engine.Error) {
	if err != nil {
		engine.FinishPut(t, op, nil, err)
		return
	}
	for _, group := range t.All(typeZoneGroup, op.Target) {
		dropRecords(t, group)
	}
	dropInterfaces(t, op.Target)
}

// dropInterfaces removes a resource and the interfaces that it owns.
func dropInterfaces(t *engine.Tx, id string) {
	if d := t.Find(id); d != nil {
		for _, nic := range value.Items(d.Body, "properties", "networkInterfaces") {
			t.Drop(value.Str(nic, "id"))
		}
	}
	t.Drop(id)
}

func prepareLinkService(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	subnet := ""
	for i, c := range value.Items(p, "ipConfigurations") {
		value.SetDefault(value.Props(c), "primary", i == 0)
		if i == 0 {
			subnet = value.Str(c, "properties", "subnet", "id")
		}
	}
	if old != nil {
		before := value.Sub(old.Body, "properties")
		p["alias"], p["networkInterfaces"] = before["alias"], value.Clone(before["networkInterfaces"])
		return nil
	}
	nic, e := ownInterface(t, d, "", d.Parsed.Name()+"."+uuid.NewString(), subnet, nil)
	if e != nil {
		return e
	}
	t.Put(nic)
	p["networkInterfaces"] = value.IDs([]string{nic.ID})
	p["alias"] = strings.Join([]string{d.Parsed.Name(), uuid.NewString(), d.Location(), "azure.privatelinkservice"}, ".")
	return nil
}

func viewLinkService(_ *engine.Tx, _ *engine.Doc, body value.Object, _ string) {
	completeChildren(body, "ipConfigurations", "ipConfigurations", false)
	value.Props(body)["privateEndpointConnections"] = []any{}
}

func finishLinkServiceDelete(t *engine.Tx, op *engine.Operation, _ any, err *engine.Error) {
	if err != nil {
		engine.FinishPut(t, op, nil, err)
		return
	}
	dropInterfaces(t, op.Target)
}
