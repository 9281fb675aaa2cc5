package lint

import (
	"encoding/json"
	"reflect"
	"testing"

	"go.yaml.in/yaml/v3"
)

// FuzzJSON compares appendJSON with YAML's own decoder and JSON's encoder.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		"a: 1\nb: [true, FALSE, null, ~, -5, 0]\nc: {d: \"x\\ty\", e: 'ü<>&', f: |\n  many\n  lines\n}", "a: 007",
		"a: 0x1f", "a: 1_000", "a: -", "a: 1.5", "a: .inf",
		"a: &x {b: 1}\nc: *x\n", "a: &x {b: 1}\nc: {<<: *x}\n", "a: 1\na: 2", "1: 2", "? [a]\n: b", "a: 2026-01-01",
		"a: !!binary aGk=", "a: !mine x", "a: 123456789012345678901234567890", "-0", "a: +1", "a: !!int x",
		"a: !!bool yes", "[]", "{}", "a:",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var node yaml.Node
		if yaml.Unmarshal(text, &node) != nil || len(node.Content) == 0 {
			return
		}
		data, ok := fromYAML(&node).appendJSON(nil, 1)
		if !ok {
			return
		}
		var content, got, want any
		if err := node.Decode(&content); err != nil {
			t.Fatalf("%q is written as %s, and cannot be decoded: %v", text, data, err)
		}
		plain, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if err := json.Unmarshal(plain, &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s, not %s", data, plain)
		}
	})
}

// TestKeysTwice: if a key occurs twice, the last one counts, also in shared mappings, and strict decoding reports the key.
func TestKeysTwice(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"a: 1\nb: 2\na: 3", `{"a":3,"b":2}`},
		{"l: [{a: 1, a: {b: 1, b: 2}}]", `{"l":[{"a":{"b":2}}]}`},
		{"a: &x {b: 1, b: 2}\nc: *x", `{"a":{"b":2},"c":{"b":2}}`},
		{"a: &x {b: 1}\nc: {<<: *x, d: 1, d: 2}", `{"a":{"b":1},"c":{"b":1,"d":2}}`},
	} {
		var node yaml.Node
		if err := yaml.Unmarshal([]byte(test.text), &node); err != nil {
			t.Fatal(err)
		}
		data, twice, err := Value{tree: fromYAML(&node), node: 1}.json()
		if string(data) != test.want || twice == nil || err != nil {
			t.Errorf("%q: %s, twice %v, error %v", test.text, data, twice, err)
		}
	}
}
