package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/azure/arm"
)

// Image identifies the image of a VM: by ID (a managed image, or a version in a private
// gallery), in a community gallery, or in the marketplace.
type Image struct {
	ID string
	// Gallery is a community gallery, and Name an image definition in it.
	Gallery, Name string
	// Publisher, Offer and SKU identify a marketplace image.
	Publisher, Offer, SKU string
	// Version applies to community gallery and marketplace images; "latest" or empty means
	// any.
	Version string
}

// Exists reports whether an image is available in a location. The result is cached, a negative one for a minute. An
// error means that Azure did not give a result; if the identity lacks the permission to read (arm.Denied), creating the
// VM may still work.
func (c *Catalog) Exists(ctx context.Context, locationName string, image Image) (bool, error) {
	path, version := c.imagePath(locationName, image)
	exists, err := c.images.get(ctx, normal(locationName)+path, func(ctx context.Context) (bool, time.Duration, error) {
		exists, err := c.observe(ctx, path, version, normal(locationName))
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

// observe reports whether an image version exists or, for a list, whether it has any version. In a gallery of a
// subscription, only versions with a replica in the location count.
func (c *Catalog) observe(ctx context.Context, path, apiVersion, location string) (bool, error) {
	if strings.HasSuffix(path, "/versions") {
		newest := []arm.Option{arm.Query("$top", "1"), arm.Query("$orderby", "name desc")}
		if strings.Contains(strings.ToLower(path), ownGallery) {
			newest = nil // the lists of community galleries and the marketplace document neither
		}
		for item, err := range c.client.List(ctx, path, apiVersion, newest...) {
			if arm.ClassOf(err) == arm.NotFound {
				return false, nil
			}
			if err != nil || len(item) > 0 && replicated(item, location) {
				return err == nil, err
			}
		}
		return false, nil
	}
	body, err := c.client.Get(ctx, path, apiVersion)
	if arm.ClassOf(err) == arm.NotFound {
		return false, nil
	}
	return err == nil && json.Valid(body) && replicated(body, location), err
}

// replicated reports whether a gallery's image version has a replica in a location. Images outside private galleries
// name no regions: they are in the location of the request. Source: Microsoft.Compute galleries/images/versions,
// publishingProfile.targetRegions.
func replicated(version []byte, location string) bool {
	var v struct {
		Properties struct {
			PublishingProfile struct {
				TargetRegions []struct{ Name string }
			}
		}
	}
	if json.Unmarshal(version, &v) != nil {
		return true
	}
	regions := v.Properties.PublishingProfile.TargetRegions
	return len(regions) == 0 || slices.ContainsFunc(regions, func(r struct{ Name string }) bool { return normal(r.Name) == location })
}

// ownGallery is a part of the ID of a resource in a gallery of a subscription.
const ownGallery = "/galleries/"

// anyOf returns the URL of the list of versions for an ID that names the version latest, which cannot be read; any
// other ID is returned unchanged.
func anyOf(id string) string {
	const latest = "/latest"
	if end := len(id) - len(latest); end > 0 && strings.EqualFold(id[end:], latest) {
		return id[:end]
	}
	return id
}

// imagePath returns the ARM path of an image and the API version for reading it.
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
