package drift

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

// listed is a resource in the list of a group.
type listed struct {
	ID        string            `json:"id"`
	ManagedBy string            `json:"managedBy"`
	Tags      map[string]string `json:"tags"`
}

// strays finds the resources in the cluster's groups that have no owner.
func (f *finder) strays(ctx context.Context) error {
	groups := []desired.Group{desired.ClusterGroup(f.azureC)}
	if vnet := desired.VNetGroup(f.azureC); !strings.EqualFold(vnet.ID(), groups[0].ID()) {
		groups = append(groups, vnet)
	}
	for _, group := range groups {
		live, err := f.live(ctx, group.ID())
		if err != nil {
			return err
		}
		if live == nil {
			continue
		}
		tags, err := tagsOf(live)
		if err != nil {
			return fmt.Errorf("read %s: %w", group.ID(), err)
		}
		for raw, err := range f.azure.List(ctx, group.ID()+"/resources", desired.ResourcesAPIVersion) {
			if err != nil {
				return fmt.Errorf("list the resources of %s: %w", group.ID(), err)
			}
			var r listed
			if err := json.Unmarshal(raw, &r); err != nil {
				return fmt.Errorf("read a resource of %s: %w", group.ID(), err)
			}
			what, err := f.stray(ctx, r, desired.IsOwned(tags, f.cluster.Name))
			if err != nil {
				return err
			}
			if what != "" {
				f.add(Finding{Kind: Stray, ID: r.ID, What: what, Then: "it stays" + map[bool]string{
					true: " until the cluster's group is deleted"}[desired.IsOwned(tags, f.cluster.Name)]})
			}
		}
	}
	return nil
}

// stray returns the reason why a resource has no owner; "" if it has one. own is true for a resource group that belongs
// to the cluster; in any other group, resources without the cluster's tag belong to others.
func (f *finder) stray(ctx context.Context, r listed, own bool) (string, error) {
	mine := desired.IsOwned(r.Tags, f.cluster.Name)
	switch {
	case f.wanted[arm.Key(r.ID)], f.kubernetes(r), !mine && !own:
		return "", nil
	case mine && strings.EqualFold(arm.TypeOf(r.ID), "Microsoft.Compute/availabilitySets"):
		return "", nil // all machines of a group share it
	case mine && r.Tags[desired.ObjectTag] != "":
		if f.exists(r.Tags[desired.ObjectTag]) {
			return "", nil
		}
		return fmt.Sprintf("it is tagged as that of %s, which does not exist", r.Tags[desired.ObjectTag]), nil
	}
	of, err := f.holder(ctx, r)
	if err != nil || of != "" && f.member(ctx, of) {
		return "", err
	}
	switch {
	case of != "":
		return "it belongs to " + of[strings.LastIndex(of, "/")+1:] + ", which nothing asks for", nil
	case mine:
		return "it has the cluster's tag, and nothing asks for it", nil
	}
	return "it is in the cluster's group without an owner", nil
}

// kubernetes reports whether a resource belongs to the cloud provider or to a storage driver in the cluster, according
// to its tags or as the load balancer of Services.
func (f *finder) kubernetes(r listed) bool {
	for key := range r.Tags {
		if strings.HasPrefix(key, "k8s-azure-") || strings.HasPrefix(key, "kubernetes.io-created-for-") {
			return true
		}
	}
	name := strings.TrimSuffix(arm.NameOf(r.ID), "-internal")
	return strings.EqualFold(arm.TypeOf(r.ID), "Microsoft.Network/loadBalancers") &&
		(strings.EqualFold(name, f.cluster.Name) || strings.EqualFold(name, "kubernetes"))
}

// exists reports whether the object that an ObjectTag names exists.
func (f *finder) exists(mark string) bool {
	for _, m := range f.machines {
		if mark == desired.ObjectMark("AzureMachine", m.Name) {
			return true
		}
	}
	for _, p := range f.pools {
		if mark == desired.ObjectMark("AzureMachinePool", p.Name) {
			return true
		}
	}
	return false
}

// holder returns the ID of the resource of which a resource is a part, or "".
func (f *finder) holder(ctx context.Context, r listed) (string, error) {
	switch {
	case r.ManagedBy != "":
		return r.ManagedBy, nil
	case arm.ParentOf(r.ID) != "":
		return arm.ParentOf(r.ID), nil
	}
	switch strings.ToLower(arm.TypeOf(r.ID)) {
	case "microsoft.compute/disks", "microsoft.network/networkinterfaces", "microsoft.compute/virtualmachines":
	default:
		return "", nil
	}
	live, err := f.live(ctx, r.ID)
	if err != nil || live == nil {
		return "", err
	}
	var body struct {
		ManagedBy  string
		Properties struct {
			VirtualMachine, VirtualMachineScaleSet struct{ ID string }
		}
	}
	if err := json.Unmarshal(live, &body); err != nil {
		return "", fmt.Errorf("read %s: %w", r.ID, err)
	}
	for _, id := range []string{body.ManagedBy, body.Properties.VirtualMachine.ID, body.Properties.VirtualMachineScaleSet.ID} {
		if id != "" {
			return id, nil
		}
	}
	return "", nil
}

// member reports whether a resource is in the cluster's specs, or is an instance of a scale set in them.
func (f *finder) member(ctx context.Context, id string) bool {
	if f.wanted[arm.Key(id)] || f.wanted[arm.Key(arm.ParentOf(id))] {
		return true
	}
	set, err := f.holder(ctx, listed{ID: id})
	return err == nil && set != "" && f.wanted[arm.Key(set)]
}
