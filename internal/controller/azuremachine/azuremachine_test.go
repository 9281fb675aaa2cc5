package azuremachine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/pass"
)

func testScope() *scope {
	s := &scope{
		Scope:   pass.Scope{Cluster: &clusterv1.Cluster{}, AzureCluster: &infrav1.AzureCluster{}},
		machine: &clusterv1.Machine{}, azureMachine: &infrav1.AzureMachine{}, vmName: "vm",
	}
	s.Cluster.Name = "c"
	s.AzureCluster.Spec.SubscriptionID, s.AzureCluster.Spec.ResourceGroup = "s", "G"
	return s
}

func vmOutcome(s *scope, vm string, status plan.ResourceStatus) plan.Outcome {
	id := desired.VMID(s.AzureCluster, s.vmName)
	status.ID = id
	return plan.Outcome{
		Resources: []plan.ResourceStatus{status},
		Live: map[string]json.RawMessage{
			strings.ToUpper(id): json.RawMessage(vm),
			desired.NICIDs(s.AzureCluster, s.azureMachine, "vm")[0]: json.RawMessage(
				`{"properties":{"ipConfigurations":[{"properties":{"privateIPAddress":"10.1.0.4"}}]}}`),
		},
	}
}

func TestReport(t *testing.T) {
	for _, test := range []struct {
		name, vm    string
		provisioned bool // before the pass
		status      plan.ResourceStatus
		ready       bool
		failure     string
		message     string
	}{
		{"creating", `{"properties":{"provisioningState":"Creating"}}`, false, plan.ResourceStatus{}, false, "", ""},
		{"running", `{"zones":["2"],"properties":{"provisioningState":"Succeeded"}}`, false, plan.ResourceStatus{}, true, "", ""},
		{"never came up", `{"properties":{"provisioningState":"Failed"}}`, false,
			plan.ResourceStatus{Message: "OSProvisioningClientError: no agent", Terminal: true}, false, createError,
			"OSProvisioningClientError: no agent"},
		{"created again", `{"properties":{"provisioningState":"Failed"}}`, false,
			plan.ResourceStatus{Message: "deleting", State: plan.Waiting}, false, "", ""},
		{"failed later", `{"properties":{"provisioningState":"Failed"}}`, true, plan.ResourceStatus{}, false, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := testScope()
			if test.provisioned {
				s.azureMachine.Status.Initialization.Provisioned = new(true)
			}
			s.outcome = vmOutcome(s, test.vm, test.status)
			if result := s.reportVM(); result.Err != nil {
				t.Fatal(result.Err)
			} else if result.Reason != "" {
				s.Block(result)
			}
			status := s.azureMachine.Status
			if status.Ready != test.ready || (status.FailureReason != nil) != (test.failure != "") {
				t.Fatalf("status %+v", status)
			}
			if test.failure != "" && (*status.FailureReason != test.failure || *status.FailureMessage != test.message) {
				t.Errorf("failure %s: %s", *status.FailureReason, *status.FailureMessage)
			}
			if got, want := *s.azureMachine.Spec.ProviderID,
				"azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm"; got != want {
				t.Errorf("provider ID %s, want %s", got, want)
			}
			want := []clusterv1.MachineAddress{{Type: clusterv1.MachineInternalDNS, Address: "vm"},
				{Type: clusterv1.MachineInternalIP, Address: "10.1.0.4"}}
			if diff := cmp.Diff(want, status.Addresses); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatGoesWithTheVM(t *testing.T) {
	vm, err := parseVM(json.RawMessage(`{"properties":{
		"networkProfile":{"networkInterfaces":[{"id":"/NIC-A","properties":{"deleteOption":"Delete"}},{"id":"/nic-b",
			"properties":{"primary":true}}]},
		"storageProfile":{"osDisk":{"deleteOption":"Detach","managedDisk":{"id":"/os"}},
			"dataDisks":[{"deleteOption":"Delete","managedDisk":{"id":"/data"}}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if !vm.cascadesDelete("/nic-a") || vm.cascadesDelete("/nic-b") || vm.cascadesDelete("/nic-c") {
		t.Error("the wrong interfaces go along")
	}
	if got := vm.leftDisks(); len(got) != 1 || got[0] != "/os" {
		t.Errorf("disks left: %v", got)
	}
	var none *liveVM
	if none.cascadesDelete("/nic-a") || none.leftDisks() != nil {
		t.Error("no virtual machine cascades its deletion")
	}
	s := testScope()
	s.vm = vm
	resources := s.addDisks([]desired.Resource{{ID: strings.ToLower(desired.VMID(s.AzureCluster, "vm"))}})
	if len(resources) != 2 || len(resources[0].Needs) != 1 || resources[1].ID != "/os" {
		t.Errorf("resources %+v", resources)
	}
}

func TestAvailabilitySet(t *testing.T) {
	deployment := func(s *scope) { s.machine.Labels = map[string]string{clusterv1.MachineDeploymentNameLabel: "md-0"} }
	for _, test := range []struct {
		name   string
		change func(*scope)
		want   string
	}{
		{"of a deployment", deployment, "c_md-0-as"},
		{"of the control plane", func(s *scope) {
			s.machine.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		}, "c_control-plane-as"},
		{"alone", func(*scope) {}, ""},
		{"region with zones", func(s *scope) {
			deployment(s)
			s.AzureCluster.Status.FailureDomains = []clusterv1.FailureDomain{{Name: "1"}}
		}, ""},
		{"spot", func(s *scope) { deployment(s); s.azureMachine.Spec.SpotVMOptions = &infrav1.SpotVMOptions{} }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := testScope()
			test.change(s)
			got := ""
			if set := s.availabilitySet(); set != nil {
				got = set.Name
			}
			if got != test.want {
				t.Errorf("set %q, want %q", got, test.want)
			}
		})
	}
}
