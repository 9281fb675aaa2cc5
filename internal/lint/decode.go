package lint

import (
	"encoding/json"
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
	var content any
	if err := o.Root.node.Decode(&content); err != nil {
		return []Problem{{o.Root, strings.TrimPrefix(err.Error(), "yaml: ")}}
	}
	data, err := json.Marshal(content)
	if err != nil {
		return []Problem{{o.Root, "a key is no text"}}
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
			at = o.Root.walk(strings.TrimSuffix(path, `"`))
		}
		out = append(out, Problem{at, e.Error()})
	}
	return out
}

// walk follows a path as the decoder writes it: spec.containers[0].image.
func (v Value) walk(path string) Value {
	for part := range strings.SplitSeq(path, ".") {
		name, rest, _ := strings.Cut(part, "[")
		v = v.At(name)
		for rest != "" {
			number, after, _ := strings.Cut(rest, "]")
			i, err := strconv.Atoi(number)
			items := v.Items()
			if err != nil || i < 0 || i >= len(items) {
				return v
			}
			v, rest = items[i], strings.TrimPrefix(after, "[")
		}
	}
	return v
}
