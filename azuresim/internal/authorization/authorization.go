// Package authorization is the resource provider Microsoft.Authorization of the local Azure: role
// assignments, role definitions, locks. It imports no other provider; only package azuresim imports
// it.
package authorization

import (
	"net/http"
	"regexp"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// New returns the provider Microsoft.Authorization: role assignments, custom roles and
// locks.
func New() engine.Provider {
	return engine.Provider{
		Namespace: "Microsoft.Authorization",
		Types: []engine.Type{
			{Name: typeAssignment, Sync: true, Stateless: true,
				Echoed: true, Global: true, Prepare: prepareAssignment, Rests: restsRole, View: viewRole,
				Serve: serveAssigned},
			// Source:
			// https://learn.microsoft.com/rest/api/authorization/role-definitions/create-or-update,
			// which lists only 201.
			{Name: typeDefinition, Sync: true, Stateless: true, Written: http.StatusCreated,
				Echoed: true, Global: true, Prepare: prepareDefinition, Rests: restsRole, View: viewRole,
				Serve: serveDefinition},
			{Name: typeLock, Sync: true,
				Stateless: true, Global: true, Prepare: prepareLock, Serve: serveAssigned},
			{Name: "Microsoft.Authorization/denyAssignments", Sync: true, Stateless: true, Global: true, Serve: serveDenied},
		},
		Refuse:   refused,
		Roles:    rolesOf,
		NotFound: notFound,
		Tenant:   serveTenant,
	}
}

// notFound returns the error for a role assignment or definition that does not exist.
func notFound(id engine.ID) *engine.Error {
	switch {
	case strings.EqualFold(id.FullType(), typeAssignment):
		return engine.Refuse(http.StatusNotFound, "RoleAssignmentNotFound", "The role assignment '%s' is not found.", id.Name())
	case strings.EqualFold(id.FullType(), typeDefinition):
		return engine.Refuse(http.StatusNotFound, "RoleDefinitionDoesNotExist",
			"The specified role definition with ID '%s' does not exist.", id.Name())
	}
	return nil
}

// signRole sets the creator and the last writer of a role assignment or definition, and the times.
func signRole(t *engine.Tx, p value.Object, old *engine.Doc) {
	now := t.Now.Format("2006-01-02T15:04:05.0000000Z")
	p["createdOn"], p["createdBy"] = now, t.Caller
	if old != nil {
		before := value.Sub(old.Body, "properties")
		p["createdOn"], p["createdBy"] = before["createdOn"], before["createdBy"]
	}
	p["updatedOn"], p["updatedBy"] = now, t.Caller
}

// viewRole removes createdBy from the answer to the PUT that creates a role assignment or
// definition: as in Azure, it has no creator yet.
func viewRole(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	if d.MadeBy(t) {
		value.Sub(body, "properties")["createdBy"] = nil
	}
}

// restsRole always reports true: role assignments and definitions are stored in the form that
// clients see.
func restsRole(*engine.Tx, *engine.Record, string) bool { return true }

// filterTerm is one term of a $filter.
var filterTerm = regexp.MustCompile(`(?i)(roleName|type|principalId|assignedTo) ?(?:eq ?|\()'([^']*)'`)

// filterValue returns the value that a $filter requires for a field, or "".
func filterValue(c *engine.Request, field string) string {
	for _, m := range filterTerm.FindAllStringSubmatch(c.Query.Get("$filter"), -1) {
		if strings.EqualFold(m[1], field) {
			return m[2]
		}
	}
	return ""
}

// serveAssigned answers the list of role assignments or locks at a scope.
func serveAssigned(c *engine.Request) (bool, *engine.Error) {
	if c.HTTP.Method != http.MethodGet || len(c.ID.Names) > 0 {
		return false, nil
	}
	c.Reply(http.StatusOK, value.Object{"value": assigned(c, value.Lower(c.ID.FullType()))})
	return true, nil
}

// serveDenied answers the list of deny assignments, which is empty: Azure creates them for managed
// applications and deployment stacks, which the local Azure does not have, and users cannot create
// them. Source: https://learn.microsoft.com/azure/role-based-access-control/deny-assignments.
func serveDenied(c *engine.Request) (bool, *engine.Error) {
	if c.HTTP.Method != http.MethodGet {
		return true, engine.NotAllowed(c.HTTP.Method)
	}
	if len(c.ID.Names) > 0 {
		return false, nil
	}
	c.Reply(http.StatusOK, value.Object{"value": []any{}})
	return true, nil
}

// assigned returns the role assignments or locks at a scope and its parent scopes and, unless the
// filter is atScope(), at scopes below it.
func assigned(c *engine.Request, typ string) []any {
	scope := "/subscriptions/" + value.Lower(c.ID.Subscription)
	if c.ID.Scope != nil {
		scope = c.ID.Scope.Key()
	}
	at := strings.Contains(value.Lower(c.Query.Get("$filter")), "atscope()")
	principal := value.OrDefault(filterValue(c, "principalId"), filterValue(c, "assignedTo"))
	out := []any{}
	c.Server.Read(func(t *engine.Tx) {
		for _, d := range t.All(typ, "") {
			own := ""
			if d.Parsed.Scope != nil {
				own = d.Parsed.Scope.Key()
			}
			above := own == scope || strings.HasPrefix(scope, own+"/")
			if !above && (at || !strings.HasPrefix(own, scope+"/")) {
				continue
			}
			if principal == "" || strings.EqualFold(value.Str(d.Body, "properties", "principalId"), principal) {
				out = append(out, t.View(d, ""))
			}
		}
	})
	return out
}
