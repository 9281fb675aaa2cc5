package network

import (
	"net/http"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// typePublicZone is Azure's name of public DNS zones, in Azure's case. They are only documents: no
// DNS server answers from them.
const typePublicZone = "Microsoft.Network/dnszones"

// nameServers is the first of the groups of name servers that Azure assigns to zones.
var nameServers = []any{"ns1-01.azure-dns.com.", "ns2-01.azure-dns.net.", "ns3-01.azure-dns.org.", "ns4-01.azure-dns.info."}

// publicDNSTypes returns the resource types of public DNS.
func publicDNSTypes() []engine.Type {
	out := []engine.Type{{Name: typePublicZone, Style: engine.StyleDNS, Takes: 5 * time.Second, Global: true, Locations: []string{"global"},
		AtOnce: alwaysAtOnce, Quiet: true, Prepare: preparePublicZone, View: viewPublicZone,
		Actions: []engine.Action{{Name: "all", Method: http.MethodGet, Serve: listRecordSets},
			{Name: "recordsets", Method: http.MethodGet, Serve: listRecordSets}}}}
	for _, r := range []string{"A", "AAAA", "CAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT"} {
		out = append(out, engine.Type{Name: typePublicZone + "/" + r, Sync: true, Global: true, Prepare: prepareRecord})
	}
	for i := range out {
		out[i].ETag = engine.EtagPlain
	}
	return out
}

// preparePublicZone creates the record sets that every new zone has.
func preparePublicZone(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	value.SetDefault(value.Props(d.Body), "nameServers", nameServers)
	value.Props(d.Body)["maxNumberOfRecordsPerRecordSet"] = nil
	if old != nil {
		return nil
	}
	servers := []any{}
	for _, s := range nameServers {
		servers = append(servers, value.Object{"nsdname": s})
	}
	for typ, p := range map[string]value.Object{
		"NS": {"TTL": float64(172800), "NSRecords": servers},
		"SOA": {"TTL": float64(3600), "SOARecord": value.Object{"email": "azuredns-hostmaster.microsoft.com", "host": nameServers[0],
			"expireTime": float64(2419200), "minimumTTL": float64(300), "refreshTime": float64(3600),
			"retryTime": float64(300), "serialNumber": float64(1)}},
	} {
		id := d.Parsed.Child(typ, "@")
		p["fqdn"], p["targetResource"], p["provisioningState"] = d.Parsed.Name()+".", value.Object{}, engine.StatusSucceeded
		t.Put(&engine.Doc{ID: id.String(), Type: typePublicZone + "/" + typ, Parsed: id, Hidden: value.Object{},
			Body: value.Object{"properties": p}})
	}
	return nil
}

// viewPublicZone adds the number of record sets and removes the state, which a zone does not have.
func viewPublicZone(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	p := value.Props(body)
	delete(p, "provisioningState")
	p["numberOfRecordSets"] = len(t.Below(d.Key()))
}

// errNoZone returns the provider's error for a zone that does not exist.
func errNoZone(id engine.ID) *engine.Error {
	return engine.Refuse(http.StatusNotFound, "NotFound",
		"The zone '%s' does not exist in resource group '%s' of subscription '%s'.", id.Name(), id.Group,
		id.Subscription)
}
