package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"casement.dev/casement/internal/azure/arm"
)

// Image names what a VM is to boot: by ID (a managed image, or a version in a
// private gallery), in a community gallery, or in the marketplace.
type Image struct {
	ID string
	// Gallery and Name are a community gallery and image definition in it.
	Gallery, Name string
	// Publisher, Offer and SKU are the marketplace's.
	Publisher, Offer, SKU string
	// Version is of either; "latest" or empty means any.
	Version string
}

// Exists reports whether an image can be had in a location. The answer is kept, a missing
// one for a minute. The error is that Azure could not be asked; where the identity may not
// look (arm.Denied), the VM itself may still work.
func (c *Catalog) Exists(ctx context.Context, locationName string, image Image) (bool, error) {
	path, version := c.imagePath(locationName, image)
	exists, err := c.images.get(ctx, path, func(ctx context.Context) (bool, time.Duration, error) {
		exists, err := c.look(ctx, path, version)
		if exists {
			return true, imageFor, err
		}
		return false, missingFor, err
	})
	if err != nil {
		return false, fmt.Errorf("look up the image: %w", err)
	}
	return exists, nil
}

// look reads one image version, or the newest version of a list.
func (c *Catalog) look(ctx context.Context, path, apiVersion string) (bool, error) {
	if strings.HasSuffix(path, "/versions") {
		newest := []arm.Option{arm.Query("$top", "1"), arm.Query("$orderby", "name desc")}
		if strings.Contains(strings.ToLower(path), ownGallery) {
			newest = nil // their lists document neither
		}
		for item, err := range c.client.List(ctx, path, apiVersion, newest...) {
			if arm.ClassOf(err) == arm.NotFound {
				return false, nil
			}
			return err == nil && len(item) > 0, err
		}
		return false, nil
	}
	body, err := c.client.Get(ctx, path, apiVersion)
	if arm.ClassOf(err) == arm.NotFound {
		return false, nil
	}
	return err == nil && json.Valid(body), err
}

// ownGallery is part of the ID of what is in a gallery of a subscription.
const ownGallery = "/galleries/"

// anyOf returns the list of versions for the ID of the latest one, which cannot be read by
// that name, and any other ID as it is.
func anyOf(id string) string {
	const latest = "/latest"
	if end := len(id) - len(latest); end > 0 && strings.EqualFold(id[end:], latest) {
		return id[:end]
	}
	return id
}

// imagePath returns the ARM path of an image and the API version to read it with.
func (c *Catalog) imagePath(locationName string, i Image) (path, apiVersion string) {
	at := "/subscriptions/" + c.client.SubscriptionID() + "/providers/Microsoft.Compute/locations/" + normal(locationName)
	version := "/versions"
	if i.Version != "" && !strings.EqualFold(i.Version, "latest") {
		version += "/" + i.Version
	}
	switch {
	case i.Gallery != "":
		return at + "/communityGalleries/" + i.Gallery + "/images/" + i.Name + version, galleryAPIVersion
	case i.Publisher != "":
		return at + "/publishers/" + i.Publisher + "/artifacttypes/vmimage/offers/" + i.Offer + "/skus/" + i.SKU + version, imagesAPIVersion
	case strings.HasPrefix(strings.ToLower(i.ID), "/communitygalleries/"):
		return at + anyOf(i.ID), galleryAPIVersion
	case strings.Contains(strings.ToLower(i.ID), ownGallery):
		return anyOf(i.ID), galleryAPIVersion
	}
	return i.ID, imagesAPIVersion
}
