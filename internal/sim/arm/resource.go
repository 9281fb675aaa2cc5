package arm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// serveResource answers verbs on one resource or part of one.
func (c *call) serveResource() *Error {
	k, owner, part := c.s.registry.kindOf(c.id)
	if k == nil {
		return errUnsupported("the resource type " + c.id.fullType())
	}
	switch c.r.Method {
	case http.MethodGet, http.MethodHead:
		return c.get(owner, part)
	case http.MethodPut, http.MethodPatch:
		if part != "" {
			return c.putPart(k, owner, part)
		}
		return c.put(k)
	case http.MethodDelete:
		if part != "" {
			return c.deletePart(k, owner, part)
		}
		return c.delete(k)
	}
	return refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "The requested resource does not support http method '%s'.", c.r.Method)
}

func (c *call) get(owner resourceID, part string) (e *Error) {
	var body any
	etag := ""
	c.s.read(func(t *tx) {
		if e = t.groupThere(c.id); e != nil {
			return
		}
		r := t.record(owner.key())
		if r == nil {
			e = c.s.registry.notFound(c.id)
			return
		}
		if part == "" && t.atRest(r, c.query.Get("$expand")) {
			body = t.shown(r, "")
			return
		}
		view := t.view(t.doc(r), c.query.Get("$expand"))
		if part != "" {
			if view = partOf(view, part, c.id.name()); view == nil {
				e = c.s.registry.notFound(c.id)
			}
		}
		body, etag = view, str(view, "etag")
	})
	if e != nil {
		return e
	}
	if c.r.Method == http.MethodHead {
		c.reply(http.StatusNoContent, nil)
		return nil
	}
	if etag != "" {
		c.w.Header().Set("ETag", etag)
	}
	c.reply(http.StatusOK, body)
	return nil
}

// groupThere checks the resource group of an ID.
func (t *tx) groupThere(id resourceID) *Error {
	if id.Group == "" {
		return nil
	}
	if t.record(id.group().key()) == nil {
		return errGroupNotFound(id.Group)
	}
	return nil
}

// writable checks that the group takes writes and nothing else is under way.
func (t *tx) writable(id resourceID, lock string, hash string) *Error {
	if e := t.groupThere(id); e != nil {
		return e
	}
	if id.Group != "" {
		if g := t.record(id.group().key()); g.state == "Deleting" {
			return conflict("ResourceGroupBeingDeleted", "The resource group '%s' is in deprovisioning state and cannot perform this operation.", id.Group)
		}
	}
	op := t.open[lower(lock)]
	if op == nil || hash != "" && op.BodyHash == hash {
		return nil
	}
	if p := t.s.registry.spaces[lower(id.Namespace)]; p != nil && p.Busy != nil {
		return p.Busy(op)
	}
	e := conflict("Conflict", "The request failed due to conflict with a concurrent request. To resolve it, please refer to https://aka.ms/activitylog to get more details on the conflicting requests.")
	e.RetryAfter = 1
	return e
}

// put creates or replaces, or with PATCH merges.
func (c *call) put(k *Type) *Error {
	body, e := c.body()
	if e != nil {
		return e
	}
	var op *operation
	var view object
	made := false
	err := c.s.update(func(t *tx) error {
		if k.Preempts {
			t.supersede(c.id.key())
		}
		if e := t.writable(c.id, c.id.key(), ""); e != nil {
			return e
		}
		if parent, ok := c.id.parent(); ok && c.id.Scope == nil && t.record(parent.key()) == nil {
			return errParentNotFound(c.id, parent)
		}
		old := t.find(c.id.key())
		if e := c.preconditions(old); e != nil {
			return e
		}
		if old == nil {
			if e := k.checkName(c.id); e != nil {
				return e
			}
		}
		d, e := c.next(t, k, body, old)
		if e != nil {
			return e
		}
		made = old == nil
		if k.Prepare != nil {
			if e := k.Prepare(t, d, old); e != nil {
				return e
			}
		}
		if e := t.danglingReference(k, d); e != nil {
			return e
		}
		if k.Sync {
			props(d.Body)["provisioningState"] = statusSucceeded
			t.put(d)
			view = t.view(d, "")
			return nil
		}
		work, state := k.Put, "Updating"
		if old != nil {
			work = k.Update
		} else if made && k.Style == styleCompute {
			state = "Creating"
		}
		props(d.Body)["provisioningState"] = state
		t.put(d)
		op = t.begin(c.operationOn(k, d), work, k.Takes)
		view = t.view(d, "")
		return nil
	})
	if e := asError(err); e != nil {
		return e
	}
	status := http.StatusOK
	if made {
		status = http.StatusCreated
		if k.Created != 0 {
			status = k.Created
		}
	} else if k.Created == http.StatusAccepted {
		status = http.StatusAccepted
	}
	if c.r.Method == http.MethodPatch {
		status = http.StatusOK
	}
	if op != nil {
		op.headers(c.w.Header(), c.s, c.host)
	}
	c.reply(status, view)
	return nil
}

func (c *call) preconditions(old *doc) *Error {
	failed := refuse(http.StatusPreconditionFailed, "PreconditionFailed", "The condition in the request's headers is not met by the resource %s.", c.id)
	if m := c.r.Header.Get("If-Match"); m != "" && (old == nil || m != "*" && !strings.Contains(m, old.ETag)) {
		return failed
	}
	if c.r.Header.Get("If-None-Match") == "*" && old != nil {
		return failed
	}
	return nil
}

// next is the document as it will be: the body alone for a PUT, merged with the
// old one for a PATCH.
func (c *call) next(t *tx, k *Type, body object, old *doc) (*doc, *Error) {
	d := &doc{ID: c.id.String(), Type: k.Name, Hidden: object{}, id: c.id}
	if old != nil {
		d = t.edit(old.ID)
	} else if c.r.Method == http.MethodPatch {
		return nil, c.s.registry.notFound(c.id)
	}
	if c.r.Method == http.MethodPatch {
		merge(d.Body, body)
		return d, nil
	}
	location := str(body, "location")
	if location == "" && !k.Global {
		return nil, badRequest("LocationRequired", "The location property is required for this definition.")
	}
	if old != nil && !k.Global && region(location) != old.location() {
		return nil, conflict("InvalidResourceLocation", "The resource '%s' already exists in location '%s' in resource group '%s'. A resource with the same name cannot be created in location '%s'. Please select a new resource name.", c.id.name(), old.location(), c.id.Group, region(location))
	}
	d.Body = cloneObject(body)
	if !k.Global {
		d.Body["location"] = region(location)
	}
	for _, field := range []string{"id", "name", "type", "etag"} {
		delete(d.Body, field)
	}
	props(d.Body)
	return d, nil
}

// danglingReference refuses a document that points at nothing, by what its type
// declares.
func (t *tx) danglingReference(k *Type, d *doc) (e *Error) {
	own := d.key()
	var before []string
	if old := t.records[own]; old != nil {
		before = old.refs
	}
	visitReferences(d.Body, nil, func(path []string, id string) {
		key := lower(id)
		if e != nil || slices.Contains(before, key) || key == own || strings.HasPrefix(key, own+"/") {
			return
		}
		if k.reference(strings.Join(path, ".")) != nil && !t.exists(id) {
			e = errReference(id, d.ID)
		}
	})
	return e
}

func (c *call) operationOn(k *Type, d *doc) *operation {
	location := d.location()
	if location == "" {
		location = "global"
	}
	return &operation{Method: c.r.Method, Target: d.ID, Style: k.Style, Subscription: c.id.Subscription, Namespace: c.id.Namespace,
		Location: location, APIVersion: c.version}
}

// putPart writes a child that lives inside its parent.
func (c *call) putPart(k *Type, owner resourceID, part string) *Error {
	if !k.Parts[part] {
		return errUnsupported("a write of " + c.id.fullType() + " apart from its parent")
	}
	body, e := c.body()
	if e != nil {
		return e
	}
	data, _ := json.Marshal(body)
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	var op *operation
	var view object
	made := false
	err := c.s.update(func(t *tx) error {
		if e := t.writable(c.id, owner.key(), ""); e != nil {
			return e
		}
		d := t.edit(owner.key())
		if d == nil {
			return errParentNotFound(c.id, owner)
		}
		old := t.find(owner.key())
		if field, ok := props(d.Body)[part]; !ok || field == nil {
			props(d.Body)[part] = []any{}
		}
		made = partOf(d.Body, part, c.id.name()) == nil
		if c.r.Method == http.MethodPatch {
			if made {
				return c.s.registry.notFound(c.id)
			}
			merge(partOf(d.Body, part, c.id.name()), body)
		} else {
			if made {
				if e := k.checkName(c.id); e != nil {
					return e
				}
			}
			child := cloneObject(body)
			child["name"] = c.id.name()
			setPart(d, part, child)
		}
		if k.Prepare != nil {
			if e := k.Prepare(t, d, old); e != nil {
				return e
			}
		}
		if e := t.danglingReference(k, d); e != nil {
			return e
		}
		props(d.Body)["provisioningState"] = "Updating"
		t.put(d)
		o := c.operationOn(k, d)
		o.Target, o.Lock, o.BodyHash = c.id.String(), d.ID, hash
		op = t.begin(o, putWork(), k.Takes)
		view = partOf(t.view(d, ""), part, c.id.name())
		props(view)["provisioningState"] = "Updating"
		return nil
	})
	if e := asError(err); e != nil {
		return e
	}
	op.headers(c.w.Header(), c.s, c.host)
	status := http.StatusOK
	if made {
		status = http.StatusCreated
	}
	c.reply(status, view)
	return nil
}

// setPart replaces or appends a child.
func setPart(d *doc, part string, child object) {
	list, _ := props(d.Body)[part].([]any)
	for i, e := range list {
		if o, ok := e.(object); ok && strings.EqualFold(str(o, "name"), str(child, "name")) {
			list[i] = child
			return
		}
	}
	props(d.Body)[part] = append(list, child)
}

// removePart takes a child out of its parent.
func removePart(d *doc, id resourceID) {
	for field, v := range props(d.Body) {
		if list, ok := v.([]any); ok && strings.EqualFold(field, id.Types[len(id.Types)-1]) {
			props(d.Body)[field] = slices.DeleteFunc(list, func(e any) bool {
				o, ok := e.(object)
				return ok && strings.EqualFold(str(o, "name"), id.name())
			})
		}
	}
}

// unlink is called when a resource or a part is gone: what pointed at it loses
// the references that its type declares so.
func (t *tx) unlink(id string) {
	for _, r := range t.users(id, "") {
		k := t.s.registry.typeOf(r.Type)
		if k == nil || !slices.ContainsFunc(k.Refs, func(ref Reference) bool { return ref.Unlinks }) {
			continue
		}
		d := t.edit(r.ID)
		for _, ref := range k.Refs {
			if ref.Unlinks {
				unlink(d.Body, strings.Split(ref.Path, "."), id)
			}
		}
		t.put(d)
	}
}

// unlinkParts is called when a resource is about to go: what points at its parts
// loses them.
func (t *tx) unlinkParts(id string) {
	d := t.find(id)
	if d == nil {
		return
	}
	k := t.s.registry.typeOf(d.Type)
	if k == nil {
		return
	}
	for _, field := range sortedKeys(k.Parts) {
		for _, e := range items(d.Body, "properties", field) {
			t.unlink(lower(d.ID + "/" + field + "/" + str(e, "name")))
		}
	}
}

func (c *call) deletePart(k *Type, owner resourceID, part string) *Error {
	if !k.Parts[part] {
		return errUnsupported("a delete of " + c.id.fullType() + " apart from its parent")
	}
	var op *operation
	err := c.s.update(func(t *tx) error {
		d := t.edit(owner.key())
		if d == nil || partOf(d.Body, part, c.id.name()) == nil {
			return nil
		}
		if e := t.writable(c.id, owner.key(), ""); e != nil {
			return e
		}
		if k.GuardPart != nil {
			if e := k.GuardPart(t, part, c.id); e != nil {
				return e
			}
		}
		props(d.Body)["provisioningState"] = "Updating"
		t.put(d)
		o := c.operationOn(k, d)
		o.Target, o.Lock = c.id.String(), d.ID
		op = t.begin(o, deleteWork(), k.Takes)
		return nil
	})
	return c.accepted(op, err)
}

func (c *call) delete(k *Type) *Error {
	var op *operation
	there := false
	err := c.s.update(func(t *tx) error {
		d := t.edit(c.id.key())
		if d == nil {
			return nil
		}
		there = true
		if e := c.preconditions(d); e != nil {
			return e
		}
		if cur := t.open[d.key()]; cur != nil && cur.deletes() {
			op = cur
			return nil
		}
		if k.Supersedes {
			t.supersede(d.key())
		}
		if e := t.writable(c.id, c.id.key(), ""); e != nil {
			return e
		}
		if k.Guard != nil {
			if e := k.Guard(t, d); e != nil {
				return e
			}
		}
		if k.Sync {
			t.drop(d.ID)
			return nil
		}
		props(d.Body)["provisioningState"] = "Deleting"
		t.put(d)
		op = t.begin(c.operationOn(k, d), k.Delete, k.Takes)
		return nil
	})
	if err == nil && op == nil && there {
		c.reply(http.StatusOK, nil)
		return nil
	}
	return c.accepted(op, err)
}

// accepted answers a delete or an action: 202 with the operation, 204 when there
// was nothing to do.
func (c *call) accepted(op *operation, err error) *Error {
	if e := asError(err); e != nil {
		return e
	}
	if op == nil {
		c.reply(http.StatusNoContent, nil)
		return nil
	}
	op.headers(c.w.Header(), c.s, c.host)
	c.reply(http.StatusAccepted, nil)
	return nil
}

func asError(err error) *Error {
	switch e := err.(type) {
	case nil:
		return nil
	case *Error:
		return e
	default:
		return refuse(http.StatusInternalServerError, "InternalServerError", "%s", err)
	}
}
