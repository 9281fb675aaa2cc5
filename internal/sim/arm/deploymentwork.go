package arm

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

	"casement.dev/casement/internal/sim/template"
)

// deployed is what came of a deployment.
type deployed struct {
	operations []any
	outputs    object
}

// runDeployment writes the resources of a template, each once what it depends
// on is done, by the same requests that any client would send.
func runDeployment(ctx context.Context, s *Server, op *operation) (any, *Error) {
	var tmpl *template.Template
	var failed *Error
	s.read(func(t *tx) {
		d := t.find(op.Target)
		if d == nil {
			failed = refuse(http.StatusNotFound, "DeploymentNotFound", "The deployment is gone.")
			return
		}
		var err error
		if tmpl, err = template.New(sub(d.Hidden, "template"), sub(d.Hidden, "parameters"), t.deploymentContext(d.id)); err != nil {
			failed = badRequest("InvalidTemplate", "%s", err)
		}
	})
	if failed != nil {
		return nil, failed
	}
	out := &deployed{}
	if failed = s.deployAll(ctx, op, tmpl, out); failed != nil {
		return out, failed
	}
	outputs, err := tmpl.Outputs(referrer(s))
	if err != nil {
		return out, badRequest("DeploymentOutputEvaluationFailed", "Unable to evaluate template outputs: '%s'.", err)
	}
	out.outputs = outputs
	return out, nil
}

func (s *Server) deployAll(ctx context.Context, op *operation, tmpl *template.Template, out *deployed) *Error {
	var mu sync.Mutex
	var details []*Error
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
			begun := s.clock.Now().UTC()
			e := s.deploy(ctx, op, r)
			mu.Lock()
			defer mu.Unlock()
			out.operations = append(out.operations, s.deploymentOperation(op, r, begun, e))
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
	e := conflict("DeploymentFailed", "At least one resource deployment operation failed. Please list deployment operations for details. Please see https://aka.ms/arm-deployment-operations for usage details.")
	e.Details = details
	return e
}

func (s *Server) deploymentOperation(op *operation, r template.Resource, begun time.Time, e *Error) object {
	id, _ := parseID(r.ID) // it was parsed when the deployment began
	state, code := statusSucceeded, "OK"
	p := object{"provisioningOperation": "Create", "timestamp": s.clock.Now().UTC().Format(time.RFC3339Nano), "duration": duration(s.clock.Now().Sub(begun)), "trackingId": s.guid(),
		"targetResource": object{"id": r.ID, "resourceType": r.Type, "resourceName": id.name()}}
	if e != nil {
		state, code = statusFailed, http.StatusText(e.Status)
		p["statusMessage"] = object{"error": object{"code": e.Code, "message": e.Message}}
	}
	p["provisioningState"], p["statusCode"] = state, code
	operationID := strings.ToUpper(strings.ReplaceAll(s.guid(), "-", ""))[:16]
	return object{"id": op.Target + "/operations/" + operationID, "operationId": operationID, "properties": p}
}

// duration is a time span in ISO 8601, as deployments show it.
func duration(d time.Duration) string { return fmt.Sprintf("PT%.7gS", d.Seconds()) }

// deployAttempts bounds how often a write is repeated that ran into another one.
const deployAttempts = 30

// deploy writes one resource and waits for its end.
func (s *Server) deploy(ctx context.Context, op *operation, r template.Resource) *Error {
	body, err := r.Body(referrer(s))
	if err != nil {
		return badRequest("InvalidTemplate", "Unable to process template language expressions for resource '%s': '%s'.", r.ID, err)
	}
	data, err := json.Marshal(body)
	if err != nil {
		return badRequest("InvalidTemplate", "The resource %s: %s.", r.ID, err)
	}
	for attempt := 1; ; attempt++ {
		operation, e := s.deployOnce(ctx, op, r, data)
		if e == nil {
			return s.ended(ctx, operation)
		}
		if retry := e.Status == http.StatusTooManyRequests || e.Code == "AnotherOperationInProgress" || e.Code == "Conflict"; !retry || attempt == deployAttempts {
			return e
		}
		if s.until(ctx, s.clock.Now().Add(max(20*time.Millisecond, s.latency(time.Second)))) != nil {
			return refuse(http.StatusServiceUnavailable, "ServerTimeout", "The local Azure is stopping.")
		}
	}
}

// deployOnce sends the PUT and returns the operation that it began, "" for none.
func (s *Server) deployOnce(ctx context.Context, op *operation, r template.Resource, data []byte) (string, *Error) {
	target, err := parseID(r.ID)
	if err != nil {
		return "", badRequest("InvalidTemplate", "%s", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "https://localhost"+target.escaped()+"?api-version="+r.APIVersion, bytes.NewReader(data))
	if err != nil {
		return "", badRequest("InvalidTemplate", "%s", err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token("deployment", "deployment", "https://management.azure.com"))
	req.Header.Set("User-Agent", "deployment/"+path.Base(op.Target))
	resp, err := roundTrip(s, req)
	if err != nil {
		return "", refuse(http.StatusServiceUnavailable, "ServerTimeout", "%s", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		var failed struct{ Error *Error }
		if err := json.NewDecoder(resp.Body).Decode(&failed); err != nil || failed.Error == nil {
			return "", refuse(resp.StatusCode, "InternalServerError", "The resource %s answered status %d.", r.ID, resp.StatusCode)
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
func referrer(s *Server) func(id, version string, full bool) (any, error) {
	return func(id, _ string, full bool) (any, error) { return s.reference(id, full) }
}

func (s *Server) reference(id string, full bool) (any, error) {
	r, err := parseID(id)
	if err != nil {
		return nil, err
	}
	var body object
	s.read(func(t *tx) {
		k, owner, part := s.registry.kindOf(r)
		if d := t.find(owner.key()); d != nil && k != nil {
			if body = t.view(d, ""); part != "" {
				body = partOf(body, part, r.name())
			}
		}
	})
	switch {
	case body == nil:
		return nil, fmt.Errorf("the resource '%s' was not found", id)
	case full:
		return body, nil
	}
	return props(body), nil
}

func finishDeployment(t *tx, op *operation, result any, err *Error) {
	d := t.edit(op.Target)
	if d == nil {
		return
	}
	p := props(d.Body)
	p["timestamp"], p["duration"] = t.now.Format(time.RFC3339Nano), duration(t.now.Sub(op.Start))
	d.settle(err)
	if err != nil {
		p["error"] = errorBody(err)
	}
	if out, ok := result.(*deployed); ok && out != nil {
		d.Hidden["operations"] = out.operations
		var made []string
		for _, o := range out.operations {
			if o, ok := o.(object); ok && str(o, "properties", "provisioningState") == statusSucceeded {
				made = append(made, str(o, "properties", "targetResource", "id"))
			}
		}
		p["outputResources"] = ids(made)
		if out.outputs != nil {
			outputs := object{}
			for name, v := range out.outputs {
				outputs[camel(name)] = v
			}
			p["outputs"] = outputs
		}
	}
	delete(d.Hidden, "parameters") // secrets are among them, and they have been used
	t.put(d)
}

// camel is an output's name as deployments show it: the capitals that it begins
// with are small, but for one that a word begins with. (Seen in the published
// output of az vmss create, whose template says VMSS.)
func camel(name string) string {
	for i := 0; i < len(name) && unicode.IsUpper(rune(name[i])); i++ {
		if i > 0 && i+1 < len(name) && !unicode.IsUpper(rune(name[i+1])) {
			break
		}
		name = name[:i] + strings.ToLower(name[i:i+1]) + name[i+1:]
	}
	return name
}

// errorBody is an error as it stands in a document.
func errorBody(e *Error) object {
	o := object{"code": e.Code, "message": e.Message}
	if len(e.Details) > 0 {
		var details []any
		for _, d := range e.Details {
			details = append(details, errorBody(d))
		}
		o["details"] = details
	}
	return o
}
