package arm

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// scalePath is a path at or below a scale set: the set, the instance if one is
// named, and what is asked of it.
type scalePath struct {
	set, instance resourceID
	action        string // in lower case
}

// scalePathOf takes a path apart; false means that it is not about a scale set or
// is a plain resource.
func scalePathOf(id resourceID) (p scalePath, ok bool) {
	if !strings.EqualFold(id.Namespace, "Microsoft.Compute") || len(id.Names) == 0 || lower(id.Types[0]) != "virtualmachinescalesets" {
		return p, false
	}
	p.set = id
	p.set.Types, p.set.Names = id.Types[:1:1], id.Names[:1:1]
	rest := id.Types[1:]
	switch {
	case len(rest) == 0:
		return p, false
	case len(rest) == 1 && len(id.Names) == 2 && lower(rest[0]) == "rollingupgrades":
		p.action = "rollingupgrades/" + lower(id.Names[1])
		return p, true
	case lower(rest[0]) == "virtualmachines" && len(id.Names) > 1:
		p.instance = p.set.child("virtualMachines", id.Names[1])
		if len(rest) > 2 || len(id.Names) > 2 {
			return p, false
		}
		if len(rest) == 2 {
			p.action = lower(rest[1])
		}
		return p, true
	case len(rest) == 1 && len(id.Names) == 1:
		p.action = lower(rest[0])
		return p, true
	}
	return p, false
}

// serveScaleSet answers what is asked of scale sets and their instances besides
// the verbs that all resources know; false means the path is something else.
func (c *call) serveScaleSet() (bool, *Error) {
	p, ok := scalePathOf(c.id)
	switch {
	case !ok:
		return false, nil
	case c.r.Method == http.MethodGet && len(p.instance.Names) > 0:
		return c.getInstance(p)
	case c.r.Method == http.MethodGet:
		return c.getScaleSet(p)
	case c.r.Method == http.MethodDelete && len(p.instance.Names) > 0 && p.action == "":
		return true, c.deleteInstances(p.set, []string{p.instance.name()}, http.MethodDelete)
	case c.r.Method == http.MethodPost && len(p.instance.Names) > 0:
		return c.postInstance(p)
	case c.r.Method == http.MethodPost:
		return c.postScaleSet(p)
	}
	return false, nil
}

// memberOf finds a member of a set by its number, or by its name in a Flexible
// one.
func (t *tx) memberOf(set *doc, id string) *doc {
	if !isFlexible(set) {
		return t.find(set.ID + "/virtualMachines/" + id)
	}
	for _, m := range t.members(set) {
		if strings.EqualFold(m.id.name(), id) {
			return m
		}
	}
	return nil
}

func (c *call) getScaleSet(p scalePath) (bool, *Error) {
	var body any
	var e *Error
	known := true
	c.s.read(func(t *tx) {
		set := t.find(p.set.key())
		if set == nil {
			e = errNotFound(p.set)
			return
		}
		switch p.action {
		case "rollingupgrades/latest":
			if body = t.rollingView(set); body == nil {
				e = refuse(http.StatusNotFound, "NotFound", "The virtual machine scale set %s has had no rolling upgrade.", set.id.name())
			}
		case "instanceview":
			body = t.scaleSetView(set)
		case "skus":
			body = object{"value": []any{object{"resourceType": typeScale, "sku": clone(set.Body["sku"]), "capacity": object{"minimum": 0, "maximum": maxInstances, "defaultCapacity": capacityOf(set), "scaleType": "Automatic"}}}}
		case "networkinterfaces":
			out := []any{}
			for _, n := range t.all(typeScaleNIC, set.ID) {
				out = append(out, t.view(n, ""))
			}
			body = object{"value": out}
		case "virtualmachines":
			out := []any{}
			for _, m := range t.members(set) {
				out = append(out, t.memberView(m, c.query.Get("$expand")))
			}
			body = object{"value": out}
		default:
			known = false
		}
	})
	if e == nil && known {
		c.reply(http.StatusOK, body)
	}
	return known || e != nil, e
}

func (c *call) getInstance(p scalePath) (bool, *Error) {
	if p.action != "" && p.action != "instanceview" {
		return false, nil
	}
	var body object
	e := errNotFound(p.instance)
	c.s.read(func(t *tx) {
		if set := t.find(p.set.key()); set != nil {
			if d := t.memberOf(set, p.instance.name()); d != nil {
				body, e = t.memberView(d, c.query.Get("$expand")), nil
				if p.action != "" {
					body = t.instanceView(d)
				}
			}
		}
	})
	if e == nil {
		c.reply(http.StatusOK, body)
	}
	return true, e
}

// memberView shows a member as the instances of a set are shown. Those of a
// Flexible set come without tags and instance view; the VMs themselves have them.
// Source: https://github.com/Azure/azure-rest-api-specs/issues/27441 and
// https://github.com/Azure/azure-sdk-for-go/issues/19707. That the ID is the VM's
// own is not proven.
func (t *tx) memberView(d *doc, expand string) object {
	if d.Type != typeVM {
		return t.view(d, expand)
	}
	body := t.view(d, "")
	body["instanceId"] = d.id.name()
	delete(body, "tags")
	return body
}

// scaleTasks are the actions that Azure offers on a set and on an instance, with
// the task that they come to and the time they take.
func scaleTask(action string) (what string, takes time.Duration) {
	switch action {
	case "start":
		return taskStart, 30 * time.Second
	case "restart", "redeploy":
		return taskRestart, 30 * time.Second
	case "poweroff":
		return taskStop, 20 * time.Second
	case "deallocate":
		return taskDeallocate, 40 * time.Second
	case "reimage", "reimageall":
		return taskReimage, 90 * time.Second
	case "reapply":
		return taskTouch, 10 * time.Second
	}
	return "", 0
}

func (c *call) postScaleSet(p scalePath) (bool, *Error) {
	args, e := c.body()
	if e != nil {
		return true, e
	}
	ids := texts(args, "instanceIds")
	switch what, takes := scaleTask(p.action); {
	case what != "":
		return true, c.assignTasks(p.set, ids, what, takes)
	case p.action == "osrollingupgrade" || p.action == "extensionrollingupgrade":
		return true, c.startRoll(p.set)
	case p.action == "rollingupgrades/cancel":
		return true, c.cancelRoll(p.set)
	case p.action == "delete" && len(ids) == 0:
		return true, invalid("instanceIds", "Required parameter 'instanceIds' is missing (null).")
	case p.action == "delete":
		return true, c.deleteInstances(p.set, ids, http.MethodPost)
	case p.action == "manualupgrade" && len(ids) == 0:
		return true, invalid("instanceIds", "Required parameter 'instanceIds' is missing (null).")
	case p.action == "manualupgrade":
		return true, c.upgradeInstances(p.set, ids)
	}
	return false, nil
}

func (c *call) postInstance(p scalePath) (bool, *Error) {
	what, takes := scaleTask(p.action)
	switch {
	case what != "":
		return true, c.assignTasks(p.set, []string{p.instance.name()}, what, takes)
	case p.action == "runcommand":
		return true, c.runInInstance(p)
	case p.action == "retrievebootdiagnosticsdata":
		return true, c.serveBootDiagnostics(p.instance)
	case p.action == "simulateeviction":
		return true, c.simulateEviction(p.instance)
	}
	return false, nil
}

// chosen are the members that a request names, all for none and for "*". Those
// that are going already are left out. Protected members are left out of what is
// asked of all.
func (t *tx) chosen(set *doc, ids []string) ([]*doc, *Error) {
	var out []*doc
	if len(ids) == 0 || len(ids) == 1 && ids[0] == "*" {
		for _, m := range t.members(set) {
			if !isDeleting(m) && !isProtectedFromActions(m) {
				out = append(out, m)
			}
		}
		return out, nil
	}
	seen := map[string]bool{}
	for _, id := range ids {
		m := t.memberOf(set, id)
		if m == nil {
			return nil, invalid("instanceIds", "The provided instanceId %s is not an active Virtual Machine Scale Set VM instanceId.", id)
		}
		if !isDeleting(m) && !seen[m.key()] {
			out = append(out, m)
		}
		seen[m.key()] = true
	}
	return out, nil
}

// onMembers begins an operation that does something to the members named; change
// gives each its task. It does not wait for others on the set: Azure does not
// either.
func (c *call) onMembers(setID resourceID, ids []string, method string, takes time.Duration, change func(t *tx, set *doc, members []*doc) *Error) *Error {
	var op *operation
	err := c.s.update(func(t *tx) error {
		set := t.find(setID.key())
		if set == nil {
			return errNotFound(setID)
		}
		if isDeleting(set) {
			return conflict("Conflict", "The virtual machine scale set %s is being deleted.", set.id.name())
		}
		members, e := t.chosen(set, ids)
		if e == nil {
			e = change(t, set, members)
		}
		if e != nil {
			return e
		}
		var keys []string
		for _, m := range members {
			keys = append(keys, m.ID)
		}
		op = t.begin(&operation{Action: "scale.tasks", Method: method, Target: set.ID, Lock: fmt.Sprintf("%s/operations/%s", set.ID, t.s.guid()), Style: styleCompute, Subscription: c.id.Subscription,
			Namespace: c.id.Namespace, Location: set.location(), APIVersion: c.version, Args: object{"members": anys(keys)}}, takes)
		return nil
	})
	return c.accepted(op, err)
}

func (c *call) assignTasks(set resourceID, ids []string, what string, takes time.Duration) *Error {
	return c.onMembers(set, ids, http.MethodPost, takes, func(t *tx, set *doc, members []*doc) *Error {
		for _, m := range members {
			if what == taskReimage {
				e := t.edit(m.ID)
				if failed := t.applyModel(set, e); failed != nil {
					return failed
				}
				t.put(e)
				m = e
			}
			t.assign(m, what)
		}
		return nil
	})
}

// deleteInstances takes the instances named away, and with them capacity. It is
// asked of the instances: protection does not hold it up.
func (c *call) deleteInstances(set resourceID, ids []string, method string) *Error {
	return c.onMembers(set, ids, method, 20*time.Second, func(t *tx, set *doc, members []*doc) *Error {
		for _, m := range members {
			t.assign(m, taskDelete)
		}
		e := t.edit(set.ID)
		setCapacity(e, capacityOf(e)-len(members))
		t.put(e)
		return nil
	})
}

// upgradeInstances brings the instances named to the set's model. A new image
// takes a new OS disk; else the instance keeps its disks and, for another size,
// starts again.
func (c *call) upgradeInstances(set resourceID, ids []string) *Error {
	return c.onMembers(set, ids, http.MethodPost, 60*time.Second, func(t *tx, set *doc, members []*doc) *Error {
		if isFlexible(set) {
			return badRequest("OperationNotAllowed", "Upgrading instances is not supported for Virtual Machine Scale Sets with the orchestration mode Flexible.")
		}
		for _, m := range members {
			if _, e := t.upgrade(set, m); e != nil {
				return e
			}
		}
		return nil
	})
}

// upgrade applies the model to one instance and gives it the task that follows.
func (t *tx) upgrade(set, m *doc) (*doc, *Error) {
	was, e := m, t.edit(m.ID)
	if failed := t.applyModel(set, e); failed != nil {
		return nil, failed
	}
	if failed := t.remakeNICs(set, e); failed != nil {
		return nil, failed
	}
	t.put(e)
	what := taskTouch
	switch {
	case was.Hidden["model"] == e.Hidden["model"]:
	case imageOf(sub(was.Body, "properties", "storageProfile", "imageReference")) != imageOf(sub(e.Body, "properties", "storageProfile", "imageReference")):
		what = taskReimage
	case str(was.Body, "sku", "name") != str(e.Body, "sku", "name"):
		what = taskRestart
	}
	return t.assign(e, what), nil
}

// runInInstance is Run Command on an instance.
func (c *call) runInInstance(p scalePath) *Error {
	args, e := c.body()
	if e != nil {
		return e
	}
	var op *operation
	err := c.s.update(func(t *tx) error {
		set := t.find(p.set.key())
		if set == nil {
			return errNotFound(p.set)
		}
		d := t.memberOf(set, p.instance.name())
		switch {
		case d == nil:
			return errNotFound(p.instance)
		case str(d.Hidden, "power") != "running":
			return conflict("OperationNotAllowed", "The operation requires the VM to be running (or set to run).")
		}
		op = t.begin(&operation{Action: "scale.run", Method: http.MethodPost, Target: d.ID, Style: styleCompute, Subscription: c.id.Subscription,
			Namespace: c.id.Namespace, Location: d.location(), APIVersion: c.version, Args: args}, 10*time.Second)
		return nil
	})
	return c.accepted(op, err)
}

// prepareInstance is a write of an instance, which may change its protection and
// tags and repeats the rest.
func prepareInstance(_ *tx, d, old *doc) *Error {
	if old == nil {
		return errNotFound(d.id)
	}
	if str(old.Hidden, "todo") != "" {
		return conflict("Conflict", "The request failed due to conflict with a concurrent request: the instance %s is %s.", instanceName(old), lower(old.state()))
	}
	if n := items(props(d.Body), "storageProfile", "dataDisks"); value(props(d.Body), "storageProfile", "dataDisks") != nil && len(n) != len(items(props(old.Body), "storageProfile", "dataDisks")) {
		return errUnsupported("attaching and detaching data disks of a scale set's instance")
	}
	body := cloneObject(old.Body)
	if tags := d.Body["tags"]; tags != nil {
		body["tags"] = tags
	}
	if policy := props(d.Body)["protectionPolicy"]; policy != nil {
		props(body)["protectionPolicy"] = policy
	}
	d.Body = body
	return nil
}

func refuseWrite(_ *tx, d, _ *doc) *Error {
	return errUnsupported("a write of " + d.Type + " apart from its scale set")
}

func refuseDelete(_ *tx, d *doc) *Error { return refuseWrite(nil, d, nil) }
