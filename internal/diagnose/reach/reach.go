// Package reach reads from Azure the resources between a cluster's machines and its API server, and whether the
// machines are running: subnets with their security groups and route tables, interfaces, load balancers, the private
// DNS zone, and the power state and identities of virtual machines. It only reads, and only resources that are attached
// to the path. It does not know which packets an appliance forwards. The command line imports it, and
// internal/preflight, which examines existing networks by the same rules.
package reach

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/diagnose/facts"
)

// Azure has the calls of an ARM client that this package makes.
type Azure interface {
	SubscriptionID() string
	Get(ctx context.Context, id, apiVersion string, options ...arm.Option) (json.RawMessage, error)
	List(ctx context.Context, collection, apiVersion string, options ...arm.Option) iter.Seq2[json.RawMessage, error]
}

// DefaultPort is the port of an API server whose endpoint is not known yet.
const DefaultPort = 6443

// ControlPlane returns the names of the subnets of a cluster's control plane.
func ControlPlane(subnets []infrav1.SubnetSpec) (names []string) {
	for _, s := range subnets {
		if s.Role == infrav1.SubnetControlPlane || s.Role == infrav1.SubnetCluster {
			names = append(names, s.Name)
		}
	}
	return names
}

// maxMachines is the maximum number of virtual machines that are read.
const maxMachines = 10

// Read adds to a snapshot the obstacles to the cluster's API server, and the states of virtual machines, at most
// maxMachines: those of the control plane and those without a Ready node. It records the parts that could not be read
// as not examined.
func Read(ctx context.Context, azure Azure, s *facts.Snapshot) {
	if s.AzureCluster == nil {
		return
	}
	machines(ctx, azure, s)
	n, err := network(ctx, azure, s)
	if of := s.AzureCluster.Spec.NetworkSpec.Vnet.ResourceGroup; arm.CodeOf(err) == "ResourceGroupNotFound" &&
		(of == "" || of == s.AzureCluster.Spec.ResourceGroup) {
		s.Closed = []facts.Obstacle{{Cause: "ResourceGroupGone", Line: err.Error()}}
		return
	}
	if err != nil {
		s.Unexamined("security rules and routes of the virtual network", err)
		return
	}
	blocked, unknown := n.Blocked()
	s.Closed = blocked
	for _, part := range unknown {
		s.Unexamined(part, errors.New("only its owner can say"))
	}
}

// network reads the network of a snapshot's cluster.
func network(ctx context.Context, azure Azure, s *facts.Snapshot) (Network, error) {
	ac := s.AzureCluster
	spec := &ac.Spec.NetworkSpec
	n := Network{Vnet: spec.Vnet.Name, Host: ac.Spec.ControlPlaneEndpoint.Host, Port: cmp.Or(int(ac.Spec.ControlPlaneEndpoint.Port),
		DefaultPort), ControlPlane: ControlPlane(spec.Subnets),
		Off: map[string]string{}}
	if lb := spec.APIServerLB; lb != nil {
		n.Balancer, n.Public = lb.Name, lb.Type == infrav1.Public
	}
	subscription := "/subscriptions/" + azure.SubscriptionID()
	group := "/resourceGroups/" + cmp.Or(spec.Vnet.ResourceGroup, ac.Spec.ResourceGroup, ac.Name)
	const provider = "/providers/Microsoft.Network/"
	collections := []struct {
		scope, kind string
		into        *[]json.RawMessage
	}{
		{group, "virtualNetworks", &n.Vnets}, {group, "networkSecurityGroups", &n.Groups}, {group, "routeTables", &n.Tables},
		{"", "networkInterfaces", &n.Interfaces}, {"", "loadBalancers", &n.Balancers},
	}
	errs := make([]error, len(collections)+1)
	var work sync.WaitGroup
	for i, c := range collections {
		work.Go(func() {
			*c.into, errs[i] = list(ctx, azure, subscription+c.scope+provider+c.kind, desired.NetworkAPIVersion)
			if arm.ClassOf(errs[i]) == arm.Denied && c.scope == "" { // the identity may have permissions in the resource group only
				*c.into, errs[i] = list(ctx, azure, subscription+group+provider+c.kind, desired.NetworkAPIVersion)
			}
		})
	}
	work.Go(func() { errs[len(collections)] = zone(ctx, azure, s, &n) })
	work.Wait()
	if err := errors.Join(errs...); err != nil {
		return n, err
	}
	for _, id := range n.NextHops() {
		if vm, err := machine(ctx, azure, id); err == nil && vm.Off() {
			n.Off[strings.ToLower(id)] = vm.Power
		}
	}
	return n, nil
}

// zone reads the private DNS zone of the API server's name, if casement created the zone.
func zone(ctx context.Context, azure Azure, s *facts.Snapshot, n *Network) error {
	ac := s.AzureCluster
	name := desired.PrivateZone(ac, s.Cluster.Name)
	mode := ac.Spec.NetworkSpec.PrivateDNSZone
	if !strings.HasSuffix(strings.ToLower(n.Host), "."+strings.ToLower(name)) || mode != nil && *mode == infrav1.PrivateDNSZoneModeNone {
		return nil
	}
	n.Zone = name
	id := "/subscriptions/" + azure.SubscriptionID() + "/resourceGroups/" +
		cmp.Or(ac.Spec.NetworkSpec.PrivateDNSZoneResourceGroup, ac.Spec.ResourceGroup) + "/providers/Microsoft.Network/privateDnsZones/" + name
	var err error
	if n.Links, err = list(ctx, azure, id+"/virtualNetworkLinks", desired.PrivateDNSAPIVersion); err == nil {
		n.Records, err = list(ctx, azure, id+"/A", desired.PrivateDNSAPIVersion)
	}
	if arm.ClassOf(err) == arm.NotFound {
		n.Absent = true
		return nil
	}
	return err
}

func list(ctx context.Context, azure Azure, collection, version string) (out []json.RawMessage, err error) {
	for item, err := range azure.List(ctx, collection, version) {
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, nil
}

// machines reads the virtual machines that may explain why the API server or a node does not respond.
func machines(ctx context.Context, azure Azure, s *facts.Snapshot) {
	ids := map[string]string{}
	for _, control := range []bool{true, false} {
		for i := range s.Machines {
			m := &s.Machines[i]
			_, is := m.Labels[clusterv1.MachineControlPlaneLabel]
			id := strings.TrimPrefix(s.ProviderID(m), "azure://")
			if is == control && (is || !s.NodeReady(m)) && id != "" && len(ids) < maxMachines {
				ids[m.Name] = id
			}
		}
	}
	var mu sync.Mutex
	s.VMs = map[string]facts.VM{}
	var work sync.WaitGroup
	for name, id := range ids {
		work.Go(func() {
			vm, err := machine(ctx, azure, id)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case arm.ClassOf(err) == arm.NotFound:
				s.VMs[name] = facts.VM{Gone: true}
			case err != nil:
				s.Unexamined("virtual machine of Machine/"+name, err)
			default:
				s.VMs[name] = vm
			}
		})
	}
	work.Wait()
}

// machine reads the power state and the identities of a virtual machine, or of an instance of a scale set.
func machine(ctx context.Context, azure Azure, id string) (facts.VM, error) {
	raw, err := azure.Get(ctx, id, desired.ComputeAPIVersion, arm.Query("$expand", "instanceView"))
	if err != nil {
		return facts.VM{}, err
	}
	var body struct {
		Identity struct {
			UserAssignedIdentities map[string]json.RawMessage
		}
		Properties struct {
			InstanceView struct{ Statuses []struct{ Code string } }
		}
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return facts.VM{}, err
	}
	var vm facts.VM
	for _, status := range body.Properties.InstanceView.Statuses {
		if kind, state, _ := strings.Cut(status.Code, "/"); strings.EqualFold(kind, "PowerState") {
			vm.Power = strings.ToLower(state)
		}
	}
	for identity := range body.Identity.UserAssignedIdentities {
		vm.Identities = append(vm.Identities, strings.ToLower(identity))
	}
	slices.Sort(vm.Identities)
	return vm, nil
}
