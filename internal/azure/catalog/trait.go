package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"casement.dev/casement/internal/azure/arm"
)

// ImageTraits are properties of an image in Azure.
type ImageTraits struct {
	// Generation is the Hyper-V generation, V1 or V2; "" if Azure does not return it.
	Generation string
	// DiskGiB is the size of the OS disk; 0 if Azure does not return it, as for the definitions in a gallery.
	DiskGiB int
}

// Traits returns the properties of an image: of the definition in a gallery, or of the version on the marketplace.
func (c *Catalog) Traits(ctx context.Context, locationName string, image Image) (t ImageTraits, err error) {
	path, apiVersion := c.imagePath(locationName, image)
	at, _, versions := strings.Cut(path, "/versions")
	switch {
	case versions && image.Publisher == "":
		path = at // an image definition has the properties for all of its versions
	case strings.HasSuffix(path, "/versions"):
		newest := ""
		for item, err := range c.client.List(ctx, path, apiVersion, arm.Query("$top", "1"), arm.Query("$orderby", "name desc")) {
			var version struct{ Name string }
			if err == nil {
				err = json.Unmarshal(item, &version)
			}
			if err != nil {
				return t, fmt.Errorf("look up the image's versions: %w", err)
			}
			newest = version.Name
			break
		}
		path += "/" + newest
	}
	body, err := c.client.Get(ctx, path, apiVersion)
	if err != nil {
		return t, fmt.Errorf("look up the image's traits: %w", err)
	}
	var said struct {
		Properties struct {
			HyperVGeneration string
			OSDiskImage      struct{ SizeInGB int }
		}
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return t, fmt.Errorf("read the image's traits: %w", err)
	}
	return ImageTraits{strings.ToUpper(said.Properties.HyperVGeneration), said.Properties.OSDiskImage.SizeInGB}, nil
}
