package host

import (
	"net/netip"
	"slices"

	gm "casement.dev/casement/internal/sim/guest/machine"
)

// nodePods is what a node's kubelet and its kube-proxy have made in its Host Network Service.
type nodePods struct{ n *node }

// Endpoints implements machine.Pods: those of the node's pods, and a remote one for each other backend of a Service.
func (p nodePods) Endpoints() []gm.HNSEndpoint {
	p.n.mu.Lock()
	k := p.n.kubelet
	p.n.mu.Unlock()
	if k == nil {
		return nil
	}
	var out []gm.HNSEndpoint
	own := map[netip.Addr]bool{}
	for ip, name := range k.PodAddresses() {
		own[ip] = true
		out = append(out, gm.HNSEndpoint{Name: name.String(), IP: ip})
	}
	for _, b := range p.Balancers() {
		for _, ip := range b.Endpoints {
			if !own[ip] {
				own[ip] = true
				out = append(out, gm.HNSEndpoint{IP: ip, Remote: true})
			}
		}
	}
	slices.SortFunc(out, func(a, b gm.HNSEndpoint) int { return a.IP.Compare(b.IP) })
	return out
}

// Balancers implements machine.Pods.
func (p nodePods) Balancers() (out []gm.HNSBalancer) {
	for _, s := range p.n.net.Cluster(p.n.origin.Cluster).Services() {
		for _, port := range s.Ports {
			b := gm.HNSBalancer{VIPs: slices.Concat(s.ClusterIPs, s.Ingress), Port: port.Port}
			for _, e := range port.Endpoints {
				b.Target = e.Addr.Port()
				b.Endpoints = append(b.Endpoints, e.Addr.Addr())
			}
			if len(b.Endpoints) > 0 { // kube-proxy makes none of a Service without a backend
				out = append(out, b)
			}
		}
	}
	return out
}
