package resources

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
	"casement.dev/casement/azuresim/template"
	"casement.dev/casement/azuresim/template/datum"
)

// deploymentType returns the resource type of deployments of templates to a resource group.
func deploymentType() engine.Type {
	return engine.Type{Name: typeDeployment, Style: engine.StyleGroup, Takes: time.Second, Global: true,
		Untracked: true, Opaque: true, Supersedes: true, Put: deploymentPut(), Serve: serveDeployment, View: viewDeployment,
		Works: []engine.Work{whatIfWork()},
		Actions: []engine.Action{
			{Name: "validate", Serve: validateDeployment}, {Name: "whatif", Serve: whatIf},
			{Name: "exporttemplate", Serve: exportTemplate}, {Name: "cancel", Serve: cancelDeployment},
		}}
}

func deploymentPut() engine.Work {
	return engine.Work{Name: "deployment", Run: runDeployment, Finish: finishDeployment, Silent: true}
}

// serveDeployment answers the requests about deployments that the engine's handling of resources
// does not cover.
func serveDeployment(c *engine.Request) (bool, *engine.Error) {
	switch {
	case !c.ID.IsResource():
		return false, nil
	case c.HTTP.Method == http.MethodPut:
		return true, putDeployment(c)
	case c.HTTP.Method == http.MethodHead:
		return true, headDeployment(c)
	case c.HTTP.Method == http.MethodPatch:
		return true, engine.NotAllowed(c.HTTP.Method)
	}
	return false, nil
}

// answerDeployment answers the list of a deployment's operations. Its path contains a provider only
// for a deployment to a subscription.
func answerDeployment(c *engine.Request) (bool, *engine.Error) {
	id := c.ID
	if id.Namespace != "" && value.Lower(id.Namespace) != value.Lower(resourcesSpace) || len(id.Types) != 2 || len(id.Names) != 1 ||
		value.Lower(id.Types[0]) != "deployments" || value.Lower(id.Types[1]) != "operations" ||
		c.HTTP.Method != http.MethodGet {
		return false, nil
	}
	id.Namespace, id.Types = "Microsoft.Resources", id.Types[:1]
	return true, listDeploymentOperations(c, id)
}

func headDeployment(c *engine.Request) *engine.Error {
	there := false
	c.Server.Read(func(t *engine.Tx) { there = t.Find(c.ID.Key()) != nil })
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
	kept := d.Hidden["template"] // an object in the state of an earlier version
	if text, is := kept.(string); is {
		kept = json.RawMessage(text)
	}
	c.Reply(http.StatusOK, value.Object{"template": kept})
	return nil
}

// cancelDeployment cancels a deployment in progress.
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

// request is the parsed body of a request about a deployment; the order of its properties is kept.
type request struct {
	template, parameters *datum.Object
	mode, location       string
	body                 *datum.Object
	// links are the links in the request, as answers show them, to documents that the request
	// refers to in place of containing them.
	links value.Object
}

// readRequest reads the body of a request about a deployment.
func readRequest(c *engine.Request) (*request, *engine.Error) {
	data, e := engine.BodyText(c)
	if e != nil {
		return nil, e
	}
	body, err := datum.DecodeObject(data)
	if err != nil {
		return nil, engine.BadRequest("InvalidRequestContent", "The request content was invalid and could not be deserialized: '%s'.", err)
	}
	p := body.Object("properties")
	r := &request{template: p.Object("template"), parameters: p.Object("parameters"), mode: p.Text("mode"),
		location: engine.Region(body.Text("location")), body: body, links: value.Object{}}
	if e := r.follow(c, p); e != nil {
		return nil, e
	}
	if r.template == nil {
		return nil, engine.BadRequest("InvalidRequestContent", "The request content was invalid: properties.template is missing.")
	}
	return r, nil
}

// follow reads the template and the parameters that a request gives by link.
func (r *request) follow(c *engine.Request, p *datum.Object) *engine.Error {
	for _, name := range []string{"templateLink", "parametersLink"} {
		link := p.Object(name)
		if link == nil {
			continue
		}
		uri, linked := link.Text("uri"), engine.StateOf[*state](c.Server, resourcesSpace).linked
		if linked == nil || uri == "" {
			return engine.ErrUnsupported("templates by link: nothing leaves this machine")
		}
		data, err := linked(uri)
		if err != nil {
			return engine.BadRequest("InvalidContentLink", "Unable to download deployment content from '%s': %s.", uri, err)
		}
		doc, err := datum.DecodeObject(data)
		if err != nil {
			return engine.BadRequest("InvalidContentLink", "The deployment content of '%s' is no JSON object: %s.", uri, err)
		}
		shown := value.Object{"uri": uri}
		if r.links[name] = shown; name == "parametersLink" {
			r.parameters = doc.Object("parameters")
			continue
		}
		r.template, shown["contentVersion"] = doc, doc.Text("contentVersion")
	}
	return nil
}

// read expands the template of a request and refuses a template that the local Azure cannot deploy,
// before any resource is created.
func (r *request) read(t *engine.Tx, id engine.ID, seed string) (*template.Template, *engine.Error) {
	switch {
	case !incremental(r.mode) && !strings.EqualFold(r.mode, "Complete"):
		return nil, engine.BadRequest("InvalidRequestContent", "The request content was invalid and could not be deserialized: 'Error "+
			"converting value \"%s\" to type 'DeploymentMode'. Path 'properties.mode'.'.", r.mode)
	case !incremental(r.mode):
		return nil, engine.ErrUnsupported("deployments in mode " + r.mode)
	case id.Group == "" && r.location == "":
		return nil, engine.BadRequest("LocationRequired",
			"The 'location' property is required for a deployment to a subscription or a management group.")
	}
	for name, v := range r.parameters.All() {
		if o, _ := v.(*datum.Object); o.Object("reference") != nil {
			return nil, engine.ErrUnsupported("the parameter " + name + " from a key vault")
		}
	}
	tmpl, err := template.New(r.template, r.parameters, deploymentContext(t, id, r.location, seed, t.Now))
	if err != nil {
		return nil, engine.BadRequest("InvalidTemplate", "Deployment template validation failed: '%s'.", err)
	}
	if len(tmpl.Problems) > 0 {
		return nil, engine.BadRequest("InvalidTemplate", "Deployment template validation failed: '%s'.", strings.Join(tmpl.Problems, "; "))
	}
	var refused *engine.Error
	tmpl.All(func(x *template.Resource) {
		switch {
		case refused != nil:
		case strings.HasPrefix(x.ID, "/subscriptions//"):
			refused = engine.ErrUnsupported("the resource " + x.Name + " at a management group, where nested deployments to a subscription are")
		default:
			refused = deployable(t.Server, x)
		}
	})
	return tmpl, refused
}

func incremental(mode string) bool {
	return strings.EqualFold(value.OrDefault(mode, "Incremental"), "Incremental")
}

// deployable returns an error that names a resource type, or a kind of nested deployment, that the
// local Azure does not emulate.
func deployable(s *engine.Server, r *template.Resource) *engine.Error {
	if r.IsDeployment() {
		switch {
		case r.Linked():
			return engine.ErrUnsupported("the nested deployment " + r.Name + " by link: nothing leaves this machine")
		case !incremental(r.Mode()):
			return engine.ErrUnsupported("the nested deployment " + r.Name + " in mode " + r.Mode())
		}
		return nil
	}
	id, err := engine.ParseID(r.ID)
	owner, _, _ := strings.Cut(r.Type, "/providers/")
	if err != nil && s.Registry.TypeOf(owner) != nil {
		return nil // the name is known only at deployment, and so is the full ID
	}
	if k, _, _ := s.Registry.KindOf(id); k != nil || s.Registry.TypeOf(id.FullType()) != nil || s.Registry.TypeOf(r.Type) != nil {
		return nil
	}
	return engine.ErrUnsupported("the resource type " + r.Type + " in a template")
}

// environment returns the description of the cloud for templates.
func environment() *datum.Object {
	return datum.New("name", "AzureCloud", "gallery", "https://gallery.azure.com/", "graph", "https://graph.windows.net/",
		"portal", "https://portal.azure.com", "resourceManager", "https://management.azure.com/",
		"authentication", datum.New("loginEndpoint", "https://login.microsoftonline.com/", "tenant", "common",
			"audiences", []any{"https://management.core.windows.net/", "https://management.azure.com/"}, "identityProvider", "AAD"),
		"suffixes", datum.New("keyvaultDns", ".vault.azure.net", "storage", "core.windows.net",
			"sqlServerHostname", ".database.windows.net",
			"acrLoginServer", ".azurecr.io", "azureDatalakeStoreFileSystem", "azuredatalakestore.net"))
}

// deploymentContext returns the scope to which a template is deployed. The values that change from
// call to call are computed from the seed and the time of the request, so that a resumed deployment
// creates the same names.
func deploymentContext(t *engine.Tx, id engine.ID, location, seed string, now time.Time) template.Context {
	made := 0
	c := template.Context{
		Subscription: id.Subscription, Tenant: t.Server.Options.TenantID, Group: id.Group, Deployment: id.Name(), Location: location,
		Environment: environment(), Now: now,
		Deployer: datum.New("objectId", "", "tenantId", t.Server.Options.TenantID),
		NewGUID: func() string {
			made++
			h := sha256.Sum256([]byte(fmt.Sprint(seed, made)))
			h[6], h[8] = h[6]&0x0f|0x40, h[8]&0x3f|0x80
			return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
		},
	}
	c.Existing = func(subscription, group string) string {
		if g := t.Find("/subscriptions/" + value.Lower(subscription) + "/resourcegroups/" + value.Lower(group)); g != nil {
			return g.Location()
		}
		return ""
	}
	if id.Group != "" {
		if g := t.Find(id.GroupID().Key()); g != nil {
			c.Group, c.Location = g.Parsed.Group, g.Location()
			c.Tags, _ = datum.Of(value.Sub(g.Body, "tags")).(*datum.Object)
		}
	}
	return c
}

// writable checks that a deployment can be written.
func writable(t *engine.Tx, id engine.ID) *engine.Error {
	e := t.Writable(id, id.Key(), "")
	if e != nil && e.Code == "Conflict" {
		return engine.Conflict("DeploymentActive",
			"Unable to edit or replace deployment '%s': previous deployment is still active.", id.Name())
	}
	return e
}

func validateDeployment(c *engine.Request, id engine.ID) *engine.Error {
	r, e := readRequest(c)
	if e != nil {
		return e
	}
	var out value.Object
	defer takeTurn(c.Server)()
	c.Server.Read(func(t *engine.Tx) {
		if e = writable(t, id); e != nil {
			return
		}
		var tmpl *template.Template
		if tmpl, e = r.read(t, id, ""); e == nil {
			p := r.properties(t, tmpl, engine.StatusSucceeded)
			p["validatedResources"] = value.IDs(resourceIDs(tmpl))
			out = value.Object{"id": id.String(), "name": id.Name(), "type": typeDeployment, "properties": p}
			if id.Group == "" {
				out["location"] = r.location
			}
		}
	})
	if e != nil {
		return e
	}
	c.Reply(http.StatusOK, out)
	return nil
}

func putDeployment(c *engine.Request) *engine.Error {
	r, e := readRequest(c)
	if e != nil {
		return e
	}
	var op *engine.Operation
	var view value.Object
	status := http.StatusOK
	defer takeTurn(c.Server)()
	err := c.Server.Update(func(t *engine.Tx) error {
		if e := writable(t, c.ID); e != nil {
			return e
		}
		seed := uuid.NewString()
		tmpl, e := r.read(t, c.ID, seed)
		if e != nil {
			return e
		}
		d := &engine.Doc{ID: c.ID.String(), Type: typeDeployment, Parsed: c.ID, Hidden: value.Object{},
			Body: value.Object{"properties": r.properties(t, tmpl, "Accepted")}}
		if old := t.Find(c.ID.Key()); old != nil {
			d.ID, d.Parsed, d.Created = old.ID, old.Parsed, old.Created
		} else {
			status = http.StatusCreated
		}
		if tags := r.body.Object("tags"); tags != nil {
			d.Body["tags"] = datum.Plain(tags)
		}
		if c.ID.Group == "" {
			d.Body["location"] = r.location
		}
		d.Hidden["template"], d.Hidden["parameters"] = string(datum.Encode(r.template)), string(datum.Encode(r.parameters))
		d.Hidden["seed"], d.Hidden["time"] = seed, t.Now.Format(time.RFC3339Nano)
		d.Hidden["identity"] = c.Identity
		t.Put(d)
		location := value.OrDefault(r.location, "global")
		op = t.Begin(&engine.Operation{Method: http.MethodPut, Target: d.ID, Style: engine.StyleDeployment,
			Subscription: c.ID.Subscription, Namespace: "Microsoft.Resources",
			Location: location, APIVersion: c.Version}, deploymentPut(), 5*time.Second)
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

// viewDeployment adds the outputs, which are stored as they were evaluated: integers are exact and
// objects in order.
func viewDeployment(_ *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	if text, ok := d.Hidden["outputs"].(string); ok {
		value.Props(body)["outputs"] = json.RawMessage(text)
	}
}

// expandKept expands the stored template of an accepted deployment.
func expandKept(t *engine.Tx, d *engine.Doc) (*template.Template, error) {
	text := func(key string) []byte { s, _ := d.Hidden[key].(string); return []byte(s) }
	raw, err := datum.DecodeObject(text("template"))
	if err != nil {
		return nil, err
	}
	given, err := datum.Decode(text("parameters"))
	if err != nil {
		return nil, err
	}
	parameters, _ := given.(*datum.Object)
	now, err := time.Parse(time.RFC3339Nano, string(text("time")))
	if err != nil {
		return nil, err
	}
	return template.New(raw, parameters, deploymentContext(t, d.Parsed, value.Str(d.Body, "location"), string(text("seed")), now))
}

// properties returns the properties of a deployment that has not ended.
func (r *request) properties(t *engine.Tx, tmpl *template.Template, state string) value.Object {
	parameters := value.Object{}
	for _, p := range tmpl.Parameters {
		o := value.Object{"type": p.Type}
		if !strings.HasPrefix(p.Type, "Secure") {
			o["value"] = datum.Plain(p.Value)
		}
		parameters[p.Name] = o
	}
	types, places := map[string][]string{}, map[string][]any{}
	dependencies := []any{}
	for _, x := range tmpl.Resources {
		if !x.Deployed() {
			continue
		}
		ns, typ, _ := strings.Cut(x.Type, "/")
		if !slices.Contains(types[ns], typ) {
			types[ns] = append(types[ns], typ)
		}
		var place any // nil for a resource without a location
		if location := x.Location(); location != "" {
			place = engine.Region(location)
		}
		if !slices.Contains(places[x.Type], place) {
			places[x.Type] = append(places[x.Type], place)
		}
		if len(x.DependsOn) == 0 {
			continue
		}
		dependencies = append(dependencies, value.Object{
			"id": x.ID, "resourceType": x.Type, "resourceName": x.Name, "dependsOn": dependees(x.DependsOn),
		})
	}
	providers := []any{}
	for _, ns := range value.SortedKeys(types) {
		list := []any{}
		for _, typ := range types[ns] {
			list = append(list, value.Object{"resourceType": typ, "locations": places[ns+"/"+typ]})
		}
		providers = append(providers, value.Object{"namespace": ns, "resourceTypes": list})
	}
	out := value.Object{"templateHash": fmt.Sprint(rand.Uint64()), "parameters": parameters, "mode": "Incremental",
		"provisioningState": state, "timestamp": t.Now.Format(time.RFC3339Nano), "duration": "PT0S",
		"correlationId": uuid.NewString(), "providers": providers, "dependencies": dependencies}
	maps.Copy(out, r.links)
	return out
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
		if r.Deployed() {
			out = append(out, r.ID)
		}
	}
	return out
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
