package kubelet

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// DNS is the configuration with which a container resolves names.
type DNS struct {
	// InCluster is set if the container uses the cluster's DNS servers.
	InCluster bool
	Servers   []string
	Search    []string
	// Dots is the number of dots in a name (ndots) at or above which the name is first resolved
	// unchanged.
	Dots int
}

// maxServers, maxSearches, maxSearchChars and maxSearchName are the limits of a resolver
// configuration. Source: kubernetes pkg/apis/core/validation/validation.go.
const maxServers, maxSearches, maxSearchChars, maxSearchName = 3, 32, 2048, 253

// dns returns the DNS settings of a pod's policy, and the message about settings that exceed the
// limits, "" for none. Source: kubernetes pkg/kubelet/network/dns/dns.go.
func (k *Kubelet) dns(pod *corev1.Pod) (out DNS, cut string) {
	policy := pod.Spec.DNSPolicy
	if policy == corev1.DNSClusterFirstWithHostNet || policy != corev1.DNSDefault && policy != corev1.DNSNone && !k.onHostNetwork(pod) {
		domain := k.settings.ClusterDomain
		out = DNS{InCluster: true, Servers: slices.Clone(k.settings.ClusterDNS), Dots: 5,
			Search: []string{pod.Namespace + ".svc." + domain, "svc." + domain, domain}}
	}
	c := pod.Spec.DNSConfig
	if c == nil {
		return out, ""
	}
	add := func(list *[]string, more []string) {
		for _, s := range more {
			if !slices.Contains(*list, s) {
				*list = append(*list, s)
			}
		}
	}
	add(&out.Servers, c.Nameservers)
	add(&out.Search, c.Searches)
	out.InCluster = slices.ContainsFunc(out.Servers, func(s string) bool { return slices.Contains(k.settings.ClusterDNS, s) })
	if len(out.Servers) > maxServers {
		out.Servers = out.Servers[:maxServers]
		cut = "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: " +
			strings.Join(out.Servers, " ")
	}
	search := out.Search
	out.Search = slices.DeleteFunc(slices.Clone(search[:min(len(search), maxSearches)]), func(s string) bool { return len(s) > maxSearchName })
	for len(strings.Join(out.Search, " ")) > maxSearchChars {
		out.Search = out.Search[:len(out.Search)-1]
	}
	if len(out.Search) < len(search) {
		cut = "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: " +
			strings.Join(out.Search, " ")
	}
	for _, o := range c.Options {
		if n, err := strconv.Atoi(ptr.Deref(o.Value, "")); o.Name == "ndots" && err == nil {
			out.Dots = n
		}
	}
	return out, cut
}
