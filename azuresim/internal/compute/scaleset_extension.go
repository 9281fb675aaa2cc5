package compute

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/defaults"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// typeScaleExt is the type of an extension in a set's model. It is stored only in the
// model: writing an extension writes the set.
const typeScaleExt = typeScale + "/extensions"

func scaleExtensionType() engine.Type {
	return engine.Type{Name: typeScaleExt, Style: engine.StyleCompute, Global: true, Untracked: true, Serve: serveScaleExtension}
}

// serveScaleExtension answers for the extensions of a set.
func serveScaleExtension(c *engine.Request) (bool, *engine.Error) {
	set, ok := c.ID.Parent()
	switch {
	case !ok:
		return false, nil
	case !c.ID.IsResource():
		return c.HTTP.Method == http.MethodGet, listScaleExtensions(c, set)
	case c.HTTP.Method == http.MethodGet:
		return true, getScaleExtension(c, set)
	case c.HTTP.Method == http.MethodPut, c.HTTP.Method == http.MethodPatch:
		return true, putScaleExtension(c, set)
	case c.HTTP.Method == http.MethodDelete:
		return true, deleteScaleExtension(c, set)
	}
	return false, nil
}

// scaleSetNamed returns the set whose extensions a request names.
func scaleSetNamed(t *engine.Tx, id engine.ID) (*engine.Doc, *engine.Error) {
	if t.Record(id.GroupID().Key()) == nil {
		return nil, engine.ErrGroupNotFound(id.Group)
	}
	set := t.Find(id.Key())
	if set == nil {
		return nil, engine.ErrNotFound(id)
	}
	return set, nil
}

func listScaleExtensions(c *engine.Request, id engine.ID) (e *engine.Error) {
	out := []any{}
	c.Read(func(t *engine.Tx) {
		var set *engine.Doc
		if set, e = scaleSetNamed(t, id); e != nil {
			return
		}
		for _, x := range scaleExtensions(set) {
			out = append(out, viewScaleExtension(set, x, set.State()))
		}
	})
	if e == nil {
		c.Reply(http.StatusOK, value.Object{"value": out})
	}
	return e
}

func getScaleExtension(c *engine.Request, id engine.ID) (e *engine.Error) {
	var body value.Object
	c.Read(func(t *engine.Tx) {
		set, missing := scaleSetNamed(t, id)
		if e = missing; e != nil {
			return
		}
		if x := scaleExtension(set, c.ID.Name()); x != nil {
			body = viewScaleExtension(set, x, set.State())
			return
		}
		e = engine.Refuse(http.StatusNotFound, "NotFound", "The entity was not found in this Azure location.")
	})
	if e == nil {
		c.Reply(http.StatusOK, body)
	}
	return e
}

func putScaleExtension(c *engine.Request, id engine.ID) *engine.Error {
	body, e := c.Body()
	if e != nil {
		return e
	}
	status, state := http.StatusOK, "Updating"
	var view value.Object
	op, e := writeScaleSet(c, id, func(set *engine.Doc) *engine.Error {
		x := scaleExtension(set, c.ID.Name())
		if x == nil {
			if c.HTTP.Method == http.MethodPut {
				status, state = http.StatusCreated, "Creating"
			}
			profile := value.Ensure(profileOf(set), "extensionProfile")
			x = value.Object{"name": c.ID.Name()}
			profile["extensions"] = append(value.List(value.Items(profile, "extensions")), x)
		}
		if asked := value.Sub(body, "properties"); c.HTTP.Method == http.MethodPut {
			maps.Copy(value.Props(x), asked) // a PUT keeps properties that it does not mention; Terraform's provider relies on this
		} else {
			value.Merge(value.Props(x), asked)
		}
		for _, field := range []string{"publisher", "type", "typeHandlerVersion"} {
			if value.Str(value.Props(x), field) == "" {
				return invalid(field, "Required parameter '%s' is missing (null).", field)
			}
		}
		return checkHandler(value.Props(x))
	}, func(set *engine.Doc) { view = viewScaleExtension(set, scaleExtension(set, c.ID.Name()), state) })
	if e != nil {
		return e
	}
	op.Headers(c.Writer.Header(), c.Server, c.Host)
	c.Reply(status, view)
	return nil
}

func deleteScaleExtension(c *engine.Request, id engine.ID) *engine.Error {
	there := false
	op, e := writeScaleSet(c, id, func(set *engine.Doc) *engine.Error {
		profile := value.Sub(profileOf(set), "extensionProfile")
		before := value.Items(profile, "extensions")
		after := slices.DeleteFunc(slices.Clone(before),
			func(x value.Object) bool { return strings.EqualFold(value.Str(x, "name"), c.ID.Name()) })
		if there = len(after) < len(before); there {
			profile["extensions"] = value.List(after)
		}
		return nil
	}, func(*engine.Doc) {})
	if e != nil {
		return e
	}
	if !there {
		op = nil
	}
	return c.Accepted(op, nil)
}

// writeScaleSet changes the model of a set and starts the operation that applies it to the
// instances; done is called with the changed set.
func writeScaleSet(c *engine.Request, id engine.ID, change func(*engine.Doc) *engine.Error,
	done func(*engine.Doc)) (*engine.Operation, *engine.Error) {
	var op *engine.Operation
	err := c.Update(func(t *engine.Tx) error {
		old, e := scaleSetNamed(t, id)
		if e != nil {
			return e
		}
		t.Supersede(id.Key())
		if e := t.Writable(id, id.Key(), ""); e != nil {
			return e
		}
		set := t.Edit(id.Key())
		if profileOf(set) == nil {
			return engine.Conflict("OperationNotAllowed",
				"The virtual machine scale set %s has no virtual machine profile.", set.Parsed.Name())
		}
		if e := change(set); e != nil {
			return e
		}
		if e := prepareScaleSet(t, set, old); e != nil {
			return e
		}
		value.Props(set.Body)["provisioningState"] = "Updating"
		t.Put(set)
		op = t.Begin(&engine.Operation{Method: c.HTTP.Method, Target: set.ID, Style: engine.StyleCompute, Subscription: c.ID.Subscription,
			Namespace: c.ID.Namespace, Location: set.Location(), APIVersion: c.Version}, scalePut(), 10*time.Second)
		done(set)
		return nil
	})
	return op, engine.AsError(err)
}

// scaleExtensions returns the extensions in a set's model.
func scaleExtensions(set *engine.Doc) []value.Object {
	return value.Items(profileOf(set), "extensionProfile", "extensions")
}

// scaleExtension returns the extension with a name in a set's model, or nil.
func scaleExtension(set *engine.Doc, name string) value.Object {
	for _, x := range scaleExtensions(set) {
		if strings.EqualFold(value.Str(x, "name"), name) {
			return x
		}
	}
	return nil
}

// viewScaleExtension returns an extension as a resource with the provisioning state of the set.
func viewScaleExtension(set *engine.Doc, x value.Object, state string) value.Object {
	p := value.CloneObject(value.Sub(x, "properties"))
	p["provisioningState"] = state
	delete(p, "protectedSettings")
	name := value.Str(x, "name")
	shown := value.Object{"name": name, "id": set.ID + "/extensions/" + name, "type": typeScaleExt, "properties": p}
	defaults.Fill(typeScaleExt, "", shown)
	return shown
}
