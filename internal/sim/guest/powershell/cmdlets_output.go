package powershell

import "strings"

var outputCmdlets = []cmdlet{
	{name: "Write-Output", parameters: "InputObject:0* NoEnumerate?", run: writeOutput,
		each: func(c *call, v any) error { return c.emit(v) }},
	{name: "Write-Host", parameters: "Object:0* NoNewline? Separator ForegroundColor~ BackgroundColor~",
		run: writeHost, each: func(c *call, v any) error { c.given["object"] = v; return writeHostLine(c) }},
	{name: "Write-Information", parameters: "MessageData|Msg:0 Tags:1~", run: writeInformation},
	{name: "Write-Warning", parameters: "Message|Msg:0", run: writeStream("warningpreference", 3)},
	{name: "Write-Verbose", parameters: "Message|Msg:0", run: writeStream("verbosepreference", 4)},
	{name: "Write-Debug", parameters: "Message|Msg:0", run: writeStream("debugpreference", 5)},
	{name: "Write-Progress", parameters: "Activity:0~ Status:1~ Id:2~ PercentComplete~ SecondsRemaining~ CurrentOperation~ ParentId~ " +
		"Completed?~ SourceId~", run: func(*call) error { return nil }},
	{name: "Write-Error", parameters: "Message|Msg:0 Exception ErrorRecord Category CategoryActivity~ " +
		"CategoryReason~ ErrorId TargetObject RecommendedAction~", run: writeError},
	{name: "Out-Null", parameters: "InputObject:0", each: func(*call, any) error { return nil }},
	{name: "Out-Host", parameters: "Paging?", each: showEach, run: showEnd, start: showStart},
	{name: "Out-Default", parameters: "", each: showEach, run: showEnd, start: showStart},
	{name: "Out-String", parameters: "Width~ Stream? InputObject", run: outString},
	{name: "Out-File",
		parameters: "FilePath|Path:0 Encoding:1 Append? Force?~ NoNewline? NoClobber? Width~ InputObject LiteralPath",
		run:        outFile},
	{name: "Tee-Object", parameters: "FilePath|Path:0 Append? Variable LiteralPath", run: teeObject},
	{name: "Format-Table",
		parameters: "Property:0 AutoSize?~ Wrap?~ HideTableHeaders? GroupBy Expand~ InputObject Force?~",
		run:        formatTable},
	{name: "Format-List", parameters: "Property:0 Force?~ InputObject Expand~ GroupBy", run: formatList},
	{name: "Format-Wide", parameters: "Property:0 AutoSize?~ Column~", run: func(*call) error { return lacking("Format-Wide") }},
}

// objects returns the objects of the pipeline, or the values of a parameter if it is set.
func (c *call) objects(name string) []any {
	if !c.piped && c.has(name) {
		return list(c.given[name])
	}
	return c.input
}

func writeOutput(c *call) error {
	if c.piped && !c.has("inputobject") {
		return nil
	}
	if c.is("noenumerate") {
		return c.emit(c.given["inputobject"])
	}
	return each(c.given["inputobject"], c.emit)
}

func writeHost(c *call) error {
	if c.piped {
		return nil
	}
	return writeHostLine(c)
}

func writeHostLine(c *call) error {
	separator := " "
	if c.has("separator") {
		separator = c.textOf("separator")
	}
	var parts []string
	for _, v := range list(c.given["object"]) {
		if inner, ok := v.(*array); ok {
			for _, one := range inner.items {
				parts = append(parts, text(one))
			}
			continue
		}
		s, err := c.text(v)
		if err != nil {
			return err
		}
		parts = append(parts, s)
	}
	message := strings.Join(parts, separator)
	line := message
	if !c.is("nonewline") {
		line += "\r\n"
	}
	if err := c.take(len(line)); err != nil {
		return err
	}
	c.keepOwn(6, message)
	data := system("System.Management.Automation.HostInformationMessage", nil, "Message", message, "NoNewLine", c.is("nonewline"), "text", message)
	return c.inform(data, c.wanted("informationpreference") != "ignore", line)
}

func writeInformation(c *call) error {
	data := c.given["messagedata"]
	action := c.wanted("informationpreference")
	if action == "stop" {
		return broken("ActionPreferenceStopException", "ActionPreferenceStop", "The running command stopped because the preference "+
			"variable \"InformationPreference\" or common parameter is set to Stop: %s", text(data))
	}
	if action == "ignore" {
		return nil
	}
	c.keepOwn(6, data)
	return c.inform(data, action == "continue", text(data)+"\r\n")
}

// wanted is the action of a preference, or of the common parameter for it.
func (c *call) wanted(preference string) string {
	if v, ok := c.common.preferences[preference]; ok {
		return strings.ToLower(text(v))
	}
	return c.preference(preference)
}

// keepOwn puts a record into the cmdlet's own variable of a common parameter.
func (c *call) keepOwn(stream int, v any) {
	if a := c.common.kept[stream]; a != nil {
		a.items = append(a.items, v)
	}
}

func writeStream(preference string, stream int) func(*call) error {
	return func(c *call) error {
		messages := c.input
		if c.has("message") {
			messages = append(messages, c.given["message"])
		}
		for _, v := range messages {
			action := c.wanted(preference)
			if own, ok := c.common.preferences["verbosepreference"]; ok && stream == 4 {
				action = strings.ToLower(text(own))
			}
			message := text(v)
			if action != "silentlycontinue" && action != "ignore" {
				c.keepOwn(stream, system(streamKinds[stream].kind, nil, "Message", message, "text", message))
			}
			if err := c.note(stream, message, action); err != nil {
				return err
			}
		}
		return nil
	}
}

// warn writes a warning of a cmdlet's own.
func (c *call) warn(message string) error { return c.note(3, message, c.wanted("warningpreference")) }

// writeError is Write-Error: a message, an exception or a record becomes an error of the caller.
func writeError(c *call) error {
	messages := c.input
	if c.has("message") {
		messages = append(messages, c.given["message"])
	}
	caller := c.invoked()
	if f, ok := c.given["errorrecord"].(*failure); ok {
		copied := *f
		copied.quiet, copied.ends, copied.whole = false, false, true
		copied.command = "Write-Error"
		if !strings.Contains(copied.id, ",") {
			copied.id += "," + caller
		}
		return c.fault(&copied)
	}
	if len(messages) == 0 && c.has("exception") {
		messages = []any{nil}
	}
	for _, v := range messages {
		f := broken("Microsoft.PowerShell.Commands.WriteErrorException", "Microsoft.PowerShell.Commands.WriteErrorException", "%s", text(v))
		switch e := c.given["exception"].(type) {
		case exception:
			f.exception, f.id = e, e.kind
			if v != nil {
				f.details = text(v)
			}
		case nil:
			if old, ok := v.(*failure); ok {
				f = old
			}
		default:
			return lacking("-Exception of Write-Error with %s", kindOf(e))
		}
		if c.has("errorid") {
			f.id = c.textOf("errorid")
		}
		if c.has("category") {
			m, err := toEnumeration("management.automation.errorcategory", c.given["category"])
			if err != nil {
				return err
			}
			f.category = text(m)
		}
		f.command, f.target, f.whole = "Write-Error", c.given["targetobject"], true
		if caller != "" && !strings.Contains(f.id, ",") {
			f.id += "," + caller
		}
		f.invoked = caller
		if err := c.fault(f); err != nil {
			return err
		}
	}
	return nil
}

// invoked returns the function or the script that Write-Error speaks for.
func (c *call) invoked() string {
	if v := c.find("myinvocation").valueOr(); v != nil {
		if o, ok := v.(*object); ok {
			command, _ := o.get("MyCommand")
			if o, ok := command.(*object); ok {
				name, _ := o.get("Name")
				return text(name)
			}
		}
	}
	return base(c.file)
}

func showStart(c *call) error { c.state = &printer{r: c.run}; return nil }

func showEach(c *call, v any) error {
	p, _ := c.state.(*printer)
	return p.put(v)
}

func showEnd(c *call) error {
	if p, ok := c.state.(*printer); ok {
		p.flush()
	}
	return nil
}

// printed is how objects are shown, as text.
func (r *run) printedText(values []any) (string, error) {
	var b strings.Builder
	p := &printer{r: r, to: &b}
	for _, v := range values {
		if err := p.put(v); err != nil {
			return "", err
		}
		if b.Len() > maxValue {
			return "", r.take(b.Len())
		}
	}
	p.flush()
	return b.String(), r.take(b.Len())
}

func outString(c *call) error {
	s, err := c.printedText(c.objects("inputobject"))
	if err != nil {
		return err
	}
	if c.is("stream") {
		return each(newArray(lines(s)...), c.emit)
	}
	return c.emit(s)
}

func outFile(c *call) error {
	name := c.textOf("filepath")
	if name == "" {
		name = c.textOf("literalpath")
	}
	if name == "" {
		return c.need("filepath")
	}
	if c.is("noclobber") && !c.is("append") && c.m.Root.Exists(c.path(name)) {
		return c.fault(broken("System.IO.IOException", "NoClobber,Microsoft.PowerShell.Commands.OutFileCommand",
			"The file '%s' already exists.", c.path(name)))
	}
	s, err := c.printedText(c.objects("inputobject"))
	if err != nil {
		return err
	}
	if c.is("nonewline") {
		s = strings.ReplaceAll(s, "\r\n", "")
	}
	encoding, err := encodingOf(c.given["encoding"], "unicode")
	if err != nil {
		return err
	}
	return c.writeFile(name, encode(s, encoding, !c.is("append") || c.isEmpty(name)), c.is("append"))
}

func teeObject(c *call) error {
	if c.has("variable") {
		if err := c.set(strings.ToLower(c.textOf("variable")), single(c.input)); err != nil {
			return err
		}
		return each(newArray(c.input...), c.emit)
	}
	s, err := c.printedText(c.input)
	if err != nil {
		return err
	}
	name := c.textOf("filepath") + c.textOf("literalpath")
	if name == "" {
		return c.need("filepath")
	}
	if err := c.writeFile(name, encode(s, "unicode", !c.is("append") || c.isEmpty(name)), c.is("append")); err != nil {
		return err
	}
	return each(newArray(c.input...), c.emit)
}

// formatted passes lines on that no cmdlet changes any more.
func (c *call) formatted(s string) error {
	return c.emit(system(kindFormatted, nil, "text", s))
}

func formatTable(c *call) error {
	if c.has("groupby") {
		return lacking("-GroupBy of Format-Table")
	}
	rows, names, err := c.chosen(c.objects("inputobject"))
	if err != nil || len(rows) == 0 {
		return err
	}
	if rows == nil {
		return nil
	}
	return c.formatted(asTable(rows, names, !c.is("hidetableheaders")))
}

func formatList(c *call) error {
	if c.has("groupby") {
		return lacking("-GroupBy of Format-List")
	}
	rows, names, err := c.chosen(c.objects("inputobject"))
	if err != nil || len(rows) == 0 {
		return err
	}
	return c.formatted(asList(rows, names))
}

// chosen returns the rows and the names of columns of a format.
func (c *call) chosen(values []any) ([]*object, []string, error) {
	var rows []*object
	for _, v := range values {
		if !c.has("property") {
			o, ok := v.(*object)
			if !ok {
				s, err := c.printedText([]any{v})
				if err != nil {
					return nil, nil, err
				}
				if err := c.formatted(s); err != nil {
					return nil, nil, err
				}
				continue
			}
			if o.closed && o.shown == nil {
				return nil, nil, lacking("the display of %s; choose properties", o.kind)
			}
			rows = append(rows, o)
			continue
		}
		o, err := c.pick(v, list(c.given["property"]))
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, o)
	}
	if len(rows) == 0 {
		return nil, nil, nil
	}
	names := rows[0].shown
	if names == nil {
		for _, f := range rows[0].fields {
			names = append(names, f.name)
		}
	}
	return rows, names, nil
}

// pick makes an object of some properties: names, patterns, or computed ones.
func (r *run) pick(v any, names []any) (*object, error) {
	out := custom()
	for _, n := range names {
		if h, ok := n.(*hashtable); ok {
			name, value, err := r.computed(h, v)
			if err != nil {
				return nil, err
			}
			out.fields = append(out.fields, field{name, value})
			continue
		}
		if f, ok := n.(function); ok {
			value, err := r.apply(f, v)
			if err != nil {
				return nil, err
			}
			out.fields = append(out.fields, field{strings.TrimSpace(f.text), value})
			continue
		}
		name := text(n)
		o, isObject := v.(*object)
		if isObject && strings.ContainsAny(name, "*?") {
			for _, f := range o.fields {
				if yes, err := like(f.name, name, false); err != nil {
					return nil, err
				} else if yes {
					out.fields = append(out.fields, f)
				}
			}
			continue
		}
		value, err := r.property(v, name)
		if err != nil {
			return nil, err
		}
		if isObject {
			for _, f := range o.fields {
				if strings.EqualFold(f.name, name) {
					name = f.name
				}
			}
		}
		out.fields = append(out.fields, field{name, value})
	}
	return out, r.take(32 * len(out.fields))
}

// computed is @{Name=...; Expression={...}}.
func (r *run) computed(h *hashtable, v any) (string, any, error) {
	name, expression := "", any(nil)
	for _, k := range h.keys {
		value, _ := h.get(k)
		switch low := strings.ToLower(text(k)); {
		case strings.HasPrefix("name", low), strings.HasPrefix("label", low):
			name = text(value)
		case strings.HasPrefix("expression", low):
			expression = value
		case low == "width" || low == "align" || low == "alignment" || low == "formatstring":
		default:
			return "", nil, lacking("the key %s of a computed property", low)
		}
	}
	if f, ok := expression.(function); ok {
		value, err := r.apply(f, v)
		if name == "" {
			name = strings.TrimSpace(f.text)
		}
		return name, value, err
	}
	value, err := r.property(v, text(expression))
	if name == "" {
		name = text(expression)
	}
	return name, value, err
}

// apply returns the output of a script block for one item.
func (r *run) apply(f function, v any) (any, error) {
	items, err := r.gather(func(out sink) error { return r.item1(f, v, out) })
	return plain(single(items)), err
}
