package userdata

import (
	"context"
	"errors"

	"casement.dev/casement/internal/sim/guest/apart"
)

// A template is a program, and its engine has no limits: a macro that calls itself, or a text that is
// doubled again and again, would end the process that renders it. Templates that only print variables are
// rendered here; every other template in a separate process.

// maxRendered is the maximum size of a rendered template.
const maxRendered = maxSize

// LimitError names the bound that ended a template.
type LimitError struct{ Bound string }

func (e *LimitError) Error() string {
	return "jinja: the template was ended, because it " + e.Bound
}

// IsLimit reports whether err says that a bound ended a template.
func IsLimit(err error) bool {
	_, ok := errors.AsType[*LimitError](err)
	return ok
}

// request and reply are the messages between the two processes.
type request struct {
	Source []byte         `json:"source"`
	Vars   map[string]any `json:"vars"`
}

type reply struct {
	Out []byte `json:"out,omitempty"`
	// Template is an error of the template, and Limit the bound that ended it.
	Template *TemplateError `json:"template,omitempty"`
	Limit    string         `json:"limit,omitempty"`
}

// apart.Serve has to run first in the process.
func init() { apart.Serve("jinja", answer) }

func answer(q request) (r reply) {
	rendered, err := renderHere(q.Source, q.Vars)
	if l, ok := errors.AsType[*LimitError](err); ok {
		r.Limit = l.Bound
	} else if t, ok := errors.AsType[*TemplateError](err); ok {
		r.Template = t
	} else if err != nil {
		r.Template = &TemplateError{Reason: "the template cannot be rendered"}
	} else {
		r.Out = rendered
	}
	return r
}

// renderApart renders a template in a separate process.
func renderApart(ctx context.Context, source []byte, vars map[string]any) ([]byte, error) {
	r, err := apart.Run[request, reply](ctx, "jinja", request{source, vars}, 2*maxRendered+1<<10)
	if l, ok := errors.AsType[*apart.LimitError](err); ok {
		return nil, &LimitError{l.Bound}
	}
	switch {
	case err != nil:
		return nil, err
	case r.Limit != "":
		return nil, &LimitError{r.Limit}
	case r.Template != nil:
		return nil, r.Template
	}
	return r.Out, nil
}
