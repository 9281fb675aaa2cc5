package capi

import (
	"context"
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	addonsv1beta1 "sigs.k8s.io/cluster-api/api/addons/v1beta1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1alpha1 "sigs.k8s.io/cluster-api/api/ipam/v1alpha1"
	ipamv1beta1 "sigs.k8s.io/cluster-api/api/ipam/v1beta1"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	runtimev1alpha1 "sigs.k8s.io/cluster-api/api/runtime/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/core/reconcilers/cluster"
	"sigs.k8s.io/cluster-api/core/reconcilers/clusterclass"
	"sigs.k8s.io/cluster-api/core/reconcilers/clusterresourceset"
	"sigs.k8s.io/cluster-api/core/reconcilers/clusterresourcesetbinding"
	"sigs.k8s.io/cluster-api/core/reconcilers/machine"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinehealthcheck"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinepool"
	"sigs.k8s.io/cluster-api/core/reconcilers/machineset"
	topologycluster "sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster"
	topologymachinedeployment "sigs.k8s.io/cluster-api/core/reconcilers/topology/machinedeployment"
	topologymachineset "sigs.k8s.io/cluster-api/core/reconcilers/topology/machineset"
	"sigs.k8s.io/cluster-api/core/setup"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/core/webhooks/conversion"
	"sigs.k8s.io/cluster-api/util/contract"
	"sigs.k8s.io/cluster-api/util/index"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const coreName = "cluster-api-controller-manager"

func newCore(ctx context.Context, cfg Config) (ctrl.Manager, error) {
	scheme, err := newScheme(clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, storagev1.AddToScheme,
		clusterv1beta1.AddToScheme, clusterv1.AddToScheme, addonsv1beta1.AddToScheme, addonsv1.AddToScheme,
		runtimev1alpha1.AddToScheme, runtimev1.AddToScheme,
		ipamv1alpha1.AddToScheme, ipamv1beta1.AddToScheme, ipamv1.AddToScheme)
	if err != nil {
		return nil, err
	}
	mgr, err := newManager(cfg, scheme, coreName, cfg.Ports.Core,
		setup.ManagerCacheOptions(scheme, coreName, "", syncPeriod), setup.ManagerClientOptions())
	if err != nil {
		return nil, err
	}
	if err := index.AddDefaultIndexes(ctx, mgr); err != nil {
		return nil, err
	}
	secrets, err := setup.CreateSecretCachingClient(mgr)
	if err != nil {
		return nil, err
	}
	clusters, err := cfg.connect(ctx, mgr, clustercache.Options{
		SecretClient: secrets,
		Cache:        setup.ClusterCacheCacheOptions(),
		Client:       setup.ClusterCacheClientOptions(coreName, 50, 100),
	})
	if err != nil {
		return nil, err
	}
	if err := coreReconcilers(ctx, cfg, mgr, clusters); err != nil {
		return nil, err
	}
	conversion.SetAPIVersionGetter(apiVersionGetter(mgr.GetClient()))
	return mgr, coreWebhooks(mgr, clusters)
}

func coreReconcilers(ctx context.Context, cfg Config, mgr ctrl.Manager, clusters clustercache.ClusterCache) error {
	secretMetadata, err := secretMetadataCache(mgr)
	if err != nil {
		return err
	}
	if err := mgr.Add(secretMetadata); err != nil {
		return err
	}
	c, reader, opts := cfg.client(mgr), mgr.GetAPIReader(), concurrency(workers)
	for _, setUp := range []func() error{
		func() error { return (&clusterclass.Reconciler{Client: c}).SetupWithManager(ctx, mgr, opts) },
		func() error {
			return (&topologycluster.Reconciler{Client: c, APIReader: reader, ClusterCache: clusters}).SetupWithManager(ctx, mgr, opts)
		},
		func() error {
			return (&topologymachinedeployment.Reconciler{Client: c, APIReader: reader}).SetupWithManager(ctx, mgr, opts)
		},
		func() error {
			return (&topologymachineset.Reconciler{Client: c, APIReader: reader}).SetupWithManager(ctx, mgr, opts)
		},
		func() error {
			return (&cluster.Reconciler{
				Client: c, APIReader: reader, ClusterCache: clusters, RemoteConnectionGracePeriod: connectionGrace,
			}).SetupWithManager(ctx, mgr, opts)
		},
		func() error {
			return (&machine.Reconciler{
				Client: c, APIReader: reader, ClusterCache: clusters, RemoteConditionsGracePeriod: conditionsGrace,
			}).SetupWithManager(ctx, mgr, concurrency(4*workers))
		},
		func() error {
			// A pass creates all missing machines one after the other; a shorter timeout would end it during the
			// creation of one of them.
			long := opts
			if !cfg.Upstream {
				long.ReconciliationTimeout = longPass
			}
			return (&machineset.Reconciler{Client: c, APIReader: reader, ClusterCache: clusters}).SetupWithManager(ctx, mgr, long)
		},
		func() error {
			return (&machinedeployment.Reconciler{Client: c, APIReader: reader}).SetupWithManager(ctx, mgr, opts)
		},
		func() error {
			return (&machinepool.Reconciler{Client: c, APIReader: reader, ClusterCache: clusters}).SetupWithManager(ctx, mgr, opts)
		},
		func() error {
			return (&clusterresourceset.Reconciler{Client: c, ClusterCache: clusters}).SetupWithManager(ctx, mgr, opts, secretMetadata)
		},
		func() error {
			return (&clusterresourcesetbinding.Reconciler{Client: c}).SetupWithManager(ctx, mgr, opts)
		},
		func() error {
			return (&machinehealthcheck.Reconciler{Client: c, ClusterCache: clusters}).SetupWithManager(ctx, mgr, opts)
		},
	} {
		if err := setUp(); err != nil {
			return err
		}
	}
	return nil
}

// secretMetadataCache returns a second cache with the metadata of all secrets, which the
// ClusterResourceSet reconciler watches.
func secretMetadataCache(mgr ctrl.Manager) (cache.Cache, error) {
	return cache.New(mgr.GetConfig(), cache.Options{
		Scheme:           mgr.GetScheme(),
		Mapper:           mgr.GetRESTMapper(),
		HTTPClient:       mgr.GetHTTPClient(),
		SyncPeriod:       new(syncPeriod),
		DefaultTransform: cache.TransformStripManagedFields(),
	})
}

type webhookSetup interface {
	SetupWebhookWithManager(mgr ctrl.Manager) error
}

func coreWebhooks(mgr ctrl.Manager, clusters clustercache.ClusterCache) error {
	return setUpWebhooks(mgr,
		&admission.ClusterClass{Client: mgr.GetClient()},
		&admission.Cluster{Client: mgr.GetClient(), ClusterCacheReader: clusters},
		&admission.Machine{},
		&admission.MachineSet{},
		&admission.MachineDeployment{},
		&admission.MachineDrainRule{},
		&admission.MachinePool{},
		&admission.ClusterResourceSet{},
		&admission.ClusterResourceSetBinding{},
		&admission.MachineHealthCheck{},
		&admission.ExtensionConfig{},
		&admission.IPAddress{Client: mgr.GetAPIReader()},
		&admission.IPAddressClaim{},
	)
}

func setUpWebhooks(mgr ctrl.Manager, hooks ...webhookSetup) error {
	for _, h := range hooks {
		if err := h.SetupWebhookWithManager(mgr); err != nil {
			return fmt.Errorf("webhook %T: %w", h, err)
		}
	}
	return nil
}

// apiVersionGetter returns a function that finds the API version with the newest contract of a kind, from the contract
// label of its CRD. Conversion from v1beta1 needs it, because v1beta2 references contain no version.
func apiVersionGetter(c client.Reader) func(context.Context, schema.GroupKind) (string, error) {
	return func(ctx context.Context, gk schema.GroupKind) (string, error) {
		crd := &metav1.PartialObjectMetadata{}
		crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		name := contract.CalculateCRDName(gk.Group, gk.Kind)
		if err := c.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
			return "", fmt.Errorf("find the API version of %s: %w", gk, err)
		}
		for _, contractVersion := range []string{clusterv1.GroupVersion.Version, clusterv1beta1.GroupVersion.Version} {
			versions := crd.Labels[clusterv1.GroupVersion.Group+"/"+contractVersion]
			if v := newestVersion(versions); v != "" {
				return schema.GroupVersion{Group: gk.Group, Version: v}.String(), nil
			}
		}
		return "", fmt.Errorf("CRD %s has no %s contract label", name, clusterv1.GroupVersion.Group)
	}
}
