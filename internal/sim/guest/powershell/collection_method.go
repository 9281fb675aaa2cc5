package powershell

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// addMonths adds months to a date. The day does not leave its month, as in .NET.
func addMonths(t time.Time, n int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(n), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	return first.AddDate(0, 0, min(t.Day(), first.AddDate(0, 1, -1).Day())-1)
}

// timeCall runs a method of a date.
func (r *run) timeCall(t time.Time, name, low string, args []any) (any, error) {
	if low == "compareto" && len(args) == 1 {
		o, err := toTime(args[0])
		return int64(t.Compare(o)), err
	}
	if low == "subtract" || low == "add" {
		if len(args) != 1 {
			return nil, noOverload(name, len(args))
		}
		return r.dateArithmetic(map[string]string{"add": "+", "subtract": "-"}[low], t, firstOf(args))
	}
	if unit, ok := map[string]time.Duration{
		"adddays": 24 * time.Hour, "addhours": time.Hour, "addminutes": time.Minute, "addseconds": time.Second,
		"addmilliseconds": time.Millisecond,
	}[low]; ok && len(args) == 1 {
		n, err := r.convert("double", args[0])
		f, _ := n.(float64)
		return t.Add(time.Duration(f * float64(unit))), err
	}
	if spec, ok := map[string]string{"toshorttimestring": "t", "tolongtimestring": "T", "toshortdatestring": "d",
		"tolongdatestring": "D"}[low]; ok {
		return dated(t, spec), nil
	}
	if low == "touniversaltime" && len(args) == 0 {
		return t.In(utcZone), nil // the machine's time zone is UTC
	}
	if low == "tolocaltime" && len(args) == 0 {
		return t.In(localZone), nil
	}
	n := 0
	if low == "addmonths" || low == "addyears" {
		var err error
		if n, err = r.number(args, 0); err != nil {
			return nil, err
		}
	}
	switch low {
	case "addmonths":
		return addMonths(t, n), nil
	case "addyears":
		return addMonths(t, 12*n), nil
	case "isdaylightsavingtime":
		return false, nil
	case "tofiletime", "tofiletimeutc":
		return ticks(t) - 504911232000000000, nil
	}
	return nil, r.noMethod(t, name)
}

// canGrow reports whether items can be added to a list.
func canGrow(a *array) bool {
	return a.kind != kindEnumerator && (strings.Contains(a.kind, "List") || strings.Contains(a.kind, "Queue") ||
		strings.Contains(a.kind, "Stack") || strings.Contains(a.kind, "HashSet"))
}

// addTo converts a value to the type of a list's items, and adds it to the list. It reports false if a set has the value already.
func (r *run) addTo(a *array, v any) (bool, error) {
	if a.item != "" && a.item != "object" && a.item != "psobject" {
		converted, err := r.convert(a.item, v)
		if f := failed(err); f != nil {
			return false, broken("MethodException", "MethodArgumentConversionInvalidCastArgument",
				"Cannot convert argument \"item\", with value: \"%s\", for \"Add\" to type \"%s\": \"%s\"", text(v), typeName(a.item),
				f.exception.message)
		} else if err != nil {
			return false, err
		}
		v = converted
	}
	if strings.Contains(a.kind, "HashSet") && indexIn(a, v) >= 0 {
		return false, nil
	}
	if a.items = append(a.items, v); strings.Contains(a.kind, "Stack") { // the first item of a stack is the newest
		copy(a.items[1:], a.items)
		a.items[0] = v
	}
	return true, r.take(16)
}

// listMembers are methods of .NET's lists and sets that the simulation does not have. They are refused by
// name, and not called on each item as other names are.
const listMembers = " symmetricexceptwith ispropersubsetof ispropersupersetof removewhere trygetvalue binarysearch convertall findlast " +
	"findlastindex findindex asreadonly ensurecapacity setrange trypeek trypop trydequeue "

func indexIn(a *array, v any) int {
	return slices.IndexFunc(a.items, func(item any) bool { return equal(item, v, !a.fold) && kindOf(item) == kindOf(v) })
}

// listCall runs a method of a list.
func (r *run) listCall(a *array, name, low string, args []any) (any, error) {
	if a.owner != nil && a.kind == kindTypeNames {
		if i, err := r.number(args, 0); low == "insert" && err == nil && i == 0 && len(args) == 2 && a.owner.named == "" {
			a.owner.named, a.items = at(args, 1), append([]any{at(args, 1)}, a.items...)
			return void{}, r.take(16)
		}
		if low == "insert" || low == "add" || low == "clear" || low == "remove" || low == "removeat" {
			return nil, lacking("PSObject.TypeNames.%s() but for one name at the front", name)
		}
	} else if a.owner != nil {
		return r.propertiesCall(a, name, low, args)
	}
	switch low {
	case "contains":
		return indexIn(a, firstOf(args)) >= 0, nil
	case "indexof":
		return int64(indexIn(a, firstOf(args))), nil
	case "lastindexof":
		if !canGrow(a) {
			break
		}
		for i := len(a.items) - 1; i >= 0; i-- {
			if equal(a.items[i], firstOf(args), true) {
				return int64(i), nil
			}
		}
		return int64(-1), nil
	case "getenumerator":
		return a, nil
	case "movenext", "reset":
		return nil, lacking("%s of an enumerator", name)
	case "clone":
		copied := *a
		copied.items = append([]any(nil), a.items...)
		return &copied, nil
	case "toarray":
		out := newArray(append([]any(nil), a.items...)...)
		if a.item != "" {
			out.kind = typeName(a.item) + "[]"
		}
		return out, nil
	case "getvalue":
		v, _, err := r.item(a, firstOf(args))
		return v, err
	case "setvalue":
		i, err := r.number(args, 1)
		if err == nil && i >= 0 && i < len(a.items) {
			a.items[i] = args[0]
			return void{}, nil
		}
		return nil, outOfRange()
	case "getlength":
		return int64(len(a.items)), nil
	case "getupperbound":
		return int64(len(a.items) - 1), nil
	case "getlowerbound":
		return int64(0), nil
	case "foreach", "where":
		if low == "where" || !strings.Contains(a.kind, "List`1") {
			return r.eachCall(a, low, args)
		}
		if block, ok := firstOf(args).(function); ok { // the method of the list itself has no $_ and returns nothing
			for _, item := range a.items {
				err := r.callFunction(block, unnamed(item), nil, func(any) error { return nil })
				if err != nil {
					return nil, err
				}
			}
			return void{}, nil
		}
	case "copyto":
		if to, ok := firstOf(args).(*array); ok {
			i, err := r.number(args, 1)
			if err != nil || i < 0 || i+len(a.items) > len(to.items) {
				return nil, thrown("ArgumentException", "Destination array was not long enough.")
			}
			copy(to.items[i:], a.items)
			return void{}, nil
		}
	}
	if canGrow(a) {
		if v, ok, err := r.changeList(a, low, args); ok || err != nil {
			return v, err
		}
	} else if low == "add" || low == "remove" || low == "insert" || low == "removeat" || low == "clear" {
		if low == "add" && len(args) != 1 {
			return nil, noOverload(name, len(args))
		}
		return nil, thrown("NotSupportedException", "Collection was of a fixed size.")
	}
	if canGrow(a) && hasPrefix(listMembers, name+" ") {
		return nil, lacking("the method %s of %s", name, kindOf(a))
	}
	// The list does not have the method, so it is called on each item.
	var out []any
	if len(a.items) == 0 {
		return nil, methodMissing(kindOf(a), name)
	}
	for _, item := range a.items {
		v, err := r.call(item, name, args)
		if err != nil {
			return nil, err
		}
		if _, none := v.(void); !none {
			out = append(out, v)
		}
	}
	return single(out), nil
}

// propertiesCall runs a method of PSObject.Properties.
func (r *run) propertiesCall(a *array, name, low string, args []any) (any, error) {
	switch low {
	case "remove":
		a.owner.remove(at(args, 0))
		a.items = slices.DeleteFunc(a.items, func(p any) bool {
			o, _ := p.(*object)
			return strings.EqualFold(text(o.read("Name")), at(args, 0))
		})
		return void{}, nil
	case "add":
		o, ok := firstOf(args).(*object)
		if !ok {
			return nil, lacking("Properties.Add() of %s", kindOf(firstOf(args)))
		}
		a.owner.set(text(o.read("Name")), o.read("Value"))
		a.items = append(a.items, o)
		return void{}, nil
	case "item":
		v, _, err := r.item(a, firstOf(args))
		return v, err
	case "match":
		out := newArray()
		for _, p := range a.items {
			o, _ := p.(*object)
			if yes, err := like(text(o.read("Name")), at(args, 0), false); err != nil {
				return nil, err
			} else if yes {
				out.items = append(out.items, p)
			}
		}
		return out, nil
	case "getenumerator":
		return newArray(a.items...), nil
	}
	return nil, r.noMethod(a, name)
}

// eachCall runs ForEach or Where of a list (about_Arrays).
func (r *run) eachCall(a *array, low string, args []any) (any, error) {
	out := newArray()
	out.kind = "System.Collections.ObjectModel.Collection`1"
	f, ok := firstOf(args).(function)
	if low == "foreach" {
		for _, item := range a.items {
			var given []any
			var err error
			switch by := firstOf(args).(type) {
			case function:
				given, err = r.gather(func(to sink) error { return r.runItem(by, item, to) })
			case typeValue:
				v, failure := r.convert(by.name, item)
				given, err = []any{v}, failure
			case string:
				v, failure := r.memberOrMethod(item, by, args[1:])
				given, err = list(v), failure
			default:
				return nil, lacking("ForEach of lists with these arguments")
			}
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, given...)
		}
		return out, nil
	}
	if !ok {
		return nil, lacking("Where of lists without a script block")
	}
	mode, most := strings.ToLower(at(args, 1)), 0
	if len(args) > 2 {
		n, err := r.number(args, 2)
		if err != nil {
			return nil, err
		}
		most = n
	}
	rest, started := newArray(), false
	for _, item := range a.items {
		yes, err := r.apply(f, item)
		if err != nil {
			return nil, err
		}
		keep := truth(yes)
		switch mode {
		case "", "default", "first", "last", "split", "0":
		case "until":
			if keep {
				return out, nil
			}
			keep = true
		case "skipuntil":
			started = started || keep
			keep = started
		default:
			return nil, lacking("Where of lists by %s", mode)
		}
		if keep {
			out.items = append(out.items, item)
		} else {
			rest.items = append(rest.items, item)
		}
		if n := max(most, 1); mode == "first" && len(out.items) >= n || most > 0 && mode == "" && len(out.items) >= most {
			break
		}
	}
	switch {
	case mode == "last":
		out.items = out.items[max(len(out.items)-max(most, 1), 0):]
	case mode == "first":
		out.items = out.items[:min(max(most, 1), len(out.items))]
	case mode == "split":
		return newArray(out, rest), nil
	}
	return out, nil
}

// memberOrMethod returns a property, or calls the method with the name.
func (r *run) memberOrMethod(v any, name string, args []any) (any, error) {
	if o, ok := v.(*object); ok && len(args) == 0 {
		if got, has := o.get(name); has {
			return got, nil
		}
	}
	if len(args) == 0 {
		if got, err := r.property(v, name); err == nil && got != nil {
			return got, nil
		}
	}
	return r.call(v, name, args)
}

// changeList runs a method that changes a list; ok is false if the list has no such method.
func (r *run) changeList(a *array, low string, args []any) (any, bool, error) {
	if len(a.items) >= maxItems {
		return nil, true, &LimitError{"makes a list of more than a million items"}
	}
	if err := r.take(16); err != nil {
		return nil, true, err
	}
	at, err := 0, error(nil)
	if low == "removeat" || low == "insert" || low == "insertrange" || low == "getrange" || low == "removerange" {
		if at, err = r.number(args, 0); err != nil {
			return nil, true, err
		}
		if at < 0 || at > len(a.items) || low == "removeat" && at == len(a.items) {
			return nil, true, thrown("ArgumentOutOfRangeException",
				"Index was out of range. Must be non-negative and less than the size of the collection.\r\nParameter name: index")
		}
	}
	block, _ := firstOf(args).(function)
	holds := func(v any) (bool, error) {
		given, err := r.gather(func(to sink) error {
			return r.callFunction(block, unnamed(v), nil, to)
		})
		return truth(single(given)), err
	}
	switch low {
	case "add", "enqueue", "push":
		if len(args) != 1 {
			return nil, true, noOverload(low, len(args))
		}
		took, err := r.addTo(a, firstOf(args))
		switch {
		case err != nil:
			return nil, true, err
		case strings.Contains(a.kind, "HashSet"):
			return took, true, nil
		case strings.Contains(a.kind, "ArrayList"):
			return int64(len(a.items) - 1), true, nil
		}
	case "addrange", "unionwith":
		for _, item := range list(firstOf(args)) {
			if _, err := r.addTo(a, item); err != nil {
				return nil, true, err
			}
		}
	case "intersectwith", "exceptwith", "issubsetof", "issupersetof", "overlaps", "setequals":
		if !strings.Contains(a.kind, "HashSet") {
			return nil, false, nil
		}
		other := newArray(list(firstOf(args))...)
		within := func(one, of *array) bool {
			return !slices.ContainsFunc(one.items, func(v any) bool { return indexIn(of, v) < 0 })
		}
		switch low {
		case "issubsetof":
			return within(a, other), true, nil
		case "issupersetof":
			return within(other, a), true, nil
		case "setequals":
			return within(a, other) && within(other, a), true, nil
		case "overlaps":
			return slices.ContainsFunc(other.items, func(v any) bool { return indexIn(a, v) >= 0 }), true, nil
		}
		a.items = slices.DeleteFunc(a.items, func(v any) bool { return (indexIn(other, v) >= 0) == (low == "exceptwith") })
	case "remove":
		i := indexIn(a, firstOf(args))
		if i >= 0 {
			a.items = append(a.items[:i:i], a.items[i+1:]...)
		}
		if !strings.Contains(a.kind, "ArrayList") {
			return i >= 0, true, nil
		}
	case "removeat":
		a.items = append(a.items[:at:at], a.items[at+1:]...)
	case "insert":
		if len(args) > 1 {
			a.items = append(a.items[:at:at], append([]any{args[1]}, a.items[at:]...)...)
		}
	case "insertrange":
		if len(args) > 1 {
			a.items = append(a.items[:at:at], append(append([]any{}, list(args[1])...), a.items[at:]...)...)
		}
	case "getrange", "removerange":
		n, err := r.number(args, 1)
		if err != nil {
			return nil, true, err
		}
		if n < 0 || at+n > len(a.items) {
			return nil, true, thrown("ArgumentException",
				"Offset and length were out of bounds for the array or count is greater than the number of elements from index to the end "+
					"of the source collection.")
		}
		if low == "getrange" {
			copied := *a
			copied.items = append([]any(nil), a.items[at:at+n]...)
			return &copied, true, nil
		}
		a.items = append(a.items[:at:at], a.items[at+n:]...)
	case "clear":
		a.items = nil
	case "reverse":
		slices.Reverse(a.items)
	case "sort":
		if len(args) > 0 {
			return nil, true, lacking("Sort of lists with a comparer")
		}
		return void{}, true, r.sortItems(a)
	case "dequeue", "peek", "pop":
		if len(a.items) == 0 {
			return nil, true, thrown("InvalidOperationException", "%s",
				map[bool]string{true: "Stack empty.", false: "Queue empty."}[strings.Contains(a.kind, "Stack")])
		}
		v := a.items[0]
		if low != "peek" {
			a.items = a.items[1:]
		}
		return v, true, nil
	case "exists", "find", "findall", "removeall", "findindex", "trueforall":
		if block.body == nil {
			return nil, false, nil
		}
		out := newArray()
		out.kind, out.item = a.kind, a.item
		kept := []any{}
		for i, item := range a.items {
			yes, err := holds(item)
			if err != nil {
				return nil, true, err
			}
			switch {
			case low == "trueforall" && !yes:
				return false, true, nil
			case !yes:
				kept = append(kept, item)
				continue
			case low == "exists":
				return true, true, nil
			case low == "find":
				return item, true, nil
			case low == "findindex":
				return int64(i), true, nil
			}
			out.items = append(out.items, item)
		}
		switch low {
		case "exists":
			return false, true, nil
		case "trueforall":
			return true, true, nil
		case "find":
			return nil, true, nil
		case "findindex":
			return int64(-1), true, nil
		case "removeall":
			a.items = kept
			return int64(len(out.items)), true, nil
		}
		return out, true, nil
	case "trimexcess", "trimtosize":
	default:
		return nil, false, nil
	}
	return void{}, true, nil
}

// putKey converts a value to the type of a table's values, and sets it as the value of a key.
func (r *run) putKey(h *hashtable, key, v any) error {
	if h.item != "" {
		typed, err := r.convert(h.item, v)
		if err != nil {
			return err
		}
		v = typed
	}
	h.set(key, v)
	return r.take(32)
}

// duplicateKey returns the failure of adding a key that a table has already.
func duplicateKey(key any) *failure {
	return thrown("ArgumentException", "Item has already been added. Key in dictionary: '%[1]s'  Key being added: '%[1]s'", text(key))
}

// entries returns the keys and values as objects.
func (h *hashtable) entries() []*object {
	out := make([]*object, 0, len(h.keys))
	for k, v := range h.all() {
		if h.generic() {
			out = append(out, tabled(kindPair, 2, "Key", k, "Value", v, "text", "["+text(k)+", "+text(v)+"]"))
		} else {
			out = append(out, tabled(kindEntry, 2, "Name", k, "Value", v, "Key", k))
		}
	}
	return out
}

// hashCall runs a method of a hashtable or dictionary.
func (r *run) hashCall(h *hashtable, name, low string, args []any) (any, error) {
	switch low {
	case "contains", "containskey":
		if low == "containskey" && strings.HasSuffix(kindOf(h), "OrderedDictionary") {
			return nil, methodMissing(kindOf(h), name)
		}
		_, ok := h.get(firstOf(args))
		return ok, nil
	case "containsvalue":
		return indexIn(newArray(slices.Collect(maps.Values(h.values))...), firstOf(args)) >= 0, nil
	case "add":
		if len(args) != 2 {
			break
		}
		if _, ok := h.get(args[0]); ok {
			return nil, duplicateKey(args[0])
		}
		return void{}, unfitArgument(r.putKey(h, args[0], args[1]), "value", args[1], name)
	case "insert":
		i, err := r.number(args, 0)
		if err != nil || !h.ordered || len(args) != 3 || i < 0 || i > len(h.keys) {
			break
		}
		if _, ok := h.get(args[1]); ok {
			return nil, duplicateKey(args[1])
		}
		h.set(args[1], args[2])
		h.keys = slices.Insert(h.keys[:len(h.keys)-1], i, h.keys[len(h.keys)-1])
		return void{}, r.take(32)
	case "remove":
		_, had := h.get(firstOf(args))
		h.remove(firstOf(args))
		if h.kind != "" {
			return had, nil
		}
		return void{}, nil
	case "clear":
		h.keys, h.values = nil, map[string]any{}
		return void{}, nil
	case "clone":
		copied := newHash()
		copied.ordered, copied.exact, copied.kind, copied.item, copied.sorted = h.ordered, h.exact, h.kind, h.item, h.sorted
		for k, v := range h.all() {
			copied.set(k, v)
		}
		return copied, r.take(32 * len(h.keys))
	case "getkey", "getbyindex":
		i, err := r.number(args, 0)
		if err != nil || !h.sorted || i < 0 || i >= len(h.keys) {
			break
		}
		if low == "getkey" {
			return h.keys[i], nil
		}
		return h.read(h.keys[i]), nil
	case "trygetvalue":
		to, isRef := firstOf(args[min(1, len(args)):]).(*reference)
		if !isRef {
			break
		}
		v, has := h.get(args[0])
		if !has && h.item != "" {
			v = zero(parameter{kinds: []string{h.item}})
		}
		to.put(v)
		return has, nil
	case "item", "get_item":
		return h.read(firstOf(args)), nil
	case "set_item":
		if len(args) == 2 {
			return void{}, r.putKey(h, args[0], args[1])
		}
	case "removeat":
		if i, err := r.number(args, 0); err == nil && h.ordered && i >= 0 && i < len(h.keys) {
			h.remove(h.keys[i])
			return void{}, nil
		}
	case "getenumerator":
		out := newArray()
		out.of = h
		for _, entry := range h.entries() {
			out.items = append(out.items, entry)
		}
		return out, nil
	}
	return nil, r.noMethod(h, name)
}
