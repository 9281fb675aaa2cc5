package metric

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"

	"casement.dev/casement/internal/webhook/workload"
)

// Verdicts is a prometheus.Collector of the lint webhook's verdicts. Its labels contain rules and words of the webhook,
// but nothing from the objects.
type Verdicts struct{ findings, objects *prometheus.CounterVec }

// NewVerdicts returns counters that are zero.
func NewVerdicts() *Verdicts {
	return &Verdicts{
		findings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "casement_lint_verdicts_total",
			Help: "Findings of the lint webhook by rule, severity, and whether they were warned of or made it deny the object.",
		}, []string{"rule", "severity", "verdict"}),
		objects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "casement_lint_objects_total",
			Help: "Objects that the lint webhook was asked about, by what became of them: allowed, warned, " +
				"denied, unchecked (not its business), unreadable (let pass).",
		}, []string{"verdict"}),
	}
}

// Observe counts a verdict; it is the function for workload.Setup.
func (v *Verdicts) Observe(verdict workload.Verdict) {
	v.objects.WithLabelValues(verdict.Object).Inc()
	for _, f := range verdict.Findings {
		v.findings.WithLabelValues(f.Rule, f.Severity, f.Verdict).Inc()
	}
}

// Describe implements prometheus.Collector.
func (v *Verdicts) Describe(ch chan<- *prometheus.Desc) {
	v.findings.Describe(ch)
	v.objects.Describe(ch)
}

// Collect implements prometheus.Collector.
func (v *Verdicts) Collect(ch chan<- prometheus.Metric) {
	v.findings.Collect(ch)
	v.objects.Collect(ch)
}

// SetupWithManager registers the counters while the manager runs.
func (v *Verdicts) SetupWithManager(mgr ctrl.Manager, registry prometheus.Registerer) error {
	return mgr.Add(registered(v, registry, func(context.Context) error { return nil }))
}
