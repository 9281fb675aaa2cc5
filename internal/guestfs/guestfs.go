// Package guestfs is the only access to files that a simulated machine can name: the trees of its drives, the folders
// of the containers in them, and the files of a container beside its tree. Whatever a guest does with links, renames
// and mounts, an access through this package only reads and writes below the guest's own folder (os.Root), opens no
// device, FIFO or socket, and reads a limited amount.
//
// It does not depend on the meaning of the files, and runs nothing. If a program of this computer needs a path
// (Root.Host), the program is confined by other means (internal/confine). The simulator and internal/controlplane may
// import it; a test of the module names the packages that may open files otherwise.
package guestfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// ErrKind is the error for a file that is neither regular nor a directory: opening a device, a FIFO or a
// socket could wait without end, read without end, or reach a part of this computer.
var ErrKind = errors.New("neither a file nor a directory")

// MaxRead is the maximum size of a file that is read completely, in bytes.
const MaxRead = 64 << 20

// open opens a file or a directory below root.
func open(root *os.Root, name string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := root.OpenFile(name, flag|syscall.O_NONBLOCK|syscall.O_NOCTTY, perm) // with these flags, a FIFO does not block the call
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrKind}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// enter opens a directory below root as its own os.Root. It first refuses other files, because OpenRoot would wait for
// the other end of a FIFO.
func enter(root *os.Root, name string) (*os.Root, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	return root.OpenRoot(name)
}

// readAll returns the rest of a file, or an error if the rest is larger than bound.
func readAll(f *os.File, name string, bound int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	tooLarge := &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: it is read whole and may have %d bytes", syscall.EFBIG, bound)}
	if info.Size() > bound {
		return nil, tooLarge
	}
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead)) // the buffer does not grow, unless the file does
	if _, err := data.ReadFrom(io.LimitReader(f, bound+1)); err != nil {
		return nil, err
	}
	if int64(data.Len()) > bound {
		return nil, tooLarge
	}
	return data.Bytes(), nil
}

// writeAll replaces or extends a file.
func writeAll(root *os.Root, name string, data []byte, flag int, perm fs.FileMode) error {
	f, err := open(root, name, flag, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// Folder is the folder of one guest: the trees of its drives, and beside them the host's own files about the guest.
type Folder struct {
	name  string
	open  func() (*os.Root, error)
	make  func() error
	quota *quota
}

// At returns a directory of this computer as a Folder. No guest may be able to change a part of its path. The directory
// need not exist.
func At(dir string) Folder {
	open := func() (*os.Root, error) { return os.OpenRoot(dir) }
	return Folder{dir, open, func() error { return os.MkdirAll(dir, 0o700) }, quotaOf(open)}
}

// Folder returns a directory in a guest's tree as the Folder of a container. Its size counts for the guest.
func (r *Root) Folder(dir string) Folder {
	return Folder{dir, func() (*os.Root, error) {
		root, rel, err := r.locate(dir)
		if err != nil {
			return nil, err
		}
		below, err := enter(root, rel)
		return below, rename(err, dir)
	}, func() error { return r.MkdirAll(dir) }, r.quota}
}

// Name returns the folder's path: the guest's path for a folder in a guest, otherwise this computer's.
func (d Folder) Name() string { return d.name }

// Make creates the folder if it is missing.
func (d Folder) Make() error { return d.make() }

// do calls f with the opened folder.
func (d Folder) do(f func(root *os.Root) error) error {
	root, err := d.open()
	if err != nil {
		return err
	}
	defer root.Close()
	return f(root)
}

// ReadFile returns the content of a file beside the drives.
func (d Folder) ReadFile(name string) (data []byte, err error) {
	return data, d.do(func(root *os.Root) error {
		f, err := open(root, name, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err = readAll(f, name, MaxRead)
		return err
	})
}

// WriteFile replaces a file beside the drives atomically.
func (d Folder) WriteFile(name string, data []byte) error {
	return d.do(func(root *os.Root) error { return replace(root, name, data, 0o600) })
}

// Rename renames a file beside the drives.
func (d Folder) Rename(from, to string) error {
	return d.do(func(root *os.Root) error { return move(root, from, to) })
}

// RemoveAll removes a file or a drive. It is no error if there is none.
func (d Folder) RemoveAll(name string) error {
	return d.do(func(root *os.Root) error { return root.RemoveAll(name) })
}

// Exists reports whether a name below the folder leads to an existing file.
func (d Folder) Exists(name string) bool {
	return d.do(func(root *os.Root) error { _, err := root.Stat(name); return err }) == nil
}

// Keep is like WriteFile, but returns after the disk has stored the file, so that a loss of power leaves the old file
// or the new one.
func (d Folder) Keep(name string, data []byte) error {
	return d.do(func(root *os.Root) error {
		fresh := path.Join(path.Dir(name), "."+path.Base(name)+".new")
		f, err := open(root, fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			return err
		}
		if err := move(root, fresh, name); err != nil {
			return err
		}
		dir, err := root.Open(path.Dir(name))
		if err != nil {
			return err
		}
		return errors.Join(dir.Sync(), dir.Close())
	})
}

// replace writes a file beside the old one and renames it, so that a reader sees either the old file or the new one completely.
func replace(root *os.Root, name string, data []byte, perm fs.FileMode) error {
	fresh := path.Join(path.Dir(name), "."+path.Base(name)+".new")
	if err := writeAll(root, fresh, data, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm); err != nil {
		return err
	}
	return move(root, fresh, name)
}
