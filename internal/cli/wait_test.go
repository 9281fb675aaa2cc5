package cli

import (
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/rollout"
	"casement.dev/casement/internal/plane"
)

func TestResuming(t *testing.T) {
	const id = "/subscriptions/s/resourceGroups/demo/providers/Microsoft.Compute/virtualMachines/"
	o := rollout.Objects{Cluster: &clusterv1.Cluster{}}
	o.Cluster.Name = "demo"
	o.Cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "127.20.0.1", Port: 6443}
	machine := clusterv1.Machine{}
	machine.Spec.ProviderID = "azure://" + id + "cp"
	o.Machines = []clusterv1.Machine{machine}
	vm := func(name, phase string) plane.Guest { return plane.Guest{ID: id + name, Name: name, Phase: phase} }
	frontend := func(address string, healthy int) []plane.Listener {
		return []plane.Listener{{Address: address, Backends: 1, Healthy: healthy}}
	}
	for name, test := range map[string]struct {
		status plane.Status
		want   string
	}{
		"all run":    {plane.Status{Guests: []plane.Guest{vm("cp", "Running")}, Listeners: frontend("127.20.0.1:6443", 1)}, ""},
		"a VM boots": {plane.Status{Guests: []plane.Guest{vm("cp", "Booting")}}, "VM cp: it is booting"},
		"its ID is in other case": {
			plane.Status{Guests: []plane.Guest{{ID: strings.ToUpper(id) + "CP", Name: "cp", Phase: "Off"}}},
			"VM cp: it is off",
		},
		"another cluster's boots": {plane.Status{Guests: []plane.Guest{vm("cp", "Running"), vm("other", "Booting")}}, ""},
		"no backend answers": {
			plane.Status{Listeners: frontend("127.20.0.1:6443", 0)},
			"Cluster demo: its API server at 127.20.0.1:6443 does not answer",
		},
		"another cluster's do not": {plane.Status{Listeners: frontend("127.20.0.2:6443", 0)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := resuming(o, test.status); got != test.want {
				t.Errorf("resuming: %q, want %q", got, test.want)
			}
		})
	}
}
