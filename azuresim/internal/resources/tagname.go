package resources

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// typeTagName is the type under which the store contains the names and values of tags that a
// subscription has without a resource.
const typeTagName = resourcesSpace + "/tagNames"

func tagNameType() engine.Type {
	return engine.Type{Name: typeTagName, Internal: true, Untracked: true, Global: true, Opaque: true, Style: engine.StyleGroup, Sync: true}
}

// answerTagName answers the writes of /subscriptions/S/tagNames/N and of its tagValues; it returns
// false for any other path. Source: https://learn.microsoft.com/rest/api/resources/tags; recordings
// of the SDK.
func answerTagName(c *engine.Request) (bool, *engine.Error) {
	path, method := value.Lower(c.ID.ChildType()), c.HTTP.Method
	if c.ID.Namespace != "" || c.ID.Group != "" || !c.ID.IsResource() || path != "tagnames" && path != "tagnames/tagvalues" {
		return false, nil
	}
	name, of := c.ID.Names[0], ""
	if path != "tagnames" {
		of = c.ID.Names[1]
	}
	var status int
	var shown value.Object
	err := c.Update(func(t *engine.Tx) error {
		var e *engine.Error
		id := engine.ID{Subscription: c.ID.Subscription, Types: []string{"tagNames"}, Names: []string{name}}
		switch method {
		case http.MethodPut:
			status, e = putTagName(t, id, of)
		case http.MethodDelete:
			status, e = deleteTagName(t, id, of)
		default:
			e = engine.NotAllowed(method)
		}
		if e != nil {
			return e
		}
		shown = tagEntry(id, name, tagsInUse(t, c.ID.Subscription)[name])
		return nil
	})
	if e := engine.AsError(err); e != nil {
		return true, e
	}
	switch {
	case method == http.MethodDelete:
		c.Reply(status, nil)
	case of == "":
		c.Reply(status, shown)
	default:
		i := slices.IndexFunc(value.Items(shown, "values"), func(v value.Object) bool { return value.Str(v, "tagValue") == of })
		c.Reply(status, value.Items(shown, "values")[i])
	}
	return true, nil
}

// putTagName stores a tag name, or a value of a stored name.
func putTagName(t *engine.Tx, id engine.ID, of string) (status int, e *engine.Error) {
	d := t.Edit(id.Key())
	switch {
	case d == nil && of != "":
		return 0, engine.Refuse(http.StatusNotFound, "TagNotFound", "The tag '%s' could not be found.", id.Name())
	case d != nil && (of == "" || value.Sub(d.Body, "values")[of] != nil):
		return http.StatusOK, nil
	case d == nil:
		d = &engine.Doc{ID: id.String(), Type: typeTagName, Parsed: id, Hidden: value.Object{}, Body: value.Object{}}
	}
	if of != "" {
		value.Ensure(d.Body, "values")[of] = true
	}
	t.Put(d)
	return http.StatusCreated, nil
}

// deleteTagName deletes a stored name or value that no resource has.
func deleteTagName(t *engine.Tx, id engine.ID, of string) (status int, e *engine.Error) {
	d := t.Edit(id.Key())
	if d == nil || of != "" && value.Sub(d.Body, "values")[of] == nil {
		return http.StatusNoContent, nil
	}
	used := 0
	for value, n := range tagsInUse(t, id.Subscription)[d.Parsed.Name()] {
		if of == "" || value == of {
			used += n
		}
	}
	if used > 0 {
		return 0, engine.Conflict("TagInUse", "The tag '%s' cannot be deleted: %d resources have it.",
			strings.TrimSuffix(id.Name()+"/"+of, "/"), used)
	}
	if of == "" {
		t.Drop(d.ID)
		return http.StatusOK, nil
	}
	delete(value.Sub(d.Body, "values"), of)
	t.Put(d)
	return http.StatusOK, nil
}

// tagsInUse returns the number of resources of a subscription that have each value of each tag; 0
// for stored tags without a resource.
func tagsInUse(t *engine.Tx, subscription string) map[string]map[string]int {
	used := map[string]map[string]int{}
	count := func(name, of string, n int) {
		if used[name] == nil {
			used[name] = map[string]int{}
		}
		if of != "" || n > 0 {
			used[name][of] += n
		}
	}
	for r := range engine.Ascend(t.Order, "/subscriptions/"+value.Lower(subscription)) {
		d := t.Doc(r)
		for name := range value.Sub(d.Body, "tags") {
			count(name, value.Str(d.Body, "tags", name), 1)
		}
		if d.Type == typeTagName {
			count(d.Parsed.Name(), "", 0)
			for of := range maps.Keys(value.Sub(d.Body, "values")) {
				count(d.Parsed.Name(), of, 0)
			}
		}
	}
	return used
}

// tagEntry returns a tag with its values as answers show it.
func tagEntry(id engine.ID, name string, used map[string]int) value.Object {
	id.Names = []string{name}
	number := func(n int) value.Object { return value.Object{"type": "Total", "value": n} }
	values, total := []any{}, 0
	for _, of := range value.SortedKeys(used) {
		total += used[of]
		values = append(values, value.Object{"id": id.String() + "/tagValues/" + of, "tagValue": of, "count": number(used[of])})
	}
	return value.Object{"id": id.String(), "tagName": name, "count": number(total), "values": values}
}

// tagNames returns the tags of a subscription: the tags of its resources and the stored tags
// without a resource.
func tagNames(c *engine.Request) []any {
	out := []any{}
	c.Server.Read(func(t *engine.Tx) {
		used := tagsInUse(t, c.ID.Subscription)
		for _, name := range value.SortedKeys(used) {
			out = append(out, tagEntry(engine.ID{Subscription: c.ID.Subscription, Types: []string{"tagNames"}}, name, used[name]))
		}
	})
	return out
}
