package shell

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// targets returns the sources of cp, mv and ln -s, and a function that returns the target of each source.
func (p *Process) targets(o options) (sources []string, target func(string) string, code int) {
	sources = o.operands
	if o.has("t") {
		return sources, func(s string) string { return path.Join(p.Abs(o.value("t")), path.Base(s)) }, 0
	}
	if len(sources) == 0 {
		return nil, nil, p.missing("file operand")
	}
	if len(sources) == 1 {
		return nil, nil, p.missing("destination file operand after '" + sources[0] + "'")
	}
	last := sources[len(sources)-1]
	sources = sources[:len(sources)-1]
	to := p.Abs(last)
	into := p.Guest.Root.IsDir(to) && !o.has("T")
	if !into && len(sources) > 1 {
		why := "No such file or directory"
		if p.Guest.Root.Exists(to) {
			why = "Not a directory"
		}
		return nil, nil, p.Fail(1, "%s: target '%s': %s", p.name(), last, why)
	}
	if !into && strings.HasSuffix(last, "/") && !p.Guest.Root.IsDir(p.Abs(sources[0])) {
		what := map[bool]string{true: "move '" + sources[0] + "' to", false: "create regular file"}[p.name() == "mv"]
		return nil, nil, p.Fail(1, "%s: cannot %s '%s': Not a directory", p.name(), what, last)
	}
	return sources, func(s string) string {
		if into && (p.name() == "mv" || path.Base(s) != "." && path.Base(s) != "..") { // cp copies the contents of . and ..
			return path.Join(to, path.Base(p.Abs(s)))
		}
		return to
	}, 0
}

// shown returns a target in the form of the command line.
func (p *Process) shown(o options, to string) string {
	last := o.operands[len(o.operands)-1]
	if p.Abs(last) == to {
		return last
	}
	return strings.TrimSuffix(last, "/") + "/" + path.Base(to)
}

func copyFiles(_ context.Context, p *Process, o options) int {
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
		c := copying{p: p, left: maxCopied, keepLinks: o.has("a", "d", "P") || o.has("r") && !o.has("L"),
			exact: o.has("a", "p", "preserve"), newer: o.has("u")}
		if info.Mode()&fs.ModeSymlink != 0 && !o.has("a", "d", "P") && !o.has("r") {
			c.keepLinks = false
		}
		if err := c.into(from, to, 0); err != nil {
			what := map[bool]string{true: "directory", false: "regular file"}[info.IsDir()]
			code = p.Fail(1, "cp: cannot create %s '%s': %s", what, p.shown(o, to), reason(err))
			continue
		}
		if o.has("v") {
			p.Printf("'%s' -> '%s'\n", f, p.shown(o, to))
		}
	}
	return code
}

// maxCopied bounds the files of one copy, because the copy of a tree into itself would not end.
const maxCopied = 1000

// copying is the state of one run of cp.
type copying struct {
	p                       *Process
	left                    int
	keepLinks, exact, newer bool
}

// copyTree copies a file, or a directory with its contents.
func copyTree(p *Process, from, to string) error {
	c := copying{p: p, left: maxCopied}
	return c.into(from, to, 0)
}

// into copies a file or a directory to a path.
func (c *copying) into(from, to string, depth int) error {
	c.p.meter.Look()
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
	_ = c.p.Guest.Root.Remove(to) // a missing file is no error
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
		info, err := p.Guest.Root.Lstat(from)
		if err != nil {
			code = p.Fail(1, "mv: cannot stat '%s': %s", f, reason(err))
			continue
		}
		if old, err := p.Guest.Root.Stat(to); err == nil && (o.has("n") || o.has("u") && !info.ModTime().After(old.ModTime())) {
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
	args := o.operands
	if len(args) == 1 {
		args = append(args, ".")
	}
	if len(args) < 2 {
		return p.missing("file operand")
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
			_ = p.Guest.Root.Remove(name) // if it fails, creating the link reports the error
		}
		make := p.Guest.Root.Symlink
		if !o.has("s") {
			make = func(_, name string) error { return p.Guest.Root.Link(p.Abs(target), name) }
		}
		if err := make(target, name); err != nil {
			code = p.Fail(1, "ln: failed to create link '%s': %s", name, reason(err))
		} else if o.has("v") {
			shown := args[len(args)-1]
			if into {
				shown = strings.TrimPrefix(strings.TrimSuffix(shown, "/")+"/"+path.Base(target), "./")
			}
			p.Printf("'%s' %s> '%s'\n", shown, map[bool]string{true: "-", false: "="}[o.has("s")], target)
		}
	}
	return code
}

// resolve follows the links of a path. Missing parts stay as they are.
func (p *Process) resolve(name string, links int) string {
	at := "/"
	if !path.IsAbs(name) {
		name = p.Dir + "/" + name
	}
	for part := range strings.SplitSeq(name, "/") {
		next := path.Join(at, part)
		if part == "" || part == "." || part == ".." {
			at = next
			continue
		}
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

// readlink prints the targets of links, or with -f, -e and -m the real paths of files, as realpath does.
func readlink(_ context.Context, p *Process, o options) int {
	code, whole := 0, p.name() == "realpath"
	for _, a := range o.operands {
		at, err := "", error(nil)
		switch {
		case whole && o.has("s"):
			at = p.Abs(a)
		case whole || o.has("f", "e", "m"):
			at = p.resolve(a, 0)
		default:
			at, err = p.Guest.Root.Readlink(p.Abs(a))
		}
		if (whole && !o.has("s") || o.has("f", "e")) && !o.has("m") && !p.Guest.Root.Exists(path.Dir(at)) ||
			o.has("e") && !p.Guest.Root.Exists(at) {
			err = fs.ErrNotExist
		}
		if err != nil {
			if code = 1; whole && !o.has("q") {
				p.failed(a, err)
			}
			continue
		}
		if base := o.value("relative-to"); base != "" {
			at = relativePath(p.resolve(base, 0), at)
		}
		p.Printf("%s%s", at, map[bool]string{false: "\n"}[o.has("n")])
	}
	return code
}

// relativePath returns a path relative to a folder.
func relativePath(from, to string) string {
	up := ""
	for from = path.Clean(from); to != from && !strings.HasPrefix(to, strings.TrimSuffix(from, "/")+"/"); from = path.Dir(from) {
		up += "../"
	}
	return cmp.Or(strings.TrimSuffix(up+strings.TrimPrefix(strings.TrimPrefix(to, from), "/"), "/"), ".")
}
