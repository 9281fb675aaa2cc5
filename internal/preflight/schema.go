package preflight

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"casement.dev/casement/config"
)

// schema has the defaults and validation of a kind's CustomResourceDefinition, which the API server applies
// before admission.
type schema struct {
	defaults  *structural.Structural
	validator validation.SchemaValidator
}

// schemas reads the definitions of casement's kinds, by kind.
func schemas() (map[string]schema, error) {
	crds, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	all := map[string]schema{}
	for _, crd := range crds {
		for _, v := range crd.Spec.Versions {
			if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
				continue
			}
			props := &apiextensions.JSONSchemaProps{}
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
				v.Schema.OpenAPIV3Schema, props, nil); err != nil {
				return nil, fmt.Errorf("read the schema of %s: %w", crd.Name, err)
			}
			s := schema{}
			if s.defaults, err = structural.NewStructural(props); err != nil {
				return nil, fmt.Errorf("read the schema of %s: %w", crd.Name, err)
			}
			if s.validator, _, err = validation.NewSchemaValidator(props); err != nil {
				return nil, fmt.Errorf("read the schema of %s: %w", crd.Name, err)
			}
			all[crd.Spec.Names.Kind] = s
		}
	}
	return all, nil
}

// applyDefaults sets the defaults of the schema. Like the API server, it first removes the nulls of fields that may not be null,
// as variables without a value leave them. Source: apiextensions-apiserver, customresource_handler.go.
func (s schema) applyDefaults(content map[string]any) {
	if s.defaults != nil {
		defaulting.PruneNonNullableNullsWithoutDefaults(content, s.defaults)
		defaulting.Default(content, s.defaults)
	}
}

// refuses returns the errors that the schema reports for an object.
func (s schema) refuses(content map[string]any) field.ErrorList {
	if s.validator == nil {
		return nil
	}
	return validation.ValidateCustomResource(nil, content, s.validator)
}
