// Package capacity predicts a node: the image and size of its machine, whether Azure offers both, and the capacity that
// an autoscaler reads before the first node exists.
//
// It creates nothing in Azure. The controllers, internal/upgrade, internal/drift and preflight import it.
package capacity

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/azure/desired"
)

// Size has the properties of a VM size that casement uses.
type Size struct {
	CPUs                         int64
	MemoryMiB                    int64
	ARM64, AcceleratedNetworking bool
	// FaultDomains is the largest number of fault domains of an availability set in the
	// location.
	FaultDomains int32
}

// Node returns the resources and labels that a node of the size will have, for an autoscaler that scales a group from zero.
func (s Size) Node(osType string) (corev1.ResourceList, *infrav1.NodeInfo) {
	architecture := infrav1.Architecture("amd64")
	if s.ARM64 {
		architecture = "arm64"
	}
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(s.CPUs, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(s.MemoryMiB<<20, resource.BinarySI),
	}, &infrav1.NodeInfo{Architecture: architecture, OperatingSystem: infrav1.OperatingSystem(strings.ToLower(osType))}
}

// Of looks up a machine's VM size and checks that the machine can be created with it in
// the zone. The error is a *desired.InvalidError if the spec has to change.
func Of(ctx context.Context, offers *catalog.Catalog, location string, spec *infrav1.AzureMachineSpec, zone string) (Size, error) {
	vm := VM(location, spec, zone)
	sku, ok, err := offers.SKU(ctx, vm.Location, vm.Size)
	if err != nil {
		return Size{}, err
	}
	var problems []catalog.Problem
	if ok {
		problems = catalog.CheckVM(sku, vm)
	} else {
		offered, err := offers.SKUs(ctx, vm.Location)
		if err != nil {
			return Size{}, err
		}
		problems = []catalog.Problem{catalog.NoSuchSize(vm, offered)}
	}
	if len(problems) > 0 {
		return Size{}, invalid(problems)
	}
	sets, _, err := offers.SKU(ctx, vm.Location, "Aligned")
	return Size{
		CPUs: int64(sku.VCPUs()), MemoryMiB: int64(sku.MemoryGiB() * 1024),
		ARM64: sku.ARM64(), AcceleratedNetworking: sku.AcceleratedNetworking(),
		FaultDomains: int32(sets.SetFaultDomains()),
	}, err
}

// VM returns the fields of a machine that the catalog checks.
func VM(location string, spec *infrav1.AzureMachineSpec, zone string) catalog.VM {
	vm := catalog.VM{
		Size: spec.VMSize, Location: location, Zone: zone,
		EphemeralOSDisk: spec.OSDisk.DiffDiskSettings != nil,
		EncryptedOSDisk: spec.OSDisk.ManagedDisk != nil && spec.OSDisk.ManagedDisk.SecurityProfile != nil,
	}
	if d := spec.OSDisk.DiffDiskSettings; d != nil {
		vm.Placement = string(ptr.Deref(d.Placement, ""))
	}
	if d := spec.OSDisk.ManagedDisk; d != nil && strings.HasPrefix(d.StorageAccountType, "Premium") {
		vm.Premium = "spec.osDisk.managedDisk.storageAccountType"
	}
	vm.DataDisks, vm.Interfaces, vm.Spot = len(spec.DataDisks), max(1, len(spec.NetworkInterfaces)), spec.SpotVMOptions != nil
	if ptr.Deref(spec.AcceleratedNetworking, false) && len(spec.NetworkInterfaces) == 0 {
		vm.Accelerated = "spec.acceleratedNetworking"
	}
	for i, n := range spec.NetworkInterfaces {
		if ptr.Deref(n.AcceleratedNetworking, false) {
			vm.Accelerated = fmt.Sprintf("spec.networkInterfaces[%d].acceleratedNetworking", i)
		}
	}
	if a := spec.AdditionalCapabilities; a != nil {
		vm.UltraSSD = ptr.Deref(a.UltraSSDEnabled, false)
	}
	for i, d := range spec.DataDisks {
		if vm.Premium == "" && d.ManagedDisk != nil && strings.HasPrefix(d.ManagedDisk.StorageAccountType, "Premium") {
			vm.Premium = fmt.Sprintf("spec.dataDisks[%d].managedDisk.storageAccountType", i)
		}
		vm.UltraSSD = vm.UltraSSD || d.ManagedDisk != nil && d.ManagedDisk.StorageAccountType == "UltraSSD_LRS"
	}
	if p := spec.SecurityProfile; p != nil {
		vm.EncryptionAtHost = ptr.Deref(p.EncryptionAtHost, false)
		vm.SecurityType = string(p.SecurityType)
		if u := p.UefiSettings; u != nil {
			vm.SecureBoot, vm.VTPM = ptr.Deref(u.SecureBootEnabled, false), ptr.Deref(u.VTpmEnabled, false)
		}
	}
	return vm
}

// invalid joins problems into one error; its field is the first problem's.
func invalid(problems []catalog.Problem) error {
	var more []string
	for _, p := range problems[1:] {
		more = append(more, p.String())
	}
	e := &desired.InvalidError{Field: problems[0].Field, Reason: problems[0].Reason, Fix: problems[0].Fix}
	if len(more) > 0 {
		e.Fix = fmt.Sprintf("%s; also %s", e.Fix, strings.Join(more, "; "))
	}
	return e
}

// ImageExists reports whether an image exists in a cluster's location.
func ImageExists(ctx context.Context, offers *catalog.Catalog, c *infrav1.AzureCluster, image infrav1.Image) (bool, error) {
	return offers.Exists(ctx, c.Spec.Location, CatalogImage(image))
}

// CatalogImage converts an image to the catalog's form.
func CatalogImage(image infrav1.Image) catalog.Image {
	switch {
	case image.ID != nil:
		return catalog.Image{ID: *image.ID}
	case image.Marketplace != nil:
		m := image.Marketplace
		return catalog.Image{Publisher: m.Publisher, Offer: m.Offer, SKU: m.SKU, Version: m.Version}
	case image.SharedGallery != nil:
		g := image.SharedGallery
		return catalog.Image{ID: desired.GalleryImageID(g.SubscriptionID, g.ResourceGroup, g.Gallery, g.Name, g.Version)}
	case image.ComputeGallery != nil:
		g := image.ComputeGallery
		if g.SubscriptionID != nil && g.ResourceGroup != nil {
			return catalog.Image{ID: desired.GalleryImageID(*g.SubscriptionID, *g.ResourceGroup, g.Gallery, g.Name, g.Version)}
		}
		return catalog.Image{Gallery: g.Gallery, Name: g.Name, Version: g.Version}
	}
	return catalog.Image{}
}
