package powershell

import (
	"cmp"
	"strings"
)

// cmdlet is a command of the table.
type cmdlet struct {
	name string
	// parameters are those that it takes, parted by blanks: Name takes a value, Name?
	// is a switch, Name:0 is the first argument that has no name, Name~ takes a value
	// that changes nothing a guest has, Name?~ is such a switch, Name^ has an effect that
	// is not simulated and leaves a mark. Other names follow after |.
	// A parameter that is not there is refused by name.
	parameters string
	// run runs it once, with all that the pipeline gave.
	run func(c *call) error
	// each runs for every object of the pipeline.
	each func(c *call, v any) error
	// start runs before the first object.
	start func(c *call) error

	specs []spec
}

type spec struct {
	names            []string
	takes, ignored   bool
	marked           bool
	position         int
	rest, positional bool
}

// call is one call of a cmdlet.
type call struct {
	*run
	cmd   *cmdlet
	given map[string]any
	input []any
	piped bool
	emit  sink
	// state is the data that a streaming cmdlet keeps between the items of its pipeline.
	state any
	stage *cmdletStage

	action   string
	variable string
	errorTo  string
	verbose  any
	failedIt bool
}

// specs reads the table's own form.
func specsOf(text string) []spec {
	var out []spec
	for word := range strings.FieldsSeq(text) {
		s := spec{takes: true, position: -1}
		if strings.HasSuffix(word, "~") {
			word, s.ignored = strings.TrimSuffix(word, "~"), true
		}
		if strings.HasSuffix(word, "^") {
			word, s.marked = strings.TrimSuffix(word, "^"), true
		}
		if strings.HasSuffix(word, "*") {
			word, s.rest = strings.TrimSuffix(word, "*"), true
		}
		if name, at, ok := strings.Cut(word, ":"); ok {
			word, s.position, s.positional = name, int(at[0]-'0'), true
		}
		if strings.HasSuffix(word, "?") {
			word, s.takes = strings.TrimSuffix(word, "?"), false
		}
		s.names = strings.Split(strings.ToLower(word), "|")
		out = append(out, s)
	}
	return out
}

// find returns the parameter of a name or of the start of one.
func (c *cmdlet) find(name string) *spec {
	low := strings.ToLower(name)
	var found *spec
	for i := range c.specs {
		for _, n := range c.specs[i].names {
			if n == low {
				return &c.specs[i]
			}
			if strings.HasPrefix(n, low) && found == nil {
				found = &c.specs[i]
			}
		}
	}
	return found
}

// commonValues and commonSwitches are the parameters that every cmdlet has.
var (
	commonValues = map[string]string{
		"erroraction": "erroraction", "ea": "erroraction", "errorvariable": "errorvariable", "ev": "errorvariable",
		"warningaction": "warningaction", "wa": "warningaction", "outvariable": "outvariable", "ov": "outvariable",
		"warningvariable": "warningvariable", "wv": "warningvariable", "informationaction": "informationaction",
		"infa": "informationaction", "informationvariable": "informationvariable", "outbuffer": "outbuffer",
		"pipelinevariable": "pipelinevariable",
	}
	commonSwitches = map[string]string{"verbose": "verbose", "vb": "verbose", "debug": "debug", "db": "debug",
		"confirm": "confirm", "whatif": "whatif"}
)

func isCommon(name string) bool {
	low := strings.ToLower(name)
	return commonValues[low] != "" || commonSwitches[low] != ""
}

func isCommonSwitch(name string) bool { return commonSwitches[strings.ToLower(name)] != "" }

// commonParameter sets the preference that a common parameter of a function is.
func (r *run) commonParameter(to *scope, a argumentValue) {
	low := strings.ToLower(a.parameter)
	switch {
	case commonValues[low] == "erroraction":
		to.vars["erroractionpreference"] = &cell{value: a.value}
	case low == "verbose" || low == "vb":
		value := "Continue"
		if a.has && !truth(a.value) {
			value = "SilentlyContinue"
		}
		to.vars["verbosepreference"] = &cell{value: value}
	}
}

// bind makes the stage of a cmdlet.
func (r *run) bind(cmd *cmdlet, args []argumentValue, out sink, piped bool, at command) (stage, error) {
	c := &call{run: r, cmd: cmd, given: map[string]any{}, piped: piped, emit: out, action: r.preference("erroractionpreference")}
	var rest []any
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.parameter == "" {
			rest = append(rest, a.value)
			continue
		}
		s := cmd.find(a.parameter)
		if s == nil {
			if used, err := c.common(args, &i); err != nil || used {
				if err != nil {
					return nil, err
				}
				continue
			}
			return nil, lacking("the parameter -%s of %s", a.parameter, cmd.name)
		}
		value := a.value
		switch {
		case !s.takes && !a.has:
			value = true
		case s.takes && !a.has:
			if i+1 >= len(args) || !args[i+1].has || args[i+1].parameter != "" {
				return nil, named(cmd.name, broken("ParameterBindingException", "MissingArgument", "Missing an "+
					"argument for parameter '%s'. Specify a parameter of type 'System.Object' and try "+
					"again.", a.parameter))
			}
			i++
			value = args[i].value
		}
		if s.marked {
			r.mark(cmd.name+" -"+a.parameter, "")
		}
		c.given[s.names[0]] = value
	}
	if err := c.positions(rest); err != nil {
		return nil, err
	}
	s := &cmdletStage{c: c, at: at}
	c.stage = s
	if c.variable != "" || c.errorTo != "" {
		c.keep()
	}
	return s, nil
}

// common takes a parameter that every cmdlet has.
func (c *call) common(args []argumentValue, i *int) (bool, error) {
	a := args[*i]
	low := strings.ToLower(a.parameter)
	if name := commonSwitches[low]; name != "" {
		on := !a.has || truth(a.value)
		switch {
		case name == "whatif" && on:
			return false, lacking("-WhatIf")
		case name == "confirm" && on:
			return false, lacking("-Confirm")
		case name == "verbose":
			c.verbose = on
		}
		return true, nil
	}
	name := commonValues[low]
	if name == "" {
		return false, nil
	}
	value := a.value
	if !a.has {
		if *i++; *i >= len(args) {
			return false, named(c.cmd.name, broken("ParameterBindingException", "MissingArgument",
				"Missing an argument for parameter '%s'.", a.parameter))
		}
		value = args[*i].value
	}
	switch name {
	case "erroraction":
		c.action = errorAction(value)
	case "outvariable":
		c.variable = strings.ToLower(text(value))
	case "errorvariable":
		c.errorTo = strings.ToLower(text(value))
	case "pipelinevariable", "outbuffer", "informationvariable", "warningvariable":
		return false, lacking("-%s", a.parameter)
	}
	return true, nil
}

// errorAction reads a name or a number.
func errorAction(v any) string {
	if n, ok := v.(int64); ok && n >= 0 && n < 5 {
		return []string{"silentlycontinue", "stop", "continue", "inquire", "ignore"}[n]
	}
	return strings.ToLower(text(v))
}

// keep fills the variables of -OutVariable and -ErrorVariable.
func (c *call) keep() {
	if c.errorTo != "" && c.scope.vars[strings.TrimPrefix(c.errorTo, "+")] == nil {
		c.scope.vars[strings.TrimPrefix(c.errorTo, "+")] = &cell{value: newArray()}
	}
	if c.variable == "" {
		return
	}
	kept := newArray()
	kept.kind = "ArrayList"
	c.scope.vars[strings.TrimPrefix(c.variable, "+")] = &cell{value: kept}
	next := c.emit
	c.emit = func(v any) error {
		kept.items = append(kept.items, v)
		return next(v)
	}
}

// positions assigns arguments without a name to the parameters by position.
func (c *call) positions(rest []any) error {
	for at := 0; at < 6 && len(rest) > 0; at++ {
		for _, s := range c.cmd.specs {
			if s.position != at {
				continue
			}
			if _, done := c.given[s.names[0]]; done {
				break
			}
			if s.rest {
				c.given[s.names[0]] = newArray(rest...)
				if len(rest) == 1 {
					c.given[s.names[0]] = rest[0]
				}
				rest = nil
				break
			}
			c.given[s.names[0]], rest = rest[0], rest[1:]
			break
		}
		if len(rest) == 0 {
			return nil
		}
	}
	if len(rest) > 0 {
		return named(c.cmd.name, broken("ParameterBindingException", "PositionalParameterNotFound",
			"A positional parameter cannot be found that accepts argument '%s'.", text(rest[0])))
	}
	return nil
}

// cmdletStage runs a cmdlet.
type cmdletStage struct {
	c  *call
	at command
}

func (s *cmdletStage) begin() error {
	if s.c.cmd.start != nil {
		return s.finish(s.c.cmd.start(s.c))
	}
	return nil
}

func (s *cmdletStage) process(v any) error {
	if s.c.cmd.each != nil {
		return s.finish(s.c.cmd.each(s.c, v))
	}
	s.c.input = append(s.c.input, v)
	if len(s.c.input) > maxItems {
		return &LimitError{"makes a list of more than a million items"}
	}
	return s.c.take(16)
}

func (s *cmdletStage) end() error {
	if s.c.cmd.run == nil {
		return nil
	}
	err := s.finish(s.c.cmd.run(s.c))
	if s.c.failedIt {
		s.c.ok = false
	}
	return err
}

// finish names the cmdlet in an error and applies -ErrorAction.
func (s *cmdletStage) finish(err error) error {
	f := failed(err)
	if f == nil {
		if err == nil && s.c.failedIt {
			s.c.ok = false
		}
		return s.c.located(err, s.at)
	}
	if f.line != 0 {
		return err // it comes from within, or from the next stage
	}
	if f.command == "" {
		f.command = s.c.cmd.name
	}
	s.c.located(f, s.at) //nolint:errcheck // it returns what it is given
	if s.c.action == "stop" {
		f.ends = true
	}
	s.c.note(f)
	if (s.c.action == "silentlycontinue" || s.c.action == "ignore") && s.c.preference("erroractionpreference") != s.c.action {
		// -ErrorAction does not hold back what ends the statement, but few cmdlets end it.
		s.c.ok, s.c.failedIt = false, true
		s.c.remember(f)
		return nil
	}
	return f
}

// note puts a failure into the variable of -ErrorVariable.
func (c *call) note(f *failure) {
	if c.errorTo == "" {
		return
	}
	if cell := c.scope.vars[strings.TrimPrefix(c.errorTo, "+")]; cell != nil {
		if a, ok := cell.value.(*array); ok {
			a.items = append(a.items, f)
		}
	}
}

// fault reports an error that does not end the cmdlet, unless -ErrorAction is Stop.
func (c *call) fault(err error) error {
	f := failed(err)
	if f == nil {
		return err
	}
	if f.command == "" {
		f.command = c.cmd.name
	}
	c.located(f, c.stage.at) //nolint:errcheck // it returns what it is given
	c.failedIt, c.ok = true, false
	c.note(f)
	switch c.action {
	case "stop":
		f.ends = true
		return f
	case "ignore":
		return nil
	case "silentlycontinue":
		c.remember(f)
		return nil
	}
	c.remember(f)
	return c.show(f)
}

// has reports whether a parameter is given; text, texts, is and number read it.
func (c *call) has(name string) bool { _, ok := c.given[name]; return ok }

func (c *call) textOf(name string) string { return text(c.given[name]) }

func (c *call) is(name string) bool { return truth(c.given[name]) }

func (c *call) integerOf(name string, otherwise int) (int, error) {
	v, ok := c.given[name]
	if !ok {
		return otherwise, nil
	}
	n, err := c.integer(v)
	return int(n), err
}

// textsOf returns the items of a parameter.
func (c *call) textsOf(name string) []string {
	var out []string
	for _, v := range list(c.given[name]) {
		out = append(out, text(v))
	}
	return out
}

// need refuses a call without a parameter, which a console would ask for.
func (c *call) need(names ...string) error {
	for _, name := range names {
		if !c.has(name) {
			return broken("ParameterBindingException", "MissingMandatoryParameter",
				"Cannot process command because of one or more missing mandatory parameters: %s.", name)
		}
	}
	return nil
}

// stop ends the pipeline because the cmdlet needs no more input.
func (c *call) stop() error { return stopSignal{c.stage} }

// noEffectStage is a cmdlet of the table of those without effect.
type noEffectStage struct {
	r          *run
	name, note string
}

func (s *noEffectStage) begin() error      { return nil }
func (s *noEffectStage) process(any) error { return nil }
func (s *noEffectStage) end() error        { s.r.mark(s.name, s.note); return nil }

// mark says on the console that something had no effect; no redirection takes it.
func (r *run) mark(name, note string) {
	if note != "" {
		note = " (" + note + ")"
	}
	r.m.NoEffect(name)
	r.print(cmp.Or(r.session.Marks, r.session.Stderr), name+": simulated: no effect"+note+"\r\n")
}
