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
	// SecurityTypesStandard requests neither trusted launch nor a confidential VM, even if the image or the
	// subscription makes trusted launch the default.
	SecurityTypesStandard SecurityTypes = "Standard"
)

// SecurityEncryptionType is the set of parts of a confidential VM's disk that are encrypted.
type SecurityEncryptionType string

// BootDiagnosticsStorageAccountType is the kind of storage for boot diagnostics.
type BootDiagnosticsStorageAccountType string

// Kinds of storage for boot diagnostics.
const (
	DisabledDiagnosticsStorage    BootDiagnosticsStorageAccountType = "Disabled"
	ManagedDiagnosticsStorage     BootDiagnosticsStorageAccountType = "Managed"
	UserManagedDiagnosticsStorage BootDiagnosticsStorageAccountType = "UserManaged"
)

// SpotEvictionPolicy is Azure's treatment of an evicted VM.
type SpotEvictionPolicy string

// Eviction policies.
const (
	SpotEvictionPolicyDeallocate SpotEvictionPolicy = "Deallocate"
	SpotEvictionPolicyDelete     SpotEvictionPolicy = "Delete"
)

// DiffDiskPlacement is the storage of the host on which an ephemeral OS disk is placed.
type DiffDiskPlacement string

// ProvisioningState is the provisioning state of a VM in Azure.
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

// AzureMachineSpec is the desired state of a machine in Azure.
type AzureMachineSpec struct {
	// providerID is azure:// and the VM's resource ID, set by the controller. Once it is set, the VM is never created again.
	// +optional
	ProviderID *string `json:"providerID,omitempty"`

	// vmSize must exist in the region, have 2+ vCPU and 2+ GiB.
	// +required
	VMSize string `json:"vmSize"`

	// failureDomain is a deprecated field for the zone; Machine.spec.failureDomain takes precedence.
	// +optional
	FailureDomain *string `json:"failureDomain,omitempty"`

	// image is the image of the VM: exactly one of id, marketplace, computeGallery and
	// sharedGallery. Without it, the default image for the Kubernetes version and operating system
	// is used.
	// +optional
	Image *Image `json:"image,omitempty"`

	// identity is the kind of the VM's managed identity. It decides which credentials azure.json
	// contains.
	// +kubebuilder:validation:Enum=None;SystemAssigned;UserAssigned
	// +kubebuilder:default=None
	// +optional
	Identity VMIdentity `json:"identity,omitempty"`

	// userAssignedIdentities is required (and only legal) with identity UserAssigned; the first entry is the one put in azure.json.
	// +optional
	UserAssignedIdentities []UserAssignedIdentity `json:"userAssignedIdentities,omitempty"`

	// systemAssignedIdentityRole is the role that the VM's system-assigned identity gets.
	// +optional
	SystemAssignedIdentityRole *SystemAssignedIdentityRole `json:"systemAssignedIdentityRole,omitempty"`

	// roleAssignmentName is the deprecated GUID of the role assignment; it is now in systemAssignedIdentityRole.name.
	// +optional
	RoleAssignmentName string `json:"roleAssignmentName,omitempty"`

	// osDisk is the disk that the VM boots from.
	// +required
	OSDisk OSDisk `json:"osDisk"`

	// dataDisks are empty managed disks that are attached at creation. A disk's name is
	// <vm>_<nameSuffix>.
	// +optional
	DataDisks []DataDisk `json:"dataDisks,omitempty"`

	// sshPublicKey is an OpenSSH public key in base64, for Linux only. If it is empty, a key pair
	// is generated and its private key discarded.
	// +optional
	SSHPublicKey string `json:"sshPublicKey,omitempty"`

	// additionalTags are tags of this machine's VM, network interfaces and availability set,
	// merged over the cluster's tags.
	// +optional
	AdditionalTags Tags `json:"additionalTags,omitempty"`

	// additionalCapabilities are features of the VM that Azure leaves off.
	// +optional
	AdditionalCapabilities *AdditionalCapabilities `json:"additionalCapabilities,omitempty"`

	// allocatePublicIP gives a worker a public IP pip-<vm> on its primary network interface. It is
	// ignored for control planes.
	// +optional
	AllocatePublicIP bool `json:"allocatePublicIP,omitempty"`

	// enableIPForwarding turns on IP forwarding of the network interfaces, which CNIs that route
	// without encapsulation need.
	// +optional
	EnableIPForwarding bool `json:"enableIPForwarding,omitempty"`

	// acceleratedNetworking is deprecated; admission moves it into networkInterfaces[0]. It is on
	// by default if the VM size supports it.
	// +optional
	AcceleratedNetworking *bool `json:"acceleratedNetworking,omitempty"`

	// diagnostics is the storage of the boot log and screenshots. Default: storage that Azure manages.
	// +optional
	Diagnostics *Diagnostics `json:"diagnostics,omitempty"`

	// spotVMOptions requests a spot VM. The machine joins no availability set.
	// +optional
	SpotVMOptions *SpotVMOptions `json:"spotVMOptions,omitempty"`

	// securityProfile is for trusted launch and confidential VMs.
	// +optional
	SecurityProfile *SecurityProfile `json:"securityProfile,omitempty"`

	// subnetName is deprecated; admission moves it into networkInterfaces[0].
	// +optional
	SubnetName string `json:"subnetName,omitempty"`

	// dnsServers are the DNS servers of the primary network interface.
	// +optional
	DNSServers []string `json:"dnsServers,omitempty"`

	// disableExtensionOperations turns off all VM extensions; vmExtensions must then be empty.
	// +optional
	DisableExtensionOperations *bool `json:"disableExtensionOperations,omitempty"`

	// disableVMBootstrapExtension set to false adds an extension that waits in the VM until
	// kubeadm has finished, and so reports its failure. Unset or true adds none.
	// +optional
	DisableVMBootstrapExtension *bool `json:"disableVMBootstrapExtension,omitempty"`

	// vmExtensions are extensions that are installed after the VM was created; an extension's type
	// is its name.
	// +optional
	VMExtensions []VMExtension `json:"vmExtensions,omitempty"`

	// networkInterfaces are the VM's network interfaces. The first one is primary: it joins the
	// load balancers' backend pools and has the public IP. Default: one in the subnet of the
	// machine's role.
	// +optional
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`

	// capacityReservationGroupID is the resource ID of a capacity reservation group.
	// +optional
	CapacityReservationGroupID *string `json:"capacityReservationGroupID,omitempty"`
}

// Image is the image that a VM boots from.
type Image struct {
	// id is the resource ID of a managed image or of a gallery image version.
	// +optional
	ID *string `json:"id,omitempty"`

	// sharedGallery is deprecated; use computeGallery. The purchase plan is sent if publisher, offer and sku are all set.
	// +optional
	SharedGallery *AzureSharedGalleryImage `json:"sharedGallery,omitempty"`

	// marketplace is an image of the marketplace, by publisher, offer, SKU and version.
	// +optional
	Marketplace *AzureMarketplaceImage `json:"marketplace,omitempty"`

	// computeGallery is an image in a gallery: a private one with subscriptionID and
	// resourceGroup, otherwise a community gallery.
	// +optional
	ComputeGallery *AzureComputeGalleryImage `json:"computeGallery,omitempty"`
}

// AzureSharedGalleryImage is an image in the user's own gallery.
type AzureSharedGalleryImage struct {
	// subscriptionID is the ID of the subscription of the gallery.
	// +kubebuilder:validation:MinLength=1
	// +required
	SubscriptionID string `json:"subscriptionID"`

	// resourceGroup is the resource group of the gallery.
	// +kubebuilder:validation:MinLength=1
	// +required
	ResourceGroup string `json:"resourceGroup"`

	// gallery is the name of the gallery.
	// +kubebuilder:validation:MinLength=1
	// +required
	Gallery string `json:"gallery"`

	// name is the name of the image definition.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`

	// version is the version of the image, or latest.
	// +kubebuilder:validation:MinLength=1
	// +required
	Version string `json:"version"`

	// publisher is the publisher of the purchase plan.
	// +optional
	Publisher *string `json:"publisher,omitempty"`

	// offer is the offer of the purchase plan.
	// +optional
	Offer *string `json:"offer,omitempty"`

	// sku is the SKU of the purchase plan.
	// +optional
	SKU *string `json:"sku,omitempty"`
}

// AzureMarketplaceImage is an image in the marketplace.
type AzureMarketplaceImage struct {
	ImagePlan `json:",inline"`

	// version is the version of the image, or latest.
	// +kubebuilder:validation:MinLength=1
	// +required
	Version string `json:"version"`

	// thirdPartyImage sends the image's purchase plan with the VM.
	// +kubebuilder:default=false
	// +optional
	ThirdPartyImage bool `json:"thirdPartyImage,omitempty"`
}

// ImagePlan names an offer of the marketplace.
type ImagePlan struct {
	// publisher is the publisher's name in the marketplace.
	// +kubebuilder:validation:MinLength=1
	// +required
	Publisher string `json:"publisher"`

	// offer is the offer of the publisher.
	// +kubebuilder:validation:MinLength=1
	// +required
	Offer string `json:"offer"`

	// sku is the SKU of the offer.
	// +kubebuilder:validation:MinLength=1
	// +required
	SKU string `json:"sku"`
}

// AzureComputeGalleryImage is an image in a private or community gallery.
type AzureComputeGalleryImage struct {
	// gallery is the name of the gallery; of a community gallery, its public name.
	// +kubebuilder:validation:MinLength=1
	// +required
	Gallery string `json:"gallery"`

	// name is the name of the image definition.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`

	// version is the version of the image, or latest.
	// +kubebuilder:validation:MinLength=1
	// +required
	Version string `json:"version"`

	// subscriptionID is the ID of the subscription of a private gallery.
	// +optional
	SubscriptionID *string `json:"subscriptionID,omitempty"`

	// resourceGroup is the resource group of a private gallery.
	// +optional
	ResourceGroup *string `json:"resourceGroup,omitempty"`

	// plan is the purchase plan of the gallery's image, if it has one.
	// +optional
	Plan *ImagePlan `json:"plan,omitempty"`
}

// UserAssignedIdentity is an existing managed identity.
type UserAssignedIdentity struct {
	// providerID is the identity's resource ID, with or without the prefix azure://.
	// +required
	ProviderID string `json:"providerID"`
}

// SystemAssignedIdentityRole is the role assignment of the VM's own identity.
type SystemAssignedIdentityRole struct {
	// name is the GUID of the role assignment, which is generated. It must be empty in a template.
	// +optional
	Name string `json:"name,omitempty"`

	// definitionID is the role's resource ID. Default: Contributor.
	// +optional
	DefinitionID string `json:"definitionID,omitempty"`

	// scope is the resource ID at which the role is assigned. Default: the cluster's subscription.
	// +optional
	Scope string `json:"scope,omitempty"`
}

// OSDisk is the disk that a VM boots from.
type OSDisk struct {
	// osType is Linux or Windows. Windows machines have names of at most 15 characters, and other images and bootstrap data.
	// +kubebuilder:default=Linux
	// +required
	OSType string `json:"osType"`

	// diskSizeGB is the size of the disk, 1 to 2048. Default: the image's size.
	// +optional
	DiskSizeGB *int32 `json:"diskSizeGB,omitempty"`

	// managedDisk is the kind of the disk.
	// +optional
	ManagedDisk *ManagedDiskParameters `json:"managedDisk,omitempty"`

	// diffDiskSettings requests an ephemeral OS disk (option Local), which the VM size must
	// support.
	// +optional
	DiffDiskSettings *DiffDiskSettings `json:"diffDiskSettings,omitempty"`

	// cachingType is None, ReadOnly or ReadWrite.
	// +kubebuilder:validation:Enum=None;ReadOnly;ReadWrite
	// +kubebuilder:default=None
	// +optional
	CachingType string `json:"cachingType,omitempty"`
}

// ManagedDiskParameters is the kind of a disk.
type ManagedDiskParameters struct {
	// storageAccountType is the disk's SKU, such as Premium_LRS; Azure chooses when it is empty.
	// +optional
	StorageAccountType string `json:"storageAccountType,omitempty"`

	// diskEncryptionSet is the set that has the user's own key.
	// +optional
	DiskEncryptionSet *DiskEncryptionSetParameters `json:"diskEncryptionSet,omitempty"`

	// securityProfile is the encryption of a confidential VM's OS disk.
	// +optional
	SecurityProfile *VMDiskSecurityProfile `json:"securityProfile,omitempty"`
}

// DiskEncryptionSetParameters names a disk encryption set.
type DiskEncryptionSetParameters struct {
	// id is the set's resource ID.
	// +optional
	ID string `json:"id,omitempty"`
}

// VMDiskSecurityProfile is the encryption of a confidential VM's OS disk.
type VMDiskSecurityProfile struct {
	// diskEncryptionSet is the set that has the user's own key; it requires DiskWithVMGuestState.
	// +optional
	DiskEncryptionSet *DiskEncryptionSetParameters `json:"diskEncryptionSet,omitempty"`

	// securityEncryptionType requires securityType ConfidentialVM and vTPM; DiskWithVMGuestState
	// also requires secure boot.
	// +kubebuilder:validation:Enum=VMGuestStateOnly;DiskWithVMGuestState
	// +optional
	SecurityEncryptionType SecurityEncryptionType `json:"securityEncryptionType,omitempty"`
}

// DiffDiskSettings makes the OS disk ephemeral: it is on the host, and lost when the VM is
// deallocated.
type DiffDiskSettings struct {
	// option is Local.
	// +kubebuilder:validation:Enum=Local
	// +required
	Option string `json:"option"`

	// placement is the storage of the host that the ephemeral disk is on.
	// +kubebuilder:validation:Enum=CacheDisk;NvmeDisk;ResourceDisk
	// +optional
	Placement *DiffDiskPlacement `json:"placement,omitempty"`
}

// DataDisk is an empty disk that is created with the VM.
type DataDisk struct {
	// nameSuffix is the end of the disk's name, unique per machine.
	// +required
	NameSuffix string `json:"nameSuffix"`

	// diskSizeGB is the size of the disk, 4 to 32767.
	// +required
	DiskSizeGB int32 `json:"diskSizeGB"`

	// managedDisk is the kind of the disk.
	// +optional
	ManagedDisk *ManagedDiskParameters `json:"managedDisk,omitempty"`

	// lun is 0 to 63, each once. Default: the lowest free number.
	// +optional
	Lun *int32 `json:"lun,omitempty"`

	// cachingType is the caching of the host. Default: ReadWrite, or None for Ultra and PremiumV2 disks, which support no caching.
	// +kubebuilder:validation:Enum=None;ReadOnly;ReadWrite
	// +optional
	CachingType string `json:"cachingType,omitempty"`
}

// AdditionalCapabilities are features of the VM that Azure leaves off.
type AdditionalCapabilities struct {
	// ultraSSDEnabled allows Ultra disks. It is set if a data disk is UltraSSD_LRS.
	// +optional
	UltraSSDEnabled *bool `json:"ultraSSDEnabled,omitempty"`
}

// Diagnostics are the means to examine a VM from outside.
type Diagnostics struct {
	// boot is the boot log and screenshots.
	// +optional
	Boot *BootDiagnostics `json:"boot,omitempty"`
}

// BootDiagnostics is the storage of the boot log and screenshots.
type BootDiagnostics struct {
	// storageAccountType is the kind of storage for boot diagnostics. Default: Managed.
	// +kubebuilder:validation:Enum=Managed;UserManaged;Disabled
	// +required
	StorageAccountType BootDiagnosticsStorageAccountType `json:"storageAccountType"`

	// userManaged is the user's own storage account.
	// +optional
	UserManaged *UserManagedBootDiagnostics `json:"userManaged,omitempty"`
}

// UserManagedBootDiagnostics names a storage account.
type UserManagedBootDiagnostics struct {
	// storageAccountURI is the blob endpoint of the storage account. It is for the type UserManaged.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https://`
	// +required
	StorageAccountURI string `json:"storageAccountURI"`
}

// SpotVMOptions makes a VM a spot VM: it is cheaper, and Azure may evict it.
type SpotVMOptions struct {
	// maxPrice is the highest price in US dollars per hour. Default: the on-demand price.
	// +optional
	MaxPrice *resource.Quantity `json:"maxPrice,omitempty"`

	// evictionPolicy is Azure's treatment of an evicted VM. Default: Deallocate, or Delete with an
	// ephemeral OS disk.
	// +kubebuilder:validation:Enum=Deallocate;Delete
	// +optional
	EvictionPolicy *SpotEvictionPolicy `json:"evictionPolicy,omitempty"`
}

// SecurityProfile is for trusted launch and confidential VMs.
type SecurityProfile struct {
	// encryptionAtHost turns on encryption at the host, which the VM size must support.
	// +optional
	EncryptionAtHost *bool `json:"encryptionAtHost,omitempty"`

	// securityType is TrustedLaunch, ConfidentialVM or, for a machine without either, Standard.
	// +kubebuilder:validation:Enum=ConfidentialVM;Standard;TrustedLaunch
	// +optional
	SecurityType SecurityTypes `json:"securityType,omitempty"`

	// uefiSettings are the settings of the VM's firmware.
	// +optional
	UefiSettings *UefiSettings `json:"uefiSettings,omitempty"`
}

// UefiSettings are the settings of a VM's firmware.
type UefiSettings struct {
	// secureBootEnabled requires securityType TrustedLaunch or a confidential VM.
	// +optional
	SecureBootEnabled *bool `json:"secureBootEnabled,omitempty"`

	// vTpmEnabled requires securityType TrustedLaunch or a confidential VM.
	// +optional
	VTpmEnabled *bool `json:"vTpmEnabled,omitempty"`
}

// VMExtension is a program that Azure's agent runs in the VM.
type VMExtension struct {
	// name is the name of the extension, which is its type too.
	// +required
	Name string `json:"name"`

	// publisher is the publisher of the extension.
	// +required
	Publisher string `json:"publisher"`

	// version is the version of the extension's handler.
	// +required
	Version string `json:"version"`

	// settings are the settings of the extension.
	// +optional
	Settings Tags `json:"settings,omitempty"`

	// protectedSettings are settings that Azure encrypts. In this object they are in clear text.
	// +optional
	ProtectedSettings Tags `json:"protectedSettings,omitempty"`
}

// NetworkInterface is a network card of a VM.
type NetworkInterface struct {
	// subnetName is the subnet's name. The controller sets it if only one subnet has the machine's role.
	// +optional
	SubnetName string `json:"subnetName,omitempty"`

	// privateIPConfigs is the number of addresses of the interface, at least 1. Default: 1.
	// +optional
	PrivateIPConfigs int `json:"privateIPConfigs,omitempty"`

	// acceleratedNetworking is on by default if the VM size supports it.
	// +optional
	AcceleratedNetworking *bool `json:"acceleratedNetworking,omitempty"`
}

// AzureMachineStatus is the observed state of a machine in Azure.
type AzureMachineStatus struct {
	// ready is true once the VM has been provisioned. Cluster API's v1beta1 contract reads it.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// initialization has the v1beta2 contract's fields about the first provisioning.
	// +optional
	Initialization AzureMachineInitializationStatus `json:"initialization,omitempty"`

	// addresses are the VM's addresses.
	// +optional
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// vmState is the VM's provisioning state in Azure.
	// +optional
	VMState *ProvisioningState `json:"vmState,omitempty"`

	// failureDomain is the zone that the VM is in.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty"`

	// failureReason is set when only a change of the spec, or a new machine, helps.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage explains FailureReason.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`

	// conditions are the observations of the object's state.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// longRunningOperationStates are the Azure operations in progress, so that they
	// are resumed after a restart.
	// +optional
	LongRunningOperationStates []LongRunningOperationState `json:"longRunningOperationStates,omitempty"`
}

// AzureMachineInitializationStatus is part of the v1beta2 contract.
type AzureMachineInitializationStatus struct {
	// provisioned is true once the VM has been provisioned.
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
