package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// OrchestrationMode is the relation between a scale set and its instances.
type OrchestrationMode string

// Orchestration modes.
const (
	// UniformOrchestrationMode: instances are children of the scale set.
	UniformOrchestrationMode OrchestrationMode = "Uniform"
	// FlexibleOrchestrationMode: instances are virtual machines that belong to the set.
	FlexibleOrchestrationMode OrchestrationMode = "Flexible"
)

// AzureMachinePoolDeploymentStrategyType is the way in which a pool replaces its instances.
type AzureMachinePoolDeploymentStrategyType string

// RollingUpdateAzureMachinePoolDeploymentStrategyType replaces instances a few at a time.
const RollingUpdateAzureMachinePoolDeploymentStrategyType AzureMachinePoolDeploymentStrategyType = "RollingUpdate"

// AzureMachinePoolDeletePolicyType is the order in which instances are deleted.
type AzureMachinePoolDeletePolicyType string

// Delete policies.
const (
	RandomDeletePolicyType AzureMachinePoolDeletePolicyType = "Random"
	NewestDeletePolicyType AzureMachinePoolDeletePolicyType = "Newest"
	OldestDeletePolicyType AzureMachinePoolDeletePolicyType = "Oldest"
)

// AzureMachinePoolMachineKind is the kind of a pool's machines, as status.infrastructureMachineKind
// reports it to Cluster API.
const AzureMachinePoolMachineKind = "AzureMachinePoolMachine"

// MachinePoolFinalizer keeps an AzureMachinePool until its scale set is gone. It is Cluster API's own name, as CAPZ has
// it, so that each provider can release a pool of the other.
const MachinePoolFinalizer = "machinepool.cluster.x-k8s.io"

// MachinePoolMachineFinalizer keeps an AzureMachinePoolMachine until its instance is gone.
const MachinePoolMachineFinalizer = "azuremachinepoolmachine.infrastructure.cluster.x-k8s.io"

// AzureMachinePoolMachineTemplate is the template of a pool's instances.
type AzureMachinePoolMachineTemplate struct {
	// vmSize must exist in the region, have 2+ vCPU and 2+ GiB.
	// +required
	VMSize string `json:"vmSize"`

	// image is the image of the instances: exactly one of id, marketplace, computeGallery and
	// sharedGallery. Without it, the default image for the Kubernetes version and operating system
	// is used.
	// +optional
	Image *Image `json:"image,omitempty"`

	// osDisk is the disk that an instance boots from.
	// +required
	OSDisk OSDisk `json:"osDisk"`

	// dataDisks are empty managed disks that are attached at creation.
	// +optional
	DataDisks []DataDisk `json:"dataDisks,omitempty"`

	// sshPublicKey is an OpenSSH public key in base64, for Linux only. If it is empty, a key pair
	// is generated and its private key discarded.
	// +optional
	SSHPublicKey string `json:"sshPublicKey,omitempty"`

	// acceleratedNetworking is deprecated; admission moves it into networkInterfaces[0]. It is on
	// by default if the VM size supports it.
	// +optional
	AcceleratedNetworking *bool `json:"acceleratedNetworking,omitempty"`

	// diagnostics is the storage of the boot log and screenshots. Default: storage that Azure manages.
	// +optional
	Diagnostics *Diagnostics `json:"diagnostics,omitempty"`

	// terminateNotificationTimeout is how many minutes (5 to 15) of notice an instance gets before it is
	// ended.
	// +optional
	TerminateNotificationTimeout *int `json:"terminateNotificationTimeout,omitempty"`

	// securityProfile is for trusted launch and confidential VMs.
	// +optional
	SecurityProfile *SecurityProfile `json:"securityProfile,omitempty"`

	// additionalCapabilities are features of the VM that Azure leaves off.
	// +optional
	AdditionalCapabilities *AdditionalCapabilities `json:"additionalCapabilities,omitempty"`

	// spotVMOptions requests spot instances.
	// +optional
	SpotVMOptions *SpotVMOptions `json:"spotVMOptions,omitempty"`

	// subnetName is deprecated; admission moves it into networkInterfaces[0].
	// +optional
	SubnetName string `json:"subnetName,omitempty"`

	// disableVMBootstrapExtension set to false adds an extension that waits in the VM until
	// kubeadm has finished, and so reports its failure. Unset or true adds none.
	// +optional
	DisableVMBootstrapExtension *bool `json:"disableVMBootstrapExtension,omitempty"`

	// vmExtensions are extensions of the instances; an extension's type is its name.
	// +optional
	VMExtensions []VMExtension `json:"vmExtensions,omitempty"`

	// networkInterfaces are the instances' network interfaces. The first one is primary and joins
	// the load balancers' backend pools. Default: one in the node subnet.
	// +optional
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`
}

// MachineRollingUpdateDeployment bounds a rolling update.
type MachineRollingUpdateDeployment struct {
	// maxUnavailable is the number of instances that may be missing, or a percentage, which is rounded down.
	// +kubebuilder:default=0
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// maxSurge is the number of instances beyond the replicas while the model changes, or a percentage, which is rounded up.
	// +kubebuilder:default=1
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// deletePolicy is the order in which instances are deleted.
	// +kubebuilder:validation:Enum=Random;Newest;Oldest
	// +kubebuilder:default=Oldest
	// +optional
	DeletePolicy AzureMachinePoolDeletePolicyType `json:"deletePolicy,omitempty"`
}

// AzureMachinePoolDeploymentStrategy is the way in which instances of an old model are replaced.
type AzureMachinePoolDeploymentStrategy struct {
	// type is RollingUpdate.
	// +kubebuilder:validation:Enum=RollingUpdate
	// +kubebuilder:default=RollingUpdate
	// +optional
	Type AzureMachinePoolDeploymentStrategyType `json:"type,omitempty"`

	// rollingUpdate bounds a rolling update.
	// +optional
	RollingUpdate *MachineRollingUpdateDeployment `json:"rollingUpdate,omitempty"`
}

// AzureMachinePoolSpec is the desired state of a pool in Azure.
type AzureMachinePoolSpec struct {
	// location is the region of the scale set.
	// +required
	Location string `json:"location"`

	// template describes the instances.
	// +required
	Template AzureMachinePoolMachineTemplate `json:"template"`

	// additionalTags are tags of the scale set, merged over the cluster's tags.
	// +optional
	AdditionalTags Tags `json:"additionalTags,omitempty"`

	// providerID is azure:// and the scale set's resource ID, set by the controller.
	// +optional
	ProviderID string `json:"providerID,omitempty"`

	// providerIDList are the provider IDs of the instances, sorted, set by the controller.
	// +optional
	ProviderIDList []string `json:"providerIDList,omitempty"`

	// identity is the kind of the instances' managed identity. It decides which credentials
	// azure.json contains.
	// +kubebuilder:validation:Enum=None;SystemAssigned;UserAssigned
	// +kubebuilder:default=None
	// +optional
	Identity VMIdentity `json:"identity,omitempty"`

	// userAssignedIdentities is required (and only legal) with identity UserAssigned; the first entry is the one put in azure.json.
	// +optional
	UserAssignedIdentities []UserAssignedIdentity `json:"userAssignedIdentities,omitempty"`

	// systemAssignedIdentityRole is the role that the scale set's system-assigned identity gets.
	// +optional
	SystemAssignedIdentityRole *SystemAssignedIdentityRole `json:"systemAssignedIdentityRole,omitempty"`

	// roleAssignmentName is the deprecated GUID of the role assignment; it is now in systemAssignedIdentityRole.name.
	// +optional
	RoleAssignmentName string `json:"roleAssignmentName,omitempty"`

	// strategy is the way in which instances of an old model are replaced.
	// +kubebuilder:default={type: "RollingUpdate", rollingUpdate: {maxSurge: 1, maxUnavailable: 0, deletePolicy: Oldest}}
	// +optional
	Strategy AzureMachinePoolDeploymentStrategy `json:"strategy,omitempty"`

	// orchestrationMode is Uniform or Flexible. Flexible needs Kubernetes 1.26 or later.
	// +kubebuilder:validation:Enum=Flexible;Uniform
	// +kubebuilder:default=Uniform
	// +optional
	OrchestrationMode OrchestrationMode `json:"orchestrationMode,omitempty"`

	// platformFaultDomainCount is the number of fault domains that the instances of a zone are spread over. Default: 1
	// for Flexible, Azure's choice for Uniform.
	// +optional
	PlatformFaultDomainCount *int32 `json:"platformFaultDomainCount,omitempty"`

	// zoneBalance requires that instances are spread evenly over the zones. It has no effect with
	// fewer than two zones.
	// +optional
	ZoneBalance *bool `json:"zoneBalance,omitempty"`
}

// AzureMachinePoolInstanceStatus is the observed state of an instance.
type AzureMachinePoolInstanceStatus struct {
	// version is the Kubernetes version of the instance's kubelet.
	// +optional
	Version string `json:"version,omitempty"`

	// provisioningState is Azure's provisioning state of the instance.
	// +optional
	ProvisioningState *ProvisioningState `json:"provisioningState,omitempty"`

	// providerID is the provider ID of the instance.
	// +optional
	ProviderID string `json:"providerID,omitempty"`

	// instanceID is the number of a Uniform instance.
	// +optional
	InstanceID string `json:"instanceID,omitempty"`

	// instanceName is the instance's name.
	// +optional
	InstanceName string `json:"instanceName,omitempty"`

	// latestModelApplied is true if the instance agrees with the pool's template.
	LatestModelApplied bool `json:"latestModelApplied"`
}

// AzureMachinePoolStatus is the observed state of a pool in Azure.
type AzureMachinePoolStatus struct {
	// ready is true once the scale set has been provisioned. Cluster API's v1beta1 contract reads
	// it.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// initialization has the v1beta2 contract's fields about the first provisioning.
	// +optional
	Initialization AzureMachineInitializationStatus `json:"initialization,omitempty"`

	// replicas is the number of instances.
	// +optional
	Replicas int32 `json:"replicas"`

	// instances is a field of CAPZ that casement never writes: AzureMachinePoolMachines have this information.
	// +optional
	Instances []*AzureMachinePoolInstanceStatus `json:"instances,omitempty"`

	// image is the image of new instances.
	// +optional
	Image *Image `json:"image,omitempty"`

	// version is a field of CAPZ that casement never writes.
	// +optional
	Version string `json:"version,omitempty"`

	// provisioningState is Azure's provisioning state of the scale set.
	// +optional
	ProvisioningState *ProvisioningState `json:"provisioningState,omitempty"`

	// failureReason is set when only a change of the spec, or a new pool, helps.
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

	// infrastructureMachineKind is the kind of the object that each instance has, for Cluster API.
	// +optional
	InfrastructureMachineKind string `json:"infrastructureMachineKind,omitempty"`

	// capacity is the CPU and memory of the VM size, for scaling from zero.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// nodeInfo is the architecture and OS of the nodes, for scaling from zero.
	// +optional
	NodeInfo *NodeInfo `json:"nodeInfo,omitempty"`
}

// AzureMachinePool is the Azure part of a MachinePool: a virtual machine scale set.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=azuremachinepools,scope=Namespaced,categories=cluster-api,shortName=amp
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta1=v1beta1","cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-azure"}
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"
// +kubebuilder:printcolumn:name="Replicas",type="string",JSONPath=".status.replicas"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.provisioningState"
// +kubebuilder:printcolumn:name="OS",type="string",JSONPath=".spec.template.osDisk.osType"
// +kubebuilder:printcolumn:name="VM Size",type="string",JSONPath=".spec.template.vmSize",priority=1
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].message",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type AzureMachinePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AzureMachinePoolSpec   `json:"spec,omitempty"`
	Status AzureMachinePoolStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions.
func (p *AzureMachinePool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces the conditions.
func (p *AzureMachinePool) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = conditions
}

// MachineSpec returns the pool's template as the spec of one of its machines, so that the same code serves both kinds.
func (p *AzureMachinePool) MachineSpec() AzureMachineSpec {
	t := p.Spec.Template.DeepCopy()
	return AzureMachineSpec{
		VMSize: t.VMSize, Image: t.Image, OSDisk: t.OSDisk, DataDisks: t.DataDisks, SSHPublicKey: t.SSHPublicKey,
		AcceleratedNetworking: t.AcceleratedNetworking, Diagnostics: t.Diagnostics, SecurityProfile: t.SecurityProfile,
		AdditionalCapabilities: t.AdditionalCapabilities, SpotVMOptions: t.SpotVMOptions, SubnetName: t.SubnetName,
		DisableVMBootstrapExtension: t.DisableVMBootstrapExtension, VMExtensions: t.VMExtensions, NetworkInterfaces: t.NetworkInterfaces,
		Identity: p.Spec.Identity, UserAssignedIdentities: p.Spec.UserAssignedIdentities,
		SystemAssignedIdentityRole: p.Spec.SystemAssignedIdentityRole, RoleAssignmentName: p.Spec.RoleAssignmentName,
		AdditionalTags: p.Spec.AdditionalTags,
		// CAPZ turns on IP forwarding for all scale sets.
		EnableIPForwarding: true,
	}
}

// SetMachineSpec writes the fields of a machine's spec into the pool's template, the reverse of MachineSpec.
func (p *AzureMachinePool) SetMachineSpec(s AzureMachineSpec) {
	t := &p.Spec.Template
	t.VMSize, t.Image, t.OSDisk, t.DataDisks, t.SSHPublicKey = s.VMSize, s.Image, s.OSDisk, s.DataDisks, s.SSHPublicKey
	t.AcceleratedNetworking, t.Diagnostics, t.SecurityProfile = s.AcceleratedNetworking, s.Diagnostics, s.SecurityProfile
	t.AdditionalCapabilities, t.SpotVMOptions, t.SubnetName = s.AdditionalCapabilities, s.SpotVMOptions, s.SubnetName
	t.DisableVMBootstrapExtension, t.VMExtensions, t.NetworkInterfaces = s.DisableVMBootstrapExtension, s.VMExtensions, s.NetworkInterfaces
	p.Spec.Identity, p.Spec.UserAssignedIdentities = s.Identity, s.UserAssignedIdentities
	p.Spec.SystemAssignedIdentityRole, p.Spec.RoleAssignmentName = s.SystemAssignedIdentityRole, s.RoleAssignmentName
}

// AzureMachinePoolList is a list of AzureMachinePools.
//
// +kubebuilder:object:root=true
type AzureMachinePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AzureMachinePool `json:"items"`
}
