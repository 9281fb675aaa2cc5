package engine

import "testing"

func TestPlaces(t *testing.T) {
	if len(Places) < 58 {
		t.Errorf("%d regions, Azure has 58 or more", len(Places))
	}
	for name, p := range Places {
		if p.Pair != "" && Places[p.Pair].Display == "" {
			t.Errorf("%s is paired with %s, which is no region", name, p.Pair)
		}
		if Region(p.Display) != name {
			t.Errorf("%s is displayed as %q, which is the region %s", name, p.Display, Region(p.Display))
		}
	}
	for name, zonal := range map[string]bool{"westeurope": true, "westus": false, "westus3": true} {
		if Places[name].Zonal != zonal {
			t.Errorf("%s has zones: %v", name, Places[name].Zonal)
		}
	}
}
