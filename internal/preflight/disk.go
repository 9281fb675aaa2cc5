package preflight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/controller/capacity"
	"casement.dev/casement/internal/lint"
)

// disks returns the checks of a machine's size, OS disk and image against each other.
func (c checker) disks() []lint.Rule {
	return []lint.Rule{
		{
			ID: "PRE115", Severity: lint.Error, Title: "An ephemeral OS disk that the host has no room for", Oracle: lint.Unit,
			Doc: "An ephemeral OS disk is in the cache of the VM's host, or on its temporary or NVMe disk, as " +
				"osDisk.diffDiskSettings.placement says, and may not be larger than that (Microsoft Learn, \"Ephemeral OS disks for " +
				"Azure VMs\"): Azure refuses the VM with OperationNotAllowed.",
			Check: c.eachSubscription(ephemeralDisks),
		},
		{
			ID: "PRE116", Severity: lint.Error, Title: "An image of a generation that the machine cannot have", Oracle: lint.Unit,
			Doc: "Trusted Launch and confidential VMs boot images of generation 2 alone, and a size takes the generations that its " +
				"capability HyperVGenerations lists. Azure refuses another image with BadRequest (Microsoft Learn, \"Trusted " +
				"Launch for Azure virtual machines\").",
			Check: c.eachSubscription(generations),
		},
		{
			ID: "PRE118", Severity: lint.Error, Title: "An OS disk smaller than its image", Oracle: lint.Unit,
			Doc: "osDisk.diskSizeGB is not smaller than the OS disk of the image: Azure refuses the VM with OperationNotAllowed. Azure " +
				"says the size of images on the marketplace; of those in galleries it is not known before the VM is made. Source: " +
				"github.com/Azure/azure-sdk-for-python issue 23051.",
			Check: c.eachSubscription(smallDisks),
		},
	}
}

// mib and gib are in bytes: a SKU has the size of its cache in bytes, and that of its temporary disk in MiB.
const mib, gib = 1 << 20, 1 << 30

// diskSpace returns the place of an ephemeral disk, and the size in GiB that a VM size has there; ok is false if the VM size
// does not show it.
func diskSpace(sku catalog.SKU, placement *infrav1.DiffDiskPlacement) (where string, size int64, ok bool) {
	places := []struct {
		placement, where string
		bytes            float64
	}{
		{"CacheDisk", "cache", sku.Number("CachedDiskBytes")},
		{"ResourceDisk", "temporary disk", sku.Number("MaxResourceVolumeMB") * mib},
		{"NvmeDisk", "NVMe disk", sku.Number("NvmeDiskSizeInMiB") * mib},
	}
	for _, p := range places {
		if placement != nil && string(*placement) == p.placement || placement == nil && p.bytes > 0 {
			return p.where, int64(p.bytes) / gib, sku.Capability("MaxResourceVolumeMB") != "" || p.bytes > 0
		}
	}
	return "", 0, false
}

func ephemeralDisks(p *lint.Pass, c *Cluster, s *Subscription) {
	r := s.region(c)
	if r == nil || r.sizes == nil {
		return
	}
	for _, m := range c.Machines {
		sku, known := r.sizes[strings.ToLower(m.Spec.VMSize)]
		disk := m.Spec.OSDisk
		if m.Infra == nil || !known || disk.DiffDiskSettings == nil || disk.DiskSizeGB == nil || !sku.Has("EphemeralOSDiskSupported", "") {
			continue // check PRE111 reports a size without ephemeral disks
		}
		where, size, ok := diskSpace(sku, disk.DiffDiskSettings.Placement)
		if want := int64(*disk.DiskSizeGB); ok && want > size {
			at := m.At.At("osDisk", "diskSizeGB")
			if !at.Exists() {
				at = m.At.At("osDisk", "diffDiskSettings")
			}
			p.Report(m.Infra, at, fmt.Sprintf("an ephemeral OS disk of %d GiB does not fit into the %s of %s, which has %d GiB",
				want, where, sku.Name, size), say("a smaller disk, another placement, a larger size, or no diffDiskSettings"))
		}
	}
}

func generations(p *lint.Pass, c *Cluster, s *Subscription) {
	r := s.region(c)
	if r == nil {
		return
	}
	for _, m := range c.Machines {
		image, ok := imageOf(m, c)
		generation := r.traits[image].Generation
		if !ok || generation == "" {
			continue
		}
		at := m.At.At("image")
		if !at.Exists() {
			at = m.At.At("vmSize")
		}
		vm := capacity.VM(c.Azure.Spec.Location, &m.Spec, "")
		taken := r.sizes[strings.ToLower(m.Spec.VMSize)].Capability("HyperVGenerations")
		switch {
		case generation == "V1" && trusted(vm):
			if place := m.At.At("securityProfile"); place.Exists() {
				at = place
			}
			p.Report(m.Infra, at, fmt.Sprintf("image %s is of generation 1, and %s needs generation 2", imageName(image),
				cmp.Or(vm.SecurityType, "secure boot or a virtual TPM")), say("an image of generation 2, or no securityProfile"))
		case taken != "" && !slices.Contains(strings.Split(strings.ToUpper(taken), ","), generation):
			p.Report(m.Infra, at, fmt.Sprintf("image %s is of generation %s, and size %s boots %s alone", imageName(image),
				strings.TrimPrefix(generation, "V"), m.Spec.VMSize, taken), say("an image of that generation, or another size"))
		}
	}
}

// trusted reports whether a VM uses a feature that only generation 2 has.
func trusted(vm catalog.VM) bool { return vm.SecurityType != "" || vm.SecureBoot || vm.VTPM }

// imageTraits reads the traits of an existing image from Azure.
func (r reader) imageTraits(ctx context.Context, known *catalog.Catalog, location string, at *region, image catalog.Image) {
	traits, err := known.Traits(ctx, location, image)
	if err != nil {
		r.recordError(err)
		return
	}
	at.traits[image] = traits
}

func smallDisks(p *lint.Pass, c *Cluster, s *Subscription) {
	r := s.region(c)
	if r == nil {
		return
	}
	for _, m := range c.Machines {
		image, ok := imageOf(m, c)
		asked := m.At.At("osDisk", "diskSizeGB")
		if least := r.traits[image].DiskGiB; ok && asked.Exists() && m.Spec.OSDisk.DiskSizeGB != nil && int(*m.Spec.OSDisk.DiskSizeGB) < least {
			p.Report(m.Infra, asked, fmt.Sprintf("a disk of %d GiB is smaller than that of image %s, which has %d GiB",
				*m.Spec.OSDisk.DiskSizeGB, imageName(image), least), say(fmt.Sprintf("diskSizeGB: %d or more", least)))
		}
	}
}
