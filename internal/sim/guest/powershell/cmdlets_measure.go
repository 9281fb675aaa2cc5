package powershell

import (
	"errors"
	"strings"
	"time"
)

func groupObject(c *call) error {
	type group struct {
		name   string
		values *array
		items  []any
	}
	var order []*group
	found := map[string]*group{}
	for _, v := range c.items() {
		if v == nil {
			continue
		}
		keys, parts := newArray(v), []string{}
		if c.has("property") {
			keys.items = nil
		}
		for _, by := range list(c.given["property"]) {
			_, k, err := c.calculated(by, v)
			if err != nil {
				return err
			}
			keys.items = append(keys.items, k)
			parts = append(parts, text(k))
		}
		name := strings.Join(parts, ", ")
		if len(parts) == 0 {
			name = text(v)
			if _, ok := v.(typeValue); ok {
				name = textOf(v, 1)
			}
			if _, ok := v.(time.Time); ok {
				name = cellText(v)
			}
		}
		id := name
		if !c.is("casesensitive") {
			id = strings.ToLower(name)
		}
		g := found[id]
		if g == nil {
			g = &group{name: name, values: keys}
			found[id] = g
			order = append(order, g)
		}
		g.items = append(g.items, v)
	}
	if c.is("ashashtable") {
		h := newHash()
		for _, g := range order {
			key := any(g.name)
			if !c.is("asstring") && len(g.values.items) == 1 && g.values.items[0] != nil {
				key = g.values.items[0]
			}
			h.set(key, newArray(g.items...))
		}
		return c.emit(h)
	}
	for _, g := range order {
		kind, items := kindGroupInfo, newArray(g.items...)
		if c.is("noelement") {
			kind, items = kindGroupCount, newArray()
		}
		o := system(kind, ownViews[kind].names, "Values", g.values, "Count", int64(len(g.items)), "Group", items, "Name", g.name)
		if err := c.emit(o); err != nil {
			return err
		}
	}
	return nil
}

func measureObject(c *call) error {
	values := c.items()
	if c.is("line") || c.is("word") || c.is("character") {
		return measureText(c, values)
	}
	names := list(c.given["property"])
	if len(names) == 0 {
		names = []any{nil}
	}
	return every(c, names, func(name any) error { return c.measure(values, name) })
}

// measure emits the count, the sum, the average, and the largest and smallest of the values, or of one of
// their properties. The largest and smallest need not be numbers.
func (c *call) measure(values []any, name any) error {
	count, sum, numeric, failure := 0, 0.0, true, error(nil)
	var low, high any
	sums := c.is("sum") || c.is("average")
	for _, v := range values {
		if name != nil && v != nil {
			got, err := c.property(v, text(name))
			if err != nil {
				return err
			}
			if _, has := c.ownProperty(v, text(name)); has && got == nil { // the value counts, and adds nothing to the sum
				count++
			}
			v = got
		}
		if v == nil {
			continue
		}
		count++
		if !sums && !c.is("maximum") && !c.is("minimum") {
			continue
		}
		f, ok := float(v)
		if ok {
			v = f
		} else if sums {
			numeric = false
			f := broken("PSInvalidOperationException", "NonNumericInputObject", "Input object \"%s\" is not numeric.", measured(v))
			f.category, f.target = "InvalidType", v
			if err := c.fault(f); err != nil {
				return err
			}
			continue
		}
		sum += f
		if high == nil || c.rank(v, high, &failure) > 0 {
			high = v
		}
		if low == nil || c.rank(v, low, &failure) < 0 {
			low = v
		}
	}
	if failure != nil {
		return failure
	}
	if count == 0 && name != nil {
		if len(values) == 0 {
			return nil
		}
		return broken("System.Management.Automation.PSArgumentException", "GenericMeasurePropertyNotFound",
			"The property \"%s\" cannot be found in the input for any objects.", text(name))
	}
	pick := func(parameter string, v any) any {
		if c.is(parameter) && numeric && (count > 0 || parameter == "sum") {
			return v
		}
		return nil
	}
	o := system("Microsoft.PowerShell.Commands.GenericMeasureInfo", nil, "Count", int64(count),
		"Average", pick("average", sum/float64(max(count, 1))), "Sum", pick("sum", sum),
		"Maximum", pick("maximum", high), "Minimum", pick("minimum", low), "Property", name)
	o.closed = false
	return c.emit(o)
}

// measureText emits the numbers of lines, words and characters of texts.
func measureText(c *call, values []any) error {
	count, words, characters := int64(0), int64(0), int64(0)
	for _, v := range values {
		s := textOf(v, 1)
		count += int64(len(lines(s)))
		words += int64(len(strings.Fields(s)))
		characters += int64(len([]rune(s)))
	}
	counted := func(parameter string, n int64) any {
		if c.is(parameter) {
			return n
		}
		return nil
	}
	return c.emit(tabled(kindTextMeasure, 4, "Lines", counted("line", count), "Words", counted("word", words), "Characters",
		counted("character", characters), "Property", nil))
}

// measured returns a value as messages about measurements show it.
func measured(v any) string {
	_, isTable := v.(*hashtable)
	t, isType := v.(typeValue)
	switch {
	case isType:
		return typeName(t.name)
	case isTable, isList(v):
		return kindOf(v)
	case isCustom(v):
		return ""
	}
	return cellText(v)
}

func getUnique(c *call) error {
	for i, v := range c.input {
		if i > 0 && (text(v) == text(c.input[i-1]) || isCustom(v) && isCustom(c.input[i-1])) {
			continue // objects that a script made are equal, because their text is empty
		}
		if err := c.emit(v); err != nil {
			return err
		}
	}
	return nil
}

// compareObject pairs each object of one side with an equal object of the other side, and emits the objects
// without a partner. Objects are compared by the named properties, or as -eq does; objects that a script made
// are all equal, because their text is empty.
func compareObject(c *call) error {
	left, right := list(c.given["referenceobject"]), c.objects("differenceobject")
	names := list(c.given["property"])
	chosen := func(v any) (*object, error) {
		if len(names) == 0 {
			return custom(field{"InputObject", v}), nil
		}
		return c.pick(v, names)
	}
	show := func(v any, side string) error {
		o, err := chosen(v)
		if err != nil {
			return err
		}
		o.set("SideIndicator", side)
		if c.is("passthru") {
			return c.emit(withMembers(v, custom(field{"SideIndicator", side})))
		}
		return c.emit(o)
	}
	same := func(v, w any) (bool, error) {
		if len(names) == 0 {
			return isCustom(v) && isCustom(w) || equal(v, w, c.is("casesensitive")), nil
		}
		x, err := chosen(v)
		y, err2 := chosen(w)
		if err := errors.Join(err, err2); err != nil {
			return false, err
		}
		for i := range x.fields {
			if !equal(x.fields[i].value, y.fields[i].value, c.is("casesensitive")) {
				return false, nil
			}
		}
		return true, nil
	}
	matched := make([]bool, len(left))
	for _, v := range right {
		at := -1
		for i := 0; i < len(left) && at < 0; i++ {
			if err := c.step(); err != nil {
				return err
			}
			if yes, err := same(left[i], v); err != nil {
				return err
			} else if yes && !matched[i] {
				at = i
			}
		}
		side, wanted := "=>", !c.is("excludedifferent")
		if at >= 0 {
			matched[at], side, wanted = true, "==", c.is("includeequal")
		}
		if wanted {
			if err := show(v, side); err != nil {
				return err
			}
		}
	}
	for i, v := range left {
		if !matched[i] && !c.is("excludedifferent") {
			if err := show(v, "<="); err != nil {
				return err
			}
		}
	}
	return nil
}
