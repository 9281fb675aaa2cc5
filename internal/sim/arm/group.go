package arm

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// serveGroups answers resource groups and the listings of what is in them.
func (c *call) serveGroups() *Error {
	switch {
	case len(c.id.Types) == 0 && c.id.Group == "" && c.r.Method == http.MethodGet:
		c.reply(http.StatusOK, c.s.subscription(c.id.Subscription))
		return nil
	case len(c.id.Types) == 0:
		return c.serveGroup()
	case lower(c.id.tail()) == "resources" && c.r.Method == http.MethodGet:
		return c.listResources()
	case lower(c.id.tail()) == "resourcegroups" && c.id.Group == "" && c.r.Method == http.MethodGet:
		return c.listGroups()
	}
	return errUnsupported(c.r.Method + " of " + c.r.URL.Path)
}

func (c *call) serveGroup() *Error {
	switch c.r.Method {
	case http.MethodGet, http.MethodHead:
		var body object
		c.s.read(func(t *tx) {
			if d := t.find(c.id.key()); d != nil {
				body = t.view(d, "")
			}
		})
		switch {
		case c.r.Method == http.MethodHead && body != nil:
			c.reply(http.StatusNoContent, nil)
		case c.r.Method == http.MethodHead:
			c.reply(http.StatusNotFound, nil)
		case body == nil:
			return errGroupNotFound(c.id.Group)
		default:
			c.reply(http.StatusOK, body)
		}
		return nil
	case http.MethodPut, http.MethodPatch:
		return c.putGroup()
	case http.MethodDelete:
		var op *operation
		err := c.s.update(func(t *tx) error {
			d := t.edit(c.id.key())
			if d == nil {
				return errGroupNotFound(c.id.Group)
			}
			if op = t.underway(d.key()); op != nil {
				return nil
			}
			props(d.Body)["provisioningState"] = "Deleting"
			t.put(d)
			op = t.begin(&operation{Method: http.MethodDelete, Target: d.ID, Style: styleGroup,
				Subscription: c.id.Subscription, Namespace: "Microsoft.Resources", Location: d.location(), APIVersion: c.version}, groupDelete(), 30*time.Second)
			return nil
		})
		return c.accepted(op, err)
	}
	return refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "The requested resource does not support http method '%s'.", c.r.Method)
}

func (c *call) putGroup() *Error {
	body, e := c.body()
	if e != nil {
		return e
	}
	var view object
	status := http.StatusOK
	err := c.s.update(func(t *tx) error {
		d := t.edit(c.id.key())
		switch {
		case d == nil && c.r.Method == http.MethodPatch:
			return errGroupNotFound(c.id.Group)
		case d == nil:
			if e := checkGroupName(c.id.Group); e != nil {
				return e
			}
			d = &doc{ID: c.id.String(), Type: typeGroup, Hidden: object{}, id: c.id}
			status = http.StatusCreated
		case d.state() == "Deleting":
			return conflict("ResourceGroupBeingDeleted", "The resource group '%s' is in deprovisioning state and cannot perform this operation.", c.id.Group)
		case c.r.Method == http.MethodPut && region(str(body, "location")) != d.location():
			return conflict("InvalidResourceGroupLocation", "Invalid resource group location '%s'. The Resource group already exists in location '%s'.", str(body, "location"), d.location())
		}
		if c.r.Method == http.MethodPatch {
			merge(d.Body, body)
		} else {
			if str(body, "location") == "" {
				return badRequest("LocationRequired", "The location property is required for this definition.")
			}
			d.Body = cloneObject(body)
			d.Body["location"] = region(str(body, "location"))
		}
		props(d.Body)["provisioningState"] = statusSucceeded
		t.put(d)
		view = t.view(d, "")
		return nil
	})
	if e := asError(err); e != nil {
		return e
	}
	c.reply(status, view)
	return nil
}

// groupDelete is the work that ends a group with all that is in it.
func groupDelete() Work {
	return Work{Name: "group.delete", Run: runGroupDelete, Finish: finishGroupDelete}
}

// runGroupDelete deletes what is in the group, revisiting what is refused until
// nothing goes any more.
func runGroupDelete(ctx context.Context, s *Server, op *operation) (any, *Error) {
	for {
		var open []*operation
		var refused *Error
		progress := false
		err := s.update(func(t *tx) error {
			open, refused, progress = t.deleteBelow(op)
			return nil
		})
		if err != nil {
			return nil, asError(err)
		}
		if len(open) == 0 && !progress {
			return nil, refused
		}
		for _, o := range open {
			if e := s.awaitEnd(ctx, o.ID); e != nil {
				return nil, e
			}
		}
	}
}

func finishGroupDelete(t *tx, op *operation, _ any, err *Error) {
	if err != nil {
		if d := t.edit(op.Target); d != nil {
			props(d.Body)["provisioningState"] = statusSucceeded
			t.put(d)
		}
		return
	}
	t.drop(op.Target)
}

// groupOdd are the characters that no resource group's name has.
// Source: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules.
var groupOdd = regexp.MustCompile(`[^\p{L}\p{N}_.()-]`)

// checkGroupName refuses a new resource group's name.
func checkGroupName(name string) *Error {
	switch odd := groupOdd.FindString(name); {
	case odd != "":
		return badRequest("InvalidResourceGroup", "The provided resource group name '%s' has these invalid characters: '%s'. The name can only be a letter, digit, '-', '.', '(', ')' or '_'.", name, odd)
	case len(name) > 90:
		return badRequest("InvalidResourceGroup", "The provided resource group name '%s' has a length of '%d' which exceeds the maximum length of '90'.", name, len(name))
	case strings.HasSuffix(name, "."):
		return badRequest("InvalidResourceGroup", "The provided resource group name '%s' ends with '.', which is not allowed.", name)
	}
	return nil
}

// groupType is the row of resource groups, which ARM's paths name without a provider.
func groupType() Type {
	return Type{Name: typeGroup, Style: styleGroup, Untracked: true, Delete: groupDelete()}
}
