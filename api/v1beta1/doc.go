// Package v1beta1 is the API group infrastructure.cluster.x-k8s.io/v1beta1: the kinds that declare a cluster's Azure
// part. Specs have the same fields as CAPZ v1.26 for self-managed clusters; status follows Cluster API's v1beta2
// contract.
//
// It has types and constants only: no defaulting, no validation, no behaviour. Any package may import it.
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&AzureCluster{}, &AzureClusterList{},
		&AzureClusterTemplate{}, &AzureClusterTemplateList{},
		&AzureMachine{}, &AzureMachineList{},
		&AzureMachineTemplate{}, &AzureMachineTemplateList{},
		&AzureMachinePool{}, &AzureMachinePoolList{},
		&AzureMachinePoolMachine{}, &AzureMachinePoolMachineList{},
		&AzureMachinePoolTemplate{}, &AzureMachinePoolTemplateList{},
		&AzureClusterIdentity{}, &AzureClusterIdentityList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
