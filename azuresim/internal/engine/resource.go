package engine

import (
	"cmp"
	"net/http"
	"slices"

	"casement.dev/casement/azuresim/internal/defaults"
	"casement.dev/casement/azuresim/internal/value"
)

// serveResource answers GET, PUT, PATCH, DELETE and HEAD of one resource or part.
func (c *Request) serveResource() *Error {
	k, owner, part := c.Server.Registry.KindOf(c.ID)
	if k == nil {
		return c.unknown()
	}
	switch c.HTTP.Method {
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
	return NotAllowed(c.HTTP.Method)
}

// NotAllowed returns the error for a method that a resource does not support.
func NotAllowed(method string) *Error {
	return Refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "The requested resource does not support http method '%s'.", method)
}

// unknown answers requests to a type that is not emulated: lists are empty and a GET is 404, so
// that clients that search for remaining resources can continue; a creation is refused.
func (c *Request) unknown() (e *Error) {
	if e := neverKnown(c); e != nil {
		return e
	}
	method := c.HTTP.Method
	if method != http.MethodGet && method != http.MethodHead && method != http.MethodDelete {
		return ErrUnsupported("the resource type " + c.ID.FullType())
	}
	c.Server.Read(func(t *Tx) { e = t.groupThere(c.ID) })
	switch {
	case e != nil:
		return e
	case method == http.MethodDelete:
		c.Reply(http.StatusNoContent, nil)
		return nil
	}
	return ErrNotFound(c.ID)
}

func (c *Request) get(owner ID, part string) (e *Error) {
	var body any
	etag := ""
	c.Read(func(t *Tx) {
		if e = t.groupThere(c.ID); e != nil {
			return
		}
		r := t.Record(owner.Key())
		if r == nil {
			e = c.Server.Registry.notFound(c.ID)
			return
		}
		if part == "" && t.storedAsServed(r, c.Query.Get("$expand")) {
			body = t.Shown(r, "")
			return
		}
		view := t.View(t.Doc(r), c.Query.Get("$expand"))
		if part != "" {
			if view = PartOf(view, part, c.ID.Name()); view == nil {
				e = c.Server.Registry.notFound(c.ID)
			}
		}
		body, etag = view, value.Str(view, "etag")
	})
	if e != nil {
		return e
	}
	if c.HTTP.Method == http.MethodHead {
		c.Reply(http.StatusNoContent, nil)
		return nil
	}
	if etag != "" {
		c.Writer.Header().Set("ETag", etag)
	}
	c.Reply(http.StatusOK, body)
	return nil
}

// Read and Update run a transaction for a request. Documents that the transaction shows have the
// form of the request's API version.
func (c *Request) Read(fn func(*Tx)) {
	c.Server.Read(func(t *Tx) { bind(c, t); fn(t) })
}

func (c *Request) Update(fn func(*Tx) error) error {
	return c.Server.Update(func(t *Tx) error { bind(c, t); return fn(t) })
}

// bind sets the API version and the caller of a request on a transaction.
func bind(c *Request, t *Tx) {
	t.Version, t.Caller, t.Local = c.Version, c.Principal, !isManager(c.Host)
}

// checkParents returns an error if the resource group of an ID, or the resource's parent, does not exist.
func checkParents(t *Tx, id ID) *Error {
	if e := t.groupThere(id); e != nil {
		return e
	}
	if parent, ok := id.Parent(); ok && id.Scope == nil && !t.Exists(parent.String()) {
		return ErrNotFound(parent)
	}
	return nil
}

// groupThere returns an error if the resource group or the management group that an ID contains
// does not exist.
func (t *Tx) groupThere(id ID) *Error {
	if group, ok := id.management(); ok && id.Scope != nil && t.Record(group.Key()) == nil {
		return Refuse(http.StatusNotFound, "ManagementGroupNotFound", "The management group '%s' cannot be found.", group.Name())
	}
	if id.Group == "" {
		return nil
	}
	if t.Record(id.GroupID().Key()) == nil {
		return ErrGroupNotFound(id.Group)
	}
	return nil
}

// Writable checks that the group can be written to and that no other operation is in
// progress on the document.
func (t *Tx) Writable(id ID, lock string, hash string) *Error {
	if e := t.groupThere(id); e != nil {
		return e
	}
	if id.Group != "" {
		if g := t.Record(id.GroupID().Key()); g.State == "Deleting" {
			return Conflict("ResourceGroupBeingDeleted",
				"The resource group '%s' is in deprovisioning state and cannot perform this operation.", id.Group)
		}
	}
	return busy(t, id, lock, hash)
}

// busy returns an error if another operation is in progress on the locked document. A
// delete may continue if the group is being deleted too.
func busy(t *Tx, id ID, lock string, hash string) *Error {
	op := t.open[value.Lower(lock)]
	if op == nil || hash != "" && op.BodyHash == hash {
		return nil
	}
	if p := t.Server.Registry.Spaces[value.Lower(id.Namespace)]; p != nil && p.Busy != nil {
		return p.Busy(op, t.Now)
	}
	e := Conflict("Conflict", "The request failed due to conflict with a concurrent request. To resolve it, "+
		"please refer to https://aka.ms/activitylog to get more details on the conflicting requests.")
	e.RetryAfter = 1
	return e
}

// effectHeader is the response header that says that a written resource has no effect in the
// emulator.
const effectHeader = "x-casement-effect"

// put creates or replaces a resource; with PATCH it merges the body into it.
func (c *Request) put(k *Type) *Error {
	if k.Kept {
		c.Writer.Header().Set(effectHeader, "none")
	}
	body, e := c.Body()
	if e != nil {
		return e
	}
	missing, e := Malformed(c, body)
	if e != nil {
		return e
	}
	if e := cmp.Or(children(c, k, body), checkReferences(c, k, "", body)); e != nil {
		return e
	}
	var op *Operation
	var view value.Object
	made := false
	err := c.Update(func(t *Tx) error {
		if k.Preempts {
			t.Supersede(c.ID.Key())
		}
		if e := t.Writable(c.ID, c.ID.Key(), ""); e != nil {
			return e
		}
		if parent, ok := c.ID.Parent(); ok && c.ID.Scope == nil && t.Record(parent.Key()) == nil {
			return errParentNotFound(c.ID, parent)
		}
		old := t.Find(c.ID.Key())
		if e := c.preconditions(k, old); e != nil {
			return e
		}
		if old == nil {
			if e := k.checkName(c.ID); e != nil {
				return e
			}
		}
		d, e := c.next(t, k, body, old)
		if e != nil {
			return e
		}
		made, d.Version = old == nil, c.Version
		if k.ETag == EtagCount {
			d.Count(old)
		}
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
		if k.Sync && (old != nil || !k.AsyncCreate) {
			value.Props(d.Body)["provisioningState"] = StatusSucceeded
			if k.Stateless {
				delete(value.Props(d.Body), "provisioningState")
			}
			t.Put(d)
			view = t.View(d, "")
			return nil
		}
		work, state := k.Put, "Updating"
		if old != nil {
			work = k.Update
		} else if made && k.Style == StyleCompute {
			state = "Creating"
		}
		value.Props(d.Body)["provisioningState"] = state
		t.Put(d)
		op = t.Begin(c.operationOn(k, d), work, k.Takes)
		if k.AtOnce != nil && k.AtOnce(t, d, old) || isTagUpdate(c, k) {
			op = complete(t, op, work)
		}
		view = t.View(t.Find(d.Key()), "")
		return nil
	})
	if e := AsError(err); e != nil {
		return e
	}
	status := cmp.Or(k.Written, http.StatusOK)
	if made {
		status = cmp.Or(k.Created, http.StatusCreated)
	} else if k.Created == http.StatusAccepted && op != nil {
		status = http.StatusAccepted
	}
	if c.HTTP.Method == http.MethodPatch {
		status = http.StatusOK
	}
	if op != nil && !((k.Quiet || isTagUpdate(c, k)) && op.Status != statusInProgress) {
		op.Headers(c.Writer.Header(), c.Server, c.Host)
	}
	if op != nil && k.Style == StyleStorage {
		c.Reply(status, nil)
		return nil
	}
	if made && k.Located {
		c.Writer.Header().Set("Location", c.ID.String())
	}
	if k.Style == StyleDNS && status == http.StatusAccepted {
		view = value.Object{} // this answer is empty before the operation's end
	}
	c.Reply(status, view)
	return nil
}

// isTagUpdate reports whether a write is the Network provider's change of tags, which starts no
// operation. Source: the operation UpdateTags of each of its types; recordings of the SDK.
func isTagUpdate(c *Request, k *Type) bool {
	return k.Style == StyleNetwork && c.HTTP.Method == http.MethodPatch
}

// next returns the new document: the request's body for a PUT, the old document with the
// body merged into it for a PATCH.
func (c *Request) next(t *Tx, k *Type, body value.Object, old *Doc) (*Doc, *Error) {
	d := &Doc{ID: c.ID.String(), Type: k.Name, Hidden: value.Object{}, Parsed: c.ID}
	if old != nil {
		d = t.Edit(old.ID)
	} else if c.HTTP.Method == http.MethodPatch {
		return nil, c.Server.Registry.notFound(c.ID)
	}
	if c.HTTP.Method == http.MethodPatch {
		value.Merge(d.Body, body)
		return d, nil
	}
	location := value.Str(body, "location")
	if location == "" && !k.Global {
		return nil, BadRequest("LocationRequired", "The location property is required for this definition.")
	}
	if old != nil && !k.Global && Region(location) != old.Location() {
		return nil, Conflict("InvalidResourceLocation", "The resource '%s' already exists in location '%s' in "+
			"resource group '%s'. A resource with the same name cannot be created in location '%s'. Please "+
			"select a new resource name.", c.ID.Name(), old.Location(), c.ID.Group, Region(location))
	}
	if location != "" && k.Locations != nil && !slices.Contains(k.Locations, Region(location)) {
		return nil, errNotInLocation(location, k.Name, k.Locations)
	}
	if !k.Global && k.Locations == nil {
		if e := cmp.Or(CheckPlace(location, k.Name), checkZones(c.ID, body)); e != nil {
			return nil, e
		}
	}
	d.Body = value.CloneObject(body)
	respell(d.Body)
	if !k.Global {
		d.Body["location"] = Region(location)
	}
	for _, field := range []string{"id", "name", "type", "etag"} {
		delete(d.Body, field)
	}
	value.Props(d.Body)
	return d, nil
}

func (c *Request) operationOn(k *Type, d *Doc) *Operation {
	location := d.Location()
	if location == "" {
		location = "global"
	}
	retry := k.Retry.Write
	if c.HTTP.Method == http.MethodDelete {
		retry = k.Retry.Delete
	}
	return &Operation{Method: c.HTTP.Method, Target: d.ID, Style: k.Style, Subscription: c.ID.Subscription, Namespace: c.ID.Namespace,
		Location: location, APIVersion: c.Version, Retry: retry, Polled: k.Polled}
}

func (c *Request) delete(k *Type) *Error {
	var op *Operation
	var echo any
	there := false
	err := c.Server.Update(func(t *Tx) error {
		d := t.Edit(c.ID.Key())
		if d == nil {
			return asError(checkParents(t, c.ID))
		}
		there = true
		if e := c.preconditions(k, d); e != nil {
			return e
		}
		if cur := t.open[d.Key()]; cur != nil && cur.deletes() {
			op = cur
			return nil
		}
		if k.Supersedes {
			t.Supersede(d.Key())
		}
		if e := busy(t, c.ID, c.ID.Key(), ""); e != nil {
			return e
		}
		if k.Guard != nil {
			if e := k.Guard(t, d); e != nil {
				return e
			}
		}
		if k.Sync {
			if k.Echoed {
				echo = t.View(d, "")
			}
			k.erase(t, d)
			return nil
		}
		value.Props(d.Body)["provisioningState"] = "Deleting"
		t.Put(d)
		if k.Echoed {
			echo = t.View(t.Find(d.Key()), "")
		}
		op = t.Begin(c.operationOn(k, d), k.Delete, k.Takes)
		return nil
	})
	if err == nil && op == nil && there {
		c.Reply(http.StatusOK, echo)
		return nil
	}
	return accepted(c, op, echo, err)
}

// Accepted answers a delete or an action: with 202 and the operation, or with 204 if there was
// nothing to do.
func (c *Request) Accepted(op *Operation, err error) *Error { return accepted(c, op, nil, err) }

// accepted is Accepted with a body.
func accepted(c *Request, op *Operation, body any, err error) *Error {
	if e := AsError(err); e != nil {
		return e
	}
	if op == nil {
		c.Reply(http.StatusNoContent, nil)
		return nil
	}
	op.Headers(c.Writer.Header(), c.Server, c.Host)
	c.Reply(http.StatusAccepted, body)
	return nil
}

// asError returns e as an error; nil stays nil.
func asError(e *Error) error {
	if e == nil {
		return nil
	}
	return e
}

// spellings maps field names that templates write in a different case to the case of the providers,
// which compare names without case.
var spellings = func() map[string]string {
	out := map[string]string{}
	for _, n := range []string{"privateIPAddress", "privateIPAllocationMethod", "publicIPAddress", "publicIPAllocationMethod",
		"ipConfigurations",
		"frontendIPConfigurations", "frontendIPConfiguration", "loadBalancerBackendAddressPools", "networkSecurityGroup", "dnsSettings",
		"addressPrefix", "addressPrefixes", "addressSpace", "domainNameLabel", "hardwareProfile", "vmSize", "storageProfile", "osProfile",
		"networkProfile", "imageReference", "adminUsername", "adminPassword", "computerName", "createOption"} {
		out[value.Lower(n)] = n
	}
	return out
}()

// respell gives field names the case that this program reads. Keys of tags and settings keep the
// case of the request.
func respell(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			respell(e)
		}
	case value.Object:
		for k, e := range v {
			if k != "tags" && k != "settings" && k != "protectedSettings" {
				respell(e)
			}
			if n := spellings[value.Lower(k)]; n != "" && n != k && v[n] == nil {
				v[n] = e
				delete(v, k)
			}
		}
	}
}
