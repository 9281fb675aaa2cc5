package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestDiff(t *testing.T) {
	row := func(s string) json.RawMessage { return json.RawMessage(`"` + s + `"`) }
	tests := []struct {
		name     string
		from, to Model
		want     Change
	}{
		{"the first model is whole", nil, Model{"a": row("1")}, Change{Full: true, Set: Model{"a": row("1")}}},
		{"nothing changes", Model{"a": row("1")}, Model{"a": row("1")}, Change{Set: Model{}}},
		{"new, changed and gone", Model{"a": row("1"), "b": row("1"), "c": row("1")}, Model{"a": row("1"), "b": row("2"), "d": row("1")},
			Change{Set: Model{"b": row("2"), "d": row("1")}, Gone: []string{"c"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Diff(test.from, test.to)
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
			if got.Empty() != (test.name == "nothing changes") {
				t.Errorf("Empty is %v", got.Empty())
			}
		})
	}
}

// testCluster returns a cluster with one MachineDeployment of three machines: one that is ready,
// an old one that is not, and a young one that is not.
func testCluster() Cluster {
	meta := func(name string, age time.Duration) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.NewTime(now.Add(-age))}
	}
	s := &facts.Snapshot{Cluster: &clusterv1.Cluster{ObjectMeta: meta("one", time.Hour)},
		AzureMachines: map[string]*infrav1.AzureMachine{}, Nodes: map[string]*corev1.Node{}}
	s.AzureCluster = &infrav1.AzureCluster{ObjectMeta: meta("one", time.Hour), Spec: infrav1.AzureClusterSpec{ResourceGroup: "Group"}}
	s.AzureCluster.Spec.NetworkSpec.Vnet.Name = "net"
	s.AzureCluster.Spec.NetworkSpec.Subnets = []infrav1.SubnetSpec{
		{SubnetClassSpec: infrav1.SubnetClassSpec{Name: "workers", Role: infrav1.SubnetNode}},
	}
	for _, m := range []struct {
		name   string
		age    time.Duration
		status metav1.ConditionStatus
		text   string
	}{{"well", time.Hour, metav1.ConditionTrue, ""}, {
		"late", time.Hour, metav1.ConditionFalse, "password=hunter2hunter2",
	}, {"young", time.Minute, metav1.ConditionFalse, ""}} {
		machine := clusterv1.Machine{ObjectMeta: meta(m.name, m.age), Spec: clusterv1.MachineSpec{ClusterName: "one"}}
		machine.Labels = map[string]string{clusterv1.MachineDeploymentNameLabel: "set"}
		machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{Kind: "AzureMachine", Name: m.name}
		machine.Status.Conditions = []metav1.Condition{
			{Type: clusterv1.MachineReadyCondition, Status: m.status, Reason: "NotReady", Message: m.text},
		}
		machine.Status.Phase = string(clusterv1.MachinePhaseProvisioned)
		s.Machines = append(s.Machines, machine)
		azure := &infrav1.AzureMachine{ObjectMeta: meta(m.name, m.age)}
		azure.Spec.ProviderID = new("azure:///subscriptions/s/resourceGroups/group/providers/Microsoft.Compute/virtualMachines/" + m.name)
		s.AzureMachines[m.name] = azure
	}
	return Cluster{Snapshot: s, Deployments: []clusterv1.MachineDeployment{{ObjectMeta: meta("set", time.Hour)}},
		Answer: walk.Answer{Object: "Cluster/one", Step: "node", At: "Machine/late", Means: walk.Meaning{Cause: "NotRegistered"}}}
}

func rowOf[T any](t *testing.T, m Model, key string) (row T) {
	t.Helper()
	data, ok := m[key]
	if !ok {
		t.Fatalf("there is no row %s", key)
	}
	if err := json.Unmarshal(data, &row); err != nil {
		t.Fatal(err)
	}
	return row
}

func TestTreeStates(t *testing.T) {
	m := Build(Input{Now: now, Clusters: []Cluster{testCluster()}})
	for key, want := range map[string]State{"object/Machine/ns/well": Good, "object/Machine/ns/late": Bad,
		"object/Machine/ns/young":         Waiting,
		"object/MachineDeployment/ns/set": Bad, "object/Cluster/ns/one": Bad} {
		if got := rowOf[object](t, m, key); got.State != want {
			t.Errorf("%s is %s, not %s", key, got.State, want)
		}
	}
	late := rowOf[object](t, m, "object/Machine/ns/late")
	if !late.First || late.Parent != "object/MachineDeployment/ns/set" {
		t.Errorf("the trouble does not begin at the late machine: %+v", late)
	}
	if strings.Contains(late.Message, "hunter2") {
		t.Errorf("the message shows a secret: %s", late.Message)
	}
	if c := rowOf[cluster](t, m, "cluster/ns/one"); c.Machines[Good] != 1 || c.Machines[Bad] != 1 || c.Machines[Waiting] != 1 {
		t.Errorf("machines are %v", c.Machines)
	}
}

// TestFirstIsInTrouble: a young machine is bad if the cluster's first fault is in it, and not if the cluster only waits for it.
func TestFirstIsInTrouble(t *testing.T) {
	for waiting, want := range map[bool]State{true: Waiting, false: Bad} {
		c := testCluster()
		c.Answer.At, c.Answer.Waiting = "AzureMachine/young", waiting
		m := Build(Input{Now: now, Clusters: []Cluster{c}})
		if got := rowOf[object](t, m, "object/Machine/ns/young"); got.State != want || got.First == waiting {
			t.Errorf("waiting %v: it is %s, first %v", waiting, got.State, got.First)
		}
	}
}

// TestPodIsAProblem: a cluster with ready machines counts a pod with a problem, and shows its name.
func TestPodIsAProblem(t *testing.T) {
	c := testCluster()
	c.Snapshot.Machines = c.Snapshot.Machines[:1]
	c.Snapshot.Cluster.Status.Phase = string(clusterv1.ClusterPhaseProvisioned)
	c.Snapshot.Cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.ClusterAvailableCondition, Status: metav1.ConditionTrue}}
	c.Deployments = nil
	c.Snapshot.AzureCluster = nil
	broken := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "broken", CreationTimestamp: metav1.NewTime(now)}}
	broken.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}}
	runs := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "runs"}}
	runs.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	c.Snapshot.Pods = []corev1.Pod{broken, runs}
	c.Answer = walk.Answer{Step: "pod", At: "Pod/broken", Means: walk.Meaning{Cause: "ImageMissing", Says: "no such image"}}
	m := Build(Input{Now: now, Clusters: []Cluster{c}})
	if got := rowOf[cluster](t, m, "cluster/ns/one"); got.Problems != 1 || got.Machines[Bad] != 0 {
		t.Errorf("%d problems, machines %v", got.Problems, got.Machines)
	}
	if got := rowOf[object](t, m, "object/Cluster/ns/one"); got.State != Bad || got.Reason != "ImageMissing" {
		t.Errorf("the cluster is %+v", got)
	}
	for name, want := range map[string]State{"broken": Bad, "runs": Good} {
		if got := rowOf[pod](t, m, "pod/ns/one/default/"+name); got.State != want {
			t.Errorf("pod %s is %s", name, got.State)
		}
	}
}

func TestDeletingIsNoProblem(t *testing.T) {
	c := testCluster()
	c.Snapshot.Cluster.DeletionTimestamp = new(metav1.NewTime(now))
	c.Snapshot.Machines[1].DeletionTimestamp = new(metav1.NewTime(now))
	m := Build(Input{Now: now, Clusters: []Cluster{c}})
	if got := rowOf[object](t, m, "object/Machine/ns/late").State; got != Leaving {
		t.Errorf("the machine is %s", got)
	}
	if got := rowOf[object](t, m, "object/Cluster/ns/one").State; got != Leaving {
		t.Errorf("the cluster is %s", got)
	}
}

const arm = "/subscriptions/s/resourceGroups/Group/providers/"

// TestDocuments: data of the local Azure is joined with the machines, and resources without a machine are shown too.
func TestDocuments(t *testing.T) {
	raw := func(format string, args ...any) []json.RawMessage {
		return []json.RawMessage{json.RawMessage(fmt.Sprintf(format, args...))}
	}
	vmDoc := func(name string) json.RawMessage {
		return raw(`{"id":%q,"name":%q,"properties":{"provisioningState":"Succeeded",`+
			`"storageProfile":{"osDisk":{"osType":"Windows"}}}}`, arm+"Microsoft.Compute/virtualMachines/"+name, name)[0]
	}
	azure := &Azure{Documents: map[string][]json.RawMessage{
		typeVNet: raw(`{"id":%q,"name":"net","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/8"]},`+
			`"subnets":[{"id":%q,"name":"a","properties":{"addressPrefix":"10.1.0.0/16",`+
			`"networkSecurityGroup":{"id":%q}}}]}}`,
			arm+"Microsoft.Network/virtualNetworks/net", arm+"Microsoft.Network/virtualNetworks/net/subnets/a",
			arm+"Microsoft.Network/networkSecurityGroups/g"),
		typeNSG: raw(`{"id":%q,"name":"g","properties":{"securityRules":[{"name":"no",`+
			`"properties":{"priority":100,"direction":"Inbound","access":"Deny","protocol":"*",`+
			`"destinationPortRange":"6443","sourceAddressPrefix":"*"}}],"defaultSecurityRules":[{"name":"AllowInternetOutBound",`+
			`"properties":{"priority":65001,"direction":"Outbound","access":"Allow","protocol":"*"}}]}}`,
			arm+"Microsoft.Network/networkSecurityGroups/g"),
		typeLB: raw(`{"id":%q,"name":"services","properties":{"backendAddressPools":[{"properties":{`+
			`"loadBalancerBackendAddresses":[{"properties":{"ipAddress":"10.1.0.4","virtualNetwork":{"id":%q}}},`+
			`{"properties":{"ipAddress":"10.1.0.4","virtualNetwork":{"id":%q}}}]}}]}}`,
			arm+"Microsoft.Network/loadBalancers/services", arm+"Microsoft.Network/virtualNetworks/net",
			arm+"Microsoft.Network/virtualNetworks/other"),
		typeVM: {vmDoc("late"), vmDoc("foreign"), json.RawMessage(`{"id":7}`)},
		typeNIC: raw(`{"id":"x","properties":{"virtualMachine":{"id":%q},`+
			`"ipConfigurations":[{"properties":{"privateIPAddress":"10.1.0.4","subnet":{"id":%q},`+
			`"loadBalancerBackendAddressPools":[{"id":%q}]}}]}}`,
			arm+"Microsoft.Compute/virtualMachines/late", arm+"Microsoft.Network/virtualNetworks/net/subnets/a",
			arm+"Microsoft.Network/loadBalancers/lb/backendAddressPools/p"),
	}, Guests: []Guest{{ID: arm + "Microsoft.Compute/virtualMachines/foreign", Phase: "Failed", Message: "--password hunter2hunter2"}}}
	m := Build(Input{Now: now, Clusters: []Cluster{testCluster()}, Azure: azure})
	late := rowOf[vm](t, m, "vm/group/late")
	if late.Machine != "object/Machine/ns/late" || late.Address != "10.1.0.4" ||
		late.Subnet != "subnet/group/net/a" || !slices.Equal(late.Balancers, []string{"lb/group/lb", "lb/group/services"}) ||
		late.State != Bad {
		t.Errorf("the machine's VM is %+v", late)
	}
	foreign := rowOf[vm](t, m, "vm/group/foreign")
	if foreign.State != Bad || foreign.Phase != "Failed" || strings.Contains(foreign.Message, "hunter2") {
		t.Errorf("the other VM is %+v", foreign)
	}
	if group := rowOf[nsg](t, m, "nsg/group/g"); len(group.Rules) != 2 || group.Rules[0].Allow ||
		!group.Rules[0].Inbound || group.Rules[0].Ports != "6443" || group.Rules[1].Inbound || group.Rules[1].Priority != 65001 {
		t.Errorf("the rules are %+v", group.Rules)
	}
	if sub := rowOf[subnet](t, m, "subnet/group/net/a"); sub.NSG != "nsg/group/g" || sub.VNet != "vnet/group/net" {
		t.Errorf("the subnet is %+v", sub)
	}
}

// TestSpecNetwork: without a local Azure, the picture shows the network that the objects request.
func TestSpecNetwork(t *testing.T) {
	m := Build(Input{Now: now, Clusters: []Cluster{testCluster()}})
	if v := rowOf[vm](t, m, "vm/group/well"); v.Subnet != "subnet/group/net/workers" || v.State != Good {
		t.Errorf("the VM is %+v", v)
	}
	rowOf[subnet](t, m, "subnet/group/net/workers")
}

func TestTally(t *testing.T) {
	call := func(minute int, method, kind string, status int) Call {
		return Call{At: now.Add(time.Duration(minute) * time.Minute), Method: method, Type: kind, Status: status}
	}
	minutes := Tally(nil, []Call{call(0, "GET", "Microsoft.Compute/virtualMachines", 200),
		call(0, "PUT", "Microsoft.Compute/virtualMachines", 201), call(0, "GET", "operations", 200),
		call(1, "PUT", "x", 429), call(1, "PUT", "x", 409)})
	minutes = Tally(minutes, []Call{call(1, "DELETE", "x", 202)})
	want := []Minute{
		{At: now.Truncate(time.Minute), Kinds: map[string]int{"read": 1, "write": 1, "poll": 1},
			Types: map[string]int{"Compute/virtualMachines": 2, "operations": 1}},
		{At: now.Truncate(time.Minute).Add(time.Minute),
			Kinds: map[string]int{"throttled": 1, "refused": 1, "delete": 1}, Types: map[string]int{"x": 3}},
	}
	if d := cmp.Diff(want, minutes); d != "" {
		t.Error(d)
	}
	for i := range 2 * MaxMinutes {
		minutes = Tally(minutes, []Call{call(i, "GET", "x", 200)})
	}
	if len(minutes) != MaxMinutes {
		t.Errorf("%d minutes are kept", len(minutes))
	}
}
