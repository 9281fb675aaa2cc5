package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is a reason why a machine cannot be created, with the field to change.
type Problem struct{ Field, Reason, Fix string }

// String returns the problem in one line.
func (p Problem) String() string { return p.Field + ": " + p.Reason + "; " + p.Fix }

// Security types of a VM, as Azure spells them.
const (
	ConfidentialVM = "ConfidentialVM"
	TrustedLaunch  = "TrustedLaunch"
	Standard       = "Standard"
)

// VM is the part of an AzureMachine that is checked against its VM size.
type VM struct {
	Size, Location, Zone string
	// EphemeralOSDisk is true for an OS disk on the host (osDisk.diffDiskSettings).
	EphemeralOSDisk bool
	// Placement is the placement of the ephemeral OS disk, as Azure spells it; with "", Azure chooses.
	Placement string
	// Premium is the path in the spec of a disk of premium storage, or "".
	Premium string
	// DataDisks and Interfaces are the numbers of data disks and network interfaces.
	DataDisks, Interfaces int
	// Accelerated is the path in the spec of an interface that requests accelerated networking, or "".
	Accelerated string
	Spot        bool
	// UltraSSD is true if a data disk is an ultra disk, or if ultra disks are enabled for later.
	UltraSSD         bool
	EncryptionAtHost bool
	// SecurityType, SecureBoot and VTPM are fields of spec.securityProfile.
	SecurityType     string
	SecureBoot, VTPM bool
	// EncryptedOSDisk is true if osDisk.managedDisk.securityProfile is set.
	EncryptedOSDisk bool
}

// The minimum resources that kubeadm requires of a node. Source:
// https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/install-kubeadm.
const (
	leastVCPUs     = 2
	leastMemoryGiB = 2
)

// NoSuchSize returns the problem for a size that the location does not have. offered are the location's sizes; the fix
// suggests the most similar names.
func NoSuchSize(vm VM, offered []SKU) Problem {
	fix := "choose a size that `az vm list-skus --location " + normal(vm.Location) + "` shows"
	var names []string
	for _, sku := range offered {
		if sku.VCPUs() > 0 {
			names = append(names, sku.Name)
		}
	}
	if like := nearest(vm.Size, names); len(like) > 0 {
		fix += ", such as " + strings.Join(like, ", ")
	}
	return Problem{"spec.vmSize", fmt.Sprintf("%s is not offered in %s", vm.Size, vm.Location), fix}
}

// CheckVM returns every reason why a VM with this size cannot be created. Each requires a change of the spec.
func CheckVM(sku SKU, vm VM) []Problem {
	c := checker{sku: sku, vm: vm}
	c.availability()
	c.capacity()
	c.disks()
	c.interfaces()
	c.security()
	return c.problems
}

type checker struct {
	sku      SKU
	vm       VM
	problems []Problem
}

func (c *checker) refuse(bad bool, field, reason, fix string) {
	if bad {
		c.problems = append(c.problems, Problem{field, c.sku.Name + " " + reason, fix})
	}
}

func (c *checker) availability() {
	c.refuse(c.sku.Restricted != "", "spec.vmSize",
		fmt.Sprintf("is barred for the subscription in %s (%s)", c.vm.Location, c.sku.Restricted),
		"choose another size or location, or ask Azure support to lift the restriction")
	zones := "zones " + strings.Join(c.sku.Zones, ", ")
	if len(c.sku.Zones) == 0 {
		zones = "no zone"
	}
	c.refuse(c.vm.Zone != "" && c.sku.Restricted == "" && !slices.Contains(c.sku.Zones, c.vm.Zone), "spec.failureDomain",
		fmt.Sprintf("is not offered in zone %s of %s; it has %s", c.vm.Zone, c.vm.Location, zones),
		"choose another failure domain or spec.vmSize")
}

func (c *checker) capacity() {
	c.refuse(c.sku.VCPUs() < leastVCPUs, "spec.vmSize",
		fmt.Sprintf("has %d vCPUs and a node needs %d", c.sku.VCPUs(), leastVCPUs), "choose a bigger size")
	c.refuse(c.vm.Spot && c.sku.Lacks("LowPriorityCapable"), "spec.spotVMOptions", "cannot be a spot VM",
		"remove the field or choose another spec.vmSize")
	c.refuse(c.sku.MemoryGiB() < leastMemoryGiB, "spec.vmSize",
		fmt.Sprintf("has %g GiB of memory and a node needs %d", c.sku.MemoryGiB(), leastMemoryGiB),
		"choose a bigger size")
}

func (c *checker) disks() {
	c.refuse(c.vm.EphemeralOSDisk && !c.sku.Has("EphemeralOSDiskSupported", ""), "spec.osDisk.diffDiskSettings",
		"has no ephemeral OS disks", "remove the field or choose another spec.vmSize")
	placements := c.sku.Capability("SupportedEphemeralOSDiskPlacements")
	c.refuse(c.vm.EphemeralOSDisk && c.vm.Placement != "" && placements != "" &&
		!slices.Contains(strings.Split(placements, ","), c.vm.Placement), "spec.osDisk.diffDiskSettings.placement",
		fmt.Sprintf("has no ephemeral OS disk on the %s; it has %s", c.vm.Placement, placements), "choose another placement or spec.vmSize")
	c.refuse(c.vm.Premium != "" && c.sku.Lacks("PremiumIO"), c.vm.Premium, "has no premium storage",
		"use Standard_LRS or StandardSSD_LRS, or choose another spec.vmSize, such as one with an s in its name")
	most := int(c.sku.Number("MaxDataDiskCount"))
	c.refuse(most > 0 && c.vm.DataDisks > most, "spec.dataDisks",
		fmt.Sprintf("takes %d data disks and the machine has %d", most, c.vm.DataDisks),
		"use fewer disks or choose a bigger spec.vmSize")
	c.refuse(c.vm.UltraSSD && !c.sku.Has("UltraSSDAvailable", c.vm.Zone), "spec.dataDisks",
		fmt.Sprintf("has no UltraSSD disks in %s", c.place()),
		"use another storage account type, zone or spec.vmSize")
	c.refuse(c.vm.EncryptionAtHost && !c.sku.Has("EncryptionAtHostSupported", ""),
		"spec.securityProfile.encryptionAtHost", "has no encryption at host",
		"remove the field or choose another spec.vmSize")
}

func (c *checker) interfaces() {
	most := int(c.sku.Number("MaxNetworkInterfaces"))
	c.refuse(most > 0 && c.vm.Interfaces > most, "spec.networkInterfaces",
		fmt.Sprintf("takes %d network interfaces and the machine has %d", most, c.vm.Interfaces), "use fewer or choose a bigger spec.vmSize")
	c.refuse(c.vm.Accelerated != "" && c.sku.Lacks("AcceleratedNetworkingEnabled"), c.vm.Accelerated, "has no accelerated networking",
		"remove the field, which then follows the size, or choose another spec.vmSize")
}

func (c *checker) place() string {
	if c.vm.Zone == "" {
		return c.vm.Location
	}
	return "zone " + c.vm.Zone + " of " + c.vm.Location
}

func (c *checker) security() {
	const field = "spec.securityProfile.securityType"
	firmware := c.vm.SecureBoot || c.vm.VTPM
	c.refuse(firmware && (c.vm.SecurityType == "" || c.vm.SecurityType == Standard), field,
		"cannot have secure boot or vTPM without a security type",
		"set it to TrustedLaunch or ConfidentialVM")
	c.refuse(c.vm.EncryptedOSDisk && c.vm.SecurityType != ConfidentialVM, field,
		"cannot encrypt the OS disk as a confidential VM does",
		"set it to ConfidentialVM or remove spec.osDisk.managedDisk.securityProfile")
	c.refuse(c.vm.SecurityType == ConfidentialVM && c.sku.Capability("ConfidentialComputingType") == "", field,
		"is no confidential size", "choose another spec.vmSize, such as one of the DCasv5 series")
	trusted := !c.sku.Has("TrustedLaunchDisabled", "") && !strings.EqualFold(c.sku.Capability("HyperVGenerations"), "V1")
	asked := c.vm.SecurityType == TrustedLaunch || firmware && c.vm.SecurityType != ConfidentialVM
	c.refuse(asked && !trusted, field, "has no trusted launch", "choose another spec.vmSize or remove spec.securityProfile")
}
