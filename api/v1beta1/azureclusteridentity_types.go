package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IdentityType is the kind of credential of an AzureClusterIdentity.
type IdentityType string

// Kinds of credentials.
const (
	ServicePrincipal               IdentityType = "ServicePrincipal"
	ManualServicePrincipal         IdentityType = "ManualServicePrincipal"
	ServicePrincipalCertificate    IdentityType = "ServicePrincipalCertificate"
	UserAssignedMSI                IdentityType = "UserAssignedMSI"
	WorkloadIdentity               IdentityType = "WorkloadIdentity"
	UserAssignedIdentityCredential IdentityType = "UserAssignedIdentityCredential"
)

// AzureClusterIdentitySpec is the identity with which casement logs in to Azure.
type AzureClusterIdentitySpec struct {
	// type is the kind of authentication. It is immutable. ManualServicePrincipal is a deprecated name of
	// ServicePrincipal.
	// +kubebuilder:validation:Enum=ServicePrincipal;UserAssignedMSI;ManualServicePrincipal;ServicePrincipalCertificate;WorkloadIdentity;UserAssignedIdentityCredential
	// +required
	Type IdentityType `json:"type"`

	// allowedNamespaces are the namespaces whose clusters may use the identity: null allows none
	// and {} all; otherwise the list or the selector has to match.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`

	// resourceID is deprecated and allowed only for UserAssignedMSI.
	// +optional
	ResourceID string `json:"resourceID,omitempty"`

	// clientID is the application (client) ID.
	// +required
	ClientID string `json:"clientID"`

	// clientSecret is the Secret with the key clientSecret; for a certificate the same key, or
	// certificate and password.
	// +optional
	ClientSecret corev1.SecretReference `json:"clientSecret,omitempty"`

	// tenantID is the ID of the Entra tenant.
	// +required
	TenantID string `json:"tenantID"`

	// certPath is the path of a certificate file in the manager's pod, for type
	// ServicePrincipalCertificate.
	// +optional
	CertPath string `json:"certPath,omitempty"`

	// userAssignedIdentityCredentialsPath is the path of a file with credentials of the data plane
	// of managed identities, for type UserAssignedIdentityCredential.
	// +optional
	UserAssignedIdentityCredentialsPath string `json:"userAssignedIdentityCredentialsPath,omitempty"`

	// userAssignedIdentityCredentialsCloudType is the cloud of those credentials: public, china or
	// usgovernment.
	// +optional
	UserAssignedIdentityCredentialsCloudType string `json:"userAssignedIdentityCredentialsCloudType,omitempty"`
}

// AllowedNamespaces are the namespaces whose AzureClusters may use the identity. A namespace needs to be in the list or
// match the selector.
type AllowedNamespaces struct {
	// list are the names of allowed namespaces.
	// +optional
	NamespaceList []string `json:"list,omitempty"`

	// selector selects namespaces by their labels; an empty selector matches none.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// AzureClusterIdentityStatus is the observed state of an identity.
type AzureClusterIdentityStatus struct {
	// conditions are the observations of the object's state.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AzureClusterIdentity is an identity with which clusters log in to Azure.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=azureclusteridentities,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta1=v1beta1","cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-azure","clusterctl.cluster.x-k8s.io/move-hierarchy=true"}
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".spec.type"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type AzureClusterIdentity struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AzureClusterIdentitySpec   `json:"spec,omitempty"`
	Status AzureClusterIdentityStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions.
func (i *AzureClusterIdentity) GetConditions() []metav1.Condition { return i.Status.Conditions }

// SetConditions replaces the conditions.
func (i *AzureClusterIdentity) SetConditions(conditions []metav1.Condition) {
	i.Status.Conditions = conditions
}

// AzureClusterIdentityList is a list of AzureClusterIdentities.
//
// +kubebuilder:object:root=true
type AzureClusterIdentityList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AzureClusterIdentity `json:"items"`
}
