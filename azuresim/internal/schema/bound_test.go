package schema

import (
	"strconv"
	"strings"
	"testing"
)

// TestForms: texts and numbers that the column allowed of the table accepts and refuses.
func TestForms(t *testing.T) {
	for allowed, test := range map[string]struct{ yes, no []any }{
		"4..30":   {[]any{4.0, 30.0, "12", true}, []any{3.0, 31.0, "3", -4.0}},
		"1..":     {[]any{1.0, 1e9}, []any{0.0, -1.0}},
		"address": {[]any{"10.0.0.1", "fd00::1"}, []any{"1.2.3.4.5", "1.2.3", "", "fe80::1%eth0", "10.0.0.0/8"}},
		"ipv4":    {[]any{"10.0.0.1"}, []any{"fd00::1", "10.0.0"}},
		"ipv6":    {[]any{"fd00::1"}, []any{"10.0.0.1"}},
		"prefix":  {[]any{"10.0.0.1/8", "fd00::/48"}, []any{"10.0.0.0/33", "10.0.0.0", "ten"}},
		"network": {[]any{"10.0.0.0/8", "0.0.0.0/0", "fd00:1::/48"}, []any{"10.0.0.1/8", "fd00::1/48", "AzureCloud"}},
		"network or name": {[]any{"10.0.0.0/8", "AzureCloud", "Storage.WestEurope"},
			[]any{"10.0.0.1/8", "10.0.0.1", "a/b"}},
		"network, address or name": {[]any{"*", "10.0.0.1", "10.0.0.0/8", "Internet", "fd00::1"},
			[]any{"1.2.3", "20.20.20.20/16", "a b"}},
		"ports":               {[]any{"*", "0", "65535", "80-90", "80-80"}, []any{"65536", "90-80", "80,443", "all", "80-", ""}},
		"/^[a-z]{2}$/":        {[]any{"ab"}, []any{"a", "AB"}},
		"ipv4 or prefix":      {[]any{"1.2.3.4", "1.2.3.0/24"}, []any{"fd00::1", "fd00::/48", "1.2.3", ""}},
		"outside 10.0.0.0/16": {[]any{"10.1.0.0", "10.1.0.0/16", "fd00::1", "ten"}, []any{"10.0.0.1", "10.0.0.0/24", "10.0.0.0/8"}},
		"disjoint": {[]any{[]any{}, []any{"10.0.0.0/24", "10.0.1.0/24", "fd00::/48"}, []any{"ten", "ten"}},
			[]any{[]any{"10.0.0.0/24", "10.1.0.0/24", "10.0.0.0/16"}, []any{"10.0.0.0/24", "10.0.0.0/24"}}},
	} {
		t.Run(allowed, func(t *testing.T) {
			bound, err := parseAllowed(allowed)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range test.yes {
				if !bound.allows(v) {
					t.Errorf("%v is refused", v)
				}
			}
			for _, v := range test.no {
				if bound.allows(v) {
					t.Errorf("%v is allowed", v)
				}
			}
		})
	}
}

// TestBounds: each line of the table names an object and a member in Azure's description.
func TestBounds(t *testing.T) {
	has := map[string]bool{}
	for _, n := range read().Types {
		for name, p := range n.Properties {
			key := strings.ToLower(n.Name + "." + name)
			has[key] = true
			for within := range read().Types[p.index].Properties {
				has[key+"."+strings.ToLower(within)] = true
			}
		}
	}
	for line := range strings.Lines(boundsTSV) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		for object := range strings.FieldsSeq(cells[0]) {
			found := 0
			for member := range strings.FieldsSeq(cells[1]) {
				if has[strings.ToLower(object+"."+member)] {
					found++
				}
			}
			if found == 0 {
				t.Errorf("no description has %s with a member of %s", object, cells[1])
			}
		}
	}
}

// TestBadBounds: the error for an invalid line of the table names the line.
func TestBadBounds(t *testing.T) {
	for name, line := range map[string]string{
		"no source":       "A\tb\t1..2\tC\tw\t",
		"too few columns": "A\tb\t1..2\tC\tw",
		"no form":         "A\tb\tcidr\tC\tw\ts",
		"no expression":   "A\tb\t/(/\tC\tw\ts",
		"no range":        "A\tb\tx..2\tC\tw\ts",
		"no network":      "A\tb\toutside ten\tC\tw\ts",
		"no condition":    "A\tb\tpresent if c=d\tC\tw\ts",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseBounds(line); err == nil || !strings.Contains(err.Error(), strconv.Quote(line)) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
