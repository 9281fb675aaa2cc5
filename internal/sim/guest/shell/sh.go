package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// Sh runs a script as Ubuntu's /bin/sh, which knows POSIX only, without -e.
func (s *Shell) Sh(ctx context.Context, script string, o Session) int {
	if o.Name == "" {
		o.Name = "sh"
	}
	return s.sh(ctx, syntax.LangPOSIX, script, o)
}

// Bash runs a script as bash.
func (s *Shell) Bash(ctx context.Context, script string, o Session) int {
	if o.Name == "" {
		o.Name = "bash"
	}
	return s.sh(ctx, syntax.LangBash, script, o)
}

func (s *Shell) sh(ctx context.Context, lang syntax.LangVariant, script string, o Session) int {
	o = s.complete(o)
	return s.contained(o.Name, o.Stderr, func() int { return s.shScript(ctx, lang, script, o) })
}

func (s *Shell) shScript(ctx context.Context, lang syntax.LangVariant, script string, o Session) int {
	ctx, leave, err := s.enter(ctx, script, o.Stderr)
	defer leave()
	if err != nil {
		fmt.Fprintf(o.Stderr, "%s: %v\n", o.Name, err)
		return 126
	}
	watch := newWatch(&o, script)
	o.Stdout, o.Stderr = s.writer(ctx, o.Stdout), s.writer(ctx, o.Stderr)
	run := &scriptRun{posix: lang == syntax.LangPOSIX, watch: watch}
	defer run.end(s)
	runner, err := s.runner(o, run)
	if err == nil && watch != nil {
		err = execute(ctx, runner, own+"trap '"+own+"failed $?' ERR")
	}
	if err == nil && o.Options != "" {
		err = execute(ctx, runner, o.Options)
	}
	if status, ok := interp.IsExitStatus(err); ok {
		return int(status)
	}
	if err != nil {
		fmt.Fprintf(o.Stderr, "%s: %v\n", o.Name, err)
		return 2
	}
	// A shell reads as it goes: what precedes a syntax error has run when it
	// finds the error.
	file := &syntax.File{Name: o.Name}
	complaint := ""
	run.errexit = o.Options != ""
	for stmt, err := range syntax.NewParser(syntax.Variant(lang)).StmtsSeq(strings.NewReader(script)) {
		if complaint != "" {
			continue // the parser may go on once after an error, and must be let to
		}
		if err != nil {
			complaint = syntaxError(err)
			continue
		}
		file.Stmts = append(file.Stmts, stmt)
	}
	if complaint != "" && lang == syntax.LangBash && expansionError(complaint) {
		s.guest.Refused(complaint)
		fmt.Fprintf(o.Stderr, "%s: casement does not simulate an expansion of the script: %s\n", o.Name, complaint)
		return refusedCode
	}
	if err = s.shallow(ctx, file); err == nil {
		run.main = true
		s.adapt(file, script, "", run)
		run.main = false
		err = s.guard(ctx, file)
	}
	if err == nil {
		err = s.begins(ctx, o)
	}
	if err != nil {
		fmt.Fprintf(o.Stderr, "%s: %v\n", o.Name, err)
		return 137
	}
	failure := runner.Run(ctx, file)
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(o.Stderr, "%s: %v\n", o.Name, err)
		return 137
	}
	if complaint != "" && !runner.Exited() {
		fmt.Fprintf(o.Stderr, "%s: %s\n", o.Name, complaint)
		return 2
	}
	if status, ok := interp.IsExitStatus(failure); ok {
		watch.end(int(status))
		return int(status)
	}
	if failure != nil {
		fmt.Fprintf(o.Stderr, "%s: %v\n", o.Name, failure)
		return 1
	}
	return 0
}

func syntaxError(err error) string {
	if pe, ok := errors.AsType[syntax.ParseError](err); ok {
		return fmt.Sprintf("%d: Syntax error: %s", pe.Pos.Line(), pe.Text)
	}
	return "Syntax error"
}

// expansionError reports whether the parser complains of an expansion, which bash reads when it
// gets there: nothing of such a script has run when it is refused.
func expansionError(complaint string) bool {
	return strings.HasSuffix(complaint, "Syntax error") || strings.Contains(complaint, "parameter expansion") ||
		strings.Contains(complaint, "must be followed by an expression") || strings.Contains(complaint, "arithm") ||
		strings.Contains(complaint, "${") || strings.Contains(complaint, "not a valid")
}

// execute runs a line of the simulator's own.
func execute(ctx context.Context, r *interp.Runner, text string) error {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return err
	}
	return r.Run(ctx, file)
}

func (s *Shell) runner(o Session, run *scriptRun) (*interp.Runner, error) {
	env := append(s.shellVariables(o, run.posix), "TMPDIR="+noTemp)
	for k, v := range o.Env {
		if k != "TMPDIR" {
			env = append(env, k+"="+v)
		}
	}
	var r *interp.Runner
	r, err := interp.New(
		interp.Env(expand.ListEnviron(env...)),
		interp.StdIO(o.Stdin, o.Stdout, o.Stderr),
		interp.Params(append([]string{"--"}, o.Args...)...),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc {
			return func(ctx context.Context, args []string) error { return s.execute(ctx, o.Name, run.posix, args) }
		}),
		interp.CallHandler(func(ctx context.Context, args []string) ([]string, error) {
			if err := s.counted(ctx); err != nil {
				return nil, err
			}
			if err := s.measure(ctx, args); err != nil {
				return nil, err
			}
			if run.watch != nil && run.watch.call(args, int(interp.HandlerCtx(ctx).Pos.Line())) {
				return []string{"true"}, nil
			}
			return s.nested(ctx, run, s.call(ctx, r, run.posix, args))
		}),
		interp.OpenHandler(func(ctx context.Context, p string, flag int, perm os.FileMode) (io.ReadWriteCloser, error) {
			if strings.HasPrefix(p, outPath) {
				return s.openSink(ctx, run, p)
			}
			if text, ok := run.sourced.take(p); ok {
				return script{strings.NewReader(text)}, nil
			}
			return s.open(ctx, p, flag, perm)
		}),
		interp.ReadDirHandler2(func(ctx context.Context, p string) ([]fs.DirEntry, error) {
			entries, err := s.guest.Root.ReadDir(p)
			if !run.dots {
				entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
			}
			return entries, cmp.Or(err, s.matched(ctx, p, entries))
		}),
		interp.StatHandler(func(ctx context.Context, p string, follow bool) (fs.FileInfo, error) {
			if p == checkpoint {
				return nil, s.measure(ctx, nil)
			}
			if follow {
				return s.guest.Root.Stat(p)
			}
			return s.guest.Root.Lstat(p)
		}),
		interp.AccessHandler(func(ctx context.Context, p string, mode interp.AccessMode) error {
			_, err := s.guest.Root.Stat(p)
			return err
		}),
	)
	if err != nil {
		return nil, err
	}
	r.Dir = o.Dir
	if _, given := o.Env["HOME"]; !given { // else the interpreter takes that of its own process
		if err := execute(context.Background(), r, "HOME=; unset HOME"); err != nil {
			return nil, err
		}
	}
	// The interpreter creates its own files in TMPDIR, without our handlers. This path is a
	// file, so it can create none below it.
	return r, forget(r)
}

// noTemp is a directory that cannot exist.
const noTemp = "/dev/null/none"

// forget hides noTemp from scripts.
func forget(r *interp.Runner) error { return execute(context.Background(), r, "unset TMPDIR") }

// shellVariables returns the variables that a shell sets when it starts.
func (s *Shell) shellVariables(o Session, posix bool) []string {
	uid := "0"
	if account, ok := s.guest.Account(o.Env["USER"]); ok {
		uid = strconv.Itoa(account.UID)
	}
	vars := []string{"UID=" + uid, "EUID=" + uid, "GID=" + uid}
	if posix {
		return vars
	}
	return append(vars, "BASH=/bin/bash", "BASH_VERSION=5.2.21(1)-release", "OSTYPE=linux-gnu", "HOSTTYPE=x86_64",
		"MACHTYPE=x86_64-pc-linux-gnu", "BASH_SOURCE="+o.Name)
}

// ownVariables are no part of the environment of programs.
var ownVariables = strings.Fields("UID EUID GID BASH BASH_VERSION OSTYPE HOSTTYPE MACHTYPE BASH_SOURCE")

func (s *Shell) open(ctx context.Context, p string, flag int, perm os.FileMode) (io.ReadWriteCloser, error) {
	h := interp.HandlerCtx(ctx)
	switch p = s.guest.Root.Abs(h.Dir, p); p {
	case "/dev/null":
		return device{}, nil
	case "/dev/stdin":
		return input{h.Stdin}, nil
	case "/dev/stdout", "/dev/console", "/dev/tty", "/dev/kmsg":
		return device{h.Stdout}, nil
	case "/dev/stderr":
		return device{h.Stderr}, nil
	}
	if flag&os.O_CREATE != 0 {
		perm = 0o666 &^ umaskOf(h.Env.Get(umaskName).String())
	}
	f, err := s.guest.Root.OpenFile(p, flag, perm)
	if err != nil {
		op := "cannot open"
		if flag&os.O_CREATE != 0 {
			op = "cannot create"
		}
		return nil, &os.PathError{Op: op, Path: p, Err: errors.New(reason(err))}
	}
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		return countedFile{f, s.writer(ctx, f)}, nil
	}
	return f, nil
}

// device is a file that is a stream.
type device struct{ w io.Writer }

func (d device) Read([]byte) (int, error) { return 0, io.EOF }
func (d device) Close() error             { return nil }
func (d device) Write(b []byte) (int, error) {
	if d.w == nil {
		return len(b), nil
	}
	return d.w.Write(b)
}

// input is standard input as a file.
type input struct{ io.Reader }

func (input) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (input) Close() error              { return nil }

// execute runs what is not a builtin: a command of the table or a script file.
func (s *Shell) execute(ctx context.Context, shell string, posix bool, args []string) error {
	h := interp.HandlerCtx(ctx)
	if args[0] == own+"apart" {
		return s.apart(ctx)
	}
	p := &Process{Args: args, Stdin: h.Stdin, Stdout: s.writer(ctx, h.Stdout), Stderr: h.Stderr, Dir: h.Dir,
		Env: exported(h.Env), posix: posix}
	p.isSet = func(name string) bool { return h.Env.Get(name).IsSet() }
	return status(s.launch(ctx, p, fmt.Sprintf("%s: %d", shell, h.Pos.Line())))
}

func status(code int) error {
	if code == 0 {
		return nil
	}
	return interp.NewExitStatus(uint8(code)) // a shell keeps the low byte
}

func exported(env expand.Environ) map[string]string {
	out := map[string]string{}
	for name, v := range env.Each {
		if v.Exported && v.Kind == expand.String && v.IsSet() && env.Get(name).IsSet() && v.Str != noTemp &&
			!slices.Contains(ownVariables, name) {
			out[name] = v.Str
		}
	}
	return out
}

// launch starts p on Linux as execvp would; where names the caller in errors.
func (s *Shell) launch(ctx context.Context, p *Process, where string) int {
	p.shell, p.Guest = s, s.guest
	name := p.Args[0]
	if strings.Contains(name, "/") {
		file := s.guest.Root.Abs(p.Dir, name)
		data, err := s.guest.Root.ReadFile(file)
		if err == nil && !isProgram(data) {
			return s.launchFile(ctx, p, file, data, where)
		}
		if err != nil && !isBin(file) {
			return p.Fail(127, "%s: %s: not found", where, name)
		}
	}
	if file, data := s.installed(p, name); file != "" {
		return s.script(ctx, p, file, p.Args[1:], data, where)
	}
	c := s.find(name)
	if c == nil {
		return p.Fail(127, "%s: %s: not found", where, name)
	}
	return s.start(ctx, c, p)
}

// installed returns the script that a name means, if the folders of PATH have one before a
// program of the image.
func (s *Shell) installed(p *Process, name string) (file string, data []byte) {
	if strings.HasPrefix(name, own) || name == "" {
		return "", nil
	}
	for _, dir := range strings.Split(p.Env["PATH"], ":") {
		file := path.Join(s.guest.Root.Abs(p.Dir, orDot(dir)), name)
		info, err := s.guest.Root.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			if isBin(file) && dir != "/usr/local/bin" && dir != "/usr/local/sbin" && s.commands[name] != nil {
				return "", nil
			}
			continue
		}
		data, err := s.guest.Root.ReadFile(file)
		if err != nil || isProgram(data) {
			return "", nil
		}
		return file, data
	}
	return "", nil
}

// isProgram distinguishes the image's stub for a program from a script.
func isProgram(data []byte) bool { return strings.HasPrefix(string(data), "simulated by casement") }

func isBin(file string) bool {
	switch path.Dir(file) {
	case "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin":
		return true
	}
	return false
}

// launchFile runs a script file by its first line.
func (s *Shell) launchFile(ctx context.Context, p *Process, file string, data []byte, where string) int {
	if info, err := s.guest.Root.Stat(file); err == nil && info.Mode()&0o111 == 0 {
		return p.Fail(126, "%s: %s: Permission denied", where, p.Args[0])
	}
	return s.script(ctx, p, p.Args[0], p.Args[1:], data, where)
}

// script runs the content of a file as its #! says.
func (s *Shell) script(ctx context.Context, p *Process, name string, args []string, data []byte, where string) int {
	o := Session{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Env: p.Env, Dir: p.Dir, Name: name, Args: args, Inherits: true}
	first, _, _ := strings.Cut(string(data), "\n")
	line, ok := strings.CutPrefix(first, "#!")
	fields := strings.Fields(line)
	if ok && strings.HasSuffix(first, "\r") {
		return p.Fail(127, "%s: %s: not found", where, name) // the kernel looks for "sh\r"
	}
	if !ok || len(fields) == 0 {
		return s.Sh(ctx, string(data), o)
	}
	interpreter := path.Base(fields[0])
	if interpreter == "env" && len(fields) > 1 {
		interpreter = fields[1]
	}
	switch interpreter {
	case "sh", "dash":
		return s.Sh(ctx, string(data), o)
	case "bash":
		return s.Bash(ctx, string(data), o)
	}
	return p.Refuse("a script for %s", interpreter)
}
