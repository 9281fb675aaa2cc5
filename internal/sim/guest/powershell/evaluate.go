package powershell

import (
	"fmt"
	"strings"
	"time"
)

// eval returns the value of an expression. Without output the value is null.
func (r *run) eval(n node) (any, error) {
	v, err := r.raw(n)
	if err != nil {
		return nil, r.located(err, n)
	}
	return plain(v), nil
}

// raw returns the value of an expression. Without output the value is void.
func (r *run) raw(n node) (any, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case constant:
		return n.value, nil
	case variable:
		return r.get(n)
	case interpolated:
		return r.interpolate(n)
	case hashLiteral:
		return r.hash(n, false)
	case arrayLiteral:
		return r.arrayOf(n)
	case subexpression:
		return r.subexpression(n)
	case parenthesis:
		return r.value(n.body)
	case scriptBlock:
		return function{body: n.body, text: n.text, source: r.source, file: r.file, home: r.scope.home}, nil
	case typeLiteral:
		if err := checkType(n.name); err != nil {
			return nil, err
		}
		return typeValue{n.name}, nil
	case member:
		return r.member(n)
	case invocation:
		return r.invoke(n)
	case index:
		return r.index(n)
	case unary:
		return r.unary(n)
	case step:
		return r.stepped(n)
	case cast:
		return r.cast(n)
	case binary:
		return r.binary(n)
	case validated: // only an assignment applies validation attributes to its variable
		return nil, lacking("an attribute of an expression")
	case redirected:
		items, err := r.gather(func(out sink) error { return r.redirectedValue(n, out) })
		return single(items), err
	}
	return r.value(n)
}

func (r *run) interpolate(n interpolated) (any, error) {
	var b strings.Builder
	for _, part := range n.parts {
		v, err := r.eval(part)
		if err != nil {
			return nil, err
		}
		s, err := r.text(v)
		if err != nil {
			return nil, err
		}
		if c, ok := part.(constant); ok && n.bare {
			s = c.text
			if str, isString := c.value.(string); isString {
				s = str
			}
		}
		if b.Len()+len(s) > maxValue {
			return nil, r.take(maxValue + 1)
		}
		b.WriteString(s)
	}
	return b.String(), r.take(b.Len())
}

func (r *run) hash(n hashLiteral, ordered bool) (any, error) {
	h := newHash()
	h.ordered = ordered
	for i, k := range n.keys {
		key, err := r.eval(k)
		if err != nil {
			return nil, err
		}
		if key == nil {
			return nil, broken("RuntimeException", "InvalidNullKey", "A null key is not allowed in a hash literal.")
		}
		if _, ok := h.get(key); ok {
			return nil, broken("RuntimeException", "DuplicateKeyInHashLiteral",
				"Duplicate keys '%s' are not allowed in hash literals.", text(key))
		}
		v, err := r.value(n.values[i])
		if err != nil {
			return nil, err
		}
		h.set(key, plain(v))
	}
	return h, r.take(32 * len(n.keys))
}

func (r *run) arrayOf(n arrayLiteral) (any, error) {
	items := make([]any, len(n.items))
	for i, item := range n.items {
		v, err := r.eval(item)
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	return newArray(items...), r.take(16 * len(items))
}

func (r *run) subexpression(n subexpression) (any, error) {
	if !n.list {
		return r.collect(n.body)
	}
	if len(n.body) == 1 { // the array within @( ) is the value itself
		if lit, ok := n.body[0].(arrayLiteral); ok {
			return r.arrayOf(lit)
		}
	}
	items, err := r.gather(func(out sink) error { return r.statements(n.body, out) })
	return newArray(items...), err
}

func (r *run) unary(n unary) (any, error) {
	v, err := r.eval(n.of)
	if err != nil {
		return nil, err
	}
	switch n.operator {
	case "-not":
		return !truth(v), nil
	case "-":
		if d, ok := v.(time.Duration); ok {
			return -d, nil
		}
		return r.arithmetic("-", int64(0), v)
	case "+":
		return r.arithmetic("+", int64(0), v)
	case "-bnot":
		i, err := r.integer(v)
		return ^i, err
	case "-join":
		return r.join(v, "")
	}
	trimmed := newArray()
	for _, item := range orNull(v) {
		trimmed.items = append(trimmed.items, strings.TrimSpace(text(item)))
	}
	return r.split(n.operator == "-csplit", trimmed, newArray(`\s+`))
}

// stepped runs ++ or --, and returns the value before or after it.
func (r *run) stepped(n step) (any, error) {
	v, err := r.eval(n.of)
	if err != nil {
		return nil, err
	}
	if v == nil {
		v = int64(0)
	}
	switch v.(type) {
	case int64, float64, short, sized, decimal, enumMember:
	default:
		return nil, broken("RuntimeException", "OperatorRequiresNumber", "The '%s' operator works only on numbers. The operand is a '%s'.",
			map[bool]string{true: "++", false: "--"}[n.by > 0], kindOf(v))
	}
	next, err := r.arithmetic("+", v, n.by)
	if err != nil {
		return nil, err
	}
	if err := r.put(n.of, next); err != nil {
		return nil, err
	}
	if n.before {
		return next, nil
	}
	return v, nil
}

func (r *run) cast(n cast) (any, error) {
	if n.kind == "ref" || n.kind == "management.automation.psreference" {
		return r.makeReference(n.of)
	}
	if h, ok := n.of.(hashLiteral); ok {
		switch n.kind {
		case "ordered":
			return r.hash(h, true)
		case "pscustomobject", "psobject", "management.automation.pscustomobject":
			v, err := r.hash(h, true)
			if err != nil {
				return nil, err
			}
			return customOf(v), nil
		}
	}
	v, err := r.eval(n.of)
	if err != nil {
		return nil, err
	}
	out, err := r.convert(n.kind, v)
	if err == nil && (n.kind == "switch" || n.kind == "management.automation.switchparameter") {
		return nil, lacking("a [switch] that is no parameter")
	}
	return out, err
}

// customOf returns an object with the entries of a hashtable.
func customOf(v any) any {
	h, ok := v.(*hashtable)
	if !ok {
		return v
	}
	o := custom()
	for k, value := range h.all() {
		if strings.EqualFold(text(k), "PSTypeName") {
			o.named = text(value)
			continue
		}
		o.set(text(k), value)
	}
	return o
}

func (r *run) binary(n binary) (any, error) {
	left, err := r.eval(n.left)
	if err != nil {
		return nil, err
	}
	switch n.operator {
	case "-and", "-or":
		if truth(left) == (n.operator == "-or") {
			return n.operator == "-or", nil
		}
		right, err := r.eval(n.right)
		return truth(right), err
	}
	if t, ok := n.right.(typeLiteral); ok && (n.operator == "-is" || n.operator == "-isnot" || n.operator == "-as") {
		return r.typeOperator(n.operator, left, t.name)
	}
	right, err := r.eval(n.right)
	if err != nil {
		return nil, err
	}
	v, err := r.operate(n.operator, left, right)
	return v, r.located(err, n)
}

// assign runs an assignment and returns the assigned value.
func (r *run) assign(a assignment) (any, error) {
	v, err := r.value(a.value)
	if err != nil {
		return nil, err
	}
	if a.operator != "=" {
		old, err := r.eval(a.target)
		if err != nil {
			return nil, err
		}
		if t, ok := a.target.(variable); ok && !strings.Contains(t.name, ":") && r.scope.vars[t.name] == nil {
			old = nil // += adds to a variable of the current scope only
		}
		if v, err = r.operate(a.operator[:1], old, plain(v)); err != nil {
			return nil, r.located(err, a)
		}
	}
	if err := r.put(a.target, v); err != nil {
		return nil, r.located(err, a)
	}
	switch n := a.value.(type) {
	case command, pipeline:
		_ = n // a command sets $? itself
	default:
		r.ok = true
	}
	return v, nil
}

// put assigns a value to a variable, a member, an item, or to several of them.
func (r *run) put(target node, v any) error {
	switch t := target.(type) {
	case variable:
		if strings.HasPrefix(t.name, "env:") && len(t.shown) == len(t.name) {
			return r.set("env:"+t.shown[len("env:"):], v)
		}
		err := r.set(t.name, v)
		if f := failed(err); f != nil { // the message names the variable in the script's spelling
			f.exception.message = strings.Replace(f.exception.message, " "+t.name+" ", " "+t.shown+" ", 1)
		}
		return err
	case cast:
		converted, err := r.converted(parameter{kinds: []string{t.kind}}, plain(v))
		if err == nil && plain(v) == nil {
			converted, err = r.convert(t.kind, nil)
		}
		if err != nil {
			return untyped(err)
		}
		if err := r.put(t.of, converted); err != nil {
			return err
		}
		if inner, ok := t.of.(variable); ok {
			if c := r.scope.vars[inner.name]; c != nil {
				c.kind = t.kind
			}
		}
		return nil
	case validated:
		if err := r.put(t.of, v); err != nil {
			return err
		}
		inner := t.of
		if typed, ok := inner.(cast); ok {
			inner = typed.of
		}
		if of, ok := inner.(variable); ok && r.scope.vars[of.name] != nil {
			c := r.scope.vars[of.name]
			c.checks = t.by
			err := r.set(of.name, c.value)
			if f := failed(err); f != nil {
				delete(r.scope.vars, of.name)
				f.exception.message = fmt.Sprintf("The attribute cannot be added because variable %s with value %s would no longer be valid.",
					of.shown, text(c.value))
			}
			return err
		}
		return nil
	case arrayLiteral:
		return r.spread(t, plain(v))
	case parenthesis:
		return r.put(t.body, v)
	case member:
		return r.putMember(t, plain(v))
	case index:
		return r.putIndex(t, plain(v))
	}
	return broken("RuntimeException", "InvalidLeftHandSide", "The assignment expression is not valid.")
}

// spread assigns the items of a list to the targets in order. The last target gets all remaining items.
func (r *run) spread(t arrayLiteral, v any) error {
	items := list(v)
	for i, target := range t.items {
		var one any
		switch {
		case i >= len(items):
		case i == len(t.items)-1 && len(items) > len(t.items):
			one = newArray(items[i:]...)
		default:
			one = items[i]
		}
		if err := r.put(target, one); err != nil {
			return err
		}
	}
	return nil
}

// putIndex assigns a value to an item of a list, or to a key of a hashtable.
func (r *run) putIndex(t index, v any) error {
	of, err := r.eval(t.of)
	if err != nil {
		return err
	}
	by, err := r.eval(t.by)
	if err != nil {
		return err
	}
	switch of := of.(type) {
	case *hashtable:
		if by == nil {
			return broken("RuntimeException", "NullArrayIndex", "Index operation failed; the array index evaluated to null.")
		}
		return r.putKey(of, by, v)
	case *array, []byte:
		i, err := r.integer(by)
		if err != nil {
			return err
		}
		a, data := newArray(), []byte(nil)
		switch of := of.(type) {
		case *array:
			a = of
		case []byte:
			a.kind, data = "Byte[]", of
			a.items = list(of)
		}
		if i < 0 {
			i += int64(len(a.items))
		}
		if i < 0 || i >= int64(len(a.items)) {
			return outOfRange()
		}
		if kind := a.itemType(); kind != "object" {
			if v, err = r.convert(kind, v); err != nil {
				return err
			}
		}
		if a.items[i] = v; data != nil {
			n, _, _ := wholeOf(v)
			data[i] = byte(n)
		}
		return nil
	case nil:
		return broken("RuntimeException", "NullArray", "Cannot index into a null array.")
	}
	return broken("RuntimeException", "CannotIndex", "Unable to index into an object of type %s.", kindOf(of))
}

// itemType returns the type of a list's items.
func (a *array) itemType() string {
	if a.item != "" {
		return a.item
	}
	if base, ok := strings.CutSuffix(a.kind, "[]"); ok && base != "" {
		return typeKey(base)
	}
	return "object"
}

// at returns the value of a key, or in an ordered table also the value at a position.
func (h *hashtable) at(key any) (any, bool) {
	v, found := h.get(key)
	if i, isInt := key.(int64); !found && isInt && h.ordered && i >= -int64(len(h.keys)) && i < int64(len(h.keys)) {
		return h.get(h.keys[(int(i)+len(h.keys))%len(h.keys)])
	}
	return v, found
}

func (r *run) index(n index) (any, error) {
	of, err := r.eval(n.of)
	if err != nil {
		return nil, err
	}
	by, err := r.eval(n.by)
	if err != nil {
		return nil, err
	}
	if h, ok := of.(*hashtable); ok {
		if keys, many := by.(*array); many {
			out := newArray()
			for _, k := range keys.items {
				if v, ok := h.at(k); ok || !h.ordered {
					out.items = append(out.items, v)
				}
			}
			return out, nil
		}
		v, _ := h.at(by)
		return v, nil
	}
	if by == nil && of != nil {
		return nil, broken("RuntimeException", "NullArrayIndex", "Index operation failed; the array index evaluated to null.")
	}
	if at, many := by.(*array); many {
		out := newArray()
		for _, one := range at.items {
			if v, ok, err := r.item(of, one); err != nil {
				return nil, err
			} else if ok {
				out.items = append(out.items, v)
			}
		}
		return out, nil
	}
	v, _, err := r.item(of, by)
	return v, err
}

// item returns the element of a list, text or table at an index or key. ok is false if it does not exist.
func (r *run) item(of, by any) (v any, ok bool, err error) {
	switch o := of.(type) {
	case nil:
		return nil, false, broken("RuntimeException", "NullArray", "Cannot index into a null array.")
	case *object:
		if o.kind == kindMatches || o.kind == kindGroups || o.kind == kindMatchGroups {
			return r.groupItem(o, by)
		}
	case *hashtable:
		v, ok := o.get(by)
		return v, ok, nil
	case *array:
		if s, isText := by.(string); isText && o.owner != nil {
			for _, p := range o.items {
				property, _ := p.(*object)
				if strings.EqualFold(text(property.read("Name")), s) {
					return p, true, nil
				}
			}
			return nil, true, nil
		}
	}
	i, err := r.integer(by)
	if err != nil {
		return nil, false, err
	}
	pick := func(size int) (int, bool) {
		if i < 0 {
			i += int64(size)
		}
		return int(i), i >= 0 && i < int64(size)
	}
	switch o := of.(type) {
	case string:
		runes := []rune(o)
		if at, ok := pick(len(runes)); ok {
			return char(runes[at]), true, nil
		}
	case []byte:
		if at, ok := pick(len(o)); ok {
			return sized{"Byte", int64(o[at])}, true, nil
		}
	case *array:
		if at, ok := pick(len(o.items)); ok {
			return o.items[at], true, nil
		}
	default: // every other value is a list of itself (about_Arrays)
		if i == 0 || i == -1 {
			return of, true, nil
		}
	}
	if r.strictness() >= 3 {
		return nil, false, outOfRange()
	}
	return nil, false, nil
}

func outOfRange() error {
	return broken("System.IndexOutOfRangeException", "System.IndexOutOfRangeException",
		"Index was outside the bounds of the array.")
}

// checkType returns an error for a type that the simulation does not have.
func checkType(name string) error {
	if _, ok := typeNames[name]; ok || strings.HasSuffix(name, "[]") || strings.Contains(name, "generic.list[") ||
		strings.Contains(name, "generic.dictionary[") || strings.HasPrefix(name, "nullable[") || exceptionType(name) {
		return nil
	}
	if _, ok := enumerationTypes[name]; ok {
		return nil
	}
	if _, ok := properNames[name]; ok {
		return nil
	}
	if !hasStatic(settings, name) && !hasStatic(properties, name) && !hasStatic(statics, name) {
		return lacking("the type [%s]", name)
	}
	return nil
}

// hasStatic reports whether a table has a static member of a type.
func hasStatic[T any](table map[string]T, kind string) bool {
	for name := range table {
		if strings.HasPrefix(name, kind+"::") {
			return true
		}
	}
	return false
}

func exceptionType(name string) bool { return strings.HasSuffix(name, "exception") }
