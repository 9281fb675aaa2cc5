package arm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unique"
)

const (
	statusInProgress = "InProgress"
	statusSucceeded  = "Succeeded"
	statusFailed     = "Failed"
	statusCanceled   = "Canceled"
)

// style is how a resource provider speaks of its long-running operations.
type style string

const (
	styleGroup   style = "group"   // Location only
	styleNetwork style = "network" // short status; operationResults
	styleCompute style = "compute" // status with times; Location with monitor=true
	styleDNS     style = "dns"     // network's headers on a 202

	styleDeployment style = "deployment" // Azure-AsyncOperation below the deployment
)

// operation is one long-running operation. It outlives the process.
type operation struct {
	ID           string          `json:"id"`
	Action       string          `json:"action"`
	Method       string          `json:"method"`
	Target       string          `json:"target"`
	Lock         string          `json:"lock,omitempty"`
	Style        style           `json:"style"`
	Subscription string          `json:"subscription"`
	Namespace    string          `json:"namespace"`
	Location     string          `json:"location"`
	APIVersion   string          `json:"apiVersion"`
	Start        time.Time       `json:"start"`
	Due          time.Time       `json:"due"`
	End          time.Time       `json:"end,omitzero"`
	Status       string          `json:"status"`
	Error        *Error          `json:"error,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
	Args         object          `json:"args,omitempty"`
	BodyHash     string          `json:"bodyHash,omitempty"`
	// Fault, when set, is how the operation will fail.
	Fault *Error `json:"fault,omitempty"`
}

// lock is the document that nothing else may change meanwhile.
func (op *operation) lock() string {
	if op.Lock != "" {
		return lower(op.Lock)
	}
	return lower(op.Target)
}

// share lets operations have one string for what many of them say.
func (op *operation) share() {
	for _, s := range []*string{&op.Action, &op.Method, &op.Subscription, &op.Namespace, &op.Location, &op.APIVersion, &op.Status} {
		*s = unique.Make(*s).Value()
	}
}

// deletes says whether an operation takes its target away.
func (op *operation) deletes() bool { return strings.HasSuffix(op.Action, "delete") }

// putWork and deleteWork are the engine's own works: the resource is Succeeded, or
// gone.
func putWork() Work    { return Work{Name: "put", Finish: finishPut} }
func deleteWork() Work { return Work{Name: "delete", Finish: finishDelete} }

// begin files an operation; update drives it once the transaction is done.
func (t *tx) begin(op *operation, w Work, takes time.Duration) *operation {
	op.Action = w.Name
	op.ID = t.s.guid()
	op.Start = t.now
	op.Due = t.now.Add(t.s.latency(takes))
	op.Status = statusInProgress
	op.share()
	t.s.spoil(op)
	t.putOp(op)
	t.started = append(t.started, op)
	return op
}

// drive carries an operation to its end in the background.
func (s *Server) drive(op *operation) {
	s.work.Go(func() { s.carry(op) })
}

func (s *Server) carry(op *operation) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	s.running.add(op.ID, cancel)
	defer s.running.done(op.ID)

	w := s.registry.works[op.Action]
	result, err := any(nil), op.Fault
	if err == nil && w.Run != nil {
		result, err = w.Run(ctx, s, op)
	}
	if s.until(ctx, op.Due) != nil {
		return
	}
	failed := s.update(func(t *tx) error {
		cur := t.ops[op.ID]
		if cur == nil || cur.Status != statusInProgress {
			return nil
		}
		end := *cur
		end.End, end.Status, end.Error = t.now, statusSucceeded, err
		if err != nil {
			end.Status = statusFailed
		}
		if result != nil {
			end.Result, _ = json.Marshal(result)
		}
		t.putOp(&end)
		if w.Finish != nil { // nil for a work of a former version that is no more
			w.Finish(t, &end, result, err)
		}
		end.Args, end.BodyHash, end.Fault = nil, "", nil // done with
		t.prune()
		return nil
	})
	if failed != nil {
		s.log.Error(failed, "The end of an operation could not be kept", "operation", op.Action, "resource", op.Target)
	}
}

// openOperations are those in progress.
func (t *tx) openOperations() []*operation { return slices.Collect(maps.Values(t.open)) }

// until waits for a time of the server's clock.
func (s *Server) until(ctx context.Context, at time.Time) error {
	d := at.Sub(s.clock.Now())
	if d <= 0 {
		return ctx.Err()
	}
	timer := s.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keptOperations bounds the ended operations remembered; a client that polls
// one later than that sees 404, as in Azure after some hours.
const keptOperations = 4096

func (t *tx) prune() {
	if len(t.ops) < max(2*keptOperations, t.pruneAt) {
		return
	}
	horizon := t.now.Add(-time.Hour)
	for id, op := range t.ops {
		if op.Status != statusInProgress && op.End.Before(horizon) {
			t.dropOp(id)
		}
	}
	t.pruneAt = len(t.ops) + keptOperations // those that are too young get older first
}

// supersede ends the write under way on a document, if there is one.
func (t *tx) supersede(key string) {
	if cur := t.open[key]; cur != nil && !cur.deletes() {
		t.cancelOp(cur, "OperationPreempted", "Operation execution has been preempted by a more recent operation.")
	}
}

// cancelOp ends an operation that another one supersedes.
func (t *tx) cancelOp(op *operation, code, message string) {
	end := *op
	end.Status, end.End = statusCanceled, t.now
	end.Error = &Error{Code: code, Message: message}
	t.putOp(&end)
	t.ended = append(t.ended, op.ID)
}

func finishNothing(*tx, *operation, any, *Error) {}

// finishPut ends a write: the resource, or the parent of the part written, is
// Succeeded or Failed.
func finishPut(t *tx, op *operation, _ any, err *Error) {
	d := t.edit(op.lock())
	if d == nil {
		return
	}
	d.settle(err)
	t.put(d)
}

// settle writes the end of a write into a document: Succeeded, or Failed and why,
// which the instance view shows.
func (d *doc) settle(err *Error) {
	props(d.Body)["provisioningState"] = statusSucceeded
	delete(d.Hidden, "failure")
	if err != nil {
		props(d.Body)["provisioningState"] = statusFailed
		d.Hidden["failure"] = object{"code": err.Code, "message": err.Message}
	}
}

// finishDelete ends a delete, of a document or of a part of one. A delete that
// failed leaves the resource as Failed.
func finishDelete(t *tx, op *operation, _ any, err *Error) {
	if err != nil {
		finishPut(t, op, nil, err)
		return
	}
	if op.Lock == "" {
		t.unlinkParts(op.Target)
		t.drop(op.Target)
		return
	}
	d := t.edit(op.Lock)
	id, perr := parseID(op.Target)
	if d == nil || perr != nil {
		return
	}
	removePart(d, id)
	props(d.Body)["provisioningState"] = statusSucceeded
	t.put(d)
	t.unlink(id.key())
}

// headers announces an operation in the manner of its resource provider. URLs
// are built from the host the client used, which may be an intercepted name.
func (op *operation) headers(h http.Header, s *Server, host string) {
	base := fmt.Sprintf("https://%s/subscriptions/%s", host, op.Subscription)
	version := "api-version=" + op.APIVersion
	s.retryAfter(h, op)
	both := op.Method != http.MethodPut && op.Method != http.MethodPatch
	switch op.Style {
	case styleGroup:
		h.Set("Location", base+"/operationresults/"+op.ID+"?"+version)
	case styleDeployment:
		h.Set("Azure-AsyncOperation", "https://"+host+op.Target+"/operationStatuses/"+op.ID+"?"+version)
	case styleCompute:
		url := base + "/providers/" + op.Namespace + "/locations/" + op.Location + "/operations/" + op.ID + "?p=" + op.ID + "&" + version
		h.Set("Azure-AsyncOperation", url)
		h.Set("Azure-AsyncNotification", "Enabled")
		if both || op.Args["location"] == true {
			h.Set("Location", url+"&monitor=true")
		}
	default:
		url := base + "/providers/" + op.Namespace + "/locations/" + op.Location
		h.Set("Azure-AsyncOperation", url+"/operations/"+op.ID+"?"+version)
		h.Set("Azure-AsyncNotification", "Enabled")
		if both {
			h.Set("Location", url+"/operationResults/"+op.ID+"?"+version)
		}
	}
}

// retryAfter tells when to ask again: at once in instant mode, in whole seconds
// for clients that know nothing smaller; else Azure's figures, scaled.
func (s *Server) retryAfter(h http.Header, op *operation) {
	seconds := 10
	switch op.Style {
	case styleNetwork, styleDNS:
		seconds = 3
	case styleGroup, styleDeployment:
		seconds = 15
	}
	d := time.Duration(float64(seconds) * float64(time.Second) * float64(s.pace))
	if s.pace == Instant {
		d = 5 * time.Millisecond
		if s.clock.Now().Sub(op.Start) > time.Second {
			d = 100 * time.Millisecond // it waits for a guest
		}
	}
	ms := strconv.FormatInt(max(1, d.Milliseconds()), 10)
	if d < 10*time.Second {
		h.Set("retry-after-ms", ms)
		h.Set("x-ms-retry-after-ms", ms)
	}
	h.Set("Retry-After", strconv.Itoa(max(1, int((d+time.Second-1)/time.Second))))
}

// serveStatus answers a poll of Azure-AsyncOperation.
func (c *call) serveStatus(id string) *Error {
	op := c.operation(id)
	if op == nil {
		return refuse(http.StatusNotFound, "ResourceNotFound", "The operation '%s' could not be found.", id)
	}
	body := object{"status": op.Status}
	if op.Style == styleDeployment && op.Status == statusInProgress {
		body["status"] = "Running"
	}
	if op.Style == styleCompute {
		body["name"], body["startTime"] = op.ID, op.Start.Format(time.RFC3339Nano)
		if !op.End.IsZero() {
			body["endTime"] = op.End.Format(time.RFC3339Nano)
		}
		if len(op.Result) > 0 {
			body["properties"] = object{"output": op.Result}
		}
	}
	if op.Error != nil {
		body["error"] = op.Error
	}
	if op.Status == statusInProgress {
		c.s.retryAfter(c.w.Header(), op)
	}
	c.reply(http.StatusOK, body)
	return nil
}

// serveResult answers a poll of Location.
func (c *call) serveResult(id string) *Error {
	op := c.operation(id)
	switch {
	case op == nil:
		return refuse(http.StatusNotFound, "ResourceNotFound", "The operation '%s' could not be found.", id)
	case op.Status == statusInProgress:
		op.headers(c.w.Header(), c.s, c.host)
		c.w.Header().Set("Location", c.url())
		c.reply(http.StatusAccepted, nil)
	case op.Error != nil:
		e := *op.Error
		if e.Status == 0 {
			e.Status = http.StatusConflict
		}
		return &e
	case len(op.Result) > 0:
		c.reply(http.StatusOK, op.Result)
	default:
		c.reply(http.StatusOK, nil)
	}
	return nil
}

func (c *call) operation(id string) (op *operation) {
	c.s.read(func(t *tx) {
		if o := t.ops[lower(id)]; o != nil && c.id.Subscription != "" && lower(o.Subscription) == lower(c.id.Subscription) {
			op = o
		}
	})
	return op
}
