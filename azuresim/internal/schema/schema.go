// Package schema checks bodies of requests against Azure's own description of its resource types
// (azure-types.json.gz: facts of Azure/bicep-types-az, MIT, descriptions left out). It knows no
// resource and no provider: it says what is wrong where, and the engine chooses Azure's words. It
// imports nothing of this module.
package schema

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Kind is what is wrong with a member of a body.
type Kind int

// The kinds of problems.
const (
	// WrongType: the value has another JSON type than the member, or is out of an integer's bounds.
	WrongType Kind = iota
	// Unknown: the object has no such member.
	Unknown
	// NotAllowed: the string is none of the member's values, or does not have its form.
	NotAllowed
	// Missing: a required member is absent or null.
	Missing
	// Null: the member is null, which answers do not have.
	Null
	// Nameless: the element of an array of children has no name.
	Nameless
	// OutOfBounds: the value is not what Azure allows beyond its description.
	OutOfBounds
)

// Problem is one thing that is wrong with a body.
type Problem struct {
	Kind Kind
	// Path leads to the member, such as "properties.subnets[0].name".
	Path string
	// Of is the name of the member's type, for Unknown and Missing that of its object.
	Of string
	// Value is the value as JSON; empty for Missing.
	Value string
	// Allowed are the values of an enumeration.
	Allowed []string
	// Bound is what an OutOfBounds value does not keep, and which needs what is Missing; nil where the description does.
	Bound *Bound
}

// Type is the body of one resource type in one API version.
type Type struct {
	doc   *document
	index int
	// exact is false if the description is of another API version.
	exact bool
}

const (
	flagRequired = 1
	flagReadOnly = 2
	flagFixed    = 8 // part of the request's path
)

type document struct {
	Types     []node         `json:"types"`
	Resources map[string]int `json:"resources"`
	newest    map[string]string
}

type node struct {
	Kind       string              `json:"$type"`
	Name       string              `json:"name"`
	Properties map[string]property `json:"properties"`
	Additional *int                `json:"additionalProperties"`
	Item       int                 `json:"itemType"`
	Elements   []int               `json:"elements"`
	Value      string              `json:"value"`
	Pattern    string              `json:"pattern"`
	MinLength  *int                `json:"minLength"`
	MaxLength  *int                `json:"maxLength"`
	MinValue   *float64            `json:"minValue"`
	MaxValue   *float64            `json:"maxValue"`

	// lower are the properties by their names in lower case, because Azure reads names in any case.
	lower    map[string]named
	pattern  *regexp.Regexp
	literals []string
	open     bool
	// bound is made of MinValue and MaxValue, nil without them.
	bound *Bound
}

type named struct {
	name string
	property
	bounds []*Bound
}

type property struct{ index, flags int }

func (p *property) UnmarshalJSON(data []byte) error {
	var pair [2]int
	err := json.Unmarshal(data, &pair)
	p.index, p.flags = pair[0], pair[1]
	return err
}

//go:embed azure-types.json.gz
var packed []byte

var read = sync.OnceValue(func() *document {
	d, err := parse(packed)
	if err != nil {
		panic(fmt.Sprintf("azure-types.json.gz: %v", err)) // an error of the build, which any test shows
	}
	return d
})

func parse(data []byte) (*document, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	d := &document{newest: map[string]string{}}
	if err := json.NewDecoder(z).Decode(d); err != nil {
		return nil, err
	}
	for i := range d.Types {
		n := &d.Types[i]
		n.lower = map[string]named{}
		for name, p := range n.Properties {
			low := strings.ToLower(name)
			n.lower[low] = named{name, p, bounds()[strings.ToLower(n.Name)+"."+low]}
		}
		n.bound = ofRange(n.MinValue, n.MaxValue)
		if n.Pattern != "" {
			n.pattern, _ = regexp.Compile(n.Pattern) // a form that RE2 does not have is not checked
		}
		for _, e := range n.Elements {
			switch of := d.Types[e]; of.Kind {
			case "StringLiteralType":
				n.literals = append(n.literals, of.Value)
			case "StringType":
				n.open = true
			}
		}
	}
	lower := map[string]int{}
	for key, index := range d.Resources {
		key = strings.ToLower(key)
		lower[key] = index
		kind, version, _ := strings.Cut(key, "@")
		d.newest[kind] = max(d.newest[kind], version)
	}
	d.Resources = lower
	return d, nil
}

// Of returns the body of a resource type, such as "Microsoft.Network/virtualNetworks", in an API
// version; where that version is not described, the newest one that is. It returns nil for a type
// that is not described.
func Of(resourceType, version string) *Type {
	d, kind := read(), strings.ToLower(resourceType)
	if index, ok := d.Resources[kind+"@"+version]; ok {
		return &Type{d, index, true}
	}
	if index, ok := d.Resources[kind+"@"+d.newest[kind]]; ok {
		return &Type{d, index, false}
	}
	return nil
}

// ValidName reports whether a type's resources can have a name, as far as one of its descriptions says.
func ValidName(resourceType, name string) bool {
	d, kind := read(), strings.ToLower(resourceType)
	for key, index := range d.Resources {
		if of, _, _ := strings.Cut(key, "@"); of != kind {
			continue
		}
		if p, ok := d.Types[index].lower["name"]; ok {
			c := &check{Type: &Type{d, index, true}}
			if c.value(p.index, name, "name"); len(c.found) > 0 {
				return false
			}
		}
	}
	return true
}

// Resources returns the types that are described, as "type@api-version" in lower case, sorted.
func Resources() []string {
	var all []string
	for key := range read().Resources {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

// Check returns what is wrong with a body, in the order of its paths. Read-only members are not
// looked at. Members that are missing are reported only for an API version that is described.
func (t *Type) Check(body map[string]any) []Problem {
	c := &check{Type: t}
	c.value(t.index, body, "")
	slices.SortStableFunc(c.found, func(a, b Problem) int { return cmp.Compare(a.Path, b.Path) })
	return c.found
}

// Judge returns where an answer departs from the type's description, in the order of its paths:
// read-only members are looked at too, and required ones are not missed.
func (t *Type) Judge(answer map[string]any) []Problem {
	c := &check{Type: t, answer: true}
	c.value(t.index, answer, "")
	slices.SortStableFunc(c.found, func(a, b Problem) int { return cmp.Compare(a.Path, b.Path) })
	return c.found
}

// Settable gives the members of a body the names that its type has, since Azure reads them in any case, and numbers and booleans
// that are text their types. It removes from the body what its type says is read-only and, of a PUT, members that are null,
// which are as if they were absent. A location is read by ARM and goes too where the type has none: published
// templates give children one (Azure/azure-quickstart-templates, vnet-two-subnets).
func (t *Type) Settable(body map[string]any, put bool) {
	t.strip(t.index, body, put)
	if n := &t.doc.Types[t.index]; n.Additional == nil {
		maps.DeleteFunc(body, func(name string, _ any) bool {
			_, known := n.lower["location"]
			return !known && strings.EqualFold(name, "location")
		})
	}
}

func (t *Type) strip(index int, v any, put bool) {
	n := &t.doc.Types[index]
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			switch p, ok := n.lower[strings.ToLower(name)]; {
			case ok && (p.flags&flagReadOnly != 0 || put && (member == nil || t.unset(p, member))):
				delete(v, name)
			case ok:
				if v[p.name] = typed(t.doc.Types[p.index].Kind, member); name != p.name {
					delete(v, name)
				}
				t.strip(p.index, member, put)
			case n.Additional != nil:
				t.strip(*n.Additional, member, put)
			}
		}
	case []any:
		if n.Kind == "ArrayType" {
			for _, e := range v {
				t.strip(n.Item, e, put)
			}
		}
	}
}

// typed returns a value as its kind has it: Azure reads numbers and booleans that are text.
func typed(kind string, v any) any {
	s, ok := v.(string)
	switch {
	case ok && kind == "BooleanType" && (strings.EqualFold(s, "true") || strings.EqualFold(s, "false")):
		return strings.EqualFold(s, "true")
	case ok && kind == "IntegerType":
		var n any
		if err := json.Unmarshal([]byte(strings.TrimSpace(s)), &n); err == nil {
			if f, is := n.(float64); is {
				return f
			}
		}
	}
	return v
}

// unset reports whether a member is an enumeration that is given as "", which Azure reads as null (the azurerm provider of
// Terraform sends sharingScope "" with each subnet).
func (t *Type) unset(p named, member any) bool {
	n := &t.doc.Types[p.index]
	return member == "" && n.Kind == "UnionType" && len(n.literals) > 0 && p.flags&flagRequired == 0
}

type check struct {
	*Type
	found  []Problem
	answer bool
}

func (c *check) report(kind Kind, path, of string, v any) *Problem {
	p := Problem{Kind: kind, Path: path, Of: of}
	if kind != Missing {
		data, _ := json.Marshal(v) // v was read from JSON
		p.Value = string(data)
	}
	c.found = append(c.found, p)
	return &c.found[len(c.found)-1]
}

func (c *check) value(index int, v any, path string) {
	n := &c.doc.Types[index]
	switch n.Kind {
	case "ObjectType":
		c.object(n, v, path)
	case "ArrayType":
		list, ok := v.([]any)
		if !ok {
			c.report(WrongType, path, "array", v)
		}
		for i, e := range list {
			c.element(n.Item, e, fmt.Sprintf("%s[%d]", path, i))
		}
	case "UnionType":
		c.union(n, v, path)
	case "StringLiteralType":
		if s, ok := v.(string); !ok {
			c.report(WrongType, path, "string", v)
		} else if !strings.EqualFold(s, n.Value) {
			c.report(NotAllowed, path, "string", v).Allowed = []string{n.Value}
		}
	case "StringType":
		c.text(n, v, path)
	case "IntegerType":
		c.integer(n, v, path)
	case "BooleanType":
		if _, ok := typed("BooleanType", v).(bool); !ok {
			c.report(WrongType, path, "boolean", v)
		}
	}
}

// element checks an element of an array: it is not null in a request, and a child has a name or is a reference to another's.
func (c *check) element(index int, e any, path string) {
	n := &c.doc.Types[index]
	switch o, _ := e.(map[string]any); {
	case e == nil && c.answer:
	case e == nil:
		c.report(WrongType, path, cmp.Or(n.Name, n.Kind), nil)
	case !c.answer && o != nil && n.named() && valueOf(o, "name") == nil && (valueOf(o, "id") == nil || valueOf(o, "properties") != nil):
		c.report(Nameless, path, n.Name, o)
	default:
		c.value(index, e, path)
	}
}

// named reports whether objects of a type are children that a client names.
func (n *node) named() bool {
	name, ok := n.Properties["name"]
	_, has := n.Properties["properties"]
	return ok && has && name.flags&(flagReadOnly|flagRequired) == 0
}

// valueOf returns a member by its name in any case.
func valueOf(o map[string]any, name string) any {
	for key, v := range o {
		if strings.EqualFold(key, name) {
			return v
		}
	}
	return nil
}

func (c *check) object(n *node, v any, path string) {
	o, ok := v.(map[string]any)
	if !ok {
		c.report(WrongType, path, cmp.Or(n.Name, "object"), v)
		return
	}
	has := map[string]bool{}
	for name, member := range o {
		at := join(path, name)
		p, known := n.lower[strings.ToLower(name)]
		switch {
		case known && !c.answer && c.unset(p, member):
		case known && member != nil:
			has[p.name] = true
			if before := len(c.found); c.answer || p.flags&(flagReadOnly|flagFixed) == 0 {
				if c.value(p.index, member, at); len(c.found) == before {
					c.bound(p.bounds, member, at)
				}
			}
		case member == nil && c.answer:
			c.report(Null, at, n.Name, nil)
		case known || member == nil:
		case n.Additional != nil:
			c.value(*n.Additional, member, at)
		case path == "" && strings.EqualFold(name, "location") && !c.answer:
		case c.answer || !undescribed[strings.ToLower(name)] && !undescribed[strings.ToLower(n.Name+"."+name)]:
			c.report(Unknown, at, n.Name, member)
		}
	}
	if c.answer {
		return
	}
	for _, p := range n.lower {
		if p.flags&flagRequired != 0 && p.flags&(flagReadOnly|flagFixed) == 0 && !has[p.name] && c.exact {
			c.report(Missing, join(path, p.name), n.Name, nil)
		}
		for _, b := range p.bounds {
			if b.needs == nil || !b.needs(o) {
				continue
			}
			if v, at := b.of(valueOf(o, p.name), join(path, p.name)); v == nil || v == "" {
				c.report(Missing, at, n.Name, nil).Bound = b
			}
		}
	}
}

// undescribed are members that real Azure takes and answers although its description does not have
// them (recordings of azure-service-operator; answers of GET that clients send back): a name, or the
// type of its object and a name.
var undescribed = map[string]bool{"allowbackendportconflict": true, "enabledestinationserviceendpoint": true, "etag": true,
	"natgatewaypropertiesformat.type": true, "natgatewaysku.tier": true, "microsoft.network/networkinterfaces.kind": true,
	"networkinterfacepropertiesformat.allowport25out": true, "virtualnetworkpeeringpropertiesformat.routeservicevips": true}

// open are the members whose values Azure lists without their being all: sizes are added each month.
var open = []string{"vmSize"}

func (c *check) union(n *node, v any, path string) {
	s, ok := v.(string)
	switch {
	case len(n.literals) == 0:
		return
	case !ok:
		c.report(WrongType, path, "string", v)
	case n.open && slices.ContainsFunc(open, func(name string) bool { return strings.HasSuffix(path, name) }):
	case !slices.ContainsFunc(n.literals, func(l string) bool { return strings.EqualFold(l, s) }):
		c.report(NotAllowed, path, "string", v).Allowed = n.literals
	}
}

func (c *check) text(n *node, v any, path string) {
	s, ok := v.(string)
	switch {
	case !ok:
		c.report(WrongType, path, "string", v)
	case n.pattern != nil && !n.pattern.MatchString(s),
		n.MinLength != nil && len(s) < *n.MinLength, n.MaxLength != nil && len(s) > *n.MaxLength:
		c.report(NotAllowed, path, "string", v)
	}
}

// fractions are members that are numbers with a fraction, which the description calls integers.
var fractions = []string{"billingProfile.maxPrice"}

// long are the members that are integers of 64 bits; the others have 32. Source: the models of azure-sdk-for-go.
var long = []string{"capacity", "diskIOPSReadOnly", "diskIOPSReadWrite", "diskMBpsReadOnly", "diskMBpsReadWrite",
	"diskSizeBytes", "exp", "instantAccessDurationMinutes", "nbf", "ttl", "uploadSizeBytes"}

func (c *check) integer(n *node, v any, path string) {
	f, ok := typed("IntegerType", v).(float64)
	most := float64(math.MaxInt32)
	if slices.ContainsFunc(long, func(name string) bool { return strings.EqualFold(path[strings.LastIndex(path, ".")+1:], name) }) {
		most = math.MaxInt64
	}
	whole := f == math.Trunc(f) || slices.ContainsFunc(fractions, func(name string) bool { return strings.HasSuffix(path, name) })
	if !ok || !whole || math.Abs(f) > most {
		c.report(WrongType, path, "integer", v)
	} else if n.bound != nil {
		c.bound([]*Bound{n.bound}, v, path)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
