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

// TestFamilies has for each family of functions what Microsoft's documentation says, beside the
// recorded answers of Azure.
func TestFamilies(t *testing.T) {
	for family, rows := range map[string][][2]string{
		"texts": {
			{"[replace('foot', 't', 'd')]", `"food"`},
			{"[padLeft('00', 5, ' ')]", `"   00"`},
			{"[join(createArray('abc', 123, true()), '/')]", `"abc/123/True"`},
			{"[uniqueString('snap', 'crackle', 'pop')]", `"byghxckddilkc"`},
			{"[guid('foo', 'bar', 'baz')]", `"2ed86837-7c7c-5eaa-9864-dd077fd19b0d"`},
			{"[newGuid()]", "'newGuid' is not expected"},
			{"[concat('a', 1, true())]", `"a1True"`}, {"[concat('a', createObject())]", "either all or none"},
			{"[replace('a.b', '.', '')]", `"ab"`}, {"[substring('abc', 1)]", `"bc"`}, {"[substring('abc', 1, 9)]", "location within"},
			{"[split('a b', createArray())]", `["a","b"]`}, {"[padLeft(7, 3, '0')]", `"007"`}, {"[lastIndexOf('aXbx', 'x')]", "3"},
			{"[toUpper('straße')]", `"STRAßE"`}, {"[startsWith('Abc', 'aB')]", "true"}, {"[join(createArray(1), '')]", `"1"`},
			{"[length('😀')]", "2"}, {"[take('a😀', 1)]", `"a"`},
		},
		"formats": {
			{"[format('{0}', parameters('o'))]", `"{'Name':'web','n':3,'list':[1,'b']}"`}, {"[format('{0}/{1}/{2}', 1, 2, true())]", `"1/2/True"`},
			{"[format('{0:E0} {1:G2}', 25, 12345)]", `"3E+001 1.2E+04"`},
			{"[format('{0:G} {0:P1}', json('123456789.123'))]", `"123456789.123 12,345,678,912.3 %"`},
			{"[format('{0:F1} {1:F2}', json('0.25'), json('-0.001'))]", `"0.2 -0.00"`},
			{"[format('{0:0.00} {0:#.#}', json('2.675'))]", `"2.68 2.7"`},
			{"[format('{0:0.00e+0} {0:0E000} {0:e}', 12345)]", `"1.23e+4 1E004 1.234500e+004"`},
			{"[format('{0:0‰} {0:0%}', 2)]", `"2000‰ 200%"`},
			{"[format('{0:0,.0} {0:#,##0}', 1234567)]", `"1234.6 1,234,567"`},
			{"[format('{0:0;(0);none}', 0)]", `"none"`},
			{"[format('{0:R}', 5)]", "specifier"},
			{"[format('{0}', json('0.00001'))]", `"1E-05"`}, {"[format('{0:X} {1:B8}', -1, 5)]", `"FFFFFFFFFFFFFFFF 00000101"`},
			{"[format('{0:X4} {0:x}', 255)]", `"00FF ff"`}, {"[format('{0,-4}|{1,4}|', 'ab', 'cd')]", `"ab  |  cd|"`},
			{"[format('{0:N1}', 1234567)]", `"1,234,567.0"`}, {"[format('{0:0000}', 42)]", `"0042"`}, {"[format('{0:#}', 0)]", `""`},
			{"[format('{0:0.##}', 5)]", `"5"`}, {"[format('{0:C}', 3)]", `"¤3.00"`}, {"[format('{0', 1)]", "no counterpart"},
			{"[format('{0:00-00}', 1234)]", `"12-34"`}, {"[format('{0:E2}', 12345)]", `"1.23E+004"`}, {"[format('{0:0%}', 1)]", `"100%"`},
			{"[format('{0:#;(#)}', -5)]", `"(5)"`},
		},
		"conversions": {
			{"[json('[.5, 0777, 0x1F, , NaN]')]", `[0.5,511,31,null,"NaN"]`},
			{"[float('1e400')]", `"Infinity"`},
			{"[float('inf')]", "cannot be converted"},
			{"[base64(' Fizz ')]", `"IEZpenog"`}, {"[uri('https://github.com/another/repo', '/Azure/bicep')]", `"https://github.com/Azure/bicep"`},
			{"[uri('https://a/b', 'c?d=e f')]", `"https://a/c?d=e%20f"`},
			{"[buildUri(parseUri('https://a.b:8080/c/d?e=f'))]", `"https://a.b:8080/c/d?e=f"`},
			{"[parseUri('http://a/b?c').query]", `"?c"`}, {"[buildUri(createObject())]", "a scheme and a host"},
			{"[int('-5')]", "-5"}, {"[int('1e3')]", "cannot convert"}, {"[bool('TRUE')]", "true"}, {"[float('1e3')]", "1000.0"},
			{"[json('{\"a\": [1,],}')]", `{"a":[1]}`}, {"[json('{')]", "a valid JSON"}, {"[base64ToString('@')]", "valid base64"},
			{"[dataUriToString('data:;base64,YQ==')]", `"a"`}, {"[uriComponentToString('%41+')]", `"A "`}, {"[string(json('null'))]", "'Null'"},
		},
		"collections": {
			{"[first(createArray())]", "null"}, {"[last('')]", `""`}, {"[skip(createArray(1, 2), -1)]", "[1,2]"},
			{"[contains('abc', 'B')]", "false"},
			{"[contains(parameters('o'), 'NAME')]", "true"}, {"[intersection('a', 'b')]", "expects its first"},
			{"[distinct(createArray('a', 'A', 'a'))]", `["a","A"]`},
			{"[max(createArray())]", "of numeric types"}, {"[flatten(createArray(1))]", "array of arrays"},
			{"[tryIndexFromEnd(createArray(1), 2)]", "null"},
			{"[range(5, 2)]", "[5,6]"}, {"[indexOf(createArray('A'), 'a')]", "-1"},
		},
		"objects": {
			{"[createObject('a')]", "even number"},
			{"[union(createObject('a', createObject('b', 1)), createObject('A', createObject('c', 2)))]", `{"A":{"b":1,"c":2}}`},
			{"[items(createObject('b', 1, 'a', 2))[0].key]", `"a"`}, {"[coalesce(null(), parameters('o').n)]", "3"},
			{"[tryGet(parameters('o'), 'list', 1)]", `"b"`}, {"[tryGet(parameters('o'), 'x', 'y')]", "null"},
			{"[shallowMerge(createArray(1))]", "array of objects"},
		},
		"numbers": {
			{"[add(1, 2)]", "3"}, {"[mul(9223372036854775807, 2)]", "overflowed"}, {"[mod(-7, 3)]", "-1"}, {"[mod(1, 0)]", "divide by zero"},
			{"[mul(-9223372036854775807, 1)]", "-9223372036854775807"}, {"[sub(-9223372036854775807, 2)]", "overflowed"},
		},
		"logic": {
			{"[less('a_b', 'a-b')]", "true"}, {"[if(false(), fail('not now'), 1)]", "1"}, {"[fail('not now')]", "not now"},
			{"[if(true(), 1, nope())]", "1"}, {"[or(true(), nope())]", "true"}, {"[and(true(), 1)]", "boolean"}, {"[equals(1, '1')]", "false"},
			{"[less('a', 'B')]", "true"}, {"[greater('é', 'e')]", "true"}, {"[less('a-b', 'ab')]", "true"},
			{"[less(1, 'a')]", "two numbers or two texts"},
		},
		"times": {
			{"[dateTimeAdd('January 2, 2024', ' P1D ', 'ss.FFF')]", `"00"`},
			{"[dateTimeAdd('2 January 2024 10:11 PM', 'PT0S')]", `"2024-01-02T22:11:00Z"`},
			{"[dateTimeAdd('2024-02-29', 'PT0S', '%H %t y yyyyy gg K')]", `"0 A 24 02024 A.D. +00:00"`},
			{"[dateTimeAdd('2024', 'PT0S')]", "DateTime string"},
			{"[dateTimeAdd('2024-01-31', 'P1M', 'yyyy-MM-dd')]", `"2024-03-01"`},
			{"[dateTimeAdd('2024-01-01T00:00:00+02:00', 'PT0S')]", `"2023-12-31T22:00:00Z"`},
			{"[dateTimeToEpoch('1970-01-02T00:00:00Z')]", "86400"}, {"[dateTimeAdd('2024-01-01', 'PT')]", "ISO8601 Duration"},
			{"[dateTimeAdd('2024-01-01T13:00:00Z', 'PT0S', 'hh tt')]", `"01 PM"`}, {"[utcNow()]", "not expected at this location"},
		},
		"networks": {
			{"[cidrSubnet('10.0.0.0/8', 16, 1)]", `"10.1.0.0/16"`}, {"[cidrHost('10.0.0.0/24', 0)]", `"10.0.0.1"`},
			{"[parseCidr('10.0.0.0/31').lastUsable]", `"10.0.0.0"`},
			{"[parseCidr('10.0.0.0/255.255.0.0').cidr]", "16"}, {"[cidrSubnet('::/0', 64, 1)]", `"0:0:0:1::/64"`},
			{"[parseCidr('x')]", "not valid"},
		},
		"lambdas": {
			{"[groupBy(range(0, 3), lambda('x', string(mod(lambdaVariables('x'), 2))), lambda('x', add(lambdaVariables('x'), 1)))]",
				`{"0":[1,3],"1":[2]}`},
			{"[createArray(lambda('x', 1))]", "of type"},
			{"[lambda('x', 1)]", "no value"},
			{"[map(createArray(), lambda(1))]", "lambda expression of 1 to 2"},
			{"[map(range(0, 2), lambda('x', mul(lambdaVariables('X'), 2)))]", "[0,2]"}, {"[filter(createArray(1), lambda('x', 'y'))]", "Boolean"},
			{"[sort(createArray(3, 1, 2), lambda('a', 'b', less(lambdaVariables('a'), lambdaVariables('b'))))]", "[1,2,3]"},
			{"[reduce(range(1, 3), 0, lambda('a', 'b', add(lambdaVariables('a'), lambdaVariables('b'))))]", "6"},
			{"[mapValues(createObject('a', 1), lambda('v', string(lambdaVariables('v'))))]", `{"a":"1"}`},
			{"[map(range(0, 1), lambda('x', map(range(0, 1), lambda('y', lambdaVariables('x')))))]", "[[0]]"},
			{"[lambdaVariables('x')]", "not valid"}, {"[map(range(0, 1), 1)]", "Function"},
		},
		"scopes": {
			{"[toPhysicalZones('s', 'l', createArray('1'))]", `"[toPhysicalZones('s', 'l', createArray('1'))]"`},
			{"[and(true(), reference('x').y)]", `"[and(true(), reference('x').y)]"`},
			{"[resourceId('a', 'A.B/c/', 'd')]", `"/subscriptions/00000000-0000-0000-0000-0000000000a1/resourceGroups/a/providers/A.B/c/d"`},
			{"[subscriptionResourceId('Microsoft.Resources/resourceGroups', 'g')]",
				`"/subscriptions/00000000-0000-0000-0000-0000000000a1/resourceGroups/g"`},
			{"[resourceGroup().location]", `"westeurope"`}, {"[deployment().name]", `"dep1"`}, {"[copyIndex()]", "not valid"},
			{"[managementGroup()]", "not expected"},
			{"[uniqueString('a', 'b')]", `"i3z4v3sp6aooa"`}, {"[listKeys('x', '1').a]", `"[listKeys('x', '1').a]"`},
			{"[reference('x').y]", `"[reference('x').y]"`},
		},
	} {
		t.Run(family, func(t *testing.T) {
			for _, row := range rows {
				// What is no JSON is a part of an error.
				if got := evaluated(t, row[0]); got != row[1] && (json.Valid([]byte(row[1])) || !strings.Contains(got, row[1])) {
					t.Errorf("%s: %s, want %s", row[0], got, row[1])
				}
			}
		})
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
			NewObject("type", "Microsoft.Resources/deployments", "apiVersion", "2022-09-01", "name", fmt.Sprintf("[concat('n%d-', copyIndex())]", level),
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
