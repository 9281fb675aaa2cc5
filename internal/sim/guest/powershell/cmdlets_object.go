package powershell

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

var objectCmdlets = []cmdlet{
	{name: "New-Object", byProperty: true, parameters: "TypeName:0 ArgumentList|Args:1 Property ComObject Strict?~", run: newObject},
	{name: "Add-Member", parameters: "MemberType|Type:0 Name%:1 Value:2 NotePropertyName NotePropertyValue " +
		"NotePropertyMembers PassThru? Force? SecondValue InputObject&", run: addMember},
	{name: "ConvertTo-Json", parameters: "InputObject:0 Depth Compress?", run: convertToJSON},
	{name: "ConvertFrom-Json", scalar: true, parameters: "InputObject&:0", run: convertFromJSON},
	{name: "ConvertTo-Csv", parameters: "InputObject&:0 NoTypeInformation|NTI? Delimiter:1", run: convertToCSV},
	{name: "ConvertFrom-Csv", flat: true, parameters: "InputObject:0 Delimiter Header", run: convertFromCSV},
	{name: "Export-Csv", ending: true,
		parameters: "Path%+:0 Delimiter:1 LiteralPath|PSPath% NoTypeInformation|NTI? Append? Force?~ NoClobber? " +
			"Encoding InputObject&",
		run: exportCSV, should: true},
	{name: "Import-Csv", parameters: "Path%+:0 Delimiter:1 LiteralPath|PSPath%! Header Encoding~", run: importCSV},
	{name: "ConvertFrom-StringData", scalar: true, parameters: "StringData&:0", run: convertFromStringData},
	{name: "Get-Random", parameters: "InputObject Minimum Maximum:0 Count", run: getRandom},
	{name: "New-Guid", parameters: "", run: func(c *call) error { return c.emit(newGUID()) }},
	{name: "Get-Date", parameters: "Date%:0 Format UFormat Year Month Day Hour Minute Second Millisecond", run: getDate},
	{name: "New-TimeSpan", parameters: "Start:0 End:1 Days Hours Minutes Seconds", run: newTimeSpan},
}

func newObject(c *call) error {
	if c.has("comobject") {
		return lacking("COM objects (New-Object -ComObject %s)", c.textOf("comobject"))
	}
	kind := typeKey(c.textOf("typename"))
	o, err := c.construct(kind, list(c.given["argumentlist"]))
	if b, ok := c.given["argumentlist"].([]byte); ok {
		o, err = c.construct(kind, []any{b})
	}
	if f := failed(err); f != nil {
		if !strings.HasPrefix(f.exception.kind, "System.Management.Automation.") { // the constructor threw it, and not PowerShell
			f = wrapped(f, ".ctor", len(list(c.given["argumentlist"])))
			f.id, f.category = "ConstructorInvokedThrowException", "InvalidOperation"
		}
		f.command = "New-Object"
	}
	if err != nil {
		return err
	}
	if v, ok := c.given["property"]; ok && v != nil {
		if _, err := c.typedParameter("collections.idictionary", "Property", v); err != nil {
			return err
		}
	}
	if h, ok := c.given["property"].(*hashtable); ok {
		if made, ok := o.(*object); ok && made.kind == customKind {
			for k, v := range h.all() {
				made.set(text(k), v)
			}
		}
	}
	return c.emit(o)
}

// addMember is Add-Member for note properties, script properties, script methods and alias properties.
func addMember(c *call) error {
	var members []field
	add := func(v any) {
		if h, ok := v.(*hashtable); ok {
			for k, value := range h.all() {
				members = append(members, field{text(k), value})
			}
		}
	}
	switch kind := strings.ToLower(c.textOf("membertype")); {
	case c.has("notepropertymembers"):
		add(c.given["notepropertymembers"])
	case c.has("notepropertyname"):
		members = []field{{c.textOf("notepropertyname"), c.given["notepropertyvalue"]}}
	case c.given["membertype"] != nil && !c.has("value"):
		if _, ok := c.given["membertype"].(*hashtable); ok {
			add(c.given["membertype"])
			break
		}
		members = []field{{c.textOf("membertype"), c.given["name"]}}
	case kind == "noteproperty":
		members = []field{{c.textOf("name"), c.given["value"]}}
	case kind == "scriptproperty" || kind == "scriptmethod":
		f, ok := c.given["value"].(function)
		if !ok || c.has("secondvalue") {
			return lacking("Add-Member of a %s with these values", kind)
		}
		members = []field{{c.textOf("name"), scripted{kind: map[string]string{"scriptproperty": "ScriptProperty",
			"scriptmethod": "ScriptMethod"}[kind], get: f}}}
	case kind == "aliasproperty":
		members = []field{{c.textOf("name"), scripted{kind: "AliasProperty", alias: c.textOf("value")}}}
	default:
		return lacking("Add-Member of the type %s", c.textOf("membertype"))
	}
	for _, v := range c.items() {
		o, ok := v.(*object)
		if !ok {
			if !c.is("passthru") {
				continue // without -PassThru the object with the member has no reference, so nothing is to be done
			}
			if err := c.emit(withMembers(v, custom(members...))); err != nil {
				return err
			}
			continue
		}
		for _, f := range members {
			if _, has := o.get(f.name); has && !c.is("force") {
				e := broken("System.InvalidOperationException", "MemberAlreadyExists",
					"Cannot add a member with the name \"%s\" because a member with "+
						"that name already exists. To overwrite the member anyway, add the Force parameter to your command.", f.name)
				e.target = o
				if err := c.fault(e); err != nil {
					return err
				}
				continue
			}
			o.set(f.name, f.value)
		}
		if c.is("passthru") {
			if err := c.emit(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// withMembers returns a value with additional members, as an object with the value's text.
func withMembers(v any, more *object) any {
	if o, ok := v.(*object); ok {
		copied := *o
		copied.fields = append(append([]field(nil), o.fields...), more.fields...)
		return &copied
	}
	return &object{kind: kindOf(v), closed: true, fields: append([]field{{"text", v}}, more.fields...), wraps: true}
}

func convertToCSV(c *call) error {
	text, err := c.csvText(c.items(), !c.is("notypeinformation"), true)
	if err != nil {
		return err
	}
	return each(newArray(lines(text)...), c.emit)
}

// csvText returns objects as CSV: a line for the type if typed is set, a line for the names if heads is set,
// and a line for each object.
func (c *call) csvText(values []any, typed, heads bool) (string, error) {
	var b bytes.Buffer
	var names []string
	delimiter := ","
	if c.has("delimiter") {
		delimiter = c.textOf("delimiter")
	}
	for _, v := range values {
		v, err := c.computedMembers(v)
		if err != nil {
			return "", err
		}
		o, ok := v.(*object)
		if isCode(v) {
			return "", lacking("CSV of %s", kindOf(v))
		}
		if !ok {
			o = propertiesOf(v)
			if len(o.fields) == 0 {
				if names == nil { // the first object defines the columns
					return "", nil
				}
				continue
			}
		}
		if names == nil {
			names = []string{}
			var quoted []string
			for _, f := range o.members() {
				names = append(names, f.name)
				quoted = append(quoted, quoteCSV(f.name))
			}
			if heads {
				if typed {
					b.WriteString("#TYPE " + kindOf(v) + "\r\n")
				}
				b.WriteString(strings.Join(quoted, delimiter) + "\r\n")
			}
		}
		cells := make([]string, len(names))
		for i, name := range names {
			value, err := c.property(o, name)
			if err != nil {
				return "", err
			}
			if value != nil {
				cells[i] = quoteCSV(csvCell(value))
			}
		}
		b.WriteString(strings.Join(cells, delimiter) + "\r\n")
		if err := c.take(64 * len(cells)); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// csvCell returns the text of a value in a CSV cell. A list becomes the name of its type, as in PowerShell.
func csvCell(v any) string {
	switch v := v.(type) {
	case *array, []byte:
		return kindOf(v)
	case time.Time:
		return dated(v, "G")
	}
	return text(v)
}

func exportCSV(c *call) error {
	name := c.textOf("path") + c.textOf("literalpath")
	if name == "" {
		return invalid("Path", argumentEmpty)
	}
	if !c.has("literalpath") {
		var err error
		if name, err = c.outputPath(name); err != nil {
			return err
		}
	}
	at := c.path(name)
	there := c.m.Root.Exists(at)
	if there && c.is("noclobber") && !c.is("append") {
		return noClobberFailure(at)
	}
	if yes, err := c.should("Export-Csv", name); err != nil || !yes {
		return err
	}
	adding := c.is("append") && there && !c.isEmpty(name)
	text, err := c.csvText(c.items(), !c.is("notypeinformation"), !adding)
	if err != nil {
		return err
	}
	encoding, err := encodingOf(c.given["encoding"], "ascii")
	if err != nil {
		return err
	}
	return c.fault(c.writeFile(name, encode(text, encoding, !adding), c.is("append")))
}

func importCSV(c *call) error {
	for _, name := range c.names() {
		found := c.glob(name)
		if len(found) == 0 && !c.isPattern(name) {
			return broken("System.IO.FileNotFoundException", "FileOpenFailure", "Could not find file '%s'.", c.path(name))
		}
		for _, at := range found {
			heads := c.textsOf("header")
			text, err := c.readText(at)
			if err == nil {
				err = c.readCSV(text, &heads)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func quoteCSV(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func convertFromCSV(c *call) error {
	heads := c.textsOf("header")
	for _, v := range c.objects("inputobject") {
		err := error(nil)
		if v == nil {
			err = c.fault(invalid("InputObject", argumentNull))
		} else {
			err = c.readCSV(text(v), &heads)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readCSV emits an object for each record of a CSV text. If heads is empty, the first record sets it.
func (c *call) readCSV(s string, heads *[]string) error {
	delimiter := byte(',')
	if d := c.textOf("delimiter"); len(d) == 1 {
		delimiter = d[0]
	}
	if *heads == nil && strings.HasPrefix(s, "#TYPE") {
		_, s, _ = strings.Cut(s, "\n")
	}
	for s != "" {
		if err := c.step(); err != nil {
			return err
		}
		var fields []string
		if fields, s = csvRecord(s, delimiter); *heads == nil {
			if *heads = fields; slices.Contains(fields, "") {
				if err := c.warn("One or more headers were not specified. Default names starting with \"H\" have been used in place of any " +
					"missing headers."); err != nil {
					return err
				}
			}
			for i, n := 0, 0; i < len(fields); i++ {
				if fields[i] == "" {
					n++
					fields[i] = "H" + strconv.Itoa(n)
				}
			}
			continue
		}
		if len(fields) == 1 && fields[0] == "" {
			continue
		}
		o := custom()
		for i, h := range *heads {
			if _, twice := o.get(h); twice {
				return broken("ExtendedTypeSystemException", "AlreadyPresentPSMemberInfoInternalCollectionAdd",
					"The member \"%s\" is already present.", h)
			}
			var v any
			if i < len(fields) {
				v = fields[i]
			}
			o.set(h, v)
		}
		if err := c.emit(o); err != nil {
			return err
		}
	}
	return nil
}

// csvRecord returns the fields of a record and the text after it, as Import-Csv reads them. Blanks before a
// field and after a quoted field are dropped, a quote within an unquoted field is a character of it, and an
// empty field at the end of the text is ignored.
func csvRecord(s string, delimiter byte) (fields []string, rest string) {
	var field []byte
	i, quoted := 0, false
	add := func() { fields, field = append(fields, string(field)), nil }
	// tail reads the rest of a field, and reports whether the record ends.
	tail := func(blanks bool) bool {
		n := strings.IndexAny(s[i:], string(rune(delimiter))+"\r\n")
		if n < 0 {
			n = len(s) - i
		}
		if left := s[i : i+n]; blanks || strings.TrimSpace(left) != "" {
			field = append(field, left...)
		}
		add()
		if i += n; i < len(s) && s[i] == delimiter {
			i++
			return false
		}
		return true
	}
	for i < len(s) {
		c, ended := s[i], false
		i++
		switch {
		case quoted && c == '"' && strings.HasPrefix(s[i:], `"`):
			field = append(field, c)
			i++
		case quoted && c == '"':
			quoted, ended = false, tail(false)
		case !quoted && c == delimiter:
			add()
		case !quoted && c == '"' && len(field) == 0:
			quoted = true
		case !quoted && (c == '\n' || c == '\r'):
			add()
			i--
			ended = true
		case !quoted && (c == ' ' || c == '\t') && len(field) == 0:
		default:
			field = append(field, c)
			if !quoted && (c == '"' || c == ' ' || c == '\t') {
				ended = tail(c == '"')
			}
		}
		if ended {
			rest = strings.TrimPrefix(s[i:], "\r")
			return fields, strings.TrimPrefix(rest, "\n")
		}
	}
	if len(field) > 0 {
		add()
	}
	return fields, ""
}

func convertFromStringData(c *call) error {
	for _, v := range c.objects("stringdata") {
		h := newHash()
		for _, line := range lines(text(v)) {
			s := strings.TrimSpace(text(line))
			if s == "" || strings.HasPrefix(s, "#") {
				continue
			}
			k, value, ok := strings.Cut(s, "=")
			if !ok {
				return broken("PSInvalidOperationException", "InvalidOperation", "Data line '%s' is not in 'name=value' format.", s)
			}
			k = strings.TrimSpace(k)
			if _, twice := h.get(k); twice {
				return broken("PSInvalidOperationException", "InvalidOperation", "Data item '%s' in line '%s' is already defined.", k, s)
			}
			h.set(k, strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t").Replace(strings.TrimSpace(value)))
		}
		if err := c.emit(h); err != nil {
			return err
		}
	}
	return nil
}

func getRandom(c *call) error {
	items := c.objects("inputobject")
	if isList(c.given["maximum"]) {
		items = list(c.given["maximum"])
	}
	if len(items) > 0 {
		n, err := c.integerOf("count", 1)
		if err != nil {
			return err
		}
		order := rand.Perm(len(items))
		return every(c, order[:min(max(n, 0), len(order))], func(i int) error { return c.emit(items[i]) })
	}
	low, err := c.integerOf("minimum", 0)
	if err != nil {
		return err
	}
	high, err := c.integerOf("maximum", math.MaxInt32)
	if err != nil {
		return err
	}
	if high <= low {
		return broken("System.ArgumentException", "MinGreaterThanOrEqualMax",
			"The Minimum value (%d) cannot be greater than or equal to the Maximum value (%d).", low, high)
	}
	return c.emit(int64(low) + rand.Int64N(int64(high-low)))
}

func getDate(c *call) error {
	if c.has("date") || !c.piped {
		return c.date(c.given["date"])
	}
	return every(c, c.input, func(v any) error {
		if _, err := c.convert("datetime", v); failed(err) != nil {
			return unbound(v)
		}
		return c.date(v)
	})
}

// unixFormats are the .NET formats of the specifiers of Get-Date -UFormat.
var unixFormats = map[byte]string{
	'Y': "yyyy", 'y': "yy", 'm': "MM", 'd': "dd", 'H': "HH", 'I': "hh", 'M': "mm", 'S': "ss", 'p': "tt", 'A': "dddd", 'a': "ddd", 'B': "MMMM",
	'b': "MMM", 'h': "MMM", 'F': "yyyy-MM-dd", 'T': "HH:mm:ss", 'X': "HH:mm:ss", 'R': "HH:mm", 'D': "MM/dd/yy", 'x': "MM/dd/yy",
	'r': "hh:mm:ss tt", 'c': "ddd dd MMM yyyy HH:mm:ss", 'Z': "zz",
}

// unixFormat returns a date in a format of -UFormat, which may start with +.
func unixFormat(t time.Time, format string) (string, error) {
	var b strings.Builder
	format = strings.TrimPrefix(format, "+")
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch form, known := unixFormats[format[i]]; {
		case known:
			s, err := english.Date(t, zoneOf(t), form)
			if err != nil {
				return "", formatException(err)
			}
			b.WriteString(s)
		case format[i] == 's': // Windows PowerShell 5.1 also writes the fraction of the second
			fmt.Fprintf(&b, "%d.%05d", t.Unix(), t.Nanosecond()/1e4)
		case format[i] == 'j':
			fmt.Fprintf(&b, "%d", t.YearDay())
		case format[i] == '%':
			b.WriteByte('%')
		default:
			return "", lacking("%%%c of Get-Date -UFormat", format[i])
		}
	}
	return b.String(), nil
}

func newTimeSpan(c *call) error {
	now := any(c.now())
	end, hasEnd := c.given["end"]
	if !hasEnd {
		end = now
	}
	show := func(start any) error {
		from, err := toTime(start)
		if err != nil {
			return err
		}
		to, err := toTime(end)
		if err != nil {
			return err
		}
		d, err := c.dateArithmetic("-", to, from)
		if err != nil {
			return err
		}
		return c.emit(d)
	}
	switch {
	case c.piped && !c.has("start"):
		return every(c, c.input, func(v any) error {
			start, ok := c.ownProperty(v, "LastWriteTime")
			if !ok {
				start, ok = c.ownProperty(v, "Start")
			}
			if !ok {
				start = v
			}
			if _, err := c.convert("datetime", start); failed(err) != nil {
				return unbound(v)
			}
			return show(start)
		})
	case c.has("start"):
		return show(c.given["start"])
	case hasEnd:
		return show(now)
	}
	var d time.Duration
	for name, unit := range map[string]time.Duration{
		"days": 24 * time.Hour, "hours": time.Hour, "minutes": time.Minute, "seconds": time.Second,
	} {
		n, err := c.integerOf(name, 0)
		if err != nil {
			return err
		}
		d += time.Duration(n) * unit
	}
	return c.emit(d)
}

// date emits a date, changed and formatted by the parameters of Get-Date. Without a date it uses the current time.
func (c *call) date(given any) error {
	t := c.now()
	if given != nil || c.has("date") {
		v, err := c.typedParameter("datetime", "Date", given)
		if err != nil {
			return err
		}
		t, _ = v.(time.Time)
	}
	n := []int{t.Year(), int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond() / 1e6}
	changed := false
	for i, name := range []string{"year", "month", "day", "hour", "minute", "second", "millisecond"} {
		v, err := c.integerOf(name, n[i])
		if err != nil {
			return err
		}
		changed = changed || c.has(name)
		n[i] = v
	}
	if changed {
		t = time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], t.Nanosecond(), localZone)
		if c.has("millisecond") {
			t = t.Truncate(time.Second).Add(time.Duration(n[6]) * time.Millisecond)
		}
	}
	var s string
	var err error
	switch format := c.textOf("format"); {
	case c.has("uformat"):
		s, err = unixFormat(t, c.textOf("uformat"))
	case !c.has("format"):
		return c.emit(t)
	case strings.EqualFold(format, "FileDateTime"):
		s, err = english.Date(t, zoneOf(t), "yyyyMMddTHHmmssffff")
	case strings.EqualFold(format, "FileDate"):
		s, err = english.Date(t, zoneOf(t), "yyyyMMdd")
	default:
		s, err = english.Date(t, zoneOf(t), format)
	}
	if err != nil {
		return formatException(err)
	}
	return c.emit(s)
}
