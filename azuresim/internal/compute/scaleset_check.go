package compute

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/compute/catalogue"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// The longest computerNamePrefix of each system; six base-36 digits follow the prefix.
const (
	maxPrefixWindows = 9
	maxPrefixLinux   = 58
)

// badPrefix contains the characters that a Windows computer name cannot contain.
const badPrefix = "`~!@#$%^&*()=+_[]{}\\|;:.'\",<>/?"

// checkScaleSet returns the errors that Compute answers before it accepts a scale set.
func checkScaleSet(t *engine.Tx, d *engine.Doc) (catalogue.Size, *engine.Error) {
	var none catalogue.Size
	if e := checkScaleSetName(d); e != nil {
		return none, e
	}
	p := value.Props(d.Body)
	mode, profile := value.Str(p, "orchestrationMode"), profileOf(d)
	switch {
	case mode != "" && mode != modeUniform && mode != modeFlexible:
		return none, invalid("orchestrationMode", "The value '%s' of parameter 'orchestrationMode' is not one of Uniform, Flexible.", mode)
	case mode == modeUniform && profile == nil:
		return none, invalid("virtualMachineProfile", "Required parameter 'virtualMachineProfile' is missing (null).")
	case profile == nil:
		return none, nil // a Flexible set to which VMs are attached
	}
	if e := checkCapacity(d); e != nil {
		return none, e
	}
	if e := checkModelled(d); e != nil {
		return none, e
	}
	if e := checkUpgradePolicy(d); e != nil {
		return none, e
	}
	zones := value.Texts(d.Body, "zones")
	sz, e := sizeFor(t, d.Location(), value.Str(d.Body, "sku", "name"), nil)
	for _, z := range zones {
		if e == nil {
			sz, e = sizeFor(t, d.Location(), value.Str(d.Body, "sku", "name"), []string{z})
		}
	}
	if e != nil {
		return none, e
	}
	if e := checkProfile(t, d, sz); e != nil {
		return none, e
	}
	return sz, nil
}

func checkScaleSetName(d *engine.Doc) *engine.Error {
	name := d.Parsed.Name()
	if len(name) > 64 || strings.ContainsAny(name, " ~!@#$%^&*()=+[]{}\\|;:'\",<>/?") ||
		strings.HasPrefix(name, "_") || strings.HasSuffix(name, ".") || strings.HasSuffix(name, "-") {
		return errName("vmss name")
	}
	return nil
}

// checkCapacity limits the number of instances.
func checkCapacity(d *engine.Doc) *engine.Error {
	n, ok := value.Int(d.Body, "sku", "capacity")
	switch limit := maxInstances; {
	case !ok:
		return invalid("sku.capacity", "Required parameter 'sku.capacity' is missing (null).")
	case n < 0:
		return invalid("sku.capacity", "The value '%d' of parameter 'sku.capacity' is invalid.", n)
	case value.Bool(d.Body, "properties", "singlePlacementGroup"):
		if limit = maxInstancesGroup; n <= limit {
			return nil
		}
		return engine.BadRequest("InvalidParameter", "The specified sku.capacity %d is out of range: a scale "+
			"set with singlePlacementGroup set to true has at most %d instances.", n, limit)
	case n > limit:
		return engine.BadRequest("InvalidParameter",
			"The specified sku.capacity %d is out of range. The capacity of a scale set must be between 0 and %d.",
			n, limit)
	}
	return nil
}

// checkModelled refuses features by which Azure changes a set on its own, which the emulator does
// not emulate.
func checkModelled(d *engine.Doc) *engine.Error {
	p := value.Sub(d.Body, "properties")
	for _, path := range [][]string{{"upgradePolicy", "automaticOSUpgradePolicy", "enableAutomaticOSUpgrade"},
		{"automaticRepairsPolicy", "enabled"}, {"spotRestorePolicy", "enabled"}} {
		if value.Bool(p, path...) {
			return engine.ErrUnsupported("scale sets with " + strings.Join(path, "."))
		}
	}
	for _, field := range []string{"priorityMixPolicy", "skuProfile"} {
		if p[field] != nil {
			return engine.ErrUnsupported("scale sets with " + field)
		}
	}
	return checkTermination(profileOf(d))
}

// checkTermination checks the range of the termination notice. The emulator does not wait
// for the notice's time. Source:
// https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-terminate-notification.
func checkTermination(profile value.Object) *engine.Error {
	terminate := value.Sub(profile, "scheduledEventsProfile", "terminateNotificationProfile")
	notice := value.OrDefault(value.Str(terminate, "notBeforeTimeout"), "PT5M")
	if d, ok := isoDuration(notice); value.Bool(terminate, "enable") && (!ok || d < 5*time.Minute || d > 15*time.Minute) {
		return invalid("terminateNotificationProfile.notBeforeTimeout",
			"The value '%s' of parameter 'notBeforeTimeout' is out of range: it has to be between PT5M and PT15M.",
			notice)
	}
	return nil
}

func checkUpgradePolicy(d *engine.Doc) *engine.Error {
	if isFlexible(d) {
		return nil
	}
	mode := value.Str(d.Body, "properties", "upgradePolicy", "mode")
	if !slices.Contains([]string{"Manual", "Automatic", "Rolling"}, mode) {
		return invalid("upgradePolicy.mode",
			"The value '%s' of parameter 'upgradePolicy.mode' is not one of Manual, Automatic, Rolling.", mode)
	}
	if e := checkRollingPolicy(value.Sub(d.Body, "properties", "upgradePolicy", "rollingUpgradePolicy")); e != nil {
		return e
	}
	if mode == "Rolling" && !hasHealth(profileOf(d)) {
		return engine.BadRequest("InvalidParameter", "Rolling Upgrade mode is not supported for this Virtual "+
			"Machine Scale Set because a health probe or health extension was not provided.")
	}
	return nil
}

// hasHealth reports whether the model has an application health probe or extension.
func hasHealth(profile value.Object) bool {
	if value.Str(profile, "networkProfile", "healthProbe", "id") != "" {
		return true
	}
	return slices.ContainsFunc(value.Items(profile, "extensionProfile", "extensions"), func(e value.Object) bool {
		return strings.HasPrefix(value.Str(value.Props(e), "type"), "ApplicationHealth")
	})
}

// checkProfile checks the model by the rules of a VM, on a VM that the model would create.
func checkProfile(t *engine.Tx, set *engine.Doc, sz catalogue.Size) *engine.Error {
	profile := profileOf(set)
	if e := checkPrefix(set); e != nil {
		return e
	}
	probe := probeOf(set)
	if isSpecialized(definitionOf(t, probe)) {
		return engine.ErrUnsupported("scale sets of specialized images")
	}
	if e := checkOSProfile(t, probe); e != nil {
		return e
	}
	if e := checkImage(t, probe); e != nil {
		return e
	}
	set.Hidden["diskGiB"] = probe.Hidden["diskGiB"]
	if e := checkFit(demandOfSet(t, set, probe), sz); e != nil {
		return e
	}
	if e := checkSpot(profile, "virtualMachineProfile"); e != nil {
		return e
	}
	if e := checkUserIdentities(t, set); e != nil {
		return e
	}
	if e := checkHandlers(profile); e != nil {
		return e
	}
	return checkNetworkProfile(set)
}

// probeOf returns a VM that the set's model would create, to which the checks of VMs are applied.
func probeOf(set *engine.Doc) *engine.Doc {
	p := value.CloneObject(profileOf(set))
	os := value.Ensure(p, "osProfile")
	os["computerName"] = value.Str(os, "computerNamePrefix") + base36(0)
	for _, secret := range []string{"customData", "adminPassword"} {
		if v, ok := set.Hidden[secret]; ok {
			os[secret] = v
		}
	}
	value.Ensure(value.Ensure(p, "storageProfile"), "osDisk")
	return &engine.Doc{ID: set.ID, Parsed: set.Parsed,
		Body: value.Object{"location": set.Body["location"], "properties": p}, Hidden: value.Object{}}
}

func checkPrefix(set *engine.Doc) *engine.Error {
	prefix, windows := value.Str(profileOf(set), "osProfile", "computerNamePrefix"), isWindows(value.Object{"properties": profileOf(set)})
	switch {
	case windows && (len(prefix) > maxPrefixWindows || strings.Trim(prefix, "0123456789") == "" || strings.ContainsAny(prefix, badPrefix)):
		return invalid("computerNamePrefix", "Windows computer name prefix cannot be more than 9 characters "+
			"long, be entirely numeric, or contain the following characters: ` ~ ! @ # $ %% ^ & * ( ) = + _ [ "+
			"] { } \\ | ; : . ' \" , < > / ?.")
	case len(prefix) > maxPrefixLinux:
		return invalid("computerNamePrefix", "Linux host name prefix cannot exceed 58 characters in length or "+
			"contain the following characters: ` ~ ! @ # $ %% ^ & * ( ) = + _ [ ] { } \\ | ; : ' \" , < > / "+
			"?.")
	}
	return nil
}

// base36 returns the suffix of an instance's computer name: six digits, in capitals.
func base36(n int) string {
	s := strings.ToUpper(strconv.FormatInt(int64(n), 36))
	return strings.Repeat("0", max(0, 6-len(s))) + s
}

func checkDataDisks(disks []value.Object, sz catalogue.Size) *engine.Error {
	if limit := sz.DataDisks; len(disks) > limit {
		return engine.Conflict("OperationNotAllowed",
			"The maximum number of data disks allowed to be attached to a VM of this size is %d.", limit)
	}
	luns := map[int]bool{}
	for _, disk := range disks {
		lun, ok := value.Int(disk, "lun")
		if !ok || luns[lun] {
			return invalid("dataDisk.lun", "A disk at LUN %d already exists, or a data disk has no LUN.", lun)
		}
		luns[lun] = true
	}
	return nil
}

// checkUserIdentities returns an error if a user-assigned identity does not exist.
func checkUserIdentities(t *engine.Tx, d *engine.Doc) *engine.Error {
	for id := range value.Sub(d.Body, "identity", "userAssignedIdentities") {
		if t.Find(id) == nil {
			return engine.Refuse(http.StatusBadRequest, "FailedIdentityOperation", "Identity operation for "+
				"resource '%s' failed with error 'Failed to perform resource identity operation. Status: "+
				"'BadRequest'. Response: The resource identity '%s' does not exist.'.", d.ID, id)
		}
	}
	return nil
}

func checkNetworkProfile(set *engine.Doc) *engine.Error {
	profile := profileOf(set)
	configs := value.Items(profile, "networkProfile", "networkInterfaceConfigurations")
	if len(configs) == 0 {
		return invalid("networkProfile", "Required parameter 'networkProfile.networkInterfaceConfigurations' is missing (null).")
	}
	if isFlexible(set) && value.Str(profile, "networkProfile", "networkApiVersion") == "" {
		return invalid("networkProfile.networkApiVersion",
			"Parameter 'networkApiVersion' is required when the orchestration mode is Flexible.")
	}
	primaries := 0
	for _, c := range configs {
		if value.Bool(value.Props(c), "primary") || len(configs) == 1 {
			primaries++
		}
		if len(value.Items(value.Props(c), "ipConfigurations")) == 0 {
			return invalid("ipConfigurations", "Required parameter 'ipConfigurations' is missing (null).")
		}
		for _, ip := range value.Items(value.Props(c), "ipConfigurations") {
			if value.Str(value.Props(ip), "subnet", "id") == "" {
				return invalid("subnet", "Required parameter 'ipConfiguration.properties.subnet' is missing (null).")
			}
			if value.Props(ip)["publicIPAddressConfiguration"] != nil {
				return engine.ErrUnsupported("public IP addresses of a scale set's instances")
			}
		}
	}
	if primaries != 1 {
		return engine.BadRequest("InvalidRequestFormat", "Virtual Machine Scale Set %s has %d primary network "+
			"interface configurations. There must be exactly one.", set.Parsed.Name(), primaries)
	}
	return nil
}
