package writable

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"casement.dev/casement/internal/azure/arm"
)

// TestOf: members that are read-only or not described are removed at any depth; members of others are kept.
func TestOf(t *testing.T) {
	const network, compute = "2025-05-01", "2026-04-01"
	for _, test := range []struct{ name, kind, version, read, want string }{
		{"a NAT gateway's type and the tier of its SKU", "Microsoft.Network/natGateways", network,
			`{"id":"/x","name":"a","etag":"1","type":"Microsoft.Network/natGateways","location":"x","zones":["1"],
			"sku":{"name":"Standard","tier":"Regional"},
			"properties":{"provisioningState":"Succeeded","resourceGuid":"1","type":"Public","idleTimeoutInMinutes":4,
			"publicIpAddresses":[{"id":"/p"}],
			"subnets":[{"id":"/s"}]}}`,
			`{"location":"x","zones":["1"],"sku":{"name":"Standard"},"properties":{"idleTimeoutInMinutes":4,"publicIpAddresses":[{"id":"/p"}]}}`},
		{"a balancer with rules, pools and addresses of others", "microsoft.network/loadbalancers", network,
			`{"properties":{"inboundNatRules":[{"name":"theirs","id":"/n","etag":"1","type":"t","properties":{"allowBackendPortConflict":false,
			"enableDestinationServiceEndpoint":false,"frontendPort":22,"backendIPConfiguration":{"id":"/i"}}}],
			"backendAddressPools":[{"name":"of interfaces","properties":{"backendIPConfigurations":[{"id":"/i"}],"loadBalancerBackendAddresses":[
			{"name":"a","properties":{"networkInterfaceIPConfiguration":{"id":"/i"}}}]}},
			{"name":"of addresses","properties":{"loadBalancerBackendAddresses":[{"name":"b",
			"properties":{"ipAddress":"10.0.0.4","virtualNetwork":{"id":"/v"}}}]}}]}}`,
			`{"properties":{"inboundNatRules":[{"name":"theirs","id":"/n","properties":{"frontendPort":22}}],
			"backendAddressPools":[{"name":"of interfaces","properties":{"loadBalancerBackendAddresses":[]}},
			{"name":"of addresses","properties":{"loadBalancerBackendAddresses":[{"name":"b",
			"properties":{"ipAddress":"10.0.0.4","virtualNetwork":{"id":"/v"}}}]}}]}}`},
		{"a scale set's identities, and names in another case", "Microsoft.Compute/virtualMachineScaleSets", compute,
			`{"tags":{"etag":"a tag","Type":"one"},"identity":{"type":"UserAssigned","principalId":"1",
			"userAssignedIdentities":{"/id":{"clientId":"1","principalId":"2"}}},
			"properties":{"uniqueId":"1","timeCreated":"2026","Overprovision":false,"virtualMachineProfile":{"timeCreated":"2026",
			"extensionProfile":{"extensions":[{"id":"/e","name":"theirs","properties":{"publisher":"p","settings":{"id":"any","etag":1}}}]}}}}`,
			`{"tags":{"etag":"a tag","Type":"one"},"identity":{"type":"UserAssigned","userAssignedIdentities":{"/id":{}}},
			"properties":{"Overprovision":false,"virtualMachineProfile":{
			"extensionProfile":{"extensions":[{"name":"theirs","properties":{"publisher":"p","settings":{"id":"any","etag":1}}}]}}}}`},
		{"a private endpoint", "Microsoft.Network/privateEndpoints", network,
			`{"properties":{"isIPv6EnabledPrivateEndpoint":false,"networkInterfaces":[{"id":"/n"}],"subnet":{"id":"/s"},"customDnsConfigs":[]}}`,
			`{"properties":{"subnet":{"id":"/s"},"customDnsConfigs":[]}}`},
		{"a vault's state", "Microsoft.KeyVault/vaults", "2026-02-01",
			`{"systemData":{},"properties":{"provisioningState":"Succeeded","tenantId":"1"}}`, `{"properties":{"tenantId":"1"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, want := Of(test.kind, test.version, parse(t, []byte(test.read))), parse(t, []byte(test.want))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
	if Of("Microsoft.Network/loadBalancers", "2015-06-15", map[string]any{}) != nil {
		t.Error("a version that is not described is described")
	}
}

// TestDesired: every type that casement writes is described, with all members that it writes.
func TestDesired(t *testing.T) {
	files, err := filepath.Glob("../desired/testdata/*.golden.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var resources []struct {
			ID, APIVersion string
			Body           map[string]any
		}
		if err := json.Unmarshal(data, &resources); err != nil {
			t.Fatal(err)
		}
		for _, r := range resources {
			if r.Body == nil {
				continue
			}
			delete(r.Body, "name") // the path has the name of the child
			if got := Of(arm.TypeOf(r.ID), r.APIVersion, r.Body); !reflect.DeepEqual(got, r.Body) {
				t.Errorf("%s %s:\n%v, want\n%v", filepath.Base(file), r.ID, got, r.Body)
			}
		}
	}
}

func parse(t *testing.T, data []byte) (doc map[string]any) {
	t.Helper()
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}
