package lint

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Value is a place in a document that may be absent: reading through it never
// fails, and it knows its path and position either way.
type Value struct {
	node *yaml.Node
	// key is the node of the mapping key that leads here, nil in a list.
	key *yaml.Node
	// near is where to point when the place is absent.
	near   *yaml.Node
	parent *Value
	// name is the key that leads here, or index the place in a list.
	name  string
	index int
}

// Field is an entry of a mapping.
type Field struct {
	Key   string
	Value Value
}

// maxMerge bounds how deep merge keys are followed.
const maxMerge = 8

// resolve follows aliases; the parser guarantees that an alias names a node that
// came before it.
func resolve(n *yaml.Node) *yaml.Node {
	for i := 0; n != nil && n.Kind == yaml.AliasNode && i < maxMerge; i++ {
		n = n.Alias
	}
	return n
}

func root(n *yaml.Node) Value {
	if n != nil && n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	return Value{node: resolve(n), near: n}
}

// At follows keys of mappings.
func (v Value) At(keys ...string) Value {
	for _, key := range keys {
		keyNode, node := lookup(v.node, key, 0)
		near := v.near
		if keyNode != nil {
			near = keyNode
		}
		parent := v
		v = Value{node: node, key: keyNode, near: near, parent: &parent, name: key, index: -1}
	}
	return v
}

func lookup(n *yaml.Node, key string, depth int) (keyNode, value *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode || depth > maxMerge {
		return nil, nil
	}
	merges := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch k := n.Content[i]; {
		case k.Value == key && k.Tag != "!!merge":
			return k, resolve(n.Content[i+1])
		case k.Value == "<<":
			merges = true
		}
	}
	if !merges {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != "!!merge" {
			continue
		}
		merged := resolve(n.Content[i+1])
		if merged != nil && merged.Kind == yaml.SequenceNode {
			for _, m := range merged.Content {
				if k, v := lookup(resolve(m), key, depth+1); k != nil {
					return k, v
				}
			}
			continue
		}
		if k, v := lookup(merged, key, depth+1); k != nil {
			return k, v
		}
	}
	return nil, nil
}

// plainKey is a key that a path shows without brackets.
var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

func join(path, key string) string {
	switch {
	case !plainKey.MatchString(key):
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// Items returns the elements of a list.
func (v Value) Items() []Value {
	if v.node == nil || v.node.Kind != yaml.SequenceNode {
		return nil
	}
	parent := v
	out := make([]Value, 0, len(v.node.Content))
	for i, n := range v.node.Content {
		out = append(out, Value{node: resolve(n), near: n, parent: &parent, index: i})
	}
	return out
}

// Fields returns the entries of a mapping, in order, without merged ones.
func (v Value) Fields() []Field {
	if v.node == nil || v.node.Kind != yaml.MappingNode {
		return nil
	}
	parent, content := v, v.node.Content
	var out []Field
	for i := 0; i+1 < len(content); i += 2 {
		if key := content[i]; key.Tag != "!!merge" {
			out = append(out, Field{Key: key.Value, Value: Value{
				node: resolve(content[i+1]), key: key, near: key, parent: &parent, name: key.Value, index: -1,
			}})
		}
	}
	return out
}

// merges reports whether a mapping takes entries of another one.
func (v Value) merges() bool {
	return v.IsMap() && slices.ContainsFunc(v.node.Content, func(n *yaml.Node) bool { return n.Tag == "!!merge" })
}

// Exists reports whether the value is present and not null.
func (v Value) Exists() bool { return v.node != nil && !v.IsNull() }

// IsNull reports whether the value is an explicit null.
func (v Value) IsNull() bool {
	return v.node != nil && v.node.Kind == yaml.ScalarNode && v.node.Tag == "!!null"
}

// IsMap reports whether the value is a mapping.
func (v Value) IsMap() bool { return v.node != nil && v.node.Kind == yaml.MappingNode }

// IsList reports whether the value is a list.
func (v Value) IsList() bool { return v.node != nil && v.node.Kind == yaml.SequenceNode }

// Str returns the text of a scalar, or "".
func (v Value) Str() string {
	if v.node == nil || v.node.Kind != yaml.ScalarNode || v.IsNull() {
		return ""
	}
	return v.node.Value
}

// Strings returns the texts of a list of scalars.
func (v Value) Strings() []string {
	var out []string
	for _, item := range v.Items() {
		out = append(out, item.Str())
	}
	return out
}

// Bool returns a boolean; ok reports whether there is one.
func (v Value) Bool() (value, ok bool) {
	if v.node == nil || v.node.Kind != yaml.ScalarNode || v.node.Tag != "!!bool" {
		return false, false
	}
	return strings.EqualFold(v.node.Value, "true"), true
}

// True reports whether the value is the boolean true.
func (v Value) True() bool {
	value, ok := v.Bool()
	return value && ok
}

// Int returns a whole number; ok reports whether there is one.
func (v Value) Int() (value int64, ok bool) {
	if v.node == nil || v.node.Kind != yaml.ScalarNode {
		return 0, false
	}
	value, err := strconv.ParseInt(v.node.Value, 0, 64)
	return value, err == nil
}

// Path returns the field path, such as spec.containers[0].image.
func (v Value) Path() string {
	switch {
	case v.parent == nil:
		return ""
	case v.index >= 0:
		return v.parent.Path() + "[" + strconv.Itoa(v.index) + "]"
	}
	return join(v.parent.Path(), v.name)
}

// position returns the line and column of a finding: those of the value, or, if it is
// missing, of its nearest parent.
func (v Value) position() (line, column int) {
	n := v.near
	if v.node != nil && v.key == nil {
		n = v.node
	}
	if n == nil {
		return 1, 1
	}
	return max(n.Line, 1), max(n.Column, 1)
}
