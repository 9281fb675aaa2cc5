package catalog

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// SKU is a VM size as one location offers it to one subscription.
type SKU struct {
	Name, Family string
	// Zones are the availability zones in which the subscription can use the size.
	Zones []string
	// Restricted is the reason why the subscription cannot use the size at all, such as
	// NotAvailableForSubscription; empty if it can.
	Restricted string
	// capabilities are the size's capabilities in Azure's list, by name in lower case; zoneCapabilities are additional
	// capabilities by zone.
	capabilities     map[string]string
	zoneCapabilities map[string]map[string]string
}

// Capability returns a capability's value; names are Azure's, such as "vCPUs".
func (s SKU) Capability(name string) string { return s.capabilities[strings.ToLower(name)] }

// Has reports whether a capability is True in a zone, or in general when zone is "".
func (s SKU) Has(name, zone string) bool {
	return strings.EqualFold(s.Capability(name), "True") ||
		strings.EqualFold(s.zoneCapabilities[zone][strings.ToLower(name)], "True")
}

// Lacks reports whether the list has a capability of the size as False. A capability that is not in the list may exist.
func (s SKU) Lacks(name string) bool { return strings.EqualFold(s.Capability(name), "False") }

// Number returns the numeric value of a capability, or 0 if it is missing.
func (s SKU) Number(name string) float64 {
	n, err := strconv.ParseFloat(s.Capability(name), 64)
	if err != nil {
		return 0
	}
	return n
}

// VCPUs and MemoryGiB return the size's number of vCPUs and its memory.
func (s SKU) VCPUs() int         { return int(s.Number("vCPUs")) }
func (s SKU) MemoryGiB() float64 { return s.Number("MemoryGB") }

// ARM64 reports whether the size has Arm processors.
func (s SKU) ARM64() bool { return strings.EqualFold(s.Capability("CpuArchitectureType"), "Arm64") }

// AcceleratedNetworking reports whether network interfaces can have accelerated networking.
func (s SKU) AcceleratedNetworking() bool { return s.Has("AcceleratedNetworkingEnabled", "") }

// SetFaultDomains returns the largest number of fault domains of an availability set in the
// location; s has to be the SKU named "Aligned". It is 0 if unknown.
func (s SKU) SetFaultDomains() int { return int(s.Number("MaximumPlatformFaultDomainCount")) }

// Capabilities returns the names of the size's capabilities in lower case, including those of its zones.
func (s SKU) Capabilities() []string {
	names := slices.Collect(maps.Keys(s.capabilities))
	for _, zone := range s.zoneCapabilities {
		names = slices.AppendSeq(names, maps.Keys(zone))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

type capability struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type rawSKU struct {
	ResourceType string       `json:"resourceType"`
	Name         string       `json:"name"`
	Family       string       `json:"family"`
	Capabilities []capability `json:"capabilities"`
	LocationInfo []struct {
		Location    string   `json:"location"`
		Zones       []string `json:"zones"`
		ZoneDetails []struct {
			Name         []string     `json:"name"`
			Capabilities []capability `json:"capabilities"`
		} `json:"zoneDetails"`
	} `json:"locationInfo"`
	Restrictions []struct {
		Type            string   `json:"type"`
		Values          []string `json:"values"`
		ReasonCode      string   `json:"reasonCode"`
		RestrictionInfo struct {
			Locations []string `json:"locations"`
			Zones     []string `json:"zones"`
		} `json:"restrictionInfo"`
	} `json:"restrictions"`
}

// parseSKU parses one entry of the list of resource SKUs. ok is false for disks and
// snapshots, which are in the list too; availability sets are kept under their name.
func parseSKU(data json.RawMessage, location string) (SKU, bool) {
	var raw rawSKU
	if json.Unmarshal(data, &raw) != nil || raw.Name == "" {
		return SKU{}, false
	}
	switch strings.ToLower(raw.ResourceType) {
	case "virtualmachines", "availabilitysets":
	default:
		return SKU{}, false
	}
	s := SKU{Name: raw.Name, Family: raw.Family, capabilities: capabilityMap(raw.Capabilities),
		zoneCapabilities: map[string]map[string]string{}}
	for _, info := range raw.LocationInfo {
		if normal(info.Location) != location {
			continue
		}
		s.Zones = append(s.Zones, info.Zones...)
		for _, d := range info.ZoneDetails {
			for _, zone := range d.Name {
				if s.zoneCapabilities[zone] == nil {
					s.zoneCapabilities[zone] = map[string]string{}
				}
				maps.Copy(s.zoneCapabilities[zone], capabilityMap(d.Capabilities))
			}
		}
	}
	s.restrict(raw, location)
	slices.Sort(s.Zones)
	s.Zones = slices.Compact(s.Zones)
	return s, true
}

func (s *SKU) restrict(raw rawSKU, location string) {
	for _, r := range raw.Restrictions {
		switch strings.ToLower(r.Type) {
		case "location":
			here := slices.Concat(r.Values, r.RestrictionInfo.Locations)
			if slices.ContainsFunc(here, func(l string) bool { return normal(l) == location }) {
				s.Restricted = r.ReasonCode
				s.Zones = nil
			}
		case "zone":
			barred := r.RestrictionInfo.Zones
			s.Zones = slices.DeleteFunc(s.Zones, func(z string) bool { return slices.Contains(barred, z) })
		}
	}
}

func capabilityMap(list []capability) map[string]string {
	m := make(map[string]string, len(list))
	for _, c := range list {
		m[strings.ToLower(c.Name)] = c.Value
	}
	return m
}
