package engine

import (
	"encoding/json"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/defaults"
	"casement.dev/casement/azuresim/internal/value"
)

// Expands reports whether the query parameter $expand of a request contains a word. $expand is a
// list, compared without case.
func Expands(expand, word string) bool {
	return slices.ContainsFunc(strings.Split(expand, ","), func(w string) bool { return strings.EqualFold(strings.TrimSpace(w), word) })
}

// storedAsServed reports whether clients see a record in its stored form.
func (t *Tx) storedAsServed(r *Record, expand string) bool {
	k := t.Server.Registry.TypeOf(r.Type)
	switch {
	case k == nil:
		return true
	case !t.Since(k.newest):
		return false
	case k.ETag != etagNone && k.ETag != EtagCount:
		return false
	case k.View == nil:
		return true
	}
	return k.Rests != nil && k.Rests(t, r, expand)
}

// Shown returns a record in the form that clients see, encoded.
func (t *Tx) Shown(r *Record, expand string) json.RawMessage {
	if t.storedAsServed(r, expand) {
		if out, err := t.plain(r); err == nil {
			return out
		}
	}
	return marshal(t.View(t.Doc(r), expand))
}

// View returns a document in the form that clients see.
func (t *Tx) View(d *Doc, expand string) value.Object {
	body := value.CloneObject(d.Body)
	body["id"], body["name"], body["type"] = d.ID, d.Parsed.Name(), d.Type
	k := t.Server.Registry.TypeOf(d.Type)
	if k == nil {
		return body
	}
	switch k.ETag {
	case EtagWeak:
		body["etag"] = `W/"` + d.ETag + `"`
		for part := range k.Parts {
			for _, e := range value.Items(value.Props(body), part) {
				completePart(e, d.ID, part, d.Type, d.ETag)
			}
		}
	case EtagPlain:
		body["etag"] = d.ETag
	}
	defaults.Hide(k.Name, t.Version, body)
	if k.View != nil {
		k.View(t, d, body, expand)
	}
	return body
}

// completePart adds to a part the fields that every child resource has (id, name, type,
// etag).
func completePart(e value.Object, parent, part, typ, etag string) {
	e["id"] = parent + "/" + part + "/" + value.Str(e, "name")
	e["etag"] = `W/"` + etag + `"`
	value.SetDefault(e, "type", typ+"/"+part)
	value.SetDefault(value.Props(e), "provisioningState", "Succeeded")
}
