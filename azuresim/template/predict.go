package template

import (
	"cmp"
	"slices"
	"strings"
)

// Prediction is what a template becomes, in the shape of Bicep's snapshots.
type Prediction struct {
	// Resources are those that are deployed, of nested deployments too, sorted by type and name.
	// A text [f(...)] in one is known when it is deployed.
	Resources []*Object `json:"predictedResources"`
	Outputs   *Object   `json:"outputs"`
	// Diagnostics are what the deployment service refuses beyond the template language.
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// Diagnostic is a problem of a template.
type Diagnostic struct {
	Level   string `json:"level"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Predict returns what the template becomes.
func (t *Template) Predict() (*Prediction, error) {
	p := &Prediction{Resources: []*Object{}, Outputs: &Object{}, Diagnostics: []Diagnostic{}}
	if err := t.flatten(func(r *Resource) error {
		o, err := r.predicted()
		p.Resources = append(p.Resources, o)
		return err
	}); err != nil {
		return nil, err
	}
	slices.SortStableFunc(p.Resources, func(a, b *Object) int {
		return cmp.Or(cmp.Compare(a.Text("type"), b.Text("type")), cmp.Compare(a.Text("name"), b.Text("name")))
	})
	out, err := t.Outputs(nil)
	if err != nil {
		return nil, err
	}
	for _, o := range out {
		if o.Secure {
			o.Value = nil
		}
		p.Outputs.Set(o.Name, o.Value)
	}
	for _, m := range t.Problems {
		p.Diagnostics = append(p.Diagnostics, Diagnostic{"Error", "InvalidTemplate", m})
	}
	return p, nil
}

// flatten calls f for each resource that is deployed, those of nested deployments in their place.
func (t *Template) flatten(f func(*Resource) error) error {
	for _, r := range t.Resources {
		if !r.Deployed() {
			continue
		}
		if !r.IsDeployment() || r.Linked() {
			if err := f(r); err != nil {
				return err
			}
			continue
		}
		in, err := r.inner()
		if err == nil {
			err = in.flatten(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// predicted returns the resource with its whole body.
func (r *Resource) predicted() (*Object, error) {
	o := NewObject("id", r.ID, "type", r.Type, "name", r.Name, "apiVersion", r.APIVersion)
	if space, typ, _ := strings.Cut(r.Type, "/"); r.profiled {
		call := showCall("providers", []any{space, typ})
		o.Set("apiVersion", later{text: call + ".apiProfiles" + showKey(r.scope.template.Text("apiProfile"))})
	}
	if r.condition != nil {
		o.Set("condition", r.condition)
	}
	body := r.body
	if body == nil || isLater(body) {
		var err error
		if body, err = r.bodyIn(r.scope); err != nil {
			return nil, err
		}
	}
	for k, v := range body.All() {
		o.Set(k, v)
	}
	return o, nil
}

// Body returns the body of the resource's PUT; live answers for deployed resources.
func (r *Resource) Body(live Live) (*Object, error) {
	s := *r.scope
	s.live = live
	body, err := r.bodyIn(&s)
	if err != nil || !r.IsDeployment() {
		return body, err
	}
	raw, inner, err := r.nestedTemplate()
	if err != nil {
		return nil, err
	}
	p := body.Object("properties")
	if !inner {
		in, err := r.inner()
		if err != nil {
			return nil, err
		}
		if raw, err = in.written(raw, live); err != nil {
			return nil, err
		}
		out := &Object{}
		for k, v := range p.All() {
			if !strings.EqualFold(k, "expressionEvaluationOptions") && !strings.EqualFold(k, "parameters") {
				out.Set(k, v)
			}
		}
		p = out
	}
	p.Set("template", raw)
	body.Set("properties", p)
	return body, nil
}

// written returns the template of a nested deployment whose expressions were evaluated outside
// of it.
func (t *Template) written(raw *Object, live Live) (*Object, error) {
	list := []any{}
	for _, r := range t.Resources {
		if !r.Deployed() {
			continue
		}
		body, err := r.Body(live)
		if err != nil {
			return nil, err
		}
		o := NewObject("type", r.Type, "name", r.Name, "apiVersion", r.APIVersion)
		for _, key := range []string{"scope", "resourceGroup", "subscriptionId"} {
			if v, err := r.scope.text(r.raw, key); err != nil {
				return nil, err
			} else if v != "" {
				o.Set(key, v)
			}
		}
		deps := []any{}
		for _, d := range r.DependsOn {
			deps = append(deps, d)
		}
		o.Set("dependsOn", deps)
		for k, v := range body.All() {
			o.Set(k, escaped(v))
		}
		list = append(list, o)
	}
	outputs, err := t.Outputs(live)
	if err != nil {
		return nil, err
	}
	out := NewObject("$schema", raw.Text("$schema"), "contentVersion", raw.Text("contentVersion"), "resources", list)
	shown := &Object{}
	for _, o := range outputs {
		shown.Set(o.Name, NewObject("type", o.Type, "value", escaped(o.Value)))
	}
	out.Set("outputs", shown)
	return out, nil
}

// escaped returns a value so that a template with it has no expression there.
func escaped(v any) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "[") && strings.HasSuffix(v, "]") {
			return "[" + v
		}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = escaped(e)
		}
		return out
	case *Object:
		out := &Object{}
		for k, e := range v.All() {
			key, _ := escaped(k).(string)
			out.Set(key, escaped(e))
		}
		return out
	}
	return v
}

// All calls f for each resource that is deployed, those of nested deployments and these
// deployments too.
func (t *Template) All(f func(*Resource)) error {
	for _, r := range t.Resources {
		if !r.Deployed() {
			continue
		}
		f(r)
		if r.IsDeployment() && !r.Linked() {
			in, err := r.inner()
			if err == nil {
				err = in.All(f)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Property returns what the template writes at a property of the resource, not evaluated.
func (r *Resource) Property(path ...string) any {
	var v any = r.raw
	for _, p := range path {
		o, _ := v.(*Object)
		v, _ = o.Get(p)
	}
	return v
}
