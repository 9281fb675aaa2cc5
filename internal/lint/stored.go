package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// ErrFull means that a set contains the largest number of keys that is read at once.
var ErrFull = fmt.Errorf("the input has more than the %d keys and values that are read at once", maxNodes)

// maxDepth bounds how deep an object goes; API servers refuse less.
const maxDepth = 200

// Add takes an object as an API server gives it, decoded from JSON. It has no file and
// no position. The error is ErrFull when there is no room for it.
func (s *Set) Add(content map[string]any, o Options) error {
	budget := maxNodes - s.nodes
	root, err := node(content, &budget, 0)
	if err != nil {
		return err
	}
	object := &Object{Root: Value{node: root, near: root}}
	if object.Root.At("kind").Str() == "" || object.Root.At("apiVersion").Str() == "" {
		return errors.New("no Kubernetes object: apiVersion and kind are needed")
	}
	s.nodes = maxNodes - budget
	s.keep(object, o)
	return nil
}

// node converts decoded JSON to the nodes that the YAML parser would have returned.
func node(v any, budget *int, depth int) (*yaml.Node, error) {
	if *budget--; *budget < 0 {
		return nil, ErrFull
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("an object of more than %d levels", maxDepth)
	}
	scalar := func(tag, text string) (*yaml.Node, error) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}, nil
	}
	switch v := v.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: make([]*yaml.Node, 0, 2*len(v))}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			value, err := node(v[key], budget, depth+1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
		}
		return n, nil
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: make([]*yaml.Node, 0, len(v))}
		for _, item := range v {
			value, err := node(item, budget, depth+1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, value)
		}
		return n, nil
	case nil:
		return scalar("!!null", "null")
	case bool:
		return scalar("!!bool", strconv.FormatBool(v))
	case int64:
		return scalar("!!int", strconv.FormatInt(v, 10))
	case float64:
		return scalar("!!float", strconv.FormatFloat(v, 'g', -1, 64))
	case string:
		return scalar("!!str", v)
	}
	return nil, fmt.Errorf("a value of the type %T, which JSON does not have", v)
}
