package shell

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

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
