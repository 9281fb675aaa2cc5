package host

import (
	"hash/fnv"
	"net/netip"
	"slices"

	gm "casement.dev/casement/internal/sim/guest/machine"
)

// nodePods provides the Host Network Service of a node with the objects of the node's kubelet and
// kube-proxy.
type nodePods struct{ n *node }

// Endpoints implements machine.Pods: it returns an endpoint for each pod of the node, and a remote
// endpoint for each other backend of a Service.
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

// Ranges implements machine.Pods: it returns the Node's podCIDR, or else the node's blocks of the
// cluster's pool.
func (p nodePods) Ranges() []netip.Prefix {
	p.n.mu.Lock()
	k := p.n.kubelet
	p.n.mu.Unlock()
	if k == nil {
		return nil
	}
	if own := k.PodRange(); own.IsValid() {
		return []netip.Prefix{own.Masked()}
	}
	return p.n.podIPs.pool.of(k.NodeName())
}

// Processes implements machine.Pods. Ending a hanging shim lets its pod end.
func (p nodePods) Processes() (out []gm.PodProcess) {
	p.n.mu.Lock()
	k := p.n.kubelet
	p.n.mu.Unlock()
	if k == nil {
		return nil
	}
	const shim = "containerd-shim-runhcs-v1"
	for _, c := range k.HostProcesses() {
		out = append(out, gm.PodProcess{ID: processID(c.Pod + c.Program), Name: c.Program, Line: c.Program + ".exe", End: c.End})
	}
	for _, uid := range k.Sandboxes() {
		out = append(out, gm.PodProcess{ID: processID(uid), Name: shim,
			Line: shim + ` -namespace k8s.io -address \\.\pipe\containerd-containerd -publish-binary containerd.exe -id ` + uid,
			End: func() {
				if err := p.n.body.Machine().Pulse.Edit(func(v *gm.Vitals) { v.HungShim = false }); err == nil {
					p.n.observe()
				}
			}})
	}
	return out
}

// processID returns a process ID for a process of a pod, always the same and above the IDs of
// services.
func processID(of string) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(of)) // never fails
	return 100_000 + 4*int64(h.Sum32()%200_000)
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
			if len(b.Endpoints) > 0 { // kube-proxy creates no policy for a Service without backends
				out = append(out, b)
			}
		}
	}
	return out
}
