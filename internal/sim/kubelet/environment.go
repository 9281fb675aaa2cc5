package kubelet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// read reads an object from the API server's cache, which is as late as the watches of a real kubelet and
// costs no read of etcd. Only what the cache does not have is looked for in etcd.
func read[T any](ctx context.Context, get func(context.Context, string, metav1.GetOptions) (T, error), name string) (T, error) {
	object, err := get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
	if apierrors.IsNotFound(err) {
		return get(ctx, name, metav1.GetOptions{})
	}
	return object, err
}

// environment returns what a container is started with. The error is one for which a
// kubelet holds the container with CreateContainerConfigError. Source: kubernetes
// pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables.
func (w *worker) environment(ctx context.Context, pod *corev1.Pod, spec *corev1.Container) (map[string]string, error) {
	vars := map[string]string{}
	for _, from := range spec.EnvFrom {
		data, err := w.source(ctx, pod, from)
		if err != nil {
			return nil, err
		}
		for key, value := range data {
			vars[from.Prefix+key] = value
		}
	}
	for _, e := range spec.Env {
		value, found, err := w.value(ctx, pod, e)
		if err != nil {
			return nil, err
		}
		if found {
			vars[e.Name] = value
		}
	}
	return vars, nil
}

// source returns all keys of a ConfigMap or Secret.
func (w *worker) source(ctx context.Context, pod *corev1.Pod, from corev1.EnvFromSource) (map[string]string, error) {
	switch {
	case from.ConfigMapRef != nil:
		return w.configMap(ctx, pod, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	case from.SecretRef != nil:
		return w.secret(ctx, pod, from.SecretRef.Name, from.SecretRef.Optional)
	}
	return nil, nil
}

// value returns the value of one variable; found is false for optional ones without a value.
func (w *worker) value(ctx context.Context, pod *corev1.Pod, e corev1.EnvVar) (value string, found bool, err error) {
	if e.ValueFrom == nil {
		return e.Value, true, nil
	}
	switch from := e.ValueFrom; {
	case from.FieldRef != nil:
		return w.field(pod, from.FieldRef.FieldPath), true, nil
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		data, err := w.configMap(ctx, pod, ref.Name, ref.Optional)
		return chosen(data, err, "ConfigMap", pod.Namespace+"/"+ref.Name, ref.Key, ref.Optional)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		data, err := w.secret(ctx, pod, ref.Name, ref.Optional)
		return chosen(data, err, "Secret", pod.Namespace+"/"+ref.Name, ref.Key, ref.Optional)
	}
	return "", true, nil
}

func (w *worker) field(pod *corev1.Pod, path string) string {
	switch path {
	case "spec.nodeName":
		return w.k.nodeName
	case "metadata.name":
		return pod.Name
	case "metadata.namespace":
		return pod.Namespace
	case "status.podIP", "status.podIPs":
		return w.sandbox.ip.String()
	case "status.hostIP", "status.hostIPs":
		return w.k.c.InternalIP.String()
	}
	return ""
}

func chosen(data map[string]string, err error, kind, name, key string, optional *bool) (string, bool, error) {
	value, found := data[key]
	if err == nil && !found && !ptr.Deref(optional, false) {
		err = fmt.Errorf("couldn't find key %s in %s %s", key, kind, name)
	}
	return value, found, err
}

func (w *worker) configMap(ctx context.Context, pod *corev1.Pod, name string, optional *bool) (map[string]string, error) {
	o, err := read(ctx, w.k.api.Load().core.ConfigMaps(pod.Namespace).Get, name)
	if err != nil {
		return nil, absent(err, "configmap", name, optional)
	}
	return o.Data, nil
}

func (w *worker) secret(ctx context.Context, pod *corev1.Pod, name string, optional *bool) (map[string]string, error) {
	o, err := read(ctx, w.k.api.Load().core.Secrets(pod.Namespace).Get, name)
	if err != nil {
		return nil, absent(err, "secret", name, optional)
	}
	data := map[string]string{}
	for key, value := range o.Data {
		data[key] = string(value)
	}
	return data, nil
}

// absent returns a kubelet's error for an object that it could not read; nil if the object
// does not exist and is optional.
func absent(err error, kind, name string, optional *bool) error {
	switch {
	case !apierrors.IsNotFound(err):
		return err
	case ptr.Deref(optional, false):
		return nil
	}
	return fmt.Errorf("%s %q not found", kind, name)
}
