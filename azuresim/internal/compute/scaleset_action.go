package compute

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// scaleSetActions returns the actions of a scale set.
func scaleSetActions() []engine.Action {
	get := http.MethodGet
	out := []engine.Action{
		{Name: "instanceview", Method: get, Serve: ofSet(func(t *engine.Tx, _ *engine.Request, set *engine.Doc) (any, *engine.Error) {
			return scaleSetView(t, set), nil
		})},
		{Name: "skus", Method: get, Serve: ofSet(viewSKUs)},
		{Name: "networkinterfaces", Method: get, Serve: ofSet(listInterfaces)},
		{Name: "virtualmachines", Method: get, Serve: ofSet(listMembers)},
		{Name: "rollingupgrades/latest", Method: get, Serve: ofSet(viewRoll)},
		{Name: "rollingupgrades/cancel", Serve: cancelRoll},
		{Name: "osrollingupgrade", Serve: startRoll},
		{Name: "extensionrollingupgrade", Serve: startRoll},
		{Name: "delete", Serve: named(func(c *engine.Request, set engine.ID, ids []string) *engine.Error {
			return deleteInstances(c, set, ids, http.MethodPost)
		})},
		{Name: "manualupgrade", Serve: named(upgradeInstances)},
	}
	for _, k := range taskActions() {
		out = append(out, engine.Action{Name: k.name, Serve: func(c *engine.Request, set engine.ID) *engine.Error {
			args, e := c.Body()
			if e != nil {
				return e
			}
			return assignTasks(c, set, value.Texts(args, "instanceIds"), k.task, k.takes)
		}})
	}
	return out
}

// instanceActions returns the actions of one instance.
func instanceActions() []engine.Action {
	out := []engine.Action{
		{Name: "instanceview", Method: http.MethodGet,
			Serve: func(c *engine.Request, id engine.ID) *engine.Error { return getInstance(c, id, true) }},
		{Name: "runcommand", Serve: runInInstance, Work: scaleRun()},
		{Name: "retrievebootdiagnosticsdata", Serve: serveBootDiagnostics},
		{Name: "simulateeviction", Serve: simulateEviction},
	}
	for _, k := range taskActions() {
		out = append(out, engine.Action{Name: k.name, Serve: func(c *engine.Request, id engine.ID) *engine.Error {
			return assignTasks(c, setOfInstance(id), []string{id.Name()}, k.task, k.takes)
		}})
	}
	return out
}

// taskAction is an action on members of a set, with the task that each member gets and how
// long the action lasts.
type taskAction struct {
	name, task string
	takes      time.Duration
}

// taskActions returns the actions that both a set and an instance have.
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

// serveInstance answers requests to an instance below its set, or to a VM of a Flexible
// set.
func serveInstance(c *engine.Request) (bool, *engine.Error) {
	switch {
	case !c.ID.IsResource():
		return false, nil
	case c.HTTP.Method == http.MethodGet:
		return true, getInstance(c, c.ID, false)
	case c.HTTP.Method == http.MethodDelete:
		return true, deleteInstances(c, setOfInstance(c.ID), []string{c.ID.Name()}, http.MethodDelete)
	}
	return false, nil
}

func setOfInstance(id engine.ID) engine.ID {
	set, _ := id.Parent()
	return set
}

// memberOf returns the member of a set that has the number id, or in a Flexible set the name id.
func memberOf(t *engine.Tx, set *engine.Doc, id string) *engine.Doc {
	if !isFlexible(set) {
		return t.Find(set.ID + "/virtualMachines/" + id)
	}
	for _, m := range members(t, set) {
		if strings.EqualFold(m.Parsed.Name(), id) {
			return m
		}
	}
	return nil
}

// ofSet returns a handler that answers with a view that is computed from a scale set.
func ofSet(view func(t *engine.Tx, c *engine.Request,
	set *engine.Doc) (any, *engine.Error)) func(c *engine.Request, id engine.ID) *engine.Error {
	return func(c *engine.Request, id engine.ID) *engine.Error {
		var body any
		e := engine.ErrNotFound(id)
		c.Read(func(t *engine.Tx) {
			if set := t.Find(id.Key()); set != nil {
				body, e = view(t, c, set)
			}
		})
		if e != nil {
			return e
		}
		c.Reply(http.StatusOK, body)
		return nil
	}
}

func viewSKUs(_ *engine.Tx, _ *engine.Request, set *engine.Doc) (any, *engine.Error) {
	return value.Object{"value": []any{value.Object{
		"resourceType": typeScale, "sku": value.Clone(set.Body["sku"]),
		"capacity": value.Object{"minimum": 0, "maximum": maxInstances, "defaultCapacity": capacityOf(set), "scaleType": "Automatic"},
	}}}, nil
}

func listInterfaces(t *engine.Tx, _ *engine.Request, set *engine.Doc) (any, *engine.Error) {
	out := []any{}
	for _, n := range t.All(typeScaleNIC, set.ID) {
		out = append(out, t.View(n, ""))
	}
	return value.Object{"value": out}, nil
}

func listMembers(t *engine.Tx, c *engine.Request, set *engine.Doc) (any, *engine.Error) {
	out := []any{}
	for _, m := range members(t, set) {
		out = append(out, memberView(t, m, c.Query.Get("$expand")))
	}
	return value.Object{"value": out}, nil
}

func viewRoll(t *engine.Tx, _ *engine.Request, set *engine.Doc) (any, *engine.Error) {
	body := rollingView(t, set)
	if body == nil {
		return nil, engine.Refuse(http.StatusNotFound, "NotFound",
			"The virtual machine scale set %s has had no rolling upgrade.", set.Parsed.Name())
	}
	return body, nil
}

// named returns a handler that parses the instances that an action names and passes them to serve;
// at least one instance is required.
func named(serve func(c *engine.Request, set engine.ID, ids []string) *engine.Error) func(c *engine.Request, set engine.ID) *engine.Error {
	return func(c *engine.Request, set engine.ID) *engine.Error {
		args, e := c.Body()
		if e != nil {
			return e
		}
		ids := value.Texts(args, "instanceIds")
		if len(ids) == 0 {
			return invalid("instanceIds", "Required parameter 'instanceIds' is missing (null).")
		}
		return serve(c, set, ids)
	}
}

// getInstance answers an instance, or its instance view.
func getInstance(c *engine.Request, id engine.ID, asView bool) *engine.Error {
	var body value.Object
	e := engine.ErrNotFound(id)
	c.Read(func(t *engine.Tx) {
		if set := t.Find(setOfInstance(id).Key()); set != nil {
			if d := memberOf(t, set, id.Name()); d != nil {
				body, e = memberView(t, d, c.Query.Get("$expand")), nil
				if asView {
					body = instanceView(t, d)
				}
			}
		}
	})
	if e != nil {
		return e
	}
	c.Reply(http.StatusOK, body)
	return nil
}

// memberView returns a member in the form of a set's list of instances. For members of a Flexible
// set, the list has no tags and no instance view; the VMs themselves have them. Source:
// https://github.com/Azure/azure-rest-api-specs/issues/27441 and
// https://github.com/Azure/azure-sdk-for-go/issues/19707. That the ID is the VM's own ID is not
// proven.
func memberView(t *engine.Tx, d *engine.Doc, expand string) value.Object {
	if d.Type != typeVM {
		return t.View(d, expand)
	}
	body := t.View(d, "")
	body["instanceId"] = d.Parsed.Name()
	delete(body, "tags")
	return body
}

// chosen returns the members that a request names; no names or "*" mean all. Members that
// are being deleted are left out, and protected members are left out of a request for all.
func chosen(t *engine.Tx, set *engine.Doc, ids []string) ([]*engine.Doc, *engine.Error) {
	var out []*engine.Doc
	if len(ids) == 0 || len(ids) == 1 && ids[0] == "*" {
		for _, m := range members(t, set) {
			if !isDeleting(m) && !isProtectedFromActions(m) {
				out = append(out, m)
			}
		}
		return out, nil
	}
	seen := map[string]bool{}
	for _, id := range ids {
		m := memberOf(t, set, id)
		if m == nil {
			return nil, invalid("instanceIds", "The provided instanceId %s is not an active Virtual Machine Scale Set VM instanceId.", id)
		}
		if !isDeleting(m) && !seen[m.Key()] {
			out = append(out, m)
		}
		seen[m.Key()] = true
	}
	return out, nil
}

// onMembers starts an operation on the named members; change assigns a task to each. Like Azure, it
// does not wait for other operations on the set.
func onMembers(c *engine.Request, setID engine.ID, ids []string, method string, takes time.Duration,
	change func(t *engine.Tx, set *engine.Doc, members []*engine.Doc) *engine.Error) *engine.Error {
	var op *engine.Operation
	err := c.Update(func(t *engine.Tx) error {
		set := t.Find(setID.Key())
		if set == nil {
			return engine.ErrNotFound(setID)
		}
		if isDeleting(set) {
			return engine.Conflict("Conflict", "The virtual machine scale set %s is being deleted.", set.Parsed.Name())
		}
		members, e := chosen(t, set, ids)
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
		op = t.Begin(&engine.Operation{Method: method, Target: set.ID, Lock: fmt.Sprintf("%s/operations/%s", set.ID,
			uuid.NewString()), Style: engine.StyleCompute, Subscription: c.ID.Subscription,
			Namespace: c.ID.Namespace, Location: set.Location(), APIVersion: c.Version,
			Args: value.Object{"members": value.Anys(keys)}}, scaleTasks(), takes)
		return nil
	})
	return c.Accepted(op, err)
}

func assignTasks(c *engine.Request, set engine.ID, ids []string, what string, takes time.Duration) *engine.Error {
	return onMembers(c, set, ids, http.MethodPost, takes, func(t *engine.Tx, set *engine.Doc, members []*engine.Doc) *engine.Error {
		for _, m := range members {
			if what == taskReimage {
				e := t.Edit(m.ID)
				if failed := applyModel(t, set, e); failed != nil {
					return failed
				}
				t.Put(e)
				m = e
			}
			assign(t, m, what)
		}
		return nil
	})
}

// deleteInstances deletes the named instances and reduces the capacity by their number.
// Protection from scale-in does not prevent it, because the request names the instances.
func deleteInstances(c *engine.Request, set engine.ID, ids []string, method string) *engine.Error {
	return onMembers(c, set, ids, method, 20*time.Second, func(t *engine.Tx, set *engine.Doc, members []*engine.Doc) *engine.Error {
		for _, m := range members {
			assign(t, m, taskDelete)
		}
		e := t.Edit(set.ID)
		setCapacity(e, capacityOf(e)-len(members))
		t.Put(e)
		return nil
	})
}

// upgradeInstances applies the set's model to the named instances. A new image replaces the
// OS disk; otherwise the instance keeps its disks, and a new size restarts it.
func upgradeInstances(c *engine.Request, set engine.ID, ids []string) *engine.Error {
	return onMembers(c, set, ids, http.MethodPost, 60*time.Second, func(t *engine.Tx, set *engine.Doc,
		members []*engine.Doc) *engine.Error {
		if isFlexible(set) {
			return engine.BadRequest("OperationNotAllowed", "Upgrading instances is not supported for Virtual "+
				"Machine Scale Sets with the orchestration mode Flexible.")
		}
		for _, m := range members {
			if _, e := upgrade(t, set, m); e != nil {
				return e
			}
		}
		return nil
	})
}

// upgrade applies the model to one instance and assigns the task that results.
func upgrade(t *engine.Tx, set, m *engine.Doc) (*engine.Doc, *engine.Error) {
	was, e := m, t.Edit(m.ID)
	if failed := applyModel(t, set, e); failed != nil {
		return nil, failed
	}
	if failed := remakeNICs(t, set, e); failed != nil {
		return nil, failed
	}
	t.Put(e)
	what := taskTouch
	switch {
	case was.Hidden["model"] == e.Hidden["model"]:
	case imageOf(value.Sub(was.Body, "properties", "storageProfile",
		"imageReference")) != imageOf(value.Sub(e.Body, "properties", "storageProfile", "imageReference")):
		what = taskReimage
	case value.Str(was.Body, "sku", "name") != value.Str(e.Body, "sku", "name"):
		what = taskRestart
	}
	return assign(t, e, what), nil
}

// runInInstance executes Run Command on an instance.
func runInInstance(c *engine.Request, id engine.ID) *engine.Error {
	args, e := c.Body()
	if e != nil {
		return e
	}
	var op *engine.Operation
	err := c.Update(func(t *engine.Tx) error {
		set := t.Find(setOfInstance(id).Key())
		if set == nil {
			return engine.ErrNotFound(setOfInstance(id))
		}
		d := memberOf(t, set, id.Name())
		switch {
		case d == nil:
			return engine.ErrNotFound(id)
		case value.Str(d.Hidden, "power") != "running":
			return engine.Conflict("OperationNotAllowed", "The operation requires the VM to be running (or set to run).")
		}
		op = t.Begin(&engine.Operation{Method: http.MethodPost, Target: d.ID, Style: engine.StyleCompute, Subscription: c.ID.Subscription,
			Namespace: c.ID.Namespace, Location: d.Location(), APIVersion: c.Version, Args: args}, scaleRun(), 10*time.Second)
		return nil
	})
	return c.Accepted(op, err)
}

// prepareInstance validates a write of an instance. It can change the instance's protection and
// tags and must repeat the other properties unchanged.
func prepareInstance(_ *engine.Tx, d, old *engine.Doc) *engine.Error {
	if old == nil {
		return engine.ErrNotFound(d.Parsed)
	}
	if value.Str(old.Hidden, "todo") != "" {
		return engine.Conflict("Conflict",
			"The request failed due to conflict with a concurrent request: the instance %s is %s.",
			instanceName(old), value.Lower(old.State()))
	}
	if n := value.Items(value.Props(d.Body), "storageProfile", "dataDisks"); value.At(value.Props(d.Body),
		"storageProfile",
		"dataDisks") != nil && len(n) != len(value.Items(value.Props(old.Body), "storageProfile", "dataDisks")) {
		return engine.ErrUnsupported("attaching and detaching data disks of a scale set's instance")
	}
	body := value.CloneObject(old.Body)
	if tags := d.Body["tags"]; tags != nil {
		body["tags"] = tags
	}
	if policy := value.Props(d.Body)["protectionPolicy"]; policy != nil {
		value.Props(body)["protectionPolicy"] = policy
	}
	d.Body = body
	return nil
}

func refuseWrite(_ *engine.Tx, d, _ *engine.Doc) *engine.Error {
	return engine.ErrUnsupported("a write of " + d.Type + " apart from its scale set")
}

func refuseDelete(_ *engine.Tx, d *engine.Doc) *engine.Error { return refuseWrite(nil, d, nil) }
