package arm

import (
	"net/http"
	"strings"
	"time"
)

// The private DNS types. A record set's type is the type of its records.
const (
	typeZone   = "Microsoft.Network/privateDnsZones"
	typeLink   = typeZone + "/virtualNetworkLinks"
	typeRecord = typeZone + "/A"
	typeSOA    = typeZone + "/SOA"
)

// maxRecordSets is Azure's limit of a private zone.
const maxRecordSets = 25000

// dnsTypes are the rows of private DNS.
func dnsTypes() []Type {
	out := []Type{
		{Name: typeZone, Style: styleDNS, Takes: 20 * time.Second, Created: 202, Global: true, Prepare: prepareZone, Guard: guardZone, View: viewZone,
			Actions: []Action{{Name: "all", Method: http.MethodGet, Serve: listRecordSets}}},
		{Name: typeLink, Style: styleDNS, Takes: 20 * time.Second, Created: 202, Global: true, Prepare: prepareLink,
			Refs: []Reference{{Path: "virtualNetwork", To: typeVNet}}},
		{Name: typeSOA, Sync: true, Global: true, Prepare: prepareRecord, Guard: guardSOA},
	}
	for _, r := range []string{"A", "AAAA", "CNAME", "MX", "PTR", "SRV", "TXT"} {
		out = append(out, Type{Name: typeZone + "/" + r, Sync: true, Global: true, Prepare: prepareRecord})
	}
	for i := range out {
		out[i].ETag = etagPlain
	}
	return out
}

// isRecord says whether a type is one of record sets.
func isRecord(typ string) bool {
	rest, ok := strings.CutPrefix(lower(typ), lower(typeZone)+"/")
	return ok && rest != "virtualnetworklinks"
}

// prepareZone gives a new zone the record set that each has.
func prepareZone(t *tx, d, old *doc) *Error {
	setDefault(d.Body, "location", "global")
	if old != nil {
		return nil
	}
	id := d.id.child("SOA", "@")
	t.put(&doc{ID: id.String(), Type: typeSOA, id: id, Hidden: object{}, Body: object{"properties": object{"fqdn": d.id.name() + ".", "ttl": float64(3600), "isAutoRegistered": false,
		"soaRecord": object{"email": "azureprivatedns-host.microsoft.com", "host": "azureprivatedns.net", "expireTime": float64(2419200), "minimumTtl": float64(10), "refreshTime": float64(3600), "retryTime": float64(300), "serialNumber": float64(1)}}}})
	return nil
}

func guardZone(t *tx, d *doc) *Error {
	for _, r := range t.below(d.key()) {
		if r.Type == typeLink {
			return conflict("CannotDeleteResource", "Cannot delete resource while nested resources exist. Some existing nested resource IDs include: '%s'. Please delete all nested resources before deleting this resource.", r.ID)
		}
	}
	return nil
}

func guardSOA(*tx, *doc) *Error {
	return badRequest("CannotDeleteSoaRecordSet", "The SOA record set of a zone cannot be deleted.")
}

func viewZone(t *tx, d *doc, body object, _ string) {
	sets, links, registering := 0, 0, 0
	for _, child := range t.below(d.key()) {
		switch {
		case isRecord(child.Type):
			sets++
		case child.Type == typeLink:
			links++
			if boolean(t.doc(child).Body, "properties", "registrationEnabled") {
				registering++
			}
		}
	}
	p := props(body)
	p["numberOfRecordSets"], p["maxNumberOfRecordSets"] = sets, maxRecordSets
	p["numberOfVirtualNetworkLinks"], p["maxNumberOfVirtualNetworkLinks"] = links, 1000
	p["numberOfVirtualNetworkLinksWithRegistration"], p["maxNumberOfVirtualNetworkLinksWithRegistration"] = registering, 100
	p["internalId"] = "SW1tdXRhYmxlWm9uZUlkZW50aXR5"
}

func prepareLink(t *tx, d, _ *doc) *Error {
	p := props(d.Body)
	if id := str(p, "virtualNetwork", "id"); t.find(id) == nil {
		return errReference(id, d.ID)
	}
	p["virtualNetworkLinkState"] = "Completed"
	setDefault(p, "registrationEnabled", false)
	setDefault(d.Body, "location", "global")
	return nil
}

func prepareRecord(_ *tx, d, _ *doc) *Error {
	parent, _ := d.id.parent()
	p := props(d.Body)
	p["fqdn"] = d.id.name() + "." + parent.name() + "."
	if d.id.name() == "@" {
		p["fqdn"] = parent.name() + "."
	}
	setDefault(p, "ttl", float64(3600))
	setDefault(p, "isAutoRegistered", false)
	return nil
}

// listRecordSets answers the list of all record sets of a zone.
func listRecordSets(c *call, zone resourceID) *Error {
	suffix := lower(c.query.Get("$recordsetnamesuffix"))
	return c.page(func(t *tx) ([]*record, *Error) {
		if t.record(zone.key()) == nil {
			return nil, errNotFound(zone)
		}
		var out []*record
		for _, r := range t.below(zone.key()) {
			if isRecord(r.Type) && strings.HasSuffix(lower(r.id().name()), suffix) {
				out = append(out, r)
			}
		}
		return out, nil
	}, func(t *tx, r *record) any { return t.shown(r, "") })
}
