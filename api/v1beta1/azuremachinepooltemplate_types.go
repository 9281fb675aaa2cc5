package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// AzureMachinePoolTemplateSpec is the desired state of an AzureMachinePoolTemplate.
type AzureMachinePoolTemplateSpec struct {
	Template AzureMachinePoolTemplateResource `json:"template"`
}

// AzureMachinePoolTemplateResource is the metadata and spec of the AzureMachinePools that are made from a
// template.
type AzureMachinePoolTemplateResource struct {
	// metadata is copied to the AzureMachinePool; its annotations runtime and
	// windowsServerVersion choose the image.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the spec of the pools; admission of each pool fills in and checks it.
	Spec AzureMachinePoolSpec `json:"spec"`
}

// AzureMachinePoolTemplate is a template of AzureMachinePools, for the machine pools of a ClusterClass. Nothing else uses it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=azuremachinepooltemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta1=v1beta1","cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-azure"}
type AzureMachinePoolTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec AzureMachinePoolTemplateSpec `json:"spec,omitempty"`
}

// AzureMachinePoolTemplateList is a list of AzureMachinePoolTemplates.
//
// +kubebuilder:object:root=true
type AzureMachinePoolTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AzureMachinePoolTemplate `json:"items"`
}
