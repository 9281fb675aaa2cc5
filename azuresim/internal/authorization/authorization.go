// Package authorization is the resource provider Microsoft.Authorization of the
// local Azure: role assignments, role definitions, locks. It imports no other
// provider; package azuresim alone imports it.
package authorization

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const (
	typeRole           = "Microsoft.Authorization/roleAssignments"
	typeLock           = "Microsoft.Authorization/locks"
	typeRoleDefinition = "Microsoft.Authorization/roleDefinitions"
)

// role is a built-in role.
type role struct {
	id, name, description string
	actions, notActions   []string
}

// roles are the built-in ones that clusters use.
// Source: https://learn.microsoft.com/azure/role-based-access-control/built-in-roles.
var roles = []role{
	{"8e3af657-a8ff-443c-a75c-2fe8c4bcb635", "Owner", "Grants full access to manage all resources, including the ability to assign roles in Azure RBAC.", []string{"*"}, nil},
	{"b24988ac-6180-42a0-ab88-20f7382dd24c", "Contributor", "Grants full access to manage all resources, but does not allow you to assign roles in Azure RBAC, manage assignments in Azure Blueprints, or share image galleries.", []string{"*"},
		[]string{"Microsoft.Authorization/*/Delete", "Microsoft.Authorization/*/Write", "Microsoft.Authorization/elevateAccess/Action"}},
	{"acdd72a7-3385-48ef-bd42-f606fba81ae7", "Reader", "View all resources, but does not allow you to make any changes.", []string{"*/read"}, nil},
	{"18d7d88d-d35e-4fb5-a5c3-7773c20a72d9", "User Access Administrator", "Lets you manage user access to Azure resources.", []string{"*/read", "Microsoft.Authorization/*"}, nil},
	{"4d97b98b-1d4f-4787-a291-c67834d212e7", "Network Contributor", "Lets you manage networks, but not access to them.", []string{"Microsoft.Authorization/*/read", "Microsoft.Network/*"}, nil},
	{"9980e02c-c2be-4d73-94e8-173b1dc7cf3c", "Virtual Machine Contributor", "Create and manage virtual machines, manage disks, install and run software.", []string{"Microsoft.Compute/virtualMachines/*", "Microsoft.Compute/disks/write"}, nil},
	{"f1a07417-d97a-45cb-824c-7a7467783830", "Managed Identity Operator", "Read and Assign User Assigned Identity", []string{"Microsoft.ManagedIdentity/userAssignedIdentities/*/read", "Microsoft.ManagedIdentity/userAssignedIdentities/*/assign/action"}, nil},
	{"7f951dda-4ed3-4680-a7ca-43fe172d538d", "AcrPull", "acr pull", []string{"Microsoft.ContainerRegistry/registries/pull/read"}, nil},
	{"4633458b-17de-408a-b874-0445c86b69e6", "Key Vault Secrets User", "Read secret contents.", nil, nil},
	{"b86a8fe4-44ce-4948-aee5-eccb2c155cd7", "Key Vault Secrets Officer", "Perform any action on the secrets of a key vault, except manage permissions.", nil, nil},
	{"00482a5a-887f-4fb3-b363-3b7fe8e74483", "Key Vault Administrator", "Perform all data plane operations on a key vault and all objects in it, including certificates, keys, and secrets.", nil, nil},
}

func (r role) view(subscription string) value.Object {
	return value.Object{"id": "/subscriptions/" + subscription + "/providers/" + typeRoleDefinition + "/" + r.id, "name": r.id, "type": typeRoleDefinition, "properties": value.Object{
		"roleName": r.name, "type": "BuiltInRole", "description": r.description, "assignableScopes": []any{"/"},
		"permissions": []any{value.Object{"actions": value.Anys(r.actions), "notActions": value.Anys(r.notActions), "dataActions": []any{}, "notDataActions": []any{}}},
	}}
}

// New is Microsoft.Authorization: role assignments, roles of
// one's own, and locks.
func New() engine.Provider {
	return engine.Provider{
		Namespace: "Microsoft.Authorization",
		Versions:  []string{"2022-04-01", "2020-05-01", "2016-09-01", "2015-07-01"},
		Types: []engine.Type{
			{Name: typeRole, Sync: true, Global: true, Prepare: prepareRole, Serve: serveAssigned},
			{Name: typeRoleDefinition, Sync: true, Global: true, Prepare: prepareRoleDefinition, Serve: serveRoleDefinition},
			{Name: typeLock, Sync: true, Global: true, Prepare: prepareLock, Serve: serveAssigned},
		},
		Refuse: locked,
		Roles:  rolesOf,
	}
}

// serveRoleDefinition answers reads of roles, built-in ones included.
func serveRoleDefinition(c *engine.Request) (bool, *engine.Error) {
	switch {
	case c.HTTP.Method != http.MethodGet:
		return false, nil
	case len(c.Id.Names) == 0:
		c.Reply(http.StatusOK, value.Object{"value": roleDefinitions(c)})
		return true, nil
	}
	i := slices.IndexFunc(roles, func(r role) bool { return strings.EqualFold(r.id, c.Id.Name()) })
	if i < 0 {
		return false, nil
	}
	c.Reply(http.StatusOK, roles[i].view(c.Id.Subscription))
	return true, nil
}

// serveAssigned answers the list of role assignments or locks at a scope.
func serveAssigned(c *engine.Request) (bool, *engine.Error) {
	if c.HTTP.Method != http.MethodGet || len(c.Id.Names) > 0 {
		return false, nil
	}
	c.Reply(http.StatusOK, value.Object{"value": assigned(c, value.Lower(c.Id.FullType()))})
	return true, nil
}

// rolesOf are the roles that are assigned to a principal at a resource or above it.
func rolesOf(t *engine.Tx, principal string, id engine.ID) []string {
	var out []string
	for _, d := range t.All(typeRole, "") {
		p, scope := value.Sub(d.Body, "properties"), ""
		if d.Parsed.Scope != nil {
			scope = d.Parsed.Scope.Key()
		}
		_, name, _ := strings.Cut(value.Lower(value.Str(p, "roleDefinitionId")), "/roledefinitions/")
		if in := id.Key() == scope || strings.HasPrefix(id.Key(), scope+"/"); in && value.Str(p, "principalId") == principal {
			out = append(out, name)
		}
	}
	return out
}

var filterTerm = regexp.MustCompile(`(?i)(roleName|type|principalId|assignedTo) ?(?:eq ?|\()'([^']*)'`)

// filterValue is what a $filter asks of a field, "" for nothing.
func filterValue(c *engine.Request, field string) string {
	for _, m := range filterTerm.FindAllStringSubmatch(c.Query.Get("$filter"), -1) {
		if strings.EqualFold(m[1], field) {
			return m[2]
		}
	}
	return ""
}

func roleDefinitions(c *engine.Request) []any {
	name, typ := filterValue(c, "roleName"), filterValue(c, "type")
	out := []any{}
	keep := func(v value.Object) {
		p := value.Props(v)
		if (name == "" || strings.EqualFold(value.Str(p, "roleName"), name)) && (typ == "" || strings.EqualFold(value.Str(p, "type"), typ)) {
			out = append(out, v)
		}
	}
	for _, r := range roles {
		keep(r.view(c.Id.Subscription))
	}
	c.Server.Read(func(t *engine.Tx) {
		for _, d := range t.All(typeRoleDefinition, "/subscriptions/"+c.Id.Subscription) {
			keep(t.View(d, ""))
		}
	})
	return out
}

// assigned lists the role assignments or locks that are in force at a scope:
// those above it, and those below unless atScope() is asked for.
func assigned(c *engine.Request, typ string) []any {
	scope := "/subscriptions/" + value.Lower(c.Id.Subscription)
	if c.Id.Scope != nil {
		scope = c.Id.Scope.Key()
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

func prepareRole(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	if old != nil && (value.Str(old.Body, "properties", "principalId") != value.Str(p, "principalId") || !strings.EqualFold(value.Str(old.Body, "properties", "roleDefinitionId"), value.Str(p, "roleDefinitionId"))) {
		return engine.Conflict("RoleAssignmentUpdateNotPermitted", "Tenant ID, application ID, principal ID, and scope are not allowed to be updated.")
	}
	for _, field := range []string{"roleDefinitionId", "principalId"} {
		if value.Str(p, field) == "" {
			return engine.BadRequest("InvalidRequestContent", "The role assignment needs properties.%s.", field)
		}
	}
	definition, err := engine.ParseID(value.Str(p, "roleDefinitionId"))
	if err != nil || !slices.ContainsFunc(roles, func(r role) bool { return strings.EqualFold(r.id, definition.Name()) }) && t.Find(definition.Key()) == nil {
		return engine.BadRequest("RoleDefinitionDoesNotExist", "The specified role definition with ID '%s' does not exist.", definition.Name())
	}
	scope := ""
	if d.Parsed.Scope != nil {
		scope = d.Parsed.Scope.String()
	}
	for _, other := range t.All(typeRole, "") {
		o := value.Sub(other.Body, "properties")
		if other.Key() != d.Key() && strings.EqualFold(value.Str(o, "scope"), scope) && value.Str(o, "principalId") == value.Str(p, "principalId") && strings.EqualFold(value.Str(o, "roleDefinitionId"), value.Str(p, "roleDefinitionId")) {
			return engine.Conflict("RoleAssignmentExists", "The role assignment already exists.")
		}
	}
	p["scope"] = scope
	value.SetDefault(p, "principalType", "ServicePrincipal")
	p["createdOn"] = d.Created.Format(time.RFC3339)
	if old == nil {
		p["createdOn"] = t.Now.Format(time.RFC3339)
	}
	p["updatedOn"] = t.Now.Format(time.RFC3339)
	return nil
}

func prepareRoleDefinition(t *engine.Tx, d, _ *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	if value.Str(p, "roleName") == "" {
		return engine.BadRequest("InvalidRequestContent", "The role definition needs properties.roleName.")
	}
	for _, other := range t.All(typeRoleDefinition, "") {
		if other.Key() != d.Key() && strings.EqualFold(value.Str(other.Body, "properties", "roleName"), value.Str(p, "roleName")) {
			return engine.Conflict("RoleDefinitionWithSameNameExists", "A custom role with the same name '%s' already exists in this directory. Use a different name.", value.Str(p, "roleName"))
		}
	}
	value.SetDefault(p, "type", "CustomRole")
	return nil
}

func prepareLock(_ *engine.Tx, d, _ *engine.Doc) *engine.Error {
	if l := value.Str(value.Props(d.Body), "level"); l != "CanNotDelete" && l != "ReadOnly" {
		return engine.BadRequest("InvalidLockLevel", "The lock level '%s' is not valid. Valid levels are CanNotDelete, ReadOnly.", l)
	}
	return nil
}

// locked refuses what a lock on the resource or above it forbids; a delete of a
// group also what a lock inside of it does.
func locked(c *engine.Request) (e *engine.Error) {
	method := c.HTTP.Method
	if method == http.MethodGet || method == http.MethodHead || value.Lower(c.Id.Namespace) == "microsoft.authorization" {
		return nil
	}
	key := c.Id.Key()
	c.Server.Read(func(t *engine.Tx) {
		for _, l := range t.All(typeLock, "") {
			scope := "/subscriptions/" + value.Lower(l.Parsed.Subscription)
			if l.Parsed.Scope != nil {
				scope = l.Parsed.Scope.Key()
			}
			readOnly := value.Str(l.Body, "properties", "level") == "ReadOnly"
			above := key == scope || strings.HasPrefix(key, scope+"/")
			below := method == http.MethodDelete && strings.HasPrefix(scope, key+"/")
			if (method == http.MethodDelete && (above || below)) || readOnly && above {
				verb := map[string]string{http.MethodDelete: "delete", http.MethodPost: "action"}[method]
				e = engine.Conflict("ScopeLocked", "The scope '%s' cannot perform %s operation because following scope(s) are locked: '%s'. Please remove the lock and try again.", c.Id, value.OrDefault(verb, "write"), l.Parsed.Scope)
				return
			}
		}
	})
	return e
}
