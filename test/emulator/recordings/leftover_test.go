package recordings

import (
	"slices"
	"testing"
)

// TestOthers checks that a resource that a recording names but never writes is created before the
// replay, once, and with its group.
func TestOthers(t *testing.T) {
	of := func(method, at, asked string, code int, answered string) (c call) {
		c.Request.Method, c.Request.URL, c.Request.Body = method, "https://management.azure.com"+at, asked
		c.Response.Code, c.Response.Body = code, answered
		return c
	}
	const shared, own = "/subscriptions/s/resourceGroups/shared", "/subscriptions/s/resourceGroups/own"
	const user = shared + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/u"
	const net = shared + "/providers/Microsoft.Network/virtualNetworks/n"
	machine := func(name, identity string, code int) call {
		return of("PUT", own+"/providers/Microsoft.Compute/virtualMachines/"+name,
			`{"location":"uksouth","identity":{"userAssignedIdentities":{"`+identity+`":{}}}}`, code, "")
	}
	group := of("PUT", own, `{"location":"uksouth"}`, 201, "")
	const mine = own + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/u"
	for _, test := range []struct {
		name  string
		calls []call
		want  []string
	}{
		{"an identity that two machines have", []call{group, machine("a", user, 201), machine("b", user, 201)}, []string{
			shared + `?api-version=2021-04-01 {"location":"uksouth"}`, user + `?api-version=2023-01-31 {"location":"uksouth"}`}},
		{"an identity of the recording's own", []call{group, of("PUT", mine, "{}", 201, ""), machine("a", mine, 201)}, nil},
		{"a machine that was refused", []call{group, machine("a", user, 400)}, nil},
		{"a network that is peered", []call{group, of("PUT", own+"/providers/Microsoft.Network/virtualNetworks/o/virtualNetworkPeerings/p",
			`{"properties":{"remoteVirtualNetwork":{"id":"`+net+`"}}}`, 201,
			`{"properties":{"remoteVirtualNetworkAddressSpace":{"addressPrefixes":["10.1.0.0/16"]}}}`)}, []string{
			shared + `?api-version=2021-04-01 {"location":"uksouth"}`,
			net + `?api-version=2024-05-01 {"location":"uksouth","properties":{"addressSpace":{"addressPrefixes":["10.1.0.0/16"]}}}`}},
	} {
		var got []string
		for _, c := range leftovers(test.calls) {
			got = append(got, c.Request.URL[len("https://management.azure.com"):]+" "+c.Request.Body)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
