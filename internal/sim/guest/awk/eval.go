package awk

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"casement.dev/casement/internal/sim/guest/regex"
)

func (r *run) eval(n *node) value {
	r.step()
	switch n.op {
	case "number":
		return numberOf(n.num)
	case "text":
		return textOf(n.text)
	case "pattern":
		r.checkText(len(r.record))
		return truth(r.compile(n.text).Match(r.meter, r.record))
	case "name":
		return r.get(n.text)
	case "group":
		v := r.eval(n.parts[0])
		return v
	case "field":
		return r.field(int(r.number(r.eval(n.parts[0]))))
	case "index":
		array, key := r.array(n.text), r.subscript(n.parts)
		v, some := array[key]
		if !some { // a reference to an element creates it
			v = value{may: true}
			r.put(array, key, v)
		}
		return v
	case "call":
		return r.call(n)
	case "getline":
		return r.getline(n)
	case "?":
		if r.isTrue(r.eval(n.parts[0])) {
			return r.eval(n.parts[1])
		}
		return r.eval(n.parts[2])
	case "&&":
		return truth(r.isTrue(r.eval(n.parts[0])) && r.isTrue(r.eval(n.parts[1])))
	case "||":
		return truth(r.isTrue(r.eval(n.parts[0])) || r.isTrue(r.eval(n.parts[1])))
	case "in":
		key := ""
		if n.parts[0].op == "list" {
			key = r.subscript(n.parts[0].parts)
		} else {
			key = r.text(r.eval(n.parts[0]))
		}
		_, ok := r.array(n.parts[1].text)[key]
		return truth(ok)
	case "~", "!~":
		return truth(r.pattern(n.parts[1]).Match(r.meter, r.text(r.eval(n.parts[0]))) == (n.op == "~"))
	case "assign":
		target := r.evalTarget(n.parts[0])
		v := r.eval(n.parts[1])
		if n.text != "" {
			v = numberOf(arithmetic(n.text, r.number(r.eval(target)), r.number(v)))
		}
		return r.assign(target, v)
	case "pre++", "pre--", "post++", "post--":
		target := r.evalTarget(n.parts[0])
		old := r.number(r.eval(target))
		changed := old + 1
		if strings.HasSuffix(n.op, "--") {
			changed = old - 1
		}
		r.assign(target, numberOf(changed))
		if strings.HasPrefix(n.op, "pre") {
			return numberOf(changed)
		}
		return numberOf(old)
	case "unary!":
		return truth(!r.isTrue(r.eval(n.parts[0])))
	case "unary-":
		return numberOf(-r.number(r.eval(n.parts[0])))
	case "unary+":
		return numberOf(r.number(r.eval(n.parts[0])))
	case "concat":
		a, b := r.text(r.eval(n.parts[0])), r.text(r.eval(n.parts[1]))
		r.checkText(len(a) + len(b))
		return textOf(a + b)
	case "<", "<=", "==", "!=", ">", ">=":
		return truth(r.compared(n))
	case "list":
		panic(problem{errors.New("a list where a value is expected")})
	}
	return numberOf(arithmetic(n.op, r.number(r.eval(n.parts[0])), r.number(r.eval(n.parts[1]))))
}

func arithmetic(op string, a, b float64) float64 {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "^", "**":
		return math.Pow(a, b)
	}
	if op == "%" {
		return math.Mod(a, b)
	}
	return a / b
}

func (r *run) field(i int) value {
	switch {
	case i < 0:
		panic(problem{fmt.Errorf("attempt to access field %d", i)})
	case i == 0:
		return inputOf(r.record)
	case i > len(r.fields):
		return value{may: true}
	}
	return inputOf(r.fields[i-1])
}

// compared returns the result of a comparison: as numbers if both values are numeric or unset, else as texts.
func (r *run) compared(n *node) bool {
	a, b := r.eval(n.parts[0]), r.eval(n.parts[1])
	c := 0
	unset := func(v value) bool { return v.may && v.s == "" }
	if (r.numeric(a) || unset(a)) && (r.numeric(b) || unset(b)) && !(unset(a) && unset(b)) {
		x, y := r.number(a), r.number(b)
		switch {
		case x < y:
			c = -1
		case x > y:
			c = 1
		}
	} else {
		c = strings.Compare(r.text(a), r.text(b))
	}
	switch n.op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case "==":
		return c == 0
	case "!=":
		return c != 0
	case ">":
		return c > 0
	}
	return c >= 0
}

// matchSize is the memory of a match, in bytes: a search returns all its matches together.
const matchSize = 64

// pattern compiles a regular expression: a literal, or the text of an expression.
func (r *run) pattern(n *node) *regex.Pattern {
	if n.op == "pattern" {
		return r.compile(n.text)
	}
	return r.compile(r.text(r.eval(n)))
}

func (r *run) call(n *node) value {
	if d, ok := r.functions[n.text]; ok {
		return r.callOwn(d, n.parts)
	}
	arg := func(i int) string {
		if i < len(n.parts) {
			return r.text(r.eval(n.parts[i]))
		}
		return ""
	}
	num := func(i int) float64 {
		if i < len(n.parts) {
			return r.number(r.eval(n.parts[i]))
		}
		return 0
	}
	switch n.text {
	case "length":
		if len(n.parts) == 0 {
			return numberOf(float64(utf8.RuneCountInString(r.record)))
		}
		if p := n.parts[0]; p.op == "name" && r.arrays[p.text] != nil {
			return numberOf(float64(len(r.array(p.text))))
		}
		return numberOf(float64(utf8.RuneCountInString(arg(0))))
	case "substr":
		return r.substr(n, arg(0))
	case "index":
		s := arg(0)
		i := strings.Index(s, arg(1))
		if i < 0 {
			return numberOf(0)
		}
		return numberOf(float64(utf8.RuneCountInString(s[:i]) + 1))
	case "split":
		return r.split(n, arg(0))
	case "sub", "gsub":
		return r.replace(n)
	case "match":
		s := arg(0)
		m := r.pattern(n.parts[1]).Find(r.meter, s)
		start, length := 0, -1
		if m != nil {
			start, length = utf8.RuneCountInString(s[:m[0]])+1, utf8.RuneCountInString(s[m[0]:m[1]])
		}
		r.vars["RSTART"], r.vars["RLENGTH"] = numberOf(float64(start)), numberOf(float64(length))
		return numberOf(float64(start))
	case "sprintf":
		var args []value
		for _, p := range n.parts[1:] {
			args = append(args, r.eval(p))
		}
		return textOf(r.format(arg(0), args))
	case "toupper":
		return textOf(strings.ToUpper(arg(0)))
	case "tolower":
		return textOf(strings.ToLower(arg(0)))
	case "int":
		return numberOf(math.Trunc(num(0)))
	case "sqrt":
		return numberOf(math.Sqrt(num(0)))
	case "exp":
		return numberOf(math.Exp(num(0)))
	case "log":
		return numberOf(math.Log(num(0)))
	case "sin":
		return numberOf(math.Sin(num(0)))
	case "cos":
		return numberOf(math.Cos(num(0)))
	case "atan2":
		return numberOf(math.Atan2(num(0), num(1)))
	case "close":
		return numberOf(float64(r.close(arg(0))))
	case "fflush":
		return numberOf(0)
	case "system":
		if r.host.Command != nil {
			command := arg(0)
			r.closeAll()
			_, code := r.host.Command(command, "", false)
			return numberOf(float64(code))
		}
	}
	panic(problem{Unsupported("the function " + n.text)})
}

func (r *run) substr(n *node, s string) value {
	r.checkText(len(s))
	letters := []rune(s)
	from := math.Round(r.number(r.eval(n.parts[1])))
	to := float64(len(letters)) + 1
	if len(n.parts) > 2 {
		to = from + math.Round(r.number(r.eval(n.parts[2])))
	}
	from, to = max(from, 1), min(to, float64(len(letters))+1)
	if from >= to || math.IsNaN(from) || math.IsNaN(to) {
		return textOf("")
	}
	return textOf(string(letters[int(from)-1 : int(to)-1]))
}

func (r *run) split(n *node, s string) value {
	into := r.array(n.parts[1].text)
	r.clear(into)
	var parts []string
	switch {
	case len(n.parts) < 3:
		parts = r.splitFields(s, r.text(r.vars["FS"]))
	case n.parts[2].op == "pattern":
		if s != "" {
			parts = r.compile(n.parts[2].text).Split(r.meter, s)
		}
	default:
		parts = r.splitFields(s, r.text(r.eval(n.parts[2])))
	}
	for i, p := range parts {
		r.put(into, strconv.Itoa(i+1), inputOf(p))
	}
	return numberOf(float64(len(parts)))
}

// replace implements sub and gsub and returns the number of replacements.
func (r *run) replace(n *node) value {
	target := &node{op: "field", parts: []*node{{op: "number"}}}
	if len(n.parts) > 2 {
		target = r.evalTarget(n.parts[2])
	}
	re, with := r.pattern(n.parts[0]), r.text(r.eval(n.parts[1]))
	s := r.text(r.eval(target))
	most := -1
	if n.text == "sub" {
		most = 1
	}
	var b strings.Builder
	from := 0
	r.checkText(len(s))
	r.meter.Hold(matchSize * (1 + len(s)))
	found := re.All(r.meter, s, most)
	for _, m := range found {
		b.WriteString(s[from:m[0]])
		for i := 0; i < len(with); i++ {
			switch {
			case with[i] == '\\' && i+1 < len(with) && (with[i+1] == '&' || with[i+1] == '\\'):
				i++
				b.WriteByte(with[i])
			case with[i] == '&':
				b.WriteString(s[m[0]:m[1]])
			default:
				b.WriteByte(with[i])
			}
		}
		from = m[1]
		r.checkText(b.Len())
	}
	r.meter.Hold(-matchSize * (1 + len(s)))
	if len(found) > 0 {
		b.WriteString(s[from:])
		r.assign(target, textOf(b.String()))
	}
	return numberOf(float64(len(found)))
}

// callOwn calls a function of the program. Arrays are passed by reference, other arguments by value.
func (r *run) callOwn(d *definition, args []*node) value {
	if len(r.frames) >= maxCalls {
		panic(problem{errors.New("functions call each other too deep (a bound of the simulation)")})
	}
	f := &frame{vars: map[string]value{}, arrays: map[string]map[string]value{}, locals: map[string]bool{}, passed: map[string]bool{}}
	for i, name := range d.params {
		f.locals[name] = true
		if i >= len(args) {
			continue
		}
		if a := args[i]; a.op == "name" && (r.isArray(a.text) || r.untyped(a.text) && r.takesArray(d, name, 0)) {
			f.arrays[name], f.passed[name] = r.array(a.text), true
			continue
		}
		f.vars[name] = r.eval(args[i])
		r.meter.Hold(len(f.vars[name].s))
	}
	r.frames = append(r.frames, f)
	r.result = value{}
	flow := r.statement(d.body)
	r.frames = r.frames[:len(r.frames)-1]
	for name, v := range f.vars {
		r.meter.Hold(-len(v.s))
		delete(f.vars, name)
	}
	for name, array := range f.arrays {
		if !f.passed[name] {
			r.clear(array)
		}
	}
	if flow == exits {
		panic(exitPanic{})
	}
	return r.result
}

func (r *run) isArray(name string) bool {
	if f := r.frameOf(name); f != nil {
		return f.arrays[name] != nil
	}
	return r.arrays[name] != nil
}

// untyped reports whether a name was used neither as a variable nor as an array.
func (r *run) untyped(name string) bool {
	vars := r.vars
	if f := r.frameOf(name); f != nil {
		vars = f.vars
	}
	_, some := vars[name]
	return !some && !r.isArray(name)
}

// takesArray reports whether a function uses a parameter as an array, or passes the parameter to another function
// that does.
func (r *run) takesArray(d *definition, name string, depth int) bool {
	var uses func(n *node) bool
	uses = func(n *node) bool {
		if n == nil {
			return false
		}
		switch {
		case n.op == "index" && n.text == name, n.op == "in" && n.parts[1].text == name:
			return true
		case n.op == "forin" && n.parts[0].text == name, n.op == "delete" && n.parts[0].text == name:
			return true
		case n.op == "call" && n.text == "split" && len(n.parts) > 1 && n.parts[1].text == name:
			return true
		case n.op == "call" && r.functions[n.text] != nil && depth < maxCalls/10:
			inner := r.functions[n.text]
			for i, a := range n.parts {
				if a.op == "name" && a.text == name && i < len(inner.params) && r.takesArray(inner, inner.params[i], depth+1) {
					return true
				}
			}
		}
		return slices.ContainsFunc(n.parts, uses)
	}
	return uses(d.body)
}

// format returns the text that printf prints.
func (r *run) format(format string, args []value) string {
	var b strings.Builder
	next := func() value {
		if len(args) == 0 {
			r.print(b.String()) // mawk has printed this part before it fails
			panic(problem{fmt.Errorf("run time error: not enough arguments passed to printf(%q)", format)})
		}
		v := args[0]
		args = args[1:]
		return v
	}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		j := i + 1
		for j < len(format) && strings.IndexByte("-+ 0#123456789.*", format[j]) >= 0 {
			j++
		}
		if j == len(format) {
			b.WriteString(format[i:])
			break
		}
		spec := format[i:j]
		for strings.Contains(spec, "*") {
			spec = strings.Replace(spec, "*", fmt.Sprint(int(r.number(next()))), 1)
		}
		if len(strings.Trim(spec, "%-+ 0#")) > 6 {
			panic(problem{Unsupported("so wide a format")})
		}
		switch c := format[j]; c {
		case '%':
			b.WriteByte('%')
		case 'd', 'i':
			fmt.Fprintf(&b, spec+"d", int64(max(-math.MaxInt32, min(math.MaxInt32, r.number(next())))))
		case 'o', 'x', 'X', 'u':
			if c == 'u' {
				c = 'd'
			}
			fmt.Fprintf(&b, spec+string(rune(c)), uint64(int64(min(math.MaxUint32, r.number(next())))))
		case 'f', 'F', 'e', 'E', 'g', 'G':
			fmt.Fprintf(&b, spec+string(rune(c)), r.number(next()))
		case 's':
			fmt.Fprintf(&b, spec+"s", r.text(next()))
		case 'c':
			if v := next(); v.num {
				b.WriteRune(rune(int(v.n)))
			} else if s := r.text(v); s != "" {
				letter, _ := utf8.DecodeRuneInString(s)
				b.WriteRune(letter)
			}
		default:
			b.WriteString(format[i : j+1])
		}
		i = j
	}
	return b.String()
}
