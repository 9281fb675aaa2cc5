package resources

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/template"
	"casement.dev/casement/azuresim/internal/value"
)

// deploymentType returns the resource type of deployments of templates to a resource group.
func deploymentType() engine.Type {
	return engine.Type{Name: typeDeployment, Style: engine.StyleGroup, Takes: time.Second, Global: true,
		Untracked: true, Opaque: true, Supersedes: true, Put: deploymentPut(), Serve: serveDeployment,
		Actions: []engine.Action{
			{Name: "validate", Serve: inGroup(func(c *engine.Request, id engine.ID) *engine.Error { return validateDeployment(c, id) })},
			{Name: "exporttemplate", Serve: inGroup(exportTemplate)},
			{Name: "cancel", Serve: inGroup(cancelDeployment)},
		}}
}

func deploymentPut() engine.Work {
	return engine.Work{Name: "deployment", Run: runDeployment, Finish: finishDeployment}
}

// serveDeployment answers the requests to deployments for which the engine's handling of
// resources does not fit.
func serveDeployment(c *engine.Request) (bool, *engine.Error) {
	switch {
	case c.Id.Group == "":
		return true, errDeploymentScope()
	case !c.Id.IsResource():
		return false, nil
	case c.HTTP.Method == http.MethodPut:
		return true, putDeployment(c)
	case c.HTTP.Method == http.MethodHead:
		return true, headDeployment(c)
	case c.HTTP.Method == http.MethodPatch:
		return true, engine.Refuse(http.StatusMethodNotAllowed, "MethodNotAllowed",
			"The requested resource does not support http method 'PATCH'.")
	}
	return false, nil
}

func errDeploymentScope() *engine.Error {
	return engine.ErrUnsupported("deployments to a subscription")
}

// inGroup refuses a request of resource groups that was sent to a deployment of a subscription.
func inGroup(serve func(c *engine.Request, id engine.ID) *engine.Error) func(c *engine.Request, id engine.ID) *engine.Error {
	return func(c *engine.Request, id engine.ID) *engine.Error {
		if id.Group == "" {
			return errDeploymentScope()
		}
		return serve(c, id)
	}
}

// answerDeployment answers the list of a deployment's operations, which has no
// provider in its path.
func answerDeployment(c *engine.Request) (bool, *engine.Error) {
	id := c.Id
	if id.Namespace != "" || id.Group == "" || len(id.Types) != 2 || len(id.Names) != 1 ||
		value.Lower(id.Types[0]) != "deployments" || value.Lower(id.Types[1]) != "operations" ||
		c.HTTP.Method != http.MethodGet {
		return false, nil
	}
	id.Namespace, id.Types = "Microsoft.Resources", id.Types[:1]
	return true, listDeploymentOperations(c, id)
}

func headDeployment(c *engine.Request) *engine.Error {
	there := false
	c.Server.Read(func(t *engine.Tx) { there = t.Find(c.Id.Key()) != nil })
	if !there {
		c.Reply(http.StatusNotFound, nil)
		return nil
	}
	c.Reply(http.StatusNoContent, nil)
	return nil
}

// exportTemplate answers the template of a deployment.
func exportTemplate(c *engine.Request, id engine.ID) *engine.Error {
	var d *engine.Doc
	c.Server.Read(func(t *engine.Tx) { d = t.Find(id.Key()) })
	if d == nil {
		return errDeploymentNotFound(id)
	}
	c.Reply(http.StatusOK, value.Object{"template": d.Hidden["template"]})
	return nil
}

// cancelDeployment ends a deployment that runs.
func cancelDeployment(c *engine.Request, id engine.ID) *engine.Error {
	err := c.Server.Update(func(t *engine.Tx) error {
		d, op := t.Edit(id.Key()), t.Underway(id.Key())
		switch {
		case d == nil:
			return errDeploymentNotFound(id)
		case op == nil || op.Action != deploymentPut().Name:
			return engine.Conflict("DeploymentCannotBeCancelled", "The deployment '%s' is not running.", id.Name())
		}
		t.CancelOp(op, "DeploymentCanceled", "The deployment was canceled.")
		value.Props(d.Body)["provisioningState"] = engine.StatusCanceled
		t.Put(d)
		return nil
	})
	return c.Accepted(nil, err)
}

func errDeploymentNotFound(id engine.ID) *engine.Error {
	return engine.Refuse(http.StatusNotFound, "DeploymentNotFound", "Deployment '%s' could not be found.", id.Name())
}

// readDeployment checks the body of a deployment and interprets its template.
func readDeployment(c *engine.Request, t *engine.Tx, id engine.ID, body value.Object) (*template.Template, *engine.Error) {
	if e := t.Writable(id, id.Key(), ""); e != nil {
		if e.Code == "Conflict" {
			return nil, engine.Conflict("DeploymentActive",
				"Unable to edit or replace deployment '%s': previous deployment is still active.", id.Name())
		}
		return nil, e
	}
	p := value.Sub(body, "properties")
	switch {
	case p["templateLink"] != nil || p["parametersLink"] != nil:
		return nil, engine.ErrUnsupported("templates by link: nothing leaves this machine")
	case value.Sub(p, "template") == nil:
		return nil, engine.BadRequest("InvalidRequestContent", "The request content was invalid: properties.template is missing.")
	case !strings.EqualFold(value.OrDefault(value.Str(p, "mode"), "Incremental"), "Incremental"):
		return nil, engine.ErrUnsupported("deployments in mode " + value.Str(p, "mode"))
	}
	tmpl, err := template.New(value.Sub(p, "template"), value.Sub(p, "parameters"), deploymentContext(t, id))
	if err != nil {
		return nil, engine.BadRequest("InvalidTemplate", "Deployment template validation failed: '%s'.", err)
	}
	for _, r := range tmpl.Resources {
		if rid, err := engine.ParseID(r.ID); err != nil || t.Server.Registry.TypeOf(rid.FullType()) == nil {
			if k, _, _ := t.Server.Registry.KindOf(rid); k == nil {
				return nil, engine.ErrUnsupported("the resource type " + r.Type + " in a template")
			}
		}
	}
	return tmpl, nil
}

func deploymentContext(t *engine.Tx, id engine.ID) template.Context {
	c := template.Context{
		Subscription: id.Subscription, TenantID: t.Server.Options.TenantID, Group: id.Group, Deployment: id.Name(),
		Endpoint: "https://management.azure.com/", APIVersion: "2024-07-01", Now: t.Now.Format("20060102T150405Z"),
	}
	if g := t.Find(id.GroupID().Key()); g != nil {
		c.Group, c.GroupLocation = g.Parsed.Group, g.Location()
	}
	return c
}

func validateDeployment(c *engine.Request, id engine.ID) *engine.Error {
	body, e := c.Body()
	if e != nil {
		return e
	}
	var out value.Object
	c.Server.Read(func(t *engine.Tx) {
		var tmpl *template.Template
		if tmpl, e = readDeployment(c, t, id, body); e == nil {
			p := deploymentProperties(t, tmpl, engine.StatusSucceeded)
			p["validatedResources"] = value.IDs(resourceIDs(tmpl))
			out = value.Object{"id": id.String(), "name": id.Name(), "type": typeDeployment, "properties": p}
		}
	})
	if e != nil {
		return e
	}
	c.Reply(http.StatusOK, out)
	return nil
}

func putDeployment(c *engine.Request) *engine.Error {
	body, e := c.Body()
	if e != nil {
		return e
	}
	var op *engine.Operation
	var view value.Object
	status := http.StatusOK
	err := c.Server.Update(func(t *engine.Tx) error {
		tmpl, e := readDeployment(c, t, c.Id, body)
		if e != nil {
			return e
		}
		d := &engine.Doc{ID: c.Id.String(), Type: typeDeployment, Parsed: c.Id, Hidden: value.Object{},
			Body: value.Object{"properties": deploymentProperties(t, tmpl, "Accepted")}}
		if old := t.Find(c.Id.Key()); old != nil {
			d.ID, d.Parsed, d.Created = old.ID, old.Parsed, old.Created
		} else {
			status = http.StatusCreated
		}
		if tags := body["tags"]; tags != nil {
			d.Body["tags"] = tags
		}
		d.Hidden["template"], d.Hidden["parameters"] = value.At(body, "properties", "template"), value.At(body, "properties", "parameters")
		t.Put(d)
		op = t.Begin(&engine.Operation{Method: http.MethodPut, Target: d.ID, Style: engine.StyleDeployment,
			Subscription: c.Id.Subscription, Namespace: "Microsoft.Resources",
			Location: "global", APIVersion: c.Version}, deploymentPut(), 5*time.Second)
		view = t.View(d, "")
		return nil
	})
	if e := engine.AsError(err); e != nil {
		return e
	}
	op.Headers(c.Writer.Header(), c.Server, c.Host)
	c.Reply(status, view)
	return nil
}

// deploymentProperties returns the properties of a deployment that has not ended.
func deploymentProperties(t *engine.Tx, tmpl *template.Template, state string) value.Object {
	parameters := value.Object{}
	for name, p := range tmpl.Parameters {
		parameters[name] = value.Object{"type": title(p.Type), "value": p.Value}
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
		dependencies = append(dependencies, value.Object{
			"id": r.ID, "resourceType": r.Type, "resourceName": r.Name, "dependsOn": dependees(r.DependsOn),
		})
	}
	providers := []any{}
	for _, ns := range value.SortedKeys(types) {
		list := []any{}
		for _, typ := range types[ns] {
			list = append(list, value.Object{"resourceType": typ, "locations": []any{nil}})
		}
		providers = append(providers, value.Object{"namespace": ns, "resourceTypes": list})
	}
	return value.Object{"templateHash": t.Server.GUID(), "parameters": parameters, "mode": "Incremental",
		"provisioningState": state, "timestamp": t.Now.Format(time.RFC3339Nano), "duration": "PT0S",
		"correlationId": t.Server.GUID(), "providers": providers, "dependencies": dependencies}
}

func dependees(list []string) []any {
	out := []any{}
	for _, id := range list {
		if r, err := engine.ParseID(id); err == nil {
			out = append(out, value.Object{"id": id, "resourceType": r.FullType(), "resourceName": r.Name()})
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

// title returns a parameter's type as deployments show it.
func title(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func listDeploymentOperations(c *engine.Request, id engine.ID) *engine.Error {
	var d *engine.Doc
	c.Server.Read(func(t *engine.Tx) { d = t.Find(id.Key()) })
	if d == nil {
		return errDeploymentNotFound(id)
	}
	out, _ := d.Hidden["operations"].([]any)
	if out == nil {
		out = []any{}
	}
	c.Reply(http.StatusOK, value.Object{"value": out})
	return nil
}
