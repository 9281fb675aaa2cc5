package config

import (
	"bytes"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

// lintName is the name of the namespace, service and webhook in lint/manager.yaml.
const lintName = "casement-lint"

// LintWebhook returns the webhook configuration of the workload rules, which refers to
// a service.
func LintWebhook() (*admissionv1.ValidatingWebhookConfiguration, error) {
	out := &admissionv1.ValidatingWebhookConfiguration{}
	return out, read("lint/webhook.yaml", out)
}

// LintComponents returns, as one YAML stream, the objects for the webhook of the workload rules in a cluster in which
// casement manages nothing: a manager that runs image for this webhook alone and makes its certificate itself, its
// permissions, and the webhook configuration.
func LintComponents(image string) ([]byte, error) {
	manager, err := files.ReadFile("lint/manager.yaml")
	if err != nil {
		return nil, err
	}
	hook, err := LintWebhook()
	if err != nil {
		return nil, err
	}
	hook.Name = lintName
	service := hook.Webhooks[0].ClientConfig.Service
	service.Namespace, service.Name = lintName, lintName
	text, err := yaml.Marshal(hook)
	manager = bytes.Replace(manager, []byte("image: IMAGE"), []byte("image: "+image), 1)
	return bytes.Join([][]byte{manager, text}, []byte("---\n")), err
}
