package template

import (
	"fmt"
	"slices"
	"strings"
)

// schema is what a template says of the values of a parameter, an output, or a part of one.
type schema struct {
	template *Object
	def      *Object
	kind     kind
	// name is the type as answers about deployments spell it.
	name   string
	secure bool
}

// typeNames are the types of parameters and outputs.
var typeNames = map[string]schema{"string": {kind: kindString, name: "String"}, "int": {kind: kindInt, name: "Int"},
	"bool": {kind: kindBool, name: "Bool"}, "object": {kind: kindObject, name: "Object"}, "array": {kind: kindArray, name: "Array"},
	"securestring": {kind: kindString, name: "SecureString", secure: true},
	"secureobject": {kind: kindObject, name: "SecureObject", secure: true}}

// maxReferences bounds how many definitions may be between a $ref and the type.
const maxReferences = 32

// typeOf reads a declaration; a $ref takes what it does not say from a definition.
func typeOf(template, def *Object) *schema {
	for n := 0; def.Text("$ref") != ""; n++ {
		ref := def.Text("$ref")
		name, ok := strings.CutPrefix(ref, "#/definitions/")
		target := template.Object("definitions").Object(strings.NewReplacer("~1", "/", "~0", "~", "%20", " ").Replace(name))
		if !ok || target == nil || n == maxReferences {
			fail("invalid reference encountered: '%s' not found in template", ref)
		}
		def = overlay(target, def.without("$ref"))
	}
	s, ok := typeNames[strings.ToLower(def.Text("type"))]
	if !ok {
		fail("the type '%s' is none of string, secureString, int, bool, object, secureObject and array", def.Text("type"))
	}
	s.template, s.def = template, def
	return &s
}

func (s *schema) nullable() bool { return at[bool](s.def, "nullable") }

// check checks a value; place is what messages call it: parameter 'p.n' for the property n of a parameter.
func (s *schema) check(v any, place string) {
	bad := func(format string, args ...any) {
		defer within("the provided value for the template %s is not valid", place)
		fail(format, args...)
	}
	switch k := kindOf(v); {
	case k == kindAny, k == kindNull && s.nullable():
		return
	case k&s.kind == 0:
		bad("Expected a value of type '%s', but received a value of type '%s'", s.kind, k)
	case tooLarge(v):
		bad("Value should be less than or equal to '9223372036854775807', and not less than '-9223372036854775808'")
	}
	s.bounds(v, bad)
	if allowed, ok := s.def.Get("allowedValues"); ok {
		values, _ := allowed.([]any)
		out := func(e any) bool { return !slices.ContainsFunc(values, func(a any) bool { return equal(a, e) }) }
		if list, isList := v.([]any); out(v) && (!isList || slices.ContainsFunc(list, out)) {
			bad("The value %s is not part of the allowed value(s): %s", show(v), strings.Join(each(values, show), ","))
		}
	}
	inside := func(part string) string { return strings.TrimSuffix(place, "'") + part + "'" }
	switch v := v.(type) {
	case []any:
		s.elements(v, inside, bad)
	case *Object:
		s.properties(v, place, inside, bad)
	}
}

// bounds checks lengths of texts and arrays, and values of integers.
func (s *schema) bounds(v any, bad func(string, ...any)) {
	n, what := int64(lengthOf(v)), "Length"
	switch v := v.(type) {
	case int64:
		n, what = v, "Value"
	case bool, *Object:
		return
	}
	if least, ok := s.def.Get("min" + what); ok && kindOf(least) == kindInt && compareNumbers(n, least) < 0 {
		bad("%s should be greater than or equal to '%d'", what, least)
	}
	if most, ok := s.def.Get("max" + what); ok && kindOf(most) == kindInt && compareNumbers(n, most) > 0 {
		bad("%s should be less than or equal to '%d'", what, most)
	}
}

// part checks a value inside of another one, if the template says something of it.
func (s *schema) part(def any, v any, place string) {
	if d, is := def.(*Object); is {
		typeOf(s.template, d).check(v, place)
	}
}

func (s *schema) elements(list []any, inside func(string) string, bad func(string, ...any)) {
	items, _ := s.def.Get("items")
	prefix := at[[]any](s.def, "prefixItems")
	if len(list) < len(prefix) || items == false && len(list) > len(prefix) {
		bad("The array has to have %d elements", len(prefix))
	}
	for i, e := range list {
		def := items
		if i < len(prefix) {
			def = prefix[i]
		}
		s.part(def, e, inside(fmt.Sprintf("[%d]", i)))
	}
}

func (s *schema) properties(o *Object, place string, inside func(string) string, bad func(string, ...any)) {
	if d := s.def.Object("discriminator"); d != nil {
		v, _ := o.Get(d.Text("propertyName"))
		if isLater(v) {
			return
		}
		name, _ := v.(string)
		i := slices.Index(d.Object("mapping").keysOf(), name)
		if i < 0 {
			bad("The value %s of the property '%s' is none of '%s'", show(v), d.Text("propertyName"),
				strings.Join(d.Object("mapping").keysOf(), ", "))
		}
		s.part(d.Object("mapping").values[i], o, place)
		return
	}
	declared := s.def.Object("properties")
	for name, def := range declared.All() {
		d, _ := def.(*Object)
		t := typeOf(s.template, d)
		v, _ := o.Get(name)
		if v == nil && !t.nullable() {
			bad("A non-null value for the property '%s' must be provided, but the property was null or missing", name)
		}
		if v != nil {
			t.check(v, inside("."+name))
		}
	}
	more, _ := s.def.Get("additionalProperties")
	for name, v := range o.All() {
		if declared.find(name) >= 0 {
			continue
		}
		if more == false {
			bad("The object does not allow values with properties not defined in the schema, but the following unknown properties were "+
				"present: ['%s']", name)
		}
		s.part(more, v, inside("."+name))
	}
}
