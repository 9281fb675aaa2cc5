package defaults

import (
	"encoding/json"
	"testing"
)

// TestFill has one document for each form of a row.
func TestFill(t *testing.T) {
	const rows = "T\tproperties.a\t1\t\t\t\ts\nT\tproperties.made.b\t[]\t\t\t\ts\nT\tproperties.c?.d\ttrue\t\t\t\ts\n" +
		"T\tproperties.list[].e\t\"x\"\t.kind=K\t\t\ts\nT\tproperties.old\t1\t\t..2020-01-01\t\ts\n" +
		"T\tproperties.f\t2\tproperties.a=1 properties.g!=\t\t\ts\nT later\tproperties.h\t1\t\t\t\ts\n"
	all, err := parse(rows)
	if err != nil {
		t.Fatal(err)
	}
	before := byType
	byType = func() map[string]*typeRows { return all }
	defer func() { byType = before }()
	for _, test := range []struct{ name, version, body, want string }{
		{"an empty document", "", `{}`, `{"properties":{"a":1,"made":{"b":[]}}}`},
		{"what is there stays", "2021-01-01", `{"properties":{"a":7,"made":{"b":[1]}}}`, `{"properties":{"a":7,"made":{"b":[1]}}}`},
		{"null is absent", "2021-01-01", `{"properties":{"a":null,"made":"text"}}`, `{"properties":{"a":1,"made":"text"}}`},
		{"an object that is there", "2021-01-01", `{"properties":{"c":{}}}`, `{"properties":{"a":1,"c":{"d":true},"made":{"b":[]}}}`},
		{"elements, by their own members", "2021-01-01", `{"properties":{"list":[{"kind":"k"},{"kind":"l"},{}]}}`,
			`{"properties":{"a":1,"list":[{"e":"x","kind":"k"},{"kind":"l"},{}],"made":{"b":[]}}}`},
		{"a write in an old version", "2019-01-01", `{}`, `{"properties":{"a":1,"made":{"b":[]},"old":1}}`},
		{"conditions", "2021-01-01", `{"properties":{"g":false}}`, `{"properties":{"a":1,"f":2,"g":false,"made":{"b":[]}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var body map[string]any
			if err := json.Unmarshal([]byte(test.body), &body); err != nil {
				t.Fatal(err)
			}
			Fill("t", test.version, body)
			if got, _ := json.Marshal(body); string(got) != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestHide: members of later versions are removed, and objects that are empty without them.
func TestHide(t *testing.T) {
	all, err := parse("T\tproperties.a\t1\t\t\t2020-01-01\ts\nT\tproperties.s.kind\t\"Standard\"\t\t\t=2022-01-01\ts\n")
	if err != nil {
		t.Fatal(err)
	}
	before := byType
	byType = func() map[string]*typeRows { return all }
	defer func() { byType = before }()
	for _, test := range []struct{ name, version, body, want string }{
		{"the newest", "", `{"properties":{"a":5}}`, `{"properties":{"a":5}}`},
		{"as new as the member", "2022-01-01", `{"properties":{"a":5,"s":{"kind":"Standard"}}}`,
			`{"properties":{"a":5,"s":{"kind":"Standard"}}}`},
		{"before the value", "2021-01-01", `{"properties":{"a":5,"s":{"kind":"Standard"}}}`, `{"properties":{"a":5}}`},
		{"another value", "2021-01-01", `{"properties":{"s":{"kind":"Other"}}}`, `{"properties":{"s":{"kind":"Other"}}}`},
		{"before all", "2019-01-01", `{"properties":{"a":5,"s":{"kind":"Standard","n":1}}}`, `{"properties":{"s":{"n":1}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var body map[string]any
			if err := json.Unmarshal([]byte(test.body), &body); err != nil {
				t.Fatal(err)
			}
			Hide("T", test.version, body)
			if got, _ := json.Marshal(body); string(got) != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
	if got := Newest("t"); got != "2022-01-01" {
		t.Errorf("newest %q", got)
	}
}

// TestTable: every line is valid and has a source.
func TestTable(t *testing.T) {
	if _, err := parse(table); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"T\tp\t1\n", "T\tp\tx\t\t\t\ts\n", "T\tp\t1\tnothing\t\t\ts\n"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
