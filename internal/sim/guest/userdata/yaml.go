package userdata

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Load reads a YAML document into maps with string keys, lists and scalars. If a key occurs twice, the last value
// counts, as in the parser of both agents. Errors contain line numbers and nothing of the content.
func Load(data []byte) (any, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if first, second := decoder.Decode(new(yaml.Node)), decoder.Decode(new(yaml.Node)); first == nil && second == nil {
		return nil, errors.New("yaml: there is more than one document")
	}
	l := loader{budget: 200000}
	return l.value(doc.Content[0], 0)
}

type loader struct{ budget int }

func (l *loader) value(n *yaml.Node, depth int) (any, error) {
	if l.budget--; l.budget < 0 || depth > 100 {
		return nil, errors.New("yaml: the document is too large or too deep")
	}
	if strings.Contains(n.Tag, "python") || strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") && n.Tag != "!" {
		return nil, fmt.Errorf("yaml: line %d: a tag that no constructor knows", n.Line)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return l.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			v, err := l.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		return l.mapping(n, depth)
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, fmt.Errorf("yaml: line %d: the scalar cannot be read as its type", n.Line)
	}
	return v, nil
}

func (l *loader) mapping(n *yaml.Node, depth int) (any, error) {
	m := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		v, err := l.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		key := n.Content[i]
		if key.Tag == "!!merge" {
			if base, ok := v.(map[string]any); ok {
				for k, v := range base {
					if _, taken := m[k]; !taken {
						m[k] = v
					}
				}
			}
			continue
		}
		if key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("yaml: line %d: a key is no scalar", key.Line)
		}
		m[key.Value] = v
	}
	return m, nil
}
