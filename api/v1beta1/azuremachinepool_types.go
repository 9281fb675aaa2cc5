package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// OrchestrationMode is how a scale set holds its instances.
type OrchestrationMode string

// Orchestration modes.
const (
	// UniformOrchestrationMode: instances are children of the scale set.
	UniformOrchestrationMode OrchestrationMode = "Uniform"
	// FlexibleOrchestrationMode: instances are virtual machines that belong to the set.
	FlexibleOrchestrationMode OrchestrationMode = "Flexible"
)

// AzureMachinePoolDeploymentStrategyType is how a pool replaces its instances.
type AzureMachinePoolDeploymentStrategyType string

// RollingUpdateAzureMachinePoolDeploymentStrategyType replaces instances a few at a time.
const RollingUpdateAzureMachinePoolDeploymentStrategyType AzureMachinePoolDeploymentStrategyType = "RollingUpdate"

// AzureMachinePoolDeletePolicyType is which instances go first.
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

// MachinePoolFinalizer keeps an AzureMachinePool until its scale set is gone. It is Cluster API's own
// name, as CAPZ has it, so that a pool of either is released by the other.
const MachinePoolFinalizer = "machinepool.cluster.x-k8s.io"

// MachinePoolMachineFinalizer keeps an AzureMachinePoolMachine until its instance is gone.
const MachinePoolMachineFinalizer = "azuremachinepoolmachine.infrastructure.cluster.x-k8s.io"

// AzureMachinePoolMachineTemplate is what a pool's instances are made of.
type AzureMachinePoolMachineTemplate struct {
	// VMSize: must exist in the region, have 2+ vCPU and 2+ GiB.
	// +required
	VMSize string `json:"vmSize"`

	// Image: nil = default image by Kubernetes version and OS; exactly one of id, marketplace, computeGallery, sharedGallery.
	// +optional
	Image *Image `json:"image,omitempty"`

	// OSDisk is the disk that an instance boots from.
	// +required
	OSDisk OSDisk `json:"osDisk"`

	// DataDisks: empty managed disks attached at create.
	// +optional
	DataDisks []DataDisk `json:"dataDisks,omitempty"`

	// SSHPublicKey: base64 of an OpenSSH public key, Linux only; when empty a key pair is generated and its private half thrown away.
	// +optional
	SSHPublicKey string `json:"sshPublicKey,omitempty"`

	// AcceleratedNetworking: deprecated since networkInterfaces exists; moved into
	// networkInterfaces[0] at admission; nil = on when the VM size supports it.
	// +optional
	AcceleratedNetworking *bool `json:"acceleratedNetworking,omitempty"`

	// Diagnostics is where the boot log and screenshots go. Default: storage that Azure manages.
	// +optional
	Diagnostics *Diagnostics `json:"diagnostics,omitempty"`

	// TerminateNotificationTimeout is how many minutes (5 to 15) of notice an instance gets before it is
	// ended.
	// +optional
	TerminateNotificationTimeout *int `json:"terminateNotificationTimeout,omitempty"`

	// SecurityProfile is for trusted launch and confidential VMs.
	// +optional
	SecurityProfile *SecurityProfile `json:"securityProfile,omitempty"`

	// AdditionalCapabilities are features of the VM that Azure leaves off.
	// +optional
	AdditionalCapabilities *AdditionalCapabilities `json:"additionalCapabilities,omitempty"`

	// SpotVMOptions: spot priority.
	// +optional
	SpotVMOptions *SpotVMOptions `json:"spotVMOptions,omitempty"`

	// SubnetName: deprecated; moved into networkInterfaces[0].
	// +optional
	SubnetName string `json:"subnetName,omitempty"`

	// DisableVMBootstrapExtension: false adds an extension that waits in the VM for kubeadm to finish
	// and so reports its failure; unset and true leave it out.
	// +optional
	DisableVMBootstrapExtension *bool `json:"disableVMBootstrapExtension,omitempty"`

	// VMExtensions: extensions of the instances; type is taken from name.
	// +optional
	VMExtensions []VMExtension `json:"vmExtensions,omitempty"`

	// NetworkInterfaces: first one is primary and carries LB pools; default one NIC in the node subnet.
	// +optional
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`
}

// MachineRollingUpdateDeployment bounds a rolling update.
type MachineRollingUpdateDeployment struct {
	// MaxUnavailable is how many instances may be missing, as a number or a percentage rounded down.
	// +kubebuilder:default=0
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MaxSurge is how many instances there may be beyond the replicas while the model changes, as a
	// number or a percentage rounded up.
	// +kubebuilder:default=1
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// DeletePolicy is which instances go first.
	// +kubebuilder:validation:Enum=Random;Newest;Oldest
	// +kubebuilder:default=Oldest
	// +optional
	DeletePolicy AzureMachinePoolDeletePolicyType `json:"deletePolicy,omitempty"`
}

// AzureMachinePoolDeploymentStrategy is how instances of an old model are replaced.
type AzureMachinePoolDeploymentStrategy struct {
	// Type is RollingUpdate.
	// +kubebuilder:validation:Enum=RollingUpdate
	// +kubebuilder:default=RollingUpdate
	// +optional
	Type AzureMachinePoolDeploymentStrategyType `json:"type,omitempty"`

	// RollingUpdate bounds a rolling update.
	// +optional
	RollingUpdate *MachineRollingUpdateDeployment `json:"rollingUpdate,omitempty"`
}

// AzureMachinePoolSpec is what a pool asks of Azure.
type AzureMachinePoolSpec struct {
	// Location is the region of the scale set.
	// +required
	Location string `json:"location"`

	// Template is what instances are made of.
	// +required
	Template AzureMachinePoolMachineTemplate `json:"template"`

	// AdditionalTags: tags of the scale set; merged over the cluster tags.
	// +optional
	AdditionalTags Tags `json:"additionalTags,omitempty"`

	// ProviderID is azure:// and the scale set's resource ID, set by the controller.
	// +optional
	ProviderID string `json:"providerID,omitempty"`

	// ProviderIDList are the provider IDs of the instances, sorted, set by the controller.
	// +optional
	ProviderIDList []string `json:"providerIDList,omitempty"`

	// Identity: managed identity kind of the instances; decides what credentials azure.json holds.
	// +kubebuilder:validation:Enum=None;SystemAssigned;UserAssigned
	// +kubebuilder:default=None
	// +optional
	Identity VMIdentity `json:"identity,omitempty"`

	// UserAssignedIdentities: required (and only legal) with identity UserAssigned; the first entry is the one put in azure.json.
	// +optional
	UserAssignedIdentities []UserAssignedIdentity `json:"userAssignedIdentities,omitempty"`

	// SystemAssignedIdentityRole: role assignment made for the scale set's identity.
	// +optional
	SystemAssignedIdentityRole *SystemAssignedIdentityRole `json:"systemAssignedIdentityRole,omitempty"`

	// RoleAssignmentName: deprecated GUID of the role assignment; moved to systemAssignedIdentityRole.name.
	// +optional
	RoleAssignmentName string `json:"roleAssignmentName,omitempty"`

	// Strategy is how instances of an old model are replaced.
	// +kubebuilder:default={type: "RollingUpdate", rollingUpdate: {maxSurge: 1, maxUnavailable: 0, deletePolicy: Oldest}}
	// +optional
	Strategy AzureMachinePoolDeploymentStrategy `json:"strategy,omitempty"`

	// OrchestrationMode is Uniform or Flexible. Flexible needs Kubernetes 1.26 or later.
	// +kubebuilder:validation:Enum=Flexible;Uniform
	// +kubebuilder:default=Uniform
	// +optional
	OrchestrationMode OrchestrationMode `json:"orchestrationMode,omitempty"`

	// PlatformFaultDomainCount is how many fault domains a zone's instances are spread over. Default: 1
	// for Flexible, Azure's choice for Uniform.
	// +optional
	PlatformFaultDomainCount *int32 `json:"platformFaultDomainCount,omitempty"`

	// ZoneBalance: instances must be spread evenly over the zones. Without effect in fewer than two.
	// +optional
	ZoneBalance *bool `json:"zoneBalance,omitempty"`
}

// AzureMachinePoolInstanceStatus is what was seen of one instance.
type AzureMachinePoolInstanceStatus struct {
	// Version is the Kubernetes version of the instance's kubelet.
	// +optional
	Version string `json:"version,omitempty"`

	// ProvisioningState of the instance.
	// +optional
	ProvisioningState *ProvisioningState `json:"provisioningState,omitempty"`

	// ProviderID of the instance.
	// +optional
	ProviderID string `json:"providerID,omitempty"`

	// InstanceID is the number of a Uniform instance.
	// +optional
	InstanceID string `json:"instanceID,omitempty"`

	// InstanceName is the instance's name.
	// +optional
	InstanceName string `json:"instanceName,omitempty"`

	// LatestModelApplied: the instance is as the pool's template says.
	LatestModelApplied bool `json:"latestModelApplied"`
}

// AzureMachinePoolStatus is what was seen of the pool in Azure.
type AzureMachinePoolStatus struct {
	// Ready: the scale set has been provisioned. Cluster API's v1beta1 contract reads it.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// Initialization is what the v1beta2 contract reads of a first provisioning.
	// +optional
	Initialization AzureMachineInitializationStatus `json:"initialization,omitempty"`

	// Replicas is the number of instances.
	// +optional
	Replicas int32 `json:"replicas"`

	// Instances are declared as CAPZ declares them and never written: AzureMachinePoolMachines hold it.
	// +optional
	Instances []*AzureMachinePoolInstanceStatus `json:"instances,omitempty"`

	// Image is what new instances boot.
	// +optional
	Image *Image `json:"image,omitempty"`

	// Version is declared as CAPZ declares it and never written.
	// +optional
	Version string `json:"version,omitempty"`

	// ProvisioningState of the scale set.
	// +optional
	ProvisioningState *ProvisioningState `json:"provisioningState,omitempty"`

	// FailureReason is set when only a change of the spec, or a new pool, helps.
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

	// InfrastructureMachineKind says to Cluster API that each instance has an object of this kind.
	// +optional
	InfrastructureMachineKind string `json:"infrastructureMachineKind,omitempty"`

	// Capacity is the CPU and memory of the VM size, for scaling from zero.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// NodeInfo is the architecture and OS of the nodes, for scaling from zero.
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

// MachineSpec returns the pool's template as the spec of one of its machines, so that code
// for both kinds exists once.
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
		// Scale sets of CAPZ always forward.
		EnableIPForwarding: true,
	}
}

// SetMachineSpec is the way back from MachineSpec.
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
