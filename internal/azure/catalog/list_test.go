package catalog_test

import (
	"slices"
	"testing"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/testing/emulator"
	"casement.dev/casement/internal/windows"
)

func TestVersions(t *testing.T) {
	c := catalog.New(emulator.Client(t, azuresim.Config{}), nil)
	for _, tc := range []struct {
		name, publisher, offer, sku string
		want                        []string
	}{
		{"one SKU", windows.Publisher, "capi-windows", "k8s-1dot22dot2-windows-2019-containerd",
			[]string{"cncf-upstream:capi-windows:k8s-1dot22dot2-windows-2019-containerd:2021.10.15"}},
		{"parts of names", "CNCF", "windows", "1dot22dot2-windows-2019-",
			[]string{"cncf-upstream:capi-windows:k8s-1dot22dot2-windows-2019-containerd:2021.10.15"}},
		{"no publisher", "unknown", "", "", nil},
		{"no offer", windows.Publisher, "nothing", "", nil},
		{"no SKU", windows.Publisher, "capi-windows", "k8s-9dot9", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, err := c.Versions(t.Context(), "West Europe", tc.publisher, tc.offer, tc.sku)
			var urns []string
			for _, l := range list {
				urns = append(urns, l.URN)
			}
			if err != nil || !slices.Equal(urns, tc.want) {
				t.Errorf("%v, %v", urns, err)
			}
		})
	}
}

func TestGallery(t *testing.T) {
	c := catalog.New(emulator.Client(t, azuresim.Config{}), nil)
	list, err := c.Gallery(t.Context(), "westeurope", windows.CommunityGallery, "win-2022")
	if err != nil || len(list) == 0 {
		t.Fatalf("%d images, %v", len(list), err)
	}
	image, err := windows.DefaultImage("v1.34.1", windows.OSWindows, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(list, func(s catalog.Shared) bool { return s.ID == image.Reference() && s.OSType == windows.OSWindows }) {
		t.Errorf("%s is not among %d", image.Reference(), len(list))
	}
	if list, err := c.Gallery(t.Context(), "westeurope", "unknown-1234", ""); err != nil || len(list) != 0 {
		t.Errorf("a gallery that is not there: %v, %v", list, err)
	}
}
