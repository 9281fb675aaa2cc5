package stub

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// annotationPrefix begins the names of the annotations with which a service configures its load
// balancer. Source of all of them: cloud-provider-azure, docs "Azure LoadBalancer" and
// pkg/provider/azure_loadbalancer.go, azure_loadbalancer_healthprobe.go.
const annotationPrefix = "service.beta.kubernetes.io/"

// balancing contains the load balancer settings in a service's spec and annotations.
type balancing struct {
	internal bool
	// subnet is the subnet of an internal frontend, "" for the subnet in azure.json; address is the
	// address that the service requests.
	subnet, address string
	// group is the resource group of the public IP; publicIP is the name of an existing public IP,
	// "" for one that the service owns.
	group, publicIP string
	// label is the DNS label of the public IP; nil if the service does not set it.
	label *string
	// minutes is the idle timeout of a flow, in minutes.
	minutes int
	// direct disables floating IP: machines are reached by their own address and node port.
	direct bool
	// sources are the address prefixes that may connect; tags are the service tags.
	sources, tags []string
	probe         probing
	ports         map[int32]*probing
	// ignored are annotations that have no effect in the simulation.
	ignored []string
}

// probing describes how a port is probed.
type probing struct {
	protocol, path         string
	seconds, failures      int
	port                   int32
	withoutRule, withoutIt bool
}

// settings maps the names of annotations to the functions that apply them; the annotations of one
// port are named port_PORT_NAME.
var settings = map[string]func(b *balancing, value string) error{
	"azure-load-balancer-internal":            func(b *balancing, v string) error { b.internal = v == "true"; return nil },
	"azure-load-balancer-internal-subnet":     func(b *balancing, v string) error { b.subnet = strings.TrimSpace(v); return nil },
	"azure-load-balancer-ipv4":                func(b *balancing, v string) error { b.address = v; return nil },
	"azure-load-balancer-resource-group":      func(b *balancing, v string) error { b.group = strings.TrimSpace(v); return nil },
	"azure-pip-name":                          func(b *balancing, v string) error { b.publicIP = v; return nil },
	"azure-dns-label-name":                    func(b *balancing, v string) error { b.label = &v; return nil },
	"azure-disable-load-balancer-floating-ip": func(b *balancing, v string) error { b.direct = v == "true"; return nil },
	"azure-load-balancer-tcp-idle-timeout": func(b *balancing, v string) (err error) {
		if b.minutes, err = strconv.Atoi(v); err != nil || b.minutes < 4 || b.minutes > 100 {
			return fmt.Errorf("idle timeout value must be a whole number representing minutes between 4 and 100, actual value: %s", v)
		}
		return nil
	},
	"azure-allowed-service-tags": func(b *balancing, v string) error { b.tags = fields(v); return nil },
	"azure-allowed-ip-ranges": func(b *balancing, v string) error {
		for _, prefix := range fields(v) {
			if _, err := netip.ParsePrefix(prefix); err != nil {
				return fmt.Errorf("invalid address prefix: %w", err)
			}
			b.sources = append(b.sources, prefix)
		}
		return nil
	},
}

var probeSettings = map[string]func(p *probing, value string) error{
	"health-probe-protocol":     func(p *probing, v string) error { p.protocol = v; return nil },
	"health-probe-request-path": func(p *probing, v string) error { p.path = v; return nil },
	"health-probe-interval":     func(p *probing, v string) error { return atLeast(5, v, &p.seconds) },
	"health-probe-num-of-probe": func(p *probing, v string) error { return atLeast(2, v, &p.failures) },
	"health-probe-port": func(p *probing, v string) error {
		n, err := strconv.ParseUint(v, 10, 16)
		p.port = int32(n)
		return err
	},
	"no_lb_rule":    func(p *probing, v string) error { p.withoutRule = v == "true"; return nil },
	"no_probe_rule": func(p *probing, v string) error { p.withoutIt = v == "true"; return nil },
}

func atLeast(least int, value string, into *int) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < least {
		return fmt.Errorf("%q is not a whole number of at least %d", value, least)
	}
	*into = n
	return nil
}

// fields returns the elements of a comma-separated list.
func fields(list string) (out []string) {
	for f := range strings.SplitSeq(list, ",") {
		if f = strings.TrimSpace(f); f != "" {
			out = append(out, f)
		}
	}
	return out
}

// balancingOf returns the settings of a service. Its error names an annotation whose value the
// cloud provider refuses.
func balancingOf(s *corev1.Service) (balancing, error) {
	b := balancing{address: s.Spec.LoadBalancerIP, minutes: 4, sources: slices.Clone(s.Spec.LoadBalancerSourceRanges),
		probe: probing{seconds: 5, failures: 2}, ports: map[int32]*probing{}}
	var ofPorts []string
	for _, key := range slices.Sorted(maps.Keys(s.Annotations)) {
		name, ours := strings.CutPrefix(key, annotationPrefix)
		set, known := settings[name]
		probe, general := probeSettings[strings.TrimPrefix(name, "azure-load-balancer-")]
		var err error
		switch {
		case !ours:
		case known:
			err = set(&b, s.Annotations[key])
		case general && strings.HasPrefix(name, "azure-load-balancer-"):
			err = probe(&b.probe, s.Annotations[key])
		case strings.HasPrefix(name, "port_"):
			ofPorts = append(ofPorts, key) // after the general settings, which are their defaults
		default:
			b.ignored = append(b.ignored, key)
		}
		if err != nil {
			return balancing{}, fmt.Errorf("annotation %s: %w", key, err)
		}
	}
	for _, key := range ofPorts {
		number, name, _ := strings.Cut(strings.TrimPrefix(key, annotationPrefix+"port_"), "_")
		port, err := strconv.ParseUint(number, 10, 16)
		set, known := probeSettings[name]
		if err != nil || !known {
			b.ignored = append(b.ignored, key)
			continue
		}
		p := b.ports[int32(port)]
		if p == nil {
			p = new(b.probe)
			b.ports[int32(port)] = p
		}
		if err := set(p, s.Annotations[key]); err != nil {
			return balancing{}, fmt.Errorf("annotation %s: %w", key, err)
		}
	}
	return b, nil
}

// of returns how a port of the service is probed.
func (b balancing) of(port int32) probing {
	if p := b.ports[port]; p != nil {
		return *p
	}
	return b.probe
}
