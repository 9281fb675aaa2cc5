// Package defaults contains the values that Azure fills in for omitted properties (defaults.tsv),
// for each resource type and API version. It knows no resource and no provider: the providers
// compute the values that depend on more than the document, such as an ID or the size of an image.
// Of this module it imports only value.
package defaults

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"casement.dev/casement/azuresim/internal/value"
)

//go:embed defaults.tsv
var table string

// row is one line of the table.
type row struct {
	path []string
	// value is the column's value, decoded by encoding/json.
	value any
	when  []condition
	// from and to limit the API versions of writes for which the row counts; "" is no limit.
	from, to string
	// since is the first API version that shows the member. Older versions do not show it; if
	// asValue is set, they hide it only if it has the row's value.
	since   string
	asValue bool
}

// condition compares a member with a text. Its path begins at the document or, with a leading ".",
// at the object that contains the row's member.
type condition struct {
	path  []string
	here  bool
	text  string
	equal bool
}

type typeRows struct {
	all []row
	// late are the rows with since, including the rows of the type's later steps.
	late []row
	// newest is the latest version in the since column; "" if there is none.
	newest string
}

var byType = sync.OnceValue(func() map[string]*typeRows {
	out, err := parse(table)
	if err != nil {
		panic(fmt.Sprintf("defaults.tsv: %v", err)) // an error in the embedded file; any test finds it
	}
	return out
})

// columns is the number of columns of the table: type, path, value, when, written, shown, source.
const columns = 7

func parse(text string) (map[string]*typeRows, error) {
	out := map[string]*typeRows{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != columns {
			return nil, fmt.Errorf("the line %q has %d columns, not %d", line, len(cells), columns)
		}
		r := row{path: strings.Split(cells[1], ".")}
		if err := json.Unmarshal([]byte(cells[2]), &r.value); err != nil {
			return nil, fmt.Errorf("the value of the line %q: %w", line, err)
		}
		for c := range strings.FieldsSeq(cells[3]) {
			path, text, ok := strings.Cut(c, "=")
			if !ok {
				return nil, fmt.Errorf("the condition of the line %q has no =", line)
			}
			path, unequal := strings.CutSuffix(path, "!")
			path, here := strings.CutPrefix(path, ".")
			r.when = append(r.when, condition{strings.Split(path, "."), here, text, !unequal})
		}
		r.from, r.to, _ = strings.Cut(cells[4], "..")
		r.since, r.asValue = strings.CutPrefix(cells[5], "=")
		for name := range strings.SplitSeq(value.Lower(cells[0]), ",") {
			of(out, name).all = append(of(out, name).all, r)
			if kind, _, _ := strings.Cut(name, " "); r.since != "" {
				of(out, kind).late = append(of(out, kind).late, r)
				of(out, kind).newest = max(of(out, kind).newest, r.since)
			}
		}
	}
	return out, nil
}

// of returns the rows of a name; it adds an empty entry for a new name.
func of(all map[string]*typeRows, name string) *typeRows {
	if all[name] == nil {
		all[name] = &typeRows{}
	}
	return all[name]
}

// Fill sets the members that a write omitted or set to null in a document of a resource type.
// version is the API version of the write; "" means the newest. The rows of a type name followed by
// a word, such as "disks done", belong to a later step of the provider.
func Fill(resourceType, version string, body value.Object) {
	of := byType()[value.Lower(resourceType)]
	if of == nil {
		return
	}
	for i := range of.all {
		r := &of.all[i]
		if version == "" && r.to == "" || version != "" && r.from <= version && (r.to == "" || version <= r.to) {
			r.visit(body, body, r.path, true, func(o value.Object, key string) {
				if o[key] == nil && r.holds(body, o) {
					o[key] = value.Clone(r.value)
				}
			})
		}
	}
}

// Hide removes from a document the members that an API version does not have.
func Hide(resourceType, version string, body value.Object) {
	of := byType()[value.Lower(resourceType)]
	if of == nil || version == "" || version >= of.newest {
		return
	}
	for i := range of.late {
		r := &of.late[i]
		if version >= r.since {
			continue
		}
		r.visit(body, body, r.path, false, func(o value.Object, key string) {
			if (!r.asValue || reflect.DeepEqual(o[key], r.value)) && r.holds(body, o) {
				delete(o, key)
			}
		})
	}
}

// Newest returns the API version since which clients see documents of a type in their stored form;
// "" for all versions.
func Newest(resourceType string) string {
	if of := byType()[value.Lower(resourceType)]; of != nil {
		return of.newest
	}
	return ""
}

// visit calls do with the object and the key of each member at a path. A step that ends in "[]"
// visits each element of an array, and a step that ends in "?" only an object that exists. Other
// missing objects are created if make is set. Without make, an object that is empty after do is
// removed.
func (r *row) visit(root, o value.Object, path []string, make bool, do func(value.Object, string)) {
	step := path[0]
	if len(path) == 1 {
		do(o, step)
		return
	}
	if name, each := strings.CutSuffix(step, "[]"); each {
		for _, e := range value.Items(o, name) {
			r.visit(root, e, path[1:], make, do)
		}
		return
	}
	name, there := strings.CutSuffix(step, "?")
	next := value.Sub(o, name)
	if next == nil {
		if there || !make || o[name] != nil || !r.holds(root, o) {
			return
		}
		next = value.Object{}
		o[name] = next
	}
	r.visit(root, next, path[1:], make, do)
	if !make && len(next) == 0 && name != "properties" {
		delete(o, name)
	}
}

// holds reports whether the row's conditions are true for its member, which is in the object o of
// the document body.
func (r *row) holds(body, o value.Object) bool {
	for _, c := range r.when {
		from := body
		if c.here {
			from = o
		}
		if strings.EqualFold(text(value.At(from, c.path...)), c.text) != c.equal {
			return false
		}
	}
	return true
}

// text returns a value in the form of a condition: "" for a missing member or an empty list, "..."
// for any other list or an object.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		if len(v) == 0 {
			return ""
		}
		return "..."
	case value.Object:
		return "..."
	}
	return fmt.Sprint(v)
}
