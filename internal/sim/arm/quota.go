package arm

import (
	"maps"
	"net/http"
	"strings"
)

// coreLimit is the quota of cores in all and per family, of a large
// subscription; spot VMs have one of their own.
const coreLimit = 10000

// The names of what is counted besides the cores of a family.
const (
	usageCores    = "cores"
	usageSpot     = "lowPriorityCores"
	usageMachines = "virtualMachines"
	usageSets     = "virtualMachineScaleSets"
)

// usage counts what a subscription has in a location: cores in all, of spot VMs,
// and per family, machines and scale sets. A deallocated VM counts too.
// Source: https://learn.microsoft.com/azure/virtual-machines/quotas.
func (t *tx) usage(subscription, location string) map[string]int {
	subscription = lower(subscription)
	used := maps.Clone(t.usedOf(subscription, location))
	if used == nil {
		used = map[string]int{}
	}
	scope := "/subscriptions/" + subscription
	for set := range t.scan(typeScale, scope) {
		if set.location == location {
			used[usageSets]++
		}
	}
	return used
}

// quota refuses a VM, or so many instances of a set, that exceed the cores of a
// family.
func (t *tx) quota(d *doc, s size, n int, spot bool) *Error {
	family, label := s.family, s.family
	if spot {
		family, label = usageSpot, "LowPriority"
	}
	used, more := t.usedOf(d.id.Subscription, d.location())[family], n*s.cores
	if e := t.capacity(d, s, used); e != nil {
		return e
	}
	if used+more <= coreLimit {
		return nil
	}
	return errQuota(label, d.location(), coreLimit, used, more)
}

func errQuota(family, location string, limit, used, more int) *Error {
	return conflict("OperationNotAllowed", "Operation could not be completed as it results in exceeding approved %s Cores quota. Additional details - Deployment Model: Resource Manager, Location: %s, Current Limit: %d, Current Usage: %d, Additional Required: %d, (Minimum) New Limit Required: %d. Submit a request for Quota increase.", family, location, limit, used, more, used+more)
}

// listUsages answers the usages of a location.
func listUsages(c *call) *Error {
	var used map[string]int
	c.s.read(func(t *tx) { used = t.usage(c.id.Subscription, region(c.id.Names[0])) })
	usage := func(name, shown string, limit int) object {
		return object{"name": object{"value": name, "localizedValue": shown}, "unit": "Count", "currentValue": used[name], "limit": limit}
	}
	out := []any{usage(usageCores, "Total Regional vCPUs", coreLimit), usage(usageMachines, "Virtual Machines", 25000), usage(usageSets, "Virtual Machine Scale Sets", 2500), usage(usageSpot, "Total Regional Spot vCPUs", coreLimit)}
	seen := map[string]bool{}
	for _, s := range sizes {
		if !seen[s.family] {
			seen[s.family] = true
			out = append(out, usage(s.family, familyName(s.family), coreLimit))
		}
	}
	c.reply(http.StatusOK, object{"value": out})
	return nil
}

// familyName is what the portal and the az CLI show for a family: "Standard DSv3
// Family vCPUs" for standardDSv3Family.
func familyName(family string) string {
	return "Standard " + strings.TrimSuffix(strings.TrimPrefix(family, "standard"), "Family") + " Family vCPUs"
}

// usesOf is what a machine of a size takes, unless it is being deleted.
func usesOf(d *doc, name string, spot bool) []Use {
	sz, ok := sizeNamed(name)
	if !ok || isDeleting(d) {
		return nil
	}
	if spot {
		return []Use{{Name: usageSpot, N: sz.cores}, {Name: usageMachines, N: 1}}
	}
	return []Use{{Name: sz.family, N: sz.cores}, {Name: usageCores, N: sz.cores}, {Name: usageMachines, N: 1}}
}

func usesOfVM(d *doc) []Use {
	return usesOf(d, str(d.Body, "properties", "hardwareProfile", "vmSize"), isSpot(sub(d.Body, "properties")))
}

func usesOfInstance(d *doc) []Use { return usesOf(d, str(d.Body, "sku", "name"), isSpot(d.Hidden)) }
