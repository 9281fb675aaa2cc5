package azure

import (
	"strings"
	"testing"

	"casement.dev/casement/internal/plane"
)

func TestCallFilter(t *testing.T) {
	call := plane.AzureCall{Method: "PUT", Type: "Microsoft.Compute/virtualMachines", Status: 409, Caller: "azsdk-go-arm"}
	poll := plane.AzureCall{Method: "GET", Type: "operations", Status: 200}
	for name, tc := range map[string]struct {
		filter callFilter
		call   plane.AzureCall
		want   bool
	}{
		"nothing asked":      {callFilter{}, call, true},
		"polls are left out": {callFilter{}, poll, false},
		"polls asked for":    {callFilter{polls: true}, poll, true},
		"verb in lower case": {callFilter{verb: "put"}, call, true},
		"another verb":       {callFilter{verb: "GET"}, call, false},
		"a part of the type": {callFilter{typ: "virtualmachines"}, call, true},
		"the class":          {callFilter{status: "4xx"}, call, true},
		"another class":      {callFilter{status: "5xx"}, call, false},
		"the status":         {callFilter{status: "409"}, call, true},
		"a part of a status": {callFilter{status: "4"}, call, false},
		"failed":             {callFilter{failed: true}, call, true},
		"failed, but was ok": {callFilter{failed: true, polls: true}, poll, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.filter.takes(tc.call); got != tc.want {
				t.Errorf("takes(%+v) = %v, want %v", tc.call, got, tc.want)
			}
		})
	}
}

func TestShellQuote(t *testing.T) {
	for in, want := range map[string]string{"": "''", "/a/b-c.d": "/a/b-c.d", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'"} {
		if got := shellQuote(in); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestShortPath(t *testing.T) {
	got := shortPath("/subscriptions/S/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v", 40)
	if want := "g/Network/virtualNetworks/v"; got != want {
		t.Errorf("shortPath = %q, want %q", got, want)
	}
	if got := shortPath("/subscriptions/S/resourceGroups/abcdefgh", 5); got != "…efgh" {
		t.Errorf("shortPath cut to 5 = %q", got)
	}
}

// TestTerraformEnv: the variables of the provider azurerm are printed, and the proxy if there is one.
func TestTerraformEnv(t *testing.T) {
	z := plane.Azure{Endpoint: "https://127.0.0.1:8443", CAFile: "/home/u s/ca.crt", TenantID: "tenant", SubscriptionID: "subscription",
		ClientID: "client"}
	const direct = `export ARM_METADATA_HOSTNAME=127.0.0.1:8443
export ARM_TENANT_ID=tenant
export ARM_SUBSCRIPTION_ID=subscription
export ARM_CLIENT_ID=client
export ARM_CLIENT_SECRET='s3$cret'
export ARM_RESOURCE_PROVIDER_REGISTRATIONS=none
export SSL_CERT_FILE='/home/u s/ca.crt'
`
	for name, tc := range map[string]struct{ proxy, want string }{
		"without a proxy": {"", direct},
		"with a proxy": {"http://127.0.0.1:8080", direct + `export HTTPS_PROXY='http://casement:s3$cret@127.0.0.1:8080'
export NO_PROXY=127.0.0.1
`},
	} {
		t.Run(name, func(t *testing.T) {
			z.Proxy = tc.proxy
			var out strings.Builder
			if terraformEnv(&out, z, "s3$cret"); out.String() != tc.want {
				t.Errorf("got:\n%s\nwant:\n%s", out.String(), tc.want)
			}
		})
	}
}
