package powershell

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/internal/dotnet"
)

// A value of PowerShell is nil, a string, int64, float64, bool, char, time.Time, time.Duration or []byte, or
// one of the following types.
type (
	// void is the value of a command without output.
	void struct{}
	char rune
	// array is a list; kind is the name of its type.
	array struct {
		items []any
		kind  string
		// item is the type of a generic list's items, in lower case.
		item string
		// owner is the object whose properties or type names are the items, or nil.
		owner *object
		// fold is set for a set that compares texts without case.
		fold bool
		// of is the hashtable whose keys, values or entries are the items, or nil.
		of *hashtable
	}
	// typeValue is a type, such as [string]. Its name is in lower case and without System.
	typeValue struct{ name string }
	// enumMember is a member of an enumeration.
	enumMember struct {
		kind, name string
		n          int64
	}
	// secret is a SecureString, whose text scripts do not see.
	secret struct{ text string }
	// guid and version are values of Guid and Version as their text.
	guid    string
	version string
	// function is a function or a script block. A script block has no name.
	function struct {
		name string
		body *block
		text string
		file string
		// source is the text in which the positions of body count.
		source string
		// home is the scope of the module in which the function is written, or nil.
		home *scope
		// filter is set for a function that the keyword filter declares.
		filter bool
	}
	// object is an object with ordered fields. A closed object is an object of the system, which has fields that are not simulated.
	object struct {
		kind   string
		fields []field
		closed bool
		// shown are the fields that a table shows; nil shows all.
		shown []string
		// wraps is set for an object that is a value with additional members. The value is its field text.
		wraps bool
		// named is the type name that PSTypeName sets.
		named string
	}
	field struct {
		name  string
		value any
	}
)

func (o *object) String() string { return o.kind }

func newArray(items ...any) *array { return &array{items: items, kind: "Object[]"} }

// textArray returns a list of texts.
func textArray(texts []string) *array {
	out := &array{kind: "String[]"}
	for _, s := range texts {
		out.items = append(out.items, s)
	}
	return out
}

func (o *object) get(name string) (any, bool) {
	for _, f := range o.fields {
		if strings.EqualFold(f.name, name) {
			return f.value, true
		}
	}
	return nil, false
}

// read returns a field, or nil if it does not exist.
func (o *object) read(name string) any { v, _ := o.get(name); return v }

func (o *object) set(name string, value any) {
	for i, f := range o.fields {
		if strings.EqualFold(f.name, name) {
			o.fields[i].value = value
			return
		}
	}
	o.fields = append(o.fields, field{name, value})
}

// members returns the fields that a script sees. A closed object's fields in lower case are internal.
func (o *object) members() []field {
	if !o.closed {
		return o.fields
	}
	return slices.DeleteFunc(slices.Clone(o.fields), func(f field) bool { return f.name != "" && f.name[0] >= 'a' && f.name[0] <= 'z' })
}

// remove removes a field.
func (o *object) remove(name string) {
	for i, f := range o.fields {
		if strings.EqualFold(f.name, name) {
			o.fields = append(o.fields[:i:i], o.fields[i+1:]...)
			return
		}
	}
}

// system returns an object of the system with the fields of pairs: names and values in turn.
func system(kind string, shown []string, pairs ...any) *object {
	o := &object{kind: kind, closed: true, shown: shown}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		o.fields = append(o.fields, field{name, pairs[i+1]})
	}
	return o
}

// tabled is like system. The table of the object shows its first fields; shown is their number.
func tabled(kind string, shown int, pairs ...any) *object {
	o := system(kind, nil, pairs...)
	for _, f := range o.fields[:shown] {
		o.shown = append(o.shown, f.name)
	}
	return o
}

const customKind = "System.Management.Automation.PSCustomObject"

func custom(fields ...field) *object { return &object{kind: customKind, fields: fields} }

// hashtable is a hashtable or dictionary. It keeps the order in which keys were added. Text keys ignore case.
type hashtable struct {
	keys    []any
	values  map[string]any
	ordered bool
	// sorted keeps the keys in sorted order.
	sorted bool
	// exact is set if keys are case-sensitive, as in a Dictionary; kind is the type's name, "" for a Hashtable.
	exact bool
	kind  string
	// item is the type of a Dictionary's values.
	item string
	// version counts the changes.
	version int
}

func newHash() *hashtable { return &hashtable{values: map[string]any{}} }

// hashKey returns the map key of a hashtable key. Texts ignore case.
func hashKey(k any) string {
	switch k := k.(type) {
	case string:
		return "s" + strings.ToLower(k)
	case int64:
		return "i" + strconv.FormatInt(k, 10)
	case enumMember:
		return "e" + k.kind + k.name
	case *object, *array, *hashtable, *failure:
		return fmt.Sprintf("%p", k)
	}
	return fmt.Sprintf("%s %s", kindOf(k), text(k))
}

func (h *hashtable) id(key any) string {
	if s, ok := key.(string); ok && h.exact {
		return "s" + s
	}
	return hashKey(key)
}

// generic reports whether a table is a dictionary, whose entries are key-value pairs.
func (h *hashtable) generic() bool {
	return strings.Contains(h.kind, "Dictionary`2") || h.kind == kindBound
}

func (h *hashtable) get(key any) (any, bool) { v, ok := h.values[h.id(key)]; return v, ok }

// read returns the value of a key, or nil if it does not exist.
func (h *hashtable) read(key any) any { v, _ := h.get(key); return v }

// all iterates over the keys and values.
func (h *hashtable) all() iter.Seq2[any, any] {
	return func(yield func(key, value any) bool) {
		for _, k := range h.keys {
			if !yield(k, h.values[h.id(k)]) {
				return
			}
		}
	}
}

func (h *hashtable) set(key, value any) {
	id := h.id(key)
	if _, ok := h.values[id]; !ok {
		at := len(h.keys)
		for h.sorted && at > 0 && dotnet.Compare(text(h.keys[at-1]), text(key), true) > 0 {
			at--
		}
		h.keys = slices.Insert(h.keys, at, key)
	}
	h.values[id] = value
	h.version++
}

func (h *hashtable) remove(key any) {
	id := h.id(key)
	if _, ok := h.values[id]; !ok {
		return
	}
	delete(h.values, id)
	for i, k := range h.keys {
		if h.id(k) == id {
			h.keys = append(h.keys[:i:i], h.keys[i+1:]...)
			return
		}
	}
}

// plain returns null for void, and any other value unchanged.
func plain(v any) any {
	if _, ok := v.(void); ok {
		return nil
	}
	return v
}

// truth converts a value to a Boolean, as a condition does.
func truth(v any) bool {
	switch v := v.(type) {
	case nil, void:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case int64:
		return v != 0
	case sized:
		return v.n != 0
	case decimal:
		return v.n.Sign() != 0
	case enumMember:
		return v.n != 0
	case float64:
		return v != 0
	case short:
		return v != 0
	case char:
		return v != 0
	case []byte:
		return len(v) > 0
	case *array:
		if v.kind == kindEnumerator {
			return true
		}
		switch len(v.items) {
		case 0:
			return false
		case 1:
			if inner, ok := v.items[0].(*array); ok {
				return len(inner.items) > 0
			}
			return truth(v.items[0])
		}
	}
	return true
}

// list returns the items over which a loop iterates.
func list(v any) []any {
	switch v := v.(type) {
	case nil, void:
		return nil
	case *array:
		return v.items
	case *object:
		if v.kind == kindMatchGroups {
			return list(v.read("items"))
		}
	case []byte:
		out := make([]any, len(v))
		for i, b := range v {
			out[i] = sized{"Byte", int64(b)}
		}
		return out
	}
	return []any{v}
}

// text returns the text of a value, as in an expandable string.
func text(v any) string { return textOf(v, 0) }

// maxLevels is the maximum depth of nested lists.
const maxLevels = 32

// textOf returns the text of a value; level is the depth of lists around it.
func textOf(v any, level int) string {
	switch v := v.(type) {
	case nil, void:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return number(v)
	case char:
		return string(rune(v))
	case guid:
		return string(v)
	case version:
		return string(v)
	case secret:
		return "System.Security.SecureString"
	case time.Time:
		s, _ := invariant.Date(v, "", "G")
		return s
	case time.Duration:
		s, _ := dotnet.Span(v, "")
		return s
	case typeValue:
		if level > 0 { // a type within a list has the text of its own ToString
			return typeName(v.name)
		}
		return shortName(v.name)
	case enumMember:
		return v.name
	case function:
		return v.text
	case *hashtable, *reference:
		return kindOf(v)
	case *array, []byte:
		items := list(v)
		parts := make([]string, 0, len(items))
		for _, item := range items {
			if isList(item) {
				parts = append(parts, kindOf(item))
				continue
			}
			parts = append(parts, textOf(item, level+1))
		}
		return strings.Join(parts, " ")
	case *object:
		return objectText(v, level)
	case fmt.Stringer:
		return v.String()
	}
	return fmt.Sprint(v)
}

// isList reports whether a value is a list, which within another list has its type's name as text.
func isList(v any) bool {
	switch v.(type) {
	case *array, []byte:
		return true
	}
	return false
}

// objectText returns the text of an object.
func objectText(o *object, level int) string {
	if o.kind == customKind {
		if level > 0 { // within a list the object's own ToString applies, which is empty
			return ""
		}
		parts := make([]string, len(o.fields))
		for i, f := range o.fields {
			parts[i] = f.name + "="
			if isList(f.value) {
				parts[i] += kindOf(f.value)
				continue
			}
			parts[i] += textOf(f.value, level+1)
		}
		return "@{" + strings.Join(parts, "; ") + "}"
	}
	for name := range strings.SplitSeq(textField[o.kind], ",") {
		if v, ok := o.get(name); ok {
			return textOf(v, level+1)
		}
	}
	if v, ok := o.get("text"); ok {
		return textOf(v, level+1)
	}
	return o.kind
}

// textField are the names of the fields that are the text of an object, by kind.
var textField = map[string]string{
	kindService: "Name", kindFile: "FullName", kindDirectory: "FullName", kindMatch: "Line", kindUser: "Name",
	kindGroup: "Name", kindAddress: "IPAddress", kindPath: "Path", kindProcess: "text",
}

// kindOf returns the full name of a value's type.
func kindOf(v any) string {
	switch v := v.(type) {
	case string:
		return "System.String"
	case bool:
		return "System.Boolean"
	case int64:
		if v > math.MaxInt32 || v < math.MinInt32 {
			return "System.Int64"
		}
		return "System.Int32"
	case sized:
		return "System." + v.kind
	case decimal:
		return "System.Decimal"
	case enumMember:
		return v.kind
	case float64:
		return "System.Double"
	case short:
		return "System.Single"
	case char:
		return "System.Char"
	case guid:
		return "System.Guid"
	case version:
		return "System.Version"
	case secret:
		return "System.Security.SecureString"
	case time.Time:
		return "System.DateTime"
	case time.Duration:
		return "System.TimeSpan"
	case []byte:
		return "System.Byte[]"
	case typeValue:
		return "System.RuntimeType"
	case function:
		return "System.Management.Automation.ScriptBlock"
	case *reference:
		return "System.Management.Automation.PSReference`1"
	case *hashtable:
		if v.kind != "" {
			return v.kind
		}
		if v.ordered {
			return "System.Collections.Specialized.OrderedDictionary"
		}
		return "System.Collections.Hashtable"
	case *array:
		if strings.Contains(v.kind, ".") {
			return v.kind
		}
		return "System." + v.kind
	case *object:
		return v.kind
	case *failure:
		return "System.Management.Automation.ErrorRecord"
	case exception:
		return v.kind
	}
	return fmt.Sprintf("%T", v)
}
