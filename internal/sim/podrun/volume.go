package podrun

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"casement.dev/casement/internal/sim/expansion"
)

// writeVolumes writes the pod's volumes below its directory; later calls write only volumes that
// have changed.
func (w *worker) writeVolumes(ctx context.Context) error {
	for _, v := range w.pod.Spec.Volumes {
		dir := w.volume(v.Name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		data, err := w.volumeData(ctx, v)
		if err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
		for name, content := range data {
			if err := writeChanged(filepath.Join(dir, name), content); err != nil {
				return fmt.Errorf("volume %s: %w", v.Name, err)
			}
		}
	}
	return nil
}

func (w *worker) volume(name string) string { return filepath.Join(w.dir, "volumes", name) }

// volumeData returns the files of a volume by name.
func (w *worker) volumeData(ctx context.Context, v corev1.Volume) (map[string][]byte, error) {
	core := w.r.client.CoreV1()
	switch {
	case v.EmptyDir != nil, v.Projected != nil && strings.HasPrefix(v.Name, "kube-api-access-"):
		return nil, nil // the token is beside the kubeconfig
	case v.Secret != nil:
		secret, err := core.Secrets(w.pod.Namespace).Get(ctx, v.Secret.SecretName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) && v.Secret.Optional != nil && *v.Secret.Optional {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return chosen(secret.Data, v.Secret.Items)
	case v.ConfigMap != nil:
		cm, err := core.ConfigMaps(w.pod.Namespace).Get(ctx, v.ConfigMap.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) && v.ConfigMap.Optional != nil && *v.ConfigMap.Optional {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		data := map[string][]byte{}
		for name, text := range cm.Data {
			data[name] = []byte(text)
		}
		return chosen(data, v.ConfigMap.Items)
	case v.Projected != nil:
		return w.projected(ctx, v)
	}
	return nil, fmt.Errorf("this node mounts Secrets, ConfigMaps, projected volumes of these and of tokens, and empty directories only")
}

// projected returns the files of a projected volume.
func (w *worker) projected(ctx context.Context, v corev1.Volume) (map[string][]byte, error) {
	all := map[string][]byte{}
	for i, source := range v.Projected.Sources {
		var one corev1.VolumeSource
		switch {
		case source.ServiceAccountToken != nil:
			data, err := w.audienceToken(ctx, *source.ServiceAccountToken)
			if err != nil {
				return nil, err
			}
			all[source.ServiceAccountToken.Path] = data
			continue
		case source.Secret != nil:
			one.Secret = &corev1.SecretVolumeSource{
				SecretName: source.Secret.Name, Items: source.Secret.Items, Optional: source.Secret.Optional,
			}
		case source.ConfigMap != nil:
			one.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: source.ConfigMap.LocalObjectReference,
				Items: source.ConfigMap.Items, Optional: source.ConfigMap.Optional}
		}
		data, err := w.volumeData(ctx, corev1.Volume{Name: v.Name, VolumeSource: one})
		if err != nil {
			return nil, fmt.Errorf("source %d: %w", i, err)
		}
		maps.Copy(all, data)
	}
	return all, nil
}

// heldToken is a token for an audience in a pod's volume.
type heldToken struct {
	data  []byte
	renew time.Time
}

// audienceToken returns the token for a projected volume, and requests a new one after four fifths
// of its lifetime. The API server refuses a path that leaves the volume.
func (w *worker) audienceToken(ctx context.Context, p corev1.ServiceAccountTokenProjection) ([]byte, error) {
	key := p.Audience + " " + p.Path
	if token := w.tokens[key]; time.Now().Before(token.renew) {
		return token.data, nil
	}
	life := int64(tokenLife.Seconds())
	if p.ExpirationSeconds != nil {
		life = *p.ExpirationSeconds
	}
	request := authenticationv1.TokenRequestSpec{ExpirationSeconds: &life}
	if p.Audience != "" {
		request.Audiences = []string{p.Audience}
	}
	data, renew, err := w.token(ctx, request)
	if err != nil {
		return nil, err
	}
	w.tokens[key] = heldToken{data, renew}
	return data, nil
}

// chosen returns the items that a volume names, or all data. The API server refuses a path that
// leaves the volume (validation of KeyToPath).
func chosen(data map[string][]byte, items []corev1.KeyToPath) (map[string][]byte, error) {
	if items == nil {
		return data, nil
	}
	out := map[string][]byte{}
	for _, i := range items {
		content, ok := data[i.Key]
		if !ok {
			return nil, fmt.Errorf("there is no key %s", i.Key)
		}
		if !filepath.IsLocal(i.Path) {
			return nil, fmt.Errorf("path %s leaves the volume", i.Path)
		}
		out[i.Path] = content
	}
	return out, nil
}

// writeChanged replaces a file atomically if its content differs.
func writeChanged(path string, content []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// writeToken writes the pod's token for the API server, and returns the time of its renewal.
func (w *worker) writeToken(ctx context.Context) (time.Time, error) {
	token, renew, err := w.token(ctx, authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenLife.Seconds()))})
	if err != nil {
		return time.Time{}, err
	}
	return renew, writeChanged(filepath.Join(w.dir, "token"), token)
}

// token requests a token of the pod's ServiceAccount, bound to the pod. It returns the time of the
// renewal: after four fifths of the lifetime, as kubelets do.
func (w *worker) token(ctx context.Context, request authenticationv1.TokenRequestSpec) (data []byte, renew time.Time, err error) {
	account := cmp.Or(w.pod.Spec.ServiceAccountName, "default")
	request.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: w.pod.Name, UID: w.pod.UID}
	token, err := w.r.client.CoreV1().ServiceAccounts(w.pod.Namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: request}, metav1.CreateOptions{})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("token of ServiceAccount %s: %w", account, err)
	}
	life := time.Until(token.Status.ExpirationTimestamp.Time)
	return []byte(token.Status.Token), time.Now().Add(life * 4 / 5), nil
}

// writeKubeconfig writes the pod's kubeconfig, which replaces the mounted files of
// /var/run/secrets/kubernetes.io/serviceaccount, and returns its path.
func (w *worker) writeKubeconfig() (string, error) {
	path := filepath.Join(w.dir, "kubeconfig")
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["local"] = &clientcmdapi.Cluster{Server: w.r.cfg.REST.Host, CertificateAuthorityData: w.r.cfg.REST.CAData}
	cfg.AuthInfos["pod"] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(w.dir, "token")}
	cfg.Contexts["pod"] = &clientcmdapi.Context{Cluster: "local", AuthInfo: "pod", Namespace: w.pod.Namespace}
	cfg.CurrentContext = "pod"
	data, err := clientcmd.Write(*cfg)
	if err != nil {
		return "", err
	}
	return path, writeChanged(path, data)
}

// environment returns the variables of a container's env, in order.
func (w *worker) environment(ctx context.Context, c corev1.Container) ([]string, map[string]string, error) {
	values := map[string]string{}
	out := []string{}
	for _, e := range c.Env {
		value, set := expansion.Expand(e.Value, values), true
		if e.ValueFrom != nil {
			var err error
			if value, set, err = w.valueFrom(ctx, e.ValueFrom); err != nil {
				return nil, nil, fmt.Errorf("container %s: env %s: %w", c.Name, e.Name, err)
			}
		}
		if set {
			values[e.Name] = value
			out = append(out, e.Name+"="+value)
		}
	}
	return out, values, nil
}

// valueFrom returns the value from the source of a variable; set is false if an optional source
// does not exist.
func (w *worker) valueFrom(ctx context.Context, from *corev1.EnvVarSource) (value string, set bool, err error) {
	var data map[string][]byte
	var key string
	var optional *bool
	switch {
	case from.FieldRef != nil:
		value, err = w.field(from.FieldRef.FieldPath)
		return value, true, err
	case from.SecretKeyRef != nil:
		key, optional = from.SecretKeyRef.Key, from.SecretKeyRef.Optional
		data, err = w.volumeData(ctx, corev1.Volume{VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: from.SecretKeyRef.Name, Optional: optional},
		}})
	case from.ConfigMapKeyRef != nil:
		key, optional = from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional
		data, err = w.volumeData(ctx, corev1.Volume{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: from.ConfigMapKeyRef.LocalObjectReference, Optional: optional,
		}}})
	default:
		return "", false, errors.New("this node knows values, fieldRef, secretKeyRef and configMapKeyRef only")
	}
	if err != nil {
		return "", false, err
	}
	content, found := data[key]
	if !found && (optional == nil || !*optional) {
		return "", false, fmt.Errorf("there is no key %s", key)
	}
	return string(content), found, nil
}

func (w *worker) field(path string) (string, error) {
	switch path {
	case "metadata.name":
		return w.pod.Name, nil
	case "metadata.namespace":
		return w.pod.Namespace, nil
	case "metadata.uid":
		return string(w.pod.UID), nil
	case "spec.nodeName":
		return NodeName, nil
	case "spec.serviceAccountName":
		return w.pod.Spec.ServiceAccountName, nil
	case "status.podIP":
		return w.ip.String(), nil
	case "status.hostIP":
		return nodeIP.String(), nil
	}
	return "", fmt.Errorf("this node does not know the field %s", path)
}
