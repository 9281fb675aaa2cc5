package arm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Types of scale sets. An instance and its interfaces are documents of their
// own, so that what points at a subnet or a pool is found as for a VM.
const (
	typeScale       = "Microsoft.Compute/virtualMachineScaleSets"
	typeInstance    = typeScale + "/virtualMachines"
	typeScaleNIC    = typeInstance + "/networkInterfaces"
	typeInstanceExt = typeInstance + "/extensions"
)

// The orchestration modes: instances that are children of the set, or VMs that
// belong to it.
const (
	modeUniform  = "Uniform"
	modeFlexible = "Flexible"
)

// maxInstances is the largest capacity of a set, and that of one confined to a
// single placement group.
// Source: https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-placement-groups.
const (
	maxInstances      = 1000
	maxInstancesGroup = 100
)

// scaleSetTypes are the rows of scale sets. Instances and their interfaces are
// synchronous here because they come and go with operations on their set.
func scaleSetTypes() []Type {
	nic := "virtualMachineProfile.networkProfile.networkInterfaceConfigurations."
	return []Type{
		{Name: typeScale, Style: styleCompute, Takes: 40 * time.Second, Supersedes: true, Preempts: true, Prepare: prepareScaleSet, Actions: scaleSetActions(),
			Put: scalePut(), Update: scalePut(), Delete: Work{Name: "scale.delete", Run: runDeleteScaleSet, Finish: finishDeleteScaleSet},
			Works: []Work{scaleTasks(), scaleRoll()},
			Refs: []Reference{
				{Path: nic + "ipConfigurations.subnet", To: foreignSubnet, As: asOwner}, {Path: nic + "networkSecurityGroup", To: foreignNSG, As: asScaleSet},
				{Path: nic + "ipConfigurations.loadBalancerBackendAddressPools", To: foreignBalancer + "/backendAddressPools", As: asScaleSet},
				{Path: nic + "ipConfigurations.loadBalancerInboundNatPools", To: foreignBalancer + "/inboundNatPools", As: asScaleSet},
				{Path: "virtualMachineProfile.networkProfile.healthProbe", To: foreignBalancer + "/probes", As: asScaleSet},
			}},
		{Name: typeInstance, Style: styleCompute, Sync: true, Global: true, Untracked: true, Prepare: prepareInstance, View: viewInstance, Uses: usesOfInstance, Power: powerOf, Serve: serveInstance, Actions: instanceActions()},
		{Name: typeInstanceExt, Style: styleCompute, Takes: 10 * time.Second, Put: extensionPut(), Update: extensionPut(), Global: true, Untracked: true, Prepare: prepareExtension},
		{Name: typeScaleNIC, Style: styleNetwork, ETag: etagWeak, Sync: true, Global: true, Untracked: true, Prepare: refuseWrite, Guard: refuseDelete, Parts: map[string]bool{"ipConfigurations": false}, View: viewScaleNIC,
			Addresses: []string{"ipConfigurations"},
			Refs: []Reference{
				{Path: "ipConfigurations.subnet", To: foreignSubnet, As: asInterface},
				{Path: "ipConfigurations.loadBalancerBackendAddressPools", To: foreignBalancer + "/backendAddressPools", Unlinks: true},
				{Path: "ipConfigurations.loadBalancerInboundNatRules", To: foreignBalancer + "/inboundNatRules", Unlinks: true},
			}},
	}
}

func isFlexible(set *doc) bool {
	return strings.EqualFold(str(set.Body, "properties", "orchestrationMode"), modeFlexible)
}

// profileOf is a set's virtualMachineProfile; nil for a Flexible one without.
func profileOf(set *doc) object { return sub(set.Body, "properties", "virtualMachineProfile") }

func capacityOf(set *doc) int {
	n, _ := number(set.Body, "sku", "capacity")
	return n
}

func setCapacity(set *doc, n int) { ensure(set.Body, "sku")["capacity"] = float64(max(0, n)) }

// prepareScaleSet checks a write of a scale set and makes or marks the instances
// that it adds or takes away; the operation boots and ends them.
func prepareScaleSet(t *tx, d, old *doc) *Error {
	if old == nil {
		p := props(d.Body)
		p["uniqueId"] = t.s.guid()
		p["timeCreated"] = t.now.Format("2006-01-02T15:04:05.0000000+00:00")
	} else if e := keepScaleSet(d, old); e != nil {
		return e
	}
	defaultScaleSet(d)
	hideScaleSet(d)
	size, e := checkScaleSet(t, d)
	if e != nil {
		return e
	}
	d.Hidden["model"] = modelOf(d)
	t.giveIdentity(d, old)
	if profileOf(d) == nil {
		return nil
	}
	t.keepCustomData(d)
	if e := t.scale(d, size); e != nil {
		return e
	}
	return t.follow(d)
}

// keepScaleSet carries over what a write may leave out, and refuses what it may
// not change.
func keepScaleSet(d, old *doc) *Error {
	p, was := props(d.Body), props(old.Body)
	for _, field := range []string{"uniqueId", "timeCreated"} {
		p[field] = was[field]
	}
	for _, field := range []string{"orchestrationMode", "platformFaultDomainCount", "singlePlacementGroup", "upgradePolicy", "virtualMachineProfile", "overprovision", "zoneBalance", "scaleInPolicy"} {
		if p[field] == nil && was[field] != nil {
			p[field] = clone(was[field])
		}
	}
	if d.Body["zones"] == nil && old.Body["zones"] != nil {
		d.Body["zones"] = clone(old.Body["zones"])
	}
	sku, had := ensure(d.Body, "sku"), sub(old.Body, "sku")
	for field, v := range had {
		setDefault(sku, field, v)
	}
	for _, field := range []string{"orchestrationMode", "platformFaultDomainCount"} {
		if value(p, field) != value(was, field) {
			return errImmutable(field)
		}
	}
	if boolean(p, "singlePlacementGroup") && !boolean(was, "singlePlacementGroup") {
		return errImmutable("singlePlacementGroup")
	}
	if before := texts(old.Body, "zones"); len(before) > 0 && !containsAll(texts(d.Body, "zones"), before) {
		return errImmutable("zones")
	}
	if profile, before := profileOf(d), profileOf(old); profile != nil {
		keepProfile(profile, before)
	}
	if prefix := str(profileOf(old), "osProfile", "computerNamePrefix"); prefix != "" && profileOf(d) != nil {
		profile := ensure(profileOf(d), "osProfile")
		setDefault(profile, "computerNamePrefix", prefix)
		if str(profile, "computerNamePrefix") != prefix {
			return errImmutable("osProfile.computerNamePrefix")
		}
	}
	return nil
}

// keepProfile carries over what a write of the model may leave out: CAPZ leaves
// out the network, and clients of an API version before community galleries send
// an image reference without one.
func keepProfile(profile, before object) {
	for _, field := range []string{"osProfile", "storageProfile", "networkProfile"} {
		if profile[field] == nil && before[field] != nil {
			profile[field] = clone(before[field])
		}
	}
	if image := sub(before, "storageProfile", "imageReference"); image != nil && len(sub(profile, "storageProfile", "imageReference")) == 0 {
		ensure(profile, "storageProfile")["imageReference"] = clone(image)
	}
}

func errImmutable(property string) *Error {
	e := conflict("PropertyChangeNotAllowed", "Changing property '%s' is not allowed.", property)
	e.Target = property
	return e
}

func containsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) })
}

// defaultScaleSet fills in what Azure shows though nobody wrote it.
func defaultScaleSet(d *doc) {
	p := props(d.Body)
	setDefault(p, "orchestrationMode", modeUniform)
	flexible := isFlexible(d)
	setDefault(p, "singlePlacementGroup", !flexible && len(texts(d.Body, "zones")) == 0)
	if sku := sub(d.Body, "sku"); sku != nil {
		setDefault(sku, "tier", "Standard")
	}
	if flexible {
		setDefault(p, "platformFaultDomainCount", float64(1))
		return
	}
	// Shown as in Azure; instances beyond the capacity are never made here.
	setDefault(p, "overprovision", true)
	setDefault(p, "doNotRunExtensionsOnOverprovisionedVMs", false)
	setDefault(p, "platformFaultDomainCount", float64(5))
	setDefault(ensure(p, "upgradePolicy"), "mode", "Manual")
	profile := profileOf(d)
	if profile == nil {
		return
	}
	setDefault(profile, "priority", "Regular")
	setDefault(ensure(profile, "osProfile"), "computerNamePrefix", d.id.name())
	for _, n := range items(profile, "networkProfile", "networkInterfaceConfigurations") {
		for _, c := range items(props(n), "ipConfigurations") {
			setDefault(props(c), "privateIPAddressVersion", "IPv4")
		}
	}
}

// hideScaleSet moves what Azure never returns out of the body. What a later
// write leaves out stays as it was, because a client cannot read it back.
func hideScaleSet(d *doc) {
	profile := profileOf(d)
	os := sub(profile, "osProfile")
	for _, secret := range []string{"customData", "adminPassword"} {
		if v, ok := os[secret].(string); ok {
			d.Hidden[secret] = v
			delete(os, secret)
		}
	}
	if v, ok := profile["userData"].(string); ok {
		d.Hidden["userData"] = v
		delete(profile, "userData")
	}
	for _, e := range items(profile, "extensionProfile", "extensions") {
		if v := props(e)["protectedSettings"]; v != nil {
			ensure(d.Hidden, "protectedSettings")[str(e, "name")] = v
			delete(props(e), "protectedSettings")
		}
	}
}

// modelOf names a state of the model: instances made from another one are not
// up to date. New custom data counts, as in Azure. A new admin password does not:
// it is for instances to come, and no upgrade brings it to those there are. That
// Azure sees it so is not proven.
func modelOf(d *doc) string {
	data, err := json.Marshal([]any{profileOf(d), str(d.Body, "sku", "name"), d.Hidden["customData"], d.Hidden["userData"], d.Hidden["protectedSettings"]})
	if err != nil {
		return "" // an object decoded from JSON always encodes
	}
	return digest(data)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// keepCustomData files the custom data under its digest, once for all instances
// that were made from it, and forgets what no instance has any more.
func (t *tx) keepCustomData(d *doc) {
	kept := ensure(d.Hidden, "data")
	used := map[string]bool{dataKey(d): true}
	for _, i := range t.instances(d) {
		used[str(i.Hidden, "data")] = true
	}
	for k := range kept {
		if !used[k] {
			delete(kept, k)
		}
	}
	kept[dataKey(d)] = str(d.Hidden, "customData")
}

func dataKey(set *doc) string { return digest([]byte(str(set.Hidden, "customData"))) }

// giveIdentity fills in the identity's IDs, which stay for the resource's life.
func (t *tx) giveIdentity(d, old *doc) {
	identity := sub(d.Body, "identity")
	if identity == nil {
		return
	}
	if strings.Contains(str(identity, "type"), "SystemAssigned") {
		identity["tenantId"] = t.s.cfg.TenantID
		identity["principalId"] = t.s.guid()
		if old != nil && str(old.Body, "identity", "principalId") != "" {
			identity["principalId"] = str(old.Body, "identity", "principalId")
		}
	}
	users := sub(identity, "userAssignedIdentities")
	for id := range users {
		shown := object{}
		if u := t.find(id); u != nil {
			shown["clientId"], shown["principalId"] = str(props(u.Body), "clientId"), str(props(u.Body), "principalId")
		}
		users[id] = shown
	}
}

// instances are those of a Uniform set, by number.
func (t *tx) instances(set *doc) []*doc {
	out := t.all(typeInstance, set.ID)
	slices.SortFunc(out, func(a, b *doc) int { return instanceNumber(a) - instanceNumber(b) })
	return out
}

func instanceNumber(d *doc) int {
	n, err := strconv.Atoi(d.id.name())
	if err != nil {
		return -1 // the emulator numbers instances itself
	}
	return n
}
