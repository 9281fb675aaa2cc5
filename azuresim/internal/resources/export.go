package resources

import (
	"net/http"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// exportGroup answers a template of the resources in a resource group. The template can be deployed
// again: it lacks the fields that providers fill in, IDs are expressions with resourceId, and
// resources depend on the resources that they refer to. Passwords are parameters, because the
// resources do not show them.
func exportGroup(c *engine.Request) *engine.Error {
	body, e := c.Body()
	if e != nil {
		return e
	}
	wanted := value.Texts(body, "resources")
	id := c.ID.GroupID()
	var resources []any
	parameters := value.Object{}
	c.Server.Read(func(t *engine.Tx) {
		if t.Find(id.Key()) == nil {
			e = engine.ErrGroupNotFound(id.Group)
			return
		}
		docs := map[string]*engine.Doc{}
		for _, rec := range t.Below(id.Key()) {
			d := t.Doc(rec)
			k := t.Server.Registry.TypeOf(d.Type)
			if k == nil || d.Type == typeDeployment || k.Untracked && d.Parsed.Scope == nil || k.Remains || value.Str(d.Body, "managedBy") != "" ||
				len(wanted) > 0 && !slices.ContainsFunc(wanted, func(w string) bool { return w == "*" || value.Lower(w) == d.Key() }) {
				continue
			}
			docs[d.Key()] = d
		}
		before := map[string][]string{}
		for _, key := range value.SortedKeys(docs) {
			resources = append(resources, exported(t, docs, docs[key], before, parameters))
		}
	})
	if e != nil {
		return e
	}
	c.Reply(http.StatusOK, value.Object{"template": value.Object{
		"$schema":        "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
		"contentVersion": "1.0.0.0", "parameters": parameters, "variables": value.Object{}, "resources": append([]any{}, resources...),
	}})
	return nil
}

// filled lists the fields that a provider fills in and does not accept.
var filled = []string{"etag", "provisioningState", "resourceGuid", "uniqueId", "vmId", "timeCreated", "instanceView", "macAddress",
	"primaryEndpoints", "creationTime", "keyCreationTime", "statusOfPrimary", "primaryLocation", "defaultSecurityRules", "virtualMachine",
	"internalDomainNameSuffix", "diskState", "diskSizeBytes", "createdOn", "updatedOn", "createdBy", "updatedBy", "vaultUri"}

// released returns the first of some API versions that is not a preview, or the first of all.
func released(versions []string) string {
	i := slices.IndexFunc(versions, func(v string) bool { return !strings.HasSuffix(v, "-preview") })
	return versions[max(0, i)]
}

// exported returns a resource in the form of a template.
func exported(t *engine.Tx, docs map[string]*engine.Doc, d *engine.Doc, before map[string][]string, parameters value.Object) value.Object {
	body := value.CloneObject(d.Body) // without the fields that are computed at the time of reading
	k := t.Server.Registry.TypeOf(d.Type)
	out := value.Object{"type": d.Type, "apiVersion": released(k.ListedVersions()), "name": strings.Join(d.Parsed.Names, "/")}
	if d.Parsed.Scope != nil && d.Parsed.Scope.Namespace != "" {
		out["scope"] = idExpression(*d.Parsed.Scope)
	}
	var on []string
	var clean func(v any) any
	clean = func(v any) any {
		switch v := v.(type) {
		case string:
			to, err := engine.ParseID(v)
			if err != nil || !strings.HasPrefix(value.Lower(v), d.Parsed.GroupID().Key()+"/providers/") {
				if strings.HasPrefix(v, "[") && strings.HasSuffix(v, "]") {
					return "[" + v
				}
				return v
			}
			for owner := to; ; {
				if o := docs[owner.Key()]; o != nil && o != d {
					on = append(on, o.Key())
					break
				}
				parent, ok := owner.Parent()
				if !ok {
					break
				}
				owner = parent
			}
			return idExpression(to)
		case []any:
			out := make([]any, 0, len(v))
			for _, e := range v {
				out = append(out, clean(e))
			}
			return out
		case value.Object:
			out := value.Object{}
			for f, e := range v {
				if f == "id" && v["name"] != nil || f != "id" && slices.Contains(filled, f) {
					continue // an ID beside a name is a part's own ID; without a name it is a reference
				}
				out[f] = clean(e)
			}
			return out
		}
		return v
	}
	for _, f := range []string{"location", "tags", "sku", "kind", "zones", "identity", "plan", "properties", "extendedLocation"} {
		if v, ok := body[f]; ok {
			out[f] = clean(v)
		}
	}
	for _, path := range [][]string{{"properties", "osProfile"}, {"properties", "virtualMachineProfile", "osProfile"}} {
		if os := value.Sub(out, path...); os != nil && !value.Bool(os, "linuxConfiguration", "disablePasswordAuthentication") {
			name := "adminPassword_" + d.Parsed.Name()
			parameters[name] = value.Object{"type": "SecureString"}
			os["adminPassword"] = "[parameters('" + name + "')]"
		}
	}
	if parent, ok := d.Parsed.Parent(); ok && docs[parent.Key()] != nil {
		on = append(on, parent.Key())
	}
	slices.Sort(on)
	var deps []any
	for _, key := range slices.Compact(on) {
		if dependsOn(before, key, d.Key()) {
			continue // it would be a circle, and the other resource is deployed first
		}
		before[d.Key()] = append(before[d.Key()], key)
		deps = append(deps, idExpression(docs[key].Parsed))
	}
	if len(deps) > 0 {
		out["dependsOn"] = deps
	}
	return out
}

// dependsOn reports whether from depends on to, directly or through others.
func dependsOn(before map[string][]string, from, to string) bool {
	return from == to || slices.ContainsFunc(before[from], func(next string) bool { return dependsOn(before, next, to) })
}

// idExpression returns a template expression that yields an ID.
func idExpression(id engine.ID) string {
	quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	args := []string{quoted(id.FullType())}
	for _, n := range id.Names {
		args = append(args, quoted(n))
	}
	if id.Scope != nil && id.Scope.Namespace != "" {
		return "[extensionResourceId(" + strings.Trim(idExpression(*id.Scope), "[]") + ", " + strings.Join(args, ", ") + ")]"
	}
	return "[resourceId(" + strings.Join(args, ", ") + ")]"
}
