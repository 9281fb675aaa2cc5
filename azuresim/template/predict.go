package template

import (
	"cmp"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/template/datum"
)

// Prediction is the result of a template's expansion, in the form of Bicep's snapshots.
type Prediction struct {
	// Resources are the resources that are deployed, including those of nested deployments, sorted
	// by type and name. A text [f(...)] in a resource is a value that is known only at deployment.
	Resources []*datum.Object `json:"predictedResources"`
	Outputs   *datum.Object   `json:"outputs"`
	// Diagnostics are problems that the template language allows but the deployment service
	// refuses.
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// Diagnostic is a problem of a template.
type Diagnostic struct {
	Level   string `json:"level"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Predict returns the result of the template's expansion.
func (t *Template) Predict() (p *Prediction, err error) {
	defer catch(&err)
	p = &Prediction{Resources: []*datum.Object{}, Outputs: &datum.Object{}, Diagnostics: []Diagnostic{}}
	t.All(func(r *Resource) {
		if r.deployment() == nil {
			p.Resources = append(p.Resources, r.predicted())
		}
	})
	slices.SortStableFunc(p.Resources, func(a, b *datum.Object) int {
		return cmp.Or(cmp.Compare(a.Text("type"), b.Text("type")), cmp.Compare(a.Text("name"), b.Text("name")))
	})
	for _, o := range t.outputsOf(nil) {
		p.Outputs.Set(o.Name, cond(o.Secure, nil, o.Value))
	}
	for _, m := range t.Problems {
		p.Diagnostics = append(p.Diagnostics, Diagnostic{"Error", "InvalidTemplate", m})
	}
	return p, nil
}

// predicted returns the resource with its whole body in the form of a prediction.
func (r *Resource) predicted() *datum.Object {
	o := datum.New("id", r.ID, "type", r.Type, "name", r.Name, "apiVersion", r.APIVersion)
	if space, typ, _ := strings.Cut(r.Type, "/"); r.profiled {
		call := showCall("providers", []any{space, typ})
		o.Set("apiVersion", datum.Later{Text: call + ".apiProfiles" + showKey(r.scope.template.Text("apiProfile"))})
	}
	if kindOf(r.condition) != kindBool {
		o.Set("condition", r.condition)
	}
	return datum.Overlay(o, r.expected())
}

// expected returns the body as far as it is known before the deployment.
func (r *Resource) expected() *datum.Object {
	if r.body == nil || datum.IsLater(r.body) {
		return r.bodyIn(r.scope)
	}
	return r.body
}

// Location returns the location of a resource that is no nested deployment; "" if it has none, if
// it is known only at deployment, or if it cannot be evaluated, which the deployment reports.
func (r *Resource) Location() (location string) {
	var err error
	defer catch(&err)
	if r.deployment() != nil {
		return ""
	}
	return r.expected().Text("location")
}

// Body returns the body of the resource's PUT; live returns values of deployed resources.
func (r *Resource) Body(live Live) (body *datum.Object, err error) {
	defer catch(&err)
	return r.bodyWith(live, func(v any) any { return v }), nil
}

// bodyWith returns the body, converted by written. The template of a nested deployment is added
// separately, because its expressions are not evaluated with the body.
func (r *Resource) bodyWith(live Live, written func(any) any) *datum.Object {
	s := *r.scope
	s.live = live
	body := written(r.bodyIn(&s)).(*datum.Object)
	if in := r.deployment(); in != nil {
		p := body.Object("properties")
		raw, inner := r.nestedTemplate()
		if !inner {
			raw, p = in.written(raw, live), p.Without("expressionEvaluationOptions", "parameters")
		}
		p.Set("template", raw)
		body.Set("properties", p)
	}
	return body
}

// written returns the template of a nested deployment whose expressions are evaluated in the outer
// scope, with their values.
func (t *Template) written(raw *datum.Object, live Live) *datum.Object {
	list := []any{}
	for _, r := range t.Resources {
		if !r.Deployed() {
			continue
		}
		o := datum.New("type", r.Type, "name", r.Name, "apiVersion", r.APIVersion)
		for _, key := range []string{"scope", "resourceGroup", "subscriptionId"} {
			if v := r.scope.text(r.raw, key); v != "" {
				o.Set(key, v)
			}
		}
		o.Set("dependsOn", anys(r.DependsOn))
		list = append(list, datum.Overlay(o, r.bodyWith(live, escaped)))
	}
	outputs := &datum.Object{}
	for _, o := range t.outputsOf(live) {
		outputs.Set(o.Name, datum.New("type", o.Type, "value", escaped(o.Value)))
	}
	return datum.New("$schema", raw.Text("$schema"), "contentVersion", raw.Text("contentVersion"), "resources", list, "outputs", outputs)
}

// escaped returns a value in which a template finds no expressions.
func escaped(v any) any {
	switch v := v.(type) {
	case string:
		return cond(strings.HasPrefix(v, "[") && strings.HasSuffix(v, "]"), "["+v, v)
	case []any:
		return each(v, escaped)
	case *datum.Object:
		out := &datum.Object{}
		for k, e := range v.All() {
			out.Set(escaped(k).(string), escaped(e))
		}
		return out
	}
	return v
}

// All calls f for each deployed resource, including nested deployments and their resources.
func (t *Template) All(f func(*Resource)) {
	for _, r := range t.Resources {
		if r.Deployed() {
			f(r)
		}
		if in := r.deployment(); in != nil {
			in.All(f)
		}
	}
}

// Mode returns the mode of a nested deployment as written in the template, not evaluated.
func (r *Resource) Mode() string { return r.raw.Object("properties").Text("mode") }
