package powershell

import (
	"cmp"
	"math"
	"strings"
	"time"

	"casement.dev/casement/internal/dotnet"
)

// regexTimeout bounds one search of a regular expression.
const regexTimeout = time.Second

// operate applies a binary operator to two values.
func (r *run) operate(operator string, left, right any) (any, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	base, exact := operator, false
	if strings.HasPrefix(operator, "-c") && operator != "-contains" {
		base, exact = "-"+operator[2:], true
	}
	switch base {
	case "+", "-", "*", "/", "%":
		return r.arithmetic(base, left, right)
	case "..":
		return r.integerRange(left, right)
	case "-f":
		return r.format(left, right)
	case "-xor":
		return truth(left) != truth(right), nil
	case "-band", "-bor", "-bxor", "-shl", "-shr":
		return r.bits(base, left, right)
	case "-join":
		return r.join(left, text(right))
	case "-split":
		return r.split(exact, left, right)
	case "-replace":
		return r.replace(exact, left, right)
	case "-contains", "-notcontains":
		return r.contains(left, right, exact) == (base == "-contains"), nil
	case "-in", "-notin":
		return r.contains(right, left, exact) == (base == "-in"), nil
	case "-is", "-isnot", "-as":
		switch t := right.(type) {
		case typeValue:
			return r.typeOperator(base, left, t.name)
		case string:
			return r.typeOperator(base, left, typeKey(t))
		}
		if base == "-as" && right == nil {
			return nil, broken("RuntimeException", "AsOperatorRequiresType", "The right operand of '-as' must be a type.")
		}
		if base == "-as" {
			return r.convert("type", right)
		}
		if right == nil {
			return nil, broken("RuntimeException", "IsOperatorRequiresType", "The right operand of '%s' must be a type.", base)
		}
		_, err := r.convert("type", right)
		if f := failed(err); f != nil {
			f.id = "RuntimeException"
		}
		return nil, err
	}
	if a, ok := left.(*array); ok {
		return r.filter(a, base, right, exact)
	}
	return r.compare(base, left, right, exact)
}

// filter returns the items of a list for which a comparison is true.
func (r *run) filter(a *array, operator string, right any, exact bool) (any, error) {
	defer r.keeping("matches")()
	out := newArray()
	for _, item := range a.items {
		if err := r.step(); err != nil {
			return nil, err
		}
		v, err := r.compare(operator, item, right, exact)
		if err != nil {
			return nil, err
		}
		if !truth(v) {
			continue
		}
		if operator == "-like" || operator == "-notlike" {
			item = text(item) // -like compares texts, and returns them
		}
		out.items = append(out.items, item)
	}
	return out, nil
}

// compare applies a comparison operator to two single values.
func (r *run) compare(operator string, left, right any, exact bool) (any, error) {
	switch operator {
	case "-match", "-notmatch":
		s, err := r.text(left)
		if err != nil {
			return nil, err
		}
		yes, err := r.match(text(right), s, exact)
		return yes == (operator == "-match"), err
	case "-like", "-notlike":
		s, err := r.text(left)
		if err != nil {
			return nil, err
		}
		if a, ok := right.(*array); ok && len(a.items) == 1 && isList(a.items[0]) {
			return nil, broken("RuntimeException", "RuntimeException", "The specified wildcard character pattern is not valid: %s",
				kindOf(a.items[0]))
		}
		yes, err := like(s, text(right), exact)
		return yes == (operator == "-like"), err
	case "-eq":
		return equal(left, right, exact), r.countText(left)
	case "-ne":
		return !equal(left, right, exact), r.countText(left)
	}
	n, err := r.order(left, right, exact)
	if err != nil {
		return nil, err
	}
	switch operator {
	case "-gt":
		return n > 0, nil
	case "-ge":
		return n >= 0, nil
	case "-lt":
		return n < 0, nil
	case "-le":
		return n <= 0, nil
	}
	return nil, lacking("the operator %s", operator)
}

// countText counts the bytes of a text that is to be compared against the script's bound of memory.
func (r *run) countText(v any) error {
	if s, ok := v.(string); ok {
		return r.take(len(s))
	}
	return nil
}

// equal compares two values as -eq does: the right value is converted to the left value's type.
func equal(left, right any, exact bool) bool {
	left, right = plain(left), plain(right)
	switch l := left.(type) {
	case nil:
		return right == nil
	case string:
		if right == nil {
			return false
		}
		return sameText(l, text(right), exact)
	case char:
		if n, _, ok := wholeOf(right); ok {
			return int64(l) == n
		}
		return sameText(string(rune(l)), text(right), exact)
	case bool:
		return l == truth(right)
	case enumMember:
		if s, ok := right.(string); ok {
			return sameText(l.name, s, false)
		}
		y, ok := float(right)
		return ok && float64(l.n) == y
	case sized, decimal:
		y, ok := float(right)
		x, _ := float(left)
		return right != nil && ok && x == y
	case int64, float64, short:
		if right == nil {
			return false
		}
		x, _ := float(left)
		y, ok := float(right)
		return ok && x == y
	case time.Time:
		y, err := toTime(right)
		return err == nil && l.Equal(y)
	case time.Duration, guid, version, typeValue, secret:
		if right == nil {
			return false
		}
		if d, ok := l.(time.Duration); ok {
			y, err := toSpan(right)
			return err == nil && y == d
		}
		if t, ok := l.(typeValue); ok {
			if other, ok := right.(typeValue); ok {
				return typeKey(typeName(t.name)) == typeKey(typeName(other.name))
			}
		}
		if _, ok := l.(version); ok {
			return orderVersions(text(l), text(right)) == 0
		}
		return strings.EqualFold(text(l), text(right))
	case *array:
		other, ok := right.(*array)
		return ok && other == l
	case *hashtable:
		other, ok := right.(*hashtable)
		return ok && other == l
	case *object:
		if other, ok := right.(*object); ok {
			return other == l || l.closed && other.closed && l.kind == other.kind && text(l) == text(other)
		}
		return right != nil && l.closed && sameText(text(l), text(right), exact)
	}
	return right != nil && text(left) == text(right)
}

func sameText(a, b string, exact bool) bool {
	if exact {
		return a == b
	}
	return strings.EqualFold(a, b)
}

// order compares two values as -lt does: the right value is converted to the left value's type. It returns a
// negative number, 0 or a positive number.
func (r *run) order(left, right any, exact bool) (int, error) {
	switch left.(type) {
	case time.Time, time.Duration, guid, *object:
		if right == nil {
			return 1, nil
		}
	}
	switch l := left.(type) {
	case nil:
		if y, ok := float(right); ok && right != "" {
			if y == 0 {
				return -1, nil
			}
			return cmp.Compare(0, y), nil
		}
		if right == nil {
			return 0, nil
		}
		return -1, nil
	case time.Time:
		y, err := toTime(right)
		return l.Compare(y), incomparable(left, right, err)
	case time.Duration:
		y, err := toSpan(right)
		return cmp.Compare(l, y), incomparable(left, right, err)
	case version:
		return orderVersions(string(l), text(right)), nil
	case bool:
		return cmp.Compare(map[bool]int{true: 1}[l], map[bool]int{true: 1}[truth(right)]), nil
	case char:
		if right != nil {
			y, err := toChar(right)
			if err != nil {
				return 0, incomparable(left, right, err)
			}
			return cmp.Compare(l, y.(char)), nil
		}
	case int64, float64, short, sized, decimal, enumMember:
		if right == nil {
			f, _ := float(left)
			return map[bool]int{true: -1, false: 1}[f < 0], nil
		}
		if m, ok := left.(enumMember); ok {
			converted, err := toEnumeration(typeKey(m.kind), right)
			if err != nil {
				return 0, err
			}
			right = converted
		}
		x, _ := float(left)
		y, ok := float(right)
		if s, isText := right.(string); !ok && isText {
			kind := strings.ToLower(strings.TrimPrefix(kindOf(left), "System."))
			_, err := r.convert(kind, s)
			return 0, err
		} else if !ok {
			return 0, incomparable(left, right, cannotConvert(right, typeKey(kindOf(left))))
		}
		return cmp.Compare(x, y), nil
	case guid:
		y, err := r.convert("guid", right)
		return strings.Compare(string(l), text(y)), incomparable(left, right, err)
	case *object:
		if l.kind == "System.Version" {
			y, err := r.convert("version", right)
			return orderVersions(text(versionText(l)), text(versionText(y))), incomparable(left, right, err)
		}
		if isCustom(l) {
			return 0, broken("RuntimeException", "PSObjectCompareTo", "Cannot compare \"%[1]s\" to \"%[2]s\" because the objects are not the "+
				"same type or the object \"%[1]s\" does not implement \"IComparable\".", text(l), text(right))
		}
		return 0, notOrdered(l, right)
	case function, *hashtable, typeValue, *array, []byte:
		return 0, notOrdered(l, right)
	}
	a, b := text(left), text(right)
	return dotnet.Compare(a, b, !exact), r.take(len(a))
}

// notOrdered returns the failure of comparing values of a type without an order. Equal values are no failure.
func notOrdered(v, other any) error {
	if equal(v, other, true) || other == nil {
		return nil
	}
	return broken("RuntimeException", "NotIcomparable", "Cannot compare \"%s\" because it is not IComparable.", text(v))
}

// incomparable returns the failure of a comparison whose right value cannot be converted.
func incomparable(left, right any, err error) error {
	f := failed(err)
	if f == nil {
		return err
	}
	return broken("RuntimeException", "ComparisonFailure", "Could not compare \"%s\" to \"%s\". Error: \"%s\"", text(left), text(right),
		f.exception.message)
}

func (r *run) contains(in, item any, exact bool) bool {
	for _, one := range list(in) {
		if equal(one, item, exact) {
			return true
		}
	}
	return in == nil && item == nil
}

// typeOperator applies -is, -isnot or -as.
func (r *run) typeOperator(operator string, v any, kind string) (any, error) {
	if operator == "-as" {
		converted, err := r.convert(kind, v)
		if failed(err) != nil {
			return nil, nil // the result for a value that cannot be converted is null
		}
		return converted, err
	}
	if err := checkType(kind); err != nil {
		return nil, err
	}
	return isType(v, kind) == (operator == "-is"), nil
}

// isType reports whether a value is of a type, whose name is in lower case.
func isType(v any, kind string) bool {
	if v == nil {
		return false
	}
	have := typeKey(kindOf(v))
	if f, ok := v.(exception); ok {
		return kind == "object" || f.is(kind)
	}
	switch kind {
	case "object":
		return true
	case "array", "collections.ilist", "collections.ienumerable":
		_, isHash := v.(*hashtable)
		_, isText := v.(string)
		return isList(v) || kind == "collections.ienumerable" && (isHash || isText)
	case "hashtable", "collections.idictionary", "collections.hashtable":
		h, ok := v.(*hashtable)
		return ok && (!h.ordered || strings.HasSuffix(kind, "idictionary"))
	case "pscustomobject", "psobject", "psobject[]", "management.automation.pscustomobject":
		o, ok := v.(*object)
		return ok && o.kind == customKind
	case "int", "int32":
		return have == "int32"
	case "long", "int64":
		return have == "int64"
	case "valuetype":
		switch v.(type) {
		case int64, float64, short, bool, char, time.Time, time.Duration, guid, sized, decimal, enumMember:
			return true
		}
		return false
	case "bool", "boolean":
		return have == "boolean"
	case "scriptblock":
		_, ok := v.(function)
		return ok
	case "type":
		_, ok := v.(typeValue)
		return ok
	case "icomparable":
		switch v.(type) {
		case string, int64, float64, short, sized, decimal, char, bool, time.Time, time.Duration, guid, enumMember:
			return true
		}
		return false
	case "switch", "switchparameter", "management.automation.switchparameter":
		return false
	}
	if full, ok := typeNames[kind]; ok {
		return typeKey(full) == have
	}
	return have == kind
}

// join is -join: it returns the texts of items with a separator between them.
func (r *run) join(v any, separator string) (any, error) {
	items := list(v)
	parts := make([]string, len(items))
	size := 0
	for i, item := range items {
		s := ""
		switch {
		case isList(v) && isList(item): // a list within a list has the text of its type's name
			s = kindOf(item)
		case isList(v):
			s = textOf(item, 1)
		default:
			var err error
			if s, err = r.text(item); err != nil {
				return nil, err
			}
		}
		parts[i] = s
		if size += len(s) + len(separator); size > maxValue {
			return nil, r.take(size)
		}
	}
	return r.joined(parts, separator)
}

// joined joins texts after a check of the total size.
func (r *run) joined(parts []string, separator string) (string, error) {
	size := 0
	for _, part := range parts {
		if size += len(part) + len(separator); size > maxValue {
			break
		}
	}
	if err := r.take(size); err != nil {
		return "", err
	}
	return strings.Join(parts, separator), nil
}

// integerRange returns the numbers of a range, such as 1..3.
func (r *run) integerRange(left, right any) (any, error) {
	from, err := r.integer(left)
	if err != nil {
		return nil, err
	}
	to, err := r.integer(right)
	if err != nil {
		return nil, err
	}
	if d := math.Abs(float64(to) - float64(from)); d > maxItems {
		return nil, &LimitError{"makes a range of more than a million items"}
	}
	out := newArray()
	by := int64(1)
	if to < from {
		by = -1
	}
	for i := from; ; i += by {
		out.items = append(out.items, i)
		if i == to {
			return out, r.take(16 * len(out.items))
		}
	}
}
