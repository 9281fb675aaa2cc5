package plan

import (
	"encoding/json"
	"strings"
	"testing"
)

func parse(t *testing.T, s string) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(s), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestDiff(t *testing.T) {
	for _, tc := range []struct{ name, have, want, diff string }{
		{"same", `{"a":1,"b":{"c":"x"}}`, `{"a":1,"b":{"c":"x"}}`, ""},
		{"the server's own fields", `{"a":1,"etag":"x","properties":{"resourceGuid":"y"}}`, `{"a":1}`, ""},
		{"changed", `{"properties":{"x":1}}`, `{"properties":{"x":2}}`, "properties.x: 1 -> 2"},
		{"missing", `{}`, `{"properties":{"x":{"y":true}}}`, "properties.x.y: none -> true"},
		{"off may be left out", `{}`, `{"a":false,"b":0,"c":"","d":null,"e":[],"f":{}}`, ""},
		{"case of IDs and enums", `{"id":"/subscriptions/S/resourcegroups/G","sku":"standard"}`,
			`{"id":"/subscriptions/s/resourceGroups/g","sku":"Standard"}`, ""},
		{"case of tags", `{"tags":{"a":"X"}}`, `{"tags":{"a":"x"}}`, "tags.a: X -> x"},
		{"other tags", `{"tags":{"a":"x","b":"y"}}`, `{"tags":{"a":"x"}}`, ""},
		{"location", `{"location":"West Europe"}`, `{"location":"westeurope"}`, ""},
		{"elements by name", `{"rules":[{"name":"B","p":1},{"name":"a","p":1},{"name":"theirs"}]}`,
			`{"rules":[{"name":"a","p":2},{"name":"b","p":1},{"name":"c"}]}`,
			"rules[a].p: 1 -> 2; rules[c]: missing -> present"},
		{"elements by ID", `{"pools":[{"id":"/x/Y"}]}`, `{"pools":[{"id":"/X/y"},{"id":"/x/z"}]}`, "pools[z]: missing -> present"},
		{"sets", `{"zones":["2","1"]}`, `{"zones":["1","2"]}`, ""},
		{"sets differ", `{"zones":["2","1"]}`, `{"zones":["1"]}`, "zones: [2 1] -> [1]"},
		{"sets of objects", `{"records":[{"ip":"b","x":1},{"ip":"a"}]}`, `{"records":[{"ip":"a"},{"ip":"b"}]}`, ""},
		{"sets count", `{"p":["a","a"]}`, `{"p":["a","b"]}`, "p: [a a] -> [a b]"},
		{"secrets", `{}`, `{"osProfile":{"adminPassword":"x","customData":"y"}}`, ""},
		{"another type", `{"a":"x"}`, `{"a":{"b":1}}`, "a: x -> set"},
		{"numbers", `{"a":4}`, `{"a":4.0}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			have, want := parse(t, tc.have), parse(t, tc.want)
			if got := strings.Join(diff(have, want), "; "); got != tc.diff {
				t.Errorf("got  %s\nwant %s", got, tc.diff)
			}
			if left := diff(merge(have, want), want); len(left) > 0 {
				t.Errorf("after the update: %v", left)
			}
		})
	}
}

// FuzzMerge: a merged body contains every wanted field and keeps the fields of others.
func FuzzMerge(f *testing.F) {
	f.Add(`{"a":[{"name":"x","p":1},{"name":"theirs"}]}`, `{"a":[{"name":"X","p":2}]}`)
	f.Add(`{"a":{"b":[1,2]}}`, `{"a":{"b":[3]},"tags":{"a":"b"}}`)
	f.Fuzz(func(t *testing.T, live, desired string) {
		var have, want map[string]any
		if json.Unmarshal([]byte(live), &have) != nil || json.Unmarshal([]byte(desired), &want) != nil || !plain(want) {
			return
		}
		body := merge(have, want)
		if left := diff(body, want); len(left) > 0 {
			t.Errorf("merge(%s, %s) = %v lacks %v", live, desired, body, left)
		}
		for key := range have {
			if _, ok := body[key]; !ok {
				t.Errorf("merge(%s, %s) = %v drops %s", live, desired, body, key)
			}
		}
	})
}

// plain removes the lists that no model has: lists with keys that are mixed, empty or doubled.
func plain(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if !plain(e) {
				return false
			}
		}
	case []any:
		seen := map[string]bool{}
		for _, e := range v {
			key := strings.ToLower(keyOf(e))
			if !plain(e) || key != "" && seen[key] || (key == "") != (keyOf(v[0]) == "") {
				return false
			}
			seen[key] = true
		}
	}
	return true
}
