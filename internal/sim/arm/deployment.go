package arm

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/template"
)

// deploymentType is the row of deployments of templates to a resource group.
func deploymentType() Type {
	return Type{Name: typeDeployment, Style: styleGroup, Takes: time.Second, Global: true, Untracked: true, Opaque: true, Supersedes: true, Put: deploymentPut(), Serve: serveDeployment,
		Actions: []Action{
			{Name: "validate", Serve: inGroup(func(c *call, id resourceID) *Error { return c.validateDeployment(id) })},
			{Name: "exporttemplate", Serve: inGroup(exportTemplate)},
			{Name: "cancel", Serve: inGroup(cancelDeployment)},
		}}
}

func deploymentPut() Work {
	return Work{Name: "deployment", Run: runDeployment, Finish: finishDeployment}
}

// serveDeployment answers what deployments do in a way of their own.
func serveDeployment(c *call) (bool, *Error) {
	switch {
	case c.id.Group == "":
		return true, errDeploymentScope()
	case !c.id.isResource():
		return false, nil
	case c.r.Method == http.MethodPut:
		return true, c.putDeployment()
	case c.r.Method == http.MethodHead:
		return true, c.headDeployment()
	case c.r.Method == http.MethodPatch:
		return true, refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "The requested resource does not support http method 'PATCH'.")
	}
	return false, nil
}

func errDeploymentScope() *Error { return errUnsupported("deployments to a subscription") }

// inGroup refuses what is asked of a deployment to a subscription.
func inGroup(serve func(c *call, id resourceID) *Error) func(c *call, id resourceID) *Error {
	return func(c *call, id resourceID) *Error {
		if id.Group == "" {
			return errDeploymentScope()
		}
		return serve(c, id)
	}
}

// answerDeployment answers the list of a deployment's operations, which has no
// provider in its path.
func answerDeployment(c *call) (bool, *Error) {
	id := c.id
	if id.Namespace != "" || id.Group == "" || len(id.Types) != 2 || len(id.Names) != 1 || lower(id.Types[0]) != "deployments" || lower(id.Types[1]) != "operations" || c.r.Method != http.MethodGet {
		return false, nil
	}
	id.Namespace, id.Types = "Microsoft.Resources", id.Types[:1]
	return true, c.listDeploymentOperations(id)
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

// exportTemplate answers the template of a deployment.
func exportTemplate(c *call, id resourceID) *Error {
	var d *doc
	c.s.read(func(t *tx) { d = t.find(id.key()) })
	if d == nil {
		return errDeploymentNotFound(id)
	}
	c.reply(http.StatusOK, object{"template": d.Hidden["template"]})
	return nil
}

// cancelDeployment ends a deployment that runs.
func cancelDeployment(c *call, id resourceID) *Error {
	err := c.s.update(func(t *tx) error {
		d, op := t.edit(id.key()), t.underway(id.key())
		switch {
		case d == nil:
			return errDeploymentNotFound(id)
		case op == nil || op.Action != deploymentPut().Name:
			return conflict("DeploymentCannotBeCancelled", "The deployment '%s' is not running.", id.name())
		}
		t.cancelOp(op, "DeploymentCanceled", "The deployment was canceled.")
		props(d.Body)["provisioningState"] = statusCanceled
		t.put(d)
		return nil
	})
	return c.accepted(nil, err)
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
		if rid, err := parseID(r.ID); err != nil || t.s.registry.typeOf(rid.fullType()) == nil {
			if k, _, _ := t.s.registry.kindOf(rid); k == nil {
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
		op = t.begin(&operation{Method: http.MethodPut, Target: d.ID, Style: styleDeployment, Subscription: c.id.Subscription, Namespace: "Microsoft.Resources",
			Location: "global", APIVersion: c.version}, deploymentPut(), 5*time.Second)
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
