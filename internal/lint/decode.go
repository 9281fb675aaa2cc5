package lint

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
)

// variable matches a whole value that a template variable replaces, which may become a value of any type.
var variable = regexp.MustCompile(`"\$\{[^"\\]*\}"([^:]|$)`)

// Decoder decodes objects of a scheme's kinds in the same way as the API server, and reports unknown fields.
type Decoder struct{ Scheme *runtime.Scheme }

// Problem is a field that the API server cannot decode.
type Problem struct {
	At      Value
	Message string
	// Twice is true for a key that occurs twice: clients that read YAML take the last.
	Twice bool
}

// Problems returns the errors of strict decoding about an object's fields; none for an unknown kind.
func (d Decoder) Problems(o *Object) []Problem {
	data, twice, err := o.Root.json()
	if err != nil {
		return []Problem{{At: o.Root, Message: err.Error()}}
	}
	var out []Problem
	if twice != nil {
		out = append(out, Problem{At: o.Root, Message: twice.Error(), Twice: true})
	}
	into, err := d.Scheme.New(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind))
	if err != nil {
		return out // not one of the scheme's kinds
	}
	unknown, err := kjson.UnmarshalStrict(variable.ReplaceAll(data, []byte("null$1")), into)
	if err != nil {
		return append(out, Problem{At: o.Root, Message: err.Error()})
	}
	for _, e := range unknown {
		at := o.Root
		if _, path, ok := strings.Cut(e.Error(), `"`); ok {
			at = o.Root.Find(strings.TrimSuffix(path, `"`))
		}
		out = append(out, Problem{At: at, Message: e.Error(), Twice: strings.HasPrefix(e.Error(), "duplicate field")})
	}
	return out
}

// Find follows a path as the API server writes it: spec.containers[0].image, and metadata.annotations[key], and an item
// of a list by its name: variables[location]. It stops at the last existing part.
func (v Value) Find(path string) Value {
	for path != "" {
		switch path[0] {
		case '.':
			path = path[1:]
		case '[':
			var key string
			key, path, _ = strings.Cut(path[1:], "]")
			below, ok := v.item(key)
			if !ok {
				return v
			}
			v = below
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			v, path = v.At(path[:end]), path[end:]
		}
	}
	return v
}

// item returns the element that a bracket in a path names: the value of a key, or the element of a list by its index or
// its name.
func (v Value) item(key string) (Value, bool) {
	if v.IsMap() {
		return v.At(key), true
	}
	items := v.Items()
	i, err := strconv.Atoi(key)
	if err != nil {
		i = slices.IndexFunc(items, func(item Value) bool { return item.At("name").Str() == key })
	}
	if i < 0 || i >= len(items) {
		return v, false
	}
	return items[i], true
}
