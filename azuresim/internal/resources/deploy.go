package resources

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
	"unicode"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/template"
	"casement.dev/casement/azuresim/internal/value"
)

// deployed is the result of a deployment.
type deployed struct {
	operations []any
	outputs    value.Object
}

// runDeployment writes the resources of a template, each after those that it depends on,
// with the same requests that any client would send.
func runDeployment(ctx context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	var tmpl *template.Template
	var failed *engine.Error
	s.Read(func(t *engine.Tx) {
		d := t.Find(op.Target)
		if d == nil {
			failed = engine.Refuse(http.StatusNotFound, "DeploymentNotFound", "The deployment is gone.")
			return
		}
		var err error
		if tmpl, err = template.New(value.Sub(d.Hidden, "template"), value.Sub(d.Hidden, "parameters"),
			deploymentContext(t, d.Parsed)); err != nil {
			failed = engine.BadRequest("InvalidTemplate", "%s", err)
		}
	})
	if failed != nil {
		return nil, failed
	}
	out := &deployed{}
	if failed = deployAll(s, ctx, op, tmpl, out); failed != nil {
		return out, failed
	}
	outputs, err := tmpl.Outputs(referrer(s))
	if err != nil {
		return out, engine.BadRequest("DeploymentOutputEvaluationFailed", "Unable to evaluate template outputs: '%s'.", err)
	}
	out.outputs = outputs
	return out, nil
}

func deployAll(s *engine.Server, ctx context.Context, op *engine.Operation, tmpl *template.Template, out *deployed) *engine.Error {
	var mu sync.Mutex
	var details []*engine.Error
	done := map[string]chan struct{}{}
	bad := map[string]bool{}
	for _, r := range tmpl.Resources {
		done[r.ID] = make(chan struct{})
	}
	var work sync.WaitGroup
	for _, r := range tmpl.Resources {
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
			begun := s.Clock.Now().UTC()
			e := deploy(s, ctx, op, r)
			mu.Lock()
			defer mu.Unlock()
			out.operations = append(out.operations, deploymentOperation(s, op, r, begun, e))
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

func deploymentOperation(s *engine.Server, op *engine.Operation, r template.Resource, begun time.Time, e *engine.Error) value.Object {
	id, _ := engine.ParseID(r.ID) // it was parsed when the deployment began
	state, code := engine.StatusSucceeded, "OK"
	p := value.Object{"provisioningOperation": "Create", "timestamp": s.Clock.Now().UTC().Format(time.RFC3339Nano),
		"duration": duration(s.Clock.Now().Sub(begun)), "trackingId": s.GUID(),
		"targetResource": value.Object{"id": r.ID, "resourceType": r.Type, "resourceName": id.Name()}}
	if e != nil {
		state, code = engine.StatusFailed, http.StatusText(e.Status)
		p["statusMessage"] = value.Object{"error": value.Object{"code": e.Code, "message": e.Message}}
	}
	p["provisioningState"], p["statusCode"] = state, code
	operationID := strings.ToUpper(strings.ReplaceAll(s.GUID(), "-", ""))[:16]
	return value.Object{"id": op.Target + "/operations/" + operationID, "operationId": operationID, "properties": p}
}

// duration returns a time span in ISO 8601, as deployments show it.
func duration(d time.Duration) string { return fmt.Sprintf("PT%.7gS", d.Seconds()) }

// deployAttempts bounds how often a write is repeated that ran into another one.
const deployAttempts = 30

// deploy writes one resource and waits for its end.
func deploy(s *engine.Server, ctx context.Context, op *engine.Operation, r template.Resource) *engine.Error {
	body, err := r.Body(referrer(s))
	if err != nil {
		return engine.BadRequest("InvalidTemplate", "Unable to process template language expressions for resource '%s': '%s'.", r.ID, err)
	}
	data, err := json.Marshal(body)
	if err != nil {
		return engine.BadRequest("InvalidTemplate", "The resource %s: %s.", r.ID, err)
	}
	for attempt := 1; ; attempt++ {
		operation, e := deployOnce(s, ctx, op, r, data)
		if e == nil {
			return s.Ended(ctx, operation)
		}
		if retry := e.Status == http.StatusTooManyRequests || e.Code == "AnotherOperationInProgress" ||
			e.Code == "Conflict"; !retry || attempt == deployAttempts {
			return e
		}
		if s.Until(ctx, s.Clock.Now().Add(max(20*time.Millisecond, s.Latency(time.Second)))) != nil {
			return engine.Refuse(http.StatusServiceUnavailable, "ServerTimeout", "The local Azure is stopping.")
		}
	}
}

// deployOnce sends the PUT and returns the operation that it began, "" for none.
func deployOnce(s *engine.Server, ctx context.Context, op *engine.Operation, r template.Resource, data []byte) (string, *engine.Error) {
	target, err := engine.ParseID(r.ID)
	if err != nil {
		return "", engine.BadRequest("InvalidTemplate", "%s", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut,
		"https://localhost"+target.Escaped()+"?api-version="+r.APIVersion, bytes.NewReader(data))
	if err != nil {
		return "", engine.BadRequest("InvalidTemplate", "%s", err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token("deployment", "deployment", "https://management.azure.com"))
	req.Header.Set("User-Agent", "deployment/"+path.Base(op.Target))
	resp, err := engine.RoundTrip(s, req)
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

// referrer answers the template function reference.
func referrer(s *engine.Server) func(id, version string, full bool) (any, error) {
	return func(id, _ string, full bool) (any, error) { return reference(s, id, full) }
}

func reference(s *engine.Server, id string, full bool) (any, error) {
	r, err := engine.ParseID(id)
	if err != nil {
		return nil, err
	}
	var body value.Object
	s.Read(func(t *engine.Tx) {
		k, owner, part := s.Registry.KindOf(r)
		if d := t.Find(owner.Key()); d != nil && k != nil {
			if body = t.View(d, ""); part != "" {
				body = engine.PartOf(body, part, r.Name())
			}
		}
	})
	switch {
	case body == nil:
		return nil, fmt.Errorf("the resource '%s' was not found", id)
	case full:
		return body, nil
	}
	return value.Props(body), nil
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
		var made []string
		for _, o := range out.operations {
			if o, ok := o.(value.Object); ok && value.Str(o, "properties", "provisioningState") == engine.StatusSucceeded {
				made = append(made, value.Str(o, "properties", "targetResource", "id"))
			}
		}
		p["outputResources"] = value.IDs(made)
		if out.outputs != nil {
			outputs := value.Object{}
			for name, v := range out.outputs {
				outputs[camel(name)] = v
			}
			p["outputs"] = outputs
		}
	}
	delete(d.Hidden, "parameters") // secrets are among them, and they have been used
	t.Put(d)
}

// camel returns an output's name as deployments show it: the capitals that it begins with
// are small, but for one that a word begins with. (Seen in the published output of az vmss
// create, whose template says VMSS.)
func camel(name string) string {
	for i := 0; i < len(name) && unicode.IsUpper(rune(name[i])); i++ {
		if i > 0 && i+1 < len(name) && !unicode.IsUpper(rune(name[i+1])) {
			break
		}
		name = name[:i] + strings.ToLower(name[i:i+1]) + name[i+1:]
	}
	return name
}

// errorBody returns an error as documents have it.
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
