package arm

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/template"
)

// serveDeployment answers deployments of templates to a resource group; false
// means that the path is something else.
func (c *call) serveDeployment() (bool, *Error) {
	id := c.id
	// The list of a deployment's operations has no provider in its path.
	if id.Namespace == "" && id.Group != "" && len(id.Types) == 2 && len(id.Names) == 1 && lower(id.Types[0]) == "deployments" && lower(id.Types[1]) == "operations" && c.r.Method == http.MethodGet {
		id.Namespace, id.Types = "Microsoft.Resources", id.Types[:1]
		return true, c.listDeploymentOperations(id)
	}
	if lower(id.Namespace) != "microsoft.resources" || len(id.Types) == 0 || lower(id.Types[0]) != "deployments" {
		return false, nil
	}
	if id.Group == "" {
		return true, errUnsupported("deployments to a subscription")
	}
	switch {
	case len(id.Types) == 1 && len(id.Names) == 1 && c.r.Method == http.MethodPut:
		return true, c.putDeployment()
	case len(id.Types) == 1 && len(id.Names) == 1 && c.r.Method == http.MethodHead:
		return true, c.headDeployment()
	case len(id.Names) == 1 && c.r.Method == http.MethodPatch:
		return true, refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "The requested resource does not support http method 'PATCH'.")
	case len(id.Types) == 2 && len(id.Names) == 1 && c.r.Method == http.MethodPost:
		parent, _ := id.parent()
		return true, c.deploymentAction(parent, lower(id.Types[1]))
	}
	return false, nil
}

func (c *call) headDeployment() *Error {
	there := false
	c.s.read(func(t *tx) { there = t.find(c.id.key()) != nil })
	if !there {
		c.reply(http.StatusNotFound, nil)
		return nil
	}
	c.reply(http.StatusNoContent, nil)
	return nil
}

func (c *call) deploymentAction(id resourceID, action string) *Error {
	if action == "validate" {
		return c.validateDeployment(id)
	}
	var d *doc
	c.s.read(func(t *tx) { d = t.find(id.key()) })
	switch {
	case d == nil:
		return errDeploymentNotFound(id)
	case action == "exporttemplate":
		c.reply(http.StatusOK, object{"template": d.Hidden["template"]})
		return nil
	case action == "cancel":
		err := c.s.update(func(t *tx) error {
			op := t.open[id.key()]
			if op == nil || op.Action != "deployment" {
				return conflict("DeploymentCannotBeCancelled", "The deployment '%s' is not running.", id.name())
			}
			t.cancelOp(op, "DeploymentCanceled", "The deployment was canceled.")
			e := t.edit(id.key())
			props(e.Body)["provisioningState"] = statusCanceled
			t.put(e)
			return nil
		})
		return c.accepted(nil, err)
	}
	return errUnsupported("the action " + action + " of a deployment")
}

func errDeploymentNotFound(id resourceID) *Error {
	return refuse(http.StatusNotFound, "DeploymentNotFound", "Deployment '%s' could not be found.", id.name())
}

// readDeployment checks the body of a deployment and interprets its template.
func (c *call) readDeployment(t *tx, id resourceID, body object) (*template.Template, *Error) {
	if e := t.writable(id, id.key(), ""); e != nil {
		if e.Code == "Conflict" {
			return nil, conflict("DeploymentActive", "Unable to edit or replace deployment '%s': previous deployment is still active.", id.name())
		}
		return nil, e
	}
	p := sub(body, "properties")
	switch {
	case p["templateLink"] != nil || p["parametersLink"] != nil:
		return nil, errUnsupported("templates by link: nothing leaves this machine")
	case sub(p, "template") == nil:
		return nil, badRequest("InvalidRequestContent", "The request content was invalid: properties.template is missing.")
	case !strings.EqualFold(orDefault(str(p, "mode"), "Incremental"), "Incremental"):
		return nil, errUnsupported("deployments in mode " + str(p, "mode"))
	}
	tmpl, err := template.New(sub(p, "template"), sub(p, "parameters"), t.deploymentContext(id))
	if err != nil {
		return nil, badRequest("InvalidTemplate", "Deployment template validation failed: '%s'.", err)
	}
	for _, r := range tmpl.Resources {
		if rid, err := parseID(r.ID); err != nil || t.s.types[lower(rid.fullType())] == nil && lower(rid.fullType()) != lower(typeDeployment) {
			if k, _, _ := t.s.kindOf(rid); k == nil {
				return nil, errUnsupported("the resource type " + r.Type + " in a template")
			}
		}
	}
	return tmpl, nil
}

func (t *tx) deploymentContext(id resourceID) template.Context {
	c := template.Context{Subscription: id.Subscription, TenantID: t.s.cfg.TenantID, Group: id.Group, Deployment: id.name(), Endpoint: "https://management.azure.com/", APIVersion: "2024-07-01", Now: t.now.Format("20060102T150405Z")}
	if g := t.find(id.group().key()); g != nil {
		c.Group, c.GroupLocation = g.id.Group, g.location()
	}
	return c
}

func (c *call) validateDeployment(id resourceID) *Error {
	body, e := c.body()
	if e != nil {
		return e
	}
	var out object
	c.s.read(func(t *tx) {
		var tmpl *template.Template
		if tmpl, e = c.readDeployment(t, id, body); e == nil {
			p := t.deploymentProperties(tmpl, statusSucceeded)
			p["validatedResources"] = ids(resourceIDs(tmpl))
			out = object{"id": id.String(), "name": id.name(), "type": typeDeployment, "properties": p}
		}
	})
	if e != nil {
		return e
	}
	c.reply(http.StatusOK, out)
	return nil
}

func (c *call) putDeployment() *Error {
	body, e := c.body()
	if e != nil {
		return e
	}
	var op *operation
	var view object
	status := http.StatusOK
	err := c.s.update(func(t *tx) error {
		tmpl, e := c.readDeployment(t, c.id, body)
		if e != nil {
			return e
		}
		d := &doc{ID: c.id.String(), Type: typeDeployment, id: c.id, Hidden: object{}, Body: object{"properties": t.deploymentProperties(tmpl, "Accepted")}}
		if old := t.find(c.id.key()); old != nil {
			d.ID, d.id, d.Created = old.ID, old.id, old.Created
		} else {
			status = http.StatusCreated
		}
		if tags := body["tags"]; tags != nil {
			d.Body["tags"] = tags
		}
		d.Hidden["template"], d.Hidden["parameters"] = value(body, "properties", "template"), value(body, "properties", "parameters")
		t.put(d)
		op = t.begin(&operation{Action: "deployment", Method: http.MethodPut, Target: d.ID, Style: styleDeployment, Subscription: c.id.Subscription, Namespace: "Microsoft.Resources",
			Location: "global", APIVersion: c.version}, 5*time.Second)
		view = t.view(d, "")
		return nil
	})
	if e := asError(err); e != nil {
		return e
	}
	op.headers(c.w.Header(), c.s, c.host)
	c.reply(status, view)
	return nil
}

// deploymentProperties is what a deployment shows of itself before it ends.
func (t *tx) deploymentProperties(tmpl *template.Template, state string) object {
	parameters := object{}
	for name, p := range tmpl.Parameters {
		parameters[name] = object{"type": title(p.Type), "value": p.Value}
	}
	types := map[string][]string{}
	dependencies := []any{}
	for _, r := range tmpl.Resources {
		ns, typ, _ := strings.Cut(r.Type, "/")
		if !slices.Contains(types[ns], typ) {
			types[ns] = append(types[ns], typ)
		}
		if len(r.DependsOn) == 0 {
			continue
		}
		dependencies = append(dependencies, object{"id": r.ID, "resourceType": r.Type, "resourceName": r.Name, "dependsOn": dependees(r.DependsOn)})
	}
	providers := []any{}
	for _, ns := range sortedKeys(types) {
		list := []any{}
		for _, typ := range types[ns] {
			list = append(list, object{"resourceType": typ, "locations": []any{nil}})
		}
		providers = append(providers, object{"namespace": ns, "resourceTypes": list})
	}
	return object{"templateHash": t.s.guid(), "parameters": parameters, "mode": "Incremental", "provisioningState": state, "timestamp": t.now.Format(time.RFC3339Nano), "duration": "PT0S",
		"correlationId": t.s.guid(), "providers": providers, "dependencies": dependencies}
}

func dependees(list []string) []any {
	out := []any{}
	for _, id := range list {
		if r, err := parseID(id); err == nil {
			out = append(out, object{"id": id, "resourceType": r.fullType(), "resourceName": r.name()})
		}
	}
	return out
}

func resourceIDs(tmpl *template.Template) []string {
	var out []string
	for _, r := range tmpl.Resources {
		out = append(out, r.ID)
	}
	return out
}

// title is a parameter's type as deployments show it.
func title(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func (c *call) listDeploymentOperations(id resourceID) *Error {
	var d *doc
	c.s.read(func(t *tx) { d = t.find(id.key()) })
	if d == nil {
		return errDeploymentNotFound(id)
	}
	out, _ := d.Hidden["operations"].([]any)
	if out == nil {
		out = []any{}
	}
	c.reply(http.StatusOK, object{"value": out})
	return nil
}
