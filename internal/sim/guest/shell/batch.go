package shell

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
)

// maxSteps bounds a batch script, whose goto can loop for ever.
const maxSteps = 20000

// maxLine is the longest command line of cmd.exe, in characters, with the variables
// put in.
const maxLine = 8191

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
	ctx, leave, err := s.enter(ctx, script)
	defer leave()
	if err != nil {
		fmt.Fprintf(o.Stderr, "%v\r\n", err)
		return 1
	}
	o.Stdout, o.Stderr = s.writer(ctx, o.Stdout), s.writer(ctx, o.Stderr)
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
			bound := fmt.Sprintf("runs more than %d lines", maxSteps)
			if l, some := ctx.Value(limitsKey{}).(limits); some {
				b.errorf("%v", b.shell.exceed(l.used, bound))
			}
			b.level, b.terminated = 1, true
			return
		}
		line := b.logicalLine()
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, ":") {
			continue
		}
		quiet := strings.HasPrefix(trimmed, "@")
		line = b.expand(strings.TrimLeft(strings.TrimLeft(line, " \t"), "@"))
		if len(line) > maxLine {
			b.errorf("The input line is too long.")
			b.level = 1
			continue
		}
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
	p, closers, err := b.open(ctx, redirects, in, out)
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

func (b *batch) open(ctx context.Context, rs []redirect, in io.Reader, out io.Writer) (*Process, []io.Closer, error) {
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
			w = b.shell.writer(ctx, f)
		}
		if r.fd == '2' {
			p.Stderr = w
		} else {
			p.Stdout = w
		}
	}
	return p, closers, nil
}

func (b *batch) errorf(format string, a ...any) { fmt.Fprintf(b.o.Stderr, format+"\r\n", a...) }
