package patch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/controller/capacity"
	"casement.dev/casement/internal/controller/credential"
	"casement.dev/casement/internal/patchday"
	"casement.dev/casement/internal/windows"
)

// versioned matches the ID of an image version of a gallery.
var versioned = regexp.MustCompile(`(?i)^(.*/images/[^/]+)/versions/([^/]+)$`)

// split returns an image without its version, as text, and the version. If there is no version, why is the reason.
func split(image *infrav1.Image) (line, version, why string) {
	if image == nil {
		return "", "", "the image is the default one of the Kubernetes version: name one of a gallery or the marketplace in the template"
	}
	c := capacity.CatalogImage(*image)
	version = c.Version
	switch {
	case c.Publisher != "":
		line = strings.Join([]string{c.Publisher, c.Offer, c.SKU}, ":")
	case c.Gallery != "":
		line = "/CommunityGalleries/" + c.Gallery + "/Images/" + c.Name
	default:
		m := versioned.FindStringSubmatch(c.ID)
		if m == nil {
			return c.ID, "", "the image " + c.ID + " has no versions: name a version of a gallery's image definition"
		}
		line, version = m[1], m[2]
	}
	if version == "" || strings.EqualFold(version, "latest") {
		return line, "", "the image's version is latest, which each new machine may take for another: name the version to begin with"
	}
	return line, version, ""
}

// at returns a copy of an image with another version.
func at(image *infrav1.Image, version string) *infrav1.Image {
	image = image.DeepCopy()
	switch {
	case image.ID != nil:
		image.ID = new(versioned.ReplaceAllString(*image.ID, "${1}/versions/"+version))
	case image.Marketplace != nil:
		image.Marketplace.Version = version
	case image.SharedGallery != nil:
		image.SharedGallery.Version = version
	case image.ComputeGallery != nil:
		image.ComputeGallery.Version = version
	}
	return image
}

// newest returns the newest version of an image in a channel; if it is unknown, why is the reason.
func (r *Reconciler) newest(ctx context.Context, cluster *clusterv1.Cluster, image *infrav1.Image,
	channel string) (version, why string, err error) {
	azureCluster := &infrav1.AzureCluster{}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Spec.InfrastructureRef.Name}
	if err := r.Client.Get(ctx, key, azureCluster); err != nil {
		return "", "AzureCluster " + key.Name + " is not there", client.IgnoreNotFound(err)
	}
	session, err := r.Opener.Open(ctx, azureCluster)
	if refused, ok := errors.AsType[*credential.IdentityError](err); ok {
		return "", refused.Message, nil
	}
	if err != nil {
		return "", "", err
	}
	releases, err := session.Catalog().Releases(ctx, azureCluster.Spec.Location, capacity.CatalogImage(*image), r.ReadTTL)
	if err != nil {
		return "", err.Error(), nil // the message is Azure's; the next resync retries
	}
	version = choose(releases, channel, capacity.CatalogImage(*image))
	if version == "" {
		return "", fmt.Sprintf("none of the %d versions in %s is in the channel %s", len(releases), azureCluster.Spec.Location, channel), nil
	}
	return version, "", nil
}

// choose returns the newest of an image's versions in a channel.
func choose(releases []catalog.Release, channel string, image catalog.Image) string {
	newest := ""
	for _, r := range releases {
		ok := !r.Excluded
		if ok && channel == infrav1.ImageChannelVerified {
			switch {
			case image.ID != "" && !strings.HasPrefix(strings.ToLower(image.ID), "/communitygalleries/"):
				ok = r.Verified
			default:
				build, known := windows.MarketplaceBuild(r.Version)
				ok = !known || len(windows.Judge(build, windows.HitsHost).Found) == 0
			}
		}
		if ok && (newest == "" || patchday.Older(newest, r.Version)) {
			newest = r.Version
		}
	}
	return newest
}

// templateName returns the name of the copy of a machine template for a version.
func templateName(base, version string) string {
	const longest = 253 // Kubernetes' limit for names
	name := base + "-" + strings.ToLower(cmp.Or(version, "none"))
	return name[max(0, len(name)-longest):]
}
