package powershell

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
)

var outputCmdlets = []cmdlet{
	{name: "Write-Output", parameters: "InputObject:0* NoEnumerate?", run: writeOutput,
		each: func(c *call, v any) error { return c.emit(v) }},
	{name: "Write-Host", parameters: "Object:0* NoNewline? Separator ForegroundColor~ BackgroundColor~",
		run: writeHost, each: writeHostEach},
	{name: "Write-Information", parameters: "MessageData|Msg:0 Tags:1~", run: writeInformation},
	{name: "Write-Warning", scalar: true, parameters: "Message|Msg&=:0", run: writeStream(3)},
	{name: "Write-Verbose", scalar: true, parameters: "Message|Msg&=:0", run: writeStream(4)},
	{name: "Write-Debug", scalar: true, parameters: "Message|Msg&=:0", run: writeStream(5)},
	{name: "Write-Progress", byProperty: true,
		parameters: "Activity:0~ Status:1~ Id:2~ PercentComplete~ SecondsRemaining~ CurrentOperation~ ParentId~ " +
			"Completed?~ SourceId~", run: func(*call) error { return nil }},
	{name: "Write-Error", scalar: true, parameters: "Message|Msg=:0 Exception ErrorRecord Category CategoryActivity~ " +
		"CategoryReason~ ErrorId= TargetObject RecommendedAction", run: writeError},
	{name: "Out-Null", parameters: "InputObject:0", each: func(*call, any) error { return nil }},
	{name: "Out-Host", parameters: "Paging? InputObject:0", each: showEach, run: showEnd, start: showStart},
	{name: "Out-Default", parameters: "InputObject:0", each: showEach, run: showEnd, start: showStart},
	{name: "Out-String", ending: true, parameters: "Width# Stream? InputObject", run: outString},
	{name: "Out-File", ending: true,
		parameters: "FilePath|Path%!:0 Encoding:1 Append? Force?~ NoNewline? NoClobber? Width# InputObject LiteralPath|PSPath%!",
		run:        outFile, should: true},
	{name: "Tee-Object", ending: true, parameters: "FilePath|Path%!:0 Append? Variable LiteralPath|PSPath%! InputObject", run: teeObject},
	{name: "Format-Table",
		parameters: "Property:0* AutoSize? Wrap? HideTableHeaders? GroupBy Expand~ InputObject Force?~",
		run:        formatTable},
	{name: "Format-Wide", parameters: "Property:0 Column# AutoSize? GroupBy Force?~ InputObject", run: formatWide},
	{name: "Format-List", parameters: "Property:0* Force?~ InputObject Expand~ GroupBy", run: formatList},
}

// objects returns the items of a parameter's value, or the pipeline's objects if the parameter is not set.
func (c *call) objects(name string) []any {
	if !c.piped && c.has(name) {
		return list(c.given[name])
	}
	return c.input
}

// items returns the pipeline's objects. The value of -InputObject is one object, even if it is a list.
func (c *call) items() []any {
	if !c.piped && c.has("inputobject") {
		return []any{c.given["inputobject"]}
	}
	return c.input
}

func writeOutput(c *call) error {
	if c.piped && !c.has("inputobject") {
		return nil
	}
	if !c.has("inputobject") {
		return c.need("inputobject")
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

func writeHostEach(c *call, v any) error {
	if h, ok := v.(*hashtable); ok { // a piped hashtable is written as the name of its type, unlike an argument
		v = kindOf(h)
	}
	c.given["object"] = v
	return writeHostLine(c)
}

// writeHostLine writes the value of -Object to the information stream, which the console shows.
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
			if len(inner.items) == 0 {
				parts = append(parts, "")
			}
			continue
		}
		if h, ok := v.(*hashtable); ok {
			if len(h.keys) == 0 {
				parts = append(parts, "")
			}
			for range h.keys {
				parts = append(parts, "System.Collections.DictionaryEntry")
			}
			continue
		}
		v = byCulture(v)
		if t, ok := v.(typeValue); ok {
			v = typeName(t.name)
		}
		s, err := c.text(v)
		if err != nil {
			return err
		}
		parts = append(parts, s)
	}
	message, err := c.joined(parts, separator)
	if err != nil {
		return err
	}
	line := message
	if !c.is("nonewline") {
		line += "\r\n"
	}
	if err := c.take(len(line)); err != nil {
		return err
	}
	c.keepOwn(6, message)
	data := system("System.Management.Automation.HostInformationMessage", nil, "Message", message, "NoNewLine", c.is("nonewline"), "text",
		message)
	return c.inform(data, c.preferenceAction("informationpreference") != "ignore", line)
}

func writeInformation(c *call) error {
	data := c.given["messagedata"]
	action := c.preferenceAction("informationpreference")
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

// preferenceAction returns the action of a preference variable, which a common parameter of the call can override, in lower case.
func (c *call) preferenceAction(preference string) string {
	if v, ok := c.common.preferences[preference]; ok {
		return strings.ToLower(text(v))
	}
	return c.preference(preference)
}

// keepOwn appends a record to the list of the call's own common parameter, such as -WarningVariable.
func (c *call) keepOwn(stream int, v any) {
	if a := c.common.kept[stream]; a != nil {
		a.items = append(a.items, v)
	}
}

// writeStream returns the cmdlet that writes messages to a stream with a number.
func writeStream(stream int) func(*call) error {
	return func(c *call) error {
		messages, k := c.input, streamKinds[stream]
		if c.has("message") {
			messages = append(messages, c.given["message"])
		}
		action := c.preferenceAction(strings.ToLower(k.preference))
		for _, message := range inputTexts(messages) {
			if action != "ignore" && (stream == 3 || action != "silentlycontinue") {
				c.keepOwn(stream, system(k.kind, nil, "Message", message, "text", message))
			}
			if err := c.note(stream, message, action); err != nil {
				return err
			}
		}
		return nil
	}
}

// warn writes a warning of the cmdlet itself.
func (c *call) warn(message string) error {
	return c.note(3, message, c.preferenceAction("warningpreference"))
}

// writeError is Write-Error: it reports a message, an exception or an error record as an error of the caller.
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
	const kind = "Microsoft.PowerShell.Commands.WriteErrorException"
	for _, v := range messages {
		message := text(byCulture(v))
		if v == nil {
			message = "Exception of type '" + kind + "' was thrown."
		}
		f := broken(kind, kind, "%s", message)
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
		if c.has("recommendedaction") {
			f.details, f.advice = f.String(), c.textOf("recommendedaction")
		}
		f.command, f.target, f.whole = "Write-Error", c.given["targetobject"], true
		if caller != "" && (c.has("errorid") || !strings.Contains(f.id, ",")) {
			f.id += "," + caller
		}
		f.invoked = caller
		if err := c.fault(f); err != nil {
			return err
		}
	}
	return nil
}

// invoked returns the name of the function or script that called Write-Error, which the error names.
func (c *call) invoked() string {
	for s := c.scope; s != nil; s = s.parent {
		if o, ok := s.vars["myinvocation"].valueOr().(*object); ok {
			if by, ok := o.read("MyCommand").(*object); ok && text(by.read("Name")) != "" {
				return text(by.read("Name"))
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
		if !c.piped && c.has("inputobject") {
			if err := each(c.given["inputobject"], p.put); err != nil {
				return err
			}
		}
		p.flush(nil)
	}
	return nil
}

// printedText returns the text that the console shows for objects.
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
	p.flush(nil)
	return b.String(), r.take(b.Len())
}

// printedWide returns the text of objects in lines of -Width.
func (c *call) printedWide(values []any) (string, error) {
	width, err := c.integerOf("width", 0)
	if err != nil {
		return "", err
	}
	outer := c.width
	c.width = width
	defer func() { c.width = outer }()
	return c.printedText(values)
}

func outString(c *call) error {
	s, err := c.printedWide(c.objects("inputobject"))
	if err != nil {
		return err
	}
	if c.is("stream") {
		return each(newArray(lines(s)...), c.emit)
	}
	return c.emit(s)
}

// noClobberFailure returns the failure of -NoClobber for a file that exists. It ends the statement.
func noClobberFailure(at string) error {
	f := broken("System.IO.IOException", "NoClobber", "The file '%s' already exists.", at)
	f.category, f.target, f.stops = "ResourceExists", at, true
	return f
}

// output returns the path of the file that a cmdlet writes.
func (c *call) output() (string, error) {
	if c.has("literalpath") {
		return c.textOf("literalpath"), nil
	}
	if err := c.need("filepath"); err != nil {
		return "", err
	}
	return c.outputPath(c.textOf("filepath"))
}

func outFile(c *call) error {
	name, err := c.output()
	if err != nil {
		return err
	}
	if c.is("noclobber") && !c.is("append") && c.m.Root.Exists(c.path(name)) {
		return noClobberFailure(c.path(name))
	}
	if yes, err := c.should("Output to File", name); err != nil || !yes {
		return err
	}
	s, err := c.printedWide(c.objects("inputobject"))
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
	return openFailure(c.writeFile(name, encode(s, encoding, !c.is("append") || c.isEmpty(name)), c.is("append")))
}

func teeObject(c *call) error {
	if c.has("variable") {
		if err := c.set(strings.ToLower(c.textOf("variable")), single(c.input)); err != nil {
			return err
		}
		return each(newArray(c.input...), c.emit)
	}
	if len(c.input) == 0 {
		return nil // without input the file stays as it is
	}
	s, err := c.printedText(c.input)
	if err != nil {
		return err
	}
	name, err := c.output()
	if err == nil {
		err = c.writeFile(name, encode(s, "unicode", !c.is("append") || c.isEmpty(name)), c.is("append"))
	}
	if err != nil {
		if f := failed(err); f != nil {
			f.id, f.command = f.id+",Microsoft.PowerShell.Commands.OutFileCommand", "out-file"
		}
		return err
	}
	return each(newArray(c.input...), c.emit)
}

// formatted emits the objects of a Format cmdlet as PowerShell does: for the start, a group, each of its rows,
// and the ends. The first object has the rendering; a rendering without rows is a single object.
func (c *call) formatted(s rendering, rows int) error {
	parts := slices.Repeat([]string{"FormatEntryData"}, max(rows, 1))
	if rows > 0 {
		parts = append(append([]string{"FormatStartData", "GroupStartData"}, parts...), "GroupEndData", "FormatEndData")
	}
	first := any(s)
	for _, part := range parts {
		if err := c.emit(system(kindFormatted+part, nil, "shown", first)); err != nil {
			return err
		}
		first = nil
	}
	return nil
}

// asIs returns a rendering of a text that is the same for all widths.
func asIs(s string) rendering { return func(int) string { return s } }

func formatTable(c *call) error {
	return c.format(func(rows []*object, v view) string {
		v.list, v.headless, v.wrapped = false, c.is("hidetableheaders"), c.is("wrap")
		if c.is("autosize") {
			v.fixed = map[string]int{}
		}
		return v.table(rows) + "\r\n"
	})
}

func formatWide(c *call) error {
	columns, err := c.integerOf("column", 2)
	if err != nil || c.is("autosize") || columns < 1 {
		return cmp.Or(err, lacking("Format-Wide with these parameters"))
	}
	return c.format(func(rows []*object, v view) string {
		name := v.names[0]
		if slices.Contains(v.names, "Name") {
			name = "Name"
		}
		room := cmp.Or(v.room, lineWidth) - columns + 1
		var out strings.Builder
		for i, o := range rows {
			if i%columns == 0 {
				out.WriteString("\r\n")
			}
			width := max(room/columns, 1)
			if i%columns < room%columns { // the first columns get the remaining width
				width++
			}
			cell := cut(cellText(o.read(name)), width)
			out.WriteString(cell + strings.Repeat(" ", width-len([]rune(cell))+1))
		}
		return out.String() + "\r\n\r\n"
	})
}

func formatList(c *call) error {
	return c.format(func(rows []*object, v view) string { return asList(rows, v.names, v.room) })
}

// format renders the objects in groups of the same kind and of the same value of -GroupBy. Values without
// properties are rendered as text.
func (c *call) format(render func([]*object, view) string) error {
	var rows []*object
	var shown view
	group, grouped := "", c.has("groupby")
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		list := rows
		rows = nil
		of := shown
		return c.formatted(func(width int) string { of.room, of.group = width, ""; return render(list, of) }, len(list))
	}
	var values []any
	for _, v := range c.objects("inputobject") {
		if h, ok := v.(*hashtable); ok && c.has("property") { // the entries of the hashtable are the rows
			for _, entry := range h.entries() {
				values = append(values, entry)
			}
			continue
		}
		values = append(values, list(v)...)
	}
	for _, v := range values {
		v, err := c.computedMembers(v)
		if err := errors.Join(err, c.take(64)); err != nil {
			return err
		}
		if grouped {
			name, value, err := c.calculated(c.given["groupby"], v)
			if err != nil {
				return err
			}
			if label := "   " + name + ": " + text(value); label != group {
				if err := flush(); err != nil {
					return err
				}
				group = label
				if err := c.formatted(asIs("\r\n"+label+"\r\n"), 0); err != nil {
					return err
				}
			}
		}
		own, next := displayed(v)
		if _, isDate := v.(time.Time); c.has("property") && (!isScalar(v) || isDate || asExpanded(v, c.given["property"])) {
			o, err := c.pick(v, list(c.given["property"]))
			if err != nil {
				return err
			}
			if strings.EqualFold(c.cmd.name, "Format-List") {
				o = c.withoutMissing(o, v)
			}
			own, next = []*object{o}, view{kind: "chosen"}
			for _, f := range o.fields {
				next.names = append(next.names, f.name)
			}
		} else if asList := strings.EqualFold(c.cmd.name, "Format-List"); asList && len(own) > 0 && defaultProperties[own[0].kind] != "" {
			next.names = strings.Fields(defaultProperties[own[0].kind])
			if own[0].kind == kindEntry {
				next.names = []string{"Name", "Value"}
			}
		} else if other, has := ownViews[next.kind]; has && next.list && !asList {
			next.names = other.names
		} else if o, ok := v.(*object); ok && own != nil && o.closed && o.shown == nil {
			return lacking("the display of %s; choose properties", o.kind)
		}
		if own == nil {
			if err := flush(); err != nil {
				return err
			}
			s, err := c.printedText([]any{v})
			if err != nil {
				return err
			}
			parts := 0
			if _, isDate := v.(time.Time); isDate { // a date has a view, and is not shown as a text
				if c.cmd.name == "Format-Table" {
					return lacking("Format-Table of a date; choose properties")
				}
				parts = 1
			}
			if err := c.formatted(asIs(s), parts); err != nil {
				return err
			}
			continue
		}
		if len(rows) > 0 && (shown.kind != next.kind || shown.group != next.group) {
			if err := flush(); err != nil {
				return err
			}
		}
		if len(rows) == 0 {
			if next.group != "" && next.group != shown.group && !grouped {
				if err := c.formatted(asIs(next.groupLine()), 0); err != nil {
					return err
				}
			}
			shown = next
		}
		rows = append(rows, own...)
	}
	return flush()
}

// asExpanded reports whether a value that is usually shown as text shows chosen properties: an error, an
// exception, or a text with the property *.
func asExpanded(v, properties any) bool {
	switch v.(type) {
	case *failure, exception, *object:
		return true
	case string:
		names := list(properties)
		return len(names) > 0 && text(names[0]) == "*"
	}
	return false
}

// isScalar reports whether a value has no properties that the console shows.
func isScalar(v any) bool {
	rows, _ := displayed(v)
	return rows == nil
}

// withoutMissing returns an object without the chosen properties that its source does not have.
func (c *call) withoutMissing(o *object, of any) *object {
	source, ok := of.(*object)
	if !ok {
		return o
	}
	out := custom()
	for _, f := range o.fields {
		if _, has := source.get(f.name); has || f.value != nil {
			out.fields = append(out.fields, f)
		}
	}
	if len(out.fields) == 0 {
		return o
	}
	return out
}

// calculated returns the name and value of a property that a name, a script block or a hashtable defines.
func (r *run) calculated(by, v any) (string, any, error) {
	switch by := by.(type) {
	case *hashtable:
		return r.computed(by, v)
	case function:
		value, err := r.apply(by, v)
		return strings.TrimSpace(by.text), value, err
	}
	value, err := r.property(v, text(by))
	return text(by), value, err
}

// pick returns an object with the chosen properties of a value: by name, by pattern, or computed.
func (r *run) pick(v any, names []any) (*object, error) {
	out := custom()
	for _, n := range names {
		_, isTable := n.(*hashtable)
		if _, isBlock := n.(function); isTable || isBlock {
			name, value, err := r.calculated(n, v)
			if err != nil {
				return nil, err
			}
			out.fields = append(out.fields, field{name, value})
			continue
		}
		name := text(n)
		o, isObject := v.(*object)
		if _, isHash := v.(*hashtable); !isObject && !isHash && strings.ContainsAny(name, "*?") {
			o, isObject = propertiesOf(v), v != nil
		}
		if isObject && strings.ContainsAny(name, "*?") {
			whole, err := r.computedMembers(o)
			if err != nil {
				return nil, err
			}
			o, _ := whole.(*object)
			for _, f := range o.members() {
				if yes, err := like(f.name, name, false); err != nil {
					return nil, err
				} else if yes {
					out.set(f.name, f.value)
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

// computed returns the name and value of a computed property, such as @{Name=...; Expression={...}}.
func (r *run) computed(h *hashtable, v any) (string, any, error) {
	name, form, align, expression, width := "", "", "", any(nil), 0
	for k, value := range h.all() {
		switch low := strings.ToLower(text(k)); {
		case strings.HasPrefix("name", low), strings.HasPrefix("label", low):
			name = text(value)
		case strings.HasPrefix("expression", low):
			expression = value
		case strings.HasPrefix("formatstring", low):
			form = text(value)
		case strings.HasPrefix("alignment", low):
			align = strings.ToLower(text(value))
		case strings.HasPrefix("width", low):
			n, err := r.integer(value)
			if err != nil {
				return "", nil, err
			}
			width = int(min(max(n, 1), maxItems))
		default:
			return "", nil, lacking("the key %s of a computed property", low)
		}
	}
	shown, value, err := r.calculated(expression, v)
	name = cmp.Or(name, shown)
	if err != nil {
		if failed(err) == nil || r.strictness() > 0 {
			return name, nil, err
		}
		r.remember(failed(err))
		value = nil // the value of an expression that fails is null
	}
	if form != "" || align != "" || width > 0 {
		right := isRight(value)
		if form != "" {
			if strings.Contains(form, "{") {
				value, err = r.composite(form, []any{value})
			} else {
				value, err = r.formatted(value, form, english)
			}
			if err != nil {
				return name, nil, err
			}
		}
		cell := formattedCell{cellText(value), right && align == "" || align == "right"}
		if width > 0 { // the cell has exactly this width
			cell.text = cut(cell.text, width)
			if fill := strings.Repeat(" ", max(width-len([]rune(cell.text)), 0)); cell.right {
				cell.text = fill + cell.text
			} else {
				cell.text += fill
			}
		}
		value = cell
	}
	return name, value, nil
}

// apply returns the output of a script block with an item as $_.
func (r *run) apply(f function, v any) (any, error) {
	items, err := r.gather(func(out sink) error { return r.runItem(f, v, out) })
	return plain(single(items)), err
}
