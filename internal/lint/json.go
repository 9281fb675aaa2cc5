package lint

import (
	"encoding/json"
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"
)

// JSON returns the value as JSON, without its positions. If a key occurs twice, it takes the last one, as clients do.
func (v Value) JSON() ([]byte, error) {
	data, _, err := v.json()
	return data, err
}

// json is like JSON. twice is an error that names the keys that occur twice, or nil.
func (v Value) json() (data []byte, twice, err error) {
	if v.node == 0 {
		return []byte("null"), nil, nil
	}
	const usual = 12 // average size of a node in bytes
	if data, ok := v.tree.appendJSON(make([]byte, 0, usual*(v.tree.next(v.node)-v.node)), v.node); ok {
		return data, nil, nil
	}
	var content any
	node := v.tree.toYAML(v.node, map[ref]*yaml.Node{})
	err = node.Decode(&content)
	if err != nil && strings.Contains(err.Error(), "already defined") {
		twice = message(err)
		keepLast(node, map[*yaml.Node]bool{})
		err = node.Decode(&content)
	}
	if err != nil {
		return nil, twice, message(err)
	}
	if data, err = json.Marshal(content); err != nil {
		return nil, twice, errors.New("a key is no text")
	}
	return data, twice, nil
}

func message(err error) error { return errors.New(strings.TrimPrefix(err.Error(), "yaml: ")) }

// keepLast removes from mappings the keys that occur again later. seen are the nodes that were visited, which aliases can share.
func keepLast(n *yaml.Node, seen map[*yaml.Node]bool) {
	if n == nil || seen[n] {
		return
	}
	seen[n] = true
	keepLast(n.Alias, seen)
	for _, below := range n.Content {
		keepLast(below, seen)
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	type name struct{ tag, value string }
	last := map[name]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		last[name{n.Content[i].ShortTag(), n.Content[i].Value}] = i
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || last[name{key.ShortTag(), key.Value}] == i {
			kept = append(kept, key, n.Content[i+1])
		}
	}
	n.Content = kept
}

// appendJSON appends the JSON of a node, for the common subset of YAML. ok is false for everything else: aliases and
// merges, keys that occur twice or are not text, numbers that JSON writes differently.
func (t *tree) appendJSON(out []byte, r ref) (_ []byte, ok bool) {
	switch n := t.at(r); n.kind {
	case mapping:
		if !t.plainKeys(r) {
			return nil, false
		}
		out = append(out, '{')
		for key, value := range t.entries(r) {
			if key > r+1 {
				out = append(out, ',')
			}
			out = append(appendText(out, t.value(key)), ':')
			if out, ok = t.appendJSON(out, value); !ok {
				return nil, false
			}
		}
		return append(out, '}'), true
	case sequence:
		out = append(out, '[')
		for item := range t.below(r) {
			if item > r+1 {
				out = append(out, ',')
			}
			if out, ok = t.appendJSON(out, item); !ok {
				return nil, false
			}
		}
		return append(out, ']'), true
	case scalar:
		return appendScalar(out, n.tag, t.value(r))
	}
	return nil, false
}

func appendScalar(out []byte, tag tag, text string) (_ []byte, ok bool) {
	switch tag {
	case tagString:
		return appendText(out, text), true
	case tagNull:
		return append(out, "null"...), true
	case tagBool:
		if strings.EqualFold(text, "true") {
			return append(out, "true"...), true
		}
		return append(out, "false"...), strings.EqualFold(text, "false")
	case tagInt:
		digits := strings.TrimPrefix(text, "-")
		if digits == "" || len(digits) > 18 || digits[0] == '0' && text != "0" || strings.Trim(digits, "0123456789") != "" {
			return nil, false
		}
		return append(out, text...), true
	}
	return nil, false
}

// plainKeys reports whether the keys of a mapping are texts and occur only once.
func (t *tree) plainKeys(r ref) bool {
	const few = 32 // number of nodes up to which keys are compared with each other
	var seen map[string]bool
	if t.children(r) > few {
		seen = map[string]bool{}
	}
	for key := range t.entries(r) {
		if n := t.at(key); n.kind != scalar || n.tag != tagString {
			return false
		}
		text := t.value(key)
		if seen == nil {
			if t.keyBefore(r, key, text) {
				return false
			}
			continue
		}
		if seen[text] {
			return false
		}
		seen[text] = true
	}
	return true
}

// keyBefore reports whether a mapping has the key text before the node end.
func (t *tree) keyBefore(r, end ref, text string) bool {
	for key := range t.entries(r) {
		if key == end {
			return false
		}
		if t.value(key) == text {
			return true
		}
	}
	return false
}

// appendText appends a string in JSON.
func appendText(out []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			data, err := json.Marshal(text)
			if err != nil { // a string can always be marshalled
				return append(out, `""`...)
			}
			return append(out, data...)
		}
	}
	return append(append(append(out, '"'), text...), '"')
}
