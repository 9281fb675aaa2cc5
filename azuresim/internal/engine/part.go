package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/defaults"
	"casement.dev/casement/azuresim/internal/value"
)

// putPart answers the PUT of a child that is a part of its parent's document.
func (c *Request) putPart(k *Type, owner ID, part string) *Error {
	if !k.Parts[part] {
		return ErrUnsupported("a write of " + c.ID.FullType() + " apart from its parent")
	}
	body, e := c.Body()
	if e != nil {
		return e
	}
	missing, e := Malformed(c, body)
	if e != nil {
		return e
	}
	if e := checkReferences(c, k, part, body); e != nil {
		return e
	}
	data, _ := json.Marshal(body)
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	var op *Operation
	var view value.Object
	made := false
	err := c.Update(func(t *Tx) error {
		if e := partWritable(t, k, c.ID, owner); e != nil {
			return e
		}
		d := t.Edit(owner.Key())
		if d == nil {
			return errParentNotFound(c.ID, owner)
		}
		old := t.Find(owner.Key())
		if field, ok := value.Props(d.Body)[part]; !ok || field == nil {
			value.Props(d.Body)[part] = []any{}
		}
		made = PartOf(d.Body, part, c.ID.Name()) == nil
		if c.HTTP.Method == http.MethodPatch {
			if made {
				return c.Server.Registry.notFound(c.ID)
			}
			value.Merge(PartOf(d.Body, part, c.ID.Name()), body)
		} else {
			if made {
				if e := k.checkName(c.ID); e != nil {
					return e
				}
			}
			child := value.CloneObject(body)
			child["name"] = c.ID.Name()
			setPart(d, part, child)
		}
		d.Version = c.Version
		if k.Prepare != nil {
			if e := k.Prepare(t, d, old); e != nil {
				return e
			}
		}
		defaults.Fill(k.Name, c.Version, d.Body)
		if missing != nil {
			return missing
		}
		if e := t.dangling(k, d); e != nil {
			return e
		}
		op = c.beginPart(t, k, d, PutWork(), hash)
		state := "Updating"
		if k.AtOnce != nil && k.AtOnce(t, d, old) {
			op = complete(t, op, PutWork())
		}
		if op.Status != statusInProgress {
			state = StatusSucceeded
		}
		view = PartOf(t.View(t.Find(d.Key()), ""), part, c.ID.Name())
		value.Props(view)["provisioningState"] = state
		return nil
	})
	if e := AsError(err); e != nil {
		return e
	}
	op.Headers(c.Writer.Header(), c.Server, c.Host)
	status := http.StatusOK
	if made {
		status = http.StatusCreated
	}
	c.Reply(status, view)
	return nil
}

// children returns an error if the names of the children in a body are not allowed or not distinct.
// (A child that is written separately has its name in the path.) The second message is Azure's; its
// code is an assumption.
func children(c *Request, k *Type, body value.Object) *Error {
	for _, part := range value.SortedKeys(k.Parts) {
		seen := map[string]bool{}
		for _, child := range value.Items(body, "properties", part) {
			name, given := child["name"].(string)
			if !given {
				continue
			}
			if e := k.checkName(c.ID.Child(part, name)); e != nil {
				return e
			}
			if seen[value.Lower(name)] {
				return BadRequest("DuplicateResourceName", "Resource %s has two child resources with the same name (%s).", c.ID, name)
			}
			seen[value.Lower(name)] = true
		}
	}
	return nil
}

// partWritable checks that no other operation is in progress on the document of a part; or only on
// the part itself, if the type allows writes of several parts at the same time.
func partWritable(t *Tx, k *Type, id, owner ID) *Error {
	if e := t.Writable(id, owner.Key(), ""); e != nil || !k.SideBySide {
		return e
	}
	return t.Writable(id, id.Key(), "")
}

// beginPart stores a document with a written part and starts the operation on the part.
func (c *Request) beginPart(t *Tx, k *Type, d *Doc, w Work, hash string) *Operation {
	o := c.operationOn(k, d)
	o.Target, o.BodyHash = c.ID.String(), hash
	if k.SideBySide {
		o.Within = d.ID
	} else {
		o.Lock = d.ID
		value.Props(d.Body)["provisioningState"] = "Updating"
	}
	t.Put(d)
	return t.Begin(o, w, k.Takes)
}

// setPart replaces a part of a document, or appends it.
func setPart(d *Doc, part string, child value.Object) {
	list, _ := value.Props(d.Body)[part].([]any)
	for i, e := range list {
		if o, ok := e.(value.Object); ok && strings.EqualFold(value.Str(o, "name"), value.Str(child, "name")) {
			list[i] = child
			return
		}
	}
	value.Props(d.Body)[part] = append(list, child)
}

// removePart removes a part from its parent's document.
func removePart(d *Doc, id ID) {
	for field, v := range value.Props(d.Body) {
		if list, ok := v.([]any); ok && strings.EqualFold(field, id.Types[len(id.Types)-1]) {
			value.Props(d.Body)[field] = slices.DeleteFunc(list, func(e any) bool {
				o, ok := e.(value.Object)
				return ok && strings.EqualFold(value.Str(o, "name"), id.Name())
			})
		}
	}
}

// unlink removes references to a deleted resource or part from the records that refer to it, where
// their type declares that the reference ends with its target.
func (t *Tx) unlink(id string) {
	for _, r := range t.Users(id, "") {
		k := t.Server.Registry.TypeOf(r.Type)
		if k == nil || !slices.ContainsFunc(k.Refs, func(ref Reference) bool { return ref.Unlinks }) {
			continue
		}
		d := t.Edit(r.ID)
		for _, ref := range k.Refs {
			if ref.Unlinks {
				value.Unlink(d.Body, strings.Split(ref.Path, "."), id)
			}
		}
		t.Put(d)
	}
}

// unlinkParts calls unlink for each part of a resource that is about to be deleted.
func (t *Tx) unlinkParts(id string) {
	d := t.Find(id)
	if d == nil {
		return
	}
	k := t.Server.Registry.TypeOf(d.Type)
	if k == nil {
		return
	}
	for _, field := range value.SortedKeys(k.Parts) {
		for _, e := range value.Items(d.Body, "properties", field) {
			t.unlink(value.Lower(d.ID + "/" + field + "/" + value.Str(e, "name")))
		}
	}
}

func (c *Request) deletePart(k *Type, owner ID, part string) *Error {
	if !k.Parts[part] {
		return ErrUnsupported("a delete of " + c.ID.FullType() + " apart from its parent")
	}
	var op *Operation
	err := c.Server.Update(func(t *Tx) error {
		d := t.Edit(owner.Key())
		if d == nil || PartOf(d.Body, part, c.ID.Name()) == nil {
			return asError(checkParents(t, c.ID))
		}
		if e := partWritable(t, k, c.ID, owner); e != nil {
			return e
		}
		if k.GuardPart != nil {
			if e := k.GuardPart(t, part, c.ID); e != nil {
				return e
			}
		}
		op = c.beginPart(t, k, d, deleteWork(), "")
		return nil
	})
	return c.Accepted(op, err)
}
