package shell

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// testing is the state of one run of test or [.
type testing struct {
	p    *Process
	args []string
	at   int
	err  string
}

// test evaluates an expression by the number of its words, as dash and bash do.
func test(_ context.Context, p *Process) int {
	t := &testing{p: p, args: p.Args[1:]}
	if p.name() == "[" {
		if len(t.args) == 0 || t.args[len(t.args)-1] != "]" {
			return p.Fail(2, "[: missing ]")
		}
		t.args = t.args[:len(t.args)-1]
	}
	ok := t.words(t.args)
	if t.err != "" {
		return p.Fail(2, "%s: %s", p.name(), t.err)
	}
	if ok {
		return 0
	}
	return 1
}

// words evaluates an expression: up to four words by the rules of POSIX, more as a full expression.
func (t *testing) words(w []string) bool {
	switch {
	case len(w) == 0:
		return false
	case len(w) == 1:
		return w[0] != ""
	case len(w) == 2 && w[0] == "!":
		return w[1] == ""
	case len(w) == 3 && t.isBinary(w[1]):
		return t.binary(w[0], w[1], w[2])
	case len(w) == 4 && w[0] == "!":
		return !t.words(w[1:])
	case len(w) == 3 && w[0] == "!":
		return !t.words(w[1:])
	}
	t.args, t.at = w, 0
	ok := t.or()
	if t.err == "" && t.at < len(t.args) {
		switch t.err = t.args[t.at] + ": unexpected operator"; {
		case t.p.bash() && len(w) > 3:
			t.err = "too many arguments"
		case t.p.bash():
			t.err = t.args[t.at] + ": binary operator expected"
		}
	}
	return ok
}

func (t *testing) peek(n int) string {
	if t.at+n < len(t.args) {
		return t.args[t.at+n]
	}
	return ""
}

func (t *testing) or() bool {
	ok := t.and()
	for t.err == "" && t.at < len(t.args) && t.peek(0) == "-o" {
		t.at++
		right := t.and()
		ok = ok || right
	}
	return ok
}

func (t *testing) and() bool {
	ok := t.not()
	for t.err == "" && t.at < len(t.args) && t.peek(0) == "-a" {
		t.at++
		right := t.not()
		ok = ok && right
	}
	return ok
}

func (t *testing) not() bool {
	switch left := len(t.args) - t.at; {
	case left <= 0:
		t.err = "argument expected"
		return false
	case t.peek(0) == "!" && left > 1:
		t.at++
		return !t.not()
	case left >= 3 && t.isBinary(t.peek(1)):
		t.at += 3
		return t.binary(t.args[t.at-3], t.args[t.at-2], t.args[t.at-1])
	case t.peek(0) == "(" && left > 1:
		t.at++
		ok := t.or()
		if t.peek(0) != ")" {
			t.err = "closing paren expected"
		}
		t.at++
		return ok
	case left >= 2 && isUnary(t.peek(0), t.p.bash()):
		t.at += 2
		return t.unary(t.args[t.at-2], t.args[t.at-1])
	}
	t.at++
	return t.args[t.at-1] != ""
}

func isUnary(op string, bash bool) bool {
	return len(op) == 2 && op[0] == '-' && strings.IndexByte("bcdefghknprstuwxzGLOS", op[1]) >= 0 ||
		bash && (op == "-v" || op == "-N" || op == "-a" || op == "-o")
}

func (t *testing) isBinary(op string) bool {
	switch op {
	case "=", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef":
		return true
	case "==":
		return t.p.bash()
	case "-a", "-o":
		return len(t.args) == 3 // with three words, -a and -o join the outer two
	}
	return false
}

func (t *testing) unary(op, word string) bool {
	root, at := t.p.Guest.Root, t.p.Abs(word)
	stat := root.Stat
	switch op {
	case "-n":
		return word != ""
	case "-z":
		return word == ""
	case "-t":
		return false
	case "-v":
		return t.p.isSet != nil && t.p.isSet(word)
	case "-o":
		return t.p.isOn != nil && t.p.isOn(word)
	case "-R":
		return false
	case "-L", "-h":
		stat = root.Lstat
	}
	if word == "" {
		return false
	}
	if n, some := descriptorOf(at); at == "/dev/null" || some {
		return strings.Contains(map[bool]string{true: "-e -r -w -p", false: "-e -r -w -c"}[t.p.fds[n].piped() && some], op)
	}
	info, err := stat(at)
	if err != nil { // a program of the image may have no file
		return isBin(at) && t.p.shell.programPath(path.Base(at)) != "" && strings.Contains("-e -f -x -r -s", op)
	}
	mode := info.Mode()
	switch op {
	case "-e", "-a", "-r", "-w", "-O", "-G":
		return true
	case "-f":
		return mode.IsRegular()
	case "-d":
		return mode.IsDir()
	case "-s":
		return info.Size() > 0
	case "-x":
		return mode.IsDir() || mode&0o111 != 0
	case "-L", "-h":
		return mode&fs.ModeSymlink != 0
	case "-u", "-g", "-k":
		return mode&map[string]fs.FileMode{"-u": fs.ModeSetuid, "-g": fs.ModeSetgid, "-k": fs.ModeSticky}[op] != 0
	}
	return false // for -b -c -p -S: there are no such files
}

func (t *testing) binary(a, op, b string) bool {
	switch op {
	case "=", "==":
		return a == b
	case "!=":
		return a != b
	case "<":
		return a < b
	case ">":
		return a > b
	case "-a":
		return a != "" && b != ""
	case "-o":
		return a != "" || b != ""
	case "-nt", "-ot", "-ef":
		return t.files(a, op, b)
	}
	x, errX := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
	y, errY := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
	if errX != nil || errY != nil {
		bad := a
		if errX == nil {
			bad = b
		}
		t.err = "Illegal number: " + bad
		if t.p.bash() {
			t.err = bad + ": integer expression expected"
		}
		return false
	}
	return ordered(op, cmp.Compare(x, y))
}

// ordered reports whether an operator such as "<", "lt" or "lss" is true for two values with the comparison c (-1, 0
// or 1).
func ordered(op string, c int) bool {
	switch strings.TrimPrefix(op, "-") {
	case "=", "==", "eq", "equ":
		return c == 0
	case "!=", "ne", "neq":
		return c != 0
	case "<", "lt", "lss":
		return c < 0
	case "<=", "le", "leq":
		return c <= 0
	case ">", "gt", "gtr":
		return c > 0
	case ">=", "ge", "geq":
		return c >= 0
	}
	return false
}

// calculated returns the result of a binary operator; a comparison returns 1 if true and 0 if not. y must not be 0
// for a division.
func calculated(op string, x, y int64) int64 {
	holds := false
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		return x / y
	case "%":
		return x % y
	case "&":
		return x & y
	case "|":
		return x | y
	case "^":
		return x ^ y
	case "<<":
		return x << (uint64(y) & 63)
	case ">>":
		return x >> (uint64(y) & 63)
	case "||":
		holds = x != 0 || y != 0
	case "&&":
		holds = x != 0 && y != 0
	default:
		holds = ordered(op, cmp.Compare(x, y))
	}
	return map[bool]int64{true: 1}[holds]
}

func (t *testing) files(a, op, b string) bool {
	x, errX := t.p.Guest.Root.Stat(t.p.Abs(a))
	y, errY := t.p.Guest.Root.Stat(t.p.Abs(b))
	switch op {
	case "-nt":
		return errX == nil && (errY != nil && !t.p.posix || errY == nil && x.ModTime().After(y.ModTime()))
	case "-ot":
		return errY == nil && (errX != nil && !t.p.posix || errX == nil && x.ModTime().Before(y.ModTime()))
	}
	return errX == nil && errY == nil && os.SameFile(x, y)
}
