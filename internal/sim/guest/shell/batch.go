package shell

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"strconv"
	"strings"
)

// maxSteps bounds a batch script, whose goto can loop for ever.
const maxSteps = 20000

// notRecognized is cmd.exe's errorlevel for an unknown command.
const notRecognized = 9009

// batch is one running script of cmd.exe. Its lines do not stop on errors; its
// result is the errorlevel at its end.
type batch struct {
	shell      *Shell
	o          Session
	dir        string
	env        map[string]string
	level      int
	echo       bool
	lines      []string
	at         int
	steps      int
	depth      int
	terminated bool
}

// Batch runs a script as cmd.exe /c FILE does, with echo on unless the session
// says otherwise, and returns the last errorlevel.
func (s *Shell) Batch(ctx context.Context, script string, o Session) int {
	o = s.complete(o)
	b := &batch{shell: s, o: o, dir: o.Dir, env: maps.Clone(o.Env), echo: !o.EchoOff}
	b.run(ctx, script)
	return b.level
}

// Cmd runs one line as cmd.exe /c LINE does: no echo, and % is not doubled.
func (s *Shell) Cmd(ctx context.Context, line string, o Session) int {
	o.EchoOff = true
	return s.Batch(ctx, line, o)
}

func (b *batch) run(ctx context.Context, script string) {
	b.lines = strings.Split(strings.ReplaceAll(script, "\r\n", "\n"), "\n")
	for b.at = 0; b.at < len(b.lines) && !b.terminated; {
		if ctx.Err() != nil {
			b.level = 1
			return
		}
		if b.steps++; b.steps > maxSteps {
			b.errorf("the script ran %d lines; a loop is cut off here (simulated)", maxSteps)
			b.level = 1
			return
		}
		line := b.logicalLine()
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, ":") {
			continue
		}
		quiet := strings.HasPrefix(trimmed, "@")
		line = b.expand(strings.TrimLeft(strings.TrimLeft(line, " \t"), "@"))
		if b.echo && !quiet {
			fmt.Fprintf(b.o.Stdout, "\r\n%s>%s \r\n", b.dir, strings.TrimRight(line, " \t"))
		}
		b.sequence(ctx, line)
	}
}

// logicalLine takes the next line together with those that a caret or an open
// parenthesis continues.
func (b *batch) logicalLine() string {
	line := b.lines[b.at]
	b.at++
	for b.at < len(b.lines) {
		switch {
		case strings.HasSuffix(line, "^") && !strings.HasSuffix(line, "^^"):
			line = strings.TrimSuffix(line, "^") + b.lines[b.at]
		case openParens(line) > 0 && takesBlock(line):
			sep := " & "
			if t := strings.TrimSpace(line); strings.HasSuffix(t, "(") || strings.HasPrefix(strings.TrimSpace(b.lines[b.at]), ")") {
				sep = " "
			}
			line += sep + strings.TrimSpace(b.lines[b.at])
		default:
			return line
		}
		b.at++
	}
	return line
}

func takesBlock(line string) bool {
	word := strings.ToLower(strings.TrimLeft(line, " \t@"))
	return strings.HasPrefix(word, "if ") || strings.HasPrefix(word, "(") || strings.HasPrefix(word, "for ")
}

func openParens(line string) int {
	n, quoted := 0, false
	for _, r := range line {
		switch {
		case r == '"':
			quoted = !quoted
		case r == '(' && !quoted:
			n++
		case r == ')' && !quoted:
			n--
		}
	}
	return n
}

// expand puts in %NAME%, %1 and %%. An unset variable becomes nothing, as in a
// script; a lone % disappears.
func (b *batch) expand(line string) string {
	var out strings.Builder
	for i := 0; i < len(line); i++ {
		if line[i] != '%' {
			out.WriteByte(line[i])
			continue
		}
		rest := line[i+1:]
		switch {
		case strings.HasPrefix(rest, "%"):
			out.WriteByte('%')
			i++
		case rest != "" && rest[0] >= '0' && rest[0] <= '9':
			n := int(rest[0] - '0')
			if n == 0 {
				out.WriteString(b.o.Name)
			} else if n <= len(b.o.Args) {
				out.WriteString(b.o.Args[n-1])
			}
			i++
		case strings.HasPrefix(rest, "*"):
			out.WriteString(strings.Join(b.o.Args, " "))
			i++
		default:
			end := strings.IndexByte(rest, '%')
			if end <= 0 {
				continue
			}
			out.WriteString(b.variable(rest[:end]))
			i += end + 1
		}
	}
	return out.String()
}

func (b *batch) variable(name string) string {
	name = strings.ToUpper(name)
	switch name {
	case "ERRORLEVEL":
		return strconv.Itoa(b.level)
	case "CD":
		return b.dir
	}
	for k, v := range b.env {
		if strings.ToUpper(k) == name {
			return v
		}
	}
	return ""
}

// sequence runs commands joined by &, && and ||.
func (b *batch) sequence(ctx context.Context, line string) int {
	result := 0
	op := "&"
	for {
		cmd, next, rest := cutOperator(line)
		if op == "&" || (op == "&&" && result == 0) || (op == "||" && result != 0) {
			result = b.pipeline(ctx, cmd)
		}
		if next == "" || b.terminated {
			return result
		}
		op, line = next, rest
	}
}

// cutOperator splits at the first &, && or || outside quotes and parentheses.
func cutOperator(line string) (cmd, op, rest string) {
	quoted, depth := false, 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '^' && !quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth > 0:
		case strings.HasPrefix(line[i:], "&&"), strings.HasPrefix(line[i:], "||"):
			return line[:i], line[i : i+2], line[i+2:]
		case c == '&' && (i == 0 || line[i-1] != '>'):
			return line[:i], "&", line[i+1:]
		}
	}
	return line, "", ""
}

// pipeline runs commands joined by |, each to its end before the next.
func (b *batch) pipeline(ctx context.Context, line string) int {
	parts := splitPipes(line)
	if len(parts) > 1 && strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "if ") {
		parts = []string{line}
	}
	in, code := b.o.Stdin, 0
	for i, part := range parts {
		out := b.o.Stdout
		var buf bytes.Buffer
		if i < len(parts)-1 {
			out = &buf
		}
		code = b.simple(ctx, part, in, out)
		in = &buf
	}
	return code
}

func splitPipes(line string) []string {
	var parts []string
	quoted, depth, from := false, 0, 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '^' && !quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth <= 0:
			parts = append(parts, line[from:i])
			from = i + 1
		}
	}
	return append(parts, line[from:])
}

// simple runs one command with its redirections.
func (b *batch) simple(ctx context.Context, line string, in io.Reader, out io.Writer) int {
	line = strings.TrimLeft(strings.TrimLeft(line, " \t"), "@")
	word := strings.ToLower(firstWord(line))
	switch {
	case strings.TrimSpace(line) == "":
		return 0
	case word == "rem" || strings.HasPrefix(word, "::"):
		return 0
	case word == "if":
		return b.ifCommand(ctx, line)
	case word == "for":
		b.errorf("for: simulated: not executed")
		return 0
	case strings.HasPrefix(line, "("):
		if end := strings.LastIndexByte(line, ')'); end > 0 && strings.TrimSpace(line[end+1:]) == "" {
			return b.sequence(ctx, line[1:end])
		}
	}
	if strings.ContainsAny(word[:1], "&|<>)") && word != ">" {
		b.errorf("%s was unexpected at this time.", word)
		b.level, b.terminated = 255, true
		return 255
	}
	cmd, redirects, err := cutRedirects(line)
	if err != nil {
		b.errorf("The syntax of the command is incorrect.")
		b.level = 255
		return 255
	}
	p, closers, err := b.open(redirects, in, out)
	defer func() {
		for _, c := range closers {
			c.Close()
		}
	}()
	if err != nil {
		b.errorf("%s", windowsReason(err))
		b.level = 1
		return 1
	}
	return b.command(ctx, cmd, p)
}

func firstWord(line string) string {
	line = strings.TrimLeft(line, " \t")
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		return line[:i]
	}
	if line == "" {
		return " "
	}
	return line
}

type redirect struct {
	fd   byte
	op   string
	file string
}

// cutRedirects takes redirections off a command line. What stands before the
// operator keeps its blanks: echo success > f writes "success ".
func cutRedirects(line string) (string, []redirect, error) {
	var out strings.Builder
	var rs []redirect
	quoted := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '^' && !quoted && i+1 < len(line):
			i++
			out.WriteByte(line[i])
			continue
		case c == '"':
			quoted = !quoted
		}
		if quoted || (c != '>' && c != '<') {
			out.WriteByte(c)
			continue
		}
		r := redirect{fd: '1', op: string(c)}
		if c == '<' {
			r.fd = '0'
		}
		if s := out.String(); i > 0 && (line[i-1] == '1' || line[i-1] == '2') && (i < 2 || line[i-2] == ' ' || line[i-2] == '\t') {
			r.fd = line[i-1]
			out.Reset()
			out.WriteString(s[:len(s)-1])
		}
		if i+1 < len(line) && line[i+1] == '>' && c == '>' {
			r.op = ">>"
			i++
		}
		rest := strings.TrimLeft(line[i+1:], " \t")
		skipped := len(line[i+1:]) - len(rest)
		words := splitArgs(rest)
		if len(words) == 0 {
			return "", nil, fmt.Errorf("no file behind %s", r.op)
		}
		n := rawLen(rest)
		r.file = words[0]
		if strings.HasPrefix(rest, "&") && len(rest) > 1 {
			r.file, n = rest[:2], 2
		}
		rs = append(rs, r)
		i += skipped + n
	}
	return out.String(), rs, nil
}

// rawLen is the length of the first word of s as written.
func rawLen(s string) int {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case !quoted && strings.IndexByte(" \t<>", s[i]) >= 0:
			return i
		}
	}
	return len(s)
}

func (b *batch) open(rs []redirect, in io.Reader, out io.Writer) (*Process, []io.Closer, error) {
	p := &Process{Stdin: in, Stdout: out, Stderr: b.o.Stderr, Env: b.env, Dir: b.dir, Guest: b.shell.guest, shell: b.shell}
	var closers []io.Closer
	for _, r := range rs {
		switch {
		case r.file == "&1":
			p.Stderr = p.Stdout
			continue
		case r.file == "&2":
			p.Stdout = p.Stderr
			continue
		}
		var w io.Writer = io.Discard
		if !strings.EqualFold(r.file, "nul") {
			flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
			if r.op == ">>" {
				flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
			} else if r.op == "<" {
				flag = os.O_RDONLY
			}
			f, err := p.Guest.Root.OpenFile(p.Abs(r.file), flag, 0o644)
			if err != nil {
				return p, closers, err
			}
			closers = append(closers, f)
			if r.op == "<" {
				p.Stdin = f
				continue
			}
			w = f
		}
		if r.fd == '2' {
			p.Stderr = w
		} else {
			p.Stdout = w
		}
	}
	return p, closers, nil
}

// splitArgs splits as the C runtime does, near enough: blanks outside quotes.
func splitArgs(line string) []string {
	var args []string
	var cur strings.Builder
	quoted, any := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] == '"':
			cur.WriteByte('"')
			any = true
			i++
		case c == '"':
			quoted, any = !quoted, true
		case (c == ' ' || c == '\t') && !quoted:
			if any || cur.Len() > 0 {
				args = append(args, cur.String())
			}
			cur.Reset()
			any = false
		default:
			cur.WriteByte(c)
		}
	}
	if any || cur.Len() > 0 {
		args = append(args, cur.String())
	}
	return args
}

func (b *batch) errorf(format string, a ...any) { fmt.Fprintf(b.o.Stderr, format+"\r\n", a...) }

// command runs one command without operators. Internal commands that succeed
// leave the errorlevel as it is, as in a .bat file.
func (b *batch) command(ctx context.Context, line string, p *Process) int {
	word := firstWord(line)
	name := strings.ToLower(word)
	rest := strings.TrimPrefix(strings.TrimLeft(line, " \t"), word)
	if strings.HasPrefix(name, "echo.") || strings.HasPrefix(name, "echo:") {
		name, rest = "echo", " "+word[5:]+rest
		if strings.TrimSpace(rest) == "" {
			p.Printf("\r\n")
			return 0
		}
	}
	p.Args = splitArgs(line)
	if len(p.Args) == 0 {
		return 0
	}
	switch name {
	case "echo":
		return b.echoCommand(p, strings.TrimPrefix(rest, " "))
	case "set":
		return b.set(p, strings.TrimSpace(rest))
	case "cd", "chdir":
		return b.chdir(p, rest)
	case "exit":
		return b.exit(p.Args[1:])
	case "goto":
		return b.jump(p.Arg(1))
	case "call":
		return b.call(ctx, strings.TrimSpace(rest), p)
	case "setlocal", "endlocal", "title", "color", "pause", "cls", "chcp", "prompt", "path", "pushd", "popd":
		return 0
	}
	if isBatchFile(name) {
		code := b.script(ctx, p)
		b.terminated = true // without call, control does not come back
		return code
	}
	c := b.shell.find(p.Args[0])
	if c == nil || isCmdlet(name) || !b.shell.reachable(p) {
		fmt.Fprintf(p.Stderr, "'%s' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n", p.Args[0])
		b.level = notRecognized
		return notRecognized
	}
	code := b.shell.start(ctx, c, p)
	if code != 0 || !isInternal(name) {
		b.level = code
	}
	return code
}

// reachable says whether a command that is named by a path is there.
func (s *Shell) reachable(p *Process) bool {
	name := p.Args[0]
	if !strings.ContainsAny(name, `\/`) {
		return true
	}
	file := p.Abs(name)
	lower := strings.ToLower(file)
	return strings.HasPrefix(lower, `c:\windows\`) || s.guest.Root.Exists(file) || s.guest.Root.Exists(file+".exe")
}

// isCmdlet tells what only PowerShell knows: Verb-Noun and its aliases.
func isCmdlet(name string) bool {
	switch name {
	case "cat", "ls", "gc", "gci", "cp", "rm", "ni", "iwr", "irm", "wget", "ipmo":
		return true
	}
	return strings.Contains(name, "-")
}

func isInternal(name string) bool {
	switch name {
	case "mkdir", "md", "copy", "del", "erase", "type", "move", "ren", "rename", "rmdir", "rd", "dir", "ver", "vol", "date", "time":
		return true
	}
	return false
}

func isBatchFile(name string) bool {
	return strings.HasSuffix(name, ".cmd") || strings.HasSuffix(name, ".bat")
}

func (b *batch) echoCommand(p *Process, text string) int {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "on":
		b.echo = true
	case "off":
		b.echo = false
	case "":
		p.Printf("ECHO is %s.\r\n", map[bool]string{true: "on", false: "off"}[b.echo])
	default:
		p.Printf("%s\r\n", text)
	}
	return 0
}

func (b *batch) set(p *Process, rest string) int {
	if rest == "" {
		for k, v := range b.env {
			p.Printf("%s=%s\r\n", k, v)
		}
		return 0
	}
	rest = strings.Trim(rest, `"`)
	k, v, ok := strings.Cut(rest, "=")
	if strings.HasPrefix(k, "/") {
		return p.Fail(0, "set %s: simulated: not executed", firstWord(k))
	}
	if !ok {
		if v := b.variable(k); v != "" {
			p.Printf("%s=%s\r\n", k, v)
			return 0
		}
		b.level = 1
		return p.Fail(1, "Environment variable %s not defined", k)
	}
	for old := range b.env {
		if strings.EqualFold(old, k) {
			delete(b.env, old)
		}
	}
	if v != "" {
		b.env[k] = v
	}
	return 0
}

func (b *batch) chdir(p *Process, rest string) int {
	to := strings.Trim(strings.TrimSpace(strings.Replace(strings.ToLower(rest), "/d ", "", 1)), `"`)
	if to == "" {
		p.Printf("%s\r\n", b.dir)
		return 0
	}
	dir := p.Abs(to)
	if !p.Guest.Root.IsDir(dir) {
		b.level = 1
		return p.Fail(1, "The system cannot find the path specified.")
	}
	b.dir = dir
	return 0
}

func (b *batch) exit(args []string) int {
	if len(args) > 0 && strings.EqualFold(args[0], "/b") {
		args = args[1:]
	}
	if len(args) > 0 {
		if n, err := strconv.ParseInt(args[0], 0, 64); err == nil {
			b.level = int(int32(n))
		}
	}
	b.terminated = true
	return b.level
}

func (b *batch) jump(label string) int {
	label = strings.ToLower(strings.TrimPrefix(label, ":"))
	if label == "eof" {
		b.terminated = true
		return 0
	}
	for i, l := range b.lines {
		if name, ok := strings.CutPrefix(strings.TrimSpace(l), ":"); ok && strings.ToLower(firstWord(name)) == label {
			b.at = i + 1
			return 0
		}
	}
	b.errorf("The system cannot find the batch label specified - %s", label)
	b.level, b.terminated = 1, true
	return 1
}

func (b *batch) call(ctx context.Context, rest string, p *Process) int {
	if strings.HasPrefix(rest, ":") {
		b.errorf("call %s: simulated: not executed", firstWord(rest))
		return 0
	}
	p.Args = splitArgs(rest)
	if len(p.Args) == 0 {
		return 0
	}
	if isBatchFile(strings.ToLower(p.Args[0])) {
		return b.script(ctx, p)
	}
	return b.command(ctx, rest, p)
}

// script runs a batch file, whose errorlevel becomes ours.
func (b *batch) script(ctx context.Context, p *Process) int {
	data, err := p.Guest.Root.ReadFile(p.Abs(p.Args[0]))
	if err != nil {
		fmt.Fprintf(p.Stderr, "'%s' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n", p.Args[0])
		b.level = notRecognized
		return b.level
	}
	if b.depth > 16 {
		b.errorf("scripts call each other too deep (simulated)")
		b.level = 1
		return 1
	}
	o := Session{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Name: p.Args[0], Args: p.Args[1:]}
	inner := &batch{shell: b.shell, o: o, dir: b.dir, env: b.env, level: b.level, echo: b.echo, depth: b.depth + 1}
	inner.run(ctx, string(data))
	b.level, b.dir = inner.level, inner.dir
	return b.level
}

// ifCommand runs if [not] (exist F | errorlevel N | A==B) COMMAND [else COMMAND].
func (b *batch) ifCommand(ctx context.Context, line string) int {
	rest := strings.TrimSpace(strings.TrimLeft(line, " \t")[2:])
	fold := false
	negate := false
	for {
		word := strings.ToLower(firstWord(rest))
		if word != "/i" && word != "not" {
			break
		}
		fold, negate = fold || word == "/i", negate != (word == "not")
		rest = strings.TrimSpace(rest[len(word):])
	}
	var truth bool
	switch strings.ToLower(firstWord(rest)) {
	case "exist":
		rest = strings.TrimSpace(rest[len("exist"):])
		n := rawLen(rest)
		truth = b.shell.guest.Root.Exists(b.shell.guest.Root.Abs(b.dir, strings.Trim(rest[:n], `"`)))
		rest = rest[n:]
	case "errorlevel":
		rest = strings.TrimSpace(rest[len("errorlevel"):])
		n, err := strconv.Atoi(firstWord(rest))
		truth = err == nil && b.level >= n
		rest = strings.TrimPrefix(rest, firstWord(rest))
	case "defined":
		rest = strings.TrimSpace(rest[len("defined"):])
		truth = b.variable(firstWord(rest)) != ""
		rest = strings.TrimPrefix(rest, firstWord(rest))
	default:
		left, right, after, ok := comparison(rest)
		if !ok {
			b.errorf("The syntax of the command is incorrect.")
			b.level, b.terminated = 255, true
			return 255
		}
		truth = left == right || (fold && strings.EqualFold(left, right))
		rest = after
	}
	then, otherwise := cutElse(strings.TrimSpace(rest))
	if truth != negate {
		return b.sequence(ctx, then)
	}
	return b.sequence(ctx, otherwise)
}

// comparison reads A==B, or A equ B and A neq B of numbers and words.
func comparison(s string) (left, right, rest string, ok bool) {
	n := rawLen(s)
	word := s[:n]
	if l, r, found := strings.Cut(word, "=="); found {
		if r != "" {
			return l, r, s[n:], true
		}
		after := strings.TrimLeft(s[n:], " \t")
		m := rawLen(after)
		return l, after[:m], after[m:], m > 0
	}
	after := strings.TrimLeft(s[n:], " \t")
	op := rawLen(after)
	last := strings.TrimLeft(after[op:], " \t")
	m := rawLen(last)
	switch strings.ToLower(after[:op]) {
	case "==", "equ":
		return word, last[:m], last[m:], m > 0
	case "neq":
		if word == last[:m] {
			return word, "!" + word, last[m:], m > 0
		}
		return "", "", last[m:], m > 0
	}
	return "", "", "", false
}

// cutElse splits "(A) else (B)".
func cutElse(s string) (then, otherwise string) {
	if !strings.HasPrefix(s, "(") {
		return s, ""
	}
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				rest := strings.TrimSpace(s[i+1:])
				if strings.HasPrefix(strings.ToLower(rest), "else") {
					otherwise = strings.TrimSpace(rest[4:])
					if strings.HasPrefix(otherwise, "(") && strings.HasSuffix(otherwise, ")") {
						otherwise = otherwise[1 : len(otherwise)-1]
					}
				}
				return s[1:i], otherwise
			}
		}
	}
	return s, ""
}
