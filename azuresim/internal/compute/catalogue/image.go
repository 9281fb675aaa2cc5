package catalogue

import (
	"cmp"
	_ "embed"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed images.tsv
var imagesTSV string

// Image is one SKU of an image in the marketplace.
type Image struct {
	Publisher, Offer, SKU string
	// OS is Linux or Windows, Generation V1 or V2, Architecture x64 or Arm64.
	OS, Generation, Architecture string
	// DiskGiB is the size of its OS disk.
	DiskGiB int
	// Latest is the newest version.
	Latest string
	// Guessed means that the row is a pattern for other images of the publisher, so that Generation
	// is a guess.
	Guessed bool
	// Plan means that a VM created from the image must contain the purchase plan.
	Plan bool
}

// listed reports whether the row is an image in the marketplace's lists, and not a pattern.
func (i Image) listed() bool { return !strings.Contains(i.Offer+i.SKU, "*") }

// allImages contains the rows of the table and the reference images of Kubernetes.
var allImages = sync.OnceValue(func() []Image {
	return append(mustRead(imagesTSV, 9, newImage), kubernetesImages()...)
})

func newImage(f []string) (Image, error) {
	gib, err := strconv.Atoi(f[6])
	return Image{Publisher: f[0], Offer: f[1], SKU: f[2], OS: f[3], Generation: f[4], Architecture: f[5],
		DiskGiB: gib, Latest: f[7], Plan: f[8] == "plan"}, err
}

// Images returns the images in the marketplace's lists, sorted.
var Images = sync.OnceValue(func() []Image {
	var out []Image
	for _, i := range allImages() {
		if i.listed() {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b Image) int {
		return cmp.Or(strings.Compare(a.Publisher, b.Publisher), strings.Compare(a.Offer, b.Offer), strings.Compare(a.SKU, b.SKU))
	})
	return out
})

// versionForm is the form of the versions of marketplace images. Source:
// https://learn.microsoft.com/azure/virtual-machines/windows/cli-ps-findimage.
var versionForm = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// FindImage returns the image that an image reference names, without case, and its exact
// version. Any version of the right form exists; "latest" is the newest one.
func FindImage(publisher, offer, sku, version string) (i Image, exact string, ok bool) {
	i, ok = findSKU(publisher, offer, sku)
	switch {
	case !ok:
		return i, "", false
	case strings.EqualFold(version, "latest"):
		return i, i.Latest, true
	}
	return i, version, versionForm.MatchString(version)
}

// skuIndex has the listed images by publisher, offer and SKU in lower case.
var skuIndex = sync.OnceValue(func() map[[3]string]Image {
	out := map[[3]string]Image{}
	for _, i := range Images() {
		out[[3]string{strings.ToLower(i.Publisher), strings.ToLower(i.Offer), strings.ToLower(i.SKU)}] = i
	}
	return out
})

func findSKU(publisher, offer, sku string) (Image, bool) {
	publisher, offer, sku = strings.ToLower(publisher), strings.ToLower(offer), strings.ToLower(sku)
	if i, ok := skuIndex()[[3]string{publisher, offer, sku}]; ok {
		return i, true
	}
	if offer == "" || sku == "" {
		return Image{}, false
	}
	for _, i := range allImages() {
		if !i.listed() && strings.ToLower(i.Publisher) == publisher && matches(i.Offer, offer) && matches(i.SKU, sku) {
			i.Guessed = i.SKU == "*"
			i.Offer, i.SKU = offer, sku
			return i, true
		}
	}
	return Image{}, false
}

// matches compares a pattern with a lower-case name.
func matches(pattern, name string) bool {
	ok, err := path.Match(strings.ToLower(pattern), name)
	return ok && err == nil
}
