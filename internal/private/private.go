// Package private opens directories and files with secrets: they belong to the user who runs the program, and no other
// user can read, write or replace them.
//
// It does not interpret the content of files. Any package may import it; it imports only the standard library. On
// systems without POSIX owners it checks nothing.
package private

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Dir creates a directory, or accepts an existing one that belongs to the user. It removes the access of others to an
// empty directory. It refuses a directory with content if others can access or replace it; the error contains the
// remedy.
func Dir(path string) error {
	if _, err := check(path); err != nil {
		return err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make the directory: %w", err)
	}
	at, err := check(path) // another user may have created it first, in a shared directory such as /tmp
	if err != nil {
		return err
	}
	names, err := os.ReadDir(at.path)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		if err := os.Chmod(at.path, 0o700); err != nil {
			return fmt.Errorf("close the directory to others: %w", err)
		}
		// Files that other users created before are owned by them.
		if names, err = os.ReadDir(at.path); err != nil {
			return err
		}
	} else if err := at.closedToOthers(); err != nil {
		return err
	}
	return foreign(at.path, names)
}

// Existing is like Dir, for a directory that is only read: it returns nil if the directory does not exist, and changes nothing.
func Existing(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	at, err := check(path)
	if err != nil || at.missing {
		return err
	}
	return at.closedToOthers()
}

// foreign returns an error if another user, who could access the directory before, owns one of its entries.
func foreign(dir string, entries []os.DirEntry) error {
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		if who := ownerOf(info); !who.self() {
			return fmt.Errorf("%s belongs to %s: %s can be used only without it", filepath.Join(dir, e.Name()), who, dir)
		}
	}
	return nil
}

// place is a path of which every level has been checked.
type place struct {
	// path has no links.
	path    string
	missing bool
	// closed is true if others have no access to the directory, by its own mode or that of a directory above.
	closed bool
}

func (p place) closedToOthers() error {
	if p.closed {
		return nil
	}
	return fmt.Errorf("other users can reach what is in %s: if all of that is yours, close it to them: chmod 700 %s",
		p.path, quote(p.path))
}

// maxLinks is the maximum number of links in a path, as in Linux (path_resolution(7)).
const maxLinks = 40

// check checks every level from the root to a path. A user who can write a directory can replace its entries, so each
// level must belong to the user or to the administrator and must not be writable by others, unless its sticky bit
// protects entries (then the owner of the next level counts), or others have no access to a directory above.
func check(path string) (place, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return place{}, err
	}
	for range maxLinks {
		at, next, err := follow(path)
		if err != nil || next == "" {
			return at, err
		}
		path = next
	}
	return place{}, fmt.Errorf("%s: too many links", path)
}

// follow checks the levels of a path up to the first link, and returns the path to which the link leads.
func follow(path string) (at place, next string, err error) {
	levels := levels(path)
	for i, level := range levels {
		info, err := os.Lstat(level)
		if errors.Is(err, os.ErrNotExist) {
			return place{path: path, missing: true, closed: at.closed}, "", nil
		}
		if err != nil {
			return place{}, "", err
		}
		last := i == len(levels)-1
		who := ownerOf(info)
		if !who.self() && (last && info.IsDir() || !who.administrator()) {
			return place{}, "", fmt.Errorf("%s belongs to %s, who can read and exchange what is in it: use a directory "+
				"of your own, such as one that this makes: mkdir -p -m 700 ~/casement", level, who)
		}
		if info.Mode()&os.ModeSymlink != 0 {
			target, err := os.Readlink(level)
			if err != nil {
				return place{}, "", err
			}
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(level), target)
			}
			return place{}, filepath.Join(target, strings.TrimPrefix(path, level)), nil
		}
		if !info.IsDir() {
			return place{}, "", fmt.Errorf("%s is not a directory", level)
		}
		if !last && !at.closed && othersWrite(info) && info.Mode()&os.ModeSticky == 0 {
			return place{}, "", fmt.Errorf("other users can write %s and so exchange what is below it: "+
				"close it to them: chmod go-w %s", level, quote(level))
		}
		at = place{path: level, closed: at.closed || !othersReach(info)}
	}
	return at, "", nil
}

// levels returns the directories from the root to a path.
func levels(path string) []string {
	out := []string{path}
	for dir := filepath.Dir(path); dir != path; path, dir = dir, filepath.Dir(dir) {
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
}

// quote returns a path in the form of one word of a POSIX shell.
func quote(path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool { return !strings.ContainsRune("/._-+", r) && !alphanumeric(r) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

func alphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// OpenFile is like os.OpenFile, for a file of the user: it refuses links, devices, FIFOs and files of other users.
func OpenFile(path string, flag int, mode os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|noFollow, mode)
	if err != nil {
		return nil, explain(path, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func regular(path string, info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: remove it", path)
	}
	if who := ownerOf(info); !who.self() {
		return fmt.Errorf("%s belongs to %s: remove it", path, who)
	}
	return nil
}

// maxFile is the maximum size for ReadFile in bytes: for keys, certificates and small records.
const maxFile = 16 << 20

// ReadFile is like os.ReadFile with the rules of OpenFile, for files of at most maxFile bytes.
func ReadFile(path string) ([]byte, error) {
	f, err := OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s has more than %d MiB", path, maxFile>>20)
	}
	return data, err
}
