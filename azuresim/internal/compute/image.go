package compute

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// CommunityGallery is the public gallery of the reference images.
const CommunityGallery = "ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019"

// An offer of the marketplace: its versions by SKU.
type offer struct {
	publisher, name, os string
	skus                map[string][]string
}

// newestPatch of the Kubernetes minors that reference images were published for
// in the marketplace (before) and are in the community gallery (since).
var (
	marketplacePatches = map[int]int{18: 20, 19: 16, 20: 15, 21: 14, 22: 17, 23: 17, 24: 17, 25: 16, 26: 15}
	galleryPatches     = map[int]int{27: 16, 28: 15, 29: 15, 30: 14, 31: 14, 32: 13, 33: 12, 34: 8, 35: 5, 36: 3}
)

// catalogue is the part of the marketplace that the local Azure knows.
func catalogue() []offer {
	linux, windows := map[string][]string{}, map[string][]string{}
	for minor, patches := range marketplacePatches {
		for patch := range patches + 1 {
			k := fmt.Sprintf("k8s-1dot%ddot%d", minor, patch)
			for _, ubuntu := range []string{"1804", "2004"} {
				linux[k+"-ubuntu-"+ubuntu] = []string{"2021.10.15"}
			}
			if minor < 24 {
				windows[k+"-windows-2019"] = []string{"2021.10.15"}
			}
			if minor >= 22 {
				windows[k+"-windows-2019-containerd"] = []string{"2021.10.15"}
			}
		}
	}
	return []offer{
		{"cncf-upstream", "capi", "Linux", linux},
		{"cncf-upstream", "capi-windows", "Windows", windows},
		{"Canonical", "0001-com-ubuntu-server-jammy", "Linux", map[string][]string{"22_04-lts-gen2": {"22.04.202406140"}}},
		{"MicrosoftWindowsServer", "WindowsServer", "Windows", map[string][]string{
			"2019-datacenter-core-smalldisk": {"17763.6293.240905"}, "2022-datacenter-core-smalldisk": {"20348.2700.240905"}, "2025-datacenter-core-smalldisk": {"26100.1742.240906"},
			"2016-Datacenter": {"14393.7336.240905"}, "2019-Datacenter": {"17763.6293.240905"}, "2022-datacenter-core-g2": {"20348.2700.240905"},
			"2022-datacenter-g2": {"20348.2700.240905"}, "2022-datacenter-azure-edition": {"20348.2700.240905"}}},
	}
}

// galleryImages are the image definitions of the community gallery.
var galleryImages = []string{"capi-ubun2-2404", "capi-win-2019-containerd", "capi-win-2022-containerd", "capi-win-2025-containerd"}

var semver = regexp.MustCompile(`^1\.(\d+)\.(\d+)$`)

// inGallery says whether the community gallery has a version of a definition.
func inGallery(image, version string) bool {
	m := semver.FindStringSubmatch(version)
	if m == nil || !slices.ContainsFunc(galleryImages, func(i string) bool { return strings.EqualFold(i, image) }) {
		return false
	}
	var minor, patch int
	if _, err := fmt.Sscan(m[1]+" "+m[2], &minor, &patch); err != nil {
		return false
	}
	newest, ok := galleryPatches[minor]
	return ok && patch <= newest
}

// checkImage refuses an image that does not exist and notes the exact version.
func checkImage(t *engine.Tx, d *engine.Doc) *engine.Error {
	ref := value.Sub(value.Props(d.Body), "storageProfile", "imageReference")
	if ref == nil {
		return invalid("imageReference", "Required parameter 'imageReference' is missing (null).")
	}
	image := imageOf(ref)
	if image.ID != "" {
		return checkImageID(t, d, image.ID, ref)
	}
	for _, o := range catalogue() {
		if !strings.EqualFold(o.publisher, image.Publisher) || !strings.EqualFold(o.name, image.Offer) {
			continue
		}
		for sku, versions := range o.skus {
			if !strings.EqualFold(sku, image.SKU) {
				continue
			}
			if image.Version == "latest" {
				ref["exactVersion"] = versions[len(versions)-1]
				return nil
			}
			if slices.Contains(versions, image.Version) {
				ref["exactVersion"] = image.Version
				return nil
			}
		}
	}
	e := engine.Refuse(http.StatusNotFound, "PlatformImageNotFound", "The platform image '%s:%s:%s:%s' is not available. Verify that all fields in the storage profile are correct. For more details about storage profile information, please refer to https://aka.ms/storageprofile", image.Publisher, image.Offer, image.SKU, image.Version)
	e.Target = "imageReference"
	return e
}

// serveMarketplace answers publishers, offers, SKUs and versions: bare arrays.
func serveMarketplace(c *engine.Request) *engine.Error {
	n := c.Id.Names // location, publisher, vmimage, offer, sku, version
	base := "/Subscriptions/" + c.Id.Subscription + "/Providers/Microsoft.Compute/Locations/" + n[0]
	entry := func(path ...string) value.Object {
		return value.Object{"name": path[len(path)-1], "location": n[0], "id": base + "/" + strings.Join(path, "/")}
	}
	out := []any{}
	seen := map[string]bool{}
	for _, o := range catalogue() {
		switch {
		case len(n) == 1:
			if !seen[o.publisher] {
				out = append(out, entry("Publishers", o.publisher))
			}
			seen[o.publisher] = true
		case !strings.EqualFold(n[1], o.publisher):
		case len(n) <= 3:
			out = append(out, entry("Publishers", o.publisher, "ArtifactTypes", "VMImage", "Offers", o.name))
		case !strings.EqualFold(n[3], o.name):
		case len(n) == 4:
			for _, sku := range value.SortedKeys(o.skus) {
				out = append(out, entry("Publishers", o.publisher, "ArtifactTypes", "VMImage", "Offers", o.name, "Skus", sku))
			}
		default:
			for sku, versions := range o.skus {
				if !strings.EqualFold(sku, n[4]) {
					continue
				}
				for _, v := range versions {
					e := entry("Publishers", o.publisher, "ArtifactTypes", "VMImage", "Offers", o.name, "Skus", sku, "Versions", v)
					e["properties"] = value.Object{"hyperVGeneration": "V1", "architecture": "x64", "osDiskImage": value.Object{"operatingSystem": o.os}}
					if len(n) == 6 && (n[5] == v || n[5] == "latest") {
						c.Reply(http.StatusOK, e)
						return nil
					}
					out = append(out, e)
				}
			}
		}
	}
	if len(n) == 6 || len(out) == 0 && len(n) > 1 {
		return engine.Refuse(http.StatusNotFound, "NotFound", "Artifact: VMImage was not found: %s.", c.HTTP.URL.Path)
	}
	c.Reply(http.StatusOK, out)
	return nil
}
