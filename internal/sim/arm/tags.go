package arm

import (
	"maps"
	"net/http"
	"strings"
)

// maxTags is ARM's limit of tags on one resource.
const maxTags = 50

// answerTags answers {scope}/providers/Microsoft.Resources/tags/default; false
// means that the path is something else.
func answerTags(c *call) (bool, *Error) {
	id := c.id
	if lower(id.fullType()) != "microsoft.resources/tags" || len(id.Names) != 1 {
		return false, nil
	}
	owner := resourceID{Subscription: id.Subscription, Group: id.Group}
	switch {
	case id.Scope != nil:
		owner = *id.Scope
	case id.Group == "":
		return true, errUnsupported("tags on a subscription")
	}
	if lower(id.name()) != "default" {
		return true, badRequest("InvalidResourceName", "The name of a tags resource is 'default'.")
	}
	var body object
	if c.r.Method == http.MethodPut || c.r.Method == http.MethodPatch {
		var e *Error
		if body, e = c.body(); e != nil {
			return true, e
		}
	}
	var tags object
	err := c.s.update(func(t *tx) error {
		d := t.edit(owner.key())
		if d == nil {
			if owner.Namespace == "" {
				return errGroupNotFound(owner.Group)
			}
			return errNotFound(owner)
		}
		next, e := newTags(c.r.Method, sub(d.Body, "tags"), body)
		if e != nil {
			return e
		}
		if tags = next; c.r.Method != http.MethodGet {
			d.Body["tags"] = next
			t.put(d)
		}
		return nil
	})
	if e := asError(err); e != nil {
		return true, e
	}
	if c.r.Method == http.MethodDelete {
		c.reply(http.StatusOK, nil)
		return true, nil
	}
	c.reply(http.StatusOK, object{"id": owner.String() + "/providers/Microsoft.Resources/tags/default", "name": "default", "type": "Microsoft.Resources/tags", "properties": object{"tags": tags}})
	return true, nil
}

// newTags is what a request makes of the tags there are.
func newTags(method string, old, body object) (object, *Error) {
	given := sub(body, "properties", "tags")
	next := object{}
	switch method {
	case http.MethodGet:
		maps.Copy(next, old)
		return next, nil
	case http.MethodDelete:
		return next, nil
	case http.MethodPut:
		maps.Copy(next, given)
	case http.MethodPatch:
		switch lower(str(body, "operation")) {
		case "replace":
			maps.Copy(next, given)
		case "merge":
			maps.Copy(next, old)
			maps.Copy(next, given)
		case "delete":
			maps.Copy(next, old)
			maps.DeleteFunc(next, func(k string, _ any) bool {
				for g := range given {
					if strings.EqualFold(g, k) {
						return true
					}
				}
				return false
			})
		default:
			return nil, badRequest("InvalidTagPatchOperation", "The operation '%s' is none of Merge, Replace, Delete.", str(body, "operation"))
		}
	default:
		return nil, refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "The requested resource does not support http method '%s'.", method)
	}
	for name, v := range next {
		if s, ok := v.(string); !ok || name == "" || len(name) > 512 || len(s) > 256 {
			return nil, badRequest("InvalidTagNameOrValue", "The tag '%s' has a name over 512 characters, or a value that is no text of at most 256.", name)
		}
	}
	if len(next) > maxTags {
		return nil, badRequest("TagsLimitExceeded", "The number of tags %d exceeds the limit of %d.", len(next), maxTags)
	}
	return next, nil
}
