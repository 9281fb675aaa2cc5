package arm

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
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

func (r role) view(subscription string) object {
	return object{"id": "/subscriptions/" + subscription + "/providers/" + typeRoleDefinition + "/" + r.id, "name": r.id, "type": typeRoleDefinition, "properties": object{
		"roleName": r.name, "type": "BuiltInRole", "description": r.description, "assignableScopes": []any{"/"},
		"permissions": []any{object{"actions": anys(r.actions), "notActions": anys(r.notActions), "dataActions": []any{}, "notDataActions": []any{}}},
	}}
}

// authorizationProvider is Microsoft.Authorization: role assignments, roles of
// one's own, and locks.
func authorizationProvider() Provider {
	return Provider{
		Namespace: "Microsoft.Authorization",
		Versions:  []string{"2022-04-01", "2020-05-01", "2016-09-01", "2015-07-01"},
		Types: []Type{
			{Name: typeRole, Sync: true, Global: true, Prepare: prepareRole, Serve: serveAssigned},
			{Name: typeRoleDefinition, Sync: true, Global: true, Prepare: prepareRoleDefinition, Serve: serveRoleDefinition},
			{Name: typeLock, Sync: true, Global: true, Prepare: prepareLock, Serve: serveAssigned},
		},
		Refuse: locked,
		Roles:  rolesOf,
	}
}

// serveRoleDefinition answers reads of roles, built-in ones included.
func serveRoleDefinition(c *call) (bool, *Error) {
	switch {
	case c.r.Method != http.MethodGet:
		return false, nil
	case len(c.id.Names) == 0:
		c.reply(http.StatusOK, object{"value": c.roleDefinitions()})
		return true, nil
	}
	i := slices.IndexFunc(roles, func(r role) bool { return strings.EqualFold(r.id, c.id.name()) })
	if i < 0 {
		return false, nil
	}
	c.reply(http.StatusOK, roles[i].view(c.id.Subscription))
	return true, nil
}

// serveAssigned answers the list of role assignments or locks at a scope.
func serveAssigned(c *call) (bool, *Error) {
	if c.r.Method != http.MethodGet || len(c.id.Names) > 0 {
		return false, nil
	}
	c.reply(http.StatusOK, object{"value": c.assigned(lower(c.id.fullType()))})
	return true, nil
}

// rolesOf are the roles that are assigned to a principal at a resource or above it.
func rolesOf(t *tx, principal string, id resourceID) []string {
	var out []string
	for _, d := range t.all(typeRole, "") {
		p, scope := sub(d.Body, "properties"), ""
		if d.id.Scope != nil {
			scope = d.id.Scope.key()
		}
		_, name, _ := strings.Cut(lower(str(p, "roleDefinitionId")), "/roledefinitions/")
		if in := id.key() == scope || strings.HasPrefix(id.key(), scope+"/"); in && str(p, "principalId") == principal {
			out = append(out, name)
		}
	}
	return out
}

var filterTerm = regexp.MustCompile(`(?i)(roleName|type|principalId|assignedTo) ?(?:eq ?|\()'([^']*)'`)

// filterValue is what a $filter asks of a field, "" for nothing.
func (c *call) filterValue(field string) string {
	for _, m := range filterTerm.FindAllStringSubmatch(c.query.Get("$filter"), -1) {
		if strings.EqualFold(m[1], field) {
			return m[2]
		}
	}
	return ""
}

func (c *call) roleDefinitions() []any {
	name, typ := c.filterValue("roleName"), c.filterValue("type")
	out := []any{}
	keep := func(v object) {
		p := props(v)
		if (name == "" || strings.EqualFold(str(p, "roleName"), name)) && (typ == "" || strings.EqualFold(str(p, "type"), typ)) {
			out = append(out, v)
		}
	}
	for _, r := range roles {
		keep(r.view(c.id.Subscription))
	}
	c.s.read(func(t *tx) {
		for _, d := range t.all(typeRoleDefinition, "/subscriptions/"+c.id.Subscription) {
			keep(t.view(d, ""))
		}
	})
	return out
}

// assigned lists the role assignments or locks that are in force at a scope:
// those above it, and those below unless atScope() is asked for.
func (c *call) assigned(typ string) []any {
	scope := "/subscriptions/" + lower(c.id.Subscription)
	if c.id.Scope != nil {
		scope = c.id.Scope.key()
	}
	at := strings.Contains(lower(c.query.Get("$filter")), "atscope()")
	principal := orDefault(c.filterValue("principalId"), c.filterValue("assignedTo"))
	out := []any{}
	c.s.read(func(t *tx) {
		for _, d := range t.all(typ, "") {
			own := ""
			if d.id.Scope != nil {
				own = d.id.Scope.key()
			}
			above := own == scope || strings.HasPrefix(scope, own+"/")
			if !above && (at || !strings.HasPrefix(own, scope+"/")) {
				continue
			}
			if principal == "" || strings.EqualFold(str(d.Body, "properties", "principalId"), principal) {
				out = append(out, t.view(d, ""))
			}
		}
	})
	return out
}

func prepareRole(t *tx, d, old *doc) *Error {
	p := props(d.Body)
	if old != nil && (str(old.Body, "properties", "principalId") != str(p, "principalId") || !strings.EqualFold(str(old.Body, "properties", "roleDefinitionId"), str(p, "roleDefinitionId"))) {
		return conflict("RoleAssignmentUpdateNotPermitted", "Tenant ID, application ID, principal ID, and scope are not allowed to be updated.")
	}
	for _, field := range []string{"roleDefinitionId", "principalId"} {
		if str(p, field) == "" {
			return badRequest("InvalidRequestContent", "The role assignment needs properties.%s.", field)
		}
	}
	definition, err := parseID(str(p, "roleDefinitionId"))
	if err != nil || !slices.ContainsFunc(roles, func(r role) bool { return strings.EqualFold(r.id, definition.name()) }) && t.find(definition.key()) == nil {
		return badRequest("RoleDefinitionDoesNotExist", "The specified role definition with ID '%s' does not exist.", definition.name())
	}
	scope := ""
	if d.id.Scope != nil {
		scope = d.id.Scope.String()
	}
	for _, other := range t.all(typeRole, "") {
		o := sub(other.Body, "properties")
		if other.key() != d.key() && strings.EqualFold(str(o, "scope"), scope) && str(o, "principalId") == str(p, "principalId") && strings.EqualFold(str(o, "roleDefinitionId"), str(p, "roleDefinitionId")) {
			return conflict("RoleAssignmentExists", "The role assignment already exists.")
		}
	}
	p["scope"] = scope
	setDefault(p, "principalType", "ServicePrincipal")
	p["createdOn"] = d.Created.Format(time.RFC3339)
	if old == nil {
		p["createdOn"] = t.now.Format(time.RFC3339)
	}
	p["updatedOn"] = t.now.Format(time.RFC3339)
	return nil
}

func prepareRoleDefinition(t *tx, d, _ *doc) *Error {
	p := props(d.Body)
	if str(p, "roleName") == "" {
		return badRequest("InvalidRequestContent", "The role definition needs properties.roleName.")
	}
	for _, other := range t.all(typeRoleDefinition, "") {
		if other.key() != d.key() && strings.EqualFold(str(other.Body, "properties", "roleName"), str(p, "roleName")) {
			return conflict("RoleDefinitionWithSameNameExists", "A custom role with the same name '%s' already exists in this directory. Use a different name.", str(p, "roleName"))
		}
	}
	setDefault(p, "type", "CustomRole")
	return nil
}

func prepareLock(_ *tx, d, _ *doc) *Error {
	if l := str(props(d.Body), "level"); l != "CanNotDelete" && l != "ReadOnly" {
		return badRequest("InvalidLockLevel", "The lock level '%s' is not valid. Valid levels are CanNotDelete, ReadOnly.", l)
	}
	return nil
}

// locked refuses what a lock on the resource or above it forbids; a delete of a
// group also what a lock inside of it does.
func locked(c *call) (e *Error) {
	method := c.r.Method
	if method == http.MethodGet || method == http.MethodHead || lower(c.id.Namespace) == "microsoft.authorization" {
		return nil
	}
	key := c.id.key()
	c.s.read(func(t *tx) {
		for _, l := range t.all(typeLock, "") {
			scope := "/subscriptions/" + lower(l.id.Subscription)
			if l.id.Scope != nil {
				scope = l.id.Scope.key()
			}
			readOnly := str(l.Body, "properties", "level") == "ReadOnly"
			above := key == scope || strings.HasPrefix(key, scope+"/")
			below := method == http.MethodDelete && strings.HasPrefix(scope, key+"/")
			if (method == http.MethodDelete && (above || below)) || readOnly && above {
				verb := map[string]string{http.MethodDelete: "delete", http.MethodPost: "action"}[method]
				e = conflict("ScopeLocked", "The scope '%s' cannot perform %s operation because following scope(s) are locked: '%s'. Please remove the lock and try again.", c.id, orDefault(verb, "write"), l.id.Scope)
				return
			}
		}
	})
	return e
}
