package drift

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/capacity"
)

// objects are the objects of one cluster.
type objects struct {
	cluster  *clusterv1.Cluster
	azureC   *infrav1.AzureCluster
	paused   bool
	machines []infrav1.AzureMachine
	pools    []infrav1.AzureMachinePool
	// machineOf and poolOf have the Cluster API objects, by name of the infrastructure object.
	machineOf map[string]*clusterv1.Machine
	poolOf    map[string]*clusterv1.MachinePool
	// nodes are the names of the cluster's nodes in lower case.
	nodes map[string]bool
}

func readObjects(ctx context.Context, c client.Reader, key client.ObjectKey) (*objects, error) {
	o := &objects{cluster: &clusterv1.Cluster{}, machineOf: map[string]*clusterv1.Machine{}, poolOf: map[string]*clusterv1.MachinePool{},
		nodes: map[string]bool{}}
	if err := c.Get(ctx, key, o.cluster); err != nil {
		return nil, fmt.Errorf("read Cluster %s: %w", key, err)
	}
	var err error
	if o.azureC, err = azureClusterOf(ctx, c, o.cluster); err != nil {
		return nil, err
	}
	o.paused = annotations.IsPaused(o.cluster, o.azureC)
	var machines clusterv1.MachineList
	var pools clusterv1.MachinePoolList
	var azureMachines infrav1.AzureMachineList
	var azurePools infrav1.AzureMachinePoolList
	for _, list := range []client.ObjectList{&machines, &pools, &azureMachines, &azurePools} {
		if err := c.List(ctx, list, client.InNamespace(key.Namespace)); err != nil {
			return nil, fmt.Errorf("list the machines and pools of Cluster %s: %w", key, err)
		}
	}
	for i := range machines.Items {
		if m := &machines.Items[i]; m.Spec.ClusterName == key.Name {
			o.machineOf[m.Spec.InfrastructureRef.Name] = m
			o.nodes[strings.ToLower(m.Status.NodeRef.Name)] = true
		}
	}
	for i := range pools.Items {
		if p := &pools.Items[i]; p.Spec.ClusterName == key.Name {
			o.poolOf[p.Spec.Template.Spec.InfrastructureRef.Name] = p
		}
	}
	for _, m := range azureMachines.Items {
		if o.machineOf[m.Name] != nil {
			o.machines = append(o.machines, m)
		}
	}
	for _, p := range azurePools.Items {
		if o.poolOf[p.Name] != nil {
			o.pools = append(o.pools, p)
		}
	}
	return o, nil
}

// asked returns every resource that the cluster's objects request, except for machines and pools that have no resources
// yet or are being deleted.
func (f *finder) asked(ctx context.Context) ([]asked, error) {
	all, err := f.ofCluster(ctx)
	if err != nil {
		return nil, err
	}
	for i := range f.machines {
		m := &f.machines[i]
		if m.Spec.ProviderID == nil || !m.DeletionTimestamp.IsZero() {
			continue
		}
		more, err := f.ofMachine(ctx, m)
		if all, err = f.append(all, "AzureMachine/"+m.Name, more, err); err != nil {
			return nil, err
		}
	}
	for i := range f.pools {
		p := &f.pools[i]
		if p.Spec.ProviderID == "" || !p.DeletionTimestamp.IsZero() {
			continue
		}
		more, err := f.ofPool(ctx, p)
		if all, err = f.append(all, "AzureMachinePool/"+p.Name, more, err); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// append adds the resources of an object. For an object whose spec cannot become resources it adds a note.
func (f *finder) append(all []asked, object string, resources []desired.Resource, err error) ([]asked, error) {
	if invalid, ok := errors.AsType[*desired.InvalidError](err); ok {
		f.note("%s was not compared: %v", object, invalid)
		return all, nil
	}
	for _, r := range resources {
		all = append(all, asked{r, object})
	}
	return all, err
}

func (f *finder) ofCluster(ctx context.Context) ([]asked, error) {
	in := desired.ClusterInput{Cluster: f.azureC, ClusterName: f.cluster.Name, APIServerPort: f.cluster.Spec.ClusterNetwork.APIServerPort}
	for _, d := range f.azureC.Status.FailureDomains {
		in.Zones = append(in.Zones, d.Name)
	}
	vnet, err := f.live(ctx, desired.VNetID(f.azureC))
	if err != nil {
		return nil, err
	}
	tags, err := tagsOf(vnet)
	if err != nil {
		return nil, fmt.Errorf("read the virtual network: %w", err)
	}
	in.ForeignVNet = vnet != nil && !desired.IsOwned(tags, f.cluster.Name)
	object := "AzureCluster/" + f.azureC.Name
	resources, err := desired.Cluster(in)
	all, err := f.append(nil, object, resources, err)
	if name := f.azureC.Annotations[infrav1.BootstrapVaultAnnotation]; name != "" {
		f.wanted[strings.ToLower(desired.VaultID(f.azureC, name))] = true
	}
	return all, err
}

// ofMachine returns the resources of a machine. Values that the spec does not set are taken from the live resources:
// whether interfaces are accelerated, and the image of a machine whose default image has changed.
func (f *finder) ofMachine(ctx context.Context, m *infrav1.AzureMachine) ([]desired.Resource, error) {
	machine := f.machineOf[m.Name]
	_, controlPlane := machine.Labels[clusterv1.MachineControlPlaneLabel]
	in := desired.MachineInput{Cluster: f.azureC, Machine: m, ClusterName: f.cluster.Name, VMName: desired.LastSegment(*m.Spec.ProviderID),
		ControlPlane: controlPlane, AdminPassword: "-"}
	var err error
	if in.Image, err = capacity.Image(&m.Spec, m.Annotations, machine.Spec.Version); err != nil {
		return nil, &desired.InvalidError{Field: "spec.image", Reason: err.Error(), Fix: "correct it"}
	}
	nics := desired.NICIDs(f.azureC, m, in.VMName)
	if in.AcceleratedNetworking, err = f.accelerated(ctx, nics[0], "properties"); err != nil {
		return nil, err
	}
	vm, err := f.live(ctx, desired.VMID(f.azureC, in.VMName))
	if err != nil {
		return nil, err
	}
	in.PrincipalID = principalOf(vm)
	return desired.Machine(in)
}

func (f *finder) ofPool(ctx context.Context, p *infrav1.AzureMachinePool) ([]desired.Resource, error) {
	pool, spec := f.poolOf[p.Name], p.MachineSpec()
	in := desired.ScaleSetInput{Cluster: f.azureC, Pool: p, ClusterName: f.cluster.Name, Name: desired.LastSegment(p.Spec.ProviderID),
		Zones: pool.Spec.FailureDomains, Exists: true}
	id := desired.ScaleSetID(f.azureC, in.Name)
	var err error
	if in.Image, err = capacity.Image(&spec, p.Annotations, pool.Spec.Template.Spec.Version); err != nil {
		return nil, &desired.InvalidError{Field: "spec.template.image", Reason: err.Error(), Fix: "correct it"}
	}
	if in.AcceleratedNetworking, err = f.accelerated(ctx, id, "properties", "virtualMachineProfile", "networkProfile",
		"networkInterfaceConfigurations", "properties"); err != nil {
		return nil, err
	}
	live, err := f.live(ctx, id)
	if err != nil {
		return nil, err
	}
	in.PrincipalID = principalOf(live)
	var set struct{ SKU struct{ Capacity int32 } }
	if live != nil && json.Unmarshal(live, &set) == nil {
		in.Capacity = set.SKU.Capacity // rolling updates and autoscalers change the capacity
	}
	return desired.ScaleSet(in)
}

// accelerated reports whether a live interface is accelerated; path leads to its properties,
// through the first elements of lists.
func (f *finder) accelerated(ctx context.Context, id string, path ...string) (bool, error) {
	live, err := f.live(ctx, id)
	if err != nil || live == nil {
		return false, err
	}
	var at any
	if err := json.Unmarshal(live, &at); err != nil {
		return false, fmt.Errorf("read %s: %w", id, err)
	}
	for _, name := range append(path, "enableAcceleratedNetworking") {
		if list, ok := at.([]any); ok && len(list) > 0 {
			at = list[0]
		}
		object, _ := at.(map[string]any)
		at = object[name]
	}
	on, _ := at.(bool)
	return on, nil
}

func principalOf(live json.RawMessage) string {
	var head struct{ Identity struct{ PrincipalID string } }
	if live == nil || json.Unmarshal(live, &head) != nil {
		return ""
	}
	return head.Identity.PrincipalID
}
