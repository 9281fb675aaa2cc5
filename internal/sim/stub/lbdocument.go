package stub

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// lists are the parts of a load balancer that hold named children.
var lists = [...]string{"frontendIPConfigurations", "backendAddressPools", "loadBalancingRules", "probes",
	"inboundNatRules", "outboundRules"}

// balancer returns the load balancer's document for the PUT: the existing children that belong to
// no service, and one frontend with rules and probes per service. The pool lists nodes by address
// and is named after the cluster, as the real provider's is.
func (c *controller) balancer(path string, live document, services []*corev1.Service) document {
	parts := map[string][]any{}
	old, _ := live["properties"].(document)
	for _, list := range lists {
		for _, child := range asList(old[list]) {
			if name, _ := child["name"].(string); !mine.MatchString(name) && (list != "backendAddressPools" || name != c.ClusterName) {
				parts[list] = append(parts[list], bare(child))
			}
		}
	}
	if len(services) > 0 {
		parts["backendAddressPools"] = append(parts["backendAddressPools"], c.pool())
	}
	for _, s := range services {
		name := frontendName(s)
		parts["frontendIPConfigurations"] = append(parts["frontendIPConfigurations"], c.frontend(s))
		for _, p := range s.Spec.Ports {
			rule := ruleName(s, p)
			parts["probes"] = append(parts["probes"], document{"name": rule, "properties": probeOf(s, p)})
			parts["loadBalancingRules"] = append(parts["loadBalancingRules"], document{"name": rule, "properties": document{
				"frontendIPConfiguration": document{"id": path + "/frontendIPConfigurations/" + name},
				"backendAddressPool":      document{"id": path + "/backendAddressPools/" + c.ClusterName},
				"probe":                   document{"id": path + "/probes/" + rule},
				"protocol":                armProtocol(p.Protocol), "frontendPort": p.Port, "backendPort": p.Port,
				"enableFloatingIP": true, "disableOutboundSnat": true, "idleTimeoutInMinutes": 4,
			}})
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

func (c *controller) frontend(s *corev1.Service) document {
	name := frontendName(s)
	if !isInternal(s) {
		return document{"name": name, "properties": document{"publicIPAddress": document{"id": c.publicIPPath(name)}}}
	}
	subnet := c.arm.network(c.Config.VNetResourceGroup, "virtualNetworks", c.Config.VNetName) + "/subnets/" + c.Config.SubnetName
	properties := document{"subnet": document{"id": subnet}, "privateIPAllocationMethod": "Dynamic"}
	if s.Spec.LoadBalancerIP != "" {
		properties["privateIPAllocationMethod"], properties["privateIPAddress"] = "Static", s.Spec.LoadBalancerIP
	}
	return document{"name": name, "properties": properties}
}

// probeOf returns the probe of a service's port: of the node port, or of the service's health
// check where only nodes with an endpoint may answer.
func probeOf(s *corev1.Service, p corev1.ServicePort) document {
	probe := document{"protocol": "Tcp", "port": p.NodePort, "intervalInSeconds": 5, "numberOfProbes": 2, "probeThreshold": 2}
	if s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal && s.Spec.HealthCheckNodePort != 0 {
		probe["protocol"], probe["port"], probe["requestPath"] = "Http", s.Spec.HealthCheckNodePort, "/healthz"
	}
	return probe
}

// readOnly are properties that the cloud fills and a client does not send back.
var readOnly = [...]string{
	"provisioningState", "etag", "resourceGuid", "loadBalancingRules", "outboundRules", "inboundNatRules", "inboundNatPools",
	"backendIPConfigurations", "outboundRule", "backendIPConfiguration",
}

// bare returns a child without its read-only properties.
func bare(child document) document {
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
