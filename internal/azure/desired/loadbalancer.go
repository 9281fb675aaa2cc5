package desired

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// Names of the parts of load balancers.
const (
	apiServerRule  = "LBRuleHTTPS"
	apiServerProbe = "HTTPSProbe"
	outboundRule   = "OutboundNATAllProtocols"
)

// The interval of the API server's probe of /readyz, and the number of probes that decide.
const (
	probeSeconds   = 15
	probeThreshold = 1
)

func (b *clusterBuilder) loadBalancers() {
	network := &b.spec.NetworkSpec
	if lb := network.APIServerLB; lb != nil && b.controlPlaneEnabled() {
		if lb.Type == infrav1.Internal {
			b.internalLB(lb.Name, poolName(lb), lb, lb.FrontendIPs)
		} else {
			b.publicAPIServerLB(lb)
		}
	}
	b.outboundLB(network.NodeOutboundLB, roleNodeOutbound, "spec.networkSpec.nodeOutboundLB")
	if network.APIServerLB != nil && network.APIServerLB.Type == infrav1.Internal {
		b.outboundLB(network.ControlPlaneOutboundLB, roleControlPlaneOutbound, "spec.networkSpec.controlPlaneOutboundLB")
	}
}

// publicAPIServerLB adds the public load balancer and, if the spec has a private frontend
// besides the public one, a second, internal load balancer.
func (b *clusterBuilder) publicAPIServerLB(lb *infrav1.LoadBalancerSpec) {
	const field = "spec.networkSpec.apiServerLB"
	var public, private []infrav1.FrontendIP
	for _, f := range lb.FrontendIPs {
		if f.PublicIP != nil {
			public = append(public, f)
		} else {
			private = append(private, f)
		}
	}
	id := b.loadBalancerID(lb.Name)
	needs := []string{b.group.ID()}
	body := b.loadBalancer(lb, lb.Name, roleAPIServer, poolName(lb))
	for i, f := range public {
		ip := *f.PublicIP
		if ip.DNSName == "" {
			ip.DNSName = apiServerDNSLabel(b.Cluster, b.ClusterName, ip.Name)
		}
		b.publicIP(ip, b.zones(lb), fmt.Sprintf("%s.frontendIPs[%d].publicIP", field, i))
		needs = append(needs, b.publicIPID(ip.Name))
		body.Properties.FrontendIPConfigurations = append(body.Properties.FrontendIPConfigurations, b.publicFrontend(f))
	}
	b.apiServerRules(body, id, poolName(lb), public, lb.IdleTimeoutInMinutes)
	body.Properties.OutboundRules = outboundRules(id, poolName(lb), public, lb.IdleTimeoutInMinutes)
	b.network(id, body, infrav1.LoadBalancersReadyCondition, field, needs...)
	if len(private) > 0 {
		b.internalLB(lb.Name+"-internal", poolName(lb)+"-internal", lb, private)
	}
}

func (b *clusterBuilder) internalLB(name, pool string, lb *infrav1.LoadBalancerSpec, frontends []infrav1.FrontendIP) {
	id := b.loadBalancerID(name)
	subnet := b.subnetID(subnetOf(b.Cluster, infrav1.SubnetControlPlane))
	role := roleAPIServer
	if name != lb.Name {
		role = roleAPIServer + "-internal"
	}
	body := b.loadBalancer(lb, name, role, pool)
	for _, f := range frontends {
		body.Properties.FrontendIPConfigurations = append(body.Properties.FrontendIPConfigurations, &armnetwork.FrontendIPConfiguration{
			Name:  &f.Name,
			Zones: pointers(lb.AvailabilityZones),
			Properties: &armnetwork.FrontendIPConfigurationPropertiesFormat{
				PrivateIPAllocationMethod: new(armnetwork.IPAllocationMethodStatic),
				PrivateIPAddress:          &f.PrivateIPAddress,
				Subnet:                    &armnetwork.Subnet{ID: &subnet},
			},
		})
	}
	b.apiServerRules(body, id, pool, frontends, lb.IdleTimeoutInMinutes)
	b.network(id, body, infrav1.LoadBalancersReadyCondition, "spec.networkSpec.apiServerLB", b.group.ID(), VNetID(b.Cluster), subnet)
}

// outboundLB adds a public load balancer for outbound traffic only.
func (b *clusterBuilder) outboundLB(lb *infrav1.LoadBalancerSpec, role, field string) {
	if lb == nil {
		return
	}
	id := b.loadBalancerID(lb.Name)
	body := b.loadBalancer(lb, lb.Name, role, outboundPoolName(lb))
	needs := []string{b.group.ID()}
	for i, f := range lb.FrontendIPs {
		if f.PublicIP == nil {
			continue
		}
		b.publicIP(*f.PublicIP, b.zones(lb), fmt.Sprintf("%s.frontendIPs[%d].publicIP", field, i))
		needs = append(needs, b.publicIPID(f.PublicIP.Name))
		body.Properties.FrontendIPConfigurations = append(body.Properties.FrontendIPConfigurations, b.publicFrontend(f))
	}
	body.Properties.OutboundRules = outboundRules(id, outboundPoolName(lb), lb.FrontendIPs, lb.IdleTimeoutInMinutes)
	b.network(id, body, infrav1.LoadBalancersReadyCondition, field, needs...)
}

// loadBalancer returns a Standard load balancer with one empty backend pool, without
// frontends and rules.
func (b *clusterBuilder) loadBalancer(lb *infrav1.LoadBalancerSpec, name, role, pool string) armnetwork.LoadBalancer {
	return armnetwork.LoadBalancer{
		Location:         &b.spec.Location,
		ExtendedLocation: b.extendedLocation(),
		SKU:              &armnetwork.LoadBalancerSKU{Name: new(armnetwork.LoadBalancerSKUNameStandard)},
		Tags:             b.tags("", role),
		Properties: &armnetwork.LoadBalancerPropertiesFormat{
			BackendAddressPools: []*armnetwork.BackendAddressPool{{Name: &pool}},
		},
	}
}

func (b *clusterBuilder) publicFrontend(f infrav1.FrontendIP) *armnetwork.FrontendIPConfiguration {
	return &armnetwork.FrontendIPConfiguration{
		Name: &f.Name,
		Properties: &armnetwork.FrontendIPConfigurationPropertiesFormat{
			PublicIPAddress: &armnetwork.PublicIPAddress{ID: new(b.publicIPID(f.PublicIP.Name))},
		},
	}
}

// apiServerRules adds the probe, the API server's rule and one rule per additional port. All rules use the API server's
// probe, because nothing is known about the other ports.
func (b *clusterBuilder) apiServerRules(lb armnetwork.LoadBalancer, id, pool string, frontends []infrav1.FrontendIP, idle *int32) {
	lb.Properties.Probes = []*armnetwork.Probe{{
		Name: new(apiServerProbe),
		Properties: &armnetwork.ProbePropertiesFormat{
			Protocol:          new(armnetwork.ProbeProtocolHTTPS),
			Port:              &b.APIServerPort,
			RequestPath:       new("/readyz"),
			IntervalInSeconds: new(int32(probeSeconds)),
			ProbeThreshold:    new(int32(probeThreshold)),
		},
	}}
	if len(frontends) == 0 {
		return
	}
	rule := func(name string, port int32) *armnetwork.LoadBalancingRule {
		return &armnetwork.LoadBalancingRule{
			Name: &name,
			Properties: &armnetwork.LoadBalancingRulePropertiesFormat{
				Protocol:                new(armnetwork.TransportProtocolTCP),
				FrontendPort:            &port,
				BackendPort:             &port,
				DisableOutboundSnat:     new(true),
				EnableFloatingIP:        new(false),
				IdleTimeoutInMinutes:    idleMinutes(idle),
				LoadDistribution:        new(armnetwork.LoadDistributionDefault),
				FrontendIPConfiguration: &armnetwork.SubResource{ID: new(id + "/frontendIPConfigurations/" + frontends[0].Name)},
				BackendAddressPool:      &armnetwork.SubResource{ID: new(id + "/backendAddressPools/" + pool)},
				Probe:                   &armnetwork.SubResource{ID: new(id + "/probes/" + apiServerProbe)},
			},
		}
	}
	lb.Properties.LoadBalancingRules = []*armnetwork.LoadBalancingRule{rule(apiServerRule, b.APIServerPort)}
	for _, extra := range b.spec.NetworkSpec.AdditionalAPIServerLBPorts {
		lb.Properties.LoadBalancingRules = append(lb.Properties.LoadBalancingRules, rule(extra.Name, extra.Port))
	}
}

func outboundRules(id, pool string, frontends []infrav1.FrontendIP, idle *int32) []*armnetwork.OutboundRule {
	if len(frontends) == 0 {
		return nil
	}
	p := &armnetwork.OutboundRulePropertiesFormat{
		Protocol:             new(armnetwork.LoadBalancerOutboundRuleProtocolAll),
		IdleTimeoutInMinutes: idleMinutes(idle),
		BackendAddressPool:   &armnetwork.SubResource{ID: new(id + "/backendAddressPools/" + pool)},
	}
	for _, f := range frontends {
		p.FrontendIPConfigurations = append(p.FrontendIPConfigurations,
			&armnetwork.SubResource{ID: new(id + "/frontendIPConfigurations/" + f.Name)})
	}
	return []*armnetwork.OutboundRule{{Name: new(outboundRule), Properties: p}}
}

func idleMinutes(given *int32) *int32 {
	if given == nil {
		return new(int32(4))
	}
	return given
}

// zones returns the load balancer's own zones, or the cluster's.
func (b *clusterBuilder) zones(lb *infrav1.LoadBalancerSpec) []string {
	if len(lb.AvailabilityZones) > 0 {
		return lb.AvailabilityZones
	}
	zones := slices.Clone(b.Zones)
	slices.Sort(zones)
	return zones
}

func (b *clusterBuilder) loadBalancerID(name string) string {
	return LoadBalancerID(b.Cluster, name)
}

// LoadBalancerID returns the ID of a load balancer of the cluster.
func LoadBalancerID(c *infrav1.AzureCluster, name string) string {
	return ClusterGroup(c).Network("loadBalancers", name)
}

// poolName returns the name of an API server load balancer's backend pool: the spec's or
// the default one.
func poolName(lb *infrav1.LoadBalancerSpec) string {
	return cmp.Or(lb.BackendPool.Name, lb.Name+"-backendPool")
}

// outboundPoolName returns the name of the backend pool of a load balancer for outbound
// traffic.
func outboundPoolName(lb *infrav1.LoadBalancerSpec) string {
	return cmp.Or(lb.BackendPool.Name, lb.Name+"-outboundBackendPool")
}

// subnetOf returns the name of the first subnet with a role, or "".
func subnetOf(c *infrav1.AzureCluster, role infrav1.SubnetRole) string {
	for _, s := range c.Spec.NetworkSpec.Subnets {
		if hasRole(s, role) {
			return s.Name
		}
	}
	return ""
}
