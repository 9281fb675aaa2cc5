package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/azure/desired"
)

// LookEvery is the pause between two reads of the load balancers that have to remove a machine.
const LookEvery = 3 * time.Second

// balancer has the properties of a load balancer that this package uses.
type balancer struct {
	Properties struct {
		Rules []struct {
			Properties struct {
				Pool  reference   `json:"backendAddressPool"`
				Pools []reference `json:"backendAddressPools"`
			} `json:"properties"`
		} `json:"loadBalancingRules"`
		Pools []struct {
			ID         string `json:"id"`
			Properties struct {
				Configs   []reference `json:"backendIPConfigurations"`
				Addresses []struct {
					Properties struct {
						IP string `json:"ipAddress"`
					} `json:"properties"`
				} `json:"loadBalancerBackendAddresses"`
			} `json:"properties"`
		} `json:"backendAddressPools"`
	} `json:"properties"`
}

type reference struct {
	ID string `json:"id"`
}

// Balancers are the load balancers of a resource group.
type Balancers []balancer

// Balancers reads the load balancers of a resource group from Azure.
func (s *Session) Balancers(ctx context.Context, group desired.Group) (Balancers, error) {
	list, err := s.List(ctx, group.ID()+"/providers/Microsoft.Network/loadBalancers", true)
	if err != nil {
		return nil, err
	}
	out := make(Balancers, len(list))
	for i, body := range list {
		if err := json.Unmarshal(body, &out[i]); err != nil {
			return nil, fmt.Errorf("read a load balancer of resource group %s: %w", group.Name, err)
		}
	}
	return out, nil
}

// Serve reports whether a rule of a load balancer sends connections to a machine: to one of its addresses, or to an
// interface whose ID is in ids or below one of them. Pools that only outbound rules use do not count.
func (all Balancers) Serve(addresses []clusterv1.MachineAddress, ids ...string) bool {
	for _, b := range all {
		used := map[string]bool{}
		for _, r := range b.Properties.Rules {
			for _, pool := range append(r.Properties.Pools, r.Properties.Pool) {
				used[strings.ToLower(pool.ID)] = true
			}
		}
		for _, pool := range b.Properties.Pools {
			if !used[strings.ToLower(pool.ID)] {
				continue
			}
			for _, at := range pool.Properties.Addresses {
				if at.Properties.IP != "" && slices.ContainsFunc(addresses,
					func(a clusterv1.MachineAddress) bool { return a.Address == at.Properties.IP }) {
					return true
				}
			}
			for _, config := range pool.Properties.Configs {
				if slices.ContainsFunc(ids, func(id string) bool {
					return strings.HasPrefix(strings.ToLower(config.ID), strings.ToLower(id)+"/")
				}) {
					return true
				}
			}
		}
	}
	return false
}
