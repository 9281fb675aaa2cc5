package webhook

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// diskSKUs returns Azure's SKUs of managed disks, as api-version 2025 of Microsoft.Compute names them.
func diskSKUs() []string {
	return []string{"Premium_LRS", "Premium_ZRS", premiumV2, "StandardSSD_LRS", "StandardSSD_ZRS", "Standard_LRS", ultraSSD}
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
	if image.ID != nil && *image.ID == "" {
		return field.ErrorList{field.Required(path.Child("id"), "the resource ID of an image or gallery version")}
	}
	if g := image.ComputeGallery; g != nil && (g.SubscriptionID == nil) != (g.ResourceGroup == nil) {
		return field.ErrorList{field.Invalid(path.Child("computeGallery"), g.Name,
			"a private gallery needs subscriptionID and resourceGroup together; a community gallery has neither")}
	}
	if g := image.SharedGallery; g != nil {
		if given := []bool{g.Publisher != nil, g.Offer != nil, g.SKU != nil}; slices.Contains(given, true) &&
			slices.Contains(given, false) {
			return field.ErrorList{field.Invalid(path.Child("sharedGallery"), g.Name,
				"a purchase plan needs publisher, offer and sku together")}
		}
	}
	return nil
}

func validateOSDisk(s *infrav1.AzureMachineSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	d := &s.OSDisk
	if d.OSType != infrav1.LinuxOS && d.OSType != infrav1.WindowsOS {
		errs = append(errs, field.NotSupported(path.Child("osType"), d.OSType, []string{infrav1.LinuxOS, infrav1.WindowsOS}))
	}
	if size := d.DiskSizeGB; size != nil && (*size < 1 || *size > 2048) {
		errs = append(errs, field.Invalid(path.Child("diskSizeGB"), *size, "must be between 1 and 2048"))
	}
	errs = append(errs, validateManagedDisk(d.ManagedDisk, path.Child("managedDisk"))...)
	if uncached(d.ManagedDisk) {
		errs = append(errs, field.Invalid(path.Child("managedDisk", "storageAccountType"),
			d.ManagedDisk.StorageAccountType, "Azure has it for data disks only"))
	}
	if d.DiffDiskSettings != nil && d.ManagedDisk != nil && d.ManagedDisk.DiskEncryptionSet != nil {
		errs = append(errs, field.Invalid(path.Child("managedDisk", "diskEncryptionSet"),
			d.ManagedDisk.DiskEncryptionSet.ID, "an ephemeral OS disk cannot have a disk encryption set"))
	}
	return errs
}

func validateManagedDisk(d *infrav1.ManagedDiskParameters, path *field.Path) field.ErrorList {
	if d == nil || d.StorageAccountType == "" || slices.Contains(diskSKUs(), d.StorageAccountType) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Child("storageAccountType"), d.StorageAccountType, diskSKUs())}
}

func validateDataDisks(disks []infrav1.DataDisk, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	luns, names := map[int32]bool{}, map[string]bool{}
	for i, d := range disks {
		p := path.Index(i)
		if d.DiskSizeGB < 4 || d.DiskSizeGB > 32767 {
			errs = append(errs, field.Invalid(p.Child("diskSizeGB"), d.DiskSizeGB, "must be between 4 and 32767"))
		}
		if d.NameSuffix == "" {
			errs = append(errs, field.Required(p.Child("nameSuffix"), "the disk is called after the machine and this"))
		} else if names[d.NameSuffix] {
			errs = append(errs, field.Duplicate(p.Child("nameSuffix"), d.NameSuffix))
		}
		names[d.NameSuffix] = true
		errs = append(errs, validateManagedDisk(d.ManagedDisk, p.Child("managedDisk"))...)
		if uncached(d.ManagedDisk) && d.CachingType != "None" {
			errs = append(errs, field.Invalid(p.Child("cachingType"), d.CachingType,
				fmt.Sprintf("must be None for %s", d.ManagedDisk.StorageAccountType)))
		}
		if d.Lun == nil {
			continue
		}
		if *d.Lun < 0 || *d.Lun > 63 {
			errs = append(errs, field.Invalid(p.Child("lun"), *d.Lun, "must be between 0 and 63"))
		} else if luns[*d.Lun] {
			errs = append(errs, field.Duplicate(p.Child("lun"), *d.Lun))
		}
		luns[*d.Lun] = true
	}
	return errs
}

// validateSecurity checks the fields for trusted launch and confidential VMs. Source:
// https://learn.microsoft.com/azure/confidential-computing/confidential-vm-overview.
func validateSecurity(s *infrav1.AzureMachineSpec, path *field.Path) field.ErrorList {
	profile := s.SecurityProfile
	if profile == nil {
		profile = &infrav1.SecurityProfile{}
	}
	secureBoot, vTPM := false, false
	if uefi := profile.UefiSettings; uefi != nil {
		secureBoot, vTPM = ptr.Deref(uefi.SecureBootEnabled, false), ptr.Deref(uefi.VTpmEnabled, false)
	}
	at := path.Child("securityProfile")
	var errs field.ErrorList
	if (secureBoot || vTPM) && (profile.SecurityType == "" || profile.SecurityType == infrav1.SecurityTypesStandard) {
		errs = append(errs, field.Required(at.Child("securityType"), "secure boot and vTPM need TrustedLaunch or ConfidentialVM"))
	}
	disk := s.OSDisk.ManagedDisk
	if disk == nil || disk.SecurityProfile == nil {
		return errs
	}
	encryption := disk.SecurityProfile.SecurityEncryptionType
	if disk.SecurityProfile.DiskEncryptionSet != nil && encryption != diskWithGuestState {
		errs = append(errs, field.Invalid(path.Child("osDisk", "managedDisk", "securityProfile",
			"securityEncryptionType"), encryption, "a disk encryption set needs DiskWithVMGuestState"))
	}
	if encryption == "" {
		return errs
	}
	if profile.SecurityType != infrav1.SecurityTypesConfidentialVM {
		errs = append(errs, field.Invalid(at.Child("securityType"), profile.SecurityType,
			fmt.Sprintf("securityEncryptionType %s needs ConfidentialVM", encryption)))
	}
	if !vTPM {
		errs = append(errs, field.Invalid(at.Child("uefiSettings", "vTpmEnabled"), vTPM,
			fmt.Sprintf("securityEncryptionType %s needs it", encryption)))
	}
	if encryption == diskWithGuestState && !secureBoot {
		errs = append(errs, field.Invalid(at.Child("uefiSettings", "secureBootEnabled"), secureBoot,
			fmt.Sprintf("securityEncryptionType %s needs it", encryption)))
	}
	if encryption == diskWithGuestState && ptr.Deref(profile.EncryptionAtHost, false) {
		errs = append(errs, field.Invalid(at.Child("encryptionAtHost"), true,
			fmt.Sprintf("not with securityEncryptionType %s", encryption)))
	}
	return errs
}

const diskWithGuestState infrav1.SecurityEncryptionType = "DiskWithVMGuestState"
