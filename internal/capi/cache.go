package capi

import (
	"context"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sharedCache is one cache for the managers of all providers, which run in one process. With a cache of its
// own, each manager would watch Machines and Clusters and decode every change of them again.
//
// It keeps the same fields as the managers of the providers' own programs do together: managed fields,
// which the core needs, and the data of the secrets of clusters, which one of them reads.
type sharedCache struct {
	cache.Cache
	started atomic.Bool
}

func newSharedCache(cfg Config) (*sharedCache, error) {
	scheme, err := newScheme(slices.Concat(coreKinds(), cfg.Kinds, []func(*runtime.Scheme) error{
		bootstrapv1.AddToScheme, controlplanev1.AddToScheme,
	})...)
	if err != nil {
		return nil, err
	}
	ofCluster, err := labels.NewRequirement(clusterv1.ClusterNameLabel, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	rc := rest.CopyConfig(cfg.REST)
	rc.UserAgent = "cluster-api-managers"
	objects, err := cache.New(rc, cache.Options{
		Scheme:     scheme,
		SyncPeriod: new(syncPeriod),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Label: labels.NewSelector().Add(*ofCluster), Transform: withoutForeignData},
		},
	})
	return &sharedCache{Cache: objects}, err
}

// withoutForeignData drops the data of the secrets that no manager reads from its cache.
func withoutForeignData(in any) (any, error) {
	if s, ok := in.(*corev1.Secret); ok {
		s.SetManagedFields(nil)
		if !secret.HasPurposeSuffix(s.Name) {
			s.Data = nil
		}
	}
	return in, nil
}

// forManager is a cache.NewCacheFunc.
func (c *sharedCache) forManager(*rest.Config, cache.Options) (cache.Cache, error) { return c, nil }

// Start implements cache.Cache: the first manager that starts runs the cache, for as long as
// all managers run.
func (c *sharedCache) Start(ctx context.Context) error {
	if c.started.Swap(true) {
		<-ctx.Done()
		return nil
	}
	return c.Cache.Start(ctx)
}
