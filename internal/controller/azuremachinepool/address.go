package azuremachinepool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
)

// address reads the addresses of instances that have none in the status yet, with one list
// for the whole set. An instance keeps its addresses, so a pool without new instances needs
// no call.
func (r *Reconciler) address(ctx context.Context, s *scope) pass.Result {
	missing, ready := false, false
	for i := range s.members {
		if m := &s.members[i]; m.instance != nil && (m.shown == nil || len(m.shown.Status.Addresses) == 0) {
			missing, ready = true, ready || m.instance.state == string(infrav1.Succeeded)
		}
	}
	if !missing {
		return pass.Next()
	}
	collection := s.setID() + "/networkInterfaces"
	if s.flexible() {
		collection = desired.ClusterGroup(s.AzureCluster).ID() + "/providers/Microsoft.Network/networkInterfaces"
	}
	all, err := s.Azure.List(ctx, collection, ready)
	if err != nil {
		return pass.Unread(err, "list the network interfaces of scale set "+s.name)
	}
	ips := map[string][]string{}
	for _, raw := range all {
		var nic struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(raw, &nic); err != nil {
			return pass.Error(fmt.Errorf("read a network interface of scale set %s: %w", s.name, err))
		}
		if ips[strings.ToLower(nic.ID)], err = cloud.PrivateIPs(raw); err != nil {
			return pass.Error(fmt.Errorf("network interface %s: %w", desired.LastSegment(nic.ID), err))
		}
	}
	for i := range s.members {
		if m := &s.members[i]; m.instance != nil {
			m.instance.addresses = addresses(m.instance, ips)
		}
	}
	return pass.Next()
}

// addresses returns an instance's name and the private addresses of its interfaces, by
// their lower-case IDs; nil while no interface has an address.
func addresses(i *instance, ips map[string][]string) []clusterv1.MachineAddress {
	var out []clusterv1.MachineAddress
	for _, nic := range i.nics {
		for _, ip := range ips[strings.ToLower(nic)] {
			out = append(out, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: ip})
		}
	}
	if out == nil {
		return nil
	}
	return append([]clusterv1.MachineAddress{{Type: clusterv1.MachineInternalDNS, Address: i.computer}}, out...)
}
