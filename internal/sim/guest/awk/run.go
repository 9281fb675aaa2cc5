package awk

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/sim/guest/regex"
)

// Bounds of one run.
const (
	maxSteps = 3_000_000
	// maxText is the largest text, in bytes, because a regular expression search cannot be interrupted.
	maxText  = 8 << 20
	maxCalls = 200
	maxField = 10_000
)

// Host has the functions that connect a program with files and commands. If a function is nil, its use is refused.
type Host struct {
	// Write writes the output of print to a file: at its end if appended is set.
	Write func(name, text string, appended bool) error
	// Open opens a file that getline reads.
	Open func(name string) (Input, error)
	// Command runs a command with an input and returns its exit code, and its output if captured is set.
	Command func(command, input string, captured bool) (output string, code int)
}

// Input is a file that the program reads.
type Input struct {
	Name string
	// Until returns the text up to and with the next end byte, or the rest; ok is false at the end of the file. It
	// reads no more than necessary.
	Until func(end byte) (text string, ok bool)
	// Failed means that the file could not be opened. The program then ends, and END does not run.
	Failed bool
	// Assign is the name of a variable that is set to Text before the next file is read.
	Assign, Text string
}

// value is a string, a number, or a field that may be either.
type value struct {
	s   string
	n   float64
	num bool // a number
	may bool // a text of the input, which is a number if it looks like one
}

func numberOf(n float64) value { return value{n: n, num: true} }

func textOf(s string) value { return value{s: s} }

func inputOf(s string) value { return value{s: s, may: true} }

func truth(b bool) value {
	if b {
		return numberOf(1)
	}
	return numberOf(0)
}

type flow int

const (
	goesOn flow = iota
	breaks
	continues
	nexts
	exits
	returns
)

// frame has the variables of a function call.
type frame struct {
	vars   map[string]value
	arrays map[string]map[string]value
	locals map[string]bool
	// passed are the names of the arrays that belong to the caller.
	passed map[string]bool
}

type run struct {
	*Program
	vars     map[string]value
	arrays   map[string]map[string]value
	frames   []*frame
	record   string
	fields   []string
	patterns map[string]*regex.Pattern
	out      io.Writer
	host     Host
	main     func() (string, bool)            // the next record of the inputs
	readers  map[string]func() (string, bool) // the readers of getline, by file or command
	pipes    map[string]*strings.Builder      // the output for commands
	order    []string
	opened   map[string]bool
	steps    int
	meter    *limit.Meter
	exit     int
	result   value
}

// unopened is the panic that ends a run without END, as mawk does if it cannot open an input.
type unopened struct{}

// problem is the panic that ends a run with an error.
type problem struct{ err error }

// Run runs a program and returns its exit code. vars and arrays are set before BEGIN.
func (p *Program) Run(meter *limit.Meter, vars map[string]string, arrays map[string]map[string]string,
	inputs func() (Input, bool), out io.Writer,
	host Host) (code int, err error) {
	r := &run{Program: p, meter: meter, vars: map[string]value{"NF": numberOf(0), "NR": numberOf(0), "FNR": numberOf(0),
		"FS": textOf(" "), "OFS": textOf(" "), "ORS": textOf("\n"),
		"RS": textOf("\n"), "SUBSEP": textOf("\x1c"), "CONVFMT": textOf("%.6g"), "OFMT": textOf("%.6g")},
		arrays: map[string]map[string]value{}, patterns: map[string]*regex.Pattern{}, out: out, host: host, opened: map[string]bool{},
		readers: map[string]func() (string, bool){}, pipes: map[string]*strings.Builder{}}
	r.main = r.mainRecords(inputs)
	defer r.closeAll()
	defer func() {
		switch e := recover().(type) {
		case nil:
		case problem:
			code, err = 2, e.err
		case unopened:
			code = 2
		default:
			panic(e)
		}
	}()
	for k, v := range vars {
		r.vars[k] = inputOf(v)
	}
	for key, text := range arrays {
		for item, v := range text {
			r.put(r.array(key), item, inputOf(v))
		}
	}
	ended := r.untilExit(func() bool {
		return slices.ContainsFunc(p.begin, func(b *node) bool { return r.statement(b) == exits }) ||
			(len(p.rules) > 0 || len(p.end) > 0) && r.records()
	})
	if !ended || len(p.end) > 0 {
		r.untilExit(func() bool { r.finish(); return true })
	}
	return r.exit, nil
}

// exitPanic is the panic for exit in a function, which also ends the rule.
type exitPanic struct{}

// untilExit runs a part of the program and reports whether exit ended it.
func (r *run) untilExit(part func() bool) (ended bool) {
	defer func() {
		e := recover()
		if _, ok := e.(exitPanic); ok {
			r.frames, ended = nil, true
			return
		}
		if e != nil {
			panic(e)
		}
	}()
	return part()
}

// finish runs END, also after exit, and returns the exit code.
func (r *run) finish() int {
	for _, b := range r.end {
		if r.statement(b) == exits {
			break
		}
	}
	return r.exit
}

func (r *run) print(s string) { _, _ = io.WriteString(r.out, s) } // an error means that nothing reads the output

func (r *run) compile(p string) *regex.Pattern {
	if re, ok := r.patterns[p]; ok {
		return re
	}
	re, err := regex.Compile(awkPattern(p), regex.Options{Extended: true, Escapes: true})
	if errors.Is(err, regex.ErrUnsupported) {
		err = Unsupported(err.Error())
	}
	if err != nil {
		panic(problem{err})
	}
	r.patterns[p] = re
	return re
}

// awkPattern replaces awk's escapes that POSIX regular expressions do not have.
func awkPattern(p string) string {
	return strings.NewReplacer(`\\`, `\\`, `\"`, `"`, `\/`, `/`, `\r`, "\r", `\f`, "\f", `\v`, "\v").Replace(p)
}

// whole reports whether mawk 1.3.4 20200120, the version of Debian 12, writes a number without a fraction: an integer
// of 32 bits.
func whole(n float64) bool { return n == math.Trunc(n) && math.Abs(n) <= math.MaxInt32 }

func (r *run) text(v value) string {
	if !v.num {
		return v.s
	}
	if whole(v.n) {
		return strconv.FormatInt(int64(v.n), 10)
	}
	switch {
	case math.IsInf(v.n, 0):
		return strings.ToLower(strings.TrimPrefix(fmt.Sprint(v.n), "+"))
	case math.IsNaN(v.n):
		return "-nan" // mawk's output for 0/0
	}
	return fmt.Sprintf(strings.Replace(r.vars["CONVFMT"].s, "%i", "%d", 1), v.n)
}

func (r *run) number(v value) float64 {
	if v.num {
		return v.n
	}
	s := strings.TrimLeft(v.s, " \t\n")
	sign := 1.0
	if s != "" && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	n, _ := strconv.ParseFloat(numeral(s), 64)
	return sign * n
}

// numeric reports whether a value compares as a number.
func (r *run) numeric(v value) bool {
	if !v.may || v.num {
		return v.num
	}
	s := strings.TrimSpace(v.s)
	s = strings.TrimLeft(s, "+-")
	return s != "" && numeral(s) == s
}

func (r *run) isTrue(v value) bool {
	if r.numeric(v) {
		return r.number(v) != 0
	}
	return r.text(v) != ""
}

func (r *run) step() {
	r.meter.Step()
	if r.steps++; r.steps > maxSteps {
		panic(problem{errors.New("the program runs too long (a bound of the simulation)")})
	}
}

func (r *run) statement(n *node) flow {
	r.step()
	switch n.op {
	case "block":
		for _, s := range n.parts {
			if f := r.statement(s); f != goesOn {
				return f
			}
		}
	case "expr":
		r.eval(n.parts[0])
	case "print", "printf":
		r.printing(n)
	case "if":
		if r.isTrue(r.eval(n.parts[0])) {
			return r.statement(n.parts[1])
		}
		if len(n.parts) > 2 {
			return r.statement(n.parts[2])
		}
	case "while", "do":
		for first := n.op == "do"; first || r.isTrue(r.eval(n.parts[0])); first = false {
			if f := r.statement(n.parts[1]); f == breaks {
				break
			} else if f > continues {
				return f
			}
		}
	case "for":
		return r.forLoop(n)
	case "forin":
		keys := make([]string, 0)
		r.meter.Hold(16 * len(r.array(n.parts[0].text)))
		for k := range r.array(n.parts[0].text) {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			r.set(n.text, inputOf(k))
			if f := r.statement(n.parts[1]); f == breaks {
				break
			} else if f > continues {
				return f
			}
		}
	case "delete":
		target := n.parts[0]
		if target.op == "index" {
			r.remove(r.array(target.text), r.subscript(target.parts))
		} else {
			r.clear(r.array(target.text))
		}
	case "break":
		return breaks
	case "continue":
		return continues
	case "next":
		return nexts
	case "exit":
		if len(n.parts) > 0 {
			r.exit = int(r.number(r.eval(n.parts[0]))) & 0xff
		}
		return exits
	case "return":
		r.result = value{}
		if len(n.parts) > 0 {
			r.result = r.eval(n.parts[0])
		}
		return returns
	}
	return goesOn
}

func (r *run) forLoop(n *node) flow {
	if n.parts[0] != nil {
		r.statement(n.parts[0])
	}
	for n.parts[1] == nil || r.isTrue(r.eval(n.parts[1])) {
		if f := r.statement(n.parts[3]); f == breaks {
			break
		} else if f > continues {
			return f
		}
		if n.parts[2] != nil {
			r.statement(n.parts[2])
		}
	}
	return goesOn
}

// printing runs print or printf with its redirection.
func (r *run) printing(n *node) {
	var args []value
	for _, p := range n.parts[1:] {
		args = append(args, r.eval(p))
	}
	var b strings.Builder
	switch {
	case n.op == "printf" && len(args) > 0:
		b.WriteString(r.format(r.text(args[0]), args[1:]))
	case len(args) == 0:
		b.WriteString(r.record + r.text(r.vars["ORS"]))
	default:
		for i, a := range args {
			if i > 0 {
				b.WriteString(r.text(r.vars["OFS"]))
			}
			if a.num && !whole(a.n) && !math.IsNaN(a.n) && !math.IsInf(a.n, 0) {
				b.WriteString(fmt.Sprintf(r.vars["OFMT"].s, a.n))
			} else {
				b.WriteString(r.text(a))
			}
		}
		b.WriteString(r.text(r.vars["ORS"]))
	}
	switch target := ""; n.text {
	case "":
		r.print(b.String())
	case "|":
		command := r.text(r.eval(n.parts[0]))
		if r.host.Command == nil {
			panic(problem{Unsupported("print to a command")})
		}
		if r.pipes[command] == nil {
			r.pipes[command] = &strings.Builder{}
			r.order = append(r.order, command)
		}
		r.pipes[command].WriteString(b.String())
		r.checkText(r.pipes[command].Len())
	default:
		target = r.text(r.eval(n.parts[0]))
		if r.host.Write == nil {
			panic(problem{Unsupported("print to a file")})
		}
		if err := r.host.Write(target, b.String(), n.text == ">>" || r.opened[target]); err != nil {
			panic(problem{err})
		}
		r.opened[target] = true
	}
}

// frameOf returns the current frame if it has a local variable of that name, or nil.
func (r *run) frameOf(name string) *frame {
	if n := len(r.frames); n > 0 && r.frames[n-1].locals[name] {
		return r.frames[n-1]
	}
	return nil
}

func (r *run) array(name string) map[string]value {
	arrays := r.arrays
	if f := r.frameOf(name); f != nil {
		arrays = f.arrays
	}
	if arrays[name] == nil {
		arrays[name] = map[string]value{}
	}
	return arrays[name]
}

func (r *run) get(name string) value {
	if f := r.frameOf(name); f != nil {
		return f.vars[name]
	}
	v, ok := r.vars[name]
	if !ok {
		return value{may: true}
	}
	return v
}

// set assigns a variable; a new NF changes the fields and the record.
func (r *run) set(name string, v value) {
	vars := r.vars
	f := r.frameOf(name)
	if f != nil {
		vars = f.vars
	}
	r.meter.Hold(len(v.s) - len(vars[name].s))
	vars[name] = v
	if f != nil {
		return
	}
	if name == "NF" {
		n := min(max(int(r.number(v)), 0), maxField)
		for len(r.fields) < n {
			r.fields = append(r.fields, "")
		}
		r.fields = r.fields[:n]
		r.rebuild()
	}
}

func (r *run) subscript(parts []*node) string {
	var out []string
	for _, p := range parts {
		out = append(out, r.text(r.eval(p)))
	}
	return strings.Join(out, r.text(r.vars["SUBSEP"]))
}

// checkText ends a program that makes a text that is too large, and counts steps for a large text.
func (r *run) checkText(size int) {
	if size > maxText {
		panic(problem{fmt.Errorf("a text of more than %d MiB (a bound of the simulation)", maxText>>20)})
	}
	if n := size / stepText; n > 0 {
		r.steps += n
		r.meter.Look()
	}
}

const (
	// stepText is the number of bytes of a text that count as one step.
	stepText = 4 << 10
	// itemSize is the memory of an array element in bytes, without its key and value.
	itemSize = 128
)

// put sets an array element and counts its memory.
func (r *run) put(array map[string]value, key string, v value) {
	old, known := array[key]
	if !known {
		r.meter.Hold(itemSize + len(key))
	}
	r.meter.Hold(len(v.s) - len(old.s))
	array[key] = v
}

// remove deletes an array element and its memory from the count.
func (r *run) remove(array map[string]value, key string) {
	if old, known := array[key]; known {
		r.meter.Hold(-itemSize - len(key) - len(old.s))
		delete(array, key)
	}
}

func (r *run) clear(array map[string]value) {
	for key := range array {
		r.remove(array, key)
	}
}

// evalTarget evaluates the subscript of a target, once, and returns the target with the result: mawk creates an element
// before it evaluates the value that is assigned.
func (r *run) evalTarget(target *node) *node {
	switch target.op {
	case "group":
		return r.evalTarget(target.parts[0])
	case "field":
		return &node{op: "field", parts: []*node{{op: "number", num: r.number(r.eval(target.parts[0]))}}}
	case "index":
		target = &node{op: "index", text: target.text, parts: []*node{{op: "text", text: r.subscript(target.parts)}}}
		r.eval(target)
	}
	return target
}

func (r *run) assign(target *node, v value) value {
	r.checkText(len(v.s))
	switch target.op {
	case "group":
		return r.assign(target.parts[0], v)
	case "name":
		r.set(target.text, v)
	case "field":
		r.setField(int(r.number(r.eval(target.parts[0]))), r.text(v))
	case "index":
		r.put(r.array(target.text), r.subscript(target.parts), v)
	default:
		panic(problem{errors.New("assignment to what is no variable")})
	}
	return v
}

// closeAll runs the commands that the program still prints to.
func (r *run) closeAll() {
	for _, command := range r.order {
		r.close(command)
	}
}

// close closes a file or runs the command that was printed to, and returns its exit code.
func (r *run) close(name string) int {
	if _, some := r.readers[name]; some {
		delete(r.readers, name)
		return 0
	}
	delete(r.opened, name)
	if p := r.pipes[name]; p != nil {
		delete(r.pipes, name)
		_, code := r.host.Command(name, p.String(), false)
		return code
	}
	return -1
}

// getline reads a record of the inputs, of a file or of a command.
func (r *run) getline(n *node) value {
	next := r.main
	if n.text != "" {
		name := r.text(r.eval(n.parts[1]))
		if next = r.readers[name]; next == nil {
			var in Input
			switch {
			case n.text == "|" && r.host.Command != nil:
				r.closeAll()
				text, _ := r.host.Command(name, "", true)
				in = Input{Until: func(end byte) (string, bool) {
					i := strings.IndexByte(text, end) + 1
					if i == 0 {
						i = len(text)
					}
					part := text[:i]
					text = text[i:]
					return part, part != ""
				}}
			case n.text == "<" && r.host.Open != nil:
				var err error
				if in, err = r.host.Open(name); err != nil {
					return numberOf(-1)
				}
			default:
				panic(problem{Unsupported("getline")})
			}
			next = r.recordsOf(in)
			r.readers[name] = next
		}
	}
	r.meter.Step()
	rec, ok := next()
	if !ok {
		return numberOf(0)
	}
	if n.text == "|" {
		r.vars["NR"] = numberOf(r.number(r.vars["NR"]) + 1)
	}
	if n.parts[0] != nil {
		r.assign(n.parts[0], inputOf(rec))
	} else {
		r.setRecord(rec)
	}
	return numberOf(1)
}
