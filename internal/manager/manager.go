// Package manager assembles casement's controllers and webhooks into one controller manager, for production
// and for the local plane.
//
// It has no logic of its own. cmd/casement-manager, the local plane and the command line import it.
package manager

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	corev1 "k8s.io/api/core/v1"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/azurecluster"
	"casement.dev/casement/internal/controller/azurejson"
	"casement.dev/casement/internal/controller/azuremachine"
	"casement.dev/casement/internal/controller/azuremachinepool"
	"casement.dev/casement/internal/controller/azuremachinetemplate"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/leave"
	"casement.dev/casement/internal/controller/patch"
	"casement.dev/casement/internal/controller/wake"
	"casement.dev/casement/internal/grant"
	"casement.dev/casement/internal/metric"
	"casement.dev/casement/internal/queue"
	"casement.dev/casement/internal/webhook"
	"casement.dev/casement/internal/webhook/workload"
)

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=casement-system,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=casement-system,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",namespace=casement-system,resources=configmaps,verbs=get;list;create;delete
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// leaderElectionID is the name of the lease that replicas share.
const leaderElectionID = "casement-manager-leader.infrastructure.cluster.x-k8s.io"

// Scheme returns a scheme with the types that the manager reads and writes.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// New returns a manager with all controllers and webhooks, or with the ones that the options select;
// nothing runs until it is started. Errors name the part that could not be set up.
func New(cfg *rest.Config, o Options) (ctrl.Manager, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	scheme, err := Scheme()
	if err != nil {
		return nil, fmt.Errorf("make the scheme: %w", err)
	}
	keeper, err := certificateKeeper(cfg, o, scheme)
	if err != nil {
		return nil, err
	}
	options := managerOptions(o, scheme)
	options.WebhookServer = webhookServer(o, keeper)
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if keeper != nil {
		if err := mgr.Add(keeper); err != nil {
			return nil, fmt.Errorf("set up the webhook certificate: %w", err)
		}
	}
	gates, err := o.gates()
	if err != nil {
		return nil, err
	}
	tellIdleGates(gates, mgr.GetLogger())
	grants := grant.New(mgr.GetClient(), cmp.Or(o.GrantNamespace, ownNamespace()), mgr.GetLogger().WithName("grant"))
	if !o.LintOnly {
		if err := setUpControllers(mgr, o, gates, grants); err != nil {
			return nil, err
		}
		if err := mgr.Add(grants); err != nil {
			return nil, fmt.Errorf("set up the records of what identities may use: %w", err)
		}
	}
	if o.WebhookPort != 0 {
		if err := setUpWebhooks(mgr, o, gates, grants); err != nil {
			return nil, fmt.Errorf("set up the webhooks: %w", err)
		}
	}
	return mgr, setUpChecks(mgr, o)
}

func setUpWebhooks(mgr ctrl.Manager, o Options, gates featuregate.FeatureGate, grants *grant.Book) error {
	if !o.LintOnly {
		config := webhook.Config{MachinePools: gates.Enabled(MachinePool), Client: mgr.GetClient(), Grants: grants}
		webhook.Register(mgr.GetScheme(), config, mgr.GetWebhookServer().Register)
	}
	verdicts := metric.NewVerdicts()
	if err := verdicts.SetupWithManager(mgr, ctrlmetrics.Registry); err != nil {
		return err
	}
	return workload.Setup(context.Background(), mgr, verdicts.Observe)
}

func managerOptions(o Options, scheme *runtime.Scheme) ctrl.Options {
	options := ctrl.Options{
		Scheme: scheme,
		Metrics: metricsserver.Options{
			BindAddress: o.MetricsAddress, SecureServing: true, FilterProvider: filters.WithAuthenticationAndAuthorization,
			TLSOpts: tlsOptions(o),
		},
		HealthProbeBindAddress:        o.HealthAddress,
		PprofBindAddress:              o.ProfilerAddress,
		LeaderElection:                o.LeaderElection,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionNamespace:       o.LeaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.LeaseDuration,
		RenewDeadline:                 &o.RenewDeadline,
		RetryPeriod:                   &o.RetryPeriod,
		GracefulShutdownTimeout:       &o.GracefulShutdown,
		Cache: cache.Options{SyncPeriod: &o.SyncPeriod, ReaderFailOnMissingInformer: false,
			DefaultTransform: cache.TransformStripManagedFields()},
		Controller: config.Controller{SkipNameValidation: &o.SkipNameValidation},
		// Secrets are read individually, so that no copy of all secrets is in memory. The same applies to the records of grants.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
	}
	if o.InsecureMetrics {
		options.Metrics.SecureServing, options.Metrics.FilterProvider = false, nil
	}
	for _, namespace := range o.Namespaces {
		if options.Cache.DefaultNamespaces == nil {
			options.Cache.DefaultNamespaces = map[string]cache.Config{}
		}
		options.Cache.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// ownNamespace returns the namespace in which the manager runs.
func ownNamespace() string {
	// Source: https://kubernetes.io/docs/tasks/run-application/access-api-from-pod.
	data, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return "casement-system"
	}
	return strings.TrimSpace(string(data))
}

// The minimum times between two passes over an object. A pass over a pool of a thousand examines each of its instances,
// and each instance triggers passes.
var (
	briefly = queue.Rest{Factor: 5, Longest: time.Second}
	longer  = queue.Rest{Factor: 20, Longest: 5 * time.Second}
)

// leaving is the number of nodes that are removed from load balancers concurrently; an unreachable workload cluster
// delays one for seconds.
const leaving = 5

// patchClusters is the number of clusters that patch day handles concurrently: it only starts and observes the work of
// other controllers.
const patchClusters = 2

// setUpControllers registers every controller that the gates enable.
func setUpControllers(mgr ctrl.Manager, o Options, gates featuregate.FeatureGate, grants *grant.Book) error {
	metrics := metric.New(mgr.GetCache())
	if err := metrics.SetupWithManager(mgr, ctrlmetrics.Registry); err != nil {
		return fmt.Errorf("set up the metrics: %w", err)
	}
	opener := cloud.NewOpener(cloud.Config{Client: mgr.GetClient(), Versions: mgr.GetCache(), Grants: grants,
		Observe: metrics.Observe, Clouds: o.Azure.clouds(), TokenFile: o.Azure.TokenFile,
		Log: mgr.GetLogger().WithName("arm"), ReadTTL: o.ReadTTL})
	ctx := context.Background()
	if err := wake.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("index the objects of clusters: %w", err)
	}
	for _, c := range []struct {
		name   string
		atOnce int
		rest   queue.Rest
		setUp  func(context.Context, ctrl.Manager, controller.Options) error
	}{
		{"AzureCluster", o.Concurrency.AzureCluster, briefly, (&azurecluster.Reconciler{
			Client: mgr.GetClient(), Opener: opener, Recorder: mgr.GetEventRecorder("azurecluster"),
			WatchFilter: o.WatchFilter, Resync: o.Resync,
		}).SetupWithManager},
		{"AzureMachine", o.Concurrency.AzureMachine, briefly, (&azuremachine.Reconciler{
			Client: mgr.GetClient(), Opener: opener, Recorder: mgr.GetEventRecorder("azuremachine"),
			WatchFilter: o.WatchFilter, Resync: o.Resync, LeaveDelay: o.LeaveDelay,
		}).SetupWithManager},
		{"AzureMachinePool", o.Concurrency.AzureMachinePool, longer, (&azuremachinepool.Reconciler{
			Client: mgr.GetClient(), Opener: opener, Recorder: mgr.GetEventRecorder("azuremachinepool"),
			WatchFilter: o.WatchFilter, Resync: o.Resync, LeaveDelay: o.LeaveDelay,
		}).SetupWithManager},
		{"AzureMachineTemplate", o.Concurrency.AzureMachineTemplate, briefly, (&azuremachinetemplate.Reconciler{
			Client: mgr.GetClient(), Opener: opener, WatchFilter: o.WatchFilter, Resync: o.Resync,
		}).SetupWithManager},
		{"leave", leaving, briefly, (&leave.Reconciler{Client: mgr.GetClient(), WatchFilter: o.WatchFilter}).SetupWithManager},
		{"patch day", patchClusters, briefly, (&patch.Reconciler{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Opener: opener, Recorder: mgr.GetEventRecorder("patchday"),
			WatchFilter: o.WatchFilter, Resync: o.Resync, ReadTTL: o.ReadTTL,
		}).SetupWithManager},
		{"azure.json", o.Concurrency.AzureJSON, briefly, (&azurejson.Reconciler{
			Client: mgr.GetClient(), Opener: opener, Recorder: mgr.GetEventRecorder("azurejson"),
			WatchFilter: o.WatchFilter, Resync: o.Resync,
		}).SetupWithManager},
	} {
		if c.name == "AzureMachinePool" && !gates.Enabled(MachinePool) || c.name == "patch day" && !gates.Enabled(PatchDay) {
			continue
		}
		if err := c.setUp(ctx, mgr, controller.Options{MaxConcurrentReconciles: c.atOnce, NewQueue: queue.New(c.rest)}); err != nil {
			return fmt.Errorf("set up the %s controller: %w", c.name, err)
		}
	}
	return nil
}
