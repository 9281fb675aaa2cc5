package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"mvdan.cc/sh/v3/syntax"

	"casement.dev/casement/internal/guestfs"
)

// shFile is an open file with its position, which the descriptors of shells share.
type shFile struct {
	r     io.Reader
	w     io.Writer
	mu    sync.Mutex // serializes writes
	close func()
	path  string
	refs  atomic.Int32
}

func newFile(r io.Reader, w io.Writer, end func()) *shFile {
	f := &shFile{r: r, w: w, close: end}
	f.refs.Store(1)
	return f
}

func (f *shFile) retain() *shFile { f.refs.Add(1); return f }

func (f *shFile) release() {
	if f.refs.Add(-1) == 0 && f.close != nil {
		f.close()
	}
}

func (f *shFile) reader() io.Reader {
	if f == nil || f.r == nil {
		return noInput{}
	}
	return f.r
}

// piped reports whether a descriptor is an end of a pipe.
func (f *shFile) piped() bool {
	if f == nil {
		return false
	}
	_, reads := f.r.(*pipe)
	_, writes := f.w.(*pipe)
	return reads || writes
}

// broken reports whether nothing reads the data that is written.
func (f *shFile) broken() bool {
	if f == nil {
		return false
	}
	p, ok := f.w.(*pipe)
	return ok && p.refused.Load()
}

// descriptorError is the error of a write to a closed descriptor, with the text of the shell.
type descriptorError struct{}

func (descriptorError) Error() string { return "Bad file descriptor" }

// closedFile is the writer of a closed descriptor.
type closedFile struct{}

func (closedFile) Write([]byte) (int, error) { return 0, descriptorError{} }

// writer returns the writer of a descriptor, which counts the bytes against the limit.
func (r *runner) writer(fd int) io.Writer {
	f := r.fds[fd]
	if f == nil || f.w == nil {
		return closedFile{}
	}
	return r.shell.shared(r.ctx, f.w, &f.mu)
}

func (r *runner) stderr() io.Writer { return r.writer(2) }
func (r *runner) stdout() io.Writer { return r.writer(1) }

// replace sets the file of a descriptor and releases its old file. The descriptor takes over the caller's reference
// to f.
func (r *runner) replace(fd int, f *shFile) {
	if old := r.fds[fd]; old != nil {
		old.release()
	}
	delete(r.fds, fd)
	if f != nil {
		r.fds[fd] = f
	}
}

// pipe connects a writer and a reader with a bounded buffer, as the kernel's pipes do.
type pipe struct {
	mu      sync.Mutex
	cond    *sync.Cond
	data    []byte
	noMore  bool // all writers have ended
	unread  bool // all readers have ended
	lost    int  // the number of bytes written after the readers have ended
	refused atomic.Bool
	stop    func() bool
}

const pipeBuffer = 64 << 10

func newPipe(ctx context.Context) (read, write *shFile) {
	p := &pipe{}
	p.cond = sync.NewCond(&p.mu)
	change := func(f func()) {
		p.mu.Lock()
		f()
		p.mu.Unlock()
		p.cond.Broadcast()
	}
	p.stop = context.AfterFunc(ctx, func() { change(func() { p.noMore, p.unread = true, true }) })
	return newFile(p, nil, func() { change(func() { p.unread, p.data = true, nil }); p.stop() }),
		newFile(nil, p, func() { change(func() { p.noMore = true }) })
}

// Read implements io.Reader.
func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.data) == 0 {
		if p.noMore {
			return 0, io.EOF
		}
		p.cond.Wait()
	}
	n := copy(b, p.data)
	p.data = p.data[n:]
	p.cond.Broadcast()
	return n, nil
}

// Write implements io.Writer.
func (p *pipe) Write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n < len(b) {
		for len(p.data) >= pipeBuffer && !p.unread {
			p.cond.Wait()
		}
		if p.unread { // the real kernel would have buffered this much before the reader ended
			if p.lost += len(b) - n; p.lost <= pipeBuffer {
				return len(b), nil
			}
			p.refused.Store(true)
			return n, io.ErrClosedPipe
		}
		part := b[n:min(len(b), n+pipeBuffer-len(p.data))]
		p.data = append(p.data, part...)
		n += len(part)
		p.cond.Broadcast()
	}
	return n, nil
}

// captured is the output of a command substitution.
type captured struct {
	mu   sync.Mutex
	data []byte
}

// Write implements io.Writer.
func (c *captured) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data = append(c.data, b...)
	return len(b), nil
}

// Len returns the number of bytes, which counter bounds.
func (c *captured) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.data)
}

// capture runs f in a subshell and returns its output and status, after all writers to the output have ended.
func (r *runner) capture(f func(sub *runner)) (string, int) {
	sub := r.subshell()
	sub.within++
	if !r.posix && !r.options["inherit_errexit"] {
		sub.options["errexit"], sub.tested = false, 0
	}
	c := &captured{}
	done := make(chan struct{})
	sub.replace(1, newFile(nil, c, func() { close(done) }))
	status := sub.whole(func() { f(sub) })
	select {
	case <-done:
	case <-r.ctx.Done():
	}
	r.tick()
	r.grow(c.Len())
	return strings.TrimRight(strings.ReplaceAll(string(c.data), "\x00", ""), "\n"), status
}

// redirected runs f with redirections. It reports whether the redirections succeeded.
func (r *runner) redirected(list []*syntax.Redirect, f func()) bool {
	if len(list) == 0 {
		f()
		return true
	}
	before := map[int]*shFile{}
	restore := func() {
		for fd, old := range before {
			r.replace(fd, old)
		}
		before = nil
	}
	ok := false
	defer func() { restore() }()
	for _, d := range list {
		if ok = r.redirect(d, before); !ok {
			r.status = map[bool]int{true: 2, false: 1}[r.posix]
			return false
		}
	}
	r.kept = func() { // for exec, the redirections stay
		for _, old := range before {
			if old != nil {
				old.release()
			}
		}
		before = map[int]*shFile{}
	}
	f()
	return true
}

// redirect makes one redirection, and stores the old file of the descriptor in before.
func (r *runner) redirect(d *syntax.Redirect, before map[int]*shFile) bool {
	fd, name := map[bool]int{true: 0, false: 1}[slices.Contains([]syntax.RedirOperator{syntax.RdrIn, syntax.RdrInOut, syntax.DplIn,
		syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc}, d.Op)], ""
	if d.N != nil {
		if n, err := strconv.Atoi(d.N.Value); err == nil {
			fd = n
		} else {
			name = strings.Trim(d.N.Value, "{}")
			for fd = 10; r.fds[fd] != nil; {
				fd++
			}
		}
	}
	put := func(fd int, f *shFile) {
		if _, noted := before[fd]; !noted {
			if before[fd] = r.fds[fd]; before[fd] != nil {
				before[fd].retain()
			}
		}
		r.replace(fd, f)
	}
	switch d.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		put(fd, newFile(strings.NewReader(r.document(d)), nil, nil))
		return true
	case syntax.WordHdoc:
		put(fd, newFile(strings.NewReader(r.word(d.Word)+"\n"), nil, nil))
		return true
	}
	if p, ok := soleSubstitution(d.Word); ok && d.Op != syntax.DplIn && d.Op != syntax.DplOut {
		put(fd, r.substitutionPipe(p))
		return true
	}
	target := ""
	if r.posix {
		target = r.word(d.Word)
	} else if words := r.fields([]*syntax.Word{d.Word}); len(words) == 1 {
		target = words[0]
	} else {
		r.errorf("%s: ambiguous redirect", r.snippet(d.Word))
		return false
	}
	if d.Op == syntax.DplIn || d.Op == syntax.DplOut {
		from, moved := strings.CutSuffix(target, "-")
		n, err := strconv.Atoi(from)
		switch {
		case target == "-" && name != "":
			n, err := strconv.Atoi(r.value(name))
			if err != nil {
				r.errorf("%s: ambiguous redirect", name)
				return false
			}
			put(n, nil)
			return true
		case target == "-":
			put(fd, nil)
			return true
		case err != nil && d.Op == syntax.DplOut && d.N == nil: // >&file
			f := r.openFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
			if f == nil {
				return false
			}
			put(1, f)
			put(2, f.retain())
			return true
		case err != nil:
			r.errorf("%s: ambiguous redirect", r.snippet(d.Word))
			return false
		case r.fds[n] == nil:
			r.errorf("%s: Bad file descriptor", target)
			return false
		}
		put(fd, r.fds[n].retain())
		if moved && n != fd {
			put(n, nil)
		}
		return name == "" || r.named(name, fd)
	}
	flags := map[syntax.RedirOperator]int{syntax.RdrIn: os.O_RDONLY, syntax.RdrInOut: os.O_RDWR | os.O_CREATE,
		syntax.AppOut: os.O_WRONLY | os.O_CREATE | os.O_APPEND, syntax.AppAll: os.O_WRONLY | os.O_CREATE | os.O_APPEND}
	flag, some := flags[d.Op]
	if !some {
		flag = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	if r.options["noclobber"] && d.Op != syntax.RdrClob && flag&os.O_TRUNC != 0 {
		if info, err := r.shell.guest.Root.Stat(r.abs(target)); err == nil && info.Mode().IsRegular() {
			r.errorf("%s: cannot overwrite existing file", target)
			return false
		}
	}
	f := r.openFile(target, flag)
	if f == nil {
		return false
	}
	put(fd, f)
	if d.Op == syntax.RdrAll || d.Op == syntax.AppAll {
		put(2, f.retain())
	}
	return name == "" || r.named(name, fd)
}

// named sets a variable to the number of a descriptor, which stays open.
func (r *runner) named(name string, fd int) bool {
	r.fds[fd].retain() // a second reference, because the end of the redirection releases one
	kept := r.fds[fd]
	r.after = append(r.after, func() { r.fds[fd] = kept })
	return r.set(name, strconv.Itoa(fd)) == nil
}

func (r *runner) abs(name string) string { return r.shell.guest.Root.Abs(r.dir, name) }

// openFile opens a file of the guest; if that fails, it writes an error and returns nil.
func (r *runner) openFile(name string, flag int) *shFile {
	file := r.process(nil).Abs(name)
	if n, some := descriptorOf(file); some {
		if f := r.fds[n]; f != nil {
			return f.retain()
		}
	}
	switch file {
	case "/dev/null":
		return newFile(noInput{}, io.Discard, nil)
	case "/dev/console", "/dev/kmsg":
		return r.fds[1].retain()
	case "/dev/tty":
		if r.run.main.typed {
			return r.fds[1].retain()
		}
		r.errorf("%s: No such device or address", name) // a script has no terminal
		return nil
	case "/dev/zero", "/dev/urandom", "/dev/random":
		p := &Process{Guest: r.shell.guest, Dir: r.dir}
		data, _ := p.read(file)
		return newFile(strings.NewReader(string(data)), io.Discard, nil)
	}
	if strings.HasPrefix(file, "/dev/tcp/") || strings.HasPrefix(file, "/dev/udp/") {
		r.refuse("%s", name)
		return nil
	}
	f, err := r.keptOpen(file, flag, 0o666&^umaskOf(r.umask))
	if err == nil && flag&(os.O_WRONLY|os.O_RDWR) == 0 && r.shell.guest.Root.IsDir(file) && r.posix {
		f.Close()
		err = errIsDirectory
	}
	if name == "" {
		err = os.ErrNotExist
	}
	if err != nil {
		why := reason(err)
		switch {
		case r.posix && flag&os.O_CREATE != 0:
			if errors.Is(err, os.ErrNotExist) {
				why = "Directory nonexistent"
			}
			r.errorf("cannot create %s: %s", name, why)
		case r.posix:
			r.errorf("cannot open %s: %s", name, strings.TrimSuffix(why, " or directory"))
		default:
			r.errorf("%s: %s", name, why)
		}
		return nil
	}
	out := newFile(f, nil, func() { f.Close() })
	out.path = file
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		out.w = f
	}
	return out
}

// keptFile is an open file, which counts for its guest until it is closed.
type keptFile struct {
	*guestfs.File
	release func()
}

// Close implements io.Closer.
func (f keptFile) Close() error {
	defer f.release()
	return f.File.Close()
}

// keptOpen opens a file that stays open until the script closes it.
func (r *runner) keptOpen(name string, flag int, perm os.FileMode) (keptFile, error) {
	release, err := r.shell.guest.Usage.Open()
	if err != nil {
		return keptFile{}, err
	}
	f, err := r.shell.guest.Root.OpenFile(name, flag, perm)
	if err != nil {
		release()
	}
	return keptFile{f, release}, err
}

// descriptorOf returns the descriptor of a name such as /dev/stdin or /dev/fd/3.
func descriptorOf(file string) (int, bool) {
	switch file {
	case "/dev/stdin", "/proc/self/fd/0":
		return 0, true
	case "/dev/stdout", "/proc/self/fd/1":
		return 1, true
	case "/dev/stderr", "/proc/self/fd/2":
		return 2, true
	}
	n, err := strconv.Atoi(strings.TrimPrefix(file, "/dev/fd/"))
	return n, err == nil && path.Dir(file) == "/dev/fd"
}

func soleSubstitution(w *syntax.Word) (*syntax.ProcSubst, bool) {
	if len(w.Parts) != 1 {
		return nil, false
	}
	p, ok := w.Parts[0].(*syntax.ProcSubst)
	return p, ok
}

// substitutionPipe starts a process substitution and returns the shell's end of its pipe.
func (r *runner) substitutionPipe(p *syntax.ProcSubst) *shFile {
	read, write := newPipe(r.ctx)
	sub := r.subshell()
	done := make(chan struct{})
	r.last = sub.pid
	if p.Op == syntax.CmdOut {
		sub.replace(0, read)
		r.run.mu.Lock()
		r.run.ends = append(r.run.ends, func() { <-done })
		r.run.mu.Unlock()
	} else {
		sub.replace(1, write)
	}
	one := &job{pid: sub.pid, r: sub, done: done, end: func(error) {}}
	r.jobs = append(r.jobs, one)
	r.start(one, func() { sub.stmts(p.Stmts) })
	if p.Op == syntax.CmdOut {
		return write
	}
	return read
}

// substitution returns the path of a file that represents a process substitution in a word. The process writes the
// file before the command runs, or reads the file after the command.
func (r *runner) substitution(p *syntax.ProcSubst) string {
	r.run.mu.Lock()
	r.run.files++
	root, number := r.shell.guest.Root, 63 // bash's first number; further substitutions use lower numbers
	for number > 10 && root.Exists(fmt.Sprintf("/dev/fd/%d", number)) {
		number--
	}
	if number == 10 {
		number = 1000 + r.run.files
	}
	name := fmt.Sprintf("/dev/fd/%d", number)
	_ = root.MkdirAll("/dev/fd")
	f, err := r.keptOpen(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	r.run.mu.Unlock()
	if err != nil {
		r.fatal(1, "%s: %s", name, reason(err))
	}
	if p.Op != syntax.CmdOut {
		sub := r.subshell()
		sub.replace(1, newFile(nil, f, func() { f.Close() }))
		sub.whole(func() { sub.stmts(p.Stmts) })
		r.tick()
		r.after = append(r.after, func() { _ = root.Remove(name) })
		return name
	}
	f.Close()
	r.after = append(r.after, func() {
		if in, err := r.keptOpen(name, os.O_RDONLY, 0); err == nil {
			sub := r.subshell()
			sub.replace(0, newFile(in, nil, func() { in.Close() }))
			sub.whole(func() { sub.stmts(p.Stmts) })
		}
		_ = root.Remove(name)
	})
	return name
}
