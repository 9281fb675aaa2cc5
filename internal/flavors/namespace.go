package flavors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// clusterScoped are the kinds in templates that have no namespace.
var clusterScoped = []string{"Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "StorageClass"}

// InNamespace sets the namespace of the objects in a filled template, as clusterctl's
// --target-namespace does, and changes nothing else in the text.
func InNamespace(manifest []byte, namespace string) ([]byte, error) {
	lines := strings.SplitAfter(string(manifest), "\n")
	decoder := yaml.NewDecoder(bytes.NewReader(manifest))
	insert := map[int]string{} // lines to insert before a line number, from 1
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the filled template: %w", err)
		}
		if len(document.Content) == 0 {
			continue
		}
		kind, metadata := field(document.Content[0], "kind"), field(document.Content[0], "metadata")
		if kind == nil || slices.Contains(clusterScoped, kind.Value) || metadata == nil || metadata.Kind != yaml.MappingNode ||
			metadata.Style == yaml.FlowStyle || len(metadata.Content) == 0 {
			continue
		}
		if has := field(metadata, "namespace"); has != nil {
			line := lines[has.Line-1]
			lines[has.Line-1] = line[:has.Column-1] + namespace + "\n"
			continue
		}
		first := metadata.Content[0]
		insert[first.Line] = strings.Repeat(" ", first.Column-1) + "namespace: " + namespace + "\n"
	}
	var out strings.Builder
	for i, line := range lines {
		out.WriteString(insert[i+1])
		out.WriteString(line)
	}
	return []byte(out.String()), nil
}

func field(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}
