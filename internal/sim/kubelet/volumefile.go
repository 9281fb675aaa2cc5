package kubelet

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/guestfs"
)

// payload contains the files of a volume that the kubelet fills, by their paths in the volume.
type payload map[string]payloadFile

type payloadFile struct {
	data []byte
	mode fs.FileMode
}

// The special names in such a volume. Source: kubernetes pkg/volume/util/atomic_writer.go.
const (
	dataLink = "..data"
	newLink  = "..data_tmp"
)

// write replaces the files of a volume by the payload in one step: the files are in a new directory, to
// which the link ..data points, and each name in the volume is a link through ..data. An unchanged payload
// writes nothing.
func (p payload) write(files *guestfs.Root, dir string, now time.Time) error {
	if err := files.MkdirAll(dir); err != nil {
		return err
	}
	old, err := files.Readlink(path.Join(dir, dataLink))
	if err == nil && p.isAt(files, path.Join(dir, old)) {
		return nil
	}
	fresh := now.UTC().Format("..2006_01_02_15_04_05.000000000")
	for name, f := range p {
		at := path.Join(dir, fresh, name)
		if err := files.MkdirAll(path.Dir(at)); err != nil {
			return err
		}
		if err := errors.Join(files.WriteFile(at, f.data, 0o600), files.Chmod(at, f.mode)); err != nil {
			return err
		}
	}
	if err := files.MkdirAll(path.Join(dir, fresh)); err != nil { // for an empty payload
		return err
	}
	_ = files.Remove(path.Join(dir, newLink)) // from an interrupted write
	if err := files.Symlink(fresh, path.Join(dir, newLink)); err != nil {
		return err
	}
	if err := files.Rename(path.Join(dir, newLink), path.Join(dir, dataLink)); err != nil {
		return err
	}
	if err := p.link(files, dir); err != nil {
		return err
	}
	if old != "" && old != fresh {
		return files.RemoveAll(path.Join(dir, old))
	}
	return nil
}

// link creates the links in the volume, and removes links whose name is no longer in the payload.
func (p payload) link(files *guestfs.Root, dir string) error {
	want := map[string]bool{}
	for name := range p {
		first, _, _ := strings.Cut(name, "/")
		want[first] = true
	}
	entries, err := files.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); want[name] {
			delete(want, name)
		} else if e.Type()&fs.ModeSymlink != 0 && !strings.HasPrefix(name, "..") {
			if err := files.Remove(path.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	for name := range want {
		if err := files.Symlink(path.Join(dataLink, name), path.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// isAt reports whether a directory contains exactly the payload.
func (p payload) isAt(files *guestfs.Root, dir string) bool {
	tree, err := files.Tree(dir)
	if err != nil {
		return false
	}
	defer tree.Close()
	var found []string
	err = fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			found = append(found, name)
		}
		return err
	})
	if err != nil || len(found) != len(p) {
		return false
	}
	return !slices.ContainsFunc(found, func(name string) bool {
		f, ok := p[name]
		if !ok {
			return true
		}
		data, err := files.ReadFile(path.Join(dir, name))
		return err != nil || !bytes.Equal(data, f.data)
	})
}
