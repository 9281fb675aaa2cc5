package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MachineFinalizer keeps an AzureMachine until its Azure resources are gone.
const MachineFinalizer = "azuremachine.infrastructure.cluster.x-k8s.io"

// Operating systems of a VM's OS disk.
const (
	WindowsOS = "Windows"
	LinuxOS   = "Linux"
)

// VMIdentity is the kind of managed identity that a VM has.
type VMIdentity string

// Kinds of VM identities.
const (
	VMIdentityNone           VMIdentity = "None"
	VMIdentitySystemAssigned VMIdentity = "SystemAssigned"
	VMIdentityUserAssigned   VMIdentity = "UserAssigned"
)

// SecurityTypes is Azure's security type of a VM.
type SecurityTypes string

// Security types of VMs.
const (
	SecurityTypesConfidentialVM SecurityTypes = "ConfidentialVM"
	SecurityTypesTrustedLaunch  SecurityTypes = "TrustedLaunch"
)

// SecurityEncryptionType says which parts of a confidential VM's disk are encrypted.
type SecurityEncryptionType string

// BootDiagnosticsStorageAccountType says where boot diagnostics go.
type BootDiagnosticsStorageAccountType string

// Places of boot diagnostics.
const (
	DisabledDiagnosticsStorage    BootDiagnosticsStorageAccountType = "Disabled"
	ManagedDiagnosticsStorage     BootDiagnosticsStorageAccountType = "Managed"
	UserManagedDiagnosticsStorage BootDiagnosticsStorageAccountType = "UserManaged"
)

// SpotEvictionPolicy is what Azure does with an evicted VM.
type SpotEvictionPolicy string

// Eviction policies.
const (
	SpotEvictionPolicyDeallocate SpotEvictionPolicy = "Deallocate"
	SpotEvictionPolicyDelete     SpotEvictionPolicy = "Delete"
)

// DiffDiskPlacement is where an ephemeral OS disk is placed.
type DiffDiskPlacement string

// ProvisioningState is how far Azure is with a VM.
type ProvisioningState string

// States of a VM.
const (
	Creating  ProvisioningState = "Creating"
	Updating  ProvisioningState = "Updating"
	Deleting  ProvisioningState = "Deleting"
	Deleted   ProvisioningState = "Deleted"
	Failed    ProvisioningState = "Failed"
	Succeeded ProvisioningState = "Succeeded"
)

// AzureMachineSpec is what a machine asks of Azure.
type AzureMachineSpec struct {
	// ProviderID is azure:// and the VM's resource ID, set by the controller. Once it is set the VM is
	// never made again.
	// +optional
	ProviderID *string `json:"providerID,omitempty"`

	// VMSize: must exist in the region, have 2+ vCPU and 2+ GiB.
	// +required
	VMSize string `json:"vmSize"`

	// FailureDomain: deprecated zone field; Machine.spec.failureDomain wins.
	// +optional
	FailureDomain *string `json:"failureDomain,omitempty"`

	// Image: nil = default image by Kubernetes version and OS; exactly one of id, marketplace, computeGallery, sharedGallery.
	// +optional
	Image *Image `json:"image,omitempty"`

	// Identity: managed identity kind of the VM; decides what credentials azure.json holds.
	// +kubebuilder:validation:Enum=None;SystemAssigned;UserAssigned
	// +kubebuilder:default=None
	// +optional
	Identity VMIdentity `json:"identity,omitempty"`

	// UserAssignedIdentities: required (and only legal) with identity UserAssigned; the first entry is the one put in azure.json.
	// +optional
	UserAssignedIdentities []UserAssignedIdentity `json:"userAssignedIdentities,omitempty"`

	// SystemAssignedIdentityRole: role assignment made for the VM identity.
	// +optional
	SystemAssignedIdentityRole *SystemAssignedIdentityRole `json:"systemAssignedIdentityRole,omitempty"`

	// RoleAssignmentName: deprecated GUID of the role assignment; moved to systemAssignedIdentityRole.name.
	// +optional
	RoleAssignmentName string `json:"roleAssignmentName,omitempty"`

	// OSDisk is the disk that the VM boots from.
	// +required
	OSDisk OSDisk `json:"osDisk"`

	// DataDisks: empty managed disks attached at create; disk name is <vm>_<nameSuffix>.
	// +optional
	DataDisks []DataDisk `json:"dataDisks,omitempty"`

	// SSHPublicKey: base64 of an OpenSSH public key, Linux only; when empty a key pair is generated and its private half thrown away.
	// +optional
	SSHPublicKey string `json:"sshPublicKey,omitempty"`

	// AdditionalTags: tags for VM, NIC and availability set of this machine; merged over the cluster tags.
	// +optional
	AdditionalTags Tags `json:"additionalTags,omitempty"`

	// AdditionalCapabilities are features of the VM that Azure leaves off.
	// +optional
	AdditionalCapabilities *AdditionalCapabilities `json:"additionalCapabilities,omitempty"`

	// AllocatePublicIP: worker gets its own public IP pip-<vm> on the primary NIC; ignored for control planes.
	// +optional
	AllocatePublicIP bool `json:"allocatePublicIP,omitempty"`

	// EnableIPForwarding: NIC IP forwarding; needed by CNIs that route without encapsulation.
	// +optional
	EnableIPForwarding bool `json:"enableIPForwarding,omitempty"`

	// AcceleratedNetworking: deprecated since networkInterfaces exists; moved into
	// networkInterfaces[0] at admission; nil = on when the VM size supports it.
	// +optional
	AcceleratedNetworking *bool `json:"acceleratedNetworking,omitempty"`

	// Diagnostics is where the boot log and screenshots go. Default: storage that Azure manages.
	// +optional
	Diagnostics *Diagnostics `json:"diagnostics,omitempty"`

	// SpotVMOptions: spot priority; machine never joins an availability set.
	// +optional
	SpotVMOptions *SpotVMOptions `json:"spotVMOptions,omitempty"`

	// SecurityProfile is for trusted launch and confidential VMs.
	// +optional
	SecurityProfile *SecurityProfile `json:"securityProfile,omitempty"`

	// SubnetName: deprecated; moved into networkInterfaces[0].
	// +optional
	SubnetName string `json:"subnetName,omitempty"`

	// DNSServers: DNS servers written to the primary NIC.
	// +optional
	DNSServers []string `json:"dnsServers,omitempty"`

	// DisableExtensionOperations: no VM agent extensions at all; vmExtensions must then be empty.
	// +optional
	DisableExtensionOperations *bool `json:"disableExtensionOperations,omitempty"`

	// DisableVMBootstrapExtension: false adds an extension that waits in the VM for kubeadm to finish
	// and so reports its failure; unset and true leave it out.
	// +optional
	DisableVMBootstrapExtension *bool `json:"disableVMBootstrapExtension,omitempty"`

	// VMExtensions: extensions installed after VM create; type is taken from name.
	// +optional
	VMExtensions []VMExtension `json:"vmExtensions,omitempty"`

	// NetworkInterfaces: first one is primary and carries LB pools and public IP; default one NIC in the subnet of the role.
	// +optional
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`

	// CapacityReservationGroupID: ARM id of a capacity reservation group.
	// +optional
	CapacityReservationGroupID *string `json:"capacityReservationGroupID,omitempty"`
}

// Image is what a VM boots.
type Image struct {
	// ID: ARM id of a managed image or gallery version.
	// +optional
	ID *string `json:"id,omitempty"`

	// SharedGallery: deprecated by computeGallery; plan is sent if publisher, offer and sku are all set.
	// +optional
	SharedGallery *AzureSharedGalleryImage `json:"sharedGallery,omitempty"`

	// Marketplace: publisher/offer/sku/version.
	// +optional
	Marketplace *AzureMarketplaceImage `json:"marketplace,omitempty"`

	// ComputeGallery: with subscriptionID+resourceGroup: private gallery; without both: community gallery.
	// +optional
	ComputeGallery *AzureComputeGalleryImage `json:"computeGallery,omitempty"`
}

// AzureSharedGalleryImage is an image in a gallery of one's own.
type AzureSharedGalleryImage struct {
	// SubscriptionID of the gallery.
	// +kubebuilder:validation:MinLength=1
	// +required
	SubscriptionID string `json:"subscriptionID"`

	// ResourceGroup of the gallery.
	// +kubebuilder:validation:MinLength=1
	// +required
	ResourceGroup string `json:"resourceGroup"`

	// Gallery is its name.
	// +kubebuilder:validation:MinLength=1
	// +required
	Gallery string `json:"gallery"`

	// Name of the image definition.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`

	// Version of the image, or latest.
	// +kubebuilder:validation:MinLength=1
	// +required
	Version string `json:"version"`

	// Publisher of the purchase plan.
	// +optional
	Publisher *string `json:"publisher,omitempty"`

	// Offer of the purchase plan.
	// +optional
	Offer *string `json:"offer,omitempty"`

	// SKU of the purchase plan.
	// +optional
	SKU *string `json:"sku,omitempty"`
}

// AzureMarketplaceImage is an image that others publish.
type AzureMarketplaceImage struct {
	ImagePlan `json:",inline"`

	// Version of the image, or latest.
	// +kubebuilder:validation:MinLength=1
	// +required
	Version string `json:"version"`

	// ThirdPartyImage: send a purchase plan with the VM.
	// +kubebuilder:default=false
	// +optional
	ThirdPartyImage bool `json:"thirdPartyImage,omitempty"`
}

// ImagePlan names an offer of the marketplace.
type ImagePlan struct {
	// Publisher as the marketplace names it.
	// +kubebuilder:validation:MinLength=1
	// +required
	Publisher string `json:"publisher"`

	// Offer of the publisher.
	// +kubebuilder:validation:MinLength=1
	// +required
	Offer string `json:"offer"`

	// SKU of the offer.
	// +kubebuilder:validation:MinLength=1
	// +required
	SKU string `json:"sku"`
}

// AzureComputeGalleryImage is an image in a private or community gallery.
type AzureComputeGalleryImage struct {
	// Gallery is its name; of a community gallery, the public one.
	// +kubebuilder:validation:MinLength=1
	// +required
	Gallery string `json:"gallery"`

	// Name of the image definition.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`

	// Version of the image, or latest.
	// +kubebuilder:validation:MinLength=1
	// +required
	Version string `json:"version"`

	// SubscriptionID of a private gallery.
	// +optional
	SubscriptionID *string `json:"subscriptionID,omitempty"`

	// ResourceGroup of a private gallery.
	// +optional
	ResourceGroup *string `json:"resourceGroup,omitempty"`

	// Plan: purchase plan if the gallery image has one.
	// +optional
	Plan *ImagePlan `json:"plan,omitempty"`
}

// UserAssignedIdentity is a managed identity that exists.
type UserAssignedIdentity struct {
	// ProviderID: ARM id, may carry the azure:// prefix.
	// +required
	ProviderID string `json:"providerID"`
}

// SystemAssignedIdentityRole is what the VM's own identity may do.
type SystemAssignedIdentityRole struct {
	// Name: GUID, generated; must be empty in a template.
	// +optional
	Name string `json:"name,omitempty"`

	// DefinitionID is the role's resource ID. Default: Contributor.
	// +optional
	DefinitionID string `json:"definitionID,omitempty"`

	// Scope is what the role is for. Default: the cluster's subscription.
	// +optional
	Scope string `json:"scope,omitempty"`
}

// OSDisk is the disk that a VM boots from.
type OSDisk struct {
	// OSType is Linux or Windows. Windows machines get names of 15 characters, other images and other
	// bootstrapping.
	// +kubebuilder:default=Linux
	// +required
	OSType string `json:"osType"`

	// DiskSizeGB: 1..2048; nil = image size.
	// +optional
	DiskSizeGB *int32 `json:"diskSizeGB,omitempty"`

	// ManagedDisk is the kind of the disk.
	// +optional
	ManagedDisk *ManagedDiskParameters `json:"managedDisk,omitempty"`

	// DiffDiskSettings: ephemeral OS disk (option Local); VM size must support it.
	// +optional
	DiffDiskSettings *DiffDiskSettings `json:"diffDiskSettings,omitempty"`

	// CachingType: None, ReadOnly or ReadWrite.
	// +kubebuilder:validation:Enum=None;ReadOnly;ReadWrite
	// +kubebuilder:default=None
	// +optional
	CachingType string `json:"cachingType,omitempty"`
}

// ManagedDiskParameters is the kind of a disk.
type ManagedDiskParameters struct {
	// StorageAccountType is the disk's SKU, such as Premium_LRS; Azure chooses when it is empty.
	// +optional
	StorageAccountType string `json:"storageAccountType,omitempty"`

	// DiskEncryptionSet holds a key of one's own.
	// +optional
	DiskEncryptionSet *DiskEncryptionSetParameters `json:"diskEncryptionSet,omitempty"`

	// SecurityProfile is the encryption of a confidential VM's OS disk.
	// +optional
	SecurityProfile *VMDiskSecurityProfile `json:"securityProfile,omitempty"`
}

// DiskEncryptionSetParameters names a set of keys.
type DiskEncryptionSetParameters struct {
	// ID is the set's resource ID.
	// +optional
	ID string `json:"id,omitempty"`
}

// VMDiskSecurityProfile is the encryption of a confidential VM's OS disk.
type VMDiskSecurityProfile struct {
	// DiskEncryptionSet holds a key of one's own; needs DiskWithVMGuestState.
	// +optional
	DiskEncryptionSet *DiskEncryptionSetParameters `json:"diskEncryptionSet,omitempty"`

	// SecurityEncryptionType: needs securityType ConfidentialVM and vTPM; DiskWithVMGuestState also needs secure boot.
	// +kubebuilder:validation:Enum=VMGuestStateOnly;DiskWithVMGuestState
	// +optional
	SecurityEncryptionType SecurityEncryptionType `json:"securityEncryptionType,omitempty"`
}

// DiffDiskSettings makes the OS disk ephemeral: it is on the host, and lost when the VM is
// deallocated.
type DiffDiskSettings struct {
	// Option is Local.
	// +kubebuilder:validation:Enum=Local
	// +required
	Option string `json:"option"`

	// Placement: where the ephemeral disk lives.
	// +kubebuilder:validation:Enum=CacheDisk;NvmeDisk;ResourceDisk
	// +optional
	Placement *DiffDiskPlacement `json:"placement,omitempty"`
}

// DataDisk is an empty disk made with the VM.
type DataDisk struct {
	// NameSuffix: unique per machine.
	// +required
	NameSuffix string `json:"nameSuffix"`

	// DiskSizeGB: 4..32767.
	// +required
	DiskSizeGB int32 `json:"diskSizeGB"`

	// ManagedDisk is the kind of the disk.
	// +optional
	ManagedDisk *ManagedDiskParameters `json:"managedDisk,omitempty"`

	// Lun is 0 to 63, each once. Default: the lowest that is free.
	// +optional
	Lun *int32 `json:"lun,omitempty"`

	// CachingType of the host. Default: ReadWrite, or None for Ultra and PremiumV2 disks, which have
	// none.
	// +kubebuilder:validation:Enum=None;ReadOnly;ReadWrite
	// +optional
	CachingType string `json:"cachingType,omitempty"`
}

// AdditionalCapabilities are features of the VM that Azure leaves off.
type AdditionalCapabilities struct {
	// UltraSSDEnabled: allow Ultra disks; switched on by itself when a data disk is UltraSSD_LRS.
	// +optional
	UltraSSDEnabled *bool `json:"ultraSSDEnabled,omitempty"`
}

// Diagnostics is how to look into a VM from outside.
type Diagnostics struct {
	// Boot is the boot log and screenshots.
	// +optional
	Boot *BootDiagnostics `json:"boot,omitempty"`
}

// BootDiagnostics is where the boot log and screenshots go.
type BootDiagnostics struct {
	// StorageAccountType: boot diagnostics target; default Managed.
	// +kubebuilder:validation:Enum=Managed;UserManaged;Disabled
	// +required
	StorageAccountType BootDiagnosticsStorageAccountType `json:"storageAccountType"`

	// UserManaged is a storage account of one's own.
	// +optional
	UserManaged *UserManagedBootDiagnostics `json:"userManaged,omitempty"`
}

// UserManagedBootDiagnostics names a storage account.
type UserManagedBootDiagnostics struct {
	// StorageAccountURI: blob endpoint when UserManaged.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https://`
	// +required
	StorageAccountURI string `json:"storageAccountURI"`
}

// SpotVMOptions makes a VM cheap, and Azure may take it away.
type SpotVMOptions struct {
	// MaxPrice: US dollars per hour; nil = on-demand price.
	// +optional
	MaxPrice *resource.Quantity `json:"maxPrice,omitempty"`

	// EvictionPolicy is what happens to a VM that is taken away. Default: Deallocate, or Delete with
	// an ephemeral OS disk.
	// +kubebuilder:validation:Enum=Deallocate;Delete
	// +optional
	EvictionPolicy *SpotEvictionPolicy `json:"evictionPolicy,omitempty"`
}

// SecurityProfile is for trusted launch and confidential VMs.
type SecurityProfile struct {
	// EncryptionAtHost: host encryption; needs VM size support.
	// +optional
	EncryptionAtHost *bool `json:"encryptionAtHost,omitempty"`

	// SecurityType is TrustedLaunch or ConfidentialVM.
	// +kubebuilder:validation:Enum=ConfidentialVM;TrustedLaunch
	// +optional
	SecurityType SecurityTypes `json:"securityType,omitempty"`

	// UefiSettings of the VM's firmware.
	// +optional
	UefiSettings *UefiSettings `json:"uefiSettings,omitempty"`
}

// UefiSettings of a VM's firmware.
type UefiSettings struct {
	// SecureBootEnabled: needs securityType TrustedLaunch (or confidential).
	// +optional
	SecureBootEnabled *bool `json:"secureBootEnabled,omitempty"`

	// VTpmEnabled: needs securityType TrustedLaunch (or confidential).
	// +optional
	VTpmEnabled *bool `json:"vTpmEnabled,omitempty"`
}

// VMExtension is a program that Azure's agent runs in the VM.
type VMExtension struct {
	// Name of the extension, which is its type too.
	// +required
	Name string `json:"name"`

	// Publisher of the extension.
	// +required
	Publisher string `json:"publisher"`

	// Version of the extension's handler.
	// +required
	Version string `json:"version"`

	// Settings of the extension.
	// +optional
	Settings Tags `json:"settings,omitempty"`

	// ProtectedSettings: string map kept in clear text in the API object.
	// +optional
	ProtectedSettings Tags `json:"protectedSettings,omitempty"`
}

// NetworkInterface is one of a VM's network cards.
type NetworkInterface struct {
	// SubnetName: filled by the controller when there is only one subnet of the role.
	// +optional
	SubnetName string `json:"subnetName,omitempty"`

	// PrivateIPConfigs: number of addresses on the NIC, at least 1, default 1.
	// +optional
	PrivateIPConfigs int `json:"privateIPConfigs,omitempty"`

	// AcceleratedNetworking: nil = by VM size capability.
	// +optional
	AcceleratedNetworking *bool `json:"acceleratedNetworking,omitempty"`
}

// AzureMachineStatus is what was seen of the machine in Azure.
type AzureMachineStatus struct {
	// Ready: the VM has been provisioned. Cluster API's v1beta1 contract reads it.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// Initialization is what the v1beta2 contract reads of a first provisioning.
	// +optional
	Initialization AzureMachineInitializationStatus `json:"initialization,omitempty"`

	// Addresses are the VM's addresses.
	// +optional
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// VMState is the VM's provisioning state in Azure.
	// +optional
	VMState *ProvisioningState `json:"vmState,omitempty"`

	// FailureDomain is the zone that the VM is in.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty"`

	// FailureReason is set when only a change of the spec, or a new machine, helps.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// FailureMessage says what FailureReason is about.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`

	// Conditions are the observations of the object's state.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LongRunningOperationStates are the Azure operations in progress, so that they
	// are resumed after a restart.
	// +optional
	LongRunningOperationStates []LongRunningOperationState `json:"longRunningOperationStates,omitempty"`
}

// AzureMachineInitializationStatus is part of the v1beta2 contract.
type AzureMachineInitializationStatus struct {
	// Provisioned is true once the VM has been provisioned.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// AzureMachine is the Azure part of a Machine.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=azuremachines,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta1=v1beta1","cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-azure"}
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.vmState"
// +kubebuilder:printcolumn:name="OS",type="string",JSONPath=".spec.osDisk.osType"
// +kubebuilder:printcolumn:name="VM Size",type="string",JSONPath=".spec.vmSize",priority=1
// +kubebuilder:printcolumn:name="Provider ID",type="string",JSONPath=".spec.providerID",priority=1
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].message",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type AzureMachine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AzureMachineSpec   `json:"spec,omitempty"`
	Status AzureMachineStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions.
func (m *AzureMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions replaces the conditions.
func (m *AzureMachine) SetConditions(conditions []metav1.Condition) { m.Status.Conditions = conditions }

// AzureMachineList is a list of AzureMachines.
//
// +kubebuilder:object:root=true
type AzureMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AzureMachine `json:"items"`
}
