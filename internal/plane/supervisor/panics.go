package supervisor

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/contain"
)

// SimulationFaultReason is the reason of the event of a machine in whose guest a fault of the simulation occurred.
const SimulationFaultReason = "SimulationFault"

// machineEvents records events of the objects for VMs of the local Azure.
type machineEvents struct {
	reader   client.Reader
	recorder events.EventRecorder
}

// Pauses between searches for the object of a VM: its provider ID is written after the VM has begun to boot.
const (
	ownerPause = 2 * time.Second
	ownerLooks = 15
)

// panicked records an event of the object of a VM in which a fault of the simulation occurred, if there is an object.
func (s *supervisor) panicked(id string, p *contain.Panic) {
	s.mu.Lock()
	e := s.machineEvents
	s.mu.Unlock()
	if e == nil { // there are no objects: azure serve, a bare plane, or a plane that is still starting
		if s.opts.OnPanic != nil {
			s.opts.OnPanic(id, p)
		}
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), ownerLooks*ownerPause)
		defer cancel()
		for range ownerLooks {
			o, err := e.owner(ctx, id)
			if o != nil {
				e.recorder.Eventf(o, nil, corev1.EventTypeWarning, SimulationFaultReason, "Run", "%.900s", p.Error())
				return
			}
			if err != nil {
				s.log.Info("The object of a VM that met a fault of the simulation is not found", "vm", id, "error", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(ownerPause):
			}
		}
	}()
}

// owner returns the AzureMachine or AzureMachinePoolMachine of a VM, or nil.
func (e *machineEvents) owner(ctx context.Context, id string) (client.Object, error) {
	var machines infrav1.AzureMachineList
	if err := e.reader.List(ctx, &machines); err != nil {
		return nil, err
	}
	is := func(providerID string) bool { return strings.EqualFold(strings.TrimPrefix(providerID, "azure://"), id) }
	for i := range machines.Items {
		if p := machines.Items[i].Spec.ProviderID; p != nil && is(*p) {
			return &machines.Items[i], nil
		}
	}
	var instances infrav1.AzureMachinePoolMachineList
	if err := e.reader.List(ctx, &instances); err != nil {
		return nil, err
	}
	for i := range instances.Items {
		if is(instances.Items[i].Spec.ProviderID) {
			return &instances.Items[i], nil
		}
	}
	return nil, nil
}

// panics returns the numbers of faults of the simulation, by part.
func (s *supervisor) panics() map[string]int {
	s.mu.Lock()
	azure := s.azure
	s.mu.Unlock()
	if azure == nil {
		return nil
	}
	return azure.machines.Panics()
}

// metrics returns the handler that serves the counters of the managers and of the simulation to Prometheus.
func metrics(panics func() map[string]int) http.Handler {
	own := prometheus.NewRegistry()
	own.MustRegister(panicCounter{panics})
	return promhttp.HandlerFor(prometheus.Gatherers{ctrlmetrics.Registry, own}, promhttp.HandlerOpts{})
}

// panicCounter is a prometheus.Collector. Its label has names of packages, never of machines.
type panicCounter struct{ panics func() map[string]int }

var panicsTotal = prometheus.NewDesc("casement_guest_panics_total",
	"Faults of the simulation that guests met, each of which failed one command alone, by the part that has the fault.", []string{"part"}, nil)

// Describe implements prometheus.Collector.
func (c panicCounter) Describe(ch chan<- *prometheus.Desc) { ch <- panicsTotal }

// Collect implements prometheus.Collector.
func (c panicCounter) Collect(ch chan<- prometheus.Metric) {
	for part, n := range c.panics() {
		ch <- prometheus.MustNewConstMetric(panicsTotal, prometheus.CounterValue, float64(n), part)
	}
}
