// Package capi runs Cluster API's own managers inside this process: the core provider, the kubeadm bootstrap provider
// (CABPK) and the kubeadm control plane provider (KCP), from the same module and code that run in production.
//
// By default the managers differ from upstream as Differences lists, so that a cluster is created quickly on a small
// machine. With Config.Upstream only the wiring differs: leader election, metrics and probes are off, because the local
// plane has one process; workers and limits of requests are those of a small machine; ClusterClass and Ignition are on.
// Only internal/plane and tests may import it.
package capi

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	restclient "k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/feature"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// workers is the concurrency of every reconciler. Upstream's defaults (up to 100) are for a management cluster with
// thousands of clusters.
const workers = 10

// These periods are Cluster API's own defaults (v1.14).
const (
	syncPeriod       = 10 * time.Minute
	connectionGrace  = 50 * time.Second
	conditionsGrace  = 5 * time.Minute
	etcdDialTimeout  = 10 * time.Second
	cacheSyncTimeout = 5 * time.Minute
)

// longPass is the timeout of passes over control planes, as in upstream's manager, and over MachineSets.
const longPass = 3 * time.Minute

// connectRetry is the pause of the cluster cache after a failed connection to a workload cluster. Upstream's pause of
// 30 s would mostly be a loss of time with a control plane that boots in seconds.
const connectRetry = 2 * time.Second

// User is the user name of Cluster API's managers at the management API server.
const User = "casement-cluster-api"

// Config has the managers' API server and the addresses of their webhooks.
type Config struct {
	// REST is the configuration for connections to the management API server, as User.
	REST *restclient.Config
	// WebhookHost is the address that the webhook servers listen on.
	WebhookHost string
	// Certificate is the certificate for WebhookHost.
	Certificate *tls.Certificate
	// Ports of the three webhook servers.
	Ports Ports
	// Upstream runs the managers without the differences that Differences lists.
	Upstream bool
}

// Ports are the webhook ports of the three providers.
type Ports struct {
	Core, Bootstrap, ControlPlane int
}

// EnableFeatures sets the feature gates of the local plane, and then the gates in more, such as NAME=true,NAME=false.
// Gates are global to the process in Cluster API, so it has to be called once, before New. upstream is Config.Upstream.
func EnableFeatures(more string, upstream bool) error {
	gates := map[string]bool{
		string(feature.ClusterTopology):                true,
		string(feature.KubeadmBootstrapFormatIgnition): true,
		string(feature.MachinePool):                    true,
		string(feature.ReconcilerRateLimiting):         upstream,
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

// New returns the three managers, ready to be started. Their CRDs have to be established before; their webhooks respond
// once the managers are started.
func New(ctx context.Context, cfg Config) ([]ctrl.Manager, error) {
	var managers []ctrl.Manager
	for _, p := range []struct {
		name string
		make func(context.Context, Config) (ctrl.Manager, error)
	}{
		{"core", newCore},
		{"kubeadm bootstrap", newBootstrap},
		{"kubeadm control plane", newControlPlane},
	} {
		mgr, err := p.make(ctx, cfg)
		if err != nil {
			return nil, fmt.Errorf("set up the %s provider: %w", p.name, err)
		}
		managers = append(managers, mgr)
	}
	return managers, nil
}

// client returns the client of a manager's reconcilers.
func (c Config) client(mgr ctrl.Manager) client.Client {
	if c.Upstream {
		return mgr.GetClient()
	}
	return newOwnWrites(mgr.GetClient(), mgr.GetAPIReader())
}

// newManager returns a manager for a provider. port is the port of its webhooks.
func newManager(cfg Config, scheme *runtime.Scheme, userAgent string, port int,
	cacheOptions cache.Options, clientOptions client.Options) (ctrl.Manager, error) {
	rc := restclient.CopyConfig(cfg.REST)
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
		Cache:                  cacheOptions,
		Client:                 clientOptions,
		WebhookServer: webhook.NewServer(webhook.Options{Host: cfg.WebhookHost, Port: port, TLSOpts: []func(*tls.Config){
			// Without this, the server watches the files, with one of the user's 128 inotify instances.
			func(c *tls.Config) {
				c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cfg.Certificate, nil }
			},
		}}),
	})
}

func concurrency(n int) controller.Options {
	return controller.Options{MaxConcurrentReconciles: n}
}

// connect sets up the cache of connections to workload clusters.
func (c Config) connect(ctx context.Context, mgr ctrl.Manager, o clustercache.Options) (clustercache.ClusterCache, error) {
	clusters, err := clustercache.SetupWithManager(ctx, mgr, o, concurrency(workers))
	if cache, ok := clusters.(interface{ SetConnectionCreationRetryInterval(time.Duration) }); ok && !c.Upstream {
		cache.SetConnectionCreationRetryInterval(connectRetry)
	}
	return clusters, err
}

// newScheme returns a scheme with the types of AddToScheme functions.
func newScheme(adders ...func(*runtime.Scheme) error) (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range adders {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}
