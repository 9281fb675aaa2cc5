package kubelet

import (
	"context"
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"casement.dev/casement/internal/sim/expansion"
)

// read reads an object from the API server's cache, which is as current as the watches of a real
// kubelet and needs no read of etcd. Only an object that is not in the cache is read from etcd.
func read[T any](ctx context.Context, get func(context.Context, string, metav1.GetOptions) (T, error), name string) (T, error) {
	object, err := get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
	if apierrors.IsNotFound(err) {
		return get(ctx, name, metav1.GetOptions{})
	}
	return object, err
}

// permitTime limits the wait for the permission to read an object; a real kubelet waits as long for
// the first event of its watch of the object. Source: kubernetes
// pkg/kubelet/util/manager/watch_based_manager.go.
const permitTime = time.Second

// readPermitted reads an object that a pod refers to, and retries while the read is forbidden: the API
// server's Node authorizer learns of a new pod from a watch of its own, which can be a moment later
// than the kubelet's.
func readPermitted[T any](ctx context.Context, k *Kubelet, get func(context.Context, string, metav1.GetOptions) (T, error),
	name string) (T, error) {
	for wait := permitTime / 32; ; wait *= 2 {
		object, err := read(ctx, get, name)
		if !apierrors.IsForbidden(err) || wait >= permitTime || !k.sleep(ctx, wait) {
			return object, err
		}
	}
}

// apiService returns the environment variables with the address of the API server; nil if its
// Service cannot be read. The variables of other Services are not simulated. Source: kubernetes
// pkg/kubelet/envvars/envvars.go.
func (k *Kubelet) apiService(ctx context.Context) map[string]string {
	if known := k.apiVars.Load(); known != nil {
		return *known
	}
	api := k.api.Load()
	if api == nil {
		return nil
	}
	s, err := read(ctx, api.core.Services(metav1.NamespaceDefault).Get, "kubernetes")
	if err != nil || len(s.Spec.Ports) == 0 {
		return nil
	}
	host, port := s.Spec.ClusterIP, strconv.Itoa(int(s.Spec.Ports[0].Port))
	url := "tcp://" + net.JoinHostPort(host, port)
	vars := map[string]string{
		"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "KUBERNETES_SERVICE_PORT_HTTPS": port, "KUBERNETES_PORT": url,
		"KUBERNETES_PORT_" + port + "_TCP": url, "KUBERNETES_PORT_" + port + "_TCP_PROTO": "tcp",
		"KUBERNETES_PORT_" + port + "_TCP_PORT": port, "KUBERNETES_PORT_" + port + "_TCP_ADDR": host,
	}
	k.apiVars.Store(&vars)
	return vars
}

// environment returns the environment variables of a container. An error leaves the container waiting with
// CreateContainerConfigError, as in a kubelet.
// Source: kubernetes pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables.
func (w *worker) environment(ctx context.Context, spec *corev1.Container) (vars map[string]string, err error) {
	defer func() {
		if err != nil {
			w.sources = sources{} // the user may have created the missing object since
		}
	}()
	if now := w.k.c.Clock.Now(); now.Sub(w.sources.at) > sourceAge {
		w.sources = sources{w: w, at: now, read: map[string]map[string]string{}}
	}
	vars = map[string]string{}
	if !w.static {
		maps.Copy(vars, w.k.apiService(ctx))
	}
	s := w.sources
	for _, from := range spec.EnvFrom {
		data, err := s.source(ctx, from)
		if err != nil {
			return nil, err
		}
		for key, value := range data {
			vars[from.Prefix+key] = value
		}
	}
	for _, e := range spec.Env {
		value, found, err := s.value(ctx, spec.Name, e, vars)
		if err != nil {
			return nil, err
		}
		if found {
			vars[e.Name] = value
		}
	}
	for _, m := range spec.VolumeMounts {
		if err := checkSubPath(m, vars); err != nil {
			return nil, err
		}
		if r := m.RecursiveReadOnly; r != nil && *r == corev1.RecursiveReadOnlyEnabled && !w.k.c.newRuntime() {
			return nil, fmt.Errorf("failed to resolve recursive read-only mode: volume %q requested recursive read-only mode, "+
				"but it is not supported by the runtime", m.Name)
		}
	}
	return vars, nil
}

// checkSubPath refuses a subPath that uses variables that do not exist, or that leaves its volume.
// Source: kubernetes pkg/kubelet/kubelet_pods.go, makeMounts.
func checkSubPath(m corev1.VolumeMount, vars map[string]string) error {
	if m.SubPathExpr == "" {
		return nil
	}
	if name := expansion.Missing(m.SubPathExpr, vars); name != "" {
		return fmt.Errorf("missing value for %s", name)
	}
	at := expansion.Expand(m.SubPathExpr, vars)
	switch {
	case path.IsAbs(at):
		return fmt.Errorf("error SubPath `%s` must not be an absolute path", at)
	case slices.Contains(strings.Split(at, "/"), ".."):
		return fmt.Errorf("unable to provision SubPath `%s`: must not contain '..'", at)
	}
	return nil
}

// sourceAge is the time for which a ConfigMap or Secret that was read is used for the containers of
// a pod, which start one after another.
const sourceAge = 5 * time.Second

// sources contains the ConfigMaps and Secrets that the variables of a pod's containers refer to, as
// of one time; each is read once.
type sources struct {
	w    *worker
	at   time.Time
	read map[string]map[string]string // the data, by kind/name
}

// source returns all keys of a ConfigMap or Secret.
func (s sources) source(ctx context.Context, from corev1.EnvFromSource) (map[string]string, error) {
	switch {
	case from.ConfigMapRef != nil:
		return s.configMap(ctx, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	case from.SecretRef != nil:
		return s.secret(ctx, from.SecretRef.Name, from.SecretRef.Optional)
	}
	return nil, nil
}

// value returns the value of one variable; found is false for an optional variable without a value.
func (s sources) value(ctx context.Context, container string, e corev1.EnvVar,
	vars map[string]string) (value string, found bool, err error) {
	if e.ValueFrom == nil {
		return expansion.Expand(e.Value, vars), true, nil
	}
	switch from := e.ValueFrom; {
	case from.FieldRef != nil:
		pod, _ := s.w.current()
		value, err := s.w.downward(pod, from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		pod, _ := s.w.current()
		value, err := s.w.downwardResource(pod, container, from.ResourceFieldRef)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		data, err := s.configMap(ctx, ref.Name, ref.Optional)
		return chosen(data, err, "ConfigMap", s.w.namespace+"/"+ref.Name, ref.Key, ref.Optional)
	case from.FileKeyRef != nil:
		pod, _ := s.w.current()
		return s.w.fileKey(pod, from.FileKeyRef)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		data, err := s.secret(ctx, ref.Name, ref.Optional)
		return chosen(data, err, "Secret", s.w.namespace+"/"+ref.Name, ref.Key, ref.Optional)
	}
	return "", true, nil
}

func chosen(data map[string]string, err error, kind, name, key string, optional *bool) (string, bool, error) {
	value, found := data[key]
	if err == nil && !found && !ptr.Deref(optional, false) {
		err = fmt.Errorf("couldn't find key %s in %s %s", key, kind, name)
	}
	return value, found, err
}

func (s sources) configMap(ctx context.Context, name string, optional *bool) (map[string]string, error) {
	if data, ok := s.read["configmap/"+name]; ok {
		return data, nil
	}
	o, err := readPermitted(ctx, s.w.k, s.w.k.api.Load().core.ConfigMaps(s.w.namespace).Get, name)
	if err != nil {
		return nil, absent(err, "configmap", name, optional)
	}
	s.read["configmap/"+name] = o.Data
	return o.Data, nil
}

func (s sources) secret(ctx context.Context, name string, optional *bool) (map[string]string, error) {
	if data, ok := s.read["secret/"+name]; ok {
		return data, nil
	}
	o, err := readPermitted(ctx, s.w.k, s.w.k.api.Load().core.Secrets(s.w.namespace).Get, name)
	if err != nil {
		return nil, absent(err, "secret", name, optional)
	}
	data := map[string]string{}
	for key, value := range o.Data {
		data[key] = string(value)
	}
	s.read["secret/"+name] = data
	return data, nil
}

// absent returns a kubelet's error for an object that cannot be read; nil if the object does not
// exist and is optional.
func absent(err error, kind, name string, optional *bool) error {
	switch {
	case !apierrors.IsNotFound(err):
		return err
	case ptr.Deref(optional, false):
		return nil
	}
	return fmt.Errorf("%s %q not found", kind, name)
}
