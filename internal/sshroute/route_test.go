package sshroute

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
)

func addresses(pairs ...string) []clusterv1.MachineAddress {
	var out []clusterv1.MachineAddress
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, clusterv1.MachineAddress{Type: clusterv1.MachineAddressType(pairs[i]), Address: pairs[i+1]})
	}
	return out
}

func TestBetween(t *testing.T) {
	for _, c := range []struct {
		name                  string
		endpoint, jump, os    string
		addresses             []clusterv1.MachineAddress
		wantAddress, wantJump string
		windows               bool
		refusal               string
	}{
		{name: "through the endpoint", endpoint: "20.1.2.3", os: "Windows",
			addresses: addresses("InternalDNS", "win", "InternalIP", "10.1.0.4"), wantAddress: "10.1.0.4",
			wantJump: "20.1.2.3:22", windows: true},
		{name: "an endpoint of IPv6", endpoint: "2001:db8::1", os: "Linux",
			addresses: addresses("InternalIP", "fd00::4"), wantAddress: "fd00::4", wantJump: "[2001:db8::1]:22"},
		{name: "IPv4 before IPv6", endpoint: "e",
			addresses: addresses("InternalIP", "fd00::4", "InternalIP", "10.1.0.4"), wantAddress: "10.1.0.4",
			wantJump: "e:22"},
		{name: "a jump of the user's", endpoint: "e", jump: "bastion:2022",
			addresses: addresses("InternalIP", "10.1.0.4"), wantAddress: "10.1.0.4", wantJump: "bastion:2022"},
		{name: "straight to the public address", jump: Straight,
			addresses: addresses("InternalIP", "10.1.0.4", "ExternalIP", "20.1.2.4"), wantAddress: "20.1.2.4"},
		{name: "straight to the private address", jump: Straight, addresses: addresses("InternalIP", "10.1.0.4"), wantAddress: "10.1.0.4"},
		{name: "no address", endpoint: "e", refusal: "casement why m"},
		{name: "a public address alone does not do behind the endpoint", endpoint: "e",
			addresses: addresses("ExternalIP", "20.1.2.4"), refusal: "no address yet"},
		{name: "no endpoint", addresses: addresses("InternalIP", "10.1.0.4"), refusal: "--jump"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Status: clusterv1.MachineStatus{
				Addresses: c.addresses, NodeRef: clusterv1.MachineNodeReference{Name: "n"},
			}}
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "u"}}
			cluster.Spec.ControlPlaneEndpoint.Host = c.endpoint
			vm := &infrav1.AzureMachine{}
			vm.Spec.OSDisk.OSType = c.os
			m.Spec.ProviderID = "azure:///subscriptions/s"
			r := newRoute(m, cluster, vm, c.jump, "door")
			if c.refusal != "" {
				if r.Blocked == nil || !strings.Contains(r.Blocked.Error(), c.refusal) {
					t.Fatalf("got %+v; want it blocked with %q", r, c.refusal)
				}
				return
			}
			if r.Blocked != nil || r.VM != "/subscriptions/s" {
				t.Fatalf("got %+v", r)
			}
			if door := map[bool]string{true: c.wantJump, false: "door:22"}[c.jump != "" || c.wantJump == ""]; r.Door != door {
				t.Errorf("the door is %q, want %q", r.Door, door)
			}
			if r.Address != c.wantAddress || r.Jump != c.wantJump || r.Windows != c.windows || r.Machine != "m" || r.Node != "n" {
				t.Errorf("got %+v", r)
			}
			if file := r.KnownHosts("/d"); file != "/d/known_hosts/ns_c_u" {
				t.Errorf("host keys are in %s", file)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	machine := func(name, node, vm string) clusterv1.Machine {
		m := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
		m.Status.NodeRef.Name, m.Spec.InfrastructureRef.Name = node, vm
		return m
	}
	machines := []clusterv1.Machine{machine("a", "node-1", "vm-a"), machine("b", "node-2", "a"),
		machine("c", "twin", ""), machine("d", "twin", "")}
	for _, c := range []struct{ name, want, refusal string }{
		{"a", "a", ""}, // a machine's own name takes precedence over another machine's VM
		{"NODE-2", "b", ""},
		{"vm-a", "a", ""},
		{"twin", "", "name the machine"},
		{"unknown", "", "there are: a, b, c, d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := choose(machines, "ns", c.name)
			switch {
			case c.refusal != "":
				if err == nil || !strings.Contains(err.Error(), c.refusal) {
					t.Errorf("got %v, want an error with %q", err, c.refusal)
				}
			case err != nil:
				t.Error(err)
			case m.Name != c.want:
				t.Errorf("got %s, want %s", m.Name, c.want)
			}
		})
	}
	if _, err := choose(nil, "ns", "a"); err == nil || !strings.Contains(err.Error(), "--namespace") {
		t.Errorf("an empty namespace says %v", err)
	}
}

// TestAt: only the node of a scale set's instance has its address.
func TestAt(t *testing.T) {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	m.Spec.InfrastructureRef.Kind = "AzureMachinePoolMachine"
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	cluster.Spec.ControlPlaneEndpoint.Host = "e"
	r := newRoute(m, cluster, &infrav1.AzureMachine{}, "", "door")
	if !r.Pool || r.Blocked == nil {
		t.Fatalf("without a node: %+v", r)
	}
	node := &corev1.Node{}
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: "n"}, {Type: corev1.NodeInternalIP, Address: "10.1.0.9"},
	}
	node.Status.NodeInfo.OperatingSystem = "windows"
	if r = r.At(node); r.Blocked != nil || r.Address != "10.1.0.9" || r.Jump != "e:22" || !r.Windows {
		t.Errorf("with its node: %+v", r)
	}
}

// TestDoor: the name changes only with the machines that may respond.
func TestDoor(t *testing.T) {
	machine := func(name, cluster string, control bool) clusterv1.Machine {
		m := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
		m.Spec.ClusterName = cluster
		if control {
			m.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		}
		return m
	}
	a, b, worker, other := machine("a", "c", true), machine("b", "c", true), machine("w", "c", false), machine("x", "other", true)
	want := door([]clusterv1.Machine{a, b}, "c")
	for _, c := range []struct {
		name     string
		machines []clusterv1.Machine
		same     bool
	}{
		{"in another order, with a worker and another cluster", []clusterv1.Machine{worker, b, other, a}, true},
		{"one replaced", []clusterv1.Machine{a, machine("b2", "c", true)}, false},
		{"one more", []clusterv1.Machine{a, b, machine("d", "c", true)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := door(c.machines, "c"); (got == want) != c.same {
				t.Errorf("the door is %s, before it was %s", got, want)
			}
		})
	}
}
