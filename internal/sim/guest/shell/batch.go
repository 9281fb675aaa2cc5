package shell

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
)

// maxSteps bounds the commands of a batch script, whose goto can loop without end.
const maxSteps = 20000

// maxLine is the longest command line of cmd.exe, in characters and with expanded variables.
const maxLine = 8191

// notRecognized is cmd.exe's errorlevel for an unknown command.
const notRecognized = 9009

// batch is a running script of cmd.exe, or a running subroutine of a script. An error does not stop it; its result is
// the last errorlevel.
type batch struct {
	shell *Shell
	o     Session
	// cmd is the state that all batch files of one cmd.exe share.
	cmd   *cmdProcess
	lines []string
	at    int
	// loops are the variables of the running for commands, by letter.
	loops map[byte]string
	// saved are the states that setlocal saved.
	saved []cmdState
	depth int
	// tail is the text of the arguments, the value of %*.
	tail string
	// called is the name by which the batch file or label was called, the value of %0.
	called string
	// typed is set for lines of a command line (cmd /c), which are parsed differently from the lines of a file.
	typed bool
	// watch reports the lines that fail; it may be nil.
	watch *watch
	// jumped is set after a goto, and ended at the end of the script; both end the running command.
	jumped, ended bool
}

type cmdProcess struct {
	cmdState
	level  int
	echo   bool
	steps  int
	exited bool
	// left is set if the command exit has ended cmd.exe itself.
	left bool
	// missing is set if a program was not found: its errorlevel is 1 on the same line, and 9009 from the next line
	// on.
	missing bool
	stack   []string
}

// cmdState is the state that setlocal saves and endlocal restores.
type cmdState struct {
	dir     string
	env     map[string]string
	delayed bool
	// plain is set while command extensions are disabled.
	plain bool
}

// Batch runs a script as cmd.exe /c FILE does, with echo on unless the session sets EchoOff, and returns the last
// errorlevel.
func (s *Shell) Batch(ctx context.Context, script string, o Session) int {
	return s.batch(ctx, script, o, false, false)
}

// Cmd runs one line as cmd.exe /c LINE does: without echo, and with a single % for variables of for.
func (s *Shell) Cmd(ctx context.Context, line string, o Session) int {
	return s.cmd(ctx, line, o, false)
}

func (s *Shell) cmd(ctx context.Context, line string, o Session, delayed bool) int {
	if inner, ok := unquoted(line); ok {
		line = inner
	}
	return s.batch(ctx, line, o, true, delayed)
}

// unquoted removes the outer quotes of cmd /c "...", as cmd.exe does. The second result is false if it removed none.
func unquoted(line string) (string, bool) {
	t := strings.TrimSpace(line)
	if len(t) < 2 || t[0] != '"' {
		return line, false
	}
	if strings.Count(t, `"`) == 2 && t[len(t)-1] == '"' && !strings.ContainsAny(t, "&<>()@^|") && !strings.Contains(t, " ") {
		return line, false // the path of one program, in quotes
	}
	last := strings.LastIndexByte(t, '"')
	if last == 0 {
		return t[1:], true
	}
	return t[1:last] + t[last+1:], true
}

func (s *Shell) batch(ctx context.Context, script string, o Session, typed, delayed bool) int {
	o = s.complete(o)
	return s.contained("cmd.exe", o.Stderr, func() int { return s.batchScript(ctx, script, o, typed, delayed) })
}

func (s *Shell) batchScript(ctx context.Context, script string, o Session, typed, delayed bool) int {
	ctx, leave, err := s.enter(ctx, script, o.Stderr)
	defer leave()
	if err != nil {
		fmt.Fprintf(o.Stderr, "%v\r\n", err)
		return 1
	}
	watch := newWatch(&o, script)
	o.Stdout, o.Stderr = s.writer(ctx, o.Stdout), s.writer(ctx, o.Stderr)
	b := &batch{shell: s, o: o, typed: typed, watch: watch,
		cmd: &cmdProcess{cmdState: cmdState{dir: o.Dir, env: maps.Clone(o.Env), delayed: delayed}, echo: !o.EchoOff}}
	b.run(ctx, script)
	return b.cmd.level
}

func (b *batch) run(ctx context.Context, script string) {
	b.lines = strings.Split(strings.ReplaceAll(strings.TrimPrefix(script, "\ufeff"), "\r\n", "\n"), "\n")
	b.at = 0
	b.runLines(ctx)
}

// runLines runs the lines from the current one to the end.
func (b *batch) runLines(ctx context.Context) {
	depth := len(b.saved)
	for b.at < len(b.lines) && !b.ended && !b.cmd.exited {
		if ctx.Err() != nil {
			b.cmd.level, b.cmd.exited = 1, true
			break
		}
		if !b.step(ctx) {
			break
		}
		b.jumped = false
		first := b.at + 1
		text, node, err := b.logicalLine()
		switch {
		case err != nil:
			b.errorf("%v", err)
			b.cmd.level, b.cmd.exited = 255, true
		case len(text) > maxLine && !strings.Contains(text, "\n"):
			b.errorf("The input line is too long.")
			b.cmd.level = 1
		case node != nil:
			if b.cmd.echo && !b.typed && !quietLine(text) {
				fmt.Fprintf(b.o.Stdout, "\r\n%s>%s \r\n", b.cmd.dir, strings.TrimSpace(text))
			}
			b.watch.begin(first, text)
			b.watch.end(b.exec(ctx, node))
			if b.cmd.missing && b.cmd.level == 1 {
				b.cmd.level = notRecognized
			}
			b.cmd.missing = false
		}
	}
	for len(b.saved) > depth {
		b.endlocal()
	}
}

func quietLine(text string) bool { return strings.HasPrefix(strings.TrimLeft(text, " \t"), "@") }

// step counts one command; it ends the script and returns false if there are too many.
func (b *batch) step(ctx context.Context) bool {
	if b.cmd.steps++; b.cmd.steps <= maxSteps {
		return true
	}
	if l, some := ctx.Value(limitsKey{}).(limits); some {
		b.errorf("%v", b.shell.exceed(l.used, fmt.Sprintf("runs more than %d lines", maxSteps)))
	}
	b.cmd.level, b.cmd.exited = 1, true
	return false
}

// logicalLine reads the next line with its continuation lines after a caret or in an open parenthesis, and returns
// its text and its command. The command is nil for a label or an empty line.
func (b *batch) logicalLine() (string, cmdNode, error) {
	line := b.lines[b.at]
	b.at++
	if t := strings.TrimLeft(line, " \t,;=@"); strings.TrimLeft(line, " \t,;=") == "" || strings.HasPrefix(t, ":") {
		return "", nil, nil
	}
	text, err := b.percent(line)
	if err != nil {
		return "", nil, err
	}
	for {
		p := &cmdParser{text: text}
		node, err := p.line()
		if err == nil || !p.open {
			return text, node, err
		}
		if b.at >= len(b.lines) {
			if p.caret {
				p = &cmdParser{text: text, final: true}
				node, err = p.line()
			}
			return text, node, err
		}
		more, err := b.percent(b.lines[b.at])
		if err != nil {
			return "", nil, err
		}
		b.at++
		if p.caret {
			text = strings.TrimSuffix(strings.TrimRight(text, " \t"), "^") + more
		} else {
			text += "\n" + more
		}
		if len(text) > maxScript/8 {
			return "", nil, fmt.Errorf("a block is longer than %d bytes (a bound of the simulation)", maxScript/8)
		}
	}
}

func (b *batch) errorf(format string, a ...any) { fmt.Fprintf(b.o.Stderr, format+"\r\n", a...) }

// lacks ends a script with a message about a feature of cmd.exe that is not simulated.
func (b *batch) lacks(format string, a ...any) int {
	b.shell.guest.Refused(fmt.Sprintf(format, a...))
	b.errorf("casement does not simulate "+format+"; the script ends here", a...)
	b.cmd.level, b.cmd.exited = 255, true
	return 255
}

// leaving reports whether a goto, an exit or a bound ends the running command.
func (b *batch) leaving() bool { return b.jumped || b.ended || b.cmd.exited }

// with runs f with the given streams as those of the script.
func (b *batch) with(in io.Reader, out, errOut io.Writer, f func() int) int {
	outer := b.o
	b.o.Stdin, b.o.Stdout, b.o.Stderr = in, out, errOut
	defer func() { b.o.Stdin, b.o.Stdout, b.o.Stderr = outer.Stdin, outer.Stdout, outer.Stderr }()
	return f()
}
