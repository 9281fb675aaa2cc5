package lint

import (
	"errors"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// Decoder reads objects as the API server does and says what it does not know.
type Decoder struct{ decoder runtime.Decoder }

// NewDecoder knows the kinds of a scheme.
func NewDecoder(scheme *runtime.Scheme) Decoder {
	return Decoder{serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()}
}

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
	_, _, err = d.decoder.Decode(data, nil, nil)
	if err == nil || runtime.IsNotRegisteredError(err) {
		return nil
	}
	strict, ok := errors.AsType[interface {
		error
		Errors() []error
	}](err)
	if !ok {
		return []Problem{{o.Root, err.Error()}}
	}
	var out []Problem
	for _, e := range strict.Errors() {
		at := o.Root
		if _, path, ok := strings.Cut(e.Error(), `"`); ok {
			at = o.Root.Find(strings.TrimSuffix(path, `"`))
		}
		out = append(out, Problem{at, e.Error()})
	}
	return out
}

// Find follows a path as the API server writes it: spec.containers[0].image, and
// metadata.annotations[key]. It stops where there is nothing more.
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
				return v
			}
			rest = strings.TrimPrefix(after, "[")
		}
	}
	return v
}
