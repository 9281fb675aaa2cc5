package shell

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/limit"
)

func dataCommands() Table {
	return Table{
		"curl": curl, "jq": jq,
		"base64": flagged("d|D|decode w|wrap: i|ignore-garbage", base64Command),
		"gzip": flagged("d|decompress c|stdout k|keep f|force n|no-name q|quiet 1|fast 2 3 4 5 6 7 8 9|best "+
			"t|test", gzipCommand),
		"gunzip":    flagged("c|stdout k|keep f|force q|quiet t|test", gzipCommand),
		"zcat":      flagged("f|force", gzipCommand),
		"tar":       tarCommand,
		"sha256sum": flagged("c|check status quiet b t", digests(sha256.New)),
		"sha512sum": flagged("c|check status quiet b t", digests(sha512.New)),
		"sha1sum":   flagged("c|check status quiet b t", digests(sha1.New)),
		"sha384sum": flagged("c|check status quiet b t", digests(sha512.New384)),
		"sha224sum": flagged("c|check status quiet b t", digests(sha256.New224)),
		"md5sum":    flagged("c|check status quiet b t", digests(md5.New)),
	}
}

const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// base64Command encodes its input, or with -d decodes it.
func base64Command(_ context.Context, p *Process, o options) int {
	data, err := p.read(orStdin(o.operands)[0])
	if err != nil {
		return p.Fail(1, "base64: %s: %s", o.operands[0], reason(err))
	}
	if o.has("d") {
		text := strings.Join(strings.Fields(string(data)), "")
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			good := len(text) - len(strings.TrimLeft(text, base64Letters))
			if good%4 == 1 { // the rest is less than a byte
				good--
			}
			plain, _ = base64.RawStdEncoding.DecodeString(text[:good])
			_, _ = p.Stdout.Write(plain) // an error means that nothing reads the output
			return p.Fail(1, "base64: invalid input")
		}
		_, _ = p.Stdout.Write(plain) // an error means that nothing reads the output
		return 0
	}
	width := 76
	if o.has("w") {
		var err error
		if width, err = strconv.Atoi(o.value("w")); err != nil || width < 0 {
			return p.Fail(1, "base64: invalid wrap size: ‘%s’", o.value("w"))
		}
	}
	text := base64.StdEncoding.EncodeToString(data)
	if width == 0 {
		p.Printf("%s", text)
		return 0
	}
	for len(text) > 0 {
		n := min(width, len(text))
		p.Printf("%s\n", text[:n])
		text = text[n:]
	}
	return 0
}

// maxUnzipped bounds the size of a decompressed stream, in bytes.
const maxUnzipped = 16 << 20

func ungzip(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("not in gzip format")
	}
	out, err := io.ReadAll(io.LimitReader(z, maxUnzipped))
	if err != nil {
		return nil, errors.New("unexpected end of file")
	}
	if len(out) == maxUnzipped {
		return nil, fmt.Errorf("is larger than %d MiB when it is unpacked (a bound of the simulation)", maxUnzipped>>20)
	}
	return out, nil
}

func zipped(meter *limit.Meter, data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for part := range slices.Chunk(data, 1<<20) {
		meter.Look()
		_, _ = w.Write(part) // a buffer accepts every write
	}
	_ = w.Close()
	return b.Bytes()
}

// gzipCommand implements gzip, gunzip and zcat, for streams and for files in place.
func gzipCommand(_ context.Context, p *Process, o options) int {
	undo := o.has("d", "t") || p.name() != "gzip"
	toStdout := o.has("c") || p.name() == "zcat"
	code := 0
	fail := func(c int, format string, a ...any) { // the code is 1 for an error and 2 for a warning
		p.Fail(c, "gzip: "+format, a...)
		code = map[bool]int{true: 1, false: 2}[c == 1 || code == 1]
	}
	for _, f := range orStdin(o.operands) {
		data, err := p.read(f)
		out, to := []byte(nil), f+".gz"
		switch {
		case errors.Is(err, errIsDirectory):
			fail(2, "%s is a directory -- ignored", f)
			continue
		case err != nil:
			fail(1, "%s: %s", f, reason(err))
			continue
		case !undo && !toStdout && strings.HasSuffix(f, ".gz"):
			p.Fail(0, "gzip: %s already has .gz suffix -- unchanged", f)
			continue
		case undo:
			if to = strings.TrimSuffix(f, ".gz"); to == f && f != "-" && !toStdout && !o.has("t") {
				fail(2, "%s: unknown suffix -- ignored", f)
				continue
			}
			if out, err = ungzip(data); err != nil {
				fail(1, "%s: %v", f, err)
				continue
			}
		default:
			out = zipped(p.meter, data)
		}
		switch {
		case o.has("t"):
			continue
		case toStdout || f == "-":
			_, _ = p.Stdout.Write(out) // an error means that nothing reads the output
			continue
		case p.Guest.Root.Exists(p.Abs(to)) && !o.has("f"):
			fail(2, "%s already exists;\tnot overwritten", to)
			continue
		}
		err = p.Guest.Root.WriteFile(p.Abs(to), out, modeOf(p, p.Abs(f)))
		if err == nil && !o.has("k") {
			err = p.Guest.Root.Remove(p.Abs(f))
		}
		if err != nil {
			fail(1, "%s: %s", to, reason(err))
		}
	}
	return code
}

// digests returns a command that prints digests and, with -c, checks them.
func digests(digest func() hash.Hash) func(context.Context, *Process, options) int {
	of := func(data []byte) string {
		h := digest()
		_, _ = h.Write(data) // never fails (hash.Hash)
		return hex.EncodeToString(h.Sum(nil))
	}
	return func(_ context.Context, p *Process, o options) int {
		code := 0
		for _, f := range orStdin(o.operands) {
			data, err := p.read(f)
			if err != nil {
				code = p.failed(f, err)
				continue
			}
			if !o.has("c") {
				p.Printf("%s  %s\n", of(data), f)
				continue
			}
			var lines, unread, wrong, improper int
			for _, line := range p.linesOf(string(data)) {
				want, name, ok := strings.Cut(line, " ")
				if !ok || len(want) != 2*digest().Size() {
					improper++
					continue
				}
				lines++
				name = strings.TrimLeft(name, " *")
				content, err := p.read(name)
				switch {
				case err != nil:
					code = p.failed(name, err)
					unread++
					if !o.has("status") {
						p.Printf("%s: FAILED open or read\n", name)
					}
				case of(content) != strings.ToLower(want):
					code = 1
					wrong++
					if !o.has("status") {
						p.Printf("%s: FAILED\n", name)
					}
				case !o.has("status", "quiet"):
					p.Printf("%s: OK\n", name)
				}
			}
			if lines == 0 {
				if f == "-" {
					f = "'standard input'"
				}
				code = p.Fail(1, "%s: %s: no properly formatted checksum lines found", p.name(), f)
				continue
			}
			if !o.has("status") {
				p.warn(improper, "line is improperly formatted", "lines are improperly formatted")
				p.warn(unread, "listed file could not be read", "listed files could not be read")
				p.warn(wrong, "computed checksum did NOT match", "computed checksums did NOT match")
			}
		}
		return code
	}
}

// warn writes a warning about a number of items, unless it is 0.
func (p *Process) warn(n int, one, many string) {
	if n > 1 {
		one = many
	}
	if n > 0 {
		p.Fail(0, "%s: WARNING: %d %s", p.name(), n, one)
	}
}

// tarCommand creates, lists and unpacks archives, optionally with gzip.
func tarCommand(ctx context.Context, p *Process) int {
	args := p.Args[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") { // the old syntax: tar xzf FILE
		letters, rest := args[0], args[1:]
		args = nil
		for _, l := range letters {
			args = append(args, "-"+string(l))
			if strings.ContainsRune("fCTX", l) && len(rest) > 0 {
				args, rest = append(args, rest[0]), rest[1:]
			}
		}
		args = append(args, rest...)
	}
	o, unknown := declare("x|extract|get c|create t|list f|file: z|gzip|gunzip C|directory: v|verbose " +
		"p|preserve-permissions strip-components: no-same-owner same-owner overwrite exclude: " +
		"a|auto-compress O|to-stdout m|touch no-same-permissions T|files-from: transform|xform: mode: " +
		"owner: group: numeric-owner sort: n wildcards").parse(args)
	if unknown != "" {
		return p.refuseAs(2, "tar %s", unknown)
	}
	if o.has("T") {
		data, err := p.read(o.value("T"))
		if err != nil {
			return p.Fail(2, "tar: %s: Cannot open: %s", o.value("T"), reason(err))
		}
		o.operands = append(o.operands, strings.Fields(string(data))...)
	}
	inner := *p
	inner.Dir = p.Abs(cmp.Or(o.value("C"), "."))
	if !p.Guest.Root.IsDir(inner.Dir) {
		return p.Fail(2, "tar: %s: Cannot open: No such file or directory\ntar: Error is not recoverable: exiting now", o.value("C"))
	}
	switch {
	case o.has("c"):
		return tarCreate(ctx, &inner, p, o)
	case o.has("x", "t"):
		return tarRead(ctx, &inner, p, o)
	}
	return p.Fail(2, "tar: You must specify one of the '-Acdtrux', '--delete' or '--test-label' options")
}

// tarCreate writes an archive. The paths in p are relative to -C, those in outer to the current folder.
func tarCreate(ctx context.Context, p, outer *Process, o options) int {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	code, left := 0, maxCopied
	rename := p.transformed(ctx, o.values("transform"))
	if len(o.operands) == 0 && !o.has("T") {
		return p.Fail(2, "tar: Cowardly refusing to create an empty archive")
	}
	exclude, err := patterns(o.values("exclude"))
	if err != nil {
		return p.refuseAs(2, "tar --exclude of %v", err)
	}
	for _, name := range o.operands {
		if _, err := p.Guest.Root.Lstat(p.Abs(name)); err != nil {
			code = p.Fail(2, "tar: %s: Cannot stat: %s", name, reason(err))
			continue
		}
		p.walk(name, 0, func(name string, _ int, info fs.FileInfo) bool {
			if excluded(p.meter, exclude, name) {
				return false
			}
			target, _ := p.Guest.Root.Readlink(p.Abs(name))
			h, err := tar.FileInfoHeader(info, target)
			if left--; err != nil || left < 0 {
				code = 2
				return false
			}
			h.Name = strings.TrimPrefix(name, "/")
			h.Uname, h.Gname, h.Uid, h.Gid = cmp.Or(o.value("owner"), "root"), cmp.Or(o.value("group"), "root"), 0, 0
			if mode, ok := changedMode(o.value("mode"), info.Mode().Perm(), 0); o.has("mode") && ok {
				h.Mode = int64(mode.Perm())
			}
			if h.Name = rename(h.Name); h.Name == "" {
				return true
			}
			if info.IsDir() {
				h.Name = strings.TrimSuffix(h.Name, "/") + "/"
			}
			if o.has("v") {
				to := p.Stdout
				if file := o.value("f"); file == "" || file == "-" {
					to = p.Stderr
				}
				fmt.Fprintln(to, h.Name)
			}
			if err := w.WriteHeader(h); err != nil {
				code = 2
				return false
			}
			if info.Mode().IsRegular() {
				data, err := p.read(name)
				if err == nil {
					_, err = w.Write(data)
				}
				if err != nil {
					code = 2
				}
			}
			return true
		})
	}
	if err := w.Close(); err != nil {
		return p.Fail(2, "tar: %v", err)
	}
	file := o.value("f")
	data := b.Bytes()
	if o.has("z") || o.has("a") && strings.HasSuffix(file, "gz") {
		data = zipped(p.meter, data)
	}
	if file == "" || file == "-" {
		_, _ = p.Stdout.Write(data) // an error means that nothing reads the output
		return code
	}
	if outer.Abs(file) == "/dev/null" {
		return code
	}
	if err := p.Guest.Root.WriteFile(outer.Abs(file), data, p.newFileMode(0o666)); err != nil {
		return p.failed(file, err)
	}
	return code
}

// tarRead lists or unpacks an archive. The paths in p are relative to -C, those in outer to the current folder.
func tarRead(ctx context.Context, p, outer *Process, o options) int {
	file := o.value("f")
	if file == "" {
		file = "-"
	}
	data, err := outer.read(file)
	if err != nil {
		return p.Fail(2, "tar: %s: Cannot open: %s", file, reason(err))
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		if data, err = ungzip(data); err != nil {
			return p.Fail(2, "tar: %v", err)
		}
	} else if o.has("z") {
		return p.Fail(2, "\ngzip: stdin: not in gzip format\ntar: Child returned status 1\ntar: Error is not recoverable: exiting now")
	}
	strip, err := strconv.Atoi(cmp.Or(o.value("strip-components"), "0"))
	if err != nil || strip < 0 {
		return p.Fail(2, "tar: Invalid number of elements")
	}
	rename := p.transformed(ctx, o.values("transform"))
	exclude, err := patterns(o.values("exclude"))
	wanted, wrong := patterns(o.operands)
	if err := errors.Join(err, wrong); err != nil {
		return p.refuseAs(2, "tar with %v", err)
	}
	if !o.has("wildcards") {
		wanted = nil
	}
	if len(data) == 0 {
		return p.Fail(2, "tar: This does not look like a tar archive")
	}
	seen, code := map[string]bool{}, 0
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return p.Fail(2, "tar: This does not look like a tar archive")
		}
		if len(o.operands) > 0 && !inArchive(p.meter, h.Name, o.operands, wanted, seen) || excluded(p.meter, exclude, h.Name) {
			continue
		}
		if o.has("t") && o.has("v") {
			kind := map[byte]string{tar.TypeDir: "d", tar.TypeSymlink: "l"}[h.Typeflag]
			size := fmt.Sprintf("%*d", max(1, 19-len(h.Uname+"/"+h.Gname)-1), h.Size)
			p.Printf("%s%s %s/%s %s %s %s%s\n", cmp.Or(kind, "-"), fs.FileMode(h.Mode).Perm().String()[1:], h.Uname, h.Gname, size,
				h.ModTime.UTC().Format("2006-01-02 15:04"), h.Name, map[bool]string{true: " -> " + h.Linkname}[h.Linkname != ""])
		} else if o.has("t", "v") {
			p.Printf("%s\n", h.Name)
		}
		if o.has("t") {
			continue
		}
		parts := strings.Split(strings.Trim(h.Name, "/"), "/")
		if len(parts) <= strip {
			continue
		}
		if o.has("O") {
			if h.Typeflag == tar.TypeReg {
				_, _ = io.Copy(p.Stdout, io.LimitReader(r, maxUnzipped)) // an error means that nothing reads the output
			}
			continue
		}
		if slices.Contains(parts, "..") {
			code = p.Fail(2, "tar: %s: Member name contains '..'", h.Name)
			continue
		}
		name := rename(path.Join(parts[strip:]...))
		if err := untar(p, h, name, r); err != nil {
			return p.Fail(2, "tar: %s: Cannot open: %s", h.Name, reason(err))
		}
	}
	for _, name := range o.operands {
		if !seen[name] {
			return p.Fail(2, "tar: %s: Not found in archive", name)
		}
	}
	return code
}

// excluded reports whether a pattern matches a name, or the end of its path.
func excluded(meter *limit.Meter, patterns []*shPattern, name string) bool {
	return slices.ContainsFunc(patterns, func(m *shPattern) bool {
		for rest := strings.TrimSuffix(name, "/"); ; {
			if m.whole(meter, rest) || m.whole(meter, "./"+rest) {
				return true
			}
			_, after, more := strings.Cut(rest, "/")
			if !more {
				return false
			}
			rest = after
		}
	})
}

// transformed returns the function of --transform, which changes a name by expressions of sed.
func (p *Process) transformed(ctx context.Context, expressions []string) func(string) string {
	return func(name string) string {
		if len(expressions) == 0 {
			return name
		}
		inner, out := *p, strings.Builder{}
		inner.Args, inner.Stdin, inner.Stdout = []string{"sed", "-e", strings.Join(expressions, "\n")}, strings.NewReader(name), &out
		if p.shell.commands["sed"](ctx, &inner) != 0 {
			return name
		}
		return strings.TrimSuffix(out.String(), "\n")
	}
}

// inArchive reports whether the operands name an entry of an archive, and records in seen which one does.
func inArchive(meter *limit.Meter, name string, names []string, wanted []*shPattern, seen map[string]bool) bool {
	for i, n := range names {
		meter.Step()
		if len(wanted) > 0 && wanted[i].whole(meter, strings.TrimSuffix(name, "/")) {
			seen[n] = true
			return true
		}
		if strings.TrimSuffix(name, "/") == strings.TrimSuffix(n, "/") || strings.HasPrefix(name, strings.TrimSuffix(n, "/")+"/") {
			seen[n] = true
			return true
		}
	}
	return false
}

func untar(p *Process, h *tar.Header, name string, r io.Reader) error {
	root, at := p.Guest.Root, p.Abs(name)
	if name == "." {
		return nil
	}
	if err := root.MkdirAll(p.Abs(path.Dir(name))); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if err := root.MkdirAll(at); err != nil {
			return err
		}
		return root.Chmod(at, h.FileInfo().Mode().Perm()|0o700)
	case tar.TypeSymlink:
		_ = root.Remove(at) // a missing file is no error
		return root.Symlink(h.Linkname, at)
	case tar.TypeReg:
		data, err := io.ReadAll(io.LimitReader(r, maxUnzipped))
		if err != nil {
			return err
		}
		if err := root.WriteFile(at, data, 0o644); err != nil {
			return err
		}
		if err := root.Chmod(at, h.FileInfo().Mode().Perm()); err != nil {
			return err
		}
		return root.Chtimes(at, h.ModTime)
	}
	return nil
}
