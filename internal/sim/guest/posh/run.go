package posh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// run is one run of a program.
type run struct {
	host  Host
	vars  map[string]any
	types map[string]method
	steps int
	// made counts the bytes of all values that were made, nested the programs that
	// run inside each other.
	made, nested int
}

// Bounds of one run of a program.
const (
	maxSteps = 1_000_000
	// maxValue bounds one value, maxMade all that a run makes, in bytes.
	maxValue = 16 << 20
	maxMade  = 512 << 20
	// maxNested bounds Invoke-Expression inside itself, maxLevels lists inside lists.
	maxNested = 16
	maxLevels = 64
)

// LimitError says which bound ended a program.
type LimitError struct{ Bound string }

func (e *LimitError) Error() string {
	return "the script was ended, because it " + e.Bound + " (a bound of the simulation)"
}

// take counts what is about to be made.
func (m *run) take(size int) error {
	m.made += size
	if size > maxValue {
		return &LimitError{fmt.Sprintf("makes a value of more than %d MiB", maxValue>>20)}
	}
	if m.made > maxMade {
		return &LimitError{fmt.Sprintf("makes more than %d MiB of values", maxMade>>20)}
	}
	return nil
}

// step counts one step.
func (m *run) step(ctx context.Context) error {
	if m.steps++; m.steps > maxSteps {
		return &LimitError{fmt.Sprintf("takes more than %d steps", maxSteps)}
	}
	return ctx.Err()
}

// text is show for a value of which it is not known how large it is.
func (m *run) text(v any) (string, error) {
	left := maxValue
	if !measure(v, &left, 0) {
		return "", &LimitError{fmt.Sprintf("makes a value of more than %d MiB", maxValue>>20)}
	}
	if err := m.take(maxValue - left); err != nil {
		return "", err
	}
	return show(v), nil
}

// measure takes the size of a value's text from left; it returns false when the
// text is larger, or lists are too deep inside each other.
func measure(v any, left *int, level int) bool {
	size := 1
	switch v := v.(type) {
	case string:
		size += len(v)
	case []any:
		if level > maxLevels {
			return false
		}
		for _, item := range v {
			if !measure(item, left, level+1) {
				return false
			}
		}
	}
	*left -= size
	return *left >= 0
}

func (m *run) block(ctx context.Context, body []node) error {
	for _, n := range body {
		if err := m.statement(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (m *run) statement(ctx context.Context, n node) error {
	if err := m.step(ctx); err != nil {
		return err
	}
	switch n := n.(type) {
	case branch:
		v, err := m.eval(ctx, n.condition)
		if err != nil {
			return err
		}
		if truth(v) {
			return m.block(ctx, n.then)
		}
		return m.block(ctx, n.otherwise)
	case loop:
		return m.loop(ctx, n)
	case each:
		v, err := m.eval(ctx, n.list)
		if err != nil {
			return err
		}
		for _, item := range items(v) {
			m.vars[n.name] = item
			if err := m.step(ctx); err != nil {
				return err
			}
			if err := m.block(ctx, n.body); errors.Is(err, errBreak) {
				break
			} else if err != nil && !errors.Is(err, errContinue) {
				return err
			}
		}
		return nil
	case try:
		err := m.block(ctx, n.body)
		if t, ok := errors.AsType[*Thrown](err); ok {
			m.vars["_"] = map[string]any{"exception": map[string]any{"message": t.Message}, "errordetails": map[string]any{"message": t.Details}}
			return m.block(ctx, n.catch)
		}
		return err
	case jump:
		return m.jump(ctx, n)
	case assign, step:
		_, err := m.eval(ctx, n)
		return err
	}
	v, err := m.eval(ctx, n)
	if err != nil {
		return err
	}
	for _, item := range items(v) {
		if err := m.print(item); err != nil {
			return err
		}
	}
	return nil
}

func (m *run) print(v any) error {
	line, err := m.text(v)
	if err == nil {
		m.host.Print(line + "\r\n")
	}
	return err
}

func (m *run) loop(ctx context.Context, l loop) error {
	if l.begin != nil {
		if _, err := m.eval(ctx, l.begin); err != nil {
			return err
		}
	}
	for {
		v, err := m.eval(ctx, l.condition)
		if err != nil || !truth(v) {
			return err
		}
		if err := m.block(ctx, l.body); errors.Is(err, errBreak) {
			return nil
		} else if err != nil && !errors.Is(err, errContinue) {
			return err
		}
		if l.next != nil {
			if _, err := m.eval(ctx, l.next); err != nil {
				return err
			}
		}
		if err := m.step(ctx); err != nil {
			return err
		}
	}
}

func (m *run) jump(ctx context.Context, j jump) error {
	var v any
	if j.value != nil {
		var err error
		if v, err = m.eval(ctx, j.value); err != nil {
			return err
		}
	}
	switch j.word {
	case "break":
		return errBreak
	case "continue":
		return errContinue
	case "return":
		return errReturn
	case "throw":
		message, err := m.text(v)
		if err != nil {
			return err
		}
		return &Thrown{Message: message}
	}
	n, _ := number(v)
	return exit{int(n)}
}

func (m *run) eval(ctx context.Context, n node) (any, error) {
	switch n := n.(type) {
	case nil:
		return nil, nil
	case constant:
		return n.value, nil
	case variable:
		if v, ok := m.vars[n.name]; ok {
			return v, nil
		}
		return m.host.Variable(n.name), nil
	case text:
		var b strings.Builder
		for _, part := range n.parts {
			v, err := m.eval(ctx, part)
			if err != nil {
				return nil, err
			}
			part, err := m.text(v)
			if err != nil {
				return nil, err
			}
			if b.WriteString(part); b.Len() > maxValue {
				return nil, m.take(b.Len())
			}
		}
		return b.String(), nil
	case table:
		out := map[string]any{}
		for i, k := range n.keys {
			key, err := m.eval(ctx, k)
			if err != nil {
				return nil, err
			}
			name, err := m.text(key)
			if err != nil {
				return nil, err
			}
			if out[strings.ToLower(name)], err = m.eval(ctx, n.values[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case list:
		out := []any{}
		for _, item := range n.items {
			v, err := m.eval(ctx, item)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case assign:
		return nil, m.assign(ctx, n)
	case step:
		return nil, m.assign(ctx, assign{n.target, "+=", constant{n.by}})
	case negate:
		v, err := m.eval(ctx, n.of)
		return !truth(v), err
	case binary:
		return m.binary(ctx, n)
	case static:
		return m.types[n.kind+"::"+n.name](m, nil, nil)
	case member:
		v, err := m.eval(ctx, n.of)
		if err != nil {
			return nil, err
		}
		return field(v, n.name), nil
	case index:
		return m.index(ctx, n)
	case call:
		return m.call(ctx, n)
	case command:
		return m.command(ctx, n, nil)
	case pipeline:
		v, err := m.eval(ctx, n.stages[0])
		for _, stage := range n.stages[1:] {
			if err != nil {
				return nil, err
			}
			v, err = m.command(ctx, stage.(command), []any{v})
		}
		return v, err
	}
	return nil, fmt.Errorf("%T is not simulated", n)
}

func (m *run) assign(ctx context.Context, a assign) error {
	v, err := m.eval(ctx, a.value)
	if err != nil {
		return err
	}
	if a.operator != "=" {
		before, err := m.eval(ctx, a.target)
		if err != nil {
			return err
		}
		if v, err = m.add(before, v, a.operator == "-="); err != nil {
			return err
		}
	}
	if target, ok := a.target.(variable); ok {
		m.vars[target.name] = v
	}
	return nil // settings of .NET have no effect here
}

func (m *run) index(ctx context.Context, n index) (any, error) {
	of, err := m.eval(ctx, n.of)
	if err != nil {
		return nil, err
	}
	at, err := m.eval(ctx, n.at)
	if err != nil {
		return nil, err
	}
	if t, ok := of.(map[string]any); ok {
		name, err := m.text(at)
		return t[strings.ToLower(name)], err
	}
	i, _ := number(at)
	all := items(of)
	if i < 0 {
		i += int64(len(all))
	}
	if i < 0 || i >= int64(len(all)) {
		return nil, nil
	}
	return all[i], nil
}

func (m *run) command(ctx context.Context, c command, input []any) (any, error) {
	args := input
	for _, a := range c.args {
		v, err := m.eval(ctx, a)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	parameters := map[string]any{}
	for name, a := range c.parameters {
		v, err := m.eval(ctx, a)
		if err != nil {
			return nil, err
		}
		parameters[name] = v
	}
	switch c.name {
	case "out-null":
		return nil, nil
	case "write-output", "write-host":
		for _, a := range args {
			if err := m.print(a); err != nil {
				return nil, err
			}
		}
		return nil, nil
	case "invoke-expression", "iex":
		if m.nested++; m.nested > maxNested {
			return nil, &LimitError{fmt.Sprintf("nests Invoke-Expression more than %d deep", maxNested)}
		}
		defer func() { m.nested-- }()
		script, err := m.text(first(args))
		if err != nil {
			return nil, err
		}
		inner, err := Parse(script, m.host.Known)
		if err != nil {
			return nil, &Thrown{Message: "Invoke-Expression: " + err.Error()}
		}
		return nil, m.block(ctx, inner.body)
	}
	return m.host.Command(ctx, c.name, args, parameters)
}

func first(args []any) any {
	if len(args) == 0 {
		return nil
	}
	return args[0]
}

func (m *run) call(ctx context.Context, c call) (any, error) {
	var args []any
	for _, a := range c.args {
		v, err := m.eval(ctx, a)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	left := maxValue
	for _, a := range args {
		if !measure(a, &left, 0) {
			return nil, m.take(maxValue + 1)
		}
	}
	if s, ok := c.of.(static); ok {
		return m.keep(m.types[s.kind+"::"+s.name](m, nil, args))
	}
	of := c.of.(member)
	v, err := m.eval(ctx, of.of)
	if err != nil {
		return nil, err
	}
	f := methods()[of.name]
	if f == nil {
		return nil, &Thrown{Message: "Method invocation failed: the method is not simulated"}
	}
	if _, isStream := v.(io.Reader); !isStream {
		if _, err := m.text(v); err != nil {
			return nil, err
		}
	}
	return m.keep(f(m, v, args))
}

// keep counts what a method made.
func (m *run) keep(v any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	switch made := v.(type) {
	case string:
		err = m.take(len(made))
	case []byte:
		err = m.take(len(made))
	}
	return v, err
}

func (m *run) binary(ctx context.Context, b binary) (any, error) {
	left, err := m.eval(ctx, b.left)
	if err != nil {
		return nil, err
	}
	switch {
	case b.operator == "-and" && !truth(left):
		return false, nil
	case b.operator == "-or" && truth(left):
		return true, nil
	}
	right, err := m.eval(ctx, b.right)
	if err != nil {
		return nil, err
	}
	for _, operand := range []any{left, right} {
		if _, isNumber := operand.(int64); !isNumber {
			if _, err := m.text(operand); err != nil { // as they are compared by their texts
				return nil, err
			}
		}
	}
	switch b.operator {
	case "-and", "-or":
		return truth(right), nil
	case "+", "-":
		return m.add(left, right, b.operator == "-")
	case "*":
		x, _ := number(left)
		y, _ := number(right)
		return x * y, nil
	case "-like", "-notlike":
		ok, err := path.Match(strings.ToLower(show(right)), strings.ToLower(show(left)))
		return (err == nil && ok) == (b.operator == "-like"), nil
	case "-match", "-notmatch":
		re, err := regexp.Compile("(?i)" + show(right))
		if err != nil {
			return nil, &Thrown{Message: "-match: the pattern is not valid"}
		}
		return re.MatchString(show(left)) == (b.operator == "-match"), nil
	}
	return compare(b.operator, left, right), nil
}

func compare(operator string, left, right any) bool {
	order := strings.Compare(strings.ToLower(show(left)), strings.ToLower(show(right)))
	if x, ok := number(left); ok {
		if y, ok := number(right); ok {
			order = int(min(max(x-y, -1), 1))
		}
	}
	switch operator {
	case "-eq":
		return order == 0
	case "-ne":
		return order != 0
	case "-lt":
		return order < 0
	case "-le":
		return order <= 0
	case "-gt":
		return order > 0
	}
	return order >= 0
}

func (m *run) add(left, right any, subtract bool) (any, error) {
	x, ok := left.(int64)
	y, isNumber := number(right)
	switch {
	case subtract && isNumber && (ok || left == nil):
		return x - y, nil
	case isNumber && (ok || left == nil):
		return x + y, nil
	case subtract:
		return nil, &Thrown{Message: "op_Subtraction: no numbers"}
	}
	a, err := m.text(left)
	if err != nil {
		return nil, err
	}
	b, err := m.text(right)
	if err != nil {
		return nil, err
	}
	return a + b, m.take(len(a) + len(b))
}

func number(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		return n, err == nil
	}
	return 0, false
}

func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case int64:
		return v != 0
	case []any:
		return len(v) > 1 || len(v) == 1 && truth(v[0])
	}
	return true
}

func items(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

func show(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, show(item))
		}
		return strings.Join(parts, " ")
	case map[string]any:
		return "System.Collections.Hashtable"
	case io.Reader:
		return "System.IO.Stream"
	case []byte:
		return "System.Byte[]"
	}
	return fmt.Sprint(v)
}

// field is a property, by any case of its name.
func field(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, value := range v {
			if strings.EqualFold(k, name) {
				return value
			}
		}
	case string:
		if name == "length" {
			return int64(len(v))
		}
	case []byte:
		if name == "length" || name == "count" {
			return int64(len(v))
		}
	case []any:
		if name == "length" || name == "count" {
			return int64(len(v))
		}
	}
	return nil
}
