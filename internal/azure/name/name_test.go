package name

import (
	"strings"
	"testing"
)

const sub = "00000000-0000-0000-0000-000000000001"

// TestCheck: no kind accepts a text that would change a path, or that Azure refuses.
func TestCheck(t *testing.T) {
	good := map[Kind][]string{
		Subscription: {sub}, GUID: {sub}, Location: {"westeurope", "eastus2euap"}, ResourceGroup: {"g", "a.b(c)_-", "größe"},
		VirtualNetwork: {"v1", "hub-vnet_"}, Network: {"n", "pip-a.b_"}, PrivateEndpoint: {"pe"}, DNSZone: {"c.capz.io", "privatelink.x.y"},
		VirtualMachine: {"m", "md-0-abc"}, Size: {"Standard_D2s_v3"}, DiskSuffix: {"etcddisk", "_data"}, Extension: {"CAPZ.Linux.Bootstrapping"},
		Gallery: {"images_1.a"}, CommunityName: {"ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019"}, Image: {"capi-win-2025-containerd"},
		ImageVersion: {"latest", "1.34.1"}, Zone: {"1"}, Path: {"/subscriptions/" + sub, "/subscriptions/" + sub + "/"},
	}
	for kind, names := range good {
		for _, n := range names {
			if wrong := Check(kind, n); wrong != "" {
				t.Errorf("%s %q: %s", kind, n, wrong)
			}
		}
		for _, n := range []string{"", "..", "../../x", "a//b", "a%2fb", "a?b", "a#b", "a\\b", "a b", "é\a", "a\nb", "x.", "*",
			strings.Repeat("x", 300), "\xff"} {
			if Check(kind, n) == "" {
				t.Errorf("%s takes %q", kind, n)
			}
		}
	}
	for kind := range rules() {
		if kind != Path && Check(kind, "a/b") == "" {
			t.Errorf("%s takes a slash", kind)
		}
		if good[kind] == nil {
			t.Errorf("%s has no example", kind)
		}
	}
}

func TestCheckID(t *testing.T) {
	const identity = "Microsoft.ManagedIdentity/userAssignedIdentities"
	base := "/subscriptions/" + sub + "/resourceGroups/g/providers/"
	for id, ok := range map[string]bool{
		base + identity + "/i":                                     true,
		strings.ToLower(base + identity + "/i"):                    true,
		base + "Microsoft.Compute/images/i":                        false,
		base + identity + "/i/federatedIdentityCredentials/f":      false,
		base + identity + "/../i":                                  false,
		base + identity + "/i%2f":                                  false,
		base + identity + "/i?api-version=1":                       false,
		base + identity + "/i#x":                                   false,
		base + identity:                                            false,
		strings.Replace(base, sub, "s", 1) + identity + "/i":       false,
		strings.Replace(base, "/g/", "/g./", 1) + identity + "/i":  false,
		strings.Replace(base, "/g/", "/a/b/", 1) + identity + "/i": false,
		"": false, "i": false,
	} {
		if wrong := CheckID(id, identity); (wrong == "") != ok {
			t.Errorf("%q: %q", id, wrong)
		}
	}
	if wrong := CheckID(base + "Microsoft.Storage/storageAccounts/a"); wrong != "" {
		t.Errorf("of any type: %s", wrong)
	}
}

func TestCheckTag(t *testing.T) {
	for key, value := range map[string]string{"": "", "a/b": "", "a?": "", "a\n": "", strings.Repeat("k", 513): "",
		"k": strings.Repeat("v", 257)} {
		if CheckTag(key, value) == "" {
			t.Errorf("%q=%q is taken", key, value)
		}
	}
	if wrong := CheckTag("team", "blue/green?"); wrong != "" {
		t.Error(wrong)
	}
}
