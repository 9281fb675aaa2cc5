package v1beta1

import (
	"bytes"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// ClusterFinalizer keeps an AzureCluster until its Azure resources are gone.
const ClusterFinalizer = "azurecluster.infrastructure.cluster.x-k8s.io"

// Tags are Azure tags: at most 50 a resource, names to 512 and values to 256
// characters.
type Tags map[string]string

// BastionHostSkuName is the SKU of a bastion host.
type BastionHostSkuName string

// AzureClusterSpec is the desired state of a cluster in Azure: its network, load balancers and identity.
type AzureClusterSpec struct {
	AzureClusterClassSpec `json:",inline"`

	// resourceGroup holds the cluster's resources. Default: the AzureCluster's name. A resource group that exists
	// without the cluster's ownership tag is used and never deleted.
	// +optional
	ResourceGroup string `json:"resourceGroup,omitempty"`

	// networkSpec is the virtual network, its subnets and the load balancers.
	// +optional
	NetworkSpec NetworkSpec `json:"networkSpec,omitempty"`

	// bastionSpec requests an Azure Bastion host.
	// +optional
	BastionSpec BastionSpec `json:"bastionSpec,omitempty"`

	// controlPlaneEndpoint is the address of the API server. The controller sets it if it is empty
	// and leaves it unchanged otherwise.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// controlPlaneEnabled is false if the control plane is managed elsewhere: then no load
	// balancer, public IP and security rules are created for the API server, and
	// controlPlaneEndpoint has to be set by another controller.
	// +kubebuilder:default=true
	// +optional
	ControlPlaneEnabled bool `json:"controlPlaneEnabled"`
}

// APIEndpoint is the address of an API server. Cluster API's own type refuses an empty host, which manifests written
// for CAPZ may have until the host is known.
type APIEndpoint struct {
	// host is a DNS name or an address.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Host string `json:"host,omitempty"`

	// port is 1 to 65535; 0 means that it is not known yet.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`
}

// AzureClusterClassSpec is the part of an AzureCluster that a ClusterClass may carry.
type AzureClusterClassSpec struct {
	// subscriptionID is the Azure subscription.
	// +optional
	SubscriptionID string `json:"subscriptionID,omitempty"`

	// location is the Azure region.
	// +required
	Location string `json:"location"`

	// extendedLocation is the Azure edge zone in which networks and machines are created. It has no availability zones.
	// +optional
	ExtendedLocation *ExtendedLocationSpec `json:"extendedLocation,omitempty"`

	// additionalTags are added to every Azure resource of the cluster. A machine's or pool's tag
	// with the same key takes precedence.
	// +optional
	AdditionalTags Tags `json:"additionalTags,omitempty"`

	// identityRef names the AzureClusterIdentity with which to log in to Azure. New clusters require it.
	// +optional
	IdentityRef *corev1.ObjectReference `json:"identityRef,omitempty"`

	// azureEnvironment is the cloud: AzurePublicCloud (default), AzureChinaCloud or
	// AzureUSGovernmentCloud.
	// +optional
	AzureEnvironment string `json:"azureEnvironment,omitempty"`

	// failureDomains can only exclude zones from control planes (controlPlane: false); the zones
	// themselves are discovered.
	// +optional
	FailureDomains map[string]FailureDomainSpec `json:"failureDomains,omitempty"`

	// cloudProviderConfigOverrides are rate limits and back-off settings that are merged into the
	// generated azure.json.
	// +optional
	CloudProviderConfigOverrides *CloudProviderConfigOverrides `json:"cloudProviderConfigOverrides,omitempty"`
}

// ExtendedLocationSpec names an edge zone.
type ExtendedLocationSpec struct {
	// name is the name of the edge zone.
	// +required
	Name string `json:"name"`

	// type is EdgeZone.
	// +kubebuilder:validation:Enum=EdgeZone
	// +required
	Type string `json:"type"`
}

// FailureDomains is a list, as the v1beta2 contract requires.
//
// +listType=map
// +listMapKey=name
type FailureDomains []clusterv1.FailureDomain

// UnmarshalJSON also accepts the map of the v1beta1 contract, which the AzureClusters of CAPZ have until they are
// adopted, and returns no failure domains for it. An error would hide all AzureClusters from their controller.
func (d *FailureDomains) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		*d = nil
		return nil
	}
	return json.Unmarshal(data, (*[]clusterv1.FailureDomain)(d))
}

// FailureDomainSpec limits the machines that a zone may be used for.
type FailureDomainSpec struct {
	// controlPlane is true if control plane machines may be placed in this zone.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// attributes are accepted and have no effect.
	// +optional
	Attributes map[string]string `json:"attributes,omitempty"`
}

// CloudProviderConfigOverrides are settings of cloud-provider-azure that are written to azure.json.
type CloudProviderConfigOverrides struct {
	// rateLimits are the client rate limits of cloud-provider-azure per API family.
	// +optional
	RateLimits []RateLimitSpec `json:"rateLimits,omitempty"`

	// backOffs is the retry back-off of cloud-provider-azure.
	// +optional
	BackOffs BackOffConfig `json:"backOffs,omitempty"`
}

// RateLimitSpec limits the calls of one family of Azure's API.
type RateLimitSpec struct {
	// name is the API family that the limit applies to.
	// +kubebuilder:validation:Enum=defaultRateLimit;routeRateLimit;subnetsRateLimit;interfaceRateLimit;routeTableRateLimit;loadBalancerRateLimit;publicIPAddressRateLimit;securityGroupRateLimit;virtualMachineRateLimit;storageAccountRateLimit;diskRateLimit;snapshotRateLimit;virtualMachineScaleSetRateLimit;virtualMachineSizesRateLimit;availabilitySetRateLimit
	// +required
	Name string `json:"name"`

	// config is the limit.
	// +optional
	Config RateLimitConfig `json:"config,omitempty"`
}

// RateLimitConfig is a limit for reads and a limit for writes.
type RateLimitConfig struct {
	// cloudProviderRateLimit turns the limiter on.
	// +optional
	CloudProviderRateLimit bool `json:"cloudProviderRateLimit,omitempty"`

	// cloudProviderRateLimitQPS is the number of reads per second, a decimal quantity.
	// +optional
	CloudProviderRateLimitQPS *resource.Quantity `json:"cloudProviderRateLimitQPS,omitempty"`

	// cloudProviderRateLimitBucket is the burst of reads.
	// +optional
	CloudProviderRateLimitBucket int `json:"cloudProviderRateLimitBucket,omitempty"`

	// cloudProviderRateLimitQPSWrite is the number of writes per second, a decimal quantity.
	// +optional
	CloudProviderRateLimitQPSWrite *resource.Quantity `json:"cloudProviderRateLimitQPSWrite,omitempty"`

	// cloudProviderRateLimitBucketWrite is the burst of writes.
	// +optional
	CloudProviderRateLimitBucketWrite int `json:"cloudProviderRateLimitBucketWrite,omitempty"`
}

// BackOffConfig is the retry back-off of cloud-provider-azure.
type BackOffConfig struct {
	// cloudProviderBackoff turns the back-off on.
	// +optional
	CloudProviderBackoff bool `json:"cloudProviderBackoff,omitempty"`

	// cloudProviderBackoffRetries is the number of retries.
	// +optional
	CloudProviderBackoffRetries int `json:"cloudProviderBackoffRetries,omitempty"`

	// cloudProviderBackoffExponent is the factor by which each pause is longer than the pause before.
	// +optional
	CloudProviderBackoffExponent *resource.Quantity `json:"cloudProviderBackoffExponent,omitempty"`

	// cloudProviderBackoffDuration is the first pause, in seconds.
	// +optional
	CloudProviderBackoffDuration int `json:"cloudProviderBackoffDuration,omitempty"`

	// cloudProviderBackoffJitter is the part of a pause that is drawn at random.
	// +optional
	CloudProviderBackoffJitter *resource.Quantity `json:"cloudProviderBackoffJitter,omitempty"`
}

// BastionSpec is the access to machines without public addresses.
type BastionSpec struct {
	// azureBastion requests an Azure Bastion host. It can be added later, but not changed or
	// removed.
	// +optional
	AzureBastion *AzureBastion `json:"azureBastion,omitempty"`
}

// AzureBastion is an Azure Bastion host.
type AzureBastion struct {
	// name is the name of the Bastion host. Default: <cluster>-azure-bastion.
	// +optional
	Name string `json:"name,omitempty"`

	// subnet is the subnet of the Bastion host. Azure requires the name AzureBastionSubnet.
	// +optional
	Subnet SubnetSpec `json:"subnet,omitempty"`

	// publicIP is the public IP of the Bastion host. Its default name is
	// <cluster>-azure-bastion-pip.
	// +optional
	PublicIP PublicIPSpec `json:"publicIP,omitempty"`

	// sku is Basic (default) or Standard.
	// +kubebuilder:validation:Enum=Basic;Standard
	// +kubebuilder:default=Basic
	// +optional
	Sku BastionHostSkuName `json:"sku,omitempty"`

	// enableTunneling allows connections of native clients; it requires sku Standard.
	// +kubebuilder:default=false
	// +optional
	EnableTunneling bool `json:"enableTunneling,omitempty"`
}

// AzureClusterStatus is the observed state of a cluster in Azure.
type AzureClusterStatus struct {
	// ready is true once the network and the API server's endpoint exist. Cluster API's v1beta1
	// contract reads it.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// initialization has the v1beta2 contract's fields about the first provisioning.
	// +optional
	Initialization AzureClusterInitializationStatus `json:"initialization,omitempty"`

	// failureDomains are the zones of the location that some VM size is offered in.
	// +optional
	FailureDomains FailureDomains `json:"failureDomains,omitempty"`

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

// AzureClusterInitializationStatus is part of the v1beta2 contract.
type AzureClusterInitializationStatus struct {
	// provisioned is true once the infrastructure has been complete; it never
	// becomes false again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// OperationService is the ServiceName of operations that casement has begun. Operations of other providers, whose
// tokens casement cannot read, have other names.
const OperationService = "casement"

// LongRunningOperationState is an operation that Azure has not finished.
type LongRunningOperationState struct {
	// type is the HTTP method of the operation: PUT, PATCH, POST or DELETE.
	Type string `json:"type"`

	// name is the ID of the resource that the operation changes.
	Name string `json:"name"`

	// resourceGroup is the group of the resource.
	// +optional
	ResourceGroup string `json:"resourceGroup,omitempty"`

	// serviceName is the type of the resource.
	ServiceName string `json:"serviceName"`

	// data is the resume token, base64.
	Data string `json:"data"`
}

// AzureCluster is the Azure part of a Cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=azureclusters,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta1=v1beta1","cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-azure"}
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason"
// +kubebuilder:printcolumn:name="Resource Group",type="string",JSONPath=".spec.resourceGroup",priority=1
// +kubebuilder:printcolumn:name="Location",type="string",JSONPath=".spec.location",priority=1
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.controlPlaneEndpoint.host",priority=1
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].message",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type AzureCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AzureClusterSpec   `json:"spec,omitempty"`
	Status AzureClusterStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions.
func (c *AzureCluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions.
func (c *AzureCluster) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

// AzureClusterList is a list of AzureClusters.
//
// +kubebuilder:object:root=true
type AzureClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AzureCluster `json:"items"`
}

// AzureClusterTemplateSpec is the desired state of an AzureClusterTemplate.
type AzureClusterTemplateSpec struct {
	Template AzureClusterTemplateResource `json:"template"`
}

// AzureClusterTemplateResource is the metadata and spec of the AzureClusters that are made from a template.
type AzureClusterTemplateResource struct {
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	Spec       AzureClusterSpec     `json:"spec"`
}

// AzureClusterTemplate is a template of AzureClusters, for ClusterClasses.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=azureclustertemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta1=v1beta1","cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-azure"}
type AzureClusterTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec AzureClusterTemplateSpec `json:"spec,omitempty"`
}

// AzureClusterTemplateList is a list of AzureClusterTemplates.
//
// +kubebuilder:object:root=true
type AzureClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AzureClusterTemplate `json:"items"`
}
