package powershell

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
)

// argumentValue is an evaluated argument of a command.
type argumentValue struct {
	parameter string
	value     any
	// has is set if there is a value, joined for the form -Name:value.
	has, joined bool
	// text is the argument in the script's spelling, which a native program gets.
	text string
	// bare is set for values without quotes.
	bare bool
	// splatted is set for an argument from @name.
	splatted bool
	// glued is set for a value that follows its parameter without a blank.
	glued bool
}

// unnamed returns values as arguments without names.
func unnamed(values ...any) []argumentValue {
	out := make([]argumentValue, len(values))
	for i, v := range values {
		out[i] = argumentValue{value: v, has: true}
	}
	return out
}

// stage is a stage of a pipeline.
type stage interface {
	begin() error
	process(v any) error
	end() error
}

// pipeline runs the stages of a pipeline. The output of the last stage goes to out.
func (r *run) pipeline(p pipeline, out sink) error {
	if len(p.stages) == 0 {
		return nil
	}
	if err := r.step(); err != nil {
		return err
	}
	r.ok, r.where = true, p.at()
	stages := make([]stage, len(p.stages))
	// waiting are the inputs of stages that earlier stages output before all stages have begun.
	var waiting []func() error
	begun := false
	next, err := out, error(nil)
	for i := len(p.stages) - 1; i >= 0; i-- {
		c, ok := p.stages[i].(command)
		if !ok && i > 0 {
			return r.located(lacking("an expression behind |"), p)
		} else if !ok {
			break
		}
		s, failure := r.stage(c, next, i > 0)
		if failure != nil { // the failure of the first stage is reported
			err = r.located(failure, c)
			continue
		}
		stages[i] = s
		next = func(v any) error {
			if begun {
				return s.process(v)
			}
			waiting = append(waiting, func() error { return s.process(v) })
			return r.take(16)
		}
	}
	for i, s := range stages {
		if f := functionOf(s); f != nil && err == nil {
			err = r.located(f.bind(), p.stages[i])
		}
	}
	for i, s := range stages {
		if s != nil && err == nil {
			r.where = p.stages[i].at()
			err = r.located(s.begin(), p.stages[i])
		}
	}
	for begun = true; len(waiting) > 0 && err == nil; waiting = waiting[1:] {
		err = waiting[0]()
	}
	if err == nil {
		err = r.feed(p.stages[0], stages[0], next)
	}
	for i := 1; ; i++ {
		if owner := stopped(err, stages); owner >= 0 {
			i, err = max(i, owner), nil // the stages before the owner do not continue
		}
		if err != nil || i >= len(stages) {
			return err
		}
		err = r.located(stages[i].end(), p.stages[i])
	}
}

// functionOf returns the stage of a function in a pipeline, or nil for other stages.
func functionOf(s stage) *functionStage {
	if rs, ok := s.(*redirectedStage); ok {
		s = rs.inner
	}
	f, _ := s.(*functionStage)
	return f
}

// stopped returns the index of the stage that needs no more input, or -1.
func stopped(err error, stages []stage) int {
	stop, ok := errors.AsType[stopSignal](err)
	if !ok {
		return -1
	}
	return slices.IndexFunc(stages, func(s stage) bool {
		if rs, ok := s.(*redirectedStage); ok {
			s = rs.inner
		}
		return s == stop.owner
	})
}

// feed runs the first stage of a pipeline: a command that has begun, or an expression.
func (r *run) feed(n node, s stage, out sink) error {
	if s != nil {
		r.where = n.at()
		return r.located(s.end(), n)
	}
	if rd, ok := n.(redirected); ok {
		return r.redirectedValue(rd, out)
	}
	v, err := r.raw(n)
	if err != nil {
		return r.located(err, n)
	}
	return each(v, out)
}

// redirectedValue runs an expression with redirections.
func (r *run) redirectedValue(n redirected, out sink) error {
	to, finish, err := r.redirect(n.redirects, out)
	if err != nil {
		return r.located(err, n)
	}
	outer := r.redirected
	r.redirected = to.sinks
	r.redirected[1] = nil
	v, err := r.raw(n.value)
	r.redirected = outer
	if err == nil {
		err = each(v, to.sinks[1])
	}
	return errors.Join(r.located(err, n), finish())
}

// stage returns the stage of a command.
func (r *run) stage(c command, out sink, piped bool) (stage, error) {
	var to *redirection
	finish := func() error { return nil }
	if len(c.redirects) > 0 {
		var err error
		if to, finish, err = r.redirect(c.redirects, out); err != nil {
			return nil, err
		}
		out = to.outwards(r)
	}
	s, err := r.target(c, out, piped)
	if to == nil {
		return s, err
	}
	if err != nil {
		return nil, errors.Join(err, finish())
	}
	return &redirectedStage{r: r, inner: s, to: to, finish: finish}, nil
}

// target returns the stage of the function, cmdlet, script or program that a command calls.
func (r *run) target(c command, out sink, piped bool) (stage, error) {
	name, err := r.eval(c.name)
	if err != nil {
		return nil, err
	}
	args, err := r.arguments(c.args)
	if err != nil {
		return nil, err
	}
	invoked := text(name)
	if c.operator != 0 {
		invoked = string(c.operator)
	}
	if f, ok := name.(function); ok {
		return &functionStage{r: r, f: f, args: args, out: out, piped: piped, dot: c.operator == '.', invoked: invoked, where: c.at()}, nil
	}
	switch v := name.(type) {
	case nil:
		return nil, broken("RuntimeException", "BadExpression", "The expression after '%s' in a pipeline "+
			"element produced an object that was not valid. It must result in a command name, a script block, "+
			"or a CommandInfo object.", string(c.operator))
	case *object:
		if v.kind == kindCommand {
			name = text(v.read("Name"))
		} else if m := moduleIn(v); m != nil && m.scope != nil && len(args) > 0 {
			if f, ok := args[0].value.(function); ok { // the script block runs in the module
				f.home = m.scope
				return &functionStage{r: r, f: f, args: args[1:], out: out, piped: piped, dot: c.operator == '.', where: c.at()}, nil
			}
		}
	}
	return r.resolve(c, text(name), invoked, args, out, piped)
}

// resolve returns the stage of a command with a name: a function, an alias, a cmdlet, a script or a program.
// invoked is the name in the script.
func (r *run) resolve(c command, name, invoked string, args []argumentValue, out sink, piped bool) (stage, error) {
	low := strings.ToLower(name)
	if m, rest, ok := strings.Cut(low, `\`); ok && (r.modules[m] != nil || knownModules[m] || m == "microsoft.powershell.core") {
		low, name = rest, name[len(m)+1:]
	}
	for range 8 {
		target, ok := r.alias(low)
		if !ok {
			break
		}
		low, name = strings.ToLower(target), target
	}
	if f, ok := r.function(low); ok {
		if r.strictness() >= 2 && len(c.args) == 1 {
			p, isParenthesis := c.args[0].value.(parenthesis)
			n, isName := c.name.(constant)
			if list, isList := p.body.(arrayLiteral); isParenthesis && isName && isList && len(list.items) > 1 && n.at()+len(n.text) == p.at() {
				return nil, broken("RuntimeException", "StrictModeFunctionCallWithParens", "The function or command was called as if it were a "+
					"method. Parameters should be separated by spaces. For information about parameters, see the about_Parameters Help topic.")
			}
		}
		return &functionStage{r: r, f: f, args: args, out: out, piped: piped, dot: c.operator == '.', invoked: invoked,
			where: c.at()}, nil
	}
	if cmd := cmdlets[low]; cmd != nil {
		return r.bind(cmd, args, out, piped, c)
	}
	if note, ok := noEffect[low]; ok {
		return &noEffectStage{r: r, name: name, note: note}, nil
	}
	if strings.HasSuffix(low, ".ps1") {
		return r.scriptStage(&fileStage{r: r, args: args, out: out, piped: piped, dot: c.operator == '.', invoked: invoked, where: c.at()}, name)
	}
	if _, ok := r.host.Has(name); ok {
		return &programStage{r: r, name: name, args: args, out: out, piped: piped}, nil
	}
	if isBatch(low) && r.m.Root.Exists(r.path(name)) {
		return &programStage{r: r, name: name, args: args, out: out, piped: piped}, nil
	}
	if known, ok := unsimulatedCommands[low]; ok {
		return nil, lacking("%s", known)
	}
	if _, ok := r.function("get-" + low); ok || cmdlets["get-"+low] != nil {
		return r.resolve(c, "Get-"+name, invoked, args, out, piped) // Get- may be omitted
	}
	if verb, noun, ok := strings.Cut(low, "-"); ok && verbs[verb] && !r.defined[low] && noun != "" && !strings.ContainsAny(low, `\/.:`) {
		return nil, lacking("the cmdlet %s, if the image has one of that name", name)
	}
	return nil, noCommand(name)
}

// noCommand returns the failure of a command that does not exist.
func noCommand(name string) *failure {
	f := broken("CommandNotFoundException", "CommandNotFoundException", "The term '%s' is not recognized as the "+
		"name of a cmdlet, function, script file, or operable program. Check the spelling of the name, or if a "+
		"path was included, verify that the path is correct and try again.", name)
	f.command, f.target = name, name
	return f.withProperty("CommandName", name)
}

func isBatch(low string) bool {
	return strings.HasSuffix(low, ".cmd") || strings.HasSuffix(low, ".bat")
}

// alias returns the command of an alias.
func (r *run) alias(low string) (string, bool) {
	for s := r.scope; s != nil; s = s.parent {
		if to, ok := s.aliases[low]; ok {
			return to, true
		}
	}
	to, ok := aliases[low]
	return to, ok
}

// arguments evaluates the arguments of a command.
func (r *run) arguments(args []argument) ([]argumentValue, error) {
	var out []argumentValue
	for i, a := range args {
		if a.splat != "" {
			more, err := r.splat(a.splat)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
			continue
		}
		v := argumentValue{parameter: a.parameter, text: a.text, joined: a.joined}
		v.glued = i > 0 && a.parameter == "" && args[i-1].parameter != "" && args[i-1].value == nil &&
			a.at() == args[i-1].at()+len(args[i-1].text)
		if a.value != nil {
			value, err := r.eval(a.value)
			if err != nil {
				return nil, err
			}
			v.value, v.has = value, true
			switch n := a.value.(type) {
			case constant:
				if a.parameter == "" {
					v.text = n.text
				}
				v.bare = isBare(r.source, n)
			case interpolated:
				v.bare = n.bare
			}
		}
		out = append(out, v)
	}
	return out, nil
}

func isBare(source string, n constant) bool {
	return n.at() < len(source) && source[n.at()] != '"' && source[n.at()] != '\'' && source[n.at()] != '@'
}

// splat returns the items of a list, or the entries of a hashtable, as arguments.
func (r *run) splat(name string) ([]argumentValue, error) {
	v, err := r.get(variable{name: name})
	if err != nil {
		return nil, err
	}
	var out []argumentValue
	if h, ok := v.(*hashtable); ok {
		for k, value := range h.all() {
			out = append(out, argumentValue{parameter: text(k), value: value, has: true, joined: true, text: "-" + text(k) + ":"})
		}
		return out, nil
	}
	for _, item := range orNull(v) {
		if s, ok := item.(string); ok && name == "args" {
			if a := scriptArgument(s); a.parameter != "" {
				out = append(out, a)
				continue
			}
		}
		out = append(out, argumentValue{value: item, has: true})
	}
	return out, nil
}

// redirection has the sinks of a command's streams, and the sinks outside of the command.
type redirection struct {
	sinks [7]sink
	outer [7]sink
}

// redirect opens the files of redirections. The returned function closes them. sinks[1] is never nil.
func (r *run) redirect(rs []redirect, out sink) (*redirection, func() error, error) {
	to := &redirection{outer: r.redirected}
	to.sinks = r.redirected
	to.sinks[1] = out
	var finish []func() error
	done := func() error {
		var errs []error
		for _, f := range finish {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	for _, rd := range rs {
		target := to.sinks[1]
		if !rd.merge {
			v, err := r.eval(rd.target)
			if err != nil {
				return nil, done, err
			}
			s, end, err := r.fileSink(v, rd.adding)
			if err != nil {
				return nil, done, err
			}
			finish = append(finish, end)
			target = s
		}
		if rd.stream != '*' {
			to.sinks[rd.stream-'0'] = target
			continue
		}
		for i := 1; i < len(to.sinks); i++ {
			to.sinks[i] = target
		}
	}
	return to, done, nil
}

// fileSink returns a sink that writes values to a file, as Out-File does, and a function that completes the file.
func (r *run) fileSink(v any, adding bool) (sink, func() error, error) {
	if text(v) == "" {
		return func(any) error { return nil }, func() error { return nil }, nil
	}
	name, err := r.outputPath(text(v))
	if err != nil {
		return nil, nil, openFailure(err)
	}
	if yes, err := r.should("Output to File", text(v)); err != nil || !yes {
		return func(any) error { return nil }, func() error { return nil }, err
	}
	var b bytes.Buffer
	p := &printer{r: r, to: &b}
	if err := r.writeFile(name, nil, adding); err != nil {
		return nil, nil, openFailure(err)
	}
	return p.put, func() error {
		p.flush(nil)
		return r.writeFile(name, encode(b.String(), "unicode", !adding || r.isEmpty(name)), true)
	}, nil
}

// outwards returns the sink for a command's output. While it passes a value on, the streams are those outside of the command.
func (to *redirection) outwards(r *run) sink {
	return func(v any) error {
		inner := r.redirected
		r.redirected = to.outer
		defer func() { r.redirected = inner }()
		return to.sinks[1](v)
	}
}

// redirectedStage is a stage with redirected streams.
type redirectedStage struct {
	r      *run
	inner  stage
	to     *redirection
	finish func() error
}

// within runs a part of the stage with redirected streams. A failure that ends the stage is returned, and not
// outputPath to the redirected stream.
func (s *redirectedStage) within(f func() error) error {
	outer := s.r.redirected
	s.r.redirected = s.to.sinks
	s.r.redirected[1] = nil
	defer func() { s.r.redirected = outer }()
	err := f()
	if failed(err) != nil {
		return errors.Join(err, s.finish())
	}
	return err
}

func (s *redirectedStage) begin() error { return s.within(s.inner.begin) }
func (s *redirectedStage) process(v any) error {
	return s.within(func() error { return s.inner.process(v) })
}
func (s *redirectedStage) end() error {
	if err := s.within(s.inner.end); err != nil {
		return err
	}
	return s.finish()
}

// scriptStage reads a script file and returns its stage.
func (r *run) scriptStage(s *fileStage, name string) (stage, error) {
	s.file = r.path(name)
	data, err := r.m.Root.ReadFile(s.file)
	if err != nil {
		f := noCommand(name)
		f.target = nil // the error for a path has no target
		return nil, f
	}
	s.content = decode(data)
	return s, nil
}

// fileStage is the stage of a script file in a pipeline.
type fileStage struct {
	r             *run
	file, content string
	args          []argumentValue
	input         []any
	out           sink
	piped, dot    bool
	// invoked is the name by which the script was called, where the position of the call.
	invoked string
	where   int
}

func (s *fileStage) begin() error        { return nil }
func (s *fileStage) process(v any) error { s.input = append(s.input, v); return s.r.take(16) }

func (s *fileStage) end() error {
	r := s.r
	if isKubeletRestart(r, s.file) {
		return r.restartKubelet()
	}
	ctx, leave, err := r.host.Enter(r.ctx, s.content)
	defer leave()
	if err != nil {
		return &LimitError{"starts scripts too deep"}
	}
	body, err := parse(s.content)
	if err != nil {
		return r.unparsed(err, s.file)
	}
	outer, outerContext, out := r.site, r.ctx, r.outside(s.out)
	info := r.invocation(s.file, s.invoked, s.where)
	r.ctx, r.source, r.file = ctx, body.source, s.file
	defer func() { r.site, r.ctx = outer, outerContext }()
	if err := r.requires(body.source); err != nil {
		return err
	}
	if s.dot {
		defer r.keeping("psscriptroot", "pscommandpath", "myinvocation")()
	} else {
		r.scope = newScope(r.scope)
		r.scope.script = true
	}
	r.scope.vars["psscriptroot"] = &cell{value: parent(s.file)}
	r.scope.vars["pscommandpath"] = &cell{value: s.file}
	r.scope.vars["myinvocation"] = &cell{value: info}
	r.ok = true
	input := s.input
	if s.piped && input == nil {
		input = []any{}
	}
	err = r.body(function{name: s.file, body: body, source: body.source, file: s.file, home: r.scope.home}, s.args, input, out)
	switch e := err.(type) {
	case exitSignal:
		r.lastExit, r.ok = int64(e.code), e.code == 0
		return nil
	case returnSignal:
		return nil
	}
	return err
}

// unparsed returns the error of a script that cannot be parsed.
func (r *run) unparsed(err error, file string) error {
	pe, ok := errors.AsType[*ParseError](err)
	if !ok {
		return err
	}
	if pe.Missing {
		return &unsimulated{what: strings.TrimPrefix(pe.Message, "casement does not simulate "), line: pe.Line,
			column: pe.Column, script: file}
	}
	f := broken("ParseException", "ParserError", "%s", pe.Message)
	f.line, f.column, f.script = pe.Line, pe.Column, file
	return f
}

// invocation returns $MyInvocation within a script.
func (r *run) invocation(file, invoked string, where int) any {
	return r.invocationInfo(system(kindCommand, nil, "Name", base(file), "Path", file, "Definition", file, "CommandType", "ExternalScript"),
		cmp.Or(invoked, file), file, r.source, where)
}

// invocationInfo returns an InvocationInfo: how and where a command was called.
func (r *run) invocationInfo(command any, name, file, source string, at int) *object {
	line, column := lineAndColumn(source, at)
	return system("System.Management.Automation.InvocationInfo", nil, "MyCommand", command, "ScriptName", file, "PSScriptRoot", parent(file),
		"PSCommandPath", file, "InvocationName", name, "ScriptLineNumber", int64(line), "OffsetInLine", int64(column), "Line",
		lineOf(source, line), "BoundParameters", newHash(), "UnboundArguments", newArray(), "ExpectingInput", false)
}

// lineOf returns a line of a text, counted from 1, or "".
func lineOf(text string, line int) string {
	if lines := strings.SplitN(text, "\n", line+1); line > 0 && line <= len(lines) {
		return lines[line-1]
	}
	return ""
}
