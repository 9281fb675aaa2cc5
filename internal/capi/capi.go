// Package capi runs Cluster API's own managers inside this process: the core
// provider, the kubeadm bootstrap provider (CABPK) and the kubeadm control plane
// provider (KCP), from the same module and code that run in production.
//
// It is wiring only and holds no behaviour of its own: what Cluster API does
// stays Cluster API's. Leader election, metrics and probes are off, because the
// local plane has one process. Only internal/plane may import it.
package capi

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/feature"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Concurrency of every reconciler. Upstream's defaults (up to 100) are for a
// management cluster of thousands of clusters.
const workers = 10

// The periods of Cluster API's own defaults (v1.14).
const (
	syncPeriod       = 10 * time.Minute
	connectionGrace  = 50 * time.Second
	conditionsGrace  = 5 * time.Minute
	etcdDialTimeout  = 10 * time.Second
	cacheSyncTimeout = 5 * time.Minute
)

// longPass bounds passes that upstream's default of a minute would end too early on a busy machine. Its manager of
// control planes has this bound for them.
const longPass = 3 * time.Minute

// connectRetry is how long the cluster cache waits after a failed connection to
// a workload cluster. Upstream waits 30 s, which a control plane that boots in
// seconds would mostly spend waiting.
const connectRetry = 2 * time.Second

// User is the name of Cluster API's managers to the management API server.
const User = "casement-cluster-api"

// Config says where the managers find their API server and serve webhooks.
type Config struct {
	// REST reaches the management API server, as User.
	REST *rest.Config
	// WebhookHost is the address that the webhook servers listen on.
	WebhookHost string
	// Certificate is for WebhookHost.
	Certificate *tls.Certificate
	// Ports of the three webhook servers.
	Ports Ports
	// Kinds are further kinds that controllers added to the managers read.
	Kinds []func(*runtime.Scheme) error
}

// Ports are the webhook ports of the three providers.
type Ports struct {
	Core, Bootstrap, ControlPlane int
}

// EnableFeatures sets the feature gates of the local plane, and more of them as
// NAME=true,NAME=false, which come last. Gates are global to the process in Cluster API,
// so call it once, before New.
func EnableFeatures(more string) error {
	gates := map[string]bool{
		string(feature.ClusterTopology):                true,
		string(feature.KubeadmBootstrapFormatIgnition): true,
		string(feature.MachinePool):                    true,
		string(feature.ReconcilerRateLimiting):         false,
	}
	mutable, ok := feature.Gates.(featuregate.MutableFeatureGate)
	if !ok {
		return fmt.Errorf("cluster-api's feature gates cannot be set")
	}
	if err := mutable.SetFromMap(gates); err != nil {
		return err
	}
	if err := mutable.Set(more); err != nil {
		var known []string
		for gate := range mutable.GetAll() {
			known = append(known, string(gate))
		}
		slices.Sort(known)
		return fmt.Errorf("--feature-gates: %w; Cluster API knows %s", err, strings.Join(known, ", "))
	}
	for _, gate := range []featuregate.Feature{feature.RuntimeSDK, feature.InPlaceUpdates} {
		if feature.Gates.Enabled(gate) {
			return fmt.Errorf("--feature-gates: the local plane has no runtime extensions, which %s is for; "+
				"leave it out, or use up --bare", gate)
		}
	}
	return nil
}

// New returns the three managers, ready to be started. Their CRDs have to be
// established before; their webhooks answer once they are started.
func New(ctx context.Context, cfg Config) ([]ctrl.Manager, error) {
	var managers []ctrl.Manager
	objects, err := newSharedCache(cfg)
	if err != nil {
		return nil, err
	}
	common := shared{objects, &pacer{}}
	for _, p := range []struct {
		name string
		make func(context.Context, Config, shared) (ctrl.Manager, error)
	}{
		{"core", newCore},
		{"kubeadm bootstrap", newBootstrap},
		{"kubeadm control plane", newControlPlane},
	} {
		mgr, err := p.make(ctx, cfg, common)
		if err != nil {
			return nil, fmt.Errorf("set up the %s provider: %w", p.name, err)
		}
		managers = append(managers, mgr)
	}
	return managers, nil
}

// shared is what the managers have in common.
type shared struct {
	objects *sharedCache
	pace    *pacer
}

// newManager makes a manager of a provider; port is its webhook port.
func newManager(cfg Config, common shared, scheme *runtime.Scheme, userAgent string, port int,
	clientOptions client.Options) (ctrl.Manager, error) {
	rc := rest.CopyConfig(cfg.REST)
	rc.UserAgent = userAgent
	rc.QPS, rc.Burst = 200, 400
	return ctrl.NewManager(rc, ctrl.Options{
		Controller: config.Controller{
			// The same controller names occur in several managers.
			SkipNameValidation: new(true),
			UsePriorityQueue:   new(feature.Gates.Enabled(feature.PriorityQueue)),
			CacheSyncTimeout:   cacheSyncTimeout,
		},
		Scheme:                 scheme,
		HealthProbeBindAddress: "0",
		PprofBindAddress:       "0",
		Metrics:                server.Options{BindAddress: "0"},
		NewCache:               common.objects.forManager,
		Client:                 clientOptions,
		WebhookServer: webhook.NewServer(webhook.Options{Host: cfg.WebhookHost, Port: port, TLSOpts: []func(*tls.Config){
			// Without it the server watches the files, which takes one of the user's 128 inotify instances.
			func(c *tls.Config) {
				c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cfg.Certificate, nil }
			},
		}}),
	})
}

func concurrency(n int) controller.Options {
	return controller.Options{MaxConcurrentReconciles: n}
}

// connect keeps connections to workload clusters.
func connect(ctx context.Context, mgr ctrl.Manager, o clustercache.Options) (clustercache.ClusterCache, error) {
	clusters, err := clustercache.SetupWithManager(ctx, mgr, o, concurrency(workers))
	if c, ok := clusters.(interface{ SetConnectionCreationRetryInterval(time.Duration) }); ok {
		c.SetConnectionCreationRetryInterval(connectRetry)
	}
	return clusters, err
}

// newScheme collects AddToScheme functions.
func newScheme(adders ...func(*runtime.Scheme) error) (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range adders {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}
