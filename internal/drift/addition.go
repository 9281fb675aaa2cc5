package drift

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/azure/arm"
)

// lists are the lists of a resource type that a spec contains completely, and to which others add elements. Load
// balancers are missing because machines add to their lists too.
var lists = map[string][]string{
	"microsoft.network/networksecuritygroups": {"securityRules"},
	"microsoft.network/routetables":           {"routes"},
	"microsoft.network/virtualnetworks":       {"subnets", "virtualNetworkPeerings"},
	"microsoft.network/loadbalancers": {"loadBalancingRules", "probes", "frontendIPConfigurations", "backendAddressPools",
		"outboundRules"},
}

// cloudProvider matches the names of objects that the cloud provider of Kubernetes adds: shared rules, and names with a
// Service's UID. Backend pools have the cluster's name. Source:
// https://github.com/kubernetes-sigs/cloud-provider-azure, pkg/provider/loadbalancer (k8s-azure-lb_allow_),
// azure_standard.go (getBackendPoolName) and, in k8s.io/cloud-provider, DefaultLoadBalancerName.
var cloudProvider = regexp.MustCompile(`^(k8s-azure-|a[0-9a-f]{31}(-|$))`)

// element is an element of one of the lists.
type element struct {
	ID         string         `json:"id"`
	Name       string         `json:"name"`
	Properties map[string]any `json:"properties"`
}

// additions finds the elements that others have added to a resource of the cluster.
func (f *finder) additions(a asked, live json.RawMessage) error {
	names := lists[strings.ToLower(arm.TypeOf(a.resource.ID))]
	if len(names) == 0 {
		return nil
	}
	have, err := elements(live)
	if err != nil {
		return err
	}
	want, err := elements(body(a.resource))
	if err != nil {
		return err
	}
	for _, list := range names {
		for _, e := range have[list] {
			asksFor := func(w element) bool { return strings.EqualFold(w.Name, e.Name) }
			if slices.ContainsFunc(want[list], asksFor) || f.wanted[arm.Key(e.ID)] || f.byCloudProvider(list, e) {
				continue
			}
			f.add(Finding{Kind: Added, ID: a.resource.ID, Object: a.object, Field: a.resource.Field,
				What: fmt.Sprintf("properties.%s[%s]: %s", list, e.Name, e.describe()), Then: "it stays: casement keeps what others add"})
		}
	}
	return nil
}

// elements returns the lists in the properties of a resource.
func elements(live json.RawMessage) (map[string][]element, error) {
	var doc struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(live, &doc); err != nil {
		return nil, err
	}
	out := map[string][]element{}
	for name, raw := range doc.Properties {
		var list []element
		if json.Unmarshal(raw, &list) == nil {
			out[name] = list
		}
	}
	return out, nil
}

// byCloudProvider reports whether the cloud provider has added an element. It names a route after its node and, in
// dual-stack clusters, the address range.
func (f *finder) byCloudProvider(list string, e element) bool {
	switch list {
	case "routes":
		node, _, _ := strings.Cut(e.Name, "____")
		return f.nodes[strings.ToLower(node)]
	case "backendAddressPools":
		return strings.EqualFold(strings.TrimSuffix(e.Name, "-IPv6"), f.cluster.Name)
	}
	return cloudProvider.MatchString(e.Name)
}

// describe returns a short description of an element's effect.
func (e element) describe() string {
	text := func(field string) string {
		s, _ := e.Properties[field].(string)
		return s
	}
	switch {
	case text("access") != "":
		return strings.Join(strings.Fields(fmt.Sprintf("%s %s %s from %s to port %s", text("access"), text("direction"), text("protocol"),
			text("sourceAddressPrefix"), text("destinationPortRange"))), " ")
	case text("nextHopType") != "":
		return strings.Join(strings.Fields(fmt.Sprintf("%s by %s %s", text("addressPrefix"), text("nextHopType"), text("nextHopIpAddress"))), " ")
	}
	return "not asked for"
}
