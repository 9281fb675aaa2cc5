package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// downward returns a field of a pod in the form of environment variables and downwardAPI volumes.
// Source: kubernetes pkg/fieldpath/fieldpath.go and pkg/kubelet/kubelet_pods.go,
// podFieldSelectorRuntimeValue.
func (w *worker) downward(pod *corev1.Pod, field string) (string, error) {
	if name, key, ok := subscript(field); ok {
		switch name {
		case "metadata.annotations":
			return pod.Annotations[key], nil
		case "metadata.labels":
			return pod.Labels[key], nil
		}
		return "", fmt.Errorf("invalid fieldPath with subscript: %q", field)
	}
	switch field {
	case "metadata.annotations":
		return formatMap(pod.Annotations), nil
	case "metadata.labels":
		return formatMap(pod.Labels), nil
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "spec.nodeName":
		return w.k.nodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return w.k.c.InternalIP.String(), nil
	case "status.podIP", "status.podIPs":
		if w.sandbox.ip.IsValid() {
			return w.sandbox.ip.String(), nil
		}
		return "", nil
	}
	return "", fmt.Errorf("unsupported fieldPath: %v", field)
}

// subscript splits a field with a key, such as metadata.labels['key'].
func subscript(field string) (name, key string, ok bool) {
	name, rest, ok := strings.Cut(field, "['")
	key, end := strings.CutSuffix(rest, "']")
	return name, key, ok && end
}

// formatMap returns labels or annotations in the form of the downward API, sorted.
func formatMap(m map[string]string) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		lines = append(lines, key+"="+strconv.Quote(m[key]))
	}
	return strings.Join(lines, "\n")
}

// downwardResource returns a request or limit of a container in units of the divisor, rounded up. A limit
// that is not set is the node's allocatable amount.
// Source: kubernetes pkg/api/v1/resource/helpers.go.
func (w *worker) downwardResource(pod *corev1.Pod, container string, ref *corev1.ResourceFieldSelector) (string, error) {
	if ref.ContainerName != "" {
		container = ref.ContainerName
	}
	all := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == container })
	if i < 0 {
		return "", fmt.Errorf("container %s not found", container)
	}
	of, name, _ := strings.Cut(ref.Resource, ".")
	list := all[i].Resources.Requests
	if of == "limits" {
		list = all[i].Resources.Limits
	}
	quantity, ok := list[corev1.ResourceName(name)]
	if node := w.k.node.get(); !ok && of == "limits" && node != nil {
		quantity = node.Status.Allocatable[corev1.ResourceName(name)]
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	if name == "cpu" {
		return strconv.FormatInt(ceil(quantity.MilliValue(), divisor.MilliValue()), 10), nil
	}
	return strconv.FormatInt(ceil(quantity.Value(), divisor.Value()), 10), nil
}

func ceil(value, divisor int64) int64 { return (value + divisor - 1) / divisor }
