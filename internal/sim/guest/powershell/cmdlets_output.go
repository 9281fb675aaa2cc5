package powershell

import "strings"

var outputCmdlets = []cmdlet{
	{name: "Write-Output", parameters: "InputObject:0* NoEnumerate?", run: writeOutput,
		each: func(c *call, v any) error { return c.emit(v) }},
	{name: "Write-Host", parameters: "Object:0* NoNewline? Separator ForegroundColor~ BackgroundColor~",
		run: writeHost, each: func(c *call, v any) error { return c.host6(text(v) + "\r\n") }},
	{name: "Write-Information", parameters: "MessageData|Msg:0 Tags:1~", run: writeInformation},
	{name: "Write-Warning", parameters: "Message:0", run: writeStream("WARNING: ", "warningpreference", 3)},
	{name: "Write-Verbose", parameters: "Message:0", run: writeStream("VERBOSE: ", "verbosepreference", 4)},
	{name: "Write-Debug", parameters: "Message:0", run: writeStream("DEBUG: ", "debugpreference", 5)},
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

// host6 writes to the console, which is stream 6.
func (r *run) host6(s string) error {
	if to := r.redirected[6]; to != nil {
		return to(strings.TrimSuffix(s, "\r\n"))
	}
	r.print(r.session.Stdout, s)
	return r.ctx.Err()
}

func writeHost(c *call) error {
	if c.piped && !c.has("object") {
		return nil
	}
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
	line := strings.Join(parts, separator)
	if !c.is("nonewline") {
		line += "\r\n"
	}
	if err := c.take(len(line)); err != nil {
		return err
	}
	return c.host6(line)
}

func writeInformation(c *call) error {
	if to := c.redirected[6]; to != nil {
		return to(c.given["messagedata"])
	}
	if c.preference("informationpreference") == "continue" {
		return c.host6(c.textOf("messagedata") + "\r\n")
	}
	return nil
}

func writeStream(mark, preference string, stream int) func(*call) error {
	return func(c *call) error {
		for _, v := range append(c.input, list(c.given["message"])...) {
			action := c.preference(preference)
			if c.verbose == true && stream == 4 {
				action = "continue"
			}
			switch action {
			case "silentlycontinue", "ignore":
				continue
			case "stop":
				f := broken("ActionPreferenceStopException", "ActionPreferenceStop",
					"The running command stopped because the preference variable is set to Stop: %s", text(v))
				f.ends = true
				return f
			}
			if to := c.redirected[stream]; to != nil {
				if err := to(text(v)); err != nil {
					return err
				}
				continue
			}
			c.print(c.session.Stdout, mark+text(v)+"\r\n")
		}
		return nil
	}
}

// warn writes a warning of a cmdlet's own.
func (c *call) warn(message string) error {
	c.given["message"] = message
	c.input = nil
	return writeStream("WARNING: ", "warningpreference", 3)(c)
}

func writeError(c *call) error {
	messages := append(c.input, list(c.given["message"])...)
	if v, ok := c.given["exception"].(exception); ok {
		f := &failure{exception: v, id: v.kind, command: "Write-Error"}
		if len(messages) > 0 {
			f.exception.message = text(messages[0])
		}
		return c.fault(f)
	}
	if f, ok := c.given["errorrecord"].(*failure); ok {
		copied := *f
		copied.quiet = false
		return c.fault(&copied)
	}
	for _, v := range messages {
		if f, ok := v.(*failure); ok {
			copied := *f
			if err := c.fault(&copied); err != nil {
				return err
			}
			continue
		}
		f := broken("Microsoft.PowerShell.Commands.WriteErrorException", "Microsoft.PowerShell.Commands.WriteErrorException", "%s", text(v))
		if c.has("errorid") {
			f.id = c.textOf("errorid")
		}
		f.command = c.invoked()
		f.target = c.given["targetobject"]
		if err := c.fault(f); err != nil {
			return err
		}
	}
	return nil
}

// invoked returns the script or command that Write-Error speaks for.
func (c *call) invoked() string {
	if c.file != "" {
		return c.file
	}
	return "Write-Error"
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
