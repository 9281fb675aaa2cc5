// Package catalog has the offers of a location for a subscription: VM sizes with their zones and capabilities, images,
// and the remaining quota.
//
// It caches and shares the responses: sizes for a day, so that only one reconcile waits for the large list. The checks
// are pure functions over these data. The package does not decide the consequence of a failed check. Controllers,
// preflight, internal/image and the command line import it.
package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/azure/arm"
)

// Client has the Azure calls that catalog makes; *arm.Client implements it.
type Client interface {
	Get(ctx context.Context, id, apiVersion string, options ...arm.Option) (json.RawMessage, error)
	List(ctx context.Context, collection, apiVersion string, options ...arm.Option) iter.Seq2[json.RawMessage, error]
	SubscriptionID() string
}

// API versions of the lists and resources that catalog reads.
const (
	skusAPIVersion    = "2021-07-01"
	imagesAPIVersion  = "2024-07-01"
	galleryAPIVersion = "2024-03-03"
)

const (
	// skusFor is the time for which the list of a location's sizes is cached.
	skusFor = 24 * time.Hour
	// imageFor is the time for which the existence of an image is cached; missingFor is the time for an image that does
	// not exist, because it may be published at any time.
	imageFor, missingFor = 24 * time.Hour, time.Minute
)

// Catalog returns the offers for one subscription. It is safe for concurrent use.
type Catalog struct {
	client    Client
	locations *cache[location]
	images    *cache[bool] // whether each image exists
	releases  *cache[[]Release]
}

// location is the VM sizes of one Azure location, by name in lower case.
type location map[string]SKU

// New returns a catalog. now may be nil for time.Now.
func New(c Client, now func() time.Time) *Catalog {
	if now == nil {
		now = time.Now
	}
	return &Catalog{client: c, locations: newCache[location](now), images: newCache[bool](now),
		releases: newCache[[]Release](now)}
}

// SKU returns a VM size of a location; case is ignored. ok is false if the location does not have the size.
func (c *Catalog) SKU(ctx context.Context, locationName, size string) (SKU, bool, error) {
	l, err := c.location(ctx, locationName)
	if err != nil {
		return SKU{}, false, err
	}
	sku, ok := l[strings.ToLower(size)]
	return sku, ok, nil
}

// SKUs returns all sizes of a location, by name.
func (c *Catalog) SKUs(ctx context.Context, locationName string) ([]SKU, error) {
	l, err := c.location(ctx, locationName)
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(l), func(a, b SKU) int { return strings.Compare(a.Name, b.Name) }), nil
}

// Zones returns the availability zones of a location in which the subscription can use some
// VM size, sorted; none for a location without zones.
func (c *Catalog) Zones(ctx context.Context, locationName string) ([]string, error) {
	l, err := c.location(ctx, locationName)
	if err != nil {
		return nil, err
	}
	zones := map[string]bool{}
	for _, sku := range l {
		for _, z := range sku.Zones {
			zones[z] = true
		}
	}
	return slices.Sorted(maps.Keys(zones)), nil
}

// location returns Azure's offers in a location, read at most once a day. If Azure does not respond, it returns the
// previous list.
func (c *Catalog) location(ctx context.Context, name string) (location, error) {
	key := normal(name)
	l, err := c.locations.get(ctx, key, func(ctx context.Context) (location, time.Duration, error) {
		l, err := c.readSKUs(ctx, key)
		return l, skusFor, err
	})
	if err == nil {
		return l, nil
	}
	if known, ok := c.locations.last(key); ok && ctx.Err() == nil {
		return known.value, nil
	}
	return nil, fmt.Errorf("read the VM sizes of %s: %w", name, err)
}

func (c *Catalog) readSKUs(ctx context.Context, key string) (location, error) {
	l := location{}
	path := "/subscriptions/" + c.client.SubscriptionID() + "/providers/Microsoft.Compute/skus"
	for item, err := range c.client.List(ctx, path, skusAPIVersion, arm.Query("$filter", "location eq '"+key+"'")) {
		if err != nil {
			return nil, err
		}
		if sku, ok := parseSKU(item, key); ok {
			l[strings.ToLower(sku.Name)] = sku
		}
	}
	return l, nil
}

// normal returns a location's name in the form that Azure uses as a key.
func normal(location string) string {
	return strings.ToLower(strings.ReplaceAll(location, " ", ""))
}

// Usage is the use of a quota.
type Usage struct {
	// Name identifies the quota, such as "standardDSv3Family"; Display is its display name.
	Name, Display  string
	Current, Limit int64
}

// Usages reads the use of the compute quotas in a location. It is not cached because it changes too often.
func (c *Catalog) Usages(ctx context.Context, locationName string) ([]Usage, error) {
	var usages []Usage
	path := "/subscriptions/" + c.client.SubscriptionID() + "/providers/Microsoft.Compute/locations/" + normal(locationName) + "/usages"
	for item, err := range c.client.List(ctx, path, imagesAPIVersion) {
		if err != nil {
			return nil, fmt.Errorf("read the quotas of %s: %w", locationName, err)
		}
		var u struct {
			Name struct {
				Value          string `json:"value"`
				LocalizedValue string `json:"localizedValue"`
			} `json:"name"`
			CurrentValue int64 `json:"currentValue"`
			Limit        int64 `json:"limit"`
		}
		if err := json.Unmarshal(item, &u); err != nil {
			return nil, fmt.Errorf("read the quotas of %s: %w", locationName, err)
		}
		usages = append(usages, Usage{u.Name.Value, u.Name.LocalizedValue, u.CurrentValue, u.Limit})
	}
	return usages, nil
}
