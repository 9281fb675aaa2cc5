package rules

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	addonsv1beta1 "sigs.k8s.io/cluster-api/api/addons/v1beta1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/lint"
)

// decoder has the fields of the kinds of Kubernetes, Cluster API and casement: the CRDs' structural schemas are
// generated from these types, and the API server refuses other fields.
var decoder = lint.Decoder{Scheme: known()}

// known returns a scheme with all kinds whose fields are known. It panics if a package cannot be added, which is an
// error in this file.
func known() *runtime.Scheme {
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, infrav1.AddToScheme, clusterv1.AddToScheme, clusterv1beta1.AddToScheme,
		bootstrapv1.AddToScheme, bootstrapv1beta1.AddToScheme, controlplanev1.AddToScheme, controlplanev1beta1.AddToScheme,
		addonsv1.AddToScheme, addonsv1beta1.AddToScheme,
	} {
		if err := add(all); err != nil {
			panic(err)
		}
	}
	return all
}
