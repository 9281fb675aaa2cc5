package azuresim

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

func (a *azure) group() {
	a.t.Helper()
	a.carried("PUT", "resourcegroups/g", `{"location": "westeurope"}`)
}

// refusal returns the error code of the answer to a request.
func (a *azure) refusal(method, path, body string) string {
	a.t.Helper()
	_, answer, _ := a.speak(method, path, body)
	return value.Str(answer, "error", "code")
}

func TestPrivateDNS(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	a.carried("PUT", vnetPath("v"), vnetBody)
	zone := "resourceGroups/g/providers/Microsoft.Network/privateDnsZones/casement.test"
	a.carried("PUT", zone, `{"location": "global"}`)
	a.carried("PUT", zone+"/virtualNetworkLinks/l", `{"location": "global", "properties": `+
		`{"registrationEnabled": true, "virtualNetwork": {"id": `+
		`"/subscriptions/`+engine.DefaultSubscription+"/"+vnetPath("v")+`"}}}`)
	if r := a.carried("PUT", zone+"/A/api", `{"properties": {"ttl": 300, "aRecords": [{"ipv4Address": `+
		`"10.0.0.4"}]}}`); value.Str(r, "properties", "fqdn") != "api.casement.test." {
		t.Errorf("record set %v", r)
	}
	p := value.Sub(a.carried("GET", zone, ""), "properties")
	if got := fmt.Sprint(p["numberOfRecordSets"], p["numberOfVirtualNetworkLinks"],
		p["numberOfVirtualNetworkLinksWithRegistration"]); got != "2 1 1" {
		t.Errorf("record sets, links and registering links: %s, want 2 1 1", got)
	}
	var types []string
	for _, r := range value.Items(a.carried("GET", zone+"/ALL", ""), "value") {
		types = append(types, value.Str(r, "type"))
	}
	if got := strings.Join(types, " "); got != "Microsoft.Network/privateDnsZones/A Microsoft.Network/privateDnsZones/SOA" {
		t.Errorf("all record sets: %s", got)
	}
	if code := a.refusal("DELETE", zone, ""); code != "CannotDeleteResource" {
		t.Errorf("delete of a zone with a link: %q", code)
	}
	if code := a.refusal("DELETE", zone+"/SOA/@", ""); code != "CannotDeleteSoaRecordSet" {
		t.Errorf("delete of the SOA record set: %q", code)
	}
	a.carried("DELETE", zone+"/virtualNetworkLinks/l", "")
	a.carried("DELETE", zone, "")
}

func TestPeering(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	peer := func(from, to string) string {
		return value.Str(a.carried("PUT", vnetPath(from)+"/virtualNetworkPeerings/p", `{"properties": `+
			`{"remoteVirtualNetwork": {"id": `+
			`"/subscriptions/`+engine.DefaultSubscription+"/"+vnetPath(to)+`"}}}`), "properties", "peeringState")
	}
	a.carried("PUT", vnetPath("v"), vnetBody)
	a.carried("PUT", vnetPath("w"), strings.ReplaceAll(vnetBody, "10.0", "10.9"))
	if got := peer("v", "w"); got != "Initiated" {
		t.Errorf("one side: %s", got)
	}
	if got := peer("w", "v"); got != "Connected" {
		t.Errorf("both sides: %s", got)
	}
	got := a.carried("GET", vnetPath("v")+"/virtualNetworkPeerings/p", "")
	if s := fmt.Sprintf("%s %v", value.Str(got, "properties", "peeringState"),
		value.At(got, "properties", "remoteAddressSpace", "addressPrefixes")); s != "Connected [10.9.0.0/16]" {
		t.Errorf("the first side then: %s", s)
	}
	a.carried("DELETE", vnetPath("w"), "")
	if got := value.Str(a.carried("GET", vnetPath("v")+"/virtualNetworkPeerings/p", ""), "properties",
		"peeringState"); got != "Disconnected" {
		t.Errorf("without the other: %s", got)
	}
}

func TestBastion(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	subnet := func(name, prefix string) string {
		return value.Str(a.carried("PUT", vnetPath("v")+"/subnets/"+name, `{"properties": {"addressPrefix": "`+prefix+`"}}`), "id")
	}
	a.carried("PUT", vnetPath("v"), vnetBody)
	path := "resourceGroups/g/providers/Microsoft.Network/bastionHosts/b"
	body := func(subnet string) string {
		return `{"location": "westeurope", "properties": {"ipConfigurations": [{"name": "c", "properties": ` +
			`{"subnet": {"id": "` + subnet + `"}}}]}}`
	}
	if code := a.refusal("PUT", path, body(subnet("nodes", "10.0.1.0/24"))); code != "BastionHostSubnetNameInvalid" {
		t.Errorf("a subnet of another name: %q", code)
	}
	small := subnet("AzureBastionSubnet", "10.0.2.0/28")
	if code := a.refusal("PUT", path, body(small)); code != "BastionHostSubnetSizeTooSmall" {
		t.Errorf("a small subnet: %q", code)
	}
	subnet("AzureBastionSubnet", "10.0.2.0/26")
	a.carried("PUT", path, body(small))
	if name := value.Str(a.carried("GET", path, ""), "properties", "dnsName"); !strings.HasSuffix(name, ".bastion.azure.com") {
		t.Errorf("DNS name %q", name)
	}
	if code := a.refusal("DELETE", vnetPath("v")+"/subnets/AzureBastionSubnet", ""); code != "InUseSubnetCannotBeDeleted" {
		t.Errorf("delete of the bastion's subnet: %q", code)
	}
}

// TestDisksOfAVM attaches a disk, detaches it, and changes the size.
func TestDisksOfAVM(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	nic := a.network()
	vm, disk := "resourceGroups/g/providers/Microsoft.Compute/virtualMachines/w", "resourceGroups/g/providers/Microsoft.Compute/disks/d"
	image := `{"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": ` +
		`"2022-datacenter-core-smalldisk", "version": "latest"}`
	a.carried("PUT", vm, `{"location": "westeurope", "identity": {"type": "SystemAssigned"}, "properties": `+
		`{"hardwareProfile": {"vmSize": "Standard_D2s_v3"}, "storageProfile": `+
		`{"imageReference": `+image+`, "osDisk": {"createOption": "fromImage"}},
		"osProfile": {"computerName": "w", "adminUsername": "u", "adminPassword": "Correct-Horse-1"},
			"networkProfile": {"networkInterfaces": [{"id": "`+
		nic+`"}]}}}`)
	made := a.carried("GET", vm, "")
	if got := value.Str(made, "properties", "storageProfile", "osDisk", "osType"); got != "Windows" ||
		value.At(made, "properties", "osProfile", "windowsConfiguration") == nil {
		t.Errorf("the system is %q: that of the image was not taken over", got)
	}
	if value.Str(made, "identity", "principalId") == "" {
		t.Error("a system-assigned identity has no principal")
	}
	id := value.Str(a.carried("PUT", disk, `{"location": "westeurope", "properties": {"creationData": `+
		`{"createOption": "Empty"}, "diskSizeGB": 32}}`), "id")
	a.carried("PATCH", vm, `{"properties": {"storageProfile": {"dataDisks": [{"lun": 0, "createOption": `+
		`"Attach", "managedDisk": {"id": "`+id+`"}}]}}}`)
	if d := a.carried("GET", disk, ""); value.Str(d, "properties", "diskState") != "Attached" || value.Str(d, "managedBy") == "" {
		t.Errorf("the disk after its attachment: %v", d)
	}
	if code := a.refusal("DELETE", disk, ""); code != "OperationNotAllowed" {
		t.Errorf("delete of an attached disk: %q", code)
	}
	if code := a.refusal("PATCH", vm, `{"properties": {"hardwareProfile": {"vmSize": "Standard_NoSuch"}}}`); code != "InvalidParameter" {
		t.Errorf("a size there is not: %q", code)
	}
	a.carried("PATCH", vm, `{"properties": {"hardwareProfile": {"vmSize": "Standard_D4s_v3"}, "storageProfile": {"dataDisks": []}}}`)
	if got := value.Str(a.carried("GET", vm, ""), "properties", "storageProfile", "osDisk", "managedDisk",
		"id"); got != value.Str(made, "properties", "storageProfile", "osDisk", "managedDisk", "id") {
		t.Errorf("the system disk became %q", got)
	}
	a.carried("DELETE", disk, "")
	if code := a.refusal("POST", vm+"/runCommand", `{"commandId": "RunShellScript"}`); code != "InvalidParameter" {
		t.Errorf("a shell script on Windows: %q", code)
	}
}

// TestSourceOfSnapshot: a copy has the size of its source, which may be given by its URI.
func TestSourceOfSnapshot(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	const space = "resourceGroups/g/providers/Microsoft.Compute/"
	a.carried("PUT", space+"disks/d", `{"location": "westeurope", "properties": {"creationData": {"createOption": "Empty"}, "diskSizeGB": 7}}`)
	for _, field := range []string{"sourceResourceId", "sourceUri"} {
		for _, of := range []string{"snapshots", "disks"} {
			path := space + of + "/" + field
			a.carried("PUT", path, `{"location": "westeurope", "properties": {"creationData": {"createOption": "Copy", "`+field+
				`": "/subscriptions/`+engine.DefaultSubscription+"/"+space+`disks/d"}}}`)
			if n, _ := value.Int(a.carried("GET", path, ""), "properties", "diskSizeGB"); n != 7 {
				t.Errorf("a copy by %s in %s has %d GiB", field, of, n)
			}
		}
	}
}

// TestVault writes a secret through the data plane, with the challenge that SDKs expect first.
func TestVault(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	a.carried("PUT", "resourceGroups/g/providers/Microsoft.KeyVault/vaults/kv1",
		`{"location": "westeurope", "properties": {"tenantId": "`+engine.DefaultTenant+`"}}`)
	do := func(method, path, body, token string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), method,
			"https://kv1."+VaultDomain+path+"?api-version=7.4", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := a.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	resp := do("GET", "/secrets/s", "", "")
	if c := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != 401 ||
		!strings.Contains(c, `resource="https://`+VaultDomain+`"`) {
		t.Errorf("without a token: %d, challenge %q", resp.StatusCode, c)
	}
	token := a.Token("c", "c", "https://"+VaultDomain)
	for _, step := range []struct {
		method, path, body string
		status             int
	}{{"GET", "/secrets/s", "", 404}, {"PUT", "/secrets/s", `{"value": "v"}`, 200}, {
		"PUT", "/secrets/s", `{}`, 400,
	}, {"GET", "/secrets/s", "", 200}, {"GET", "/secrets/s/none", "", 404}, {"GET", "/secrets", "", 200},
		{"POST", "/keys/k/create", `{"kty": "RSA"}`, 501}, {"DELETE", "/secrets/s", "", 200}, {"GET", "/secrets/s", "", 404}} {
		if resp := do(step.method, step.path, step.body, token); resp.StatusCode != step.status {
			t.Errorf("%s %s: %d, want %d", step.method, step.path, resp.StatusCode, step.status)
		}
	}
}

func TestCheckResourceName(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	for name, want := range map[string]string{"demo": "Allowed", "MyWindowsVault": "Reserved"} {
		if got := value.Str(a.carried("POST", "/providers/Microsoft.Resources/checkResourceName",
			`{"name": "`+name+`", "type": "Microsoft.KeyVault/vaults"}`), "status"); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if code := a.refusal("POST", "/providers/Microsoft.Resources/checkResourceName", `{"name": "demo"}`); code != "InvalidRequestContent" {
		t.Errorf("without a type: %q", code)
	}
}

// TestDeletedBalancer: the delete of a load balancer removes interfaces from its pools.
func TestDeletedBalancer(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	for _, s := range samples() {
		if strings.Contains(s.path, "Network/virtualNetworks/v") ||
			strings.HasSuffix(s.path, "/publicIPAddresses/i") || strings.HasSuffix(s.path, "/loadBalancers/l") ||
			strings.HasSuffix(s.path, "/networkInterfaces/c") || strings.HasSuffix(s.path, "resourceGroups/g") {
			if s.method == "PUT" && !strings.Contains(s.path, "/subnets/") && !strings.Contains(s.path, "Peerings") {
				a.carried(s.method, s.path, s.body)
			}
		}
	}
	nic, balancer := "resourceGroups/g/providers/Microsoft.Network/networkInterfaces/c",
		"resourceGroups/g/providers/Microsoft.Network/loadBalancers/l"
	pools := func() int {
		return len(value.Items(value.Items(a.carried("GET", nic, ""), "properties", "ipConfigurations")[0],
			"properties", "loadBalancerBackendAddressPools"))
	}
	if n := pools(); n != 1 {
		t.Fatalf("the interface is in %d pools, want 1", n)
	}
	a.carried("DELETE", balancer, "")
	if n := pools(); n != 0 {
		t.Errorf("after the load balancer's delete the interface is in %d pools", n)
	}
	a.settle()
	a.consistent()
	a.whole()
}

// TestTwoConfigurations: the dynamic addresses of one interface differ, and a released address is
// allocated again.
func TestTwoConfigurations(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	subnet := "/subscriptions/" + engine.DefaultSubscription + "/" + vnetPath("v") + "/subnets/s"
	a.carried("PUT", vnetPath("v"), strings.Replace(vnetBody, `"addressSpace"`,
		`"subnets": [{"name": "s", "properties": {"addressPrefix": "10.0.0.0/28"}}], "addressSpace"`, 1))
	nic := func(name string, configs int) []string {
		var in []string
		for i := range configs {
			in = append(in, fmt.Sprintf(`{"name": "c%d", "properties": {"subnet": {"id": %q}}}`, i, subnet))
		}
		r := a.carried("PUT", "resourceGroups/g/providers/Microsoft.Network/networkInterfaces/"+name,
			`{"location": "westeurope", "properties": {"ipConfigurations": [`+strings.Join(in, ",")+`]}}`)
		var out []string
		for _, c := range value.Items(r, "properties", "ipConfigurations") {
			out = append(out, value.Str(c, "properties", "privateIPAddress"))
		}
		return out
	}
	if got := fmt.Sprint(nic("a", 2), nic("b", 1)); got != "[10.0.0.4 10.0.0.5] [10.0.0.6]" {
		t.Errorf("addresses %s", got)
	}
	a.carried("DELETE", "resourceGroups/g/providers/Microsoft.Network/networkInterfaces/a", "")
	if got := fmt.Sprint(nic("d", 3)); got != "[10.0.0.4 10.0.0.5 10.0.0.7]" {
		t.Errorf("addresses %s, want the two given back and the next", got)
	}
	nic("e", 7)
	if code := a.refusal("PUT", "resourceGroups/g/providers/Microsoft.Network/networkInterfaces/f", fmt.Sprintf(`{"location": `+
		`"westeurope", "properties": {"ipConfigurations": [{"name": "c", "properties": {"subnet": {"id": `+
		`%q}}}]}}`, subnet)); code != "SubnetIsFull" {
		t.Errorf("an address of a full subnet: %q", code)
	}
	a.consistent()
}
