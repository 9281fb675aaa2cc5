package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxWork bounds what one expansion may do, nested deployments included: a unit is a call, an
// element that a function reads, or 16 bytes of text. The largest templates that Azure accepts
// need a tenth of it.
const maxWork = 3_000_000

// errLater ends a function whose value is known later only.
var errLater = errors.New("it is known when the resources are deployed")

// maxText is the longest text of a value, in bytes. A template may have 4 MiB.
const maxText = 8 << 20

var errWork = errors.New("the template asks for more than the local Azure evaluates: too many calls, copies or too long texts")

// run is what all scopes of one expansion share.
type run struct {
	work   int
	parsed map[string]node
	table  map[string]*function
	// stack are the parameters and variables whose values are being computed.
	stack []*lazy
	// calls is how deep functions of the template are in each other.
	calls int
}

// spend takes n units from what the expansion may do.
func (r *run) spend(n int) error {
	if r.work += n; r.work > maxWork || n < 0 {
		return errWork
	}
	return nil
}

// weigh spends what reading all of v costs, and reports whether something in it is known later
// only.
func (r *run) weigh(v any) (isLater bool, err error) {
	switch v := v.(type) {
	case string:
		return false, r.spend(1 + len(v)/16)
	case later:
		return true, r.spend(1 + len(v.text)/16)
	case []any:
		if err := r.spend(1 + len(v)); err != nil {
			return false, err
		}
		for _, e := range v {
			l, err := r.weigh(e)
			if err != nil {
				return false, err
			}
			isLater = isLater || l
		}
	case *Object:
		if err := r.spend(1 + v.Len()); err != nil {
			return false, err
		}
		for _, e := range v.values {
			l, err := r.weigh(e)
			if err != nil {
				return false, err
			}
			isLater = isLater || l
		}
	}
	return isLater, nil
}

// lazy is a parameter or variable: its value is computed when it is first asked for.
type lazy struct {
	name  string
	eval  func() (any, error)
	done  bool
	value any
	err   error
}

func (r *run) force(l *lazy) (any, error) {
	if l.done {
		return l.value, l.err
	}
	if i := slices.Index(r.stack, l); i >= 0 {
		var names []string
		for _, on := range r.stack[i:] {
			names = append(names, on.name)
		}
		return nil, fmt.Errorf("the '%s' symbol's definition cycles back to itself (%s -> %s)", l.name, strings.Join(names, " -> "), l.name)
	}
	r.stack = append(r.stack, l)
	v, err := l.eval()
	r.stack = r.stack[:len(r.stack)-1]
	if err == nil {
		_, err = r.weigh(v)
	}
	l.done, l.value, l.err = true, v, err
	return v, err
}

// A place says what an expression may use where it is.
type place uint8

const (
	placeRuntime place = 1 << iota // functions that ask deployed resources
	placeDefault                   // functions whose value changes from call to call
	placeCopy                      // objects whose copy property adds arrays
)

// loop is a copy loop with the index that it is at.
type loop struct {
	name  string
	index int64
	of    loopOf
}

// loopOf says what a loop repeats: copyIndex() without a name is that of resources and outputs.
type loopOf uint8

const (
	loopWhole loopOf = iota
	loopProperty
)

// binding is a variable of a lambda expression with its value.
type binding struct {
	name  string
	value any
}

// scope is what an expression can see. Scopes are copied, never changed while in use.
type scope struct {
	*run
	*Context
	template              *Object
	parameters, variables *Object // of *lazy
	functions             map[string]*userFunction
	loops                 []loop
	bindings              []binding
	place                 place
	// resources resolves references to resources of the template; nil while there are none.
	resources *Template
	// seen is called with the resources that are referred to by name or ID.
	seen func(*Resource)
	// live answers what only deployed resources know; without it, that is known later.
	live Live
}

// value evaluates the expressions in a value of a template.
func (s *scope) value(v any) (any, error) {
	switch v := v.(type) {
	case string:
		text, is := expression(v)
		if !is {
			return literal(v), nil
		}
		n, ok := s.parsed[text]
		if !ok {
			var err error
			if n, err = parse(text); err != nil {
				return nil, err
			}
			s.parsed[text] = n
		}
		return s.eval(n)
	case []any:
		out := make([]any, len(v))
		if err := s.spend(len(v)); err != nil {
			return nil, err
		}
		for i, e := range v {
			var err error
			if out[i], err = s.value(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case *Object:
		return s.object(v)
	}
	return v, nil
}

func (s *scope) object(o *Object) (any, error) {
	out := &Object{}
	if err := s.spend(o.Len()); err != nil {
		return nil, err
	}
	for k, v := range o.All() {
		if copies, is := v.([]any); is && s.place&placeCopy != 0 && strings.EqualFold(k, "copy") {
			if err := s.copies(copies, out); err != nil {
				return nil, err
			}
			continue
		}
		key, err := s.value(k)
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if l, is := key.(later); is {
			name, ok = "["+l.text+"]", true
		}
		if !ok {
			return nil, fmt.Errorf("the key '%s' is evaluated to a value of type '%s'; a key is a text", k, kindOf(key))
		}
		e, err := s.value(v)
		if err != nil {
			return nil, err
		}
		out.Set(name, e)
	}
	return out, nil
}

// copies adds the arrays of the copy property of an object.
func (s *scope) copies(list []any, into *Object) error {
	for _, c := range list {
		def, _ := c.(*Object)
		name, count, err := s.copyOf(def)
		if err != nil {
			return err
		}
		values := []any{}
		for i := range count {
			in := s.in(loop{name: name, index: i, of: loopProperty})
			input, _ := def.Get("input")
			v, err := in.value(input)
			if err != nil {
				return err
			}
			values = append(values, v)
		}
		into.Set(name, values)
	}
	return nil
}

// in returns the scope inside a loop.
func (s *scope) in(l loop) *scope {
	out := *s
	out.loops = append(slices.Clip(s.loops), l)
	return &out
}

// maxCopies is the largest number of rounds of a loop.
// Source: https://learn.microsoft.com/azure/azure-resource-manager/templates/copy-resources#copy-limits.
const maxCopies = 800

// copyOf returns the name and the number of rounds of a copy definition.
func (s *scope) copyOf(def *Object) (string, int64, error) {
	name, err := s.value(def.Text("name"))
	if err != nil {
		return "", 0, err
	}
	if name == "" {
		return "", 0, errors.New("the template 'copy' definition is missing a copy name value")
	}
	count, err := s.countOf(def)
	text, ok := name.(string)
	if err == nil && !ok {
		err = fmt.Errorf("the name of a 'copy' definition is of type '%s'; it has to be a text", kindOf(name))
	}
	return text, count, err
}

// countOf returns the number of rounds of a copy definition.
func (s *scope) countOf(def *Object) (int64, error) {
	raw, ok := def.Get("count")
	if !ok {
		return 0, errors.New("the template 'copy' definition is missing a copy count value")
	}
	v, err := s.value(raw)
	if err != nil {
		return 0, err
	}
	n, ok := v.(int64)
	switch {
	case !ok:
		return 0, fmt.Errorf("the template 'copy' definition has the count '%s', which is no integer", Encode(v))
	case n < 0 || n > maxCopies:
		return 0, fmt.Errorf("the template 'copy' definition has the count %d; it has to be between 0 and %d", n, maxCopies)
	}
	return n, s.spend(int(n))
}

// eval evaluates an expression.
func (s *scope) eval(n node) (any, error) {
	switch n := n.(type) {
	case *call:
		return s.call(n)
	case *access:
		of, err := s.eval(n.of)
		if err != nil {
			return nil, err
		}
		key, err := s.eval(n.key)
		if err != nil {
			return nil, err
		}
		if l, is := key.(later); is {
			return s.laterOf(showOperand(of) + "[" + l.text + "]")
		}
		v, ok, err := property(of, key)
		if err == nil && !ok {
			err = missing(of, key)
		}
		return v, err
	}
	return n, nil
}

// showOperand returns the text of what an access reads.
func showOperand(v any) string {
	if l, is := v.(later); is {
		return l.text
	}
	return showValue(v)
}

// laterOf returns a value that is known later, as text.
func (s *scope) laterOf(text string) (any, error) {
	if len(text) > maxText {
		return nil, errWork
	}
	return later{text: text}, s.spend(1 + len(text)/16)
}

// property reads a property or an element; ok is false if there is none.
func property(of, key any) (v any, ok bool, err error) {
	switch o := of.(type) {
	case later:
		text := o.text + showKey(key)
		if o.known == nil {
			return later{text: text}, true, nil
		}
		v, ok, err := property(o.known, key)
		switch {
		case o.sealed:
			return v, ok, err
		case err != nil || !ok:
			return later{text: text}, true, nil
		}
		switch v.(type) {
		case *Object, []any:
			return later{text: text, known: v}, true, nil
		}
		return v, true, nil
	case *Object:
		name, is := key.(string)
		if !is {
			return nil, false, fmt.Errorf("the language expression property '%s' can't be evaluated, property name must be a string",
				showValue(key))
		}
		v, ok := o.Get(name)
		return v, ok, nil
	case []any:
		i, is := key.(int64)
		if !is {
			return nil, false, fmt.Errorf("unable to evaluate named property or non-integer index '%v' on an array value", key)
		}
		if i < 0 || i >= int64(len(o)) {
			return nil, false, nil
		}
		return o[i], true, nil
	}
	return nil, false, fmt.Errorf("the language expression property '%v' can't be evaluated on a value of type '%s'", key, kindOf(of))
}

// missing is the error of a property or an element that is not there.
func missing(of, key any) error {
	if l, is := of.(later); is {
		of = l.known
	}
	if o, is := of.(*Object); is {
		return fmt.Errorf("the language expression property '%v' doesn't exist, available properties are '%s'", key, o.keysList())
	}
	return fmt.Errorf("the language expression property array index '%v' is out of bounds", key)
}

// call evaluates a call of a function.
func (s *scope) call(c *call) (any, error) {
	if err := s.spend(1); err != nil {
		return nil, err
	}
	f := s.function(c.name)
	if f == nil {
		if u := s.functions[strings.ToLower(c.name)]; u != nil {
			return s.callUser(u, c)
		}
		return nil, fmt.Errorf("the template function '%s' is not valid", c.name)
	}
	if err := f.count(c.name, len(c.args)); err != nil {
		return nil, err
	}
	if f.nodes != nil {
		return f.nodes(s, c)
	}
	args := make([]any, len(c.args))
	wait := false
	for i, a := range c.args {
		v, err := s.eval(a)
		if err != nil {
			return nil, err
		}
		l, err := s.weigh(v)
		if err != nil {
			return nil, err
		}
		args[i], wait = v, wait || l
	}
	if wait && !f.takesLater {
		return s.laterOf(showCall(c.name, args))
	}
	if err := f.check(args); err != nil {
		return nil, err
	}
	v, err := f.eval(s, args)
	if errors.Is(err, errLater) || err == nil && len(args) > 0 && kindOf(args[len(args)-1]) == kindLambda && isLater(v) {
		return s.laterOf(showCall(c.name, args))
	}
	if err != nil {
		return nil, fmt.Errorf("the template function '%s': %w", c.name, err)
	}
	if t, is := v.(string); is {
		if len(t) > maxText {
			return nil, errWork
		}
		err = s.spend(len(t) / 16)
	}
	return v, err
}

// function returns the function of a name; the list functions of resources are one.
func (s *scope) function(name string) *function {
	lower := strings.ToLower(name)
	f := s.table[lower]
	switch {
	case f == nil && strings.HasPrefix(lower, "list") && !strings.Contains(lower, "."):
		return listFunction(name)
	case f != nil && f.in == inLambda && len(s.bindings) == 0, f != nil && f.in == inLoop && len(s.loops) == 0:
		return nil
	}
	return f
}

func showCall(name string, args []any) string {
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = showValue(a)
	}
	return name + "(" + strings.Join(parts, ", ") + ")"
}
