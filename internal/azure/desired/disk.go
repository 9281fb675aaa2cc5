package desired

import (
	"cmp"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	infrav1 "casement.dev/casement/api/v1beta1"
)

func (b *machineBuilder) osDisk() *armcompute.OSDisk {
	given := b.spec.OSDisk
	disk := &armcompute.OSDisk{
		Name:         new(b.VMName + "_OSDisk"),
		OSType:       new(armcompute.OperatingSystemTypes(given.OSType)),
		CreateOption: new(armcompute.DiskCreateOptionTypesFromImage),
		DeleteOption: new(armcompute.DiskDeleteOptionTypesDelete),
		DiskSizeGB:   given.DiskSizeGB,
	}
	if given.CachingType != "" {
		disk.Caching = new(armcompute.CachingTypes(given.CachingType))
	}
	if d := given.DiffDiskSettings; d != nil {
		// Azure requires this caching for an ephemeral disk, which is on the host.
		disk.Caching = new(armcompute.CachingTypesReadOnly)
		disk.DiffDiskSettings = &armcompute.DiffDiskSettings{Option: new(armcompute.DiffDiskOptions(d.Option))}
		if d.Placement != nil {
			disk.DiffDiskSettings.Placement = new(armcompute.DiffDiskPlacement(*d.Placement))
		}
	}
	if given.ManagedDisk != nil {
		disk.ManagedDisk = managedDisk(*given.ManagedDisk)
	}
	return disk
}

func (b *machineBuilder) dataDisks() []*armcompute.DataDisk {
	var disks []*armcompute.DataDisk
	for i, given := range b.spec.DataDisks {
		disk := &armcompute.DataDisk{
			Name:         new(b.VMName + "_" + given.NameSuffix),
			Lun:          cmp.Or(given.Lun, new(int32(i))),
			CreateOption: new(armcompute.DiskCreateOptionTypesEmpty),
			DeleteOption: new(armcompute.DiskDeleteOptionTypesDelete),
			DiskSizeGB:   &given.DiskSizeGB,
		}
		if given.CachingType != "" {
			disk.Caching = new(armcompute.CachingTypes(given.CachingType))
		}
		if given.ManagedDisk != nil {
			disk.ManagedDisk = managedDisk(*given.ManagedDisk)
			disk.ManagedDisk.SecurityProfile = nil
		}
		disks = append(disks, disk)
	}
	return disks
}

func managedDisk(given infrav1.ManagedDiskParameters) *armcompute.ManagedDiskParameters {
	disk := &armcompute.ManagedDiskParameters{}
	if given.StorageAccountType != "" {
		disk.StorageAccountType = new(armcompute.StorageAccountTypes(given.StorageAccountType))
	}
	disk.DiskEncryptionSet = encryptionSet(given.DiskEncryptionSet)
	if s := given.SecurityProfile; s != nil {
		disk.SecurityProfile = &armcompute.VMDiskSecurityProfile{DiskEncryptionSet: encryptionSet(s.DiskEncryptionSet)}
		if s.SecurityEncryptionType != "" {
			disk.SecurityProfile.SecurityEncryptionType = new(armcompute.SecurityEncryptionTypes(s.SecurityEncryptionType))
		}
	}
	return disk
}

func encryptionSet(given *infrav1.DiskEncryptionSetParameters) *armcompute.DiskEncryptionSetParameters {
	if given == nil || given.ID == "" {
		return nil
	}
	return &armcompute.DiskEncryptionSetParameters{ID: &given.ID}
}
