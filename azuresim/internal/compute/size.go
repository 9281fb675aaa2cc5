package compute

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"casement.dev/casement/azuresim/internal/compute/catalogue"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// barredSize is a size that the subscription cannot use, to emulate a restricted SKU. Azure
// retired the series in 2025.
const barredSize = "Standard_NC6s_v3"

func sizeFor(t *engine.Tx, location, name string, zones []string) (catalogue.Size, *engine.Error) {
	sz, ok := catalogue.SizeNamed(name)
	if !ok {
		return sz, invalid("vmSize", "The value %s provided for the VM size is not valid. The valid sizes in "+
			"the current region are: %s. Find out more on the valid VM sizes in each region at "+
			"https://aka.ms/azure-regionservices.", name, sizeNames())
	}
	if sz.Name == barredSize || engine.Retired(t.Now, sz.RetiredOn()) {
		return sz, errSKU(name, location)
	}
	if len(zones) > 0 && !engine.Places[location].Zonal {
		return sz, engine.BadRequest("AvailabilityZoneNotSupported",
			"The zone(s) '%s' for resource type 'Microsoft.Compute/virtualMachines' is not supported in location '%s'.",
			strings.Join(zones, ","), location)
	}
	return sz, nil
}

var sizeNames = sync.OnceValue(func() string {
	var names []string
	for _, s := range catalogue.Sizes() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ",")
})

func errSKU(size, location string) *engine.Error {
	return engine.Conflict("SkuNotAvailable", "The requested VM size for resource 'Following SKUs have failed "+
		"for Capacity Restrictions: %s' is currently not available in location '%s'. Please try another size "+
		"or deploy to a different location or different zone. See https://aka.ms/azureskunotavailable for "+
		"details.", size, location)
}

// skuFixed has the parts of a SKU's entry that are the same in all regions, in encoded form,
// because the list of one region is megabytes long.
type skuFixed struct {
	size catalogue.Size
	json []byte
}

var skusFixed = sync.OnceValue(func() []skuFixed {
	var out []skuFixed
	for _, s := range catalogue.Sizes() {
		capabilities := []any{}
		for _, c := range s.Capabilities() {
			capabilities = append(capabilities, value.Object{"name": c.Name, "value": c.Value})
		}
		tier, short, _ := strings.Cut(s.Name, "_")
		out = append(out, skuFixed{s, encodeFields(value.Object{"resourceType": "virtualMachines", "name": s.Name,
			"family": s.Family, "tier": tier, "size": short, "capabilities": capabilities})})
	}
	return out
})

// encodeFields returns an encoded object without its closing brace, so that more fields can
// follow.
func encodeFields(o value.Object) []byte {
	data, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("encode a SKU: %v", err)) // all values are text
	}
	return data[:len(data)-1]
}

// listSKUs answers the list of SKUs. Azure repeats each entry for each region. Without a filter
// that list would be hundreds of megabytes long here, because every region has every size, so the
// answer has one entry for all regions with zones and one for all regions without. Clients read the
// zones of an entry's first region.
func listSKUs(c *engine.Request) *engine.Error {
	_, only, _ := strings.Cut(c.Query.Get("$filter"), "'")
	only = engine.Region(strings.TrimSuffix(only, "'"))
	zonal, plain := []string{}, []string{}
	for _, r := range value.SortedKeys(engine.Places) {
		switch {
		case only != "" && r != only:
		case engine.Places[r].Zonal:
			zonal = append(zonal, r)
		default:
			plain = append(plain, r)
		}
	}
	var entries [][]byte
	for _, regions := range [][]string{zonal, plain} {
		if len(regions) > 0 {
			entries = append(entries, skuEntries(c.Server.Clock.Now(), regions)...)
		}
	}
	out := []byte(`{"value":[`)
	for i, e := range entries {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, e...), '}')
	}
	c.Reply(http.StatusOK, json.RawMessage(append(out, `]}`...)))
	return nil
}

// skuEntries returns the entries for some regions, each without its closing brace.
func skuEntries(now time.Time, regions []string) [][]byte {
	// Entries have only four forms of these fields: with or without ultra disks, for a barred size
	// or not.
	place := map[[2]bool][]byte{}
	for _, ultra := range []bool{false, true} {
		for _, barred := range []bool{false, true} {
			o := skuPlaces(regions, ultra, barred)
			place[[2]bool{ultra, barred}] = append([]byte{','}, encodeFields(o)[1:]...)
		}
	}
	var out [][]byte
	for _, s := range skusFixed() {
		barred := s.size.Name == barredSize || engine.Retired(now, s.size.RetiredOn())
		out = append(out, slices.Concat(s.json, place[[2]bool{s.size.UltraDisks(), barred}]))
	}
	sets := skuPlaces(regions, false, false)
	sets["resourceType"], sets["name"] = "availabilitySets", "Aligned"
	sets["capabilities"] = []any{value.Object{"name": "MaximumPlatformFaultDomainCount", "value": "3"}}
	for _, info := range value.Items(sets, "locationInfo") {
		info["zones"] = []any{}
	}
	return append(out, encodeFields(sets))
}

// skuPlaces returns the fields of an entry that describe where the SKU is offered.
func skuPlaces(regions []string, ultra, barred bool) value.Object {
	info, restrictions := []any{}, []any{}
	for _, r := range regions {
		zones, details := []any{}, []any{}
		if engine.Places[r].Zonal {
			zones = []any{"1", "2", "3"}
			if ultra {
				details = []any{value.Object{
					"name": zones, "capabilities": []any{value.Object{"name": "UltraSSDAvailable", "value": "True"}},
				}}
			}
		}
		info = append(info, value.Object{"location": r, "zones": zones, "zoneDetails": details})
	}
	all := value.Anys(regions)
	if barred {
		restrictions = []any{value.Object{"type": "Location", "values": all,
			"reasonCode": "NotAvailableForSubscription", "restrictionInfo": value.Object{"locations": all}}}
	}
	return value.Object{"locations": all, "locationInfo": info, "restrictions": restrictions}
}

// listSizes answers the older list of sizes, which az vm list-sizes requests.
func listSizes(c *engine.Request) *engine.Error {
	out := []any{}
	for _, s := range catalogue.Sizes() {
		out = append(out, value.Object{"name": s.Name, "numberOfCores": s.VCPUs, "memoryInMB": s.MemoryMiB,
			"maxDataDiskCount": s.DataDisks, "osDiskSizeInMB": 1047552, "resourceDiskSizeInMB": s.TempGiB << 10})
	}
	c.Reply(http.StatusOK, value.Object{"value": out})
	return nil
}
