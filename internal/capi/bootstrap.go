package capi

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/reconcilers/kubeadmconfig"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/setup"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
)

const bootstrapName = "cluster-api-kubeadm-bootstrap-manager"

func newBootstrap(ctx context.Context, cfg Config) (ctrl.Manager, error) {
	scheme, err := newScheme(clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme,
		clusterv1.AddToScheme, bootstrapv1beta1.AddToScheme, bootstrapv1.AddToScheme)
	if err != nil {
		return nil, err
	}
	mgr, err := newManager(cfg, scheme, bootstrapName, cfg.Ports.Bootstrap,
		setup.ManagerCacheOptions(scheme, bootstrapName, "", syncPeriod), setup.ManagerClientOptions())
	if err != nil {
		return nil, err
	}
	secrets, err := setup.CreateSecretCachingClient(mgr)
	if err != nil {
		return nil, err
	}
	clusters, err := cfg.connect(ctx, mgr, clustercache.Options{
		SecretClient: secrets,
		Cache:        setup.ClusterCacheCacheOptions(),
		Client:       setup.ClusterCacheClientOptions(bootstrapName, 50, 100),
	})
	if err != nil {
		return nil, err
	}
	configs := &kubeadmconfig.Reconciler{
		Client:              cfg.client(mgr),
		SecretCachingClient: secrets,
		APIReader:           mgr.GetAPIReader(),
		ClusterCache:        clusters,
		TokenTTL:            kubeadmconfig.DefaultTokenTTL,
	}
	if err := configs.SetupWithManager(ctx, mgr, concurrency(4*workers)); err != nil {
		return nil, err
	}
	return mgr, setUpWebhooks(mgr, &admission.KubeadmConfig{}, &admission.KubeadmConfigTemplate{})
}
