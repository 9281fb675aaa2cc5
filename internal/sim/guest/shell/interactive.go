package shell

import (
	"context"
	"fmt"
	"maps"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"casement.dev/casement/internal/sim/guest/powershell"
)

// Interactive is a shell that reads lines; its directory and variables stay from one line to the next: bash on Linux,
// PowerShell or cmd.exe on Windows. One goroutine uses it.
type Interactive struct {
	shell   *Shell
	o       Session
	pending string

	sh  *runner
	ps  *powershell.Shell
	cmd *cmdProcess
}

// lineFlags are the flags with which a shell still reads lines, each with the number of its values.
var lineFlags = map[string]map[string]int{
	"bash":       {"-l": 0, "-i": 0, "--login": 0, "--norc": 0, "--noprofile": 0},
	"sh":         {"-l": 0, "-i": 0},
	"ash":        {"-l": 0, "-i": 0},
	"cmd":        {"/q": 0, "/d": 0},
	"powershell": {"-nologo": 0, "-noprofile": 0, "-noexit": 0, "-executionpolicy": 1, "-ep": 1},
	"pwsh":       {"-nologo": 0, "-noprofile": 0, "-noexit": 0, "-executionpolicy": 1, "-ep": 1},
}

// TakesLines returns the name of the shell that a command starts to read lines from its terminal. ok is false for any
// other command, and for a program that the guest does not have.
func (s *Shell) TakesLines(argv []string) (program string, ok bool) {
	if len(argv) == 0 || s.find(argv[0]) == nil {
		return "", false
	}
	program = strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(argv[0], `\`, "/"))), ".exe")
	flags := lineFlags[program]
	if flags == nil {
		return "", false
	}
	for rest := argv[1:]; len(rest) > 0; {
		words, known := flags[strings.ToLower(rest[0])]
		if !known || len(rest) <= words {
			return "", false
		}
		rest = rest[1+words:]
	}
	return program, true
}

// Interactive starts a shell: the named program, as TakesLines returns it; the default shell of the system if the
// name is empty.
func (s *Shell) Interactive(program string, o Session) (*Interactive, error) {
	o = s.complete(o)
	i := &Interactive{shell: s, o: o}
	switch {
	case s.guest.IsWindows() && program == "cmd":
		i.cmd = &cmdProcess{cmdState: cmdState{dir: o.Dir, env: maps.Clone(o.Env)}}
		return i, nil
	case s.guest.IsWindows():
		i.ps = s.powershell(context.Background(), o)
		return i, nil
	}
	i.o.Name = "-bash"
	i.sh = s.runner(context.Background(), i.o, false)
	i.sh.typed = true
	return i, nil
}

// Close ends the shell.
func (i *Interactive) Close() {
	if i.ps != nil {
		i.ps.Close()
	}
}

// Within returns the shell that a line starts, if the line does nothing else. That shell reads the following lines,
// and starts with the directory and variables of this one.
func (i *Interactive) Within(line string) (*Interactive, bool) {
	if i.pending != "" {
		return nil, false
	}
	program, ok := i.shell.TakesLines(strings.Fields(line))
	if !ok {
		return nil, false
	}
	o := i.o
	switch {
	case i.ps != nil:
		o.Dir = i.ps.Dir()
	case i.cmd != nil:
		o.Dir, o.Env, o.Inherits = i.cmd.dir, maps.Clone(i.cmd.env), true
	default:
		o.Dir = i.sh.dir
	}
	within, err := i.shell.Interactive(program, o)
	if err != nil {
		return nil, false // running the line reports the error
	}
	return within, true
}

// Prompt returns the prompt of the shell.
func (i *Interactive) Prompt() string {
	switch {
	case i.cmd != nil && i.pending != "":
		return "More? "
	case i.cmd != nil:
		return i.cmd.dir + ">"
	case i.ps != nil:
		if i.pending != "" {
			return ">> "
		}
		return "PS " + i.ps.Dir() + "> "
	case i.pending != "":
		return "> "
	}
	sign := "$"
	if i.o.Env["USER"] == "root" {
		sign = "#"
	}
	dir := i.sh.dir
	if home := i.o.Env["HOME"]; dir == home || strings.HasPrefix(dir, home+"/") {
		dir = "~" + strings.TrimPrefix(dir, home)
	}
	return fmt.Sprintf("%s@%s:%s%s ", i.o.Env["USER"], i.shell.guest.Hostname(), dir, sign)
}

// Line runs a line. It returns the last exit code and whether the shell has ended.
func (i *Interactive) Line(ctx context.Context, line string) (code int, done bool) {
	code = i.shell.contained("shell", i.o.Stderr, func() (code int) {
		switch {
		case i.ps != nil:
			code, done = i.psLine(ctx, line)
		case i.cmd != nil:
			code, done = i.cmdLine(ctx, line)
		default:
			code, done = i.shLine(ctx, line)
		}
		return code
	})
	return code, done
}

// shLine runs a line of bash, together with the unfinished lines before it.
func (i *Interactive) shLine(ctx context.Context, line string) (code int, done bool) {
	i.pending += line + "\n"
	source := i.pending
	i.pending = ""
	ctx, leave, err := i.shell.enter(ctx, source, i.o.Stderr)
	defer leave()
	if err != nil {
		fmt.Fprintf(i.o.Stderr, "-bash: %v\n", err)
		return killedCode, false
	}
	r := i.sh
	defer r.finish()
	r.ctx, r.end = context.WithCancelCause(ctx)
	r.meter = i.shell.guest.Usage.Meter(ctx)
	defer r.meter.Close()
	r.source, r.grown, r.paid = source, 0, 0
	code = r.caught(func() {
		in := &scriptReader{ctx: ctx, meter: r.meter, text: source}
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(in, "")
		r.readable(in)
		switch {
		case err != nil && syntax.IsIncomplete(err):
			i.pending = source
		case err != nil:
			r.status = 2
			fmt.Fprintf(i.o.Stderr, "-bash: %s\n", syntaxError(err))
		default:
			r.guarded(func() { r.tree(file.Stmts) })
		}
	})
	if i.pending != "" {
		return 0, false
	}
	return code, r.jump == exits
}

// psLine runs a line of PowerShell, together with the unfinished lines before it.
func (i *Interactive) psLine(ctx context.Context, line string) (code int, done bool) {
	i.pending += line + "\n"
	ctx, leave, err := i.shell.enter(ctx, i.pending, i.o.Stderr)
	defer leave()
	if err != nil {
		i.pending = ""
		fmt.Fprintf(i.o.Stderr, "%v\r\n", err)
		return 1, false
	}
	code, done, incomplete := i.ps.Line(ctx, i.pending)
	if incomplete && strings.TrimSpace(line) == "" { // an empty line completes the input, as in a console
		code, incomplete = i.ps.Command(ctx, i.pending), false
	}
	if !incomplete {
		i.pending = ""
	}
	return code, done
}

// cmdLine runs a line of cmd.exe, together with the unfinished lines before it.
func (i *Interactive) cmdLine(ctx context.Context, line string) (code int, done bool) {
	ctx, leave, err := i.shell.enter(ctx, i.pending+line, i.o.Stderr)
	defer leave()
	if err != nil {
		i.pending = ""
		fmt.Fprintf(i.o.Stderr, "%v\r\n", err)
		return 1, false
	}
	i.pending += line
	p := &cmdParser{text: i.pending}
	if _, err := p.line(); err != nil && p.open && line != "" { // an empty line discards the unfinished input
		i.pending += "\n"
		return i.cmd.level, false
	}
	o := i.o
	o.Stdout, o.Stderr = i.shell.writer(ctx, o.Stdout), i.shell.writer(ctx, o.Stderr)
	b := &batch{shell: i.shell, o: o, typed: true, cmd: i.cmd}
	i.cmd.steps, i.cmd.exited = 0, false
	b.run(ctx, i.pending)
	i.pending = ""
	return i.cmd.level, i.cmd.left
}
