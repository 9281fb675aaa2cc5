package compute

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// Types of scale sets. An instance and its interfaces are separate documents, so that the
// references to a subnet or a pool are found as for a VM.
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

// maxInstances is the largest capacity of a set, maxInstancesGroup the largest of a set in a single
// placement group. Source:
// https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-placement-groups.
const (
	maxInstances      = 1000
	maxInstancesGroup = 100
)

// scaleSetTypes returns the resource types of scale sets. Instances and their interfaces are
// synchronous here because operations on their set create and delete them.
func scaleSetTypes() []engine.Type {
	nic := "virtualMachineProfile.networkProfile.networkInterfaceConfigurations."
	return []engine.Type{
		{Name: typeScale, Style: engine.StyleCompute, ETag: engine.EtagCount, Takes: 40 * time.Second, Supersedes: true, Preempts: true,
			Prepare: prepareScaleSet, Rests: restsScaleSet, View: viewScaleSet, Actions: scaleSetActions(),
			Put: scalePut(), Update: scalePut(),
			Delete: engine.Work{Name: "scale.delete", Run: runDeleteScaleSet, Finish: finishDeleteScaleSet},
			Works:  []engine.Work{scaleTasks(), scaleRoll()},
			Refs: append(modelRefs("virtualMachineProfile."), []engine.Reference{
				{Path: "proximityPlacementGroup", To: typeProximityGroup}, {Path: "hostGroup", To: typeHostGroup},
				{Path: nic + "ipConfigurations.applicationSecurityGroups", To: foreignSecurity},
				{Path: nic + "ipConfigurations.publicIPAddressConfiguration.publicIPPrefix", To: foreignPrefix},
				{Path: nic + "ipConfigurations.subnet", To: foreignSubnet, As: engine.AsOwner},
				{Path: nic + "networkSecurityGroup", To: foreignNSG, As: engine.AsScaleSet},
				{Path: nic + "ipConfigurations.loadBalancerBackendAddressPools",
					To: foreignBalancer + "/backendAddressPools", As: engine.AsScaleSet},
				{Path: nic + "ipConfigurations.loadBalancerInboundNatPools",
					To: foreignBalancer + "/inboundNatPools", As: engine.AsScaleSet},
				{Path: "virtualMachineProfile.networkProfile.healthProbe", To: foreignBalancer + "/probes", As: engine.AsScaleSet},
			}...)},
		scaleExtensionType(),
		{Name: typeInstance, Style: engine.StyleCompute, ETag: engine.EtagCount, Sync: true, Global: true, Untracked: true,
			Prepare: prepareInstance, View: viewInstance, Uses: usesOfInstance, Power: powerOf,
			Serve: serveInstance, Actions: instanceActions()},
		{Name: typeInstanceExt, Style: engine.StyleCompute, Takes: 10 * time.Second, Put: extensionPut(),
			Update: extensionPut(), Global: true, Untracked: true, Prepare: prepareExtension},
		{Name: typeScaleNIC, VersionsOf: foreignNIC, Style: engine.StyleNetwork, ETag: engine.EtagWeak, Sync: true, Global: true,
			Untracked: true, Prepare: refuseWrite, Guard: refuseDelete,
			Parts: map[string]bool{"ipConfigurations": false}, View: viewScaleNIC,
			Addresses: []string{"ipConfigurations"},
			Refs: []engine.Reference{
				{Path: "ipConfigurations.subnet", To: foreignSubnet, As: engine.AsInterface},
				{Path: "ipConfigurations.loadBalancerBackendAddressPools", To: foreignBalancer + "/backendAddressPools", Unlinks: true},
				{Path: "ipConfigurations.loadBalancerInboundNatRules", To: foreignBalancer + "/inboundNatRules", Unlinks: true},
			}},
	}
}

func isFlexible(set *engine.Doc) bool {
	return strings.EqualFold(value.Str(set.Body, "properties", "orchestrationMode"), modeFlexible)
}

// profileOf returns a set's virtualMachineProfile; nil for a Flexible set without a profile.
func profileOf(set *engine.Doc) value.Object {
	return value.Sub(set.Body, "properties", "virtualMachineProfile")
}

func capacityOf(set *engine.Doc) int {
	n, _ := value.Int(set.Body, "sku", "capacity")
	return n
}

func setCapacity(set *engine.Doc, n int) {
	value.Ensure(set.Body, "sku")["capacity"] = float64(max(0, n))
	set.Count(set)
}

// prepareScaleSet checks a write of a scale set. It creates the documents of the instances that the
// write adds and marks the instances that the write removes; the operation boots and deletes them.
func prepareScaleSet(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	dropCapabilities(value.Props(d.Body))
	if old == nil {
		p := value.Props(d.Body)
		p["uniqueId"] = uuid.NewString()
		p["timeCreated"] = t.Now.Format("2006-01-02T15:04:05.0000000+00:00")
	} else if e := keepScaleSet(d, old); e != nil {
		return e
	}
	inferOS(profileOf(d))
	defaultScaleSet(d)
	hideScaleSet(d)
	size, e := checkScaleSet(t, d)
	if e != nil {
		return e
	}
	completeModel(d)
	d.Hidden["model"] = modelOf(d)
	keepModel(d, old)
	giveIdentity(t, d, old)
	if profileOf(d) == nil {
		return nil
	}
	keepCustomData(t, d)
	if e := scale(t, d, size); e != nil {
		return e
	}
	return follow(t, d)
}

// keepScaleSet copies from the old document the properties that a write may omit, and refuses
// changes of immutable properties.
func keepScaleSet(d, old *engine.Doc) *engine.Error {
	p, was := value.Props(d.Body), value.Props(old.Body)
	for _, field := range []string{"uniqueId", "timeCreated"} {
		p[field] = was[field]
	}
	for _, field := range []string{"orchestrationMode", "platformFaultDomainCount", "singlePlacementGroup",
		"upgradePolicy", "virtualMachineProfile", "overprovision", "zoneBalance", "scaleInPolicy"} {
		if p[field] == nil && was[field] != nil {
			p[field] = value.Clone(was[field])
		}
	}
	if d.Body["zones"] == nil && old.Body["zones"] != nil {
		d.Body["zones"] = value.Clone(old.Body["zones"])
	}
	sku, had := value.Ensure(d.Body, "sku"), value.Sub(old.Body, "sku")
	for field, v := range had {
		value.SetDefault(sku, field, v)
	}
	if isFlexible(d) != isFlexible(old) {
		return errImmutable("orchestrationMode")
	}
	if n := was["platformFaultDomainCount"]; n != nil && n != p["platformFaultDomainCount"] {
		return errImmutable("platformFaultDomainCount")
	}
	if value.Bool(p, "singlePlacementGroup") && !value.Bool(was, "singlePlacementGroup") {
		return errImmutable("singlePlacementGroup")
	}
	if before := value.Texts(old.Body, "zones"); len(before) > 0 && !containsAll(value.Texts(d.Body, "zones"), before) {
		return errImmutable("zones")
	}
	if profile, before := profileOf(d), profileOf(old); profile != nil {
		keepProfile(profile, before)
	}
	if prefix := value.Str(profileOf(old), "osProfile", "computerNamePrefix"); prefix != "" && profileOf(d) != nil {
		profile := value.Ensure(profileOf(d), "osProfile")
		value.SetDefault(profile, "computerNamePrefix", prefix)
		if value.Str(profile, "computerNamePrefix") != prefix {
			return errImmutable("osProfile.computerNamePrefix")
		}
	}
	return nil
}

// keepProfile copies parts of the old model that a write may omit: CAPZ omits the network, and
// clients of an API version older than community galleries send an image reference without an
// image.
func keepProfile(profile, before value.Object) {
	for _, field := range []string{"osProfile", "storageProfile", "networkProfile"} {
		if profile[field] == nil && before[field] != nil {
			profile[field] = value.Clone(before[field])
		}
	}
	if image := value.Sub(before, "storageProfile", "imageReference"); image != nil &&
		len(value.Sub(profile, "storageProfile", "imageReference")) == 0 {
		value.Ensure(profile, "storageProfile")["imageReference"] = value.Clone(image)
	}
}

func errImmutable(property string) *engine.Error {
	e := engine.Conflict("PropertyChangeNotAllowed", "Changing property '%s' is not allowed.", property)
	e.Target = property
	return e
}

func containsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) })
}

// hideScaleSet moves properties that Azure never returns out of the body. A later write
// that lacks them does not change them, because a client cannot read them.
func hideScaleSet(d *engine.Doc) {
	profile := profileOf(d)
	os := value.Sub(profile, "osProfile")
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
	for _, e := range value.Items(profile, "extensionProfile", "extensions") {
		if v := value.Props(e)["protectedSettings"]; v != nil {
			value.Ensure(d.Hidden, "protectedSettings")[value.Str(e, "name")] = v
			delete(value.Props(e), "protectedSettings")
		}
	}
}

// modelOf returns a hash of the model. An instance that was created from a model with another hash
// is outdated. New custom data changes the hash, as in Azure. A new admin password does not,
// because it applies only to new instances; that Azure does the same is not proven.
func modelOf(d *engine.Doc) string {
	data, err := json.Marshal([]any{profileOf(d), value.Str(d.Body, "sku", "name"), d.Hidden["customData"],
		d.Hidden["userData"], d.Hidden["protectedSettings"]})
	if err != nil {
		return "" // an object decoded from JSON always encodes
	}
	return digest(data)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// keepCustomData stores the custom data by its hash, once for all instances that were created from
// it, and removes custom data that no instance uses any more.
func keepCustomData(t *engine.Tx, d *engine.Doc) {
	kept := value.Ensure(d.Hidden, "data")
	used := map[string]bool{dataKey(d): true}
	for _, i := range instances(t, d) {
		used[value.Str(i.Hidden, "data")] = true
	}
	for k := range kept {
		if !used[k] {
			delete(kept, k)
		}
	}
	kept[dataKey(d)] = value.Str(d.Hidden, "customData")
}

func dataKey(set *engine.Doc) string { return digest([]byte(value.Str(set.Hidden, "customData"))) }

// giveIdentity sets the identity's IDs, which never change during the resource's life. A write that
// does not mention the identity keeps it; an identity of the type None removes it. Source:
// https://github.com/hashicorp/terraform-provider-azurerm/issues/2485.
func giveIdentity(t *engine.Tx, d, old *engine.Doc) {
	if old != nil && d.Body["identity"] == nil && old.Body["identity"] != nil {
		d.Body["identity"] = value.Clone(old.Body["identity"])
	}
	identity := value.Sub(d.Body, "identity")
	if identity == nil || strings.EqualFold(value.Str(identity, "type"), "None") {
		delete(d.Body, "identity")
		return
	}
	if strings.Contains(value.Str(identity, "type"), "SystemAssigned") {
		identity["tenantId"] = t.Server.Options.TenantID
		identity["principalId"] = uuid.NewString()
		if old != nil && value.Str(old.Body, "identity", "principalId") != "" {
			identity["principalId"] = value.Str(old.Body, "identity", "principalId")
		}
	}
	users := value.Sub(identity, "userAssignedIdentities")
	for id := range users {
		shown := value.Object{}
		if u := t.Find(id); u != nil {
			shown["clientId"], shown["principalId"] = value.Str(value.Props(u.Body), "clientId"),
				value.Str(value.Props(u.Body), "principalId")
		}
		users[id] = shown
	}
}

// dropCapabilities removes an empty additionalCapabilities object, which Azure does not return.
// Terraform's provider sends it, and plans no change if the answer lacks it.
func dropCapabilities(p value.Object) {
	if capabilities, ok := p["additionalCapabilities"].(value.Object); ok && len(capabilities) == 0 {
		delete(p, "additionalCapabilities")
	}
}

// instances returns the instances of a Uniform set, by number.
func instances(t *engine.Tx, set *engine.Doc) []*engine.Doc {
	out := t.All(typeInstance, set.ID)
	slices.SortFunc(out, func(a, b *engine.Doc) int { return instanceNumber(a) - instanceNumber(b) })
	return out
}

func instanceNumber(d *engine.Doc) int {
	n, err := strconv.Atoi(d.Parsed.Name())
	if err != nil {
		return -1 // unreachable: the emulator numbers the instances itself
	}
	return n
}
