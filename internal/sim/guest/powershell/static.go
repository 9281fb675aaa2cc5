package powershell

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"casement.dev/casement/internal/dotnet"
	"github.com/dlclark/regexp2"
)

// staticMethod is a static method or property of a type. A property is called without arguments.
type staticMethod func(r *run, args []any) (any, error)

// statics are the simulated static methods by type::name in lower case; properties are the static properties that a run computes.
var statics, properties map[string]staticMethod

func init() { // the tables cannot be initial values, because their functions refer to statics
	statics, properties = map[string]staticMethod{}, staticProperties
	for _, table := range []map[string]staticMethod{textStatics, mathStatics, fileStatics, systemStatics} {
		for name, f := range table {
			statics[name] = f
		}
	}
	for name, f := range fileStatics {
		if kind, method, _ := strings.Cut(name, "::"); kind != "io.path" && method != "exists" && method != "getcurrentdirectory" {
			statics[name] = nonEmptyPaths(f, map[bool]int{true: 2, false: 1}[method == "copy" || method == "move"])
		}
	}
}

// settings are static properties that scripts set and that have no effect in the simulation.
var settings = map[string]bool{
	"net.servicepointmanager::securityprotocol":                    true,
	"net.servicepointmanager::servercertificatevalidationcallback": true,
	"net.servicepointmanager::expect100continue":                   true,
	"net.servicepointmanager::defaultconnectionlimit":              true, "console::outputencoding": true, "console::inputencoding": true,
}

// staticValue returns a static property, field or enumeration member of a type.
func (r *run) staticValue(kind, name string) (any, error) {
	low := strings.ToLower(name)
	if members, ok := enumeration(kind); ok {
		for _, m := range members {
			if strings.EqualFold(m.name, name) {
				return m, nil
			}
		}
		return nil, lacking("[%s]::%s", kind, name)
	}
	if settings[kind+"::"+low] {
		return "Tls12", nil
	}
	if f, ok := properties[kind+"::"+low]; ok {
		return f(r, nil)
	}
	if v, ok := constants[typeKey(typeName(kind))+"::"+low]; ok {
		if s, ok := v.(addressText); ok {
			return toAddress(string(s))
		}
		return v, nil
	}
	if strings.HasPrefix(kind, "stringcomparer") {
		return system("System.StringComparer", nil, "text", name), nil
	}
	if proper := typeKey(typeName(kind)); proper != kind { // the type has a second name
		return r.staticValue(proper, name)
	}
	return nil, lacking("[%s]::%s", kind, name)
}

// addressText is the text of an IPAddress that is a constant.
type addressText string

// mostDecimal is the largest decimal, of 96 bits.
var mostDecimal = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 96), big.NewInt(1))

// constants are static fields by type::name. The types are named as typeKey does.
var constants = map[string]any{
	"net.ipaddress::any": addressText("0.0.0.0"), "net.ipaddress::broadcast": addressText("255.255.255.255"),
	"net.ipaddress::loopback": addressText("127.0.0.1"), "net.ipaddress::ipv6loopback": addressText("::1"),
	"net.ipaddress::ipv6any": addressText("::"),
	"byte::minvalue":         sized{"Byte", 0}, "byte::maxvalue": sized{"Byte", math.MaxUint8},
	"int16::maxvalue":  sized{"Int16", math.MaxInt16},
	"uint16::minvalue": sized{"UInt16", 0}, "uint16::maxvalue": sized{"UInt16", math.MaxUint16},
	"uint32::minvalue": sized{"UInt32", 0}, "uint32::maxvalue": sized{"UInt32", math.MaxUint32},
	"uint64::minvalue": sized{"UInt64", 0}, "uint64::maxvalue": sized{"UInt64", -1},
	"int32::minvalue": int64(math.MinInt32), "int32::maxvalue": int64(math.MaxInt32),
	"int64::minvalue": int64(math.MinInt64), "int64::maxvalue": int64(math.MaxInt64),
	"double::minvalue": -math.MaxFloat64, "double::maxvalue": math.MaxFloat64, "double::nan": math.NaN(),
	"double::positiveinfinity": math.Inf(1), "double::negativeinfinity": math.Inf(-1),
	"decimal::minvalue": decimal{new(big.Int).Neg(mostDecimal), 0}, "decimal::maxvalue": decimal{mostDecimal, 0},
	"math::e": math.E, "math::pi": math.Pi, "string::empty": "", "intptr::zero": int64(0),
	"guid::empty":        guid("00000000-0000-0000-0000-000000000000"),
	"datetime::minvalue": time.Time{}, "datetime::maxvalue": time.Date(9999, 12, 31, 23, 59, 59, 999999900, time.UTC),
	"environment::newline": "\r\n", "environment::is64bitoperatingsystem": true, "environment::is64bitprocess": true,
	"environment::processorcount": int64(2), "environment::systemdirectory": `C:\Windows\system32`,
	"io.path::directoryseparatorchar": char('\\'), "io.path::pathseparator": char(';'),
	"timespan::zero": time.Duration(0),
}

// staticProperties are static properties by type::name in lower case.
var staticProperties = map[string]staticMethod{
	"datetime::now":                               func(r *run, _ []any) (any, error) { return r.now(), nil },
	"datetime::utcnow":                            func(r *run, _ []any) (any, error) { return r.now().In(utcZone), nil },
	"datetime::today":                             func(r *run, _ []any) (any, error) { return r.now().Truncate(24 * time.Hour), nil },
	"environment::machinename":                    func(r *run, _ []any) (any, error) { return strings.ToUpper(r.m.ComputerName), nil },
	"environment::username":                       func(r *run, _ []any) (any, error) { v, _ := r.env("USERNAME"); return v, nil },
	"environment::userdomainname":                 func(r *run, _ []any) (any, error) { return strings.ToUpper(r.m.ComputerName), nil },
	"environment::currentdirectory":               func(r *run, _ []any) (any, error) { return r.session.Dir, nil },
	"console::error":                              func(*run, []any) (any, error) { return system(kindConsole, nil, "error", true), nil },
	"console::out":                                func(*run, []any) (any, error) { return system(kindConsole, nil, "error", false), nil },
	"text.encoding::utf8":                         encodingObject("utf8"),
	"text.encoding::unicode":                      encodingObject("unicode"),
	"text.encoding::ascii":                        encodingObject("ascii"),
	"text.encoding::default":                      encodingObject("default"),
	"text.encoding::bigendianunicode":             encodingObject("bigendianunicode"),
	"globalization.cultureinfo::invariantculture": cultureObject("", "Invariant Language (Invariant Country)"),
	"globalization.cultureinfo::currentculture":   cultureObject("en-US", "English (United States)"),
	"globalization.cultureinfo::currentuiculture": cultureObject("en-US", "English (United States)"),
	"datetimeoffset::now":                         func(r *run, _ []any) (any, error) { return offsetObject(r.now()), nil },
	"datetimeoffset::utcnow":                      func(r *run, _ []any) (any, error) { return offsetObject(r.now()), nil },
	"environment::osversion": func(r *run, _ []any) (any, error) {
		v, err := toVersion(r.m.Image.Build)
		if err != nil {
			v = version(r.m.Image.Build)
		}
		return system("System.OperatingSystem", nil, "Platform", "Win32NT", "Version", v, "VersionString",
			"Microsoft Windows NT "+r.m.Image.Build), nil
	},
}

func (r *run) putStatic(kind, name string, _ any) error {
	if settings[kind+"::"+strings.ToLower(name)] {
		return nil
	}
	return lacking("assignment to [%s]::%s", kind, name)
}

// staticCall runs a static method or a constructor of a type.
func (r *run) staticCall(kind, name string, args []any) (any, error) {
	low := strings.ToLower(name)
	if low == "new" {
		return r.construct(kind, args)
	}
	if kind == "long" || kind == "int" || kind == "uint32" { // these types have another name in the tables
		if f, ok := statics[typeKey(typeName(kind))+"::"+low]; ok {
			return f(r, args)
		}
	}
	if f, ok := statics[kind+"::"+low]; ok {
		return f(r, args)
	}
	if f, ok := statics[typeKey(typeName(kind))+"::"+low]; ok {
		return f(r, args)
	}
	if _, isEnum := enumerationTypes[kind]; low == "parse" || isEnum && low == "parse" {
		if _, ok := typeNames[kind]; ok || isEnum {
			return r.parseAs(kind, args)
		}
	}
	if low == "tryparse" && len(args) > 1 {
		to, ok := args[len(args)-1].(*reference)
		if !ok {
			return nil, lacking("[%s]::TryParse() without [ref]", kind)
		}
		if value := to.get(); value != nil {
			if _, err := r.convert(kind, value); failed(err) != nil {
				return nil, broken("PSInvalidCastException", "PSInvalidCastException", "Cannot convert the \"%s\" value of type \"%s\" to type "+
					"\"%s\".", text(value), kindOf(value), typeName(kind))
			}
		}
		v, err := r.parseAs(kind, args[:1])
		if failed(err) != nil {
			zero, err := r.convert(kind, zero(parameter{kinds: []string{kind}}))
			if err != nil {
				zero = nil
			}
			to.put(zero)
			return false, nil
		}
		to.put(v)
		return true, err
	}
	if low == "referenceequals" && len(args) == 2 {
		return equal(args[0], args[1], true), nil
	}
	if (low == "compare" || low == "equals") && len(args) == 2 && (kind == "datetime" || kind == "timespan") {
		x, err := r.convert(kind, args[0])
		if err != nil {
			return nil, err
		}
		n, err := r.order(x, args[1], true)
		if low == "equals" {
			return n == 0, err
		}
		return int64(n), err
	}
	if lacksMember(typeName(kind), name) {
		return nil, methodMissing(typeName(kind), name)
	}
	return nil, lacking("[%s]::%s()", kind, name)
}

// parseAs runs Parse of a type.
func (r *run) parseAs(kind string, args []any) (any, error) {
	s := strings.TrimSpace(at(args, 0))
	_, whole := ranges[kind]
	_, numeric := map[string]bool{"long": true, "int64": true, "double": true, "decimal": true, "float": true, "uint64": true}[kind]
	hex := len(args) > 1 && strings.Contains(strings.ToLower(at(args, 1)), "hex")
	switch {
	case kind == "bool" || kind == "boolean":
		if strings.EqualFold(s, "true") || strings.EqualFold(s, "false") {
			return strings.EqualFold(s, "true"), nil
		}
		return nil, thrown("FormatException", "String was not recognized as a valid Boolean.")
	case hex:
		n, err := strconv.ParseUint(s, 16, 64)
		if err != nil {
			return nil, thrown("FormatException", "Input string was not in a correct format.")
		}
		return r.convert(kind, int64(n))
	case (whole || numeric) && (s == "" || strings.ContainsAny(s, "xXkKmMgGtTpP")),
		whole && strings.ContainsAny(s, ".eE,"):
		return nil, thrown("FormatException", "Input string was not in a correct format.")
	case kind == "guid" || kind == "version" || kind == "timespan" || kind == "datetime" || kind == "ipaddress" ||
		kind == "net.ipaddress" || whole || numeric || kind == "char":
	default:
		if _, ok := enumerationTypes[kind]; !ok {
			return nil, lacking("[%s]::Parse()", kind)
		}
	}
	v, err := r.convert(kind, s)
	if f := failed(err); f != nil {
		_, why, _ := strings.Cut(f.exception.message, "Error: \"")
		name := "System.FormatException"
		if strings.Contains(why, "too large") {
			name = "System.OverflowException"
		}
		return nil, broken(name, "FormatException", "%s", strings.TrimSuffix(why, "\""))
	}
	return v, err
}

var textStatics = map[string]staticMethod{
	"string::isnullorempty": func(_ *run, a []any) (any, error) { return at(a, 0) == "", nil },
	"string::isnullorwhitespace": func(_ *run, a []any) (any, error) {
		return strings.TrimSpace(at(a, 0)) == "", nil
	},
	"string::join": func(r *run, a []any) (any, error) {
		if len(a) == 2 {
			return r.join(a[1], at(a, 0))
		}
		return r.join(newArray(a[min(1, len(a)):]...), at(a, 0))
	},
	"string::format": func(r *run, a []any) (any, error) {
		if firstOf(a) == nil {
			return nil, thrown("ArgumentNullException", "Value cannot be null.\r\nParameter name: format")
		}
		if len(a) == 2 {
			return r.composite(at(a, 0), list(a[1]))
		}
		return r.composite(at(a, 0), a[min(1, len(a)):])
	},
	"string::concat": func(r *run, a []any) (any, error) {
		if l, ok := firstOf(a).(*array); ok && len(a) == 1 {
			return r.join(l, "")
		}
		return r.join(newArray(a...), "")
	},
	"string::equals": func(_ *run, a []any) (any, error) { return sameText(at(a, 0), at(a, 1), !ignoresCase(a)), nil },
	"string::compare": func(_ *run, a []any) (any, error) {
		return int64(dotnet.Compare(at(a, 0), at(a, 1), ignoresCase(a))), nil
	},
	"string::compareordinal": func(_ *run, a []any) (any, error) { return int64(strings.Compare(at(a, 0), at(a, 1))), nil },
	"string::new":            func(r *run, a []any) (any, error) { return r.construct("string", a) },
	"char::isdigit":          charIs(unicode.IsDigit), "char::isletter": charIs(unicode.IsLetter),
	"char::isletterordigit": charIs(func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }),
	"char::isupper":         charIs(unicode.IsUpper), "char::islower": charIs(unicode.IsLower), "char::iswhitespace": charIs(unicode.IsSpace),
	"char::ispunctuation": charIs(unicode.IsPunct), "char::isnumber": charIs(unicode.IsNumber),
	"char::toupper": charTo(unicode.ToUpper), "char::tolower": charTo(unicode.ToLower),
	"regex::escape":   func(_ *run, a []any) (any, error) { return escapeRegex(at(a, 0)), nil },
	"regex::unescape": func(_ *run, a []any) (any, error) { return regexp2.Unescape(at(a, 0)) },
	"regex::ismatch":  regexStatic("ismatch", 0),
	"regex::match":    regexStatic("match", 0),
	"regex::matches":  regexStatic("matches", 0),
	"regex::replace":  regexStatic("replace", 1),
	"regex::split":    regexStatic("split", 0),
	"convert::tobase64string": func(r *run, a []any) (any, error) {
		b, err := bytesOf(firstOf(a))
		return base64.StdEncoding.EncodeToString(b), err
	},
	"convert::frombase64string": func(r *run, a []any) (any, error) {
		b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(at(a, 0)), ""))
		if err != nil {
			return nil, thrown("FormatException", "The input is not a valid Base-64 "+
				"string as it contains a non-base 64 character, more than two padding characters, or an "+
				"illegal character among the padding characters. ")
		}
		return b, r.take(len(b))
	},
	"convert::toint32": toWhole("int"), "convert::toint64": toWhole("long"), "convert::tobyte": toWhole("byte"),
	"convert::touint32": toWhole("uint32"), "convert::toint16": toWhole("int16"), "convert::touint16": toWhole("uint16"),
	"convert::todecimal": func(r *run, a []any) (any, error) {
		if d, ok := parseDecimal(at(a, 0)); ok {
			return d, nil
		}
		return r.convert("decimal", firstOf(a))
	},
	"convert::tosingle": func(r *run, a []any) (any, error) { return r.convert("single", firstOf(a)) },
	"convert::tochar":   func(_ *run, a []any) (any, error) { return toChar(firstOf(a)) },
	"convert::tostring": func(r *run, a []any) (any, error) { return r.toBase(a) },
	"convert::toboolean": func(r *run, a []any) (any, error) {
		if s, ok := firstOf(a).(string); ok {
			return r.parseAs("bool", []any{s})
		}
		return truth(firstOf(a)), nil
	},
	"convert::todouble":   func(r *run, a []any) (any, error) { return r.convert("double", firstOf(a)) },
	"convert::todatetime": func(r *run, a []any) (any, error) { return r.convert("datetime", firstOf(a)) },
	"bitconverter::tostring": func(_ *run, a []any) (any, error) {
		b, err := bytesOf(firstOf(a))
		return strings.ReplaceAll(strings.ToUpper(fmt.Sprintf("% x", b)), " ", "-"), err
	},
	"web.httputility::urlencode": func(r *run, a []any) (any, error) {
		if !r.web {
			return nil, lacking("[Web.HttpUtility] before Add-Type -AssemblyName System.Web")
		}
		var b strings.Builder
		for _, c := range []byte(at(a, 0)) {
			switch {
			case c == ' ':
				b.WriteByte('+')
			case c < utf8.RuneSelf && unicode.IsLetter(rune(c)), isDigit(c), strings.IndexByte("-_.!*()", c) >= 0:
				b.WriteByte(c)
			default:
				fmt.Fprintf(&b, "%%%02x", c)
			}
		}
		return b.String(), nil
	},
	"uri::escapedatastring": func(_ *run, a []any) (any, error) {
		return dotnet.EscapeData(at(a, 0)), nil
	},
	"uri::unescapedatastring": func(_ *run, a []any) (any, error) {
		return dotnet.UnescapeData(at(a, 0)), nil
	},
}

func newGUID() guid {
	var b [16]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return guid(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

// encodingNames are .NET's names of the encodings, and their web names. The encoding none is UTF-8 without a byte order mark.
var encodingNames = map[string][2]string{"utf8": {"Unicode (UTF-8)", "utf-8"}, "none": {"Unicode (UTF-8)", "utf-8"},
	"unicode": {"Unicode", "utf-16"}, "bigendianunicode": {"Unicode (Big-Endian)", "utf-16BE"}, "ascii": {"US-ASCII", "us-ascii"},
	"default": {"Western European (Windows)", "windows-1252"}}

// encodingNamed is Encoding.GetEncoding.
func encodingNamed(r *run, a []any) (any, error) {
	for name, names := range encodingNames {
		if name != "none" && strings.EqualFold(names[1], at(a, 0)) {
			return encodingObject(name)(r, nil)
		}
	}
	return nil, lacking("the encoding %s", at(a, 0))
}

func encodingObject(name string) staticMethod {
	return func(*run, []any) (any, error) {
		names := encodingNames[name]
		return system(kindEncoding, nil, "name", name, "EncodingName", names[0], "WebName", names[1], "BodyName", names[1]), nil
	}
}

// bytesOf returns a list of bytes as a []byte.
func bytesOf(v any) ([]byte, error) {
	if b, ok := v.([]byte); ok {
		return b, nil
	}
	var out []byte
	for _, item := range list(v) {
		n, _, ok := wholeOf(item)
		if !ok || n < 0 || n > 255 {
			return nil, broken("RuntimeException", "MethodArgumentConversionInvalidCastArgument",
				"Cannot convert argument with value: \"%s\" to type \"System.Byte[]\".", text(item))
		}
		out = append(out, byte(n))
	}
	return out, nil
}

var mathStatics = map[string]staticMethod{
	"math::round": func(r *run, a []any) (any, error) {
		n, away := 0, false
		for _, v := range a[min(1, len(a)):] {
			if strings.Contains(text(v), "AwayFromZero") {
				away = true
			} else if k, err := r.integer(v); err != nil {
				return nil, err
			} else if n = int(k); n < 0 || n > 15 {
				return nil, thrown("ArgumentOutOfRangeException", "Rounding digits must be between 0 and 15, inclusive.\r\nParameter name: digits")
			}
		}
		if d, ok := firstOf(a).(decimal); ok && !away {
			return d.round(n), nil
		}
		f, err := toFloat("double", firstOf(a))
		x, _ := f.(float64)
		scale := math.Pow(10, float64(n))
		if away {
			return math.Round(x*scale) / scale, err
		}
		return math.RoundToEven(x*scale) / scale, err
	},
	"math::sign": func(_ *run, a []any) (any, error) {
		f, _ := float(firstOf(a))
		return int64(cmp.Compare(f, 0)), nil
	},
	"math::floor":    unaryMath(math.Floor),
	"math::ceiling":  unaryMath(math.Ceil),
	"math::truncate": unaryMath(math.Trunc),
	"math::sqrt":     unaryMath(math.Sqrt),
	"math::exp":      unaryMath(math.Exp),
	"math::log10":    unaryMath(math.Log10),
	"math::sin":      unaryMath(math.Sin),
	"math::cos":      unaryMath(math.Cos),
	"math::log": func(_ *run, a []any) (any, error) {
		x, _ := float(firstOf(a))
		if len(a) > 1 {
			base, _ := float(a[1])
			return math.Log(x) / math.Log(base), nil
		}
		return math.Log(x), nil
	},
	"math::divrem": func(r *run, a []any) (any, error) {
		if len(a) != 3 {
			return nil, lacking("[math]::DivRem with these arguments")
		}
		to, isRef := a[2].(*reference)
		rest, err := r.arithmetic("%", a[0], a[1])
		if err != nil || !isRef {
			return nil, cmp.Or(err, lacking("[math]::DivRem without [ref]"))
		}
		to.put(rest)
		whole, err := r.arithmetic("-", a[0], rest)
		if err != nil {
			return nil, err
		}
		return r.arithmetic("/", whole, a[1])
	},
	"math::abs": func(r *run, a []any) (any, error) {
		v, err := r.numeric(firstOf(a))
		switch n := v.(type) {
		case int64:
			return max(n, -n), err
		case sized:
			return sizedOf(n.kind, max(n.n, -n.n)), err
		case decimal:
			return decimal{new(big.Int).Abs(n.n), n.scale}, err
		}
		f, _ := v.(float64)
		return math.Abs(f), err
	},
	"double::isnan": func(_ *run, a []any) (any, error) {
		f, _ := firstOf(a).(float64)
		return math.IsNaN(f), nil
	},
	"math::max": func(r *run, a []any) (any, error) { return r.extreme(a, 1) },
	"math::min": func(r *run, a []any) (any, error) { return r.extreme(a, -1) },
	"math::pow": func(_ *run, a []any) (any, error) {
		if len(a) != 2 {
			return nil, noOverload("Pow", len(a))
		}
		x, _ := float(a[0])
		y, _ := float(a[1])
		return math.Pow(x, y), nil
	},
}

func unaryMath(f func(float64) float64) staticMethod {
	return func(_ *run, a []any) (any, error) {
		v, err := toFloat("double", firstOf(a))
		x, _ := v.(float64)
		return f(x), err
	}
}

// extreme returns the larger of two values, or the smaller one if sign is -1.
func (r *run) extreme(a []any, sign int) (any, error) {
	if len(a) != 2 {
		return nil, lacking("[math]::Max and Min with these arguments")
	}
	n, err := r.order(a[0], a[1], true)
	if n*sign >= 0 {
		return a[0], err
	}
	return a[1], err
}

// toWhole returns a method such as Convert.ToInt32, which may have a base as second argument.
func toWhole(kind string) staticMethod {
	return func(r *run, a []any) (any, error) {
		if s, ok := firstOf(a).(string); ok && len(a) == 1 {
			return r.parseAs(kind, []any{s})
		}
		n, err := r.toInt(a)
		if err != nil {
			return nil, err
		}
		v, err := r.convert(kind, n)
		if f := failed(err); f != nil {
			return nil, thrown("OverflowException", "Value was either too large or too small for an %s.",
				limitName(kind))
		}
		return v, err
	}
}

func charTo(to func(rune) rune) staticMethod {
	return func(_ *run, a []any) (any, error) {
		c, err := toChar(firstOf(a))
		u, _ := c.(char)
		return char(to(rune(u))), err
	}
}

// charIs returns a method that reports a property of a character: of its first argument, or at an index of it.
func charIs(is func(rune) bool) staticMethod {
	return func(r *run, a []any) (any, error) {
		runes := []rune(at(a, 0))
		i, err := r.number(a, 1)
		if err != nil || i < 0 || i >= len(runes) {
			return false, err
		}
		return is(runes[i]), nil
	}
}

// ignoresCase reports whether the last argument of a method asks for a comparison that ignores case.
func ignoresCase(a []any) bool {
	if len(a) < 3 {
		return false
	}
	last := a[len(a)-1]
	return last == true || strings.Contains(strings.ToLower(text(last)), "ignorecase")
}

// toInt returns the first argument as a whole number. A second argument is the base of its digits.
func (r *run) toInt(a []any) (any, error) {
	if len(a) == 2 {
		base, err := r.number(a, 1)
		if err != nil {
			return nil, err
		}
		var n int64
		if _, err := fmt.Sscanf(strings.TrimPrefix(strings.ToLower(at(a, 0)), "0x"),
			map[int]string{2: "%b", 8: "%o", 10: "%d", 16: "%x"}[base], &n); err != nil {
			return nil, thrown("FormatException", "Could not find any recognizable digits.")
		}
		return n, nil
	}
	return r.integer(firstOf(a))
}

// toBase returns the first argument as text. A second argument is the base of the digits.
func (r *run) toBase(a []any) (any, error) {
	if len(a) < 2 {
		return r.text(firstOf(a))
	}
	n, err := r.integer(a[0])
	if err != nil {
		return nil, err
	}
	base, err := r.number(a, 1)
	if err != nil {
		return nil, err
	}
	form, ok := map[int]string{2: "%b", 8: "%o", 10: "%d", 16: "%x"}[base]
	if !ok {
		return nil, thrown("ArgumentException", "Invalid Base.")
	}
	return fmt.Sprintf(form, uint64(n)&(1<<32-1)), nil
}

var systemStatics = map[string]staticMethod{
	"datetime::parseexact": parseExact,
	"datetime::daysinmonth": func(r *run, a []any) (any, error) {
		y, err := r.number(a, 0)
		m, err2 := r.number(a, 1)
		return int64(time.Date(y, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day()), errors.Join(err, err2)
	},
	"datetime::isleapyear": func(r *run, a []any) (any, error) {
		y, err := r.number(a, 0)
		return y%4 == 0 && (y%100 != 0 || y%400 == 0), err
	},
	"datetime::fromfiletime": fromFileTime, "datetime::fromfiletimeutc": fromFileTime,
	"datetime::specifykind": func(_ *run, a []any) (any, error) {
		t, err := toTime(firstOf(a))
		if zone, ok := map[string]*time.Location{"utc": utcZone, "local": localZone}[strings.ToLower(at(a, 1))]; ok {
			return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone), err
		}
		return t, err
	},
	"convert::changetype": func(r *run, a []any) (any, error) {
		t, ok := firstOf(a[min(1, len(a)):]).(typeValue)
		if !ok {
			return nil, lacking("[convert]::ChangeType() without a type")
		}
		return r.convert(t.name, firstOf(a))
	},
	"array::resize": func(r *run, a []any) (any, error) {
		to, isRef := firstOf(a).(*reference)
		n, err := r.number(a, 1)
		if err != nil || !isRef || n < 0 || n > maxItems {
			return nil, cmp.Or(err, lacking("[array]::Resize() with these arguments"))
		}
		l, isArray := to.get().(*array)
		if !isArray {
			return nil, lacking("[array]::Resize() of %s", kindOf(to.get()))
		}
		sized := newArray(make([]any, n)...)
		copy(sized.items, l.items)
		sized.kind = l.kind
		to.put(sized)
		return void{}, r.take(16 * n)
	},
	"environment::getenvironmentvariables": func(r *run, _ []any) (any, error) {
		h := newHash()
		for _, name := range slices.Sorted(maps.Keys(r.session.Env)) {
			h.set(name, r.session.Env[name])
		}
		return h, r.take(64 * len(h.keys))
	},
	"datetimeoffset::fromunixtimeseconds": func(r *run, a []any) (any, error) {
		n, err := r.integer(firstOf(a))
		return offsetObject(time.Unix(n, 0).UTC()), err
	},
	"datetimeoffset::fromunixtimemilliseconds": func(r *run, a []any) (any, error) {
		n, err := r.integer(firstOf(a))
		return offsetObject(time.UnixMilli(n).UTC()), err
	},
	"timespan::fromticks": func(r *run, a []any) (any, error) {
		n, err := r.integer(firstOf(a))
		return time.Duration(n) * 100, err
	},
	"timespan::fromseconds": spanOf(time.Second), "timespan::fromminutes": spanOf(time.Minute),
	"timespan::fromhours": spanOf(time.Hour), "timespan::fromdays": spanOf(24 * time.Hour),
	"timespan::frommilliseconds":          spanOf(time.Millisecond),
	"guid::newguid":                       func(*run, []any) (any, error) { return newGUID(), nil },
	"environment::getenvironmentvariable": func(r *run, a []any) (any, error) { return r.environment(a) },
	"environment::setenvironmentvariable": func(r *run, a []any) (any, error) {
		return void{}, r.putEnvironment(at(a, 0), firstOf(a[min(1, len(a)):]), at(a, 2))
	},
	"environment::expandenvironmentvariables": func(r *run, a []any) (any, error) {
		return r.expand(at(a, 0)), nil
	},
	"environment::getfolderpath": func(r *run, a []any) (any, error) {
		dir, ok := map[string]string{
			"programfiles": `C:\Program Files`, "system": `C:\Windows\system32`, "windows": `C:\Windows`,
			"commonapplicationdata": `C:\ProgramData`, "userprofile": r.session.Env["USERPROFILE"],
		}[strings.ToLower(at(a, 0))]
		if !ok {
			return nil, lacking("[Environment]::GetFolderPath('%s')", at(a, 0))
		}
		return dir, nil
	},
	"environment::exit": func(r *run, a []any) (any, error) {
		n, err := r.number(a, 0)
		if err != nil {
			return nil, err
		}
		return nil, exitSignal{n}
	},
	"net.dns::gethostname":       func(r *run, _ []any) (any, error) { return r.m.Hostname(), nil },
	"net.dns::gethostentry":      func(r *run, a []any) (any, error) { return r.hostEntry(at(a, 0)) },
	"net.dns::gethostbyname":     func(r *run, a []any) (any, error) { return r.hostEntry(at(a, 0)) },
	"net.dns::gethostaddresses":  func(r *run, a []any) (any, error) { v, err := r.hostEntry(at(a, 0)); return addressesOf(v), err },
	"text.encoding::getencoding": encodingNamed,
	"net.ipaddress::isloopback": func(_ *run, a []any) (any, error) {
		v, err := toAddress(firstOf(a))
		ip, _ := netip.ParseAddr(text(v))
		return ip.IsLoopback(), err
	},
	"net.ipaddress::parse": func(_ *run, a []any) (any, error) {
		v, err := toAddress(firstOf(a))
		if failed(err) != nil {
			err = thrown("FormatException", "An invalid IP address was specified.")
		}
		return v, err
	},
	"console::writeline": consoleWrite(nil, "\r\n"),
	"console::write":     consoleWrite(nil, ""),
	"enum::getnames":     func(_ *run, a []any) (any, error) { return enumValues(a, func(m enumMember) any { return m.name }) },
	"enum::getvalues":    func(_ *run, a []any) (any, error) { return enumValues(a, func(m enumMember) any { return m }) },
	"enum::isdefined": func(_ *run, a []any) (any, error) {
		t, _ := firstOf(a).(typeValue)
		_, err := toEnumeration(t.name, firstOf(a[min(1, len(a)):]))
		return failed(err) == nil, nil
	},
	"enum::parse": func(_ *run, a []any) (any, error) {
		t, _ := firstOf(a).(typeValue)
		return toEnumeration(t.name, firstOf(a[min(1, len(a)):]))
	},
	"bitconverter::getbytes": func(_ *run, a []any) (any, error) { return numberBytes(firstOf(a)) },
	"bitconverter::toint32":  bytesNumber("int", 4), "bitconverter::touint32": bytesNumber("uint32", 4),
	"bitconverter::toint16": bytesNumber("int16", 2), "bitconverter::touint16": bytesNumber("uint16", 2),
	"bitconverter::toint64": bytesNumber("long", 8),
	"datetime::tryparseexact": func(r *run, a []any) (any, error) {
		to, isRef := firstOf(a[max(0, len(a)-1):]).(*reference)
		if len(a) != 5 || !isRef {
			return nil, lacking("[datetime]::TryParseExact() with these arguments")
		}
		t, err := parseExact(r, a[:3])
		if failed(err) != nil {
			t, err = time.Time{}, nil
			to.put(t)
			return false, nil
		}
		to.put(t)
		return true, err
	},
	"runtime.interopservices.marshal::securestringtobstr": secretPointer,
	"runtime.interopservices.marshal::ptrtostringauto":    secretText, "runtime.interopservices.marshal::ptrtostringbstr": secretText,
	"runtime.interopservices.marshal::ptrtostringuni": secretText,
	"runtime.interopservices.marshal::zerofreebstr":   func(*run, []any) (any, error) { return void{}, nil },
	"io.compression.zipfile::createfromdirectory": func(r *run, a []any) (any, error) {
		if len(a) != 2 && len(a) != 4 {
			return nil, lacking("[IO.Compression.ZipFile]::CreateFromDirectory() with these arguments")
		}
		return void{}, r.zipFolder(r.processPath(a, 0), r.processPath(a, 1), len(a) == 4 && truth(a[3]))
	},
	"io.compression.zipfile::extracttodirectory": func(r *run, a []any) (any, error) {
		if len(a) != 2 {
			return nil, lacking("[IO.Compression.ZipFile]::ExtractToDirectory() with these arguments")
		}
		return void{}, r.unpack(r.processPath(a, 0), r.processPath(a, 1))
	},
	"array::sort": func(r *run, a []any) (any, error) {
		l, ok := firstOf(a).(*array)
		if !ok || len(a) > 1 {
			return nil, lacking("[array]::Sort() with these arguments")
		}
		return void{}, r.sortItems(l)
	},
	"array::empty":                         func(*run, []any) (any, error) { return newArray(), nil },
	"security.cryptography.sha256::create": hashObject("SHA256"), "security.cryptography.sha1::create": hashObject("SHA1"),
	"security.cryptography.md5::create": hashObject("MD5"), "security.cryptography.sha512::create": hashObject("SHA512"),
	"security.cryptography.sha384::create":        hashObject("SHA384"),
	"security.cryptography.hashalgorithm::create": func(r *run, a []any) (any, error) { return hashObject(strings.ToUpper(at(a, 0)))(r, nil) },
	"gc::collect":             func(*run, []any) (any, error) { return void{}, nil },
	"scriptblock::create":     func(r *run, a []any) (any, error) { return r.blockOf(at(a, 0)) },
	"array::reverse":          reverseArray,
	"wildcardpattern::escape": func(_ *run, a []any) (any, error) { return wildcardEscapes.Replace(at(a, 0)), nil },
	"array::indexof": func(r *run, a []any) (any, error) {
		return r.listCall(newArray(list(firstOf(a))...), "IndexOf", "indexof", a[min(1, len(a)):])
	},
	"security.principal.windowsidentity::getcurrent": func(r *run, _ []any) (any, error) {
		user, _ := r.env("USERNAME")
		return system("System.Security.Principal.WindowsIdentity", nil, "Name",
			strings.ToUpper(r.m.ComputerName)+`\`+user, "IsSystem", false), nil
	},
	"diagnostics.stopwatch::startnew": func(r *run, _ []any) (any, error) {
		return system(kindWatch, nil, "started", r.now(), "counted", time.Duration(0), "IsRunning", true), nil
	},
}

func fromFileTime(r *run, a []any) (any, error) {
	n, err := r.integer(firstOf(a))
	return fromTicks(n + 504911232000000000), err
}

// kindConsole is the type of [Console]::Out and [Console]::Error.
const kindConsole = "System.IO.TextWriter+SyncTextWriter"

// wildcardEscapes escapes wildcards, as WildcardPattern.Escape does.
var wildcardEscapes = strings.NewReplacer("*", "`*", "?", "`?", "[", "`[", "]", "`]")

// secretPointer returns the value that represents a pointer to the text of a SecureString; secretText reads it.
func secretPointer(_ *run, a []any) (any, error) {
	if s, ok := firstOf(a).(secret); ok {
		return s, nil
	}
	return nil, thrown("ArgumentNullException", "Value cannot be null.\r\nParameter name: s")
}

func secretText(_ *run, a []any) (any, error) {
	if s, ok := firstOf(a).(secret); ok {
		return s.text, nil
	}
	return nil, lacking("[Runtime.InteropServices.Marshal]::PtrToString of %s", kindOf(firstOf(a)))
}

func reverseArray(_ *run, a []any) (any, error) {
	if len(a) != 1 {
		return nil, lacking("[array]::Reverse() with these arguments")
	}
	if firstOf(a) == nil {
		return nil, thrown("ArgumentNullException", "Value cannot be null.\r\nParameter name: array")
	}
	switch l := firstOf(a).(type) {
	case *array:
		slices.Reverse(l.items)
	case []byte:
		slices.Reverse(l)
	default:
		return nil, lacking("[array]::Reverse() of %s", kindOf(l))
	}
	return void{}, nil
}

func spanOf(unit time.Duration) staticMethod {
	return func(_ *run, a []any) (any, error) {
		f, _ := float(firstOf(a))
		return time.Duration(f * float64(unit)), nil
	}
}

// blockOf returns a script block from its text.
func (r *run) blockOf(script string) (any, error) {
	if err := r.take(len(script)); err != nil {
		return nil, err
	}
	b, err := parse(script)
	if err != nil {
		return nil, r.unparsed(err, "")
	}
	return function{body: b, text: script, source: b.source, file: r.file, home: r.scope.home}, nil
}

const (
	machineEnvironment = `HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment`
	userEnvironment    = `HKCU\Environment`
)
