package capacity

import (
	"fmt"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/windows"
)

// Image returns the image of a machine or of a pool's instances: the image in its spec, or the default image for its
// Kubernetes version, operating system and annotations. The error names the field or annotation that is wrong.
func Image(spec *infrav1.AzureMachineSpec, annotations map[string]string, kubernetesVersion string) (infrav1.Image, error) {
	if spec.Image != nil {
		return *spec.Image, nil
	}
	image, err := windows.DefaultImage(kubernetesVersion, spec.OSDisk.OSType, annotations)
	if err != nil {
		return infrav1.Image{}, err
	}
	if image.Gallery != "" {
		return infrav1.Image{ComputeGallery: &infrav1.AzureComputeGalleryImage{
			Gallery: image.Gallery, Name: image.Name, Version: image.Version,
		}}, nil
	}
	return infrav1.Image{Marketplace: &infrav1.AzureMarketplaceImage{
		ImagePlan: infrav1.ImagePlan{Publisher: image.Publisher, Offer: image.Offer, SKU: image.SKU},
		Version:   image.Version,
	}}, nil
}

// ImageName returns the name of an image for messages.
func ImageName(image infrav1.Image) string {
	switch {
	case image.ID != nil:
		return *image.ID
	case image.Marketplace != nil:
		m := image.Marketplace
		return fmt.Sprintf("%s:%s:%s:%s", m.Publisher, m.Offer, m.SKU, m.Version)
	case image.SharedGallery != nil:
		return fmt.Sprintf("%s/%s/%s", image.SharedGallery.Gallery, image.SharedGallery.Name, image.SharedGallery.Version)
	case image.ComputeGallery != nil:
		return fmt.Sprintf("%s/%s/%s", image.ComputeGallery.Gallery, image.ComputeGallery.Name, image.ComputeGallery.Version)
	}
	return "(none)"
}
