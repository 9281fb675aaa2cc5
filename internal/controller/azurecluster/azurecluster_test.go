package azurecluster

import (
	"encoding/json"
	"slices"
	"testing"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
)

func TestPublicHost(t *testing.T) {
	for _, test := range []struct{ name, live, want string }{
		{"name",
			`{"properties":{"ipAddress":"203.0.113.4","dnsSettings":{"fqdn":"c-1.westeurope.cloudapp.azure.com"}}}`,
			"c-1.westeurope.cloudapp.azure.com"},
		{"address only", `{"properties":{"ipAddress":"127.20.0.4","dnsSettings":{"domainNameLabel":"c-1"}}}`, "127.20.0.4"},
		{"neither yet", `{"properties":{"provisioningState":"Updating"}}`, ""},
		{"no such IP", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var live json.RawMessage
			if test.live != "" {
				live = json.RawMessage(test.live)
			}
			got, err := publicHost(live)
			if err != nil || got != test.want {
				t.Errorf("host %q, %v, want %q", got, err, test.want)
			}
		})
	}
	if _, err := publicHost(json.RawMessage(`{"properties":[]}`)); err == nil {
		t.Error("an answer of the wrong shape has a host")
	}
}

func TestOutside(t *testing.T) {
	rg := func(name string) desired.Group { return desired.Group{Subscription: "s", Name: name} }
	group := func(name string) desired.Resource {
		return desired.Resource{ID: rg(name).ID(), APIVersion: desired.ResourcesAPIVersion}
	}
	network := func(g, kind, name string) desired.Resource {
		return desired.Resource{ID: rg(g).Network(kind, name), APIVersion: desired.NetworkAPIVersion, Policy: desired.Manage}
	}
	theirs := network("own", "virtualNetworks", "theirs")
	theirs.Policy = desired.Observe
	all := []desired.Resource{
		group("own"), group("shared"), network("OWN", "loadBalancers", "lb"),
		network("shared", "routeTables", "rt"), network("hub", "virtualNetworks", "hub/virtualNetworkPeerings/p"),
		network("ownother", "publicIPAddresses", "ip"), theirs,
	}
	for _, test := range []struct {
		name  string
		owned []desired.Resource
		want  []string
	}{
		{"one group is ours", []desired.Resource{group("own")}, []string{"own", "rt", "p", "ip"}},
		{"none is", nil, []string{"lb", "rt", "p", "ip"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, r := range notDeletedWithGroup(all, test.owned) {
				got = append(got, desired.LastSegment(r.ID))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("deletes %v, want %v", got, test.want)
			}
		})
	}
}

func TestDroppedRules(t *testing.T) {
	c := &infrav1.AzureCluster{}
	c.Spec.SubscriptionID, c.Spec.ResourceGroup = "s", "g"
	subnet := infrav1.SubnetSpec{}
	subnet.SecurityGroup.Name = "nsg"
	subnet.SecurityGroup.SecurityRules = []infrav1.SecurityRule{{Name: "b"}, {Name: "a"}}
	c.Spec.NetworkSpec.Subnets = []infrav1.SubnetSpec{subnet}
	if got := droppedRules(c, wantedRules(c)); len(got) != 0 {
		t.Errorf("a cluster that never had rules drops %v", got)
	}
	if err := recordRules(c, wantedRules(c)); err != nil {
		t.Fatal(err)
	}
	c.Spec.NetworkSpec.Subnets[0].SecurityGroup.SecurityRules = nil
	got := droppedRules(c, wantedRules(c))
	if len(got) != 2 || desired.LastSegment(got[0].ID) != "a" || desired.LastSegment(got[1].ID) != "b" {
		t.Errorf("drops %v, want a and b", got)
	}
	if err := recordRules(c, wantedRules(c)); err != nil {
		t.Fatal(err)
	}
	if got := droppedRules(c, wantedRules(c)); len(got) != 0 {
		t.Errorf("dropped again: %v", got)
	}
	c.Annotations = map[string]string{appliedRulesAnnotation: `{"nsg": {"a": {}}}`}
	if got := droppedRules(c, wantedRules(c)); len(got) != 0 {
		t.Errorf("another provider's annotation drops %v", got)
	}
}
