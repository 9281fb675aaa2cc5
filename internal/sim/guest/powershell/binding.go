package powershell

import (
	"fmt"
	"slices"
	"strings"
)

// The binding of arguments follows the PowerShell language specification 3.0, chapter 8.10, and about_Parameter_Sets.

// allSets is the name of the only parameter set of a function that names none.
const allSets = "__AllParameterSets"

// binder binds the arguments of one call of a function.
type binder struct {
	r     *run
	f     function
	p     *parameters
	to    *scope
	bound *hashtable
	given map[string]bool
	// sets are the parameter sets that are still possible; open are those that the arguments of the command
	// line leave possible, from which the binding of each pipeline item starts.
	sets, open []string
	set        string
	// took are the parameters that the current pipeline item was bound to; nil before the first item.
	took map[string]bool
	// piped is set if the function gets its input from a pipeline.
	piped bool
	// unfilled are the cells of parameters as they were before a pipeline item was bound to them, by parameter.
	unfilled map[string]*cell
	// common are the common parameters of the call, such as -ErrorVariable.
	common commonParameters
}

// claim names the function in a failure and in the failure's id.
func (b *binder) claim(err error) error {
	f := failed(err)
	if f == nil {
		return err
	}
	f.id = strings.TrimSuffix(f.id+","+b.f.shownName(), ",")
	return withCommand(b.f.shownName(), f)
}

// shownName returns the name of a function, or of a script's file, as errors show it. The name of a script block is empty.
func (f function) shownName() string {
	return base(f.name)
}

// inSet returns the properties of a parameter in a set; ok is false if the parameter is not in the set.
func (one parameter) inSet(set string) (parameterSet, bool) {
	if len(one.sets) == 0 {
		return parameterSet{position: -1}, true
	}
	for _, s := range one.sets {
		if s.name == "" || strings.EqualFold(s.name, set) || strings.EqualFold(s.name, allSets) {
			return s, true
		}
	}
	return parameterSet{}, false
}

// inAnySet reports whether a condition is true for a parameter in one of its sets.
func (one parameter) inAnySet(has func(parameterSet) bool) bool {
	return slices.ContainsFunc(one.sets, has)
}

// newBinder returns a binder for a call of a function, in which all parameter sets are possible.
func newBinder(r *run, f function, to *scope, piped bool) *binder {
	b := &binder{r: r, f: f, p: f.body.parameters, to: to, bound: newHash(), given: map[string]bool{}, piped: piped,
		unfilled: map[string]*cell{}}
	b.bound.kind = kindBound
	for _, one := range b.p.list {
		for _, s := range one.sets {
			if s.name != "" && !slices.ContainsFunc(b.sets, func(n string) bool { return strings.EqualFold(n, s.name) }) {
				b.sets = append(b.sets, s.name)
			}
		}
	}
	if b.p.defaultSet != "" && !slices.ContainsFunc(b.sets, func(n string) bool { return strings.EqualFold(n, b.p.defaultSet) }) {
		b.sets = append(b.sets, b.p.defaultSet)
	}
	if len(b.sets) == 0 {
		b.sets = []string{allSets}
	}
	return b
}

// find returns the parameter with a name, an alias, or an unambiguous prefix of one of them.
func (b *binder) find(name string) (*parameter, error) {
	one, err := byName(b.p.list, name, func(one parameter) ([]string, string) { return append([]string{one.name}, one.aliases...), one.shown })
	return one, b.claim(err)
}

// byName returns the element that has a name, or the only element with a name that starts with it, or nil.
// named returns the names of an element in lower case, and the name that messages show.
func byName[P any](all []P, name string, named func(P) (names []string, shown string)) (*P, error) {
	low, matches := strings.ToLower(name), ""
	var found *P
	for i, one := range all {
		names, shown := named(one)
		switch {
		case slices.Contains(names, low):
			return &all[i], nil
		case low != "" && slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, low) }):
			found, matches = &all[i], matches+" -"+shown
		}
	}
	if strings.Count(matches, " -") > 1 {
		return nil, ambiguousName(name, matches)
	}
	return found, nil
}

// bind binds arguments to parameters. Parameters that the pipeline can fill may stay without a value.
func (b *binder) bind(args []argumentValue) error {
	var rest []argumentValue
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.parameter == "" {
			rest = append(rest, a)
			continue
		}
		one, err := b.find(a.parameter)
		if err != nil {
			return err
		}
		if one == nil {
			if kind := commonName(a.parameter); b.p.binding && kind != "" && (b.p.should || kind != "whatif" && kind != "confirm") {
				value, taken, err := b.common.take(b.r, b.f.shownName(), kind, args[i:])
				if err != nil {
					return b.claim(err)
				}
				b.bound.set(commonShown[kind], value)
				i += taken - 1
				continue
			}
			if b.p.binding {
				return b.claim(unknownName(a.parameter))
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
				return b.claim(withoutArgument(one.shown, typeName(castOf(*one, "object"))))
			}
			i++
			value = args[i].parameterValue(*one)
		default:
			value = a.parameterValue(*one)
		}
		if b.given[one.name] {
			return b.claim(boundTwice(one.shown))
		}
		if err := b.bindValue(*one, value); err != nil {
			return err
		}
	}
	if err := b.positional(rest); err != nil {
		return err
	}
	if err := b.presets(args); err != nil {
		return err
	}
	return b.settle()
}

// presets binds the values of $PSDefaultParameterValues for an advanced function, if the caller does not give these parameters.
func (b *binder) presets(args []argumentValue) error {
	if !b.p.binding || b.f.name == "" {
		return nil
	}
	find := func(name string) string {
		if one, _ := b.find(name); one != nil {
			return one.name
		}
		return ""
	}
	for _, a := range b.r.defaults(b.f.shownName(), find, args) {
		one, err := b.find(a.parameter)
		switch {
		case err != nil || one != nil && b.given[one.name]:
		case one != nil:
			err = b.bindValue(*one, a.value)
		case b.p.should || !strings.Contains("whatif confirm", commonName(a.parameter)):
			err = b.common.set(b.r, b.f.shownName(), commonName(a.parameter), a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parameterValue returns the value of an argument for a parameter. For a parameter that is a text, a number
// keeps the script's spelling.
func (a argumentValue) parameterValue(one parameter) any {
	if kind := castOf(one, ""); a.bare && a.text != "" && (kind == "string" || kind == "string[]") && isRight(a.value) && !isList(a.value) {
		if _, isBool := a.value.(bool); !isBool {
			return a.text
		}
	}
	return a.value
}

// narrow removes the possible sets that a parameter is not in.
func (b *binder) narrow(one parameter) {
	b.sets = slices.DeleteFunc(slices.Clone(b.sets), func(set string) bool { _, ok := one.inSet(set); return !ok })
}

// bindValue converts and validates a value, and binds it to a parameter.
func (b *binder) bindValue(one parameter, value any) error {
	if castOf(one, "") == "string" && !b.p.binding && isList(value) { // only advanced functions refuse a list for a text
		value = text(value)
	}
	v, err := b.r.converted(one, value)
	if f := failed(err); f != nil {
		return b.conversionFailure(one, f)
	} else if err != nil {
		return err
	}
	if err := b.validate(one, value, v); err != nil {
		return err
	}
	b.given[one.name] = true
	b.narrow(one)
	b.bound.set(one.shown, v)
	b.to.vars[one.name] = &cell{value: v, kind: castOf(one, ""), checks: one.validators}
	return nil
}

// conversionFailure returns the failure of a value that cannot be converted to a parameter's type.
func (b *binder) conversionFailure(one parameter, f *failure) error {
	return b.claim(broken("ParameterBindingArgumentTransformationException", "ParameterArgumentTransformationError",
		"Cannot process argument transformation on parameter '%s'. %s", one.shown, f.exception.message))
}

// positionalParameters returns the parameters that take arguments without a name, by position.
func (b *binder) positionalParameters() []parameter {
	set := b.sets[0]
	if slices.ContainsFunc(b.sets, func(n string) bool { return strings.EqualFold(n, b.p.defaultSet) }) {
		set = b.p.defaultSet
	}
	explicit := false
	for _, one := range b.p.list {
		explicit = explicit || one.inAnySet(func(s parameterSet) bool { return s.position >= 0 })
	}
	type placed struct {
		at  int
		one parameter
	}
	var out []placed
	for i, one := range b.p.list {
		s, ok := one.inSet(set)
		for _, other := range b.sets { // the parameter may be in another set that is still possible
			if !ok {
				s, ok = one.inSet(other)
			}
		}
		switch {
		case !ok || isSwitch(one):
		case s.position >= 0:
			out = append(out, placed{s.position, one})
		case s.remains:
			out = append(out, placed{1 << 20, one})
		case !explicit && !b.p.unplaced:
			out = append(out, placed{i + 1000, one})
		}
	}
	slices.SortStableFunc(out, func(x, y placed) int { return x.at - y.at })
	list := make([]parameter, len(out))
	for i, p := range out {
		list[i] = p.one
	}
	return list
}

// positional binds arguments without a name to the parameters that take them.
func (b *binder) positional(rest []argumentValue) error {
	if len(b.sets) == 0 {
		return b.ambiguous()
	}
	for _, one := range b.positionalParameters() {
		if len(rest) == 0 {
			break
		}
		if b.given[one.name] || !slices.ContainsFunc(b.sets, func(n string) bool { _, ok := one.inSet(n); return ok }) {
			continue
		}
		if one.inAnySet(func(s parameterSet) bool { return s.remains }) {
			for i := range rest {
				rest[i].value = rest[i].parameterValue(one)
			}
			if err := b.bindValue(one, newArray(argsValues(rest)...)); err != nil {
				return err
			}
			rest = nil
			continue
		}
		if rest[0].parameter != "" {
			break
		}
		value := rest[0].parameterValue(one)
		rest = rest[1:]
		if err := b.bindValue(one, value); err != nil {
			return err
		}
	}
	if len(rest) > 0 && b.p.binding {
		return b.claim(noPosition(argsValues(rest)[0]))
	}
	if !b.p.binding {
		b.to.vars["args"] = &cell{value: newArray(argsValues(rest)...)}
	}
	b.to.vars["psboundparameters"] = &cell{value: b.bound}
	return nil
}

func (b *binder) ambiguous() error {
	return b.claim(broken("ParameterBindingException", "AmbiguousParameterSet",
		"Parameter set cannot be resolved using the specified named parameters."))
}

// missingMandatory returns the mandatory parameters of a set that have no value and that the pipeline cannot fill.
func (b *binder) missingMandatory(set string) (missing []string) {
	for _, one := range b.p.list {
		s, ok := one.inSet(set)
		if ok && s.mandatory && !b.given[one.name] && !b.took[one.name] && !(b.piped && b.took == nil && (s.pipeline || s.property)) {
			missing = append(missing, one.shown)
		}
	}
	return missing
}

// chooseSet chooses the parameter set: the only set without missing parameters, else the default set, else the
// first possible set. It reports false if the last choice was ambiguous.
func (b *binder) chooseSet() bool {
	whole := slices.DeleteFunc(slices.Clone(b.sets), func(n string) bool { return len(b.missingMandatory(n)) > 0 })
	switch {
	case len(whole) == 1:
		b.set = whole[0]
	case slices.ContainsFunc(b.sets, func(n string) bool { return strings.EqualFold(n, b.p.defaultSet) }):
		b.set = b.p.defaultSet
	default:
		b.set = b.sets[0]
		return len(b.sets) == 1
	}
	return true
}

// settle chooses the parameter set, and gives the parameters without an argument their default values.
func (b *binder) settle() error {
	if len(b.sets) == 0 || !b.chooseSet() && !b.piped {
		return b.ambiguous()
	}
	b.open = b.sets
	if missing := b.missingMandatory(b.set); len(missing) > 0 {
		return b.claim(lackingMandatory(strings.Join(missing, " ")))
	}
	outer := b.r.scope
	b.r.scope = b.to
	defer func() { b.r.scope = outer }()
	b.common.enter(b.to)
	for _, one := range b.p.list {
		if b.given[one.name] {
			continue
		}
		v := zero(one)
		if one.initial != nil {
			given, err := b.r.eval(one.initial)
			if err != nil {
				return err
			}
			if v, err = b.r.converted(one, given); err != nil {
				return err
			}
		}
		b.to.vars[one.name] = &cell{value: v, kind: castOf(one, ""), checks: one.validators}
	}
	if b.p.binding {
		b.to.vars["pscmdlet"] = &cell{value: b.cmdlet()}
	}
	return nil
}

// bindItem binds a pipeline item to the parameters that take pipeline input: first the item or its properties
// without a conversion, then the same with a conversion.
func (b *binder) bindItem(v any) error {
	took := map[string]bool{}
	b.took, b.sets = took, b.open
	for _, one := range b.p.list {
		if before, filled := b.unfilled[one.name]; filled && !b.given[one.name] { // the next item does not keep the values of the previous one
			b.to.vars[one.name] = before.copy()
			b.bound.remove(one.shown)
		}
	}
	for _, how := range []struct{ converted, property bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
		for _, one := range b.p.list {
			s, inSet := b.currentSet(one)
			if b.given[one.name] || took[one.name] || !inSet || how.property && !s.property || !how.property && !s.pipeline {
				continue
			}
			value := v
			if how.property {
				var ok bool
				if value, ok = b.property(v, one); !ok {
					continue
				}
			}
			if !how.converted && !one.fits(value) {
				continue
			}
			converted, err := b.r.converted(one, value)
			if failed(err) != nil && !how.property {
				continue
			} else if failed(err) != nil {
				return b.conversionFailure(one, failed(err))
			} else if err != nil {
				return err
			}
			if err := b.validate(one, value, converted); err != nil {
				return err
			}
			took[one.name] = true
			b.narrow(one)
			if _, filled := b.unfilled[one.name]; !filled {
				b.unfilled[one.name] = b.to.vars[one.name].copy()
			}
			b.bound.set(one.shown, converted)
			b.to.vars[one.name] = &cell{value: converted, kind: castOf(one, ""), checks: one.validators}
		}
	}
	b.chooseSet()
	if o, ok := b.to.vars["pscmdlet"].valueOr().(*object); ok {
		o.set("ParameterSetName", b.set)
	}
	missing := b.missingMandatory(b.set)
	switch {
	case len(took) == 0 && b.p.binding:
		return b.claim(unbound(v))
	case len(missing) > 0 && len(b.sets) == 1:
		return b.claim(unboundFor(v, "InputObjectMissingMandatory", "The input object cannot be bound because it did not contain the "+
			"information required to bind all mandatory parameters:  "+strings.Join(missing, " ")))
	}
	return nil
}

// currentSet returns the properties of a parameter in the chosen set, or in another set that is still possible.
func (b *binder) currentSet(one parameter) (s parameterSet, ok bool) {
	if slices.Contains(b.sets, b.set) {
		s, ok = one.inSet(b.set)
	}
	for _, other := range b.sets {
		if !ok {
			s, ok = one.inSet(other)
		}
	}
	return s, ok
}

// property returns the property of a value that is named like a parameter or one of its aliases.
func (b *binder) property(v any, one parameter) (value any, has bool) {
	for _, name := range append([]string{one.name}, one.aliases...) {
		if !has {
			value, has = b.r.ownProperty(v, name)
		}
	}
	return value, has
}

// fits reports whether a parameter takes a value without a conversion.
func (one parameter) fits(v any) bool {
	kind := castOf(one, "object")
	item, isArray := strings.CutSuffix(kind, "[]")
	return kind == "object" || kind == "psobject" || isType(v, kind) || isArray && (item == "object" || isType(v, item))
}

// copy returns a new cell with the same value, type and validators.
func (c *cell) copy() *cell {
	if c == nil {
		return &cell{}
	}
	return &cell{value: c.value, kind: c.kind, checks: c.checks}
}

func isCustom(v any) bool { o, ok := v.(*object); return ok && o.kind == customKind }

// unbound returns the failure of a pipeline item that no parameter takes.
func unbound(v any) *failure {
	return unboundFor(v, "InputObjectNotBound", "The input object cannot be bound to any parameters "+
		"for the command either because the command does not take pipeline input or the input and its properties do not "+
		"match any of the parameters that take pipeline input.")
}

// unboundFor returns the failure of a pipeline item that cannot be bound, with an id and a message.
func unboundFor(v any, id, message string) *failure {
	f := broken("ParameterBindingException", id, "%s", message)
	f.category, f.target = "InvalidArgument", v
	return f
}

// ownProperty returns a property that a value has itself, and not one that PowerShell adds to all values.
func (r *run) ownProperty(v any, name string) (any, bool) {
	switch o := v.(type) {
	case *object:
		return o.get(name)
	case nil, *hashtable:
		return nil, false
	}
	if strings.EqualFold(name, "length") {
		if s, ok := v.(string); ok {
			return int64(len([]rune(s))), true
		}
	}
	return nil, false
}

// withCommand sets the command that reports a failure, and returns the failure.
func withCommand(command string, f *failure) error {
	f.command = command
	return f
}

// converted returns a value converted to the types of a parameter, the last type first.
func (r *run) converted(one parameter, v any) (any, error) {
	for i := len(one.kinds) - 1; i >= 0; i-- {
		kind := one.kinds[i]
		var err error
		switch kind {
		case "bool", "boolean":
			switch v.(type) {
			case string, nil, *array, *hashtable, *object:
				shown := text(v)
				if _, isText := v.(string); isText {
					shown = kindOf(v)
				}
				return nil, castFailure("", "Cannot convert value \"%s\" to type \"System.Boolean\". Boolean parameters accept only "+
					"Boolean values and numbers, such as $True, $False, 1 or 0.", shown)
			}
		case "string":
			if isList(v) && v != nil {
				return nil, castFailure("", "Cannot convert value to type System.String.")
			}
		}
		if v == nil && kind != "string" && !isValueType(kind) && kind != "switch" {
			continue
		}
		if v, err = r.convert(kind, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func isValueType(kind string) bool {
	_, whole := ranges[kind]
	return whole || kind == "long" || kind == "int64" || kind == "double" || kind == "char" || kind == "datetime" || kind == "timespan"
}

// validate checks a parameter's value against the parameter's attributes. given is the value before its conversion to v.
func (b *binder) validate(one parameter, given, v any) error {
	for _, check := range one.validators {
		why, err := b.r.check(check, v)
		if err != nil {
			return err
		}
		if why != "" {
			return b.claim(invalid(one.shown, "%s", why))
		}
	}
	if !one.inAnySet(func(s parameterSet) bool { return s.mandatory }) {
		return nil
	}
	kind := castOf(one, "")
	a, isArray := v.(*array)
	item, many := strings.CutSuffix(kind, "[]")
	switch {
	case many && !one.null && !isValueType(item) && isList(given) && slices.Contains(list(given), nil):
		return b.claim(emptyArgument(one.shown, nil))
	case v == nil && !one.null, v == "" && !one.emptyText && kind != "", isArray && len(a.items) == 0 && !one.emptyList && kind != "":
		return b.claim(emptyArgument(one.shown, v))
	case isArray && !one.emptyText && slices.Contains(a.items, any("")):
		return b.claim(emptyArgument(one.shown, ""))
	}
	return nil
}

// check returns why a value does not pass a validator, or "".
func (r *run) check(by validator, v any) (string, error) {
	args := make([]any, len(by.args))
	for i, n := range by.args {
		var err error
		if args[i], err = r.eval(n); err != nil {
			return "", err
		}
	}
	switch by.name {
	case "validatenotnullorempty", "validatenotnull":
		a, isArray := v.(*array)
		if v == nil || by.name == "validatenotnullorempty" && (v == "" || isArray && (len(a.items) == 0 || slices.Contains(a.items, any("")))) {
			if by.name == "validatenotnull" {
				return argumentNull, nil
			}
			return argumentEmpty, nil
		}
		return "", nil
	case "validatecount":
		if n := len(list(v)); len(args) == 2 {
			low, _ := float(args[0])
			high, _ := float(args[1])
			if float64(n) < low {
				return fmt.Sprintf("The parameter requires at least %s value(s) and no more than %s value(s) - %d value(s) were provided.",
					text(args[0]), text(args[1]), n), nil
			} else if float64(n) > high {
				return fmt.Sprintf("The number of provided arguments, (%d), exceeds the maximum number of allowed arguments (%s). "+
					"Provide fewer than %s arguments, and then try the command again.", n, text(args[1]), text(args[1])), nil
			}
		}
		return "", nil
	}
	items := []any{v}
	if a, ok := v.(*array); ok {
		items = a.items
	}
	for _, item := range items {
		if why, err := r.checkItem(by, args, item); why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}

// checkItem returns why a single value does not pass a validator, or "".
func (r *run) checkItem(by validator, args []any, v any) (string, error) {
	switch by.name {
	case "validateset":
		var allowed []string
		for _, want := range args {
			if equal(text(want), text(v), false) {
				return "", nil
			}
			allowed = append(allowed, text(want))
		}
		return fmt.Sprintf("The argument \"%s\" does not belong to the set \"%s\" specified by the ValidateSet attribute. "+
			"Supply an argument that is in the set and then try the command again.", text(v), strings.Join(allowed, ",")), nil
	case "validatepattern":
		re, err := pattern(text(firstOf(args)), false)
		if err != nil {
			return "", err
		}
		if yes, err := re.MatchString(text(v)); err != nil || !yes {
			return fmt.Sprintf("The argument \"%s\" does not match the \"%s\" pattern. Supply an argument that matches \"%s\" and "+
				"try the command again.", text(v), text(firstOf(args)), text(firstOf(args))), searchLimit(err)
		}
	case "validaterange":
		if len(args) != 2 {
			return "", lacking("[ValidateRange()] of a kind")
		}
		low, err := r.order(v, args[0], true)
		if err != nil {
			return "", err
		}
		high, err := r.order(v, args[1], true)
		switch {
		case err != nil:
			return "", err
		case low < 0:
			return fmt.Sprintf("The %s argument is less than the minimum allowed range of %s. Supply an argument that is greater than or "+
				"equal to %s "+
				"and then try the command again.", text(v), text(args[0]), text(args[0])), nil
		case high > 0:
			return fmt.Sprintf("The %s argument is greater than the maximum allowed range of %s. Supply an argument that is less than or "+
				"equal to %s "+
				"and then try the command again.", text(v), text(args[1]), text(args[1])), nil
		}
	case "validatelength":
		n := float64(len([]rune(text(v))))
		low, _ := float(firstOf(args))
		high, _ := float(args[len(args)-1])
		if n < low {
			return fmt.Sprintf("The character length (%v) of the argument is too short. Specify an argument with a length that is greater than or "+
				"equal to \"%s\", and then try the command again.", n, text(args[0])), nil
		} else if n > high {
			return fmt.Sprintf("The character length of the %v argument is too long. Shorten the character length of the argument so it is fewer "+
				"than or equal to \"%s\" characters, and then try the command again.", n, text(args[1])), nil
		}
	case "validatescript":
		f, ok := firstOf(args).(function)
		if !ok {
			return "", lacking("[ValidateScript()] without a script block")
		}
		yes, err := r.apply(f, v)
		if e := failed(err); e != nil {
			return e.exception.message, nil
		}
		if err == nil && !truth(yes) {
			return fmt.Sprintf("The \"%s\" validation script for the argument with value \"%s\" did not return a result of True. Determine why the "+
				"validation script failed, and then try the command again.", f.text, text(v)), nil
		}
		return "", err
	}
	return "", nil
}

// cmdlet returns $PSCmdlet of an advanced function.
func (b *binder) cmdlet() *object {
	return system(kindCmdlet, nil, "ParameterSetName", b.set, "MyInvocation", b.to.vars["myinvocation"].valueOr(), "name", b.f.shownName(),
		"should", b.p.should, "impact", b.p.impact)
}

// valueOr returns the value of a cell, or nil for a nil cell.
func (c *cell) valueOr() any {
	if c == nil {
		return nil
	}
	return c.value
}

const kindBound = "System.Management.Automation.PSBoundParametersDictionary"

const kindCmdlet = "System.Management.Automation.PSScriptCmdlet"

// cmdletCall runs a method of $PSCmdlet.
func (r *run) cmdletCall(o *object, name, low string, args []any) (any, error) {
	own, _ := o.get("name")
	switch low {
	case "shouldprocess":
		action := text(own)
		if len(args) > 1 {
			action = at(args, 1)
		}
		message := "Performing the operation \"" + action + "\" on target \"" + at(args, 0) + "\"."
		if len(args) == 3 { // the message, the question of a confirmation, and its caption
			message = at(args, 0)
		} else if len(args) > 3 {
			return nil, lacking("ShouldProcess with these arguments")
		}
		impact, _ := o.read("impact").(int)
		return r.asked(message, impact)
	case "shouldcontinue":
		return nil, lacking("ShouldContinue, which asks on a console")
	case "writeverbose", "writewarning", "writedebug":
		n := map[string]int{"writewarning": 3, "writeverbose": 4, "writedebug": 5}[low]
		return void{}, r.note(n, at(args, 0), "")
	case "writeobject":
		return firstOf(args), nil
	case "writeerror", "throwterminatingerror":
		f, ok := firstOf(args).(*failure)
		if !ok {
			return nil, lacking("%s of %s", name, kindOf(firstOf(args)))
		}
		if n := len(r.frames); n > 0 && f.line == 0 { // the error's position is that of the function's call
			inner := r.site
			r.source, r.file = r.frames[n-1].source, r.frames[n-1].file
			r.located(f, position(r.frames[n-1].where)) // only the fields of f change; the returned error is f
			r.site = inner
		}
		f.command = text(own)
		if !strings.Contains(f.id, ",") {
			f.id += "," + text(own)
		}
		if low == "throwterminatingerror" {
			f.leaves = true
			return nil, f
		}
		r.scope.wroteError = true
		return void{}, r.report(f, r.preference("erroractionpreference"))
	case "getunresolvedproviderpathfrompspath":
		return r.path(at(args, 0)), nil
	}
	return nil, lacking("$PSCmdlet.%s()", name)
}
