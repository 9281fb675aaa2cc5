package shell

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/itchyny/gojq"

	"casement.dev/casement/internal/sim/guest/apart"
)

// jqFlags are the flags of jq that have at most one value. jq itself parses those with two values.
var jqFlags = declare("r|raw-output c|compact-output e|exit-status n|null-input s|slurp S|sort-keys " +
	"j|join-output R|raw-input M|monochrome-output tab indent: a|ascii-output f|from-file:")

// jq runs a filter of jq with gojq. Objects are printed with the keys in the order of the input, if that order is
// known.
func jq(ctx context.Context, p *Process) int {
	names, values, named := []string{}, []any{}, map[string]any{}
	positional, rest := []any{}, ""
	var args []string
	for i := 1; i < len(p.Args); i++ {
		a := p.Args[i]
		if a == "--args" || a == "--jsonargs" {
			rest = map[bool]string{true: "--arg", false: "--argjson"}[a == "--args"]
			continue
		}
		isWord := func(a string) bool { return !strings.HasPrefix(a, "-") }
		if rest != "" && isWord(a) && slices.ContainsFunc(args, isWord) { // after the filter
			value, err := jqArgument(p, rest, a)
			if err != nil {
				return p.Fail(2, "jq: %s: %v", a, err)
			}
			positional = append(positional, value)
			continue
		}
		if a != "--arg" && a != "--argjson" && a != "--slurpfile" && a != "--rawfile" {
			args = append(args, a)
			continue
		}
		if i+2 >= len(p.Args) {
			return p.Fail(2, "jq: %s takes two parameters", a)
		}
		value, err := jqArgument(p, a, p.Args[i+2])
		if err != nil {
			return p.Fail(2, "jq: %s %s: %v", a, p.Args[i+1], err)
		}
		names, values = append(names, "$"+p.Args[i+1]), append(values, value)
		named[p.Args[i+1]] = value
		i += 2
	}
	o, unknown := jqFlags.parse(args)
	if unknown != "" {
		return p.refuseAs(2, "jq %s", unknown)
	}
	filter, files := ".", o.operands
	switch {
	case o.has("f"):
		data, err := p.read(o.value("f"))
		if err != nil {
			return p.Fail(2, "jq: error: Could not open %s", o.value("f"))
		}
		filter = string(data)
	case len(files) > 0:
		filter, files = files[0], files[1:]
	}
	query, err := gojq.Parse(filter)
	if err != nil {
		return p.Fail(3, "jq: error: syntax error: %v", err)
	}
	text, status := "", 0
	if !o.has("n") || strings.Contains(filter, "input") {
		text, status = p.inputs(files)
	}
	names, values = append(names, "$ARGS"), append(values, map[string]any{"positional": positional, "named": named})
	q := jqQuestion{Filter: filter, Text: text, Names: names, Values: values}
	for _, g := range o.given {
		q.Flags = append(q.Flags, [2]string{g.name, g.value})
	}
	for k, v := range p.Env {
		q.Env = append(q.Env, k+"="+v)
	}
	var answer jqAnswer
	if jqPlain(query) && len(text) <= maxPlainInput {
		answer = answerJQ(ctx, q)
	} else if answer, err = apart.Run[jqQuestion, jqAnswer](ctx, "jq", q, maxJQ); err != nil {
		return p.Fail(killedCode, "jq: %v", err)
	}
	if o.has("a") {
		answer.Out = inASCII(answer.Out)
	}
	p.Printf("%s", answer.Out)
	if what, refused := strings.CutPrefix(answer.Err, "casement does not simulate "); refused {
		return p.refuseAs(answer.Code, "%s", what)
	}
	if answer.Err != "" {
		return p.Fail(answer.Code, "%s", answer.Err)
	}
	return cmp.Or(answer.Code, 2*status)
}

// inASCII returns a text with characters beyond ASCII as JSON escapes.
func inASCII(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
}

// jqQuestion is the input of one run of jq; the run opens no files. The engine has no limits: a filter that only
// selects parts of a small document runs in this process, and every other filter in a separate process.
type jqQuestion struct {
	Filter, Text string
	Flags        [][2]string
	Names        []string
	Values       []any
	Env          []string
}

type jqAnswer struct {
	Out, Err string
	Code     int
}

// maxJQ bounds the answer of a separate process, in bytes.
const maxJQ = 64 << 20

// apart.Serve has to run first in the process.
func init() {
	apart.Serve("jq", func(q jqQuestion) jqAnswer { return answerJQ(context.Background(), q) })
}

func answerJQ(ctx context.Context, q jqQuestion) (a jqAnswer) {
	var o options
	for _, f := range q.Flags {
		o.given = append(o.given, given{f[0], f[1]})
	}
	query, err := gojq.Parse(q.Filter)
	if err != nil {
		return jqAnswer{Err: fmt.Sprintf("jq: error: syntax error: %v", err), Code: 3}
	}
	run := &jqRun{o: o, order: map[string]int{}, fromTexts: map[string]int{}, shapes: map[string][]string{},
		status: map[bool]int{true: 4}[o.has("e")]}
	defer func() { a.Out = run.out.String() }()
	inputs, err := run.inputs(q.Text)
	if strings.Contains(q.Filter, "entries") {
		run.learn("key value")
	}
	if strings.Contains(q.Filter, "$ARGS") {
		run.learn("positional named")
	}
	var arguments []string
	for _, name := range q.Names {
		arguments = append(arguments, strings.TrimPrefix(name, "$"))
	}
	run.shape(arguments[:len(arguments)-1]) // without $ARGS
	run.learn(q.Filter)
	run.learnTexts(jqSorting.MatchString(q.Filter))
	run.jqOrdered(reflect.ValueOf(query))
	for _, pattern := range jqStrings.FindAllString(q.Filter, -1) {
		var names []string
		for _, m := range jqCaptures.FindAllStringSubmatch(pattern, -1) {
			names = append(names, m[1])
		}
		run.shape(names)
	}
	query, failed := gojq.Parse(jqDefinitions + query.String())
	if failed != nil {
		return jqAnswer{Err: fmt.Sprintf("jq: error: %v", failed), Code: 3}
	}
	rest := gojq.NewIter(inputs...)
	code, failed := gojq.Compile(query, gojq.WithVariables(q.Names), gojq.WithEnvironLoader(func() []string { return q.Env }),
		gojq.WithInputIter(rest), gojq.WithFunction("_keys_in_order", 0, 0, func(v any, _ []any) any { return run.keys(v) }),
		gojq.WithFunction("_json_in_order", 0, 0, func(v any, _ []any) any { return run.json(v) }))
	if failed != nil && jqRefused.MatchString(q.Filter) {
		return jqAnswer{Err: "casement does not simulate input_line_number, input_filename and $__loc__ of jq", Code: 3}
	}
	if failed != nil {
		return jqAnswer{Err: fmt.Sprintf("jq: error: %v", failed), Code: 3}
	}
	for i := 0; ; i++ {
		var in any
		if !o.has("n") {
			next, some := rest.Next()
			if !some {
				break
			}
			in = next
		} else if i > 0 {
			break
		}
		if message, c := run.apply(ctx, code, in, q.Values); c != 0 {
			return jqAnswer{Err: message, Code: c}
		}
	}
	if err != nil {
		return jqAnswer{Err: fmt.Sprintf("jq: error (at <stdin>): %v", err), Code: 2}
	}
	return jqAnswer{Code: run.status}
}

// maxKey bounds the length of texts that count as possible keys, in bytes.
const maxKey = 256

const (
	// maxPlainInput bounds the input of a plain filter that runs in this process, in bytes.
	maxPlainInput = 64 << 10
	// maxPlainParts bounds the number of repetitions of its input in a plain filter, because each can double the
	// output.
	maxPlainParts = 8
)

// plainFunctions are the functions of jq whose result is not much larger than their input.
var plainFunctions = strings.Fields(`_each select length keys values not empty map type tostring tonumber ascii_downcase
	ascii_upcase has to_entries from_entries startswith endswith ltrimstr rtrimstr contains any all first last min max
	sort unique reverse objects arrays strings numbers booleans nulls null true false`)

// jqPlain reports whether the size of a filter and of its input bounds the work of the filter.
func jqPlain(query *gojq.Query) bool {
	parts, plain := 0, true
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
			return
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
			return
		}
		switch n := v.Interface().(type) {
		case gojq.FuncDef, gojq.Reduce, gojq.Foreach, gojq.Label, gojq.Import:
			plain = false
		case gojq.Func:
			plain = plain && (slices.Contains(plainFunctions, n.Name) || strings.HasPrefix(n.Name, "$"))
		case gojq.Operator:
			plain = plain && n != gojq.OpMul && n != gojq.OpUpdateMul
			if n == gojq.OpComma || n == gojq.OpAdd || n == gojq.OpUpdateAdd {
				parts++
			}
		case gojq.TermType:
			plain = plain && n != gojq.TermTypeRecurse
		case gojq.ObjectKeyVal, gojq.Pattern:
			parts++
		case gojq.String:
			parts += len(n.Queries) / 2
		}
		if v.Kind() == reflect.Struct {
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		}
	}
	walk(reflect.ValueOf(query))
	return plain && parts <= maxPlainParts
}

func jqArgument(p *Process, kind, text string) (value any, err error) {
	switch kind {
	case "--arg":
		return text, nil
	case "--argjson":
		err = json.Unmarshal([]byte(text), &value)
		return value, err
	}
	data, err := p.read(text)
	if err != nil || kind == "--rawfile" {
		return string(data), err
	}
	run := &jqRun{order: map[string]int{}, fromTexts: map[string]int{}, shapes: map[string][]string{}}
	list, err := run.inputs(string(data))
	return list, err
}

// jqRun is one run of jq.
type jqRun struct {
	o   options
	out strings.Builder
	// order is the rank of each key by its first occurrence. shapes are the orders of the keys of whole objects in
	// the input or the filter, by the sorted keys.
	order map[string]int
	// fromTexts are the keys that a filter may have made from texts.
	fromTexts map[string]int
	shapes    map[string][]string
	// texts are the texts that may become keys.
	texts  []string
	status int
}

// inputs returns the documents of the input. The text after an error is ignored.
func (r *jqRun) inputs(text string) (list []any, err error) {
	switch {
	case r.o.has("R") && r.o.has("s"):
		return []any{text}, nil
	case r.o.has("R"):
		for l := range strings.Lines(text) {
			l = strings.TrimSuffix(l, "\n")
			list = append(list, l)
			r.texts = append(r.texts, strings.FieldsFunc(l[:min(len(l), maxKey)], func(c rune) bool {
				return strings.ContainsRune(",;:=| \t\"", c)
			})...)
		}
		return list, nil
	}
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		v, err2 := r.value(d)
		if errors.Is(err2, io.EOF) {
			break
		}
		if err = err2; err != nil {
			break
		}
		list = append(list, v)
	}
	if r.o.has("s") {
		return []any{append([]any{}, list...)}, err
	}
	return list, err
}

// value decodes one value and records the order of its keys.
func (r *jqRun) value(d *json.Decoder) (any, error) {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return nil, err
	}
	keys := json.NewDecoder(bytes.NewReader(raw))
	depth := []bool{}         // whether the next token of an object is a key
	objects := [][]string{{}} // the keys of each open object
	for {
		t, err := keys.Token()
		if err != nil {
			break
		}
		switch t := t.(type) {
		case json.Delim:
			switch t {
			case '{', '[':
				depth, objects = append(depth, t == '{'), append(objects, nil)
				continue
			}
			if t == '}' {
				r.shape(objects[len(objects)-1])
			}
			depth, objects = depth[:len(depth)-1], objects[:len(objects)-1]
			if len(depth) == 0 {
				continue
			}
		case string:
			if n := len(depth) - 1; n >= 0 && depth[n] {
				r.learnKey(t)
				objects[len(objects)-1] = append(objects[len(objects)-1], t)
				skip, err := keys.Token() // the value, or how it starts
				if text, ok := skip.(string); ok && len(text) < maxKey {
					r.texts = append(r.texts, text)
				}
				if delim, ok := skip.(json.Delim); ok && err == nil {
					depth, objects = append(depth, delim == '{'), append(objects, nil)
				}
			}
		}
	}
	var v any
	err := json.Unmarshal(raw, &v)
	return v, err
}

// jqDefinitions redefine the functions that iterate over an object in the order of its keys, because the engine sorts
// keys. ltrimstr and rtrimstr return a value that is no text unchanged.
const jqDefinitions = `def keys_unsorted: _keys_in_order; def _each: if type == "object" then .[_keys_in_order[]] else .[] end; ` +
	`def to_entries: [_keys_in_order[] as $k | {key: $k, value: .[$k]}]; def with_entries(f): to_entries | map(f) | from_entries; ` +
	`def map(f): [_each | f]; def leaf_paths: paths(scalars); def add: reduce _each as $x (null; . + $x); ` +
	`def tojson: _json_in_order; def tostring: if type == "string" then . else _json_in_order end; ` +
	`def recurse: def r: ., (_each? | r); r; def paths: path(recurse) | select(length > 0); ` +
	`def paths(f): paths as $p | select(getpath($p) | f) | $p; ` +
	`def ltrimstr($x): if type == "string" and ($x | type) == "string" and startswith($x) then .[($x | length):] else . end; ` +
	`def rtrimstr($x): if type == "string" and ($x | type) == "string" and endswith($x) then .[:length - ($x | length)] else . end; `

// jqOrdered rewrites .[] to a function that keeps the order of an object's keys.
func (r *jqRun) jqOrdered(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		switch n := v.Interface().(type) {
		case *gojq.Term:
			if n != nil {
				orderedTerm(n)
			}
		case *gojq.Object:
			if n != nil {
				r.shape(keysOf(n))
			}
		}
		if !v.IsNil() {
			r.jqOrdered(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			r.jqOrdered(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			r.jqOrdered(v.Field(i))
		}
	}
}

// keysOf returns the keys that are literal in an object construction of a filter.
func keysOf(o *gojq.Object) (keys []string) {
	for _, pair := range o.KeyVals {
		switch {
		case pair.Key != "":
			keys = append(keys, strings.TrimPrefix(pair.Key, "$"))
		case pair.KeyString != nil && pair.KeyString.Queries == nil:
			keys = append(keys, pair.KeyString.Str)
		}
	}
	return keys
}

// shape records the order of the keys of an object.
func (r *jqRun) shape(keys []string) {
	if sorted := slices.Sorted(slices.Values(keys)); len(slices.Compact(sorted)) == len(keys) {
		r.shapes[strings.Join(sorted, "\x00")] = keys
	}
}

var (
	jqRefused  = regexp.MustCompile(`input_line_number|input_filename|\$__loc__`)
	jqSorting  = regexp.MustCompile(`\b(?:sort|group_by|unique)`)
	jqStrings  = regexp.MustCompile(`"[^"]*"`)
	jqCaptures = regexp.MustCompile(`\(\?<(\w+)>`)
)

// orderedTerm rewrites .[] in a term as a call of _each.
func orderedTerm(t *gojq.Term) {
	for i, suffix := range t.SuffixList {
		if !suffix.Iter {
			continue
		}
		before := *t
		before.SuffixList = t.SuffixList[:i]
		each := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: "_each"}}}
		rest := t.SuffixList[i+1:]
		*t = gojq.Term{Type: gojq.TermTypeQuery, SuffixList: rest,
			Query: &gojq.Query{Op: gojq.OpPipe, Left: &gojq.Query{Term: &before}, Right: each}}
		orderedTerm(t)
		return
	}
}

// keys returns the keys of an object in the order of the input, if that order is known.
func (r *jqRun) keys(v any) any {
	m, ok := v.(map[string]any)
	if list, isList := v.([]any); isList {
		at := make([]any, len(list))
		for i := range list {
			at[i] = i
		}
		return at
	}
	if !ok {
		return fmt.Errorf("%s has no keys", gojq.TypeOf(v))
	}
	out := []any{}
	for _, k := range r.sorted(m) {
		out = append(out, k)
	}
	return out
}

// json returns a value as jq writes it on one line.
func (r *jqRun) json(v any) string {
	line := &jqRun{o: options{given: []given{{name: "c"}}}, order: r.order, fromTexts: r.fromTexts, shapes: r.shapes}
	var b strings.Builder
	line.encode(&b, v, 0)
	return b.String()
}

// sorted returns the keys of an object by their order in the input, if that is known.
func (r *jqRun) sorted(m map[string]any) []string {
	keys := slices.Sorted(maps.Keys(m))
	if shape := r.shapes[strings.Join(keys, "\x00")]; shape != nil {
		return slices.Clone(shape)
	}
	rank := r.order
	if !slices.ContainsFunc(keys, func(k string) bool { _, some := r.fromTexts[k]; return !some }) {
		rank = r.fromTexts
	}
	slices.SortStableFunc(keys, func(x, y string) int { return cmp.Compare(keyRank(rank, x), keyRank(rank, y)) })
	return keys
}

// learnTexts records the texts of the input as possible keys, sorted if the filter sorts.
func (r *jqRun) learnTexts(sorted bool) {
	if sorted {
		slices.Sort(r.texts)
	}
	for _, text := range r.texts {
		r.learnKey(text)
		keyRank(r.fromTexts, text)
	}
}

func (r *jqRun) learnKey(key string) { keyRank(r.order, key) }

// keyRank returns the rank of a key; a new key gets the next rank.
func keyRank(order map[string]int, key string) int {
	n, known := order[key]
	if !known {
		n = len(order)
		order[key] = n
	}
	return n
}

// learn records the words of a filter as possible keys.
func (r *jqRun) learn(filter string) {
	for _, word := range strings.FieldsFunc(filter, func(c rune) bool {
		return !(c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z')
	}) {
		r.learnKey(word)
	}
}

// apply runs a filter on one input and prints its results. It returns the message and exit code of an error.
func (r *jqRun) apply(ctx context.Context, code *gojq.Code, in any, values []any) (message string, status int) {
	for results := code.RunWithContext(ctx, in, values...); ; {
		v, ok := results.Next()
		if !ok {
			return "", 0
		}
		if err, isErr := v.(error); isErr {
			if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil {
				return "", halt.ExitCode()
			}
			return fmt.Sprintf("jq: error (at <stdin>): %v", err), 5
		}
		if r.o.has("e") {
			r.status = map[bool]int{true: 1}[v == nil || v == false]
		}
		if s, ok := v.(string); ok && r.o.has("r", "j") {
			r.out.WriteString(s)
		} else {
			r.encode(&r.out, v, 0)
		}
		if !r.o.has("j") {
			r.out.WriteByte('\n')
		}
	}
}

// encode writes a value as jq prints it, indented.
func (r *jqRun) encode(b *strings.Builder, v any, depth int) {
	indent := "  "
	if n, err := strconv.Atoi(r.o.value("indent")); err == nil {
		indent = strings.Repeat(" ", min(n, 7))
	}
	if r.o.has("tab") {
		indent = "\t"
	}
	line := func(depth int) {
		if !r.o.has("c") && indent != "" {
			b.WriteString("\n" + strings.Repeat(indent, depth))
		}
	}
	switch v := v.(type) {
	case map[string]any:
		keys := r.sorted(v)
		if r.o.has("S") {
			slices.Sort(keys)
		}
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			line(depth + 1)
			writeJSON(b, k)
			b.WriteByte(':')
			if !r.o.has("c") {
				b.WriteByte(' ')
			}
			r.encode(b, v[k], depth+1)
		}
		if len(keys) > 0 {
			line(depth)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			line(depth + 1)
			r.encode(b, item, depth+1)
		}
		if len(v) > 0 {
			line(depth)
		}
		b.WriteByte(']')
	default:
		writeJSON(b, v)
	}
}

// writeJSON writes a scalar as jq does.
func writeJSON(b *strings.Builder, v any) {
	if f, ok := v.(float64); ok && f == float64(int64(f)) && f < 1e17 && f > -1e17 {
		b.WriteString(strconv.FormatInt(int64(f), 10))
		return
	}
	data, err := gojq.Marshal(v)
	if err != nil {
		b.WriteString("null")
		return
	}
	b.Write(data)
}
