// Package helm serves HelmChartProxy and HelmReleaseProxy, the kinds of Cluster API's addon provider for Helm, on the
// local plane: it installs the charts of templates without that provider. Charts for which casement has manifests are
// replaced by stubs, which report that they are simulated; any other chart is rendered and installed by the Helm
// library from its repository, a registry or a folder.
//
// It is no second implementation for production, where the provider itself is installed. The Helm library is large, so
// this runs as a separate process beside the plane: cmd/casement-kube and tests may import it; internal/helm/v1alpha1
// and internal/helm/crds link nothing of Helm, so the plane may import them too.
package helm

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"casement.dev/casement/internal/helm/v1alpha1"
)

// hookTimeout is the timeout of one of Helm's operations, mainly of the wait for a hook's Job.
const hookTimeout = 2 * time.Minute

// workers is the number of releases that are reconciled concurrently.
const workers = 10

// Options are the settings of the plane.
type Options struct {
	// Charts is a folder of charts that are used instead of those in their repositories: NAME-VERSION.tgz, NAME.tgz or
	// a folder NAME; "" means none.
	Charts string
	// Cache is the folder of downloaded charts.
	Cache string
	// OwnRepositories permits charts from this computer's own addresses, where tests have repositories.
	OwnRepositories bool
}

// New returns a manager of the two kinds, ready to be started. Their CRDs and Cluster API's CRDs have to be established before.
func New(rc *rest.Config, o Options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	rc = rest.CopyConfig(rc)
	rc.UserAgent = "casement-helm"
	mgr, err := ctrl.NewManager(rc, ctrl.Options{
		Scheme: scheme, Controller: config.Controller{SkipNameValidation: new(true)},
		HealthProbeBindAddress: "0", PprofBindAddress: "0", Metrics: server.Options{BindAddress: "0"},
		Client: client.Options{Cache: &client.CacheOptions{
			DisableFor: []client.Object{&corev1.Secret{}, &apiextensionsv1.CustomResourceDefinition{}},
		}},
	})
	if err != nil {
		return nil, err
	}
	if err := (&chartProxies{Client: mgr.GetClient()}).setUp(mgr); err != nil {
		return nil, err
	}
	return mgr, (&releaseProxies{Client: mgr.GetClient(), options: o}).setUp(mgr)
}
