package powershell

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The type names of simulated objects to which several functions refer.
const (
	kindService     = "System.ServiceProcess.ServiceController"
	kindFile        = "System.IO.FileInfo"
	kindDirectory   = "System.IO.DirectoryInfo"
	kindMatch       = "Microsoft.PowerShell.Commands.MatchInfo"
	kindUser        = "Microsoft.PowerShell.Commands.LocalUser"
	kindGroup       = "Microsoft.PowerShell.Commands.LocalGroup"
	kindAddress     = "Microsoft.Management.Infrastructure.CimInstance#MSFT_NetIPAddress"
	kindPath        = "System.Management.Automation.PathInfo"
	kindProcess     = "System.Diagnostics.Process"
	kindIPAddress   = "System.Net.IPAddress"
	kindMatches     = "System.Text.RegularExpressions.MatchCollection"
	kindGroups      = "System.Text.RegularExpressions.Match"
	kindMatchGroups = "System.Text.RegularExpressions.GroupCollection"
	kindKey         = "Microsoft.Win32.RegistryKey"
	kindBuilder     = "System.Text.StringBuilder"
	kindWatch       = "System.Diagnostics.Stopwatch"
	kindClient      = "System.Net.WebClient"
	kindStream      = "System.IO.MemoryStream"
	kindZip         = "System.IO.Compression.GZipStream"
	kindWriter      = "System.IO.StreamWriter"
	kindReader      = "System.IO.StreamReader"
	kindCredential  = "System.Management.Automation.PSCredential"
	kindUri         = "System.Uri"
	kindEncoding    = "System.Text.Encoding"
	kindFormatted   = "Microsoft.PowerShell.Commands.Internal.Format."
)

func (r *run) nameOf(n node) (string, error) {
	if c, ok := n.(constant); ok {
		return c.text, nil
	}
	v, err := r.eval(n)
	return text(v), err
}

// keyOfMember returns the value of the constant or variable that names a member, as the key of a hashtable: a
// number stays a number. It is nil for other nodes.
func (r *run) keyOfMember(n node) (any, error) {
	switch n := n.(type) {
	case constant:
		return n.value, nil
	case variable:
		return r.eval(n)
	}
	return nil, nil
}

// member returns the value of a member expression.
func (r *run) member(m member) (any, error) {
	name, err := r.nameOf(m.name)
	if err != nil {
		return nil, err
	}
	of, err := r.owner(m.of, m.static)
	if err != nil {
		return nil, err
	}
	if h, ok := of.(*hashtable); ok {
		if key, err := r.keyOfMember(m.name); isNumber(key) || err != nil {
			v, _ := h.get(key)
			return v, err
		}
	}
	if m.static {
		t, ok := of.(typeValue)
		if !ok {
			if of == nil {
				return nil, nil
			}
			t = typeValue{typeKey(kindOf(of))}
		}
		return r.staticValue(t.name, name)
	}
	return r.property(of, name)
}

// property returns a property of a value. A property that real objects have and the simulation does not have is refused by name.
func (r *run) property(of any, name string) (any, error) {
	low := strings.ToLower(name)
	if v, ok, err := common(of, low); ok || err != nil {
		if low != "psobject" && r.strictness() >= 2 {
			return r.noProperty(name)
		}
		return v, err
	}
	switch o := of.(type) {
	case nil:
		return r.noProperty(name)
	case *hashtable:
		return r.hashProperty(o, name)
	case *object:
		if v, ok := o.get(name); ok {
			if s, ok := v.(scripted); ok {
				return r.scriptedValue(o, s)
			}
			return v, nil
		}
		if v, ok, err := r.derived(o, low); ok || err != nil {
			return v, err
		}
		if o.closed && !lacksMember(o.kind, name) {
			return nil, lacking("the property %s of %s", name, o.kind)
		}
	case *array:
		return r.listProperty(o, name, low)
	case []byte:
		if low == "length" || low == "count" {
			return int64(len(o)), nil
		}
	case string:
		if low == "length" {
			return int64(len([]rune(o))), nil
		}
	case time.Time:
		if part, ok := dateParts.read(o, name); ok {
			return part, nil
		}
		if low == "datetime" {
			return dated(o, "F"), nil
		}
		return nil, lacking("the property %s of dates", name)
	case time.Duration:
		if part, ok := spanParts.read(o, name); ok {
			return part, nil
		}
		return nil, lacking("the property %s of time spans", name)
	case *failure:
		return r.failureProperty(o, name, low)
	case exception:
		return exceptionProperty(r, o, name, low)
	case bool:
		if low == "ispresent" {
			return o, nil // the simulation has a Boolean in place of a SwitchParameter
		}
	case *reference:
		if low == "value" {
			return o.get(), nil
		}
	case enumMember:
		if low == "value__" {
			return o.n, nil
		}
	case typeValue:
		if part, ok := typeParts.read(o, name); ok {
			return part, nil
		}
		return nil, lacking("the property %s of types", name)
	case guid:
		if low == "guid" {
			return string(o), nil
		}
	case secret:
		if low == "length" {
			return int64(len([]rune(o.text))), nil
		}
	case function, version:
		return nil, lacking("the property %s of %s", name, kindOf(of))
	}
	if known, ok := realMembers()[strings.ToLower(kindOf(of))]; ok && strings.Contains(known, " "+low+" ") {
		return nil, lacking("the property %s of %s", name, kindOf(of))
	}
	return r.noProperty(name)
}

// propertyNames returns the names of the properties of a value that is not an object here.
func propertyNames(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{"Length"}
	case *hashtable:
		return []string{"IsReadOnly", "IsFixedSize", "IsSynchronized", "Keys", "Values", "SyncRoot", "Count"}
	case time.Time:
		return dateParts.names()
	case time.Duration:
		return spanParts.names()
	case guid:
		return []string{"Guid"}
	case *array:
		if v.kind == "System.Collections.ArrayList" {
			return []string{"Capacity", "Count", "IsFixedSize", "IsReadOnly", "IsSynchronized", "SyncRoot"}
		}
		return []string{"Length", "LongLength", "Rank", "SyncRoot", "IsReadOnly", "IsFixedSize", "IsSynchronized", "Count"}
	}
	return nil
}

// propertiesOf returns an object with the properties of a value that is not an object here.
func propertiesOf(v any) *object {
	o := custom()
	for _, name := range propertyNames(v) {
		if value, err := new(run).property(v, name); err == nil {
			o.set(name, value)
		}
	}
	return o
}

// propertyObject returns the item of PSObject.Properties for a field of an object.
func propertyObject(o *object, f field) *object {
	kind := "NoteProperty"
	if o.closed {
		kind = "Property"
	}
	value := f.value
	if s, ok := value.(scripted); ok {
		kind, value = s.kind, nil
	}
	return &object{kind: "System.Management.Automation.PSNoteProperty", closed: true, shown: []string{"Name", "Value"}, fields: []field{
		{"Name", f.name}, {"Value", value}, {"MemberType", kind}, {"TypeNameOfValue", kindOfOrObject(value)}, {"IsGettable", true},
		{"IsSettable", !o.closed}, {"owner", o}}}
}

func kindOfOrObject(v any) string {
	if v == nil {
		return "System.Object"
	}
	return kindOf(v)
}

// kindTypeNames is the type of PSObject.TypeNames.
const kindTypeNames = "System.Collections.ObjectModel.Collection`1"

// firstTypeName returns the first type name of a value.
func firstTypeName(v any) string {
	if o, ok := v.(*object); ok && o.named != "" {
		return o.named
	}
	return kindOf(v)
}

// typeNamesOf returns the type names of a value, the most derived first.
func typeNamesOf(v any) *array {
	kind := kindOf(v)
	out := newArray(firstTypeName(v))
	out.kind = kindTypeNames
	if out.owner, _ = v.(*object); out.owner != nil && out.owner.named != "" {
		out.items = append(out.items, kind)
	}
	switch v := v.(type) {
	case int64, float64, short, bool, sized, decimal, char, time.Time, time.Duration, guid:
		out.items = append(out.items, "System.ValueType")
	case *array:
		if !canGrow(v) {
			out.items = append(out.items, "System.Array")
		}
	case exception:
		for k := baseOf(typeKey(kind)); k != "" && k != "exception"; k = baseOf(k) {
			out.items = append(out.items, typeName(k))
		}
		out.items = append(out.items, "System.Exception")
	}
	if kind != "System.Object" {
		out.items = append(out.items, "System.Object")
	}
	return out
}

// scripted is a script property, script method or alias property of Add-Member.
type scripted struct {
	kind  string
	get   function
	alias string
}

// common returns a property that every value has; the result is false for other names.
func common(of any, low string) (any, bool, error) {
	switch low {
	case "count", "length":
		switch o := of.(type) {
		case nil:
			return int64(0), true, nil
		case *array, *hashtable, []byte, secret:
		case string:
			return int64(1), low == "count", nil
		case *object:
			_, has := o.get(low)
			return int64(1), !has && o.kind != kindMatches && o.kind != kindDirectory && o.kind != kindGroups &&
				o.kind != kindBuilder && o.kind != kindMatchGroups && o.kind != kindReader &&
				o.kind != kindStream, nil
		default:
			return int64(1), true, nil
		}
	case "psbase":
		if h, ok := of.(*hashtable); ok {
			return system("System.Management.Automation.PSMemberSet", nil, "Count", int64(len(h.keys)), "Keys", newArray(h.keys...), "Values",
				newArray(slices.Collect(maps.Values(h.values))...)), true, nil
		}
		return of, of != nil, nil
	case "pstypenames":
		return typeNamesOf(of), of != nil, nil
	case "psobject":
		a, isArray := of.(*array)
		if t, isType := of.(typeValue); isType || isArray && canGrow(a) {
			return nil, true, lacking("the properties that %s have", map[bool]string{true: "types", false: "lists"}[t.name != ""])
		} else if of == nil {
			break
		}
		o, own := of.(*object)
		if !own {
			o = propertiesOf(of)
		}
		props := newArray()
		props.owner = o
		for _, f := range o.members() {
			if s, ok := f.value.(scripted); ok && s.kind == "ScriptMethod" {
				continue
			}
			p := propertyObject(o, f)
			if !own {
				p.set("MemberType", "Property")
			}
			props.items = append(props.items, p)
		}
		return &object{kind: "System.Management.Automation.PSMemberSet", closed: true,
			fields: []field{{"Properties", props}, {"of", of}, {"TypeNames", typeNamesOf(of)}, {"BaseObject", of}}}, true, nil
	}
	return nil, false, nil
}

// hashProperty returns the value of a key, or a property of a hashtable.
func (r *run) hashProperty(h *hashtable, name string) (any, error) {
	if v, ok := h.get(name); ok {
		return v, nil
	}
	switch strings.ToLower(name) {
	case "count":
		return int64(len(h.keys)), nil
	case "keys":
		keys := newArray(append([]any(nil), h.keys...)...)
		keys.of = h
		return keys, nil
	case "values":
		out := newArray()
		out.of = h
		for _, v := range h.all() {
			out.items = append(out.items, v)
		}
		return out, nil
	case "isreadonly", "isfixedsize", "issynchronized":
		return false, nil
	case "length":
		if r.strictness() < 2 {
			return int64(1), nil
		}
	}
	return r.noProperty(name)
}

// listProperty returns a property of a list, or the property of each item.
func (r *run) listProperty(a *array, name, low string) (any, error) {
	if a.kind == kindEnumerator { // an enumerator has only the members of its items
		low = ""
	}
	switch low {
	case "count":
		return int64(len(a.items)), nil
	case "length", "longlength":
		if !strings.Contains(a.kind, "List") {
			return int64(len(a.items)), nil
		}
	case "rank":
		return int64(1), nil
	case "isfixedsize":
		return !canGrow(a), nil
	case "isreadonly", "issynchronized":
		return false, nil
	case "syncroot":
		if !canGrow(a) {
			return a, nil
		}
		return nil, lacking("the property %s of lists", name)
	case "capacity":
		return nil, lacking("the property %s of lists", name)
	}
	if !lacksMember("System.Object[]", name) && low != "item" {
		return nil, lacking("the method %s without its arguments", name)
	}
	var out []any
	for _, item := range a.items {
		if err := r.step(); err != nil {
			return nil, err
		}
		if h, ok := item.(*hashtable); ok {
			if v, has := h.get(name); has {
				out = append(out, list(v)...)
				continue
			}
		}
		if o, ok := item.(*object); ok && !o.closed {
			if v, has := o.get(name); has {
				out = append(out, orNull(v)...)
			}
			continue
		}
		v, err := r.property(item, name)
		if err != nil {
			return nil, err
		}
		if v != nil {
			out = append(out, list(v)...)
		}
	}
	return plain(single(out)), nil
}

// orNull returns the items of a value. For null it returns a null item, where list returns none.
func orNull(v any) []any {
	if v == nil {
		return []any{nil}
	}
	return list(v)
}

// parts are the properties of a type's values, in the order of their declaration.
type parts[T any] []part[T]

type part[T any] struct {
	name string
	get  func(T) any
}

func (p parts[T]) read(v T, name string) (any, bool) {
	for _, one := range p {
		if strings.EqualFold(one.name, name) {
			return one.get(v), true
		}
	}
	return nil, false
}

func (p parts[T]) names() []string {
	out := make([]string, len(p))
	for i, one := range p {
		out[i] = one.name
	}
	return out
}

var dateParts = parts[time.Time]{
	{"Date", func(t time.Time) any { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location()) }},
	{"Day", func(t time.Time) any { return int64(t.Day()) }},
	{"DayOfWeek", func(t time.Time) any { return enumerationOf("dayofweek", int64(t.Weekday())) }},
	{"DayOfYear", func(t time.Time) any { return int64(t.YearDay()) }},
	{"Hour", func(t time.Time) any { return int64(t.Hour()) }},
	{"Kind", func(t time.Time) any {
		return enumerationOf("datetimekind", map[*time.Location]int64{utcZone: 1, localZone: 2}[t.Location()])
	}},
	{"Millisecond", func(t time.Time) any { return int64(t.Nanosecond() / 1e6) }},
	{"Minute", func(t time.Time) any { return int64(t.Minute()) }},
	{"Month", func(t time.Time) any { return int64(t.Month()) }},
	{"Second", func(t time.Time) any { return int64(t.Second()) }},
	{"Ticks", func(t time.Time) any { return ticks(t) }},
	{"TimeOfDay", func(t time.Time) any {
		return t.Sub(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location()))
	}},
	{"Year", func(t time.Time) any { return int64(t.Year()) }},
}

// fromTicks returns the date of a number of ticks.
func fromTicks(n int64) time.Time {
	const unix = 621355968000000000
	return time.Unix((n-unix)/1e7, (n-unix)%1e7*100).UTC()
}

// ticks returns the number of ticks of a date: 100 nanoseconds since the year 1.
func ticks(t time.Time) int64 {
	const unix = 621355968000000000
	return unix + t.Unix()*1e7 + int64(t.Nanosecond()/100)
}

var spanParts = parts[time.Duration]{
	{"Ticks", func(d time.Duration) any { return int64(d / 100) }},
	{"Days", func(d time.Duration) any { return int64(d / (24 * time.Hour)) }},
	{"Hours", func(d time.Duration) any { return int64(d/time.Hour) % 24 }},
	{"Milliseconds", func(d time.Duration) any { return int64(d/time.Millisecond) % 1000 }},
	{"Minutes", func(d time.Duration) any { return int64(d/time.Minute) % 60 }},
	{"Seconds", func(d time.Duration) any { return int64(d/time.Second) % 60 }},
	{"TotalDays", func(d time.Duration) any { return d.Hours() / 24 }},
	{"TotalHours", func(d time.Duration) any { return d.Hours() }},
	{"TotalMilliseconds", func(d time.Duration) any { return float64(d) / float64(time.Millisecond) }},
	{"TotalMinutes", func(d time.Duration) any { return d.Minutes() }},
	{"TotalSeconds", func(d time.Duration) any { return d.Seconds() }},
}

var typeParts = parts[typeValue]{
	{"BaseType", func(t typeValue) any { return typeValue{typeKey(baseType(t.name))} }},
	{"Namespace", func(t typeValue) any {
		full := typeName(t.name)
		return full[:max(strings.LastIndexByte(full, '.'), 0)]
	}},
	{"IsArray", func(t typeValue) any { return strings.HasSuffix(t.name, "[]") }},
	{"IsEnum", func(t typeValue) any { return enumerationTypes[t.name] != "" }},
	{"IsValueType", func(t typeValue) any { return baseType(t.name) == "System.ValueType" || enumerationTypes[t.name] != "" }},
	{"IsClass", func(t typeValue) any { return baseType(t.name) != "System.ValueType" }},
	{"Name", func(t typeValue) any {
		full := typeName(t.name)
		return full[strings.LastIndexAny(full, ".+")+1:]
	}},
	{"FullName", func(t typeValue) any { return typeName(t.name) }},
}

// failureProperty returns a property of an ErrorRecord.
func (r *run) failureProperty(f *failure, name, low string) (any, error) {
	switch low {
	case "exception":
		e := f.exception
		e.record = f
		return e, nil
	case "errordetails":
		if f.details == "" {
			return nil, nil
		}
		return system("System.Management.Automation.ErrorDetails", nil, "Message", f.details, "RecommendedAction", f.advice, "text",
			f.details), nil
	case "fullyqualifiederrorid":
		return f.id, nil
	case "targetobject":
		return f.target, nil
	case "scriptstacktrace":
		return cmp.Or(f.stack, "at <ScriptBlock>, <No file>: line 1"), nil
	case "categoryinfo":
		return f.categoryInfo(), nil
	case "invocationinfo":
		command := any(nil)
		if name := f.reporter(); name != "" {
			command = system(kindCommand, nil, "Name", name, "text", name)
		}
		info := r.invocationInfo(command, cmp.Or(f.invoked, f.command), f.script, "", 0)
		info.set("ScriptLineNumber", int64(f.line))
		info.set("OffsetInLine", int64(f.column))
		info.set("Line", f.source)
		return info, nil
	case "pipelineiterationinfo":
		return newArray(), nil
	}
	return r.noProperty(name)
}

// categoryInfo returns the CategoryInfo of a failure. Most of it depends on the exception's class.
func (f *failure) categoryInfo() *object {
	short := f.exception.kind[strings.LastIndexByte(f.exception.kind, '.')+1:]
	category := f.category
	if category == "" {
		category = categories[short]
	}
	if category == "" && strings.HasPrefix(f.id, "CommandNotFound") {
		category = "ObjectNotFound"
	}
	if category == "" {
		switch {
		case f.exception.inner != nil || f.command != "" && short == "WriteErrorException":
			category = "NotSpecified"
		case short == "RuntimeException":
			category = "InvalidOperation"
		case f.command == "":
			category = "OperationStopped"
		default:
			category = "NotSpecified"
		}
	}
	target, kind := "", ""
	if f.target != nil {
		target, kind = text(f.target), kindOf(f.target)
		kind = kind[strings.LastIndexByte(kind, '.')+1:]
	}
	shown := target
	if len([]rune(shown)) > 40 {
		runes := []rune(shown)
		shown = string(runes[:20]) + "..." + string(runes[len(runes)-17:])
	}
	activity := f.command
	if strings.EqualFold(short, "CommandNotFoundException") && !strings.Contains(f.id, "GetCommand") {
		activity = ""
	}
	value, _ := toEnumeration("management.automation.errorcategory", category)
	return system("System.Management.Automation.ErrorCategoryInfo", nil, "Category", value, "Activity", activity, "Reason", short,
		"TargetName", target, "TargetType", kind, "text", fmt.Sprintf("%s: (%s:%s) [%s], %s", category, shown, kind, activity, short))
}

// categories are the error categories of exceptions that always have the same category.
var categories = map[string]string{
	"ItemNotFoundException": "ObjectNotFound", "CommandNotFoundException": "ObjectNotFound", "DriveNotFoundException": "ObjectNotFound",
	"ProviderNotFoundException": "ObjectNotFound", "ParameterBindingException": "InvalidArgument",
	"ParameterBindingValidationException": "InvalidData", "ParameterBindingArgumentTransformationException": "InvalidData",
	"SessionStateUnauthorizedAccessException": "WriteError", "UnauthorizedAccessException": "PermissionDenied",
	"ProcessCommandException": "ObjectNotFound", "ServiceCommandException": "ObjectNotFound",
	"DirectoryNotFoundException": "ObjectNotFound", "ActionPreferenceStopException": "OperationStopped",
	"FileNotFoundException": "ObjectNotFound", "ParseException": "ParserError", "MethodInvocationException": "NotSpecified",
}

// exceptionProperty returns a property of an exception.
func exceptionProperty(r *run, e exception, name, low string) (any, error) {
	if e.more != nil {
		if v, ok := e.more.get(low); ok {
			return v, nil
		}
	}
	switch low {
	case "message":
		return e.message, nil
	case "innerexception":
		if e.inner == nil {
			return nil, nil
		}
		return *e.inner, nil
	case "paramname":
		if _, parameter, ok := strings.Cut(e.message, "\r\nParameter name: "); ok || strings.HasPrefix(e.kind, "System.Argument") {
			return parameter, nil
		}
	case "hresult":
		return int64(-2146233088), nil
	case "errorrecord":
		if e.record != nil && strings.HasPrefix(e.kind, "System.Management.Automation.") {
			return e.record, nil
		}
		return nil, nil
	case "data":
		return newHash(), nil
	case "helplink":
		return nil, nil
	case "stacktrace", "source", "targetsite":
		return nil, lacking("the property %s of exceptions", name)
	}
	return r.noProperty(name)
}

// noProperty returns the value of a property that does not exist: null, or an error in strict mode.
func (r *run) noProperty(name string) (any, error) {
	if r.strictness() >= 2 {
		return nil, broken("PropertyNotFoundException", "PropertyNotFoundStrict",
			"The property '%s' cannot be found on this object. Verify that the property exists.", name)
	}
	return nil, nil
}

// putMember assigns a value to a property.
func (r *run) putMember(t member, v any) error {
	name, err := r.nameOf(t.name)
	if err != nil {
		return err
	}
	of, err := r.owner(t.of, t.static)
	if err != nil {
		return err
	}
	if err := r.take(32); err != nil {
		return err
	}
	if t.static {
		kind, _ := of.(typeValue)
		return r.putStatic(kind.name, name, v)
	}
	switch o := of.(type) {
	case *hashtable:
		if key, err := r.keyOfMember(t.name); isNumber(key) || err != nil {
			o.set(key, v)
			return err
		}
		o.set(name, v)
		return nil
	case *reference:
		if strings.EqualFold(name, "value") {
			o.put(v)
			return nil
		}
	case *object:
		if o.kind == "System.Management.Automation.PSNoteProperty" && strings.EqualFold(name, "value") {
			if owner, ok := o.get("owner"); ok {
				if to, ok := owner.(*object); ok && !to.closed {
					to.set(text(o.read("Name")), v)
					o.set("Value", v)
					return nil
				}
			}
		}
		if done, err := r.putFileTime(o, name, v); done {
			return err
		}
		if _, ok := o.get(name); ok && (!o.closed || writable[o.kind]) {
			o.set(name, v)
			return nil
		}
		if o.closed {
			return lacking("assignment to the property %s of %s", name, o.kind)
		}
		if _, ok := of.(*object); ok && !o.closed {
			return broken("SetValueInvocationException", "ExceptionWhenSetting", "Exception setting \"%s\": \"The property '%s' cannot be found on "+
				"this object. Verify that the property exists and can be set.\"", name, name)
		}
	case nil, *array:
	case string:
		if strings.EqualFold(name, "length") {
			return broken("RuntimeException", "PropertyAssignmentException", "'Length' is a ReadOnly property.")
		}
	default:
		if known, ok := realMembers()[strings.ToLower(kindOf(of))]; !ok || strings.Contains(known, " "+strings.ToLower(name)+" ") {
			return lacking("assignment to the property %s of %s", name, kindOf(of))
		}
	}
	id := "PropertyAssignmentException"
	if of == nil {
		id = "PropertyNotFound"
	}
	return broken("RuntimeException", id,
		"The property '%s' cannot be found on this object. Verify that the property exists and can be set.", name)
}

// writable are the kinds of the system's objects whose properties scripts can set.
var writable = map[string]bool{kindClient: true}

// derived returns a property of an object that is computed; ok is false for other names.
func (r *run) derived(o *object, low string) (any, bool, error) {
	switch o.kind {
	case kindWatch:
		switch low {
		case "elapsed":
			return r.elapsed(o), true, nil
		case "elapsedmilliseconds":
			return int64(r.elapsed(o) / time.Millisecond), true, nil
		}
	case kindFile, kindDirectory:
		return r.fileProperty(o, low)
	case kindReader:
		if low == "endofstream" {
			data, _ := o.read("bytes").([]byte)
			return len(data) == 0, true, nil
		}
	case kindCommand:
		if low == "parameters" {
			return commandParameters(o)
		}
	case kindMatches, kindMatchGroups:
		if low == "count" {
			return int64(len(list(o.read("items")))), true, nil
		}
		a, _ := o.read("items").(*array)
		v, err := r.listProperty(a, low, low)
		return v, true, err
	case kindBuilder:
		if low == "length" {
			return int64(len([]rune(text(o.read("text"))))), true, nil
		}
	}
	return nil, false, nil
}

// groupItem returns a group of a match by number or name, or a match by number.
func (r *run) groupItem(o *object, by any) (any, bool, error) {
	items, _ := o.get("items")
	if n, _, ok := wholeOf(by); ok {
		a := list(items)
		if n >= 0 && n < int64(len(a)) {
			return a[n], true, nil
		}
		return nil, false, nil
	}
	for _, g := range list(items) {
		if one, ok := g.(*object); ok {
			if name, _ := one.get("Name"); strings.EqualFold(text(name), text(by)) {
				return one, true, nil
			}
		}
	}
	return nil, false, nil
}

// scriptedValue returns the value of a scripted member. Its script block runs with the object as $this.
func (r *run) scriptedValue(o *object, s scripted) (any, error) {
	if s.alias != "" {
		return r.property(o, s.alias)
	}
	if s.kind == "ScriptMethod" {
		return s.get, nil
	}
	items, err := r.gather(func(out sink) error { return r.withThis(o, s.get, nil, out) })
	return plain(single(items)), err
}

// computedMembers returns an object for output: script properties are replaced by their values, and script methods are removed.
func (r *run) computedMembers(v any) (any, error) {
	o, ok := v.(*object)
	if !ok || !slices.ContainsFunc(o.fields, func(f field) bool { _, own := f.value.(scripted); return own }) {
		return v, nil
	}
	out := *o
	out.fields = nil
	for _, f := range o.fields {
		if s, own := f.value.(scripted); own {
			if s.kind == "ScriptMethod" {
				continue
			}
			var err error
			if f.value, err = r.scriptedValue(o, s); err != nil {
				return nil, err
			}
		}
		out.fields = append(out.fields, f)
	}
	return &out, nil
}

// withThis runs a script block with an object as $this.
func (r *run) withThis(o *object, f function, args []any, out sink) error {
	scope := newScope(r.scope)
	scope.vars["this"] = &cell{value: o}
	outer := r.scope
	r.scope = scope
	defer func() { r.scope = outer }()
	return r.callFunction(f, unnamed(args...), nil, out)
}

// putFileTime sets a time of a file or folder; done is false for other properties.
func (r *run) putFileTime(o *object, name string, v any) (done bool, err error) {
	switch low := strings.ToLower(name); {
	case o.kind != kindFile && o.kind != kindDirectory:
		return false, nil
	case !strings.Contains(" lastwritetime lastwritetimeutc creationtime creationtimeutc lastaccesstime ", " "+low+" "):
		return false, nil
	case strings.HasPrefix(low, "lastwrite"):
		name = "LastWriteTime"
	}
	t, err := toTime(v)
	if err == nil && name == "LastWriteTime" {
		at := text(o.read("FullName"))
		err = r.fileError(r.m.Root.Chtimes(at, t), at)
		o.set("LastWriteTimeUtc", t)
	}
	o.set(name, t)
	return true, err
}
