package compute

import (
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// defaultScaleSet sets the defaults that Azure returns for properties that were not
// written.
func defaultScaleSet(d *engine.Doc) {
	p := value.Props(d.Body)
	value.SetDefault(p, "orchestrationMode", modeUniform)
	flexible := isFlexible(d)
	value.SetDefault(p, "singlePlacementGroup", !flexible && len(value.Texts(d.Body, "zones")) == 0)
	if sku := value.Sub(d.Body, "sku"); sku != nil {
		value.SetDefault(sku, "tier", "Standard")
	}
	if flexible {
		value.SetDefault(p, "platformFaultDomainCount", float64(1))
		return
	}
	// Returned as in Azure; the emulator never creates instances beyond the capacity.
	value.SetDefault(p, "overprovision", true)
	value.SetDefault(p, "doNotRunExtensionsOnOverprovisionedVMs", false)
	value.SetDefault(p, "platformFaultDomainCount", float64(5))
	value.SetDefault(value.Ensure(p, "upgradePolicy"), "mode", "Manual")
	profile := profileOf(d)
	if profile == nil {
		return
	}
	value.SetDefault(value.Ensure(profile, "osProfile"), "computerNamePrefix", d.Parsed.Name())
	for _, n := range value.Items(profile, "networkProfile", "networkInterfaceConfigurations") {
		for _, c := range value.Items(value.Props(n), "ipConfigurations") {
			value.SetDefault(value.Props(c), "privateIPAddressVersion", "IPv4")
		}
	}
}

// completeModel sets the defaults in the model of a Uniform set after the model was
// validated.
func completeModel(d *engine.Doc) {
	profile := profileOf(d)
	if profile == nil || isFlexible(d) {
		return
	}
	completeModelOS(value.Ensure(profile, "osProfile"))
	value.SetDefault(value.Ensure(profile, "securityProfile"), "securityType", "Standard")
	storage := value.Ensure(profile, "storageProfile")
	os := value.Ensure(storage, "osDisk")
	if isWindows(value.Object{"properties": profile}) {
		value.SetDefault(os, "osType", "Windows")
	}
	defaultOS(os, value.Sub(storage, "imageReference"), "None")
	for _, disk := range append(value.Items(storage, "dataDisks"), os) {
		value.SetDefault(disk, "caching", "None")
		value.SetDefault(value.Ensure(disk, "managedDisk"), "storageAccountType", diskKind(value.Str(d.Body, "sku", "name")))
	}
	for _, n := range value.Items(profile, "networkProfile", "networkInterfaceConfigurations") {
		for _, field := range []string{"enableAcceleratedNetworking", "disableTcpStateTracking", "enableIPForwarding"} {
			value.SetDefault(value.Props(n), field, false)
		}
		value.SetDefault(value.Ensure(value.Props(n), "dnsSettings"), "dnsServers", []any{})
	}
	if extensions := value.Sub(profile, "extensionProfile"); extensions != nil {
		value.SetDefault(extensions, "extensions", []any{}) // Terraform's provider cannot import a set without them
	}
	for _, x := range scaleExtensions(d) {
		value.SetDefault(value.Props(x), "autoUpgradeMinorVersion", false)
	}
}

func completeModelOS(profile value.Object) {
	value.SetDefault(profile, "secrets", []any{})
	value.SetDefault(profile, "allowExtensionOperations", true)
	value.SetDefault(profile, "requireGuestProvisionSignal", true)
	if linux := value.Sub(profile, "linuxConfiguration"); linux != nil {
		value.SetDefault(linux, "provisionVMAgent", true)
		value.SetDefault(linux, "enableVMAgentPlatformUpdates", false)
	}
	if windows := value.Sub(profile, "windowsConfiguration"); windows != nil {
		value.SetDefault(windows, "provisionVMAgent", true)
		value.SetDefault(windows, "enableAutomaticUpdates", true)
		value.SetDefault(windows, "enableVMAgentPlatformUpdates", false)
	}
}

// keepModel treats a model as unchanged if only new defaults were added to it, so that
// instances in a state of an older local Azure remain up to date.
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

// versionPlatformUpdates is when scale sets began to show enableVMAgentPlatformUpdates.
const versionPlatformUpdates = "2022-03-01"

// restsScaleSet: newer API versions return a set in its stored form.
func restsScaleSet(t *engine.Tx, _ *engine.Record, _ string) bool {
	return t.Since(versionETag)
}

// viewScaleSet removes properties that the request's API version does not have.
func viewScaleSet(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	oldETag(t, body)
	if t.Since(versionPlatformUpdates) {
		return
	}
	oldMachine(t, value.Props(body))
	oldSecurity(t, value.Sub(value.Props(body), "virtualMachineProfile"))
	for _, system := range []string{"linuxConfiguration", "windowsConfiguration"} {
		delete(value.Sub(body, "properties", "virtualMachineProfile", "osProfile", system), "enableVMAgentPlatformUpdates")
	}
}
