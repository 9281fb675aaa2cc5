package network

import (
	"encoding/base64"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// The private DNS types. A record set's type is the type of its records.
const (
	typeZone   = "Microsoft.Network/privateDnsZones"
	typeLink   = typeZone + "/virtualNetworkLinks"
	typeRecord = typeZone + "/A"
	typeSOA    = typeZone + "/SOA"
)

// maxRecordSets is Azure's limit of record sets in a private zone.
const maxRecordSets = 25000

// zonesAndLinks is the number of rows at the beginning of private DNS whose resources have a
// location.
const zonesAndLinks = 2

// dnsTypes returns the resource types of private DNS.
func dnsTypes() []engine.Type {
	out := []engine.Type{
		{Name: typeZone, Style: engine.StyleDNS, Takes: 20 * time.Second,
			Retry: engine.Retry{Write: 30, Delete: 30}, Created: 202, Global: true, Prepare: prepareZone,
			Guard: guardZone, View: viewZone,
			Actions: []engine.Action{{Name: "all", Method: http.MethodGet, Serve: listRecordSets}}},
		{Name: typeLink, Style: engine.StyleDNS, Takes: 20 * time.Second,
			Retry: engine.Retry{Write: 30, Delete: 30}, Created: 202, Global: true, Prepare: prepareLink,
			Refs: []engine.Reference{{Path: "virtualNetwork", To: typeVNet}}},
		{Name: typeSOA, Sync: true, Global: true, Prepare: prepareRecord, Guard: guardSOA, View: viewRecord},
	}
	for _, r := range []string{"A", "AAAA", "CNAME", "MX", "PTR", "SRV", "TXT"} {
		out = append(out, engine.Type{Name: typeZone + "/" + r, Sync: true, Global: true, Prepare: prepareRecord, View: viewRecord})
	}
	for i := range out {
		if i < zonesAndLinks {
			out[i].Locations = []string{"global"}
		}
		out[i].ETag = engine.EtagPlain
	}
	return out
}

// isRecord reports whether a type is a type of record sets, of private or public zones.
func isRecord(typ string) bool {
	typ = value.Lower(typ)
	rest, private := strings.CutPrefix(typ, value.Lower(typeZone)+"/")
	return private && rest != "virtualnetworklinks" || strings.HasPrefix(typ, value.Lower(typePublicZone)+"/")
}

// viewRecord hides the state, which record sets of private zones do not have.
func viewRecord(_ *engine.Tx, _ *engine.Doc, body value.Object, _ string) {
	delete(value.Props(body), "provisioningState")
}

// prepareZone creates the record set that every new zone has.
func prepareZone(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	if old != nil {
		return nil
	}
	d.Hidden["identity"] = uuid.NewString()
	id := d.Parsed.Child("SOA", "@")
	t.Put(&engine.Doc{ID: id.String(), Type: typeSOA, Parsed: id, Hidden: value.Object{},
		Body: value.Object{"properties": value.Object{"fqdn": d.Parsed.Name() + ".", "ttl": float64(3600), "isAutoRegistered": false,
			"soaRecord": value.Object{"email": "azureprivatedns-host.microsoft.com", "host": "azureprivatedns.net",
				"expireTime": float64(2419200), "minimumTtl": float64(10), "refreshTime": float64(3600),
				"retryTime": float64(300), "serialNumber": float64(1)}}}})
	return nil
}

func guardZone(t *engine.Tx, d *engine.Doc) *engine.Error {
	for _, r := range t.Below(d.Key()) {
		if r.Type == typeLink {
			return engine.Conflict("CannotDeleteResource", "Cannot delete resource while nested resources "+
				"exist. Some existing nested resource IDs include: '%s'. Please delete all nested resources "+
				"before deleting this "+
				"resource.", r.ID[strings.LastIndex(r.ID, "/providers/")+len("/providers/"):])
		}
	}
	return nil
}

func guardSOA(*engine.Tx, *engine.Doc) *engine.Error {
	return engine.BadRequest("CannotDeleteSoaRecordSet", "The SOA record set of a zone cannot be deleted.")
}

func viewZone(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	sets, links, registering := 0, 0, 0
	for _, child := range t.Below(d.Key()) {
		switch {
		case isRecord(child.Type):
			sets++
		case child.Type == typeLink:
			links++
			if value.Bool(t.Doc(child).Body, "properties", "registrationEnabled") {
				registering++
			}
		}
	}
	p := value.Props(body)
	p["numberOfRecordSets"], p["maxNumberOfRecordSets"] = sets, maxRecordSets
	p["numberOfVirtualNetworkLinks"], p["maxNumberOfVirtualNetworkLinks"] = links, 1000
	p["numberOfVirtualNetworkLinksWithRegistration"], p["maxNumberOfVirtualNetworkLinksWithRegistration"] = registering, 100
	if t.Since("2020-06-01") {
		p["internalId"] = base64.StdEncoding.EncodeToString([]byte("ImmutableZoneIdentity;" + value.Str(d.Hidden, "identity") + ";0"))
	}
}

func prepareLink(t *engine.Tx, d, _ *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	if id := value.Str(p, "virtualNetwork", "id"); t.Find(id) == nil {
		return engine.ErrReference(id, d.ID)
	}
	p["virtualNetworkLinkState"] = "Completed"
	return nil
}

// prepareRecord completes a record set of a private or public zone, which must contain a time to
// live. Source: https://github.com/Azure/azure-rest-api-specs/issues/13011; 0 seconds are allowed
// according to https://github.com/hashicorp/terraform-provider-azurerm/issues/23917.
func prepareRecord(_ *engine.Tx, d, _ *engine.Doc) *engine.Error {
	parent, _ := d.Parsed.Parent()
	p := value.Props(d.Body)
	var ttl any
	for name, v := range p {
		if strings.EqualFold(name, "ttl") { // public zones write TTL
			ttl = v
		}
	}
	if seconds, ok := ttl.(float64); !ok || seconds < 0 || seconds > math.MaxInt32 {
		return engine.BadRequest("BadRequest", "The request was invalid.")
	}
	p["fqdn"] = d.Parsed.Name() + "." + parent.Name() + "."
	if d.Parsed.Name() == "@" {
		p["fqdn"] = parent.Name() + "."
	}
	return nil
}

// listRecordSets answers the list of all record sets of a zone.
func listRecordSets(c *engine.Request, zone engine.ID) *engine.Error {
	suffix := value.Lower(c.Query.Get("$recordsetnamesuffix"))
	return c.Page(func(t *engine.Tx) ([]*engine.Record, *engine.Error) {
		if t.Record(zone.Key()) == nil {
			return nil, engine.ErrNotFound(zone)
		}
		var out []*engine.Record
		for _, r := range t.Below(zone.Key()) {
			if isRecord(r.Type) && strings.HasSuffix(value.Lower(r.Parsed().Name()), suffix) {
				out = append(out, r)
			}
		}
		return out, nil
	}, func(t *engine.Tx, r *engine.Record) any { return t.Shown(r, "") })
}
