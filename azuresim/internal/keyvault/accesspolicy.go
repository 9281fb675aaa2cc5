package keyvault

import (
	"net/http"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// policyActions returns the actions that change some access policies of a vault and keep the
// others. Source:
// https://learn.microsoft.com/rest/api/keyvault/keyvault/vaults/update-access-policy.
func policyActions() []engine.Action {
	var out []engine.Action
	for _, kind := range []string{"add", "replace", "remove"} {
		out = append(out, engine.Action{Name: "accesspolicies/" + kind, Method: http.MethodPut,
			Serve: func(c *engine.Request, id engine.ID) *engine.Error { return changePolicies(c, id, kind) }})
	}
	return out
}

// changePolicies adds permissions to the access policies of identities, replaces the policies, or
// removes permissions.
func changePolicies(c *engine.Request, id engine.ID, kind string) *engine.Error {
	body, e := c.Body()
	if e != nil {
		return e
	}
	var answer value.Object
	err := c.Update(func(t *engine.Tx) error {
		d := t.Edit(id.Key())
		if d == nil {
			return engine.ErrNotFound(id)
		}
		p := value.Props(d.Body)
		policies := value.Items(p, "accessPolicies")
		for _, asked := range value.Items(value.Props(body), "accessPolicies") {
			i := slices.IndexFunc(policies, func(had value.Object) bool { return policyOf(had) == policyOf(asked) })
			switch {
			case i < 0 && kind != "remove":
				policies = append(policies, value.CloneObject(asked))
			case i >= 0 && kind == "replace":
				policies[i] = value.CloneObject(asked)
			case i >= 0:
				permissions := changePermissions(value.Sub(policies[i], "permissions"), value.Sub(asked, "permissions"), kind == "add")
				policies[i]["permissions"] = permissions
				if len(permissions) == 0 {
					policies = slices.Delete(policies, i, i+1)
				}
			}
		}
		p["accessPolicies"] = value.List(policies)
		signVault(t, d, d)
		t.Put(d)
		answer = value.Object{"id": d.ID + "/accessPolicies/", "type": typeVault + "/accessPolicies", "name": d.Parsed.Name(),
			"location": d.Location(), "properties": value.Object{"accessPolicies": value.Clone(p["accessPolicies"])}}
		return nil
	})
	if e := engine.AsError(err); e != nil {
		return e
	}
	c.Reply(http.StatusOK, answer)
	return nil
}

// policyOf returns the identity of an access policy: its tenant, object and application.
func policyOf(policy value.Object) [3]string {
	return [3]string{value.Lower(value.Str(policy, "tenantId")), value.Lower(value.Str(policy, "objectId")),
		value.Lower(value.Str(policy, "applicationId"))}
}

// changePermissions returns permissions with others added or removed. Kinds without any permission
// are omitted.
func changePermissions(had, asked value.Object, add bool) value.Object {
	out := value.Object{}
	for _, kind := range []string{"keys", "secrets", "certificates", "storage"} {
		left := value.Texts(had, kind)
		for _, permission := range value.Texts(asked, kind) {
			is := func(other string) bool { return strings.EqualFold(other, permission) }
			if left = slices.DeleteFunc(slices.Clone(left), is); add {
				left = append(left, permission)
			}
		}
		if len(left) > 0 {
			out[kind] = value.Anys(left)
		}
	}
	return out
}
