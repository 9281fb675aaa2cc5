package desired

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// AdminUsername is the administrator account of every VM.
const AdminUsername = "capi"

// virtualMachine adds the VM. Azure deletes its network interfaces and disks with it, so that deleting a machine takes one call.
func (b *machineBuilder) virtualMachine() error {
	role := roleNode
	if b.ControlPlane {
		role = roleControlPlane
	}
	vm := armcompute.VirtualMachine{
		Location: b.location(),
		Tags:     b.tags(b.VMName, role, b.spec.AdditionalTags, b.cloudProviderTags()),
	}
	if !b.Exists {
		if err := b.fillVM(&vm); err != nil {
			return err
		}
	}
	b.add(Resource{
		ID: VMID(b.Cluster, b.VMName), APIVersion: ComputeAPIVersion, Body: vm,
		Policy: CreateOnly, Condition: infrav1.VMRunningCondition, Field: "spec",
		Needs: append(NICIDs(b.Cluster, b.Machine, b.VMName), b.needs...),
	})
	return nil
}

// fillVM sets the properties of a new VM.
func (b *machineBuilder) fillVM(vm *armcompute.VirtualMachine) error {
	image, plan, err := imageReference(b.Image, b.Cluster.Spec.SubscriptionID)
	if err != nil {
		return err
	}
	os, err := b.osProfile()
	if err != nil {
		return err
	}
	identity, err := b.identity()
	if err != nil {
		return err
	}
	vm.Zones, vm.Plan, vm.Identity = b.zones(), plan, identity
	vm.Properties = &armcompute.VirtualMachineProperties{
		HardwareProfile: &armcompute.HardwareProfile{VMSize: new(armcompute.VirtualMachineSizeTypes(b.spec.VMSize))},
		StorageProfile: &armcompute.StorageProfile{
			ImageReference: image,
			OSDisk:         b.osDisk(),
			DataDisks:      b.dataDisks(),
		},
		OSProfile:              os,
		NetworkProfile:         &armcompute.NetworkProfile{NetworkInterfaces: b.networkInterfaceReferences()},
		SecurityProfile:        b.securityProfile(),
		DiagnosticsProfile:     b.diagnostics(),
		AdditionalCapabilities: b.additionalCapabilities(),
	}
	b.spot(vm.Properties)
	if e := b.Cluster.Spec.ExtendedLocation; e != nil {
		vm.ExtendedLocation = &armcompute.ExtendedLocation{Name: &e.Name, Type: new(armcompute.ExtendedLocationTypesEdgeZone)}
	}
	if group := b.spec.CapacityReservationGroupID; group != nil && *group != "" {
		vm.Properties.CapacityReservation = &armcompute.CapacityReservationProfile{
			CapacityReservationGroup: &armcompute.SubResource{ID: group},
		}
	}
	if b.AvailabilitySet != nil {
		vm.Properties.AvailabilitySet = &armcompute.SubResource{ID: new(b.availabilitySetID())}
	}
	return nil
}

func (b *machineBuilder) windows() bool { return b.spec.OSDisk.OSType == infrav1.WindowsOS }

func (b *machineBuilder) osProfile() (*armcompute.OSProfile, error) {
	p := &armcompute.OSProfile{
		ComputerName:             &b.VMName,
		AdminUsername:            new(AdminUsername),
		CustomData:               new(base64.StdEncoding.EncodeToString(b.BootstrapData)),
		AllowExtensionOperations: new(b.spec.DisableExtensionOperations == nil || !*b.spec.DisableExtensionOperations),
	}
	if b.windows() {
		// A restart by Windows Update at an arbitrary time would stop the node.
		p.AdminPassword = &b.AdminPassword
		p.WindowsConfiguration = &armcompute.WindowsConfiguration{EnableAutomaticUpdates: new(false)}
		return p, nil
	}
	key, err := base64.StdEncoding.DecodeString(b.spec.SSHPublicKey)
	if err != nil {
		return nil, &InvalidError{"spec.sshPublicKey", "is not base64", "encode the public key line with base64"}
	}
	p.LinuxConfiguration = &armcompute.LinuxConfiguration{
		DisablePasswordAuthentication: new(true),
		SSH: &armcompute.SSHConfiguration{PublicKeys: []*armcompute.SSHPublicKey{{
			Path:    new("/home/" + AdminUsername + "/.ssh/authorized_keys"),
			KeyData: new(string(key)),
		}}},
	}
	return p, nil
}

func (b *machineBuilder) networkInterfaceReferences() []*armcompute.NetworkInterfaceReference {
	var refs []*armcompute.NetworkInterfaceReference
	for i, id := range NICIDs(b.Cluster, b.Machine, b.VMName) {
		refs = append(refs, &armcompute.NetworkInterfaceReference{
			ID: &id,
			Properties: &armcompute.NetworkInterfaceReferenceProperties{
				Primary:      new(i == 0),
				DeleteOption: new(armcompute.DeleteOptionsDelete),
			},
		})
	}
	return refs
}

// identity returns the identities in the spec, and the identity that reads the bootstrap
// secret.
func (b *machineBuilder) identity() (*armcompute.VirtualMachineIdentity, error) {
	users := map[string]*armcompute.UserAssignedIdentitiesValue{}
	if b.spec.Identity == infrav1.VMIdentityUserAssigned {
		if len(b.spec.UserAssignedIdentities) == 0 {
			return nil, &InvalidError{"spec.userAssignedIdentities",
				"is empty although spec.identity is UserAssigned", "name at least one identity"}
		}
		for _, id := range b.spec.UserAssignedIdentities {
			users[IdentityID(id.ProviderID)] = &armcompute.UserAssignedIdentitiesValue{}
		}
	}
	if b.SecretReader != "" {
		users[b.SecretReader] = &armcompute.UserAssignedIdentitiesValue{}
	}
	system := b.spec.Identity == infrav1.VMIdentitySystemAssigned
	switch {
	case system && len(users) > 0:
		return &armcompute.VirtualMachineIdentity{
			Type: new(armcompute.ResourceIdentityTypeSystemAssignedUserAssigned), UserAssignedIdentities: users,
		}, nil
	case system:
		return &armcompute.VirtualMachineIdentity{Type: new(armcompute.ResourceIdentityTypeSystemAssigned)}, nil
	case len(users) > 0:
		return &armcompute.VirtualMachineIdentity{
			Type: new(armcompute.ResourceIdentityTypeUserAssigned), UserAssignedIdentities: users,
		}, nil
	}
	return nil, nil
}

// IdentityID returns the resource ID in a user-assigned identity's provider ID, which can
// begin with azure:// or azure:///.
func IdentityID(providerID string) string {
	return "/" + strings.TrimLeft(strings.TrimPrefix(providerID, "azure://"), "/")
}

func (b *machineBuilder) securityProfile() *armcompute.SecurityProfile {
	given := b.spec.SecurityProfile
	if given == nil {
		return nil
	}
	p := &armcompute.SecurityProfile{EncryptionAtHost: given.EncryptionAtHost}
	if given.SecurityType != "" {
		p.SecurityType = new(armcompute.SecurityTypes(given.SecurityType))
	}
	if u := given.UefiSettings; u != nil {
		p.UefiSettings = &armcompute.UefiSettings{SecureBootEnabled: u.SecureBootEnabled, VTpmEnabled: u.VTpmEnabled}
	}
	return p
}

func (b *machineBuilder) diagnostics() *armcompute.DiagnosticsProfile {
	boot := &armcompute.BootDiagnostics{Enabled: new(true)}
	if d := b.spec.Diagnostics; d != nil && d.Boot != nil {
		switch d.Boot.StorageAccountType {
		case infrav1.DisabledDiagnosticsStorage:
			boot.Enabled = new(false)
		case infrav1.UserManagedDiagnosticsStorage:
			if d.Boot.UserManaged != nil {
				boot.StorageURI = &d.Boot.UserManaged.StorageAccountURI
			}
		}
	}
	return &armcompute.DiagnosticsProfile{BootDiagnostics: boot}
}

func (b *machineBuilder) additionalCapabilities() *armcompute.AdditionalCapabilities {
	if c := b.spec.AdditionalCapabilities; c != nil && c.UltraSSDEnabled != nil {
		return &armcompute.AdditionalCapabilities{UltraSSDEnabled: c.UltraSSDEnabled}
	}
	if b.usesUltraSSD() {
		return &armcompute.AdditionalCapabilities{UltraSSDEnabled: new(true)}
	}
	return nil
}

func (b *machineBuilder) usesUltraSSD() bool {
	for _, d := range b.spec.DataDisks {
		if d.ManagedDisk != nil && d.ManagedDisk.StorageAccountType == string(armcompute.StorageAccountTypesUltraSSDLRS) {
			return true
		}
	}
	return false
}

func (b *machineBuilder) spot(p *armcompute.VirtualMachineProperties) {
	spot := b.spec.SpotVMOptions
	if spot == nil {
		return
	}
	policy := armcompute.VirtualMachineEvictionPolicyTypesDeallocate
	if b.spec.OSDisk.DiffDiskSettings != nil {
		policy = armcompute.VirtualMachineEvictionPolicyTypesDelete
	}
	if spot.EvictionPolicy != nil {
		policy = armcompute.VirtualMachineEvictionPolicyTypes(*spot.EvictionPolicy)
	}
	p.Priority, p.EvictionPolicy = new(armcompute.VirtualMachinePriorityTypesSpot), &policy
	if spot.MaxPrice != nil {
		p.BillingProfile = &armcompute.BillingProfile{MaxPrice: new(spot.MaxPrice.AsApproximateFloat64())}
	}
}

// imageReference converts an image of the API to Azure's reference, with the purchase plan
// that it may need.
func imageReference(image infrav1.Image, subscription string) (*armcompute.ImageReference, *armcompute.Plan, error) {
	switch {
	case image.ID != nil:
		return &armcompute.ImageReference{ID: image.ID}, nil, nil
	case image.Marketplace != nil:
		m := image.Marketplace
		ref := &armcompute.ImageReference{Publisher: &m.Publisher, Offer: &m.Offer, SKU: &m.SKU, Version: &m.Version}
		if m.ThirdPartyImage {
			return ref, plan(m.Publisher, m.Offer, m.SKU), nil
		}
		return ref, nil, nil
	case image.SharedGallery != nil:
		g := image.SharedGallery
		ref := &armcompute.ImageReference{ID: new(GalleryImageID(g.SubscriptionID, g.ResourceGroup, g.Gallery, g.Name, g.Version))}
		if g.Publisher != nil && g.Offer != nil && g.SKU != nil {
			return ref, plan(*g.Publisher, *g.Offer, *g.SKU), nil
		}
		return ref, nil, nil
	case image.ComputeGallery != nil:
		return computeGalleryReference(image.ComputeGallery)
	}
	return nil, nil, &InvalidError{"spec.image", "names no image", "set one of id, marketplace, sharedGallery and computeGallery"}
}

func computeGalleryReference(g *infrav1.AzureComputeGalleryImage) (*armcompute.ImageReference, *armcompute.Plan, error) {
	var p *armcompute.Plan
	if g.Plan != nil {
		p = plan(g.Plan.Publisher, g.Plan.Offer, g.Plan.SKU)
	}
	if g.SubscriptionID != nil && g.ResourceGroup != nil {
		return &armcompute.ImageReference{
			ID: new(GalleryImageID(*g.SubscriptionID, *g.ResourceGroup, g.Gallery, g.Name, g.Version)),
		}, p, nil
	}
	return &armcompute.ImageReference{
		CommunityGalleryImageID: new(fmt.Sprintf("/CommunityGalleries/%s/Images/%s/Versions/%s", g.Gallery, g.Name, g.Version)),
	}, p, nil
}

// GalleryImageID returns the ID of an image version in a gallery of a subscription.
func GalleryImageID(subscription, group, gallery, name, version string) string {
	return Group{Subscription: subscription, Name: group}.Compute("galleries", gallery, "images", name, "versions", version)
}

func plan(publisher, product, name string) *armcompute.Plan {
	return &armcompute.Plan{Publisher: &publisher, Product: &product, Name: &name}
}
