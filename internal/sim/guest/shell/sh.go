package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/syntax"
)

// Sh runs a script as Ubuntu's /bin/sh (dash), which supports only POSIX, without -e.
func (s *Shell) Sh(ctx context.Context, script string, o Session) int {
	o.Name = cmp.Or(o.Name, "sh")
	return s.sh(ctx, syntax.LangPOSIX, script, o)
}

// Bash runs a script as bash.
func (s *Shell) Bash(ctx context.Context, script string, o Session) int {
	o.Name = cmp.Or(o.Name, "bash")
	return s.sh(ctx, syntax.LangBash, script, o)
}

func (s *Shell) sh(ctx context.Context, lang syntax.LangVariant, script string, o Session) int {
	o = s.complete(o)
	return s.contained(o.Name, o.Stderr, func() int { return s.shScript(ctx, lang, script, o) })
}

func (s *Shell) shScript(ctx context.Context, lang syntax.LangVariant, script string, o Session) int {
	ctx, leave, err := s.enter(ctx, script, o.Stderr)
	defer leave()
	if err == nil {
		err = s.checkSize(ctx, o)
	}
	if err != nil {
		fmt.Fprintf(o.Stderr, "%s: %v\n", o.Name, err)
		return 126
	}
	watch := newWatch(&o, script)
	r := s.runner(ctx, o, lang == syntax.LangPOSIX)
	r.run.watch = watch
	if one, some := ctx.Value(jobKey{}).(*job); some {
		one.script.CompareAndSwap(nil, r)
	}
	r.ctx, r.end = context.WithCancelCause(ctx)
	defer r.finish()
	code := r.whole(func() {
		for name, text := range o.Env {
			name, is := strings.CutPrefix(name, "BASH_FUNC_")
			if name = strings.TrimSuffix(name, "%%"); is && !r.posix {
				if r.evalText(name+text, 1); r.funcs[name] != nil {
					r.funcs[name].exported = true
				}
			}
		}
		if r.status = 0; o.Options != "" {
			r.evalText(o.Options, 1)
		}
		r.script(script)
	})
	watch.end(code)
	return code
}

// script runs a text as the whole script.
func (r *runner) script(text string) {
	stmts, source, complaint, _ := r.parse(text)
	if !r.posix && expansionError(complaint) {
		r.complain(complaint)
	}
	r.source = source
	if !r.options["noexec"] {
		r.tree(stmts)
	}
	if complaint != "" && r.jump == noJump {
		r.complain(complaint)
	}
}

// finish waits for the programs of >( ).
func (r *runner) finish() {
	r.run.mu.Lock()
	ends := r.run.ends
	r.run.ends = nil
	r.run.mu.Unlock()
	for _, end := range ends {
		end()
	}
}

// checkSize ends a script whose environment and arguments are too large.
func (s *Shell) checkSize(ctx context.Context, o Session) error {
	l, some := ctx.Value(limitsKey{}).(limits)
	size := 0
	for name, value := range o.Env {
		size += len(name) + len(value)
	}
	for _, a := range o.Args {
		size += len(a)
	}
	if some && size > maxVariables {
		return s.exceed(l.used, fmt.Sprintf("is given more than %d KiB", maxVariables>>10))
	}
	return nil
}

func syntaxError(err error) string {
	if pe, ok := errors.AsType[syntax.ParseError](err); ok {
		return fmt.Sprintf("%d: Syntax error: %s", pe.Pos.Line(), pe.Text)
	}
	return "Syntax error"
}

// expansionError reports whether the parser's complaint is about an expansion, which bash parses only when it runs
// the command. The parser finds the error before any command has run.
func expansionError(complaint string) bool {
	return strings.HasSuffix(complaint, "Syntax error") || strings.Contains(complaint, "parameter expansion") ||
		strings.Contains(complaint, "must be followed by an expression") || strings.Contains(complaint, "arithm") ||
		strings.Contains(complaint, "${") || strings.Contains(complaint, "not a valid")
}

// shellVariables returns the variables that a shell sets when it starts.
func (s *Shell) shellVariables(o Session, posix bool) []string {
	uid := "0"
	if account, ok := s.guest.Account(o.Env["USER"]); ok {
		uid = strconv.Itoa(account.UID)
	}
	vars := []string{"PS4=+ ", "OPTIND=1", "IFS= \t\n", "PWD=" + o.Dir}
	if posix {
		return vars
	}
	vars = append(vars, "UID="+uid, "EUID="+uid)
	return append(vars, "BASH=/bin/bash", "BASH_VERSION=5.2.21(1)-release", "OSTYPE=linux-gnu", "HOSTTYPE=x86_64",
		"MACHTYPE=x86_64-pc-linux-gnu")
}

// launch runs the program of p on Linux, as execvp would, and returns the exit code. where is the caller's name in
// errors.
func (s *Shell) launch(ctx context.Context, p *Process, where string) int {
	p.shell, p.Guest = s, s.guest
	if ctx.Err() != nil {
		return killedCode
	}
	name := p.Args[0]
	if strings.Contains(name, "/") {
		file := s.guest.Root.Abs(p.Dir, name)
		data, err := s.guest.Root.ReadAtMost(file, maxScript)
		if s.guest.Root.IsDir(file) {
			return p.Fail(126, "%s: %s: %s", where, name, map[bool]string{true: "Permission denied", false: "Is a directory"}[p.posix])
		}
		if errors.Is(err, syscall.EFBIG) {
			return p.Fail(126, "%s: %s: %s", where, name, reason(err))
		}
		if err == nil && !isProgram(data) {
			return s.launchFile(ctx, p, file, data, where)
		}
		if err != nil && !isBin(file) {
			return p.notFound(where, name)
		}
	}
	if file, data := s.installed(p, name); file != "" {
		return s.script(ctx, p, file, p.Args[1:], data, where)
	}
	c := s.find(name)
	if c == nil {
		if at := s.inPath(p.Dir, p.Env["PATH"], name, isFile); at != "" {
			return p.Fail(126, "%s: %s: Permission denied", where, at)
		}
		return p.notFound(where, name)
	}
	return s.start(ctx, c, p)
}

// notFound fails with the message of the calling shell for a missing program.
func (p *Process) notFound(where, name string) int {
	p.lost = true
	if strings.ContainsAny(name, "\n\t\r") && !p.posix {
		name = quoteBash(name)
	}
	switch {
	case p.posix:
		return p.Fail(127, "%s: %s: not found", where, name)
	case strings.Contains(name, "/"):
		return p.Fail(127, "%s: %s: No such file or directory", where, name)
	}
	return p.Fail(127, "%s: %s: command not found", where, name)
}

// installed returns the script file of a name, if the folders of PATH have one before the program of the image.
func (s *Shell) installed(p *Process, name string) (file string, data []byte) {
	if name == "" {
		return "", nil
	}
	for _, dir := range strings.Split(p.Env["PATH"], ":") {
		file := path.Join(s.guest.Root.Abs(p.Dir, cmp.Or(dir, ".")), name)
		info, err := s.guest.Root.Stat(file)
		if err != nil || !isExecutable(info) {
			if isBin(file) && dir != "/usr/local/bin" && dir != "/usr/local/sbin" && s.commands[name] != nil {
				return "", nil
			}
			continue
		}
		data, err := s.guest.Root.ReadAtMost(file, maxScript)
		if err != nil || isProgram(data) {
			return "", nil
		}
		return file, data
	}
	return "", nil
}

// isProgram reports whether a file is the image's stub for a program, and not a script.
func isProgram(data []byte) bool { return strings.HasPrefix(string(data), "simulated by casement") }

func isBin(file string) bool { return slices.Contains(linuxFolders, path.Dir(file)) }

// inPath returns the first file with a name in the folders of a search path for which is returns true, or "".
func (s *Shell) inPath(dir, folders, name string, is func(fs.FileInfo) bool) string {
	for folder := range strings.SplitSeq(folders, ":") {
		at := path.Join(s.guest.Root.Abs(dir, cmp.Or(folder, ".")), name)
		if info, err := s.guest.Root.Stat(at); err == nil && is(info) {
			return at
		}
	}
	return ""
}

func isFile(info fs.FileInfo) bool { return !info.IsDir() }

func isExecutable(info fs.FileInfo) bool { return info.Mode().IsRegular() && info.Mode()&0o111 != 0 }

// launchFile runs a script file by its first line.
func (s *Shell) launchFile(ctx context.Context, p *Process, file string, data []byte, where string) int {
	if info, err := s.guest.Root.Stat(file); err == nil && info.Mode()&0o111 == 0 {
		return p.Fail(126, "%s: %s: Permission denied", where, p.Args[0])
	}
	return s.script(ctx, p, p.Args[0], p.Args[1:], data, where)
}

// script runs the content of a file with the interpreter in its first line.
func (s *Shell) script(ctx context.Context, p *Process, name string, args []string, data []byte, where string) int {
	o := Session{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Env: p.Env, Dir: p.Dir, Name: name, Args: args, Inherits: true}
	first, _, _ := strings.Cut(string(data), "\n")
	line, ok := strings.CutPrefix(first, "#!")
	fields := strings.Fields(line)
	if ok && strings.HasSuffix(first, "\r") {
		return p.notFound(where, name) // the kernel looks for "sh\r"
	}
	switch {
	case ok && len(fields) > 0:
	case p.posix:
		return s.Sh(ctx, string(data), o)
	default: // bash runs a file that the kernel refuses
		return s.Bash(ctx, string(data), o)
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
