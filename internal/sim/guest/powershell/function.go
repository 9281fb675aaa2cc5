package powershell

import (
	"cmp"
	"errors"
	"math/big"
	"slices"
	"strings"
	"time"
)

// functionStage is the stage of a function or script block (language specification, chapter 8.10.7). It runs
// begin once, process for each item of the pipeline, and end once.
type functionStage struct {
	r     *run
	f     function
	args  []argumentValue
	out   sink
	piped bool
	// dot is set for a block that runs in the caller's scope; at is an existing scope to run in, or nil.
	dot bool
	at  *scope
	// invoked is the name by which the function was called, where the position of the call.
	invoked string
	where   int
	input   []any
	scope   *scope
	binder  *binder
}

// homeScope returns the parent scope for a call of a script block: the innermost scope of the module in which
// the block was written, or of the script if it was written outside of modules.
func (r *run) homeScope(f function) *scope {
	for s := r.scope; s != nil; s = s.outer() {
		if s.home == f.home {
			return s
		}
	}
	if f.home != nil {
		return f.home
	}
	return r.global
}

// bind creates the function's scope and binds the arguments. A pipeline binds the arguments of all functions
// before the first stage begins.
func (s *functionStage) bind() error {
	r := s.r
	if s.scope != nil {
		return nil
	}
	s.out = r.outside(s.out)
	switch {
	case s.at != nil:
		s.scope = s.at
	case s.dot:
		s.scope = r.homeScope(s.f)
	default:
		s.scope = newScope(r.homeScope(s.f))
		s.scope.caller = r.scope
	}
	if s.at == nil && !s.dot {
		s.scope.vars["myinvocation"] = &cell{value: s.invocation()}
	}
	p := s.f.body.parameters
	if p == nil {
		if !s.dot || len(s.args) > 0 {
			s.scope.vars["args"] = &cell{value: newArray(argsValues(s.args)...)}
			s.scope.vars["psboundparameters"] = &cell{value: newHash()}
		}
	} else {
		s.binder = newBinder(r, s.f, s.scope, s.piped)
		err := s.binder.bind(s.args)
		if v := s.scope.vars["myinvocation"].valueOr(); v != nil && s.at == nil {
			if o, ok := v.(*object); ok {
				o.set("BoundParameters", s.binder.bound)
			}
		}
		if err != nil {
			if f := failed(err); f != nil && s.at != nil {
				return s.within(func() error { return r.trapped(s.f.body, err, s.out) })
			}
			return err
		}
		s.out = s.binder.common.sink(s.out)
	}
	return nil
}

func (s *functionStage) begin() error {
	if err := s.bind(); err != nil {
		return err
	}
	s.scope.vars["input"] = &cell{value: enumerator(nil)}
	return s.within(func() error { return s.r.guarded(s.f.body, s.f.body.begin, s.out) })
}

// outside returns a sink that passes values on in the current site, and not in the site of the function that outputs them.
func (r *run) outside(out sink) sink {
	outer := r.site
	outer.frames = slices.Clip(outer.frames)
	return func(v any) error {
		inner := r.site
		r.site = outer
		defer func() { r.site = inner }()
		return out(v)
	}
}

// within calls f in the function's own scope.
func (s *functionStage) within(f func() error) error {
	r := s.r
	outer := r.site
	r.site = site{scope: s.scope, source: s.f.source, file: s.f.file, where: outer.where,
		frames: append(outer.frames, frame{s.f.name, outer.file, outer.source, cmp.Or(s.where, outer.where)})}
	r.calls++
	defer func() { r.site, r.calls = outer, r.calls-1 }()
	if r.calls > maxCalls {
		return &LimitError{"has functions that call each other too deep"}
	}
	err := f()
	if _, ok := err.(returnSignal); ok { // signals are never wrapped
		return nil
	}
	if e := failed(err); e != nil && s.binder != nil {
		e.leaves = e.leaves && !s.binder.p.binding
		if a := s.binder.common.kept[2]; a != nil && !slices.Contains(a.items, any(e)) {
			a.items = append(a.items, e)
		}
	}
	return err
}

func (s *functionStage) process(v any) error {
	if !s.f.body.streams {
		s.input = append(s.input, v)
		if err := s.r.take(16); err != nil {
			return err
		}
		if s.binder != nil && s.binder.p.binding {
			return s.within(func() error { return s.bindItem(v) })
		}
		return nil
	}
	var refused *failure // the caller reports this failure, so that it is not in the function's own -ErrorVariable
	action := ""
	err := s.within(func() error {
		s.scope.vars["_"], s.scope.vars["input"] = &cell{value: v}, &cell{value: enumerator([]any{v})}
		if err := s.bindItem(v); err != nil {
			if refused = failed(err); refused == nil {
				return err
			}
			action = s.r.preference("erroractionpreference")
			return nil
		}
		return s.r.guarded(s.f.body, s.f.body.process, s.out)
	})
	if refused != nil {
		s.r.located(refused, position(s.where)) // only the fields of refused change
		return s.r.report(refused, action)
	}
	return err
}

func (s *functionStage) bindItem(v any) error {
	if s.binder == nil {
		return nil
	}
	return s.binder.bindItem(v)
}

func (s *functionStage) end() error {
	r := s.r
	err := s.within(func() error {
		if s.f.body.streams && !s.piped {
			if err := r.guarded(s.f.body, s.f.body.process, s.out); err != nil {
				if _, ok := err.(returnSignal); !ok { // signals are never wrapped
					return err
				}
			}
		}
		s.scope.vars["input"] = &cell{value: enumerator(s.input)}
		return r.guarded(s.f.body, s.f.body.end, s.out)
	})
	if err == nil && s.at == nil && !s.dot {
		r.ok = !s.scope.wroteError
	}
	return err
}

// enumerator returns a value of $input, which yields its items once.
func enumerator(items []any) *array { return &array{items: items, kind: kindEnumerator} }

// kindEnumerator is the type of $input.
const kindEnumerator = "System.Collections.ArrayList+ArrayListEnumeratorSimple"

// invocation returns $MyInvocation within a function.
func (s *functionStage) invocation() any {
	name := base(s.f.name)
	info := s.r.invocationInfo(system(kindCommand, nil, "Name", name, "CommandType", "Function", "Definition", s.f.text, "ScriptBlock", s.f,
		"ModuleName", s.r.moduleOf(s.f), "text", name), s.invoked, s.r.file, s.r.source, cmp.Or(s.where, s.r.where))
	info.set("ExpectingInput", s.piped)
	return info
}

// callFunction runs a function in a new scope.
func (r *run) callFunction(f function, args []argumentValue, input []any, out sink) error {
	return (&functionStage{r: r, f: f, args: args, out: out, piped: input != nil}).runAll(input)
}

// runAll runs a stage from begin to end with the items of input.
func (s *functionStage) runAll(input []any) error {
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

// runItem runs a script block in the caller's scope, with an item as $_.
func (r *run) runItem(f function, v any, out sink) error {
	if err := r.step(); err != nil {
		return err
	}
	outer := r.site
	if outer.scope.home != f.home || outer.file != f.file {
		out = r.outside(out)
	}
	r.source, r.file = f.source, f.file
	if outer.scope.home != f.home {
		r.scope = newScope(r.homeScope(f))
		r.scope.caller = outer.scope
	}
	defer func() { r.site = outer }()
	defer r.setCurrent(v)()
	body := f.body.end
	if f.body.streams {
		body = f.body.process
	}
	err := r.statements(body, out)
	if _, ok := err.(returnSignal); ok { // signals are never wrapped
		return nil
	}
	return err
}

// body runs a block in the current scope: its parameters, begin, process and end.
func (r *run) body(f function, args []argumentValue, input []any, out sink) error {
	return (&functionStage{r: r, f: f, args: args, out: out, at: r.scope, piped: input != nil}).runAll(input)
}

// guarded runs statements. The traps of their block handle failures.
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

// trapped passes a failure to the block's trap for it. It returns nil if the next statement is to run.
func (r *run) trapped(b *block, err error, out sink) error {
	f := failed(err)
	if f == nil {
		return err
	}
	traps := slices.Clone(b.traps)
	slices.SortStableFunc(traps, func(x, y trapStatement) int { // a trap for all exceptions is the last one to apply
		return cmp.Compare(strings.Compare("", x.kind), strings.Compare("", y.kind))
	})
	for _, t := range traps {
		if t.kind != "" && !f.exception.caughtAs(t.kind) {
			continue
		}
		r.remember(f)
		seen := *f
		if inner := f.exception.within([]string{t.kind}); inner != nil {
			seen.exception = *inner
		}
		restore := r.setCurrent(&seen)
		end := r.statements(t.body, out)
		restore()
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

// zeros are the values of parameters without an argument and a default, by type.
var zeros = map[string]any{
	"switch": false, "bool": false, "boolean": false, "int": int64(0), "int32": int64(0), "double": float64(0), "float": short(0),
	"single": short(0), "decimal": decimal{new(big.Int), 0}, "datetime": time.Time{}, "timespan": time.Duration(0),
	"guid": guid("00000000-0000-0000-0000-000000000000"), "string": "",
}

// zero returns the value of a parameter without an argument and a default.
func zero(one parameter) any {
	for _, kind := range one.kinds {
		if v, ok := zeros[kind]; ok {
			return v
		}
		if isValueType(kind) && kind != "char" {
			return sizedOf(strings.TrimPrefix(typeName(kind), "System."), 0)
		}
	}
	return nil
}

// castOf returns the type to which a parameter's variable converts its values, or otherwise if it has none.
func castOf(one parameter, otherwise string) string {
	for _, kind := range one.kinds {
		if kind != "switch" && kind != "object" && kind != "psobject" {
			return kind
		}
	}
	return otherwise
}

// argsValues returns arguments as the items of $args.
func argsValues(args []argumentValue) []any {
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

func isSwitch(one parameter) bool {
	return len(one.kinds) > 0 && (one.kinds[len(one.kinds)-1] == "switch" ||
		one.kinds[len(one.kinds)-1] == "management.automation.switchparameter")
}
