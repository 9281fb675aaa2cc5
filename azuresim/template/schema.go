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
func typeOf(template, def *Object) (*schema, error) {
	merged := def
	for next, n := def, 0; ; n++ {
		ref := next.Text("$ref")
		if ref == "" {
			break
		}
		name, ok := strings.CutPrefix(ref, "#/definitions/")
		target := template.Object("definitions").Object(strings.NewReplacer("~1", "/", "~0", "~", "%20", " ").Replace(name))
		if !ok || target == nil || n == maxReferences {
			return nil, fmt.Errorf("invalid reference encountered: '%s' not found in template", ref)
		}
		base := &Object{}
		for k, v := range target.All() {
			base.Set(k, v)
		}
		for k, v := range merged.All() {
			if k != "$ref" {
				base.Set(k, v)
			}
		}
		merged, next = base, target
	}
	s, ok := typeNames[strings.ToLower(merged.Text("type"))]
	if !ok {
		return nil, fmt.Errorf("the type '%s' is none of string, secureString, int, bool, object, secureObject and array", merged.Text("type"))
	}
	s.template, s.def = template, merged
	return &s, nil
}

func (s *schema) nullable() bool {
	v, _ := s.def.Get("nullable")
	return v == true
}

// check checks a value; place is what messages call it.
func (s *schema) check(v any, place string) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("the provided value for the template %s is not valid. %s", place, fmt.Sprintf(format, args...))
	}
	switch k := kindOf(v); {
	case k == kindAny, k == kindNull && s.nullable():
		return nil
	case k&s.kind == 0:
		want := s.kind.String()
		if s.kind == kindString {
			want = "String, Uri"
		}
		return bad("Expected a value of type '%s', but received a value of type '%s'", want, k)
	case tooLarge(v):
		return bad("Value should be less than or equal to '9223372036854775807', and not less than '-9223372036854775808'")
	}
	if err := s.bounds(v, bad); err != nil {
		return err
	}
	if l, ok := s.def.Get("allowedValues"); ok {
		allowed, _ := l.([]any)
		in := func(e any) bool { return slices.ContainsFunc(allowed, func(a any) bool { return equal(a, e) }) }
		list, isList := v.([]any)
		if !in(v) && (!isList || slices.ContainsFunc(list, func(e any) bool { return !in(e) })) {
			var names []string
			for _, a := range allowed {
				n, ok := plainText(a)
				if !ok {
					n = showValue(a)
				}
				names = append(names, n)
			}
			return bad("The value %s is not part of the allowed value(s): '%s'", showValue(v), strings.Join(names, ","))
		}
	}
	switch v := v.(type) {
	case []any:
		return s.elements(v, place)
	case *Object:
		return s.properties(v, place, bad)
	}
	return nil
}

// bounds checks lengths of texts and arrays, and values of integers.
func (s *schema) bounds(v any, bad func(string, ...any) error) error {
	length := int64(-1)
	switch s.kind {
	case kindString, kindArray:
		length = int64(lengthOf(v))
	}
	for _, b := range []struct {
		key   string
		value int64
		ok    bool
		what  string
		most  bool
	}{
		{"minLength", length, length >= 0, "Length of the value", false}, {"maxLength", length, length >= 0, "Length of the value", true},
		{"minValue", 0, s.kind == kindInt, "Value", false}, {"maxValue", 0, s.kind == kindInt, "Value", true},
	} {
		limit, isInt := func() (int64, bool) { l, _ := s.def.Get(b.key); n, is := l.(int64); return n, is }()
		if !b.ok || !isInt {
			continue
		}
		if n, is := v.(int64); is {
			b.value = n
		}
		switch {
		case b.most && b.value > limit:
			return bad("%s should be less than or equal to '%d'", b.what, limit)
		case !b.most && b.value < limit:
			return bad("%s should be greater than or equal to '%d'", b.what, limit)
		}
	}
	return nil
}

// part checks a value inside of another one.
func (s *schema) part(def any, v any, place string) error {
	d, is := def.(*Object)
	if !is {
		return nil
	}
	known, err := typeOf(s.template, d)
	if err != nil {
		return err
	}
	return known.check(v, place)
}

// inside returns what messages call a part: parameter 'p.n' for the property n.
func inside(place, part string) string { return strings.TrimSuffix(place, "'") + part + "'" }

func (s *schema) elements(list []any, place string) error {
	items, _ := s.def.Get("items")
	p, _ := s.def.Get("prefixItems")
	prefix, _ := p.([]any)
	for i, e := range list {
		def := items
		if i < len(prefix) {
			def = prefix[i]
		} else if items == false {
			return fmt.Errorf("the provided value for the template %s is not valid. The array has more than %d elements", place, len(prefix))
		}
		if err := s.part(def, e, inside(place, fmt.Sprintf("[%d]", i))); err != nil {
			return err
		}
	}
	if len(list) < len(prefix) {
		return fmt.Errorf("the provided value for the template %s is not valid. The array has less than %d elements", place, len(prefix))
	}
	return nil
}

func (s *schema) properties(o *Object, place string, bad func(string, ...any) error) error {
	if d := s.def.Object("discriminator"); d != nil {
		key := d.Text("propertyName")
		v, _ := o.Get(key)
		if isLater(v) {
			return nil
		}
		name, _ := v.(string)
		i := slices.Index(d.Object("mapping").keysOf(), name)
		if i < 0 {
			return bad("The value %s of the property '%s' is none of '%s'", showValue(v), key, d.Object("mapping").keysList())
		}
		return s.part(d.Object("mapping").values[i], o, place)
	}
	known := s.def.Object("properties")
	for name, def := range known.All() {
		v, _ := o.Get(name)
		d, _ := def.(*Object)
		known, err := typeOf(s.template, d)
		if err != nil {
			return err
		}
		if v == nil && !known.nullable() {
			return bad("A non-null value for the property '%s' must be provided, but the property was null or missing", name)
		}
		if v != nil {
			if err := known.check(v, inside(place, "."+name)); err != nil {
				return err
			}
		}
	}
	more, _ := s.def.Get("additionalProperties")
	for name, v := range o.All() {
		if _, ok := known.Get(name); ok {
			continue
		}
		if more == false {
			return bad("The object does not allow values with properties not defined in the schema, but the following unknown properties "+
				"were present: ['%s']", name)
		}
		if err := s.part(more, v, inside(place, "."+name)); err != nil {
			return err
		}
	}
	return nil
}
