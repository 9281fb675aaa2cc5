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

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/internal/value"
)

const (
	statusInProgress = "InProgress"
	StatusSucceeded  = "Succeeded"
	StatusFailed     = "Failed"
	StatusCanceled   = "Canceled"
)

// style is the form in which a resource provider announces its long-running operations and answers
// their polls.
type style string

const (
	StyleGroup   style = "group"   // Location only
	StyleNetwork style = "network" // short status; operationResults
	StyleCompute style = "compute" // status with times; Location with monitor=true
	StyleDNS     style = "dns"     // the headers of network on a 202

	StyleStorage style = "storage" // Location only; a 202 without a body

	StyleDeployment style = "deployment" // Azure-AsyncOperation below the deployment
)

// Operation is one long-running operation. It is stored and continues when the server starts
// again.
type Operation struct {
	ID     string `json:"id"`
	Action string `json:"action"`
	Method string `json:"method"`
	Target string `json:"target"`
	Lock   string `json:"lock,omitempty"`
	// Silent means that the answer has no Retry-After header.
	Silent bool `json:"silent,omitempty"`
	// Polled means that the answer has both headers, Azure-AsyncOperation and Location, for each
	// method.
	Polled bool `json:"polled,omitempty"`
	// Within is the ID of the document that the target is a part of; other writes to that document
	// remain possible.
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
	// Retry is the value of Retry-After in seconds; 0 means the style's default.
	Retry int `json:"retry,omitempty"`
	// Fault, if set, is the error with which the operation ends.
	Fault *Error `json:"fault,omitempty"`
}

// lock returns the ID of the document that only this operation may change while it runs.
func (op *Operation) lock() string {
	if op.Lock != "" {
		return value.Lower(op.Lock)
	}
	return value.Lower(op.Target)
}

// document returns the document that an operation on a part changes, or "" for an operation on a
// resource.
func (op *Operation) document() string { return value.OrDefault(op.Within, op.Lock) }

// share replaces the operation's texts by equal strings of other operations, which saves memory.
func (op *Operation) share() {
	for _, s := range []*string{&op.Action, &op.Method, &op.Subscription, &op.Namespace, &op.Location, &op.APIVersion, &op.Status} {
		*s = unique.Make(*s).Value()
	}
}

// deletes reports whether the operation deletes its target.
func (op *Operation) deletes() bool { return strings.HasSuffix(op.Action, "delete") }

// PutWork returns the engine's own work of a write, which sets the resource to Succeeded at the
// end.
func PutWork() Work    { return Work{Name: "put", Finish: FinishPut} }
func deleteWork() Work { return Work{Name: "delete", Finish: finishDelete} }

// Begin stores a new operation; Update starts its work after the transaction is committed.
func (t *Tx) Begin(op *Operation, w Work, takes time.Duration) *Operation {
	op.Action, op.Silent = w.Name, w.Silent
	op.ID = uuid.NewString()
	op.Start = t.Now
	op.Due = t.Now.Add(t.Server.Latency(takes))
	op.Status = statusInProgress
	op.share()
	corrupt(t.Server, op)
	t.putOp(op)
	t.started = append(t.started, op)
	return op
}

// complete ends an operation in the transaction that began it, because its work does nothing. An
// operation that a fault rule matched is not ended here.
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

// drive runs an operation to its end in the background.
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
		if w.Finish != nil { // nil for a work that only an earlier release has
			w.Finish(t, &end, result, err)
		}
		end.Args, end.BodyHash, end.Fault = nil, "", nil // no longer needed
		t.prune()
		return nil
	})
	if failed != nil {
		s.Log.Error(failed, "The end of an operation could not be kept", "operation", op.Action, "resource", op.Target)
	}
}

// OpenOperations returns all operations in progress.
func (t *Tx) OpenOperations() []*Operation { return slices.Collect(maps.Values(t.open)) }

// Until waits until the server's clock shows a time.
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

// keptOperations limits the number of ended operations in the store; a poll of an operation that
// was removed gets 404, as in Azure after some hours.
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
	t.pruneAt = len(t.ops) + keptOperations // when this many more exist, those that are too young now are old enough
}

// Supersede cancels the write in progress on a document, if there is one.
func (t *Tx) Supersede(key string) {
	if cur := t.open[key]; cur != nil && !cur.deletes() {
		t.CancelOp(cur, "OperationPreempted", "Operation execution has been preempted by a more recent operation.")
	}
}

// CancelOp ends an operation with an error because another operation supersedes it.
func (t *Tx) CancelOp(op *Operation, code, message string) {
	end := *op
	end.Status, end.End = StatusCanceled, t.Now
	end.Error = &Error{Code: code, Message: message}
	t.putOp(&end)
	t.ended = append(t.ended, op.ID)
}

func FinishNothing(*Tx, *Operation, any, *Error) {}

// FinishPut ends a write: the resource, or the parent of the written part, becomes Succeeded or
// Failed.
func FinishPut(t *Tx, op *Operation, _ any, err *Error) {
	d := t.Edit(value.OrDefault(op.document(), op.lock()))
	if d == nil || op.Within != "" && err == nil {
		return
	}
	d.Settle(err)
	t.Put(d)
}

// Settle writes the result of a write into a document: Succeeded, or Failed with its error, which
// the instance view contains.
func (d *Doc) Settle(err *Error) {
	value.Props(d.Body)["provisioningState"] = StatusSucceeded
	delete(d.Hidden, "failure")
	if err != nil {
		value.Props(d.Body)["provisioningState"] = StatusFailed
		d.Hidden["failure"] = value.Object{"code": err.Code, "message": err.Message}
	}
}

// finishDelete ends the delete of a document or of a part. If the delete failed, the resource
// becomes Failed.
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

// Headers sets the headers that announce an operation, in the style of its resource provider. The
// host of the URLs is the one in the client's request, which may be one of Azure's public names.
func (op *Operation) Headers(h http.Header, s *Server, host string) {
	base, results := fmt.Sprintf("https://%s/subscriptions/%s", host, op.Subscription), "/operationresults/"
	if op.Subscription == "" {
		base, results = "https://"+host, "/providers/"+op.Namespace+"/operationResults/"
	}
	version := "api-version=" + op.APIVersion
	if op.Status == statusInProgress {
		retryAfter(s, h, op)
	}
	both := op.Polled || op.Style == StyleDNS || op.Method != http.MethodPut && op.Method != http.MethodPatch
	switch op.Style {
	case StyleGroup:
		h.Set("Location", base+results+op.ID+"?"+version)
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

// retryAfter sets the time after which the client is to poll again: without delay in instant mode,
// but in whole seconds for clients that do not know the millisecond header; otherwise after Azure's
// period, scaled.
func retryAfter(s *Server, h http.Header, op *Operation) {
	seconds := 10
	if op.Silent && s.pace >= Azure {
		return // unless time is scaled down, the client may choose its own period
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
			d = 100 * time.Millisecond // the operation waits for a guest
		}
	}
	ms := strconv.FormatInt(max(1, d.Milliseconds()), 10)
	if d < 10*time.Second {
		h.Set("retry-after-ms", ms)
		h.Set("x-ms-retry-after-ms", ms)
	}
	h.Set("Retry-After", strconv.Itoa(max(1, int((d+time.Second-1)/time.Second))))
}

// serveStatus answers a poll of the URL in Azure-AsyncOperation.
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

// serveResult answers a poll of the URL in Location.
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
		if o := t.ops[value.Lower(id)]; o != nil && value.Lower(o.Subscription) == value.Lower(c.ID.Subscription) {
			op = o
		}
	})
	return op
}
