package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"
)

// settings is the cluster's stored configuration for its kubelets.
type settings struct {
	kubelet map[string]any
}

// fetch reads, with the token, the ConfigMaps that kubeadm has written to kube-system.
func (j *join) fetch(ctx context.Context, c *cluster) (*settings, error) {
	j.say(`[preflight] Reading configuration from the "kubeadm-config" ConfigMap in namespace "kube-system"...`)
	if _, err := j.configMap(ctx, c, "kubeadm-config"); err != nil {
		return nil, fmt.Errorf("error execution phase preflight: unable to fetch the kubeadm-config ConfigMap: %w", err)
	}
	data, err := j.configMap(ctx, c, "kubelet-config")
	if status, ok := errors.AsType[*statusError](err); ok && (status.code == http.StatusNotFound || status.code == http.StatusForbidden) {
		// Before Kubernetes 1.24 the name contained the version.
		if v, verr := version.ParseGeneric(j.Version); verr == nil {
			data, err = j.configMap(ctx, c, fmt.Sprintf("kubelet-config-%d.%d", v.Major(), v.Minor()))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("error execution phase kubelet-start: unable to fetch the kubelet-config ConfigMap: %w", err)
	}
	s := &settings{}
	if err := yaml.Unmarshal([]byte(data["kubelet"]), &s.kubelet); err != nil {
		return nil, fmt.Errorf("error execution phase kubelet-start: the kubelet-config ConfigMap holds no KubeletConfiguration: %w", err)
	}
	return s, nil
}

// apiAttempts and apiPause amount to a minute, for which kubeadm retries calls of an API server
// (kubernetesAPICall of its timeouts).
const (
	apiAttempts = 120
	apiPause    = 500 * time.Millisecond
)

// ask reads an object. It retries while the API server does not answer or does not serve the
// object, because the server may just have started. NotFound is returned without a retry.
func (j *join) ask(ctx context.Context, c *cluster, path string, into any) error {
	for attempt := 1; ; attempt++ {
		err := get(ctx, c.http, c.server+path, c.token, into)
		if status, ok := errors.AsType[*statusError](err); err == nil || ok && status.code == http.StatusNotFound ||
			attempt == apiAttempts {
			return err
		}
		if attempt == 1 {
			j.say("[preflight] %s cannot be read yet, will try again: %v", path, err)
		}
		if err := j.pause(ctx, apiPause); err != nil {
			return err
		}
	}
}

func (j *join) configMap(ctx context.Context, c *cluster, name string) (map[string]string, error) {
	var cm corev1.ConfigMap
	err := j.ask(ctx, c, "/api/v1/namespaces/kube-system/configmaps/"+name, &cm)
	return cm.Data, err
}

// refuseTakenName returns an error if a Node with the machine's name exists and is ready.
func (j *join) refuseTakenName(ctx context.Context, c *cluster) error {
	var node corev1.Node
	err := j.ask(ctx, c, "/api/v1/nodes/"+url.PathEscape(j.cfg.NodeName), &node)
	if status, ok := errors.AsType[*statusError](err); ok && status.code == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("error execution phase kubelet-start: cannot get Node %q: %w", j.cfg.NodeName, err)
	}
	for _, cond := range node.Status.Conditions {
		if cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionTrue && !j.resume {
			return fmt.Errorf("error execution phase kubelet-start: a Node with name %q and status %q already "+
				"exists in the cluster. You must delete the existing Node or change the name of this new "+
				"joining Node", j.cfg.NodeName, corev1.NodeReady)
		}
	}
	return nil
}

// writeKubeletFiles writes the files that the kubelet needs to start.
func (j *join) writeKubeletFiles(c *cluster, s *settings) error {
	boot := &kubeconfig{server: c.server, ca: c.ca, user: kubeconfigUser{Token: c.token}}
	if c.user != nil {
		boot.user = *c.user
	}
	data, err := boot.render("tls-bootstrap-token-user")
	if err != nil {
		return err
	}
	if err := j.write(bootstrapConf, data, 0o600); err != nil {
		return err
	}
	if !j.exists(j.cfg.CACertPath) {
		if err := j.write(j.cfg.CACertPath, c.ca, 0o644); err != nil {
			return err
		}
	}
	if err := j.checkPatches("kubelet-start", j.cfg.Patches); err != nil {
		return err
	}
	if err := j.writeKubeletConfig(s); err != nil {
		return err
	}
	j.say("[kubelet-start] Writing kubelet environment file with flags to file %q", kubeletFlags)
	return j.write(kubeletFlags, j.flagsEnv(), 0o644)
}

// writeKubeletConfig writes the cluster's KubeletConfiguration with kubeadm's
// changes for the machine's OS.
func (j *join) writeKubeletConfig(s *settings) error {
	config := s.kubelet
	if config == nil {
		config = map[string]any{}
	}
	socket := j.socket()
	if j.atLeast(1, 34) && socket != "" {
		instance, err := yaml.Marshal(map[string]any{
			"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
			"containerRuntimeEndpoint": socket,
		})
		if err != nil {
			return err
		}
		j.say("[kubelet-start] Writing kubelet configuration to file %q", instanceConfig)
		if err := j.write(instanceConfig, instance, 0o644); err != nil {
			return err
		}
		config["containerRuntimeEndpoint"] = socket
	}
	if j.OS == "windows" {
		mutateForWindows(config)
	}
	data, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	j.say("[kubelet-start] Writing kubelet configuration to file %q", kubeletConfig)
	return j.write(kubeletConfig, data, 0o644)
}

// mutateForWindows adds the system drive to absolute paths and removes the resolver file, as
// kubeadm for Windows does.
func mutateForWindows(config map[string]any) {
	config["resolvConf"] = ""
	drive := func(m map[string]any, key string) {
		if p, ok := m[key].(string); ok && strings.HasPrefix(p, "/") {
			m[key] = "C:" + p
		}
	}
	drive(config, "staticPodPath")
	if auth, ok := config["authentication"].(map[string]any); ok {
		if x, ok := auth["x509"].(map[string]any); ok {
			drive(x, "clientCAFile")
		}
	}
}

// flagsEnv returns the content of kubeadm-flags.env: kubeadm's own flags, sorted, then the extra
// arguments. An extra argument replaces kubeadm's flag of the same name.
func (j *join) flagsEnv() []byte {
	var base []Arg
	if socket := j.socket(); socket != "" && !j.atLeast(1, 34) {
		base = append(base, Arg{"container-runtime-endpoint", socket})
		if !j.atLeast(1, 24) {
			base = append(base, Arg{"container-runtime", "remote"})
		}
	}
	if j.cfg.NodeName != strings.ToLower(j.Hostname) {
		base = append(base, Arg{"hostname-override", j.cfg.NodeName})
	}
	if taints := taintFlag(j.cfg.Taints); taints != "" {
		base = append(base, Arg{"register-with-taints", taints})
	}
	args := slices.DeleteFunc(base, func(a Arg) bool {
		return slices.ContainsFunc(j.cfg.KubeletArgs, func(x Arg) bool { return x.Name == a.Name })
	})
	args = append(args, j.cfg.KubeletArgs...)
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = "--" + a.Name + "=" + a.Value
	}
	return []byte("KUBELET_KUBEADM_ARGS=" + strconv.Quote(strings.Join(words, " ")) + "\n")
}

func taintFlag(taints []corev1.Taint) string {
	words := make([]string, len(taints))
	for i, t := range taints {
		words[i] = t.ToString()
	}
	return strings.Join(words, ",")
}

// socket returns the configured or detected endpoint of the container runtime.
func (j *join) socket() string {
	if j.cfg.CRISocket != "" || len(j.CRISockets) == 0 {
		return j.cfg.CRISocket
	}
	return j.CRISockets[0]
}

func (j *join) atLeast(major, minor uint) bool {
	v, err := version.ParseGeneric(j.Version)
	return err == nil && (v.Major() > major || v.Major() == major && v.Minor() >= minor)
}
