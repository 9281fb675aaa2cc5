package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// StateTag is the tag of image versions that `casement images build` has made; its value is StateVerified once a
// machine with the image has been tested.
const (
	StateTag      = "casement-image-state"
	StateVerified = "verified"
)

// Release is one version of an image.
type Release struct {
	Version string
	// Excluded is true if the publisher excludes the version from the latest one.
	Excluded bool
	// Verified is true if the value of StateTag is StateVerified; Built is true if the image has this tag.
	Verified, Built bool
}

// Releases returns all versions of an image in a location; image.Version has no effect. The result is cached.
func (c *Catalog) Releases(ctx context.Context, locationName string, image Image, keep time.Duration) ([]Release, error) {
	image.Version = ""
	image.ID = line(image.ID)
	path, version := c.imagePath(locationName, image)
	found, err := c.releases.get(ctx, path, func(ctx context.Context) ([]Release, time.Duration, error) {
		found, err := c.readReleases(ctx, path, version, normal(locationName))
		return found, keep, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the versions of the image: %w", err)
	}
	return found, nil
}

// line returns the URL of the list of versions that the version with this ID is in.
func line(id string) string {
	if at := strings.LastIndex(strings.ToLower(id), "/versions/"); at > 0 {
		return id[:at] + "/versions"
	}
	return id
}

func (c *Catalog) readReleases(ctx context.Context, path, apiVersion, locationName string) ([]Release, error) {
	var out []Release
	for item, err := range c.client.List(ctx, path, apiVersion) {
		if err != nil {
			return nil, err
		}
		var v struct {
			Name       string
			Tags       map[string]string
			Properties struct {
				ProvisioningState string
				ExcludeFromLatest bool // in a community gallery
				PublishingProfile struct {
					ExcludeFromLatest bool
					TargetRegions     []struct{ Name string }
				}
			}
		}
		if err := json.Unmarshal(item, &v); err != nil {
			return nil, err
		}
		p := v.Properties
		if p.ProvisioningState != "" && !strings.EqualFold(p.ProvisioningState, "Succeeded") {
			continue
		}
		regions := p.PublishingProfile.TargetRegions
		if len(regions) > 0 && !slices.ContainsFunc(regions, func(r struct{ Name string }) bool { return normal(r.Name) == locationName }) {
			continue
		}
		state, built := v.Tags[StateTag]
		out = append(out, Release{Version: v.Name, Excluded: p.ExcludeFromLatest || p.PublishingProfile.ExcludeFromLatest,
			Verified: state == StateVerified, Built: built})
	}
	return out, nil
}
