package network

import (
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// prepareZoneGroup writes the names of an endpoint's service into the private zones
// of the group.
func prepareZoneGroup(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	if old != nil {
		dropRecords(t, old)
	}
	parent, _ := d.Parsed.Parent()
	endpoint := t.Find(parent.Key())
	for _, config := range value.Items(value.Props(d.Body), "privateDnsZoneConfigs") {
		zone := t.Find(value.Str(config, "properties", "privateDnsZoneId"))
		if zone == nil {
			return engine.ErrReference(value.Str(config, "properties", "privateDnsZoneId"), d.ID)
		}
		sets := []any{}
		for _, name := range value.Items(endpoint.Body, "properties", "customDnsConfigs") {
			set, _, _ := strings.Cut(value.Str(name, "fqdn"), ".")
			addresses := value.Texts(name, "ipAddresses")
			full := set + "." + zone.Parsed.Name()
			sets = append(sets, value.Object{"recordType": "A", "recordSetName": set, "fqdn": full, "ttl": float64(10),
				"ipAddresses": value.Anys(addresses)})
			record := zone.Parsed.Child("A", set)
			list := []any{}
			for _, a := range addresses {
				list = append(list, value.Object{"ipv4Address": a})
			}
			t.Put(&engine.Doc{ID: record.String(), Type: typeRecord, Parsed: record, Hidden: value.Object{}, Body: value.Object{
				"properties": value.Object{"fqdn": full + ".", "ttl": float64(10), "isAutoRegistered": false, "aRecords": list}}})
		}
		value.Props(config)["recordSets"] = sets
	}
	return nil
}

// dropRecords removes the records of a zone group from its zones.
func dropRecords(t *engine.Tx, group *engine.Doc) {
	for _, config := range value.Items(group.Body, "properties", "privateDnsZoneConfigs") {
		for _, set := range value.Items(config, "properties", "recordSets") {
			t.Drop(value.Str(config, "properties", "privateDnsZoneId") + "/A/" + value.Str(set, "recordSetName"))
		}
	}
}

func viewZoneGroup(_ *engine.Tx, _ *engine.Doc, body value.Object, _ string) {
	completeChildren(body, "privateDnsZoneConfigs", "privateDnsZoneConfigs", true)
	for _, config := range value.Items(value.Props(body), "privateDnsZoneConfigs") {
		for _, set := range value.Items(value.Props(config), "recordSets") {
			set["provisioningState"] = value.Str(body, "properties", "provisioningState")
		}
	}
}

func finishZoneGroupDelete(t *engine.Tx, op *engine.Operation, _ any, err *engine.Error) {
	if err != nil {
		engine.FinishPut(t, op, nil, err)
		return
	}
	if group := t.Find(op.Target); group != nil {
		dropRecords(t, group)
	}
	t.Drop(op.Target)
}
