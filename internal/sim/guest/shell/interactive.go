package shell

import (
	"context"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"casement.dev/casement/internal/sim/guest/powershell"
)

// Interactive is a shell that takes lines and keeps its directory and variables
// between them: bash on Linux, PowerShell on Windows. One goroutine uses it.
type Interactive struct {
	shell   *Shell
	o       Session
	pending string

	sh     *interp.Runner
	parser *syntax.Parser
	ps     *powershell.Shell
	run    *scriptRun
}

// Interactive starts a shell.
func (s *Shell) Interactive(o Session) (*Interactive, error) {
	o = s.complete(o)
	i := &Interactive{shell: s, o: o}
	if s.guest.IsWindows() {
		i.ps = s.powershell(context.Background(), o)
		return i, nil
	}
	i.o.Name = "-bash"
	i.run = &scriptRun{}
	runner, err := s.runner(i.o, i.run)
	if err != nil {
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	i.sh, i.parser = runner, syntax.NewParser(syntax.Variant(syntax.LangBash))
	return i, nil
}

// Close ends the shell.
func (i *Interactive) Close() {
	if i.ps != nil {
		i.ps.Close()
	}
}

// Prompt returns the prompt of the shell.
func (i *Interactive) Prompt() string {
	switch {
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
	dir := i.sh.Dir
	if home := i.o.Env["HOME"]; dir == home || strings.HasPrefix(dir, home+"/") {
		dir = "~" + strings.TrimPrefix(dir, home)
	}
	return fmt.Sprintf("%s@%s:%s%s ", i.o.Env["USER"], i.shell.guest.Hostname(), dir, sign)
}

// Line runs a line. It returns the exit code so far and whether the shell has
// ended.
func (i *Interactive) Line(ctx context.Context, line string) (code int, done bool) {
	code = i.shell.contained("shell", i.o.Stderr, func() (code int) {
		if i.ps != nil {
			code, done = i.psLine(ctx, line)
		} else {
			code, done = i.shLine(ctx, line)
		}
		return code
	})
	return code, done
}

// shLine runs a line of bash, together with those before it that it ends.
func (i *Interactive) shLine(ctx context.Context, line string) (code int, done bool) {
	i.pending += line + "\n"
	source := i.pending
	file, err := i.parser.Parse(strings.NewReader(i.pending), "")
	if err != nil && syntax.IsIncomplete(err) {
		return 0, false
	}
	i.pending = ""
	if err != nil {
		fmt.Fprintf(i.o.Stderr, "-bash: %s\n", syntaxError(err))
		return 2, false
	}
	i.shell.adapt(file, source, "", i.run)
	defer i.run.end(i.shell)
	ctx, leave, err := i.shell.enter(ctx, line, i.o.Stderr)
	defer leave()
	if err == nil {
		err = i.shell.guard(ctx, file)
	}
	if err != nil {
		fmt.Fprintf(i.o.Stderr, "-bash: %v\n", err)
		return 137, false
	}
	for _, stmt := range file.Stmts {
		err := i.sh.Run(ctx, stmt)
		status, _ := interp.IsExitStatus(err)
		code = int(status)
		if i.sh.Exited() {
			return code, true
		}
	}
	return code, false
}

// psLine runs a line of PowerShell, together with those before it that it ends.
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
	if incomplete && strings.TrimSpace(line) == "" { // an empty line ends what is typed, as in a console
		code, incomplete = i.ps.Command(ctx, i.pending), false
	}
	if !incomplete {
		i.pending = ""
	}
	return code, done
}
