package compute

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/compute/catalogue"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// CommunityGallery is the public gallery of the reference images.
const CommunityGallery = "ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019"

// galleryPatches has the newest patch of each Kubernetes minor with images in the community
// gallery.
var galleryPatches = map[int]int{27: 16, 28: 15, 29: 15, 30: 14, 31: 14, 32: 13, 33: 12, 34: 8, 35: 5, 36: 3, 37: 2}

// server is a release of Windows Server.
type server struct {
	// key is the part of an image's name that identifies the release.
	key         string
	name, build string
	// reference is set for images that the community gallery publishes too.
	reference bool
}

// servers are the releases of Windows Server. A new release is a row here, and its images
// of the marketplace in catalogue/images.tsv.
var servers = []server{
	{"2019", "Windows Server 2019 Datacenter", "10.0.17763", true},
	{"2022", "Windows Server 2022 Datacenter", "10.0.20348", true},
	{"23h2", "Windows Server Datacenter", "10.0.25398", false},
	{"2025", "Windows Server 2025 Datacenter", "10.0.26100", true},
}

// galleryImages returns the names of the image definitions in the community gallery.
func galleryImages() []string {
	out := []string{"capi-ubun2-2404", "capi-azurelinux-3"}
	for _, r := range servers {
		if r.reference {
			out = append(out, "capi-win-"+r.key+"-containerd")
		}
	}
	return out
}

var semver = regexp.MustCompile(`^1\.(\d+)\.(\d+)$`)

// flatcarGallery is the public gallery of Flatcar's images with Kubernetes: it has a definition for
// each version of Kubernetes, and the image versions are Flatcar's versions. Source:
// https://github.com/flatcar/flatcar, documentation on Cluster API.
const flatcarGallery = "flatcar4capi-742ef0cb-dcaa-4ecb-9cb0-bfd2e43dccc0"

// flatcarLatest is the version in lists; all other versions of the right form exist too.
const flatcarLatest = "4230.2.1"

var (
	flatcarImage   = regexp.MustCompile(`^flatcar-(?:stable|beta)-amd64-capi-v(.+)$`)
	flatcarVersion = regexp.MustCompile(`^\d{4}\.\d+\.\d+$`)
)

// inPublic reports whether a known public gallery has a version of a definition.
func inPublic(gallery, image, version string) bool {
	switch {
	case strings.EqualFold(gallery, CommunityGallery):
		return built(version) && slices.ContainsFunc(galleryImages(), func(i string) bool { return strings.EqualFold(i, image) })
	case strings.EqualFold(gallery, flatcarGallery):
		m := flatcarImage.FindStringSubmatch(strings.ToLower(image))
		return m != nil && built(m[1]) && flatcarVersion.MatchString(version)
	}
	return false
}

// latestIn returns the newest version of a definition in a public gallery.
func latestIn(gallery string) string {
	if strings.EqualFold(gallery, flatcarGallery) {
		return flatcarLatest
	}
	return referenceVersions()[0]
}

// built reports whether the public gallery has images of a version of Kubernetes.
func built(version string) bool {
	m := semver.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	var minor, patch int
	if _, err := fmt.Sscan(m[1]+" "+m[2], &minor, &patch); err != nil {
		return false
	}
	newest, ok := galleryPatches[minor]
	return ok && patch <= newest
}

// checkImage returns an error if a machine's image does not exist or is larger than its disk; otherwise it records the
// exact version.
func checkImage(t *engine.Tx, d *engine.Doc) *engine.Error {
	if e := findImage(t, d); e != nil {
		return e
	}
	storage := value.Sub(value.Props(d.Body), "storageProfile")
	asked, ok := value.Int(storage, "osDisk", "diskSizeGB")
	if least := imageDisk(d); ok && asked < least {
		// Source: https://github.com/Azure/azure-sdk-for-python/issues/23051.
		e := engine.Conflict("OperationNotAllowed", "The specified disk size %d GB is smaller than the size of the corresponding disk in "+
			"the VM image: %d GB. This is not allowed. Please choose equal or greater size or do not specify an explicit size.", asked, least)
		e.Target = "osDisk.diskSizeGB"
		return e
	}
	return nil
}

// imageDisk returns the size of the OS disk of a machine's image in GiB; 0 if it is not known.
func imageDisk(d *engine.Doc) int {
	image := imageOf(value.Sub(value.Props(d.Body), "storageProfile", "imageReference"))
	if image.ID != "" {
		n, _ := value.Int(d.Hidden, "diskGiB")
		return n
	}
	if found, _, ok := catalogue.FindImage(image.Publisher, image.Offer, image.SKU, image.Version); ok && !found.Guessed {
		return found.DiskGiB
	}
	return 0
}

// findImage returns an error if a machine's image does not exist; otherwise it records the exact version.
func findImage(t *engine.Tx, d *engine.Doc) *engine.Error {
	ref := value.Sub(value.Props(d.Body), "storageProfile", "imageReference")
	if vhd := value.Str(value.Props(d.Body), "storageProfile", "osDisk", "image", "uri"); ref == nil && vhd != "" {
		return nil // a custom image in a blob of a storage account: its contents are not known
	}
	if ref == nil {
		return invalid("imageReference", "Required parameter 'imageReference' is missing (null).")
	}
	image := imageOf(ref)
	if image.ID != "" {
		return checkImageID(t, d, image.ID, ref)
	}
	found, exact, ok := catalogue.FindImage(image.Publisher, image.Offer, image.SKU, image.Version)
	if ok {
		ref["exactVersion"] = exact
		return checkPlan(d, found)
	}
	e := engine.Refuse(http.StatusNotFound, "PlatformImageNotFound", "The platform image '%s:%s:%s:%s' is not "+
		"available. Verify that all fields in the storage profile are correct. For more details about storage "+
		"profile information, please refer to "+
		"https://aka.ms/storageprofile", image.Publisher, image.Offer, image.SKU, image.Version)
	e.Target = "imageReference"
	return e
}

// checkPlan returns an error if a machine lacks the purchase plan of its image.
func checkPlan(d *engine.Doc, i catalogue.Image) *engine.Error {
	plan := value.Sub(d.Body, "plan")
	switch {
	case !i.Plan:
		return nil
	case plan == nil:
		return engine.BadRequest("VMMarketplaceInvalidInput", "Creating a virtual machine from Marketplace "+
			"image or a custom image sourced from a Marketplace image requires Plan information in the "+
			"request. VM: '%s'.", d.ID)
	case !strings.EqualFold(value.Str(plan, "publisher"), i.Publisher) ||
		!strings.EqualFold(value.Str(plan, "product"), i.Offer) ||
		!strings.EqualFold(value.Str(plan, "name"), i.SKU):
		return engine.BadRequest("VMMarketplaceInvalidInput", "Plan information provided in the request does "+
			"not match the image's: publisher '%s', product '%s', name '%s'. VM: "+
			"'%s'.", i.Publisher, i.Offer, i.SKU, d.ID)
	}
	return nil
}

// serveMarketplace answers lists of publishers, offers, SKUs and versions, which are bare JSON
// arrays.
func serveMarketplace(c *engine.Request) *engine.Error {
	n := c.ID.Names // location, publisher, vmimage, offer, sku, version
	if len(n) == 6 {
		return serveVersion(c)
	}
	at := "/Subscriptions/" + c.ID.Subscription + "/Providers/Microsoft.Compute/Locations/" + n[0]
	out := []any{}
	seen := map[string]bool{}
	for _, i := range catalogue.Images() {
		level, path := imagePath(i, n)
		if level == "" {
			continue
		}
		if id := at + path; !seen[id] {
			seen[id] = true
			entry := value.Object{"name": level, "location": n[0], "id": id}
			if len(n) == 5 {
				entry["properties"] = imageDetails(i)
			}
			out = append(out, entry)
		}
	}
	if len(out) == 0 && len(n) > 1 {
		return errArtifact(c)
	}
	c.Reply(http.StatusOK, out)
	return nil
}

// imagePath returns the name and the last part of the ID that an image adds to a list; n are the
// names in the path of the list. Both are empty if the image does not belong to the list.
func imagePath(i catalogue.Image, n []string) (name, path string) {
	is := func(at int, name string) bool { return len(n) <= at || strings.EqualFold(n[at], name) }
	if !is(1, i.Publisher) || !is(3, i.Offer) || !is(4, i.SKU) {
		return "", ""
	}
	offers := "/Publishers/" + i.Publisher + "/ArtifactTypes/VMImage/Offers/" + i.Offer
	switch len(n) {
	case 1:
		return i.Publisher, "/Publishers/" + i.Publisher
	case 2, 3:
		return i.Offer, offers
	case 4:
		return i.SKU, offers + "/Skus/" + i.SKU
	}
	return i.Latest, offers + "/Skus/" + i.SKU + "/Versions/" + i.Latest
}

// serveVersion answers one version of an image; also of an image that the lists do not contain.
func serveVersion(c *engine.Request) *engine.Error {
	n := c.ID.Names
	i, exact, ok := catalogue.FindImage(n[1], n[3], n[4], n[5])
	if !ok {
		return errArtifact(c)
	}
	id := "/Subscriptions/" + c.ID.Subscription + "/Providers/Microsoft.Compute/Locations/" + n[0] +
		"/Publishers/" + i.Publisher + "/ArtifactTypes/VMImage/Offers/" + i.Offer + "/Skus/" + i.SKU +
		"/Versions/" + exact
	c.Reply(http.StatusOK, value.Object{"name": exact, "location": n[0], "id": id, "properties": imageDetails(i)})
	return nil
}

func imageDetails(i catalogue.Image) value.Object {
	p := value.Object{"hyperVGeneration": i.Generation, "architecture": i.Architecture,
		"osDiskImage": value.Object{"operatingSystem": i.OS, "sizeInGb": i.DiskGiB}}
	if i.Plan {
		p["plan"] = value.Object{"publisher": i.Publisher, "product": i.Offer, "name": i.SKU}
	}
	return p
}

func errArtifact(c *engine.Request) *engine.Error {
	return engine.Refuse(http.StatusNotFound, "NotFound", "Artifact: VMImage was not found: %s.", c.HTTP.URL.Path)
}
