package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Architecture is a CPU architecture as Kubernetes names it.
// +kubebuilder:validation:Enum=amd64;arm64
type Architecture string

// OperatingSystem is an operating system as Kubernetes names it.
// +kubebuilder:validation:Enum=linux;windows
type OperatingSystem string

// NodeInfo has the facts that an autoscaler needs about a node that does not exist yet.
type NodeInfo struct {
	// architecture is the CPU architecture of the VM size.
	// +optional
	Architecture Architecture `json:"architecture,omitempty"`

	// operatingSystem is the operating system on the OS disk.
	// +optional
	OperatingSystem OperatingSystem `json:"operatingSystem,omitempty"`
}

// AzureMachineTemplateStatus is for scaling from zero.
type AzureMachineTemplateStatus struct {
	// capacity is the CPU and memory of the VM size.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// nodeInfo is the architecture and OS of the nodes.
	// +optional
	NodeInfo *NodeInfo `json:"nodeInfo,omitempty"`

	// conditions are the observations of the object's state.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AzureMachineTemplateSpec is the desired state of an AzureMachineTemplate.
type AzureMachineTemplateSpec struct {
	Template AzureMachineTemplateResource `json:"template"`
}

// AzureMachineTemplateResource is the metadata and spec of the AzureMachines that are made from a template.
type AzureMachineTemplateResource struct {
	// metadata is copied to the AzureMachine; its annotations runtime and
	// windowsServerVersion choose the image.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec cannot be changed; make a new template instead.
	Spec AzureMachineSpec `json:"spec"`
}

// AzureMachineTemplate is a template of AzureMachines.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=azuremachinetemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta1=v1beta1","cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-azure"}
type AzureMachineTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AzureMachineTemplateSpec   `json:"spec,omitempty"`
	Status AzureMachineTemplateStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions.
func (t *AzureMachineTemplate) GetConditions() []metav1.Condition { return t.Status.Conditions }

// SetConditions replaces the conditions.
func (t *AzureMachineTemplate) SetConditions(conditions []metav1.Condition) {
	t.Status.Conditions = conditions
}

// AzureMachineTemplateList is a list of AzureMachineTemplates.
//
// +kubebuilder:object:root=true
type AzureMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AzureMachineTemplate `json:"items"`
}
