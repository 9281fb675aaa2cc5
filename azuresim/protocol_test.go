package azuresim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/schema"
	"casement.dev/casement/azuresim/internal/value"
)

// speak sends a request as a client without any SDK does.
func (a *azure) speak(method, path, body string, headers ...string) (status int, answer value.Object, h http.Header) {
	a.t.Helper()
	if !strings.Contains(path, "api-version") {
		path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "api-version=" + versionFor(path, "2022-09-01")
	}
	if !strings.HasPrefix(path, "/") {
		path = "/subscriptions/" + engine.DefaultSubscription + "/" + path
	}
	req, err := http.NewRequestWithContext(a.t.Context(), method,
		"https://azure.test"+strings.ReplaceAll(path, " ", "%20"), strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.Token("tester", "tester", "https://azure.test"))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := a.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &answer); err != nil {
			a.t.Fatalf("%s %s: %v in %s", method, path, err, data)
		}
	}
	return resp.StatusCode, answer, resp.Header
}

// versionFor returns the newest API version of the type of a path that is not later than newest.
func versionFor(path, newest string) string {
	segments := strings.Split(strings.Trim(strings.SplitN(path, "?", 2)[0], "/"), "/")
	at := len(segments) - 1
	for at >= 0 && !strings.EqualFold(segments[at], "providers") {
		at--
	}
	kind := "Microsoft.Resources/resourceGroups"
	if at >= 0 && at+2 < len(segments) {
		kind = segments[at+1] + "/" + segments[at+2]
	}
	for _, v := range schema.Versions(kind) {
		if v <= newest && !strings.HasSuffix(v, "preview") {
			return v
		}
	}
	return newest
}

// carried sends a request, waits for the end of its operation and returns the final body.
func (a *azure) carried(method, path, body string) value.Object {
	a.t.Helper()
	status, answer, h := a.speak(method, path, body)
	if status >= 300 {
		a.t.Fatalf("%s %s: status %d, %v", method, path, status, answer)
	}
	if e := a.ended(h); e != nil {
		a.t.Fatalf("%s %s: %v", method, path, e)
	}
	return answer
}

// ended waits for the operation that an answer's headers name, and returns the operation's error.
func (a *azure) ended(h http.Header) *engine.Error {
	for _, name := range []string{"Azure-AsyncOperation", "Location"} {
		if at := h.Get(name); at != "" {
			at, _, _ = strings.Cut(at, "?")
			return a.Server.Ended(a.t.Context(), at[strings.LastIndex(at, "/")+1:])
		}
	}
	return nil
}

const vnetBody = `{"location": "westeurope", "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}}`

func vnetPath(name string) string {
	return "resourceGroups/g/providers/Microsoft.Network/virtualNetworks/" + name
}

func TestRefusedRequests(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.carried("PUT", "resourcegroups/g", `{"location": "westeurope"}`)
	a.carried("PUT", vnetPath("v"), vnetBody)
	a.carried("PUT", "resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/u?api-version=2023-01-31",
		`{"location": "westeurope"}`)
	for name, tc := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
		code               string
	}{
		"no api-version":           {"GET", "resourcegroups/g?api-version=", "", nil, 400, "MissingApiVersionParameter"},
		"malformed api-version":    {"GET", "resourcegroups/g?api-version=1", "", nil, 400, "InvalidApiVersionParameter"},
		"api-version of no type":   {"GET", vnetPath("v") + "?api-version=2999-01-01", "", nil, 400, "NoRegisteredProviderFound"},
		"a version that never was": {"GET", vnetPath("v") + "?api-version=2024-06-01", "", nil, 400, "NoRegisteredProviderFound"},
		"a version of another type": {"GET", "resourceGroups/g/providers/Microsoft.Compute/virtualMachines/v?api-version=2024-03-02", "", nil,
			400, "NoRegisteredProviderFound"},
		"a group's version that never was": {"GET", "resourcegroups/g?api-version=2023-01-31", "", nil, 400, "InvalidApiVersionParameter"},
		"no date":                          {"GET", vnetPath("v") + "?api-version=2024-13-01", "", nil, 400, "NoRegisteredProviderFound"},
		"another subscription": {"GET", "/subscriptions/00000000-0000-0000-0000-000000000bad/resourcegroups",
			"", nil, 404, "SubscriptionNotFound"},
		"a zone in a region": {"PUT", "resourceGroups/g/providers/Microsoft.Network/privateDnsZones/z.test",
			`{"location": "westeurope"}`, nil, 400, "LocationNotAvailableForResourceType"},
		"a type that never was":           {"PUT", networkPath("virtualNetwerks/v"), "{}", nil, 404, "InvalidResourceType"},
		"a list of a type that never was": {"GET", "providers/Microsoft.Network/virtualNetwerks", "", nil, 404, "InvalidResourceType"},
		"a child's type that never was":   {"PUT", vnetPath("v/bogus/b"), "{}", nil, 404, "InvalidResourceType"},
		"a look at no such child":         {"GET", vnetPath("v/bogus/b"), "", nil, 404, "InvalidResourceType"},
		"a child's version that never was": {"GET", vnetPath("v/subnets/s") + "?api-version=2024-06-01", "", nil, 400,
			"NoRegisteredProviderFound"},
		"a version of an unmodelled child": {"PUT", networkPath("networkInterfaces/n/tapConfigurations/t") + "?api-version=2024-06-01", "{}", nil,
			400, "NoRegisteredProviderFound"},
		"an action's version that never was": {"POST",
			"resourceGroups/g/providers/Microsoft.Compute/virtualMachines/v/start?api-version=2024-03-02",
			"", nil, 400, "NoRegisteredProviderFound"},
		"a child that is not modelled": {"PUT", networkPath("networkInterfaces/n/tapConfigurations/t"), "{}", nil, 501,
			"NotSupportedByLocalAzure"},
		"no version of a type that is not modelled": {"PUT", networkPath("cloudServiceSlots/v") + "?api-version=2024-06-01", "{}", nil,
			400, "NoRegisteredProviderFound"},
		"a type that is not modelled": {"PUT", networkPath("cloudServiceSlots/v"), "{}", nil, 501, "NotSupportedByLocalAzure"},
		"not modelled":                {"PUT", "resourceGroups/g/providers/Microsoft.Web/sites/s", "{}", nil, 501, "NotSupportedByLocalAzure"},
		"a look at no such type":      {"GET", "resourceGroups/g/providers/Microsoft.Web/sites/s", "", nil, 404, "ResourceNotFound"},
		"a delete in no group": {"DELETE", "resourceGroups/nope/providers/Microsoft.Network/virtualNetworks/v",
			"", nil, 404, "ResourceGroupNotFound"},
		"a delete below nothing":   {"DELETE", vnetPath("x") + "/subnets/s", "", nil, 404, "ResourceNotFound"},
		"no object":                {"PUT", vnetPath("x"), "[1]", nil, 400, "InvalidRequestContent"},
		"absent, to be changed":    {"PATCH", vnetPath("x"), "{}", nil, 404, "ResourceNotFound"},
		"If-Match of nothing":      {"PUT", vnetPath("x"), vnetBody, []string{"If-Match", "*"}, 412, "PreconditionFailed"},
		"If-Match of another":      {"PUT", vnetPath("v"), vnetBody, []string{"If-Match", `W/"other"`}, 412, "PreconditionFailed"},
		"If-Match of a delete":     {"DELETE", vnetPath("v"), "", []string{"If-Match", `W/"other"`}, 412, "PreconditionFailed"},
		"If-None-Match":            {"PUT", vnetPath("v"), vnetBody, []string{"If-None-Match", "*"}, 412, "PreconditionFailed"},
		"an unknown filter":        {"GET", "resources?$filter=color eq 'red'", "", nil, 400, "InvalidFilterInQueryString"},
		"a page of less than none": {"GET", "resources?$top=-1", "", nil, 400, "InvalidTopInQueryString"},
		"a token of no page":       {"GET", "resources?$skiptoken=!", "", nil, 400, "InvalidSkipToken"},
		"a lock of no level": {"PUT", "resourceGroups/g/providers/Microsoft.Authorization/locks/l",
			`{"properties": {"level": "Soft"}}`, nil, 400, "InvalidLockLevel"},
		"a role there is not": {"PUT", "providers/Microsoft.Authorization/roleAssignments/r", `{"properties": ` +
			`{"principalId": "p", "roleDefinitionId": "/subscriptions/s/providers/Microsoft.Authorization/` +
			`roleDefinitions/x"}}`, nil, 400, "RoleDefinitionDoesNotExist"},
		"a template with a hole": {"PUT", "resourcegroups/g/providers/Microsoft.Resources/deployments/d",
			`{"properties": {"mode": "Incremental", "template": {"$schema": "x", "contentVersion": "1",
				"resources": [{"type": "[nope()]"}]}}}`, nil, 400,
			"InvalidTemplate"},
		"a group's odd name": {"PUT", "resourceGroups/a!b", `{"location": "westeurope"}`, nil, 400, "InvalidResourceGroup"},
		"a vault's odd name": {"PUT", "resourceGroups/g/providers/Microsoft.KeyVault/vaults/a!b", `{"location": "westeurope"}`, nil,
			400, "VaultNameNotValid"},
		"a vault's doubled hyphen": {"PUT", "resourceGroups/g/providers/Microsoft.KeyVault/vaults/a--b", `{"location": "westeurope"}`, nil,
			400, "VaultNameNotValid"},
		"a credential's first hyphen": {"PUT", "resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/u/" +
			"federatedIdentityCredentials/-ab?api-version=2023-01-31",
			`{"properties": {"issuer": "https://i/", "subject": "s", "audiences": ["a"]}}`, nil, 400, "InvalidResourceName"},
		"a network's odd name":  {"PUT", vnetPath("%22%22"), vnetBody, nil, 400, "InvalidResourceName"},
		"a network's last dash": {"PUT", vnetPath("v-"), vnetBody, nil, 400, "InvalidResourceName"},
		"a subnet's odd name": {"PUT", vnetPath("v") + "/subnets/a+b",
			`{"properties": {"addressPrefix": "10.0.1.0/24"}}`, nil, 400, "InvalidResourceName"},
		"a disk's odd name": {"PUT", "resourceGroups/g/providers/Microsoft.Compute/disks/_d",
			`{"location": "westeurope", "properties": {"creationData": {"createOption": "Empty"}}}`, nil, 400,
			"InvalidParameter"},
		"a template by link": {"PUT", "resourcegroups/g/providers/Microsoft.Resources/deployments/d",
			`{"properties": {"templateLink": {"uri": "https://x"}}}`, nil, 501, "NotSupportedByLocalAzure"},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer, h := a.speak(tc.method, tc.path, tc.body, tc.headers...)
			if status != tc.status || value.Str(answer, "error", "code") != tc.code {
				t.Errorf("status %d, %v; want %d %s", status, answer, tc.status, tc.code)
			}
			if h.Get("x-ms-error-code") != tc.code {
				t.Errorf("x-ms-error-code is %q", h.Get("x-ms-error-code"))
			}
		})
	}
	if n := a.CallLog().Unsupported; n != 4 {
		t.Errorf("%d calls are counted as not modelled, want 4", n)
	}
}

// TestPages reads a list in pages while resources are created and deleted.
func TestPages(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.carried("PUT", "resourcegroups/g", `{"location": "westeurope"}`)
	for i := range 5 {
		a.carried("PUT", vnetPath(fmt.Sprint("v", i)), vnetBody)
	}
	var seen []string
	next := "resources?$top=2"
	for page := 0; next != ""; page++ {
		_, answer, _ := a.speak("GET", next, "")
		for _, r := range value.Items(answer, "value") {
			seen = append(seen, value.Str(r, "name"))
			if r["properties"] != nil {
				t.Errorf("%s shows its properties in a list of resources", value.Str(r, "name"))
			}
		}
		next = strings.TrimPrefix(value.Str(answer, "nextLink"), "https://azure.test")
		if page == 0 {
			a.carried("DELETE", vnetPath("v0"), "")
			a.carried("PUT", vnetPath("v9"), vnetBody)
		}
	}
	if got := strings.Join(seen, " "); got != "v0 v1 v2 v3 v4 v9" {
		t.Errorf("the pages have %s, want v0 v1 v2 v3 v4 v9: each once, whatever changes between", got)
	}
}

func TestFilters(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.carried("PUT", "resourcegroups/g", `{"location": "westeurope", "tags": {"Env": "test"}}`)
	a.carried("PUT", "resourcegroups/h", `{"location": "westeurope"}`)
	a.carried("PUT", vnetPath("web"), strings.Replace(vnetBody, "{", `{"tags": {"team": "win"}, `, 1))
	a.carried("PUT", vnetPath("db"), vnetBody)
	for filter, want := range map[string]string{
		"resources?$filter=resourceType eq 'microsoft.network/virtualnetworks'": "db web",
		"resources?$filter=resourceType eq 'Microsoft.Compute/disks'":           "",
		"resources?$filter=tagName eq 'team' and tagValue eq 'win'":             "web",
		"resources?$filter=tagName eq 'TEAM'":                                   "web",
		"resources?$filter=substringof('e', name)":                              "web",
		"resources?$filter=name eq 'db' or name eq 'web'":                       "db web",
		"resources?$filter=name ne 'db' and location eq 'westeurope'":           "web",
		"resources?$filter=startswith(tagName, 'te')":                           "web",
		"resourcegroups?$filter=tagName eq 'env' and tagValue eq 'test'":        "g",
		"resourcegroups?$filter=":                                               "g h",
	} {
		_, answer, _ := a.speak("GET", filter, "")
		var names []string
		for _, r := range value.Items(answer, "value") {
			names = append(names, value.Str(r, "name"))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %q, want %q", filter, got, want)
		}
	}
}

func TestTagsAndLocks(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.carried("PUT", "resourcegroups/g", `{"location": "westeurope"}`)
	a.carried("PUT", vnetPath("v"), vnetBody)
	tags := vnetPath("v") + "/providers/Microsoft.Resources/tags/default"
	a.carried("PUT", tags, `{"properties": {"tags": {"a": "1", "b": "2"}}}`)
	a.carried("PATCH", tags, `{"operation": "Merge", "properties": {"tags": {"c": "3"}}}`)
	answer := a.carried("PATCH", tags, `{"operation": "Delete", "properties": {"tags": {"A": "1"}}}`)
	if got := fmt.Sprint(value.Sub(answer, "properties", "tags")); got != "map[b:2 c:3]" {
		t.Errorf("tags %s", got)
	}
	if got := fmt.Sprint(value.Sub(a.carried("GET", vnetPath("v"), ""), "tags")); got != "map[b:2 c:3]" {
		t.Errorf("the resource's tags %s", got)
	}
	lock := "resourceGroups/g/providers/Microsoft.Authorization/locks/keep"
	a.carried("PUT", lock, `{"properties": {"level": "CanNotDelete"}}`)
	for _, path := range []string{vnetPath("v"), "resourcegroups/g"} {
		if status, answer, _ := a.speak("DELETE", path, ""); status != 409 || value.Str(answer, "error", "code") != "ScopeLocked" {
			t.Errorf("DELETE %s below a lock: %d %v", path, status, answer)
		}
	}
	a.carried("PUT", vnetPath("v"), vnetBody)
	a.carried("PUT", lock, `{"properties": {"level": "ReadOnly"}}`)
	if status, _, _ := a.speak("PUT", vnetPath("v"), vnetBody); status != 409 {
		t.Errorf("PUT below a read-only lock: %d", status)
	}
	a.carried("DELETE", lock, "")
	a.carried("DELETE", vnetPath("v"), "")
}

// TestDenyAssignments: the list is empty, and none can be created.
func TestDenyAssignments(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.carried("PUT", "resourcegroups/g", `{"location": "westeurope"}`)
	for _, scope := range []string{"", "resourceGroups/g/"} {
		if got := a.carried("GET", scope+"providers/Microsoft.Authorization/denyAssignments", ""); fmt.Sprint(got["value"]) != "[]" {
			t.Errorf("at %q: %v", scope, got)
		}
	}
	one := "resourceGroups/g/providers/Microsoft.Authorization/denyAssignments/d"
	for method, want := range map[string]int{"PUT": http.StatusMethodNotAllowed, "GET": http.StatusNotFound} {
		if status, answer, _ := a.speak(method, one, "{}"); status != want {
			t.Errorf("%s: %d %v", method, status, answer)
		}
	}
}

// TestDeployment deploys a template whose second resource needs the first, in
// the relaxed JSON that az sends.
func TestDeployment(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.carried("PUT", "resourcegroups/g", `{"location": "westeurope"}`)
	a.carried("PUT", "resourcegroups/g/providers/Microsoft.Resources/deployments/d",
		`{"properties": {"mode": "Incremental", "parameters": {"secret": {"value": "hidden"}}, template: {
		$schema: 'https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#', contentVersion: '1.0.0.0',
		"parameters": {"secret": {"type": "secureString"}}, // never shown
		"resources": [
			{"type": "Microsoft.Network/virtualNetworks", "apiVersion": "2020-11-01", "name": "v",
				"location": "[resourceGroup().location]", "dependsOn": ["n"],
			 "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}, "subnets": [{"name": "s",
			 	"properties": {"addressPrefix": "10.0.0.0/24",
			 	"networkSecurityGroup": {"id": "[resourceId('Microsoft.Network/networkSecurityGroups', 'n')]"}}}]}},
			{"type": "Microsoft.Network/networkSecurityGroups", "apiVersion": "2020-11-01", "name": "n", "location": "westeurope"},
		], "outputs": {"guid": {"type": "string", "value": "[reference('v').resourceGuid]"}}}}}`)
	d := a.carried("GET", "resourcegroups/g/providers/Microsoft.Resources/deployments/d", "")
	v := a.carried("GET", vnetPath("v"), "")
	if state := value.Str(d, "properties", "provisioningState"); state != "Succeeded" {
		t.Fatalf("the deployment is %s: %v", state, d)
	}
	if got, want := value.Str(d, "properties", "outputs", "guid", "value"),
		value.Str(v, "properties", "resourceGuid"); got == "" || got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if text := fmt.Sprint(d); strings.Contains(text, "hidden") {
		t.Errorf("the deployment shows a secure parameter: %s", text)
	}
	// The deployed resource can be deleted: the deployment does not keep it.
	a.carried("DELETE", vnetPath("v"), "")
	a.carried("DELETE", "resourcegroups/g", "")
}

// TestThrottle empties a bucket of the resource manager and one of Compute.
func TestThrottle(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	a := start(t, Config{Throttle: 0.01, Clock: clock}) // 2 reads and 2 writes
	defer a.Close()
	for i, want := range []int{200, 200, 429} {
		status, answer, h := a.speak("GET", "resourcegroups", "")
		if status != want {
			t.Fatalf("read %d: %d %v, want %d", i+1, status, answer, want)
		}
		if want == 429 && (value.Str(answer, "error", "code") != "SubscriptionRequestsThrottled" || h.Get("Retry-After") != "4") {
			t.Errorf("refused with %v after %s s, want SubscriptionRequestsThrottled and 4 s at a quarter of a "+
				"read a second", answer, h.Get("Retry-After"))
		}
		if left := h.Get("x-ms-ratelimit-remaining-subscription-reads"); left != []string{"1", "0", "0"}[i] {
			t.Errorf("read %d leaves %q", i+1, left)
		}
	}
	clock.Step(time.Minute)
	if status, _, _ := a.speak("GET", "resourcegroups", ""); status != 200 {
		t.Errorf("a minute later: %d", status)
	}
	if n := a.CallLog().Throttled; n != 1 {
		t.Errorf("%d throttled calls are counted", n)
	}

	b := start(t, Config{Throttle: 0.5, Clock: clock})
	defer b.Close()
	path, last := "resourceGroups/g/providers/Microsoft.Compute/virtualMachines/v", value.Object{}
	for range 7 { // PutVM: 12 at the same time for one VM, half of it here
		_, last, _ = b.speak("PUT", path, "{}")
	}
	if value.Str(last, "error", "code") != "OperationNotAllowed" ||
		len(value.Items(last, "error", "details")) != 1 ||
		value.Str(value.Items(last, "error", "details")[0], "target") != "PutVM" {
		t.Errorf("the seventh write of a VM: %v", last)
	}
}

// TestListed checks the API versions and locations of types in the list of providers.
func TestListed(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	for _, test := range []struct{ space, typ, version, place string }{
		{"Microsoft.Compute", "virtualMachines", "2026-04-01", "West Europe"},
		{"Microsoft.Compute", "disks", "2026-03-02", "West Europe"},
		{"Microsoft.KeyVault", "vaults", "2026-02-01", "West Europe"},
		{"Microsoft.Network", "privateDnsZones", "2024-06-01", "global"},
		{"Microsoft.Network", "dnszones", "2018-05-01", "global"},
		{"Microsoft.Authorization", "locks", "2020-05-01", "West Europe"},
	} {
		t.Run(test.typ, func(t *testing.T) {
			_, space, _ := a.speak("GET", "providers/"+test.space, "")
			for _, row := range value.Items(space, "resourceTypes") {
				if value.Str(row, "resourceType") != test.typ {
					continue
				}
				versions, places := row["apiVersions"].([]any), row["locations"].([]any)
				if !slices.Contains(versions, any(test.version)) || !slices.Contains(places, any(test.place)) ||
					test.place == "global" && len(places) > 1 {
					t.Errorf("%s is listed with %v and %v", test.typ, versions, places)
				}
				return
			}
			t.Errorf("%s is not listed", test.typ)
		})
	}
}
