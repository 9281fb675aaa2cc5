package compute

import (
	"casement.dev/casement/azuresim/internal/defaults"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// defaultScaleSet sets the defaults that Azure returns for properties that were not
// written.
func defaultScaleSet(d *engine.Doc) {
	// The answer contains overprovision, as in Azure; the emulator never creates instances beyond
	// the capacity.
	defaults.Fill(typeScale, d.Version, d.Body)
	if profile := profileOf(d); profile != nil && !isFlexible(d) {
		value.SetDefault(value.Ensure(profile, "osProfile"), "computerNamePrefix", d.Parsed.Name())
	}
}

// completeModel sets the defaults in the model of a Uniform set after the model was
// validated.
func completeModel(d *engine.Doc) {
	profile := profileOf(d)
	if profile == nil || isFlexible(d) {
		return
	}
	storage := value.Ensure(profile, "storageProfile")
	os := value.Ensure(storage, "osDisk")
	if isWindows(value.Object{"properties": profile}) {
		value.SetDefault(os, "osType", "Windows")
	}
	defaultOS(d, os, value.Sub(storage, "imageReference"), "None")
	for _, disk := range append(value.Items(storage, "dataDisks"), os) {
		value.SetDefault(value.Ensure(disk, "managedDisk"), "storageAccountType", diskKind(value.Str(d.Body, "sku", "name")))
	}
	defaults.Fill(typeScale+" model", d.Version, d.Body)
}

// keepModel keeps the recorded hash of a model to which a write only adds new defaults, so that
// instances in the state of an older local Azure remain up to date.
func keepModel(d, old *engine.Doc) {
	if old == nil || value.Str(old.Hidden, "model") == "" {
		return
	}
	was := &engine.Doc{ID: old.ID, Type: old.Type, Parsed: old.Parsed, Body: value.CloneObject(old.Body), Hidden: old.Hidden}
	completeModel(was)
	if modelOf(was) == modelOf(d) {
		d.Hidden["model"] = old.Hidden["model"]
	}
}

// restsScaleSet reports whether the stored form of a set is the answer, which is the case in newer
// API versions.
func restsScaleSet(t *engine.Tx, _ *engine.Record, expand string) bool {
	return t.Since(versionETag) && !engine.Expands(expand, "userData")
}

// viewScaleSet removes properties that the request's API version does not have, and adds the user data that a request expands.
func viewScaleSet(t *engine.Tx, d *engine.Doc, body value.Object, expand string) {
	profile := value.Sub(body, "properties", "virtualMachineProfile")
	if engine.Expands(expand, "userData") && profile != nil && value.Str(d.Hidden, "userData") != "" {
		profile["userData"] = d.Hidden["userData"]
	}
	removeNewer(t, value.Props(body))
	oldETag(t, body)
}
