package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
)

// Session is one cluster's access to its subscription.
type Session struct {
	shared
	// owner is by what tags the cluster's resources are known; its cluster's tag is set with
	// each call.
	owner plan.Owner
}

// For returns the session of one object of the cluster. Unless it is rightful, what is in
// Azure under the object's names is its own only where tags say so.
func (s *Session) For(kind, name string, rightful func(context.Context) bool) *Session {
	own, claims := *s, s.owner.Claims
	own.owner.Object = plan.Mark{Key: desired.ObjectTag, Value: desired.ObjectMark(kind, name)}
	own.owner.Claims = func(ctx context.Context) bool { return rightful(ctx) && claims(ctx) }
	return &own
}

// ownerOf returns the owner of the resources of a cluster.
func (s *Session) ownerOf(clusterName string) plan.Owner {
	owner := s.owner
	owner.Key, owner.Value = desired.OwnershipTag(clusterName), desired.Owned
	return owner
}

// Other returns another owner of something in Azure, by its tags, that has the cluster's tag;
// or "". shared is true for what belongs to the cluster and to no object of it.
func (s *Session) Other(ctx context.Context, tags map[string]string, clusterName string, shared bool) string {
	owner := s.ownerOf(clusterName)
	if tags[owner.Key] != owner.Value {
		return ""
	}
	want := map[string]string{owner.Mark.Key: owner.Mark.Value}
	if !shared && owner.Object.Key != "" {
		want[owner.Object.Key] = owner.Object.Value
	}
	return owner.Other(ctx, tags, want)
}

// Owns reports whether tags in Azure are those of the session's own resources.
func (s *Session) Owns(ctx context.Context, tags map[string]string, clusterName string, shared bool) bool {
	return desired.IsOwned(tags, clusterName) && s.Other(ctx, tags, clusterName, shared) == ""
}

// foreign reports whether something that is in Azure is not the session's own.
func (s *Session) foreign(ctx context.Context, live json.RawMessage, clusterName string, shared bool) bool {
	tags, err := TagsOf(live)
	return live != nil && (err != nil || !s.Owns(ctx, tags, clusterName, shared))
}

// Live returns a resource in Azure; nil without an error means that it does not exist.
// Reads are shared and up to a minute old.
func (s *Session) Live(ctx context.Context, id string) (json.RawMessage, error) {
	return s.planner.Live(ctx, id, desired.APIVersion(arm.TypeOf(id)))
}

// Refresh makes the next read of a resource call Azure, because another program may have
// changed it just now.
func (s *Session) Refresh(id string) { s.planner.Forget(id) }

// Apply makes one pass towards the desired state of a cluster's resources. states are those
// in the status of the object that the resources belong to.
func (s *Session) Apply(ctx context.Context, clusterName string, resources []desired.Resource,
	states []infrav1.LongRunningOperationState) plan.Outcome {
	return s.planner.Apply(ctx, s.input(clusterName, resources, states))
}

// Delete makes one pass towards the deletion of resources.
func (s *Session) Delete(ctx context.Context, clusterName string, resources []desired.Resource,
	states []infrav1.LongRunningOperationState) plan.Outcome {
	return s.planner.Delete(ctx, s.input(clusterName, resources, states))
}

func (s *Session) input(clusterName string, resources []desired.Resource, states []infrav1.LongRunningOperationState) plan.Input {
	return plan.Input{
		Resources: resources,
		Owner:     s.ownerOf(clusterName),
		Tokens:    Tokens(states),
	}
}

// Invoke makes one pass over actions: each resource is the path of an action with the body to
// post. states are as for Apply.
func (s *Session) Invoke(ctx context.Context, clusterName string, actions []desired.Resource,
	states []infrav1.LongRunningOperationState) plan.Outcome {
	return s.planner.Invoke(ctx, s.input(clusterName, actions, states))
}

// List reads a collection. Unless fresh is true, the answer may be up to a minute old.
func (s *Session) List(ctx context.Context, collection string, fresh bool) ([]json.RawMessage, error) {
	return s.planner.List(ctx, collection, desired.APIVersion(arm.TypeOf(collection)), fresh)
}

// Zones returns the availability zones of a location.
func (s *Session) Zones(ctx context.Context, location string) ([]string, error) {
	return s.catalog.Zones(ctx, location)
}

// Size has the properties of a VM size that casement uses.
type Size struct {
	CPUs                         int64
	MemoryMiB                    int64
	ARM64, AcceleratedNetworking bool
	// FaultDomains is the largest number of fault domains of an availability set in the
	// location.
	FaultDomains int32
}

// Node returns the resources and labels that a node of the size will have, for an
// autoscaler that scales up from zero.
func (z Size) Node(osType string) (corev1.ResourceList, *infrav1.NodeInfo) {
	architecture := infrav1.Architecture("amd64")
	if z.ARM64 {
		architecture = "arm64"
	}
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(z.CPUs, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(z.MemoryMiB<<20, resource.BinarySI),
	}, &infrav1.NodeInfo{Architecture: architecture, OperatingSystem: infrav1.OperatingSystem(strings.ToLower(osType))}
}

// Size looks up a machine's VM size and checks that the machine can be created with it in
// the zone. The error is a *desired.InvalidError if the spec has to change.
func (s *Session) Size(ctx context.Context, location string, spec *infrav1.AzureMachineSpec, zone string) (Size, error) {
	vm := VM(location, spec, zone)
	sku, ok, err := s.catalog.SKU(ctx, vm.Location, vm.Size)
	if err != nil {
		return Size{}, err
	}
	var problems []catalog.Problem
	if ok {
		problems = catalog.CheckVM(sku, vm)
	} else {
		offered, err := s.catalog.SKUs(ctx, vm.Location)
		if err != nil {
			return Size{}, err
		}
		problems = []catalog.Problem{catalog.NoSuchSize(vm, offered)}
	}
	if len(problems) > 0 {
		return Size{}, invalid(problems)
	}
	sets, _, err := s.catalog.SKU(ctx, vm.Location, "Aligned")
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
	if a := spec.AdditionalCapabilities; a != nil {
		vm.UltraSSD = ptr.Deref(a.UltraSSDEnabled, false)
	}
	for _, d := range spec.DataDisks {
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
func (s *Session) ImageExists(ctx context.Context, c *infrav1.AzureCluster, image infrav1.Image) (bool, error) {
	return s.catalog.Exists(ctx, c.Spec.Location, CatalogImage(image))
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
