package azuremachine

import (
	"encoding/json"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/cloud"
)

// addresses returns the machine's name, the private addresses of its interfaces in their
// order, and its public address.
func addresses(s *scope, outcome plan.Outcome) ([]clusterv1.MachineAddress, error) {
	out := []clusterv1.MachineAddress{{Type: clusterv1.MachineInternalDNS, Address: s.vmName}}
	for _, id := range desired.NICIDs(s.AzureCluster, s.azureMachine, s.vmName) {
		ips, err := cloud.PrivateIPs(liveOf(outcome, id))
		if err != nil {
			return nil, fmt.Errorf("network interface %s: %w", desired.LastSegment(id), err)
		}
		for _, ip := range ips {
			out = append(out, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: ip})
		}
	}
	live := liveOf(outcome, desired.ClusterGroup(s.AzureCluster).Network("publicIPAddresses", "pip-"+s.vmName))
	if live != nil {
		var ip struct {
			Properties struct {
				IPAddress string `json:"ipAddress"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(live, &ip); err != nil {
			return nil, fmt.Errorf("public IP of %s: %w", s.vmName, err)
		}
		if ip.Properties.IPAddress != "" {
			out = append(out, clusterv1.MachineAddress{Type: clusterv1.MachineExternalIP, Address: ip.Properties.IPAddress})
		}
	}
	return out, nil
}
