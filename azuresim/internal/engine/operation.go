package engine

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

	"casement.dev/casement/azuresim/internal/value"
)

const (
	statusInProgress = "InProgress"
	StatusSucceeded  = "Succeeded"
	StatusFailed     = "Failed"
	StatusCanceled   = "Canceled"
)

// style is how a resource provider speaks of its long-running operations.
type style string

const (
	StyleGroup   style = "group"   // Location only
	StyleNetwork style = "network" // short status; operationResults
	StyleCompute style = "compute" // status with times; Location with monitor=true
	StyleDNS     style = "dns"     // network's headers on a 202

	StyleStorage style = "storage" // Location only; a 202 without a body

	StyleDeployment style = "deployment" // Azure-AsyncOperation below the deployment
)

// Operation is one long-running operation. It outlives the process.
type Operation struct {
	ID     string `json:"id"`
	Action string `json:"action"`
	Method string `json:"method"`
	Target string `json:"target"`
	Lock   string `json:"lock,omitempty"`
	// Silent: the answer does not say when to ask again.
	Silent bool `json:"silent,omitempty"`
	// Polled: the answer names both addresses, whatever the method.
	Polled bool `json:"polled,omitempty"`
	// Within is the document that the target is a part of, where it stays open to
	// other writes.
	Within       string          `json:"within,omitempty"`
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
	Args         value.Object    `json:"args,omitempty"`
	BodyHash     string          `json:"bodyHash,omitempty"`
	// Retry is when to ask again, in seconds; 0 is the style's.
	Retry int `json:"retry,omitempty"`
	// Fault, when set, is how the operation will fail.
	Fault *Error `json:"fault,omitempty"`
}

// lock is the document that nothing else may change meanwhile.
func (op *Operation) lock() string {
	if op.Lock != "" {
		return value.Lower(op.Lock)
	}
	return value.Lower(op.Target)
}

// document is what an operation on a part changes, "" for one on a resource.
func (op *Operation) document() string { return value.OrDefault(op.Within, op.Lock) }

// share makes operations with equal texts use one string, which saves memory.
func (op *Operation) share() {
	for _, s := range []*string{&op.Action, &op.Method, &op.Subscription, &op.Namespace, &op.Location, &op.APIVersion, &op.Status} {
		*s = unique.Make(*s).Value()
	}
}

// deletes says whether an operation takes its target away.
func (op *Operation) deletes() bool { return strings.HasSuffix(op.Action, "delete") }

// PutWork and deleteWork are the engine's own works: the resource is Succeeded, or
// gone.
func PutWork() Work    { return Work{Name: "put", Finish: FinishPut} }
func deleteWork() Work { return Work{Name: "delete", Finish: finishDelete} }

// Begin files an operation; update drives it once the transaction is done.
func (t *Tx) Begin(op *Operation, w Work, takes time.Duration) *Operation {
	op.Action, op.Silent = w.Name, w.Silent
	op.ID = t.Server.GUID()
	op.Start = t.Now
	op.Due = t.Now.Add(t.Server.Latency(takes))
	op.Status = statusInProgress
	op.share()
	corrupt(t.Server, op)
	t.putOp(op)
	t.started = append(t.started, op)
	return op
}

// complete ends an operation in the transaction that began it, as one for which
// there is nothing to do. One that a fault rule matched takes its way.
func complete(t *Tx, op *Operation, w Work) *Operation {
	if op.Fault != nil || w.Run != nil {
		return op
	}
	t.started = slices.DeleteFunc(t.started, func(o *Operation) bool { return o == op })
	end := *op
	end.End, end.Status = t.Now, StatusSucceeded
	t.putOp(&end)
	t.Server.Registry.works[op.Action].Finish(t, &end, nil, nil)
	return &end
}

// drive carries an operation to its end in the background.
func (s *Server) drive(op *Operation) {
	s.Spawn(func() { s.carry(op) })
}

func (s *Server) carry(op *Operation) {
	ctx, cancel := context.WithCancel(s.Life)
	defer cancel()
	s.running.add(op.ID, cancel)
	defer s.running.done(op.ID)

	w := s.Registry.works[op.Action]
	result, err := any(nil), op.Fault
	if err == nil && w.Run != nil {
		result, err = w.Run(ctx, s, op)
	}
	if s.Until(ctx, op.Due) != nil {
		return
	}
	failed := s.Update(func(t *Tx) error {
		cur := t.ops[op.ID]
		if cur == nil || cur.Status != statusInProgress {
			return nil
		}
		end := *cur
		end.End, end.Status, end.Error = t.Now, StatusSucceeded, err
		if err != nil {
			end.Status = StatusFailed
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
		s.Log.Error(failed, "The end of an operation could not be kept", "operation", op.Action, "resource", op.Target)
	}
}

// OpenOperations are those in progress.
func (t *Tx) OpenOperations() []*Operation { return slices.Collect(maps.Values(t.open)) }

// Until waits for a time of the server's clock.
func (s *Server) Until(ctx context.Context, at time.Time) error {
	d := at.Sub(s.Clock.Now())
	if d <= 0 {
		return ctx.Err()
	}
	timer := s.Clock.NewTimer(d)
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

func (t *Tx) prune() {
	if len(t.ops) < max(2*keptOperations, t.pruneAt) {
		return
	}
	horizon := t.Now.Add(-time.Hour)
	for id, op := range t.ops {
		if op.Status != statusInProgress && op.End.Before(horizon) {
			t.dropOp(id)
		}
	}
	t.pruneAt = len(t.ops) + keptOperations // those that are too young get older first
}

// Supersede ends the write under way on a document, if there is one.
func (t *Tx) Supersede(key string) {
	if cur := t.open[key]; cur != nil && !cur.deletes() {
		t.CancelOp(cur, "OperationPreempted", "Operation execution has been preempted by a more recent operation.")
	}
}

// CancelOp ends an operation that another one supersedes.
func (t *Tx) CancelOp(op *Operation, code, message string) {
	end := *op
	end.Status, end.End = StatusCanceled, t.Now
	end.Error = &Error{Code: code, Message: message}
	t.putOp(&end)
	t.ended = append(t.ended, op.ID)
}

func FinishNothing(*Tx, *Operation, any, *Error) {}

// FinishPut ends a write: the resource, or the parent of the part written, is
// Succeeded or Failed.
func FinishPut(t *Tx, op *Operation, _ any, err *Error) {
	d := t.Edit(value.OrDefault(op.document(), op.lock()))
	if d == nil || op.Within != "" && err == nil {
		return
	}
	d.Settle(err)
	t.Put(d)
}

// Settle writes the end of a write into a document: Succeeded, or Failed and why,
// which the instance view shows.
func (d *Doc) Settle(err *Error) {
	value.Props(d.Body)["provisioningState"] = StatusSucceeded
	delete(d.Hidden, "failure")
	if err != nil {
		value.Props(d.Body)["provisioningState"] = StatusFailed
		d.Hidden["failure"] = value.Object{"code": err.Code, "message": err.Message}
	}
}

// finishDelete ends a delete, of a document or of a part of one. A delete that
// failed leaves the resource as Failed.
func finishDelete(t *Tx, op *Operation, _ any, err *Error) {
	if err != nil {
		FinishPut(t, op, nil, err)
		return
	}
	if op.document() == "" {
		t.unlinkParts(op.Target)
		t.Drop(op.Target)
		return
	}
	d := t.Edit(op.document())
	id, perr := ParseID(op.Target)
	if d == nil || perr != nil {
		return
	}
	removePart(d, id)
	if op.Within == "" {
		value.Props(d.Body)["provisioningState"] = StatusSucceeded
	}
	t.Put(d)
	t.unlink(id.Key())
}

// Headers announces an operation in the manner of its resource provider. URLs
// are built from the host the client used, which may be an intercepted name.
func (op *Operation) Headers(h http.Header, s *Server, host string) {
	base := fmt.Sprintf("https://%s/subscriptions/%s", host, op.Subscription)
	version := "api-version=" + op.APIVersion
	if op.Status == statusInProgress {
		retryAfter(s, h, op)
	}
	both := op.Polled || op.Style == StyleDNS || op.Method != http.MethodPut && op.Method != http.MethodPatch
	switch op.Style {
	case StyleGroup:
		h.Set("Location", base+"/operationresults/"+op.ID+"?"+version)
	case StyleStorage:
		h.Set("Location", base+"/providers/"+op.Namespace+"/locations/"+op.Location+"/operationResults/"+op.ID+"?monitor=true&"+version)
	case StyleDeployment:
		h.Set("Azure-AsyncOperation", "https://"+host+op.Target+"/operationStatuses/"+op.ID+"?"+version)
	case StyleCompute:
		url := base + "/providers/" + op.Namespace + "/locations/" + op.Location + "/operations/" + op.ID + "?p=" + op.ID + "&" + version
		h.Set("Azure-AsyncOperation", url)
		h.Set("Azure-AsyncNotification", "Enabled")
		if both || op.Args["location"] == true {
			h.Set("Location", url+"&monitor=true")
		}
	default:
		url := base + "/providers/" + op.Namespace + "/locations/" + op.Location
		h.Set("Azure-AsyncOperation", url+"/operations/"+op.ID+"?"+version)
		if op.Style != StyleDNS {
			h.Set("Azure-AsyncNotification", "Enabled")
		}
		if both {
			h.Set("Location", url+"/operationResults/"+op.ID+"?"+version)
		}
	}
}

// retryAfter says when to ask again: at once in instant mode, in whole seconds
// for clients that know nothing smaller; else Azure's figures, scaled.
func retryAfter(s *Server, h http.Header, op *Operation) {
	seconds := 10
	if op.Silent && s.pace >= Azure {
		return // who asks waits as long as it likes; where time is shorter, it has to know
	}
	switch op.Style {
	case StyleNetwork, StyleDNS:
		seconds = 3
	case StyleGroup, StyleDeployment:
		seconds = 15
	case StyleStorage:
		seconds = 17
	}
	if op.Retry != 0 {
		seconds = op.Retry
	}
	d := time.Duration(float64(seconds) * float64(time.Second) * float64(s.pace))
	if s.pace == Instant {
		d = 5 * time.Millisecond
		if s.Clock.Now().Sub(op.Start) > time.Second {
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
func (c *Request) serveStatus(id string) *Error {
	op := c.operation(id)
	if op == nil {
		return Refuse(http.StatusNotFound, "ResourceNotFound", "The operation '%s' could not be found.", id)
	}
	body := value.Object{"status": op.Status}
	if op.Style == StyleDeployment && op.Status == statusInProgress {
		body["status"] = "Running"
	}
	if op.Style == StyleCompute {
		body["name"], body["startTime"] = op.ID, op.Start.Format(time.RFC3339Nano)
		if !op.End.IsZero() {
			body["endTime"] = op.End.Format(time.RFC3339Nano)
		}
		if len(op.Result) > 0 {
			body["properties"] = value.Object{"output": op.Result}
		}
	}
	if op.Error != nil {
		body["error"] = op.Error
	}
	if op.Status == statusInProgress {
		retryAfter(c.Server, c.Writer.Header(), op)
	}
	c.Reply(http.StatusOK, body)
	return nil
}

// serveResult answers a poll of Location.
func (c *Request) serveResult(id string) *Error {
	op := c.operation(id)
	switch {
	case op == nil:
		return Refuse(http.StatusNotFound, "ResourceNotFound", "The operation '%s' could not be found.", id)
	case op.Status == statusInProgress:
		op.Headers(c.Writer.Header(), c.Server, c.Host)
		c.Writer.Header().Set("Location", c.url())
		c.Reply(http.StatusAccepted, nil)
	case op.Error != nil:
		e := *op.Error
		if e.Status == 0 {
			e.Status = http.StatusConflict
		}
		return &e
	case len(op.Result) > 0:
		c.Reply(http.StatusOK, op.Result)
	default:
		c.Reply(http.StatusOK, nil)
	}
	return nil
}

func (c *Request) operation(id string) (op *Operation) {
	c.Server.Read(func(t *Tx) {
		if o := t.ops[value.Lower(id)]; o != nil && c.Id.Subscription != "" &&
			value.Lower(o.Subscription) == value.Lower(c.Id.Subscription) {
			op = o
		}
	})
	return op
}
