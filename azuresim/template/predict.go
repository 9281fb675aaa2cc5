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
	body, err := r.bodyIn(r.scope)
	if err != nil {
		return nil, err
	}
	for k, v := range body.All() {
		o.Set(k, v)
	}
	return o, nil
}
