// Package schema checks bodies of requests against Azure's own description of its resource types
// (azure-types.json.gz: facts of Azure/bicep-types-az, MIT, descriptions left out). It knows no
// resource and no provider: it reports the kind and the path of each problem, and the engine
// chooses Azure's message. It imports nothing of this module.
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

// Kind is the kind of a problem with a member of a body.
type Kind int

// The kinds of problems.
const (
	// WrongType means that the value has another JSON type than the member, or exceeds the range of
	// an integer.
	WrongType Kind = iota
	// Unknown means that the object has no such member.
	Unknown
	// NotAllowed means that the string is none of the member's values or does not have its form.
	NotAllowed
	// Missing means that a required member is absent or null.
	Missing
	// Null means that the member of an answer is null, which does not occur in Azure's answers.
	Null
	// Nameless means that the element of an array of children has no name.
	Nameless
	// OutOfBounds means that Azure does not allow the value although its description does.
	OutOfBounds
)

// Problem is one problem with a body.
type Problem struct {
	Kind Kind
	// Path is the path of the member, such as "properties.subnets[0].name".
	Path string
	// Of is the name of the member's type; for Unknown and Missing the name of its object's type.
	Of string
	// Value is the value as JSON; empty for Missing.
	Value string
	// Allowed are the values of an enumeration.
	Allowed []string
	// Bound is the bound that an OutOfBounds value violates or that requires a Missing member; nil
	// if the description requires the member.
	Bound *Bound
}

// Type is the description of the bodies of one resource type in one API version.
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

	// lower maps the names of the properties in lower case, because Azure ignores the case of
	// names.
	lower    map[string]named
	pattern  *regexp.Regexp
	literals []string
	open     bool
	// bound is the range of MinValue and MaxValue; nil without them.
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
		panic(fmt.Sprintf("azure-types.json.gz: %v", err)) // an error in the embedded file; any test finds it
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
			n.pattern, _ = regexp.Compile(n.Pattern) // a pattern that RE2 does not support is not checked
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

// Of returns the description of a resource type, such as "Microsoft.Network/virtualNetworks", in an
// API version; if that version is not described, in the newest described version. It returns nil
// for a type that is not described.
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

// ValidName reports whether resources of a type can have a name according to the type's
// descriptions.
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

// Check returns the problems of a request's body, in the order of their paths. Read-only members
// are ignored. Missing members are reported only for a described API version.
func (t *Type) Check(body map[string]any) []Problem {
	c := &check{Type: t}
	c.value(t.index, body, "")
	slices.SortStableFunc(c.found, func(a, b Problem) int { return cmp.Compare(a.Path, b.Path) })
	return c.found
}

// Judge returns the deviations of an answer from the type's description, in the order of their
// paths. It checks read-only members too and requires no members.
func (t *Type) Judge(answer map[string]any) []Problem {
	c := &check{Type: t, answer: true}
	c.value(t.index, answer, "")
	slices.SortStableFunc(c.found, func(a, b Problem) int { return cmp.Compare(a.Path, b.Path) })
	return c.found
}

// Settable normalizes a body: names of members get the case of the description and numbers and
// booleans in text form their types, because Azure accepts both in any form. It removes read-only
// members and, for a PUT, members that are null, which count as absent. It also removes a location
// that the type does not have, which ARM itself reads: published templates set one on children
// (Azure/azure-quickstart-templates, vnet-two-subnets).
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

// typed converts a text to a number or boolean if its kind is one, because Azure accepts both as
// text.
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

// unset reports whether a member is an optional enumeration with the value "", which Azure reads as
// null (the azurerm provider of Terraform sends sharingScope "" with each subnet).
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
		data, _ := json.Marshal(v) // cannot fail: v was decoded from JSON
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

// element checks an element of an array: in a request it must not be null, and a child must have a
// name or be a reference to another child.
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

// valueOf returns a member by its name, ignoring case.
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

// undescribed are members that Azure accepts and returns although its description does not contain
// them (recordings of azure-service-operator; answers to GETs that clients send back). A key is a
// name, or the type of the member's object and a name.
var undescribed = map[string]bool{"allowbackendportconflict": true, "enabledestinationserviceendpoint": true, "etag": true,
	"natgatewaypropertiesformat.type": true, "natgatewaysku.tier": true, "microsoft.network/networkinterfaces.kind": true,
	"networkinterfacepropertiesformat.allowport25out": true, "virtualnetworkpeeringpropertiesformat.routeservicevips": true}

// open are the members whose described values are not all values: Azure adds sizes each month.
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

// fractions are the members that can have a fraction although the description calls them integers.
var fractions = []string{"billingProfile.maxPrice"}

// long are the members with 64-bit integers; others have 32 bits. Source: the models of
// azure-sdk-for-go.
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
