package image

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Schema returns the JSON schema of the build file.
func Schema() map[string]any {
	s := schemaOf(reflect.TypeFor[ImageBuild]())
	s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", Kind
	fields := s["properties"].(object)
	fields["apiVersion"], fields["kind"] = object{"const": APIVersion}, object{"const": Kind}
	spec := fields["spec"].(object)["properties"].(object)
	spec["kubeletService"].(object)["enum"] = []string{"sc", "nssm"}
	spec["updates"].(object)["enum"] = []string{"none", "security", "all"}
	spec["hardening"].(object)["items"].(object)["enum"] = hardening
	service := spec["services"].(object)["items"].(object)["properties"].(object)
	service["start"].(object)["enum"] = []string{"Automatic", "Manual", "Disabled"}
	spec["source"].(object)["properties"].(object)["release"].(object)["enum"] = releaseNames()
	return s
}

// schemaOf returns the schema of a Go type in the build file.
func schemaOf(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[metav1.Duration]():
		return object{"type": "string", "description": "a duration, such as 30m"}
	case t.Kind() == reflect.Slice:
		return object{"type": "array", "items": schemaOf(t.Elem())}
	case t.Kind() == reflect.Struct:
		fields, required := object{}, []string{}
		for i := range t.NumField() {
			name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			fields[name] = schemaOf(t.Field(i).Type)
			if options == "" {
				required = append(required, name)
			}
		}
		slices.Sort(required)
		return object{"type": "object", "properties": fields, "required": required, "additionalProperties": false}
	case t.Kind() == reflect.Int:
		return object{"type": "integer"}
	case t.Kind() == reflect.Bool:
		return object{"type": "boolean"}
	}
	return object{"type": "string"}
}
