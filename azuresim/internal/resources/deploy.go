package resources

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
	"casement.dev/casement/azuresim/template"
	"casement.dev/casement/azuresim/template/datum"
)

// deployed is the result of a deployment.
type deployed struct {
	operations []any
	outputs    []template.Output
	made       []string // IDs of the resources, including those of nested deployments
}

// runDeployment writes the resources of a template, each after those that it depends on,
// with the same requests that any client would send.
func runDeployment(ctx context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	var tmpl *template.Template
	var failed *engine.Error
	from := sender{ctx: ctx, s: s, deployment: path.Base(op.Target)}
	end := takeTurn(s)
	s.Read(func(t *engine.Tx) {
		d := t.Find(op.Target)
		if d == nil {
			failed = engine.Refuse(http.StatusNotFound, "DeploymentNotFound", "The deployment is gone.")
			return
		}
		var err error
		if tmpl, err = expandKept(t, d); err != nil {
			failed = engine.BadRequest("InvalidTemplate", "%s", err)
		}
		if id, _ := d.Hidden["identity"].(string); id != "" {
			var there bool
			from.as, there = engine.FindPrincipal(t, func(p engine.Principal) bool { return strings.EqualFold(p.ID, id) })
			if !there {
				failed = engine.Refuse(http.StatusForbidden, "AuthorizationFailed", "The identity '%s' that deploys is gone.", id)
			}
		}
	})
	end()
	if failed != nil {
		return nil, failed
	}
	out := &deployed{}
	if failed = deployAll(from, op, tmpl, out); failed != nil {
		return out, failed
	}
	outputs, err := tmpl.Outputs(from)
	if err != nil {
		return out, engine.BadRequest("DeploymentOutputEvaluationFailed", "Unable to evaluate template outputs: '%s'.", err)
	}
	out.outputs = outputs
	return out, nil
}

func deployAll(from sender, op *engine.Operation, tmpl *template.Template, out *deployed) *engine.Error {
	var mu, evaluating sync.Mutex
	var details []*engine.Error
	done := map[string]chan struct{}{}
	bad := map[string]bool{}
	resources := slices.DeleteFunc(slices.Clone(tmpl.Resources), func(r *template.Resource) bool { return !r.Deployed() })
	for _, r := range resources {
		done[r.ID] = make(chan struct{})
	}
	var work sync.WaitGroup
	for _, r := range resources {
		work.Go(func() {
			defer close(done[r.ID])
			for _, d := range r.DependsOn {
				<-done[d]
			}
			mu.Lock()
			for _, d := range r.DependsOn {
				bad[r.ID] = bad[r.ID] || bad[d]
			}
			skip := bad[r.ID]
			mu.Unlock()
			if skip {
				return
			}
			begun := from.s.Clock.Now().UTC()
			e := deploy(from, r, &evaluating)
			made := madeBy(from.s, r)
			mu.Lock()
			defer mu.Unlock()
			if e == nil || r.IsDeployment() {
				out.made = append(out.made, made...)
			}
			out.operations = append(out.operations, deploymentOperation(from.s, op, r, begun, e))
			if e != nil {
				bad[r.ID] = true
				details = append(details, e)
			}
		})
	}
	work.Wait()
	if len(details) == 0 {
		return nil
	}
	e := engine.Conflict("DeploymentFailed", "At least one resource deployment operation failed. Please list "+
		"deployment operations for details. Please see https://aka.ms/arm-deployment-operations for usage "+
		"details.")
	e.Details = details
	return e
}

func deploymentOperation(s *engine.Server, op *engine.Operation, r *template.Resource, begun time.Time, e *engine.Error) value.Object {
	id, _ := engine.ParseID(r.ID) // cannot fail: the ID was parsed when the deployment began
	state, code := engine.StatusSucceeded, "OK"
	p := value.Object{"provisioningOperation": "Create", "timestamp": s.Clock.Now().UTC().Format(time.RFC3339Nano),
		"duration": duration(s.Clock.Now().Sub(begun)), "trackingId": uuid.NewString(),
		"targetResource": value.Object{"id": r.ID, "resourceType": r.Type, "resourceName": id.Name()}}
	if e != nil {
		state, code = engine.StatusFailed, strings.ReplaceAll(http.StatusText(e.Status), " ", "") // .NET's name of the status
		p["statusMessage"] = value.Object{"error": value.Object{"code": e.Code, "message": e.Message}}
	}
	p["provisioningState"], p["statusCode"] = state, code
	operationID := strings.ToUpper(strings.ReplaceAll(uuid.NewString(), "-", ""))[:16]
	return value.Object{"id": op.Target + "/operations/" + operationID, "operationId": operationID, "properties": p}
}

// duration returns a time span in ISO 8601, as in the answers about deployments.
func duration(d time.Duration) string { return fmt.Sprintf("PT%.7gS", d.Seconds()) }

// deployAttempts limits the attempts of a write that conflicts with another operation.
const deployAttempts = 30

// deploy writes one resource and waits until its operation ends. evaluating ensures that only one
// goroutine evaluates the template at a time.
func deploy(from sender, r *template.Resource, evaluating *sync.Mutex) *engine.Error {
	evaluating.Lock()
	body, err := r.Body(from)
	evaluating.Unlock()
	if err != nil {
		return engine.BadRequest("InvalidTemplate", "Unable to process template language expressions for resource '%s': '%s'.", r.ID, err)
	}
	data := datum.Encode(body)
	for attempt := 1; ; attempt++ {
		operation, e := from.deploy(r, data)
		if e == nil {
			return from.s.Ended(from.ctx, operation)
		}
		if retry := e.Status == http.StatusTooManyRequests || e.Code == "AnotherOperationInProgress" ||
			e.Code == "Conflict"; !retry || attempt == deployAttempts {
			return e
		}
		if from.s.Until(from.ctx, from.s.Clock.Now().Add(max(20*time.Millisecond, from.s.Latency(time.Second)))) != nil {
			return engine.Refuse(http.StatusServiceUnavailable, "ServerTimeout", "The local Azure is stopping.")
		}
	}
}

// deploy sends the PUT of a resource and returns the ID of the operation that it began; "" if it
// began none.
func (f sender) deploy(r *template.Resource, data []byte) (string, *engine.Error) {
	target, err := engine.ParseID(r.ID)
	if err != nil {
		return "", engine.BadRequest("InvalidTemplate", "%s", err)
	}
	resp, err := f.send(http.MethodPut, target, r.APIVersion, data)
	if err != nil {
		return "", engine.Refuse(http.StatusServiceUnavailable, "ServerTimeout", "%s", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		var failed struct{ Error *engine.Error }
		if err := json.NewDecoder(resp.Body).Decode(&failed); err != nil || failed.Error == nil {
			return "", engine.Refuse(resp.StatusCode, "InternalServerError", "The resource %s answered status %d.", r.ID, resp.StatusCode)
		}
		failed.Error.Status = resp.StatusCode
		return "", failed.Error
	}
	for _, h := range []string{"Azure-AsyncOperation", "Location"} {
		if url := resp.Header.Get(h); url != "" {
			url, _, _ = strings.Cut(url, "?")
			return path.Base(url), nil
		}
	}
	return "", nil
}

// sender sends the requests of a deployment, and answers the template functions that read deployed
// resources.
type sender struct {
	ctx        context.Context
	s          *engine.Server
	deployment string
	// as is the managed identity that deploys, the zero value for an application: the resources are
	// written with the sender's permissions.
	as engine.Principal
}

func (f sender) send(method string, to engine.ID, version string, data []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(f.ctx, method, "https://localhost"+to.Escaped()+"?api-version="+version, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	as := f.as
	if as.ID == "" {
		as = engine.Principal{Client: "deployment", Object: "deployment"}
	}
	req.Header.Set("Authorization", "Bearer "+f.s.TokenOf(as, "https://management.azure.com"))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "deployment/"+f.deployment)
	return engine.RoundTrip(f.s, req)
}

// madeBy returns the IDs of the resources that a resource of a template has created: its own or,
// for a nested deployment, its output resources.
func madeBy(s *engine.Server, r *template.Resource) []string {
	if !r.IsDeployment() {
		return []string{r.ID}
	}
	var out []string
	s.Read(func(t *engine.Tx) {
		if d := t.Find(value.Lower(r.ID)); d != nil {
			for _, o := range value.Items(d.Body, "properties", "outputResources") {
				out = append(out, value.Str(o, "id"))
			}
		}
	})
	return out
}

// ask sends a request about a resource and returns the answer.
func (f sender) ask(method, id, action, version string, data []byte) (any, error) {
	target, err := engine.ParseID(id + action)
	if err != nil {
		return nil, err
	}
	resp, err := f.send(method, target, value.OrDefault(version, "2021-04-01"), data)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	v, err := datum.Decode(text)
	if resp.StatusCode < http.StatusBadRequest || err != nil {
		return v, err
	}
	o, _ := v.(*datum.Object)
	return nil, fmt.Errorf("%s: %s", o.Object("error").Text("code"), o.Object("error").Text("message"))
}

// Reference implements template.Live.
func (f sender) Reference(id, version string, full bool) (any, error) {
	v, err := f.ask(http.MethodGet, id, "", version, nil)
	if err != nil {
		return nil, fmt.Errorf("the resource '%s' cannot be read: %w", id, err)
	}
	o, _ := v.(*datum.Object)
	if full {
		return o, nil
	}
	if p := o.Object("properties"); p != nil {
		return p, nil
	}
	return &datum.Object{}, nil
}

// List implements template.Live.
func (f sender) List(function, id, version string, body any) (any, error) {
	var data []byte
	if body != nil {
		data = datum.Encode(body)
	}
	v, err := f.ask(http.MethodPost, id, "/"+function, version, data)
	if err != nil {
		return nil, fmt.Errorf("the function '%s' of the resource '%s': %w", function, id, err)
	}
	return v, nil
}

func finishDeployment(t *engine.Tx, op *engine.Operation, result any, err *engine.Error) {
	d := t.Edit(op.Target)
	if d == nil {
		return
	}
	p := value.Props(d.Body)
	p["timestamp"], p["duration"] = t.Now.Format(time.RFC3339Nano), duration(t.Now.Sub(op.Start))
	d.Settle(err)
	if err != nil {
		p["error"] = errorBody(err)
	}
	if out, ok := result.(*deployed); ok && out != nil {
		d.Hidden["operations"] = out.operations
		p["outputResources"] = value.IDs(slices.Compact(slices.Sorted(slices.Values(out.made))))
		if out.outputs != nil {
			outputs := &datum.Object{}
			for _, o := range out.outputs {
				shown := datum.New("type", o.Type)
				if !o.Secure {
					shown.Set("value", o.Value)
				}
				outputs.Set(camel(o.Name), shown)
			}
			d.Hidden["outputs"] = string(datum.Encode(outputs))
		}
	}
	delete(d.Hidden, "parameters") // used up, and the parameters can contain secrets
	t.Put(d)
}

// camel returns an output's name as answers about deployments show it: its leading capitals become
// small, except a capital that begins a word. (Seen in the published output of az vmss create,
// whose template says VMSS.)
func camel(name string) string {
	for i := 0; i < len(name) && unicode.IsUpper(rune(name[i])); i++ {
		if i > 0 && i+1 < len(name) && !unicode.IsUpper(rune(name[i+1])) {
			break
		}
		name = name[:i] + strings.ToLower(name[i:i+1]) + name[i+1:]
	}
	return name
}

// errorBody returns an error in the form of documents.
func errorBody(e *engine.Error) value.Object {
	o := value.Object{"code": e.Code, "message": e.Message}
	if len(e.Details) > 0 {
		var details []any
		for _, d := range e.Details {
			details = append(details, errorBody(d))
		}
		o["details"] = details
	}
	return o
}
