package shell

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// bashOnly are builtins of bash that dash has not.
var bashOnly = strings.Fields("source declare typeset let shopt pushd popd mapfile readarray dirs builtin " +
	"enable caller complete compgen compopt help disown suspend bind history logout")

// call replaces a builtin by an implementation that behaves as the real shell's: a command of this
// package, or other text for the interpreter.
func (s *Shell) call(ctx context.Context, r *interp.Runner, posix bool, args []string) []string {
	name := args[0]
	switch name {
	case own + "trap":
		return append([]string{"trap"}, args[1:]...)
	case own + "tolerate":
		return []string{"set", "+e"}
	case own + "shift":
		return append([]string{"builtin", "shift"}, args[1:]...) // a function may have the name
	case own + "assign":
		if interp.HandlerCtx(ctx).Env.Get(args[1]).ReadOnly {
			return fatal(map[bool]int{true: 2, false: 1}[posix], args[1]+": is read only")
		}
		return []string{"true"}
	}
	if r.Funcs[name] != nil || !interp.IsBuiltin(name) {
		return args
	}
	return s.builtinCall(ctx, r, posix, args)
}

// builtinCall is call for a builtin, whatever functions there are.
func (s *Shell) builtinCall(ctx context.Context, r *interp.Runner, posix bool, args []string) []string {
	name := args[0]
	if posix && slices.Contains(bashOnly, name) {
		return failing(127, name+": not found")
	}
	switch name {
	case "builtin":
		switch {
		case len(args) > 1 && interp.IsBuiltin(args[1]):
			return s.past(ctx, r, posix, args[1:])
		case len(args) > 1:
			return failing(1, fmt.Sprintf("builtin: %s: not a shell builtin", args[1]))
		}
	case "echo", "printf", "test", "[":
		return s.evaluated(ctx, posix, args)
	case "command":
		return s.commandCall(ctx, r, posix, args)
	case "type", "hash":
		return s.typeCall(ctx, r, posix, args)
	case "pwd":
		if len(args) > 1 && args[1] == "-P" {
			return append([]string{"readlink", "-f"}, interp.HandlerCtx(ctx).Dir)
		}
		return args[:1]
	case "umask":
		return umaskCall(ctx, args)
	case "trap":
		return trapCall(args, posix)
	case "set":
		return setCall(args, posix)
	case "shift":
		return shiftCall(args, posix)
	case "read":
		return readCall(ctx, args, posix)
	case "kill", "fg", "bg", "jobs", "fc", "newgrp", "bind", "caller", "compgen", "complete", "compopt", "disown",
		"enable", "history", "suspend", "times", "ulimit", "help":
		if name == "ulimit" {
			return []string{own + "noeffect", name}
		}
		return []string{own + "refuse", name}
	case "logout":
		return append([]string{"exit"}, args[1:]...)
	case "unset":
		for _, n := range args[1:] {
			if interp.HandlerCtx(ctx).Env.Get(n).ReadOnly {
				if posix {
					return fatal(2, "unset: "+n+": is read only")
				}
				return failing(1, "unset: "+n+": cannot unset: readonly variable")
			}
		}
	case ".", "source":
		if h := interp.HandlerCtx(ctx); posix && len(args) > 1 &&
			!s.guest.Root.Exists(s.guest.Root.Abs(h.Dir, args[1])) && !strings.HasPrefix(args[1], "/dev/") {
			return fatal(2, ".: cannot open "+args[1]+": No such file")
		}
	case "cd":
		if h := interp.HandlerCtx(ctx); posix && len(args) == 2 && args[1] != "-" && !s.guest.Root.IsDir(s.guest.Root.Abs(h.Dir, args[1])) {
			return failing(2, "cd: can't cd to "+args[1])
		}
		return s.cdCall(ctx, args, posix)
	case "shopt":
		return shoptCall(args)
	case "mapfile", "readarray":
		return s.mapfileCall(ctx, args)
	case "wait":
		if len(args) > 1 && args[1] == "-n" {
			return []string{own + "refuse", "wait -n"}
		}
	}
	return args
}

// cdCall is cd: with -P to the folder that links lead to, and by CDPATH.
func (s *Shell) cdCall(ctx context.Context, args []string, posix bool) []string {
	physical := false
	for len(args) > 1 && (args[1] == "-P" || args[1] == "-L" || args[1] == "--") {
		physical = args[1] == "-P"
		args = slices.Concat(args[:1], args[2:])
	}
	h := interp.HandlerCtx(ctx)
	switch {
	case len(args) != 2:
		return args
	case args[1] == "":
		return []string{"true"}
	case h.Env.Get("CDPATH").String() != "" && !strings.HasPrefix(args[1], "/") && !strings.HasPrefix(args[1], "."):
		return []string{own + "refuse", "cd with CDPATH"}
	case physical && args[1] != "-":
		return []string{"cd", (&Process{Guest: s.guest, shell: s, Dir: h.Dir}).resolve(args[1], 0)}
	}
	return args
}

// shopts are the options of shopt that the interpreter knows; idleShopts change nothing in a script.
var (
	shopts     = strings.Fields("dotglob expand_aliases extglob globstar nocaseglob nullglob")
	idleShopts = strings.Fields("checkwinsize checkhash cmdhist histappend progcomp interactive_comments sourcepath promptvars " +
		"execfail huponexit mailwarn cdspell dirspell autocd")
)

// shoptCall is shopt: -q asks, and what would change how a script runs is refused.
func shoptCall(args []string) []string {
	if len(args) < 3 || !slices.Contains([]string{"-s", "-u", "-q"}, args[1]) {
		if len(args) == 2 && slices.Contains(shopts, args[1]) {
			return args
		}
		return []string{own + "refuse", strings.Join(args, " ")}
	}
	asks := []string{"true"}
	for _, name := range args[2:] {
		switch {
		case slices.Contains(shopts, name):
			asks = append(asks, "shopt "+name+" | grep -q 'on$'")
		case args[1] == "-u" || args[1] == "-s" && slices.Contains(idleShopts, name):
			return []string{"true"}
		default:
			return []string{own + "refuse", strings.Join(args, " ")}
		}
	}
	if args[1] == "-q" {
		return []string{"eval", strings.Join(asks, " && ")}
	}
	return args
}

// failing returns a command that fails with a message.
func failing(code int, message string) []string {
	return []string{own + "fail", strconv.Itoa(code), message}
}

// fatal returns a command that ends the shell with a message, as failures of dash's special
// builtins do.
func fatal(code int, message string) []string {
	return []string{"eval", fmt.Sprintf("%sfail %d %s; exit %d", own, code, single(message), code)}
}

// single quotes a text for the interpreter.
func single(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// evaluated runs a builtin that is implemented here; printf -v sets a variable.
func (s *Shell) evaluated(ctx context.Context, posix bool, args []string) []string {
	if args[0] == "printf" && len(args) > 1 && strings.HasPrefix(args[1], "-") && args[1] != "--" {
		if posix && len(args[1]) > 1 {
			return failing(2, "printf: Illegal option "+args[1])
		}
		if args[1] == "-v" && len(args) > 3 {
			h := interp.HandlerCtx(ctx)
			var b strings.Builder
			p := &Process{Args: append([]string{"printf"}, args[3:]...), Stdout: &b, Stderr: h.Stderr,
				Env: exported(h.Env), Dir: h.Dir, Guest: s.guest, shell: s}
			if code := printf(ctx, p); code != 0 {
				return []string{own + "fail", strconv.Itoa(code), "printf: -v"}
			}
			return []string{"eval", args[2] + "=" + single(b.String())}
		}
	}
	return append([]string{own + args[0]}, args[1:]...)
}

// lookup returns the kind of a name, such as function or builtin, and the path of a program.
func (s *Shell) lookup(ctx context.Context, r *interp.Runner, posix bool, name string) (kind, where string) {
	switch {
	case syntax.IsKeyword(name) &&
		!(posix && (name == "[[" || name == "function" || name == "select" || name == "coproc" || name == "time")):
		return "keyword", name
	case r.Funcs[name] != nil:
		return "function", name
	case interp.IsBuiltin(name) && !(posix && slices.Contains(bashOnly, name)):
		return "builtin", name
	case strings.Contains(name, "/"):
		if info, err := s.guest.Root.Stat(s.guest.Root.Abs(interp.HandlerCtx(ctx).Dir, name)); err == nil && info.Mode()&0o111 != 0 ||
			isBin(name) && s.programPath(path.Base(name)) != "" {
			return "file", name
		}
		return "", ""
	}
	for _, dir := range strings.Split(interp.HandlerCtx(ctx).Env.Get("PATH").String(), ":") {
		file := path.Join(dir, name)
		if info, err := s.guest.Root.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return "file", file
		}
	}
	if at := s.programPath(name); at != "" {
		return "file", at
	}
	return "", ""
}

// commandCall is command: -v and -V look names up, else a command runs without
// functions.
func (s *Shell) commandCall(ctx context.Context, r *interp.Runner, posix bool, args []string) []string {
	if len(args) > 2 && (args[1] == "-v" || args[1] == "-V") {
		if args[1] == "-V" {
			return s.typeCall(ctx, r, posix, append([]string{"type"}, args[2:]...))
		}
		var out strings.Builder
		code := 1
		if posix {
			code = 127
		}
		for _, n := range args[2:] {
			if _, where := s.lookup(ctx, r, posix, n); where != "" {
				out.WriteString(where + "\n")
				code = 0
			}
		}
		return []string{own + "print", out.String(), strconv.Itoa(code)}
	}
	rest := args[1:]
	for len(rest) > 0 && (rest[0] == "-p" || rest[0] == "--") {
		rest = rest[1:]
	}
	if len(rest) > 0 && slices.Contains([]string{"echo", "printf", "test", "["}, rest[0]) {
		return append([]string{own + rest[0]}, rest[1:]...)
	}
	if len(rest) > 0 {
		return s.past(ctx, r, posix, rest)
	}
	return []string{"command"}
}

// past is a call behind builtin or command, which pass over functions.
func (s *Shell) past(ctx context.Context, r *interp.Runner, posix bool, args []string) []string {
	if interp.IsBuiltin(args[0]) {
		args = s.builtinCall(ctx, r, posix, args)
	}
	if r.Funcs[args[0]] != nil {
		return append([]string{"command"}, args...)
	}
	return args
}

// typeCall is type and hash.
func (s *Shell) typeCall(ctx context.Context, r *interp.Runner, posix bool, args []string) []string {
	var out strings.Builder
	code := 0
	short, only := false, false
	names := args[1:]
	for len(names) > 0 && strings.HasPrefix(names[0], "-") && !posix {
		switch names[0] {
		case "-t":
			short = true
		case "-p", "-P":
			only = true
		case "-r", "--":
		default:
			return []string{own + "refuse", args[0] + " " + names[0]}
		}
		names = names[1:]
	}
	for _, n := range names {
		kind, where := s.lookup(ctx, r, posix, n)
		switch {
		case kind == "":
			code = 1
			if posix {
				code = 127
			}
			if posix && args[0] == "type" {
				out.WriteString(n + ": not found\n")
			}
		case args[0] == "hash":
		case short:
			out.WriteString(kind + "\n")
		case only:
			if kind == "file" {
				out.WriteString(where + "\n")
			}
		case kind == "file":
			out.WriteString(n + " is " + where + "\n")
		case kind == "function" && !posix:
			return []string{own + "refuse", "the text that type prints of a function"}
		case kind == "function":
			out.WriteString(n + " is a shell function\n")
		case kind == "builtin" && posix && slices.Contains(strings.Fields(". : break continue eval exec exit "+
			"export readonly return set shift times trap unset"), n):
			out.WriteString(n + " is a special shell builtin\n")
		default:
			out.WriteString(n + " is a shell " + kind + "\n")
		}
	}
	return []string{own + "print", out.String(), strconv.Itoa(code)}
}

// umaskCall implements umask. The mask is in a variable of the environment, so that
// subshells inherit it.
func umaskCall(ctx context.Context, args []string) []string {
	mask := umaskOf(interp.HandlerCtx(ctx).Env.Get(umaskName).String())
	switch {
	case len(args) == 1:
		return []string{own + "print", fmt.Sprintf("%04o\n", mask), "0"}
	case args[1] == "-S":
		text := ""
		for i, who := range []string{"u=", ",g=", ",o="} {
			bits := (^mask >> (6 - 3*i)) & 7
			text += who + map[bool]string{true: "r"}[bits&4 != 0] + map[bool]string{true: "w"}[bits&2 != 0] +
				map[bool]string{true: "x"}[bits&1 != 0]
		}
		return []string{own + "print", text + "\n", "0"}
	}
	text := args[1]
	if n, err := strconv.ParseUint(text, 8, 12); err == nil {
		mask = umaskOf(strconv.FormatUint(n, 8))
	} else if allowed, ok := changedMode(text, ^mask&0o777, 0); ok {
		mask = ^allowed & 0o777
	} else {
		return failing(1, "umask: "+text+": invalid symbolic mode operator")
	}
	if mask&0o022 != 0o022 { // files get what the simulator's own mask leaves
		return []string{own + "refuse", "umask " + text}
	}
	return []string{"eval", fmt.Sprintf("export %s=%04o", umaskName, mask)}
}

// signals that no guest sends: a trap on one has nothing to do.
var signals = strings.Fields("HUP INT QUIT TERM PIPE ALRM USR1 USR2 CHLD CONT TSTP TTIN TTOU WINCH 1 2 3 13 14 15")

// trapCall keeps the traps that can be reached.
func trapCall(args []string, posix bool) []string {
	if len(args) > 1 && args[1] == "--" {
		args = slices.Concat(args[:1], args[2:])
	}
	if len(args) < 2 {
		return args
	}
	from := 2
	if len(args) == 2 || args[1] == "-p" || args[1] == "-l" {
		if args[1] == "-p" || args[1] == "-l" {
			return []string{own + "refuse", "trap " + args[1]}
		}
		from = 1
	}
	out := slices.Clone(args[:from])
	for _, name := range args[from:] {
		name = strings.TrimPrefix(strings.ToUpper(name), "SIG")
		switch {
		case name == "0" || name == "EXIT":
			out = append(out, "EXIT")
		case slices.Contains(signals, name):
		case name == "ERR" && !posix:
			out = append(out, name)
		case name == "DEBUG" || name == "RETURN":
			if !posix {
				return []string{own + "refuse", "a trap on " + name}
			}
			fallthrough
		default:
			if posix {
				return fatal(2, "trap: "+name+": bad trap")
			}
			return failing(1, "trap: "+name+": invalid signal specification")
		}
	}
	if len(out) == from {
		return []string{"true"}
	}
	return out
}

// setCall removes options of set that have no effect here, and refuses those that are not
// simulated.
func setCall(args []string, posix bool) []string {
	out := []string{"set"}
	for i := 1; i < len(args); i++ {
		a := args[i]
		if a == "--" || len(a) < 2 || a[0] != '-' && a[0] != '+' {
			return append(out, args[i:]...)
		}
		letters := a[:1]
		for _, l := range a[1:] {
			switch l {
			case 'e', 'u', 'x', 'f', 'n', 'a':
				letters += string(l)
			case 'o':
				if i+1 >= len(args) {
					return []string{own + "refuse", "what set -o prints"}
				}
				i++
				switch kept, known := longOption(args[i], posix); {
				case !known && posix:
					return fatal(2, "set: Illegal option -o "+args[i])
				case !known:
					return failing(2, "set: "+args[i]+": invalid option name")
				case kept == "refused":
					return []string{own + "refuse", "set -o " + args[i]}
				case kept != "":
					out = append(out, a[:1]+"o", kept)
				}
			case 'm', 'b', 'h', 'v', 'I', 'i', 's':
			case 'E', 'T', 'B', 'H', 'P', 'p', 'k', 't':
				if posix {
					return fatal(2, "set: Illegal option -"+string(l))
				}
			case 'C':
				return []string{own + "refuse", "set -C"}
			default:
				if posix {
					return fatal(2, "set: Illegal option -"+string(l))
				}
				return failing(2, "set: -"+string(l)+": invalid option")
			}
		}
		if len(letters) > 1 {
			out = append(out, letters)
		}
	}
	if len(out) == 1 && len(args) > 1 {
		return []string{"true"}
	}
	if len(out) == 1 {
		return []string{own + "refuse", "what set prints"}
	}
	return out
}

// longOption returns an option of set by its name: what the interpreter takes for it.
func longOption(name string, posix bool) (kept string, known bool) {
	switch name {
	case "errexit", "nounset", "xtrace", "noglob", "noexec", "allexport":
		return name, true
	case "pipefail":
		return name, !posix
	case "monitor", "notify", "verbose", "vi", "emacs", "ignoreeof", "interactive", "stdin":
		return "", true
	case "noclobber":
		return "refused", true
	case "errtrace", "functrace", "hashall", "braceexpand", "history", "histexpand", "physical", "privileged",
		"keyword", "onecmd", "interactive-comments", "nolog", "posix":
		return "", !posix || name == "nolog"
	}
	return "", false
}

// shiftCall fails if there are fewer arguments than shift removes.
func shiftCall(args []string, posix bool) []string {
	n := "1"
	if len(args) > 1 {
		n = args[1]
	}
	if _, err := strconv.Atoi(n); err == nil && n[0] == '-' {
		if posix {
			return fatal(2, "shift: Illegal number: "+n)
		}
		return failing(1, "shift: "+n+": shift count out of range")
	}
	if strings.Trim(n, "0123456789") != "" || n == "" {
		return args
	}
	otherwise := "false"
	if posix {
		otherwise = own + "fail 2 \"shift: can't shift that many\"; exit 2"
	}
	return []string{"eval", fmt.Sprintf("if [ %s -le $# ]; then %sshift %s; else %s; fi", n, own, n, otherwise)}
}

var readFlags = declare("r p: s a: n: N: d: t: u: e i:")

// readCall reads what the interpreter's read cannot: up to another byte than a
// newline, or so many letters.
func readCall(ctx context.Context, args []string, posix bool) []string {
	o, unknown := readFlags.parse(args[1:])
	switch {
	case posix && (unknown != "" || o.has("s", "a", "n", "N", "d", "t", "u", "e", "i")):
		return fatal(2, "read: Illegal option")
	case posix && len(o.operands) == 0:
		return fatal(2, "read: arg count")
	case unknown != "" || o.has("i") || o.has("u") && o.value("u") != "0":
		return []string{own + "refuse", "read with the flags " + strings.Join(args[1:], " ")}
	case !o.has("n", "N", "d", "t", "e", "u"):
		if ifs := interp.HandlerCtx(ctx).Env.Get("IFS").String(); strings.Trim(ifs, " \t\n") != "" && (len(o.operands) > 1 || o.has("a")) {
			return readFields(ctx, o, ifs)
		}
		if !o.has("p") {
			return args
		}
		out := []string{"read"} // the prompt is for a terminal
		if o.has("r") {
			out = append(out, "-r")
		}
		if o.has("a") {
			return append(out, "-a", o.value("a"))
		}
		return append(out, o.operands...)
	case o.has("a") || len(o.operands) > 1:
		return []string{own + "refuse", "read with the flags " + strings.Join(args[1:], " ") + " and more than one name"}
	}
	h := interp.HandlerCtx(ctx)
	end, most := byte('\n'), 1<<20
	if o.has("d") {
		end = append([]byte(o.value("d")), 0)[0]
	}
	for _, f := range []string{"n", "N"} {
		if n, err := strconv.Atoi(o.value(f)); err == nil {
			most = min(n, maxVariables+1) // more ends the script
		}
	}
	text, ended := readUntil(h.Stdin, end, most, o.has("N"))
	name := "REPLY"
	if len(o.operands) > 0 {
		name = o.operands[0]
	}
	if ifs := h.Env.Get("IFS"); len(o.operands) > 0 && !o.has("N") && (!ifs.IsSet() || ifs.String() != "") {
		set := " \t\n"
		if ifs.IsSet() {
			set = strings.Map(func(r rune) rune {
				if strings.ContainsRune(" \t\n", r) {
					return r
				}
				return -1
			}, ifs.String())
		}
		text = strings.Trim(text, set)
	}
	status := "true"
	if !ended {
		status = "false"
	}
	return []string{"eval", name + "=" + single(text) + "; " + status}
}

// mapfileCall is mapfile and readarray: all of the input, which has the bound of variables, as the items of an array.
func (s *Shell) mapfileCall(ctx context.Context, args []string) []string {
	o, unknown := declare("t d:").parse(args[1:])
	if unknown != "" || len(o.operands) > 1 {
		return []string{own + "refuse", strings.Join(args, " ")}
	}
	name, end := "MAPFILE", byte('\n')
	if len(o.operands) > 0 {
		name = o.operands[0]
	}
	if !syntax.ValidName(name) {
		return failing(1, fmt.Sprintf("%s: `%s': not a valid identifier", args[0], name))
	}
	if o.has("d") {
		end = append([]byte(o.value("d")), 0)[0]
	}
	var data []byte
	if in := interp.HandlerCtx(ctx).Stdin; in != nil {
		data, _ = io.ReadAll(io.LimitReader(in, maxVariables+1)) // an end amid the input is its end
	}
	if l, some := ctx.Value(limitsKey{}).(limits); some && len(data) > maxVariables {
		return failing(1, s.exceed(l.used, fmt.Sprintf("has variables of more than %d KiB", maxVariables>>10)).Error())
	}
	var items strings.Builder
	for item := range strings.SplitAfterSeq(string(data), string([]byte{end})) {
		if item == "" {
			continue // what is after the last end
		}
		if o.has("t") {
			item = strings.TrimSuffix(item, string([]byte{end}))
		}
		items.WriteString(single(strings.ReplaceAll(item, "\x00", "")) + " ")
	}
	return []string{"eval", name + "=(" + items.String() + ")"}
}

// readFields reads a line into variables or an array by separators that are no blanks, of which
// each ends a field: the interpreter takes several for one.
func readFields(ctx context.Context, o options, ifs string) []string {
	in := interp.HandlerCtx(ctx).Stdin
	line, ended := readUntil(in, '\n', 1<<20, false)
	for !o.has("r") && ended && strings.HasSuffix(line, "\\") {
		more, end := readUntil(in, '\n', 1<<20, false)
		line, ended = strings.TrimSuffix(line, "\\")+more, end
	}
	if !o.has("r") && strings.Contains(line, "\\") {
		return []string{own + "refuse", "read without -r of a line with a backslash"}
	}
	most := len(o.operands)
	if o.has("a") {
		most = 0
	}
	fields := ifsFields(line, ifs, most)
	var b strings.Builder
	if o.has("a") {
		b.WriteString(o.value("a") + "=(")
		for _, f := range fields {
			b.WriteString(single(f) + " ")
		}
		b.WriteString(")")
	}
	for i := range most {
		value := ""
		if i < len(fields) {
			value = fields[i]
		}
		b.WriteString(o.operands[i] + "=" + single(value) + "; ")
	}
	return []string{"eval", b.String() + "\n" + strconv.FormatBool(ended)}
}

// ifsFields splits a line as bash's read does, into at most some fields; 0 is as many as
// there are. The last field takes the rest.
func ifsFields(line, ifs string, most int) (fields []string) {
	blank := func(c byte) bool { return strings.IndexByte(" \t\n", c) >= 0 && strings.IndexByte(ifs, c) >= 0 }
	trim := func(s string) string {
		for s != "" && blank(s[0]) {
			s = s[1:]
		}
		return s
	}
	for line = trim(line); line != ""; {
		end := strings.IndexAny(line, ifs)
		if end < 0 {
			return append(fields, line)
		}
		rest := trim(line[end:])
		if rest != "" && strings.IndexByte(ifs, rest[0]) >= 0 && !blank(rest[0]) {
			rest = trim(rest[1:])
		}
		if len(fields)+1 == most && rest != "" {
			for line != "" && blank(line[len(line)-1]) {
				line = line[:len(line)-1]
			}
			return append(fields, line)
		}
		fields, line = append(fields, line[:end]), rest
	}
	return fields
}

// readUntil reads bytes up to end or a number of them. ended is false at the end of
// the input.
func readUntil(r io.Reader, end byte, most int, exact bool) (string, bool) {
	var b strings.Builder
	one := make([]byte, 1)
	for b.Len() < most {
		if r == nil {
			return b.String(), false
		}
		n, err := r.Read(one)
		if n > 0 {
			if one[0] == end && !exact {
				return b.String(), true
			}
			b.WriteByte(one[0])
			continue
		}
		if err != nil {
			return b.String(), false
		}
	}
	return b.String(), true
}
