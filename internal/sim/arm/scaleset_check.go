package arm

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Longest prefixes of computer names; six base-36 digits follow.
const (
	maxPrefixWindows = 9
	maxPrefixLinux   = 58
)

// badPrefix are the characters that no Windows computer name has.
const badPrefix = "`~!@#$%^&*()=+_[]{}\\|;:.'\",<>/?"

// checkScaleSet refuses what Compute refuses before it takes a scale set.
func checkScaleSet(t *tx, d *doc) (size, *Error) {
	var none size
	if e := checkScaleSetName(d); e != nil {
		return none, e
	}
	p := props(d.Body)
	mode, profile := str(p, "orchestrationMode"), profileOf(d)
	switch {
	case mode != modeUniform && mode != modeFlexible:
		return none, invalid("orchestrationMode", "The value '%s' of parameter 'orchestrationMode' is not one of Uniform, Flexible.", mode)
	case mode == modeUniform && profile == nil:
		return none, invalid("virtualMachineProfile", "Required parameter 'virtualMachineProfile' is missing (null).")
	case profile == nil:
		return none, nil // a Flexible set that VMs are attached to
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
	zones := texts(d.Body, "zones")
	sz, e := t.s.sizeFor(d.location(), str(d.Body, "sku", "name"), nil)
	for _, z := range zones {
		if e == nil {
			sz, e = t.s.sizeFor(d.location(), str(d.Body, "sku", "name"), []string{z})
		}
	}
	if e != nil {
		return none, e
	}
	if e := t.checkProfile(d, sz); e != nil {
		return none, e
	}
	return sz, nil
}

func checkScaleSetName(d *doc) *Error {
	name := d.id.name()
	if len(name) > 64 || strings.ContainsAny(name, " ~!@#$%^&*()=+[]{}\\|;:'\",<>/?") || strings.HasPrefix(name, "_") || strings.HasSuffix(name, ".") || strings.HasSuffix(name, "-") {
		return errName("vmss name")
	}
	return nil
}

// checkCapacity holds the largest number of instances.
func checkCapacity(d *doc) *Error {
	n, ok := number(d.Body, "sku", "capacity")
	switch limit := maxInstances; {
	case !ok:
		return invalid("sku.capacity", "Required parameter 'sku.capacity' is missing (null).")
	case n < 0:
		return invalid("sku.capacity", "The value '%d' of parameter 'sku.capacity' is invalid.", n)
	case boolean(d.Body, "properties", "singlePlacementGroup"):
		if limit = maxInstancesGroup; n <= limit {
			return nil
		}
		return badRequest("InvalidParameter", "The specified sku.capacity %d is out of range: a scale set with singlePlacementGroup set to true has at most %d instances.", n, limit)
	case n > limit:
		return badRequest("InvalidParameter", "The specified sku.capacity %d is out of range. The capacity of a scale set must be between 0 and %d.", n, limit)
	}
	return nil
}

// checkModelled refuses what a scale set would do by itself in Azure and does not
// do here.
func checkModelled(d *doc) *Error {
	p := sub(d.Body, "properties")
	for _, path := range [][]string{{"upgradePolicy", "automaticOSUpgradePolicy", "enableAutomaticOSUpgrade"}, {"automaticRepairsPolicy", "enabled"}, {"spotRestorePolicy", "enabled"}} {
		if boolean(p, path...) {
			return errUnsupported("scale sets with " + strings.Join(path, "."))
		}
	}
	for _, field := range []string{"priorityMixPolicy", "skuProfile"} {
		if p[field] != nil {
			return errUnsupported("scale sets with " + field)
		}
	}
	return checkTermination(profileOf(d))
}

// checkTermination holds the range of the notice before an instance ends. The
// notice itself is not waited for.
// Source: https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-terminate-notification.
func checkTermination(profile object) *Error {
	terminate := sub(profile, "scheduledEventsProfile", "terminateNotificationProfile")
	notice := orDefault(str(terminate, "notBeforeTimeout"), "PT5M")
	if d, ok := isoDuration(notice); boolean(terminate, "enable") && (!ok || d < 5*time.Minute || d > 15*time.Minute) {
		return invalid("terminateNotificationProfile.notBeforeTimeout", "The value '%s' of parameter 'notBeforeTimeout' is out of range: it has to be between PT5M and PT15M.", notice)
	}
	return nil
}

func checkUpgradePolicy(d *doc) *Error {
	if isFlexible(d) {
		return nil
	}
	mode := str(d.Body, "properties", "upgradePolicy", "mode")
	if !slices.Contains([]string{"Manual", "Automatic", "Rolling"}, mode) {
		return invalid("upgradePolicy.mode", "The value '%s' of parameter 'upgradePolicy.mode' is not one of Manual, Automatic, Rolling.", mode)
	}
	if e := checkRollingPolicy(sub(d.Body, "properties", "upgradePolicy", "rollingUpgradePolicy")); e != nil {
		return e
	}
	if mode == "Rolling" && !hasHealth(profileOf(d)) {
		return badRequest("InvalidParameter", "Rolling Upgrade mode is not supported for this Virtual Machine Scale Set because a health probe or health extension was not provided.")
	}
	return nil
}

// hasHealth says whether the platform can tell how an application does.
func hasHealth(profile object) bool {
	if str(profile, "networkProfile", "healthProbe", "id") != "" {
		return true
	}
	return slices.ContainsFunc(items(profile, "extensionProfile", "extensions"), func(e object) bool {
		return strings.HasPrefix(str(props(e), "type"), "ApplicationHealth")
	})
}

// checkProfile checks the model with the rules of a VM, on a VM that it would make.
func (t *tx) checkProfile(set *doc, sz size) *Error {
	profile := profileOf(set)
	if e := checkPrefix(set); e != nil {
		return e
	}
	probe := probeOf(set)
	if e := checkOSProfile(probe); e != nil {
		return e
	}
	if e := t.checkImage(probe); e != nil {
		return e
	}
	if e := checkEphemeral(sub(probe.Body, "properties", "storageProfile", "osDisk"), sz); e != nil {
		return e
	}
	if e := checkDataDisks(items(profile, "storageProfile", "dataDisks"), sz); e != nil {
		return e
	}
	if e := checkSpot(profile, "virtualMachineProfile"); e != nil {
		return e
	}
	if e := t.checkUserIdentities(set); e != nil {
		return e
	}
	return checkNetworkProfile(set)
}

// probeOf is a VM of the set, to be looked at by what looks at VMs.
func probeOf(set *doc) *doc {
	p := cloneObject(profileOf(set))
	os := ensure(p, "osProfile")
	os["computerName"] = str(os, "computerNamePrefix") + base36(0)
	for _, secret := range []string{"customData", "adminPassword"} {
		if v, ok := set.Hidden[secret]; ok {
			os[secret] = v
		}
	}
	ensure(ensure(p, "storageProfile"), "osDisk")
	return &doc{ID: set.ID, id: set.id, Body: object{"location": set.Body["location"], "properties": p}, Hidden: object{}}
}

func checkPrefix(set *doc) *Error {
	prefix, windows := str(profileOf(set), "osProfile", "computerNamePrefix"), isWindows(object{"properties": profileOf(set)})
	switch {
	case windows && (len(prefix) > maxPrefixWindows || strings.Trim(prefix, "0123456789") == "" || strings.ContainsAny(prefix, badPrefix)):
		return invalid("computerNamePrefix", "Windows computer name prefix cannot be more than 9 characters long, be entirely numeric, or contain the following characters: ` ~ ! @ # $ %% ^ & * ( ) = + _ [ ] { } \\ | ; : . ' \" , < > / ?.")
	case len(prefix) > maxPrefixLinux:
		return invalid("computerNamePrefix", "Linux host name prefix cannot exceed 58 characters in length or contain the following characters: ` ~ ! @ # $ %% ^ & * ( ) = + _ [ ] { } \\ | ; : ' \" , < > / ?.")
	}
	return nil
}

// base36 is the suffix of an instance's computer name: six digits, in capitals.
func base36(n int) string {
	s := strings.ToUpper(strconv.FormatInt(int64(n), 36))
	return strings.Repeat("0", max(0, 6-len(s))) + s
}

func checkDataDisks(disks []object, sz size) *Error {
	if limit := 2 * sz.cores; len(disks) > limit {
		return conflict("OperationNotAllowed", "The maximum number of data disks allowed to be attached to a VM of this size is %d.", limit)
	}
	luns := map[int]bool{}
	for _, disk := range disks {
		lun, ok := number(disk, "lun")
		if !ok || luns[lun] {
			return invalid("dataDisk.lun", "A disk at LUN %d already exists, or a data disk has no LUN.", lun)
		}
		luns[lun] = true
	}
	return nil
}

// checkUserIdentities wants user-assigned identities to exist.
func (t *tx) checkUserIdentities(d *doc) *Error {
	for id := range sub(d.Body, "identity", "userAssignedIdentities") {
		if t.find(id) == nil {
			return refuse(http.StatusBadRequest, "FailedIdentityOperation", "Identity operation for resource '%s' failed with error 'Failed to perform resource identity operation. Status: 'BadRequest'. Response: The resource identity '%s' does not exist.'.", d.ID, id)
		}
	}
	return nil
}

func checkNetworkProfile(set *doc) *Error {
	profile := profileOf(set)
	configs := items(profile, "networkProfile", "networkInterfaceConfigurations")
	if len(configs) == 0 {
		return invalid("networkProfile", "Required parameter 'networkProfile.networkInterfaceConfigurations' is missing (null).")
	}
	if isFlexible(set) && str(profile, "networkProfile", "networkApiVersion") == "" {
		return invalid("networkProfile.networkApiVersion", "Parameter 'networkApiVersion' is required when the orchestration mode is Flexible.")
	}
	primaries := 0
	for _, c := range configs {
		if boolean(props(c), "primary") || len(configs) == 1 {
			primaries++
		}
		if len(items(props(c), "ipConfigurations")) == 0 {
			return invalid("ipConfigurations", "Required parameter 'ipConfigurations' is missing (null).")
		}
		for _, ip := range items(props(c), "ipConfigurations") {
			if str(props(ip), "subnet", "id") == "" {
				return invalid("subnet", "Required parameter 'ipConfiguration.properties.subnet' is missing (null).")
			}
			if props(ip)["publicIPAddressConfiguration"] != nil {
				return errUnsupported("public IP addresses of a scale set's instances")
			}
		}
	}
	if primaries != 1 {
		return badRequest("InvalidRequestFormat", "Virtual Machine Scale Set %s has %d primary network interface configurations. There must be exactly one.", set.id.name(), primaries)
	}
	return nil
}
