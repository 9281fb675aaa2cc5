package engine

import (
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/value"
)

func IdsOf(records []*Record) []string {
	var out []string
	for _, r := range records {
		out = append(out, r.ID)
	}
	return out
}

// checkReferences returns an error if a reference in a body is no resource ID, or, for a type of
// Microsoft.Network, has no ID. The resource manager finds both before it calls a provider. part is
// the array that contains the body, "" for a whole document. Source: for the code
// LinkedInvalidPropertyId
// https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors;
// for MissingJsonReferenceId answers of Azure that public posts quote.
func checkReferences(c *Request, k *Type, part string, body value.Object) *Error {
	for _, ref := range k.Refs {
		path := strings.Split(ref.Path, ".")
		if part != "" && path[0] != part {
			continue
		}
		if part != "" {
			path = path[1:]
		}
		var e *Error
		eachAt(value.Sub(body, "properties"), path, "properties", func(o value.Object, at string) {
			id, given := o["id"].(string)
			parsed, err := ParseID(id)
			switch {
			case e != nil:
			case given && (err != nil || !parsed.IsResource()):
				e = BadRequest("LinkedInvalidPropertyId", "Property id '%s' at path '%s.id' is invalid. Expect fully qualified resource Id "+
					"that start with '/subscriptions/{subscriptionId}' or '/providers/{resourceProviderNamespace}/'.", id, at)
			case !given && k.Style == StyleNetwork:
				e = BadRequest("InvalidRequestFormat", "Cannot parse the request.")
				e.Details = []*Error{{Code: "MissingJsonReferenceId",
					Message: fmt.Sprintf("Value for reference id is missing. Path %s.", at)}}
			}
		})
		if e != nil {
			return e
		}
	}
	return nil
}

// eachAt calls visit for each object at a path of a Reference below v; at is the path of v.
func eachAt(v any, path []string, at string, visit func(o value.Object, at string)) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			eachAt(e, path, fmt.Sprintf("%s[%d]", at, i), visit)
		}
	case value.Object:
		switch {
		case len(path) == 0:
			visit(v, at)
		case v[path[0]] != nil:
			eachAt(v[path[0]], path[1:], at+"."+path[0], visit)
		case v["properties"] != nil:
			eachAt(v["properties"], path, at+".properties", visit)
		}
	}
}

// dangling returns an error if a document has a declared reference to a resource that does not
// exist or is in another region. The region is not checked for a reference with Anywhere.
func (t *Tx) dangling(k *Type, d *Doc) (e *Error) {
	own := d.Key()
	var before []string
	if old := t.records[own]; old != nil {
		before = old.Refs
	}
	value.VisitReferences(d.Body, nil, func(path []string, id string) {
		key := value.Lower(id)
		if e != nil || slices.Contains(before, key) || key == own || strings.HasPrefix(key, own+"/") {
			return
		}
		if ref := k.reference(strings.Join(path, ".")); ref != nil && (!t.Exists(id) || !ref.Anywhere && inOtherRegion(t, id, d)) {
			e = ErrReference(id, d.ID)
		}
	})
	return e
}

// inOtherRegion reports whether a resource, or the resource that a part belongs to, is in another region
// than a document.
func inOtherRegion(t *Tx, id string, d *Doc) bool {
	at, err := ParseID(id)
	for ok := err == nil; ok; at, ok = at.Parent() {
		if r := t.Record(at.Key()); r != nil && r.Location != "" {
			return r.Location != "global" && d.Location() != "" && d.Location() != "global" && r.Location != d.Location()
		}
	}
	return false
}
