package lint

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
)

// Decoder reads objects of a scheme's kinds as the API server does and says what it does
// not know.
type Decoder struct{ Scheme *runtime.Scheme }

// Problem is a place that the API server cannot read.
type Problem struct {
	At      Value
	Message string
}

// Problems are what a strict API server has against the fields of an object; none
// for a kind that it does not know.
func (d Decoder) Problems(o *Object) []Problem {
	data, err := o.Root.JSON()
	if err != nil {
		return []Problem{{o.Root, err.Error()}}
	}
	into, err := d.Scheme.New(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind))
	if err != nil {
		return nil // another one's kind
	}
	unknown, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		return []Problem{{o.Root, err.Error()}}
	}
	var out []Problem
	for _, e := range unknown {
		at := o.Root
		if _, path, ok := strings.Cut(e.Error(), `"`); ok {
			at = o.Root.Find(strings.TrimSuffix(path, `"`))
		}
		out = append(out, Problem{at, e.Error()})
	}
	return out
}

// Find follows a path as the API server writes it: spec.containers[0].image, and
// metadata.annotations[key], and an item of a list by its name: variables[location]. It
// stops where there is nothing more.
func (v Value) Find(path string) Value {
	for part := range strings.SplitSeq(path, ".") {
		name, rest, _ := strings.Cut(part, "[")
		if name != "" {
			v = v.At(name)
		}
		for rest != "" {
			key, after, _ := strings.Cut(rest, "]")
			switch i, err := strconv.Atoi(key); {
			case err == nil && i >= 0 && i < len(v.Items()):
				v = v.Items()[i]
			case err != nil && v.IsMap():
				v = v.At(key)
			default:
				item := slices.IndexFunc(v.Items(), func(item Value) bool { return item.At("name").Str() == key })
				if item < 0 {
					return v
				}
				v = v.Items()[item]
			}
			rest = strings.TrimPrefix(after, "[")
		}
	}
	return v
}
