package kubelet

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// fileKey returns the value of a variable from a file in a volume that a container of the pod
// mounts. Source: kubernetes pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables.
func (w *worker) fileKey(pod *corev1.Pod, ref *corev1.FileKeySelector) (value string, found bool, err error) {
	i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == ref.VolumeName })
	if i < 0 || !mounted(pod, ref.VolumeName) || volumeKind(&pod.Spec.Volumes[i]) == "" {
		return "", false, fmt.Errorf("cannot find the volume %q referenced by FileKeyRef", ref.VolumeName)
	}
	file := path.Join(w.volumeFolder(&pod.Spec.Volumes[i]), path.Clean("/"+ref.Path))
	data, err := w.k.c.Files.ReadFile(file)
	if err == nil {
		value, err = envValue(string(data), ref.Key)
	}
	switch {
	case err != nil:
		w.k.log.Error("Failed to parse env file", "pod", w.namespace+"/"+w.name, "err", err)
		return "", false, errors.New("couldn't parse env file")
	case value != "":
		return value, true, nil
	case ptr.Deref(ref.Optional, false):
		return "", false, nil
	}
	return "", false, fmt.Errorf("environment variable key %q not found in file %q", ref.Key, file)
}

// envValue returns the value of a key in a file of KEY='value' lines, or "". A value may have several
// lines, and a space before it makes it empty.
// Source: https://kubernetes.io/docs/tasks/inject-data-application/define-environment-variable-via-file.
func envValue(text, key string) (string, error) {
	for text != "" {
		var line string
		line, text, _ = strings.Cut(strings.TrimLeft(text, " \t"), "\n")
		line = strings.TrimSuffix(line, "\r")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		switch {
		case !ok || name == "" || strings.TrimRight(name, " \t") != name:
			return "", fmt.Errorf("line %q is not KEY='value'", line)
		case strings.TrimLeft(value, " \t") != value:
			if name == key {
				return "", nil
			}
			continue
		case !strings.HasPrefix(value, "'"):
			return "", fmt.Errorf("the value of %s is not in single quotes", name)
		}
		value, rest, closed := strings.Cut(value[1:], "'")
		if !closed {
			var more string
			if more, text, closed = strings.Cut(text, "'"); !closed {
				return "", fmt.Errorf("the quote of %s is not closed", name)
			}
			value += "\n" + more
			rest, text, _ = strings.Cut(text, "\n")
		}
		if rest = strings.TrimSpace(rest); rest != "" && !strings.HasPrefix(rest, "#") {
			return "", fmt.Errorf("something follows the quotes of %s", name)
		}
		if name == key {
			return value, nil
		}
	}
	return "", nil
}
