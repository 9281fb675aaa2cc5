package shell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/sim/guest/regex"
)

// walk visits a file and the files below it in the order of names. It does not enter a folder for which visit returns
// false.
func (p *Process) walk(name string, depth int, visit func(name string, depth int, info fs.FileInfo) bool) {
	info, err := p.Guest.Root.Lstat(p.Abs(name))
	if err != nil || depth > 64 || !visit(name, depth, info) || !info.IsDir() {
		return
	}
	entries, err := p.Guest.Root.ReadDir(p.Abs(name))
	if err != nil {
		return
	}
	for _, e := range entries {
		p.walk(strings.TrimSuffix(name, "/")+"/"+e.Name(), depth+1, visit)
	}
}

// findRun is one run of find.
type findRun struct {
	p        *Process
	tokens   []string
	at       int
	min, max int
	acts     bool // an action was named, so find does not print by default
	prune    bool
	depth    bool
	quit     bool
	// regextype is set for regular expressions of another syntax than find's own.
	regextype bool
	batch     map[int][]string
	code      int
	failed    string // the word of the expression that is wrong
	refused   string
}

type found struct {
	name  string
	root  string
	depth int
	info  fs.FileInfo
}

type predicate func(ctx context.Context, f found) bool

// find walks folders and applies an expression.
func find(ctx context.Context, p *Process) int {
	args := p.Args[1:]
	var roots []string
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") && args[0] != "(" && args[0] != "!" {
		roots, args = append(roots, args[0]), args[1:]
	}
	f := &findRun{p: p, tokens: args, max: 1 << 20, batch: map[int][]string{}}
	test, ok := f.or()
	if f.refused != "" {
		return p.Refuse("find %s", f.refused)
	}
	if f.failed != "" {
		return p.Fail(1, "find: %s", f.failed)
	}
	if !ok || f.at < len(f.tokens) {
		return p.Fail(1, "find: the expression is wrong")
	}
	for _, root := range orFolder(roots) {
		if _, err := p.Guest.Root.Lstat(p.Abs(root)); err != nil {
			f.code = p.Fail(1, "find: '%s': %s", root, reason(err))
			continue
		}
		var late []found // with -depth, a folder comes after its contents
		p.walk(root, 0, func(name string, depth int, info fs.FileInfo) bool {
			f.prune = false
			if f.depth {
				if depth >= f.min {
					late = append(late, found{name, root, depth, info})
				}
				return depth < f.max
			}
			if !f.quit && depth >= f.min && test(ctx, found{name, root, depth, info}) && !f.acts && !f.quit {
				p.Printf("%s\n", name)
			}
			return !f.prune && !f.quit && depth < f.max
		})
		for _, x := range deepFirst(late) {
			if !f.quit && test(ctx, x) && !f.acts && !f.quit {
				p.Printf("%s\n", x.name)
			}
		}
	}
	for at, names := range f.batch {
		f.code = max(f.code, min(1, p.shell.child(ctx, p, slices.Concat(f.command(at), names))))
	}
	return f.code
}

// deepFirst reorders files so that each folder comes after its contents.
func deepFirst(all []found) (out []found) {
	for i := 0; i < len(all); {
		end := i + 1
		for end < len(all) && all[end].depth > all[i].depth {
			end++
		}
		out = append(append(out, deepFirst(all[i+1:end])...), all[i])
		i = end
	}
	return out
}

func (f *findRun) peek() string {
	if f.at < len(f.tokens) {
		return f.tokens[f.at]
	}
	return ""
}

func (f *findRun) next() string {
	t := f.peek()
	f.at++
	return t
}

// argument returns the word after a predicate.
func (f *findRun) argument(of string) string {
	if f.at == len(f.tokens) {
		f.failed = "missing argument to '" + of + "'"
	}
	return f.next()
}

func (f *findRun) or() (predicate, bool) {
	left, ok := f.and()
	for ok && (f.peek() == "-o" || f.peek() == "-or") {
		f.at++
		right, ok2 := f.and()
		if !ok2 {
			return nil, false
		}
		a := left
		left = func(ctx context.Context, x found) bool { return a(ctx, x) || right(ctx, x) }
	}
	return left, ok
}

func (f *findRun) and() (predicate, bool) {
	all := []predicate{}
	for f.at < len(f.tokens) {
		switch f.peek() {
		case "-o", "-or", ")":
			return every(all), true
		case "-a", "-and":
			f.at++
			continue
		}
		one, ok := f.primary()
		if !ok {
			return nil, false
		}
		all = append(all, one)
	}
	return every(all), true
}

func every(all []predicate) predicate {
	return func(ctx context.Context, x found) bool {
		for _, one := range all {
			if !one(ctx, x) {
				return false
			}
		}
		return true
	}
}

func always(context.Context, found) bool { return true }

func (f *findRun) primary() (predicate, bool) {
	switch t := f.next(); t {
	case "(":
		inner, ok := f.or()
		return inner, ok && f.next() == ")"
	case "!", "-not":
		inner, ok := f.primary()
		return func(ctx context.Context, x found) bool { return !inner(ctx, x) }, ok
	case "-maxdepth", "-mindepth":
		n, err := strconv.Atoi(f.argument(t))
		if n < 0 {
			return nil, false
		}
		if t == "-maxdepth" {
			f.max = n
		} else {
			f.min = n
		}
		return always, err == nil
	case "-name", "-iname", "-path", "-wholename", "-ipath":
		return f.named(t, f.argument(t))
	case "-regex", "-iregex":
		text := f.argument(t)
		re, err := regex.Compile(text, regex.Options{Line: true, IgnoreCase: t == "-iregex"})
		if err != nil || f.regextype || strings.ContainsAny(text, `|+?{`) {
			f.refused = t + " " + text // a syntax of Emacs that differs from POSIX
			return always, true
		}
		return func(_ context.Context, x found) bool { return re.Match(f.p.meter, x.name) }, true
	case "-regextype":
		f.regextype = true
		return always, f.argument(t) != ""
	case "-quit":
		return func(context.Context, found) bool { f.quit = true; return true }, true
	case "-readable", "-writable":
		return always, true
	case "-executable":
		return func(_ context.Context, x found) bool { return x.info.IsDir() || x.info.Mode()&0o111 != 0 }, true
	case "-type":
		kinds := strings.ReplaceAll(f.argument(t), ",", "")
		if kinds == "" || strings.Trim(kinds, "bcdpflsD") != "" {
			return nil, false
		}
		return func(_ context.Context, x found) bool {
			return strings.ContainsRune(kinds, kindLetter(x.info.Mode()))
		}, true
	case "-empty":
		return func(_ context.Context, x found) bool {
			if x.info.IsDir() {
				entries, err := f.p.Guest.Root.ReadDir(f.p.Abs(x.name))
				return err == nil && len(entries) == 0
			}
			return x.info.Size() == 0
		}, true
	case "-size":
		return f.size(f.argument(t))
	case "-perm":
		return f.perm(f.argument(t))
	case "-newermt":
		text := f.argument(t)
		when, err := parseDate(text, f.p.now())
		if err == errNoDate {
			f.failed = "I cannot figure out how to interpret '" + text + "' as a date or time"
		} else if err != nil {
			f.refused = t + " " + text
		}
		return func(_ context.Context, x found) bool { return x.info.ModTime().After(when) }, true
	case "-newer":
		text := f.argument(t)
		info, err := f.p.Guest.Root.Stat(f.p.Abs(text))
		if err != nil {
			f.failed = "'" + text + "': " + reason(err)
		}
		return func(_ context.Context, x found) bool { return x.info.ModTime().After(info.ModTime()) }, err == nil
	case "-mtime", "-mmin":
		return f.age(t, f.argument(t))
	case "-xtype", "-lname":
		word := f.argument(t)
		m := compilePattern(word, false, false)
		if m.err != nil {
			return nil, false
		}
		return func(_ context.Context, x found) bool {
			target, err := f.p.Guest.Root.Readlink(f.p.Abs(x.name))
			if t == "-lname" {
				return err == nil && m.whole(f.p.meter, target)
			}
			info, failed := f.p.Guest.Root.Stat(f.p.Abs(x.name))
			if failed != nil {
				return word == "l"
			}
			return strings.ContainsRune(word, kindLetter(info.Mode()))
		}, true
	case "-user", "-group", "-uid", "-gid":
		name := f.argument(t)
		return func(context.Context, found) bool { return name == "root" || name == "0" }, true // every file belongs to root
	case "-depth", "-d":
		f.depth = true
		return always, true
	case "-true", "-xdev", "-mount", "-noleaf":
		return always, true
	case "-false":
		return func(context.Context, found) bool { return false }, true
	case "-prune":
		return func(context.Context, found) bool { f.prune = true; return true }, true
	default:
		return f.action(t)
	}
}

func kindLetter(m fs.FileMode) rune {
	switch {
	case m.IsDir():
		return 'd'
	case m&fs.ModeSymlink != 0:
		return 'l'
	}
	return 'f'
}

// named returns a predicate that matches a name or a path with a shell pattern, in which * also matches /.
func (f *findRun) named(kind, glob string) (predicate, bool) {
	re := compilePattern(glob, false, strings.HasPrefix(kind, "-i"))
	whole := strings.HasSuffix(kind, "name") && kind != "-wholename"
	return func(_ context.Context, x found) bool {
		if whole {
			return re.whole(f.p.meter, path.Base(x.name))
		}
		return re.whole(f.p.meter, x.name)
	}, re.err == nil
}

// perm parses MODE, -MODE for all of its bits, or /MODE for any.
func (f *findRun) perm(text string) (predicate, bool) {
	kind := ""
	if text != "" && (text[0] == '-' || text[0] == '/') {
		kind, text = text[:1], text[1:]
	}
	want, ok := uint64(0), text != ""
	if n, err := strconv.ParseUint(text, 8, 12); err == nil {
		want = n
	} else if mode, symbolic := changedMode(text, 0, 0); symbolic {
		want = uint64(mode)
	} else {
		ok = false
	}
	return func(_ context.Context, x found) bool {
		has := uint64(x.info.Mode().Perm())
		for bit, flag := range map[uint64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
			if x.info.Mode()&flag != 0 {
				has |= bit
			}
		}
		switch kind {
		case "-":
			return has&want == want
		case "/":
			return has&want != 0 || want == 0
		}
		return has == want
	}, ok
}

// printf returns the action of -printf with a format.
func (f *findRun) printf(format string) (predicate, bool) {
	format = unescape(format)
	for i := 0; i+1 < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		if i++; format[i] == 'T' && i+1 < len(format) {
			i++
			if _, known := timeText(format[i:i+1], f.p.now()); known {
				continue
			}
		}
		if strings.IndexByte("%pfhPmsdyl", format[i]) < 0 {
			f.refused = "-printf %" + format[i:i+1]
			return always, true
		}
	}
	return func(_ context.Context, x found) bool {
		var b strings.Builder
		for i := 0; i < len(format); i++ {
			if format[i] != '%' || i+1 == len(format) {
				b.WriteByte(format[i])
				continue
			}
			i++
			switch format[i] {
			case '%':
				b.WriteByte('%')
			case 'p':
				b.WriteString(x.name)
			case 'f':
				b.WriteString(path.Base(x.name))
			case 'h':
				dir := "."
				if at := strings.LastIndexByte(x.name, '/'); at >= 0 {
					dir = x.name[:at]
				}
				b.WriteString(dir)
			case 'P':
				b.WriteString(strings.TrimPrefix(strings.TrimPrefix(x.name, x.root), "/"))
			case 'm':
				b.WriteString(strconv.FormatUint(uint64(x.info.Mode().Perm()), 8))
			case 's':
				b.WriteString(strconv.FormatInt(x.info.Size(), 10))
			case 'd':
				b.WriteString(strconv.Itoa(x.depth))
			case 'T':
				i++
				text, _ := timeText(format[i:i+1], x.info.ModTime()) // the letter was checked before
				b.WriteString(text)
			case 'y':
				b.WriteRune(kindLetter(x.info.Mode()))
			case 'l':
				target, _ := f.p.Guest.Root.Readlink(f.p.Abs(x.name)) // for a file that is no link, the text is empty
				b.WriteString(target)
			}
		}
		f.p.Printf("%s", b.String())
		return true
	}, true
}

// timeText returns a time as %T of -printf prints it: @ is the seconds, and the other letters are date's, except
// those with fractions.
func timeText(letter string, at time.Time) (text string, known bool) {
	if letter == "@" {
		return fmt.Sprintf("%d.%09d0", at.Unix(), at.Nanosecond()), true
	}
	text, unknown := dateText("%"+letter, at.UTC())
	return text, unknown == "" && !strings.Contains("STXcrs+", letter)
}

// compared parses +N, -N or N into a comparison.
func compared(text string) (func(n int64) bool, bool) {
	n, err := strconv.ParseInt(strings.TrimLeft(text, "+-"), 10, 64)
	switch {
	case strings.HasPrefix(text, "+"):
		return func(x int64) bool { return x > n }, err == nil
	case strings.HasPrefix(text, "-"):
		return func(x int64) bool { return x < n }, err == nil
	}
	return func(x int64) bool { return x == n }, err == nil
}

func (f *findRun) size(text string) (predicate, bool) {
	unit := int64(512)
	if text != "" {
		if u, ok := map[byte]int64{'c': 1, 'k': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'b': 512}[text[len(text)-1]]; ok {
			unit, text = u, text[:len(text)-1]
		}
	}
	is, ok := compared(text)
	return func(_ context.Context, x found) bool { return is((x.info.Size() + unit - 1) / unit) }, ok
}

func (f *findRun) age(kind, text string) (predicate, bool) {
	unit := time.Minute
	if kind == "-mtime" {
		unit = 24 * time.Hour
	}
	is, ok := compared(text)
	return func(_ context.Context, x found) bool {
		return is(int64(f.p.now().Sub(x.info.ModTime()) / unit))
	}, ok
}

// action returns the predicate of an action on found files, such as -delete.
func (f *findRun) action(t string) (predicate, bool) {
	switch t {
	case "-print", "-print0":
		f.acts = true
		end := "\n"
		if t == "-print0" {
			end = "\x00"
		}
		return func(_ context.Context, x found) bool { f.p.Printf("%s%s", x.name, end); return true }, true
	case "-delete":
		f.acts = true
		f.depth = true
		return func(_ context.Context, x found) bool {
			if x.name == "." {
				return true // the starting folder is not removed
			}
			err := f.p.Guest.Root.Remove(f.p.Abs(x.name))
			if err != nil {
				f.code = f.p.Fail(1, "find: cannot delete '%s': %s", x.name, reason(err))
			}
			return err == nil
		}, true
	case "-printf":
		f.acts = true
		return f.printf(f.argument(t))
	case "-exec":
		return f.exec()
	}
	if slices.Contains(findRefused, t) {
		f.refused = t
		return always, true
	}
	f.failed = "unknown predicate `" + t + "'"
	return nil, false
}

// findRefused are predicates of find that a guest does not simulate. Any other unknown word is an error.
var findRefused = strings.Fields(`-ls -fprint -fprintf -ok -okdir -execdir -links -inum
	-samefile  -amin -atime -anewer -cmin -ctime -cnewer -newerat -newerct -daystart -follow -fstype -used -context
	-nouser -nogroup -ilname`)

// command returns the words of an -exec that starts at a token.
func (f *findRun) command(at int) []string {
	end := at
	for end < len(f.tokens) && f.tokens[end] != ";" && !(f.tokens[end] == "+" && f.tokens[end-1] == "{}") {
		end++
	}
	words := f.tokens[at:end]
	if end < len(f.tokens) && f.tokens[end] == "+" {
		words = words[:len(words)-1]
	}
	return words
}

func (f *findRun) exec() (predicate, bool) {
	f.acts = true
	at := f.at
	words := f.command(at)
	for f.at < len(f.tokens) && f.tokens[f.at] != ";" && !(f.tokens[f.at] == "+" && f.tokens[f.at-1] == "{}") {
		f.at++
	}
	if f.at >= len(f.tokens) || len(words) == 0 {
		return nil, false
	}
	if f.next() == "+" {
		return func(_ context.Context, x found) bool { f.batch[at] = append(f.batch[at], x.name); return true }, true
	}
	return func(ctx context.Context, x found) bool {
		argv := make([]string, len(words))
		for i, w := range words {
			argv[i] = strings.ReplaceAll(w, "{}", x.name)
		}
		return f.p.shell.child(ctx, f.p, argv) == 0
	}, true
}

// maxCommandLine is the maximum length of a command line of xargs, in bytes (GNU findutils, "xargs options", -s).
const maxCommandLine = 128 << 10

// xargs runs a command with the words of its input as arguments.
func xargs(ctx context.Context, p *Process, o options) int {
	for _, f := range []string{"n", "L"} {
		if n, err := strconv.Atoi(o.value(f)); o.has(f) && (err != nil || n <= 0) {
			return p.Fail(1, "xargs: value %s for -%s option should be >= 1", o.value(f), f)
		}
	}
	data, err := p.read(cmp.Or(o.value("a"), "-"))
	if err != nil {
		return p.Fail(1, "xargs: Cannot open input file '%s': %s", o.value("a"), reason(err))
	}
	batches, err := p.batches(string(data), o)
	if err != nil {
		return p.Fail(1, "xargs: %v", err)
	}
	command := o.operands
	if len(command) == 0 {
		command = []string{"echo"}
	}
	if len(batches) == 0 && !o.has("r", "I") {
		batches = [][]string{nil}
	}
	code := 0
	for _, items := range batches {
		p.meter.Look()
		argv := slices.Concat(command, items)
		if place := o.value("I"); place != "" {
			argv = slices.Clone(command)
			for i := range argv {
				if strings.Count(argv[i], place)*len(items[0]) > maxCommandLine {
					return p.Fail(1, "xargs: argument line too long")
				}
				argv[i] = strings.ReplaceAll(argv[i], place, items[0])
			}
		}
		c := *p
		if !o.has("a") {
			c.Stdin = bytes.NewReader(nil)
		}
		if o.has("t") {
			fmt.Fprintln(p.Stderr, strings.Join(argv, " "))
		}
		switch got := p.shell.child(ctx, &c, argv); {
		case c.lost:
			return got
		case got == 255:
			return p.Fail(124, "xargs: %s: exited with status 255; aborting", argv[0])
		case got != 0:
			code = 123
		}
	}
	return code
}

// batches splits the input of xargs into words with quotes, lines, or texts that a byte ends, and groups them into
// the arguments of each command.
func (p *Process) batches(text string, o options) (all [][]string, err error) {
	p.meter.Hold(lineSize * len(text)) // the maximum number of words
	var items []string
	switch {
	case o.has("0", "d"):
		sep := "\x00"
		if o.has("d") {
			sep = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\0`, "\x00").Replace(o.value("d"))
		}
		if len(sep) != 1 {
			return nil, errDelimiter
		}
		if text != "" {
			items = strings.Split(strings.TrimSuffix(text, sep), sep)
		}
	case o.has("L"):
		n, _ := strconv.Atoi(o.value("L")) // it was checked before
		lines, goesOn := 0, false
		for _, line := range p.linesOf(text) {
			words, err := quotedWords(p.meter, line, " \t\n")
			switch {
			case err != nil:
				return nil, err
			case len(words) == 0:
				continue
			case !goesOn && lines%n == 0:
				all = append(all, nil)
			}
			all[len(all)-1] = append(all[len(all)-1], words...)
			if goesOn = strings.HasSuffix(line, " ") || strings.HasSuffix(line, "\t"); !goesOn {
				lines++
			}
		}
		return all, nil
	case o.has("I"):
		items, err = quotedWords(p.meter, text, "\n")
	default:
		items, err = quotedWords(p.meter, text, " \t\n")
	}
	size := len(items)
	if o.has("n") {
		size, _ = strconv.Atoi(o.value("n")) // it was checked before
	}
	if o.has("I") {
		size = 1
	}
	for len(items) > 0 {
		n, length := 0, 0
		for n < min(size, len(items)) && (n == 0 || length+len(items[n]) < maxCommandLine) {
			length += len(items[n]) + 1
			n++
		}
		all, items = append(all, items[:n]), items[n:]
	}
	return all, err
}

// errDelimiter is the message of GNU xargs for -d without a byte, or with more than one.
var errDelimiter = errors.New("invalid input delimiter specification: the delimiter must be either a single character or an escape " +
	"sequence starting with \\")

// quotedWords returns the words of a text, which the characters in ends separate and ' " and \ quote.
func quotedWords(m *limit.Meter, text, ends string) (items []string, err error) {
	var b strings.Builder
	open := false
	for i := 0; i < len(text); i++ {
		m.Step()
		switch c := text[i]; {
		case strings.IndexByte(ends, c) >= 0:
			if open {
				items = append(items, b.String())
			}
			b.Reset()
			open = false
		case !open && (c == ' ' || c == '\t'):
		case c == '\'' || c == '"':
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 || strings.Contains(text[i+1:i+1+end], "\n") {
				return items, fmt.Errorf("unmatched %s quote; by default quotes are special to xargs unless you use the -0 option",
					map[byte]string{'\'': "single", '"': "double"}[c])
			}
			b.WriteString(text[i+1 : i+1+end])
			i += end + 1
			open = true
		case c == '\\':
			if i++; i < len(text) {
				b.WriteByte(text[i])
				open = true
			}
		default:
			b.WriteByte(c)
			open = true
		}
	}
	if open {
		items = append(items, b.String())
	}
	return items, nil
}
