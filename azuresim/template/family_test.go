package template

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// evaluated returns the value of an expression as JSON, or the error as text.
func evaluated(t testing.TB, expression string) string {
	t.Helper()
	template := NewObject("$schema", schemaOfGroups, "contentVersion", "1.0.0.0", "resources", []any{},
		"parameters", NewObject("o", NewObject("type", "object", "defaultValue",
			NewObject("Name", "web", "n", int64(3), "list", []any{int64(1), "b"}))),
		"outputs", NewObject("o", NewObject("type", "object", "value", NewObject("v", expression))))
	tmpl, err := New(template, nil, recordedIn(""))
	if err != nil {
		return err.Error()
	}
	out, err := tmpl.Outputs(nil)
	if err != nil {
		return err.Error()
	}
	v, _ := out[0].Value.(*Object).Get("v")
	return string(Encode(v))
}

// holds compares what expressions yield, as Microsoft's documentation and the recorded answers of Azure have it: as JSON, or, where
// it is no JSON, a part of the error.
func holds(t *testing.T, rows [][2]string) {
	t.Helper()
	for _, row := range rows {
		if got := evaluated(t, row[0]); got != row[1] && (json.Valid([]byte(row[1])) || !strings.Contains(got, row[1])) {
			t.Errorf("%s: %s, want %s", row[0], got, row[1])
		}
	}
}

// TestUserFunctions: functions of a template call each other, check types, and ask no deployed resource.
func TestUserFunctions(t *testing.T) {
	number := []any{NewObject("name", "n", "type", "int")}
	member := func(value, typ string) *Object {
		return NewObject("parameters", number, "output", NewObject("type", typ, "value", value))
	}
	for expression, want := range map[string]string{"[u.twice(1)]": "3", "[u.twice('x')]": "type 'Integer'", "[u.text(1)]": "type 'String'",
		"[u.asks(1)]": "not expected at this location", "[u.twice()]": "1 argument(s)", "[u.none(1)]": "not valid"} {
		template := NewObject("$schema", schemaOfGroups, "contentVersion", "1.0.0.0", "resources", []any{},
			"functions", []any{NewObject("namespace", "u", "members", NewObject("next", member("[add(parameters('n'), 1)]", "int"),
				"twice", member("[u.next(u.next(parameters('n')))]", "int"), "text", member("[parameters('n')]", "string"),
				"asks", member("[reference('x').y]", "int")))},
			"outputs", NewObject("o", NewObject("type", "int", "value", expression)))
		tmpl, err := New(template, nil, recordedIn(""))
		var out []Output
		if err == nil {
			out, err = tmpl.Outputs(nil)
		}
		got := fmt.Sprint(err)
		if err == nil {
			got = string(Encode(out[0].Value))
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", expression, got, want)
		}
	}
}

// TestTable: each function has a row, and each row a function.
func TestTable(t *testing.T) {
	for name, f := range table() {
		if f.signature == "" || f.does == "" || f.eval == nil && f.form == nil {
			t.Errorf("the function %s has no row or no code", name)
		}
	}
	if n := strings.Count(functionsTSV, "): "); n != len(table()) {
		t.Errorf("%d rows, %d functions", n, len(table()))
	}
}

// TestHostileTemplates: what asks for unbounded work ends soon, with an error.
func TestHostileTemplates(t *testing.T) {
	doubled := func(first, next string) *Object {
		v := NewObject("v0", first)
		for i := range 60 {
			v.Set(fmt.Sprintf("v%d", i+1), strings.ReplaceAll(next, "PREV", fmt.Sprintf("variables('v%d')", i)))
		}
		return v
	}
	literals := NewObject("v0", "x")
	for i := range 60 {
		p := fmt.Sprintf("[variables('v%d')]", i)
		literals.Set(fmt.Sprintf("v%d", i+1), []any{p, p})
	}
	template := func(key string, v any) *Object {
		o := NewObject("$schema", schemaOfGroups, "contentVersion", "1.0.0.0", "resources", []any{})
		o.Set(key, v)
		return o
	}
	output := func(e string) *Object {
		return template("outputs", NewObject("o", NewObject("type", "array", "value", e)))
	}
	nested := template("resources", []any{})
	for range 8 {
		nested = template("resources", []any{NewObject("type", "Microsoft.Resources/deployments", "apiVersion", "2022-09-01", "name", "n",
			"properties", NewObject("mode", "Incremental", "expressionEvaluationOptions", NewObject("scope", "inner"), "template", nested))})
	}
	function := template("functions", []any{NewObject("namespace", "n", "members", NewObject("f", NewObject("parameters", []any{},
		"output", NewObject("type", "string", "value", "[n.f()]"))))})
	function.Set("variables", NewObject("v", "[n.f()]"))
	for name, o := range map[string]*Object{
		"texts that double":  template("variables", doubled("x", "[concat(PREV, PREV)]")),
		"arrays that double": template("variables", doubled("x", "[createArray(PREV, PREV)]")),
		"literals":           template("variables", literals),
		"what is known later": template("outputs", NewObject("o", NewObject("type", "string", "value", "[concat("+
			strings.Repeat("reference('x').y, ", 2000)+"'')]"))),
		"lambdas in lambdas": output("[map(range(0, 10000), lambda('x', map(range(0, 10000), lambda('y', 1))))]"),
		"a long text": output("[map(range(0, 10000), lambda('x', replace('" + strings.Repeat("a", 1000) + "', 'a', '" +
			strings.Repeat("b", 4000) + "')))]"),
		"a wide format":        output("[map(range(0, 1000), lambda('x', format('{0,999999}', 1)))]"),
		"levels":               nested,
		"a function of itself": function,
		"brackets":             template("variables", NewObject("v", "["+strings.Repeat("a(", 10_000)+strings.Repeat(")", 10_000)+"]")),
		"a $ref of itself":     template("parameters", NewObject("p", NewObject("$ref", "#/definitions/d"))),
	} {
		t.Run(name, func(t *testing.T) {
			o.Set("definitions", NewObject("d", NewObject("$ref", "#/definitions/d")))
			done := make(chan error, 1)
			go func() {
				tmpl, err := New(o, nil, recordedIn(""))
				if err == nil {
					_, err = tmpl.Predict()
				}
				done <- err
			}()
			select {
			case err := <-done:
				if err == nil && name != "what is known later" {
					t.Error("it is accepted")
				}
			case <-time.After(time.Minute):
				t.Fatal("it does not end")
			}
		})
	}
}

// TestLoopsOfDeployments holds that loops of nested deployments, each cheap, do not take the computer's memory together.
func TestLoopsOfDeployments(t *testing.T) {
	loops := NewObject("$schema", schemaOfGroups, "contentVersion", "1.0.0.0", "resources", []any{})
	for level := range 3 {
		loops = NewObject("$schema", schemaOfGroups, "contentVersion", "1.0.0.0", "resources", []any{
			NewObject("type", "Microsoft.Resources/deployments", "apiVersion", "2022-09-01",
				"name", fmt.Sprintf("[concat('n%d-', copyIndex())]", level),
				"copy", NewObject("name", "c", "count", int64(90)), "properties", NewObject("mode", "Incremental", "template", loops))})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := New(loops, nil, recordedIn("")); err == nil || !strings.Contains(err.Error(), "asks for more") {
		t.Errorf("90 x 90 x 90 deployments: %v", err)
	}
	runtime.ReadMemStats(&after)
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 400 {
		t.Errorf("%d MiB were allocated", made)
	}
}

// FuzzTemplate changes recorded templates: none may end the program.
func FuzzTemplate(f *testing.F) {
	for _, v := range recorded(f, "templates.json.gz").(*Object).values {
		f.Add(string(Encode(v.(*Object).Object("template"))))
	}
	f.Fuzz(func(_ *testing.T, text string) {
		o, err := DecodeObject([]byte(text))
		if err != nil {
			return
		}
		tmpl, err := New(o, nil, recordedIn(""))
		if err != nil {
			return
		}
		_, _ = tmpl.Predict() // must not panic
		for _, r := range tmpl.Resources {
			_, _ = r.Body(nil)
		}
	})
}

// TestMutations changes each recorded template in many places: none may end the program.
func TestMutations(t *testing.T) {
	for _, v := range recorded(t, "templates.json.gz").(*Object).All() {
		text := string(Encode(v.(*Object).Object("template")))
		for i := 0; i < len(text); i += 7 {
			for _, with := range []string{"", "null", "[", "{", "0", "\"[reference('a')]\""} {
				o, err := DecodeObject([]byte(text[:i] + with + text[min(len(text), i+1+len(with)%3):]))
				if err != nil {
					continue
				}
				if tmpl, err := New(o, nil, recordedIn("")); err == nil {
					_, _ = tmpl.Predict()
				}
			}
		}
		// Values are replaced by those of other types.
		for _, other := range []any{nil, int64(1), "x", []any{}, &Object{}, []any{nil}, "[null()]"} {
			for n := range 60 {
				o, _ := DecodeObject([]byte(text))
				at := n
				if replaceNth(o, &at, other); at >= 0 {
					break
				}
				if tmpl, err := New(o, nil, recordedIn("")); err == nil {
					_, _ = tmpl.Predict()
				}
			}
		}
	}
}

// replaceNth replaces the nth value in an object; n is negative once that is done.
func replaceNth(v any, n *int, with any) {
	switch v := v.(type) {
	case *Object:
		for i := range v.values {
			if *n--; *n < 0 {
				v.values[i] = with
				return
			}
			if replaceNth(v.values[i], n, with); *n < 0 {
				return
			}
		}
	case []any:
		for i := range v {
			if *n--; *n < 0 {
				v[i] = with
				return
			}
			if replaceNth(v[i], n, with); *n < 0 {
				return
			}
		}
	}
}

// BenchmarkExpand expands a template of 800 resources.
func BenchmarkExpand(b *testing.B) {
	text := Encode(NewObject("$schema", schemaOfGroups, "contentVersion", "1.0.0.0", "resources", []any{NewObject(
		"type", "Microsoft.Network/networkInterfaces", "apiVersion", "2023-09-01", "name", "[format('nic{0}', copyIndex())]",
		"location", "[resourceGroup().location]", "copy", NewObject("name", "nics", "count", int64(800)),
		"properties", NewObject("ipConfigurations", []any{NewObject("name", "[concat('ip', copyIndex())]", "properties", NewObject(
			"subnet", NewObject("id", "[resourceId('Microsoft.Network/virtualNetworks/subnets', 'v', format('s{0}', mod(copyIndex(), 8)))]"),
			"privateIPAddress", "[cidrHost('10.0.0.0/16', copyIndex())]",
			"label", "[toLower(uniqueString(resourceGroup().id, string(copyIndex())))]"))}))}))
	for b.Loop() {
		o, err := DecodeObject(text)
		if err != nil {
			b.Fatal(err)
		}
		tmpl, err := New(o, nil, recordedIn(""))
		if err != nil {
			b.Fatal(err)
		}
		if p, err := tmpl.Predict(); err != nil || len(p.Resources) != 800 || !slices.IsSortedFunc(p.Resources, func(a, b *Object) int {
			return strings.Compare(a.Text("name"), b.Text("name"))
		}) {
			b.Fatal(err)
		}
	}
}
