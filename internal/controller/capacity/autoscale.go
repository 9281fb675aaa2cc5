package capacity

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/windows"
)

// LabelsAnnotation on a MachineDeployment or MachinePool has the labels that cluster-autoscaler expects of future
// nodes, as key=value separated by commas. Source: kubernetes/autoscaler,
// cluster-autoscaler/cloudprovider/clusterapi/README.md.
const LabelsAnnotation = "capacity.cluster-autoscaler.kubernetes.io/labels"

// PromiseBuild sets the annotation that informs the autoscaler which Windows build the nodes of a group will have.
// Architecture and operating system are in status.nodeInfo, which has no field for the build. Without the annotation,
// pods that select a build would never start the first node. It does nothing for a group that is not autoscaled and for
// an image whose release is not known.
func PromiseBuild(ctx context.Context, c client.Client, group client.Object, image infrav1.Image) error {
	if _, asked := group.GetAnnotations()[clusterv1.AutoscalerMaxSizeAnnotation]; !asked {
		return nil
	}
	contents, known := windows.ParseImage(reference(image))
	if !known || contents.Release.Build == "" {
		return nil
	}
	before, ok := group.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	labels := withLabel(group.GetAnnotations()[LabelsAnnotation], corev1.LabelWindowsBuild, contents.Release.Build)
	if labels == group.GetAnnotations()[LabelsAnnotation] {
		return nil
	}
	group.GetAnnotations()[LabelsAnnotation] = labels
	if err := client.IgnoreNotFound(c.Patch(ctx, group, client.MergeFrom(before))); err != nil {
		return fmt.Errorf("annotate %s %s with the build of its nodes: %w",
			group.GetObjectKind().GroupVersionKind().Kind, group.GetName(), err)
	}
	return nil
}

// withLabel returns a list of labels with one label set and the others unchanged.
func withLabel(list, key, value string) string {
	labels := slices.DeleteFunc(strings.Split(list, ","), func(l string) bool {
		return l == "" || strings.HasPrefix(l, key+"=")
	})
	return strings.Join(append(labels, key+"="+value), ",")
}

// reference returns an image in the form in which package windows looks up its contents.
func reference(image infrav1.Image) string {
	switch {
	case image.ID != nil:
		return *image.ID
	case image.Marketplace != nil:
		return ImageName(image)
	case image.SharedGallery != nil:
		g := image.SharedGallery
		return desired.GalleryImageID(g.SubscriptionID, g.ResourceGroup, g.Gallery, g.Name, g.Version)
	case image.ComputeGallery != nil:
		g := image.ComputeGallery
		return "/CommunityGalleries/" + g.Gallery + "/Images/" + g.Name + "/Versions/" + g.Version
	}
	return ""
}
