package compute

import (
	"maps"
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/compute/catalogue"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// coreLimit is the quota of cores, in total and per family, as in a large subscription; spot VMs
// have a separate quota of the same size.
const coreLimit = 10000

// Names of quotas that do not count the cores of a family.
const (
	usageCores    = "cores"
	usageSpot     = "lowPriorityCores"
	usageMachines = "virtualMachines"
	usageSets     = "virtualMachineScaleSets"
)

// usage returns a subscription's use of the quotas in a location: cores in total, of spot
// VMs and per family, machines and scale sets. Deallocated VMs count too. Source:
// https://learn.microsoft.com/azure/virtual-machines/quotas.
func usage(t *engine.Tx, subscription, location string) map[string]int {
	subscription = value.Lower(subscription)
	used := maps.Clone(t.UsedOf(subscription, location))
	if used == nil {
		used = map[string]int{}
	}
	scope := "/subscriptions/" + subscription
	for set := range t.Scan(typeScale, scope) {
		if set.Location == location {
			used[usageSets]++
		}
	}
	return used
}

// quota returns an error if a VM, or n instances of a set, would exceed the quota of a
// family.
func quota(t *engine.Tx, d *engine.Doc, s catalogue.Size, n int, spot bool) *engine.Error {
	family, label := s.Family, s.Family
	if spot {
		family, label = usageSpot, "LowPriority"
	}
	used, more := t.UsedOf(d.Parsed.Subscription, d.Location())[family], n*s.VCPUs
	if e := capacity(t, d, s, used); e != nil {
		return e
	}
	if used+more <= coreLimit {
		return nil
	}
	return errQuota(label, d.Location(), coreLimit, used, more)
}

func errQuota(family, location string, limit, used, more int) *engine.Error {
	return engine.Conflict("OperationNotAllowed", "Operation could not be completed as it results in exceeding "+
		"approved %s Cores quota. Additional details - Deployment Model: Resource Manager, Location: %s, "+
		"Current Limit: %d, Current Usage: %d, Additional Required: %d, (Minimum) New Limit Required: %d. "+
		"Submit a request for Quota increase.", family, location, limit, used, more, used+more)
}

// listUsages answers the list of usages in a location.
func listUsages(c *engine.Request) *engine.Error {
	var used map[string]int
	c.Server.Read(func(t *engine.Tx) { used = usage(t, c.ID.Subscription, engine.Region(c.ID.Names[0])) })
	usage := func(name, shown string, limit int) value.Object {
		return value.Object{"name": value.Object{"value": name, "localizedValue": shown}, "unit": "Count",
			"currentValue": used[name], "limit": limit}
	}
	out := []any{usage(usageCores, "Total Regional vCPUs", coreLimit),
		usage(usageMachines, "Virtual Machines", 25000), usage(usageSets, "Virtual Machine Scale Sets", 2500),
		usage(usageSpot, "Total Regional Spot vCPUs", coreLimit)}
	seen := map[string]bool{}
	for _, s := range catalogue.Sizes() {
		if !seen[s.Family] {
			seen[s.Family] = true
			out = append(out, usage(s.Family, familyName(s.Family), coreLimit))
		}
	}
	c.Reply(http.StatusOK, value.Object{"value": out})
	return nil
}

// familyName returns the name of a family in the portal and the az CLI: "Standard DSv3
// Family vCPUs" for standardDSv3Family.
func familyName(family string) string {
	return "Standard " + strings.TrimSuffix(strings.TrimPrefix(family, "standard"), "Family") + " Family vCPUs"
}

// usesOf returns the quotas that a machine of a size uses, unless it is being deleted.
func usesOf(d *engine.Doc, name string, spot bool) []engine.Use {
	sz, ok := catalogue.SizeNamed(name)
	if !ok || isDeleting(d) {
		return nil
	}
	if spot {
		return []engine.Use{{Name: usageSpot, N: sz.VCPUs}, {Name: usageMachines, N: 1}}
	}
	return []engine.Use{{Name: sz.Family, N: sz.VCPUs}, {Name: usageCores, N: sz.VCPUs}, {Name: usageMachines, N: 1}}
}

func usesOfVM(d *engine.Doc) []engine.Use {
	return usesOf(d, value.Str(d.Body, "properties", "hardwareProfile", "vmSize"), isSpot(value.Sub(d.Body, "properties")))
}

func usesOfInstance(d *engine.Doc) []engine.Use {
	return usesOf(d, value.Str(d.Body, "sku", "name"), isSpot(d.Hidden))
}
