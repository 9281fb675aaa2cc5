package manager

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// Options are the options of a manager. The zero value is not useful: see Defaults.
type Options struct {
	// MetricsAddress and HealthAddress are the host:port to listen on; "0" means off.
	MetricsAddress string
	// InsecureMetrics serves metrics over plain HTTP, without authentication.
	InsecureMetrics bool
	HealthAddress   string
	// ProfilerAddress serves Go profiles (net/http/pprof) without authentication; "" serves
	// none.
	ProfilerAddress string
	// WebhookHost and WebhookPort are the address on which admission requests are served, and WebhookCertDir the
	// directory with tls.crt and tls.key. With port 0 none are served.
	WebhookHost    string
	WebhookPort    int
	WebhookCertDir string
	// WebhookCertificate, if set, is the certificate of the admission server, which then watches no files and ignores
	// WebhookCertDir.
	WebhookCertificate *tls.Certificate
	// HTTP2 enables HTTP/2 for webhooks and metrics. Without it, clients can only use HTTP/1.1, in which they cannot
	// open and cancel streams without limit (CVE-2023-44487).
	HTTP2 bool
	// WebhookSelfSigned, if set, is the Secret (namespace/name) in which the manager stores a certificate for
	// WebhookService (namespace/name), which it creates and renews itself. WebhookConfigurations are the names of the
	// configurations that must trust the certificate. WebhookCertDir has no effect then.
	WebhookSelfSigned     string
	WebhookService        string
	WebhookConfigurations []string
	// LintOnly serves only the webhook of the workload rules; the kinds of Cluster API are not needed then.
	LintOnly bool
	// Namespaces are the namespaces in which objects are watched, including identities; none means all.
	Namespaces []string
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that objects need to be reconciled; "" means
	// all objects.
	WatchFilter string
	// LeaderElection lets only one of several replicas work. LeaderElectionNamespace is the namespace of the lease; in
	// a cluster, it defaults to the pod's own.
	LeaderElection          bool
	LeaderElectionNamespace string
	// GrantNamespace is the namespace of the records about Secrets that identities of other namespaces may use; ""
	// means the manager's own or, outside of a cluster, casement-system. Only administrators may have permission to
	// write ConfigMaps there.
	GrantNamespace string
	// LeaseDuration is the time that other replicas wait after a leader's last renewal. A leader tries to renew its
	// lease every RetryPeriod, for at most RenewDeadline.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// GracefulShutdown is the time for which work in progress may continue once the manager has to stop.
	GracefulShutdown time.Duration
	// SyncPeriod is the interval at which all objects are reconciled again. Resync is the interval at which an object
	// without changes is compared with Azure. ReadTTL is the maximum age of a list of Azure resources that such
	// comparisons share.
	SyncPeriod time.Duration
	Resync     time.Duration
	ReadTTL    time.Duration
	// LeaveDelay is the maximum time, from the beginning of its deletion, for which a node's virtual machine waits
	// until the load balancers of services no longer use it.
	LeaveDelay time.Duration
	// TraceEndpoint is the URL of an OpenTelemetry collector (OTLP over gRPC); "" sends
	// no traces.
	TraceEndpoint string
	// FeatureGates turns gates on and off by name; gates that it does not name have their defaults.
	FeatureGates map[string]bool
	// Concurrency is the number of objects of each kind that are reconciled concurrently.
	Concurrency Concurrency
	// Azure has the overrides of Azure's endpoints.
	Azure Azure
	// SkipNameValidation allows several managers with the same controller names in
	// one process.
	SkipNameValidation bool
}

// Concurrency is the number of objects of each kind that are reconciled concurrently.
type Concurrency struct {
	AzureCluster         int
	AzureMachine         int
	AzureMachinePool     int
	AzureMachineTemplate int
	AzureJSON            int
}

// envTraceEndpoint is OpenTelemetry's own variable.
const envTraceEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"

// Defaults returns the options of a production manager.
func Defaults() Options {
	return Options{
		MetricsAddress:        ":8443",
		HealthAddress:         ":9440",
		WebhookPort:           9443,
		WebhookCertDir:        "/tmp/k8s-webhook-server/serving-certs",
		WebhookService:        "casement-system/casement-webhook-service",
		WebhookConfigurations: []string{"casement-mutating-webhook", "casement-validating-webhook", "casement-lint-workloads"},
		// A kubelet waits 30 s (terminationGracePeriodSeconds) before it kills a process.
		GracefulShutdown: 25 * time.Second,
		// Longer than client-go's 15, 10 and 2 s, because renewals are most of an idle manager's work. An ending leader
		// releases its lease, so the long times are only relevant after a crash.
		LeaseDuration: 45 * time.Second, RenewDeadline: 30 * time.Second, RetryPeriod: 10 * time.Second,
		SyncPeriod: 10 * time.Hour,
		Resync:     10 * time.Minute,
		ReadTTL:    time.Minute,
		// The cloud provider changes a load balancer in ten to twenty seconds.
		LeaveDelay: time.Minute,
		// Passes wait for API servers longer than they compute, and machines are the most numerous objects.
		Concurrency: Concurrency{AzureCluster: 10, AzureMachine: 100, AzureMachinePool: 10, AzureMachineTemplate: 2, AzureJSON: 10},
	}
}

// AddFlags binds the options to flags. Their current values are the defaults; Azure's endpoints also come from the
// environment.
func (o *Options) AddFlags(flags *pflag.FlagSet, getenv func(string) string) {
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", o.MetricsAddress, `address that serves metrics; "0" turns it off`)
	flags.StringVar(&o.MetricsAddress, "diagnostics-address", o.MetricsAddress,
		"the same, by the name that Cluster API's providers have for it")
	flags.BoolVar(&o.InsecureMetrics, "insecure-diagnostics", o.InsecureMetrics,
		"serve metrics by plain HTTP and to whoever asks, for tests that collect them")
	flags.StringVar(&o.HealthAddress, "health-addr", o.HealthAddress, `address that serves /healthz and /readyz; "0" turns it off`)
	flags.StringVar(&o.ProfilerAddress, "profiler-address", o.ProfilerAddress,
		"address that serves Go profiles without asking who wants them, such as localhost:6060; empty serves none")
	flags.StringVar(&o.WebhookHost, "webhook-host", o.WebhookHost, "address that serves admission requests; empty is all")
	flags.IntVar(&o.WebhookPort, "webhook-port", o.WebhookPort, "port that serves admission requests; 0 turns them off")
	flags.StringVar(&o.WebhookCertDir, "webhook-cert-dir", o.WebhookCertDir, "directory with tls.crt and tls.key of the admission server")
	flags.BoolVar(&o.HTTP2, "enable-http2", o.HTTP2, "serve webhooks and metrics by HTTP/2 too")
	flags.StringVar(&o.WebhookSelfSigned, "webhook-self-signed", o.WebhookSelfSigned, "secret (namespace/name) "+
		"to keep a certificate in that the manager makes and renews itself, instead of --webhook-cert-dir")
	flags.StringVar(&o.WebhookService, "webhook-service", o.WebhookService,
		"service (namespace/name) that --webhook-self-signed makes a certificate for")
	flags.StringSliceVar(&o.WebhookConfigurations, "webhook-configurations", o.WebhookConfigurations,
		"webhook configurations that are to trust the certificate of --webhook-self-signed")
	flags.BoolVar(&o.LintOnly, "lint-only", o.LintOnly,
		"serve the webhook of the workload lint rules and nothing else, in a cluster without Cluster API")
	flags.StringSliceVar(&o.Namespaces, "namespace", o.Namespaces, "namespaces to watch, separated by commas; empty is all")
	flags.StringVar(&o.WatchFilter, "watch-filter", o.WatchFilter,
		"value of the label cluster.x-k8s.io/watch-filter of the objects to look at; empty is all")
	flags.BoolVar(&o.LeaderElection, "leader-elect", o.LeaderElection, "let one of several replicas work")
	flags.StringVar(&o.LeaderElectionNamespace, "leader-elect-namespace", o.LeaderElectionNamespace,
		"namespace of the lease; found by itself in a cluster")
	flags.StringVar(&o.GrantNamespace, "grant-namespace", o.GrantNamespace, "namespace in which it is recorded "+
		"which secrets of other namespaces identities may use, and in which only administrators may write "+
		"ConfigMaps; found by itself in a cluster")
	flags.DurationVar(&o.LeaseDuration, "leader-elect-lease-duration", o.LeaseDuration,
		"how long a leader that is gone holds the others up")
	flags.DurationVar(&o.RenewDeadline, "leader-elect-renew-deadline", o.RenewDeadline, "how long a leader tries to renew its lease")
	flags.DurationVar(&o.RetryPeriod, "leader-elect-retry-period", o.RetryPeriod, "how often the lease is looked at")
	flags.DurationVar(&o.GracefulShutdown, "graceful-shutdown-timeout", o.GracefulShutdown,
		"how long work in progress may take when the manager ends")
	flags.DurationVar(&o.SyncPeriod, "sync-period", o.SyncPeriod, "how often all objects are gone through again")
	flags.DurationVar(&o.LeaveDelay, "leave-delay", o.LeaveDelay,
		"how long at most the machine of a node that is deleted waits until load balancers have let go of it; 0 does not wait")
	flags.DurationVar(&o.Resync, "resync", o.Resync, "how long a settled object waits for its next comparison with Azure")
	flags.DurationVar(&o.ReadTTL, "azure-read-ttl", o.ReadTTL, "how old a list of Azure resources may be that comparisons share")
	flags.StringVar(&o.TraceEndpoint, "otlp-endpoint", getenv(envTraceEndpoint), "URL of an OpenTelemetry "+
		"collector that traces are sent to by gRPC, such as http://collector:4317; empty sends none "+
		"("+envTraceEndpoint+")")
	flags.Var(cliflag.NewMapStringBool(&o.FeatureGates), "feature-gates", "features to turn on or off: "+
		"MachinePool=true|false (BETA - default=true), PatchDay=true|false (ALPHA - default=false); the gates of CAPZ that are "+
		"not here are accepted and "+
		"change nothing")
	flags.IntVar(&o.Concurrency.AzureCluster, "azurecluster-concurrency", o.Concurrency.AzureCluster, "AzureClusters to work on at once")
	flags.IntVar(&o.Concurrency.AzureMachine, "azuremachine-concurrency", o.Concurrency.AzureMachine, "AzureMachines to work on at once")
	flags.IntVar(&o.Concurrency.AzureMachineTemplate, "azuremachinetemplate-concurrency",
		o.Concurrency.AzureMachineTemplate, "AzureMachineTemplates to work on at once")
	flags.IntVar(&o.Concurrency.AzureJSON, "azurejson-concurrency", o.Concurrency.AzureJSON, "secrets with azure.json to work on at once")
	flags.IntVar(&o.Concurrency.AzureMachinePool, "azuremachinepool-concurrency", o.Concurrency.AzureMachinePool,
		"AzureMachinePools to work on at once")
	o.Azure.addFlags(flags, getenv)
}

// Validate returns an error that names every invalid option.
func (o *Options) Validate() error {
	errs := o.Azure.validate()
	if _, err := o.gates(); err != nil {
		errs = append(errs, err)
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"sync-period", o.SyncPeriod}, {"resync", o.Resync}, {"azure-read-ttl", o.ReadTTL},
		{"leader-elect-retry-period", o.RetryPeriod}, {"graceful-shutdown-timeout", o.GracefulShutdown}} {
		if d.value <= 0 {
			errs = append(errs, fmt.Errorf("--%s: %s is not a positive duration", d.flag, d.value))
		}
	}
	if o.LeaveDelay < 0 {
		errs = append(errs, fmt.Errorf("--leave-delay: %s is negative", o.LeaveDelay))
	}
	for _, c := range []struct {
		flag  string
		value int
	}{
		{"azurecluster-concurrency", o.Concurrency.AzureCluster}, {"azuremachine-concurrency", o.Concurrency.AzureMachine},
		{"azuremachinetemplate-concurrency", o.Concurrency.AzureMachineTemplate}, {"azurejson-concurrency", o.Concurrency.AzureJSON},
		{"azuremachinepool-concurrency", o.Concurrency.AzureMachinePool},
	} {
		if c.value < 1 {
			errs = append(errs, fmt.Errorf("--%s: %d is less than 1", c.flag, c.value))
		}
	}
	// Source: the checks of client-go's leaderelection.NewLeaderElector.
	if o.LeaseDuration <= o.RenewDeadline {
		errs = append(errs, fmt.Errorf("--leader-elect-lease-duration: %s is not longer than "+
			"--leader-elect-renew-deadline %s", o.LeaseDuration, o.RenewDeadline))
	}
	if o.RenewDeadline <= o.RetryPeriod*6/5 {
		errs = append(errs, fmt.Errorf("--leader-elect-renew-deadline: %s is not longer than 1.2 times "+
			"--leader-elect-retry-period %s", o.RenewDeadline, o.RetryPeriod))
	}
	if o.WebhookSelfSigned != "" {
		for _, n := range []struct{ flag, value string }{
			{"webhook-self-signed", o.WebhookSelfSigned}, {"webhook-service", o.WebhookService},
		} {
			if namespace, name, ok := strings.Cut(n.value, "/"); !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
				errs = append(errs, fmt.Errorf("--%s: %q is not NAMESPACE/NAME", n.flag, n.value))
			}
		}
	}
	if o.WebhookPort < 0 || o.WebhookPort > 65535 {
		errs = append(errs, fmt.Errorf("--webhook-port: %d is no port", o.WebhookPort))
	}
	if o.LintOnly && o.WebhookPort == 0 {
		errs = append(errs, errors.New("--lint-only: the webhook is all there is to serve, and --webhook-port=0 turns it off"))
	}
	return errors.Join(errs...)
}
