package catalogue

import (
	"fmt"
	"time"
)

// series is a Kubernetes minor with reference images in the marketplace, under the publisher
// cncf-upstream, for the patches 0 to last. The patches up to first were published on one day.
type series struct {
	minor, first int
	began        string
	last         int
	ended        string
}

// marketplaceSeries has the dates of the patches' images: the first dates of 1.18 to 1.20 come from
// an earlier form of the guide to Windows clusters (capz.sigs.k8s.io), all others from the
// CHANGELOGs of kubernetes/kubernetes.
var marketplaceSeries = []series{
	{18, 13, "2020-12-11", 20, "2021-06-18"}, {19, 5, "2020-12-11", 16, "2021-10-27"}, {20, 0, "2020-12-11", 15, "2022-01-19"},
	{21, 0, "2021-04-08", 14, "2022-06-15"}, {22, 0, "2021-08-04", 17, "2022-12-08"}, {23, 0, "2021-12-07", 17, "2023-02-22"},
	{24, 0, "2022-05-03", 17, "2023-08-23"}, {25, 0, "2022-08-23", 16, "2023-11-15"}, {26, 0, "2022-12-09", 15, "2024-03-14"},
}

// firstContainerd is the day of the first images with containerd, as the guide shows them.
const firstContainerd = "2021-10-15"

// newestMarketplace is the version of the last images in the marketplace, which have Kubernetes
// 1.30.3.
const newestMarketplace = "130.3.20240717"

// version returns the image version of a patch, which is the day of its publication, but no earlier
// than earliest. Between the first patch and the last the day is estimated, because patches appear
// about monthly.
func (s series) version(patch int, earliest string) string {
	const day = 24 * time.Hour
	date := func(text string) time.Time {
		t, _ := time.Parse(time.DateOnly, text) // the text is from the table above
		return t
	}
	from, to := date(s.began), date(s.ended)
	days := int(to.Sub(from)/day) * max(patch-s.first, 0) / (s.last - s.first)
	at := from.AddDate(0, 0, days)
	if earliest != "" && at.Before(date(earliest)) {
		at = date(earliest)
	}
	return at.Format("2006.01.02")
}

// kubernetesImages returns the reference images of Cluster API in the marketplace.
func kubernetesImages() []Image {
	var out []Image
	add := func(offer, os, sku, version string, gib int) {
		out = append(out, Image{Publisher: "cncf-upstream", Offer: offer, SKU: sku, OS: os, Generation: "V1",
			Architecture: "x64", DiskGiB: gib, Latest: version})
	}
	for _, s := range marketplaceSeries {
		minor := s.minor
		for patch := range s.last + 1 {
			version := s.version(patch, "")
			k := fmt.Sprintf("k8s-1dot%ddot%d", minor, patch)
			for _, ubuntu := range []string{"1804", "2004"} {
				add("capi", "Linux", k+"-ubuntu-"+ubuntu, version, 30)
			}
			if minor < 24 {
				add("capi-windows", "Windows", k+"-windows-2019", version, 127)
			}
			if minor >= 22 {
				add("capi-windows", "Windows", k+"-windows-2019-containerd", s.version(patch, firstContainerd), 127)
			}
		}
	}
	// Since 1.24 there is one SKU for each operating system, and the image version contains the
	// Kubernetes version: 128.5.20240102 is v1.28.5. Source: CAPZ v1.4 to v1.17,
	// azure/services/virtualmachineimages; its table ends with 1.30.3.
	for _, sku := range []string{"ubuntu-1804-gen1", "ubuntu-2004-gen1", "ubuntu-2204-gen1"} {
		add("capi", "Linux", sku, newestMarketplace, 30)
	}
	for _, sku := range []string{"windows-2019-containerd-gen1", "windows-2022-containerd-gen1"} {
		add("capi-windows", "Windows", sku, newestMarketplace, 127)
	}
	return out
}
