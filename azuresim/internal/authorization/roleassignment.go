package authorization

import (
	"iter"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const typeAssignment = "Microsoft.Authorization/roleAssignments"

// rolesOf returns the roles that are assigned to a principal at a resource or at a parent
// scope.
func rolesOf(t *engine.Tx, principal string, id engine.ID) []string {
	var out []string
	for scope := range scopesOf(id.Key()) {
		for _, d := range assignedAt(t, scope) {
			p := value.Sub(d.Body, "properties")
			_, name, _ := strings.Cut(value.Lower(value.Str(p, "roleDefinitionId")), "/roledefinitions/")
			if value.Str(p, "principalId") == principal {
				out = append(out, name)
			}
		}
	}
	return out
}

// assignedAt returns the role assignments exactly at a scope, which is given by its key.
func assignedAt(t *engine.Tx, scope string) []*engine.Doc {
	return t.All(typeAssignment, scope+"/providers/"+value.Lower(typeAssignment))
}

// scopesOf yields the key of a resource and the keys of the scopes that contain it: its parents,
// its resource group, its subscription, and "".
func scopesOf(key string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range len(key) + 1 {
			if (i == len(key) || key[i] == '/') && !yield(key[:i]) {
				return
			}
		}
	}
}

// replication is the time until the whole directory knows a new identity. Azure documents no
// figure; its own guide says to retry for some minutes.
const replication = 20 * time.Second

// prepareAssignment validates a role assignment and sets its defaults.
func prepareAssignment(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	for _, field := range []string{"roleDefinitionId", "principalId"} {
		if value.Str(p, field) == "" {
			return engine.BadRequest("InvalidRequestContent", "The role assignment needs properties.%s.", field)
		}
	}
	if old != nil && !sameGrant(value.Sub(old.Body, "properties"), p) {
		return engine.Conflict("RoleAssignmentUpdateNotPermitted",
			"Tenant ID, application ID, principal ID, and scope are not allowed to be updated.")
	}
	if e := definitionThere(t, value.Str(p, "roleDefinitionId")); e != nil {
		return e
	}
	if e := principalThere(t, p); e != nil {
		return e
	}
	p["scope"] = ""
	if d.Parsed.Scope != nil {
		p["scope"] = d.Parsed.Scope.String()
	}
	for _, other := range assignedAt(t, value.Lower(value.Str(p, "scope"))) {
		if other.Key() != d.Key() && sameGrant(value.Sub(other.Body, "properties"), p) {
			return engine.Conflict("RoleAssignmentExists",
				"The role assignment already exists. The ID of the existing role assignment is %s.",
				strings.ReplaceAll(other.Parsed.Name(), "-", ""))
		}
	}
	signRole(t, p, old)
	return nil
}

// sameGrant reports whether two role assignments give the same role to the same principal.
func sameGrant(a, b value.Object) bool {
	return value.Str(a, "principalId") == value.Str(b, "principalId") &&
		strings.EqualFold(value.Str(a, "roleDefinitionId"), value.Str(b, "roleDefinitionId"))
}

// principalThere refuses an assignment to an identity that the directory does not know yet. Azure
// skips this check if the request contains the principal's type. Users, groups and applications are
// not emulated and count as known.
func principalThere(t *engine.Tx, p value.Object) *engine.Error {
	object := value.Str(p, "principalId")
	if value.Str(p, "principalType") != "" {
		return nil
	}
	made, ok := engine.FindPrincipal(t, func(one engine.Principal) bool { return one.Object == object })
	if !ok || !t.Now.Before(made.Since.Add(t.Server.Options.Latency.Of(replication))) {
		return nil
	}
	return engine.BadRequest("PrincipalNotFound", "Principal %s does not exist in the directory %s. Check that "+
		"you have the correct principal ID. If you are creating this principal and then immediately assigning "+
		"a role, this error might be related to a replication delay. In this case, set the role assignment "+
		"principalType property to a value, such as ServicePrincipal, User, or Group.  See "+
		"https://aka.ms/docs-principaltype",
		strings.ReplaceAll(object, "-", ""), t.Server.Options.TenantID)
}
