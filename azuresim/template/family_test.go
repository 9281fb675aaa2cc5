package template

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/azuresim/template/datum"
)

// evaluated returns the value of an expression as JSON, or its error.
func evaluated(t testing.TB, expression string) string {
	t.Helper()
	template := datum.New("$schema", schemaOfGroups, "contentVersion", "1.0.0.0", "resources", []any{},
		"parameters", datum.New("o", datum.New("type", "object", "defaultValue",
			datum.New("Name", "web", "n", int64(3), "list", []any{int64(1), "b"}))),
		"outputs", datum.New("o", datum.New("type", "object", "value", datum.New("v", expression))))
	tmpl, err := New(template, nil, recordedIn(""))
	if err != nil {
		return err.Error()
	}
	out, err := tmpl.Outputs(nil)
	if err != nil {
		return err.Error()
	}
	v, _ := out[0].Value.(*datum.Object).Get("v")
	return string(datum.Encode(v))
}

// holds compares the values of expressions with Microsoft's documentation and with recorded answers
// of Azure: a wanted text that is no JSON is a part of the error.
func holds(t *testing.T, rows [][2]string) {
	t.Helper()
	for _, row := range rows {
		if got := evaluated(t, row[0]); got != row[1] && (json.Valid([]byte(row[1])) || !strings.Contains(got, row[1])) {
			t.Errorf("%s: %s, want %s", row[0], got, row[1])
		}
	}
}

// TestUserFunctions: functions of a template call each other, check types, and cannot read deployed
// resources.
func TestUserFunctions(t *testing.T) {
	number := []any{datum.New("name", "n", "type", "int")}
	member := func(value, typ string) *datum.Object {
		return datum.New("parameters", number, "output", datum.New("type", typ, "value", value))
	}
	for expression, want := range map[string]string{"[u.twice(1)]": "3", "[u.twice('x')]": "type 'Integer'", "[u.text(1)]": "type 'String'",
		"[u.asks(1)]": "not expected at this location", "[u.twice()]": "1 argument(s)", "[u.none(1)]": "not valid"} {
		template := datum.New("$schema", schemaOfGroups, "contentVersion", "1.0.0.0", "resources", []any{},
			"functions", []any{datum.New("namespace", "u", "members", datum.New("next", member("[add(parameters('n'), 1)]", "int"),
				"twice", member("[u.next(u.next(parameters('n')))]", "int"), "text", member("[parameters('n')]", "string"),
				"asks", member("[reference('x').y]", "int")))},
			"outputs", datum.New("o", datum.New("type", "int", "value", expression)))
		tmpl, err := New(template, nil, recordedIn(""))
		var out []Output
		if err == nil {
			out, err = tmpl.Outputs(nil)
		}
		got := fmt.Sprint(err)
		if err == nil {
			got = string(datum.Encode(out[0].Value))
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

// TestHostileTemplates: templates that need unbounded work end soon, with an error.
func TestHostileTemplates(t *testing.T) {
	doubled := func(first, next string) *datum.Object {
		v := datum.New("v0", first)
		for i := range 60 {
			v.Set(fmt.Sprintf("v%d", i+1), strings.ReplaceAll(next, "PREV", fmt.Sprintf("variables('v%d')", i)))
		}
		return v
	}
	literals := datum.New("v0", "x")
	for i := range 60 {
		p := fmt.Sprintf("[variables('v%d')]", i)
		literals.Set(fmt.Sprintf("v%d", i+1), []any{p, p})
	}
	template := func(key string, v any) *datum.Object {
		o := datum.New("$schema", schemaOfGroups, "contentVersion", "1.0.0.0", "resources", []any{})
		o.Set(key, v)
		return o
	}
	output := func(e string) *datum.Object {
		return template("outputs", datum.New("o", datum.New("type", "array", "value", e)))
	}
	nested := template("resources", []any{})
	for range 8 {
		nested = template("resources", []any{datum.New("type", "Microsoft.Resources/deployments", "apiVersion", "2022-09-01", "name", "n",
			"properties", datum.New("mode", "Incremental", "expressionEvaluationOptions", datum.New("scope", "inner"), "template", nested))})
	}
	function := template("functions", []any{datum.New("namespace", "n", "members", datum.New("f", datum.New("parameters", []any{},
		"output", datum.New("type", "string", "value", "[n.f()]"))))})
	function.Set("variables", datum.New("v", "[n.f()]"))
	for name, o := range map[string]*datum.Object{
		"texts that double":  template("variables", doubled("x", "[concat(PREV, PREV)]")),
		"arrays that double": template("variables", doubled("x", "[createArray(PREV, PREV)]")),
		"literals":           template("variables", literals),
		"what is known later": template("outputs", datum.New("o", datum.New("type", "string", "value", "[concat("+
			strings.Repeat("reference('x').y, ", 2000)+"'')]"))),
		"lambdas in lambdas": output("[map(range(0, 10000), lambda('x', map(range(0, 10000), lambda('y', 1))))]"),
		"a long text": output("[map(range(0, 10000), lambda('x', replace('" + strings.Repeat("a", 1000) + "', 'a', '" +
			strings.Repeat("b", 4000) + "')))]"),
		"a wide format":        output("[map(range(0, 1000), lambda('x', format('{0,999999}', 1)))]"),
		"levels":               nested,
		"a function of itself": function,
		"brackets":             template("variables", datum.New("v", "["+strings.Repeat("a(", 10_000)+strings.Repeat(")", 10_000)+"]")),
		"a $ref of itself":     template("parameters", datum.New("p", datum.New("$ref", "#/definitions/d"))),
	} {
		t.Run(name, func(t *testing.T) {
			o.Set("definitions", datum.New("d", datum.New("$ref", "#/definitions/d")))
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

// TestLoopsOfDeployments: loops of nested deployments, each cheap, do not exhaust the computer's
// memory together.
func TestLoopsOfDeployments(t *testing.T) {
	loops := datum.New("$schema", schemaOfGroups, "contentVersion", "1.0.0.0", "resources", []any{})
	for level := range 3 {
		loops = datum.New("$schema", schemaOfGroups, "contentVersion", "1.0.0.0", "resources", []any{
			datum.New("type", "Microsoft.Resources/deployments", "apiVersion", "2022-09-01",
				"name", fmt.Sprintf("[concat('n%d-', copyIndex())]", level),
				"copy", datum.New("name", "c", "count", int64(90)), "properties", datum.New("mode", "Incremental", "template", loops))})
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

// FuzzTemplate changes recorded templates; none may end the program.
func FuzzTemplate(f *testing.F) {
	for _, v := range recorded(f, "templates.json.gz").(*datum.Object).Values() {
		f.Add(string(datum.Encode(v.(*datum.Object).Object("template"))))
	}
	f.Fuzz(func(_ *testing.T, text string) {
		o, err := datum.DecodeObject([]byte(text))
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

// TestMutations changes each recorded template in many places; none may end the program.
func TestMutations(t *testing.T) {
	for _, v := range recorded(t, "templates.json.gz").(*datum.Object).All() {
		text := string(datum.Encode(v.(*datum.Object).Object("template")))
		for i := 0; i < len(text); i += 7 {
			for _, with := range []string{"", "null", "[", "{", "0", "\"[reference('a')]\""} {
				o, err := datum.DecodeObject([]byte(text[:i] + with + text[min(len(text), i+1+len(with)%3):]))
				if err != nil {
					continue
				}
				if tmpl, err := New(o, nil, recordedIn("")); err == nil {
					_, _ = tmpl.Predict()
				}
			}
		}
		// Values are replaced by values of other types.
		for _, other := range []any{nil, int64(1), "x", []any{}, &datum.Object{}, []any{nil}, "[null()]"} {
			for n := range 60 {
				o, _ := datum.DecodeObject([]byte(text))
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

// replaceNth replaces the nth value in an object; n is negative after the replacement.
func replaceNth(v any, n *int, with any) {
	switch v := v.(type) {
	case *datum.Object:
		for i := range v.Values() {
			if *n--; *n < 0 {
				v.Values()[i] = with
				return
			}
			if replaceNth(v.Values()[i], n, with); *n < 0 {
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
	text := datum.Encode(datum.New("$schema", schemaOfGroups, "contentVersion", "1.0.0.0", "resources", []any{datum.New(
		"type", "Microsoft.Network/networkInterfaces", "apiVersion", "2023-09-01", "name", "[format('nic{0}', copyIndex())]",
		"location", "[resourceGroup().location]", "copy", datum.New("name", "nics", "count", int64(800)),
		"properties", datum.New("ipConfigurations", []any{datum.New("name", "[concat('ip', copyIndex())]", "properties", datum.New(
			"subnet", datum.New("id", "[resourceId('Microsoft.Network/virtualNetworks/subnets', 'v', format('s{0}', mod(copyIndex(), 8)))]"),
			"privateIPAddress", "[cidrHost('10.0.0.0/16', copyIndex())]",
			"label", "[toLower(uniqueString(resourceGroup().id, string(copyIndex())))]"))}))}))
	for b.Loop() {
		o, err := datum.DecodeObject(text)
		if err != nil {
			b.Fatal(err)
		}
		tmpl, err := New(o, nil, recordedIn(""))
		if err != nil {
			b.Fatal(err)
		}
		if p, err := tmpl.Predict(); err != nil || len(p.Resources) != 800 || !slices.IsSortedFunc(p.Resources, func(a, b *datum.Object) int {
			return strings.Compare(a.Text("name"), b.Text("name"))
		}) {
			b.Fatal(err)
		}
	}
}
