package arm

import (
	"cmp"
	"slices"
)

// scale brings a set's instances to its capacity: new ones are made in the state
// Creating, those that go are marked Deleting. The operation does the rest.
func (t *tx) scale(set *doc, sz size) *Error {
	here := slices.DeleteFunc(t.members(set), isDeleting)
	missing := capacityOf(set) - len(here)
	if missing < 0 {
		for _, d := range chooseVictims(set, here, -missing) {
			t.assign(d, taskDelete)
			here = slices.DeleteFunc(here, func(o *doc) bool { return o.key() == d.key() })
		}
		// Protected instances stay, and with them the capacity.
		setCapacity(set, len(here))
		return nil
	}
	if missing == 0 {
		return nil
	}
	if e := t.quota(set, sz, missing, isSpot(profileOf(set))); e != nil {
		return e
	}
	next, _ := number(set.Hidden, "next")
	pool := newAddressPool(t)
	for range missing {
		zone := leastUsedZone(set, here)
		var d *doc
		var e *Error
		if isFlexible(set) {
			d, e = t.makeFlexible(set, zone, pool)
		} else {
			d, e = t.makeInstance(set, next, zone, pool)
		}
		if e != nil {
			return e
		}
		here = append(here, d)
		next++
	}
	// Numbers are never given twice.
	set.Hidden["next"] = float64(next)
	return nil
}

func isDeleting(d *doc) bool { return d.state() == "Deleting" }

// leastUsedZone spreads a set over its zones, "" for a regional one.
func leastUsedZone(set *doc, here []*doc) string {
	zones := texts(set.Body, "zones")
	if len(zones) == 0 {
		return ""
	}
	used := countZones(here)
	return slices.MinFunc(zones, func(a, b string) int { return cmp.Or(used[a]-used[b], slices.Index(zones, a)-slices.Index(zones, b)) })
}

func countZones(here []*doc) map[string]int {
	used := map[string]int{}
	for _, d := range here {
		used[zoneOf(d)]++
	}
	return used
}

func zoneOf(d *doc) string {
	if z := texts(d.Body, "zones"); len(z) > 0 {
		return z[0]
	}
	return ""
}

// chooseVictims picks the instances that a smaller capacity takes away, by the
// set's scale-in policy: zones stay balanced, and within a zone the highest
// number (Default), the youngest or the oldest goes. Protected ones stay.
// Source: https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-scale-in-policy.
func chooseVictims(set *doc, here []*doc, n int) []*doc {
	rule := "Default"
	if rules := texts(set.Body, "properties", "scaleInPolicy", "rules"); len(rules) > 0 {
		rule = rules[0]
	}
	candidates := slices.DeleteFunc(slices.Clone(here), isProtectedFromScaleIn)
	slices.SortFunc(candidates, func(a, b *doc) int {
		switch byAge := a.Created.Compare(b.Created); rule {
		case "OldestVM":
			return cmp.Or(byAge, instanceNumber(a)-instanceNumber(b))
		case "NewestVM":
			return cmp.Or(-byAge, instanceNumber(b)-instanceNumber(a))
		default: // the VMs of a Flexible set have no numbers
			return cmp.Or(instanceNumber(b)-instanceNumber(a), -byAge, cmp.Compare(b.key(), a.key()))
		}
	})
	used := countZones(here)
	var out []*doc
	for len(out) < n && len(candidates) > 0 {
		i, fullest := 0, -1
		for j, d := range candidates {
			if used[zoneOf(d)] > fullest {
				i, fullest = j, used[zoneOf(d)]
			}
		}
		used[zoneOf(candidates[i])]--
		out = append(out, candidates[i])
		candidates = slices.Delete(candidates, i, i+1)
	}
	return out
}

// isProtectedFromScaleIn says whether a set may not pick an instance for deletion.
func isProtectedFromScaleIn(d *doc) bool {
	policy := sub(d.Body, "properties", "protectionPolicy")
	return boolean(policy, "protectFromScaleIn") || boolean(policy, "protectFromScaleSetActions")
}

// isProtectedFromActions says whether what is asked of the set as a whole passes
// an instance by. It does not protect against what is asked of the instance.
func isProtectedFromActions(d *doc) bool {
	return boolean(d.Body, "properties", "protectionPolicy", "protectFromScaleSetActions")
}
