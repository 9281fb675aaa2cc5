package compute

import (
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// localDisk is what a VM size has on its host for an ephemeral OS disk, in GiB.
type localDisk struct{ cache, temp int }

// localDisks are the sizes that support ephemeral OS disks, in lower case, with
// the figures of Microsoft's size pages. A size that is not here has neither.
// Source: https://learn.microsoft.com/azure/virtual-machines/sizes.
func localDiskOf(sz size) localDisk {
	return map[string]localDisk{
		"standard_d2s_v3": {50, 16}, "standard_d4s_v3": {100, 32}, "standard_d8s_v3": {200, 64},
		"standard_e2s_v3": {50, 32}, "standard_ds2_v2": {86, 14}, "standard_f2s_v2": {32, 16}, "standard_f4s_v2": {64, 32},
		"standard_d2ds_v5": {0, 75}, "standard_nc6s_v3": {0, 736},
	}[value.Lower(sz.name)]
}

// checkEphemeral holds an ephemeral OS disk to what the size has room for.
func checkEphemeral(osDisk value.Object, sz size) *engine.Error {
	settings := value.Sub(osDisk, "diffDiskSettings")
	if settings == nil {
		return nil
	}
	if option := value.Str(settings, "option"); option != "Local" {
		return invalid("osDisk.diffDiskSettings.option", "The value '%s' of parameter 'diffDiskSettings.option' is not one of Local.", option)
	}
	if c := value.Str(osDisk, "caching"); c != "" && !strings.EqualFold(c, "ReadOnly") {
		return invalid("osDisk.caching", "Caching type '%s' is not allowed for an Ephemeral OS disk. The only caching type supported is ReadOnly.", c)
	}
	room := localDiskOf(sz)
	placement := value.Str(settings, "placement")
	if placement == "" {
		if placement = "CacheDisk"; room.cache == 0 {
			placement = "ResourceDisk"
		}
	}
	limit := room.cache
	if placement == "ResourceDisk" {
		limit = room.temp
	}
	if limit == 0 {
		return engine.Conflict("NotSupported", "The Diff Disk Placement of type '%s' is not supported for VM size %s. Please request with different DiffDiskPlacement or use a different VM Sku which supports the current DiffDiskPlacement in the request.", placement, sz.name)
	}
	gib, ok := value.Int(osDisk, "diskSizeGB")
	if !ok {
		gib = defaultOSDisk(osDisk)
	}
	if gib > limit {
		return engine.Conflict("NotSupported", "OS disk of Ephemeral VM with size greater than %d GB is not allowed for VM size %s when the DiffDiskPlacement is %s. Please refer to https://aka.ms/Ephemeral for more details.", limit, sz.name, placement)
	}
	return nil
}

// defaultOSDisk is the size of the images' own OS disk, in GiB.
func defaultOSDisk(osDisk value.Object) int {
	if strings.EqualFold(value.Str(osDisk, "osType"), "Linux") {
		return 30
	}
	return 127
}
