package flavors

import (
	"bytes"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"
)

// IdentityType returns the type of the AzureClusterIdentity with a name in manifests, or "".
func IdentityType(manifests []byte, name string) string {
	for documents := yaml.NewDecoder(bytes.NewReader(manifests)); ; {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct{ Type string }
		}
		err := documents.Decode(&o)
		if o.Kind == "AzureClusterIdentity" && o.Metadata.Name == name {
			return o.Spec.Type
		}
		if wrong := (*yaml.TypeError)(nil); errors.Is(err, io.EOF) || err != nil && !errors.As(err, &wrong) {
			return "" // the API server reports invalid YAML in more detail
		}
	}
}
