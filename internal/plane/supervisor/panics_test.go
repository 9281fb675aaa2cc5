package supervisor

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/contain"
)

// TestPanicsAreCounted: Prometheus sees the faults of the simulation by part.
func TestPanicsAreCounted(t *testing.T) {
	w := httptest.NewRecorder()
	metrics(func() map[string]int { return map[string]int{"awk": 3, "sed": 1} }).
		ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{`casement_guest_panics_total{part="awk"} 3`, `casement_guest_panics_total{part="sed"} 1`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("there is no %s", want)
		}
	}
}

// machines lists objects of two kinds.
type machines struct {
	client.Reader
	machine  infrav1.AzureMachine
	instance infrav1.AzureMachinePoolMachine
}

func (m machines) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *infrav1.AzureMachineList:
		list.Items = []infrav1.AzureMachine{{}, m.machine} // the first machine has no VM yet
	case *infrav1.AzureMachinePoolMachineList:
		list.Items = []infrav1.AzureMachinePoolMachine{m.instance}
	}
	return nil
}

// TestPanicsHaveEvents: the object of a VM with a fault of the simulation has an event.
func TestPanicsHaveEvents(t *testing.T) {
	const vm, instance = "/subscriptions/s/resourceGroups/G/providers/Microsoft.Compute/virtualMachines/vm", "/subscriptions/s/x/0"
	recorder := events.NewFakeRecorder(3)
	var heard []string
	s := &supervisor{opts: Options{OnPanic: func(id string, p *contain.Panic) { heard = append(heard, id) }}}
	p := &contain.Panic{What: "awk", Value: "index out of range", Where: "awk.run:1"}
	s.panicked(vm, p) // before there are objects
	if !slices.Equal(heard, []string{vm}) {
		t.Errorf("without objects %q are heard of", heard)
	}
	s.machineEvents = &machineEvents{machines{
		machine: infrav1.AzureMachine{ObjectMeta: metav1.ObjectMeta{Name: "m"},
			Spec: infrav1.AzureMachineSpec{ProviderID: new("azure://" + strings.ToLower(vm))}},
		instance: infrav1.AzureMachinePoolMachine{Spec: infrav1.AzureMachinePoolMachineSpec{ProviderID: "azure://" + instance}},
	}, recorder}
	for _, id := range []string{vm, instance} {
		s.panicked(id, p)
		select {
		case got := <-recorder.Events:
			if !strings.Contains(got, "Warning "+SimulationFaultReason) || !strings.Contains(got, "own fault") {
				t.Errorf("%s: event %s", id, got)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: no event", id)
		}
	}
	if o, err := s.machineEvents.owner(t.Context(), "/other"); o != nil || err != nil {
		t.Errorf("a VM without an object: %v, %v", o, err)
	}
}
