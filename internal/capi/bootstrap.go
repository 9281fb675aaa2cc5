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
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
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
	if !cfg.Upstream {
		if err := joinPools(mgr, configs); err != nil {
			return nil, err
		}
	}
	return mgr, setUpWebhooks(mgr, &admission.KubeadmConfig{}, &admission.KubeadmConfigTemplate{})
}

// joinPools renders the data of machine pools as soon as their cluster has a control
// plane. A Machine's own events do that for its config; a pool has none, and its config
// would be looked at again only after half a minute.
func joinPools(mgr ctrl.Manager, configs *kubeadmconfig.Reconciler) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("kubeadmconfig-initialized").
		For(&clusterv1.Cluster{}, builder.WithPredicates(predicates.ClusterControlPlaneInitialized(mgr.GetScheme(), mgr.GetLogger()))).
		Complete(reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
			var pools clusterv1.MachinePoolList
			err := mgr.GetClient().List(ctx, &pools, client.InNamespace(request.Namespace),
				client.MatchingLabels{clusterv1.ClusterNameLabel: request.Name})
			if err != nil {
				return ctrl.Result{}, err
			}
			for i := range pools.Items {
				for _, config := range configs.MachinePoolToBootstrapMapFunc(ctx, &pools.Items[i]) {
					if _, err := configs.Reconcile(ctx, config); err != nil {
						return ctrl.Result{}, err
					}
				}
			}
			return ctrl.Result{}, nil
		}))
}
