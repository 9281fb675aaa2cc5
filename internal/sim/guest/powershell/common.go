package powershell

import (
	"slices"
	"strings"
)

// commonShown are the parameters of every cmdlet and advanced function (about_CommonParameters) in the case of
// $PSBoundParameters, by name in lower case; commonAliases are their aliases.
var (
	commonShown = map[string]string{
		"erroraction": "ErrorAction", "errorvariable": "ErrorVariable", "warningaction": "WarningAction",
		"warningvariable": "WarningVariable", "informationaction": "InformationAction", "informationvariable": "InformationVariable",
		"outvariable": "OutVariable", "outbuffer": "OutBuffer", "pipelinevariable": "PipelineVariable", "verbose": "Verbose",
		"debug": "Debug", "whatif": "WhatIf", "confirm": "Confirm",
	}
	commonAliases = map[string]string{
		"ea": "erroraction", "ev": "errorvariable", "wa": "warningaction", "wv": "warningvariable", "infa": "informationaction",
		"iv": "informationvariable", "ov": "outvariable", "ob": "outbuffer", "pv": "pipelinevariable", "vb": "verbose", "db": "debug",
		"wi": "whatif", "cf": "confirm",
	}
)

// commonName returns the common parameter with a name, an alias or an unambiguous prefix, or "".
func commonName(name string) string {
	low := strings.ToLower(name)
	if kind, ok := commonAliases[low]; ok {
		return kind
	}
	found := ""
	for kind := range commonShown {
		switch {
		case kind == low:
			return kind
		case strings.HasPrefix(kind, low) && found != "":
			return ""
		case strings.HasPrefix(kind, low):
			found = kind
		}
	}
	return found
}

func commonSwitch(kind string) bool {
	return kind == "verbose" || kind == "debug" || kind == "whatif" || kind == "confirm"
}

// commonParameters are the common parameters of one call.
type commonParameters struct {
	// preferences are the preference variables that the parameters set for the call, by name.
	preferences map[string]any
	// kept are the lists of -ErrorVariable, -WarningVariable and -InformationVariable, by stream number.
	kept [7]*array
	// out is the list of -OutVariable.
	out *array
	// item is the cell of -PipelineVariable.
	item *cell
}

// take sets the common parameter kind, with which the arguments start. It returns its value and the number of
// arguments that it uses.
func (p *commonParameters) take(r *run, command, kind string, args []argumentValue) (value any, taken int, err error) {
	a, taken := args[0], 1
	switch {
	case a.has:
	case commonSwitch(kind):
		a.value, a.has = true, true
	case len(args) == 1 || args[1].parameter != "":
		return nil, 1, withoutArgument(a.parameter, map[bool]string{true: "System.String",
			false: "System.Management.Automation.ActionPreference"}[strings.HasSuffix(kind, "variable")])
	default:
		a.value, a.has, taken = args[1].value, true, 2
	}
	return a.value, taken, p.set(r, command, kind, a)
}

// set sets a common parameter. The variables that its value names are in the caller's scope.
func (p *commonParameters) set(r *run, command, kind string, a argumentValue) error {
	if p.preferences == nil {
		p.preferences = map[string]any{}
	}
	on := truth(a.value)
	switch kind {
	case "erroraction", "warningaction", "informationaction":
		action, err := toEnumeration("management.automation.actionpreference", a.value)
		if err != nil {
			return withCommand(command, unbindable(commonShown[kind], "%s", err))
		}
		p.preferences[map[string]string{"erroraction": "erroractionpreference", "warningaction": "warningpreference",
			"informationaction": "informationpreference"}[kind]] = text(action)
	case "verbose", "debug":
		value := "SilentlyContinue"
		if on {
			value = "Continue"
		}
		p.preferences[kind+"preference"] = value
	case "whatif":
		p.preferences["whatifpreference"] = on
	case "confirm":
		p.preferences["confirmpreference"] = map[bool]string{true: "Low", false: "None"}[on]
	case "errorvariable", "warningvariable", "informationvariable":
		p.kept[map[byte]int{'e': 2, 'w': 3, 'i': 6}[kind[0]]] = r.keptIn(a.value)
	case "outvariable":
		p.out = r.keptIn(a.value)
	case "pipelinevariable":
		p.item = &cell{}
		r.scope.vars[strings.ToLower(text(a.value))] = p.item
	case "outbuffer":
		return lacking("-OutBuffer")
	}
	return nil
}

// keptIn returns the list that a common parameter such as -ErrorVariable fills, and assigns it to the variable
// that v names. With + before the name, the list keeps the variable's old values.
func (r *run) keptIn(v any) *array {
	name, adding := strings.CutPrefix(strings.ToLower(text(v)), "+")
	if adding {
		if c := r.scope.vars[name]; c != nil {
			if a, ok := c.value.(*array); ok && a.kind == "System.Collections.ArrayList" {
				return a
			}
		}
	}
	a := newArray()
	a.kind = "System.Collections.ArrayList"
	if c := r.scope.vars[name]; c != nil && adding && c.value != nil {
		a.items = append(a.items, list(c.value)...)
	}
	r.scope.vars[name] = &cell{value: a}
	return a
}

// enter sets the preferences in the scope of a call.
func (p *commonParameters) enter(to *scope) {
	for name, value := range p.preferences {
		to.vars[name] = &cell{value: value}
	}
	to.kept = p.kept
}

// sink returns a sink that also sets -OutVariable and -PipelineVariable.
func (p *commonParameters) sink(out sink) sink {
	if p.out == nil && p.item == nil {
		return out
	}
	return func(v any) error {
		if p.out != nil {
			p.out.items = append(p.out.items, v)
		}
		if p.item != nil {
			p.item.value = v
		}
		return out(v)
	}
}

// keep appends a record of a stream to the lists of all calls that are in progress.
func (r *run) keep(stream int, v any) {
	seen := map[*array]bool{}
	for s := r.scope; s != nil; s = s.outer() {
		if a := s.kept[stream]; a != nil && !seen[a] && (stream != 2 || !slices.Contains(a.items, v)) {
			seen[a] = true
			a.items = append(a.items, v)
		}
	}
}

// report reports an error whose command continues, unless the action is stop.
func (r *run) report(f *failure, action string) error {
	if action == "stop" {
		return f.stop()
	}
	if action == "ignore" {
		return nil
	}
	r.keep(2, f)
	r.remember(f)
	if action == "silentlycontinue" {
		return nil
	}
	return r.show(f)
}

// streamKinds are the record types of the streams, with their preference variables and the prefixes that the console shows.
var streamKinds = map[int]struct{ kind, preference, mark string }{
	3: {"System.Management.Automation.WarningRecord", "WarningPreference", "WARNING: "},
	4: {"System.Management.Automation.VerboseRecord", "VerbosePreference", "VERBOSE: "},
	5: {"System.Management.Automation.DebugRecord", "DebugPreference", "DEBUG: "},
}

// note writes a warning, verbose or debug message.
func (r *run) note(stream int, message, action string) error {
	k := streamKinds[stream]
	if action == "" {
		action = r.preference(strings.ToLower(k.preference))
	}
	record := system(k.kind, nil, "Message", message, "text", message)
	switch action {
	case "silentlycontinue", "ignore":
		if stream == 3 && action != "ignore" {
			r.keep(stream, record)
		}
		return nil
	case "stop":
		if err := r.note(stream, message, "continue"); err != nil {
			return err
		}
		f := broken("ActionPreferenceStopException", "ActionPreferenceStop", "The running command stopped because the preference "+
			"variable \"%s\" or common parameter is set to Stop: %s", k.preference, message)
		return f.stop()
	}
	r.keep(stream, record)
	if to := r.redirected[stream]; to != nil {
		return to(record)
	}
	r.print(r.session.Stdout, k.mark+message+"\r\n")
	return r.ctx.Err()
}

// inform writes a record to the information stream. The console shows line if shown is set.
func (r *run) inform(data any, shown bool, line string) error {
	record := system("System.Management.Automation.InformationRecord", nil, "MessageData", data, "Source", r.file, "text", text(data))
	r.keep(6, record)
	if to := r.redirected[6]; to != nil {
		return to(record)
	}
	if shown {
		r.print(r.session.Stdout, line)
	}
	return r.ctx.Err()
}

// impacts are the levels of ConfirmImpact and $ConfirmPreference. A command asks for confirmation if its
// impact is at least the preference.
var impacts = map[string]int{"low": 1, "medium": 2, "high": 3}

// should reports whether a change is to be made. With -WhatIf it describes the change and returns false.
func (r *run) should(operation, target string) (bool, error) {
	return r.asked("Performing the operation \""+operation+"\" on target \""+target+"\".", impacts["medium"])
}

// asked is like should, with a message and an impact. A question of -Confirm is refused by name, because no one can answer it.
func (r *run) asked(message string, impact int) (bool, error) {
	if v, _ := r.lookup("whatifpreference"); truth(v) {
		r.print(r.session.Stdout, "What if: "+message+"\r\n")
		return false, r.ctx.Err()
	}
	if level := impacts[r.preference("confirmpreference")]; level > 0 && level <= impact {
		return false, lacking("a question for confirmation (-Confirm, or ConfirmImpact from $ConfirmPreference on)")
	}
	return true, r.note(4, message, "")
}

// should reports whether a cmdlet is to make a change. The cmdlet's common parameters apply.
func (c *call) should(operation, target string) (bool, error) {
	if len(c.common.preferences) == 0 {
		return c.run.should(operation, target)
	}
	outer := c.scope
	c.scope = newScope(outer)
	defer func() { c.scope = outer }()
	c.common.enter(c.scope)
	return c.run.should(operation, target)
}
