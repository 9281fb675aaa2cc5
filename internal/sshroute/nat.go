package sshroute

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
)

// NATPorts returns the host:port of each NAT rule for the SSH port of a machine in a load balancer, which is in ARM's
// JSON, the lowest port first. It omits rules without a machine. Source: CAPZ gives each control plane machine a rule
// with port 22 or one of 2201 to 2219.
func NATPorts(host string, loadBalancer []byte) ([]string, error) {
	var body struct {
		Properties struct {
			InboundNATRules []struct {
				Properties struct {
					FrontendPort, BackendPort int
					BackendIPConfiguration    *struct{ ID string }
				}
			} `json:"inboundNatRules"`
		}
	}
	if err := json.Unmarshal(loadBalancer, &body); err != nil {
		return nil, fmt.Errorf("read the load balancer's NAT rules: %w", err)
	}
	var ports []int
	for _, rule := range body.Properties.InboundNATRules {
		if p := rule.Properties; strconv.Itoa(p.BackendPort) == SSHPort && p.BackendIPConfiguration != nil {
			ports = append(ports, p.FrontendPort)
		}
	}
	slices.Sort(ports)
	addresses := make([]string, len(ports))
	for i, port := range ports {
		addresses[i] = net.JoinHostPort(host, strconv.Itoa(port))
	}
	return addresses, nil
}
