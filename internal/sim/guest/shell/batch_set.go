package shell

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// set implements the command set: it lists and assigns variables; with /a it computes, and with /p it prompts.
func (b *batch) set(rest string) int {
	low := strings.ToLower(rest)
	switch {
	case rest == "":
		return b.list("")
	case strings.HasPrefix(low, "/a"):
		return b.compute(strings.TrimSpace(rest[2:]))
	case strings.HasPrefix(low, "/p"):
		return b.ask(strings.TrimLeft(rest[2:], " \t"))
	case strings.HasPrefix(low, "/"):
		return b.fails(1, "The syntax of the command is incorrect.")
	}
	rest = quotedAssignment(rest)
	name, v, ok := strings.Cut(rest, "=")
	if !ok {
		return b.list(strings.TrimRight(name, " "))
	}
	return b.assign(name, v)
}

// quotedAssignment removes the quotes of set "NAME=VALUE" and the text after them.
func quotedAssignment(s string) string {
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	if last := strings.LastIndexByte(s, '"'); last > 0 {
		return s[1:last]
	}
	return s[1:]
}

func (b *batch) list(prefix string) int {
	names := slices.DeleteFunc(slices.Collect(maps.Keys(b.cmd.env)), func(k string) bool {
		return !strings.HasPrefix(strings.ToUpper(k), strings.ToUpper(prefix))
	})
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(strings.ToUpper(a), strings.ToUpper(b)) })
	for _, k := range names {
		b.print(k + "=" + b.cmd.env[k] + "\r\n")
	}
	if len(names) == 0 {
		return b.fails(1, fmt.Sprintf("Environment variable %s not defined", prefix))
	}
	return 0
}

// maxEnvironment bounds the variables of a script, in bytes.
const maxEnvironment = 1 << 20

func (b *batch) assign(name, v string) int {
	size := len(name) + len(v)
	for old, value := range b.cmd.env {
		if strings.EqualFold(old, name) {
			delete(b.cmd.env, old)
			name = old
			continue
		}
		size += len(old) + len(value)
	}
	if size > maxEnvironment {
		return b.lacks("an environment of more than %d bytes", maxEnvironment)
	}
	if v != "" {
		b.cmd.env[name] = v
	}
	return 0
}

// ask implements set /p: it prints a prompt and assigns a line of standard input. An empty line leaves the variable
// unchanged.
func (b *batch) ask(rest string) int {
	name, prompt, ok := strings.Cut(quotedAssignment(rest), "=")
	if !ok {
		return b.fails(1, "The syntax of the command is incorrect.")
	}
	b.print(strings.Trim(prompt, `"`))
	line, err := b.readLine()
	if err != nil && line == "" || line == "" {
		b.cmd.level = 1
		return 1
	}
	return b.assign(name, line)
}

// compute implements set /a: expressions of 32-bit integers, joined by commas.
func (b *batch) compute(text string) int {
	text = strings.ReplaceAll(text, `"`, "")
	m := &sum{text: text, b: b}
	n, err := m.all()
	if err != nil {
		b.errorf("%v", err)
		b.cmd.level = sumCodes + slices.IndexFunc(sumErrors, func(text string) bool { return strings.HasPrefix(err.Error(), text) })
		return b.cmd.level
	}
	if b.typed { // on a command line, the result is printed
		b.print(strconv.Itoa(int(n)))
	}
	return 0
}

// sumErrors are the error messages of set /a, in the order of their errorlevels, which start at sumCodes.
var sumErrors = []string{"Unbalanced", "Missing operand", "Missing operator", "Invalid number.  Numeric",
	"Invalid number.  Numbers", "Divide by zero"}

const sumCodes = 1073750988

// sum parses and evaluates an expression of set /a.
type sum struct {
	text  string
	pos   int
	depth int
	b     *batch
}

func (m *sum) blanks() {
	for m.pos < len(m.text) && (m.text[m.pos] == ' ' || m.text[m.pos] == '\t') {
		m.pos++
	}
}

func (m *sum) take(s string) bool {
	m.blanks()
	if !strings.HasPrefix(m.text[m.pos:], s) {
		return false
	}
	m.pos += len(s)
	return true
}

func (m *sum) all() (int32, error) {
	for {
		n, err := m.assignment()
		if err != nil {
			return 0, err
		}
		if !m.take(",") {
			if m.blanks(); m.pos < len(m.text) {
				return 0, saying("Missing operator.")
			}
			return n, nil
		}
	}
}

var assignments = []string{"+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", "<<=", ">>=", "="}

func (m *sum) assignment() (int32, error) {
	m.blanks()
	from := m.pos
	if name := m.name(); name != "" {
		for _, operator := range assignments {
			if strings.HasPrefix(strings.TrimLeft(m.text[m.pos:], " "), operator) &&
				!strings.HasPrefix(strings.TrimLeft(m.text[m.pos:], " "), "==") {
				m.take(operator)
				n, err := m.assignment()
				if err != nil {
					return 0, err
				}
				if operator != "=" {
					if n, err = calculate(strings.TrimSuffix(operator, "="), m.value(name), n); err != nil {
						return 0, err
					}
				}
				m.b.assign(name, strconv.Itoa(int(n)))
				return n, nil
			}
		}
	}
	m.pos = from
	return m.level(0)
}

func (m *sum) name() string {
	from := m.pos
	for m.pos < len(m.text) && strings.IndexByte(" \t+-*/%()&|^<>=,!~", m.text[m.pos]) < 0 {
		m.pos++
	}
	if s := m.text[from:m.pos]; s != "" && (s[0] < '0' || s[0] > '9') {
		return s
	}
	m.pos = from
	return ""
}

func (m *sum) value(name string) int32 {
	v, _ := m.b.variable(name)
	n, err := strconv.ParseInt(strings.TrimSpace(v), 0, 64)
	if err != nil {
		return 0
	}
	return int32(n)
}

var sums = [][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}}

// level evaluates the binary operators from a precedence on.
func (m *sum) level(i int) (int32, error) {
	if m.depth++; m.depth > 400 {
		return 0, fmt.Errorf("the expression is too deep (a bound of the simulation)")
	}
	defer func() { m.depth-- }()
	if i == len(sums) {
		return m.unary()
	}
	left, err := m.level(i + 1)
	for err == nil {
		operator := ""
		for _, o := range sums[i] {
			if operator == "" && m.take(o) {
				operator = o
			}
		}
		if operator == "" {
			return left, nil
		}
		var right int32
		if right, err = m.level(i + 1); err == nil {
			left, err = calculate(operator, left, right)
		}
	}
	return 0, err
}

func (m *sum) unary() (int32, error) {
	m.blanks()
	if m.pos >= len(m.text) {
		return 0, saying("Missing operand.")
	}
	if m.depth++; m.depth > 400 {
		return 0, fmt.Errorf("the expression is too deep (a bound of the simulation)")
	}
	defer func() { m.depth-- }()
	switch c := m.text[m.pos]; c {
	case '-', '+', '~', '!':
		m.pos++
		n, err := m.unary()
		switch c {
		case '-':
			n = -n
		case '~':
			n = ^n
		case '!':
			n = map[bool]int32{true: 1}[n == 0]
		}
		return n, err
	case '(':
		m.pos++
		n, err := m.level(0)
		if err == nil && !m.take(")") {
			err = saying("Unbalanced parenthesis.")
		}
		return n, err
	}
	if name := m.name(); name != "" {
		return m.value(name), nil
	}
	from := m.pos
	for m.pos < len(m.text) && strings.IndexByte("0123456789abcdefxABCDEFX", m.text[m.pos]) >= 0 {
		m.pos++
	}
	n, err := strconv.ParseInt(m.text[from:m.pos], 0, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || n > 1<<31-1:
		return 0, saying("Invalid number.  Numbers are limited to 32-bits of precision.")
	case err != nil:
		return 0, saying("Invalid number.  Numeric constants are either decimal (17),\r\nhexadecimal (0x11), or octal (021).")
	}
	return int32(n), nil
}

func calculate(operator string, a, b int32) (int32, error) {
	switch operator {
	case "/", "%":
		if b == 0 {
			return 0, saying("Divide by zero error.")
		}
	case "<<", ">>":
		b &= 31
	}
	return int32(calculated(operator, int64(a), int64(b))), nil
}
