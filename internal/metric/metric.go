// Package metric has the metrics of casement-manager for Prometheus about Azure and its machines, in addition to
// controller-runtime's metrics of reconciles: calls and their latencies, Azure's remaining quotas of calls, operations
// in progress, machines by phase, durations of the phases of a boot, and verdicts of the lint webhook.
//
// It makes no calls to Azure or to the API server (it reads the manager's caches), and no label contains a secret. Only
// internal/manager imports it.
package metric

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/azure/arm"
)

// Metrics is a prometheus.Collector with all metrics.
type Metrics struct {
	calls     *prometheus.CounterVec
	latency   *prometheus.HistogramVec
	remaining *prometheus.GaugeVec
	boot      *prometheus.HistogramVec
	objects   *objects
}

// New returns metrics without any observations.
func New(reader client.Reader) *Metrics {
	return &Metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "casement_arm_requests_total",
			Help: "Calls to Azure Resource Manager by operation (verb and resource type) and HTTP status; code 0 is no answer.",
		}, []string{"subscription_id", "verb", "resource_type", "code"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "casement_arm_request_duration_seconds",
			Help:    "Time to the answer of a call to Azure Resource Manager. Long-running operations count per call, not to their end.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"verb", "resource_type"}),
		remaining: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "casement_arm_requests_remaining",
			Help: "What Azure said last is left of a quota of calls, of the subscription (reads, writes, " +
				"deletes) or of a resource provider.",
		}, []string{"subscription_id", "quota"}),
		boot: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "casement_machine_phase_seconds",
			Help:    "Time from the creation of an AzureMachine to the end of a phase of its boot.",
			Buckets: []float64{5, 15, 30, 60, 120, 180, 300, 420, 600, 900, 1800, 3600},
		}, []string{"os", "phase"}),
		objects: newObjects(reader),
	}
}

// Observe counts a call; it is the function for cloud.Config.
func (m *Metrics) Observe(o arm.Observation) {
	m.calls.WithLabelValues(o.SubscriptionID, o.Verb, o.ResourceType, code(o.Code)).Inc()
	m.latency.WithLabelValues(o.Verb, o.ResourceType).Observe(o.Took.Seconds())
	for quota, left := range o.Remaining {
		m.remaining.WithLabelValues(o.SubscriptionID, quota).Set(float64(left))
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(ch)
	}
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.calls, m.latency, m.remaining, m.boot, m.objects}
}

// SetupWithManager registers the metrics while the manager runs, also on replicas that do not lead. Of several managers
// in one process, the first is reported.
func (m *Metrics) SetupWithManager(mgr ctrl.Manager, registry prometheus.Registerer) error {
	return mgr.Add(registered(m, registry, func(ctx context.Context) error { return m.follow(ctx, mgr.GetCache()) }))
}

// registered returns a runnable that registers a collector while it runs. If an equal collector is registered already,
// it changes nothing.
func registered(c prometheus.Collector, registry prometheus.Registerer, begin func(context.Context) error) everywhere {
	return func(ctx context.Context) error {
		err := registry.Register(c)
		if _, already := errors.AsType[prometheus.AlreadyRegisteredError](err); already {
			return nil
		}
		if err != nil {
			return err
		}
		defer registry.Unregister(c)
		if err := begin(ctx); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
}

// everywhere is a runnable that runs on every replica, not only on the leader.
type everywhere func(context.Context) error

// Start implements manager.Runnable.
func (e everywhere) Start(ctx context.Context) error { return e(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }
