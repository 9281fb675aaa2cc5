package azuremachinepool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
)

// instance is one instance of a scale set of either orchestration mode.
type instance struct {
	// id is the instance's ARM ID; number identifies the instance in the scale set's actions.
	id, number string
	// set is the ID of the scale set, for Flexible mode only.
	set string
	// computer is the computer name; state is Azure's provisioning state.
	computer, state, zone string
	created               time.Time
	// latest is Azure's latestModelApplied.
	latest bool
	// outdated is true if the instance differs from the pool's current template; changed names the parts of its model
	// that differ.
	outdated bool
	changed  []string
	// nics are the IDs of the instance's network interfaces, in order. addresses are read once and then kept in the status.
	nics      []string
	addresses []clusterv1.MachineAddress
	raw       json.RawMessage
}

// liveInstance has the fields of an instance that casement reads.
type liveInstance struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	InstanceID string   `json:"instanceId"`
	Zones      []string `json:"zones"`
	Properties struct {
		LatestModelApplied     bool                          `json:"latestModelApplied"`
		ProvisioningState      string                        `json:"provisioningState"`
		TimeCreated            time.Time                     `json:"timeCreated"`
		OSProfile              struct{ ComputerName string } `json:"osProfile"`
		VirtualMachineScaleSet struct{ ID string }           `json:"virtualMachineScaleSet"`
		NetworkProfile         struct {
			NetworkInterfaces []struct {
				ID string `json:"id"`
			} `json:"networkInterfaces"`
		} `json:"networkProfile"`
	} `json:"properties"`
}

// instances reads a set's instances: the children of a Uniform set, or the virtual machines
// that belong to a Flexible set.
func (s *scope) instances(ctx context.Context, p *parser, fresh bool) ([]instance, error) {
	collection := s.setID() + "/virtualMachines"
	if s.flexible() {
		collection = desired.ClusterGroup(s.AzureCluster).ID() + "/providers/Microsoft.Compute/virtualMachines"
	}
	all, err := s.Azure.List(ctx, collection, fresh)
	if err != nil {
		return nil, err
	}
	found, err := p.parse(s.setID(), all)
	if err != nil {
		return nil, err
	}
	var out []instance
	for _, i := range found {
		if !s.flexible() || strings.EqualFold(i.set, s.setID()) {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b instance) int {
		return cmp.Or(len(a.number)-len(b.number), strings.Compare(a.number, b.number))
	})
	return out, nil
}

// parser parses the instances of scale sets. It keeps the last result for each set, so that a pass over a thousand
// instances parses only those that have changed.
type parser struct {
	sets sync.Map // map[string]instance by the instances' JSON, by the set's ID
}

func (p *parser) parse(set string, all []json.RawMessage) ([]instance, error) {
	last, _ := p.sets.Load(set)
	known, _ := last.(map[string]instance)
	next, out := make(map[string]instance, len(all)), make([]instance, len(all))
	for n, raw := range all {
		i, ok := known[string(raw)]
		if !ok {
			var err error
			if i, err = parseInstance(raw); err != nil {
				return nil, err
			}
		}
		next[string(raw)], out[n] = i, i
	}
	p.sets.Store(set, next)
	return out, nil
}

// forget drops the cached instances of a set that does not exist any more.
func (p *parser) forget(set string) { p.sets.Delete(set) }

func parseInstance(raw json.RawMessage) (instance, error) {
	var live liveInstance
	if err := json.Unmarshal(raw, &live); err != nil {
		return instance{}, fmt.Errorf("read an instance of the scale set: %w", err)
	}
	i := instance{
		id: live.ID, number: cmp.Or(live.InstanceID, live.Name), set: live.Properties.VirtualMachineScaleSet.ID,
		computer: live.Properties.OSProfile.ComputerName,
		state:    live.Properties.ProvisioningState, created: live.Properties.TimeCreated,
		latest: live.Properties.LatestModelApplied, raw: raw,
	}
	if len(live.Zones) > 0 {
		i.zone = live.Zones[0]
	}
	for _, nic := range live.Properties.NetworkProfile.NetworkInterfaces {
		i.nics = append(i.nics, nic.ID)
	}
	return i, nil
}

// compare marks the instances that differ from the model in properties that a new instance would have, and those that
// were created from another model. Azure's own latestModelApplied is not sufficient: it also becomes false when a
// bootstrap token is renewed, which is no reason to replace a node, and it does not consider a model that has not been
// written yet.
func (s *scope) compare(set desired.Resource) error {
	changes, err := plan.Differences(s.live.raw, desired.SetModel(set))
	if err != nil {
		return fmt.Errorf("compare the scale set %s with its template: %w", s.name, err)
	}
	model := desired.InstanceModel(set)
	if s.flexible() {
		model = desired.FlexibleInstanceModel(set)
	}
	for i := range s.members {
		in, shown := s.members[i].instance, s.members[i].shown
		if in == nil {
			continue
		}
		if shown != nil {
			in.changed = changed(shown.Annotations[modelAnnotation], s.model)
		}
		if in.outdated = len(in.changed) > 0; in.outdated || in.latest && len(changes) == 0 {
			continue
		}
		differences, err := plan.Differences(in.raw, model)
		if err != nil {
			return fmt.Errorf("compare instance %s with the scale set: %w", in.number, err)
		}
		in.outdated = len(differences) > 0
	}
	return nil
}

// provisioningState returns the provisioning state in the type of the status.
func (i *instance) provisioningState() *infrav1.ProvisioningState {
	return new(infrav1.ProvisioningState(i.state))
}
