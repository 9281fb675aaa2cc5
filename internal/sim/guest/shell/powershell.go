package shell

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// PowerShell runs what it recognises of a script: statements that are one command
// of the table, if (Test-Path F) {} else {}, exit, and loops that wait for a file.
// Every other statement is named as not executed and counts as success. The
// result is the code of exit, or 1 when the last native command failed, or 0.
//
// A script that assigns variables and consists of nothing but what package posh
// knows is a program, and all of it is run.
func (s *Shell) PowerShell(ctx context.Context, script string, o Session) int {
	ps := &powershell{shell: s, o: s.complete(o)}
	ctx, leave, err := s.enter(ctx, script)
	defer leave()
	if err != nil {
		fmt.Fprintf(ps.o.Stderr, "%v\r\n", err)
		return 1
	}
	ps.o.Stdout, ps.o.Stderr = s.writer(ctx, ps.o.Stdout), s.writer(ctx, ps.o.Stderr)
	if code, ok := ps.program(ctx, script); ok {
		return code
	}
	ps.block(ctx, script, 0)
	return ps.code
}

type powershell struct {
	shell *Shell
	o     Session
	code  int
	done  bool
}

var (
	waitLoop  = regexp.MustCompile(`(?is)^\s*(?:for|while|do|until)\b.*?Test-Path\s+(?:-(?:Literal)?Path\s+)?["']?([^"'\s)}]+)["']?`)
	lastExit  = regexp.MustCompile(`(?i)\bexit\s+(-?\d+)`)
	testPath  = regexp.MustCompile(`(?is)^if\s*\(\s*(-not\s*\(?\s*|!\s*\(?\s*)?\(?\s*Test-Path\s+(?:-(?:Literal)?Path\s+)?["']?([^"')]+?)["']?\s*\)+\s*$`)
	comment   = regexp.MustCompile(`(?s)<#.*?#>`)
	value     = regexp.MustCompile(`(?is)^(?:\$PSVersionTable|\$env:\w+|"(?:[^"$]|\$env:\w)*"|'[^']*')$`)
	envInText = regexp.MustCompile(`(?i)\$\{?env:([A-Za-z_][A-Za-z0-9_]*)\}?`)
)

func (ps *powershell) block(ctx context.Context, script string, depth int) {
	if depth > 32 {
		return
	}
	script = stripComments(script)
	// A loop that waits for a file, and what exits behind it, are answered by
	// whether the file is there: nothing arrives while a guest looks.
	if m := waitLoop.FindStringSubmatch(script); m != nil {
		ps.answer(script, m[1])
		return
	}
	for _, st := range statements(script) {
		if ps.done || ctx.Err() != nil {
			return
		}
		ps.statement(ctx, st, depth)
	}
}

func (ps *powershell) answer(script, file string) {
	ps.done = true
	if ps.shell.guest.Root.Exists(ps.path(file)) {
		ps.code = 0
		return
	}
	ps.code = 1
	for _, m := range lastExit.FindAllStringSubmatch(script, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil && n != 0 {
			ps.code = n
		}
	}
}

func (ps *powershell) path(name string) string {
	return ps.shell.guest.Root.Abs(ps.o.Dir, ps.expand(name))
}

// expand puts in the environment.
func (ps *powershell) expand(s string) string {
	return envInText.ReplaceAllStringFunc(s, func(v string) string {
		name := envInText.FindStringSubmatch(v)[1]
		for k, val := range ps.o.Env {
			if strings.EqualFold(k, name) {
				return val
			}
		}
		return ""
	})
}

func (ps *powershell) statement(ctx context.Context, st string, depth int) {
	word := strings.ToLower(firstWord(st))
	switch {
	case word == "exit":
		ps.done = true
		if n, err := strconv.Atoi(strings.TrimSpace(st[4:])); err == nil {
			ps.code = n
		}
	case word == "return":
		ps.done = true
	case word == "if" || strings.HasPrefix(word, "if("):
		ps.condition(ctx, st, depth)
	case value.MatchString(st):
		ps.put(ctx, render(ps.source(ctx, st)), nil)
	case strings.HasPrefix(word, "$") || strings.HasPrefix(word, "[") || strings.HasPrefix(word, "function") || strings.ContainsAny(firstWord(st), "{}="):
		ps.skipped(st)
	default:
		ps.command(ctx, st)
	}
}

// command runs a pipeline of what is simulated, or the first command of another.
func (ps *powershell) command(ctx context.Context, st string) {
	segments := splitPipeline(st)
	if (len(segments) > 1 || alone(strings.ToLower(firstWord(st))) || strings.HasPrefix(st, "(")) && ps.pipeline(ctx, segments) {
		return
	}
	ps.native(ctx, st)
}

// skipped names a statement by its first word only: the rest may hold secrets.
func (ps *powershell) skipped(st string) {
	word := strings.TrimRight(firstWord(st), "({")
	if i := strings.IndexAny(word, `='"`); i > 0 {
		word = word[:i]
	}
	fmt.Fprintf(ps.o.Stdout, "simulated: not executed: %s ...\r\n", word)
}

func (ps *powershell) condition(ctx context.Context, st string, depth int) {
	open := strings.IndexByte(st, '{')
	if open < 0 {
		ps.skipped(st)
		return
	}
	m := testPath.FindStringSubmatch(strings.TrimSpace(st[:open]))
	end := closing(st, open)
	if m == nil || end < 0 {
		ps.skipped(st)
		return
	}
	truth := ps.shell.guest.Root.Exists(ps.path(m[2])) != (m[1] != "")
	if truth {
		ps.block(ctx, st[open+1:end], depth+1)
		return
	}
	rest := strings.TrimSpace(st[end+1:])
	if !strings.HasPrefix(strings.ToLower(rest), "else") {
		return
	}
	rest = strings.TrimSpace(rest[4:])
	if strings.HasPrefix(strings.ToLower(rest), "if") {
		ps.statement(ctx, rest, depth+1)
	} else if e := closing(rest, 0); e > 0 && rest[0] == '{' {
		ps.block(ctx, rest[1:e], depth+1)
	}
}

// native runs the first command of a pipeline that is in the table.
func (ps *powershell) native(ctx context.Context, st string) {
	first := strings.TrimSpace(splitPipes(st)[0])
	first = strings.TrimSpace(strings.TrimPrefix(first, "&"))
	line, redirects, err := cutRedirects(ps.expand(first))
	if err != nil {
		ps.skipped(st)
		return
	}
	args := splitPowerShell(line)
	if len(args) == 0 {
		return
	}
	name := strings.ToLower(args[0])
	c := ps.shell.find(args[0])
	if name == "sc" { // the alias of Set-Content hides sc.exe
		c = setContent
	}
	switch {
	case strings.HasSuffix(name, ".ps1"):
		ps.file(ctx, args)
		return
	case name == "cd" || name == "set-location" || name == "sl" || name == "chdir":
		ps.chdir(args)
		return
	case name == "pwd" || name == "get-location" || name == "gl":
		fmt.Fprintf(ps.o.Stdout, "%s\r\n", ps.o.Dir)
		return
	}
	if c == nil || strings.ContainsAny(line, "@$") && strings.HasPrefix(name, "new-hns") {
		if c == nil && looksNative(args[0]) {
			fmt.Fprintf(ps.o.Stderr, "%s : The term '%s' is not recognized as the name of a cmdlet, function, script file, or operable program.\r\n", args[0], args[0])
			ps.code = 1
			return
		}
		if c == nil {
			ps.skipped(st)
			return
		}
	}
	b := &batch{shell: ps.shell, o: ps.o, dir: ps.o.Dir, env: ps.o.Env}
	p, closers, err := b.open(ctx, redirects, ps.o.Stdin, ps.o.Stdout)
	defer func() {
		for _, cl := range closers {
			cl.Close()
		}
	}()
	if err != nil {
		fmt.Fprintf(ps.o.Stderr, "%s\r\n", windowsReason(err))
		ps.code = 1
		return
	}
	p.Args = args
	ps.code = min(max(ps.shell.start(ctx, c, p), 0), 1)
}

func (ps *powershell) chdir(args []string) {
	to := operand(args[1:])
	if len(to) == 0 {
		return
	}
	if dir := ps.path(to[0]); ps.shell.guest.Root.IsDir(dir) {
		ps.o.Dir = dir
		return
	}
	fmt.Fprintf(ps.o.Stderr, "Set-Location : Cannot find path '%s' because it does not exist.\r\n", to[0])
	ps.code = 1
}

func (ps *powershell) file(ctx context.Context, args []string) {
	file := ps.path(args[0])
	if strings.EqualFold(file, `C:\k\RestartKubelet.ps1`) && ps.shell.guest.Root.Exists(file) {
		if err := ps.shell.guest.Services.Restart("kubelet"); err != nil {
			fmt.Fprintf(ps.o.Stderr, "%v\r\n", err)
			ps.code = 1
		}
		return
	}
	data, err := ps.shell.guest.Root.ReadFile(file)
	if err != nil {
		fmt.Fprintf(ps.o.Stderr, "%s : The term '%s' is not recognized as the name of a cmdlet, function, script file, or operable program.\r\n", args[0], args[0])
		ps.code = 1
		return
	}
	inner := &powershell{shell: ps.shell, o: ps.o}
	ctx, leave, err := ps.shell.enter(ctx, string(data))
	defer leave()
	if err != nil {
		fmt.Fprintf(ps.o.Stderr, "%v\r\n", err)
		ps.code = 1
		return
	}
	inner.block(ctx, string(data), 1)
	ps.code = inner.code
}
