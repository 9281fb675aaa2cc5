package kubelet

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// DNS is how a container resolves names.
type DNS struct {
	// InCluster is set where it asks the cluster's servers.
	InCluster bool
	Servers   []string
	Search    []string
	// Dots is how many dots a name has at least that is asked for as it is first.
	Dots int
}

// dns returns what a pod's policy asks for. Source: kubernetes pkg/kubelet/network/dns/dns.go.
func (k *Kubelet) dns(pod *corev1.Pod) DNS {
	var out DNS
	policy := pod.Spec.DNSPolicy
	if policy == corev1.DNSClusterFirstWithHostNet || policy != corev1.DNSDefault && policy != corev1.DNSNone && !k.onHostNetwork(pod) {
		domain := k.settings.ClusterDomain
		out = DNS{InCluster: true, Servers: slices.Clone(k.settings.ClusterDNS), Dots: 5,
			Search: []string{pod.Namespace + ".svc." + domain, "svc." + domain, domain}}
	}
	c := pod.Spec.DNSConfig
	if c == nil {
		return out
	}
	for _, s := range c.Nameservers {
		out.InCluster = out.InCluster || slices.Contains(k.settings.ClusterDNS, s)
		out.Servers = append(out.Servers, s)
	}
	out.Search = append(out.Search, c.Searches...)
	for _, o := range c.Options {
		if n, err := strconv.Atoi(ptr.Deref(o.Value, "")); o.Name == "ndots" && err == nil {
			out.Dots = n
		}
	}
	return out
}
