package catalogue

import (
	"strconv"
	"strings"
)

// Capability is one capability of a size in the list of resource SKUs.
type Capability struct{ Name, Value string }

// Capabilities returns the size's capabilities in the list of resource SKUs. Figures of throughput,
// and other figures that do not follow from the name, are missing.
func (s Size) Capabilities() []Capability {
	out := []Capability{
		{"MaxResourceVolumeMB", strconv.Itoa(s.TempGiB << 10)},
		{"OSVhdSizeMB", "1047552"},
		{"vCPUs", strconv.Itoa(s.VCPUs)},
		{"HyperVGenerations", s.Generations()},
		{"MemoryGB", strconv.FormatFloat(float64(s.MemoryMiB)/1024, 'f', -1, 64)},
		{"MaxDataDiskCount", strconv.Itoa(s.DataDisks)},
		{"CpuArchitectureType", s.Architecture()},
		{"LowPriorityCapable", boolean(s.LowPriority())},
		{"PremiumIO", boolean(s.Premium())},
		{"VMDeploymentTypes", "IaaS"},
		{"vCPUsAvailable", strconv.Itoa(s.Available())},
		{"EphemeralOSDiskSupported", boolean(s.Ephemeral())},
		{"EncryptionAtHostSupported", boolean(s.EncryptionAtHost())},
		{"AcceleratedNetworkingEnabled", boolean(s.Accelerated())},
		{"MaxNetworkInterfaces", strconv.Itoa(s.Interfaces())},
		{"RdmaEnabled", boolean(s.has('r'))},
	}
	add := func(applies bool, name, value string) {
		if applies {
			out = append(out, Capability{name, value})
		}
	}
	add(s.Ephemeral(), "SupportedEphemeralOSDiskPlacements", s.placements())
	add(s.CacheGiB > 0, "CachedDiskBytes", strconv.Itoa(s.CacheGiB<<30))
	add(s.NVMeMiB > 0, "NvmeDiskSizeInMiB", strconv.Itoa(s.NVMeMiB))
	add(s.version >= 6, "DiskControllerTypes", strings.Join(s.Controllers(), ","))
	add(s.GPUs > 0, "GPUs", strconv.Itoa(s.GPUs))
	add(s.constrained > 0, "ParentSize", strings.Replace(s.Name, "-"+strconv.Itoa(s.constrained), "", 1))
	add(s.untrusted(), "TrustedLaunchDisabled", "True")
	add(s.Confidential() != "", "ConfidentialComputingType", s.Confidential())
	return out
}

// Available returns the number of vCPUs that a guest sees.
func (s Size) Available() int {
	if s.constrained > 0 {
		return s.constrained
	}
	return s.VCPUs
}

// Ephemeral reports whether a size can have an ephemeral OS disk: in the cache of premium
// storage, on the temporary disk, or on a local NVMe disk.
func (s Size) Ephemeral() bool {
	return s.TempGiB > 0 && (s.Premium() || s.has('d')) || s.nvmeOS()
}

// nvmeOS reports whether the OS disk can be on a local NVMe disk.
func (s Size) nvmeOS() bool { return s.NVMeMiB > 0 && s.version >= 6 }

func (s Size) placements() string {
	if s.nvmeOS() {
		return "NvmeDisk"
	}
	return "ResourceDisk,CacheDisk"
}

// UltraDisks reports whether ultra disks can be attached, in regions with zones.
func (s Size) UltraDisks() bool {
	switch {
	case s.confidentialSeries(), s.version >= 6 && !s.has('a'):
		return false
	case s.series == "B":
		return true
	}
	return s.version >= 5 || s.version >= 2 && s.Premium() && s.series != "DS" || s.series == "M" && s.Premium()
}

// Premium reports whether a size supports premium storage: it has the feature "s". In
// series older than the naming conventions the letter is in the series.
func (s Size) Premium() bool {
	return s.has('s') || s.series == "DS" || s.series == "GS" || s.series == "DC"
}

func (s Size) has(feature rune) bool { return strings.ContainsRune(s.features, feature) }

// LowPriority reports whether a size can be a spot machine.
func (s Size) LowPriority() bool { return s.series != "B" && s.Name != "Standard_A0" && !s.promo }

// EncryptionAtHost reports whether disks and caches can be encrypted on the host.
func (s Size) EncryptionAtHost() bool { return s.Premium() || s.version >= 4 }

// TrustedLaunch reports whether a size can have the security type TrustedLaunch.
func (s Size) TrustedLaunch() bool { return !s.untrusted() && strings.Contains(s.Generations(), "V2") }

// Controllers returns the kinds of disk controllers that a size has.
func (s Size) Controllers() []string {
	if s.version >= 6 {
		return []string{"NVMe"}
	}
	return []string{"SCSI"}
}

// Interfaces returns the largest number of network interfaces of a VM of the size. Source:
// https://learn.microsoft.com/azure/virtual-machines/sizes; a test checks the recorded sizes.
func (s Size) Interfaces() int {
	most := func(two, four int) int { // the largest numbers of vCPUs with two and with four interfaces
		switch {
		case s.VCPUs <= two:
			return 2
		case s.VCPUs <= four:
			return 4
		}
		return 8
	}
	switch {
	case s.series == "B" && s.version == 1 && s.VCPUs == 2:
		return 3
	case s.series == "B" && s.version == 1 && s.VCPUs == 4:
		return 4
	case s.series == "B" && s.version == 1 && s.VCPUs == 12:
		return 6
	case s.series == "F" && s.version == 2, s.Arm:
		return most(4, 16)
	case s.series == "M":
		return most(8, 16)
	case s.series == "NC" && strings.Contains(s.accelerator, "100"):
		return most(24, 48)
	case s.version <= 2 && (s.series == "D" || s.series == "DS" || s.series == "F" || s.series == "A" && s.version == 2),
		s.series == "DC" && s.version == 3:
		return min(8, max(2, s.VCPUs))
	}
	return most(4, 8)
}

// Architecture returns the processors' architecture, as Azure names it.
func (s Size) Architecture() string {
	if s.Arm {
		return "Arm64"
	}
	return "x64"
}

// Accelerated reports whether interfaces can have accelerated networking: on sizes with two
// vCPUs or more, except the oldest series and small burstable ones.
func (s Size) Accelerated() bool {
	switch {
	case s.series == "A", s.series == "G", s.series == "GS", s.version == 1 && (s.series == "D" || s.series == "DS" || s.series == "L"):
		return false
	case s.series == "B" && s.version == 1:
		return s.VCPUs >= 12
	}
	return s.VCPUs >= 2 || s.version >= 3
}

// Generations returns the Hyper-V generations of images that a size boots. Source:
// https://learn.microsoft.com/azure/virtual-machines/generation-2.
func (s Size) Generations() string {
	newest := s.version >= 6 || s.series == "L" && s.version >= 4 || s.series == "HB" && s.version >= 5
	bigMemory := s.series == "M" && (s.version >= 3 || s.VCPUs >= 208)
	accelerators := strings.Contains(s.accelerator, "100") || strings.Contains(s.accelerator, "200") ||
		s.accelerator == "_MI300X" || s.accelerator == "_V710"
	switch {
	case s.Arm, s.confidentialSeries(), s.series == "FX", newest, bigMemory, accelerators:
		return "V2"
	case s.series == "NP", s.series != "M" && !s.Premium() && s.version <= 3:
		return "V1"
	}
	return "V1,V2"
}

// untrusted reports whether a size has no trusted launch although it boots images of generation 2.
// Source: https://learn.microsoft.com/azure/virtual-machines/trusted-launch.
func (s Size) untrusted() bool {
	return s.Arm && s.version < 6 || s.series == "M" && s.version < 3 ||
		s.series == "ND" && (s.accelerator == "_A100" || s.Family == "Standard NDASv4_A100 Family")
}

func (s Size) confidentialSeries() bool {
	return s.series == "DC" || s.series == "EC" || s.series == "NCC"
}

// Confidential returns the technology of confidential VMs, or ""; the series DCsv2 and
// DCsv3 have enclaves instead.
func (s Size) Confidential() string {
	switch {
	case !s.confidentialSeries():
		return ""
	case s.has('a'):
		return "SNP"
	case s.has('e'):
		return "TDX"
	}
	return ""
}

func boolean(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
