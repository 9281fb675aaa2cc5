package arm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// CodeBadToken is the code of an error about a resume token that is of no use.
const CodeBadToken = "ResumeTokenUnusable"

// CodeBadName is the code of an error about an ID that no resource can have.
const CodeBadName = "InvalidResourceName"

// Unnamable reports whether Azure, or the client before asking it, refuses an ID as one
// that no resource can have: there is nothing to find or to delete there.
func Unnamable(err error) bool {
	switch CodeOf(err) {
	case CodeBadName, "InvalidSubscriptionId", "InvalidResourceGroup":
		return ClassOf(err) == Invalid
	}
	return false
}

// maxMessage bounds what Azure's message may add to conditions and events.
const maxMessage = 1024

// errForeignHost is a URL that leads away from the resource manager.
var errForeignHost = errors.New("not the resource manager's host")

// Error is what Azure, or the way to it, answered instead of doing what was asked.
type Error struct {
	// Class says how a caller treats the error: wait, retry, give up.
	Class Class
	// Method and ID are the HTTP method and the resource ID of the request that failed.
	Method, ID string
	// StatusCode is the HTTP status, 0 when there was no answer. A failed
	// long-running operation has 200.
	StatusCode int
	// Code and Message are Azure's, Target the property it blames.
	Code, Message, Target string
	// RetryAfter is how long to wait before the next try, or 0.
	RetryAfter time.Duration

	// ended means that the long-running operation is over.
	ended bool
	err   error
}

// Error returns one line: what failed, on which resource, and why.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", strings.ToLower(e.Method), shortID(e.ID))
	if e.Code != "" {
		fmt.Fprintf(&b, ": %s", e.Code)
	} else if e.StatusCode != 0 {
		fmt.Fprintf(&b, ": HTTP %d", e.StatusCode)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	if e.Target != "" {
		fmt.Fprintf(&b, " (%s)", e.Target)
	}
	return b.String()
}

// Unwrap gives the transport's or the SDK's error.
func (e *Error) Unwrap() error { return e.err }

// OperationEnded reports whether a long-running operation that an error reports is over, so
// that its token is of no more use.
func OperationEnded(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.ended
}

// RetryAfter returns how long the answer asks the client to wait, or 0.
func RetryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// shortID is type, name and group of a resource: enough to find it, short enough
// for a condition.
func shortID(id string) string {
	if id == "" {
		return "operation"
	}
	short := TypeOf(id) + "/" + NameOf(id)
	if group := GroupOf(id); group != "" && !strings.EqualFold(group, id) {
		short += " in resource group " + NameOf(group)
	}
	return short
}

// responseError makes an error of an answer that is not a success.
func responseError(method, target string, resp *http.Response) *Error {
	e := &Error{Method: method, ID: pathOf(target), StatusCode: resp.StatusCode, RetryAfter: retryAfter(resp.Header)}
	body, err := runtime.Payload(resp)
	if err != nil {
		e.err = err
	}
	e.describe(resp.Header.Get("x-ms-error-code"), body)
	e.classify()
	return e
}

// describe takes code and message from an error body in any of ARM's shapes:
// wrapped in "error", flat, or in the status of an operation.
func (e *Error) describe(code string, body []byte) {
	type detail struct {
		Code    string   `json:"code"`
		Message string   `json:"message"`
		Target  string   `json:"target"`
		Details []detail `json:"details"`
	}
	var answer struct {
		detail
		Error *detail `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil {
		e.Message = oneLine(string(body))
	}
	d := answer.detail
	if answer.Error != nil {
		d = *answer.Error
	}
	if e.Code = code; d.Code != "" {
		e.Code = d.Code
	}
	if d.Message != "" {
		e.Message = oneLine(d.Message)
	}
	e.Target = d.Target
	// A wrapper without a meaning of its own: the first detail has the cause.
	if len(d.Details) > 0 && classOfCode(e.Code, e.Message) == "" && d.Details[0].Code != "" {
		e.Message = oneLine(d.Message + " " + d.Details[0].Code + ": " + d.Details[0].Message)
		if classOfCode(d.Details[0].Code, d.Details[0].Message) != "" {
			e.Code = d.Details[0].Code
		}
	}
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + "..."
	}
	return s
}

// transportError makes an error of a request that got no answer.
func transportError(method, target string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		// The gate made the error, and it knows only the path of the request.
		e.Method, e.ID = method, pathOf(target)
		return e
	}
	e := &Error{Class: Transient, Method: method, ID: pathOf(target), err: err}
	auth, isAuth := errors.AsType[*azidentity.AuthenticationFailedError](err)
	switch {
	case errors.Is(err, errForeignHost):
		e.Class, e.Message = Invalid, oneLine(err.Error())
	case errors.Is(err, context.Canceled):
		e.Message = "the call was cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		e.Message = "no answer in time"
	case isAuth:
		e.signIn(auth)
	default:
		e.Message = oneLine(err.Error())
	}
	return e
}

// signIn reads a failed sign-in: refused by the authority, or not reached.
func (e *Error) signIn(failed *azidentity.AuthenticationFailedError) {
	e.Code = "AuthenticationFailed"
	if failed.RawResponse == nil {
		e.Message = "sign in: " + oneLine(failed.Error())
		return
	}
	if failed.RawResponse.StatusCode/100 == 4 && failed.RawResponse.StatusCode != http.StatusTooManyRequests {
		e.Class = Denied
	}
	var answer struct {
		Description string `json:"error_description"`
	}
	body, err := runtime.Payload(failed.RawResponse)
	if err != nil || json.Unmarshal(body, &answer) != nil || answer.Description == "" {
		e.Message = fmt.Sprintf("sign in: the authority answered %d", failed.RawResponse.StatusCode)
		return
	}
	first, _, _ := strings.Cut(answer.Description, "\n")
	e.Message = "sign in: " + oneLine(first) + "; check the AzureClusterIdentity and its secret"
}

// operationError makes an error of a long-running operation that ended badly, or
// whose result could not be read.
func operationError(method, id string, err error) error {
	resp, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok || resp.RawResponse == nil {
		return transportError(method, id, err)
	}
	e := responseError(method, id, resp.RawResponse)
	e.err = err
	e.ended = !passing(e.StatusCode)
	if e.StatusCode/100 == 2 && e.Class == Unknown {
		e.Class = Failed
	}
	return e
}

// pollError makes an error of a poll that got no state.
func pollError(method, id string, err error) error {
	out := operationError(method, id, err)
	e, ok := errors.AsType[*Error](out)
	if !ok {
		return out
	}
	switch {
	case e.StatusCode == http.StatusNotFound || e.StatusCode == http.StatusGone:
		e.Class, e.ended = Transient, true
		e.Message = "Azure no longer knows the operation; the resource has to be read again"
	case errors.Is(err, errForeignHost):
		e.Class, e.Code, e.ended = Invalid, CodeBadToken, true
	case e.StatusCode/100 == 4:
		// Denied or throttled: the operation goes on without us.
		e.ended = false
	}
	return e
}

// passing reports whether a status is transient rather than an answer about the resource.
func passing(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500
}

// retryAfter reads the wait that an answer asks for; ARM sends milliseconds in two
// spellings, seconds or a date.
func retryAfter(h http.Header) time.Duration {
	for _, name := range []string{"retry-after-ms", "x-ms-retry-after-ms"} {
		if n, err := strconv.Atoi(h.Get(name)); err == nil && n > 0 {
			return time.Duration(n) * time.Millisecond
		}
	}
	value := h.Get("Retry-After")
	if n, err := strconv.Atoi(value); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// CodeOf is Azure's code of an error, or "".
func CodeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}
