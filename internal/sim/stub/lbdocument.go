package stub

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// lists are the properties of a load balancer that contain named children.
var lists = [...]string{"frontendIPConfigurations", "backendAddressPools", "loadBalancingRules", "probes",
	"inboundNatRules", "outboundRules"}

// balancer returns the body of the PUT of a load balancer: the existing children that belong to no
// service or to a service in kept, and one frontend with rules and probes for each service. The
// pool lists nodes by address and is named after the cluster, like the real provider's.
func (c *controller) balancer(path string, live document, services []balanced, kept []*corev1.Service) document {
	parts := map[string][]any{}
	foreign := func(list, name string) bool {
		if list == "backendAddressPools" && name == c.ClusterName {
			return false
		}
		return !mine.MatchString(name) || slices.ContainsFunc(kept, func(s *corev1.Service) bool {
			return name == frontendName(s) || strings.HasPrefix(name, frontendName(s)+"-")
		})
	}
	old, _ := live["properties"].(document)
	for _, list := range lists {
		for _, child := range asList(old[list]) {
			if name, _ := child["name"].(string); foreign(list, name) {
				parts[list] = append(parts[list], withoutReadOnly(child))
			}
		}
	}
	if len(services) > 0 || len(parts["loadBalancingRules"]) > 0 {
		parts["backendAddressPools"] = append(parts["backendAddressPools"], c.pool())
	}
	for _, s := range services {
		name := frontendName(s.Service)
		parts["frontendIPConfigurations"] = append(parts["frontendIPConfigurations"], c.frontend(s))
		for _, p := range s.Spec.Ports {
			how := s.of(p.Port)
			if how.withoutRule {
				continue
			}
			rule := ruleName(s.Service, p)
			properties := document{
				"frontendIPConfiguration": document{"id": path + "/frontendIPConfigurations/" + name},
				"backendAddressPool":      document{"id": path + "/backendAddressPools/" + c.ClusterName},
				"protocol":                armProtocol(p.Protocol), "frontendPort": p.Port, "backendPort": p.Port,
				"enableFloatingIP": !s.direct, "disableOutboundSnat": true, "idleTimeoutInMinutes": s.minutes,
			}
			if s.direct {
				properties["backendPort"] = p.NodePort
			}
			if !how.withoutIt {
				properties["probe"] = document{"id": path + "/probes/" + rule}
				parts["probes"] = append(parts["probes"], document{"name": rule, "properties": probeOf(s, p, how)})
			}
			parts["loadBalancingRules"] = append(parts["loadBalancingRules"], document{"name": rule, "properties": properties})
		}
	}
	properties := document{}
	for _, list := range lists {
		properties[list] = slices.Clone(parts[list])
		if parts[list] == nil {
			properties[list] = []any{}
		}
	}
	body := document{"location": c.Config.Location, "sku": document{"name": "Standard"}, "properties": properties}
	if live["tags"] != nil {
		body["tags"] = live["tags"]
	}
	return body
}

func (c *controller) pool() document {
	vnet := document{"id": c.arm.network(c.Config.VNetResourceGroup, "virtualNetworks", c.Config.VNetName)}
	addresses := []any{}
	for _, ip := range c.backends() {
		addresses = append(addresses,
			document{"name": ip.String(), "properties": document{"ipAddress": ip.String(), "virtualNetwork": vnet}})
	}
	return document{"name": c.ClusterName, "properties": document{"loadBalancerBackendAddresses": addresses}}
}

func (c *controller) frontend(s balanced) document {
	name := frontendName(s.Service)
	if !s.internal {
		return document{"name": name, "properties": document{"publicIPAddress": document{"id": s.publicPath}}}
	}
	properties := document{"subnet": document{"id": c.subnetPath(cmp.Or(s.subnet, c.Config.SubnetName))},
		"privateIPAllocationMethod": "Dynamic"}
	if s.address != "" {
		properties["privateIPAllocationMethod"], properties["privateIPAddress"] = "Static", s.address
	}
	return document{"name": name, "properties": properties}
}

// probeOf returns the probe for a service's port: of the node port, or of the service's health
// check if only nodes with an endpoint may answer.
func probeOf(s balanced, p corev1.ServicePort, how probing) document {
	port := p.NodePort
	for _, other := range s.Spec.Ports {
		if how.port == other.Port {
			port = other.NodePort
		}
	}
	probe := document{"protocol": "Tcp", "port": port, "intervalInSeconds": how.seconds, "numberOfProbes": how.failures,
		"probeThreshold": how.failures}
	protocol := cmp.Or(how.protocol, *cmp.Or(p.AppProtocol, new("")))
	for _, http := range []string{"Http", "Https"} {
		if strings.EqualFold(protocol, http) {
			probe["protocol"], probe["requestPath"] = http, cmp.Or(how.path, "/")
		}
	}
	if s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal && s.Spec.HealthCheckNodePort != 0 {
		probe["protocol"], probe["port"], probe["requestPath"] = "Http", s.Spec.HealthCheckNodePort, "/healthz"
	}
	return probe
}

// readOnly are properties that the cloud sets and a client does not send back.
var readOnly = [...]string{
	"provisioningState", "etag", "resourceGuid", "loadBalancingRules", "outboundRules", "inboundNatRules", "inboundNatPools",
	"backendIPConfigurations", "outboundRule", "backendIPConfiguration",
}

// withoutReadOnly returns a child without its read-only properties.
func withoutReadOnly(child document) document {
	out := document{"name": child["name"]}
	if child["zones"] != nil {
		out["zones"] = child["zones"]
	}
	properties := document{}
	old, _ := child["properties"].(document)
	for key, v := range old {
		if !slices.Contains(readOnly[:], key) {
			properties[key] = v
		}
	}
	out["properties"] = properties
	return out
}

// empty reports whether a load balancer has no children left.
func empty(body document) bool {
	properties, _ := body["properties"].(document)
	for _, list := range lists {
		if len(properties[list].([]any)) > 0 {
			return false
		}
	}
	return true
}

func asList(v any) []document {
	var out []document
	items, _ := v.([]any)
	for _, i := range items {
		if d, ok := i.(document); ok {
			out = append(out, d)
		}
	}
	return out
}

// privateAddress returns the address of an internal frontend.
func privateAddress(balancer document, name string) string {
	properties, _ := balancer["properties"].(document)
	for _, f := range asList(properties["frontendIPConfigurations"]) {
		if f["name"] == name {
			p, _ := f["properties"].(document)
			ip, _ := p["privateIPAddress"].(string)
			return ip
		}
	}
	return ""
}
