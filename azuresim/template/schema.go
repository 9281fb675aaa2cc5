package template

import (
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/template/datum"
)

// schema describes the allowed values of a parameter, an output, or a part of one.
type schema struct {
	template, def *datum.Object
	kind          kind
	// name is the type's spelling in answers about deployments.
	name   string
	secure bool
	// place is the value's name in messages: parameter 'p.n' for the property n of a parameter.
	place string
}

// typeNames maps the types of parameters and outputs.
var typeNames = map[string]schema{"string": {kind: kindString, name: "String"}, "int": {kind: kindInt, name: "Int"},
	"bool": {kind: kindBool, name: "Bool"}, "object": {kind: kindObject, name: "Object"}, "array": {kind: kindArray, name: "Array"},
	"securestring": {kind: kindString, name: "SecureString", secure: true},
	"secureobject": {kind: kindObject, name: "SecureObject", secure: true}}

// maxReferences is the largest number of definitions between a $ref and the type.
const maxReferences = 32

// typeOf parses the declaration of a type; properties that it lacks come from the definition that
// its $ref names.
func typeOf(template, def *datum.Object, place string) *schema {
	for n := 0; def.Text("$ref") != ""; n++ {
		ref := def.Text("$ref")
		name, ok := strings.CutPrefix(ref, "#/definitions/")
		target := template.Object("definitions").Object(strings.NewReplacer("~1", "/", "~0", "~", "%20", " ").Replace(name))
		if !ok || target == nil || n == maxReferences {
			fail("invalid reference encountered: '%s' not found in template", ref)
		}
		def = datum.Overlay(target, def.Without("$ref"))
	}
	s, ok := typeNames[strings.ToLower(def.Text("type"))]
	if !ok {
		fail("the type '%s' is none of string, secureString, int, bool, object, secureObject and array", def.Text("type"))
	}
	s.template, s.def, s.place = template, def, place
	return &s
}

func (s *schema) nullable() bool { return datum.At[bool](s.def, "nullable") }

func (s *schema) bad(format string, args ...any) {
	defer within("the provided value for the template %s is not valid", s.place)
	fail(format, args...)
}

// check fails for a value that the schema does not allow.
func (s *schema) check(v any) {
	switch k := kindOf(v); {
	case k == kindAny, k == kindNull && s.nullable():
		return
	case k&s.kind == 0:
		s.bad("Expected a value of type '%s', but received a value of type '%s'", s.kind, k)
	case tooLarge(v):
		s.bad("Value should be less than or equal to '9223372036854775807', and not less than '-9223372036854775808'")
	}
	s.bounds(v)
	if allowed, ok := s.def.Get("allowedValues"); ok {
		values, _ := allowed.([]any)
		out := func(e any) bool { return !slices.ContainsFunc(values, func(a any) bool { return datum.Equal(a, e) }) }
		if list, isList := v.([]any); out(v) && (!isList || slices.ContainsFunc(list, out)) {
			s.bad("The value %s is not part of the allowed value(s): %s", show(v), strings.Join(each(values, show), ","))
		}
	}
	switch v := v.(type) {
	case []any:
		s.elements(v)
	case *datum.Object:
		s.properties(v)
	}
}

// bounds checks the length of texts and arrays, and the value of integers.
func (s *schema) bounds(v any) {
	n, what := any(int64(lengthOf(v))), "Length"
	switch kindOf(v) {
	case kindInt:
		n, what = v, "Value"
	case kindBool, kindObject:
		return
	}
	for i, end := range []string{"min", "max"} {
		if bound, ok := s.def.Get(end + what); ok && kindOf(bound) == kindInt && compareNumbers(n, bound)*(1-2*i) < 0 {
			s.bad("%s should be %s than or equal to '%d'", what, []string{"greater", "less"}[i], bound)
		}
	}
}

// part checks a value inside another value if the template declares the type of the part.
func (s *schema) part(def, v any, part string) {
	if d, is := def.(*datum.Object); is {
		typeOf(s.template, d, strings.TrimSuffix(s.place, "'")+part+"'").check(v)
	}
}

func (s *schema) elements(list []any) {
	items, _ := s.def.Get("items")
	prefix := datum.At[[]any](s.def, "prefixItems")
	if len(list) < len(prefix) || items == false && len(list) > len(prefix) {
		s.bad("The array has to have %d elements", len(prefix))
	}
	for i, e := range list {
		s.part(append(slices.Clip(prefix), items)[min(i, len(prefix))], e, fmt.Sprintf("[%d]", i))
	}
}

func (s *schema) properties(o *datum.Object) {
	if d := s.def.Object("discriminator"); d != nil {
		v, _ := o.Get(d.Text("propertyName"))
		if datum.IsLater(v) {
			return
		}
		kinds, name := d.Object("mapping"), as[string](v)
		if !slices.Contains(kinds.Keys(), name) {
			s.bad("The value %s of the property '%s' is none of '%s'", show(v), d.Text("propertyName"), strings.Join(kinds.Keys(), ", "))
		}
		s.part(kinds.Object(name), o, "")
		return
	}
	declared := s.def.Object("properties")
	for name, def := range declared.All() {
		v, _ := o.Get(name)
		if !typeOf(s.template, as[*datum.Object](def), s.place).nullable() && v == nil {
			s.bad("A non-null value for the property '%s' must be provided, but the property was null or missing", name)
		}
		if v != nil {
			s.part(def, v, "."+name)
		}
	}
	more, _ := s.def.Get("additionalProperties")
	for name, v := range o.All() {
		if declared.Has(name) {
			continue
		}
		if more == false {
			s.bad("The object does not allow values with properties not defined in the schema, but the following unknown properties were "+
				"present: ['%s']", name)
		}
		s.part(more, v, "."+name)
	}
}
