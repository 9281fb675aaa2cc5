package engine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// Error is an error answer in ARM's form. Status is the HTTP status; it is not part of the body.
type Error struct {
	Status  int      `json:"-"`
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Target  string   `json:"target,omitempty"`
	Details []*Error `json:"details,omitempty"`
	// RetryAfter is in seconds; 0 sends no header.
	RetryAfter int `json:"-"`
	// Challenge is the WWW-Authenticate header of a 401.
	Challenge string `json:"-"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

func Refuse(status int, code, format string, args ...any) *Error {
	return &Error{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

func BadRequest(code, format string, args ...any) *Error {
	return Refuse(http.StatusBadRequest, code, format, args...)
}

func Conflict(code, format string, args ...any) *Error {
	return Refuse(http.StatusConflict, code, format, args...)
}

func ErrGroupNotFound(name string) *Error {
	return Refuse(http.StatusNotFound, "ResourceGroupNotFound", "Resource group '%s' could not be found.", name)
}

func ErrNotFound(id ID) *Error {
	path := id.Namespace
	for i, t := range id.Types {
		path += "/" + t + "/" + id.Names[i]
	}
	return Refuse(http.StatusNotFound, "ResourceNotFound",
		"The Resource '%s' under resource group '%s' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix",
		path, id.Group)
}

func errParentNotFound(id, parent ID) *Error {
	return Refuse(http.StatusNotFound, "ParentResourceNotFound",
		"Failed to perform 'write' on resource(s) of type '%s', because the parent resource '%s' could not be found.",
		id.ChildType(), parent)
}

func ErrReference(target, from string) *Error {
	return BadRequest("InvalidResourceReference",
		"Resource %s referenced by resource %s was not found. Please make sure that the referenced resource "+
			"exists, and that both resources are in the same region.",
		target, from)
}

// ErrUnsupported returns the only error code that Azure does not have. The emulator answers with it
// where it emulates nothing, in place of an imitated answer.
func ErrUnsupported(what string) *Error {
	return Refuse(http.StatusNotImplemented, "NotSupportedByLocalAzure",
		"The local Azure does not implement %s. Nothing was changed.", what)
}

// writeError writes e as an HTTP answer in ARM's form.
func writeError(w http.ResponseWriter, e *Error) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("x-ms-error-code", e.Code)
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	if e.Challenge != "" {
		h.Set("WWW-Authenticate", e.Challenge)
	}
	w.WriteHeader(e.Status)
	body, err := json.Marshal(map[string]*Error{"error": e})
	if err != nil {
		body = []byte(`{"error":{"code":"InternalServerError","message":"the error could not be written"}}`)
	}
	_, _ = w.Write(body)
}

// AsError returns the ARM error that an error contains; any other error becomes an internal server
// error.
func AsError(err error) *Error {
	switch e := err.(type) {
	case nil:
		return nil
	case *Error:
		return e
	default:
		return Refuse(http.StatusInternalServerError, "InternalServerError", "%s", err)
	}
}
