package azuresim

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// sample is a valid request, from which the fuzzer derives others.
type sample struct{ method, path, body string }

// samples returns valid requests of every kind, in an order in which each finds the resources that
// it needs. G is the ID of the group; N and C are the IDs of the network and compute provider in
// it, S is the subscription's.
func samples() []sample {
	in := []sample{
		{"PUT", "G", `{"location":"westeurope","tags":{"a":"b"}}`},
		{"PUT", "N/virtualNetworks/v", `{"location":"westeurope",` +
			`"properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/8"]},"subnets":[{"name":"s",` +
			`"properties":{"addressPrefix":"10.1.0.0/16"}},{"name":"AzureBastionSubnet",` +
			`"properties":{"addressPrefixes":["10.2.0.0/24"]}}]}}`},
		{"PUT", "N/virtualNetworks/v/subnets/t", `{"properties":{"addressPrefix":"10.3.0.0/16",` +
			`"networkSecurityGroup":null,"delegations":[{"name":"d","properties":{"serviceName":"x"}}]}}`},
		{"PUT", "N/virtualNetworks/v/virtualNetworkPeerings/p",
			`{"properties":{"remoteVirtualNetwork":{"id":"N/virtualNetworks/v"},"allowForwardedTraffic":true}}`},
		{"PUT", "N/networkSecurityGroups/n", `{"location":"westeurope",` +
			`"properties":{"securityRules":[{"name":"r","properties":{"protocol":"Tcp","access":"Allow",` +
			`"direction":"Inbound","priority":100,"sourceAddressPrefix":"*","sourcePortRange":"*",` +
			`"destinationAddressPrefix":"*","destinationPortRanges":["80","90-99"]}}]}}`},
		{"PUT", "N/networkSecurityGroups/n/securityRules/q", `{"properties":{"protocol":"*","access":"Deny",` +
			`"direction":"Outbound","priority":200,"sourceAddressPrefix":"*","sourcePortRange":"*",` +
			`"destinationAddressPrefix":"*","destinationPortRange":"*"}}`},
		{"PUT", "N/routeTables/r", `{"location":"westeurope","properties":{"routes":[{"name":"x",` +
			`"properties":{"addressPrefix":"10.5.0.0/16","nextHopType":"VirtualAppliance",` +
			`"nextHopIpAddress":"10.1.0.9"}}]}}`},
		{"PUT", "N/publicIPAddresses/i", `{"location":"westeurope","sku":{"name":"Standard"},"zones":["1"],` +
			`"properties":{"publicIPAllocationMethod":"Static","dnsSettings":{"domainNameLabel":"xyz"}}}`},
		{"PUT", "N/publicIPPrefixes/i", `{"location":"westeurope","sku":{"name":"Standard"},"properties":{"prefixLength":30}}`},
		{"PUT", "N/natGateways/g", `{"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIpAddresses":[]}}`},
		{"PUT", "N/loadBalancers/l", `{"location":"westeurope","sku":{"name":"Standard"},` +
			`"properties":{"frontendIPConfigurations":[{"name":"f",` +
			`"properties":{"publicIPAddress":{"id":"N/publicIPAddresses/i"}}}],` +
			`"backendAddressPools":[{"name":"b"}],"probes":[{"name":"p","properties":{"protocol":"Tcp",` +
			`"port":6443}}],"loadBalancingRules":[{"name":"r",` +
			`"properties":{"frontendIPConfiguration":{"id":"N/loadBalancers/l/frontendIPConfigurations/f"},` +
			`"backendAddressPool":{"id":"N/loadBalancers/l/backendAddressPools/b"},` +
			`"probe":{"id":"N/loadBalancers/l/probes/p"},"protocol":"Tcp","frontendPort":6443,` +
			`"backendPort":6443}}],"outboundRules":[],"inboundNatRules":[]}}`},
		{"PUT", "N/networkInterfaces/c", `{"location":"westeurope",` +
			`"properties":{"ipConfigurations":[{"name":"c",` +
			`"properties":{"subnet":{"id":"N/virtualNetworks/v/subnets/s"},` +
			`"loadBalancerBackendAddressPools":[{"id":"N/loadBalancers/l/backendAddressPools/b"}]}}]}}`},
		{"PUT", "N/bastionHosts/b", `{"location":"westeurope","properties":{"ipConfigurations":[{"name":"c",` +
			`"properties":{"subnet":{"id":"N/virtualNetworks/v/subnets/AzureBastionSubnet"},` +
			`"publicIPAddress":{"id":"N/publicIPAddresses/i"}}}]}}`},
		{"PUT", "N/privateDnsZones/z", `{"location":"global"}`},
		{"PUT", "N/privateDnsZones/z/A/a", `{"properties":{"ttl":60,"aRecords":[{"ipv4Address":"10.0.0.4"}]}}`},
		{"PUT", "N/privateDnsZones/z/virtualNetworkLinks/l", `{"location":"global",` +
			`"properties":{"virtualNetwork":{"id":"N/virtualNetworks/v"},"registrationEnabled":false}}`},
		{"PUT", "C/disks/d", `{"location":"westeurope","sku":{"name":"Premium_LRS"},` +
			`"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":10}}`},
		{"PUT", "C/availabilitySets/a", `{"location":"westeurope","sku":{"name":"Aligned"},"properties":{"platformFaultDomainCount":2}}`},
		{"PUT", "C/virtualMachines/m", `{"location":"westeurope",` +
			`"properties":{"hardwareProfile":{"vmSize":"Standard_D2s_v3"},` +
			`"storageProfile":{"imageReference":{"publisher":"MicrosoftWindowsServer","offer":"WindowsServer",` +
			`"sku":"2019-Datacenter","version":"latest"},"osDisk":{"createOption":"FromImage","diskSizeGB":128,` +
			`"managedDisk":{"storageAccountType":"Premium_LRS"}},"dataDisks":[{"lun":0,"createOption":"Empty",` +
			`"diskSizeGB":4}]},"osProfile":{"computerName":"w","adminUsername":"capi",` +
			`"adminPassword":"Correct-Horse-1","customData":"e30=",` +
			`"windowsConfiguration":{"provisionVMAgent":true}},` +
			`"networkProfile":{"networkInterfaces":[{"id":"N/networkInterfaces/c","properties":{"primary":true,` +
			`"deleteOption":"Delete"}}]},"priority":"Regular"}}`},
		{"PUT", "C/virtualMachines/m/extensions/e", `{"location":"westeurope",` +
			`"properties":{"publisher":"Microsoft.Azure.ContainerUpstream","type":"CAPZ.Windows.Bootstrapping",` +
			`"typeHandlerVersion":"1.0","settings":{},"protectedSettings":{"commandToExecute":"exit 0"}}}`},
		{"PUT", "C/virtualMachineScaleSets/s", `{"location":"westeurope","zones":["1","2"],` +
			`"sku":{"name":"Standard_D2s_v3","capacity":2},"properties":{"orchestrationMode":"Uniform",` +
			`"overprovision":false,"upgradePolicy":{"mode":"Rolling",` +
			`"rollingUpgradePolicy":{"maxBatchInstancePercent":50}},` +
			`"virtualMachineProfile":{"storageProfile":{"imageReference":{"publisher":"MicrosoftWindowsServer",` +
			`"offer":"WindowsServer","sku":"2019-Datacenter","version":"latest"},` +
			`"osDisk":{"createOption":"FromImage"}},"osProfile":{"computerNamePrefix":"w",` +
			`"adminUsername":"capi","adminPassword":"Correct-Horse-1"},` +
			`"networkProfile":{"networkInterfaceConfigurations":[{"name":"n","properties":{"primary":true,` +
			`"ipConfigurations":[{"name":"c",` +
			`"properties":{"subnet":{"id":"N/virtualNetworks/v/subnets/s"}}}]}}]}}}}`},
		{"PUT", "C/galleries/g", `{"location":"westeurope","properties":{"sharingProfile":{"permissions":"Private"}}}`},
		{"PUT", "C/galleries/g/images/i", `{"location":"westeurope","properties":{"osType":"Windows",` +
			`"osState":"Generalized","hyperVGeneration":"V2","identifier":{"publisher":"p","offer":"o",` +
			`"sku":"s"}}}`},
		{"PUT", "C/images/i", `{"location":"westeurope","properties":{"hyperVGeneration":"V2",` +
			`"storageProfile":{"osDisk":{"osType":"Windows","osState":"Generalized",` +
			`"managedDisk":{"id":"C/disks/d"}}}}}`},
		{"PUT", "C/galleries/g/images/i/versions/1.0.0", `{"location":"westeurope",` +
			`"properties":{"publishingProfile":{"targetRegions":[{"name":"westeurope"}]},` +
			`"storageProfile":{"source":{"id":"C/images/i"}}}}`},
		{"PUT", "G/providers/Microsoft.ManagedIdentity/userAssignedIdentities/u", `{"location":"westeurope"}`},
		{"PUT", "G/providers/Microsoft.ManagedIdentity/userAssignedIdentities/u/federatedIdentityCredentials/fic",
			`{"properties":{"issuer":"https://i/","subject":"s","audiences":["a"]}}`},
		{"PUT", "G/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-000000000001",
			`{"properties":{"roleDefinitionId":"S/` +
				`providers/Microsoft.Authorization/roleDefinitions/b24988ac-6180-42a0-ab88-20f7382dd24c",` +
				`"principalId":"00000000-0000-0000-0000-000000000002","principalType":"ServicePrincipal"}}`},
		{"PUT", "G/providers/Microsoft.Authorization/locks/l", `{"properties":{"level":"ReadOnly"}}`},
		{"DELETE", "G/providers/Microsoft.Authorization/locks/l", ``},
		{"PUT", "G/providers/Microsoft.KeyVault/vaults/vlt", `{"location":"westeurope","properties":{"tenantId":"` +
			engine.DefaultTenant + `","sku":{"family":"A","name":"standard"},"accessPolicies":[]}}`},
		{"PUT", "G/providers/Microsoft.Resources/deployments/d", `{"properties":{"mode":"Incremental",` +
			`"template":{"$schema":"x","contentVersion":"1.0.0.0","parameters":{"n":{"type":"string",` +
			`"defaultValue":"t"}},"variables":{"v":"[concat(parameters('n'),'x')]"},` +
			`"resources":[{"type":"Microsoft.Network/publicIPAddresses","apiVersion":"2024-01-01",` +
			`"name":"[variables('v')]","location":"westeurope","sku":{"name":"Standard"},"copy":{"name":"c",` +
			`"count":2},"properties":{"publicIPAllocationMethod":"Static"}}]},` +
			`"parameters":{"n":{"value":"u"}}}}`},
		{"PATCH", "G/providers/Microsoft.Resources/tags/default", `{"operation":"Merge","properties":{"tags":{"x":"y"}}}`},
		{"PATCH", "C/virtualMachines/m", `{"tags":{"x":"y"},"properties":{"storageProfile":{"dataDisks":[]}}}`},
		{"PATCH", "C/virtualMachineScaleSets/s", `{"sku":{"capacity":3}}`},
		{"POST", "C/virtualMachines/m/powerOff", ``},
		{"POST", "C/virtualMachines/m/start", ``},
		{"POST", "C/virtualMachines/m/runCommand",
			`{"commandId":"RunPowerShellScript","script":["hostname"],"parameters":[{"name":"a","value":"b"}]}`},
		{"POST", "C/virtualMachineScaleSets/s/delete", `{"instanceIds":["0"]}`},
		{"POST", "C/virtualMachineScaleSets/s/manualupgrade", `{"instanceIds":["*"]}`},
		{"POST", "C/disks/d/beginGetAccess", `{"access":"Read","durationInSeconds":60}`},
		{"POST", "G/exportTemplate", `{"resources":["*"]}`},
		{"POST", "S/providers/Microsoft.Network/register", ``},
		{"POST", "S/resourcegroups/g/validateMoveResources", `{"resources":[],"targetResourceGroup":"G"}`},
		{"GET", "S/resources", ""}, {"GET", "G/resources", ""}, {"GET", "S/providers", ""},
		{"GET", "S/locations", ""}, {"GET", "/tenants", ""},
		{"GET", "S/providers/Microsoft.Compute/skus", ""}, {"GET", "S/providers/Microsoft.Compute/locations/westeurope/usages", ""},
		{"GET", "S/providers/Microsoft.Compute/locations/westeurope/publishers/cncf-upstream/artifacttypes/vmimage/offers/capi/skus", ""},
		{"GET", "S/providers/Microsoft.Compute/virtualMachines", ""}, {"GET", "C/virtualMachines/m/instanceView", ""},
		{"GET", "C/virtualMachineScaleSets/s/virtualMachines/1/instanceView", ""}, {"HEAD", "S/resourcegroups/g", ""},
		{"POST", "/" + engine.DefaultTenant + "/oauth2/v2.0/token",
			"grant_type=client_credentials&client_id=c&client_secret=s&scope=x/.default"},
		{"GET", "/metadata/identity/oauth2/token", ""}, {"GET", "/common/discovery/instance", ""},
		{"DELETE", "C/virtualMachines/m", ""}, {"DELETE", "N/loadBalancers/l", ""}, {"DELETE", "N/virtualNetworks/v", ""},
	}
	subscription := "/subscriptions/" + engine.DefaultSubscription
	group := subscription + "/resourceGroups/g"
	place := func(s string) string {
		return strings.NewReplacer(`"N/`, `"`+group+"/providers/Microsoft.Network/", `"C/`,
			`"`+group+"/providers/Microsoft.Compute/", `"G"`, `"`+group+`"`, `"S/`, `"`+subscription+"/").Replace(s)
	}
	for i := range in {
		in[i].path = strings.Trim(place(`"`+in[i].path+`"`), `"`)
		in[i].path = strings.Replace(in[i].path, "G/", group+"/", 1)
		in[i].body = place(in[i].body)
	}
	return in
}

// ask sends a request and returns the status and the problem of the answer, "" for none.
func (a *azure) ask(method, target, header, value, body string) (status int, problem string) {
	u, err := url.Parse("https://azure.test" + target)
	if err != nil {
		return 0, "" // no client can send this request
	}
	r := &http.Request{Method: method, URL: u, Host: "azure.test",
		Header: http.Header{"Authorization": {"Bearer " + a.Token("f", "f", "https://azure.test")}},
		Body:   io.NopCloser(strings.NewReader(body))}
	r.Header.Set("Content-Type", "application/json")
	if strings.Contains(target, "/oauth2/") {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if header != "" {
		r.Header.Set(header, value)
	}
	resp, err := a.Do(r.WithContext(a.t.Context()))
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, complaint(method, target, resp, data)
}

// complaint returns the reason why a client of ARM would not understand an answer, "" if it would.
func complaint(method, target string, resp *http.Response, data []byte) string {
	if len(data) > 0 && !json.Valid(data) {
		return fmt.Sprintf("%d with a body that is no JSON: %.80q", resp.StatusCode, data)
	}
	if resp.StatusCode == http.StatusInternalServerError || resp.StatusCode < 200 || resp.StatusCode > 504 {
		return fmt.Sprintf("%d %.200s", resp.StatusCode, data)
	}
	if resp.StatusCode < 400 || method == http.MethodHead {
		return ""
	}
	var arm struct {
		Error struct{ Code, Message string }
	}
	var oauth struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if json.Unmarshal(data, &arm) == nil && arm.Error.Code != "" && arm.Error.Message != "" {
		return ""
	}
	login := strings.Contains(value.Lower(target), "/oauth2/") || strings.HasPrefix(value.Lower(target), "/metadata/identity/")
	if login && json.Unmarshal(data, &oauth) == nil && oauth.Error != "" && oauth.Description != "" {
		return ""
	}
	return fmt.Sprintf("%d with a body that is no error of ARM: %.200s", resp.StatusCode, data)
}

func FuzzRequests(f *testing.F) {
	for _, s := range samples() {
		f.Add(s.method, s.path, "api-version=2024-01-01", "If-Match", "*", s.body)
	}
	f.Add("GET", "/subscriptions//", "api-version=2024-01-01&$filter=tagName eq 'a' and (", "Authorization", "Bearer a.b.c", "")
	f.Add("GET", "/%2f%00", "$skiptoken=%ff&$top=-1", "Host", "", "{")
	f.Fuzz(func(t *testing.T, method, path, query, header, value, body string) {
		a := start(t, Config{})
		defer a.Close()
		for _, s := range samples()[:2] {
			a.ask(s.method, s.path+"?api-version=2024-01-01", "", "", s.body)
		}
		if _, problem := a.ask(method, path+"?"+query, header, value, body); problem != "" {
			t.Errorf("%s %s: %s", method, path, problem)
		}
	})
}

// odd returns a random value that may replace a property.
func odd(random *rand.Rand) any {
	values := []any{nil, true, -1.0, 1e300, 0.5, "", "*", "a", "10.0.0.0/33", "::/0", "/subscriptions/x",
		"/subscriptions/" + engine.DefaultSubscription + "/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v",
		strings.Repeat("x", 3000), "[concat(", "[parameters('n')]", "ü\u0000",
		[]any{}, []any{nil}, []any{map[string]any{}}, []any{"a", 1.0}, map[string]any{}, map[string]any{"id": "x"},
		map[string]any{"name": 5.0, "properties": nil}}
	return values[random.IntN(len(values))]
}

// bend replaces, removes or adds a value at a random place of a JSON value.
func bend(random *rand.Rand, v any) any {
	if random.IntN(6) == 0 {
		return odd(random)
	}
	switch v := v.(type) {
	case map[string]any:
		keys := value.SortedKeys(v)
		if len(keys) == 0 {
			return odd(random)
		}
		k := keys[random.IntN(len(keys))]
		switch random.IntN(8) {
		case 0:
			delete(v, k)
		case 1:
			v[strings.ToUpper(k)] = v[k]
		default:
			v[k] = bend(random, v[k])
		}
		return v
	case []any:
		if len(v) == 0 || random.IntN(8) == 0 {
			return append(v, odd(random))
		}
		i := random.IntN(len(v))
		v[i] = bend(random, v[i])
		return v
	}
	return odd(random)
}

// twist changes a random part of a path.
func twist(random *rand.Rand, path string) string {
	segments := strings.Split(path, "/")
	i := random.IntN(len(segments))
	switch random.IntN(7) {
	case 0:
		segments[i] = strings.ToUpper(segments[i])
	case 1:
		segments[i] = ""
	case 2:
		segments = append(segments[:i], segments[min(i+1, len(segments)):]...)
	case 3:
		segments = append(segments, []string{
			"subnets", "providers", "instanceView", "x", "..", "%2e%2e", "%25", "%zz", "operations",
		}[random.IntN(9)])
	case 4:
		segments[i] = "%C3%BC%00"
	case 5:
		segments = append(segments, segments[i:]...)
	}
	return strings.Join(segments, "/")
}

// TestBentRequests sends many randomly changed valid requests to one local Azure, which must answer
// all of them.
func TestBentRequests(t *testing.T) {
	random := rand.New(rand.NewPCG(17763, 20348))
	a := start(t, Config{})
	defer a.Close()
	methods := []string{"GET", "PUT", "PATCH", "POST", "DELETE", "HEAD", "OPTIONS", "TRACE", "get"}
	queries := []string{"", "$filter=", "$filter=" + url.QueryEscape("tagName eq 'a"), "$top=0", "$top=x",
		"$skiptoken=zz", "$expand=instanceView", "forceDeletion=maybe", "monitor=true"}
	headers := [][2]string{{"", ""}, {"If-Match", `W/"x"`}, {"If-None-Match", "*"},
		{"x-ms-correlation-request-id", "\u00ff"}, {"Authorization", "Bearer x"}, {"Accept", "text/plain"}}
	statuses := map[int]int{}
	for round := range 120 {
		if round%6 == 0 { // a group that is being deleted or is locked accepts no more writes
			if err := a.Reset(); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range samples() {
			method, path, body := s.method, s.path, s.body
			var v any
			switch random.IntN(4) {
			case 0: // unchanged, so that there are resources to change
			case 1:
				path = twist(random, path)
			case 2:
				method = methods[random.IntN(len(methods))]
			default:
				if json.Unmarshal([]byte(body), &v) == nil {
					data, err := json.Marshal(bend(random, v))
					if err != nil {
						t.Fatal(err)
					}
					body = string(data)
				} else {
					body = body[:random.IntN(len(body)+1)] + "{"
				}
			}
			h := headers[0]
			if random.IntN(10) == 0 {
				h = headers[random.IntN(len(headers))]
			}
			query := "?api-version=" + versionFor(path, "2024-01-01") + "&" + queries[max(0, random.IntN(2*len(queries))-len(queries))]
			status, problem := a.ask(method, path+query, h[0], h[1], body)
			statuses[status]++
			if problem != "" {
				t.Errorf("round %d: %s %s %s\n%.600s\n%s", round, method, path+query, h, body, problem)
			}
		}
	}
	if statuses[200] == 0 || statuses[201] == 0 || statuses[202] == 0 || statuses[400] == 0 || statuses[404] == 0 || statuses[409] == 0 {
		t.Errorf("the requests do not reach far: %v", statuses)
	}
	t.Log(statuses)
	a.consistent()
}

func TestMistakeCostsOneRequest(t *testing.T) {
	bad := engine.Provider{Namespace: "Microsoft.Test", Types: []engine.Type{{Name: "Microsoft.Test/bad",
		Sync: true, Prepare: func(t *engine.Tx, d, _ *engine.Doc) *engine.Error {
			t.Put(d)
			panic("a mistake")
		}}}}
	s, err := engine.Open(engine.Options{}, append(providers(Config{}), bad)...)
	if err != nil {
		t.Fatal(err)
	}
	a := &azure{Server: s, t: t}
	defer a.Close()
	group := "/subscriptions/" + engine.DefaultSubscription + "/resourceGroups/g"
	a.put(group, `{"location":"westeurope"}`)
	path := group + "/providers/Microsoft.Test/bad/x"
	if status, problem := a.ask("PUT", path+"?api-version=2024-01-01", "", "",
		`{"location":"westeurope"}`); status != 500 || !strings.Contains(problem, "InternalServerError") {
		t.Errorf("answered %d %s", status, problem)
	}
	if status, _ := a.ask("GET", path+"?api-version=2024-01-01", "", "", ""); status != 404 {
		t.Errorf("what the mistake wrote is there: %d", status)
	}
	a.put(group, `{"location":"westeurope","tags":{"still":"alive"}}`)
}
