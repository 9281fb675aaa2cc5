package capi

import (
	"context"

	"go.etcd.io/etcd/client/pkg/v3/logutil"
	"go.uber.org/zap/zapcore"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg/etcd"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/reconcilers/kubeadmcontrolplane"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/setup"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/conversion"
	ctrl "sigs.k8s.io/controller-runtime"
)

const controlPlaneName = "cluster-api-kubeadm-control-plane-manager"

func newControlPlane(ctx context.Context, cfg Config) (ctrl.Manager, error) {
	scheme, err := newScheme(clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme,
		clusterv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1beta1.AddToScheme, controlplanev1.AddToScheme)
	if err != nil {
		return nil, err
	}
	mgr, err := newManager(cfg, scheme, controlPlaneName, cfg.Ports.ControlPlane,
		setup.ManagerCacheOptions(scheme, controlPlaneName, "", syncPeriod), setup.ManagerClientOptions())
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
		Client:       setup.ClusterCacheClientOptions(controlPlaneName, 50, 100),
	})
	if err != nil {
		return nil, err
	}
	etcdLog, err := logutil.CreateDefaultZapLogger(zapcore.WarnLevel)
	if err != nil {
		return nil, err
	}
	// The timeout is that of Cluster API's own manager: a pass connects to every etcd member. If a pass times out while
	// it creates a machine, it is uncertain whether the machine exists.
	options := concurrency(workers)
	options.ReconciliationTimeout = longPass
	err = (&kubeadmcontrolplane.Reconciler{
		Client:                      cfg.client(mgr),
		APIReader:                   mgr.GetAPIReader(),
		SecretCachingClient:         secrets,
		ClusterCache:                clusters,
		EtcdDialTimeout:             etcdDialTimeout,
		EtcdCallTimeout:             etcd.DefaultCallTimeout,
		EtcdLogger:                  etcdLog,
		RemoteConditionsGracePeriod: conditionsGrace,
	}).SetupWithManager(ctx, mgr, options)
	if err != nil {
		return nil, err
	}
	conversion.SetAPIVersionGetter(apiVersionGetter(mgr.GetClient()))
	return mgr, setUpWebhooks(mgr,
		&admission.KubeadmControlPlane{},
		&admission.ScaleValidator{Client: mgr.GetClient()},
		&admission.KubeadmControlPlaneTemplate{},
	)
}
