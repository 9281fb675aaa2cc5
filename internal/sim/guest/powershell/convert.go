package powershell

import (
	"encoding/hex"
	"math"
	"math/big"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/internal/dotnet"
)

// accelerators are the short names of types that PowerShell writes when a type becomes text.
const accelerators = " array " +
	"bool byte char cultureinfo datetime decimal double float guid hashtable int ipaddress long ordered pscredential " +
	"psobject ref regex sbyte scriptblock securestring short string switch timespan type uint ulong uri ushort version void xml object "

// shortName returns the text of a type: its short name, if it has one.
func shortName(key string) string {
	if base, ok := strings.CutSuffix(key, "[]"); ok {
		return shortName(base) + "[]"
	}
	full := typeName(key)
	for short := range strings.FieldsSeq(accelerators) {
		if typeNames[short] == full && short != "psobject" {
			return short
		}
	}
	if full == customKind {
		return "psobject"
	}
	if generic, _, ok := strings.Cut(full, "`"); ok && strings.Contains(key, "[") {
		_, inner, _ := strings.Cut(strings.TrimSuffix(key, "]"), "[")
		names := strings.Split(inner, ",")
		for i, n := range names {
			names[i] = shortName(n)
		}
		return generic + "[" + strings.Join(names, ",") + "]"
	}
	return full
}

// typeName returns the full name of a type.
func typeName(name string) string {
	if base, ok := strings.CutSuffix(name, "[]"); ok {
		return typeName(base) + "[]"
	}
	if full, ok := typeNames[name]; ok {
		return full
	}
	if full, ok := properNames[name]; ok {
		return full
	}
	if generic, _, ok := strings.Cut(name, "["); ok && strings.HasPrefix(name, "collections.generic.") {
		return typeName(generic) + map[bool]string{true: "`2", false: "`1"}[strings.HasSuffix(generic, "dictionary")]
	}
	return name
}

// cannotConvert returns the failure of a conversion that does not exist.
func cannotConvert(v any, kind string) error {
	full := typeName(kind)
	basic := isValueType(kind) && kind != "timespan" || kind == "bool" || kind == "decimal"
	convertible := false // an IConvertible value throws another exception
	switch v.(type) {
	case int64, float64, short, sized, decimal:
		convertible = basic
	case bool, char, time.Time:
		convertible = true
	}
	if convertible {
		from, to := kindOf(v), full
		if basic {
			from, to = strings.TrimPrefix(from, "System."), strings.TrimPrefix(to, "System.")
		}
		return parseFailure("InvalidCastIConvertible", v, kind, "Invalid cast from '"+from+"' to '"+to+"'.")
	}
	if isList(v) {
		return castFailure("ConvertToFinalInvalidCastException", "Cannot convert the \"%[1]s\" value of type \"%[1]s\" to type \"%[2]s\".",
			kindOf(v), full)
	}
	return castFailure("ConvertToFinalInvalidCastException", "Cannot convert the \"%s\" value of type \"%s\" to type \"%s\".",
		text(v), kindOf(v), typeName(kind))
}

// castFailure returns the failure of a cast.
func castFailure(id, format string, a ...any) *failure {
	f := broken("RuntimeException", id, format, a...)
	f.category = "InvalidArgument"
	f.exception.inner = &exception{kind: kindInvalidCast, message: f.exception.message}
	return f
}

// parseFailure returns the failure of a conversion in which a method of .NET throws an exception.
func parseFailure(id string, v any, kind, why string) error {
	shown := text(v)
	if _, ok := v.(time.Time); ok {
		shown = cellText(v)
	}
	return castFailure(id, "Cannot convert value \"%s\" to type \"%s\". Error: \"%s\"", shown, typeName(kind), why)
}

const (
	parseThrew   = "InvalidCastParseTargetInvocation"
	cultureThrew = "InvalidCastParseTargetInvocationWithFormatProvider"
)

// convert returns a value converted to a type, whose name is in lower case.
func (r *run) convert(kind string, v any) (any, error) {
	v = plain(v)
	if base, ok := strings.CutSuffix(kind, "[]"); ok {
		return r.convertAll(base, v)
	}
	if base, ok := strings.CutPrefix(kind, "nullable["); ok {
		if v == nil {
			return nil, nil
		}
		return r.convert(strings.TrimSuffix(base, "]"), v)
	}
	if h, ok := v.(*hashtable); ok && (kind == "datetime" || kind == "version" || kind == "guid" || kind == "timespan" || kind == "decimal") {
		if len(h.keys) > 0 { // the keys of the hashtable are the properties of a new object
			return nil, broken("RuntimeException", "ObjectCreationError", "Cannot create object of type \"%[1]s\". The property '%[2]s' was not "+
				"found for the '%[1]s' object. There is no settable property available.", typeName(kind), text(h.keys[0]))
		}
		if kind == "version" {
			return toVersion("0.0")
		}
		return zero(parameter{kinds: []string{kind}}), nil
	}
	if v == nil {
		if null, err := nullStays(kind); null || err != nil {
			return nil, err
		}
	}
	switch kind {
	case "object", "psobject":
		return v, nil
	case "string":
		if a, ok := v.(*array); ok && len(a.items) == 1 {
			if isList(a.items[0]) {
				return kindOf(a.items[0]), nil
			}
			return r.text(a.items[0])
		}
		return r.text(v)
	case "int", "int32", "long", "int64", "int16", "uint16", "uint32", "uint64", "byte", "sbyte", "uint", "ulong", "ushort", "short":
		return r.bounded(kind, v)
	case "decimal":
		return toDecimal(v)
	case "double", "float", "single":
		return toFloat(kind, v)
	case "bool", "boolean", "switch", "management.automation.switchparameter":
		if _, ok := v.(bool); !ok && v != nil && kind != "bool" && kind != "boolean" {
			return nil, cannotConvert(v, kind)
		}
		return truth(v), nil
	case "ref", "management.automation.psreference":
		if p, ok := v.(*reference); ok {
			return p, nil
		}
		return nil, broken("RuntimeException", "MethodArgumentConversionInvalidCastArgument", "Reference type is expected in argument.")
	case "char":
		return toChar(v)
	case "datetime":
		return toTime(v)
	case "timespan":
		return toSpan(v)
	case "guid":
		if g, ok := v.(guid); ok {
			return g, nil
		}
		if !readable(v) {
			return nil, cannotConvert(v, kind)
		}
		return toGUID(text(v))
	case "version":
		_, ready := v.(version)
		if o, ok := v.(*object); !readable(v) && !ready && !(ok && o.kind == "System.Version") {
			return nil, cannotConvert(v, kind)
		}
		return toVersion(text(v))
	case "array":
		if a, ok := v.(*array); ok && !canGrow(a) {
			return a, nil
		}
		return newArray(list(v)...), nil
	case "collections.ilist", "collections.ienumerable", "collections.icollection":
		if isList(v) {
			return v, nil
		}
		return newArray(v), nil
	case "hashtable", "collections.hashtable", "collections.idictionary":
		h, ok := v.(*hashtable)
		if ok && h.ordered && kind != "collections.idictionary" {
			own := newHash()
			for k, value := range h.all() {
				own.set(k, value)
			}
			return own, nil
		}
		if ok {
			return v, nil
		}
		return nil, cannotConvert(v, kind)
	case "pscustomobject", "management.automation.pscustomobject":
		return customOf(v), nil
	case "scriptblock", "securestring", "security.securestring":
		if isType(v, kind) {
			return v, nil
		}
		return nil, cannotConvert(v, kind)
	case "void":
		return void{}, nil
	case "uri":
		if o, ok := v.(*object); !readable(v) && !(ok && o.kind == kindUri) {
			return nil, cannotConvert(v, kind)
		}
		return uriOf(text(v), false)
	case "datetimeoffset":
		if t, ok := v.(time.Time); ok {
			return offsetObject(t), nil
		} else if o, ok := v.(*object); ok && o.kind == "System.DateTimeOffset" {
			return o, nil
		}
	case "ipaddress", "net.ipaddress":
		return toAddress(v)
	case "regex", "text.regularexpressions.regex":
		if o, ok := v.(*object); ok && o.kind == kindRegex {
			return o, nil
		}
		if !readable(v) {
			return nil, cannotConvert(v, kind)
		}
		o, err := regexObject([]any{text(v)})
		if failed(err) != nil {
			err = castFailure("InvalidCastFromStringToRegex", "Cannot convert value \"%s\" to type \"%s\". Error: \"%s\"", text(v), kindRegex,
				failed(err).exception.message)
		}
		return o, err
	case "collections.arraylist":
		if _, ok := v.(char); ok { // a number is the capacity of the list
			v = newArray()
		}
		if a, ok := v.(*array); ok && a.kind == "System.Collections.ArrayList" {
			return a, nil
		}
		if h, ok := v.(*hashtable); ok {
			entries, err := r.hashCall(h, "GetEnumerator", "getenumerator", nil)
			if err != nil {
				return nil, err
			}
			v = entries
		}
		if !isList(v) {
			return nil, cannotConvert(v, kind)
		}
		a := newArray(append([]any(nil), list(v)...)...)
		a.kind = "System.Collections.ArrayList"
		return a, nil
	case "type":
		if t, ok := v.(typeValue); ok {
			return t, nil
		}
		if _, ok := v.(string); !ok {
			if readable(v) {
				return nil, castFailure("InvalidCastFromStringToType", "Cannot convert the \"%s\" value of type \"System.String\" to type "+
					"\"System.Type\".", text(v))
			}
			return nil, cannotConvert(v, kind)
		}
		return typeValue{typeKey(text(v))}, checkType(typeKey(text(v)))
	case "cultureinfo", "globalization.cultureinfo":
		if o, ok := v.(*object); ok && o.kind == kindCulture {
			return o, nil
		}
		return cultureNamed(text(v))
	case "xml":
		return nil, lacking("XML documents ([xml])")
	}
	if isType(v, kind) {
		return v, nil
	}
	if _, ok := enumerationTypes[kind]; ok {
		return toEnumeration(kind, v)
	}
	for prefix, name := range map[string]string{"collections.generic.list[": "System.Collections.Generic.List`1",
		"collections.generic.queue[": "System.Collections.Generic.Queue`1", "collections.generic.stack[": "System.Collections.Generic.Stack`1",
		"collections.generic.hashset[": "System.Collections.Generic.HashSet`1", "collections.queue": "System.Collections.Queue",
		"collections.stack": "System.Collections.Stack"} {
		rest, ok := strings.CutPrefix(kind, prefix)
		if !ok {
			continue
		}
		a, isArray := v.(*array)
		if isArray && a.kind == name {
			return a, nil
		}
		a = newArray()
		a.kind, a.item = name, strings.TrimSuffix(rest, "]")
		for _, item := range list(v) {
			if _, err := r.addTo(a, item); err != nil {
				return nil, err
			}
		}
		return a, nil
	}
	if err := checkType(kind); err != nil {
		return nil, err
	}
	if s, ok := v.(string); ok && exceptionType(kind) {
		return makeException(kind, []any{s}), nil
	}
	if e, ok := v.(exception); ok && exceptionType(kind) {
		if e.is(kind) {
			return e, nil
		}
		return nil, cannotConvert(v, kind)
	}
	return nil, lacking("a cast to [%s]", kind)
}

// nullConvertible are the types to which null is converted, instead of staying null.
const nullConvertible = " string bool boolean switch management.automation.switchparameter char decimal double float single void " +
	"long int64 uint64 ulong ref management.automation.psreference object psobject xml "

// nullStays reports whether null converted to a type stays null. It returns an error if the conversion is not possible.
func nullStays(kind string) (bool, error) {
	if _, isEnum := enumerationTypes[kind]; isEnum {
		return false, castFailure("nullToEnumInvalidCast", "Cannot convert null to type \"%s\" due to enumeration values that are not valid.",
			typeName(kind))
	}
	if kind == "datetime" || kind == "timespan" || kind == "guid" {
		return false, castFailure("nullToObjectInvalidCast", "Cannot convert null to type \"%s\".", typeName(kind))
	}
	if _, whole := ranges[kind]; whole || strings.Contains(nullConvertible, " "+kind+" ") {
		return false, nil
	}
	if strings.HasPrefix(kind, "collections.") {
		return true, nil
	}
	return true, checkType(kind)
}

// readable reports whether a value is a text or a number, which many types of .NET parse.
func readable(v any) bool {
	switch v.(type) {
	case string, int64, float64, short, sized, decimal:
		return true
	}
	return false
}

// convertAll returns the items of a value converted to a type, as an array of the type.
func (r *run) convertAll(kind string, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	if b, ok := v.([]byte); ok && kind == "byte" {
		return b, nil
	}
	if s, ok := v.(string); ok && kind == "char" {
		out := newArray()
		out.kind = "Char[]"
		for _, c := range s {
			out.items = append(out.items, char(c))
		}
		return out, r.take(16 * len(s))
	}
	if a, ok := v.(*array); ok && (a.kind == typeName(kind)+"[]" || kind == "object" && a.kind == "Object[]") {
		return a, nil
	}
	out := newArray()
	out.kind = typeName(kind) + "[]"
	items := list(v)
	if h, ok := v.(*hashtable); ok {
		items = []any{h}
	}
	for _, item := range items {
		c, err := r.convert(kind, item)
		_, isText := v.(string)
		if f := failed(err); f != nil && isText {
			return nil, parseFailure("InvalidCastExceptionScalarToArray", v, kind+"[]", f.exception.message)
		} else if err != nil {
			return nil, err
		}
		out.items = append(out.items, c)
	}
	if kind == "byte" {
		data := make([]byte, len(out.items))
		for i, item := range out.items {
			n, _, _ := wholeOf(item)
			data[i] = byte(n)
		}
		return data, nil
	}
	return out, nil
}

var ranges = map[string][2]float64{
	"int": {math.MinInt32, math.MaxInt32}, "int32": {math.MinInt32, math.MaxInt32},
	"int16": {math.MinInt16, math.MaxInt16}, "uint16": {0, math.MaxUint16}, "uint32": {0, math.MaxUint32},
	"byte": {0, 255}, "sbyte": {-128, 127}, "uint": {0, math.MaxUint32}, "ushort": {0, math.MaxUint16},
	"short": {math.MinInt16, math.MaxInt16},
}

// bounded converts a value to a whole number type. Halves are rounded to the even neighbour.
func (r *run) bounded(kind string, v any) (any, error) {
	if s, ok := v.(string); ok && kind == "uint64" {
		if n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 64); err == nil {
			return sized{"UInt64", int64(n)}, nil
		}
	}
	if isList(v) {
		return nil, cannotConvert(v, kind)
	}
	n, err := r.integer(v)
	if failed(err) != nil {
		if _, isText := v.(string); isText {
			return nil, parseFailure("InvalidCastFromStringToInteger", v, kind, "Input string was not in a correct format.")
		}
		return nil, cannotConvert(v, kind)
	} else if err != nil {
		return nil, err
	}
	if bounds, ok := ranges[kind]; ok && (float64(n) < bounds[0] || float64(n) > bounds[1]) {
		id := "InvalidCastIConvertible"
		if _, isText := v.(string); isText {
			id = "InvalidCastFromStringToInteger"
		}
		return nil, parseFailure(id, v, kind, "Value was either too large or too small for an "+limitName(kind)+".")
	}
	return sizedOf(strings.TrimPrefix(typeName(kind), "System."), n), nil
}

// limitName returns the name of a whole number type in .NET's messages about its limits.
func limitName(kind string) string {
	switch kind {
	case "byte":
		return "unsigned byte"
	case "sbyte":
		return "signed byte"
	}
	return strings.TrimPrefix(typeName(kind), "System.")
}

func toDecimal(v any) (any, error) {
	switch n := v.(type) {
	case nil:
		return decimal{new(big.Int), 0}, nil
	case string:
		if strings.TrimSpace(n) == "" {
			return decimal{new(big.Int), 0}, nil
		}
		if d, ok := parseDecimal(strings.ReplaceAll(n, ",", "")); ok {
			for ten := big.NewInt(10); d.scale > 0 && new(big.Int).Rem(d.n, ten).Sign() == 0; d.scale-- {
				d.n.Quo(d.n, ten)
			}
			return d, nil
		}
	case bool, char, enumMember:
		f, _ := float(v)
		v = int64(f)
	}
	if d, ok := decimalOf(v); ok {
		return d, nil
	}
	return toFloat("decimal", v)
}

// integer returns a value as a whole number. Halves are rounded to the even neighbour.
func (r *run) integer(v any) (int64, error) {
	if e, ok := v.(*array); ok && len(e.items) == 1 {
		v = e.items[0]
	}
	n, err := r.numeric(v)
	if err != nil {
		return 0, err
	}
	switch n := n.(type) {
	case int64:
		return n, nil
	case sized:
		return n.n, nil
	case decimal:
		whole := n.round(0).n
		if !whole.IsInt64() {
			return 0, cannotConvert(v, "int64")
		}
		return whole.Int64(), nil
	case float64:
		if math.IsNaN(n) || math.Abs(n) >= 1<<63 {
			return 0, cannotConvert(v, "int64")
		}
		return int64(math.RoundToEven(n)), nil
	}
	return 0, nil
}

func toFloat(kind string, v any) (any, error) {
	f, ok := float(v)
	if !ok && v != nil {
		if _, isText := v.(string); !isText {
			return nil, cannotConvert(v, kind)
		}
		return nil, parseFailure(map[bool]string{true: "InvalidCastFromStringToDecimal", false: "InvalidCastFromStringToDoubleOrSingle"}[kind ==
			"decimal"], v, kind, "Input string was not in a correct format.")
	}
	if kind == "single" || kind == "float" {
		return short(f), nil
	}
	return f, nil
}

// parseNumber returns the number in a text, as casts read it.
func parseNumber(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, true
	}
	if h, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		n, err := strconv.ParseInt(h, 16, 64)
		return float64(n), err == nil
	}
	low := strings.ToLower(s)
	if len(low) > 2 {
		if times, ok := multiples[low[len(low)-2:]]; ok {
			f, err := strconv.ParseFloat(low[:len(low)-2], 64)
			return f * times, err == nil
		}
	}
	if strings.ContainsAny(low, "xpn_") || strings.Contains(low, "inf") {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	return f, err == nil
}

func toChar(v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return char(0), nil
	case char:
		return v, nil
	case sized:
		return toChar(v.n)
	case int64:
		if v >= 0 && v <= 0xffff {
			return char(v), nil
		}
	case string:
		if runes := []rune(v); len(runes) == 1 {
			return char(runes[0]), nil
		}
		return nil, parseFailure(parseThrew, v, "char", "String must be exactly one character long.")
	}
	return nil, cannotConvert(v, "char")
}

func toTime(v any) (time.Time, error) {
	switch v := v.(type) {
	case time.Time:
		return v, nil
	case sized:
		return toTime(v.n)
	case char:
		return toTime(int64(v))
	case int64:
		if v < 0 {
			return time.Time{}, parseFailure("InvalidCastConstructorException", v, "datetime", "Ticks must be between DateTime.MinValue.Ticks and "+
				"DateTime.MaxValue.Ticks.\r\nParameter name: ticks")
		}
		return fromTicks(v), nil
	case float64:
		return toTime(number(v))
	case string:
		if t, err := parsed(invariant.ParseDate(v, time.Now().UTC())); err == nil {
			return t, nil
		}
	}
	if _, isText := v.(string); !isText {
		return time.Time{}, cannotConvert(v, "datetime")
	}
	return time.Time{}, parseFailure(cultureThrew, v, "datetime", "String was not recognized as a valid DateTime.")
}

func toSpan(v any) (time.Duration, error) {
	switch v := v.(type) {
	case time.Duration:
		return v, nil
	case sized:
		return toSpan(v.n)
	case int64:
		return time.Duration(v) * 100, nil
	case float64:
		return toSpan(number(v))
	case char:
		return toSpan(int64(v))
	case string:
		if d, ok := dotnet.ParseSpan(v); ok {
			return d, nil
		}
		return 0, parseFailure(cultureThrew, v, "timespan", "String '"+v+"' was not recognized as a valid TimeSpan.")
	}
	return 0, cannotConvert(v, "timespan")
}

// toGUID parses 32 hexadecimal digits, with or without dashes and braces.
func toGUID(s string) (any, error) {
	digits := strings.ToLower(strings.Trim(strings.TrimSpace(s), "{}()"))
	if len(digits) == 36 && strings.Count(digits, "-") == 4 {
		digits = strings.ReplaceAll(digits, "-", "")
	}
	if _, err := hex.DecodeString(digits); err != nil || len(digits) != 32 {
		return nil, parseFailure(cultureThrew, s, "guid", "Guid should contain 32 digits with 4 dashes (xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx).")
	}
	return guid(digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]), nil
}

// toVersion parses two to four numbers with dots between them.
func toVersion(s string) (any, error) {
	parts := strings.Split(s, ".")
	o := system("System.Version", nil)
	names := []string{"Major", "Minor", "Build", "Revision"}
	if len(parts) < 2 || len(parts) > 4 {
		return nil, parseFailure(parseThrew, s, "version", "Version string portion was too short or too long.\r\nParameter name: input")
	}
	for i, name := range names {
		n := int64(-1)
		if i < len(parts) {
			v, err := strconv.ParseUint(parts[i], 10, 31)
			if err != nil {
				return nil, parseFailure(parseThrew, s, "version", "Input string was not in a correct format.")
			}
			n = int64(v)
		}
		o.set(name, n)
	}
	n, _ := o.read("Revision").(int64)
	o.set("MajorRevision", n>>16)
	o.set("MinorRevision", int64(int16(n)))
	o.set("text", s)
	return o, nil
}

func versionText(v any) any {
	if o, ok := v.(*object); ok {
		if s, ok := o.get("text"); ok {
			return s
		}
	}
	return v
}

// orderVersions returns -1, 0 or 1 if version a is lower than, equal to or higher than b.
func orderVersions(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		n, m := -1, -1
		if i < len(x) {
			n, _ = strconv.Atoi(x[i])
		}
		if i < len(y) {
			m, _ = strconv.Atoi(y[i])
		}
		if n != m {
			return map[bool]int{true: 1, false: -1}[n > m]
		}
	}
	return 0
}

// toAddress converts a number, bytes or a text to an IPAddress.
func toAddress(v any) (any, error) {
	if c, ok := v.(char); ok {
		v = int64(c)
	}
	if n, _, ok := wholeOf(v); ok && n >= 0 && n <= math.MaxUint32 { // the lowest byte of the number is the first byte of the address
		v = netip.AddrFrom4([4]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}).String()
	}
	if b, ok := v.([]byte); ok {
		if a, ok := netip.AddrFromSlice(b); ok {
			v = a.String()
		}
	}
	if o, ok := v.(*object); !readable(v) && !(ok && o.kind == kindIPAddress) {
		return nil, cannotConvert(v, "ipaddress")
	}
	written := text(v)
	if n, err := strconv.ParseUint(written, 10, 32); err == nil { // a single decimal number is the whole address
		written = netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}).String()
	}
	if parts := strings.Split(written, "."); len(parts) == 2 || len(parts) == 3 { // the last part has the missing bytes
		written = strings.Join(parts[:len(parts)-1], ".") + strings.Repeat(".0", 4-len(parts)) + "." + parts[len(parts)-1]
	}
	a, err := netip.ParseAddr(written)
	if err != nil {
		return nil, parseFailure(parseThrew, v, "net.ipaddress", "An invalid IP address was specified.")
	}
	family := enumerationOf("net.sockets.addressfamily", 2)
	if a.Is6() {
		family = enumerationOf("net.sockets.addressfamily", 23)
	}
	bytes := a.AsSlice()
	o := system(kindIPAddress, strings.Fields("AddressFamily ScopeId IsIPv6Multicast IsIPv6LinkLocal IsIPv6SiteLocal IsIPv6Teredo "+
		"IsIPv6UniqueLocal IsIPv4MappedToIPv6 Address IPAddressToString"), "IPAddressToString", a.String(),
		"AddressFamily", family, "ScopeId", nil, "IsIPv6Multicast",
		a.Is6() && a.IsMulticast(), "IsIPv6LinkLocal", a.Is6() && a.IsLinkLocalUnicast(), "IsIPv6SiteLocal", false, "IsIPv6Teredo", false,
		"IsIPv6UniqueLocal", a.Is6() && a.IsPrivate(), "IsIPv4MappedToIPv6", a.Is4In6(), "Address", nil, "text",
		a.String(), "bytes", bytes)
	if a.Is4() {
		o.set("Address", int64(bytes[0])|int64(bytes[1])<<8|int64(bytes[2])<<16|int64(bytes[3])<<24)
	}
	return o, nil
}
