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

// CodePortTaken is the error code for a load balancer rule whose frontend port another rule already uses.
const CodePortTaken = "RulesUseSameFrontendPortProtocolAndIPConfig"

// CodeBadToken is the code of the error for a resume token that cannot be used.
const CodeBadToken = "ResumeTokenUnusable"

// CodeBadName is the code of the error for an ID that no resource can have.
const CodeBadName = "InvalidResourceName"

// Unnamable reports whether Azure, or the client itself, refuses an ID because no resource
// can have it: nothing with that ID exists or has to be deleted.
func Unnamable(err error) bool {
	switch CodeOf(err) {
	case CodeBadName, "InvalidSubscriptionId", "InvalidResourceGroup":
		return ClassOf(err) == Invalid
	}
	return false
}

// maxMessage bounds the length of Azure's message in conditions and events.
const maxMessage = 1024

// errForeignHost is the error for a URL whose host is not the resource manager.
var errForeignHost = errors.New("not the resource manager's host")

// Error is a failed request: an error response of Azure, or no response.
type Error struct {
	// Class says how a caller has to treat the error: wait, retry or give up.
	Class Class
	// Method and ID are the HTTP method and the resource ID of the request that failed.
	Method, ID string
	// StatusCode is the HTTP status, or 0 without a response. For a failed long-running operation it is 200.
	StatusCode int
	// Code and Message are Azure's error code and message; Target is the property that the error is about.
	Code, Message, Target string
	// RetryAfter is the wait before the next attempt, or 0.
	RetryAfter time.Duration

	// ended is true if the long-running operation has ended.
	ended bool
	err   error
}

// Error returns one line with the failed request, its resource and the cause.
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

// Unwrap returns the error of the transport or the SDK.
func (e *Error) Unwrap() error { return e.err }

// OperationEnded reports whether an error means that a long-running operation has ended, so
// that its token cannot be used any more.
func OperationEnded(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.ended
}

// RetryAfter returns the wait that the response requests, or 0.
func RetryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// shortID returns the type, name and group of a resource: enough to identify it in a
// condition.
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

// responseError returns the error for a response that is not a success.
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

// describe sets code and message from an error body in any of ARM's forms: wrapped in
// "error", flat, or in the status of an operation.
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
	// The outer error often says little ("Cannot parse the request."); the first detail is the cause.
	if len(d.Details) == 0 || d.Details[0].Code == "" || strings.Contains(d.Message, d.Details[0].Message) {
		return
	}
	wrapper := classOfCode(e.Code, e.Message) == ""
	e.Message = oneLine(d.Message + " " + d.Details[0].Code + ": " + d.Details[0].Message)
	if wrapper && classOfCode(d.Details[0].Code, d.Details[0].Message) != "" {
		e.Code = d.Details[0].Code
	}
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + "..."
	}
	return s
}

// transportError returns the error for a request without a response.
func transportError(method, target string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		// The error comes from the gate, which only knows the path of the request.
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

// signIn sets the fields of an error for a failed authentication: the authority refused it or did not respond.
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

// operationError returns the error for a long-running operation that failed, or whose
// result could not be read.
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

// pollError returns the error for a poll that returned no state.
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
		// After a denied or throttled poll the operation continues.
		e.ended = false
	}
	return e
}

// passing reports whether a status is transient and says nothing about the resource.
func passing(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500
}

// retryAfter returns the wait in a response's headers; ARM sends it as milliseconds in two headers, as seconds, or as a date.
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

// CodeOf returns the Azure error code of an error, or "".
func CodeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}
