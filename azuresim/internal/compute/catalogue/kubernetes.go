package catalogue

import "fmt"

// marketplacePatches has the newest patch of each Kubernetes minor with reference images in
// the marketplace, under the publisher cncf-upstream.
var marketplacePatches = map[int]int{18: 20, 19: 16, 20: 15, 21: 14, 22: 17, 23: 17, 24: 17, 25: 16, 26: 15}

// kubernetesVersion is the image version of the reference images for Kubernetes.
const kubernetesVersion = "2021.10.15"

// kubernetesImages returns the reference images of Cluster API in the marketplace.
func kubernetesImages() []Image {
	var out []Image
	add := func(offer, os, sku string, gib int) {
		out = append(out, Image{Publisher: "cncf-upstream", Offer: offer, SKU: sku, OS: os, Generation: "V1",
			Architecture: "x64", DiskGiB: gib, Latest: kubernetesVersion})
	}
	for minor, patches := range marketplacePatches {
		for patch := range patches + 1 {
			k := fmt.Sprintf("k8s-1dot%ddot%d", minor, patch)
			for _, ubuntu := range []string{"1804", "2004"} {
				add("capi", "Linux", k+"-ubuntu-"+ubuntu, 30)
			}
			if minor < 24 {
				add("capi-windows", "Windows", k+"-windows-2019", 127)
			}
			if minor >= 22 {
				add("capi-windows", "Windows", k+"-windows-2019-containerd", 127)
			}
		}
	}
	return out
}
