package resources

import (
	"maps"
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// answerTags answers {scope}/providers/Microsoft.Resources/tags/default; it returns false for any
// other path.
func answerTags(c *engine.Request) (bool, *engine.Error) {
	id := c.ID
	if value.Lower(id.FullType()) != "microsoft.resources/tags" || len(id.Names) != 1 {
		return false, nil
	}
	owner := engine.ID{Subscription: id.Subscription, Group: id.Group}
	switch {
	case id.Scope != nil:
		owner = *id.Scope
	case id.Group == "":
		return true, engine.ErrUnsupported("tags on a subscription")
	}
	if value.Lower(id.Name()) != "default" {
		return true, engine.BadRequest("InvalidResourceName", "The name of a tags resource is 'default'.")
	}
	var body value.Object
	if c.HTTP.Method == http.MethodPut || c.HTTP.Method == http.MethodPatch {
		var e *engine.Error
		if body, e = c.Body(); e != nil {
			return true, e
		}
	}
	var tags value.Object
	err := c.Server.Update(func(t *engine.Tx) error {
		d := t.Edit(owner.Key())
		if d == nil {
			if owner.Namespace == "" {
				return engine.ErrGroupNotFound(owner.Group)
			}
			return engine.ErrNotFound(owner)
		}
		next, e := newTags(c.HTTP.Method, value.Sub(d.Body, "tags"), body)
		if e != nil {
			return e
		}
		if tags = next; c.HTTP.Method != http.MethodGet {
			d.Body["tags"] = next
			t.Put(d)
		}
		return nil
	})
	if e := engine.AsError(err); e != nil {
		return true, e
	}
	if c.HTTP.Method == http.MethodDelete {
		c.Reply(http.StatusOK, nil)
		return true, nil
	}
	c.Reply(http.StatusOK, value.Object{"id": owner.String() + "/providers/Microsoft.Resources/tags/default",
		"name": "default", "type": "Microsoft.Resources/tags", "properties": value.Object{"tags": tags}})
	return true, nil
}

// newTags returns the tags after a request that merges, replaces or deletes tags.
func newTags(method string, old, body value.Object) (value.Object, *engine.Error) {
	given := value.Sub(body, "properties", "tags")
	next := value.Object{}
	switch method {
	case http.MethodGet:
		maps.Copy(next, old)
		return next, nil
	case http.MethodDelete:
		return next, nil
	case http.MethodPut:
		maps.Copy(next, given)
	case http.MethodPatch:
		switch value.Lower(value.Str(body, "operation")) {
		case "replace":
			maps.Copy(next, given)
		case "merge":
			maps.Copy(next, old)
			maps.Copy(next, given)
		case "delete":
			maps.Copy(next, old)
			maps.DeleteFunc(next, func(k string, v any) bool {
				for g, of := range given { // a tag with another value remains
					if strings.EqualFold(g, k) && of == v {
						return true
					}
				}
				return false
			})
		default:
			return nil, engine.BadRequest("InvalidTagPatchOperation",
				"The operation '%s' is none of Merge, Replace, Delete.", value.Str(body, "operation"))
		}
	default:
		return nil, engine.NotAllowed(method)
	}
	for name, v := range next {
		if _, ok := v.(string); !ok {
			return nil, engine.BadRequest("InvalidTagNameOrValue", "The value of the tag '%s' is no text.", name)
		}
	}
	if e := engine.CheckTags(next); e != nil {
		return nil, e
	}
	return next, nil
}
