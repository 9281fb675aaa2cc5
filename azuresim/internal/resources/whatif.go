package resources

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
	"casement.dev/casement/azuresim/template"
	"casement.dev/casement/azuresim/template/datum"
)

// whatIf answers what a deployment would change: it expands the template like a deployment and
// compares the result with the existing resources. Source:
// https://learn.microsoft.com/azure/azure-resource-manager/templates/deploy-what-if.
func whatIf(c *engine.Request, id engine.ID) *engine.Error {
	r, e := readRequest(c)
	if e != nil {
		return e
	}
	whole := !strings.EqualFold(r.body.Object("properties").Object("whatIfSettings").Text("resultFormat"), "ResourceIdOnly")
	changes := []any{}
	defer takeTurn(c.Server)()
	c.Server.Read(func(t *engine.Tx) {
		var tmpl *template.Template
		if tmpl, e = r.read(t, id, ""); e != nil {
			return
		}
		var p *template.Prediction
		p, err := tmpl.Predict()
		if err != nil {
			e = engine.BadRequest("InvalidTemplate", "Deployment template validation failed: '%s'.", err)
			return
		}
		seen := map[string]bool{}
		for _, o := range p.Resources {
			after, _ := datum.Plain(o).(value.Object)
			seen[value.Lower(value.Str(after, "id"))] = true
			changes = append(changes, change(t, after, whole))
		}
		for _, rec := range t.Below(id.GroupID().Key()) {
			d := t.Doc(rec)
			if d.Type == typeDeployment || d.Type == engine.TypeGroup || seen[d.Key()] || id.Group == "" || d.Location() == "" {
				continue
			}
			ignored := value.Object{"resourceId": d.ID, "changeType": "Ignore"}
			if whole {
				view := t.View(d, "")
				ignored["before"], ignored["after"] = view, view
			}
			changes = append(changes, ignored)
		}
	})
	outcome := value.Object{"status": engine.StatusSucceeded,
		"properties": value.Object{"correlationId": uuid.NewString(), "changes": changes}}
	switch {
	case e != nil && e.Code == "InvalidTemplate":
		outcome = value.Object{"status": engine.StatusFailed, "error": errorBody(e)}
	case e != nil:
		return e
	}
	var op *engine.Operation
	err := c.Update(func(t *engine.Tx) error {
		op = t.Begin(&engine.Operation{Method: c.HTTP.Method, Target: id.String() + "/whatIf/" + uuid.NewString(), Style: engine.StyleGroup,
			Subscription: id.Subscription, Namespace: resourcesSpace, Location: "global", APIVersion: c.Version, Args: outcome}, whatIfWork(), 0)
		return nil
	})
	return c.Accepted(op, err)
}

// whatIfWork returns the work whose result was computed when the operation began.
func whatIfWork() engine.Work {
	return engine.Work{Name: "deployment.whatif", Finish: engine.FinishNothing,
		Run: func(_ context.Context, _ *engine.Server, op *engine.Operation) (any, *engine.Error) {
			return op.Args, nil
		}}
}

// change compares a resource of a template with the existing resource.
func change(t *engine.Tx, after value.Object, whole bool) value.Object {
	id := value.Str(after, "id")
	out := value.Object{"resourceId": id, "changeType": "Create"}
	before := shown(t, id)
	switch {
	case strings.HasPrefix(id, "["):
		out["changeType"], out["unsupportedReason"] = "Unsupported", "The ID of the resource is known when it is deployed."
	case before != nil:
		delta := differences("", before, after)
		out["changeType"] = "NoChange"
		if len(delta) > 0 {
			out["changeType"], out["delta"] = "Modify", delta
		}
	}
	if whole {
		if out["after"] = after; before != nil {
			out["before"] = before
		}
	}
	return out
}

// shown returns a resource as a client sees it; nil if it does not exist.
func shown(t *engine.Tx, id string) value.Object {
	r, err := engine.ParseID(id)
	if err != nil {
		return nil
	}
	k, owner, part := t.Server.Registry.KindOf(r)
	d := t.Find(owner.Key())
	if d == nil || k == nil && r.Namespace != "" {
		return nil
	}
	body := t.View(d, "")
	if part != "" {
		if body = engine.PartOf(body, part, r.Name()); body == nil {
			return nil
		}
	}
	// A view can contain encoded JSON, which is decoded here so that all of it can be compared.
	data, err := json.Marshal(body)
	if err == nil {
		err = json.Unmarshal(data, &body)
	}
	if err != nil {
		return nil
	}
	return body
}

// notCompared are fields of a prediction that are not part of a resource's content.
var notCompared = []string{"id", "name", "type", "apiVersion", "condition"}

// differences returns the changes of properties that a write makes: properties of the template that
// the resource does not have or has with another value. Properties that only the resource has are
// kept or have a default, except tags, which are replaced.
func differences(path string, before, after value.Object) []any {
	var out []any
	for _, k := range value.SortedKeys(after) {
		if path == "" && slices.Contains(notCompared, k) {
			continue
		}
		at := k
		if path != "" {
			at = path + "." + k
		}
		have, ok := before[k], false
		for b, v := range before {
			if strings.EqualFold(b, k) {
				have, ok = v, true
			}
		}
		if d := difference(at, have, after[k], ok); d != nil {
			out = append(out, d...)
		}
	}
	if path == "tags" {
		for _, k := range value.SortedKeys(before) {
			if _, ok := after[k]; !ok {
				out = append(out, value.Object{"path": "tags." + k, "propertyChangeType": "Delete", "before": before[k]})
			}
		}
	}
	return out
}

func difference(path string, before, after any, there bool) []any {
	switch {
	case after == nil, known(after) == "":
		return nil
	case !there || before == nil:
		return []any{value.Object{"path": path, "propertyChangeType": "Create", "after": after}}
	}
	switch a := after.(type) {
	case value.Object:
		if b, is := before.(value.Object); is {
			return differences(path, b, a)
		}
	case []any:
		if b, is := before.([]any); is {
			if children := elements(b, a); len(children) > 0 {
				return []any{value.Object{"path": path, "propertyChangeType": "Array", "children": children}}
			}
			return nil
		}
	case string:
		b, is := before.(string)
		if is && (strings.EqualFold(a, b) || strings.HasSuffix(path, "location") && engine.Region(a) == engine.Region(b)) {
			return nil
		}
	}
	if reflect.DeepEqual(before, after) {
		return nil
	}
	return []any{value.Object{"path": path, "propertyChangeType": "Modify", "before": before, "after": after}}
}

// known returns "" for a text whose value is known only when the resource is deployed.
func known(v any) string {
	s, is := v.(string)
	if is && strings.HasPrefix(s, "[") && strings.HasSuffix(s, ")]") {
		return ""
	}
	return "known"
}

// elements compares the elements of two arrays: an element with a name by name, others by index.
func elements(before, after []any) []any {
	var out []any
	taken := map[int]bool{}
	for i, a := range after {
		at := i
		if o, is := a.(value.Object); is && value.Str(o, "name") != "" {
			at = slices.IndexFunc(before, func(b any) bool {
				p, _ := b.(value.Object)
				return strings.EqualFold(value.Str(p, "name"), value.Str(o, "name"))
			})
		}
		if at < 0 || at >= len(before) {
			out = append(out, value.Object{"path": strconv.Itoa(i), "propertyChangeType": "Create", "after": a})
			continue
		}
		taken[at] = true
		if o, is := a.(value.Object); is {
			if b, is := before[at].(value.Object); is {
				if d := differences("element", b, o); len(d) > 0 {
					for _, x := range d {
						p := x.(value.Object)
						p["path"] = strings.TrimPrefix(value.Str(p, "path"), "element.")
					}
					out = append(out, value.Object{"path": strconv.Itoa(i), "propertyChangeType": "Modify", "children": d})
				}
				continue
			}
		}
		out = append(out, difference(strconv.Itoa(i), before[at], a, true)...)
	}
	for i, b := range before {
		if !taken[i] {
			out = append(out, value.Object{"path": strconv.Itoa(i), "propertyChangeType": "Delete", "before": b})
		}
	}
	return out
}
