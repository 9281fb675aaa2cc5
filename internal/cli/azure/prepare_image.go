package azure

import (
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/image"
	"casement.dev/casement/internal/preflight"
	"casement.dev/casement/internal/windows"
)

// galleryVersion is the API version of galleries, image definitions and image versions.
const galleryVersion = "2023-07-03"

// imagesOf returns the galleries, definitions and versions of images that machines boot from and that are in a
// subscription. Each version is a copy of the reference image that machines of the same OS and Kubernetes version use
// by default.
func imagesOf(machines []*preflight.Machines) (out []prerequisite) {
	for _, m := range machines {
		id, err := arm.ParseResourceID(privateImage(m.Spec.Image))
		if err != nil || !strings.EqualFold(id.ResourceType.String(), "Microsoft.Compute/galleries/images/versions") {
			continue // another kind of image, which this command does not create
		}
		os := windows.OSLinux
		if m.Windows() {
			os = windows.OSWindows
		}
		source, err := windows.DefaultImage(m.Version.Str(), os, m.Annotations())
		if err != nil {
			continue // no reference image has this version; preflight reports it
		}
		definition, gallery := id.Parent, id.Parent.Parent
		version, in := id.Name, ""
		if version == "latest" { // any version in the definition
			version, in = strings.TrimPrefix(m.Version.Str(), "v"), definition.String()
		}
		one := func(kind, name, path string, properties any) prerequisite {
			return prerequisite{kind: kind, group: id.ResourceGroupName, name: name, subscription: id.SubscriptionID,
				path:    strings.TrimPrefix(path, "/subscriptions/"+id.SubscriptionID),
				version: galleryVersion, properties: properties}
		}
		made := one("image version", definition.Name+" "+version, definition.String()+"/versions/"+version, map[string]any{
			"storageProfile": map[string]any{"source": map[string]any{"communityGalleryImageId": source.Reference()}},
		})
		made.in = strings.TrimPrefix(in, "/subscriptions/"+id.SubscriptionID)
		out = append(out, one("gallery", gallery.Name, gallery.String(), map[string]any{}),
			one("image definition", definition.Name, definition.String(), map[string]any{
				"osType": os, "osState": "Generalized", "hyperVGeneration": "V2",
				"identifier": map[string]any{"publisher": "casement", "offer": gallery.Name, "sku": definition.Name},
			}), made)
	}
	return out
}

// galleryOf returns the gallery that an ImageBuild writes to.
func galleryOf(document any) (prerequisite, bool) {
	fields, _ := document.(map[string]any)
	if fields["kind"] != image.Kind {
		return prerequisite{}, false
	}
	spec, _ := fields["spec"].(map[string]any)
	target, _ := spec["target"].(map[string]any)
	group, _ := target["resourceGroup"].(string)
	gallery, _ := target["gallery"].(string)
	if group == "" || gallery == "" {
		return prerequisite{}, false // the build reports the missing fields
	}
	return prerequisite{kind: "gallery", group: group, name: gallery, version: galleryVersion, properties: map[string]any{},
		path: "/resourceGroups/" + group + "/providers/Microsoft.Compute/galleries/" + gallery}, true
}

// privateImage returns the ID of an image that is in a subscription, or "".
func privateImage(image *infrav1.Image) string {
	switch {
	case image == nil:
	case image.ID != nil:
		return *image.ID
	case image.SharedGallery != nil:
		g := image.SharedGallery
		return desired.GalleryImageID(g.SubscriptionID, g.ResourceGroup, g.Gallery, g.Name, g.Version)
	case image.ComputeGallery != nil && image.ComputeGallery.SubscriptionID != nil && image.ComputeGallery.ResourceGroup != nil:
		g := image.ComputeGallery
		return desired.GalleryImageID(*g.SubscriptionID, *g.ResourceGroup, g.Gallery, g.Name, g.Version)
	}
	return ""
}
