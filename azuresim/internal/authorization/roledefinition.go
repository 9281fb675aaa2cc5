package authorization

import (
	_ "embed"
	"net/http"
	"slices"
	"strings"
	"sync"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const typeDefinition = "Microsoft.Authorization/roleDefinitions"

//go:embed roles.tsv
var rolesTSV string

// role is a built-in role.
type role struct {
	id, name, description            string
	actions, notActions, dataActions []string
}

// roles returns the built-in roles that clusters use.
var roles = sync.OnceValue(func() []role {
	list := func(cell string) []string {
		if cell == "-" {
			return nil
		}
		return strings.Fields(cell)
	}
	var out []role
	for line := range strings.Lines(rolesTSV) {
		if cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); !strings.HasPrefix(line, "#") {
			out = append(out, role{id: cells[0], name: cells[1], actions: list(cells[2]),
				notActions: list(cells[3]), dataActions: list(cells[4]), description: cells[5]})
		}
	}
	return out
})

// view returns a built-in role in the form that clients see at a scope; "" is the tenant.
func (r role) view(scope string) value.Object {
	return value.Object{"id": scope + "/providers/" + typeDefinition + "/" +
		r.id, "name": r.id, "type": typeDefinition, "properties": value.Object{
		"roleName": r.name, "type": "BuiltInRole", "description": r.description, "assignableScopes": []any{"/"},
		"permissions": []any{value.Object{"actions": value.Anys(r.actions), "notActions": value.Anys(r.notActions),
			"dataActions": value.Anys(r.dataActions), "notDataActions": []any{}}},
		// Azure's own dates differ by role; the names of the writers are empty.
		"createdOn": "2015-02-02T21:55:09.8806423Z", "updatedOn": "2023-07-10T15:10:53.8947865Z", "createdBy": nil, "updatedBy": nil,
	}}
}

// allows reports whether actions include and notActions do not include an operation, such as
// Microsoft.Compute/virtualMachines/write.
func allows(actions, notActions []string, operation string) bool {
	has := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return within(strings.Split(value.Lower(p), "*"), value.Lower(operation)) })
	}
	return has(actions) && !has(notActions)
}

// within reports whether a text contains the parts of a pattern in order, with the first part at
// its beginning and the last part at its end.
func within(parts []string, text string) bool {
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return text == first
	}
	if !strings.HasPrefix(text, first) || len(text) < len(first)+len(last) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// permits reports whether a role, built-in or custom, permits an operation.
func permits(t *engine.Tx, name, operation string) bool {
	if r, ok := builtIn(name); ok {
		return allows(r.actions, r.notActions, operation)
	}
	for _, d := range t.All(typeDefinition, "") {
		if !strings.EqualFold(d.Parsed.Name(), name) {
			continue
		}
		return slices.ContainsFunc(value.Items(value.Sub(d.Body, "properties"), "permissions"), func(p value.Object) bool {
			return allows(value.Texts(p, "actions"), value.Texts(p, "notActions"), operation)
		})
	}
	return false
}

// builtIn returns the built-in role with an ID; false if there is none.
func builtIn(id string) (role, bool) {
	i := slices.IndexFunc(roles(), func(r role) bool { return strings.EqualFold(r.id, id) })
	if i < 0 {
		return role{}, false
	}
	return roles()[i], true
}

// definitionThere returns an error for a role that does not exist.
func definitionThere(t *engine.Tx, definition string) *engine.Error {
	id, err := engine.ParseID(definition)
	if err == nil {
		if _, known := builtIn(id.Name()); known || t.Find(canonical(id).Key()) != nil {
			return nil
		}
	}
	return engine.BadRequest("RoleDefinitionDoesNotExist", "The specified role definition with ID '%s' does not exist.", id.Name())
}

// canonical returns the ID of a role definition at the subscription, for a request at any scope.
func canonical(id engine.ID) engine.ID {
	id.Scope, id.Group = nil, ""
	return id
}

// serveDefinition answers reads of roles, including built-in ones. It leaves other requests
// to the engine, under the ID at the subscription.
func serveDefinition(c *engine.Request) (bool, *engine.Error) {
	if len(c.ID.Names) > 0 {
		c.ID = canonical(c.ID)
	}
	if c.HTTP.Method != http.MethodGet {
		return false, nil
	}
	return readDefinitions(c, "/subscriptions/"+c.ID.Subscription)
}

// serveTenant answers reads of roles above subscriptions.
func serveTenant(c *engine.Request) (bool, *engine.Error) {
	if c.HTTP.Method != http.MethodGet || c.ID.Scope != nil || !strings.EqualFold(c.ID.FullType(), typeDefinition) {
		return false, nil
	}
	if handled, e := readDefinitions(c, ""); handled {
		return true, e
	}
	return true, notFound(c.ID)
}

// readDefinitions answers the list of the roles at a scope, or one built-in role.
func readDefinitions(c *engine.Request, scope string) (bool, *engine.Error) {
	if len(c.ID.Names) == 0 {
		c.Reply(http.StatusOK, value.Object{"value": definitions(c, scope)})
		return true, nil
	}
	if r, known := builtIn(c.ID.Name()); known {
		c.Reply(http.StatusOK, r.view(scope))
		return true, nil
	}
	return false, nil
}

// definitions returns the roles at a scope that match the request's $filter.
func definitions(c *engine.Request, scope string) []any {
	name, typ := filterValue(c, "roleName"), filterValue(c, "type")
	out := []any{}
	keep := func(v value.Object) {
		p := value.Props(v)
		if (name == "" || strings.EqualFold(value.Str(p, "roleName"), name)) &&
			(typ == "" || strings.EqualFold(value.Str(p, "type"), typ)) {
			out = append(out, v)
		}
	}
	for _, r := range roles() {
		keep(r.view(scope))
	}
	c.Server.Read(func(t *engine.Tx) {
		for _, d := range t.All(typeDefinition, scope) {
			keep(t.View(d, ""))
		}
	})
	return out
}

// prepareDefinition validates a custom role and sets its defaults.
func prepareDefinition(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	if value.Str(p, "roleName") == "" {
		return engine.BadRequest("InvalidRequestContent", "The role definition needs properties.roleName.")
	}
	for _, other := range t.All(typeDefinition, "") {
		if other.Key() != d.Key() && strings.EqualFold(value.Str(other.Body, "properties", "roleName"), value.Str(p, "roleName")) {
			return engine.Conflict("RoleDefinitionWithSameNameExists",
				"A custom role with the same name already exists in this directory. Use a different name")
		}
	}
	p["type"] = "CustomRole"
	signRole(t, p, old)
	return nil
}
