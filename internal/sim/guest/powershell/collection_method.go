package powershell

import (
	"strings"
	"time"
)

func (r *run) timeCall(t time.Time, name, low string, args []any) (any, error) {
	if low == "subtract" || low == "add" {
		return r.times(map[string]string{"add": "+", "subtract": "-"}[low], t, first2(args))
	}
	if unit, ok := map[string]time.Duration{
		"adddays": 24 * time.Hour, "addhours": time.Hour, "addminutes": time.Minute, "addseconds": time.Second,
		"addmilliseconds": time.Millisecond,
	}[low]; ok && len(args) == 1 {
		n, err := r.convert("double", args[0])
		f, _ := n.(float64)
		return t.Add(time.Duration(f * float64(unit))), err
	}
	n, err := r.number(args, 0)
	if err != nil {
		return nil, err
	}
	switch low {
	case "addmonths":
		return t.AddDate(0, n, 0), nil
	case "addyears":
		return t.AddDate(n, 0, 0), nil
	case "touniversaltime", "tolocaltime":
		return t, nil // the machine's zone is UTC
	case "toshortdatestring":
		return t.Format("1/2/2006"), nil
	case "tofiletime", "tofiletimeutc":
		return ticks(t) - 504911232000000000, nil
	}
	return nil, r.noMethod(t, name)
}

func (r *run) listCall(a *array, name, low string, args []any) (any, error) {
	growing := strings.Contains(a.kind, "List") || strings.Contains(a.kind, "Queue")
	fixed := func() (any, error) {
		return nil, broken("System.NotSupportedException", "NotSupportedException", "Collection was of a fixed size.")
	}
	switch low {
	case "contains":
		for _, item := range a.items {
			if equal(item, first2(args), true) {
				return true, nil
			}
		}
		return false, nil
	case "indexof":
		for i, item := range a.items {
			if equal(item, first2(args), true) {
				return int64(i), nil
			}
		}
		return int64(-1), nil
	case "getenumerator":
		return a, nil
	case "clone", "toarray":
		return newArray(append([]any(nil), a.items...)...), nil
	case "getvalue":
		v, _, err := r.item(a, first2(args))
		return v, err
	case "foreach", "where":
		return r.eachCall(a, low, args)
	case "add", "addrange", "remove", "removeat", "insert", "clear", "reverse", "sort", "enqueue":
		if !growing {
			return fixed()
		}
		return r.change(a, low, args)
	case "join":
		return nil, r.noMethod(a, name)
	}
	// A method of each item.
	var out []any
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

func (r *run) eachCall(a *array, low string, args []any) (any, error) {
	f, ok := first2(args).(function)
	if !ok || len(args) > 1 {
		return nil, lacking("%s of lists with these arguments", low)
	}
	out := newArray()
	for _, item := range a.items {
		given, err := r.gather(func(to sink) error { return r.item1(f, item, to) })
		if err != nil {
			return nil, err
		}
		if low == "foreach" {
			out.items = append(out.items, given...)
		} else if truth(single(given)) {
			out.items = append(out.items, item)
		}
	}
	return out, nil
}

// change alters a list that can grow.
func (r *run) change(a *array, low string, args []any) (any, error) {
	if len(a.items) >= maxItems {
		return nil, &LimitError{"makes a list of more than a million items"}
	}
	if err := r.take(16); err != nil {
		return nil, err
	}
	i, err := int(0), error(nil)
	if low == "removeat" || low == "insert" {
		if i, err = r.number(args, 0); err != nil {
			return nil, err
		}
		if i < 0 || i > len(a.items) || low == "removeat" && i == len(a.items) {
			return nil, broken("System.ArgumentOutOfRangeException", "ArgumentOutOfRangeException",
				"Index was out of range. Must be non-negative and less than the size of the collection.")
		}
	}
	switch low {
	case "add":
		a.items = append(a.items, first2(args))
		if strings.Contains(a.kind, "ArrayList") {
			return int64(len(a.items) - 1), nil
		}
	case "addrange":
		a.items = append(a.items, list(first2(args))...)
	case "remove":
		for i, item := range a.items {
			if equal(item, first2(args), true) {
				a.items = append(a.items[:i:i], a.items[i+1:]...)
				break
			}
		}
	case "removeat":
		a.items = append(a.items[:i:i], a.items[i+1:]...)
	case "insert":
		if len(args) > 1 {
			a.items = append(a.items[:i:i], append([]any{args[1]}, a.items[i:]...)...)
		}
	case "clear":
		a.items = nil
	case "reverse":
		for i, j := 0, len(a.items)-1; i < j; i, j = i+1, j-1 {
			a.items[i], a.items[j] = a.items[j], a.items[i]
		}
	default:
		return nil, lacking("the method %s of lists", low)
	}
	return void{}, nil
}

func (r *run) hashCall(h *hashtable, name, low string, args []any) (any, error) {
	switch low {
	case "contains", "containskey":
		_, ok := h.get(first2(args))
		return ok, nil
	case "containsvalue":
		for _, k := range h.keys {
			if v, _ := h.get(k); equal(v, first2(args), true) {
				return true, nil
			}
		}
		return false, nil
	case "add":
		if len(args) != 2 {
			break
		}
		if _, ok := h.get(args[0]); ok {
			return nil, broken("System.ArgumentException", "ArgumentException",
				"Item has already been added. Key in dictionary: '%s'  Key being added: '%s'", text(args[0]),
				text(args[0]))
		}
		h.set(args[0], args[1])
		return void{}, r.take(32)
	case "remove":
		h.remove(first2(args))
		return void{}, nil
	case "clear":
		h.keys, h.values = nil, map[string]any{}
		return void{}, nil
	case "clone":
		v, err := r.tables("+", h, newHash())
		return v, err
	case "getenumerator":
		out := newArray()
		for _, k := range h.keys {
			v, _ := h.get(k)
			out.items = append(out.items, system("System.Collections.DictionaryEntry", []string{"Name", "Value"},
				"Name", k, "Value", v, "Key", k))
		}
		return out, nil
	}
	return nil, r.noMethod(h, name)
}
