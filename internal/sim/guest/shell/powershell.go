package shell

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

// PowerShell runs what it recognises of a script: statements that are one command
// of the table, if (Test-Path F) {} else {}, exit, and loops that wait for a file.
// Every other statement is named as not executed and counts as success. The
// result is the code of exit, or 1 when the last native command failed, or 0.
func (s *Shell) PowerShell(ctx context.Context, script string, o Session) int {
	ps := &powershell{shell: s, o: s.complete(o)}
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
	case strings.HasPrefix(word, "$") || strings.HasPrefix(word, "[") || strings.HasPrefix(word, "function") || strings.ContainsAny(firstWord(st), "{}="):
		ps.skipped(st)
	default:
		ps.command(ctx, st)
	}
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

// closing finds the brace that closes the one at open.
func closing(s string, open int) int {
	depth, quote := 0, byte(0)
	for i := open; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// stripComments takes <# #> and # to the end of the line out.
func stripComments(script string) string {
	script = comment.ReplaceAllString(script, "")
	var out strings.Builder
	quote := byte(0)
	for i := 0; i < len(script); i++ {
		switch c := script[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '#' && (i == 0 || strings.IndexByte(" \t\r\n;({", script[i-1]) >= 0):
			for i < len(script) && script[i] != '\n' {
				i++
			}
			if i == len(script) {
				return out.String()
			}
		}
		out.WriteByte(script[i])
	}
	return out.String()
}

// statements splits at newlines and semicolons outside quotes and brackets, and
// keeps an else with its if.
func statements(script string) []string {
	var out []string
	depth, quote, from := 0, byte(0), 0
	add := func(end int) {
		st := strings.TrimSpace(script[from:end])
		switch {
		case st == "":
		case len(out) > 0 && strings.HasPrefix(strings.ToLower(st), "else"):
			out[len(out)-1] += " " + st
		default:
			out = append(out, st)
		}
		from = end
	}
	for i := 0; i < len(script); i++ {
		switch c := script[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '`':
			i++
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '(':
			depth++
		case c == '}' || c == ')':
			depth--
			if c == '}' && depth == 0 {
				add(i + 1)
			}
		case (c == '\n' || c == ';') && depth <= 0:
			add(i)
			from = i + 1
		}
	}
	add(len(script))
	return out
}

// command runs the first command of a pipeline that is in the table.
func (ps *powershell) command(ctx context.Context, st string) {
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
	p, closers, err := b.open(redirects, ps.o.Stdin, ps.o.Stdout)
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

// looksNative tells the name of a program from that of a cmdlet or an expression.
func looksNative(name string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9_.:\\/]+$`).MatchString(name)
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
	inner.block(ctx, string(data), 1)
	ps.code = inner.code
}

// splitPowerShell splits at blanks outside of both kinds of quotes and commas'
// lists stay together.
func splitPowerShell(line string) []string {
	var args []string
	var cur strings.Builder
	quote, any := byte(0), false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			cur.WriteByte(c)
		case c == '"' || c == '\'':
			quote, any = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
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

// runPowerShell is powershell.exe: FILE, -File FILE, -Command TEXT or
// -EncodedCommand BASE64 (UTF-16).
func runPowerShell(ctx context.Context, p *Process) int {
	o := Session{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Env: p.Env, Dir: p.Dir}
	args := p.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag := strings.ToLower(args[0][1:])
		args = args[1:]
		switch {
		case flag == "" || flag == "noprofile" || flag == "nop" || flag == "noninteractive" || flag == "nologo" || flag == "mta" || flag == "sta":
		case flag == "version" || flag == "v":
			p.Printf("5.1 (simulated by casement)\r\n")
			return 0
		case strings.HasPrefix("encodedcommand", flag) && flag != "e" || flag == "ec" || flag == "e" || flag == "enc":
			script, err := decodeCommand(strings.Join(args, ""))
			if err != nil {
				return p.Fail(1, "Cannot process the command because the value specified with -EncodedCommand is not properly encoded.")
			}
			return p.shell.PowerShell(ctx, script, o)
		case strings.HasPrefix("command", flag):
			return p.shell.PowerShell(ctx, strings.Join(args, " "), o)
		case strings.HasPrefix("file", flag):
			return runFile(ctx, p, args, o)
		default: // -ExecutionPolicy and its like take a value
			if len(args) > 0 {
				args = args[1:]
			}
		}
	}
	if len(args) == 0 {
		script, err := p.read("-")
		if err != nil {
			return 1
		}
		o.Stdin = nil
		return p.shell.PowerShell(ctx, string(script), o)
	}
	return p.shell.PowerShell(ctx, strings.Join(args, " "), o)
}

func runFile(ctx context.Context, p *Process, args []string, o Session) int {
	if len(args) == 0 || !p.Guest.Root.Exists(p.Abs(args[0])) {
		return p.Fail(-196608, "The argument '%s' to the -File parameter does not exist.", strings.Join(args, " "))
	}
	ps := &powershell{shell: p.shell, o: p.shell.complete(o)}
	ps.file(ctx, args)
	return ps.code
}

func decodeCommand(text string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw)%2 != 0 {
		return "", fmt.Errorf("not base64 of UTF-16")
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units)), nil
}
