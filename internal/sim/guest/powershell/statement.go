package powershell

import (
	"errors"
	"slices"
	"strings"
)

// statements runs statements in order. A failure ends only its own statement, unless it is terminating or a
// catch clause or trap takes it.
func (r *run) statements(body []node, out sink) error {
	for _, s := range body {
		if err := r.step(); err != nil {
			return err
		}
		err := r.exec(s, out)
		if err == nil {
			continue
		}
		f := failed(err)
		if f == nil {
			return err
		}
		if err := r.survive(f); err != nil {
			return err
		}
	}
	return nil
}

// survive reports a failure that does not end the script, and returns any other failure.
func (r *run) survive(f *failure) error {
	r.ok = false
	preference := r.preference("erroractionpreference")
	silent := preference == "silentlycontinue" || preference == "ignore"
	switch {
	case f.leaves:
		return f
	case r.catching > 0 && r.tries == 0 && !f.ends && preference != "stop":
		return f // the failure ends the catch block and its try statement
	case preference == "stop":
		return f.stop()
	case r.tries > 0, f.ends && (!silent || f.stopped):
		f.ends = true
		return f
	}
	r.remember(f)
	if !silent && !f.quiet {
		return r.show(f)
	}
	return nil
}

// remember inserts a failure at the start of $Error.
func (r *run) remember(f *failure) {
	if len(r.errors.items) > 0 && r.errors.items[0] == any(f) {
		return
	}
	r.errors.items = append([]any{f}, r.errors.items[:min(len(r.errors.items), 255)]...)
}

// show writes a failure to the error stream.
func (r *run) show(f *failure) error {
	if to := r.redirected[2]; to != nil {
		return to(f)
	}
	r.print(r.session.Stderr, f.printed())
	return nil
}

// exec runs a statement. Its output goes to out.
func (r *run) exec(s node, out sink) error {
	err := r.execute(s, out)
	for len(r.pending) > 0 {
		v := r.pending[0]
		r.pending = r.pending[1:]
		if err := out(v); err != nil {
			return err
		}
	}
	return err
}

// keepOutput stores the collected output of a statement that a jump left. The output goes to the enclosing pipeline.
func (r *run) keepOutput(items []any, err error) {
	switch err.(type) { // signals are never wrapped
	case jumpSignal, returnSignal, exitSignal:
		r.pending = append(items, r.pending...)
	}
}

// dropOutput discards the stored output if a condition failed.
func (r *run) dropOutput(err error) error {
	if err != nil {
		r.pending = nil
	}
	return err
}

// execute runs a statement.
func (r *run) execute(s node, out sink) error {
	switch s := s.(type) {
	case pipeline:
		return r.pipeline(s, out)
	case command:
		return r.pipeline(pipeline{s.position, []node{s}}, out)
	case assignment:
		_, err := r.assign(s)
		return err
	case conditional:
		return r.conditional(s, out)
	case loop:
		return r.loop(s, out)
	case foreachLoop:
		return r.foreach(s, out)
	case switchStatement:
		return r.runSwitch(s, out)
	case functionStatement:
		to := r.scope
		name := s.name
		if at, rest, drive := r.scopeOf(strings.ToLower(name)); at != nil && drive == "" {
			to, name = at, name[len(name)-len(rest):]
		}
		if r.defined == nil {
			r.defined = map[string]bool{}
		}
		r.defined[strings.ToLower(name)] = true
		to.functions[strings.ToLower(name)] = function{filter: s.filter, name: name, body: s.body, text: s.text, source: r.source,
			file: r.file, home: r.scope.home}
		return nil
	case tryStatement:
		return r.try(s, out)
	case jump:
		return r.jump(s, out)
	}
	v, err := r.raw(s)
	if err != nil {
		return r.located(err, s)
	}
	r.ok = true
	switch n := s.(type) {
	case step:
		return nil
	case parenthesis:
		if _, ok := n.body.(step); ok {
			return out(v)
		}
	}
	return each(v, out)
}

// each passes the items of a value to a sink.
func each(v any, out sink) error {
	switch v := v.(type) {
	case void:
		return nil
	case *array:
		for _, item := range append([]any(nil), v.items...) {
			if err := out(item); err != nil {
				return err
			}
		}
		return nil
	case []byte:
		return each(newArray(list(v)...), out)
	case *object:
		if v.kind == kindMatchGroups {
			return each(newArray(list(v)...), out)
		}
	}
	return out(v)
}

// collect runs statements and returns their output: void, a value, or a list.
func (r *run) collect(body []node) (any, error) {
	items, err := r.gather(func(out sink) error { return r.statements(body, out) })
	r.keepOutput(items, err)
	return single(items), err
}

// gather returns the values that f passes to its sink.
func (r *run) gather(f func(sink) error) ([]any, error) {
	var items []any
	err := f(func(v any) error {
		if len(items) >= maxItems {
			return &LimitError{"makes a list of more than a million items"}
		}
		items = append(items, v)
		return r.take(16)
	})
	return items, err
}

// single returns output as one value: void, the only item, or a list.
func single(items []any) any {
	switch len(items) {
	case 0:
		return void{}
	case 1:
		return items[0]
	}
	return newArray(items...)
}

// value returns the value of a statement: an expression's value, or the collected output of a pipeline.
func (r *run) value(s node) (any, error) {
	switch s := s.(type) {
	case pipeline, command, conditional, loop, foreachLoop, switchStatement, tryStatement, jump, redirected:
		items, err := r.gather(func(out sink) error { return r.exec(s, out) })
		r.keepOutput(items, err)
		return single(items), err
	case assignment:
		return r.assign(s)
	}
	return r.raw(s)
}

func (r *run) conditional(c conditional, out sink) error {
	for i, condition := range c.conditions {
		if v, ok := condition.(variable); ok && v.name == "input" && r.find(v.name) != nil { // a condition does not consume the items of $input
			return r.statements(c.bodies[i], out)
		}
		v, err := r.value(condition)
		if err != nil {
			return r.dropOutput(err)
		}
		if truth(v) {
			return r.statements(c.bodies[i], out)
		}
	}
	return r.statements(c.otherwise, out)
}

// loopContinues reports whether a loop continues after the result of its body. rest is the error that the loop returns.
func loopContinues(err error, label string) (goOn bool, rest error) {
	if err == nil {
		return true, nil
	}
	j, ok := errors.AsType[jumpSignal](err)
	if !ok || j.label != "" && j.label != label {
		return false, err
	}
	return j.word == "continue", nil
}

func (r *run) loop(l loop, out sink) error {
	if l.begin != nil {
		if _, err := r.value(l.begin); err != nil {
			return err
		}
	}
	for n := 0; ; n++ {
		if err := r.step(); err != nil {
			return err
		}
		if l.condition != nil && (!l.first || n > 0) {
			v, err := r.value(l.condition)
			if err != nil || truth(v) == l.negative {
				return r.dropOutput(err)
			}
		}
		if goOn, err := loopContinues(r.statements(l.body, out), l.label); !goOn || err != nil {
			return err
		}
		if l.next != nil {
			if _, err := r.value(l.next); err != nil {
				return err
			}
		}
	}
}

func (r *run) foreach(l foreachLoop, out sink) error {
	v, err := r.value(l.list)
	if err != nil {
		return err
	}
	items := append([]any(nil), list(v)...)
	changed := func() bool { return false }
	if a, ok := v.(*array); ok && canGrow(a) {
		changed = func() bool { return len(a.items) != len(items) }
	} else if a != nil && a.of != nil {
		count := len(a.of.keys)
		version := a.of.version
		changed = func() bool { return len(a.of.keys) != count || a.of.version != version }
	}
	for _, item := range items {
		if err := r.step(); err != nil {
			return err
		}
		if changed() {
			f := broken("System.InvalidOperationException", "System.InvalidOperationException",
				"Collection was modified; enumeration operation may not execute.")
			return r.located(f, l)
		}
		if err := r.set(l.name, item); err != nil {
			return err
		}
		if goOn, err := loopContinues(r.statements(l.body, out), l.label); !goOn || err != nil {
			return err
		}
	}
	return nil
}

func (r *run) runSwitch(s switchStatement, out sink) error {
	v, err := r.value(s.value)
	if err != nil {
		return err
	}
	items := list(v)
	if v == nil {
		items = []any{nil}
	}
	if s.file {
		content, err := r.readText(text(v))
		if err != nil {
			return r.located(err, s)
		}
		items = lines(content)
	}
	defer r.setCurrent(nil)()
	for _, item := range items {
		r.scope.vars["_"] = &cell{value: item}
		if goOn, err := loopContinues(r.cases(s, item, out), s.label); !goOn || err != nil {
			return err
		}
	}
	return nil
}

// cases runs the bodies of all patterns that match an item.
func (r *run) cases(s switchStatement, item any, out sink) error {
	matched := false
	for i, pattern := range s.patterns {
		if err := r.step(); err != nil {
			return err
		}
		yes, err := r.matches(s, pattern, item)
		if err != nil {
			return err
		}
		if !yes {
			continue
		}
		matched = true
		if err := r.statements(s.bodies[i], out); err != nil {
			return err
		}
	}
	if matched {
		return nil
	}
	return r.statements(s.fallback, out)
}

// matches reports whether a pattern of a switch statement matches an item.
func (r *run) matches(s switchStatement, pattern node, item any) (bool, error) {
	if b, ok := pattern.(scriptBlock); ok {
		v, err := r.collect(b.body.end)
		return truth(v), err
	}
	want, err := r.eval(pattern)
	if err != nil {
		return false, err
	}
	operator := map[string]string{"regex": "-match", "wildcard": "-like"}[s.mode]
	if operator == "" { // without a mode, switch compares the texts of values (about_Switch)
		return sameText(text(item), text(want), s.exact) && (want != nil || item == nil), nil
	}
	v, err := r.compare(operator, item, want, s.exact)
	return truth(v), err
}

func (r *run) try(t tryStatement, out sink) error {
	r.tries++
	if t.catches == nil {
		r.tries--
	}
	err := r.statements(t.body, out)
	if t.catches != nil {
		r.tries--
	}
	if f := failed(err); f != nil && !f.quiet {
		if clause := catching(t.catches, f); clause != nil {
			r.remember(f)
			r.keep(2, f)
			if inner := f.exception.within(clause.kinds); inner != nil { // the clause gets the inner .NET exception
				copied := *f
				copied.exception = *inner
				f = &copied
			}
			err = r.catch(clause, f, out)
		}
	}
	if t.finally != nil {
		if _, bound := errors.AsType[*LimitError](err); !bound && r.ctx.Err() == nil {
			if last := r.statements(t.finally, out); last != nil {
				return last
			}
		}
	}
	return err
}

func (r *run) catch(c *catchClause, f *failure, out sink) error {
	defer r.setCurrent(f)()
	f.ends = false
	tries := r.tries
	r.tries, r.catching = 0, r.catching+1
	defer func() { r.tries, r.catching = tries, r.catching-1 }()
	return r.statements(c.body, out)
}

// setCurrent assigns a value to $_ of the innermost scope. The returned function restores the previous value.
func (r *run) setCurrent(v any) (restore func()) {
	restore = r.keeping("_")
	r.scope.vars["_"] = &cell{value: v}
	return restore
}

// keeping returns a function that restores the current values of variables of the innermost scope.
func (r *run) keeping(names ...string) (restore func()) {
	vars := r.scope.vars
	outer := make([]*cell, len(names))
	for i, name := range names {
		outer[i] = vars[name]
	}
	return func() {
		for i, name := range names {
			if vars[name] = outer[i]; outer[i] == nil {
				delete(vars, name)
			}
		}
	}
}

// catching returns the catch clause for a failure, or nil.
func catching(clauses []catchClause, f *failure) *catchClause {
	for i, c := range clauses {
		if len(c.kinds) == 0 {
			return &clauses[i]
		}
		for _, kind := range c.kinds {
			if f.exception.caughtAs(kind) {
				return &clauses[i]
			}
		}
	}
	return nil
}

// caughtAs reports whether a clause for a class catches an exception, by the exception's class or by that of
// the wrapped .NET exception.
func (e exception) caughtAs(kind string) bool { return e.is(kind) || e.within([]string{kind}) != nil }

// within returns the inner exception that is of one of the classes, or nil if the exception itself is of one.
func (e exception) within(kinds []string) *exception {
	of := func(x *exception) bool { return slices.ContainsFunc(kinds, x.is) }
	if of(&e) {
		return nil
	}
	for x := e.inner; x != nil; x = x.inner {
		if of(x) {
			return x
		}
	}
	return nil
}

func (r *run) jump(j jump, out sink) error {
	switch j.word {
	case "break", "continue":
		return jumpSignal{j.word, j.label}
	case "return":
		if j.value != nil {
			if err := r.exec(j.value, out); err != nil {
				return err
			}
		}
		return returnSignal{}
	case "exit":
		return r.exit(j)
	}
	return r.throw(j)
}

func (r *run) exit(j jump) error {
	if j.value == nil {
		return exitSignal{0}
	}
	v, err := r.value(j.value)
	if err != nil {
		return err
	}
	n, err := r.convert("int", plain(v))
	if err != nil {
		return exitSignal{0} // for a value that is not a number the exit code is 0
	}
	code, _ := n.(int64)
	return exitSignal{int(int32(code))}
}

func (r *run) throw(j jump) error {
	f := broken("RuntimeException", "ScriptHalted", "ScriptHalted")
	f.category = "OperationStopped"
	if j.value == nil {
		if c := r.scope.vars["_"]; c != nil {
			if old, ok := c.value.(*failure); ok {
				old.ends = true
				return old
			}
		}
	} else {
		v, err := r.value(j.value)
		if err != nil {
			return err
		}
		switch v := v.(type) {
		case *failure:
			f = v
		case exception:
			f.exception, f.id = v, v.message
		case nil:
		default:
			s, err := r.text(v)
			if err != nil {
				return err
			}
			f.exception.message, f.id, f.target = s, s, v
		}
	}
	f.ends = true
	return r.located(f, j)
}
