// Package crds embeds the definitions of HelmChartProxy and HelmReleaseProxy. It links nothing of Helm, so that the
// plane can install them without Helm. internal/plane, internal/helm and tests may import it.
package crds

import (
	"embed"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// All returns the definitions of the two kinds. It fails only if an embedded file is invalid.
func All() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, f := range entries {
		data, err := files.ReadFile(f.Name())
		if err != nil {
			return nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Name(), err)
		}
		out = append(out, crd)
	}
	return out, nil
}
