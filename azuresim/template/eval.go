package template

import (
	"errors"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/template/datum"
)

const (
	// maxWork limits the work of one expansion, including nested deployments. A unit is a call, an
	// element that a function reads, or 16 bytes of text. The largest templates that Azure accepts
	// need a tenth of it.
	maxWork = 3_000_000
	// resourceWork is the work that a resource counts for; it needs some kilobytes while its
	// template is in use.
	resourceWork = 100
	// maxText is the longest text of a value, in bytes. A template may have 4 MiB.
	maxText = 8 << 20
	// maxCopies is the largest number of rounds of a loop.
	// Source: https://learn.microsoft.com/azure/azure-resource-manager/templates/copy-resources#copy-limits.
	maxCopies = 800
)

var errWork = errors.New("the template asks for more than the local Azure evaluates: too many calls, copies or too long texts")

// run is the state that all scopes of one expansion share.
type run struct {
	work   int
	parsed map[string]node
	table  map[string]*function
	// stack are the parameters and variables whose values are being computed.
	stack []*lazy
	// calls is the depth of nested calls of the template's own functions.
	calls int
}

// spend counts n units of work and fails if the expansion exceeds maxWork.
func (r *run) spend(n int) {
	if r.work += n; r.work > maxWork || n < 0 {
		panic(failure{error: errWork})
	}
}

// spendText counts the work for a text of n bytes.
func (r *run) spendText(n int) { r.spend(cond(n > maxText, maxWork, n/16)) }

// weigh counts the work of reading all of v, and reports whether v is or contains a Later.
func (r *run) weigh(v any) bool {
	var list []any
	switch v := v.(type) {
	case string:
		r.spend(1 + len(v)/16)
	case datum.Later:
		r.spend(1 + len(v.Text)/16)
		return true
	case []any:
		list = v
	case *datum.Object:
		list = v.Values()
	}
	r.spend(len(list))
	wait := false
	for _, e := range list {
		wait = r.weigh(e) || wait
	}
	return wait
}

// lazy is a parameter or variable whose value is computed when it is first used.
type lazy struct {
	name  string
	typ   *schema    // set for a parameter
	eval  func() any // nil after the value is computed
	value any
}

func (r *run) force(l *lazy) any {
	if l.eval == nil {
		return l.value
	}
	if i := slices.Index(r.stack, l); i >= 0 {
		var names strings.Builder
		for _, on := range r.stack[i:] {
			names.WriteString(on.name + " -> ")
		}
		failWhole("the '%s' symbol's definition cycles back to itself (%s%s)", l.name, names.String(), l.name)
	}
	r.stack = append(r.stack, l)
	defer func() { r.stack = r.stack[:len(r.stack)-1] }()
	l.value = l.eval()
	r.weigh(l.value)
	l.eval = nil
	return l.value
}

// A place is the set of functions that an expression may use where it is.
type place uint8

const (
	placeRuntime place = 1 << iota // functions that read deployed resources
	placeDefault                   // functions whose value differs in each call
	placeCopy                      // objects whose copy property adds arrays
)

// loop is a copy loop with its current index. ofProperty is set for the copy loop of a property,
// which copyIndex without a name ignores.
type loop struct {
	name       string
	index      int64
	ofProperty bool
}

// binding is a variable of a lambda expression with its value.
type binding struct {
	name  string
	value any
}

// scope contains everything that an expression can refer to. Scopes are copied, never changed while
// in use.
type scope struct {
	*run
	*Context
	template              *datum.Object
	parameters, variables *datum.Object // the values are *lazy
	functions             map[string]*userFunction
	loops                 []loop
	bindings              []binding
	place                 place
	// resources resolves references to resources of the template; nil while it has none.
	resources *Template
	// seen is called for each resource that an expression refers to by name or ID.
	seen func(*Resource)
	// live returns the properties of deployed resources; without it they are known only at
	// deployment.
	live Live
}

// value evaluates the expressions in a value of a template.
func (s *scope) value(v any) any {
	switch v := v.(type) {
	case string:
		text, is := expression(v)
		if !is {
			return text
		}
		n, ok := s.parsed[text]
		if !ok {
			n = parse(text)
			s.parsed[text] = n
		}
		out := s.eval(n)
		if kindOf(out) == kindLambda {
			fail("the language expression '%.200s' yields a function, which is no value", text)
		}
		return out
	case []any:
		s.spend(len(v))
		return each(v, s.value)
	case *datum.Object:
		return s.object(v)
	}
	return v
}

func (s *scope) object(o *datum.Object) any {
	out := &datum.Object{}
	s.spend(o.Len())
	for k, v := range o.All() {
		if list, is := v.([]any); is && s.place&placeCopy != 0 && strings.EqualFold(k, "copy") {
			for _, c := range list {
				def, _ := c.(*datum.Object)
				name, count := s.copyName(def), s.copyCount(def)
				out.Set(name, s.rounds(def, count, loop{name: name, ofProperty: true}))
			}
			continue
		}
		key := s.value(k)
		name, ok := key.(string)
		if l, is := key.(datum.Later); is {
			name, ok = l.String(), true
		}
		if !ok {
			fail("the key '%s' is evaluated to a value of type '%s'; a key is a text", k, kindOf(key))
		}
		out.Set(name, s.value(v))
	}
	return out
}

// rounds evaluates the input of a copy definition for each round of its loop.
func (s *scope) rounds(def *datum.Object, count int64, l loop) []any {
	list := make([]any, count)
	input, _ := def.Get("input")
	for l.index = range count {
		list[l.index] = s.in(l).value(input)
	}
	return list
}

// in returns the scope inside a loop.
func (s *scope) in(l loop) *scope {
	out := *s
	out.loops = append(slices.Clip(s.loops), l)
	return &out
}

func (s *scope) copyName(def *datum.Object) string {
	name := s.text(def, "name")
	if name == "" {
		fail("the template 'copy' definition is missing a copy name value")
	}
	return name
}

func (s *scope) copyCount(def *datum.Object) int64 {
	raw, ok := def.Get("count")
	if !ok {
		fail("the template 'copy' definition is missing a copy count value")
	}
	v := s.value(raw)
	n, is := v.(int64)
	if !is || n < 0 || n > maxCopies {
		fail("the template 'copy' definition has the count '%s'; it has to be an integer between 0 and %d", datum.Encode(v), maxCopies)
	}
	s.spend(int(n))
	return n
}

// text evaluates a property that must be a string; for a Later it returns the text of its
// expression.
func (s *scope) text(raw *datum.Object, key string) string {
	v, _ := raw.Get(key)
	switch v := s.value(v).(type) {
	case nil:
	case string:
		return v
	case datum.Later:
		return v.String()
	default:
		fail("'%s' is of type '%s'; it has to be a text", key, kindOf(v))
	}
	return ""
}

// eval evaluates an expression.
func (s *scope) eval(n node) any {
	switch n := n.(type) {
	case *call:
		return s.call(n)
	case *access:
		of, key := s.eval(n.of), s.eval(n.key)
		if l, is := key.(datum.Later); is {
			return s.laterOf(show(of) + l.String())
		}
		v, ok := property(of, key)
		if !ok {
			failMissing(of, key)
		}
		return v
	}
	return n
}

// laterOf returns a Later with the text of an expression.
func (s *scope) laterOf(text string) any {
	s.spendText(len(text) + 16)
	return datum.Later{Text: text}
}

// property reads a property or an element; ok is false if there is none.
func property(of, key any) (v any, ok bool) {
	switch o := of.(type) {
	case datum.Later:
		text := datum.Later{Text: o.Text + showKey(key)}
		if o.Known == nil {
			return text, true
		}
		read := func() any { v, ok = property(o.Known, key); return v }
		if o.Sealed {
			return read(), ok
		}
		_, fine := attempt(read)
		if !fine || !ok {
			return text, true
		}
		switch v.(type) {
		case *datum.Object, []any:
			return datum.Later{Text: text.Text, Known: v}, true
		}
		return v, true
	case *datum.Object:
		name, is := key.(string)
		if !is {
			fail("the language expression property '%s' can't be evaluated, property name must be a string", show(key))
		}
		return o.Get(name)
	case []any:
		i, is := key.(int64)
		switch {
		case !is:
			fail("unable to evaluate named property or non-integer index '%v' on an array value", key)
		case i >= 0 && i < int64(len(o)):
			return o[i], true
		}
		return nil, false
	}
	fail("the language expression property '%s' can't be evaluated on a value of type '%s'", show(key), kindOf(of))
	return nil, false
}

// failMissing throws the failure for a property or an element that does not exist.
func failMissing(of, key any) {
	if l, is := of.(datum.Later); is {
		of = l.Known
	}
	if o, is := of.(*datum.Object); is {
		fail("the language expression property '%v' doesn't exist, available properties are '%s'", key, strings.Join(o.Keys(), ", "))
	}
	fail("the language expression property array index '%v' is out of bounds", key)
}

// call evaluates a call of a function.
func (s *scope) call(c *call) any {
	s.spend(1)
	lower := strings.ToLower(c.name)
	f := s.table[lower]
	if f == nil && strings.HasPrefix(lower, "list") && !strings.Contains(lower, ".") {
		f = listFunction(c.name)
	}
	if f == nil {
		if u := s.functions[lower]; u != nil {
			return s.callUser(u, c)
		}
		return fail("the template function '%s' is not valid", c.name)
	}
	f.count(len(c.args))
	if f.form != nil {
		return f.form(s, c)
	}
	args, wait := make([]any, len(c.args)), false
	for i, a := range c.args {
		args[i] = s.eval(a)
		wait = s.weigh(args[i]) || wait
	}
	if wait && !takesLater[f.name] {
		return s.laterOf(showCall(c.name, args))
	}
	v := f.run(s, args)
	switch t := v.(type) {
	case string:
		s.spendText(len(t))
	case datum.Later:
		if t.Text == "" {
			return s.laterOf(showCall(c.name, args))
		}
	case []any, *datum.Object: // of a lambda expression
		if len(args) > 0 && kindOf(args[len(args)-1]) == kindLambda && datum.IsLater(v) {
			return s.laterOf(showCall(c.name, args))
		}
	}
	return v
}

// userFunction is a function that the template defines.
type userFunction struct {
	parameters []any
	output     *datum.Object
}

// userFunctions reads the functions that a template defines, by namespace and name.
func userFunctions(t *datum.Object) map[string]*userFunction {
	out := map[string]*userFunction{}
	for _, e := range datum.At[[]any](t, "functions") {
		space, _ := e.(*datum.Object)
		for name := range space.Object("members").All() {
			member := space.Object("members").Object(name)
			u := &userFunction{datum.At[[]any](member, "parameters"), member.Object("output")}
			if u.output == nil || space.Text("namespace") == "" {
				fail("the template function '%s' has no namespace or no output", name)
			}
			out[strings.ToLower(space.Text("namespace")+"."+name)] = u
		}
	}
	return out
}

func (s *scope) callUser(u *userFunction, c *call) any {
	if len(c.args) != len(u.parameters) {
		fail("unable to evaluate template function '%s': it takes %d argument(s) while %d were provided", c.name, len(u.parameters), len(c.args))
	}
	if s.calls++; s.calls > maxDepth {
		fail("calls of the template function '%s' lie in each other more than %d deep", c.name, maxDepth)
	}
	defer func() { s.calls-- }()
	in := *s
	in.parameters, in.loops, in.bindings, in.place = &datum.Object{}, nil, nil, 0 // so it cannot read deployed resources
	args := make([]any, len(c.args))
	for i, a := range c.args {
		args[i] = s.eval(a)
		p, _ := u.parameters[i].(*datum.Object)
		name := p.Text("name")
		typeOf(s.template, p, name).check(args[i])
		in.parameters.Set(name, &lazy{name: name, value: args[i]})
	}
	raw, _ := u.output.Get("value")
	v := in.value(raw)
	if datum.IsLater(v) {
		return s.laterOf(showCall(c.name, args))
	}
	typeOf(s.template, u.output, "output of the function '"+c.name+"'").check(v)
	return v
}
