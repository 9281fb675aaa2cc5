package kubelet

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// checkVolumes finds what a pod's volumes are made of; a pod does not start before it is there. The words are
// those of kubernetes pkg/volume and pkg/kubelet/volumemanager.
func (k *Kubelet) checkVolumes(ctx context.Context, pod *corev1.Pod) error {
	for _, v := range pod.Spec.Volumes {
		if !mounted(pod, v.Name) {
			continue // a kubelet mounts what a container uses
		}
		if claim := claimOf(pod, &v); claim != "" {
			if err := k.checkClaim(ctx, pod, v.Name, claim); err != nil {
				return err
			}
			continue
		}
		if err := k.checkSources(ctx, pod, &v); err != nil {
			return fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", v.Name, err)
		}
	}
	return nil
}

// mounted reports whether a container of a pod uses a volume.
func mounted(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == name }) ||
			slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == name })
	})
}

// claimOf returns the claim of a volume, or nothing.
func claimOf(pod *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name
	}
	return ""
}

func (k *Kubelet) checkClaim(ctx context.Context, pod *corev1.Pod, volume, name string) error {
	claim, err := read(ctx, k.api.Load().core.PersistentVolumeClaims(pod.Namespace).Get, name)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		err = fmt.Errorf("failed to fetch PVC from API server: %w", err)
	case err != nil:
		return nil // the API server is away, which is no fault of the claim
	case claim.DeletionTimestamp != nil && claim.Spec.VolumeName == "":
		err = fmt.Errorf("PVC is being deleted")
	case claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName == "":
		err = fmt.Errorf("PVC is not bound")
	default:
		return nil
	}
	return fmt.Errorf("Unable to attach or mount volumes: unmounted volumes=[%s], unattached volumes=[], failed to process volumes=[%s]: "+
		"error processing PVC %s/%s: %w", volume, volume, pod.Namespace, name, err)
}

// checkSources finds the ConfigMaps and Secrets of a volume and the keys that it names.
func (k *Kubelet) checkSources(ctx context.Context, pod *corev1.Pod, v *corev1.Volume) error {
	switch {
	case v.ConfigMap != nil:
		return k.checkConfigMap(ctx, pod.Namespace, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.Secret != nil:
		return k.checkSecret(ctx, pod.Namespace, v.Secret.SecretName, v.Secret.Items, v.Secret.Optional)
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			var err error
			switch {
			case s.ConfigMap != nil:
				err = k.checkConfigMap(ctx, pod.Namespace, s.ConfigMap.Name, s.ConfigMap.Items, s.ConfigMap.Optional)
			case s.Secret != nil:
				err = k.checkSecret(ctx, pod.Namespace, s.Secret.Name, s.Secret.Items, s.Secret.Optional)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *Kubelet) checkConfigMap(ctx context.Context, namespace, name string, items []corev1.KeyToPath, optional *bool) error {
	return checkKeys(ctx, "configmap", name, items, optional, k.api.Load().core.ConfigMaps(namespace).Get,
		func(o *corev1.ConfigMap, key string) bool {
			_, text := o.Data[key]
			_, bytes := o.BinaryData[key]
			return text || bytes
		})
}

func (k *Kubelet) checkSecret(ctx context.Context, namespace, name string, items []corev1.KeyToPath, optional *bool) error {
	return checkKeys(ctx, "secret", name, items, optional, k.api.Load().core.Secrets(namespace).Get,
		func(o *corev1.Secret, key string) bool { _, ok := o.Data[key]; return ok })
}

func checkKeys[T any](ctx context.Context, kind, name string, items []corev1.KeyToPath, optional *bool,
	get func(context.Context, string, metav1.GetOptions) (T, error), has func(T, string) bool) error {
	object, err := read(ctx, get, name)
	switch {
	case apierrors.IsNotFound(err):
		return absent(err, kind, name, optional)
	case err != nil:
		return nil // the API server is away, or its authorizer has not seen the pod yet
	}
	for _, item := range items {
		if !has(object, item.Key) && !ptr.Deref(optional, false) {
			if kind == "secret" {
				return fmt.Errorf("references non-existent secret key: %s", item.Key)
			}
			return fmt.Errorf("configmap references non-existent config key: %s", item.Key)
		}
	}
	return nil
}
