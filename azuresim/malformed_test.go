package azuresim

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// TestMalformed: a body that Azure's description of the type does not allow is refused, in the form
// of the part of Azure that reads it (ARM or a provider), and stores nothing; read-only members are
// ignored.
func TestMalformed(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	a.carried("PUT", vnetPath("v"), vnetBody)
	const nsg, disk = "resourceGroups/g/providers/Microsoft.Network/networkSecurityGroups/n?api-version=2025-05-01",
		"resourceGroups/g/providers/Microsoft.Compute/disks/d?api-version=2026-03-02"
	empty := func(more string) string {
		return `{"location": "westeurope", "properties": {"creationData": {"createOption": "Empty"}, "diskSizeGB": 4` + more + `}}`
	}
	for name, test := range map[string]struct{ method, path, body, code, detail string }{
		"tags that are text":      {"PUT", disk, `{"location": "westeurope", "tags": "x"}`, "InvalidRequestContent", ""},
		"a size that is none":     {"PUT", disk, empty(`, "diskIOPSReadWrite": "abc"`), "InvalidRequestContent", ""},
		"an unknown system":       {"PUT", disk, empty(`, "osType": "Bogus"`), "InvalidRequestContent", ""},
		"an unknown member":       {"PUT", disk, empty(`, "size": 4`), "InvalidRequestContent", ""},
		"nothing that is needed":  {"PUT", disk, `{"location": "westeurope", "properties": {"diskSizeGB": 4}}`, "InvalidParameter", ""},
		"an unknown member above": {"PUT", nsg, `{"location": "westeurope", "rules": []}`, "InvalidRequestContent", ""},
		"a network's unknown member": {"PUT", nsg, `{"location": "westeurope", "properties": {"rules": []}}`,
			"InvalidRequestFormat", "InvalidJson"},
		"a rule without access": {"PUT", nsg, `{"location": "westeurope", "properties": {"securityRules": [{"name": "r", "properties":
			{"direction": "Inbound", "priority": 100, "protocol": "*", "sourceAddressPrefix": "*", "sourcePortRange": "*",
			"destinationAddressPrefix": "*", "destinationPortRange": "*"}}]}}`, "InvalidRequestFormat", "InvalidJson"},
		"a subnet of its own": {"PUT", vnetPath("v") + "/subnets/s?api-version=2025-05-01", `{"properties": {"addressPrefix": 1}}`,
			"InvalidRequestFormat", "InvalidJson"},
		"more than 32 bits": {"PUT", disk, `{"location": "westeurope", "properties": {"creationData": {"createOption": "Empty"},
			"diskSizeGB": 4294967296}}`, "InvalidRequestContent", ""},
		"a group's tags":           {"PUT", "resourcegroups/other", `{"location": "westeurope", "tags": "x"}`, "InvalidRequestContent", ""},
		"a group's unknown member": {"PUT", "resourcegroups/other", `{"location": "westeurope", "plan": 1}`, "InvalidRequestContent", ""},
		"a vault's unknown family": {"PUT", "resourceGroups/g/providers/Microsoft.KeyVault/vaults/v?api-version=2023-07-01",
			`{"location": "westeurope", "properties": {"tenantId": "11111111-2222-3333-4444-555555555555", "accessPolicies": [],
			"sku": {"family": "B", "name": "standard"}}}`, "InvalidRequestContent", ""},
		"an unknown mode": {"PUT", "resourceGroups/g/providers/Microsoft.Resources/deployments/d?api-version=2021-04-01",
			`{"properties": {"mode": "Sideways", "template": {}}}`, "InvalidRequestContent", ""},
		"a patch": {"PATCH", vnetPath("v") + "?api-version=2025-05-01", `{"tags": "x"}`, "InvalidRequestContent", ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer, _ := a.speak(test.method, test.path, test.body)
			detail := ""
			for _, d := range value.Items(answer, "error", "details") {
				detail = value.Str(d, "code")
			}
			if code := value.Str(answer, "error", "code"); status != 400 || code != test.code || detail != test.detail {
				t.Errorf("%d %s, %s: %v", status, code, detail, answer)
			}
		})
	}
	if status, _, _ := a.speak("GET", disk, ""); status != 404 {
		t.Errorf("a refused disk is there: %d", status)
	}
	made := a.carried("PUT", disk, empty(`, "timeCreated": "2001-01-01T00:00:00Z", "uniqueId": "mine"`))
	if value.Str(made, "properties", "uniqueId") == "mine" || value.Str(made, "properties", "timeCreated") == "2001-01-01T00:00:00Z" {
		t.Errorf("read-only members were taken: %v", made)
	}
}

// TestBounds: values that Azure's description of a type allows but its provider refuses are refused
// with the provider's code, and so are elements that are null or have no name. Each body is valid
// except for one member.
func TestBounds(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	a.carried("PUT", vnetPath("v"), vnetBody)
	a.carried("PUT", vnetPath("v")+"/subnets/first?api-version=2025-05-01", `{"properties":{"addressPrefix":"10.0.255.0/24"}}`)
	for _, zone := range []string{"privateDnsZones", "dnsZones"} {
		a.carried("PUT", networkPath(zone+"/z.test"), `{"location":"global"}`)
	}
	long := strings.Repeat("x", 513)
	for name, test := range map[string]struct{ of, body, code string }{
		"a negative size":   {"Compute/disks/d", `{"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":-1}}`, "InvalidParameter"},
		"no size":           {"Compute/disks/d", `{"properties":{"creationData":{"createOption":"Empty"}}}`, "InvalidParameter"},
		"a copy of nothing": {"Compute/disks/d", `{"properties":{"creationData":{"createOption":"Copy"}}}`, "InvalidParameter"},
		"a null zone": {"Compute/disks/d", `{"zones":[null],"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":4}}`,
			"InvalidRequestContent"},
		"a zone of no region": {"Compute/disks/d", `{"zones":["9"],"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":4}}`,
			"AvailabilityZoneNotSupported"},
		"no region":             {"Compute/disks/d", `{"location":"atlantis"}`, "LocationNotAvailableForResourceType"},
		"a reserved character":  {"Network/routeTables/r", `{"tags":{"k8s.io/a":"b"}}`, "InvalidTagNameCharacters"},
		"a hidden tag":          {"Network/routeTables/r", `{"tags":{"hidden-link:/a/b":"Resource"}}`, ""},
		"a tag without a name":  {"Network/routeTables/r", `{"tags":{"":"b"}}`, "InvalidTagName"},
		"a tag's long name":     {"Network/routeTables/r", `{"tags":{"` + long + `":"b"}}`, "InvalidTagName"},
		"a tag's long value":    {"Network/routeTables/r", `{"tags":{"a":"` + long + `"}}`, "InvalidTagValueLength"},
		"fault domains":         {"Compute/availabilitySets/a", `{"properties":{"platformFaultDomainCount":4}}`, "InvalidParameter"},
		"a rule without a name": {"Network/networkSecurityGroups/n", securityRule(``, `"priority":100`), "InvalidRequestFormat"},
		"a null rule":           {"Network/networkSecurityGroups/n", `{"properties":{"securityRules":[null]}}`, "InvalidRequestFormat"},
		"a rule's bad name":     {"Network/networkSecurityGroups/n", securityRule(`"name":"a b",`, `"priority":100`), "InvalidResourceName"},
		"a low priority":        {"Network/networkSecurityGroups/n", securityRule(`"name":"r",`, `"priority":99`), "SecurityRuleInvalidPriority"},
		"bits of a host": {"Network/networkSecurityGroups/n", securityRule(`"name":"r",`,
			`"priority":100,"sourceAddressPrefix":"20.20.20.20/16"`),
			"SecurityRuleInvalidAddressPrefix"},
		"two ports in one": {"Network/networkSecurityGroups/n", securityRule(`"name":"r",`, `"priority":100,"destinationPortRange":"80,443"`),
			"SecurityRuleInvalidPortRange"},
		"a space's host bits": {"Network/virtualNetworks/w",
			`{"properties":{"addressSpace":{"addressPrefixes":["10.0.0.4/16"]}}}`, "InvalidCIDRNotation"},
		"a space of no form": {"Network/virtualNetworks/w",
			`{"properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/33"]}}}`, "InvalidAddressPrefixFormat"},
		"a DNS server": {"Network/virtualNetworks/w", `{"properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},
			"dhcpOptions":{"dnsServers":["1.2.3.4.5"]}}}`, "NetcfgInvalidIPAddress"},
		"a subnet outside": {"Network/virtualNetworks/w", `{"properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},
			"subnets":[{"name":"s","properties":{"addressPrefix":"10.1.0.0/24"}}]}}`, "NetcfgSubnetRangeOutsideVnet"},
		"two subnets of one name": {"Network/virtualNetworks/w", `{"properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},
			"subnets":[{"name":"s","properties":{"addressPrefix":"10.0.0.0/24"}},{"name":"S","properties":{"addressPrefix":"10.0.1.0/24"}}]}}`,
			"DuplicateResourceName"},
		"a subnet without a name": {"Network/virtualNetworks/w", `{"properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},
			"subnets":[{"properties":{"addressPrefix":"10.0.0.0/24"}}]}}`, "InvalidRequestFormat"},
		"a delegation without a name": {"Network/virtualNetworks/v/subnets/s", `{"properties":{"addressPrefix":"10.0.0.0/24",
			"delegations":[{"properties":{"serviceName":"Microsoft.Web/serverFarms"}}]}}`, "InvalidRequestFormat"},
		"a reference to no resource": {"Network/virtualNetworks/v/subnets/s", `{"properties":{"addressPrefix":"10.0.0.0/24",
			"networkSecurityGroup":{"id":"nonsense"}}}`, "LinkedInvalidPropertyId"},
		"a reference without an ID": {"Network/virtualNetworks/v/subnets/s", `{"properties":{"addressPrefix":"10.0.0.0/24",
			"networkSecurityGroup":{}}}`, "InvalidRequestFormat"},
		"a subnet of two addresses": {"Network/virtualNetworks/v/subnets/s", `{"properties":{"addressPrefix":"10.0.0.0/31"}}`,
			"NetcfgInvalidSubnet"},
		"a rule without a source": {"Network/networkSecurityGroups/n", strings.Replace(securityRule(`"name":"r",`, `"priority":100`),
			`"sourceAddressPrefix":"*",`, "", 1), "SecurityRuleParameterNotSpecified"},
		"a label": {"Network/publicIPAddresses/p", `{"sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static",
			"dnsSettings":{"domainNameLabel":"Bad_Label"}}}`, "InvalidDomainNameLabel"},
		"a prefix of IPv6": {"Network/publicIPPrefixes/x", `{"sku":{"name":"Standard"},"properties":{"prefixLength":124,
			"publicIPAddressVersion":"IPv6"}}`, ""},
		"a prefix that is too long": {"Network/publicIPPrefixes/y", `{"sku":{"name":"Standard"},"properties":{"prefixLength":32}}`,
			"PublicIPPrefixInvalidPrefixLength"},
		"a probe's port": {"Network/loadBalancers/l", `{"sku":{"name":"Standard"},"properties":{"probes":[{"name":"p",
			"properties":{"protocol":"Tcp","port":1000000}}]}}`, "InvalidRequestFormat"},
		"a pool without a name": {"Network/loadBalancers/l", `{"sku":{"name":"Standard"},"properties":{"backendAddressPools":[{}]}}`,
			"InvalidRequestFormat"},
		"an unknown SKU":        {"Compute/availabilitySets/a", `{"sku":{"name":"Bronze"},"properties":{}}`, "InvalidParameter"},
		"a SKU in another case": {"Compute/availabilitySets/b", `{"sku":{"name":"aligned"},"properties":{}}`, ""},
		"no upgrade policy": {"Compute/virtualMachineScaleSets/s", `{"sku":{"name":"Standard_D2s_v5","capacity":1},
			"properties":{"orchestrationMode":"Uniform","virtualMachineProfile":{}}}`, "InvalidParameter"},
		"no upgrade mode": {"Compute/virtualMachineScaleSets/s", `{"sku":{"name":"Standard_D2s_v5","capacity":1},
			"properties":{"upgradePolicy":{},"virtualMachineProfile":{}}}`, "InvalidParameter"},
		"a flexible set without a policy": {"Compute/virtualMachineScaleSets/f",
			`{"properties":{"orchestrationMode":"Flexible","platformFaultDomainCount":1}}`, ""},
		"a space that overlaps itself": {"Network/virtualNetworks/w",
			`{"properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16","10.0.1.0/24"]}}}`, "InvalidRequestFormat"},
		"a subnet that overlaps itself": {"Network/virtualNetworks/v/subnets/s",
			`{"properties":{"addressPrefixes":["10.0.200.0/24","10.0.200.0/25"]}}`, "InvalidRequestFormat"},
		"a subnet that overlaps another": {"Network/virtualNetworks/w", `{"properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},
			"subnets":[{"name":"s","properties":{"addressPrefix":"10.0.0.0/24"}},{"name":"t","properties":{"addressPrefix":"10.0.0.128/25"}}]}}`,
			"NetcfgSubnetRangesOverlap"},
		"a subnet of its own that overlaps": {"Network/virtualNetworks/v/subnets/s", `{"properties":{"addressPrefix":"10.0.128.0/17"}}`,
			"NetcfgSubnetRangesOverlap"},
		"an unknown service": {"Network/virtualNetworks/v/subnets/s", `{"properties":{"addressPrefix":"10.0.200.0/24",
			"serviceEndpoints":[{"service":"Microsoft.Bogus"}]}}`, "InvalidRequestFormat"},
		"a known service": {"Network/virtualNetworks/v/subnets/known", `{"properties":{"addressPrefix":"10.0.201.0/24",
			"serviceEndpoints":[{"service":"microsoft.storage"}]}}`, ""},
		"a peering with nothing": {"Network/virtualNetworks/v/virtualNetworkPeerings/p",
			`{"properties":{"allowVirtualNetworkAccess":true}}`, "InvalidRequestFormat"},
		"a peering with no network": {"Network/virtualNetworks/v/virtualNetworkPeerings/p",
			`{"properties":{"remoteVirtualNetwork":{}}}`, "InvalidRequestFormat"},
		"a probe without a path": {"Network/loadBalancers/l", `{"sku":{"name":"Standard"},"properties":{"probes":[{"name":"p",
			"properties":{"protocol":"https","port":443}}]}}`, "InvalidRequestFormat"},
		"a probe that needs no path": {"Network/loadBalancers/l", `{"sku":{"name":"Standard"},"properties":{"probes":[{"name":"p",
			"properties":{"protocol":"TCP","port":443}}]}}`, ""},
		"a record set without a lifetime":    {"Network/privateDnsZones/z.test/CNAME/c", recordSet(``), "BadRequest"},
		"a record set of no lifetime":        {"Network/privateDnsZones/z.test/CNAME/c", recordSet(`,"ttl":0`), ""},
		"a record set that lives too long":   {"Network/privateDnsZones/z.test/CNAME/c", recordSet(`,"ttl":2147483648`), "BadRequest"},
		"a public record without a lifetime": {"Network/dnsZones/z.test/CNAME/c", recordSet(``), "BadRequest"},
		"a public record set":                {"Network/dnsZones/z.test/CNAME/c", recordSet(`,"TTL":60`), ""},
		"a vault's address":                  {"KeyVault/vaults/vault-of-rules", vaultRule("1.2.3.4.5"), "BadRequest"},
		"a vault's private address":          {"KeyVault/vaults/vault-of-rules", vaultRule("172.20.10.5/32"), "BadRequest"},
		"a vault's range":                    {"KeyVault/vaults/vault-of-rules", vaultRule("124.56.78.0/24"), ""},
		"days of retention": {"KeyVault/vaults/vault-of-bounds", `{"properties":{"tenantId":"` + engine.DefaultTenant + `",
			"sku":{"family":"A","name":"standard"},"accessPolicies":[],"softDeleteRetentionInDays":3}}`, "BadRequest"},
	} {
		t.Run(name, func(t *testing.T) {
			path := "resourceGroups/g/providers/Microsoft." + test.of
			path += "?api-version=" + versionFor(path, "2026-04-01")
			body := test.body
			if !strings.Contains(path, "Zones/") {
				body = `{"location":"westeurope",` + strings.TrimPrefix(test.body, "{")
			}
			status, answer, h := a.speak("PUT", path, body)
			if code := value.Str(answer, "error", "code"); code != test.code || (status == 400) != (code != "") {
				t.Errorf("%d %v, want %s", status, answer, test.code)
			}
			if e := a.ended(h); e != nil { // so that the next row can write to the same network
				t.Error(e)
			}
		})
	}
}

// recordSet returns the body of a record set with more properties.
func recordSet(more string) string {
	return `{"properties":{"cnameRecord":{"cname":"other.test"}` + more + `}}`
}

// vaultRule returns the body of a vault that is open to a network.
func vaultRule(network string) string {
	return `{"properties":{"tenantId":"` + engine.DefaultTenant + `","sku":{"family":"A","name":"standard"},"accessPolicies":[],
		"networkAcls":{"ipRules":[{"value":"` + network + `"}]}}}`
}

// securityRule returns the body of a security group with one rule that has additional members and
// properties.
func securityRule(more, properties string) string {
	return `{"properties":{"securityRules":[{` + more + `"properties":{"direction":"Inbound","access":"Allow","protocol":"*",` +
		`"sourcePortRange":"*","destinationAddressPrefix":"*","sourceAddressPrefix":"*","destinationPortRange":"*",` + properties + `}}]}}`
}

// TestReadings: the deviations from JSON that Azure accepts are accepted: names in any case,
// numbers in text, a byte order mark and comments. Another media type than JSON's is refused.
func TestReadings(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	const disk = "resourceGroups/g/providers/Microsoft.Compute/disks/d?api-version=2026-03-02"
	const body = `{"LOCATION": "westeurope", "Properties": {"CreationData": {"CREATEOPTION": "Empty"}, "DiskSizeGB": "4"}}`
	for _, as := range []string{"", "text/plain", "application/xml", "application/x-www-form-urlencoded"} {
		status, answer, _ := a.speak("PUT", disk, body, "Content-Type", as)
		if code := value.Str(answer, "error", "code"); status != 415 || code != "UnsupportedMediaType" {
			t.Errorf("as %q: %d %s", as, status, code)
		}
	}
	made := a.carried("PUT", disk, "\ufeff/* a disk */ "+body)
	gib, _ := value.Int(made, "properties", "diskSizeGB")
	if gib != 4 || value.Str(made, "properties", "creationData", "createOption") != "Empty" {
		t.Errorf("the disk is %v", made)
	}
}

// TestLocationOfChild: a location on a child that has none is accepted and ignored.
func TestLocationOfChild(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	a.carried("PUT", vnetPath("v"), vnetBody)
	path := vnetPath("v") + "/subnets/child?api-version=2025-05-01"
	a.carried("PUT", path, `{"location": "westeurope", "properties": {"addressPrefix": "10.0.200.0/24"}}`)
	if got := a.carried("GET", path, ""); value.Str(got, "location") != "" || value.Str(got, "properties", "addressPrefix") == "" {
		t.Errorf("the subnet is %v", got)
	}
}

// TestReturned: a client may send back each answer of the local Azure.
func TestReturned(t *testing.T) {
	for _, version := range []string{"2024-01-01", "2025-11-01"} {
		t.Run(version, func(t *testing.T) {
			a := start(t, Config{})
			defer a.Close()
			var puts []string
			for _, s := range samples() {
				if s.method == http.MethodPut && !strings.Contains(s.path, "/locks/") && !strings.Contains(s.path, "/deployments/") {
					puts = append(puts, s.path+"?api-version="+versionFor(s.path, version))
					a.carried(s.method, puts[len(puts)-1], strings.Replace(s.body, `"mode":"Rolling"`, `"mode":"Manual"`, 1))
				}
			}
			for _, path := range puts {
				_, doc, _ := a.speak("GET", path, "")
				body, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				_, answer, _ := a.speak("PUT", path, string(body))
				switch code := value.Str(answer, "error", "code"); code {
				case "InvalidRequestFormat", "InvalidRequestContent", "InvalidParameter":
					t.Errorf("%s: %v", path, answer)
				}
			}
		})
	}
}
