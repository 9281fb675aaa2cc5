package guestfs

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Mount shows a folder, or one file in it, at a path of a tree, as a container runtime mounts a volume.
type Mount struct {
	// Path is the path in the guest.
	Path string
	// Folder is the folder with the files.
	Folder Folder
	// Sub is the shown directory or file in the folder; "" means the whole folder. Its path has no links.
	Sub string
	// ReadOnly is true if writes are refused.
	ReadOnly bool
}

// mount is a Mount of an open tree.
type mount struct {
	letter   byte
	point    string // the mount point relative to the drive
	root     *os.Root
	sub      string
	readOnly bool
	quota    *quota
}

// Mount mounts folders until the tree is closed. It creates missing mount points in the tree. It has to be called
// before the tree is used otherwise.
func (r *Root) Mount(mounts ...Mount) error {
	for _, m := range mounts {
		if err := r.mount(m); err != nil {
			return fmt.Errorf("mount %s: %w", m.Path, err)
		}
	}
	// The longest mount points come first, so that a mount inside a mount is found.
	slices.SortStableFunc(r.mounts, func(a, b mount) int { return len(b.point) - len(a.point) })
	return nil
}

func (r *Root) mount(m Mount) error {
	below, err := m.Folder.open()
	if err != nil {
		return err
	}
	r.opened = append(r.opened, below)
	sub := path.Clean(m.Sub)
	info, err := below.Stat(sub)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = r.MkdirAll(m.Path)
	} else if parent := r.Abs(m.Path, ".."); !r.Exists(m.Path) {
		if err = r.MkdirAll(parent); err == nil {
			err = r.WriteFile(m.Path, nil, 0o644)
		}
	}
	if err != nil {
		return err
	}
	letter, on, rel, err := r.onDrive(m.Path)
	if err != nil {
		return err
	}
	if rel, err = physical(on, rel); err != nil {
		return err
	}
	r.mounts = append(r.mounts, mount{letter, rel, below, sub, m.ReadOnly, m.Folder.quota})
	return nil
}

// mounted returns the location in a mount of a path on a drive, if the path leads to a mount. With follow, a link at
// the end of the path is followed too.
func (r *Root) mounted(letter byte, on *os.Root, rel string, follow bool) (*mount, string, bool) {
	if len(r.mounts) == 0 {
		return nil, "", false
	}
	full, err := physical(on, rel)
	if !follow {
		var folder string
		folder, err = physical(on, path.Dir(rel))
		full = path.Join(folder, path.Base(rel))
	}
	if err != nil {
		return nil, "", false
	}
	for i := range r.mounts {
		m := &r.mounts[i]
		if m.letter != letter {
			continue
		}
		if rest, ok := below(m.point, full, r.windows); ok {
			return m, path.Join(m.sub, rest), true
		}
	}
	return nil, "", false
}

// below returns the part of a path below a point; "" for the point itself.
func below(point, p string, fold bool) (string, bool) {
	if len(p) < len(point) || p[:len(point)] != point && !(fold && strings.EqualFold(p[:len(point)], point)) {
		return "", false
	}
	rest := p[len(point):]
	if rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(rest, "/"), true
}

// readOnly returns the error for a write to a volume that is mounted read-only.
func readOnly(op, p string) error { return &os.PathError{Op: op, Path: p, Err: syscall.EROFS} }

// MakeAll creates a directory below the folder, unless it exists.
func (d Folder) MakeAll(name string) error {
	return d.do(func(root *os.Root) error {
		if _, err := root.Stat(name); err == nil {
			return nil
		}
		return root.MkdirAll(name, 0o755)
	})
}
