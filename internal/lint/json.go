package lint

import (
	"encoding/json"
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"
)

// JSON returns the value as JSON, without its positions.
func (v Value) JSON() ([]byte, error) {
	if v.node == nil {
		return []byte("null"), nil
	}
	if data, ok := appendJSON(nil, v.node); ok {
		return data, nil
	}
	var content any
	if err := v.node.Decode(&content); err != nil {
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
func appendJSON(out []byte, n *yaml.Node) (_ []byte, ok bool) {
	switch n.Kind {
	case yaml.MappingNode:
		if !plainKeys(n.Content) {
			return nil, false
		}
		out = append(out, '{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendText(out, n.Content[i].Value), ':')
			if out, ok = appendJSON(out, n.Content[i+1]); !ok {
				return nil, false
			}
		}
		return append(out, '}'), true
	case yaml.SequenceNode:
		out = append(out, '[')
		for i, item := range n.Content {
			if i > 0 {
				out = append(out, ',')
			}
			if out, ok = appendJSON(out, item); !ok {
				return nil, false
			}
		}
		return append(out, ']'), true
	case yaml.ScalarNode:
		return appendScalar(out, n)
	}
	return nil, false
}

func appendScalar(out []byte, n *yaml.Node) (_ []byte, ok bool) {
	switch n.Tag {
	case "!!str":
		return appendText(out, n.Value), true
	case "!!null":
		return append(out, "null"...), true
	case "!!bool":
		if strings.EqualFold(n.Value, "true") {
			return append(out, "true"...), true
		}
		return append(out, "false"...), strings.EqualFold(n.Value, "false")
	case "!!int":
		digits := strings.TrimPrefix(n.Value, "-")
		if digits == "" || len(digits) > 18 || digits[0] == '0' && n.Value != "0" || strings.Trim(digits, "0123456789") != "" {
			return nil, false
		}
		return append(out, n.Value...), true
	}
	return nil, false
}

// plainKeys reports whether the keys of a mapping are texts, each of which occurs once.
func plainKeys(content []*yaml.Node) bool {
	const few = 32
	seen := map[string]bool{}
	for i := 0; i+1 < len(content); i += 2 {
		key := content[i]
		if key.Kind != yaml.ScalarNode || key.Tag != "!!str" {
			return false
		}
		if len(content) > few {
			if seen[key.Value] {
				return false
			}
			seen[key.Value] = true
			continue
		}
		for j := 0; j < i; j += 2 {
			if content[j].Value == key.Value {
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
