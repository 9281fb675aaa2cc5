package network

import (
	"maps"
	"reflect"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// unchanged reports whether a write does not change the properties, for example because it
// changes only tags. Azure completes such a write before it answers.
func unchanged(_ *engine.Tx, d, old *engine.Doc) bool {
	if old == nil {
		return false
	}
	before, after := maps.Clone(value.Sub(old.Body, "properties")), maps.Clone(value.Props(d.Body))
	delete(before, "provisioningState")
	delete(after, "provisioningState")
	return reflect.DeepEqual(withoutAnswerFields(before), withoutAnswerFields(after)) && reflect.DeepEqual(old.Body["sku"], d.Body["sku"])
}

// withoutAnswerFields returns a document without the fields of children that answers contain and requests need
// not contain.
func withoutAnswerFields(v any) any {
	switch v := v.(type) {
	case value.Object:
		out := value.Object{}
		for key, e := range v {
			if v["name"] != nil && (key == "id" || key == "type" || key == "etag") || key == "provisioningState" {
				continue
			}
			out[key] = withoutAnswerFields(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withoutAnswerFields(e)
		}
		return out
	}
	return v
}

// alwaysAtOnce is the AtOnce function of types whose writes Azure always completes before it
// answers.
func alwaysAtOnce(*engine.Tx, *engine.Doc, *engine.Doc) bool { return true }

// completeChildren sets the fields that clients expect on children that the engine does not know as parts:
// ID, type, ETag and provisioning state, which is the parent's if follow is set.
func completeChildren(parent value.Object, field, typ string, follow bool) {
	for _, e := range value.Items(value.Props(parent), field) {
		e["id"] = value.Str(parent, "id") + "/" + typ + "/" + value.Str(e, "name")
		e["type"], e["etag"] = value.Str(parent, "type")+"/"+typ, parent["etag"]
		value.Props(e)["provisioningState"] = engine.StatusSucceeded
		if follow {
			value.Props(e)["provisioningState"] = value.Str(parent, "properties", "provisioningState")
		}
	}
}

// followState gives parts the provisioning state Updating while the resource that is written with
// them has it.
func followState(body value.Object, parts ...string) {
	if value.Str(body, "properties", "provisioningState") != updating {
		return
	}
	for _, part := range parts {
		for _, e := range value.Items(value.Props(body), part) {
			value.Props(e)["provisioningState"] = updating
		}
	}
}

// updating is the provisioning state of a resource during a write.
const updating = "Updating"

// missing returns an error if a write refers to a resource that does not exist, for references for
// which Azure answers NotFound with that resource.
func missing(t *engine.Tx, id string) *engine.Error {
	if id == "" || t.Exists(id) {
		return nil
	}
	return errResource(id)
}

func errResource(id any) *engine.Error {
	return engine.Refuse(404, "NotFound", "Resource %s not found.", id)
}
