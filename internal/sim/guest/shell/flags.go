package shell

import (
	"context"
	"slices"
	"strings"
)

// given is a flag on a command line, by the first name of its declaration.
type given struct{ name, value string }

// options are the flags and operands of a command line, in order.
type options struct {
	given    []given
	operands []string
}

// has reports whether one of the flags was given.
func (o options) has(names ...string) bool {
	for _, g := range o.given {
		for _, n := range names {
			if g.name == n {
				return true
			}
		}
	}
	return false
}

// value returns the last value of a flag, or "".
func (o options) value(name string) (last string) {
	for _, g := range o.given {
		if g.name == name {
			last = g.value
		}
	}
	return last
}

// values returns all values of a flag, in order.
func (o options) values(name string) (all []string) {
	for _, g := range o.given {
		if g.name == name {
			all = append(all, g.value)
		}
	}
	return all
}

// last returns the name of the flag that comes last on the command line, or "".
func (o options) last(names ...string) (last string) {
	for _, g := range o.given {
		for _, n := range names {
			if g.name == n {
				last = n
			}
		}
	}
	return last
}

// flag is a declared flag.
type flag struct {
	name            string
	value, optional bool
	// many marks a flag that may be repeated, and refused a known flag that is not simulated; both are for slashed.
	many, refused bool
}

// declaration has the flags that a command implements. Any other flag is refused by name.
type declaration struct {
	flags map[string]flag
	// The ways in which flags are written: ordered ends flags at the first operand, words reads -word as one flag,
	// count reads -5 as -n 5, glued reads /s/q and /c:VALUE, and letters also reads /sq.
	ordered, words, count, glued, letters bool
}

// declare parses a declaration: flags separated by blanks, with their names separated by |; a flag of one letter is a
// short flag. A suffix : means that the flag has a value, =? an optional value, ! that it is not simulated, and *
// that it may be repeated. The first word may say how flags are written: + before all operands, - words with one
// dash, # a number for -n, / one directly after the other, // also several letters after one slash.
func declare(text string) declaration {
	d := declaration{flags: map[string]flag{}}
	for _, word := range strings.Fields(text) {
		switch word {
		case "+":
			d.ordered = true
			continue
		case "-":
			d.words = true
			continue
		case "#":
			d.count = true
			continue
		case "/", "//":
			d.glued, d.letters = true, word == "//"
			continue
		}
		f := flag{}
		word, f.refused = strings.CutSuffix(word, "!")
		word, f.many = strings.CutSuffix(word, "*")
		word, f.optional = strings.CutSuffix(word, "=?")
		word, f.value = strings.CutSuffix(word, ":")
		names := strings.Split(word, "|")
		f.name = names[0]
		for _, n := range names {
			d.flags[n] = f
		}
	}
	return d
}

// flagged returns a command that parses its flags and passes them to run.
func flagged(flags string, run func(ctx context.Context, p *Process, o options) int) Command {
	d := declare(flags)
	return func(ctx context.Context, p *Process) int {
		o, unknown := d.parse(p.Args[1:])
		switch {
		case unknown == "--help" || unknown == "--version":
			return p.Refuse("%s %s", p.name(), unknown)
		case strings.HasSuffix(unknown, ":"):
			name := strings.Trim(unknown, "-:")
			what := "option requires an argument -- '" + name + "'"
			if strings.HasPrefix(unknown, "--") {
				what = "option '--" + name + "' requires an argument"
			}
			return p.Fail(usageCode(p.name()), "%s: %s", p.name(), what)
		case unknown != "":
			return p.refuseAs(usageCode(p.name()), "%s %s", p.name(), unknown)
		}
		return run(ctx, p, o)
	}
}

// usageCode returns the exit code of a program for a wrong command line.
func usageCode(name string) int {
	switch name {
	case "grep", "egrep", "fgrep", "sort", "ls", "awk", "mawk", "gawk", "curl", "diff", "cmp", "tar":
		return 2
	case "flock":
		return 64
	case "timeout", "env", "xargs", "nohup":
		return 125
	}
	return 1
}

// parse separates flags from operands. unknown is the first flag that is not declared, or, with a colon, that has no
// value.
func (d declaration) parse(args []string) (o options, unknown string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		next := func() (string, bool) {
			if i++; i < len(args) {
				return args[i], true
			}
			return "", false
		}
		switch {
		case a == "--":
			o.operands = append(o.operands, args[i+1:]...)
			return o, ""
		case len(a) < 2 || a[0] != '-':
			o.operands = append(o.operands, a)
			if d.ordered {
				o.operands = append(o.operands, args[i+1:]...)
				return o, ""
			}
		case a[1] == '-' || d.words:
			unknown = d.long(&o, a, next)
		case d.count && strings.Trim(a[1:], "0123456789") == "":
			o.given = append(o.given, given{"n", a[1:]})
		default:
			unknown = d.short(&o, a, next)
		}
		if unknown != "" {
			return o, unknown
		}
	}
	return o, ""
}

func (d declaration) long(o *options, arg string, next func() (string, bool)) string {
	name, value, some := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	f, ok := d.flags[name]
	if !ok { // GNU accepts an unambiguous prefix of a name
		found := map[string]flag{}
		for n, candidate := range d.flags {
			if len(n) > 1 && strings.HasPrefix(n, name) && !d.words {
				found[candidate.name] = candidate
			}
		}
		for _, candidate := range found {
			f, ok = candidate, len(found) == 1
		}
	}
	switch {
	case !ok || some && !f.value && !f.optional:
		return "--" + name
	case f.value && !some:
		if value, ok = next(); !ok {
			return "--" + name + ":"
		}
	}
	o.given = append(o.given, given{f.name, value})
	return ""
}

func (d declaration) short(o *options, arg string, next func() (string, bool)) string {
	for letters := arg[1:]; letters != ""; {
		name := letters[:1]
		letters = letters[1:]
		f, ok := d.flags[name]
		if !ok {
			return "-" + name
		}
		value := ""
		switch {
		case f.optional:
			value, letters = letters, ""
		case f.value && letters != "":
			value, letters = letters, ""
		case f.value:
			if value, ok = next(); !ok {
				return "-" + name + ":"
			}
		}
		o.given = append(o.given, given{f.name, value})
	}
	return ""
}

// slashed separates switches of Windows programs from operands: after a slash, or after a dash if the declaration has
// words; the case is ignored. wrong is the first switch that is not as declared, and kind the reason: '?' unknown,
// '!' not simulated, '+' repeated, or ':' without its value.
func (d declaration) slashed(args []string) (o options, kind byte, wrong string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "" || a[0] != '/' && !(d.words && a[0] == '-') {
			o.operands = append(o.operands, a)
			continue
		}
		name, value, colon := strings.Cut(a[1:], ":")
		if f := d.flags[strings.ToLower(name)]; colon && d.glued && (f.value || f.optional) {
			if f.refused {
				return o, '!', strings.ToLower(a)
			}
			o.given = append(o.given, given{f.name, value})
			continue
		}
		names := []string{strings.ToLower(a[1:])}
		if d.glued {
			names = strings.Split(names[0], "/")
		}
		unknown := func(letter rune) bool { return d.flags[string(letter)].name == "" }
		for i := 0; d.letters && i < len(names); i++ {
			if name := names[i]; d.flags[name].name == "" && name != "" && !strings.ContainsFunc(name, unknown) {
				names = slices.Replace(names, i, i+1, strings.Split(name, "")...)
			}
		}
		for _, name := range names {
			f, known := d.flags[name]
			switch {
			case !known:
				return o, '?', "/" + name
			case f.refused:
				return o, '!', "/" + name
			case !f.many && !d.glued && o.has(f.name):
				return o, '+', "/" + name
			case f.value && i+1 == len(args):
				return o, ':', "/" + name
			}
			value := ""
			if f.value {
				i++
				value = args[i]
			}
			o.given = append(o.given, given{f.name, value})
		}
	}
	return o, 0, ""
}
