package guestfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// linking serialises all operations that could break this rule: no link in a guest's tree leads out of it, because its
// target is relative, has ".." only at its beginning and climbs no higher than the root. So a program of the host with
// a path below the root stays below it, whatever the guest does meanwhile. Only Symlink, Link, Rename and the code that
// extracts an image could break the rule. One lock serves all trees, because the tree of a container is part of its
// machine's tree.
var linking sync.Mutex

// maxLinks is the maximum number of links in a path, as on Linux.
const maxLinks = 40

// Symlink creates the link p. A target that climbs above the root ends at the root, as for a process with that root directory.
func (r *Root) Symlink(target, p string) error {
	root, rel, err := r.change("symlink", p)
	if err != nil {
		return err
	}
	if err := r.quotaOf(root).take(p, block); err != nil {
		return err
	}
	linking.Lock()
	defer linking.Unlock()
	folder, err := physical(root, path.Dir(rel))
	if err != nil {
		return rename(err, p)
	}
	if target, err = confined(folder, target); err != nil {
		return &fs.PathError{Op: "symlink", Path: p, Err: err}
	}
	return rename(root.Symlink(target, path.Join(folder, path.Base(rel))), p)
}

// Readlink returns the target of the link p: absolute if the link was created with an absolute target, otherwise
// relative to its folder.
func (r *Root) Readlink(p string) (string, error) {
	root, rel, err := r.locate(p)
	if err != nil {
		return "", err
	}
	target, err := root.Readlink(rel)
	if !strings.HasPrefix(target, absoluteMark) {
		return target, rename(err, p)
	}
	folder, err := physical(root, path.Dir(rel))
	return meant(folder, target), rename(err, p)
}

// meant returns the target of a link in a folder as it was given to Symlink.
func meant(folder, target string) string {
	if inner, absolute := strings.CutPrefix(target, absoluteMark); absolute {
		return path.Join("/", folder, inner)
	}
	return target
}

// confined returns a link's target relative to its folder.
func confined(folder, target string) (string, error) {
	if !path.IsAbs(target) {
		return filepath.Rel(path.Join("/", folder), path.Join("/", folder, target))
	}
	rel, err := filepath.Rel(path.Join("/", folder), path.Clean(target))
	return absoluteMark + rel, err
}

// absoluteMark is the beginning of the target of a link that was created with an absolute target: the link on the
// host's disk must be relative to stay in the tree.
const absoluteMark = "././"

// physical resolves the links of a path; a missing file resolves to itself.
func physical(root *os.Root, rel string) (string, error) {
	at, rest := ".", strings.Split(rel, "/")
	for links := 0; len(rest) > 0; {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		if next == ".." || strings.HasPrefix(next, "../") {
			return "", &fs.PathError{Op: "open", Path: rel, Err: ErrEscape}
		}
		target, err := root.Readlink(next)
		if err != nil { // not a link
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "open", Path: rel, Err: syscall.ELOOP}
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, nil
}

// resolveBoth returns place of each of two paths.
func resolveBoth(root *os.Root, from, to string) (folderA, realA, folderB, realB string, err error) {
	if folderA, realA, err = place(root, from); err == nil {
		folderB, realB, err = place(root, to)
	}
	return folderA, realA, folderB, realB, err
}

// Link gives a file a second name on the same drive. For a link it creates another link with the same target, because
// the stored form of a target depends on its place.
func (r *Root) Link(from, to string) error {
	a, relA, relB, err := r.pair("link", from, to)
	if err != nil {
		return err
	}
	if err := r.quotaOf(a).take(to, block); err != nil {
		return err
	}
	return rename(link(a, relA, relB), to)
}

func link(root *os.Root, from, to string) error {
	linking.Lock()
	defer linking.Unlock()
	folderA, realA, folderB, realB, err := resolveBoth(root, from, to)
	if err != nil {
		return err
	}
	info, err := root.Lstat(realA)
	switch {
	case err != nil:
		return err
	case info.Mode().IsRegular():
		return root.Link(realA, realB)
	case info.Mode()&fs.ModeSymlink == 0:
		return &fs.PathError{Op: "link", Path: from, Err: syscall.EPERM}
	}
	target, err := root.Readlink(realA)
	if err != nil {
		return err
	}
	if target, err = confined(folderB, meant(folderA, target)); err != nil {
		return err
	}
	return root.Symlink(target, realB)
}

// Rename moves a file on one drive. It refuses a move after which a moved link would lead out of the guest.
func (r *Root) Rename(from, to string) error {
	a, relA, relB, err := r.pair("rename", from, to)
	if err != nil {
		return err
	}
	return rename(move(a, relA, relB), from)
}

func move(root *os.Root, from, to string) error {
	linking.Lock()
	defer linking.Unlock()
	folderA, realA, folderB, realB, err := resolveBoth(root, from, to)
	if err != nil {
		return err
	}
	if depth(folderB) < depth(folderA) {
		if link := escaping(root, realA, realB); link != "" {
			return &fs.PathError{Op: "rename", Path: from, Err: fmt.Errorf("%w by the link %s", ErrEscape, path.Base(link))}
		}
	}
	return root.Rename(realA, realB)
}

// pair returns the locations of two names on one drive.
func (r *Root) pair(op, from, to string) (root *os.Root, relA, relB string, err error) {
	a, relA, err := r.change(op, from)
	if err != nil {
		return nil, "", "", err
	}
	b, relB, err := r.change(op, to)
	if err == nil && a != b {
		err = &fs.PathError{Op: op, Path: to, Err: errors.New("the system cannot move the file to a different disk drive")}
	}
	return a, relA, relB, err
}

// place returns the location of a name: its folder with links resolved, and the name in that folder.
func place(root *os.Root, rel string) (folder, name string, err error) {
	folder, err = physical(root, path.Dir(rel))
	return folder, path.Join(folder, path.Base(rel)), err
}

// Escapes reports whether an error means that a path leads out of the guest.
func Escapes(err error) bool {
	const ofRoot = "path escapes from parent" // the text of os.Root's error, which is not exported
	return errors.Is(err, ErrEscape) || err != nil && strings.HasSuffix(err.Error(), ofRoot)
}

func depth(folder string) int {
	if folder == "." {
		return 0
	}
	return strings.Count(folder, "/") + 1
}

// escaping returns a link at or below the path at that would lead out of the tree if at were moved to moved, or "".
func escaping(root *os.Root, at, moved string) (found string) {
	walk(root, at, func(in *os.Root, name, p string, e fs.DirEntry) bool {
		if e.Type()&fs.ModeSymlink == 0 {
			return true
		}
		target, err := in.Readlink(name)
		if err == nil && climbs(target) > depth(path.Dir(path.Join(moved, strings.TrimPrefix(p, at)))) {
			found = p
		}
		return found == ""
	})
	return found
}

// rootEvery is the number of levels after which a walk opens a new os.Root. An os.Root passes through all folders of a
// path on each access, and each open os.Root is an open file of this process.
const rootEvery = 32

// walk calls visit for a path and, if it is a folder, for everything below it, until visit returns false. in and name
// locate the file for opening; p is its path in root. Unreadable files are skipped. The time is linear in the number of
// files, at any depth.
func walk(root *os.Root, at string, visit func(in *os.Root, name, p string, e fs.DirEntry) bool) {
	info, err := root.Lstat(at)
	if err == nil {
		walkBelow(root, at, at, 0, fs.FileInfoToDirEntry(info), visit)
	}
}

func walkBelow(in *os.Root, name, p string, level int, e fs.DirEntry, visit func(in *os.Root, name, p string, e fs.DirEntry) bool) bool {
	if !visit(in, name, p, e) {
		return false
	}
	if !e.IsDir() {
		return true
	}
	if level == rootEvery {
		below, err := in.OpenRoot(name)
		if err != nil {
			return true
		}
		defer below.Close()
		in, name, level = below, ".", 0
	}
	entries, _ := fs.ReadDir(&Tree{in}, name) // the entries before an error
	for _, e := range entries {
		if !walkBelow(in, path.Join(name, e.Name()), path.Join(p, e.Name()), level+1, e, visit) {
			return false
		}
	}
	return true
}

// climbs returns the number of ".." elements at the beginning of a link's target. For a target that Symlink cannot have
// written, it returns a number larger than any directory's depth.
func climbs(target string) int {
	parts := strings.Split(strings.TrimPrefix(target, absoluteMark), "/")
	up := 0
	for up < len(parts) && parts[up] == ".." {
		up++
	}
	for _, part := range parts[up:] {
		if part == ".." || part == "" {
			return 1 << 20
		}
	}
	return up
}

// DropEscapes removes links that lead out of the tree, which an earlier version may have created.
func (r *Root) DropEscapes() error {
	for _, d := range r.drives {
		if err := d.dropEscapes(); err != nil {
			return err
		}
	}
	return nil
}

func (d *drive) dropEscapes() error {
	root, err := d.below() // not the drive's own root, which may never be needed
	if err != nil {
		return err
	}
	defer root.Close()
	for {
		link := escaping(root, ".", ".")
		if link == "" {
			return nil
		}
		if err := root.Remove(link); err != nil {
			return fmt.Errorf("remove the link %s, which leads out of the guest: %w", link, err)
		}
	}
}
