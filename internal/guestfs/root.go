package guestfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	// ErrEscape is the error for a path that leads out of the guest.
	ErrEscape = errors.New("the path leads out of the guest")
	// ErrDrive is the error for a Windows drive that the guest does not have.
	ErrDrive = errors.New("the system cannot find the drive specified")
	// ErrName is the error for a name that the guest's file system refuses.
	ErrName = errors.New("the filename, directory name, or volume label syntax is incorrect")
)

// Root is a guest's file tree. Its methods take guest paths: POSIX paths for Linux; for Windows, paths with or without
// a drive, with either slash, in any case. A path without a drive is on C:, as for a process that an agent starts
// there. os.Root makes sure that no operation leaves the tree.
type Root struct {
	windows bool
	drives  map[byte]*drive
	mounts  []mount
	opened  []*os.Root // the roots of the mounts
	quota   *quota
	over    atomic.Bool // the guest has ended, and access to its files is refused
	large   sync.Mutex  // locked while a large file is read completely
}

// drives returns the folders of the file trees in a guest's folder: on Windows for C: and Azure's temporary disk D:, on
// Linux for the only tree.
func drives(windows bool) map[byte]string {
	if windows {
		return map[byte]string{'C': "C", 'D': "D"}
	}
	return map[byte]string{0: "rootfs"}
}

// drive is a file tree that is opened at its first use, because few programs use D:.
type drive struct {
	folder Folder
	name   string

	mu     sync.Mutex
	root   *os.Root // nil until the first use
	closed bool
}

// open opens the drive. If this fails, for example without a free file descriptor, the next call retries.
func (d *drive) open() (root *os.Root, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fs.ErrClosed
	}
	if d.root == nil {
		d.root, err = d.below()
	}
	return d.root, err
}

// below opens the tree another time.
func (d *drive) below() (root *os.Root, err error) {
	return root, d.folder.do(func(in *os.Root) (err error) {
		root, err = enter(in, d.name)
		return err
	})
}

// close closes the drive, which cannot be opened again.
func (d *drive) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.root == nil {
		return nil
	}
	return d.root.Close()
}

// Root opens the file trees of the guest, and creates missing ones.
func (d Folder) Root(windows bool) (*Root, error) {
	r := &Root{windows: windows, drives: map[byte]*drive{}, quota: d.quota}
	for letter, name := range drives(windows) {
		if err := d.do(func(root *os.Root) error { return root.MkdirAll(name, 0o755) }); err != nil {
			return nil, err
		}
		r.drives[letter] = &drive{folder: d, name: name}
	}
	return r, nil
}

// Close closes the file trees.
func (r *Root) Close() error {
	var errs []error
	for _, d := range r.drives {
		errs = append(errs, d.close())
	}
	for _, root := range r.opened {
		errs = append(errs, root.Close())
	}
	return errors.Join(errs...)
}

// Abs returns a guest path in absolute and clean form, in the OS's own spelling, relative to the guest directory cwd.
func (r *Root) Abs(cwd, p string) string {
	if !r.windows {
		if !path.IsAbs(p) {
			p = path.Join("/", cwd, p)
		}
		return path.Clean(p)
	}
	drive, rest := splitDrive(p)
	base, dir := splitDrive(cwd)
	if drive == 0 {
		drive = cmp.Or(base, 'C')
	}
	if !strings.HasPrefix(rest, "/") && drive == cmp.Or(base, 'C') {
		rest = dir + "/" + rest
	}
	return string(drive) + ":" + strings.ReplaceAll(path.Clean("/"+rest), "/", `\`)
}

// splitDrive splits c:\a\b into 'C' and /a/b; the drive is 0 if the path has none.
func splitDrive(p string) (byte, string) {
	p = strings.ReplaceAll(p, `\`, "/")
	p = strings.TrimPrefix(p, "//?/")
	if len(p) >= 2 && p[1] == ':' {
		if c := p[0] &^ 0x20; c >= 'A' && c <= 'Z' {
			return c, p[2:]
		}
	}
	return 0, p
}

// onDrive returns the drive of p and the path on the drive, in the spelling of existing files.
func (r *Root) onDrive(p string) (letter byte, root *os.Root, rel string, err error) {
	rest := p
	if r.windows {
		if letter, rest = splitDrive(p); letter == 0 {
			letter = 'C'
		}
	}
	d := r.drives[letter]
	if d == nil {
		return 0, nil, "", &fs.PathError{Op: "open", Path: p, Err: ErrDrive}
	}
	if root, err = d.open(); err != nil {
		return 0, nil, "", rename(err, p)
	}
	if rel, err = r.clean(rest); err != nil {
		return 0, nil, "", &fs.PathError{Op: "open", Path: p, Err: err}
	}
	if r.windows {
		rel = foldCase(root, rel)
	}
	return letter, root, rel, nil
}

// locate returns the tree of p and the path in the tree: on a drive, or in a mount. A link to a mount at the end of p
// is not followed.
func (r *Root) locate(p string) (*os.Root, string, error) {
	root, rel, _, err := r.find(p, false)
	return root, rel, err
}

// change is like locate, for operations that write.
func (r *Root) change(op, p string) (*os.Root, string, error) {
	root, rel, fixed, err := r.find(p, false)
	if err == nil && fixed {
		err = readOnly(op, p)
	}
	return root, rel, err
}

// find is like locate, and also reports whether the location is mounted read-only.
func (r *Root) find(p string, follow bool) (root *os.Root, rel string, fixed bool, err error) {
	if r.over.Load() {
		return nil, "", false, &fs.PathError{Op: "find", Path: p, Err: context.Canceled}
	}
	letter, root, rel, err := r.onDrive(p)
	if err != nil {
		return nil, "", false, err
	}
	m, in, ok := r.mounted(letter, root, rel, follow)
	if !ok {
		return root, rel, false, nil
	}
	if r.windows {
		in = foldCase(m.root, in)
	}
	return m.root, in, m.readOnly, nil
}

// lateFiles is the time for which programs may use files after they should have ended.
const lateFiles = time.Second

// Until makes every access to the files fail, from a second after ctx has ended until lift is called. It ends programs
// that process files without checking whether they should end; other programs have ended by then.
func (r *Root) Until(ctx context.Context) (lift func()) {
	var mu sync.Mutex
	lifted := false
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(lateFiles, func() {
			mu.Lock()
			defer mu.Unlock()
			r.over.Store(!lifted)
		})
	})
	return func() {
		stop()
		mu.Lock()
		defer mu.Unlock()
		lifted = true
		r.over.Store(false)
	}
}

// clean returns p relative to its root. It refuses a path that climbs above the root and, on Windows, names that NTFS refuses.
func (r *Root) clean(p string) (string, error) {
	if strings.ContainsRune(p, 0) {
		return "", ErrName
	}
	rel := path.Clean(strings.TrimLeft(p, "/"))
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", ErrEscape
	}
	if r.windows {
		if strings.ContainsAny(rel, `<>:"|?*`) {
			return "", ErrName
		}
		parts := strings.Split(rel, "/")
		for i, part := range parts {
			if part != "." {
				parts[i] = strings.TrimRight(part, ". ") // NTFS drops trailing dots and spaces
			}
			if parts[i] == "" {
				return "", ErrName
			}
		}
		rel = strings.Join(parts, "/")
	}
	if len(rel) > maxPath {
		return "", syscall.ENAMETOOLONG
	}
	return rel, nil
}

// maxPath is the maximum length of a path in bytes, Linux's PATH_MAX (path_resolution(7)). On Linux it limits a name in
// one call; here it limits the depth of folders, because each call passes through all of them.
const maxPath = 4095

// foldCase returns rel with each part in the spelling of the existing entry. It begins at the last part, which is
// usually the only missing one.
func foldCase(root *os.Root, rel string) string {
	if _, err := root.Lstat(rel); err == nil || rel == "." {
		return rel
	}
	dir, name := foldCase(root, path.Dir(rel)), path.Base(rel)
	if found, ok := findFold(root, dir, name); ok {
		name = found
	}
	return path.Join(dir, name)
}

func findFold(root *os.Root, dir, name string) (string, bool) {
	entries, err := fs.ReadDir(&Tree{root}, dir)
	if err != nil {
		return "", false
	}
	for _, e := range entries {
		if strings.EqualFold(e.Name(), name) {
			return e.Name(), true
		}
	}
	return "", false
}

// Host returns the host path of a guest path. Every link in the path must stay inside the guest; the last part need not exist.
func (r *Root) Host(p string) (string, error) {
	root, rel, err := r.locate(p)
	if err != nil {
		return "", err
	}
	for at := rel; ; at = path.Dir(at) {
		_, err := root.Stat(at)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", &fs.PathError{Op: "map", Path: p, Err: fmt.Errorf("%w: %w", ErrEscape, errors.Unwrap(err))}
		}
		if _, err := root.Lstat(at); err == nil { // a dangling link
			return "", &fs.PathError{Op: "map", Path: p, Err: ErrEscape}
		}
		if at == "." {
			break
		}
	}
	return filepath.Join(root.Name(), filepath.FromSlash(rel)), nil
}

// OpenFile opens a file with os flags. It refuses devices, FIFOs and sockets.
func (r *Root) OpenFile(p string, flag int, perm fs.FileMode) (*File, error) {
	f, quota, err := r.open(p, flag, perm)
	if err != nil {
		return nil, err
	}
	return &File{f, p, quota}, nil
}

func (r *Root) open(p string, flag int, perm fs.FileMode) (*os.File, *quota, error) {
	root, rel, fixed, err := r.find(p, true)
	if err != nil {
		return nil, nil, err
	}
	if fixed && flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND) != 0 {
		return nil, nil, readOnly("open", p)
	}
	quota := r.quotaOf(root)
	if flag&os.O_CREATE != 0 {
		if err := quota.take(p, block); err != nil {
			return nil, nil, err
		}
	}
	f, err := open(root, rel, flag, perm)
	if errors.Is(err, fs.ErrPermission) && !r.windows {
		f, err = openLocked(root, rel, flag, perm)
	}
	return f, quota, rename(err, p)
}

// quotaOf returns the quota of a tree: of a drive or of a mount.
func (r *Root) quotaOf(root *os.Root) *quota {
	for _, m := range r.mounts {
		if m.root == root {
			return m.quota
		}
	}
	return r.quota
}

// openLocked opens a file whose mode denies access to the host's user, because root runs the programs in the guest.
func openLocked(root *os.Root, rel string, flag int, perm fs.FileMode) (*os.File, error) {
	info, err := root.Stat(rel)
	if err != nil || !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: rel, Err: fs.ErrPermission}
	}
	if err := root.Chmod(rel, info.Mode().Perm()|0o600); err != nil {
		return nil, err
	}
	f, err := open(root, rel, flag, perm)
	return f, errors.Join(err, root.Chmod(rel, info.Mode().Perm()))
}

// ReadFile returns a file's content, of at most MaxRead bytes.
func (r *Root) ReadFile(p string) ([]byte, error) { return r.ReadAtMost(p, MaxRead) }

// ReadAtMost returns a file's content. For a file with more bytes than bound it returns an error with both sizes.
func (r *Root) ReadAtMost(p string, bound int64) ([]byte, error) {
	f, _, err := r.open(p, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > largeRead {
		r.large.Lock()
		defer r.large.Unlock()
	}
	data, err := readAll(f, p, bound)
	return data, rename(err, p)
}

// largeRead is the size in bytes from which files are read one after the other: if programs of a guest read the same
// large file concurrently, it would be in memory many times before their memory is accounted for.
const largeRead = 1 << 20

// WriteFile replaces a file. The parent directory must exist.
func (r *Root) WriteFile(p string, data []byte, perm fs.FileMode) error {
	return r.write(p, data, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
}

// AppendFile appends data to a file, which it creates if it is missing.
func (r *Root) AppendFile(p string, data []byte, perm fs.FileMode) error {
	return r.write(p, data, os.O_WRONLY|os.O_CREATE|os.O_APPEND, perm)
}

func (r *Root) write(p string, data []byte, flag int, perm fs.FileMode) error {
	f, err := r.OpenFile(p, flag, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// Replace replaces a file atomically, so that every reader sees either the old or the new file completely. It creates
// missing parent directories.
func (r *Root) Replace(p string, data []byte, perm fs.FileMode) error {
	root, rel, err := r.change("open", p)
	if err != nil {
		return err
	}
	if err := r.quotaOf(root).take(p, block+len(data)); err != nil {
		return err
	}
	if err := root.MkdirAll(path.Dir(rel), 0o755); err != nil {
		return rename(err, p)
	}
	return rename(replace(root, rel, data, perm), p)
}

// MkdirAll creates a directory and its parents.
func (r *Root) MkdirAll(p string) error {
	root, rel, fixed, err := r.find(p, true)
	if err != nil || rel == "." {
		return err
	}
	if _, err := root.Stat(rel); err != nil && fixed {
		return readOnly("mkdir", p)
	}
	if err := r.quotaOf(root).take(p, block); err != nil {
		return err
	}
	return rename(root.MkdirAll(rel, 0o755), p)
}

// Stat describes the file that p leads to, following links.
func (r *Root) Stat(p string) (fs.FileInfo, error) {
	root, rel, _, err := r.find(p, true)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(rel)
	return info, rename(err, p)
}

// Lstat describes p itself, without following a link.
func (r *Root) Lstat(p string) (fs.FileInfo, error) {
	root, rel, err := r.locate(p)
	if err != nil {
		return nil, err
	}
	info, err := root.Lstat(rel)
	return info, rename(err, p)
}

// Appender returns a function that opens a file for appending, and creates the file and its parent directories if they
// are missing.
func (r *Root) Appender(p string, perm fs.FileMode) func() (*os.File, error) {
	return func() (*os.File, error) {
		root, rel, err := r.locate(p)
		if err != nil {
			return nil, err
		}
		if err := root.MkdirAll(path.Dir(rel), 0o755); err != nil {
			return nil, rename(err, p)
		}
		f, _, err := r.open(p, os.O_WRONLY|os.O_CREATE|os.O_APPEND, perm)
		return f, err
	}
}

// Exists reports whether p leads to an existing file.
func (r *Root) Exists(p string) bool { _, err := r.Stat(p); return err == nil }

// IsDir reports whether p leads to a directory.
func (r *Root) IsDir(p string) bool {
	info, err := r.Stat(p)
	return err == nil && info.IsDir()
}

// ReadDir lists a directory, sorted by name.
func (r *Root) ReadDir(p string) ([]fs.DirEntry, error) {
	root, rel, _, err := r.find(p, true)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(&Tree{root}, rel)
	return entries, rename(err, p)
}

// Remove removes a file or an empty directory.
func (r *Root) Remove(p string) error {
	root, rel, err := r.change("remove", p)
	if err != nil {
		return err
	}
	return rename(root.Remove(rel), p)
}

// RemoveAll removes p and everything below it. It is no error if p does not exist. The root
// of a drive is refused.
func (r *Root) RemoveAll(p string) error {
	root, rel, err := r.change("remove", p)
	if err != nil {
		return err
	}
	if rel == "." {
		return &fs.PathError{Op: "remove", Path: p, Err: fs.ErrPermission}
	}
	return rename(root.RemoveAll(rel), p)
}

// Chmod sets permission bits. The file stays readable and writable by the
// simulator; on Windows only the read-only bit matters.
func (r *Root) Chmod(p string, mode fs.FileMode) error {
	root, rel, err := r.change("chmod", p)
	if err != nil {
		return err
	}
	return rename(root.Chmod(rel, mode.Perm()), p)
}

// Chtimes sets the modification time of a file.
func (r *Root) Chtimes(p string, at time.Time) error {
	root, rel, err := r.change("chtimes", p)
	if err != nil {
		return err
	}
	return rename(root.Chtimes(rel, at, at), p)
}

// Tree is a directory of a guest with everything below it. Links do not lead out of it.
type Tree struct{ root *os.Root }

// Tree opens a directory.
func (r *Root) Tree(dir string) (*Tree, error) {
	root, rel, _, err := r.find(dir, true)
	if err != nil {
		return nil, err
	}
	below, err := enter(root, rel)
	if err != nil {
		return nil, rename(err, dir)
	}
	return &Tree{below}, nil
}

// Open implements fs.FS.
func (t *Tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, err := open(t.root, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err // a nil *os.File in the interface would not be nil
	}
	return f, nil
}

// Close closes the directory.
func (t *Tree) Close() error { return t.root.Close() }

// rename replaces the host's path in an error by the guest's path.
func rename(err error, p string) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return &fs.PathError{Op: pe.Op, Path: p, Err: pe.Err}
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return &fs.PathError{Op: le.Op, Path: p, Err: le.Err}
	}
	return err
}
