package shell

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

func fileCommands() Table {
	return Table{
		"cat":      flagged("n|number A|show-all E|show-ends s|squeeze-blank u", cat),
		"mkdir":    flagged("p|parents m|mode: v|verbose", mkdir),
		"rmdir":    flagged("p|parents v|verbose ignore-fail-on-non-empty", rmdir),
		"rm":       flagged("r|R|recursive f|force v|verbose d|dir i|I one-file-system preserve-root no-preserve-root", remove),
		"cp":       flagged("r|R|recursive a|archive p f|force n|no-clobber v|verbose d L|dereference P|no-dereference T|no-target-directory t|target-directory: preserve=? u|update l|link", copyFiles),
		"mv":       flagged("f|force n|no-clobber v|verbose T|no-target-directory t|target-directory: u|update", moveFiles),
		"ln":       flagged("s|symbolic f|force n|no-dereference v|verbose T|no-target-directory r|relative", link),
		"readlink": flagged("f|canonicalize e|canonicalize-existing m|canonicalize-missing n|no-newline", readlink),
		"realpath": flagged("e|canonicalize-existing m|canonicalize-missing s|strip|no-symlinks q|quiet", realpath),
		"ls":       flagged("a|all A|almost-all l 1 d|directory r|reverse R|recursive t S h|human-readable F|classify p i n C X color=?", list),
		"touch":    flagged("c|no-create a m d|date: r|reference: t:", touch),
		"chmod":    minusMode(flagged("R|recursive v|verbose f|silent|quiet c|changes", chmod)),
		"chown":    flagged("R|recursive v|verbose f|silent|quiet h|no-dereference c|changes from:", chown),
		"chgrp":    flagged("R|recursive v|verbose f|silent|quiet h|no-dereference c|changes", chown),
		"mktemp":   flagged("d|directory p: tmpdir=? t q|quiet u|dry-run suffix:", mktemp),
		"stat":     flagged("c|format: printf: L|dereference t|terse", stat),
		"du":       flagged("s|summarize h|human-readable k m b|bytes a|all c|total d|max-depth:", diskUsage),
		"install":  flagged("d|directory m|mode: o|owner: g|group: D v|verbose C|compare T p|preserve-timestamps t|target-directory:", install),
		"truncate": flagged("s|size: c|no-create", truncate),
		"basename": flagged("+ a|multiple s|suffix: z|zero", basename),
		"dirname":  flagged("z|zero", dirname),
		"find":     find,
		"xargs":    flagged("+ 0|null d|delimiter: n|max-args: I|replace: L|max-lines: r|no-run-if-empty t|verbose P|max-procs: i=?", xargs),
	}
}

// failed reports err as coreutils do and returns 1.
func (p *Process) failed(name string, err error) int {
	return p.Fail(1, "%s: %s: %s", p.name(), name, reason(err))
}

func reason(err error) string {
	switch {
	case isErr(err, fs.ErrNotExist):
		return "No such file or directory"
	case isErr(err, fs.ErrExist):
		return "File exists"
	case isErr(err, fs.ErrPermission):
		return "Permission denied"
	}
	if pe, ok := asPathError(err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

func cat(_ context.Context, p *Process, o options) int {
	code, n := 0, 0
	for _, f := range orStdin(o.operands) {
		if f != "-" && p.Guest.Root.IsDir(p.Abs(f)) {
			code = p.Fail(1, "cat: %s: Is a directory", f)
			continue
		}
		data, err := p.read(f)
		if err != nil {
			code = p.failed(f, err)
			continue
		}
		if len(o.given) == 0 {
			_, _ = p.Stdout.Write(data) // a failed write is the reader's affair
			continue
		}
		if o.has("A") {
			return p.Refuse("cat -A")
		}
		blank := false
		for line := range strings.Lines(string(data)) {
			body, end := strings.CutSuffix(line, "\n")
			if o.has("s") && body == "" && blank {
				continue
			}
			blank = body == ""
			if o.has("n") {
				n++
				p.Printf("%6d\t", n)
			}
			p.Printf("%s", body)
			if end && o.has("E") {
				p.Printf("$")
			}
			if end {
				p.Printf("\n")
			}
		}
	}
	return code
}

func orStdin(files []string) []string {
	if len(files) == 0 {
		return []string{"-"}
	}
	return files
}

// read returns a file's content, or standard input for "-". It knows the few
// files of /proc and /sys that scripts ask for.
func (p *Process) read(name string) ([]byte, error) {
	if name == "-" {
		if p.Stdin == nil {
			return nil, nil
		}
		return io.ReadAll(io.LimitReader(p.Stdin, 64<<20))
	}
	switch file := p.Abs(name); file {
	case "/dev/stdin":
		return p.read("-")
	case "/sys/class/net/eth0/address":
		return []byte(p.Guest.MAC() + "\n"), nil
	case "/proc/uptime":
		return []byte("60.00 60.00\n"), nil
	case "/dev/null":
		return nil, nil
	case "/dev/zero":
		return make([]byte, deviceSize), nil
	case "/dev/urandom", "/dev/random":
		noise := make([]byte, deviceSize)
		_, _ = rand.Read(noise) // never fails (crypto/rand)
		return noise, nil
	default:
		if p.Guest.Root.IsDir(file) {
			return nil, &fs.PathError{Op: "read", Path: file, Err: errIsDirectory}
		}
		return p.Guest.Root.ReadFile(file)
	}
}

// deviceSize is what a device without an end gives.
const deviceSize = 1 << 20

var errIsDirectory = fmt.Errorf("Is a directory") //nolint:staticcheck // the words of Linux

// umaskName is the variable in which a session keeps its umask.
const umaskName = "CASEMENT_UMASK"

// umask is the mask of the files that the process makes.
func (p *Process) umask() fs.FileMode { return umaskOf(p.Env[umaskName]) }

func umaskOf(text string) fs.FileMode {
	n, err := strconv.ParseUint(text, 8, 12)
	if err != nil {
		n = 0o022
	}
	return fs.FileMode(n)
}

// creates is the mode of a file that is made, after the umask.
func (p *Process) creates(mode fs.FileMode) fs.FileMode { return mode &^ p.umask() }

func mkdir(_ context.Context, p *Process, o options) int {
	if len(o.operands) == 0 {
		return p.Fail(1, "mkdir: missing operand")
	}
	root, code := p.Guest.Root, 0
	for _, name := range o.operands {
		d := p.Abs(name)
		if root.IsDir(d) && o.has("p") {
			continue
		}
		if _, err := root.Lstat(d); err == nil {
			code = p.Fail(1, "mkdir: cannot create directory '%s': File exists", name)
			continue
		}
		if !root.IsDir(path.Dir(d)) && !o.has("p") {
			code = p.Fail(1, "mkdir: cannot create directory '%s': No such file or directory", name)
			continue
		}
		if err := p.makeDir(d, 0o777&^p.umask()); err != nil {
			code = p.Fail(1, "mkdir: cannot create directory '%s': %s", name, reason(err))
			continue
		}
		if o.has("v") {
			p.Printf("mkdir: created directory '%s'\n", name)
		}
		if o.has("m") {
			info, err := root.Stat(d)
			if err != nil {
				return p.failed(name, err)
			}
			mode, ok := changedMode(o.value("m"), info.Mode(), 0)
			if !ok {
				return p.Fail(1, "mkdir: invalid mode '%s'", o.value("m"))
			}
			if err := root.Chmod(d, mode); err != nil {
				return p.failed(name, err)
			}
		}
	}
	return code
}

// makeDir makes a folder and those above it, which take the umask.
func (p *Process) makeDir(d string, mode fs.FileMode) error {
	root := p.Guest.Root
	var missing []string
	for at := d; at != "/" && !root.IsDir(at); at = path.Dir(at) {
		missing = append(missing, at)
	}
	if err := root.MkdirAll(d); err != nil {
		return err
	}
	for _, m := range missing {
		if err := root.Chmod(m, mode|0o700); err != nil {
			return err
		}
	}
	return nil
}

func rmdir(_ context.Context, p *Process, o options) int {
	code := 0
	for _, name := range o.operands {
		d := p.Abs(name)
		if info, err := p.Guest.Root.Lstat(d); err == nil && !info.IsDir() {
			code = p.Fail(1, "rmdir: failed to remove '%s': Not a directory", name)
			continue
		}
		if err := p.Guest.Root.Remove(d); err != nil {
			if !o.has("ignore-fail-on-non-empty") {
				code = p.Fail(1, "rmdir: failed to remove '%s': %s", name, reason(err))
			}
			continue
		}
		for at := path.Dir(strings.TrimSuffix(name, "/")); o.has("p") && at != "." && at != "/"; at = path.Dir(at) {
			if err := p.Guest.Root.Remove(p.Abs(at)); err != nil {
				return p.Fail(1, "rmdir: failed to remove '%s': %s", at, reason(err))
			}
		}
	}
	return code
}

func remove(_ context.Context, p *Process, o options) int {
	force, recursive, code := o.has("f"), o.has("r"), 0
	if len(o.operands) == 0 && !force {
		return p.Fail(1, "rm: missing operand")
	}
	for _, f := range o.operands {
		name := p.Abs(f)
		info, err := p.Guest.Root.Lstat(name)
		switch {
		case err != nil && force:
			continue
		case err != nil:
			code = p.Fail(1, "rm: cannot remove '%s': %s", f, reason(err))
			continue
		case name == "/" || path.Base(f) == "." || path.Base(f) == "..":
			code = p.Fail(1, "rm: refusing to remove '%s'", f)
			continue
		case info.IsDir() && !recursive && !o.has("d"):
			code = p.Fail(1, "rm: cannot remove '%s': Is a directory", f)
			continue
		}
		drop := p.Guest.Root.RemoveAll
		if !recursive {
			drop = p.Guest.Root.Remove
		}
		if err := drop(name); err != nil {
			code = p.failed(f, err)
			continue
		}
		if o.has("v") {
			p.Printf("removed '%s'\n", f)
		}
	}
	return code
}

// targets resolves where cp, mv and ln -s put each source.
func (p *Process) targets(o options) (sources []string, target func(string) string, code int) {
	sources = o.operands
	if o.has("t") {
		return sources, func(s string) string { return path.Join(p.Abs(o.value("t")), path.Base(s)) }, 0
	}
	if len(sources) < 2 {
		return nil, nil, p.Fail(1, "%s: missing file operand", p.name())
	}
	last := sources[len(sources)-1]
	sources = sources[:len(sources)-1]
	to := p.Abs(last)
	into := p.Guest.Root.IsDir(to) && !o.has("T")
	if !into && len(sources) > 1 {
		return nil, nil, p.Fail(1, "%s: target '%s' is not a directory", p.name(), last)
	}
	if !into && strings.HasSuffix(last, "/") && !p.Guest.Root.IsDir(p.Abs(sources[0])) {
		return nil, nil, p.Fail(1, "%s: cannot create regular file '%s': Not a directory", p.name(), last)
	}
	return sources, func(s string) string {
		if into {
			return path.Join(to, path.Base(p.Abs(s)))
		}
		return to
	}, 0
}

// shown is a target as the command line names it.
func (p *Process) shown(o options, to string) string {
	last := o.operands[len(o.operands)-1]
	if p.Abs(last) == to {
		return last
	}
	return strings.TrimSuffix(last, "/") + "/" + path.Base(to)
}

func copyFiles(_ context.Context, p *Process, o options) int {
	if o.has("l") {
		return p.Refuse("cp -l")
	}
	sources, target, code := p.targets(o)
	if code != 0 {
		return code
	}
	for _, f := range sources {
		from, to := p.Abs(f), target(f)
		info, err := p.Guest.Root.Lstat(from)
		if err != nil {
			code = p.Fail(1, "cp: cannot stat '%s': %s", f, reason(err))
			continue
		}
		if p.Guest.Root.IsDir(from) && !o.has("r", "a") {
			code = p.Fail(1, "cp: -r not specified; omitting directory '%s'", f)
			continue
		}
		if from == to {
			code = p.Fail(1, "cp: '%s' and '%s' are the same file", f, f)
			continue
		}
		if o.has("n") && p.Guest.Root.Exists(to) {
			continue
		}
		c := copying{p: p, left: maxCopied, keepLinks: o.has("a", "d", "P") || o.has("r") && !o.has("L"), exact: o.has("a", "p", "preserve"), newer: o.has("u")}
		if info.Mode()&fs.ModeSymlink != 0 && !o.has("a", "d", "P") && !o.has("r") {
			c.keepLinks = false
		}
		if err := c.into(from, to, 0); err != nil {
			code = p.Fail(1, "cp: cannot create '%s': %s", f, reason(err))
			continue
		}
		if o.has("v") {
			p.Printf("'%s' -> '%s'\n", f, p.shown(o, to))
		}
	}
	return code
}

// maxCopied bounds the files of one copy, which a tree that is copied into itself
// would never end.
const maxCopied = 1000

// copying is one run of cp.
type copying struct {
	p                       *Process
	left                    int
	keepLinks, exact, newer bool
}

// copyTree copies a file, or a directory with all in it.
func copyTree(p *Process, from, to string) error {
	c := copying{p: p, left: maxCopied}
	return c.into(from, to, 0)
}

func (c *copying) into(from, to string, depth int) error {
	root := c.p.Guest.Root
	info, err := root.Lstat(from)
	if err != nil {
		return err
	}
	if c.left--; c.left < 0 || depth > 64 {
		return fmt.Errorf("%s: the tree is too large or too deep, or copied into itself (a bound of the simulation)", from)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if c.keepLinks {
			return c.link(from, to)
		}
		if info, err = root.Stat(from); err != nil {
			return err
		}
	}
	if !info.IsDir() {
		return c.file(from, to, info)
	}
	if err := root.MkdirAll(to); err != nil {
		return err
	}
	entries, err := root.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.into(root.Abs(from, e.Name()), root.Abs(to, e.Name()), depth+1); err != nil {
			return err
		}
	}
	return root.Chmod(to, info.Mode().Perm()|0o700)
}

func (c *copying) link(from, to string) error {
	target, err := c.p.Guest.Root.Readlink(from)
	if err != nil {
		return err
	}
	_ = c.p.Guest.Root.Remove(to) // it need not be there
	return c.p.Guest.Root.Symlink(target, to)
}

func (c *copying) file(from, to string, info fs.FileInfo) error {
	root := c.p.Guest.Root
	old, err := root.Stat(to)
	if err == nil && c.newer && !info.ModTime().After(old.ModTime()) {
		return nil
	}
	data, err := c.p.read(from)
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	if !c.exact {
		mode &^= c.p.umask()
	}
	if err := root.WriteFile(to, data, mode); err != nil {
		return err
	}
	if old == nil || c.exact {
		if err := root.Chmod(to, mode); err != nil {
			return err
		}
	}
	if c.exact {
		return root.Chtimes(to, info.ModTime())
	}
	return nil
}

func moveFiles(_ context.Context, p *Process, o options) int {
	sources, target, code := p.targets(o)
	if code != 0 {
		return code
	}
	for _, f := range sources {
		from, to := p.Abs(f), target(f)
		if _, err := p.Guest.Root.Lstat(from); err != nil {
			code = p.Fail(1, "mv: cannot stat '%s': %s", f, reason(err))
			continue
		}
		if o.has("n") && p.Guest.Root.Exists(to) {
			continue
		}
		if from == to {
			code = p.Fail(1, "mv: '%s' and '%s' are the same file", f, f)
			continue
		}
		if err := p.Guest.Root.Rename(from, to); err != nil {
			code = p.Fail(1, "mv: cannot move '%s': %s", f, reason(err))
			continue
		}
		if o.has("v") {
			p.Printf("renamed '%s' -> '%s'\n", f, p.shown(o, to))
		}
	}
	return code
}

func link(_ context.Context, p *Process, o options) int {
	if o.has("r") {
		return p.Refuse("ln -r")
	}
	args := o.operands
	if len(args) == 1 {
		args = append(args, ".")
	}
	if len(args) < 2 {
		return p.Fail(1, "ln: missing file operand")
	}
	last := p.Abs(args[len(args)-1])
	into := p.Guest.Root.IsDir(last) && !o.has("T")
	if info, err := p.Guest.Root.Lstat(last); err == nil && info.Mode()&fs.ModeSymlink != 0 && o.has("n") {
		into = false
	}
	code := 0
	for _, target := range args[:len(args)-1] {
		name := last
		if into {
			name = path.Join(last, path.Base(target))
		}
		if _, err := p.Guest.Root.Lstat(name); err == nil {
			if !o.has("f") {
				code = p.Fail(1, "ln: failed to create symbolic link '%s': File exists", args[len(args)-1])
				continue
			}
			_ = p.Guest.Root.Remove(name) // the link below says what is wrong
		}
		make := p.Guest.Root.Symlink
		if !o.has("s") {
			make = func(_, name string) error { return p.Guest.Root.Link(p.Abs(target), name) }
		}
		if err := make(target, name); err != nil {
			code = p.Fail(1, "ln: failed to create link '%s': %s", name, reason(err))
		}
	}
	return code
}

// resolve follows the links of a path. missing parts are taken as they are.
func (p *Process) resolve(name string, links int) string {
	at := "/"
	for part := range strings.SplitSeq(strings.Trim(p.Abs(name), "/"), "/") {
		next := path.Join(at, part)
		target, err := p.Guest.Root.Readlink(next)
		if err == nil && links < 40 {
			if !path.IsAbs(target) {
				target = path.Join(at, target)
			}
			next = p.resolve(target, links+1)
		}
		at = next
	}
	return at
}

func readlink(_ context.Context, p *Process, o options) int {
	code, end := 0, "\n"
	if o.has("n") {
		end = ""
	}
	for _, a := range o.operands {
		if o.has("f", "e", "m") {
			at := p.resolve(a, 0)
			if !o.has("m") && !p.Guest.Root.Exists(path.Dir(at)) || o.has("e") && !p.Guest.Root.Exists(at) {
				code = 1
				continue
			}
			p.Printf("%s%s", at, end)
			continue
		}
		target, err := p.Guest.Root.Readlink(p.Abs(a))
		if err != nil {
			code = 1
			continue
		}
		p.Printf("%s%s", target, end)
	}
	return code
}

func realpath(_ context.Context, p *Process, o options) int {
	code := 0
	for _, a := range o.operands {
		at := p.Abs(a)
		if !o.has("s") {
			at = p.resolve(a, 0)
		}
		if !o.has("m") && !p.Guest.Root.Exists(path.Dir(at)) || o.has("e") && !p.Guest.Root.Exists(at) {
			code = p.Fail(1, "realpath: %s: No such file or directory", a)
			continue
		}
		p.Printf("%s\n", at)
	}
	return code
}

func touch(_ context.Context, p *Process, o options) int {
	if len(o.operands) == 0 {
		return p.Fail(1, "touch: missing file operand")
	}
	when := p.now()
	switch {
	case o.has("t"):
		return p.Refuse("touch -t")
	case o.has("r"):
		info, err := p.Guest.Root.Stat(p.Abs(o.value("r")))
		if err != nil {
			return p.Fail(1, "touch: failed to get attributes of '%s': %s", o.value("r"), reason(err))
		}
		when = info.ModTime()
	case o.has("d"):
		t, ok := parseDate(o.value("d"), when)
		if !ok {
			return p.Refuse("touch -d %s", o.value("d"))
		}
		when = t
	}
	code := 0
	for _, f := range o.operands {
		name := p.Abs(f)
		if p.Guest.Root.Exists(name) || !o.has("c") {
			err := error(nil)
			if !p.Guest.Root.Exists(name) {
				err = p.Guest.Root.AppendFile(name, nil, p.creates(0o666))
			}
			if err == nil {
				err = p.Guest.Root.Chtimes(name, when)
			}
			if err != nil {
				code = p.Fail(1, "touch: cannot touch '%s': %s", f, reason(err))
			}
		}
	}
	return code
}

// changedMode applies a mode of chmod, octal or symbolic.
func changedMode(text string, mode fs.FileMode, umask fs.FileMode) (fs.FileMode, bool) {
	perm := mode.Perm()
	if n, err := strconv.ParseUint(text, 8, 12); err == nil {
		return fs.FileMode(n).Perm(), true
	}
	for clause := range strings.SplitSeq(text, ",") {
		at := strings.IndexAny(clause, "+-=")
		if at < 0 || strings.Trim(clause[:at], "ugoa") != "" {
			return 0, false
		}
		who := clause[:at]
		var mask fs.FileMode
		for letter, bits := range map[string]fs.FileMode{"u": 0o700, "g": 0o070, "o": 0o007} {
			if who == "" || strings.Contains(who, letter) || strings.Contains(who, "a") {
				mask |= bits
			}
		}
		for rest := clause[at:]; rest != ""; {
			op := rest[0]
			end := strings.IndexAny(rest[1:], "+-=")
			what := rest[1:]
			if end >= 0 {
				what, rest = rest[1:1+end], rest[1+end:]
			} else {
				rest = ""
			}
			var bits fs.FileMode
			for _, r := range what {
				switch r {
				case 'r':
					bits |= 0o444
				case 'w':
					bits |= 0o222
				case 'x':
					bits |= 0o111
				case 'X':
					if mode.IsDir() || perm&0o111 != 0 {
						bits |= 0o111
					}
				case 'u':
					bits |= perm >> 6 & 7 * 0o111
				case 'g':
					bits |= perm >> 3 & 7 * 0o111
				case 'o':
					bits |= perm & 7 * 0o111
				case 's', 't':
				default:
					return 0, false
				}
			}
			bits &= mask
			if who == "" {
				bits &^= umask
			}
			switch op {
			case '+':
				perm |= bits
			case '-':
				perm &^= bits
			default:
				perm = perm&^mask | bits
			}
		}
	}
	return perm, true
}

// minusMode lets a mode of chmod start with a dash.
func minusMode(run Command) Command {
	return func(ctx context.Context, p *Process) int {
		for i, a := range p.Args {
			if len(a) > 1 && a[0] == '-' && strings.Trim(a[1:], "rwxXst") == "" {
				c := *p
				c.Args = slices.Concat(p.Args[:i], []string{"--"}, p.Args[i:])
				return run(ctx, &c)
			}
		}
		return run(ctx, p)
	}
}

func chmod(_ context.Context, p *Process, o options) int {
	args := o.operands
	if len(args) < 2 {
		return p.Fail(1, "chmod: missing operand")
	}
	code := 0
	change := func(name string, info fs.FileInfo) bool {
		mode, ok := changedMode(args[0], info.Mode(), p.umask())
		if !ok {
			code = p.Fail(1, "chmod: invalid mode: '%s'", args[0])
			return false
		}
		if info.IsDir() {
			mode |= 0o700 // the simulator itself must list it
		}
		if err := p.Guest.Root.Chmod(p.Abs(name), mode); err != nil {
			code = p.failed(name, err)
		}
		return true
	}
	for _, f := range args[1:] {
		info, err := p.Guest.Root.Stat(p.Abs(f))
		if err != nil {
			if !o.has("f") {
				p.Fail(1, "chmod: cannot access '%s': %s", f, reason(err))
			}
			code = 1
			continue
		}
		if !o.has("R") {
			change(f, info)
			continue
		}
		p.walk(f, 0, func(name string, _ int, info fs.FileInfo) bool {
			return info.Mode()&fs.ModeSymlink != 0 || change(name, info)
		})
	}
	return code
}

// chown checks users, groups and files; that all files are root's stays.
func chown(_ context.Context, p *Process, o options) int {
	if len(o.operands) < 2 {
		return p.Fail(1, "%s: missing operand", p.name())
	}
	user, group, _ := strings.Cut(strings.Replace(o.operands[0], ".", ":", 1), ":")
	if p.name() == "chgrp" {
		user, group = "", o.operands[0]
	}
	if user != "" && !p.Guest.HasUser(user) && strings.Trim(user, "0123456789") != "" {
		return p.Fail(1, "chown: invalid user: '%s'", o.operands[0])
	}
	if group != "" && !p.Guest.HasGroup(group) && strings.Trim(group, "0123456789") != "" {
		return p.Fail(1, "%s: invalid group: '%s'", p.name(), o.operands[0])
	}
	code := 0
	for _, f := range o.operands[1:] {
		if _, err := p.Guest.Root.Lstat(p.Abs(f)); err != nil {
			code = p.Fail(1, "%s: cannot access '%s': %s", p.name(), f, reason(err))
		}
	}
	if strings.Trim(user, "0") != "" && user != "root" || strings.Trim(group, "0") != "" && group != "root" {
		p.Guest.NoEffect(p.name() + " " + o.operands[0])
	}
	return code
}

func mktemp(_ context.Context, p *Process, o options) int {
	dir, template := "", "tmp.XXXXXXXXXX"
	if t := p.Env["TMPDIR"]; t != "" {
		dir = t
	} else {
		dir = "/tmp"
	}
	if given := cmp.Or(o.value("p"), o.value("tmpdir")); given != "" {
		dir = given
	}
	if len(o.operands) > 0 {
		template = o.operands[0]
		if !o.has("p", "t", "tmpdir") {
			dir = ""
		}
	}
	template += o.value("suffix")
	marks := strings.Count(template, "X")
	if marks < 3 {
		return p.Fail(1, "mktemp: too few X's in template '%s'", template)
	}
	end := strings.LastIndexByte(template, 'X') + 1
	start := end
	for start > 0 && template[start-1] == 'X' {
		start--
	}
	for try := range 100 {
		stamp := strconv.FormatInt(p.Guest.Clock.Now().UnixNano()+int64(try), 36)
		for len(stamp) < end-start {
			stamp = "A" + stamp
		}
		name := template[:start] + stamp[len(stamp)-(end-start):] + template[end:]
		if dir != "" {
			name = strings.TrimSuffix(dir, "/") + "/" + name
		}
		at := p.Abs(name)
		if p.Guest.Root.Exists(at) {
			continue
		}
		var err error
		switch {
		case !p.Guest.Root.IsDir(path.Dir(at)):
			err = fs.ErrNotExist
		case o.has("u"):
		case o.has("d"):
			err = p.makeDir(at, 0o700)
		default:
			err = p.Guest.Root.WriteFile(at, nil, 0o600)
		}
		if err != nil {
			if o.has("q") {
				return 1
			}
			return p.Fail(1, "mktemp: failed to create file via template '%s': %s", template, reason(err))
		}
		p.Printf("%s\n", name)
		return 0
	}
	return p.Fail(1, "mktemp: failed to create file via template '%s': File exists", template)
}

func stat(_ context.Context, p *Process, o options) int {
	format := o.value("c") + "\n"
	switch {
	case o.has("printf"):
		format = unescape(o.value("printf"))
	case !o.has("c"):
		return p.Refuse("stat without --format")
	}
	code := 0
	for _, f := range o.operands {
		look := p.Guest.Root.Lstat
		if o.has("L") {
			look = p.Guest.Root.Stat
		}
		info, err := look(p.Abs(f))
		if err != nil {
			code = p.Fail(1, "stat: cannot statx '%s': %s", f, reason(err))
			continue
		}
		text, unknown := statText(format, f, p, info)
		if unknown != "" {
			return p.Refuse("stat with the format %s", unknown)
		}
		p.Printf("%s", text)
	}
	return code
}

func statText(format, name string, p *Process, info fs.FileInfo) (text, unknown string) {
	kind := map[rune]string{'d': "directory", 'l': "symbolic link", 'f': "regular file"}[kindLetter(info.Mode())]
	if kind == "regular file" && info.Size() == 0 {
		kind = "regular empty file"
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch format[i] {
		case 'a':
			fmt.Fprintf(&b, "%o", info.Mode().Perm())
		case 'A':
			b.WriteString(modeText(info.Mode()))
		case 's':
			fmt.Fprintf(&b, "%d", info.Size())
		case 'n':
			b.WriteString(name)
		case 'N':
			b.WriteString("'" + name + "'")
			if target, err := p.Guest.Root.Readlink(p.Abs(name)); err == nil {
				b.WriteString(" -> '" + target + "'")
			}
		case 'F':
			b.WriteString(kind)
		case 'U', 'G':
			b.WriteString("root")
		case 'u', 'g':
			b.WriteString("0")
		case 'h':
			b.WriteString("1")
		case 'Y', 'X', 'Z':
			fmt.Fprintf(&b, "%d", info.ModTime().Unix())
		case 'y', 'x', 'z':
			b.WriteString(info.ModTime().UTC().Format("2006-01-02 15:04:05.000000000 +0000"))
		case '%':
			b.WriteByte('%')
		default:
			return "", "%" + format[i:i+1]
		}
	}
	return b.String(), ""
}

// modeText is a mode as ls prints it.
func modeText(m fs.FileMode) string {
	letter := string(kindLetter(m))
	if letter == "f" {
		letter = "-"
	}
	return letter + m.Perm().String()[1:]
}

func diskUsage(_ context.Context, p *Process, _ options) int { return p.Refuse("what du prints") }

func install(_ context.Context, p *Process, o options) int {
	mode := fs.FileMode(0o755)
	if o.has("m") {
		var ok bool
		if mode, ok = changedMode(o.value("m"), 0, 0); !ok {
			return p.Fail(1, "install: invalid mode '%s'", o.value("m"))
		}
	}
	for _, f := range []string{"o", "g"} {
		who := o.value(f)
		if f == "o" && who != "" && !p.Guest.HasUser(who) && who != "0" || f == "g" && who != "" && !p.Guest.HasGroup(who) && who != "0" {
			return p.Fail(1, "install: invalid user or group '%s'", who)
		}
	}
	if o.has("d") {
		for _, d := range o.operands {
			if err := p.makeDir(p.Abs(d), 0o755); err != nil {
				return p.failed(d, err)
			}
			if err := p.Guest.Root.Chmod(p.Abs(d), mode|0o700); err != nil {
				return p.failed(d, err)
			}
		}
		return 0
	}
	if o.has("D") && len(o.operands) == 2 {
		if err := p.makeDir(path.Dir(p.Abs(o.operands[1])), 0o755); err != nil {
			return p.failed(o.operands[1], err)
		}
	}
	sources, target, code := p.targets(o)
	if code != 0 {
		return code
	}
	for _, f := range sources {
		data, err := p.read(f)
		if err == nil {
			err = p.Guest.Root.WriteFile(target(f), data, mode)
		}
		if err == nil {
			err = p.Guest.Root.Chmod(target(f), mode)
		}
		if err != nil {
			code = p.failed(f, err)
		}
	}
	return code
}

func truncate(_ context.Context, p *Process, o options) int {
	size, err := strconv.Atoi(o.value("s"))
	if err != nil || size < 0 || size > maxUnzipped {
		return p.Refuse("truncate -s %s", o.value("s"))
	}
	for _, f := range o.operands {
		name := p.Abs(f)
		data, err := p.Guest.Root.ReadFile(name)
		if err != nil && o.has("c") {
			continue
		}
		data = append(data, make([]byte, max(size-len(data), 0))...)[:size]
		if err := p.Guest.Root.WriteFile(name, data, p.creates(0o666)); err != nil {
			return p.failed(f, err)
		}
	}
	return 0
}

func basename(_ context.Context, p *Process, o options) int {
	names, suffix := o.operands, o.value("s")
	if len(names) == 0 {
		return p.Fail(1, "basename: missing operand")
	}
	if !o.has("a", "s") {
		if len(names) > 2 {
			return p.Fail(1, "basename: extra operand '%s'", names[2])
		}
		if len(names) == 2 {
			suffix = names[1]
		}
		names = names[:1]
	}
	for _, n := range names {
		base := path.Base(n)
		if n == "" {
			base = ""
		}
		if base != suffix {
			base = strings.TrimSuffix(base, suffix)
		}
		p.Printf("%s\n", base)
	}
	return 0
}

func dirname(_ context.Context, p *Process, o options) int {
	if len(o.operands) == 0 {
		return p.Fail(1, "dirname: missing operand")
	}
	for _, n := range o.operands {
		trimmed := strings.TrimRight(n, "/")
		i := strings.LastIndexByte(trimmed, '/')
		switch {
		case trimmed == "" && n != "":
			trimmed = "/"
		case i < 0:
			trimmed = "."
		default:
			if trimmed = strings.TrimRight(trimmed[:i], "/"); trimmed == "" {
				trimmed = "/"
			}
		}
		p.Printf("%s\n", trimmed)
	}
	return 0
}

// parseDate reads the dates of date -d and touch -d that scripts write.
func parseDate(text string, now time.Time) (time.Time, bool) {
	text = strings.TrimSpace(text)
	if seconds, ok := strings.CutPrefix(text, "@"); ok {
		n, err := strconv.ParseInt(seconds, 10, 64)
		return time.Unix(n, 0).UTC(), err == nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02", "2006-01-02 15:04:05 UTC", "2006-01-02 UTC", time.RFC1123, time.UnixDate, "Jan _2 15:04:05 2006 MST"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	switch text {
	case "now", "today", "":
		return now, true
	case "yesterday":
		return now.AddDate(0, 0, -1), true
	case "tomorrow":
		return now.AddDate(0, 0, 1), true
	}
	words := strings.Fields(text)
	sign := 1
	if len(words) == 3 && words[2] == "ago" {
		sign, words = -1, words[:2]
	}
	if len(words) != 2 {
		return time.Time{}, false
	}
	n, err := strconv.Atoi(words[0])
	n *= sign
	switch strings.TrimSuffix(words[1], "s") {
	case "sec", "second":
		now = now.Add(time.Duration(n) * time.Second)
	case "min", "minute":
		now = now.Add(time.Duration(n) * time.Minute)
	case "hour":
		now = now.Add(time.Duration(n) * time.Hour)
	case "day":
		now = now.AddDate(0, 0, n)
	case "week":
		now = now.AddDate(0, 0, 7*n)
	case "month":
		now = now.AddDate(0, n, 0)
	case "year":
		now = now.AddDate(n, 0, 0)
	default:
		return time.Time{}, false
	}
	return now, err == nil
}
