package arm

import "encoding/json"

// atRest says whether clients see a record as it is stored.
func (t *tx) atRest(r *record, expand string) bool {
	k := t.s.registry.typeOf(r.Type)
	switch {
	case k == nil:
		return true
	case k.ETag != etagNone:
		return false
	case k.View == nil:
		return true
	}
	return k.Rests != nil && k.Rests(t, r, expand)
}

// shown is a record as clients see it, encoded.
func (t *tx) shown(r *record, expand string) json.RawMessage {
	if t.atRest(r, expand) {
		if out, err := t.plain(r); err == nil {
			return out
		}
	}
	return marshal(t.view(t.doc(r), expand))
}

// view is a document as clients see it.
func (t *tx) view(d *doc, expand string) object {
	body := cloneObject(d.Body)
	body["id"], body["name"], body["type"] = d.ID, d.id.name(), d.Type
	k := t.s.registry.typeOf(d.Type)
	if k == nil {
		return body
	}
	switch k.ETag {
	case etagWeak:
		body["etag"] = `W/"` + d.ETag + `"`
		for part := range k.Parts {
			for _, e := range items(props(body), part) {
				completePart(e, d.ID, part, d.Type, d.ETag)
			}
		}
	case etagPlain:
		body["etag"] = d.ETag
	}
	if k.View != nil {
		k.View(t, d, body, expand)
	}
	return body
}

// completePart gives a child inside a document what clients expect of it.
func completePart(e object, parent, part, typ, etag string) {
	e["id"] = parent + "/" + part + "/" + str(e, "name")
	e["etag"] = `W/"` + etag + `"`
	setDefault(e, "type", typ+"/"+part)
	setDefault(props(e), "provisioningState", "Succeeded")
}
