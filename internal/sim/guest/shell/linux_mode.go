package shell

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// umaskName is the variable that stores a session's umask.
const umaskName = "CASEMENT_UMASK"

// umask returns the process's umask.
func (p *Process) umask() fs.FileMode { return umaskOf(p.Env[umaskName]) }

func umaskOf(text string) fs.FileMode {
	n, err := strconv.ParseUint(text, 8, 12)
	if err != nil {
		n = 0o022
	}
	return fs.FileMode(n)
}

// newFileMode returns the mode of a new file after the umask.
func (p *Process) newFileMode(mode fs.FileMode) fs.FileMode { return mode &^ p.umask() }

// changedMode returns a mode after a change in the syntax of chmod, octal or symbolic. The second result is false if
// the syntax is wrong.
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

// minusMode returns a chmod that accepts a mode that starts with a dash.
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

func chmod(ctx context.Context, p *Process, o options) int {
	args := o.operands
	switch {
	case len(args) == 0:
		return p.missing("operand")
	case len(args) == 1 && !o.has("reference"):
		return p.missing("operand after '" + args[0] + "'")
	}
	if _, change, symbolic := strings.Cut(args[0], "+"); symbolic && strings.ContainsAny(change, "st") {
		p.NoEffect(ctx, "the special bits of chmod %s", args[0])
	}
	if o.has("reference") {
		info, err := p.Guest.Root.Stat(p.Abs(o.value("reference")))
		if err != nil {
			return p.failed(o.value("reference"), err)
		}
		args = append([]string{fmt.Sprintf("%o", info.Mode().Perm())}, args...)
	}
	if n, err := strconv.ParseUint(args[0], 8, 12); err == nil && n > 0o777 { // the files on the host must not get them
		p.NoEffect(ctx, "the special bits of chmod %s", args[0])
	}
	code := 0
	change := func(name string, info fs.FileInfo) bool {
		mode, ok := changedMode(args[0], info.Mode(), p.umask())
		if !ok {
			code = p.Fail(1, "chmod: invalid mode: '%s'\nTry 'chmod --help' for more information.", args[0])
			return false
		}
		if info.IsDir() {
			mode |= 0o700 // the simulator itself must list it
		}
		if err := p.Guest.Root.Chmod(p.Abs(name), mode); err != nil {
			code = p.failed(name, err)
		}
		before, after := info.Mode().Perm(), mode.Perm()
		switch {
		case before != after && o.has("v", "c"):
			p.Printf("mode of '%s' changed from %04o (%s) to %04o (%s)\n", name, before, before.String()[1:], after, after.String()[1:])
		case o.has("v"):
			p.Printf("mode of '%s' retained as %04o (%s)\n", name, before, before.String()[1:])
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

// chown checks users, groups and files. It changes no owner: all files belong to root.
func chown(ctx context.Context, p *Process, o options) int {
	if len(o.operands) < 2 {
		return p.missing("operand")
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
		p.NoEffect(ctx, "%s %s", p.name(), o.operands[0])
	}
	return code
}

func stat(_ context.Context, p *Process, o options) int {
	format := o.value("c") + "\n"
	switch {
	case len(o.operands) == 0:
		return p.missing("operand")
	case o.has("printf"):
		format = unescape(o.value("printf"))
	case !o.has("c"):
		return p.Refuse("stat without --format")
	}
	code := 0
	for _, f := range o.operands {
		stat := p.Guest.Root.Lstat
		if o.has("L") {
			stat = p.Guest.Root.Stat
		}
		info, err := stat(p.Abs(f))
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
		width := i
		for i < len(format)-1 && strings.IndexByte("-0123456789", format[i]) >= 0 {
			i++
		}
		if width < i {
			text, unknown := statText("%"+format[i:i+1], name, p, info)
			if unknown != "" {
				return "", unknown
			}
			if spec := format[width:i]; spec[0] == '0' {
				n, _ := strconv.Atoi(spec)
				b.WriteString(strings.Repeat("0", max(0, n-len(text))) + text)
			} else {
				fmt.Fprintf(&b, "%"+spec+"s", text)
			}
			continue
		}
		switch format[i] {
		case 'f':
			fmt.Fprintf(&b, "%x", map[rune]int{'d': 0o040000, 'l': 0o120000, 'f': 0o100000}[kindLetter(info.Mode())]|int(info.Mode().Perm()))
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

// modeText returns a mode as ls prints it.
func modeText(m fs.FileMode) string {
	letter := string(kindLetter(m))
	if letter == "f" {
		letter = "-"
	}
	return letter + m.Perm().String()[1:]
}

// diskUsage prints the sizes of files. A simulated disk counts only bytes, no blocks.
func diskUsage(_ context.Context, p *Process, o options) int {
	if !o.has("b") || o.has("d", "a", "c", "h", "k", "m") && !o.has("s") {
		return p.Refuse("what du prints of a disk's blocks")
	}
	code := 0
	for _, f := range orFolder(o.operands) {
		info, err := p.Guest.Root.Lstat(p.Abs(f))
		if err != nil {
			code = p.Fail(1, "du: cannot access '%s': %s", f, reason(err))
			continue
		}
		if info.IsDir() {
			return p.Refuse("du of a folder")
		}
		p.Printf("%d\t%s\n", info.Size(), f)
	}
	return code
}

func orFolder(names []string) []string {
	if len(names) == 0 {
		return []string{"."}
	}
	return names
}

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
	if o.has("v") && o.has("d", "D") {
		return p.refuseAs(1, "install -v of folders")
	}
	if len(o.operands) == 0 {
		return p.missing("file operand")
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
		if err == nil && o.has("v") && p.Guest.Root.Exists(target(f)) {
			p.Printf("removed '%s'\n", p.shown(o, target(f)))
		}
		if err == nil {
			err = p.Guest.Root.WriteFile(target(f), data, mode)
		}
		if err == nil {
			err = p.Guest.Root.Chmod(target(f), mode)
		}
		switch {
		case err != nil:
			code = p.failed(f, err)
		case o.has("v"):
			p.Printf("'%s' -> '%s'\n", f, p.shown(o, target(f)))
		}
	}
	return code
}

func truncate(_ context.Context, p *Process, o options) int {
	text := cmp.Or(o.value("s"), o.value("l"))
	n, ok := sized(strings.TrimLeft(text, "+-"))
	if o.has("r") {
		info, err := p.Guest.Root.Stat(p.Abs(o.value("r")))
		if err != nil {
			return p.failed(o.value("r"), err)
		}
		n, ok, text = int(info.Size()), true, "x"
	}
	if !ok || n > maxUnzipped || o.has("o") {
		return p.Refuse("%s of %s", p.name(), text)
	}
	for _, f := range o.operands {
		name := p.Abs(f)
		data, err := p.Guest.Root.ReadFile(name)
		if err != nil && o.has("c") {
			continue
		}
		size := n
		switch {
		case text[0] == '+':
			size = len(data) + n
		case text[0] == '-':
			size = max(len(data)-n, 0)
		case p.name() == "fallocate":
			size = max(len(data), n)
		}
		if size > maxUnzipped {
			return p.Refuse("a file of %d MiB", size>>20)
		}
		data = append(data, make([]byte, max(size-len(data), 0))...)[:size]
		if err := p.Guest.Root.WriteFile(name, data, p.newFileMode(0o666)); err != nil {
			return p.failed(f, err)
		}
	}
	return 0
}
