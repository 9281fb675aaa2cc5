package compute

import (
	"strings"

	"casement.dev/casement/azuresim/internal/compute/catalogue"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// checkEphemeral returns an error if an ephemeral OS disk does not fit on the size.
func checkEphemeral(osDisk value.Object, sz catalogue.Size) *engine.Error {
	settings := value.Sub(osDisk, "diffDiskSettings")
	if settings == nil {
		return nil
	}
	if option := value.Str(settings, "option"); option != "Local" {
		return invalid("osDisk.diffDiskSettings.option",
			"The value '%s' of parameter 'diffDiskSettings.option' is not one of Local.", option)
	}
	if c := value.Str(osDisk, "caching"); c != "" && !strings.EqualFold(c, "ReadOnly") {
		return invalid("osDisk.caching",
			"Caching type '%s' is not allowed for an Ephemeral OS disk. The only caching type supported is ReadOnly.",
			c)
	}
	placement := value.Str(settings, "placement")
	if placement == "" {
		placement = firstPlacement(sz)
	}
	limit := map[string]int{"CacheDisk": sz.CacheGiB, "ResourceDisk": sz.TempGiB, "NvmeDisk": sz.NVMeMiB >> 10}[placement]
	if limit == 0 || !sz.Ephemeral() {
		return engine.Conflict("NotSupported", "The Diff Disk Placement of type '%s' is not supported for VM "+
			"size %s. Please request with different DiffDiskPlacement or use a different VM Sku which supports "+
			"the current DiffDiskPlacement in the request.", placement, sz.Name)
	}
	gib, ok := value.Int(osDisk, "diskSizeGB")
	if !ok {
		gib = defaultOSDisk(osDisk)
	}
	if gib > limit {
		return engine.Conflict("NotSupported", "OS disk of Ephemeral VM with size greater than %d GB is not "+
			"allowed for VM size %s when the DiffDiskPlacement is %s. Please refer to https://aka.ms/Ephemeral "+
			"for more details.", limit, sz.Name, placement)
	}
	return nil
}

// firstPlacement returns the default placement of an ephemeral OS disk on a size.
func firstPlacement(sz catalogue.Size) string {
	switch {
	case sz.CacheGiB > 0:
		return "CacheDisk"
	case sz.TempGiB == 0 && sz.NVMeMiB > 0:
		return "NvmeDisk"
	}
	return "ResourceDisk"
}

// defaultOSDisk returns the size of the image's own OS disk, in GiB.
func defaultOSDisk(osDisk value.Object) int {
	if strings.EqualFold(value.Str(osDisk, "osType"), "Linux") {
		return 30
	}
	return 127
}
