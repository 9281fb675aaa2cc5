// Package sshroute finds the route to a machine of a cluster, and connects along it. The machine and its private
// address come from the management cluster; the route is SSH to the control plane endpoint, and from there a forwarded
// connection. It does nothing that `ssh -J` cannot do. The command line and the packages below internal/diagnose may
// import it.
package sshroute

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// User is the user that the cluster templates create on every machine, with the SSH key that they get.
const User = "capi"

// Ports of a machine.
const (
	SSHPort = "22"
	// RDPPort is the port of Remote Desktop on Windows.
	RDPPort = "3389"
)

// Route is the way to a machine.
type Route struct {
	// Cluster is the namespace and name of the machine's cluster; ClusterUID distinguishes it from an earlier cluster
	// with the same name.
	Cluster    client.ObjectKey
	ClusterUID string
	// Machine and Node are the names of the Machine and of its node; Node is "" until the machine has joined.
	Machine, Node string
	// VM is the ARM resource ID of the machine's VM, "" until there is one.
	VM string
	// Windows is true if the machine runs Windows, and false for Linux.
	Windows bool
	// Address is the machine's private address, or its public address if there is no jump.
	Address string
	// Jump is the host:port of the SSH server at the control plane endpoint, where the load balancer's NAT rule for
	// port 22 leads to a control plane machine. "" means a direct connection.
	Jump string
	// Door is the name under which the jump's host keys are remembered. It contains the names of the control plane
	// machines, one of which responds at the endpoint, so that the new key of a replaced machine is accepted.
	Door string
	// Pool is true if the machine is an instance of a scale set, whose address is known
	// only from its node.
	Pool bool
	// Blocked is the reason why there is no route yet; nil if there is one.
	Blocked error
}

// Name returns the node's name, or the machine's until there is a node.
func (r Route) Name() string { return cmp.Or(r.Node, r.Machine) }

// Straight is the jump for users who can connect to the machine directly: in the virtual network, behind a VPN, or to a
// machine with a public address.
const Straight = "none"

// Bastion is the name of the jump for users of the cluster's Azure Bastion host; its routes
// have no other jump (Access.Tunnel).
const Bastion = "bastion"

// Find returns the route to a machine; name is the name of a Machine, its node or its AzureMachine. jump, a host with
// or without a port, or Straight, replaces the control plane endpoint; it may be "". A blocked route is returned
// without an error.
func Find(ctx context.Context, c client.Client, namespace, name, jump string) (Route, error) {
	var machines clusterv1.MachineList
	if err := c.List(ctx, &machines, client.InNamespace(namespace)); err != nil {
		return Route{}, fmt.Errorf("list machines in namespace %s: %w", namespace, err)
	}
	m, err := choose(machines.Items, namespace, name)
	if err != nil {
		return Route{}, err
	}
	key := client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.ClusterName}
	cluster := &clusterv1.Cluster{}
	if err := c.Get(ctx, key, cluster); err != nil {
		return Route{}, fmt.Errorf("cluster of machine %s: %w", m.Name, err)
	}
	vm := &infrav1.AzureMachine{}
	if m.Spec.InfrastructureRef.Kind == "AzureMachine" {
		if err := c.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.InfrastructureRef.Name}, vm); err != nil {
			return Route{}, fmt.Errorf("infrastructure of machine %s: %w", m.Name, err)
		}
	}
	return newRoute(m, cluster, vm, jump, door(machines.Items, key.Name)), nil
}

// All returns the routes to every machine in a namespace, or of one cluster in it, by name.
func All(ctx context.Context, c client.Client, namespace, cluster, jump string) ([]Route, error) {
	only := []client.ListOption{client.InNamespace(namespace)}
	if cluster != "" {
		only = append(only, client.MatchingLabels{clusterv1.ClusterNameLabel: cluster})
	}
	var machines clusterv1.MachineList
	var clusters clusterv1.ClusterList
	var vms infrav1.AzureMachineList
	err := errors.Join(c.List(ctx, &machines, only...), c.List(ctx, &clusters, client.InNamespace(namespace)), c.List(ctx, &vms, only...))
	if err != nil {
		return nil, fmt.Errorf("list machines in namespace %s: %w", namespace, err)
	}
	byName := map[string]*clusterv1.Cluster{}
	for i := range clusters.Items {
		byName[clusters.Items[i].Name] = &clusters.Items[i]
	}
	vmByName := map[string]*infrav1.AzureMachine{}
	for i := range vms.Items {
		vmByName[vms.Items[i].Name] = &vms.Items[i]
	}
	var out []Route
	for _, owner := range byName { // there is no route to machines of a cluster that is being deleted
		out = append(out, Routes(owner, machines.Items, vmByName, jump)...)
	}
	slices.SortFunc(out, func(a, b Route) int { return strings.Compare(a.Machine, b.Machine) })
	return out, nil
}

// Routes returns the routes to the given machines that belong to a cluster, from objects that were read before; vms are
// the AzureMachines by name.
func Routes(cluster *clusterv1.Cluster, machines []clusterv1.Machine, vms map[string]*infrav1.AzureMachine, jump string) []Route {
	behind := door(machines, cluster.Name)
	var out []Route
	for i := range machines {
		if m := &machines[i]; m.Spec.ClusterName == cluster.Name {
			out = append(out, newRoute(m, cluster, cmp.Or(vms[m.Spec.InfrastructureRef.Name], &infrav1.AzureMachine{}), jump, behind))
		}
	}
	return out
}

// newRoute returns the route to a machine, from the objects of the management cluster.
func newRoute(m *clusterv1.Machine, cluster *clusterv1.Cluster, vm *infrav1.AzureMachine, jump, door string) Route {
	r := Route{
		Cluster: client.ObjectKeyFromObject(cluster), ClusterUID: string(cluster.UID),
		Machine: m.Name, Node: m.Status.NodeRef.Name, Windows: strings.EqualFold(vm.Spec.OSDisk.OSType, "Windows"),
		Pool: m.Spec.InfrastructureRef.Kind == "AzureMachinePoolMachine",
		VM:   strings.TrimPrefix(cmp.Or(m.Spec.ProviderID, deref(vm.Spec.ProviderID)), "azure://"),
	}
	if m.Status.NodeInfo != nil { // for an instance of a scale set, this is the only source
		r.Windows = r.Windows || strings.EqualFold(m.Status.NodeInfo.OperatingSystem, "windows")
	}
	addresses := slices.Concat(m.Status.Addresses, vm.Status.Addresses)
	r.Address = address(addresses, clusterv1.MachineInternalIP)
	if jump == Straight {
		r.Address = cmp.Or(address(addresses, clusterv1.MachineExternalIP), r.Address)
	} else if jump != "" && jump != Bastion {
		r.Jump, r.Door = withPort(jump), withPort(jump)
	} else if jump == "" && cluster.Spec.ControlPlaneEndpoint.Host != "" {
		jump = cluster.Spec.ControlPlaneEndpoint.Host
		r.Jump, r.Door = withPort(jump), withPort(door)
	}
	switch {
	case r.Address == "":
		r.Blocked = fmt.Errorf("machine %s has no address yet; see what it waits for: casement why %s", m.Name, m.Name)
	case jump == "":
		r.Blocked = fmt.Errorf("cluster %s has no control plane endpoint yet (spec.controlPlaneEndpoint.host); "+
			"name another way in with --jump", cluster.Name)
	}
	return r
}

// At returns the route with the addresses of the machine's node, if the route had none.
func (r Route) At(node *corev1.Node) Route {
	var found []clusterv1.MachineAddress
	for _, a := range node.Status.Addresses {
		found = append(found, clusterv1.MachineAddress{Type: clusterv1.MachineAddressType(a.Type), Address: a.Address})
	}
	if ip := address(found, clusterv1.MachineInternalIP); r.Address == "" && ip != "" {
		r.Address, r.Blocked = ip, nil
	}
	r.Windows = r.Windows || strings.EqualFold(node.Status.NodeInfo.OperatingSystem, "windows")
	return r
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// door returns a name made of the current control plane machines of a cluster.
func door(machines []clusterv1.Machine, cluster string) string {
	var names []string
	for i := range machines {
		if _, control := machines[i].Labels[clusterv1.MachineControlPlaneLabel]; control && machines[i].Spec.ClusterName == cluster {
			names = append(names, machines[i].Name)
		}
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	return fmt.Sprintf("control-plane-%s-%x", cluster, sum[:4])
}

// choose returns the machine with a name; its own name takes precedence over those of its node and AzureMachine.
func choose(machines []clusterv1.Machine, namespace, name string) (*clusterv1.Machine, error) {
	var names []string
	var found *clusterv1.Machine
	for i := range machines {
		m := &machines[i]
		names = append(names, m.Name)
		if m.Name == name {
			return m, nil
		}
		if !strings.EqualFold(m.Status.NodeRef.Name, name) && m.Spec.InfrastructureRef.Name != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%q is the node of two machines in namespace %s, %s and %s; name the machine",
				name, namespace, found.Name, m.Name)
		}
		found = m
	}
	if found != nil {
		return found, nil
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no machine in namespace %s; name another with --namespace", namespace)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("no machine or node is called %q in namespace %s; there are: %s", name, namespace, strings.Join(names, ", "))
}

// address returns the first address of a kind, IPv4 if there is one.
func address(addresses []clusterv1.MachineAddress, kind clusterv1.MachineAddressType) string {
	first := ""
	for _, m := range addresses {
		if m.Type != kind {
			continue
		}
		if ip := net.ParseIP(m.Address); ip.To4() != nil {
			return m.Address
		} else if ip != nil {
			first = cmp.Or(first, m.Address)
		}
	}
	return first
}

// withPort adds SSH's port to a host without a port.
func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), SSHPort)
}
