package lint

import (
	"regexp"
	"strconv"
	"strings"
)

// Value is a place in a document that may be absent: reading it never fails, and it has a path and a position in either case.
type Value struct {
	tree *tree
	node ref
	// key is the node of the value's key in its mapping, zero in a list.
	key ref
	// near is the node whose position is reported if the place is absent.
	near ref
	// index is the position in a list; name is the key in a mapping.
	index  int32
	name   string
	parent *Value
}

// Field is an entry of a mapping.
type Field struct {
	Key   string
	Value Value
}

// maxMerge is the maximum nesting depth of merge keys.
const maxMerge = 8

// root returns the value of a whole document.
func (t *tree) root() Value { return Value{tree: t, node: t.resolve(1), near: 1} }

// at returns the node of the value.
func (v Value) at() *node { return v.tree.at(v.node) }

// At returns the value at a path of mapping keys.
func (v Value) At(keys ...string) Value {
	parents := make([]Value, len(keys))
	for i, key := range keys {
		parents[i] = v
		keyNode, node := v.tree.lookup(v.node, key, 0)
		near := v.near
		if keyNode != 0 {
			near = keyNode
		}
		v = Value{tree: v.tree, node: node, key: keyNode, near: near, parent: &parents[i], name: key, index: -1}
	}
	return v
}

// lookup returns an entry of a mapping, or of a mapping that it merges.
func (t *tree) lookup(r ref, key string, depth int) (keyNode, value ref) {
	if depth > maxMerge {
		return 0, 0
	}
	merges := false
	for k, v := range t.entries(r) {
		switch text := t.value(k); {
		case text == key && t.at(k).tag != tagMerge:
			return k, t.resolve(v)
		case text == "<<":
			merges = true
		}
	}
	if !merges {
		return 0, 0
	}
	for k, v := range t.entries(r) {
		if t.at(k).tag != tagMerge {
			continue
		}
		if keyNode, value = t.merged(t.resolve(v), key, depth+1); keyNode != 0 {
			return keyNode, value
		}
	}
	return 0, 0
}

// merged returns an entry of the value of a merge key: a mapping, or a list of mappings.
func (t *tree) merged(r ref, key string, depth int) (keyNode, value ref) {
	if t.at(r).kind != sequence {
		return t.lookup(r, key, depth)
	}
	for c := range t.below(r) {
		if keyNode, value = t.lookup(t.resolve(c), key, depth); keyNode != 0 {
			return keyNode, value
		}
	}
	return 0, 0
}

// plainKey matches a key that a path shows without brackets.
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
	if !v.IsList() {
		return nil
	}
	parent := v
	out := make([]Value, 0, v.tree.children(v.node))
	for c := range v.tree.below(v.node) {
		out = append(out, Value{tree: v.tree, node: v.tree.resolve(c), near: c, parent: &parent, index: int32(len(out))})
	}
	return out
}

// Fields returns the entries of a mapping, in order, without merged ones.
func (v Value) Fields() []Field {
	if !v.IsMap() {
		return nil
	}
	parent := v
	var out []Field
	for key, value := range v.tree.entries(v.node) {
		if v.tree.at(key).tag != tagMerge {
			name := v.tree.value(key)
			out = append(out, Field{Key: name, Value: Value{
				tree: v.tree, node: v.tree.resolve(value), key: key, near: key, parent: &parent, name: name, index: -1,
			}})
		}
	}
	return out
}

// merges reports whether a mapping includes entries of another one.
func (v Value) merges() bool {
	if v.IsMap() {
		for c := range v.tree.below(v.node) {
			if v.tree.at(c).tag == tagMerge {
				return true
			}
		}
	}
	return false
}

// Exists reports whether the value is present and not null.
func (v Value) Exists() bool { return v.node != 0 && !v.IsNull() }

// IsNull reports whether the value is an explicit null.
func (v Value) IsNull() bool { return v.at().kind == scalar && v.at().tag == tagNull }

// IsMap reports whether the value is a mapping.
func (v Value) IsMap() bool { return v.at().kind == mapping }

// IsList reports whether the value is a list.
func (v Value) IsList() bool { return v.at().kind == sequence }

// Str returns the text of a scalar, or "".
func (v Value) Str() string {
	if n := v.at(); n.kind == scalar && n.tag != tagNull {
		return v.tree.value(v.node)
	}
	return ""
}

// Strings returns the texts of a list of scalars.
func (v Value) Strings() []string {
	var out []string
	for _, item := range v.Items() {
		out = append(out, item.Str())
	}
	return out
}

// Bool returns a boolean; ok is false for any other value.
func (v Value) Bool() (value, ok bool) {
	n := v.at()
	if n.kind != scalar || n.tag != tagBool {
		return false, false
	}
	return strings.EqualFold(v.tree.value(v.node), "true"), true
}

// True reports whether the value is the boolean true.
func (v Value) True() bool {
	value, ok := v.Bool()
	return value && ok
}

// Int returns an integer; ok is false for any other value.
func (v Value) Int() (value int64, ok bool) {
	if v.at().kind != scalar {
		return 0, false
	}
	value, err := strconv.ParseInt(v.tree.value(v.node), 0, 64)
	return value, err == nil
}

// Path returns the field path, such as spec.containers[0].image.
func (v Value) Path() string {
	switch {
	case v.parent == nil:
		return ""
	case v.index >= 0:
		return v.parent.Path() + "[" + strconv.Itoa(int(v.index)) + "]"
	}
	return join(v.parent.Path(), v.name)
}

// position returns the line and column of a finding: the place of the value or, if it is missing, of its
// nearest parent.
func (v Value) position() (line, column int) {
	at := v.near
	if v.node != 0 && v.key == 0 {
		at = v.node
	}
	p := v.tree.place(at)
	return max(int(p.line), 1), max(int(p.column), 1)
}
