package webhook

import (
	"encoding/base64"
	"fmt"
	"reflect"

	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "casement.dev/casement/api/v1beta1"
)

func validateMachine(old, m *infrav1.AzureMachine) field.ErrorList {
	path := field.NewPath("spec")
	if old != nil {
		return machineImmutable(&old.Spec, &m.Spec, path)
	}
	return validateMachineSpec(&m.Spec, path)
}

func validateMachineTemplate(old, t *infrav1.AzureMachineTemplate) field.ErrorList {
	path := field.NewPath("spec", "template", "spec")
	if old != nil {
		if !reflect.DeepEqual(old.Spec.Template.Spec, t.Spec.Template.Spec) {
			return field.ErrorList{field.Forbidden(path, "a machine template cannot be changed; make a new one and refer to it")}
		}
		return nil
	}
	errs := validateMachineSpec(&t.Spec.Template.Spec, path)
	if name := t.Spec.Template.Spec.RoleAssignmentName; name != "" {
		errs = append(errs, field.Forbidden(path.Child("roleAssignmentName"), "each machine needs a name of its own"))
	}
	return errs
}

func validateMachineSpec(s *infrav1.AzureMachineSpec, path *field.Path) field.ErrorList {
	errs := validateImage(s.Image, path.Child("image"))
	if raw, err := base64.StdEncoding.DecodeString(s.SSHPublicKey); err != nil {
		errs = append(errs, field.Invalid(path.Child("sshPublicKey"), "(not shown)", "must be the base64 of an authorized_keys line"))
	} else if _, _, _, _, err := ssh.ParseAuthorizedKey(raw); err != nil {
		errs = append(errs, field.Invalid(path.Child("sshPublicKey"), "(not shown)", "must be the base64 of an authorized_keys line"))
	}
	errs = append(errs, validateDisks(s, path)...)
	errs = append(errs, validateIdentities(s, path)...)
	if s.SubnetName != "" && len(s.NetworkInterfaces) > 0 {
		errs = append(errs, field.Invalid(path.Child("networkInterfaces"), len(s.NetworkInterfaces), "give subnetName or networkInterfaces, not both"))
	}
	if off := s.DisableExtensionOperations; off != nil && *off && len(s.VMExtensions) > 0 {
		errs = append(errs, field.Forbidden(path.Child("vmExtensions"), "extension operations are disabled by disableExtensionOperations"))
	}
	return errs
}

func validateImage(image *infrav1.Image, path *field.Path) field.ErrorList {
	if image == nil {
		return nil
	}
	kinds := 0
	for _, set := range []bool{image.ID != nil, image.Marketplace != nil, image.SharedGallery != nil, image.ComputeGallery != nil} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		return field.ErrorList{field.Invalid(path, kinds, "give exactly one of id, marketplace, sharedGallery and computeGallery")}
	}
	if g := image.ComputeGallery; g != nil && (g.SubscriptionID == nil) != (g.ResourceGroup == nil) {
		return field.ErrorList{field.Invalid(path.Child("computeGallery"), g.Name, "a private gallery needs subscriptionID and resourceGroup together; a community gallery has neither")}
	}
	return nil
}

func validateDisks(s *infrav1.AzureMachineSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	os := path.Child("osDisk")
	if size := s.OSDisk.DiskSizeGB; size != nil && (*size < 1 || *size > 2048) {
		errs = append(errs, field.Invalid(os.Child("diskSizeGB"), *size, "must be between 1 and 2048"))
	}
	if s.OSDisk.OSType != infrav1.LinuxOS && s.OSDisk.OSType != infrav1.WindowsOS {
		errs = append(errs, field.NotSupported(os.Child("osType"), s.OSDisk.OSType, []string{infrav1.LinuxOS, infrav1.WindowsOS}))
	}
	if m := s.OSDisk.ManagedDisk; m != nil && m.StorageAccountType == "UltraSSD_LRS" {
		errs = append(errs, field.Invalid(os.Child("managedDisk", "storageAccountType"), m.StorageAccountType, "an OS disk cannot be an ultra disk"))
	}
	if d := s.OSDisk.DiffDiskSettings; d != nil && s.OSDisk.ManagedDisk != nil && s.OSDisk.ManagedDisk.DiskEncryptionSet != nil {
		errs = append(errs, field.Invalid(os.Child("managedDisk", "diskEncryptionSet"), d.Option, "an ephemeral OS disk cannot have a disk encryption set"))
	}
	luns, names := map[int32]bool{}, map[string]bool{}
	for i, d := range s.DataDisks {
		p := path.Child("dataDisks").Index(i)
		if d.DiskSizeGB < 4 || d.DiskSizeGB > 32767 {
			errs = append(errs, field.Invalid(p.Child("diskSizeGB"), d.DiskSizeGB, "must be between 4 and 32767"))
		}
		if names[d.NameSuffix] {
			errs = append(errs, field.Duplicate(p.Child("nameSuffix"), d.NameSuffix))
		}
		names[d.NameSuffix] = true
		if d.Lun == nil {
			continue
		}
		if *d.Lun < 0 || *d.Lun > 63 {
			errs = append(errs, field.Invalid(p.Child("lun"), *d.Lun, "must be between 0 and 63"))
		}
		if luns[*d.Lun] {
			errs = append(errs, field.Duplicate(p.Child("lun"), *d.Lun))
		}
		luns[*d.Lun] = true
	}
	return errs
}

func validateIdentities(s *infrav1.AzureMachineSpec, path *field.Path) field.ErrorList {
	if s.Identity == infrav1.VMIdentityUserAssigned && len(s.UserAssignedIdentities) == 0 {
		return field.ErrorList{field.Required(path.Child("userAssignedIdentities"), "identity UserAssigned needs at least one")}
	}
	if s.Identity != infrav1.VMIdentitySystemAssigned && s.RoleAssignmentName != "" {
		return field.ErrorList{field.Forbidden(path.Child("roleAssignmentName"), fmt.Sprintf("only with identity %s", infrav1.VMIdentitySystemAssigned))}
	}
	return nil
}

func machineImmutable(old, s *infrav1.AzureMachineSpec, path *field.Path) field.ErrorList {
	errs := immutable(path.Child("image"), old.Image, s.Image)
	errs = append(errs, immutable(path.Child("identity"), old.Identity, s.Identity)...)
	errs = append(errs, immutable(path.Child("systemAssignedIdentityRole"), old.SystemAssignedIdentityRole, s.SystemAssignedIdentityRole)...)
	errs = append(errs, immutable(path.Child("userAssignedIdentities"), old.UserAssignedIdentities, s.UserAssignedIdentities)...)
	errs = append(errs, immutable(path.Child("roleAssignmentName"), old.RoleAssignmentName, s.RoleAssignmentName)...)
	errs = append(errs, immutable(path.Child("osDisk"), old.OSDisk, s.OSDisk)...)
	errs = append(errs, immutable(path.Child("dataDisks"), old.DataDisks, s.DataDisks)...)
	if old.SSHPublicKey != s.SSHPublicKey {
		errs = append(errs, field.Forbidden(path.Child("sshPublicKey"), "field is immutable"))
	}
	errs = append(errs, immutable(path.Child("allocatePublicIP"), old.AllocatePublicIP, s.AllocatePublicIP)...)
	errs = append(errs, immutable(path.Child("enableIPForwarding"), old.EnableIPForwarding, s.EnableIPForwarding)...)
	errs = append(errs, immutable(path.Child("spotVMOptions"), old.SpotVMOptions, s.SpotVMOptions)...)
	errs = append(errs, immutable(path.Child("securityProfile"), old.SecurityProfile, s.SecurityProfile)...)
	errs = append(errs, onceSet(path.Child("diagnostics"), old.Diagnostics, s.Diagnostics)...)
	errs = append(errs, immutable(path.Child("capacityReservationGroupID"), old.CapacityReservationGroupID, s.CapacityReservationGroupID)...)
	errs = append(errs, immutable(path.Child("disableExtensionOperations"), old.DisableExtensionOperations, s.DisableExtensionOperations)...)
	errs = append(errs, onceSet(path.Child("disableVMBootstrapExtension"), old.DisableVMBootstrapExtension, s.DisableVMBootstrapExtension)...)
	if len(old.NetworkInterfaces) > 0 && old.NetworkInterfaces[0].SubnetName != "" {
		errs = append(errs, immutable(path.Child("networkInterfaces"), old.NetworkInterfaces, s.NetworkInterfaces)...)
	}
	return errs
}

func validateIdentity(old, i *infrav1.AzureClusterIdentity) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if old != nil {
		errs = immutable(path.Child("type"), old.Spec.Type, i.Spec.Type)
	}
	if i.Spec.Type != infrav1.UserAssignedMSI && i.Spec.ResourceID != "" {
		errs = append(errs, field.Forbidden(path.Child("resourceID"), "only with type UserAssignedMSI"))
	}
	if i.Spec.Type != infrav1.UserAssignedIdentityCredential && i.Spec.UserAssignedIdentityCredentialsPath != "" {
		errs = append(errs, field.Forbidden(path.Child("userAssignedIdentityCredentialsPath"), "only with type UserAssignedIdentityCredential"))
	}
	return errs
}
