package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ErrFull means that a set contains the maximum number of keys and values.
var ErrFull = fmt.Errorf("the input has more than the %d keys and values that are read at once", maxNodes)

// maxDepth is the maximum nesting depth of an object; the limit of API servers is lower.
const maxDepth = 200

// Add adds an object as an API server returns it, decoded from JSON. It has no file and no position. The error is
// ErrFull if the set has no room for it.
func (s *Set) Add(content map[string]any, o Options) error {
	b := builder{budget: maxNodes - s.nodes}
	if err := b.add(content, 0); err != nil {
		return err
	}
	t := &tree{text: b.texts.String(), nodes: exactly(b.nodes)}
	object := &Object{Root: t.root()}
	if object.Root.At("kind").Str() == "" || object.Root.At("apiVersion").Str() == "" {
		return errors.New("no Kubernetes object: apiVersion and kind are needed")
	}
	s.nodes = maxNodes - b.budget
	s.keep(object, o)
	return nil
}

// builder makes, from decoded JSON, the same tree that the YAML parser would make from its text.
type builder struct {
	tree
	texts strings.Builder
	// budget is the number of keys and values that may still be added.
	budget int
}

// add appends a value and everything below it.
func (b *builder) add(v any, depth int) error {
	if b.budget--; b.budget < 0 {
		return ErrFull
	}
	if depth > maxDepth {
		return fmt.Errorf("an object of more than %d levels", maxDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		r := b.tree.add(node{kind: mapping, tag: tagMap})
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b.scalar(tagString, key)
			if err := b.add(v[key], depth+1); err != nil {
				return err
			}
		}
		b.end(r)
	case []any:
		r := b.tree.add(node{kind: sequence, tag: tagSequence})
		for _, item := range v {
			if err := b.add(item, depth+1); err != nil {
				return err
			}
		}
		b.end(r)
	case nil:
		b.scalar(tagNull, "null")
	case bool:
		b.scalar(tagBool, strconv.FormatBool(v))
	case int64:
		b.scalar(tagInt, strconv.FormatInt(v, 10))
	case float64:
		b.scalar(tagFloat, strconv.FormatFloat(v, 'g', -1, 64))
	case string:
		b.scalar(tagString, v)
	default:
		return fmt.Errorf("a value of the type %T, which JSON does not have", v)
	}
	return nil
}

func (b *builder) scalar(tag tag, text string) {
	b.tree.add(node{begin: uint32(b.texts.Len()), extent: uint32(len(text)), kind: scalar, tag: tag})
	b.texts.WriteString(text)
}
