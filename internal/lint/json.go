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
	if data, ok := v.tree.appendJSON(nil, v.node); ok {
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
	n := t.at(r)
	switch n.kind {
	case mapping:
		if !t.plainKeys(r) {
			return nil, false
		}
		out = append(out, '{')
		for c := r + 1; c < n.next; {
			if c > r+1 {
				out = append(out, ',')
			}
			key := t.at(c)
			out = append(appendText(out, key.value), ':')
			if out, ok = t.appendJSON(out, key.next); !ok {
				return nil, false
			}
			c = t.at(key.next).next
		}
		return append(out, '}'), true
	case sequence:
		out = append(out, '[')
		for c := r + 1; c < n.next; c = t.at(c).next {
			if c > r+1 {
				out = append(out, ',')
			}
			if out, ok = t.appendJSON(out, c); !ok {
				return nil, false
			}
		}
		return append(out, ']'), true
	case scalar:
		return appendScalar(out, n)
	}
	return nil, false
}

func appendScalar(out []byte, n *node) (_ []byte, ok bool) {
	switch n.tag {
	case tagString:
		return appendText(out, n.value), true
	case tagNull:
		return append(out, "null"...), true
	case tagBool:
		if strings.EqualFold(n.value, "true") {
			return append(out, "true"...), true
		}
		return append(out, "false"...), strings.EqualFold(n.value, "false")
	case tagInt:
		digits := strings.TrimPrefix(n.value, "-")
		if digits == "" || len(digits) > 18 || digits[0] == '0' && n.value != "0" || strings.Trim(digits, "0123456789") != "" {
			return nil, false
		}
		return append(out, n.value...), true
	}
	return nil, false
}

// plainKeys reports whether the keys of a mapping are texts, each of which occurs once.
func (t *tree) plainKeys(r ref) bool {
	const few = 16
	end := t.at(r).next
	var seen map[string]bool
	count := 0
	for c := r + 1; c < end; c = t.at(t.at(c).next).next {
		key := t.at(c)
		if key.kind != scalar || key.tag != tagString {
			return false
		}
		if count++; count > few && seen == nil {
			seen = map[string]bool{}
		}
	}
	for c := r + 1; c < end; c = t.at(t.at(c).next).next {
		key := t.at(c).value
		if seen != nil {
			if seen[key] {
				return false
			}
			seen[key] = true
			continue
		}
		for other := r + 1; other < c; other = t.at(t.at(other).next).next {
			if t.at(other).value == key {
				return false
			}
		}
	}
	return true
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
