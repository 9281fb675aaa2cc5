package powershell

import (
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"casement.dev/casement/internal/dotnet"
)

// invoke calls a method of a value or type.
func (r *run) invoke(n invocation) (any, error) {
	name, err := r.nameOf(n.name)
	if err != nil {
		return nil, err
	}
	of, err := r.owner(n.of, n.static)
	if err != nil {
		return nil, err
	}
	args := make([]any, len(n.args))
	for i, a := range n.args {
		if args[i], err = r.eval(a); err != nil {
			return nil, err
		}
	}
	if n.static {
		t, ok := of.(typeValue)
		if !ok {
			return nil, broken("RuntimeException", "InvokeMethodOnNull", "You cannot call a method on a null-valued expression.")
		}
		v, err := r.staticCall(t.name, name, args)
		return v, methodError(err, name, args)
	}
	v, err := r.call(of, name, args)
	return v, methodError(err, name, args)
}

// owner returns the value whose member an expression names. A type is not looked up for a static member, so
// that an error names the member.
func (r *run) owner(n node, static bool) (any, error) {
	if t, ok := n.(typeLiteral); ok && static {
		return typeValue{t.name}, nil
	}
	return r.eval(n)
}

// methodError returns an error of a .NET method as PowerShell reports it.
func methodError(err error, name string, args []any) error {
	f := failed(err)
	if f != nil && f.line == 0 && f.exception.inner != nil && f.exception.inner.kind == kindInvalidCast && len(args) > 0 {
		names := argumentNames[strings.ToLower(name)]
		at := max(slices.IndexFunc(args, func(v any) bool { return strings.Contains(f.exception.message, "\""+text(v)+"\"") }), 0)
		if at >= len(names) {
			names, at = []string{"value"}, 0
		}
		return unfitArgument(f, names[at], args[at], name)
	}
	if f == nil || f.line != 0 && !strings.HasSuffix(f.exception.kind, ".ParseException") || f.ends || f.leaves ||
		strings.HasPrefix(f.exception.kind,
			"System.Management.Automation.") &&
			!strings.HasSuffix(f.exception.kind, ".ParseException") {
		return err
	}
	return wrapped(f, name, len(args))
}

const kindInvalidCast = "System.Management.Automation.PSInvalidCastException"

// argumentNames are the names of methods' parameters, for parameters whose name is not value.
var argumentNames = map[string][]string{"substring": {"startIndex", "length"}, "remove": {"startIndex", "count"},
	"insert": {"startIndex", "value"}, "padleft": {"totalWidth"}, "padright": {"totalWidth"}, "tostring": {"fieldCount"}}

// unfitArgument returns the failure of a method's argument that is not of the parameter's type.
func unfitArgument(err error, argument string, v any, method string) error {
	f := failed(err)
	if f == nil {
		return err
	}
	_, rest, _ := strings.Cut(f.exception.message, " to type \"")
	kind, _, _ := strings.Cut(rest, "\"")
	shown := text(v)
	if isList(v) {
		shown = kindOf(v)
	}
	return broken("MethodException", "MethodArgumentConversionInvalidCastArgument",
		"Cannot convert argument \"%s\", with value: \"%s\", for \"%s\" to type \"%s\": \"%s\"",
		argument, shown, method, kind, f.exception.message)
}

// wrapped makes a failure's exception the inner exception of a MethodInvocationException, as PowerShell does.
func wrapped(f *failure, name string, args int) *failure {
	inner := f.exception
	f.exception = exception{kind: "System.Management.Automation.MethodInvocationException",
		message: "Exception calling \"" + name + "\" with \"" + text(int64(args)) + "\" argument(s): \"" + inner.message + "\"",
		inner:   &inner}
	f.id = inner.kind[strings.LastIndexByte(inner.kind, '.')+1:]
	return f
}

// call runs a method of a value.
func (r *run) call(of any, name string, args []any) (any, error) {
	low := strings.ToLower(name)
	if (low == "where" || low == "foreach") && !isList(of) { // every value has these two methods
		of = newArray(list(of)...)
	}
	if of == nil {
		return nil, broken("RuntimeException", "InvokeMethodOnNull", "You cannot call a method on a null-valued expression.")
	}
	switch low {
	case "gettype":
		kind := kindOf(of)
		if key := typeKey(kind); typeName(key) == kind || !strings.EqualFold(typeName(key), strings.TrimPrefix(kind, "System.")) {
			return typeValue{key}, nil
		}
		return typeValue{kind}, nil // the table of types does not have the name
	case "tostring":
		if len(args) == 0 {
			if f, ok := of.(function); ok {
				return f.text, nil
			}
			if e, ok := of.(exception); ok {
				return e.kind + ": " + e.message, nil
			}
			if t, ok := of.(time.Time); ok {
				return dated(t, "G"), nil
			}
			if isList(of) {
				return kindOf(of), nil
			}
			if t, ok := of.(typeValue); ok {
				return typeName(t.name), nil
			}
			if isCustom(of) {
				return "", nil
			}
			return r.text(of)
		}
		if o, ok := of.(*object); ok && o.kind == "System.Version" {
			n, err := r.number(args, 0)
			parts := strings.Split(text(o), ".")
			if err == nil && (n < 0 || n > len(parts)) {
				return nil, thrown("ArgumentException", "Value does not fall within the expected range.\r\nParameter name: fieldCount")
			}
			return strings.Join(parts[:min(max(n, 0), len(parts))], "."), err
		}
		if o, ok := args[0].(*object); ok && strings.HasSuffix(o.kind, "CultureInfo") {
			return r.text(of)
		}
		if o, ok := of.(*object); ok && o.kind == "System.DateTimeOffset" {
			break
		}
		if !hasFormats(of) {
			return nil, noOverload("ToString", len(args))
		}
		s, err := r.formatted(of, text(args[0]), cultureOf(args, 1))
		return s, formatException(err)
	case "equals":
		if len(args) == 1 {
			if o, ok := of.(*object); ok && o.kind == customKind {
				return false, nil // PowerShell wraps the object again at each use, and no two wrappers are equal
			}
			return equal(of, args[0], true) && kindOf(of) == kindOf(args[0]), nil
		}
	case "gethashcode":
		h := fnv.New32a()
		h.Write([]byte(kindOf(of) + text(of)))
		return int64(int32(h.Sum32())), nil
	case "compareto":
		if isList(of) {
			return nil, noOverload("CompareTo", len(args))
		}
		if _, block := of.(function); len(args) == 1 && isScalar(of) && !block {
			if s, ok := of.(string); ok {
				return int64(dotnet.Compare(s, at(args, 0), false)), nil
			}
			n, err := r.order(of, args[0], true)
			if _, isText := args[0].(string); isText {
				return nil, thrown("ArgumentException", "Object must be of type %s.",
					strings.TrimPrefix(kindOf(of), "System."))
			}
			return int64(n), err
		}
	case "tobool":
		if b, ok := of.(bool); ok {
			return b, nil
		}
	case "gettypecode":
		return kindOf(of)[len("System."):], nil
	}
	switch o := of.(type) {
	case string:
		return r.stringCall(o, name, low, args)
	case *array:
		return r.listCall(o, name, low, args)
	case []byte:
		if low == "clone" {
			return append([]byte(nil), o...), nil
		}
	case *hashtable:
		return r.hashCall(o, name, low, args)
	case time.Time:
		return r.timeCall(o, name, low, args)
	case time.Duration:
		switch low {
		case "add", "subtract":
			if len(args) != 1 {
				return nil, noOverload(name, len(args))
			}
			by, err := toSpan(firstOf(args))
			if err != nil {
				return nil, err
			}
			return r.spanArithmetic(map[string]string{"add": "+", "subtract": "-"}[low], o, by)
		case "negate":
			return -o, nil
		case "duration":
			return max(o, -o), nil
		}
	case function:
		return r.functionCall(o, name, low, args)
	case *object:
		return r.objectCall(o, name, low, args)
	case exception:
		if low == "getbaseexception" {
			for o.inner != nil {
				o = *o.inner
			}
			return o, nil
		}
	case typeValue:
		switch low {
		case "isinstanceoftype":
			return isType(firstOf(args), o.name), nil
		case "isassignablefrom":
			t, _ := firstOf(args).(typeValue)
			return typeKey(typeName(t.name)) == typeKey(typeName(o.name)), nil
		}
		return nil, lacking("the method %s of types", name)
	case enumMember:
		if low == "hasflag" {
			other, err := toEnumeration(typeKey(o.kind), firstOf(args))
			m, _ := other.(enumMember)
			return o.n&m.n == m.n, err
		}
	}
	return nil, r.noMethod(of, name)
}

// noOverload returns the failure of a call with a number of arguments that no overload has.
func noOverload(name string, args int) error {
	return broken("MethodException", "MethodCountCouldNotFindBest",
		"Cannot find an overload for \"%s\" and the argument count: \"%d\".", name, args)
}

// methodMissing returns the failure of a call of a method that a type does not have.
func methodMissing(kind, name string) error {
	return broken("RuntimeException", "MethodNotFound",
		"Method invocation failed because [%s] does not contain a method named '%s'.", kind, name)
}

// noMethod returns the failure for a method that the type does not have, or refuses by name a method that it may have.
func (r *run) noMethod(of any, name string) error {
	if o, ok := of.(*object); ok && !o.closed || lacksMember(kindOf(of), name) {
		return methodMissing(kindOf(of), name)
	}
	return lacking("the method %s of %s", name, kindOf(of))
}

// functionCall runs a method of a script block.
func (r *run) functionCall(f function, name, low string, args []any) (any, error) {
	switch low {
	case "invoke", "invokereturnasis":
		items, err := r.gather(func(out sink) error { return r.callFunction(f, unnamed(args...), nil, out) })
		if low == "invoke" {
			return &array{items: items, kind: "System.Collections.ObjectModel.Collection`1"}, err
		}
		return single(items), err
	case "getnewclosure": // the script block becomes part of a new module with copies of the caller's variables
		own := newScope(r.global)
		own.home, own.script = own, true
		for name, c := range r.scope.vars {
			copied := *c
			own.vars[name] = &copied
		}
		f.home = own
		return f, nil
	}
	return nil, lacking("the method %s of script blocks", name)
}

// at returns an argument of a method as text, or "".
func at(args []any, i int) string {
	if i < len(args) {
		return text(args[i])
	}
	return ""
}

func (r *run) number(args []any, i int) (int, error) {
	if i >= len(args) {
		return 0, nil
	}
	n, err := r.integer(args[i])
	return int(n), err
}

var errLength = func() error {
	return thrown("ArgumentOutOfRangeException", "Index and length must refer to a location within the string.\r\nParameter name: length")
}

// stringCall runs a method of a text.
func (r *run) stringCall(s, name, low string, args []any) (any, error) {
	if err := r.take(len(s)); err != nil {
		return nil, err
	}
	fold := len(args) > 1 && strings.Contains(strings.ToLower(text(args[len(args)-1])), "ignorecase")
	if fold && low != "indexof" && low != "compareto" && low != "startswith" && low != "endswith" && low != "equals" {
		fold = false
	}
	lower := func(v string) string {
		if fold {
			return strings.ToLower(v)
		}
		return v
	}
	switch low {
	case "toupper", "toupperinvariant":
		return strings.ToUpper(s), nil
	case "tolower", "tolowerinvariant":
		return strings.ToLower(s), nil
	case "trim", "trimstart", "trimend":
		return trim(s, low, args), nil
	case "contains":
		if len(args) > 1 {
			return nil, noOverload(name, len(args))
		}
		return strings.Contains(s, at(args, 0)), nil
	case "startswith":
		return strings.HasPrefix(lower(s), lower(at(args, 0))), nil
	case "endswith":
		return strings.HasSuffix(lower(s), lower(at(args, 0))), nil
	case "equals":
		return lower(s) == lower(at(args, 0)), nil
	case "compareto":
		return int64(strings.Compare(s, at(args, 0))), nil
	case "indexof", "lastindexof", "indexofany":
		return r.indexOf(lower(s), low, fold, args)
	case "replace":
		return r.replaceText(s, args)
	case "split":
		return r.splitText(s, args)
	case "substring", "remove", "insert":
		return r.cutText(s, low, args)
	case "padleft", "padright":
		return r.pad(s, low, args)
	case "tochararray":
		return r.convertAll("char", s)
	case "normalize", "clone", "tostring":
		return s, nil
	case "isnormalized":
		return true, nil
	case "chars", "get_chars":
		v, _, err := r.item(s, firstOf(args))
		return v, err
	case "getenumerator":
		return r.convertAll("char", s)
	}
	return nil, r.noMethod(s, name)
}

// trim runs Trim, TrimStart or TrimEnd of a text.
func trim(s, low string, args []any) string {
	set := ""
	for _, a := range args {
		for _, item := range list(a) {
			set += text(item)
		}
	}
	in := func(c rune) bool { return set == "" && unicode.IsSpace(c) || strings.ContainsRune(set, c) }
	switch low {
	case "trimstart":
		return strings.TrimLeftFunc(s, in)
	case "trimend":
		return strings.TrimRightFunc(s, in)
	}
	return strings.TrimFunc(s, in)
}

// indexOf runs IndexOf or LastIndexOf of a text, without case if fold is set.
func (r *run) indexOf(s, low string, fold bool, args []any) (any, error) {
	runes, from := []rune(s), 0
	want := at(args, 0)
	if fold {
		want = strings.ToLower(want)
	} else if len(args) > 1 {
		n, err := r.number(args, 1)
		if err != nil {
			return nil, err
		}
		if n < 0 || n > len(runes) {
			return nil, broken("System.ArgumentOutOfRangeException", "",
				"Index was out of range. Must be non-negative and less than the size of the collection.")
		}
		from = n
	}
	tail, i := string(runes[from:]), -1
	switch {
	case low == "lastindexof" && len(args) == 1 || fold && low == "lastindexof":
		i = strings.LastIndex(s, want)
		from, tail = 0, s
	case low == "lastindexof": // the match must end at the index or before it
		from, tail = 0, string(runes[:min(from+1, len(runes))])
		i = strings.LastIndex(tail, want)
	case low == "indexofany":
		set := ""
		for _, c := range list(args[0]) {
			set += text(c)
		}
		i = strings.IndexAny(tail, set)
	default:
		i = strings.Index(tail, want)
	}
	if i < 0 {
		return int64(-1), nil
	}
	return int64(from + len([]rune(tail[:i]))), nil
}

// replaceText runs Replace of a text.
func (r *run) replaceText(s string, args []any) (any, error) {
	if len(args) != 2 {
		return nil, noOverload("Replace", len(args))
	}
	old, with := at(args, 0), at(args, 1)
	if old == "" {
		return nil, thrown("ArgumentException", "String cannot be of zero length.\r\nParameter name: oldValue")
	}
	if size := len(s) + strings.Count(s, old)*(len(with)-len(old)); size > maxValue {
		return nil, r.take(size)
	}
	out := strings.ReplaceAll(s, old, with)
	return out, r.take(len(out))
}

// splitText is String.Split of Windows PowerShell: each character of a text is a separator, as is each text of a list.
func (r *run) splitText(s string, args []any) (any, error) {
	by, most, drop := []string{}, -1, false
	for i, a := range args {
		switch v := plainInteger(a).(type) {
		case int64:
			if i > 0 {
				most = int(v)
				continue
			}
		case enumMember:
			drop = drop || v.name == "RemoveEmptyEntries"
			continue
		case string:
			if i > 0 && (strings.EqualFold(v, "RemoveEmptyEntries") || strings.EqualFold(v, "None")) {
				drop = drop || !strings.EqualFold(v, "None")
				continue
			}
		case *object, typeValue:
			return nil, lacking("Split with these arguments")
		}
		l, whole := a.(*array)
		whole = whole && (strings.Contains(strings.ToLower(l.kind), "string") ||
			slices.ContainsFunc(l.items, func(v any) bool { return len([]rune(text(v))) > 1 }))
		for _, item := range list(a) {
			if whole {
				by = append(by, text(item))
			} else {
				by = append(by, strings.Split(text(item), "")...)
			}
		}
	}
	out, rest := textArray(nil), s
	for {
		i, size := separator(rest, by)
		last := most >= 0 && len(out.items) >= most-1
		if i < 0 || last && (i > 0 || !drop) {
			break
		}
		if err := errors.Join(r.step(), r.take(partSize)); err != nil {
			return nil, err
		}
		if i > 0 || !drop {
			out.items = append(out.items, rest[:i])
		}
		rest = rest[i+size:]
	}
	if most != 0 && (rest != "" || !drop) {
		out.items = append(out.items, rest)
	}
	return out, r.take(len(s))
}

// separator returns the position and length of the first separator in a text; without separators, of the first blank.
func separator(s string, by []string) (at, size int) {
	for i, c := range s {
		if len(by) == 0 && unicode.IsSpace(c) {
			return i, utf8.RuneLen(c)
		}
		for _, one := range by {
			if one != "" && strings.HasPrefix(s[i:], one) {
				return i, len(one)
			}
		}
	}
	return -1, 0
}

// cutText runs Substring, Remove or Insert of a text.
func (r *run) cutText(s, low string, args []any) (any, error) {
	runes := []rune(s)
	from, err := r.number(args, 0)
	if err != nil {
		return nil, err
	}
	if from < 0 || from > len(runes) {
		return nil, thrown("ArgumentOutOfRangeException", "startIndex cannot be larger than length of string.\r\nParameter name: startIndex")
	}
	if low == "insert" {
		out := string(runes[:from]) + at(args, 1) + string(runes[from:])
		return out, r.take(len(out))
	}
	size := len(runes) - from
	if len(args) > 1 {
		if size, err = r.number(args, 1); err != nil {
			return nil, err
		}
		if size < 0 || from+size > len(runes) {
			return nil, errLength()
		}
	}
	if low == "remove" {
		return string(runes[:from]) + string(runes[from+size:]), nil
	}
	return string(runes[from : from+size]), nil
}

// pad runs PadLeft or PadRight of a text.
func (r *run) pad(s, low string, args []any) (any, error) {
	width, err := r.number(args, 0)
	if err != nil {
		return nil, err
	}
	fill := " "
	if len(args) > 1 {
		fill = at(args, 1)
	}
	n := max(width-len([]rune(s)), 0)
	if n > maxValue {
		return nil, r.take(n)
	}
	if low == "padleft" {
		return strings.Repeat(fill, n) + s, r.take(n)
	}
	return s + strings.Repeat(fill, n), r.take(n)
}

// firstOf returns the first argument, or nil.
func firstOf(args []any) any {
	if len(args) == 0 {
		return nil
	}
	return args[0]
}
