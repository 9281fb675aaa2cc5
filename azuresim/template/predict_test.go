package template

import (
	"testing"

	"casement.dev/casement/azuresim/template/datum"
)

// TestWrittenTemplates: the template that is sent with a deployment of outer scope expands to the
// same resources as in its parent.
func TestWrittenTemplates(t *testing.T) {
	o, err := datum.DecodeObject([]byte(`{$schema: 'x', contentVersion: '1', variables: {v: '[[text]'}, resources: [
		{type: 'Microsoft.Resources/deployments', apiVersion: '2022-09-01', name: 'outer', properties: {mode: 'Incremental', template: {
			$schema: 'x', contentVersion: '1', resources: [
				{type: 'A.B/c', apiVersion: '1', name: 'a', tags: {v: "[variables('v')]"}},
				{type: 'Microsoft.Resources/deployments', apiVersion: '2022-09-01', name: 'inner', dependsOn: ['a'], properties: {
					mode: 'Incremental', expressionEvaluationOptions: {scope: 'inner'}, parameters: {p: {value: "[variables('v')]"}}, template: {
						$schema: 'x', contentVersion: '1', parameters: {p: {type: 'string'}}, resources: [
							{type: 'A.B/c', apiVersion: '1', name: 'b', tags: {v: "[concat(parameters('p'), '[[more]')]", w: '[[text]'}}]}}},
				{type: 'Microsoft.Resources/deployments', apiVersion: '2022-09-01', name: 'outer2', properties: {mode: 'Incremental', template: {
					$schema: 'x', contentVersion: '1', resources: [
						{type: 'A.B/c', apiVersion: '1', name: 'd', tags: {v: "[variables('v')]"}}]}}}]}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	expand := func(o *datum.Object) (*Template, string) {
		tmpl, err := New(o, nil, recordedIn(""))
		if err != nil {
			t.Fatal(err)
		}
		p, err := tmpl.Predict()
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, r := range p.Resources {
			out += string(datum.Encode(r)) + "\n"
		}
		return tmpl, out
	}
	tmpl, want := expand(o)
	body, err := tmpl.Resources[0].Body(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, got := expand(body.Object("properties").Object("template")); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
