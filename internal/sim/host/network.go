package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"casement.dev/casement/internal/sim/fabric"
	gm "casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/kubelet"
)

// clusterDomain is the domain of the clusters' DNS.
const clusterDomain = "cluster.local"

// network is the network as the programs of a machine, or of a pod on it, see it.
type network struct {
	net  *fabric.Fabric
	node fabric.Origin
	// dial connects from the machine; it fails while the machine's network is down.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	// pod is the pod's own address; not valid for the machine and for pods on the machine's
	// network.
	pod netip.Addr
	// inCluster is set if names are resolved by the cluster's DNS, and not by the machine's.
	inCluster bool
	windows   bool
	search    []string
	dots      int
}

// Lookup implements machine.Network.
func (n network) Lookup(name string) (gm.Found, error) { return n.lookup(name, maxAliases) }

// maxAliases is the largest number of aliases that a lookup follows.
const maxAliases = 8

func (n network) lookup(name string, aliases int) (gm.Found, error) {
	plain := strings.TrimSuffix(strings.ToLower(name), ".")
	reason := "the local plane knows no name outside of it"
	if n.inCluster && (within(plain) || !strings.Contains(plain, ".")) {
		reason = "no Service of the cluster has the name"
	}
	for _, full := range n.candidates(plain, strings.HasSuffix(name, ".")) {
		if n.inCluster {
			answer, found, served := n.net.Cluster(n.node.Cluster).Lookup(full)
			if !served {
				return gm.Found{}, &gm.LookupError{Name: name, Silent: true, Reason: "no CoreDNS runs in the cluster"}
			}
			if found && within(full) && answer.Alias != "" {
				return n.follow(name, full, answer.Alias, aliases)
			}
			if within(full) {
				if found {
					return gm.Found{Name: full, IPs: answer.IPs}, nil
				}
				continue
			}
		}
		node := n.node
		node.Cluster = ""
		if ip, ok := n.net.Resolve(node, full); ok {
			return gm.Found{Name: full, IPs: []netip.Addr{ip}}, nil
		}
	}
	return gm.Found{}, &gm.LookupError{Name: name, Reason: reason}
}

// follow looks up the name that a Service of type ExternalName refers to.
func (n network) follow(name, full, alias string, aliases int) (gm.Found, error) {
	if aliases == 0 {
		return gm.Found{}, &gm.LookupError{Name: name, Reason: "the names that the Service " + full + " refers to go on without end"}
	}
	found, err := n.lookup(alias+".", aliases-1)
	if lacks, ok := errors.AsType[*gm.LookupError](err); ok {
		return found, &gm.LookupError{Name: name, Silent: lacks.Silent,
			Reason: fmt.Sprintf("%s is another name of %s: %s", full, alias, lacks.Reason)}
	}
	return found, err
}

// within reports whether a name belongs to the domain of Services.
func within(name string) bool { return strings.HasSuffix(name, ".svc."+clusterDomain) }

// candidates returns the full names to resolve. Windows completes only a name without a dot, and
// only by the first suffix. Source:
// kubernetes.io/docs/concepts/services-networking/dns-pod-service, DNS resolution on Windows nodes.
func (n network) candidates(name string, full bool) []string {
	if full {
		return []string{name}
	}
	dots := strings.Count(name, ".")
	if n.windows {
		if dots > 0 || len(n.search) == 0 {
			return []string{name}
		}
		return []string{name + "." + n.search[0], name}
	}
	var out []string
	for _, suffix := range n.search {
		out = append(out, name+"."+suffix)
	}
	if dots >= max(n.dots, 1) {
		return append([]string{name}, out...)
	}
	return append(out, name)
}

// Dial implements machine.Network. The loopback address is the pod's. Outside of the cluster a pod
// has the machine's address.
func (n network) Dial(ctx context.Context, kind, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		found, err := n.Lookup(host)
		if err != nil {
			return nil, err
		}
		ip = found.IPs[0]
	}
	if ip = ip.Unmap(); !n.pod.IsValid() {
		return n.dial(ctx, kind, net.JoinHostPort(ip.String(), port))
	}
	if ip.IsLoopback() {
		ip = n.pod
	}
	cluster := n.net.Cluster(n.node.Cluster)
	to := net.JoinHostPort(ip.String(), port)
	switch {
	case cluster.HasPodIP(ip), cluster.HasServiceIP(ip):
		from := n.node
		from.IP = n.pod
		return n.net.Dial(ctx, from, kind, to)
	case n.net.HasMachineIP(n.node, ip):
		return n.dial(ctx, kind, to)
	}
	conn, err := n.dial(ctx, kind, to)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is the address of no pod, Service or machine of the local plane", err, ip)
	}
	return conn, nil
}

// Pings implements machine.Network.
func (n network) Pings(ip netip.Addr) bool {
	return ip.IsLoopback() || n.net.Cluster(n.node.Cluster).HasPodIP(ip) || n.net.HasMachineIP(n.node, ip)
}

// ofMachine returns the machine's own network.
func (n *node) ofMachine() network { return network{net: n.net, node: n.origin, dial: n.dial} }

// ofPod returns the network of a container.
func (n *node) ofPod(e kubelet.ExecSpec) network {
	out := n.ofMachine()
	out.windows = n.body.Machine().IsWindows()
	out.inCluster, out.search, out.dots = e.DNS.InCluster, e.DNS.Search, e.DNS.Dots
	if len(e.IPs) > 0 && e.IPs[0] != n.origin.IP {
		out.pod = e.IPs[0]
	}
	return out
}

// webOf returns the transport for a pod's HTTP requests.
func (n *node) webOf(way network) http.RoundTripper {
	web := n.web.Clone()
	web.DialContext = way.Dial
	return corrupting{Transport: web}
}
