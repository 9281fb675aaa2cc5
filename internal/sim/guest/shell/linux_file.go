package shell

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"casement.dev/casement/internal/guestfs"
)

func fileCommands() Table {
	return Table{
		"cat":   flagged("n|number b|number-nonblank A|show-all E|show-ends T|show-tabs v|show-nonprinting e t s|squeeze-blank u", cat),
		"mkdir": flagged("p|parents m|mode: v|verbose", mkdir),
		"rmdir": flagged("p|parents v|verbose ignore-fail-on-non-empty", rmdir),
		"rm":    flagged("r|R|recursive f|force v|verbose d|dir i I one-file-system preserve-root no-preserve-root", remove),
		"cp": flagged("r|R|recursive a|archive p f|force n|no-clobber v|verbose d L|dereference "+
			"P|no-dereference T|no-target-directory t|target-directory: preserve=? u|update", copyFiles),
		"mv":       flagged("f|force n|no-clobber v|verbose T|no-target-directory t|target-directory: u|update", moveFiles),
		"ln":       flagged("s|symbolic f|force n|no-dereference v|verbose T|no-target-directory", link),
		"readlink": flagged("f|canonicalize e|canonicalize-existing m|canonicalize-missing n|no-newline", readlink),
		"realpath": flagged("e|canonicalize-existing m|canonicalize-missing s|strip|no-symlinks q|quiet relative-to:", readlink),
		"ls": flagged("a|all A|almost-all l 1 d|directory r|reverse R|recursive t S h|human-readable "+
			"F|classify p i n C color=? time-style:", list),
		"touch":  flagged("c|no-create a m d|date: r|reference: t:", touch),
		"chmod":  minusMode(flagged("R|recursive v|verbose f|silent|quiet c|changes reference:", chmod)),
		"chown":  flagged("R|recursive f|silent|quiet h|no-dereference", chown),
		"chgrp":  flagged("R|recursive f|silent|quiet h|no-dereference", chown),
		"mktemp": flagged("d|directory p: tmpdir=? t q|quiet u|dry-run suffix:", mktemp),
		"stat":   flagged("c|format: printf: L|dereference", stat),
		"du":     flagged("s|summarize h|human-readable k m b|bytes a|all c|total d|max-depth:", diskUsage),
		"install": flagged("d|directory m|mode: o|owner: g|group: D v|verbose C|compare T "+
			"p|preserve-timestamps t|target-directory:", install),
		"truncate": flagged("s|size: c|no-create r|reference:", truncate),
		"basename": flagged("+ a|multiple s|suffix:", basename),
		"dirname":  flagged("", dirname),
		"unlink":   flagged("", unlink),
		"find":     find, "dd": dd,
		"fallocate": flagged("l|length: o|offset:", truncate),
		"xargs": flagged("+ 0|null d|delimiter: n|max-args: I|replace: L|max-lines: r|no-run-if-empty "+
			"t|verbose P|max-procs: a|arg-file: x|exit", xargs),
	}
}

// missing reports a missing part of the command line, as coreutils do.
func (p *Process) missing(what string) int {
	return p.Fail(usageCode(p.name()), "%[1]s: missing %[2]s\nTry '%[1]s --help' for more information.", p.name(), what)
}

// failed reports err as coreutils do and returns 1.
func (p *Process) failed(name string, err error) int {
	switch p.name() {
	case "sort":
		name = "cannot read: " + name
	case "tac":
		name = "failed to open '" + name + "' for reading"
	}
	return p.Fail(1, "%s: %s: %s", p.name(), name, reason(err))
}

func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "No such file or directory"
	case errors.Is(err, syscall.ENOTEMPTY): // it is also an fs.ErrExist
		return "Directory not empty"
	case errors.Is(err, fs.ErrExist):
		return "File exists"
	case errors.Is(err, fs.ErrPermission):
		return "Permission denied"
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		text := pe.Err.Error()
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return err.Error()
}

func cat(_ context.Context, p *Process, o options) int {
	code, n, buffer := 0, 0, make([]byte, streamPart)
	for _, f := range orStdin(o.operands) {
		if f != "-" && p.Guest.Root.IsDir(p.Abs(f)) {
			code = p.Fail(1, "cat: %s: Is a directory", f)
			continue
		}
		in, err := p.open(f)
		if err != nil {
			code = p.failed(f, err)
			continue
		}
		if len(o.given) == 0 {
			for part := in.read(buffer); len(part) > 0; part = in.read(buffer) {
				_, _ = p.Stdout.Write(part) // an error means that nothing reads the output
			}
			continue
		}
		blank := false
		for line, ok := in.line(); ok; line, ok = in.line() {
			body, end := strings.CutSuffix(line, "\n")
			if o.has("s") && body == "" && blank {
				continue
			}
			blank = body == ""
			if o.has("A", "v", "e", "t") {
				body = visible(body)
			}
			if o.has("A", "T", "t") {
				body = strings.ReplaceAll(body, "\t", "^I")
			}
			if o.has("n") && !o.has("b") || o.has("b") && line != "\n" {
				n++
				p.Printf("%6d\t", n)
			}
			p.Printf("%s", body)
			if end && o.has("E", "A", "e") {
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

// read returns a file's content, or standard input for "-". It simulates the few files of /proc and /sys that scripts
// read.
func (p *Process) read(name string) ([]byte, error) {
	if name == "-" {
		if p.Stdin == nil {
			return nil, nil
		}
		return p.readUntil(p.Stdin, func([]byte) bool { return false })
	}
	file := p.Abs(name)
	if data := p.endless(file, deviceSize); data != nil {
		return data, nil
	}
	switch file {
	case "/dev/stdin":
		return p.read("-")
	case "/sys/class/net/eth0/address":
		return []byte(p.Guest.MAC() + "\n"), nil
	case "/proc/sys/kernel/random/uuid":
		return []byte(uuid.NewString() + "\n"), nil
	case "/proc/uptime":
		return []byte("60.00 60.00\n"), nil
	case "/dev/null":
		return nil, nil
	default:
		if p.Guest.Root.IsDir(file) {
			return nil, &fs.PathError{Op: "read", Path: file, Err: errIsDirectory}
		}
		size := 0
		if info, err := p.Guest.Root.Stat(file); err == nil {
			size = copies * int(min(info.Size(), guestfs.MaxRead))
		}
		p.meter.Hold(size) // before it is read, because other programs may read at the same time
		data, err := p.Guest.Root.ReadFile(file)
		p.meter.Hold(copies*len(data) - size)
		if errors.Is(err, fs.ErrNotExist) && (strings.HasPrefix(file, "/proc/") || strings.HasPrefix(file, "/sys/")) {
			p.Refuse("%s", file) // a real machine has more such files
		}
		return data, err
	}
}

// copies is the number of copies of a text that a command has in memory: as bytes, as text and in its output.
const copies = 3

// readUntil reads a stream to its end, or until enough returns true for a part. The memory of the data counts until
// the process ends.
func (p *Process) readUntil(in io.Reader, enough func(part []byte) bool) (data []byte, err error) {
	part := make([]byte, 64<<10)
	for {
		n, err := in.Read(part)
		if n > 0 {
			p.meter.Look()
			p.meter.Hold(copies * n)
			data = append(data, part[:n]...)
			if enough(part[:n]) {
				return data, nil
			}
		}
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return data, err
		}
	}
}

// deviceSize is the number of bytes that a read of an endless device such as /dev/zero returns to a program that wants all.
const deviceSize = 1 << 20

// endless returns bytes of an endless device; nil if the file is not one.
func (p *Process) endless(file string, size int) []byte {
	switch file {
	case "/dev/zero", "/dev/urandom", "/dev/random":
		p.meter.Hold(copies * min(size, 1<<40)) // no guest has that much memory
		data := make([]byte, size)
		if file != "/dev/zero" {
			_, _ = rand.Read(data) // never fails (crypto/rand)
		}
		return data
	}
	return nil
}

const errIsDirectory = saying("Is a directory")

func mkdir(_ context.Context, p *Process, o options) int {
	if len(o.operands) == 0 {
		return p.missing("operand")
	}
	root, code := p.Guest.Root, 0
	for _, name := range o.operands {
		d := p.Abs(name)
		switch _, err := root.Lstat(d); {
		case root.IsDir(d) && o.has("p"):
			continue
		case err == nil:
			code = p.Fail(1, "mkdir: cannot create directory '%s': File exists", name)
			continue
		case !root.IsDir(path.Dir(d)) && !o.has("p"):
			code = p.Fail(1, "mkdir: cannot create directory '%s': No such file or directory", name)
			continue
		}
		made := []string{name}
		for above := path.Dir(name); !root.IsDir(p.Abs(above)); above = path.Dir(above) {
			made = append(made, above)
		}
		if err := p.makeDir(d, 0o777&^p.umask()); err != nil {
			code = p.Fail(1, "mkdir: cannot create directory '%s': %s", name, reason(err))
			continue
		}
		for _, one := range slices.Backward(made) {
			if o.has("v") {
				p.Printf("mkdir: created directory '%s'\n", one)
			}
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

// makeDir creates a folder and the missing folders above it, all with the given mode.
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
	if len(o.operands) == 0 {
		return p.missing("operand")
	}
	code := 0
	for _, name := range o.operands {
		d := p.Abs(name)
		if o.has("v") {
			p.Printf("rmdir: removing directory, '%s'\n", name)
		}
		if info, err := p.Guest.Root.Lstat(d); err == nil && !info.IsDir() {
			code = p.Fail(1, "rmdir: failed to remove '%s': Not a directory", name)
			continue
		}
		if err := p.Guest.Root.Remove(d); err != nil {
			if !o.has("ignore-fail-on-non-empty") || errors.Is(err, fs.ErrNotExist) {
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
		return p.missing("operand")
	}
	in, err := p.open("-")
	if err != nil {
		return p.failed("-", err)
	}
	if o.last("i", "I", "f") == "I" && (recursive || len(o.operands) > 3) &&
		!in.confirm("rm: remove %d argument%s%s? ", len(o.operands), map[bool]string{true: "s"}[len(o.operands) > 1],
			map[bool]string{true: " recursively"}[recursive]) {
		return 0
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
			code = p.Fail(1, "rm: refusing to remove '.' or '..' directory: skipping '%s'", f)
			continue
		case strings.HasSuffix(f, "/") && !info.IsDir():
			code = p.Fail(1, "rm: cannot remove '%s': Not a directory", f)
			continue
		case info.IsDir() && !recursive && !o.has("d"):
			code = p.Fail(1, "rm: cannot remove '%s': Is a directory", f)
			continue
		}
		if info.IsDir() && o.last("i", "f") == "i" {
			return p.Refuse("the questions of rm -i about a folder")
		}
		if o.last("i", "f") == "i" && !in.confirm("rm: remove regular file '%s'? ", f) {
			continue
		}
		drop := p.Guest.Root.RemoveAll
		if !recursive {
			drop = p.Guest.Root.Remove
		}
		var all []string
		if o.has("v") {
			all = p.removedMessages(f, info)
		}
		if err := drop(name); err != nil {
			code = p.Fail(1, "rm: cannot remove '%s': %s", f, reason(err))
			continue
		}
		p.Printf("%s", strings.Join(all, ""))
	}
	return code
}

// confirm asks a question, and reports whether the next line of input answers yes.
func (s *stream) confirm(format string, a ...any) bool {
	fmt.Fprintf(s.p.Stderr, format, a...)
	answer, _ := s.line()
	return strings.HasPrefix(strings.ToLower(answer), "y")
}

// removedMessages returns the messages of rm -v for a file, or for a folder with its contents.
func (p *Process) removedMessages(name string, info fs.FileInfo) (all []string) {
	if !info.IsDir() {
		return []string{fmt.Sprintf("removed '%s'\n", name)}
	}
	entries, _ := p.Guest.Root.ReadDir(p.Abs(name)) // an unreadable folder is not removed either
	for _, e := range entries {
		if inner, err := e.Info(); err == nil {
			all = append(all, p.removedMessages(strings.TrimSuffix(name, "/")+"/"+e.Name(), inner)...)
		}
	}
	return append(all, fmt.Sprintf("removed directory '%s'\n", name))
}

// unlink removes one file.
func unlink(_ context.Context, p *Process, o options) int {
	if len(o.operands) != 1 {
		return p.Fail(1, "unlink: missing or extra operand")
	}
	name := p.Abs(o.operands[0])
	if info, err := p.Guest.Root.Lstat(name); err == nil && info.IsDir() {
		return p.Fail(1, "unlink: cannot unlink '%s': Is a directory", o.operands[0])
	}
	if err := p.Guest.Root.Remove(name); err != nil {
		return p.Fail(1, "unlink: cannot unlink '%s': %s", o.operands[0], reason(err))
	}
	return 0
}

var touchTime = regexp.MustCompile(`^(\d\d|\d{4})?(\d{8})(?:\.(\d\d))?$`)

func touch(_ context.Context, p *Process, o options) int {
	if len(o.operands) == 0 {
		return p.missing("file operand")
	}
	when := p.now()
	if o.has("r") {
		info, err := p.Guest.Root.Stat(p.Abs(o.value("r")))
		if err != nil {
			return p.Fail(1, "touch: failed to get attributes of '%s': %s", o.value("r"), reason(err))
		}
		when = info.ModTime()
	}
	switch {
	case o.has("t"):
		m := touchTime.FindStringSubmatch(o.value("t"))
		if m == nil {
			return p.Fail(1, "touch: invalid date format '%s'", o.value("t"))
		}
		year := cmp.Or(m[1], strconv.Itoa(when.Year()))
		if len(year) == 2 {
			year = map[bool]string{true: "19", false: "20"}[year > "68"] + year
		}
		t, err := time.Parse("20060102150405", year+m[2]+cmp.Or(m[3], "00"))
		if err != nil {
			return p.Fail(1, "touch: invalid date format '%s'", o.value("t"))
		}
		when = t
	case o.has("d"):
		t, err := parseDate(o.value("d"), when)
		if err == errNoDate {
			return p.Fail(1, "touch: invalid date format '%s'", o.value("d"))
		}
		if err != nil {
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
				err = p.Guest.Root.AppendFile(name, nil, p.newFileMode(0o666))
			}
			if err == nil && (!o.has("a") || o.has("m")) { // there are no access times
				err = p.Guest.Root.Chtimes(name, when)
			}
			if err != nil {
				code = p.Fail(1, "touch: cannot touch '%s': %s", f, reason(err))
			}
		}
	}
	return code
}
