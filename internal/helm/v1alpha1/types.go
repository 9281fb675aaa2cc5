// Package v1alpha1 has the kinds HelmChartProxy and HelmReleaseProxy of Cluster API's addon provider for Helm, with the
// same JSON fields, so that templates with these kinds can be applied to the local plane. It has only types and
// constants. internal/helm, internal/plane and tests may import it.
//
// Source: github.com/kubernetes-sigs/cluster-api-addon-provider-helm, api/v1alpha1.
//
// +kubebuilder:object:generate=true
// +groupName=addons.cluster.x-k8s.io
package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the kinds.
var GroupVersion = schema.GroupVersion{Group: "addons.cluster.x-k8s.io", Version: "v1alpha1"}

// AddToScheme adds the kinds to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &HelmChartProxy{}, &HelmChartProxyList{}, &HelmReleaseProxy{}, &HelmReleaseProxyList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// Finalizers, labels and annotations that other programs read.
const (
	ChartProxyFinalizer   = "helmchartproxy.addons.cluster.x-k8s.io"
	ReleaseProxyFinalizer = "helmreleaseproxy.addons.cluster.x-k8s.io"
	// ChartProxyLabel names the HelmChartProxy that created a HelmReleaseProxy.
	ChartProxyLabel = "helmreleaseproxy.addons.cluster.x-k8s.io/helmchartproxy-name"
	// GeneratedNameAnnotation is "true" if the name of the release was generated.
	GeneratedNameAnnotation = "helmreleaseproxy.addons.cluster.x-k8s.io/is-release-name-generated"
	// InstalledAnnotation is "true" once the release has been installed.
	InstalledAnnotation = "helmreleaseproxy.addons.cluster.x-k8s.io/release-successfully-installed"
)

// InstallOnce is the strategy that does not change a release once it is installed. Any other strategy keeps it up to
// date with the HelmChartProxy.
const InstallOnce = "InstallOnce"

// The conditions in addition to Ready.
const (
	ReleaseProxySpecsUpToDateCondition = "HelmReleaseProxySpecsUpToDate"
	ReleaseProxiesReadyCondition       = "HelmReleaseProxiesReady"
	ReleaseReadyCondition              = "HelmReleaseReady"
	ClusterAvailableCondition          = "ClusterAvailable"
)

// The reasons of conditions that are False.
const (
	ReleaseProxyReinstallingReason   = "HelmReleaseProxyReinstalling"
	LimitExceededReason              = "LimitExceeded"
	InvalidSpecReason                = "InvalidSpec"
	ValueParsingFailedReason         = "ValueParsingFailed"
	ClusterSelectionFailedReason     = "ClusterSelectionFailed"
	PreparingToInstallReason         = "PreparingToHelmInstall"
	InstallOrUpgradeFailedReason     = "HelmInstallOrUpgradeFailed"
	ReleaseDeletionFailedReason      = "HelmReleaseDeletionFailed"
	GetClusterFailedReason           = "GetClusterFailed"
	GetKubeconfigFailedReason        = "GetKubeconfigFailed"
	GetCredentialsFailedReason       = "GetCredentialsFailed"
	ReleaseProxiesNotReadyReason     = "NotReady"
	ControlPlaneNotInitializedReason = "ControlPlaneNotInitialized"
)

// Chart names a chart, and the settings for a release of it. Both kinds include it.
type Chart struct {
	// chartName is the name of the chart in its repository.
	ChartName string `json:"chartName"`

	// repoURL is the URL of the chart's repository (https://), or of its registry without the chart's name (oci://).
	// +kubebuilder:validation:XValidation:rule="self.startsWith('https://') || self.startsWith('oci://')",message="supported schemes are https and oci"
	RepoURL string `json:"repoURL"`

	// releaseName is the name of the release. Default: a generated name.
	// +optional
	ReleaseName string `json:"releaseName,omitempty"`

	// namespace is the namespace of the release in the workload cluster.
	// +optional
	// +kubebuilder:default=default
	ReleaseNamespace string `json:"namespace,omitempty"`

	// version is the version of the chart. Default: the newest.
	// +optional
	Version string `json:"version,omitempty"`

	// reconcileStrategy is InstallOnce or Continuous, which is the default.
	// +optional
	// +kubebuilder:validation:Enum="";InstallOnce;Continuous
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="reconcileStrategy is immutable"
	ReconcileStrategy string `json:"reconcileStrategy,omitempty"`

	// options are the options of Helm's commands.
	// +optional
	Options Options `json:"options,omitempty"`

	// credentials name the credentials of an OCI registry.
	// +optional
	Credentials *Credentials `json:"credentials,omitempty"`

	// tlsConfig configures the verification of the repository's certificate.
	// +optional
	TLSConfig *TLSConfig `json:"tlsConfig,omitempty"`
}

// HelmChartProxySpec selects Clusters, and has the chart and values for them.
type HelmChartProxySpec struct {
	// clusterSelector selects Clusters of the same namespace.
	ClusterSelector metav1.LabelSelector `json:"clusterSelector"`

	Chart `json:",inline"`

	// valuesTemplate is the YAML of the chart's values, as a Go template that can use .Cluster, .ControlPlane and
	// .InfraCluster.
	// +optional
	ValuesTemplate string `json:"valuesTemplate,omitempty"`
}

// HelmReleaseProxySpec is a release of a chart in one cluster.
type HelmReleaseProxySpec struct {
	// clusterRef names the Cluster.
	ClusterRef corev1.ObjectReference `json:"clusterRef"`

	Chart `json:",inline"`

	// values are the chart's values as YAML.
	// +optional
	Values string `json:"values,omitempty"`
}

// Options are the options of Helm's commands.
type Options struct {
	// +optional
	DisableHooks bool `json:"disableHooks,omitempty"`
	// wait is accepted and has no effect: conditions show the release once it is applied.
	// +optional
	Wait bool `json:"wait,omitempty"`
	// waitForJobs is accepted and has no effect.
	// +optional
	WaitForJobs bool `json:"waitForJobs,omitempty"`
	// dependencyUpdate is accepted and has no effect: charts contain their dependencies.
	// +optional
	DependencyUpdate bool `json:"dependencyUpdate,omitempty"`
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// +optional
	SkipCRDs bool `json:"skipCRDs,omitempty"`
	// +optional
	SubNotes bool `json:"options,omitempty"`
	// +optional
	DisableOpenAPIValidation bool `json:"disableOpenAPIValidation,omitempty"`
	// atomic is accepted and has no effect.
	// +optional
	Atomic bool `json:"atomic,omitempty"`
	// +optional
	Install InstallOptions `json:"install,omitempty"`
	// +optional
	Upgrade UpgradeOptions `json:"upgrade,omitempty"`
	// +optional
	Uninstall *UninstallOptions `json:"uninstall,omitempty"`
	// enableClientCache is accepted and has no effect.
	// +optional
	EnableClientCache bool `json:"enableClientCache,omitempty"`
	// +optional
	TakeOwnership bool `json:"takeOwnership,omitempty"`
}

// InstallOptions are the options of helm install.
type InstallOptions struct {
	// +optional
	// +kubebuilder:default=true
	CreateNamespace *bool `json:"createNamespace,omitempty"`
	// +optional
	IncludeCRDs bool `json:"includeCRDs,omitempty"`
}

// UpgradeOptions are the options of helm upgrade.
type UpgradeOptions struct {
	// +optional
	Force bool `json:"force,omitempty"`
	// +optional
	ResetValues bool `json:"resetValues,omitempty"`
	// +optional
	ReuseValues bool `json:"reuseValues,omitempty"`
	// +optional
	ResetThenReuseValues bool `json:"resetThenReuseValues,omitempty"`
	// recreate is accepted and has no effect.
	// +optional
	Recreate bool `json:"recreate,omitempty"`
	// +optional
	// +kubebuilder:default=10
	MaxHistory int `json:"maxHistory,omitempty"`
	// +optional
	CleanupOnFail bool `json:"cleanupOnFail,omitempty"`
}

// UninstallOptions are the options of helm uninstall.
type UninstallOptions struct {
	// +optional
	KeepHistory bool `json:"keepHistory,omitempty"`
	// +optional
	Description string `json:"description,omitempty"`
}

// Credentials name a key of a Secret with the credentials of a registry.
type Credentials struct {
	// secret is the Secret with the credentials, as a Docker configuration file.
	Secret corev1.SecretReference `json:"secret"`
	// key is the key in the Secret. Default: config.json.
	// +optional
	Key string `json:"key,omitempty"`
}

// TLSConfig configures the verification of a repository's certificate.
type TLSConfig struct {
	// caSecret is the Secret with the CA's certificate, under ca.crt.
	// +optional
	CASecretRef *corev1.SecretReference `json:"caSecret,omitempty"`
	// +optional
	InsecureSkipTLSVerify bool `json:"insecureSkipTLSVerify,omitempty"`
}

// HelmChartProxyStatus is the observed state of a HelmChartProxy.
type HelmChartProxyStatus struct {
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// matchingClusters are the Clusters that the selector matches.
	// +optional
	MatchingClusters []corev1.ObjectReference `json:"matchingClusters,omitempty"`
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// HelmReleaseProxyStatus is the observed state of a release.
type HelmReleaseProxyStatus struct {
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// status is Helm's status of the release, such as deployed.
	// +optional
	Status string `json:"status,omitempty"`
	// revision is Helm's revision of the release.
	// +optional
	Revision int `json:"revision,omitempty"`
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// HelmChartProxy installs a chart in each Cluster that its selector matches.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=helmchartproxies,scope=Namespaced,categories=cluster-api,shortName=hcp
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=".status.conditions[?(@.type=='Ready')].reason"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=".status.conditions[?(@.type=='Ready')].message",priority=1
type HelmChartProxy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   HelmChartProxySpec   `json:"spec,omitempty"`
	Status HelmChartProxyStatus `json:"status,omitempty"`
}

// HelmReleaseProxy is a release of a chart in one Cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=helmreleaseproxies,scope=Namespaced,categories=cluster-api,shortName=hrp
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=".spec.clusterRef.name"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=".status.status"
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=".status.revision"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=".status.conditions[?(@.type=='Ready')].message",priority=1
type HelmReleaseProxy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   HelmReleaseProxySpec   `json:"spec,omitempty"`
	Status HelmReleaseProxyStatus `json:"status,omitempty"`
}

// HelmChartProxyList is a list of HelmChartProxies.
//
// +kubebuilder:object:root=true
type HelmChartProxyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HelmChartProxy `json:"items"`
}

// HelmReleaseProxyList is a list of HelmReleaseProxies.
//
// +kubebuilder:object:root=true
type HelmReleaseProxyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HelmReleaseProxy `json:"items"`
}
