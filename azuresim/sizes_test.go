package azuresim

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"casement.dev/casement/azuresim/internal/engine"
)

// TestSKUsOfAllRegions: an entry for several regions has the same zones for each of them, because
// clients such as az read only the first region's.
func TestSKUsOfAllRegions(t *testing.T) {
	a := start(t, Config{})
	client, err := armcompute.NewResourceSKUsClient(engine.DefaultSubscription, a.credential, a.options)
	if err != nil {
		t.Fatal(err)
	}
	zonal := map[bool]int{}
	for pager := client.NewListPager(nil); pager.More(); {
		page, err := pager.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, sku := range page.Value {
			if *sku.ResourceType != "virtualMachines" {
				continue
			}
			first := len(sku.LocationInfo[0].Zones) > 0
			zonal[first]++
			for _, info := range sku.LocationInfo {
				if zones := len(info.Zones) > 0; zones != first {
					t.Fatalf("%s has zones in %s: %v, in %s: %v", *sku.Name, *sku.LocationInfo[0].Location, first, *info.Location, zones)
				}
			}
		}
	}
	if zonal[true] == 0 || zonal[true] != zonal[false] {
		t.Errorf("%d sizes in regions with zones, %d in those without; want as many of both", zonal[true], zonal[false])
	}
}
