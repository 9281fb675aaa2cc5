// Package config embeds the generated manifests of casement's own kinds, so that installing them needs no files. It
// does not change them.
package config

import (
	"embed"
	"fmt"
	"io/fs"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed crd/bases/*.yaml webhook/*.yaml rbac/*.yaml manager/*.yaml lint/*.yaml selfsigned/*.yaml monitoring/*
var files embed.FS

// CRDs returns the CustomResourceDefinitions.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(files, "crd/bases/*.yaml")
	if err != nil {
		return nil, err
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, name := range names {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := read(name, crd); err != nil {
			return nil, err
		}
		crds = append(crds, crd)
	}
	return crds, nil
}

// Webhooks returns the webhook configurations, which refer to a service.
func Webhooks() (*admissionv1.MutatingWebhookConfiguration, *admissionv1.ValidatingWebhookConfiguration, error) {
	both, err := documents("webhook/manifests.yaml")
	if err != nil {
		return nil, nil, err
	}
	if len(both) != 2 {
		return nil, nil, fmt.Errorf("embedded webhook/manifests.yaml: %d documents, not 2", len(both))
	}
	mutating, validating := &admissionv1.MutatingWebhookConfiguration{}, &admissionv1.ValidatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict(both[0], mutating); err != nil {
		return nil, nil, fmt.Errorf("embedded webhook/manifests.yaml: %w", err)
	}
	if err := yaml.UnmarshalStrict(both[1], validating); err != nil {
		return nil, nil, fmt.Errorf("embedded webhook/manifests.yaml: %w", err)
	}
	return mutating, validating, nil
}

func read(name string, into any) error {
	data, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		return fmt.Errorf("embedded %s: %w", name, err)
	}
	return nil
}
