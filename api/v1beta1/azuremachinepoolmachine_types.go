package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// AzureMachinePoolMachineSpec names one instance of a pool.
type AzureMachinePoolMachineSpec struct {
	// providerID is the provider ID of the instance; it never changes.
	// +required
	ProviderID string `json:"providerID"`

	// instanceID is the number of a Uniform instance, and empty for a Flexible one.
	// +optional
	InstanceID string `json:"instanceID,omitempty"`
}

// AzureMachinePoolMachineStatus is the observed state of an instance.
type AzureMachinePoolMachineStatus struct {
	// nodeRef is the instance's node.
	// +optional
	NodeRef *corev1.ObjectReference `json:"nodeRef,omitempty"`

	// version is the Kubernetes version of the node's kubelet.
	// +optional
	Version string `json:"version,omitempty"`

	// provisioningState is Azure's provisioning state of the instance.
	// +optional
	ProvisioningState *ProvisioningState `json:"provisioningState,omitempty"`

	// instanceName is the instance's computer name.
	// +optional
	InstanceName string `json:"instanceName,omitempty"`

	// addresses are the addresses of the instance, in the order of its interfaces. They stay as long as the instance exists.
	// +optional
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// failureReason is set when only a new instance helps.
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

	// longRunningOperationStates are the Azure operations in progress.
	// +optional
	LongRunningOperationStates []LongRunningOperationState `json:"longRunningOperationStates,omitempty"`

	// latestModelApplied is true if the instance agrees with the pool's template.
	// +optional
	LatestModelApplied bool `json:"latestModelApplied"`

	// ready is true once the instance has been provisioned. Cluster API's v1beta1 contract reads
	// it.
	// +optional
	Ready bool `json:"ready"`

	// initialization has the v1beta2 contract's fields about the first provisioning.
	// +optional
	Initialization AzureMachineInitializationStatus `json:"initialization,omitempty"`

	// failureDomain is the zone that the instance is in.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty"`
}

// AzureMachinePoolMachine is one instance of an AzureMachinePool. Casement makes it
// for each instance that Azure shows; deleting its Machine deletes the instance.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=azuremachinepoolmachines,scope=Namespaced,categories=cluster-api,shortName=ampm
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta1=v1beta1","cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-azure"}
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"
// +kubebuilder:printcolumn:name="Pool",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/pool-name']"
// +kubebuilder:printcolumn:name="Instance",type="string",JSONPath=".status.instanceName"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".status.version"
// +kubebuilder:printcolumn:name="Latest",type="boolean",JSONPath=".status.latestModelApplied"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.provisioningState"
// +kubebuilder:printcolumn:name="Provider ID",type="string",JSONPath=".spec.providerID",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type AzureMachinePoolMachine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AzureMachinePoolMachineSpec   `json:"spec,omitempty"`
	Status AzureMachinePoolMachineStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions.
func (m *AzureMachinePoolMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions replaces the conditions.
func (m *AzureMachinePoolMachine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// AzureMachinePoolMachineList is a list of AzureMachinePoolMachines.
//
// +kubebuilder:object:root=true
type AzureMachinePoolMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AzureMachinePoolMachine `json:"items"`
}
