package compute

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// size is a VM size: what the resource SKU list tells of it.
type size struct {
	name, family     string
	cores, memoryMiB int
	accelerated, arm bool
	restricted       bool
}

// sizes are common ones, with the figures of Microsoft's size pages. The last
// one is barred, to show how that looks.
var sizes = []size{
	{"Standard_B2s", "standardBSFamily", 2, 4096, false, false, false},
	{"Standard_B2ms", "standardBSFamily", 2, 8192, false, false, false},
	{"Standard_B4ms", "standardBSFamily", 4, 16384, false, false, false},
	{"Standard_B1s", "standardBSFamily", 1, 1024, false, false, false},
	{"Standard_D2s_v3", "standardDSv3Family", 2, 8192, true, false, false},
	{"Standard_D4s_v3", "standardDSv3Family", 4, 16384, true, false, false},
	{"Standard_D8s_v3", "standardDSv3Family", 8, 32768, true, false, false},
	{"Standard_D2_v3", "standardDv3Family", 2, 8192, true, false, false},
	{"Standard_D2s_v4", "standardDSv4Family", 2, 8192, true, false, false},
	{"Standard_D2s_v5", "standardDSv5Family", 2, 8192, true, false, false},
	{"Standard_D4s_v5", "standardDSv5Family", 4, 16384, true, false, false},
	{"Standard_D8s_v5", "standardDSv5Family", 8, 32768, true, false, false},
	{"Standard_D2ds_v5", "standardDDSv5Family", 2, 8192, true, false, false},
	{"Standard_D2as_v5", "standardDASv5Family", 2, 8192, true, false, false},
	{"Standard_D4as_v5", "standardDASv5Family", 4, 16384, true, false, false},
	{"Standard_D2ps_v5", "standardDPSv5Family", 2, 8192, true, true, false},
	{"Standard_DS1_v2", "standardDSv2Family", 1, 3584, false, false, false},
	{"Standard_DS2_v2", "standardDSv2Family", 2, 7168, true, false, false},
	{"Standard_DS1_v2", "standardDSv2Family", 1, 3584, true, false, false},
	{"Standard_D1_v2", "standardDv2Family", 1, 3584, true, false, false},
	{"Standard_D2_v2", "standardDv2Family", 2, 7168, true, false, false},
	{"Standard_D4_v3", "standardDv3Family", 4, 16384, true, false, false},
	{"Standard_DC2as_v5", "standardDCASv5Family", 2, 8192, true, false, false},
	{"Standard_E2s_v3", "standardESv3Family", 2, 16384, true, false, false},
	{"Standard_E4s_v5", "standardESv5Family", 4, 32768, true, false, false},
	{"Standard_F2s_v2", "standardFSv2Family", 2, 4096, true, false, false},
	{"Standard_F4s_v2", "standardFSv2Family", 4, 8192, true, false, false},
	{"Standard_NC6s_v3", "standardNCSv3Family", 6, 114688, true, false, true},
}

func sizeNamed(name string) (size, bool) {
	i := slices.IndexFunc(sizes, func(s size) bool { return strings.EqualFold(s.name, name) })
	if i < 0 {
		return size{}, false
	}
	return sizes[i], true
}

func sizeFor(s *engine.Server, location, name string, zones []string) (size, *engine.Error) {
	sz, ok := sizeNamed(name)
	place, known := engine.Places[location]
	if !known {
		return sz, engine.BadRequest("LocationNotAvailableForResourceType", "The provided location '%s' is not available for resource type 'Microsoft.Compute/virtualMachines'. List of available regions for the resource type is '%s'.", location, strings.Join(value.SortedKeys(engine.Places), ","))
	}
	if !ok {
		return sz, invalid("vmSize", "The value %s provided for the VM size is not valid. The valid sizes in the current region are: %s. Find out more on the valid VM sizes in each region at https://aka.ms/azure-regionservices.", name, sizeNames())
	}
	if sz.restricted {
		return sz, errSKU(name, location)
	}
	if len(zones) > 0 && (!place.Zonal || !slices.Contains([]string{"1", "2", "3"}, zones[0])) {
		return sz, engine.BadRequest("AvailabilityZoneNotSupported", "The zone(s) '%s' for resource type 'Microsoft.Compute/virtualMachines' is not supported in location '%s'.", strings.Join(zones, ","), location)
	}
	return sz, nil
}

func sizeNames() string {
	var names []string
	for _, s := range sizes {
		names = append(names, s.name)
	}
	return strings.Join(names, ",")
}

func errSKU(size, location string) *engine.Error {
	return engine.Conflict("SkuNotAvailable", "The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: %s' is currently not available in location '%s'. Please try another size or deploy to a different location or different zone. See https://aka.ms/azureskunotavailable for details.", size, location)
}

// listSKUs answers the SKUs of the regions.
func listSKUs(c *engine.Request) *engine.Error {
	_, only, _ := strings.Cut(c.Query.Get("$filter"), "'")
	only = engine.Region(strings.TrimSuffix(only, "'"))
	out := []any{}
	for _, r := range value.SortedKeys(engine.Places) {
		if only != "" && r != only {
			continue
		}
		for _, s := range sizes {
			zones := []any{}
			if engine.Places[r].Zonal {
				zones = []any{"1", "2", "3"}
			}
			restrictions := []any{}
			if s.restricted {
				restrictions = []any{value.Object{"type": "Location", "values": []any{r}, "reasonCode": "NotAvailableForSubscription", "restrictionInfo": value.Object{"locations": []any{r}}}}
			}
			out = append(out, value.Object{"resourceType": "virtualMachines", "name": s.name, "family": s.family, "tier": "Standard", "size": strings.TrimPrefix(s.name, "Standard_"), "locations": []any{r},
				"locationInfo": []any{value.Object{"location": r, "zones": zones, "zoneDetails": []any{}}}, "restrictions": restrictions, "capabilities": s.capabilities()})
		}
		out = append(out, value.Object{"resourceType": "availabilitySets", "name": "Aligned", "locations": []any{r}, "locationInfo": []any{value.Object{"location": r, "zones": []any{}}}, "restrictions": []any{},
			"capabilities": []any{value.Object{"name": "MaximumPlatformFaultDomainCount", "value": "3"}}})
	}
	c.Reply(http.StatusOK, value.Object{"value": out})
	return nil
}

func (s size) capabilities() []any {
	yes := func(b bool) string { return map[bool]string{true: "True", false: "False"}[b] }
	architecture := "x64"
	if s.arm {
		architecture = "Arm64"
	}
	out := []any{}
	for _, c := range [][2]string{
		{"vCPUs", strconv.Itoa(s.cores)}, {"MemoryGB", strconv.FormatFloat(float64(s.memoryMiB)/1024, 'f', -1, 64)}, {"PremiumIO", "True"}, {"AcceleratedNetworkingEnabled", yes(s.accelerated)},
		{"HyperVGenerations", "V1,V2"}, {"CpuArchitectureType", architecture}, {"EphemeralOSDiskSupported", yes(localDiskOf(s) != localDisk{})}, {"CachedDiskBytes", fmt.Sprint(localDiskOf(s).cache << 30)}, {"MaxResourceVolumeMB", fmt.Sprint(localDiskOf(s).temp << 10)}, {"LowPriorityCapable", "True"}, {"EncryptionAtHostSupported", "True"},
		{"MaxDataDiskCount", fmt.Sprint(2 * s.cores)}, {"vCPUsAvailable", strconv.Itoa(s.cores)},
	} {
		out = append(out, value.Object{"name": c[0], "value": c[1]})
	}
	return out
}

// listSizes answers the older list of sizes, which az vm list-sizes asks for.
func listSizes(c *engine.Request) *engine.Error {
	out := []any{}
	for _, s := range sizes {
		out = append(out, value.Object{"name": s.name, "numberOfCores": s.cores, "memoryInMB": s.memoryMiB, "maxDataDiskCount": 2 * s.cores, "osDiskSizeInMB": 1047552, "resourceDiskSizeInMB": localDiskOf(s).temp << 10})
	}
	c.Reply(http.StatusOK, value.Object{"value": out})
	return nil
}
