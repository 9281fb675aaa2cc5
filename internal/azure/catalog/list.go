package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

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

// named is an entry of the marketplace's lists, which are bare arrays.
type named struct {
	Name       string
	Properties struct{ Architecture string }
}

// Versions are all versions of an offer's images in a location, in the order that
// Azure gives. SKUs whose name does not contain sku are left out. An offer that
// does not exist has none. Each SKU costs one call; nothing is kept.
func (c *Catalog) Versions(ctx context.Context, locationName, publisher, offer, sku string) ([]Listed, error) {
	at := "/subscriptions/" + c.client.SubscriptionID() + "/providers/Microsoft.Compute/locations/" + normal(locationName) +
		"/publishers/" + publisher + "/artifacttypes/vmimage/offers/" + offer + "/skus"
	skus, err := c.names(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("list the SKUs of %s:%s in %s: %w", publisher, offer, locationName, err)
	}
	list := []Listed{}
	for _, s := range skus {
		if !strings.Contains(strings.ToLower(s.Name), strings.ToLower(sku)) {
			continue
		}
		versions, err := c.names(ctx, at+"/"+s.Name+"/versions")
		if err != nil {
			return nil, fmt.Errorf("list the versions of %s:%s:%s in %s: %w", publisher, offer, s.Name, locationName, err)
		}
		for _, v := range versions {
			urn := strings.Join([]string{publisher, offer, s.Name, v.Name}, ":")
			list = append(list, Listed{v.Properties.Architecture, offer, publisher, s.Name, urn, v.Name})
		}
	}
	return list, nil
}

func (c *Catalog) names(ctx context.Context, path string) ([]named, error) {
	body, err := c.client.Get(ctx, path, imagesAPIVersion)
	if arm.ClassOf(err) == arm.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []named
	return list, json.Unmarshal(body, &list)
}
