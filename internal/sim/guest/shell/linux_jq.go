package shell

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// jqFlags are read apart from the other commands' ones: some take two values.
var jqFlags = declare("r|raw-output c|compact-output e|exit-status n|null-input s|slurp S|sort-keys " +
	"j|join-output R|raw-input M|monochrome-output C|color-output tab indent: a|ascii-output f|from-file:")

// jq runs a filter of jq with gojq. Objects are printed in the order of the input, as
// far as that is known.
func jq(ctx context.Context, p *Process) int {
	names, values := []string{}, []any{}
	var args []string
	for i := 1; i < len(p.Args); i++ {
		a := p.Args[i]
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
		i += 2
	}
	o, unknown := jqFlags.parse(args)
	if unknown != "" || o.has("C", "a") {
		return p.Refuse("jq %s", cmp.Or(unknown, "-C or -a"))
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
	code, err := gojq.Compile(query, gojq.WithVariables(names), gojq.WithEnvironLoader(func() []string {
		var out []string
		for k, v := range p.Env {
			out = append(out, k+"="+v)
		}
		return out
	}))
	if err != nil {
		return p.Fail(3, "jq: error: %v", err)
	}
	text, status := "", 0
	if !o.has("n") {
		text, status = p.inputs(files)
	}
	if status != 0 {
		return 2
	}
	run := &jqRun{p: p, o: o, order: map[string]int{}, status: map[bool]int{true: 4}[o.has("e")]}
	inputs, err := run.inputs(text)
	run.learn(filter)
	for _, in := range inputs {
		if c := run.apply(ctx, code, in, values); c != 0 {
			return c
		}
	}
	if err != nil {
		return p.Fail(2, "jq: error (at <stdin>): %v", err)
	}
	return run.status
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
	run := &jqRun{p: p, order: map[string]int{}}
	list, err := run.inputs(string(data))
	return list, err
}

// jqRun is one run of jq.
type jqRun struct {
	p *Process
	o options
	// order is where each key of an object was seen first.
	order  map[string]int
	status int
}

// inputs returns the documents of the input. What follows an error is lost.
func (r *jqRun) inputs(text string) (list []any, err error) {
	switch {
	case r.o.has("n"):
		return []any{nil}, nil
	case r.o.has("R") && r.o.has("s"):
		return []any{text}, nil
	case r.o.has("R"):
		for _, l := range r.p.linesOf(text) {
			list = append(list, l)
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

// value decodes one value and notes the order of keys.
func (r *jqRun) value(d *json.Decoder) (any, error) {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return nil, err
	}
	keys := json.NewDecoder(bytes.NewReader(raw))
	depth := []bool{} // whether the next token of an object is a key
	for {
		t, err := keys.Token()
		if err != nil {
			break
		}
		switch t := t.(type) {
		case json.Delim:
			switch t {
			case '{':
				depth = append(depth, true)
				continue
			case '[':
				depth = append(depth, false)
				continue
			}
			depth = depth[:len(depth)-1]
			if len(depth) == 0 {
				continue
			}
		case string:
			if n := len(depth) - 1; n >= 0 && depth[n] {
				r.learnKey(t)
				skip, err := keys.Token() // the value, or how it starts
				if delim, ok := skip.(json.Delim); ok && err == nil {
					depth = append(depth, delim == '{')
				}
			}
		}
	}
	var v any
	err := json.Unmarshal(raw, &v)
	return v, err
}

func (r *jqRun) learnKey(key string) {
	if _, known := r.order[key]; !known {
		r.order[key] = len(r.order)
	}
}

// learn takes words of a filter for keys that it makes.
func (r *jqRun) learn(filter string) {
	for _, word := range strings.FieldsFunc(filter, func(c rune) bool {
		return !(c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z')
	}) {
		r.learnKey(word)
	}
}

func (r *jqRun) apply(ctx context.Context, code *gojq.Code, in any, values []any) int {
	for results := code.RunWithContext(ctx, in, values...); ; {
		v, ok := results.Next()
		if !ok {
			return 0
		}
		if err, isErr := v.(error); isErr {
			if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil {
				return halt.ExitCode()
			}
			return r.p.Fail(5, "jq: error (at <stdin>): %v", err)
		}
		if r.o.has("e") {
			r.status = map[bool]int{true: 1}[v == nil || v == false]
		}
		if s, ok := v.(string); ok && r.o.has("r", "j") {
			r.p.Printf("%s", s)
		} else {
			var b strings.Builder
			r.encode(&b, v, 0)
			r.p.Printf("%s", b.String())
		}
		if !r.o.has("j") {
			r.p.Printf("\n")
		}
	}
}

func (r *jqRun) encode(b *strings.Builder, v any, depth int) {
	indent := "  "
	if n, err := strconv.Atoi(r.o.value("indent")); err == nil {
		indent = strings.Repeat(" ", min(n, 7))
	}
	if r.o.has("tab") {
		indent = "\t"
	}
	line := func(depth int) {
		if !r.o.has("c", "j") && indent != "" {
			b.WriteString("\n" + strings.Repeat(indent, depth))
		}
	}
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(x, y string) int {
			if r.o.has("S") {
				return strings.Compare(x, y)
			}
			return cmp.Or(cmp.Compare(r.rank(x), r.rank(y)), strings.Compare(x, y))
		})
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			line(depth + 1)
			writeJSON(b, k)
			b.WriteByte(':')
			if !r.o.has("c", "j") {
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

func (r *jqRun) rank(key string) int {
	if at, ok := r.order[key]; ok {
		return at
	}
	return len(r.order)
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
