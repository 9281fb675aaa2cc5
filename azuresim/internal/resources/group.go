package resources

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// serveGroups answers requests to resource groups and lists of the resources in them.
func serveGroups(c *engine.Request) *engine.Error {
	switch {
	case len(c.ID.Types) == 0 && c.ID.Group == "" && c.HTTP.Method == http.MethodGet:
		c.Reply(http.StatusOK, subscription(c.Server, c.ID.Subscription))
		return nil
	case len(c.ID.Types) == 0:
		return serveGroup(c)
	case value.Lower(c.ID.Tail()) == "exporttemplate" && c.ID.Group != "" && len(c.ID.Names) == 0 && c.HTTP.Method == http.MethodPost:
		return exportGroup(c)
	case value.Lower(c.ID.Tail()) == "resources" && c.HTTP.Method == http.MethodGet:
		return c.ListResources()
	case value.Lower(c.ID.Tail()) == "resourcegroups" && c.ID.Group == "" && c.HTTP.Method == http.MethodGet:
		return c.ListGroups()
	}
	return engine.ErrUnsupported(c.HTTP.Method + " of " + c.HTTP.URL.Path)
}

func serveGroup(c *engine.Request) *engine.Error {
	switch c.HTTP.Method {
	case http.MethodGet, http.MethodHead:
		var body value.Object
		c.Server.Read(func(t *engine.Tx) {
			if d := t.Find(c.ID.Key()); d != nil {
				body = t.View(d, "")
			}
		})
		switch {
		case c.HTTP.Method == http.MethodHead && body != nil:
			c.Reply(http.StatusNoContent, nil)
		case c.HTTP.Method == http.MethodHead:
			c.Reply(http.StatusNotFound, nil)
		case body == nil:
			return engine.ErrGroupNotFound(c.ID.Group)
		default:
			c.Reply(http.StatusOK, body)
		}
		return nil
	case http.MethodPut, http.MethodPatch:
		return putGroup(c)
	case http.MethodDelete:
		var op *engine.Operation
		err := c.Server.Update(func(t *engine.Tx) error {
			d := t.Edit(c.ID.Key())
			if d == nil {
				return engine.ErrGroupNotFound(c.ID.Group)
			}
			if op = t.Underway(d.Key()); op != nil {
				return nil
			}
			value.Props(d.Body)["provisioningState"] = "Deleting"
			t.Put(d)
			op = t.Begin(&engine.Operation{Method: http.MethodDelete, Target: d.ID, Style: engine.StyleGroup,
				Subscription: c.ID.Subscription, Namespace: "Microsoft.Resources", Location: d.Location(),
				APIVersion: c.Version}, groupDelete(), 30*time.Second)
			return nil
		})
		return c.Accepted(op, err)
	}
	return engine.NotAllowed(c.HTTP.Method)
}

func putGroup(c *engine.Request) *engine.Error {
	body, e := c.Body()
	if e != nil {
		return e
	}
	missing, e := engine.Malformed(c, body)
	if e != nil {
		return e
	}
	var view value.Object
	status := http.StatusOK
	err := c.Server.Update(func(t *engine.Tx) error {
		d := t.Edit(c.ID.Key())
		switch {
		case d == nil && c.HTTP.Method == http.MethodPatch:
			return engine.ErrGroupNotFound(c.ID.Group)
		case d == nil:
			if e := checkGroupName(c.ID.Group); e != nil {
				return e
			}
			if place := value.Str(body, "location"); place != "" {
				if e := engine.CheckPlace(place, ""); e != nil {
					return e
				}
			}
			d = &engine.Doc{ID: c.ID.String(), Type: engine.TypeGroup, Hidden: value.Object{}, Parsed: c.ID}
			status = http.StatusCreated
		case d.State() == "Deleting":
			return engine.Conflict("ResourceGroupBeingDeleted",
				"The resource group '%s' is in deprovisioning state and cannot perform this operation.", c.ID.Group)
		case c.HTTP.Method == http.MethodPut && engine.Region(value.Str(body, "location")) != d.Location():
			return engine.Conflict("InvalidResourceGroupLocation",
				"Invalid resource group location '%s'. The Resource group already exists in location '%s'.",
				value.Str(body, "location"), d.Location())
		}
		if c.HTTP.Method == http.MethodPatch {
			value.Merge(d.Body, body)
		} else {
			if value.Str(body, "location") == "" {
				return engine.BadRequest("LocationRequired", "The location property is required for this definition.")
			}
			if missing != nil {
				return missing
			}
			d.Body = value.CloneObject(body)
			d.Body["location"] = engine.Region(value.Str(body, "location"))
		}
		value.Props(d.Body)["provisioningState"] = engine.StatusSucceeded
		t.Put(d)
		view = t.View(d, "")
		return nil
	})
	if e := engine.AsError(err); e != nil {
		return e
	}
	c.Reply(status, view)
	return nil
}

// groupDelete returns the work that deletes a group with all its resources.
func groupDelete() engine.Work {
	return engine.Work{Name: "group.delete", Run: runGroupDelete, Finish: finishGroupDelete}
}

// beginsAfter is the time until Azure deletes the first resource of a group; Azure promises no
// figure.
const beginsAfter = 2 * time.Second

// runGroupDelete deletes the resources in the group, and tries refused ones again until no
// delete succeeds any more.
func runGroupDelete(ctx context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	if s.Until(ctx, op.Start.Add(s.Latency(beginsAfter))) != nil {
		return nil, engine.Refuse(http.StatusServiceUnavailable, "ServerTimeout", "The local Azure is stopping.")
	}
	for {
		var open []*engine.Operation
		var refused *engine.Error
		progress := false
		err := s.Update(func(t *engine.Tx) error {
			open, refused, progress = t.DeleteBelow(op)
			return nil
		})
		if err != nil {
			return nil, engine.AsError(err)
		}
		if len(open) == 0 && !progress {
			return nil, refused
		}
		for _, o := range open {
			if e := s.AwaitEnd(ctx, o.ID); e != nil {
				return nil, e
			}
		}
	}
}

func finishGroupDelete(t *engine.Tx, op *engine.Operation, _ any, err *engine.Error) {
	if err != nil {
		if d := t.Edit(op.Target); d != nil {
			value.Props(d.Body)["provisioningState"] = engine.StatusSucceeded
			t.Put(d)
		}
		return
	}
	t.Drop(op.Target)
}

// groupOdd matches a character that names of resource groups cannot contain. Source:
// https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules.
var groupOdd = regexp.MustCompile(`[^\p{L}\p{N}_.()-]`)

// checkGroupName returns an error for a name that a new resource group cannot have.
func checkGroupName(name string) *engine.Error {
	switch odd := groupOdd.FindString(name); {
	case odd != "":
		return engine.BadRequest("InvalidResourceGroup", "The provided resource group name '%s' has these "+
			"invalid characters: '%s'. The name can only be a letter, digit, '-', '.', '(', ')' or "+
			"'_'.", name, odd)
	case len(name) > 90:
		return engine.BadRequest("InvalidResourceGroup",
			"The provided resource group name '%s' has a length of '%d' which exceeds the maximum length of '90'.",
			name, len(name))
	case strings.HasSuffix(name, "."):
		return engine.BadRequest("InvalidResourceGroup", "The provided resource group name '%s' ends with '.', which is not allowed.", name)
	}
	return nil
}

// groupType returns the resource type of resource groups, which ARM's paths name without a
// provider.
func groupType() engine.Type {
	return engine.Type{Name: engine.TypeGroup, Style: engine.StyleGroup, Untracked: true, Delete: groupDelete()}
}
