package powershell

import (
	"cmp"
	"slices"
	"strings"
)

// cmdlet is a simulated cmdlet.
type cmdlet struct {
	name string
	// parameters are the parameters of the cmdlet, separated by blanks. Other names of a parameter follow it after |.
	//
	// Name takes a value, Name? is a switch, Name:0 is the first argument without a name.
	//
	// Name~ has no effect on a guest; Name^ has an effect that is not simulated, and writes a mark.
	//
	// Name! refuses null and empty values, Name+ does so with the message of ValidateNotNullOrEmpty, Name&
	// refuses null; of Name! and Name& the last parameter checks the pipeline's objects too.
	//
	// Name# takes a whole number, Name= takes one text and no list, Name% takes a text or date, or a script
	// block that runs for each object of the pipeline. Name* takes all remaining arguments.
	//
	// All other parameters are refused by name.
	parameters string
	// run runs the cmdlet once, after all input has arrived.
	run func(c *call) error
	// each runs for each object of the pipeline.
	each func(c *call, v any) error
	// start runs before the first object.
	start func(c *call) error

	// should is set for cmdlets that support -WhatIf and -Confirm.
	should bool
	// flat is set for cmdlets that take each item of a piped list, scalar for those that refuse a piped list,
	// byProperty for those that take only objects with a property that is named like a parameter.
	flat, scalar, byProperty bool
	// ending is set for cmdlets that run at the end of the pipeline even without input. Other cmdlets do not
	// run for an empty pipeline.
	ending bool

	specs []spec
}

// spec is a parameter of a cmdlet.
type spec struct {
	names          []string
	shown          string
	takes, ignored bool
	// filled is set for values that must not be null or empty, attributed for those of them with
	// ValidateNotNullOrEmpty, whole for whole numbers.
	filled, attributed, whole bool
	// present is set for values that must not be null, blocks for those that may be a script block, which runs
	// for each object of the pipeline.
	present, blocks bool
	// single is set for a parameter that takes one text and no list.
	single bool

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
	// literals are the paths in which wildcards have no meaning.
	literals map[string]bool
	// root is the folder to which the output of Get-ChildItem -Name is relative.
	root string

	action   string
	common   commonParameters
	failedIt bool
}

// parameterMarks are the characters after the name of a parameter in a cmdlet's parameters, with their effects.
var parameterMarks = map[byte]func(*spec){
	'~': func(s *spec) { s.ignored = true }, '^': func(s *spec) { s.marked = true }, '*': func(s *spec) { s.rest = true },
	'?': func(s *spec) { s.takes = false }, '!': func(s *spec) { s.filled = true }, '#': func(s *spec) { s.whole = true },
	'+': func(s *spec) { s.filled, s.attributed = true, true }, '&': func(s *spec) { s.present = true },
	'%': func(s *spec) { s.blocks = true }, '=': func(s *spec) { s.single = true },
}

// specsOf parses the field parameters of a cmdlet, which documents the format.
func specsOf(text string) []spec {
	var out []spec
	for word := range strings.FieldsSeq(text) {
		s := spec{takes: true, position: -1}
		if name, at, ok := strings.Cut(word, ":"); ok {
			word, s.position, s.positional = name, int(at[0]-'0'), true
			word += at[1:]
		}
		for word != "" {
			set, ok := parameterMarks[word[len(word)-1]]
			if !ok {
				break
			}
			set(&s)
			word = word[:len(word)-1]
		}
		s.shown, _, _ = strings.Cut(word, "|")
		s.names = strings.Split(strings.ToLower(word), "|")
		out = append(out, s)
	}
	return out
}

// find returns the parameter with a name, an alias, or an unambiguous prefix of one of them, or nil.
func (c *cmdlet) find(name string) (*spec, error) {
	return byName(c.specs, name, func(s spec) ([]string, string) { return s.names, s.shown })
}

// The following failures are common to cmdlets and functions.

func ambiguousName(name, matches string) error {
	return broken("ParameterBindingException", "AmbiguousParameter", "Parameter cannot be processed because the parameter name '%s' is "+
		"ambiguous. Possible matches include:%s.", name, matches)
}

func unknownName(name string) error {
	return broken("ParameterBindingException", "NamedParameterNotFound", "A parameter cannot be found that matches parameter name '%s'.", name)
}

func withoutArgument(name, kind string) error {
	return broken("ParameterBindingException", "MissingArgument", "Missing an argument for parameter '%s'. Specify a parameter of type '%s' "+
		"and try again.", name, kind)
}

func boundTwice(name string) error {
	return broken("ParameterBindingException", "ParameterAlreadyBound", "Cannot bind parameter because parameter '%s' is specified more than "+
		"once. To provide multiple values to parameters that can accept multiple values, use the array syntax. For example, \"-parameter "+
		"value1,value2,value3\".", name)
}

func noPosition(v any) error {
	shown := text(v)
	if v == nil {
		shown = "$null"
	}
	return broken("ParameterBindingException", "PositionalParameterNotFound",
		"A positional parameter cannot be found that accepts argument '%s'.", shown)
}

// unbindable returns the failure of an argument that cannot be converted to its parameter's type. format gives the reason.
func unbindable(name, format string, a ...any) *failure {
	return broken("ParameterBindingException", "CannotConvertArgumentNoMessage", "Cannot bind parameter '"+name+"'. "+format, a...)
}

func lackingMandatory(names string) error {
	return broken("ParameterBindingException", "MissingMandatoryParameter",
		"Cannot process command because of one or more missing mandatory parameters: %s.", names)
}

// bind binds the arguments of a cmdlet and returns its stage.
func (r *run) bind(cmd *cmdlet, args []argumentValue, out sink, piped bool, at command) (stage, error) {
	c := &call{run: r, cmd: cmd, given: map[string]any{}, piped: piped, emit: out}
	s := &cmdletStage{c: c, at: at}
	c.stage = s
	err := c.bindAll(args)
	c.action = r.preference("erroractionpreference")
	if v, ok := c.common.preferences["erroractionpreference"]; ok {
		c.action = strings.ToLower(text(v))
	}
	c.emit = c.common.sink(out)
	if f := failed(err); f != nil {
		if !strings.Contains(f.id, ",") {
			f.id += "," + cmd.class()
		}
		withCommand(cmd.name, f)
		r.located(f, at) // only the fields of f change; the returned error is f
		if c.common.kept[2] != nil {
			c.common.kept[2].items = append(c.common.kept[2].items, f)
		}
		if c.action == "stop" { // a failure to bind arguments ignores all other values of -ErrorAction
			f.stop()
		}
	}
	return s, err
}

// takesUnknown reports whether a cmdlet treats unknown parameters as values.
func (cmd *cmdlet) takesUnknown() bool { return cmd.name == "Write-Output" || cmd.name == "Write-Host" }

// class returns the name of a cmdlet's .NET class, which error ids contain.
func (cmd *cmdlet) class() string {
	return "Microsoft.PowerShell.Commands." + strings.ReplaceAll(cmd.name, "-", "") + "Command"
}

// bindAll binds all arguments of a call, including the values of $PSDefaultParameterValues.
func (c *call) bindAll(args []argumentValue) error {
	var rest []argumentValue
	cmd := c.cmd
	args = append(args, c.defaults(cmd.name, func(name string) string {
		if s, _ := cmd.find(name); s != nil {
			return s.names[0]
		}
		return ""
	}, args)...)
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.parameter == "" {
			if isNumber(a.value) && a.bare && cmd.name == "Write-Host" {
				a.value = a.text // a number keeps the script's spelling
			}
			rest = append(rest, a)
			continue
		}
		s, err := cmd.find(a.parameter)
		if err != nil {
			return err
		}
		if s == nil && cmd.takesUnknown() && commonName(a.parameter) == "" {
			rest = append(rest, argumentValue{value: strings.TrimSuffix(a.text, ":"), has: true})
			if a.has {
				rest = append(rest, argumentValue{value: a.value, has: true})
			}
			continue
		}
		if s == nil {
			kind := commonName(a.parameter)
			if kind == "" || (kind == "whatif" || kind == "confirm") && !changes(cmd.name) {
				if known, ok := realParameters()[strings.ToLower(cmd.name)]; ok && !hasPrefix(known, a.parameter) {
					return unknownName(a.parameter)
				}
				return lacking("the parameter -%s of %s", a.parameter, cmd.name)
			}
			_, taken, err := c.common.take(c.run, cmd.name, kind, args[i:])
			if err != nil {
				return err
			}
			i += taken - 1
			if (c.isCommon("whatif") || c.common.preferences["confirmpreference"] == "Low") && !cmd.should {
				return lacking("-%s of %s", commonShown[kind], cmd.name)
			}
			continue
		}
		value := a.value
		switch {
		case !s.takes && !a.has:
			value = true
		case s.takes && !a.has:
			if i+1 >= len(args) || !args[i+1].has || args[i+1].parameter != "" {
				return withoutArgument(s.shown, s.kind())
			}
			i++
			value = args[i].cmdletValue(s)
		}
		if _, twice := c.given[s.names[0]]; twice && !a.splatted {
			return boundTwice(s.shown)
		}
		if s.marked {
			c.mark(cmd.name+" -"+a.parameter, "")
		}
		if err := c.bindValue(s, value); err != nil {
			return err
		}
	}
	if err := c.positions(rest); err != nil {
		return err
	}
	if v, _ := c.lookup("whatifpreference"); truth(v) && !cmd.should && changes(cmd.name) {
		if _, own := c.common.preferences["whatifpreference"]; !own {
			return lacking("$WhatIfPreference for %s", cmd.name)
		}
	}
	return nil
}

// isCommon reports whether a common switch is on.
func (c *call) isCommon(kind string) bool { return truth(c.common.preferences[kind+"preference"]) }

// bindValue checks a value as the binding does before a cmdlet's own code runs, and binds it to a parameter.
func (c *call) bindValue(s *spec, value any) error {
	if !s.takes {
		b, err := c.converted(parameter{kinds: []string{"switch"}}, value)
		if err != nil {
			return broken("ParameterBindingException", "CannotConvertArgument", "Cannot convert '%s' to the type "+
				"'System.Management.Automation.SwitchParameter' required by parameter '%s'.", kindOf(value), s.shown)
		}
		value = b
	}
	if _, block := value.(function); block && !c.piped && s.blocks {
		return broken("ParameterBindingException", "ScriptBlockArgumentNoInput", "Cannot evaluate parameter '%s' because its argument is "+
			"specified as a script block and there is no input. A script block cannot be evaluated without input.", s.shown)
	}
	if value == nil && s.present {
		return s.empty(nil)
	}
	if s.single && isList(value) {
		return s.noList(value)
	}
	if s.filled {
		if err := s.empty(value); err != nil {
			return err
		}
		items := []any{value}
		if a, ok := value.(*array); ok {
			items = a.items
		}
		for _, item := range items {
			if isList(value) && isList(item) {
				return s.noList(value)
			}
			if err := s.empty(item); err != nil {
				return err
			}
		}
	}
	if s.whole && value == nil {
		return invalid(s.shown, "The argument is null, empty, or an element of the argument collection contains a null value. Supply a "+
			"collection that does not contain any null values and then try the command again.")
	}
	if s.whole {
		n, err := c.convert("int", value)
		if a, ok := value.(*array); ok && len(a.items) > 1 {
			n, err = value, nil
		}
		if f := failed(err); f != nil {
			return unbindable(s.shown, "%s", f.exception.message)
		} else if err != nil {
			return err
		}
		if k, _, ok := wholeOf(n); ok && k < 0 && c.cmd.name == "Select-Object" {
			return invalid(s.shown, "The %d argument is less than the minimum allowed range of 0. Supply an argument that is greater than or "+
				"equal to 0 and then try the command again.", k)
		}
		value = n
	}
	c.given[s.names[0]] = value
	return nil
}

// noList returns the failure of a list for a parameter that takes one value.
func (s *spec) noList(v any) error {
	return broken("ParameterBindingException", "CannotConvertArgument", "Cannot convert '%s' to the type '%s' required by parameter '%s'. "+
		"Specified method is not supported.", kindOf(v), s.kind(), s.shown)
}

// typedParameter converts a value to the type of a parameter.
func (c *call) typedParameter(kind, shown string, v any) (any, error) {
	out, err := c.convert(kind, v)
	f := failed(err)
	if f == nil {
		return out, err
	}
	switch {
	case v == nil:
		f = broken("ParameterBindingException", "ParameterBindingFailed", "Cannot bind parameter '%[1]s' to the target. Exception "+
			"setting \"%[1]s\": \"%[2]s\"", shown, f.exception.message)
	case isList(v):
		f = broken("ParameterBindingException", "CannotConvertArgument", "Cannot convert '%s' to the type '%s' required by parameter "+
			"'%s'. Specified method is not supported.", kindOf(v), typeName(kind), shown)
	default:
		f = unbindable(shown, "%s", f.exception.message)
	}
	f.stops = !c.piped || c.has(strings.ToLower(shown))
	return nil, f
}

// empty returns the failure of a null or empty value, or nil.
func (s *spec) empty(v any) error {
	if s.attributed && (v == nil || v == "") {
		return invalid(s.shown, argumentEmpty)
	}
	return emptyArgument(s.shown, v)
}

// emptyArgument returns the failure of null, an empty text or an empty list for a parameter, or nil for other values.
func emptyArgument(shown string, v any) error {
	kind, what := "", ""
	switch l, _ := v.(*array); {
	case v == nil:
		kind, what = "Null", "null"
	case v == "":
		kind, what = "EmptyString", "an empty string"
	case l != nil && len(l.items) == 0:
		kind, what = "EmptyArray", "an empty array"
	default:
		return nil
	}
	return broken("ParameterBindingValidationException", "ParameterArgumentValidationError"+kind+"NotAllowed",
		"Cannot bind argument to parameter '%s' because it is %s.", shown, what)
}

const (
	argumentNull  = "The argument is null. Provide a valid value for the argument, and then try running the command again."
	argumentEmpty = "The argument is null or empty. Provide an argument that is not null or empty, and then try the command again."
)

// invalid returns the failure of an argument that does not pass a validation.
func invalid(shown, format string, a ...any) *failure {
	return broken("ParameterBindingValidationException", "ParameterArgumentValidationError",
		"Cannot validate argument on parameter '"+shown+"'. "+format, a...)
}

// kind returns the type of the parameter that messages name.
func (s *spec) kind() string {
	switch {
	case s.whole:
		return "System.Int32"
	case s.single:
		return "System.String"
	case s.filled:
		return "System.String[]"
	}
	return "System.Object"
}

// changing are the verbs of cmdlets that support -WhatIf, because they change something.
const changing = " add clear copy disable enable export import install invoke move new out register remove rename reset restart " +
	"resume set " +
	"start stop suspend uninstall unregister update write expand compress tee "

// unchanging are the cmdlets with these verbs that do not support -WhatIf.
const unchanging = " add-member add-type new-object new-timespan new-guid set-strictmode set-location start-sleep invoke-expression " +
	"invoke-command invoke-webrequest invoke-restmethod write-output write-host write-error write-warning write-verbose write-debug " +
	"write-information write-progress import-module import-csv out-null out-host out-string out-default set-psdebug import-clixml " +
	"new-scheduledtaskaction new-scheduledtasktrigger new-scheduledtaskprincipal new-scheduledtasksettingsset tee-object start-job " +
	"new-cimsession clear-host "

// changes reports whether a cmdlet supports -WhatIf.
func changes(name string) bool {
	verb, _, _ := strings.Cut(strings.ToLower(name), "-")
	return (strings.Contains(changing, " "+verb+" ") || verb == "mkdir") && !strings.Contains(unchanging, " "+strings.ToLower(name)+" ")
}

// defaults returns the values of $PSDefaultParameterValues for those parameters of a command that its
// arguments do not set. find returns the key of a parameter, or "".
func (r *run) defaults(command string, find func(name string) string, args []argumentValue) (out []argumentValue) {
	v, _ := r.lookup("psdefaultparametervalues")
	h, ok := v.(*hashtable)
	if !ok || len(h.keys) == 0 || truth(h.read("Disabled")) {
		return nil
	}
	key := func(name string) string { return cmp.Or(find(name), commonName(name)) }
	for _, k := range h.keys {
		pattern, name, ok := strings.Cut(text(k), ":")
		if !ok {
			continue
		}
		if yes, err := like(command, pattern, false); err != nil || !yes {
			continue
		}
		given := slices.ContainsFunc(args, func(a argumentValue) bool { return a.parameter != "" && key(a.parameter) == key(name) })
		value, _ := h.get(k)
		if block, ok := value.(function); ok && !given {
			value, _ = r.apply(block, nil)
		}
		if !given && key(name) != "" {
			out = append(out, argumentValue{parameter: name, value: value, has: true, joined: true, splatted: true})
		}
	}
	return out
}

// positions binds arguments without a name to the parameters by position. -Path takes none if -LiteralPath is given.
func (c *call) positions(rest []argumentValue) error {
	for at := 0; at < 6 && len(rest) > 0; at++ {
		for i := range c.cmd.specs {
			s := &c.cmd.specs[i]
			if s.position != at {
				continue
			}
			if _, done := c.given[s.names[0]]; done {
				continue
			}
			if s.names[0] == "path" && c.has("literalpath") || s.names[0] == "filepath" && c.has("literalpath") {
				continue
			}
			if s.rest {
				value := any(newArray(argsValues(rest)...))
				if len(rest) == 1 {
					value = rest[0].value
				}
				rest = nil
				if err := c.bindValue(s, value); err != nil {
					return err
				}
				break
			}
			value := rest[0].cmdletValue(s)
			rest = rest[1:]
			if err := c.bindValue(s, value); err != nil {
				return err
			}
			if len(rest) == 0 {
				return nil
			}
		}
	}
	if len(rest) > 0 {
		return noPosition(rest[0].value)
	}
	return nil
}

// cmdletValue returns the value of an argument for a parameter. A number keeps the script's spelling for a
// parameter that is a text.
func (a argumentValue) cmdletValue(s *spec) any {
	if _, isNumber := float(a.value); isNumber && s.filled && a.bare && a.text != "" {
		return a.text
	}
	return a.value
}

// cmdletStage is the stage of a cmdlet in a pipeline.
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
	cmd := s.c.cmd
	if a, ok := v.(*array); ok && cmd.flat {
		for _, item := range a.items {
			if err := s.process(item); err != nil {
				return err
			}
		}
		return nil
	}
	if cmd.byProperty && !s.c.hasProperty(v) || isList(v) && cmd.scalar {
		return s.finish(s.c.fault(unbound(v)))
	}
	for _, p := range slices.Backward(cmd.specs) {
		if !p.present {
			continue
		}
		if v == nil || p.filled {
			if err := p.empty(v); err != nil {
				return s.finish(s.c.fault(err))
			}
		}
		break
	}
	s.c.input = append(s.c.input, v)
	if len(s.c.input) > maxItems {
		return &LimitError{"makes a list of more than a million items"}
	}
	return s.c.take(16)
}

// hasProperty reports whether an object has a property that is named like a parameter.
func (c *call) hasProperty(v any) bool {
	for _, s := range c.cmd.specs {
		for _, name := range s.names {
			if _, ok := c.ownProperty(v, name); ok {
				return true
			}
		}
	}
	return false
}

func (s *cmdletStage) end() error {
	idle := s.c.piped && len(s.c.input) == 0 && s.c.cmd.each == nil && !s.c.cmd.ending
	if s.c.cmd.run == nil || idle {
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
		return err // the error already has a position: a script block within or the next stage reported it
	}
	s.c.claim(f)
	if s.c.action == "stop" {
		f.stop()
	}
	s.c.keepFault(f)
	_, own := s.c.common.preferences["erroractionpreference"]
	if own && !f.stops && (s.c.action == "silentlycontinue" || s.c.action == "ignore") {
		// Real cmdlets end their statement in few cases; those set f.stops, which -ErrorAction does not change.
		s.c.ok, s.c.failedIt = false, true
		s.c.remember(f)
		return nil
	}
	return f
}

// claim names the cmdlet in a failure and in its id, and sets the failure's position.
func (c *call) claim(f *failure) {
	if f.command == "" {
		f.command = c.cmd.name
	}
	if f.id != "" && !strings.Contains(f.id, ",") && !f.whole {
		f.id += "," + c.cmd.class()
	}
	c.located(f, c.stage.at) // only the fields of f change; the returned error is f
}

// keepFault appends a failure to the variable of -ErrorVariable.
func (c *call) keepFault(f *failure) {
	if a := c.common.kept[2]; a != nil {
		a.items = append(a.items, f)
	}
}

// fault reports an error and lets the cmdlet continue, unless -ErrorAction is Stop.
func (c *call) fault(err error) error {
	f := failed(err)
	if f == nil {
		return err
	}
	c.claim(f)
	c.failedIt, c.ok = true, false
	c.keepFault(f)
	return c.report(f, c.action)
}

// has reports whether a parameter has a value; textOf, textsOf, is and integerOf return the value.
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

// textsOf returns the items of a parameter's value as texts.
func (c *call) textsOf(name string) []string {
	return inputTexts(list(c.given[name]))
}

// need returns an error if a parameter has no value. Windows would ask for the value on the console.
func (c *call) need(names ...string) error {
	for _, name := range names {
		if !c.has(name) {
			return lackingMandatory(c.shownName(name))
		}
	}
	return nil
}

// shownName returns a parameter's name in the case in which messages show it.
func (c *call) shownName(name string) string {
	if s, _ := c.cmd.find(name); s != nil {
		return s.shown
	}
	return name
}

// stop returns the signal that ends the pipeline, because the cmdlet needs no more input.
func (c *call) stop() error { return stopSignal{c.stage} }

// noEffectStage is the stage of a command of the table noEffect.
type noEffectStage struct {
	r          *run
	name, note string
}

func (s *noEffectStage) begin() error      { return nil }
func (s *noEffectStage) process(any) error { return nil }
func (s *noEffectStage) end() error        { s.r.mark(s.name, s.note); return nil }

// mark writes to the console that a command had no effect. Redirections do not apply to marks.
func (r *run) mark(name, note string) {
	if note != "" {
		note = " (" + note + ")"
	}
	r.m.NoEffect(name)
	r.print(cmp.Or(r.session.Marks, r.session.Stderr), name+": simulated: no effect"+note+"\r\n")
}

// every calls f for each item. A failure of f is reported, and the next item follows; a failure with a
// position comes from the next stage, and ends the loop.
func every[T any](c *call, items []T, f func(T) error) error {
	for _, item := range items {
		err := f(item)
		if own := failed(err); own != nil && own.line == 0 && !own.stops {
			err = c.fault(own)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
