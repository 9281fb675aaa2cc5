package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"casement.dev/casement/internal/azure/arm"
)

// Generation returns the Hyper-V generation of an image, V1 or V2, as Azure says it of the definition in a gallery or of the
// version on the marketplace; "" where neither says it.
func (c *Catalog) Generation(ctx context.Context, locationName string, image Image) (string, error) {
	path, apiVersion := c.imagePath(locationName, image)
	at, _, versions := strings.Cut(path, "/versions")
	switch {
	case versions && image.Publisher == "":
		path = at // an image definition says it for all of its versions
	case strings.HasSuffix(path, "/versions"):
		newest := ""
		for item, err := range c.client.List(ctx, path, apiVersion, arm.Query("$top", "1"), arm.Query("$orderby", "name desc")) {
			var version struct{ Name string }
			if err == nil {
				err = json.Unmarshal(item, &version)
			}
			if err != nil {
				return "", fmt.Errorf("look up the image's versions: %w", err)
			}
			newest = version.Name
			break
		}
		path += "/" + newest
	}
	body, err := c.client.Get(ctx, path, apiVersion)
	if err != nil {
		return "", fmt.Errorf("look up the image's generation: %w", err)
	}
	var said struct {
		Properties struct{ HyperVGeneration string }
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return "", fmt.Errorf("read the image's generation: %w", err)
	}
	return strings.ToUpper(said.Properties.HyperVGeneration), nil
}
