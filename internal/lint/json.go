package lint

import (
	"encoding/json"
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"
)

// JSON returns the value as JSON, without its positions.
func (v Value) JSON() ([]byte, error) {
	if v.node == 0 {
		return []byte("null"), nil
	}
	const usual = 12 // bytes for a node
	if data, ok := v.tree.appendJSON(make([]byte, 0, usual*(v.tree.next(v.node)-v.node)), v.node); ok {
		return data, nil
	}
	var content any
	if err := v.tree.toYAML(v.node, map[ref]*yaml.Node{}).Decode(&content); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	data, err := json.Marshal(content)
	if err != nil {
		return nil, errors.New("a key is no text")
	}
	return data, nil
}

// appendJSON encodes the common subset of YAML. ok is false for the rest: aliases and merges, keys that occur twice or
// are not text, numbers that JSON writes differently.
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

// plainKeys reports whether the keys of a mapping are texts, each of which occurs once.
func (t *tree) plainKeys(r ref) bool {
	const few = 32 // nodes; more of them are not compared with each other
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

// keyBefore reports whether a mapping has a key before another one.
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

// appendText writes a string of JSON.
func appendText(out []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			data, err := json.Marshal(text)
			if err != nil { // a string always can be written
				return append(out, `""`...)
			}
			return append(out, data...)
		}
	}
	return append(append(append(out, '"'), text...), '"')
}
