package shell

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"os"
	"strconv"
	"strings"
)

// exec runs a command and returns its code, which decides && and ||.
func (b *batch) exec(ctx context.Context, n cmdNode) int {
	if b.leaving() {
		return b.cmd.level
	}
	if ctx.Err() != nil || !b.step(ctx) {
		b.cmd.level, b.cmd.exited = 1, true
		return 1
	}
	switch n := n.(type) {
	case simpleCommand:
		return b.redirected(ctx, n.redirects, func() int { return b.simple(ctx, n.text) })
	case blockCommand:
		return b.redirected(ctx, n.redirects, func() int { return b.exec(ctx, n.body) })
	case joinedCommand:
		return b.joined(ctx, n)
	case ifCommand:
		return b.condition(ctx, n)
	case forCommand:
		if b.cmd.plain && n.mode != "" {
			return b.lacks("for /%s without command extensions", n.mode)
		}
		return b.loop(ctx, n)
	}
	return 0
}

func (b *batch) joined(ctx context.Context, n joinedCommand) int {
	if n.operator == "|" {
		return b.pipe(ctx, n)
	}
	code := b.exec(ctx, n.left)
	if n.operator == "||" && code != 0 && !b.leaving() {
		b.cmd.level = code // after || the errorlevel is set, even by commands that otherwise do not set it
	}
	if n.operator == "&" && b.cmd.missing && b.cmd.level == 1 {
		b.cmd.level, b.cmd.missing = 9009, false
	}
	if b.leaving() || n.operator == "&&" && code != 0 || n.operator == "||" && code == 0 {
		return code
	}
	return b.exec(ctx, n.right)
}

// pipe runs the left command to its end, and then the right command. Each is a separate process: variables that it
// sets are lost.
func (b *batch) pipe(ctx context.Context, n joinedCommand) int {
	var buf bytes.Buffer
	left, right := b.fork(), b.fork()
	left.cmd.level, right.cmd.level = 0, 0
	left.o.Stdout = b.shell.writer(ctx, &buf)
	left.exec(ctx, n.left)
	right.o.Stdin = &buf
	code := right.exec(ctx, n.right)
	b.cmd.steps = max(left.cmd.steps, right.cmd.steps)
	b.cmd.level = cmp.Or(code, right.cmd.level)
	return code
}

// fork returns a batch in another cmd.exe with a copy of the state.
func (b *batch) fork() *batch {
	c := *b
	process := *b.cmd
	process.env = maps.Clone(b.cmd.env)
	c.cmd, c.typed = &process, true
	return &c
}

// redirected runs f with redirected streams.
func (b *batch) redirected(ctx context.Context, rs []redirect, f func() int) int {
	if len(rs) == 0 {
		return f()
	}
	in, out, errOut := b.o.Stdin, b.o.Stdout, b.o.Stderr
	var files []io.Closer
	defer func() {
		for _, c := range files {
			c.Close()
		}
	}()
	for _, r := range rs {
		name, err := b.late(r.file)
		if err != nil {
			return b.lacks("%v", err)
		}
		switch {
		case name == "&1" && r.fd == '2':
			errOut = out
			continue
		case name == "&2" && r.fd == '1':
			out = errOut
			continue
		case strings.HasPrefix(name, "&"):
			if len(name) > 1 && name[1] == r.fd {
				continue
			}
			return b.lacks("the redirection %c>%s", r.fd, name)
		}
		w, rd, file, err := b.openFile(ctx, strings.ReplaceAll(name, `"`, ""), r.op)
		if err != nil {
			b.errorf("%s", windowsReason(err))
			return 1 // the errorlevel stays as it is
		}
		if file != nil {
			files = append(files, file)
		}
		switch r.fd {
		case '0':
			in = rd
		case '1':
			out = w
		case '2':
			errOut = w
		}
	}
	return b.with(in, out, errOut, f)
}

// openFile opens the target of a redirection: a file, nul or the console.
func (b *batch) openFile(ctx context.Context, name, op string) (io.Writer, io.Reader, io.Closer, error) {
	switch strings.ToLower(name) {
	case "nul", "nul:":
		return io.Discard, bytes.NewReader(nil), nil, nil
	case "con", "con:":
		return b.o.Stdout, b.o.Stdin, nil, nil
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	switch op {
	case ">>":
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	case "<":
		flag = os.O_RDONLY
	}
	f, err := b.shell.guest.Root.OpenFile(b.shell.guest.Root.Abs(b.cmd.dir, name), flag, 0o644)
	if err != nil {
		return nil, nil, nil, err
	}
	return b.shell.writer(ctx, f), f, f, nil
}

// condition runs an if command.
func (b *batch) condition(ctx context.Context, n ifCommand) int {
	left, err := b.late(n.left)
	if err != nil {
		return b.lacks("%v", err)
	}
	right, err := b.late(n.right)
	if err != nil {
		return b.lacks("%v", err)
	}
	var truth bool
	switch n.test {
	case "exist":
		truth = b.exists(strings.ReplaceAll(left, `"`, ""))
	case "errorlevel":
		level, err := strconv.Atoi(left)
		truth = err == nil && b.cmd.level >= level
	case "defined":
		_, truth = b.variable(strings.Trim(left, `"`))
	case "cmdextversion":
		version, err := strconv.Atoi(left)
		truth = err == nil && version <= cmdExtensions
	case "==":
		truth = left == right || n.fold && strings.EqualFold(left, right)
	default:
		truth = compareWords(n.test, left, right, n.fold)
	}
	if truth != n.not {
		return b.exec(ctx, n.then)
	}
	if n.otherwise == nil {
		return 0
	}
	return b.exec(ctx, n.otherwise)
}

// cmdExtensions is the version of cmd.exe's extensions since Windows 2000.
const cmdExtensions = 2

// exists implements "if exist": a name with a backslash at the end is a folder, each folder contains nul, and
// patterns are expanded.
func (b *batch) exists(name string) bool {
	root := b.shell.guest.Root
	at := root.Abs(b.cmd.dir, name)
	low := strings.ToLower(at)
	if strings.HasSuffix(low, `\nul`) {
		return root.IsDir(at[:len(at)-len(`\nul`)])
	}
	if strings.ContainsAny(name, "*?") {
		return len(globWindows(&Process{Guest: b.shell.guest, Dir: b.cmd.dir}, name)) > 0
	}
	if strings.HasSuffix(name, `\`) {
		return root.IsDir(at)
	}
	return root.Exists(at)
}

// compareWords implements EQU and the other comparisons: as numbers if both sides are numbers, else as text.
func compareWords(operator, left, right string, fold bool) bool {
	x, errX := strconv.ParseInt(left, 0, 64)
	y, errY := strconv.ParseInt(right, 0, 64)
	order := 0
	switch {
	case errX == nil && errY == nil:
		order = cmp.Compare(x, y)
	case fold:
		order = strings.Compare(strings.ToLower(left), strings.ToLower(right))
	default: // by the letters; lower case is less than upper case
		order = cmp.Or(strings.Compare(strings.ToLower(left), strings.ToLower(right)), -strings.Compare(left, right))
	}
	return ordered(operator, order)
}

// endlocal restores the state that setlocal saved.
func (b *batch) endlocal() {
	n := len(b.saved)
	if n == 0 {
		return
	}
	b.cmd.cmdState, b.saved = b.saved[n-1], b.saved[:n-1]
}

func (b *batch) setlocal(args string) int {
	if len(b.saved) >= 32 {
		return b.fails(1, "Maximum setlocal recursion level reached.")
	}
	b.saved = append(b.saved, b.cmd.cmdState)
	b.cmd.env = maps.Clone(b.cmd.env)
	for word := range strings.FieldsSeq(strings.ToLower(args)) {
		switch word {
		case "enabledelayedexpansion":
			b.cmd.delayed = true
		case "disabledelayedexpansion":
			b.cmd.delayed = false
		case "enableextensions":
			b.cmd.plain = false
		case "disableextensions":
			b.cmd.plain = true
		default:
			b.endlocal()
			return b.fails(1, "The parameter is incorrect.")
		}
	}
	return 0
}

// jump implements goto. A missing label ends the script.
func (b *batch) jump(label string) int {
	if label == "" {
		b.ended = true
		return b.fails(1, "No batch label specified to GOTO command.")
	}
	label = strings.ToLower(strings.TrimLeft(strings.TrimSpace(label), ":"))
	if i := strings.IndexAny(label, " \t,;=:+"); i >= 0 {
		label = label[:i]
	}
	if label == "eof" && !b.cmd.plain {
		b.ended = true
		return 0
	}
	at := b.label(label)
	if at < 0 {
		b.errorf("The system cannot find the batch label specified - %s", label)
		b.cmd.level, b.ended = 1, true
		return 1
	}
	b.at, b.jumped = at, true
	return 0
}

// label returns the index of the line after a label, or -1.
func (b *batch) label(label string) int {
	for i := range b.lines {
		line := b.lines[(b.at+i)%len(b.lines)] // the search begins at the current line and continues at the first
		name, ok := strings.CutPrefix(strings.TrimLeft(line, " \t,;=@"), ":")
		if !ok {
			continue
		}
		name = strings.TrimLeft(name, " \t")
		if j := strings.IndexAny(name, " \t,;=:+&|<>\r"); j >= 0 {
			name = name[:j]
		}
		if strings.EqualFold(name, label) && name != "" {
			return (b.at+i)%len(b.lines) + 1
		}
	}
	return -1
}
