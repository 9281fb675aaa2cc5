package compute

import (
	"cmp"
	"slices"

	"casement.dev/casement/azuresim/internal/compute/catalogue"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// scale adapts the instances of a set to its capacity: it creates documents with the state Creating
// for missing instances and gives superfluous instances the state Deleting. The operation then
// boots and deletes them.
func scale(t *engine.Tx, set *engine.Doc, sz catalogue.Size) *engine.Error {
	here := slices.DeleteFunc(members(t, set), isDeleting)
	missing := capacityOf(set) - len(here)
	if missing < 0 {
		for _, d := range chooseVictims(set, here, -missing) {
			assign(t, d, taskDelete)
			here = slices.DeleteFunc(here, func(o *engine.Doc) bool { return o.Key() == d.Key() })
		}
		// Instances that are protected from scale-in remain, so the capacity includes them.
		setCapacity(set, len(here))
		return nil
	}
	if missing == 0 {
		return nil
	}
	if e := quota(t, set, sz, missing, isSpot(profileOf(set))); e != nil {
		return e
	}
	next, _ := value.Int(set.Hidden, "next")
	pool := newAddressPool(t)
	for range missing {
		zone := leastUsedZone(set, here)
		var d *engine.Doc
		var e *engine.Error
		if isFlexible(set) {
			d, e = makeFlexible(t, set, zone, pool)
		} else {
			d, e = makeInstance(t, set, next, zone, pool)
		}
		if e != nil {
			return e
		}
		here = append(here, d)
		next++
	}
	// Numbers of instances are never used again.
	set.Hidden["next"] = float64(next)
	return nil
}

func isDeleting(d *engine.Doc) bool { return d.State() == "Deleting" }

// leastUsedZone returns the zone of the set with the fewest instances; "" for a regional
// set.
func leastUsedZone(set *engine.Doc, here []*engine.Doc) string {
	zones := value.Texts(set.Body, "zones")
	if len(zones) == 0 {
		return ""
	}
	used := countZones(here)
	return slices.MinFunc(zones, func(a, b string) int { return cmp.Or(used[a]-used[b], slices.Index(zones, a)-slices.Index(zones, b)) })
}

func countZones(here []*engine.Doc) map[string]int {
	used := map[string]int{}
	for _, d := range here {
		used[zoneOf(d)]++
	}
	return used
}

func zoneOf(d *engine.Doc) string {
	if z := value.Texts(d.Body, "zones"); len(z) > 0 {
		return z[0]
	}
	return ""
}

// chooseVictims returns the n instances that a smaller capacity deletes, by the set's
// scale-in policy: zones stay balanced, and within a zone the highest number (Default), the
// newest or the oldest instance is deleted. Protected instances are kept. Source:
// https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-scale-in-policy.
func chooseVictims(set *engine.Doc, here []*engine.Doc, n int) []*engine.Doc {
	rule := "Default"
	if rules := value.Texts(set.Body, "properties", "scaleInPolicy", "rules"); len(rules) > 0 {
		rule = rules[0]
	}
	candidates := slices.DeleteFunc(slices.Clone(here), isProtectedFromScaleIn)
	slices.SortFunc(candidates, func(a, b *engine.Doc) int {
		switch byAge := a.Created.Compare(b.Created); rule {
		case "OldestVM":
			return cmp.Or(byAge, instanceNumber(a)-instanceNumber(b))
		case "NewestVM":
			return cmp.Or(-byAge, instanceNumber(b)-instanceNumber(a))
		default: // the VMs of a Flexible set have no numbers
			return cmp.Or(instanceNumber(b)-instanceNumber(a), -byAge, cmp.Compare(b.Key(), a.Key()))
		}
	})
	used := countZones(here)
	var out []*engine.Doc
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

// isProtectedFromScaleIn reports whether a scale-in cannot delete an instance.
func isProtectedFromScaleIn(d *engine.Doc) bool {
	policy := value.Sub(d.Body, "properties", "protectionPolicy")
	return value.Bool(policy, "protectFromScaleIn") || value.Bool(policy, "protectFromScaleSetActions")
}

// isProtectedFromActions reports whether actions on the whole set skip an instance. Actions
// on the instance itself are not affected.
func isProtectedFromActions(d *engine.Doc) bool {
	return value.Bool(d.Body, "properties", "protectionPolicy", "protectFromScaleSetActions")
}
