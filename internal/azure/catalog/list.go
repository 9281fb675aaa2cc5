package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"casement.dev/casement/internal/azure/arm"
)

// Listed is one version of a marketplace image, as Azure's command line prints it.
type Listed struct {
	Architecture string `json:"architecture"`
	Offer        string `json:"offer"`
	Publisher    string `json:"publisher"`
	SKU          string `json:"sku"`
	// URN is publisher:offer:sku:version.
	URN     string `json:"urn"`
	Version string `json:"version"`
}

// Shared is one version of an image in a community gallery.
type Shared struct {
	Gallery    string `json:"gallery"`
	Definition string `json:"definition"`
	OSType     string `json:"osType"`
	Version    string `json:"version"`
	// ID is the value for communityGalleryImageId.
	ID string `json:"id"`
}

// listers is the number of lists that are read at the same time: an offer can have hundreds of SKUs.
const listers = 8

// Versions returns the versions of marketplace images in a location whose publisher, offer
// and SKU contain the given texts, as `az vm image list --all` matches them. It is no error
// if there are none. Each SKU costs one call; nothing is cached.
func (c *Catalog) Versions(ctx context.Context, locationName, publisher, offer, sku string) ([]Listed, error) {
	at := c.at(locationName) + "/publishers"
	publishers, err := c.names(ctx, at, publisher)
	if err != nil {
		return nil, fmt.Errorf("list the publishers of images in %s: %w", locationName, err)
	}
	list := []Listed{}
	for _, p := range publishers {
		offers, err := c.names(ctx, at+"/"+p+"/artifacttypes/vmimage/offers", offer)
		if err != nil {
			return nil, fmt.Errorf("list the offers of %s in %s: %w", p, locationName, err)
		}
		for _, o := range offers {
			versions, err := c.offered(ctx, at, p, o, sku)
			if err != nil {
				return nil, fmt.Errorf("list the images of %s:%s in %s: %w", p, o, locationName, err)
			}
			list = append(list, versions...)
		}
	}
	return list, nil
}

// offered returns the versions of the images in one offer.
func (c *Catalog) offered(ctx context.Context, publishers, publisher, offer, sku string) ([]Listed, error) {
	at := publishers + "/" + publisher + "/artifacttypes/vmimage/offers/" + offer + "/skus"
	skus, err := c.names(ctx, at, sku)
	if err != nil {
		return nil, err
	}
	found := make([][]Listed, len(skus))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listers)
	for i, s := range skus {
		group.Go(func() error {
			versions, err := c.entries(ctx, at+"/"+s+"/versions", arm.Query("$expand", "properties"))
			for _, v := range versions {
				found[i] = append(found[i], Listed{v.Properties.Architecture, offer, publisher, s,
					strings.Join([]string{publisher, offer, s, v.Name}, ":"), v.Name})
			}
			return err
		})
	}
	err = group.Wait()
	return slices.Concat(found...), err
}

// Gallery returns the versions of a community gallery's images whose definition name contains a text. It is no error if
// the gallery does not exist.
func (c *Catalog) Gallery(ctx context.Context, locationName, gallery, definition string) ([]Shared, error) {
	at := c.at(locationName) + "/communityGalleries/" + url.PathEscape(gallery) + "/images"
	images, err := c.collection(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("list the images of community gallery %s in %s: %w", gallery, locationName, err)
	}
	list := []Shared{}
	for _, image := range images {
		if !contains(image.Name, definition) {
			continue
		}
		versions, err := c.collection(ctx, at+"/"+image.Name+"/versions")
		if err != nil {
			return nil, fmt.Errorf("list the versions of %s in community gallery %s: %w", image.Name, gallery, err)
		}
		for _, v := range versions {
			id := "/CommunityGalleries/" + gallery + "/Images/" + image.Name + "/Versions/" + v.Name
			list = append(list, Shared{gallery, image.Name, image.Properties.OSType, v.Name, id})
		}
	}
	return list, nil
}

// at returns the ARM path below which a location's marketplace images are.
func (c *Catalog) at(locationName string) string {
	return "/subscriptions/" + c.client.SubscriptionID() + "/providers/Microsoft.Compute/locations/" + normal(locationName)
}

// entry is an element of a list of images.
type entry struct {
	Name       string
	Properties struct{ Architecture, OSType string }
}

func contains(name, part string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(part))
}

// names returns the names in a marketplace list that contain part.
func (c *Catalog) names(ctx context.Context, path, part string) ([]string, error) {
	all, err := c.entries(ctx, path)
	var names []string
	for _, e := range all {
		if contains(e.Name, part) {
			names = append(names, e.Name)
		}
	}
	return names, err
}

// entries reads a list of the marketplace, which is a JSON array without an object around
// it.
func (c *Catalog) entries(ctx context.Context, path string, options ...arm.Option) ([]entry, error) {
	body, err := c.client.Get(ctx, path, imagesAPIVersion, options...)
	if arm.ClassOf(err) == arm.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []entry
	return list, json.Unmarshal(body, &list)
}

// collection reads all pages of a list of a gallery.
func (c *Catalog) collection(ctx context.Context, path string) ([]entry, error) {
	var list []entry
	for item, err := range c.client.List(ctx, path, galleryAPIVersion) {
		if arm.ClassOf(err) == arm.NotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		var e entry
		if err := json.Unmarshal(item, &e); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}
