// Package defaults has what Azure fills in where a client left a member out (defaults.tsv), for each resource type and API
// version. It knows no resource and no provider: values that follow from anything but the document itself, such as an ID or
// the size of an image, are made by the providers. It imports nothing of this module but value.
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
	// value is what encoding/json makes of the column.
	value any
	when  []condition
	// from and to bound the API version of the write; "" is no bound.
	from, to string
	// since is the API version that a member came with, which older ones do not show; of a row with asValue older ones show
	// it with any other value.
	since   string
	asValue bool
}

// condition compares a member with a text. Its path begins at the document, or with "." at the object that has the row's
// member.
type condition struct {
	path  []string
	here  bool
	text  string
	equal bool
}

type typeRows struct {
	all []row
	// late are the rows of members that came later, those of the type's later steps too.
	late []row
	// newest is the latest version with which a member came, "" for none.
	newest string
}

var byType = sync.OnceValue(func() map[string]*typeRows {
	out, err := parse(table)
	if err != nil {
		panic(fmt.Sprintf("defaults.tsv: %v", err)) // an error of the build, which any test shows
	}
	return out
})

// columns of the table: type, path, value, when, written, shown, source.
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

// of returns the rows under a name, which it adds.
func of(all map[string]*typeRows, name string) *typeRows {
	if all[name] == nil {
		all[name] = &typeRows{}
	}
	return all[name]
}

// Fill sets the members of a document of a resource type that a write in an API version left out or gave as null; "" is the
// newest version. Rows of a type with a word after it, such as "disks done", are those of a later step of the provider.
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

// Hide removes from a document what an API version does not show yet.
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

// Newest returns the API version since which documents of a type are shown as they are stored, "" for every version.
func Newest(resourceType string) string {
	if of := byType()[value.Lower(resourceType)]; of != nil {
		return of.newest
	}
	return ""
}

// visit calls do with the object and the key of each member at a path. A step with "[]" goes to each element of an array, one
// with "?" to an object only if it is there; any other object is made where it is missing, if make says so. One that holds
// nothing after do is removed where none are made.
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

// holds reports whether the row's conditions hold for the member of an object o of a document.
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

// text returns a scalar as a condition has it; "" is a member that is absent or an empty list, and "..." any other object or
// list.
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
