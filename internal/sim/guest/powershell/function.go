package powershell

import (
	"errors"
	"strings"
)

// functionStage runs a function or a script block.
type functionStage struct {
	r     *run
	f     function
	args  []argumentValue
	out   sink
	piped bool
	dot   bool
	input []any
	// scope is the scope of a function with a process block, which runs once for each item and
	// keeps its variables.
	scope *scope
}

func (s *functionStage) begin() error {
	if !s.f.body.streams {
		return nil
	}
	r := s.r
	s.scope = newScope(r.scope)
	return s.within(func() error {
		if err := r.parameters(s.f, s.args, s.scope, s.piped); err != nil {
			return err
		}
		return r.statements(s.f.body.begin, s.out)
	})
}

// within runs in the function's own scope.
func (s *functionStage) within(f func() error) error {
	r := s.r
	outer, source, file := r.scope, r.source, r.file
	r.scope, r.source, r.file = s.scope, s.f.source, s.f.file
	r.calls++
	defer func() { r.scope, r.source, r.file, r.calls = outer, source, file, r.calls-1 }()
	if r.calls > maxCalls {
		return &LimitError{"has functions that call each other too deep"}
	}
	err := f()
	if _, ok := err.(returnSignal); ok { //nolint:errorlint // it is never wrapped
		return nil
	}
	return err
}

func (s *functionStage) process(v any) error {
	if s.scope == nil {
		s.input = append(s.input, v)
		return s.r.take(16)
	}
	return s.within(func() error {
		s.scope.vars["_"] = &cell{value: v}
		if p := s.f.body.parameters; p != nil {
			for _, one := range p.list {
				if one.pipeline {
					converted, err := s.r.converted(one, v)
					if err != nil {
						return err
					}
					s.scope.vars[one.name] = &cell{value: converted}
				} else if o, ok := v.(*object); ok && one.property {
					if value, has := o.get(one.name); has {
						s.scope.vars[one.name] = &cell{value: value}
					}
				}
			}
		}
		return s.r.statements(s.f.body.process, s.out)
	})
}

func (s *functionStage) end() error {
	if s.scope != nil {
		return s.within(func() error {
			if !s.piped {
				if err := s.r.statements(s.f.body.process, s.out); err != nil {
					return err
				}
			}
			return s.r.statements(s.f.body.end, s.out)
		})
	}
	if s.dot {
		return s.dotted()
	}
	return s.r.callFunction(s.f, s.args, s.input, s.out)
}

// dotted runs in the caller's scope.
func (s *functionStage) dotted() error {
	r := s.r
	source, file := r.source, r.file
	r.source, r.file = s.f.source, s.f.file
	defer func() { r.source, r.file = source, file }()
	err := r.body(s.f.body, s.f, s.args, s.input, s.out)
	if _, ok := err.(returnSignal); ok { //nolint:errorlint // it is never wrapped
		return nil
	}
	return err
}

// callFunction runs a function in a new scope.
func (r *run) callFunction(f function, args []argumentValue, input []any, out sink) error {
	s := &functionStage{r: r, f: f, scope: newScope(r.scope)}
	if f.body.streams {
		s = &functionStage{r: r, f: f, args: args, out: out, piped: input != nil}
		if err := s.begin(); err != nil {
			return err
		}
		for _, v := range input {
			if err := s.process(v); err != nil {
				return err
			}
		}
		return s.end()
	}
	return s.within(func() error { return r.body(f.body, f, args, input, out) })
}

// item1 runs a script block in the caller's scope with an item as $_.
func (r *run) item1(f function, v any, out sink) error {
	if err := r.step(); err != nil {
		return err
	}
	outer, had := r.scope.vars["_"]
	r.scope.vars["_"] = &cell{value: v}
	source, file := r.source, r.file
	r.source, r.file = f.source, f.file
	defer func() {
		r.source, r.file = source, file
		if had {
			r.scope.vars["_"] = outer
		} else {
			delete(r.scope.vars, "_")
		}
	}()
	body := f.body.end
	if f.body.streams {
		body = f.body.process
	}
	err := r.statements(body, out)
	if _, ok := err.(returnSignal); ok { //nolint:errorlint // it is never wrapped
		return nil
	}
	return err
}

// body runs a block in the current scope: its parameters, begin, process and end.
func (r *run) body(b *block, f function, args []argumentValue, input []any, out sink) error {
	if err := r.parameters(f, args, r.scope, input != nil); err != nil {
		return r.trapped(b, err, out)
	}
	if input != nil {
		r.scope.vars["input"] = &cell{value: newArray(input...)}
	}
	if err := r.guarded(b, b.begin, out); err != nil {
		return err
	}
	if b.streams {
		items := input
		if input == nil {
			items = []any{nil}
		}
		for _, v := range items {
			r.scope.vars["_"] = &cell{value: v}
			if err := r.guarded(b, b.process, out); err != nil {
				return err
			}
		}
	}
	return r.guarded(b, b.end, out)
}

// guarded runs statements with the traps of their block.
func (r *run) guarded(b *block, body []node, out sink) error {
	if len(b.traps) == 0 {
		return r.statements(body, out)
	}
	for i := range body {
		r.tries++
		err := r.statements(body[i:i+1], out)
		r.tries--
		if err == nil {
			continue
		}
		if err := r.trapped(b, err, out); err != nil {
			return err
		}
	}
	return nil
}

// trapped passes a failure to a trap; after continue, the next statement runs.
func (r *run) trapped(b *block, err error, out sink) error {
	f := failed(err)
	if f == nil {
		return err
	}
	for _, t := range b.traps {
		if t.kind != "" && !isException(f.exception.kind, t.kind) {
			continue
		}
		r.remember(f)
		outer := r.scope.vars["_"]
		r.scope.vars["_"] = &cell{value: f}
		end := r.statements(t.body, out)
		r.scope.vars["_"] = outer
		if outer == nil {
			delete(r.scope.vars, "_")
		}
		if j, ok := errors.AsType[jumpSignal](end); ok {
			if j.word == "continue" {
				return nil
			}
			f.ends = true
			return f
		}
		if end != nil {
			return end
		}
		if r.tries > 0 {
			return f
		}
		r.ok = false
		return r.show(f)
	}
	return err
}

// parameters binds arguments to the parameters of a function in a scope.
func (r *run) parameters(f function, args []argumentValue, to *scope, piped bool) error {
	p := f.body.parameters
	if p == nil {
		to.vars["args"] = &cell{value: newArray(loose(args)...)}
		return nil
	}
	bound := newHash()
	var rest []argumentValue
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.parameter == "" {
			rest = append(rest, a)
			continue
		}
		one, err := parameterOf(p, a.parameter, f.name)
		if err != nil {
			return err
		}
		if one == nil {
			if p.binding && isCommon(a.parameter) {
				if !a.has && !isCommonSwitch(a.parameter) && i+1 < len(args) {
					i++
					a.value = args[i].value
				}
				r.commonParameter(to, a)
				continue
			}
			if p.binding {
				return unknownParameter(f.name, a.parameter)
			}
			rest = append(rest, a)
			continue
		}
		value := a.value
		switch {
		case isSwitch(*one):
			if !a.has {
				value = true
			}
		case !a.has:
			if i+1 >= len(args) || args[i+1].parameter != "" {
				return named(f.name, broken("ParameterBindingException", "MissingArgument",
					"Missing an argument for parameter '%s'. Specify a parameter of type '%s' and try again.",
					one.name, "System.Object"))
			}
			i++
			value = args[i].value
		}
		if err := r.give(f, *one, value, bound, to); err != nil {
			return err
		}
	}
	return r.positional(f, p, rest, bound, to, piped)
}

// positional assigns arguments without a name to the remaining parameters.
func (r *run) positional(f function, p *parameters, rest []argumentValue, bound *hashtable, to *scope, piped bool) error {
	for _, one := range ordered(p.list) {
		if _, done := bound.get(one.name); done || isSwitch(one) || len(rest) == 0 {
			continue
		}
		if one.remains {
			if err := r.give(f, one, newArray(loose(rest)...), bound, to); err != nil {
				return err
			}
			rest = nil
			continue
		}
		if rest[0].parameter != "" {
			break
		}
		value := rest[0].value
		rest = rest[1:]
		if err := r.give(f, one, value, bound, to); err != nil {
			return err
		}
	}
	if len(rest) > 0 && p.binding {
		return named(f.name, broken("ParameterBindingException", "PositionalParameterNotFound",
			"A positional parameter cannot be found that accepts argument '%s'.", text(loose(rest)[0])))
	}
	to.vars["args"] = &cell{value: newArray(loose(rest)...)}
	to.vars["psboundparameters"] = &cell{value: bound}
	outer := r.scope
	r.scope = to
	defer func() { r.scope = outer }()
	for _, one := range p.list {
		if _, done := bound.get(one.name); done {
			continue
		}
		if err := r.initial(f, one, to, piped); err != nil {
			return err
		}
	}
	return nil
}

// initial gives a parameter that has no argument its default.
func (r *run) initial(f function, one parameter, to *scope, piped bool) error {
	if one.mandatory && !(piped && (one.pipeline || one.property)) {
		return named(f.name, broken("ParameterBindingException", "MissingMandatoryParameter",
			"Cannot process command because of one or more missing mandatory parameters: %s.", one.name))
	}
	var v any
	if one.initial != nil {
		var err error
		if v, err = r.eval(one.initial); err != nil {
			return err
		}
	}
	if v == nil {
		v = zero(one)
	} else {
		converted, err := r.converted(one, v)
		if err != nil {
			return err
		}
		v = converted
	}
	to.vars[one.name] = &cell{value: v, kind: castOf(one)}
	return nil
}

// zero returns the value of a parameter that the caller does not set, by the parameter's type.
func zero(one parameter) any {
	for _, kind := range one.kinds {
		switch kind {
		case "switch", "bool", "boolean":
			return false
		case "int", "int32", "long", "int64", "uint32", "byte":
			return int64(0)
		case "double", "float":
			return float64(0)
		case "string":
			return ""
		}
	}
	return nil
}

func castOf(one parameter) string {
	for _, kind := range one.kinds {
		if kind != "switch" && kind != "object" && kind != "psobject" {
			return kind
		}
	}
	return ""
}

// loose are arguments as the values that $args has.
func loose(args []argumentValue) []any {
	out := []any{}
	for _, a := range args {
		if a.parameter != "" {
			out = append(out, strings.TrimSuffix(a.text, ":"))
		}
		if a.has {
			out = append(out, a.value)
		}
	}
	return out
}

// ordered returns the parameters by their positions.
func ordered(all []parameter) []parameter {
	out := make([]parameter, 0, len(all))
	explicit := false
	for at := range 64 {
		for _, one := range all {
			if one.position == at {
				out, explicit = append(out, one), true
			}
		}
	}
	for _, one := range all {
		if one.position < 0 && (!explicit || one.remains) {
			out = append(out, one)
		}
	}
	return out
}

func isSwitch(one parameter) bool {
	return len(one.kinds) > 0 && (one.kinds[len(one.kinds)-1] == "switch" ||
		one.kinds[len(one.kinds)-1] == "management.automation.switchparameter")
}
