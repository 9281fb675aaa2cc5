package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestCheck has one body for each kind of problem.
func TestCheck(t *testing.T) {
	const nsg, disk, lb = "Microsoft.Network/networkSecurityGroups", "Microsoft.Compute/disks", "Microsoft.Network/loadBalancers"
	rule := `{"properties":{"securityRules":[{"name":"a","properties":{%s"direction":"inbound","priority":100,"protocol":"*"}}]}}`
	for _, test := range []struct{ name, kind, version, body, want string }{
		{"nothing wrong", nsg, "2025-05-01", fmt.Sprintf(rule, `"access":"Allow",`), ""},
		{"names and values in any case", nsg, "2025-05-01", fmt.Sprintf(rule, `"ACCESS":"allow",`), ""},
		{"no access", nsg, "2025-05-01", fmt.Sprintf(rule, ""), "3 properties.securityRules[0].properties.access"},
		{"of another version nothing is missing", nsg, "2019-04-01", fmt.Sprintf(rule, ""), ""},
		{"an unknown member", nsg, "2025-05-01", `{"properties":{"rules":[]}}`, "1 properties.rules"},
		{"tags are no string", disk, "2026-03-02", `{"location":"x","tags":"x"}`, "0 tags"},
		{"a size in words", disk, "2026-03-02",
			`{"location":"x","properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":"abc"}}`, "0 properties.diskSizeGB"},
		{"a size as text", disk, "2026-03-02",
			`{"location":"x","properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":"30"}}`, ""},
		{"another system", disk, "2026-03-02",
			`{"location":"x","properties":{"creationData":{"createOption":"Empty"},"osType":"Bogus"}}`, "2 properties.osType"},
		{"a null", disk, "2026-03-02", `{"location":"x","properties":{"creationData":{"createOption":"Empty"},"osType":null}}`, ""},
		{"an enumeration that is empty", "Microsoft.Network/virtualNetworks/subnets", "2025-01-01",
			`{"properties":{"addressPrefix":"10.0.0.0/24","sharingScope":""}}`, ""},
		{"read-only members are not looked at", disk, "2026-03-02",
			`{"location":"x","properties":{"creationData":{"createOption":"Empty"},"timeCreated":1}}`, ""},
		{"a probe without a port", lb, "2025-05-01",
			`{"properties":{"probes":[{"name":"a","properties":{"protocol":"Tcp"}}]}}`, "3 properties.probes[0].properties.port"},
		{"a price with a fraction", "Microsoft.Compute/virtualMachines", "2026-04-01",
			`{"location":"x","properties":{"billingProfile":{"maxPrice":0.25}}}`, ""},
		{"a size of next month", "Microsoft.Compute/virtualMachines", "2026-04-01",
			`{"location":"x","properties":{"hardwareProfile":{"vmSize":"Standard_X1"}}}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var body map[string]any
			if err := json.Unmarshal([]byte(test.body), &body); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range Of(test.kind, test.version).Check(body) {
				got = append(got, fmt.Sprintf("%d %s", p.Kind, p.Path))
			}
			if strings.Join(got, ", ") != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	if Of("Microsoft.Network/nothing", "2025-05-01") != nil {
		t.Error("a type that is not described is described")
	}
}

// TestSettable: read-only members are removed at any depth, and nothing else.
func TestSettable(t *testing.T) {
	body := map[string]any{"id": "/x", "etag": "1", "location": "x", "tags": nil, "properties": map[string]any{
		"provisioningState": "Succeeded", "addressSpace": map[string]any{"addressPrefixes": []any{"10.0.0.0/8"}},
		"subnets": []any{map[string]any{"name": "a", "properties": map[string]any{
			"provisioningState": "Succeeded", "addressPrefix": "10.0.0.0/16", "sharingScope": ""}}}}}
	Of("Microsoft.Network/virtualNetworks", "2025-05-01").Settable(body, true)
	got, _ := json.Marshal(body)
	want := `{"location":"x","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/8"]},` +
		`"subnets":[{"name":"a","properties":{"addressPrefix":"10.0.0.0/16"}}]}}`
	if body["id"] != nil { // the description lets the ID be set
		want = `{"id":"/x",` + want[1:]
	}
	if string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestMutants: a body with every described member has no problem, and each change of one member is
// found.
func TestMutants(t *testing.T) {
	random := rand.New(rand.NewPCG(20348, 0))
	mutants := 0
	for _, key := range Resources() {
		kind, version, _ := strings.Cut(key, "@")
		of := Of(kind, version)
		g := &generator{of, random, nil}
		body := g.value(of.index, nil, "").(map[string]any)
		found := slices.DeleteFunc(of.Check(body), func(p Problem) bool { return p.Kind == OutOfBounds }) // the generator ignores bounds
		if len(found) > 0 {
			t.Errorf("%s: %d problems in a valid body, first %+v", key, len(found), found[0])
			continue
		}
		for _, change := range g.changes {
			undo := change.make()
			if found := of.Check(body); !slices.ContainsFunc(found, func(p Problem) bool { return p.Kind == change.want }) {
				t.Errorf("%s: %s of kind %d is not found in %v", key, change.path, change.want, found)
			}
			undo()
			mutants++
		}
	}
	t.Logf("%d mutants of %d types", mutants, len(Resources()))
}

type change struct {
	path string
	want Kind
	make func() (undo func())
}

// generator creates bodies with every settable member, up to a depth of nine objects.
type generator struct {
	*Type
	*rand.Rand
	changes []change
}

func (g *generator) value(index int, above []int, path string) any {
	n := &g.doc.Types[index]
	switch n.Kind {
	case "ObjectType":
		o := map[string]any{}
		for name, p := range n.Properties {
			if p.flags&(flagReadOnly|flagFixed) != 0 || slices.Contains(above, p.index) ||
				len(above) > 9 && p.flags&flagRequired == 0 && name != "name" {
				continue
			}
			o[name] = g.value(p.index, append(slices.Clone(above), index), join(path, name))
			g.change(o, name, p, join(path, name))
		}
		if n.Additional == nil {
			g.changes = append(g.changes, change{path + ".bogus", Unknown, func() func() {
				o["bogus"] = 1.0
				return func() { delete(o, "bogus") }
			}})
		}
		return o
	case "ArrayType":
		if slices.Contains(above, n.Item) {
			return []any{}
		}
		return []any{g.value(n.Item, above, path+"[0]")}
	case "UnionType":
		if len(n.literals) > 0 {
			return n.literals[g.IntN(len(n.literals))]
		}
		return "x"
	case "StringLiteralType":
		return n.Value
	case "IntegerType":
		return float64(max(int(or(n.MinValue, 0)), min(7, int(or(n.MaxValue, 7)))))
	case "BooleanType":
		return true
	}
	switch {
	case n.pattern == nil:
		return strings.Repeat("x", max(1, int(or(n.MinLength, 1))))
	case n.pattern.MatchString("example-1"):
		return "example-1"
	}
	return "01234567-89ab-cdef-0123-456789abcdef"
}

func or[T int | float64](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

func (g *generator) change(o map[string]any, name string, p property, path string) {
	set := func(want Kind, v any) {
		g.changes = append(g.changes, change{path, want, func() func() {
			before := o[name]
			if o[name] = v; v == nil {
				delete(o, name)
			}
			return func() { o[name] = before }
		}})
	}
	switch n := &g.doc.Types[p.index]; n.Kind {
	case "ObjectType", "ArrayType":
		set(WrongType, "x")
	case "StringType":
		set(WrongType, 1.0)
	case "IntegerType":
		set(WrongType, "abc")
	case "BooleanType":
		set(WrongType, "abc")
	case "UnionType":
		if len(n.literals) > 0 {
			set(WrongType, 1.0)
		}
		if !slices.ContainsFunc(open, func(s string) bool { return strings.HasSuffix(path, s) }) && len(n.literals) > 0 {
			set(NotAllowed, "Bogus")
		}
	}
	if p.flags&flagRequired != 0 {
		set(Missing, nil)
	}
}
