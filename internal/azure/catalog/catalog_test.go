package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"casement.dev/casement/internal/azure/arm"
)

// azure answers lists and reads from maps and counts them.
type azure struct {
	mu    sync.Mutex
	lists map[string][]string // by the end of the path
	docs  map[string]string
	fail  error
	calls int
}

func (a *azure) SubscriptionID() string { return "s" }

func (a *azure) Get(_ context.Context, id, _ string, _ ...arm.Option) (json.RawMessage, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	if doc, ok := a.docs[id]; ok {
		return json.RawMessage(doc), nil
	}
	return nil, &arm.Error{Class: arm.NotFound, Method: "GET", ID: id}
}

func (a *azure) List(_ context.Context, collection, _ string, _ ...arm.Option) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		a.mu.Lock()
		a.calls++
		items, ok := a.lists[collection]
		fail := a.fail
		a.mu.Unlock()
		if fail == nil && !ok {
			fail = &arm.Error{Class: arm.NotFound, Method: "GET", ID: collection}
		}
		if fail != nil {
			yield(nil, fail)
			return
		}
		for _, item := range items {
			if !yield(json.RawMessage(item), nil) {
				return
			}
		}
	}
}

const skuPath = "/subscriptions/s/providers/Microsoft.Compute/skus"

func skus() []string {
	return []string{
		`{"resourceType":"virtualMachines","name":"Standard_D4s_v3","family":"standardDSv3Family",
			"capabilities":[{"name":"vCPUs","value":"4"},{"name":"MemoryGB","value":"16"},
			{"name":"AcceleratedNetworkingEnabled","value":"True"},{"name":"EphemeralOSDiskSupported","value":"True"}],
		  "locationInfo":[{"location":"westeurope","zones":["2","1","3"],"zoneDetails":[{"name":["1"],
		  	"capabilities":[{"name":"UltraSSDAvailable","value":"True"}]}]}],
		  "restrictions":[{"type":"Zone","values":["westeurope"],"reasonCode":"NotAvailableForSubscription",
		  	"restrictionInfo":{"locations":["westeurope"],"zones":["3"]}}]}`,
		`{"resourceType":"virtualMachines","name":"Standard_B1s","capabilities":[{"name":"vCPUs","value":"1"},
			{"name":"MemoryGB","value":"0.5"},{"name":"TrustedLaunchDisabled","value":"True"}],
			"locationInfo":[{"location":"WestEurope","zones":["3"]}],
		  "restrictions":[{"type":"Location","values":["westeurope"],"reasonCode":"NotAvailableForSubscription"}]}`,
		`{"resourceType":"virtualMachines","name":"Standard_DC4as_v5","capabilities":[{"name":"vCPUs",` +
			`"value":"4"},{"name":"MemoryGB","value":"16"},{"name":"ConfidentialComputingType","value":"SNP"}],` +
			`"locationInfo":[{"location":"westeurope","zones":["2"]}]}`,
		`{"resourceType":"disks","name":"Premium_LRS","locationInfo":[{"location":"westeurope","zones":["9"]}]}`,
		`{"resourceType":"availabilitySets","name":"Aligned",` +
			`"capabilities":[{"name":"MaximumPlatformFaultDomainCount","value":"3"}],` +
			`"locationInfo":[{"location":"westeurope"}]}`,
	}
}

func TestZonesAndSizes(t *testing.T) {
	a := &azure{lists: map[string][]string{skuPath: skus()}}
	now := time.Now()
	c := New(a, func() time.Time { return now })
	zones, err := c.Zones(t.Context(), "West Europe")
	if err != nil || !slices.Equal(zones, []string{"1", "2"}) {
		t.Fatalf("zones %v, %v", zones, err)
	}
	sku, ok, err := c.SKU(t.Context(), "westeurope", "standard_d4s_V3")
	if err != nil || !ok || sku.VCPUs() != 4 || sku.MemoryGiB() != 16 || !sku.AcceleratedNetworking() || sku.ARM64() {
		t.Fatalf("size %+v, %v, %v", sku, ok, err)
	}
	if aligned, _, _ := c.SKU(t.Context(), "westeurope", "Aligned"); aligned.SetFaultDomains() != 3 {
		t.Errorf("fault domains: %+v", aligned)
	}
	if _, ok, _ := c.SKU(t.Context(), "westeurope", "Premium_LRS"); ok {
		t.Error("a disk is taken for a size")
	}
	if a.calls != 1 {
		t.Errorf("%d calls", a.calls)
	}
	now = now.Add(25 * time.Hour)
	a.fail = errors.New("offline")
	if zones, err = c.Zones(t.Context(), "westeurope"); err != nil || len(zones) != 2 || a.calls != 2 {
		t.Errorf("offline: %v, %v, %d calls", zones, err, a.calls)
	}
	if _, err = c.Zones(t.Context(), "northeurope"); err == nil {
		t.Error("a location that was never read has zones")
	}
}

func TestOneReadForAll(t *testing.T) {
	a := &azure{lists: map[string][]string{skuPath: skus()}}
	c := New(a, nil)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := c.Zones(context.Background(), "westeurope"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if a.calls != 1 {
		t.Errorf("%d calls", a.calls)
	}
}

func TestCheckVM(t *testing.T) {
	all := map[string]SKU{}
	for _, raw := range skus() {
		if sku, ok := parseSKU(json.RawMessage(raw), "westeurope"); ok {
			all[sku.Name] = sku
		}
	}
	for _, tc := range []struct {
		name string
		vm   VM
		want string // the fields, in order
	}{
		{"plain", VM{Size: "Standard_D4s_v3"}, ""},
		{"zone", VM{Size: "Standard_D4s_v3", Zone: "1"}, ""},
		{"restricted zone", VM{Size: "Standard_D4s_v3", Zone: "3"}, "spec.failureDomain"},
		{"small and barred", VM{Size: "Standard_B1s"}, "spec.vmSize spec.vmSize spec.vmSize"},
		{"ephemeral", VM{Size: "Standard_D4s_v3", EphemeralOSDisk: true}, ""},
		{"no ephemeral", VM{Size: "Standard_DC4as_v5", EphemeralOSDisk: true}, "spec.osDisk.diffDiskSettings"},
		{"ultra in its zone", VM{Size: "Standard_D4s_v3", Zone: "1", UltraSSD: true}, ""},
		{"ultra elsewhere", VM{Size: "Standard_D4s_v3", Zone: "2", UltraSSD: true}, "spec.dataDisks"},
		{"encryption at host", VM{Size: "Standard_D4s_v3", EncryptionAtHost: true}, "spec.securityProfile.encryptionAtHost"},
		{"confidential", VM{Size: "Standard_DC4as_v5", SecurityType: ConfidentialVM, VTPM: true, EncryptedOSDisk: true}, ""},
		{"not confidential", VM{Size: "Standard_D4s_v3", SecurityType: ConfidentialVM, VTPM: true}, "spec.securityProfile.securityType"},
		{"firmware without type", VM{Size: "Standard_D4s_v3", SecureBoot: true}, "spec.securityProfile.securityType"},
		{"trusted launch", VM{Size: "Standard_D4s_v3", SecurityType: TrustedLaunch, SecureBoot: true}, ""},
		{"encrypted disk without type", VM{Size: "Standard_D4s_v3", EncryptedOSDisk: true}, "spec.securityProfile.securityType"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.vm.Location = "westeurope"
			var fields []string
			for _, p := range CheckVM(all[tc.vm.Size], tc.vm) {
				fields = append(fields, p.Field)
				if p.Reason == "" || p.Fix == "" {
					t.Errorf("%+v", p)
				}
			}
			if got := strings.Join(fields, " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestExists(t *testing.T) {
	const at = "/subscriptions/s/providers/Microsoft.Compute/locations/westeurope"
	const own = "/subscriptions/x/resourceGroups/r/providers/Microsoft.Compute/galleries/own"
	a := &azure{
		docs: map[string]string{
			at + "/communityGalleries/g/images/i/versions/1.2.3":                        `{}`,
			at + "/publishers/p/artifacttypes/vmimage/offers/o/skus/s/versions/1.0.0":   `{}`,
			"/subscriptions/x/resourceGroups/r/providers/Microsoft.Compute/images/mine": `{}`,
		},
		lists: map[string][]string{
			at + "/publishers/p/artifacttypes/vmimage/offers/o/skus/s/versions":     {`{"name":"1.0.0"}`},
			at + "/publishers/p/artifacttypes/vmimage/offers/o/skus/empty/versions": {},
			own + "/images/some/versions":                                           {`{"name":"1.0.0"}`},
		},
	}
	now := time.Now()
	c := New(a, func() time.Time { return now })
	for _, tc := range []struct {
		name  string
		image Image
		want  bool
	}{
		{"community", Image{Gallery: "g", Name: "i", Version: "1.2.3"}, true},
		{"community by ID", Image{ID: "/communityGalleries/g/images/i/versions/1.2.3"}, true},
		{"no such version", Image{Gallery: "g", Name: "i", Version: "9.9.9"}, false},
		{"latest", Image{Publisher: "p", Offer: "o", SKU: "s", Version: "latest"}, true},
		{"exact", Image{Publisher: "p", Offer: "o", SKU: "s", Version: "1.0.0"}, true},
		{"no version at all", Image{Publisher: "p", Offer: "o", SKU: "empty", Version: "latest"}, false},
		{"no such SKU", Image{Publisher: "p", Offer: "o", SKU: "none", Version: "latest"}, false},
		{"latest of an own gallery", Image{ID: own + "/images/some/versions/latest"}, true},
		{"nothing in an own gallery", Image{ID: own + "/images/none/versions/latest"}, false},
		{"managed image", Image{ID: "/subscriptions/x/resourceGroups/r/providers/Microsoft.Compute/images/mine"}, true},
	} {
		if got, err := c.Exists(t.Context(), "West Europe", tc.image); err != nil || got != tc.want {
			t.Errorf("%s: %v, %v", tc.name, got, err)
		}
	}
	before := a.calls
	if ok, err := c.Exists(t.Context(), "westeurope", Image{Gallery: "g", Name: "i", Version: "9.9.9"}); ok ||
		err != nil || a.calls != before {
		t.Errorf("asked again at once: %v, %v", ok, err)
	}
	a.docs[at+"/communityGalleries/g/images/i/versions/9.9.9"] = `{}`
	now = now.Add(2 * time.Minute)
	if ok, err := c.Exists(t.Context(), "westeurope", Image{Gallery: "g", Name: "i", Version: "9.9.9"}); !ok || err != nil {
		t.Errorf("published meanwhile: %v, %v", ok, err)
	}
}

// TestReplicated: a gallery's version exists in the locations where it has a replica.
func TestReplicated(t *testing.T) {
	const version = `{"properties": {"publishingProfile": {"targetRegions": [{"name": "West Europe"}, {"name": "eastus"}]}}}`
	for location, want := range map[string]bool{"westeurope": true, "eastus": true, "westus2": false} {
		if got := replicated([]byte(version), location); got != want {
			t.Errorf("in %s: %t", location, got)
		}
	}
	if !replicated([]byte(`{"name": "1.0.0"}`), "westus2") {
		t.Error("an image without regions is not where it was found")
	}
}
