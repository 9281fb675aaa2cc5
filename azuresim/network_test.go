package azuresim

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

func networkPath(rest string) string {
	return "resourceGroups/g/providers/Microsoft.Network/" + rest
}

func idOf(path string) string { return "/subscriptions/" + engine.DefaultSubscription + "/" + path }

// TestPublicName requests the name of a public IP with the local Azure's own address and with
// Azure's name.
func TestPublicName(t *testing.T) {
	a := start(t, Config{FQDN: func(_, _, ip string) string { return ip }})
	defer a.Close()
	a.group()
	path := networkPath("publicIPAddresses/p")
	a.carried("PUT", path, `{"location": "westeurope", "properties": {"dnsSettings": {"domainNameLabel": "label"}}}`)
	for host, want := range map[string]string{"azure.test": "203.0.113.1", "management.azure.com": "label.westeurope.cloudapp.azure.com"} {
		req, err := http.NewRequest(http.MethodGet, "https://"+host+idOf(path)+"?api-version=2023-05-01", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+a.Token("tester", "tester", "https://"+host))
		resp, err := a.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var answer value.Object
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := value.Str(answer, "properties", "dnsSettings", "fqdn"); got != want {
			t.Errorf("asked at %s: %q, want %q", host, got, want)
		}
	}
}

// TestWritesAtOnce tests writes that Azure completes before it answers, and writes that it
// does not.
func TestWritesAtOnce(t *testing.T) { synctest.Test(t, writesAtOnce) }

func writesAtOnce(t *testing.T) {
	a := start(t, Config{Latency: RealTime})
	defer a.Close()
	a.group()
	a.carried("PUT", vnetPath("v"), strings.Replace(vnetBody, `"addressSpace"`,
		`"subnets": [{"name": "s", "properties": {"addressPrefix": "10.0.0.0/24"}}], "addressSpace"`, 1))
	tagged := strings.Replace(vnetBody, "{", `{"tags": {"a": "b"}, `, 1)
	for _, tc := range []struct{ name, path, body, state, retryAfter string }{
		{"tags alone", vnetPath("v"), tagged, "Succeeded", ""},
		{"another address space", vnetPath("v"),
			strings.Replace(tagged, `"10.0.0.0/16"`, `"10.0.0.0/16", "10.1.0.0/16"`, 1), "Updating", "3"},
		{"a part as it is", vnetPath("v") + "/subnets/s", `{"properties": {"addressPrefix": "10.0.0.0/24"}}`, "Succeeded", ""},
	} {
		status, answer, h := a.speak("PUT", tc.path, tc.body)
		if got := value.Str(answer, "properties", "provisioningState"); status != 200 || got != tc.state ||
			h.Get("Retry-After") != tc.retryAfter || h.Get("Azure-AsyncOperation") == "" {
			t.Errorf("%s: %d, state %q, %v", tc.name, status, got, h)
		}
		if err := a.Server.AwaitIdle(idOf(vnetPath("v"))); err != nil {
			t.Fatal(err)
		}
	}
	status, answer, h := a.speak("PUT", networkPath("networkInterfaces/n"), `{"location": "westeurope", `+
		`"properties": {"ipConfigurations": [{"name": "c", "properties": {"subnet": {"id": `+
		`"`+idOf(vnetPath("v")+"/subnets/s")+`"}}}]}}`)
	if got := value.Str(answer, "properties", "provisioningState"); status != 201 || got != "Succeeded" ||
		h.Get("Azure-AsyncOperation") != "" {
		t.Errorf("an interface without a machine: %d, state %q, %v", status, got, h)
	}
}

// TestConcurrentParts writes two parts of one parent at the same time.
func TestConcurrentParts(t *testing.T) { synctest.Test(t, concurrentParts) }

func concurrentParts(t *testing.T) {
	a := start(t, Config{Latency: RealTime})
	defer a.Close()
	a.group()
	a.carried("PUT", networkPath("routeTables/r"), `{"location": "westeurope"}`)
	a.carried("PUT", networkPath("networkSecurityGroups/n"), `{"location": "westeurope"}`)
	route := `{"properties": {"addressPrefix": "10.0.0.0/8", "nextHopType": "None"}}`
	a.speak("PUT", networkPath("routeTables/r/routes/one"), route)
	status, answer, h := a.speak("PUT", networkPath("routeTables/r/routes/two"), route)
	details := value.Items(answer, "error", "details")
	if status != 429 || value.Str(answer, "error", "code") != "RetryableError" || h.Get("Retry-After") == "" ||
		len(details) != 1 || !strings.HasPrefix(value.Str(details[0], "message"), "Operation PutRouteOperation (") {
		t.Errorf("a second route: %d %v %v", status, answer, h)
	}
	for i, name := range []string{"one", "two"} {
		body := `{"properties": {"priority": 10` + string(rune('0'+i)) + `, "direction": "Inbound", "access": "Allow", "protocol": "*", ` +
			`"sourcePortRange": "*", "sourceAddressPrefix": "*", "destinationPortRange": "*", "destinationAddressPrefix": "*"}}`
		if status, answer, _ := a.speak("PUT", networkPath("networkSecurityGroups/n/securityRules/"+name), body); status != 201 {
			t.Errorf("rule %s: %d %v", name, status, answer)
		}
	}
	if status, _, _ := a.speak("PUT", networkPath("networkSecurityGroups/n/securityRules/two"),
		`{"properties": {"priority": 200, "direction": "Inbound"}}`); status == 200 {
		t.Error("a rule is written twice at a time")
	}
}

// TestPrivateEndpoint follows an endpoint, its interface and its names from the
// beginning to the end.
func TestPrivateEndpoint(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	a.carried("PUT", vnetPath("v"), strings.Replace(vnetBody, `"addressSpace"`,
		`"subnets": [{"name": "s", "properties": {"addressPrefix": "10.0.0.0/24"}}], "addressSpace"`, 1))
	zone := networkPath("privateDnsZones/privatelink.vaultcore.azure.net")
	a.carried("PUT", zone, `{"location": "global"}`)
	path := networkPath("privateEndpoints/e")
	a.carried("PUT", path, `{"location": "westeurope", "properties": {"subnet": {"id": "`+idOf(vnetPath("v")+"/subnets/s")+`"},
		"privateLinkServiceConnections": [{"name": "c", "properties": {"groupIds": ["vault"], "privateLinkServiceId": "`+
		idOf("resourceGroups/g/providers/Microsoft.KeyVault/vaults/kv")+`"}}]}}`)
	a.carried("PUT", path+"/privateDnsZoneGroups/z",
		`{"properties": {"privateDnsZoneConfigs": [{"name": "c", "properties": {"privateDnsZoneId": "`+idOf(zone)+`"}}]}}`)
	if got := value.Items(a.carried("GET", zone+"/A/kv", ""), "properties", "aRecords"); len(got) != 1 ||
		value.Str(got[0], "ipv4Address") != "10.0.0.4" {
		t.Errorf("the record in the zone: %v", got)
	}
	var nics []string
	for _, n := range value.Items(a.carried("GET", path, ""), "properties", "networkInterfaces") {
		nics = append(nics, value.Str(n, "id"))
	}
	if len(nics) != 1 || !strings.HasPrefix(nics[0], idOf(networkPath("networkInterfaces/e.nic."))) {
		t.Fatalf("interfaces of the endpoint: %v", nics)
	}
	for what, target := range map[string]string{"NicInUseWithPrivateEndpoint": nics[0], "InUseSubnetCannotBeDeleted": vnetPath("v")} {
		if code := a.refusal("DELETE", target, ""); code != what {
			t.Errorf("delete of %s: %q, want %s", target, code, what)
		}
	}
	a.carried("DELETE", path, "")
	for _, gone := range slices.Concat(nics, []string{zone + "/A/kv", path + "/privateDnsZoneGroups/z"}) {
		if status, _, _ := a.speak("GET", gone, ""); status != 404 {
			t.Errorf("%s is there without the endpoint: %d", gone, status)
		}
	}
	a.carried("DELETE", "resourcegroups/g", "")
}
