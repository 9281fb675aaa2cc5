package template

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

var here = Context{Subscription: "S", TenantID: "T", Group: "g", GroupLocation: "westeurope", Deployment: "d", Now: "20260101T000000Z"}

func decode(t testing.TB, text string) object {
	t.Helper()
	var o object
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestExpressions evaluates outputs and compares them with the values that Microsoft's
// documentation of the functions gives.
func TestExpressions(t *testing.T) {
	for expr, want := range map[string]any{
		"plain":                 "plain",
		"[[not an expression]":  "[not an expression]",
		"[concat('a', 'b', 1)]": "ab1",
		"[concat(createArray(1), createArray(2))]": []any{1.0, 2.0},
		"[toUpper('it''s')]":                       "IT'S",
		"[resourceId('Microsoft.Network/virtualNetworks/subnets', 'v', " +
			"'s')]": "/subscriptions/S/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/s",
		"[resourceId('other', 'Microsoft.Network/virtualNetworks', " +
			"'v')]": "/subscriptions/S/resourceGroups/other/providers/Microsoft.Network/virtualNetworks/v",
		"[subscriptionResourceId('Microsoft.Authorization/roleDefinitions', " +
			"'r')]": "/subscriptions/S/providers/Microsoft.Authorization/roleDefinitions/r",
		"[resourceGroup().location]":                          "westeurope",
		"[parameters('p').list[1].name]":                      "second",
		"[variables('v')]":                                    "p-x",
		"[if(equals('a', 'A'), 'yes', div(1, 0))]":            "yes",
		"[and(true(), not(false()))]":                         true,
		"[length(split('a,b,c', ','))]":                       3.0,
		"[substring('one two three', 4, 3)]":                  "two",
		"[padLeft(12, 5, '0')]":                               "00012",
		"[format('{0}-{1}', 'a', 2)]":                         "a-2",
		"[mod(7, 3)]":                                         1.0,
		"[greater(2, 1)]":                                     true,
		"[less(2, 2)]":                                        false,
		"[contains(parameters('p'), 'LIST')]":                 true,
		"[first(createArray('x', 'y'))]":                      "x",
		"[union(createObject('a', 1), createObject('b', 2))]": object{"a": 1.0, "b": 2.0},
		"[json('{\"a\":[1]}').a[0]]":                          1.0,
		"[reference('v', '2020-01-01').seen]": "/subscriptions/S/resourceGroups/g/providers/" +
			"Microsoft.Network/virtualNetworks/v",
		"[coalesce(null(), 'c')]":       "c",
		"[base64ToString(base64('x'))]": "x",
		"[-1]":                          -1.0,
	} {
		t.Run(expr, func(t *testing.T) {
			text, _ := json.Marshal(expr)
			tmpl, err := New(decode(t,
				`{"parameters": {"p": {"type": "object"}}, "variables": {"v": "[concat('p-', variables('w'))]", "w": "x"},
				"resources": [{"type": "Microsoft.Network/virtualNetworks", "apiVersion": "2020-01-01", "name": "v"}],
					"outputs": {"o": {"type": "string", "value": `+
					string(text)+`}}}`),
				decode(t, `{"p": {"value": {"list": [{"name": "first"}, {"name": "second"}]}}}`), here)
			if err != nil {
				t.Fatal(err)
			}
			out, err := tmpl.Outputs(func(id, _ string, _ bool) (any, error) { return object{"seen": id}, nil })
			if err != nil {
				t.Fatal(err)
			}
			if got := out["o"].(object)["value"]; !reflect.DeepEqual(got, want) {
				t.Errorf("got %#v, want %#v", got, want)
			}
		})
	}
}

func TestOrder(t *testing.T) {
	tmpl, err := New(decode(t, `{"resources": [
		{"type": "A.B/vm", "apiVersion": "1", "name": "[concat('vm', copyIndex(1))]", "copy": {"name": "vms",
			"count": 2}, "dependsOn": ["[resourceId('A.B/nic', concat('nic', copyIndex()))]"],
			"properties": {"i": "[copyIndex('vms')]"}},
		{"type": "A.B/nic", "apiVersion": "1", "name": "[concat('nic', copyIndex())]", "copy": {"name": "nics",
			"count": 2}, "properties": {"ip": "[reference('ip').address]"}},
		{"type": "A.B/ip", "apiVersion": "1", "name": "ip"},
		{"type": "A.B/last", "apiVersion": "1", "name": "last", "dependsOn": ["vms"], "resources": [{"type": "child",
			"apiVersion": "1", "name": "c"}]},
		{"type": "A.B/never", "apiVersion": "1", "name": "never", "condition": "[equals(1, 2)]"}
	]}`), nil, here)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, r := range tmpl.Resources {
		order = append(order, r.Type+" "+r.Name)
	}
	want := []string{"A.B/ip ip", "A.B/nic nic0", "A.B/nic nic1", "A.B/vm vm1", "A.B/vm vm2", "A.B/last last", "A.B/last/child last/c"}
	if !reflect.DeepEqual(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	body, err := tmpl.Resources[4].Body(nil)
	if err != nil || !reflect.DeepEqual(body, object{"properties": object{"i": 1.0}}) {
		t.Errorf("body %v, %v", body, err)
	}
	if id := tmpl.Resources[6].ID; id != "/subscriptions/S/resourceGroups/g/providers/A.B/last/last/child/c" {
		t.Errorf("ID of the child: %s", id)
	}
}

func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct{ template, parameters, want string }{
		"no resources":      {`{}`, `{}`, "'resources' not found"},
		"missing parameter": {`{"parameters": {"p": {"type": "string"}}, "resources": []}`, `{}`, "'p' is not provided"},
		"unknown parameter": {`{"resources": []}`, `{"q": {"value": 1}}`, "'q'"},
		"wrong type":        {`{"parameters": {"p": {"type": "int"}}, "resources": []}`, `{"p": {"value": "x"}}`, "not of the type int"},
		"not allowed": {`{"parameters": {"p": {"type": "string", "allowedValues": ["a"]}}, "resources": []}`,
			`{"p": {"value": "b"}}`, "allowed values"},
		"circle": {`{"resources": [{"type": "A/b", "name": "x", "apiVersion": "1", "dependsOn": ` +
			`["y"]}, {"type": "A/b", "name": "y", "apiVersion": "1", "dependsOn": ["x"]}]}`, `{}`, "circular"},
		"circle of variables": {`{"variables": {"a": "[variables('b')]", "b": "[variables('a')]"}, "resources": ` +
			`[{"type": "A/b", "name": "[variables('a')]", "apiVersion": "1"}]}`, `{}`, "not found"},
		"unknown function":    {`{"resources": [{"type": "A/b", "name": "[nope()]", "apiVersion": "1"}]}`, `{}`, "nope is not supported"},
		"bad syntax":          {`{"resources": [{"type": "A/b", "name": "[concat('a']", "apiVersion": "1"}]}`, `{}`, ", or ) was expected"},
		"reference in a name": {`{"resources": [{"type": "A/b", "name": "[reference('x')]", "apiVersion": "1"}]}`, `{}`, "not defined"},
		"twice": {`{"resources": [{"type": "A/b", "name": "x", "apiVersion": "1"}, {"type": ` +
			`"A/b", "name": "x", "apiVersion": "1"}]}`, `{}`, "multiple times"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(decode(t, tc.template), decode(t, tc.parameters), here)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

func FuzzExpression(f *testing.F) {
	for _, s := range []string{"[concat('a', 'b')]", "[[x]", "[a(b(c('d')[0]).e)]", "['''']", "[-1.5]", "[a(]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tmpl, err := New(object{"resources": []any{}, "outputs": object{"o": object{"type": "string", "value": s}}}, nil, here)
		if err != nil {
			t.Fatal(err) // outputs are evaluated later
		}
		_, _ = tmpl.Outputs(func(string, string, bool) (any, error) { return nil, nil }) // must not panic
	})
}
