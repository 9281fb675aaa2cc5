package template

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/azuresim/template/datum"
)

// recordedIn returns the context in which Azure's answers were recorded.
func recordedIn(scope string) Context {
	c := Context{Subscription: "00000000-0000-0000-0000-0000000000a1", Tenant: "00000000-0000-0000-0000-0000000000a0",
		Deployment: "dep1", Group: "rg1", Location: "westeurope", HideSecrets: true}
	if scope == "subscription" {
		c.Group = ""
	}
	return c
}

// unpacked returns the text of a file of testdata.
func unpacked(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// recorded reads a file of testdata.
func recorded(t testing.TB, name string) any {
	t.Helper()
	v, err := datum.Decode(unpacked(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const schemaOfGroups = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"

// asTemplate returns the template and the parameters in which a recorded expression was evaluated.
func asTemplate(row *datum.Object) (template, given *datum.Object) {
	template, given = datum.New("$schema", schemaOfGroups, "contentVersion", "1.0.0.0"), &datum.Object{}
	for _, k := range []string{"languageVersion", "definitions", "parameters", "variables", "functions"} {
		if v, ok := row.Get(k); ok {
			template.Set(k, v)
		}
	}
	template.Set("resources", []any{})
	if row.Text("languageVersion") != "" {
		template.Set("resources", &datum.Object{})
	}
	expression, _ := row.Get("expression")
	template.Set("outputs", datum.New("o", datum.New("type", row.Text("type"), "value", expression)))
	for k, v := range row.Object("given").All() {
		given.Set(k, datum.New("value", v))
	}
	return template, given
}

// The verdicts of the judge, with the names that compare.py uses.
const (
	agrees    = "same"
	alike     = "both refuse"
	byName    = "refused by name"
	wrongly   = "refused where Azure accepts"
	lax       = "accepted where Azure refuses"
	differs   = "another value"
	notJudged = "not judged"
)

var refusedByName = regexp.MustCompile("not supported")

// judgeExpression compares one expression with its recorded answer.
func judgeExpression(row *datum.Object) (verdict, why string) {
	if _, open := row.Get("doubt"); open {
		return notJudged, ""
	}
	template, given := asTemplate(row)
	tmpl, err := New(template, given, recordedIn(""))
	var p *Prediction
	if err == nil {
		p, err = tmpl.Predict()
	}
	refused := row.Object("error")
	switch {
	case refused != nil && err != nil:
		return alike, err.Error()
	case refused != nil:
		v, _ := p.Outputs.Get("o")
		return lax, string(datum.Encode(v)) + "; Azure: " + refused.Text("message")
	case err != nil && refusedByName.MatchString(err.Error()):
		return byName, err.Error()
	case err != nil:
		return wrongly, err.Error()
	}
	want, is := row.Get("value")
	got, _ := p.Outputs.Get("o")
	if !is {
		want, _ = row.Get("unevaluated")
		got = "[" + strings.Trim(string(datum.Encode(got)), `"[]`) + "]"
	}
	if !sameJSON(want, got) {
		return differs, fmt.Sprintf("%s; Azure: %s", datum.Encode(got), datum.Encode(want))
	}
	return agrees, ""
}

// sameJSON compares values: numbers by value; two texts that are both expressions count as equal.
func sameJSON(want, got any) bool {
	if a, is := number64(want); is {
		b, is := number64(got)
		return is && a == b && kindOf(want) == kindOf(got) || is && a == b
	}
	if s, is := want.(string); is && callText.MatchString(s) {
		t, is := got.(string)
		l, later := got.(datum.Later)
		return later && strings.HasPrefix("["+l.Text, s[:4]) || is && callText.MatchString(t)
	}
	switch want := want.(type) {
	case []any:
		list, is := got.([]any)
		return is && slices.EqualFunc(want, list, sameJSON)
	case *datum.Object:
		o, is := got.(*datum.Object)
		if !is || o.Len() != want.Len() {
			return false
		}
		for k, v := range want.All() {
			w, ok := o.Get(k)
			if !ok || !sameJSON(v, w) {
				return false
			}
		}
		return true
	}
	return datum.Equal(want, got)
}

func number64(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

var callText = regexp.MustCompile(`(?s)^\[[A-Za-z_][\w.]*\(.*\]$`)

// TestRecordedExpressions compares every expression with the recorded answer of Azure's own engine.
func TestRecordedExpressions(t *testing.T) {
	counts := map[string]map[string]int{"all": {}}
	for _, e := range recorded(t, "expressions.json.gz").([]any) {
		row := e.(*datum.Object)
		verdict, why := judgeExpression(row)
		group := row.Text("group")
		if counts[group] == nil {
			counts[group] = map[string]int{}
		}
		counts[group][verdict]++
		counts["all"][verdict]++
		if _, ok := knownDifferences[row.Text("id")]; verdict != agrees && verdict != alike && verdict != notJudged && !ok {
			v, _ := row.Get("expression")
			t.Errorf("%s %.150s: %s: %s", row.Text("id"), datum.Encode(v), verdict, why)
		}
	}
	for _, g := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%-22s %v", g, counts[g])
	}
}

// knownDifferences are the expressions whose value differs, with the reason.
var knownDifferences = map[string]string{}

// TestRecordedTemplates compares the expansion of every template with that of Azure's own engine.
func TestRecordedTemplates(t *testing.T) {
	counts := map[string]int{}
	for name, v := range recorded(t, "templates.json.gz").(*datum.Object).All() {
		row := v.(*datum.Object)
		verdict, why := judgeTemplate(row)
		counts[verdict]++
		if verdict != agrees && verdict != alike && verdict != notJudged {
			t.Errorf("%s: %s: %s", name, verdict, why)
		}
	}
	t.Logf("%v", counts)
}

func judgeTemplate(row *datum.Object) (verdict, why string) {
	expected := row.Object("expected")
	tmpl, err := New(row.Object("template"), row.Object("parameters"), recordedIn(expected.Text("scope")))
	var p *Prediction
	if err == nil {
		p, err = tmpl.Predict()
	}
	refused := expected.Object("refused")
	if refused == nil && err == nil {
		list, _ := expected.Get("predictedResources")
		want := list.([]any)
		for i, r := range p.Resources {
			if i >= len(want) || !sameJSON(want[i], r) {
				return differs, fmt.Sprintf("%s\nAzure: %s", datum.Encode(r), datum.Encode(want[min(i, len(want)-1)]))
			}
		}
		if len(want) != len(p.Resources) {
			return differs, fmt.Sprintf("%d resources; Azure: %d", len(p.Resources), len(want))
		}
		outputs, _ := expected.Get("outputs")
		if outputs == nil {
			outputs = &datum.Object{}
		}
		if !sameJSON(outputs, p.Outputs) {
			return differs, fmt.Sprintf("outputs %s; Azure: %s", datum.Encode(p.Outputs), datum.Encode(outputs))
		}
		return agrees, ""
	}
	if v, _ := expected.Get("notJudged"); v != nil {
		return notJudged, fmt.Sprint(err)
	}
	switch {
	case refused != nil && err != nil:
		return alike, err.Error()
	case refused != nil:
		return lax, refused.Text("message")
	case refusedByName.MatchString(err.Error()):
		return byName, err.Error()
	}
	return wrongly, err.Error()
}
