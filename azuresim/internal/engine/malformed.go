package engine

import (
	"cmp"
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/schema"
	"casement.dev/casement/azuresim/internal/value"
)

// Malformed returns an error for a body that Azure's description of the type does not allow, and
// removes read-only values, which Azure ignores. The error for properties that a PUT lacks is
// returned separately as missing: the caller reports it after the checks of the type's provider,
// which have better messages.
func Malformed(c *Request, body value.Object) (missing, e *Error) {
	t := schema.Of(c.ID.FullType(), c.Version)
	if t == nil {
		return nil, CheckTags(value.Sub(body, "tags"))
	}
	var bound *Error
	for _, p := range t.Check(body) {
		switch {
		case p.Kind == schema.Missing && c.HTTP.Method != http.MethodPut:
		case p.Bound != nil:
			bound = cmp.Or(bound, outOfBounds(c, p))
		case p.Kind != schema.Missing:
			return nil, unreadable(c, p)
		case missing == nil:
			missing = unreadable(c, p)
		}
	}
	if e := cmp.Or(CheckTags(value.Sub(body, "tags")), bound); e != nil {
		return nil, e
	}
	t.Settable(body, c.HTTP.Method == http.MethodPut)
	return missing, nil
}

// outOfBounds returns the error for a value that a provider reads but does not accept.
func outOfBounds(c *Request, p schema.Problem) *Error {
	code := p.Bound.Code
	switch {
	case code != "":
	case value.Lower(c.ID.Namespace) == "microsoft.compute":
		code = "InvalidParameter"
	default:
		return unreadable(c, p)
	}
	e := BadRequest(code, "%s", p.Bound.Says(p, c.ID.String()))
	if code == "InvalidParameter" {
		e.Target = p.Path[strings.LastIndex(p.Path, ".")+1:]
	}
	return e
}

// unreadable returns Azure's error for a problem. ARM reads the envelope of a resource and its
// provider the rest, and their errors differ in form.
func unreadable(c *Request, p schema.Problem) *Error {
	name := p.Path[strings.LastIndex(p.Path, ".")+1:]
	why := ""
	switch p.Kind {
	case schema.Unknown:
		why = "Could not find member '" + name + "' on object of type '" + p.Of + "'. Path '" + p.Path + "'."
	case schema.Missing, schema.Nameless:
		if p.Kind == schema.Nameless {
			name = "name"
		}
		why = "Required property '" + name + "' not found in JSON. Path '" + p.Path + "'."
	default:
		why = "Error converting value " + p.Value + " to type '" + p.Of + "'. Path '" + p.Path + "'."
		if len(p.Allowed) > 0 {
			why += " Allowed values are '" + strings.Join(p.Allowed, ", ") + "'."
		}
	}
	switch {
	case strings.Contains(p.Path, ".") && value.Lower(c.ID.Namespace) == "microsoft.network":
		e := BadRequest("InvalidRequestFormat", "Cannot parse the request.")
		if p.Kind == schema.Nameless || p.Kind == schema.WrongType && p.Value == "null" {
			return e // without a detail: https://github.com/Azure/azure-sdk-for-net/issues/34349
		}
		e.Details = []*Error{{Code: "InvalidJson", Message: why}}
		return e
	case p.Kind == schema.Missing && value.Lower(c.ID.Namespace) == "microsoft.compute":
		e := BadRequest("InvalidParameter", "Required parameter '%s' is missing (null).", p.Path)
		e.Target = p.Path
		return e
	}
	return BadRequest("InvalidRequestContent", "The request content was invalid and could not be deserialized: '%s'.", why)
}
