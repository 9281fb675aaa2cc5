package arm

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Types that code here names.
const (
	typeGroup    = "Microsoft.Resources/resourceGroups"
	typeVNet     = "Microsoft.Network/virtualNetworks"
	typeNSG      = "Microsoft.Network/networkSecurityGroups"
	typeTable    = "Microsoft.Network/routeTables"
	typeGateway  = "Microsoft.Network/natGateways"
	typePublicIP = "Microsoft.Network/publicIPAddresses"
	typeBalancer = "Microsoft.Network/loadBalancers"
	typeNIC      = "Microsoft.Network/networkInterfaces"
	typeVM       = "Microsoft.Compute/virtualMachines"
	typeExt      = "Microsoft.Compute/virtualMachines/extensions"
	typeDisk     = "Microsoft.Compute/disks"
	typeSet      = "Microsoft.Compute/availabilitySets"
	typeIdentity = "Microsoft.ManagedIdentity/userAssignedIdentities"
	typeRole     = "Microsoft.Authorization/roleAssignments"

	typeDeployment = "Microsoft.Resources/deployments"
)

// kind is how resources of one type behave. A hook that is nil does nothing.
type kind struct {
	typ   string
	style style
	// takes is how long Azure needs for a write.
	takes time.Duration
	// sync types answer without an operation.
	sync bool
	// created is the status of a PUT that makes the resource; 201 when 0.
	created int
	// global types have no location of their own.
	global bool
	// parts are the child types that live inside the document, with the array
	// that holds them; writable ones may be PUT and deleted singly.
	parts map[string]bool
	// put and delete are the actions of the operations.
	put, delete string
	// update is the action of a write that changes the resource; "put" when empty.
	update string
	// supersedes: a delete ends what is under way, in place of being refused.
	supersedes bool
	// prepare validates and completes a write. old is nil on creation.
	prepare func(t *tx, d, old *doc) *Error
	// guard refuses a delete.
	guard func(t *tx, d *doc) *Error
	// rests says that view would add nothing; nil never says so.
	rests func(t *tx, r *record, expand string) bool
	// view adds to body what is computed on reading.
	view func(t *tx, d *doc, body object, expand string)
}

// kinds lists the resource types that the local Azure models, by lower-case name.
func kinds() map[string]*kind {
	network := 5 * time.Second
	list := []*kind{
		{typ: typeVNet, style: styleNetwork, takes: network, parts: map[string]bool{"subnets": true, "virtualNetworkPeerings": true}, prepare: prepareVNet, guard: guardVNet, view: viewVNet},
		{typ: typeNSG, style: styleNetwork, takes: network, parts: map[string]bool{"securityRules": true, "defaultSecurityRules": false}, prepare: prepareNSG, guard: guardNSG, view: viewUsers("subnets", "networkInterfaces")},
		{typ: typeTable, style: styleNetwork, takes: network, parts: map[string]bool{"routes": true}, prepare: prepareArrays("routes"), guard: guardTable, view: viewUsers("subnets")},
		{typ: typeGateway, style: styleNetwork, takes: network, prepare: prepareGateway, guard: guardGateway, view: viewUsers("subnets")},
		{typ: typePublicIP, style: styleNetwork, takes: network, put: "ip.put", prepare: preparePublicIP, guard: guardPublicIP, view: viewPublicIP},
		{typ: typeBalancer, style: styleNetwork, takes: network, prepare: prepareBalancer, guard: guardBalancer, view: viewBalancer, parts: map[string]bool{
			"backendAddressPools": true, "inboundNatRules": true, "frontendIPConfigurations": false, "probes": false, "loadBalancingRules": false, "outboundRules": false}},
		{typ: typeNIC, style: styleNetwork, takes: 2 * time.Second, parts: map[string]bool{"ipConfigurations": false}, prepare: prepareNIC, guard: guardNIC, view: viewNIC},
		{typ: typeVM, style: styleCompute, takes: 30 * time.Second, put: "vm.create", update: "vm.update", delete: "vm.delete", supersedes: true, prepare: prepareVM, rests: restsVM, view: viewVM},
		{typ: typeExt, style: styleCompute, takes: 10 * time.Second, put: "ext.put", update: "ext.put", prepare: prepareExtension},
		{typ: typeDisk, style: styleCompute, takes: 3 * time.Second, created: 202, prepare: prepareDisk, guard: guardDisk, view: viewDisk},
		{typ: typeSet, sync: true, created: 200, guard: guardSet, view: viewUsers("virtualMachines")},
		{typ: typeIdentity, sync: true, prepare: prepareIdentity},
		{typ: typeFederated, sync: true, global: true, prepare: prepareFederated},
		{typ: typeDeployment, style: styleGroup, takes: time.Second, global: true, supersedes: true},
	}
	list = slices.Concat(list, scaleSetKinds(), galleryKinds(), dnsKinds(), authorizationKinds(), vaultKinds(), bastionKinds())
	out := map[string]*kind{}
	for _, k := range list {
		k.put, k.update, k.delete = orDefault(k.put, "put"), orDefault(k.update, "put"), orDefault(k.delete, "delete")
		out[lower(k.typ)] = k
	}
	return out
}

// kindOf finds the kind of a resource, and the part's type and parent when the
// ID is that of a part.
func (s *Server) kindOf(id resourceID) (k *kind, parent resourceID, part string) {
	if k := s.types[lower(id.fullType())]; k != nil {
		return k, id, ""
	}
	parent, ok := id.parent()
	if !ok {
		return nil, id, ""
	}
	k = s.types[lower(parent.fullType())]
	if k == nil {
		return nil, id, ""
	}
	for p := range k.parts {
		if lower(p) == lower(id.Types[len(id.Types)-1]) {
			return k, parent, p
		}
	}
	return nil, id, ""
}

// atRest says whether clients see a record as it is stored.
func (t *tx) atRest(r *record, expand string) bool {
	k := t.s.types[lower(r.Type)]
	switch {
	case k == nil:
		return true
	case k.style == styleNetwork || strings.HasPrefix(r.Type, typeZone):
		return false
	case k.view == nil:
		return true
	}
	return k.rests != nil && k.rests(t, r, expand)
}

// shown is a record as clients see it, encoded.
func (t *tx) shown(r *record, expand string) json.RawMessage {
	if t.atRest(r, expand) {
		if out, err := t.plain(r); err == nil {
			return out
		}
	}
	return marshal(t.view(t.doc(r), expand))
}

// view is a document as clients see it.
func (t *tx) view(d *doc, expand string) object {
	body := cloneObject(d.Body)
	body["id"], body["name"], body["type"] = d.ID, d.id.name(), d.Type
	if k := t.s.types[lower(d.Type)]; k != nil {
		if k.style == styleNetwork {
			body["etag"] = `W/"` + d.ETag + `"`
			for part := range k.parts {
				for _, e := range items(props(body), part) {
					completePart(e, d.ID, part, d.Type, d.ETag)
				}
			}
		} else if strings.HasPrefix(d.Type, typeZone) {
			body["etag"] = d.ETag
		}
		if k.view != nil {
			k.view(t, d, body, expand)
		}
	}
	return body
}

// completePart gives a child inside a document what clients expect of it.
func completePart(e object, parent, part, typ, etag string) {
	e["id"] = parent + "/" + part + "/" + str(e, "name")
	e["etag"] = `W/"` + etag + `"`
	setDefault(e, "type", typ+"/"+part)
	setDefault(props(e), "provisioningState", "Succeeded")
}
