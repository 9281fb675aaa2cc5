package template

import (
	"strings"
	"testing"

	"casement.dev/casement/azuresim/template/datum"
)

// TestLearn has examples of Microsoft Learn and of Bicep's documentation that are not among the recorded answers.
// Source: https://learn.microsoft.com/azure/azure-resource-manager/templates/template-functions and the pages below it.
func TestLearn(t *testing.T) {
	const dogs = "json('[{\"name\":\"Evie\",\"age\":5," +
		"\"interests\":[\"Ball\",\"Frisbee\"]},{\"name\":\"Casper\",\"age\":3,\"interests\":[\"Other dogs\"]}]')"
	holds(t, [][2]string{
		{"[padLeft('12345678901234567890', 5)]", `"12345678901234567890"`},
		{"[split('a,b;c', createArray(',', ';'))]", `["a","b","c"]`},
		{"[split('', ',')]", `[""]`},
		{"[lastIndexOf('test', 'T')]", "3"},
		{"[indexOf('test', 'tt')]", "-1"},
		{"[skip('one two three', 4)]", `"two three"`},
		{"[take('abc', 9)]", `"abc"`},
		{"[substring('abc', 3)]", `""`},
		{"[substring('abc', -1)]", "location within"},
		{"[replace('123-123-1234', '-', '')]", `"1231231234"`},
		{"[trim(concat(' a', json('\"\\t\"')))]", `"a"`},
		{"[uri('http://contoso.com/resources', 'nested/azuredeploy.json')]", `"http://contoso.com/nested/azuredeploy.json"`},
		{"[uri('http://contoso.com/resources/', '/nested/azuredeploy.json')]", `"http://contoso.com/nested/azuredeploy.json"`},
		{"[uriComponent('http://contoso.com/resources/nested/azuredeploy.json')]",
			`"http%3A%2F%2Fcontoso.com%2Fresources%2Fnested%2Fazuredeploy.json"`},
		{"[dataUriToString('data:;base64,SGVsbG8sIFdvcmxkIQ==')]", `"Hello, World!"`},
		{"[dataUri('Hello')]", `"data:text/plain;charset=utf-8;base64,SGVsbG8="`},
		{"[base64ToJson(base64('{\"one\":\"a\",\"two\":\"b\"}')).one]", `"a"`},
		{"[parseCidr('10.144.0.0/20')]",
			`{"network":"10.144.0.0","netmask":"255.255.240.0","broadcast":"10.144.15.255",` +
				`"firstUsable":"10.144.0.1","lastUsable":"10.144.15.254","cidr":20}`},
		{"[map(range(0, 3), lambda('i', cidrSubnet('10.144.0.0/20', 24, lambdaVariables('i'))))]",
			`["10.144.0.0/24","10.144.1.0/24","10.144.2.0/24"]`},
		{"[map(range(0, 2), lambda('i', cidrHost('10.144.3.0/24', lambdaVariables('i'))))]", `["10.144.3.1","10.144.3.2"]`},
		{"[parseCidr('fdad:3236:5555::/48')]",
			`{"network":"fdad:3236:5555::","netmask":"ffff:ffff:ffff::","firstUsable":"fdad:3236:5555::",` +
				`"lastUsable":"fdad:3236:5555:ffff:ffff:ffff:ffff:ffff","cidr":48}`},
		{"[map(" + dogs + ", lambda('dog', lambdaVariables('dog').name))]", `["Evie","Casper"]`},
		{"[map(" + dogs + ", lambda('dog', 'i', createObject('i', lambdaVariables('i'), " +
			"'greeting', format('Ahoy, {0}!', lambdaVariables('dog').name))))]",
			`[{"i":0,"greeting":"Ahoy, Evie!"},{"i":1,"greeting":"Ahoy, Casper!"}]`},
		{"[filter(" + dogs + ", lambda('dog', greaterOrEquals(lambdaVariables('dog').age, 5)))[0].name]", `"Evie"`},
		{"[sort(" + dogs + ", lambda('a', 'b', less(lambdaVariables('a').age, lambdaVariables('b').age)))[0].name]", `"Casper"`},
		{"[reduce(map(" + dogs + ", lambda('d', lambdaVariables('d').age)), 0, " +
			"lambda('a', 'b', add(lambdaVariables('a'), lambdaVariables('b'))))]",
			"8"},
		{"[toObject(" + dogs + ", lambda('e', lambdaVariables('e').name), lambda('e', lambdaVariables('e').age))]", `{"Evie":5,"Casper":3}`},
		{"[groupBy(createArray('foo', 'bar', 'baz'), lambda('x', substring(lambdaVariables('x'), 0, 1)))]", `{"f":["foo"],"b":["bar","baz"]}`},
		{"[mapValues(createObject('foo', 'foo'), lambda('v', toUpper(lambdaVariables('v'))))]", `{"foo":"FOO"}`},
		{"[flatten(map(" + dogs + ", lambda('d', lambdaVariables('d').interests)))]", `["Ball","Frisbee","Other dogs"]`},
		{"[union(createObject('one', 'a', 'three', 'c1'), createObject('three', 'c2', 'four', createArray(1)))]",
			`{"one":"a","three":"c2","four":[1]}`},
		{"[intersection(createObject('one', 'a', 'two', 'b', 'three', 'c'), createObject('one', 'a', 'two', 'z', 'three', 'c'))]",
			`{"one":"a","three":"c"}`},
		{"[intersection(createArray('one', 'two', 'three'), createArray('two', 'three'))]", `["two","three"]`},
		{"[shallowMerge(createArray(createObject('one', 'a', 'three', 'c1'), createObject('three', 'c2')))]", `{"one":"a","three":"c2"}`},
		{"[objectKeys(createObject('b', 1, 'A', 2))]", `["A","b"]`},
		{"[tryGet(createObject('a', createArray(1)), 'b')]", "null"},
		{"[tryIndexFromEnd(createArray('a', 'b'), 3)]", "null"},
		{"[indexFromEnd(createArray('apple', 'orange', 'banana'), 2)]", `"orange"`},
		{"[contains('OneTwoThree', 'two')]", "false"},
		{"[empty(createObject())]", "true"},
		{"[coalesce(null(), createObject('a', 1))]", `{"a":1}`},
		{"[greater('A', 'a')]", "true"},
		{"[lessOrEquals(json('1.5'), 2)]", "true"},
		{"[div(8, 3)]", "2"}, {"[mod(7, -3)]", "1"}, {"[int('4')]", "4"}, {"[int('4.7')]", "cannot convert"}, {"[float('3')]", "3.0"},
		{"[bool('1')]", "cannot be converted"}, {"[string(createObject('a', 1, 'b', createArray('x')))]", `"{\"a\":1,\"b\":[\"x\"]}"`},
		{"[json('{\"a\":1.0}').a]", "1.0"}, {"[array(createObject())]", "[{}]"},
		{"[dateTimeAdd('2020-04-07 14:53:14Z', '-P9D')]", `"2020-03-29T14:53:14Z"`},
		{"[dateTimeFromEpoch(1683040573)]", `"2023-05-02T15:16:13Z"`}, {"[dateTimeToEpoch('2023-05-02T15:16:13Z')]", "1683040573"},
		{"[extensionResourceId(resourceGroup().id, 'Microsoft.Authorization/locks', 'l')]",
			`"/subscriptions/00000000-0000-0000-0000-0000000000a1/resourceGroups/rg1/providers/Microsoft.Authorization/locks/l"`},
		{"[tenantResourceId('Microsoft.Authorization/roleDefinitions', 'r')]", `"/providers/Microsoft.Authorization/roleDefinitions/r"`},
		{"[resourceId('no-guid', 'rg', 'Microsoft.A/b', 'c')]", "not valid subscription identifier"},
		{"[resourceId('Microsoft.A/b/c', 'x')]", "'2' resource name"},
		{"[buildUri(createObject('scheme', 'https', 'host', 'www.contoso.com', 'path', '/r', 'query', '?a=1'))]",
			`"https://www.contoso.com/r?a=1"`},
		{"[if(empty(''), 'empty', 'not')]", `"empty"`}, {"[not(equals(createObject('a', 1, 'b', 2), createObject('b', 2, 'a', 1)))]", "false"},
		{"[equals('a', 'A')]", "false"}, {"[min(createArray(3, 1, 2), 4)]", "numeric"}, {"[range(-2, 3)]", "[-2,-1,0]"},
		{"[format('{0:N1} {1,6:0.00}|{2}', 1234, 5, createArray(1, 'a'))]", `"1,234.0   5.00|[1,'a']"`},
		{"[first(createArray(createObject('a', 1))).a]", "1"}, {"[last('One Two')]", `"o"`}, {"[first('')]", `""`},
		{"[createArray(1, createArray(), null())]", "[1,[],null]"},
		{"[items(createObject('b', 1, 'a', 2))]", `[{"key":"a","value":2},{"key":"b","value":1}]`},
		{"[distinct(createArray(createObject('a', 1), createObject('a', 1), 1, 1))]", `[{"a":1},1]`},
	})
}

// expanded returns the expansion of a template, or the error as text. The template lacks a $schema,
// which is added.
func expanded(t *testing.T, text, scope string) string {
	t.Helper()
	o, err := datum.DecodeObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o.Set("$schema", schemaOfGroups)
	o.Set("contentVersion", "1.0.0.0")
	tmpl, err := New(o, o.Object("given"), recordedIn(scope))
	if err != nil {
		return err.Error()
	}
	p, err := tmpl.Predict()
	if err != nil {
		return err.Error()
	}
	list := []any{}
	for _, r := range p.Resources {
		list = append(list, r)
	}
	out := datum.New("resources", list, "outputs", p.Outputs)
	for _, d := range p.Diagnostics {
		out.Set("problem", d.Message)
	}
	return strings.ReplaceAll(string(datum.Encode(out)), "/subscriptions/00000000-0000-0000-0000-0000000000a1", "SUB")
}

// TestLearnTemplates has templates of the kinds that Microsoft Learn describes below "template
// syntax", with a part of their expansion.
func TestLearnTemplates(t *testing.T) {
	for _, row := range []struct{ name, scope, template, want string }{
		{"an inner deployment and its outputs", "", `{resources: [{type: 'Microsoft.Resources/deployments', apiVersion: '2022-09-01', name: 'in',
			properties: {mode: 'Incremental', expressionEvaluationOptions: {scope: 'inner'}, parameters: {p: {value: "[concat('a', 'b')]"}},
			template: {$schema: 'x', contentVersion: '1', parameters: {p: {type: 'string'}}, variables: {v: "[toUpper(parameters('p'))]"},
			resources: [], outputs: {o: {type: 'string', value: "[variables('v')]"}}}}}],
			outputs: {o: {type: 'string', value: "[reference('in').outputs.o.value]"}}}`, `"outputs":{"o":"AB"}`},
		{"an outer deployment sees the parent's variables", "", `{variables: {v: 'parent'}, resources: [{type: 'Microsoft.Resources/deployments',
			apiVersion: '2022-09-01', name: 'out', properties: {mode: 'Incremental', template: {$schema: 'x', contentVersion: '1',
			variables: {v: 'child'}, resources: [{type: 'A.B/c', apiVersion: '1', name: "[variables('v')]"}]}}}]}`, `"name":"parent"`},
		{"a loop of properties in a loop of resources", "", `{resources: [{type: 'A.B/c', apiVersion: '1', name: "[concat('r', copyIndex(1))]",
			copy: {name: 'rs', count: 2}, properties: {copy: [{name: 'disks', count: 2, input: {lun: "[copyIndex('disks')]",
			of: "[copyIndex('rs')]"}}]}}]}`, `"name":"r2","apiVersion":"1","properties":{"disks":[{"lun":0,"of":1},{"lun":1,"of":1}]}`},
		{"loops of variables", "", `{variables: {copy: [{name: 'a', count: 3, input: "[mul(copyIndex('a'), 2)]"}], o: {copy: [{name: 'b',
			count: 2, input: "[copyIndex('b', 5)]"}]}}, resources: [], outputs: {a: {type: 'array', value: "[variables('a')]"},
			b: {type: 'array', value: "[variables('o').b]"}}}`, `"outputs":{"a":[0,2,4],"b":[5,6]}`},
		{"a loop of outputs", "", `{resources: [], outputs: {o: {type: 'array', copy: {count: 2, input: "[format('x{0}', copyIndex())]"}}}}`,
			`"outputs":{"o":["x0","x1"]}`},
		{"an output whose condition is false", "", `{resources: [], outputs: {o: {type: 'string', condition: "[equals(1, 2)]",
			value: "[fail('no')]"}}}`, `"outputs":{}`},
		{"symbolic names, an existing one and a loop", "", `{languageVersion: '2.0', resources: {vnet: {existing: true, type: 'A.B/c',
			apiVersion: '1', name: 'v', resourceGroup: 'other'}, loop: {type: 'A.B/d', apiVersion: '1', name: "[format('d{0}', copyIndex())]",
			copy: {name: 'loop', count: 2}, dependsOn: ['vnet'], properties: {id: "[resourceInfo('vnet').id]"}}, last: {type: 'A.B/e',
			apiVersion: '1', name: 'e', dependsOn: ['loop'], properties: {first: "[resourceInfo('loop[0]').name]"}}}}`,
			`"properties":{"first":"d0"}`},
		{"an extension by scope", "", `{resources: [{type: 'Microsoft.Authorization/locks', apiVersion: '2020-05-01', name: 'l',
			scope: "[format('Microsoft.Storage/storageAccounts/{0}', 's')]", properties: {level: 'CanNotDelete'}}]}`,
			`"id":"SUB/resourceGroups/rg1/providers/Microsoft.Storage/storageAccounts/s/providers/Microsoft.Authorization/locks/l"`},
		{"a child below its parent", "", `{resources: [{type: 'A.B/c', apiVersion: '1', name: 'p', resources: [{type: 'd', apiVersion: '1',
			name: 'q', dependsOn: ['p']}]}]}`, `"type":"A.B/c/d","name":"p/q"`},
		{"a group and what is in it", "subscription", `{resources: [{type: 'Microsoft.Resources/resourceGroups', apiVersion: '2022-09-01',
			name: 'g', location: 'westus'}, {type: 'Microsoft.Resources/deployments', apiVersion: '2022-09-01', name: 'in', resourceGroup: 'g',
			dependsOn: ["[resourceId('Microsoft.Resources/resourceGroups', 'g')]"], properties: {mode: 'Incremental',
			expressionEvaluationOptions: {scope: 'inner'}, template: {$schema: 'x', contentVersion: '1', resources: [{type: 'A.B/c', apiVersion: '1',
			name: 'n', location: "[resourceGroup().location]"}]}}}]}`,
			`"id":"SUB/resourceGroups/g/providers/A.B/c/n","type":"A.B/c","name":"n","apiVersion":"1","location":"westus"`},
		{"a function of its own", "", `{functions: [{namespace: 'c', members: {unique: {parameters: [{name: 'p', type: 'string'}],
			output: {type: 'string', value: "[concat(toLower(parameters('p')), 'x')]"}}}}], resources: [], outputs: {o: {type: 'string',
			value: "[c.unique('AB')]"}}}`, `"outputs":{"o":"abx"}`},
		{"a type of its own", "", `{languageVersion: '2.0', definitions: {t: {type: 'object', properties: {n: {type: 'int', minValue: 1}}}},
			parameters: {p: {$ref: '#/definitions/t'}}, given: {p: {value: {n: 0}}}, resources: {}}`, `greater than or equal to '1'`},
		{"a union with a discriminator", "", `{languageVersion: '2.0', parameters: {p: {type: 'object', discriminator: {propertyName: 'kind',
			mapping: {a: {type: 'object', properties: {x: {type: 'int'}}}, b: {type: 'object'}}}}}, given: {p: {value: {kind: 'c'}}},
			resources: {}}`, `none of 'a, b'`},
		{"a parameter that may be null", "", `{languageVersion: '2.0', parameters: {p: {type: 'string', nullable: true}}, resources: {},
			outputs: {o: {type: 'string', value: "[coalesce(parameters('p'), 'd')]"}, n: {type: 'string', nullable: true,
			value: "[parameters('p')]"}}}`, `"outputs":{"o":"d","n":null}`},
		{"a sealed object", "", `{languageVersion: '2.0', parameters: {p: {type: 'object', properties: {a: {type: 'string'}},
			additionalProperties: false}}, given: {p: {value: {a: 'x', b: 1}}}, resources: {}}`, `unknown properties were present: ['b']`},
		{"what is secure", "", `{parameters: {p: {type: 'secureString'}}, given: {p: {value: 'secret'}}, resources: [{type: 'A.B/c',
			apiVersion: '1', name: 'n', properties: {p: "[parameters('p')]"}}]}`, `"properties":{"p":"[parameters('p')]"}`},
		{"what is asked of a resource that is not deployed", "", `{resources: [{condition: false, type: 'A.B/c', apiVersion: '1', name: 'n'}],
			outputs: {o: {type: 'string', value: "[if(false(), reference('n').x, 'none')]"}}}`, `"outputs":{"o":"none"}`},
		{"two resources of one name", "", `{resources: [{type: 'A.B/c', apiVersion: '1', name: 'n'}, {type: 'A.B/c',
			apiVersion: '1', name: 'N'}]}`,
			"defined multiple times"},
		{"a circle", "", `{resources: [{type: 'A.B/c', apiVersion: '1', name: 'a', dependsOn: ['b']}, {type: 'A.B/c', apiVersion: '1', name: 'b',
			dependsOn: ['a']}]}`, "circular dependency"},
		{"values that are not allowed", "", `{parameters: {p: {type: 'array', allowedValues: ['a', 'b']}}, given: {p: {value: ['a', 'c']}},
			resources: []}`, "is not part of the allowed value(s)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := expanded(t, row.template, row.scope); !strings.Contains(got, row.want) {
				t.Errorf("%s, want %s", got, row.want)
			}
		})
	}
}
