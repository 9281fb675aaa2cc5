package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Names in manager/manager.yaml.
const (
	namespace      = "casement-system"
	webhookService = "casement-webhook-service"
	certificate    = "casement-serving-cert"
	certSecret     = "casement-webhook-service-cert"
	// ProviderLabel marks everything that clusterctl installs for a provider.
	// Source: cluster-api.sigs.k8s.io/developer/providers/contracts/clusterctl.
	ProviderLabel = "cluster.x-k8s.io/provider"
	// Provider is the value of ProviderLabel.
	Provider = "infrastructure-azure"
)

// Components returns the objects that clusterctl installs, as one YAML stream: the CRDs, the manager, which runs image,
// its permissions and its webhooks. The webhooks' certificate comes from cert-manager, which clusterctl installs first.
// Arguments contain variables of clusterctl, such as ${EXP_MACHINE_POOL:=true}.
func Components(image string) ([]byte, error) {
	return components(image, func(object map[string]any) bool {
		injectCertificate(object)
		return true
	})
}

// SelfSignedComponents returns the objects of Components for a cluster without cert-manager: the manager makes the
// webhooks' certificate itself and has the permissions for that. The stream contains no variables, so that kubectl can
// apply it.
func SelfSignedComponents(image string) ([]byte, error) {
	return components(image, func(object map[string]any) bool {
		dropVariables(object)
		return selfSigned(object)
	}, selfSignedRights)
}

// selfSignedRights is the file with the additional permissions of a manager that makes the webhooks' certificate itself.
const selfSignedRights = "selfsigned/rights.yaml"

// selfSigned makes the manager create the webhooks' certificate itself. It reports whether the object is included:
// cert-manager's objects are not.
func selfSigned(object map[string]any) (wanted bool) {
	if object["kind"] == "Deployment" {
		delete(podOf(object), "volumes")
	}
	for _, container := range containers(object) {
		delete(container, "volumeMounts")
		args, _ := container["args"].([]any)
		container["args"] = append(args, "--webhook-self-signed="+namespace+"/"+certSecret,
			"--webhook-service="+namespace+"/"+webhookService)
	}
	version, _ := object["apiVersion"].(string)
	return !strings.HasPrefix(version, "cert-manager.io/")
}

// dropVariables removes the arguments with variables, whose defaults are the manager's own defaults.
func dropVariables(object map[string]any) {
	for _, container := range containers(object) {
		args, _ := container["args"].([]any)
		container["args"] = slices.DeleteFunc(args, func(a any) bool { return strings.Contains(fmt.Sprint(a), "${") })
	}
}

func podOf(deployment map[string]any) map[string]any {
	return child(child(child(deployment, "spec"), "template"), "spec")
}

// containers returns the containers of a Deployment; nil for other objects.
func containers(object map[string]any) []map[string]any {
	if object["kind"] != "Deployment" {
		return nil
	}
	var out []map[string]any
	list, _ := podOf(object)["containers"].([]any)
	for _, c := range list {
		if container, ok := c.(map[string]any); ok {
			out = append(out, container)
		}
	}
	return out
}

// components returns the common manifests and the manifests in more. adapt may change each object, and reports whether
// it is included.
func components(image string, adapt func(map[string]any) bool, more ...string) ([]byte, error) {
	var out bytes.Buffer
	add := func(object map[string]any) error {
		label(object)
		text, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		if out.Len() > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
		return nil
	}
	names := append([]string{"manager/manager.yaml", "rbac/role.yaml", "webhook/manifests.yaml", "lint/webhook.yaml"}, more...)
	crds, err := files.ReadDir("crd/bases")
	if err != nil {
		return nil, err
	}
	for _, e := range crds {
		names = append(names, "crd/bases/"+e.Name())
	}
	for _, name := range names {
		parts, err := documents(name)
		if err != nil {
			return nil, err
		}
		for _, document := range parts {
			object := map[string]any{}
			if err := yaml.Unmarshal(bytes.Replace(document, []byte("image: IMAGE"), []byte("image: "+image), 1), &object); err != nil {
				return nil, fmt.Errorf("embedded %s: %w", name, err)
			}
			pointWebhooks(object)
			if !adapt(object) {
				continue
			}
			if err := add(object); err != nil {
				return nil, err
			}
		}
	}
	return out.Bytes(), nil
}

func label(object map[string]any) {
	metadata := child(object, "metadata")
	child(metadata, "labels")[ProviderLabel] = Provider
}

// injectCertificate lets cert-manager write the certificate authority into a webhook configuration.
func injectCertificate(object map[string]any) {
	if _, ok := object["webhooks"]; ok {
		child(child(object, "metadata"), "annotations")["cert-manager.io/inject-ca-from"] = namespace + "/" + certificate
	}
}

// pointWebhooks sets the installed service in a generated webhook configuration.
func pointWebhooks(object map[string]any) {
	webhooks, ok := object["webhooks"].([]any)
	if !ok {
		return
	}
	metadata := child(object, "metadata")
	metadata["name"] = strings.TrimSuffix(fmt.Sprint("casement-", metadata["name"]), "-configuration")
	for _, w := range webhooks {
		if hook, ok := w.(map[string]any); ok {
			service := child(child(hook, "clientConfig"), "service")
			service["name"], service["namespace"] = webhookService, namespace
		}
	}
}

// child returns the map under a key, which it adds if it is missing.
func child(object map[string]any, key string) map[string]any {
	m, ok := object[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		object[key] = m
	}
	return m
}
