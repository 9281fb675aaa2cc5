package arm

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// scaleSetActions are the rows of what is asked of a set.
func scaleSetActions() []Action {
	get := http.MethodGet
	out := []Action{
		{Name: "instanceview", Method: get, Serve: ofSet(func(t *tx, _ *call, set *doc) (any, *Error) { return t.scaleSetView(set), nil })},
		{Name: "skus", Method: get, Serve: ofSet(viewSKUs)},
		{Name: "networkinterfaces", Method: get, Serve: ofSet(listInterfaces)},
		{Name: "virtualmachines", Method: get, Serve: ofSet(listMembers)},
		{Name: "rollingupgrades/latest", Method: get, Serve: ofSet(viewRoll)},
		{Name: "rollingupgrades/cancel", Serve: cancelRoll},
		{Name: "osrollingupgrade", Serve: startRoll},
		{Name: "extensionrollingupgrade", Serve: startRoll},
		{Name: "delete", Serve: named(func(c *call, set resourceID, ids []string) *Error {
			return deleteInstances(c, set, ids, http.MethodPost)
		})},
		{Name: "manualupgrade", Serve: named(upgradeInstances)},
	}
	for _, k := range taskActions() {
		out = append(out, Action{Name: k.name, Serve: func(c *call, set resourceID) *Error {
			args, e := c.body()
			if e != nil {
				return e
			}
			return assignTasks(c, set, texts(args, "instanceIds"), k.task, k.takes)
		}})
	}
	return out
}

// instanceActions are the rows of what is asked of one instance.
func instanceActions() []Action {
	out := []Action{
		{Name: "instanceview", Method: http.MethodGet, Serve: func(c *call, id resourceID) *Error { return getInstance(c, id, true) }},
		{Name: "runcommand", Serve: runInInstance, Work: scaleRun()},
		{Name: "retrievebootdiagnosticsdata", Serve: serveBootDiagnostics},
		{Name: "simulateeviction", Serve: simulateEviction},
	}
	for _, k := range taskActions() {
		out = append(out, Action{Name: k.name, Serve: func(c *call, id resourceID) *Error {
			return assignTasks(c, setOfInstance(id), []string{id.name()}, k.task, k.takes)
		}})
	}
	return out
}

// taskAction is an action on members: the task that it comes to and the time that
// it takes.
type taskAction struct {
	name, task string
	takes      time.Duration
}

// taskActions are the actions that Azure offers on a set and on an instance alike.
func taskActions() []taskAction {
	return []taskAction{
		{"start", taskStart, 30 * time.Second},
		{"restart", taskRestart, 30 * time.Second},
		{"redeploy", taskRestart, 30 * time.Second},
		{"poweroff", taskStop, 20 * time.Second},
		{"deallocate", taskDeallocate, 40 * time.Second},
		{"reimage", taskReimage, 90 * time.Second},
		{"reimageall", taskReimage, 90 * time.Second},
		{"reapply", taskTouch, 10 * time.Second},
	}
}

// serveInstance answers for an instance, or a VM of a Flexible set, that is named
// below its set.
func serveInstance(c *call) (bool, *Error) {
	switch {
	case !c.id.isResource():
		return false, nil
	case c.r.Method == http.MethodGet:
		return true, getInstance(c, c.id, false)
	case c.r.Method == http.MethodDelete:
		return true, deleteInstances(c, setOfInstance(c.id), []string{c.id.name()}, http.MethodDelete)
	}
	return false, nil
}

func setOfInstance(id resourceID) resourceID {
	set, _ := id.parent()
	return set
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

// ofSet answers with what is read of a set.
func ofSet(view func(t *tx, c *call, set *doc) (any, *Error)) func(c *call, id resourceID) *Error {
	return func(c *call, id resourceID) *Error {
		var body any
		e := errNotFound(id)
		c.s.read(func(t *tx) {
			if set := t.find(id.key()); set != nil {
				body, e = view(t, c, set)
			}
		})
		if e != nil {
			return e
		}
		c.reply(http.StatusOK, body)
		return nil
	}
}

func viewSKUs(_ *tx, _ *call, set *doc) (any, *Error) {
	return object{"value": []any{object{"resourceType": typeScale, "sku": clone(set.Body["sku"]), "capacity": object{"minimum": 0, "maximum": maxInstances, "defaultCapacity": capacityOf(set), "scaleType": "Automatic"}}}}, nil
}

func listInterfaces(t *tx, _ *call, set *doc) (any, *Error) {
	out := []any{}
	for _, n := range t.all(typeScaleNIC, set.ID) {
		out = append(out, t.view(n, ""))
	}
	return object{"value": out}, nil
}

func listMembers(t *tx, c *call, set *doc) (any, *Error) {
	out := []any{}
	for _, m := range t.members(set) {
		out = append(out, t.memberView(m, c.query.Get("$expand")))
	}
	return object{"value": out}, nil
}

func viewRoll(t *tx, _ *call, set *doc) (any, *Error) {
	body := t.rollingView(set)
	if body == nil {
		return nil, refuse(http.StatusNotFound, "NotFound", "The virtual machine scale set %s has had no rolling upgrade.", set.id.name())
	}
	return body, nil
}

// named reads the instances that an action names, which has to name some.
func named(serve func(c *call, set resourceID, ids []string) *Error) func(c *call, set resourceID) *Error {
	return func(c *call, set resourceID) *Error {
		args, e := c.body()
		if e != nil {
			return e
		}
		ids := texts(args, "instanceIds")
		if len(ids) == 0 {
			return invalid("instanceIds", "Required parameter 'instanceIds' is missing (null).")
		}
		return serve(c, set, ids)
	}
}

// getInstance answers an instance, or its instance view.
func getInstance(c *call, id resourceID, asView bool) *Error {
	var body object
	e := errNotFound(id)
	c.s.read(func(t *tx) {
		if set := t.find(setOfInstance(id).key()); set != nil {
			if d := t.memberOf(set, id.name()); d != nil {
				body, e = t.memberView(d, c.query.Get("$expand")), nil
				if asView {
					body = t.instanceView(d)
				}
			}
		}
	})
	if e != nil {
		return e
	}
	c.reply(http.StatusOK, body)
	return nil
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
func onMembers(c *call, setID resourceID, ids []string, method string, takes time.Duration, change func(t *tx, set *doc, members []*doc) *Error) *Error {
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
		op = t.begin(&operation{Method: method, Target: set.ID, Lock: fmt.Sprintf("%s/operations/%s", set.ID, t.s.guid()), Style: styleCompute, Subscription: c.id.Subscription,
			Namespace: c.id.Namespace, Location: set.location(), APIVersion: c.version, Args: object{"members": anys(keys)}}, scaleTasks(), takes)
		return nil
	})
	return c.accepted(op, err)
}

func assignTasks(c *call, set resourceID, ids []string, what string, takes time.Duration) *Error {
	return onMembers(c, set, ids, http.MethodPost, takes, func(t *tx, set *doc, members []*doc) *Error {
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
func deleteInstances(c *call, set resourceID, ids []string, method string) *Error {
	return onMembers(c, set, ids, method, 20*time.Second, func(t *tx, set *doc, members []*doc) *Error {
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
func upgradeInstances(c *call, set resourceID, ids []string) *Error {
	return onMembers(c, set, ids, http.MethodPost, 60*time.Second, func(t *tx, set *doc, members []*doc) *Error {
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
func runInInstance(c *call, id resourceID) *Error {
	args, e := c.body()
	if e != nil {
		return e
	}
	var op *operation
	err := c.s.update(func(t *tx) error {
		set := t.find(setOfInstance(id).key())
		if set == nil {
			return errNotFound(setOfInstance(id))
		}
		d := t.memberOf(set, id.name())
		switch {
		case d == nil:
			return errNotFound(id)
		case str(d.Hidden, "power") != "running":
			return conflict("OperationNotAllowed", "The operation requires the VM to be running (or set to run).")
		}
		op = t.begin(&operation{Method: http.MethodPost, Target: d.ID, Style: styleCompute, Subscription: c.id.Subscription,
			Namespace: c.id.Namespace, Location: d.location(), APIVersion: c.version, Args: args}, scaleRun(), 10*time.Second)
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
