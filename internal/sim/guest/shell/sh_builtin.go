package shell

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"casement.dev/casement/internal/sim/guest/regex"
)

type shBuiltin func(r *runner, args []string)

// builtin returns the builtin of a name, or nil.
func (r *runner) builtin(name string) shBuiltin {
	if r.posix && slices.Contains(bashOnly, name) {
		return nil
	}
	if b := shBuiltins()[name]; b != nil && !r.options["disabled "+name] {
		return b
	}
	return nil
}

// bashOnly are builtins of bash that dash does not have.
var bashOnly = strings.Fields("source declare typeset let shopt pushd popd mapfile readarray dirs builtin " +
	"enable caller complete compgen compopt help disown suspend bind history logout")

// keywords are the reserved words of bash; those of dash come first.
var keywords = strings.Fields("! { } case do done elif else esac fi for if in then until while [[ ]] function select coproc time")

func (r *runner) isKeyword(name string) bool {
	i := slices.Index(keywords, name)
	return i >= 0 && (!r.posix || i < slices.Index(keywords, "[["))
}

func shBuiltins() map[string]shBuiltin {
	jump := func(to shJump) shBuiltin { return func(r *runner, args []string) { r.jumpCall(to, args) } }
	refused := func(r *runner, args []string) { r.refuse("%s", args[0]) }
	return map[string]shBuiltin{
		":": func(*runner, []string) {}, "true": func(*runner, []string) {}, "false": func(r *runner, _ []string) { r.status = 1 },
		"echo": asBuiltin(echo), "printf": (*runner).printf, "test": asBuiltin(test), "[": asBuiltin(test),
		".": (*runner).sourceCall, "source": (*runner).sourceCall, "eval": (*runner).eval, "exec": (*runner).exec,
		"exit": (*runner).exitCall, "logout": (*runner).exitCall, "return": jump(returns), "break": jump(breaks), "continue": jump(continues),
		"cd": (*runner).cd, "pwd": (*runner).pwd, "pushd": (*runner).pushd, "popd": (*runner).popd, "dirs": (*runner).dirsCall,
		"set": (*runner).setCall, "shift": (*runner).shift, "shopt": (*runner).shopt, "unset": (*runner).unsetCall,
		"export": (*runner).declareCall, "readonly": (*runner).declareCall, "local": (*runner).declareCall, "declare": (*runner).declareCall,
		"typeset": (*runner).declareCall, "let": func(r *runner, args []string) {
			if len(args) == 1 {
				r.fail(1, "let: expression expected")
			}
			for _, a := range args[1:] {
				if !r.truth(func() bool { return r.arithmText(a) != 0 }) {
					break
				}
			}
		},
		"read": (*runner).read, "mapfile": (*runner).mapfile, "readarray": (*runner).mapfile, "getopts": (*runner).getopts,
		"trap": (*runner).trap, "wait": (*runner).wait, "kill": (*runner).kill, "jobs": (*runner).jobsCall, "disown": func(r *runner,
			args []string) {
			r.jobs = nil
		},
		"command": (*runner).commandCall, "builtin": func(r *runner, args []string) {
			if len(args) < 2 {
				return
			}
			if b := r.builtin(args[1]); b != nil {
				b(r, args[1:])
				return
			}
			r.fail(1, "builtin: %s: not a shell builtin", args[1])
		},
		"type": (*runner).typeCall, "hash": (*runner).hash, "alias": (*runner).alias, "unalias": (*runner).unalias,
		"umask": (*runner).umaskCall, "caller": (*runner).caller, "compgen": (*runner).compgen, "enable": refused,
		"ulimit": func(r *runner, args []string) {
			if len(args) < 3 {
				r.refuse("%s", strings.Join(args, " "))
				return
			}
			r.mark("ulimit")
		},
		"times": func(r *runner, _ []string) { fmt.Fprint(r.stdout(), "0m0.000s 0m0.000s\n0m0.000s 0m0.000s\n") },
		"fg":    refused, "bg": refused, "fc": refused, "bind": refused, "complete": func(*runner, []string) {}, "compopt": refused,
		"history": refused, "suspend": refused, "help": refused, "newgrp": refused,
	}
}

func (r *runner) mark(what string) {
	p := &Process{Guest: r.shell.guest, Stderr: r.stderr()}
	r.status = p.NoEffect(r.ctx, "%s", what)
}

// asBuiltin returns a builtin that runs a command of this package.
func asBuiltin(c Command) shBuiltin {
	return func(r *runner, args []string) {
		p := r.process(args)
		r.status = r.shell.start(r.ctx, c, p)
		if _, ok := p.Stdout.(closedFile); ok && args[0] != "test" && args[0] != "[" {
			r.fail(1, "%s: write error: Bad file descriptor", args[0])
		}
	}
}

// process returns a process for a command that runs in the shell itself.
func (r *runner) process(args []string) *Process {
	return &Process{Args: args, Stdin: r.fds[0].reader(), Stdout: r.writer(1), Stderr: prefixed{r.stderr(), r.where()}, Dir: r.dir,
		Guest: r.shell.guest, shell: r.shell, posix: r.posix, fds: r.fds, meter: r.meter, isSet: r.isSet,
		isOn: func(o string) bool { return r.options[o] }}
}

// prefixed writes a text before the data of each write, which is a line.
type prefixed struct {
	to   io.Writer
	text string
}

// Write implements io.Writer.
func (p prefixed) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.to, p.text+string(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// jumpCall implements break, continue and return.
func (r *runner) jumpCall(to shJump, args []string) {
	n, err := 1, error(nil)
	if len(args) > 1 {
		n, err = strconv.Atoi(args[1])
	}
	switch {
	case to == returns:
		status := r.before
		if len(args) > 1 {
			if err != nil {
				r.errorf("return: %s: numeric argument required", args[1])
				n = 2
			}
			status = n & 0xff
		}
		r.status = status
		if len(r.frames) == 0 {
			if r.posix {
				r.jump = exits
				return
			}
			r.fail(2, "return: can only `return' from a function or sourced script")
			return
		}
		r.jump = returns
	case r.loops == 0:
		if !r.posix {
			r.errorf("%s: only meaningful in a `for', `while', or `until' loop", args[0])
		}
	case err != nil:
		r.fatal(128, "%s: %s: numeric argument required", args[0], args[1])
	case n < 1:
		r.fail(1, "%s: %s: loop count out of range", args[0], args[1])
	default:
		r.jump, r.jumps = to, min(n, r.loops)
	}
}

func (r *runner) exitCall(args []string) {
	r.status = r.before
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			if r.posix {
				r.fatal(2, "exit: Illegal number: %s", args[1])
			}
			r.errorf("exit: %s: numeric argument required", args[1])
			n = 2
		}
		r.status = n & 0xff
	}
	r.jump = exits
}

func (r *runner) eval(args []string) { r.evalText(strings.Join(args[1:], " "), r.line) }

func (r *runner) exec(args []string) {
	if len(args) > 1 && args[1] == "--" {
		args = args[1:]
	}
	if len(args) == 1 {
		if r.kept != nil {
			r.kept()
		}
		return
	}
	if strings.HasPrefix(args[1], "-") {
		r.refuse("exec %s", args[1])
		return
	}
	r.program(args[1:], nil)
	r.atExit()
	r.jump = exits
}

// sourceCall runs the commands of a file in this shell.
func (r *runner) sourceCall(args []string) {
	if len(args) > 1 && args[1] == "--" {
		args = slices.Concat(args[:1], args[2:])
	}
	if len(args) < 2 {
		r.fail(2, "%s: filename argument required\n%s: usage: %s filename [arguments]", args[0], args[0], args[0])
		return
	}
	root, file := r.shell.guest.Root, r.abs(args[1])
	if !strings.Contains(args[1], "/") {
		file = cmp.Or(r.shell.inPath(r.dir, r.value("PATH"), args[1], isFile), file)
	}
	var data []byte
	var err error
	if f := (*shFile)(nil); strings.HasPrefix(file, "/dev/") && file != "/dev/null" {
		if f = r.openFile(args[1], 0); f == nil {
			r.status = 1
			return
		}
		data, err = io.ReadAll(io.LimitReader(f.reader(), maxScript))
		f.release()
	} else if file != "/dev/null" {
		data, err = root.ReadAtMost(file, maxScript)
	}
	switch {
	case err != nil && r.posix:
		r.fatal(2, "%s: cannot open %s: No such file", args[0], args[1])
	case err != nil:
		r.fail(1, "%s: %s", args[1], reason(err))
		return
	case len(data) > maxScript:
		panic(ended{r.exceed(fmt.Sprintf("is longer than %d bytes", maxScript))})
	case len(r.frames) > maxFunctions:
		panic(ended{r.exceed("has functions that call each other too deep")})
	}
	params, base := r.params, r.base
	r.frames = append(slices.Clip(r.frames), shFrame{name: "source", file: args[1], line: r.line, outer: r.params})
	if len(args) > 2 {
		r.params = args[2:]
	}
	line := r.line
	r.evalText(string(data), 1)
	if r.jump == returns {
		r.jump = noJump
	}
	r.frames, r.base, r.line = r.frames[:len(r.frames)-1], base, line
	if len(args) > 2 {
		r.params = params
	}
	if r.jump == noJump {
		r.trapped("RETURN")
	}
}

func (r *runner) printf(args []string) {
	if len(args) > 3 && args[1] == "-v" && !r.posix {
		var b strings.Builder
		p := r.process(append([]string{"printf"}, args[3:]...))
		p.Stdout = &b
		r.status = printf(r.ctx, p)
		r.grow(b.Len())
		text, _, _ := strings.Cut(b.String(), "\x00")
		if err := r.set(args[2], text); err != nil {
			r.fail(1, "printf: %v", err)
		}
		return
	}
	if r.posix && len(args) > 1 && len(args[1]) > 1 && args[1][0] == '-' && args[1] != "--" {
		r.fatal(2, "printf: Illegal option %s", args[1])
	}
	asBuiltin(printf)(r, args)
}

// letters parses the flags of a builtin; ok is false if a flag is not declared.
func (r *runner) letters(known string, args []string) (o options, ok bool) {
	o, unknown := declare("+ " + known).parse(args[1:])
	if unknown != "" {
		r.fail(2, "%s: %s: invalid option", args[0], strings.TrimSuffix(unknown, ":"))
	}
	return o, unknown == ""
}

func (r *runner) cd(args []string) {
	o, ok := r.letters("P L e @", args)
	if !ok {
		return
	}
	words, physical := o.operands, r.options["physical"] || o.last("P", "L") == "P"
	if len(words) > 1 && !r.posix {
		r.fail(1, "cd: too many arguments")
		return
	}
	target, shown := "", false
	switch {
	case len(words) == 0:
		if target = r.value("HOME"); !r.isSet("HOME") {
			r.fail(1, "cd: HOME not set")
			return
		}
	case words[0] == "-":
		if target = r.value("OLDPWD"); target == "" {
			r.fail(1, "cd: OLDPWD not set")
			return
		}
		shown = true
	default:
		target = words[0]
		if !strings.HasPrefix(target, "/") && !strings.HasPrefix(target, ".") {
			for _, dir := range strings.Split(r.value("CDPATH"), ":") {
				if at := path.Join(dir, target); dir != "" && r.shell.guest.Root.IsDir(r.abs(at)) {
					target, shown = at, true
					break
				}
			}
		}
	}
	if target != "" && !r.enter("cd", target, physical) {
		return
	}
	if shown {
		fmt.Fprintln(r.stdout(), r.dir)
	}
}

// enter changes the current folder.
func (r *runner) enter(name, target string, physical bool) bool {
	root := r.shell.guest.Root
	at := r.abs(target)
	if physical {
		at = r.process(nil).resolve(target, 0)
	}
	if info, err := root.Stat(at); err != nil || !info.IsDir() {
		switch {
		case r.posix:
			r.fail(2, "cd: can't cd to %s", target)
		case err != nil:
			r.fail(1, "%s: %s: No such file or directory", name, target)
		default:
			r.fail(1, "%s: %s: Not a directory", name, target)
		}
		return false
	}
	old := r.dir
	r.dir = at
	for name, text := range map[string]string{"OLDPWD": old, "PWD": at} {
		if v := r.find(name); v == nil {
			_ = r.set(name, text)
		} else {
			v.text, v.set = text, true
		}
	}
	return true
}

func (r *runner) pwd(args []string) {
	at := r.dir
	if len(args) > 1 && args[1] == "-P" {
		at = r.process(nil).resolve(r.dir, 0)
	}
	fmt.Fprintln(r.stdout(), at)
}

func (r *runner) pushd(args []string) {
	quiet := slices.Contains(args, "-n")
	switch {
	case len(args) < 2:
		if len(r.dirs) == 0 {
			r.fail(1, "pushd: no other directory")
			return
		}
		to := r.dirs[0]
		r.dirs[0] = r.dir
		r.enter("pushd", to, false)
	case quiet || strings.HasPrefix(args[1], "+") || strings.HasPrefix(args[1], "-"):
		r.refuse("pushd %s", args[1])
		return
	default:
		old := r.dir
		if !r.enter("pushd", args[1], false) {
			return
		}
		r.dirs = append([]string{old}, r.dirs...)
	}
	r.dirsCall([]string{"dirs"})
}

func (r *runner) popd(args []string) {
	if len(args) > 1 {
		r.refuse("popd %s", args[1])
		return
	}
	if len(r.dirs) == 0 {
		r.fail(1, "popd: directory stack empty")
		return
	}
	to := r.dirs[0]
	r.dirs = slices.Clone(r.dirs[1:])
	if r.enter("popd", to, false) {
		r.dirsCall([]string{"dirs"})
	}
}

func (r *runner) dirsCall(args []string) {
	all := append([]string{r.dir}, r.dirs...)
	if home := r.value("HOME"); home != "" && !slices.Contains(args, "-l") {
		for i, d := range all {
			if d == home || strings.HasPrefix(d, home+"/") {
				all[i] = "~" + strings.TrimPrefix(d, home)
			}
		}
	}
	switch {
	case slices.Contains(args, "-c"):
		r.dirs = nil
	case slices.Contains(args, "-v"):
		for i, d := range all {
			fmt.Fprintf(r.stdout(), "%2d  %s\n", i, d)
		}
	case slices.Contains(args, "-p"):
		fmt.Fprintln(r.stdout(), strings.Join(all, "\n"))
	default:
		fmt.Fprintln(r.stdout(), strings.Join(all, " "))
	}
}

// setLetters are the options of set, by letter.
var setLetters = map[byte]string{'a': "allexport", 'b': "notify", 'e': "errexit", 'f': "noglob", 'h': "hashall", 'k': "keyword",
	'm': "monitor",
	'n': "noexec", 'p': "privileged", 't': "onecmd", 'u': "nounset", 'v': "verbose", 'x': "xtrace", 'B': "braceexpand", 'C': "noclobber",
	'E': "errtrace", 'H': "histexpand", 'P': "physical", 'T': "functrace"}

var setNames = strings.Fields("allexport braceexpand emacs errexit errtrace functrace hashall histexpand history ignoreeof " +
	"interactive-comments keyword monitor noclobber noexec noglob nolog notify nounset onecmd " +
	"physical pipefail posix privileged verbose vi xtrace")

func (r *runner) setCall(args []string) {
	if len(args) == 1 {
		r.printVariables("set", "")
		return
	}
	for i := 1; i < len(args); i++ {
		a := args[i]
		if a == "--" || a == "-" {
			if a == "-" {
				r.options["xtrace"], r.options["verbose"] = false, false
			}
			if a == "--" || i+1 < len(args) {
				r.params = slices.Clone(args[i+1:])
			}
			return
		}
		if a == "" || a[0] != '-' && a[0] != '+' {
			r.params = slices.Clone(args[i:])
			return
		}
		for j := 1; j < len(a); j++ {
			name := setLetters[a[j]]
			if a[j] == 'o' {
				if i++; i >= len(args) {
					r.printOptions(setNames, a[0] == '+', "set")
					return
				}
				if name = args[i]; !slices.Contains(setNames, name) || r.posix && slices.Contains([]string{"pipefail", "errtrace", "functrace"}, name) {
					if r.posix {
						r.fatal(2, "set: Illegal option -o %s", name)
					}
					r.fail(2, "set: %s: invalid option name", name)
					return
				}
			} else if name == "" || r.posix && strings.IndexByte("ETBHPpkth", a[j]) >= 0 {
				if r.posix {
					r.fatal(2, "set: Illegal option %c%c", a[0], a[j])
				}
				r.fail(2, "set: %c%c: invalid option", a[0], a[j])
				return
			}
			r.options[name] = a[0] == '-'
		}
	}
}

func (r *runner) printOptions(names []string, again bool, how string) {
	for _, n := range names {
		on := map[bool]string{true: "on", false: "off"}[r.options[n]]
		switch {
		case again && how == "set":
			fmt.Fprintf(r.stdout(), "set %so %s\n", map[bool]string{true: "-", false: "+"}[r.options[n]], n)
		case again:
			fmt.Fprintf(r.stdout(), "shopt %s %s\n", map[bool]string{true: "-s", false: "-u"}[r.options[n]], n)
		default:
			fmt.Fprintf(r.stdout(), "%-15s\t%s\n", n, on)
		}
	}
}

// shopts are the implemented options of shopt, and idleShopts those without effect in a script.
var (
	shopts = strings.Fields("dotglob expand_aliases extglob failglob globstar inherit_errexit lastpipe nocaseglob nocasematch " +
		"nullglob patsub_replacement globskipdots")
	idleShopts = strings.Fields("checkwinsize checkhash cmdhist histappend progcomp interactive_comments sourcepath promptvars " +
		"execfail huponexit mailwarn cdspell dirspell autocd globasciiranges extquote force_fignore hostcomplete complete_fullquote " +
		"lithist login_shell no_empty_cmd_completion xpg_echo shift_verbose restricted_shell histreedit histverify cdable_vars")
)

func (r *runner) shopt(args []string) {
	o, ok := r.letters("s u q p o", args)
	if !ok {
		return
	}
	set, names := o.last("s", "u"), o.operands
	known := slices.Concat(shopts, idleShopts)
	if o.has("o") {
		known = setNames
	}
	if len(names) == 0 {
		all := slices.Sorted(slices.Values(known))
		if set != "" {
			all = slices.DeleteFunc(all, func(n string) bool { return r.options[n] != (set == "s") })
		}
		r.printOptions(all, o.has("p"), "shopt")
		return
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			if strings.HasPrefix(n, "compat") || n == "localvar_inherit" || n == "assoc_expand_once" || n == "extdebug" || n == "gnu_errfmt" {
				r.refuse("shopt %s", n)
				return
			}
			r.fail(1, "shopt: %s: invalid shell option name", n)
			continue
		}
		if n == "xpg_echo" && set == "s" {
			r.refuse("shopt -s %s", n)
			return
		}
		if set != "" {
			r.options[n] = set == "s"
			continue
		}
		if !r.options[n] {
			r.status = 1
		}
		if !o.has("q") {
			r.printOptions([]string{n}, o.has("p"), "shopt")
		}
	}
}

func (r *runner) shift(args []string) {
	n, err := 1, error(nil)
	if len(args) > 1 {
		n, err = strconv.Atoi(args[1])
	}
	switch {
	case err != nil:
		r.fatal(map[bool]int{true: 2, false: 1}[r.posix], "shift: %s: numeric argument required", args[1])
	case n > len(r.params) && r.posix:
		r.fatal(2, "shift: can't shift that many")
	case n > len(r.params):
		r.status = 1
	case n < 0 && r.posix:
		r.fatal(2, "shift: Illegal number: %d", n)
	case n < 0:
		r.fail(1, "shift: %d: shift count out of range", n)
	default:
		r.params = r.params[n:]
	}
}

func (r *runner) unsetCall(args []string) {
	kind := ""
	for _, name := range args[1:] {
		if strings.HasPrefix(name, "-") && len(name) == 2 {
			kind = name
			continue
		}
		base, key, item := strings.Cut(strings.TrimSuffix(name, "]"), "[")
		if kind == "-f" || kind == "" && !r.posix && !syntax.ValidName(base) { // the name of a function
			delete(r.funcs, name)
			continue
		}
		if !syntax.ValidName(base) {
			if r.posix {
				r.fatal(2, "unset: %s: bad variable name", name)
			}
			r.fail(1, "unset: `%s': not a valid identifier", name)
			continue
		}
		scope := r.scope(base)
		v := scope[base]
		if v != nil && v.reference && kind != "-n" {
			base = v.text
			scope = r.scope(base)
			v = scope[base]
		}
		switch {
		case v == nil && kind == "" && r.funcs[name] != nil:
			delete(r.funcs, name)
		case v == nil:
		case v.readonly && r.posix:
			r.fatal(2, "unset: %s: is read only", name)
		case v.readonly:
			r.fail(1, "unset: %s: cannot unset: readonly variable", name)
		case item && (key == "@" || key == "*"):
			delete(scope, base)
		case item && v.kind != scalar:
			key = r.keyOf(v, r.expandText(key))
			delete(v.dict, key)
			v.keys = slices.DeleteFunc(v.keys, func(k string) bool { return k == key })
			if n, err := strconv.Atoi(key); err == nil {
				delete(v.list, n)
			}
		default:
			r.size -= v.bytes()
			if sameMap(scope, r.scopes[0]) || len(r.frames) == 0 {
				delete(scope, base)
			} else {
				scope[base] = &variable{}
			}
		}
	}
}

// declareCall implements declare and similar builtins if the name of the builtin is no literal word of the script.
func (r *runner) declareCall(args []string) {
	flags := ""
	var assigns []*syntax.Assign
	for _, word := range args[1:] {
		if flags, assigns = declaredWord(word, flags, assigns); len(assigns) == 0 || !r.posix {
			continue
		}
		one := assigns[len(assigns)-1]
		name := one.Name.Value
		if !syntax.ValidName(name) {
			r.fatal(2, "%s: %s: bad variable name", args[0], name)
		}
		if v := r.find(name); v != nil && v.readonly && !one.Naked {
			r.fatal(2, "%s: %s: is read only", args[0], name)
		}
	}
	if r.posix && args[0] == "local" && len(assigns) == 0 {
		return
	}
	if r.posix {
		flags = strings.ReplaceAll(flags, "-p", "")
	}
	r.declare(args[0], flags, assigns)
}

// quoteExpression quotes a text for an extended regular expression.
func quoteExpression(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(`.[]*^$+?(){}|\\`, text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

var readFlags = declare("r p: s a: n: N: d: t: u: e i:")

// read implements the builtin read.
func (r *runner) read(args []string) {
	o, unknown := readFlags.parse(args[1:])
	if r.posix && (unknown != "" || o.has("s", "a", "n", "N", "d", "t", "u", "e", "i")) {
		r.fatal(2, "read: Illegal option %s", unknown)
	}
	if unknown != "" {
		r.fail(2, "read: %s: invalid option", strings.TrimSuffix(unknown, ":"))
		return
	}
	valid := func(name string) bool {
		base, _, _ := strings.Cut(name, "[")
		if !syntax.ValidName(base) {
			r.fail(1, "read: `%s': not a valid identifier", name)
		}
		return syntax.ValidName(base)
	}
	if len(o.operands) > 0 && !valid(o.operands[0]) {
		return
	}
	if r.posix && len(o.operands) == 0 {
		r.fatal(2, "read: arg count")
	}
	in := r.fds[0]
	if o.has("u") {
		n, err := strconv.Atoi(o.value("u"))
		if in = r.fds[n]; err != nil || in == nil {
			r.fail(1, "read: %s: invalid file descriptor: Bad file descriptor", o.value("u"))
			return
		}
	}
	end, most := byte('\n'), -1
	if o.has("d") {
		end = append([]byte(o.value("d")), 0)[0]
	}
	for _, f := range []string{"n", "N"} {
		if o.has(f) {
			n, err := strconv.Atoi(o.value(f))
			if err != nil {
				r.fail(1, "read: %s: invalid number", o.value(f))
				return
			}
			most = n
		}
	}
	if o.has("t") {
		if d, ok := parseWait(o.value("t")); ok && d == 0 {
			r.status = 0
			return
		}
	}
	text, ended := r.readLine(in.reader(), end, most, o.has("N"), !o.has("r"))
	if !ended {
		r.status = 1
	}
	put := func(name, value string) {
		if err := r.set(name, value); err != nil {
			r.fail(1, "%v", err)
		}
	}
	ifs := r.ifs()
	switch {
	case o.has("a"):
		name := o.value("a")
		v := &variable{kind: indexedArray, set: true}
		for i, f := range ifsFields(text, ifs, 0) {
			v.put(strconv.Itoa(i), strings.ReplaceAll(f, "\x00", ""))
		}
		scope := r.scope(name)
		if old := scope[name]; old != nil {
			r.size -= old.bytes()
		}
		r.weigh(v.bytes())
		scope[name] = v
	case len(o.operands) == 0:
		put("REPLY", strings.ReplaceAll(text, "\x00", ""))
	case o.has("N"):
		put(o.operands[0], text)
		for _, name := range o.operands[1:] {
			put(name, "")
		}
	default:
		fields := ifsFields(text, ifs, len(o.operands))
		for i, name := range o.operands {
			value := ""
			if i < len(fields) {
				value = strings.ReplaceAll(fields[i], "\x00", "")
			}
			if !valid(name) {
				return
			}
			put(name, value)
		}
	}
}

// readLine reads up to the byte end. It removes a quoting backslash and writes a zero byte after the quoted
// character, which then is no separator.
func (r *runner) readLine(in io.Reader, end byte, most int, exact, quotes bool) (string, bool) {
	var b strings.Builder
	one := make([]byte, 1)
	next := func() (byte, bool) {
		for {
			r.meter.Step()
			n, err := in.Read(one)
			if n > 0 {
				return one[0], true
			}
			if err != nil {
				return 0, false
			}
		}
	}
	for count := 0; most < 0 || count < most; {
		if r.grow(1); b.Len() > maxVariables {
			r.weigh(b.Len())
		}
		c, ok := next()
		switch {
		case !ok:
			return b.String(), false
		case c == '\\' && quotes:
			if c, ok = next(); !ok {
				return b.String(), false
			}
			if c != '\n' {
				b.WriteByte(c)
				b.WriteByte(0)
				count++
			}
			continue
		case c == end && !exact:
			return b.String(), true
		case c == 0:
			continue
		}
		b.WriteByte(c)
		if c&0xc0 != 0x80 {
			count++
		}
		if c >= 0xc0 && count == most { // the remaining bytes of the character
			for range map[bool]int{true: 3, false: map[bool]int{true: 2, false: 1}[c >= 0xe0]}[c >= 0xf0] {
				if c, ok = next(); ok {
					b.WriteByte(c)
				}
			}
		}
	}
	return b.String(), true
}

// ifsFields splits a line into fields as read does, at most most fields if it is not 0. The last field contains the
// rest. A character before a zero byte is no separator.
func ifsFields(line, ifs string, most int) (fields []string) {
	is := func(s string, set string) bool {
		return s != "" && strings.IndexByte(set, s[0]) >= 0 && strings.IndexByte(ifs, s[0]) >= 0 && !(len(s) > 1 && s[1] == 0)
	}
	blank := func(s string) bool { return is(s, " \t\n") }
	trim := func(s string) string {
		for blank(s) {
			s = s[1:]
		}
		return s
	}
	for line = trim(line); line != ""; {
		end := 0
		for end < len(line) && !is(line[end:], ifs) {
			end++
		}
		if end == len(line) {
			return append(fields, line)
		}
		rest := trim(line[end:])
		if is(rest, ifs) {
			rest = trim(rest[1:])
		}
		if len(fields)+1 == most && rest != "" {
			for line != "" && blank(line[len(line)-1:]) && !(len(line) > 1 && line[len(line)-1] == 0) {
				line = line[:len(line)-1]
			}
			return append(fields, line)
		}
		fields, line = append(fields, line[:end]), rest
	}
	return fields
}

func (r *runner) mapfile(args []string) {
	o, unknown := declare("t d: n: s: u:").parse(args[1:])
	if unknown != "" {
		r.refuse("%s", strings.Join(args, " "))
		return
	}
	name := "MAPFILE"
	if len(o.operands) > 0 {
		name = o.operands[0]
	}
	if !syntax.ValidName(name) {
		r.fail(1, "%s: `%s': not a valid identifier", args[0], name)
		return
	}
	number := func(flag string, other int) int {
		if n, err := strconv.Atoi(o.value(flag)); err == nil {
			return n
		}
		return other
	}
	end := byte('\n')
	if o.has("d") {
		end = append([]byte(o.value("d")), 0)[0]
	}
	in := r.fds[number("u", 0)].reader()
	v := &variable{kind: indexedArray, set: true}
	scope := r.scope(name)
	if old := scope[name]; old != nil {
		r.size -= old.bytes()
	}
	most, skip := number("n", 0), number("s", 0)
	for i := 0; most == 0 || i < most+skip; i++ {
		line, ended := r.readLine(in, end, -1, false, false)
		if !ended && line == "" {
			break
		}
		if i < skip {
			continue
		}
		if line, _, _ = strings.Cut(line, "\x00"); ended && !o.has("t") {
			line += string(end)
		}
		v.put(strconv.Itoa(i-skip), line)
	}
	r.weigh(v.bytes())
	scope[name] = v
}

// getopts returns the next option of the arguments.
func (r *runner) getopts(args []string) {
	if len(args) < 3 {
		r.fail(2, "getopts: usage: getopts optstring name [arg ...]")
		return
	}
	letters, name, words := args[1], args[2], r.params
	if len(args) > 3 {
		words = args[3:]
	}
	silent := strings.HasPrefix(letters, ":")
	at, _ := strconv.Atoi(r.value("OPTIND"))
	at = max(at, 1)
	inside := r.optionAt
	if at > len(words) || inside >= len(words[at-1]) { // the arguments differ from those of the last call
		inside = 0
	}
	move := func() { _ = r.set("OPTIND", strconv.Itoa(at)) }
	done := func() {
		move()
		_ = r.set(name, "?")
		r.status = 1
	}
	if at > len(words) || inside == 0 && (len(words[at-1]) < 2 || words[at-1][0] != '-') {
		done()
		return
	}
	if inside == 0 {
		if words[at-1] == "--" {
			at++
			done()
			return
		}
		inside = 1
	}
	word := words[at-1]
	letter := word[inside : inside+1]
	if inside++; inside >= len(word) {
		at, inside = at+1, 0
	}
	i := strings.Index(letters, letter)
	delete(r.scope("OPTARG"), "OPTARG")
	switch {
	case i < 0 || letter == ":":
		_ = r.set(name, "?")
		if silent {
			_ = r.set("OPTARG", letter)
		} else if r.value("OPTERR") != "0" {
			r.complainOf("illegal option -- " + letter)
		}
	case i+1 < len(letters) && letters[i+1] == ':':
		switch {
		case inside > 0:
			_ = r.set("OPTARG", word[inside:])
			at, inside = at+1, 0
			_ = r.set(name, letter)
		case at <= len(words):
			_ = r.set("OPTARG", words[at-1])
			at++
			_ = r.set(name, letter)
		case silent:
			_ = r.set("OPTARG", letter)
			_ = r.set(name, ":")
		default:
			_ = r.set(name, "?")
			r.complainOf("option requires an argument -- " + letter)
		}
	default:
		_ = r.set(name, letter)
	}
	move()
	r.optionAt = inside
}

func (r *runner) complainOf(what string) {
	if r.posix {
		what = map[bool]string{true: "Illegal option -", false: "No arg for - option"}[strings.HasPrefix(what, "illegal")] + what[len(what)-1:]
		fmt.Fprintln(r.stderr(), what)
		return
	}
	fmt.Fprintf(r.stderr(), "%s: %s\n", r.name, what)
}

// signalNumbers are the Linux signals that scripts use.
var signalNumbers = map[string]int{"EXIT": 0, "HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8,
	"KILL": 9, "USR1": 10,
	"SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15, "STKFLT": 16, "CHLD": 17, "CONT": 18, "STOP": 19, "TSTP": 20,
	"TTIN": 21, "TTOU": 22,
	"URG": 23, "XCPU": 24, "XFSZ": 25, "VTALRM": 26, "PROF": 27, "WINCH": 28, "IO": 29, "PWR": 30, "SYS": 31}

// signal returns the name of a signal without SIG.
func signal(text string) (string, bool) {
	name := strings.TrimPrefix(strings.ToUpper(text), "SIG")
	if n, err := strconv.Atoi(text); err == nil {
		for known, number := range signalNumbers {
			if n == number {
				return known, true
			}
		}
		return "", false
	}
	_, some := signalNumbers[name]
	return name, some || slices.Contains([]string{"ERR", "DEBUG", "RETURN"}, name)
}

func (r *runner) trap(args []string) {
	words := args[1:]
	prints := false
	for len(words) > 0 && (words[0] == "-p" || words[0] == "-l" || words[0] == "--") {
		if words[0] == "-l" {
			r.refuse("trap -l")
			return
		}
		prints = prints || words[0] == "-p"
		words = words[1:]
	}
	r.trapMu.Lock()
	defer r.trapMu.Unlock()
	if len(words) == 0 || prints {
		all := maps.Clone(r.inherited)
		if all == nil || len(r.traps) > 0 && r.level == 0 {
			all = map[string]string{}
		}
		maps.Copy(all, r.traps)
		names := slices.Collect(maps.Keys(all))
		order := func(n string) int {
			if i, some := signalNumbers[n]; some {
				return i
			}
			return 64 + strings.Index("DEBUG ERR RETURN", n)
		}
		sort.Slice(names, func(i, j int) bool { return order(names[i]) < order(names[j]) })
		for _, n := range names {
			if len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { s, _ := signal(w); return s == n }) {
				continue
			}
			shown := n
			if number, some := signalNumbers[n]; some && number > 0 && !r.posix {
				shown = "SIG" + n
			}
			fmt.Fprintf(r.stdout(), "trap -- %s %s\n", singleQuoted(all[n]), shown)
		}
		return
	}
	text, names := words[0], words[1:]
	if _, number := strconv.Atoi(text); len(names) == 0 || number == nil {
		text, names = "-", words
	}
	r.inherited = nil
	for _, word := range names {
		name, ok := signal(word)
		if !ok || r.posix && (name == "ERR" || name == "DEBUG" || name == "RETURN") {
			if r.posix {
				r.fail(1, "trap: %s: bad trap", word)
				continue
			}
			r.fail(1, "trap: %s: invalid signal specification", word)
			continue
		}
		if text == "-" {
			delete(r.traps, name)
		} else {
			r.traps[name] = text
		}
	}
}

// handles reports whether the shell runs a trap for a signal, or ignores it. If neither, the signal ends the shell.
func (r *runner) handles(name string) (trap, ignores bool) {
	r.trapMu.Lock()
	defer r.trapMu.Unlock()
	text, some := r.traps[name]
	return some && text != "", some && text == "" || slices.Contains([]string{"CHLD", "CONT", "WINCH", "URG"}, name)
}

// send sends a signal to a shell that may run in another goroutine.
func (r *runner) send(name string) {
	r.trapMu.Lock()
	r.pending = append(r.pending, name)
	r.trapMu.Unlock()
}

func (r *runner) kill(args []string) {
	words := args[1:]
	name := "TERM"
	switch {
	case len(words) > 0 && (words[0] == "-l" || words[0] == "-L"):
		if len(words) == 1 {
			r.refuse("what kill -l prints")
			return
		}
		n, err := strconv.Atoi(words[1])
		if n > 128 { // an exit status
			n -= 128
		}
		if s, ok := signal(strconv.Itoa(n)); err == nil && ok {
			fmt.Fprintln(r.stdout(), s)
		} else if s, ok := signal(words[1]); ok {
			fmt.Fprintln(r.stdout(), signalNumbers[s])
		} else {
			r.fail(1, "kill: %s: invalid signal specification", words[1])
		}
		return
	case len(words) > 1 && (words[0] == "-s" || words[0] == "-n"):
		words = append([]string{"-" + words[1]}, words[2:]...)
	}
	if len(words) > 0 && len(words[0]) > 1 && words[0][0] == '-' && words[0] != "--" {
		s, ok := signal(words[0][1:])
		if !ok {
			r.fail(1, "kill: %s: invalid signal specification", words[0][1:])
			return
		}
		name, words = s, words[1:]
	}
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		r.fail(2, "kill: usage: kill [-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]")
		return
	}
	for _, word := range words {
		if !r.killOne(name, word) {
			return
		}
	}
}

// killOne sends a signal to a process or a job.
func (r *runner) killOne(name, word string) bool {
	number := signalNumbers[name]
	if strings.HasPrefix(word, "%") {
		one := r.jobOf(word)
		if one == nil {
			r.fail(1, "kill: %s: no such job", word)
			return true
		}
		word = strconv.Itoa(one.pid)
	}
	pid, err := strconv.Atoi(word)
	if err != nil {
		r.fail(1, "kill: %s: arguments must be process or job IDs", word)
		return true
	}
	if pid < 0 {
		pid = -pid
	}
	main := r.run.main
	target := map[bool]*runner{true: main}[pid == main.pid || pid == 0]
	if pid == r.pid {
		target = r
	}
	if target != nil {
		trap, ignores := target.handles(name)
		switch {
		case number == 0 || ignores && number != 9:
		case trap && number != 9:
			target.send(name)
			if target == r {
				r.tick()
			}
		case target == r:
			panic(unwound{true, 128 + number})
		default:
			target.send(name)
			target.end(signaled(number))
		}
		return true
	}
	r.run.mu.Lock()
	i := slices.IndexFunc(r.run.all, func(j *job) bool { return j.pid == pid })
	var one *job
	if i >= 0 {
		one = r.run.all[i]
	}
	r.run.mu.Unlock()
	if one == nil || one.ended() {
		r.fail(1, "kill: (%d) - No such process", pid)
		return true
	}
	to := cmp.Or(one.script.Load(), one.r)
	trap, ignores := to.handles(name)
	switch {
	case number == 0 || ignores && number != 9 || number == 18 || number == 19:
	case trap && number != 9:
		to.send(name)
	case number == 2 || number == 3: // jobs in the background ignore SIGINT and SIGQUIT
	default:
		one.end(signaled(number))
	}
	return true
}

func (j *job) ended() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// jobOf returns the job with a process ID or %NUMBER, or nil.
func (r *runner) jobOf(spec string) *job {
	if n, err := strconv.Atoi(spec); err == nil {
		if i := slices.IndexFunc(r.jobs, func(j *job) bool { return j.pid == n }); i >= 0 {
			return r.jobs[i]
		}
		return nil
	}
	live := slices.DeleteFunc(slices.Clone(r.jobs), func(j *job) bool { return j.waited })
	if len(live) == 0 {
		return nil
	}
	switch rest := strings.TrimPrefix(spec, "%"); rest {
	case "", "%", "+":
		return live[len(live)-1]
	case "-":
		return live[max(0, len(live)-2)]
	default:
		n, err := strconv.Atoi(rest)
		for _, j := range live {
			if err == nil && j.number == n || err != nil && strings.HasPrefix(j.text, rest) {
				return j
			}
		}
	}
	return nil
}

// await waits for a job. It returns false if a signal with a trap comes first.
func (r *runner) await(j *job) bool {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-j.done:
			j.waited = true
			return true
		case <-r.ctx.Done():
			r.tick()
			return false
		case <-tick.C:
			r.trapMu.Lock()
			come := slices.Clone(r.pending)
			r.trapMu.Unlock()
			if len(come) > 0 {
				r.tick()
				r.status = 128 + signalNumbers[come[0]]
				return false
			}
		}
	}
}

func (r *runner) wait(args []string) {
	words := args[1:]
	if len(words) > 0 && words[0] == "-n" {
		live := slices.DeleteFunc(slices.Clone(r.jobs), func(j *job) bool { return j.waited })
		if len(words) > 1 {
			live = nil
			for _, w := range words[1:] {
				if j := r.jobOf(w); j != nil && !j.waited {
					live = append(live, j)
				}
			}
		}
		if len(live) == 0 {
			r.status = 127
			return
		}
		first := make(chan struct{}, len(live))
		for _, j := range live {
			r.shell.guest.Wall.Go(nil, "wait -n", func() { <-j.done; first <- struct{}{} })
		}
		select {
		case <-first:
			live = slices.DeleteFunc(live, func(j *job) bool { return !j.ended() })
			j := slices.MinFunc(live, func(a, b *job) int { return int(a.order - b.order) })
			j.waited = true
			r.status = j.status
		case <-r.ctx.Done():
		}
		r.tick()
		return
	}
	if len(words) == 0 {
		for _, j := range r.jobs {
			if !r.await(j) {
				return
			}
		}
		r.jobs = nil
		r.status = 0
		return
	}
	for _, w := range words {
		if strings.HasPrefix(w, "-") {
			r.refuse("wait %s", w)
			return
		}
		one := r.jobOf(w)
		_, err := strconv.Atoi(w)
		switch {
		case err != nil && !strings.HasPrefix(w, "%"):
			r.fail(1, "wait: `%s': not a pid or valid job spec", w)
		case one == nil:
			r.fail(127, "wait: pid %s is not a child of this shell", w)
		case r.await(one):
			r.status = one.status
		default:
			return
		}
	}
}

func (r *runner) jobsCall(args []string) {
	for i, j := range r.jobs {
		if j.waited || j.text == "" {
			continue
		}
		if slices.Contains(args, "-p") {
			fmt.Fprintln(r.stdout(), j.pid)
			continue
		}
		sign := " "
		if i == len(r.jobs)-1 {
			sign = "+"
		} else if i == len(r.jobs)-2 {
			sign = "-"
		}
		state, tail := "Running", " &"
		if j.ended() {
			state, tail = "Done", ""
			if j.status != 0 {
				state = fmt.Sprintf("Exit %d", j.status)
			}
			j.waited = true
		}
		if slices.Contains(args, "-r") && state != "Running" {
			continue
		}
		fmt.Fprintf(r.stdout(), "[%d]%s  %-24s%s%s\n", j.number, sign, state, j.text, tail)
	}
}

// locate returns what a name refers to, as bash's type does, and the path or alias text.
func (r *runner) locate(name string) (kind, where string) {
	s := r.shell
	switch {
	case r.isKeyword(name):
		return "keyword", name
	case r.aliases[name] != "" && (r.options["expand_aliases"] || r.posix):
		return "alias", "alias " + name + "='" + r.aliases[name] + "'"
	case r.funcs[name] != nil:
		return "function", name
	case r.builtin(name) != nil:
		return "builtin", name
	case strings.Contains(name, "/"):
		if info, err := s.guest.Root.Stat(r.abs(name)); err == nil && info.Mode()&0o111 != 0 || isBin(name) &&
			s.programPath(path.Base(name)) != "" {
			return "file", name
		}
		return "", ""
	}
	if at := cmp.Or(s.inPath(r.dir, r.value("PATH"), name, isExecutable), s.programPath(name)); at != "" {
		return "file", at
	}
	return "", ""
}

// commandCall implements command: -v and -V look up names; otherwise a command runs, and functions are ignored.
func (r *runner) commandCall(args []string) {
	o, ok := r.letters("p v V", args)
	words := o.operands
	switch {
	case !ok:
		return
	case o.has("V"):
		r.typeCall(append([]string{"type"}, words...))
		return
	case o.has("v"):
		r.status = map[bool]int{true: 127, false: 1}[r.posix]
		for _, n := range words {
			if _, where := r.locate(n); where != "" {
				fmt.Fprintln(r.stdout(), where)
				r.status = 0
			}
		}
		return
	}
	if len(words) == 0 {
		return
	}
	if b := r.builtin(words[0]); b != nil {
		b(r, words)
		return
	}
	r.program(words, nil)
}

func (r *runner) typeCall(args []string) {
	o, ok := options{operands: args[1:]}, true
	if !r.posix {
		o, ok = r.letters("t p P a f", args)
	}
	if o.has("a") {
		r.refuse("type -a")
	}
	if !ok || o.has("a") {
		return
	}
	short, only := o.has("t"), o.has("p", "P")
	for _, n := range o.operands {
		kind, where := r.locate(n)
		out := r.stdout()
		switch {
		case kind == "" && (short || only):
			r.status = 1
		case kind == "" && r.posix:
			fmt.Fprintf(out, "%s: not found\n", n)
			r.status = 127
		case kind == "":
			r.fail(1, "type: %s: not found", n)
		case short:
			fmt.Fprintln(out, kind)
		case only:
			if kind == "file" {
				fmt.Fprintln(out, where)
			}
		case kind == "file":
			fmt.Fprintf(out, "%s is %s\n", n, where)
		case kind == "function" && r.posix:
			fmt.Fprintf(out, "%s is a shell function\n", n)
		case kind == "function":
			fmt.Fprintf(out, "%s is a function\n", n)
			r.printFunction(n)
		case kind == "alias":
			fmt.Fprintf(out, "%s is aliased to `%s'\n", n, r.aliases[n])
		case kind == "builtin" && r.posix && isSpecial(n):
			fmt.Fprintf(out, "%s is a special shell builtin\n", n)
		default:
			fmt.Fprintf(out, "%s is a shell %s\n", n, kind)
		}
	}
}

// printFunction refuses to print a function if the output is read, because bash prints functions in its own layout.
func (r *runner) printFunction(string) {
	if r.fds[1] == nil || r.fds[1].w != io.Discard {
		r.refuse("the text that bash prints of a function")
	}
}

func (r *runner) hash(args []string) {
	for _, n := range args[1:] {
		if strings.HasPrefix(n, "-") {
			continue
		}
		if kind, _ := r.locate(n); kind == "" {
			r.fail(1, "hash: %s: not found", n)
		}
	}
}

func (r *runner) alias(args []string) {
	if len(args) == 1 || args[1] == "-p" {
		for _, n := range slices.Sorted(maps.Keys(r.aliases)) {
			fmt.Fprintf(r.stdout(), "alias %s=%s\n", n, singleQuoted(r.aliases[n]))
		}
		return
	}
	for _, a := range args[1:] {
		name, text, some := strings.Cut(a, "=")
		if some {
			r.aliases[name] = text
		} else if old, known := r.aliases[name]; known {
			fmt.Fprintf(r.stdout(), "alias %s=%s\n", name, singleQuoted(old))
		} else {
			r.fail(1, "alias: %s: not found", name)
		}
	}
}

func (r *runner) unalias(args []string) {
	for _, n := range args[1:] {
		if n == "-a" {
			clear(r.aliases)
		} else if _, known := r.aliases[n]; !known {
			r.fail(1, "unalias: %s: not found", n)
		}
		delete(r.aliases, n)
	}
}

func (r *runner) umaskCall(args []string) {
	mask := umaskOf(r.umask)
	text := ""
	if len(args) > 1 {
		text = args[1]
	}
	switch text {
	case "":
		fmt.Fprintf(r.stdout(), "%04o\n", mask)
		return
	case "-p":
		fmt.Fprintf(r.stdout(), "umask %04o\n", mask)
		return
	case "-S":
		for i, who := range []string{"u=", ",g=", ",o="} {
			bits := (^mask >> (6 - 3*i)) & 7
			fmt.Fprint(r.stdout(), who, map[bool]string{true: "r"}[bits&4 != 0], map[bool]string{true: "w"}[bits&2 != 0],
				map[bool]string{true: "x"}[bits&1 != 0])
		}
		fmt.Fprintln(r.stdout())
		return
	}
	if n, err := strconv.ParseUint(text, 8, 12); err == nil {
		mask = umaskOf(strconv.FormatUint(n, 8))
	} else if allowed, ok := changedMode(text, ^mask&0o777, 0); ok {
		mask = ^allowed & 0o777
	} else {
		r.fail(1, "umask: `%s': invalid symbolic mode operator", text)
		return
	}
	if mask&0o022 != 0o022 { // the umask of the simulator applies to all files
		r.refuse("umask %s", text)
		return
	}
	r.umask = fmt.Sprintf("%04o", mask)
}

func (r *runner) caller(args []string) {
	n := 0
	if len(args) > 1 {
		n, _ = strconv.Atoi(args[1])
	}
	if n >= len(r.frames) {
		r.status = 1
		return
	}
	at := len(r.frames) - 1 - n
	file, name := r.name, "main"
	if at > 0 {
		file, name = cmp.Or(r.frames[at-1].file, r.name), r.frames[at-1].name
	}
	if len(args) > 1 {
		fmt.Fprintf(r.stdout(), "%d %s %s\n", r.frames[at].line, name, file)
		return
	}
	fmt.Fprintf(r.stdout(), "%d %s\n", r.frames[at].line, file)
}

// isSpecial reports whether a builtin is a special builtin, whose errors end a POSIX shell.
func isSpecial(name string) bool {
	return slices.Contains(strings.Fields(". : break continue eval exec exit export readonly return set shift times trap unset"), name)
}

// compgen lists names: -G PATTERN of files, -v of variables, -A function of functions.
func (r *runner) compgen(args []string) {
	var list []string
	switch kind := strings.Join(args[1:max(1, len(args)-1)], " "); {
	case kind == "-G":
		list, _ = r.glob([]segment{{text: args[2]}})
	case kind == "-v":
		list = r.names(args[2], true)
	case strings.Join(args[1:], " ") == "-A function":
		list = slices.Sorted(maps.Keys(r.funcs))
	default:
		r.refuse("%s", strings.Join(args, " "))
		return
	}
	r.status = map[bool]int{true: 1, false: 0}[len(list) == 0]
	for _, n := range list {
		fmt.Fprintln(r.stdout(), n)
	}
}

// testClause runs [[ ]].
func (r *runner) testClause(c *syntax.TestClause) {
	defer func() {
		if v := recover(); v == wrongTest {
			r.status = 2
		} else if v != nil {
			panic(v)
		}
		r.statuses = []int{r.status}
	}()
	r.status = map[bool]int{false: 1}[r.testExpr(c.X)]
}

// wrongTest is the panic that ends a [[ ]] with an error.
var wrongTest = new(int)

func (r *runner) testExpr(x syntax.TestExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		text := r.word(x)
		r.trace("[[ -n " + traceQuoted(text, false) + " ]]")
		return text != ""
	case *syntax.ParenTest:
		return r.testExpr(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			return !r.testExpr(x.X)
		}
		word, _ := x.X.(*syntax.Word)
		text := r.word(word)
		r.trace("[[ " + x.Op.String() + " " + traceQuoted(text, false) + " ]]")
		if x.Op == syntax.TsVarSet {
			return r.isSet(text)
		}
		return r.tester().unary(x.Op.String(), text)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.AndTest:
			return r.testExpr(x.X) && r.testExpr(x.Y)
		case syntax.OrTest:
			return r.testExpr(x.X) || r.testExpr(x.Y)
		}
		left, _ := x.X.(*syntax.Word)
		right, _ := x.Y.(*syntax.Word)
		return r.compare(x.Op, r.word(left), right)
	}
	return false
}

func (r *runner) tester() *testing {
	return &testing{p: r.process([]string{"["})}
}

func (r *runner) compare(op syntax.BinTestOperator, left string, right *syntax.Word) bool {
	shown := func(text string) {
		r.trace("[[ " + traceQuoted(left, false) + " " + op.String() + " " + text + " ]]")
	}
	switch op {
	case syntax.TsReMatch:
		var b strings.Builder
		for _, s := range r.single(right, false) {
			if s.quoted {
				b.WriteString(quoteExpression(s.text))
			} else {
				b.WriteString(s.text)
			}
		}
		shown(b.String())
		re, err := regex.Compile(b.String(), regex.Options{Extended: true, IgnoreCase: r.options["nocasematch"]})
		if err != nil {
			if what, some := strings.CutPrefix(err.Error(), "casement does not simulate "); some {
				r.refuse("%s", what)
			}
			panic(wrongTest)
		}
		found := re.Find(r.meter, left)
		v := &variable{kind: indexedArray, set: true}
		for i := 0; i < len(found); i += 2 {
			text := ""
			if found[i] >= 0 {
				text = left[found[i]:found[i+1]]
			}
			v.put(strconv.Itoa(i/2), text)
		}
		r.scopes[0]["BASH_REMATCH"] = v
		return found != nil
	case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch:
		pattern := r.pattern(right)
		shown(removeEscapes(pattern))
		return r.matches(pattern, left) == (op != syntax.TsNoMatch)
	}
	text := r.word(right)
	shown(traceQuoted(text, false))
	switch op {
	case syntax.TsBefore:
		return left < text
	case syntax.TsAfter:
		return left > text
	case syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
		return r.tester().files(left, op.String(), text)
	}
	var x, y int64
	wrong := false
	func() { // a wrong expression counts as false here
		defer func() {
			u, some := recover().(unwound)
			if wrong = some; some && u.exit {
				panic(u)
			}
		}()
		x, y = r.arithmText(left), r.arithmText(text)
	}()
	return !wrong && ordered(op.String(), cmp.Compare(x, y))
}
