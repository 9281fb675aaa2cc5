package guestfs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// maxPacked is the maximum compressed size of a packed disk, in bytes: it is stored with the image and with each of its machines.
const maxPacked = 256 << 10

// maxUnpacked is the maximum size of the files of a packed disk, in bytes.
const maxUnpacked = 64 << 20

// Pack returns an archive of the system drive of a stopped guest, and of the files named in beside. It omits the
// contents of the folders for which leftOut returns true; their paths begin with the drive's folder.
func (d Folder) Pack(leftOut func(name string) bool, beside ...string) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	p := packing{w: tar.NewWriter(z), leftOut: leftOut}
	err := d.do(func(root *os.Root) error {
		p.root = root
		disk := "C"
		if _, err := root.Stat("rootfs"); err == nil {
			disk = "rootfs"
		}
		err := fs.WalkDir(&Tree{root}, disk, p.add)
		for _, name := range beside {
			if info, statErr := root.Lstat(name); statErr == nil && err == nil {
				err = p.add(name, fs.FileInfoToDirEntry(info), nil)
			}
		}
		return err
	})
	if err = errors.Join(err, p.w.Close(), z.Close()); err != nil {
		return nil, err
	}
	if b.Len() > maxPacked {
		return nil, fmt.Errorf("it has %d bytes, and a simulated image holds at most %d", b.Len(), maxPacked)
	}
	return b.Bytes(), nil
}

type packing struct {
	w       *tar.Writer
	root    *os.Root
	leftOut func(string) bool
	size    int64
}

// add adds a folder, a file or a link to the archive and skips all other kinds of files.
func (p *packing) add(name string, d fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case d.IsDir():
		if err := p.w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755}); err != nil {
			return err
		}
		if p.leftOut(name) {
			return fs.SkipDir
		}
		return nil
	case d.Type()&fs.ModeSymlink != 0:
		target, err := p.root.Readlink(name)
		if err != nil {
			return err
		}
		return p.w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777})
	case !d.Type().IsRegular():
		return nil
	}
	f, err := open(p.root, name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	data, err := readAll(f, name, maxUnpacked-p.size)
	if err != nil {
		return fmt.Errorf("all files of an image have at most %d bytes: %w", int64(maxUnpacked), err)
	}
	p.size += int64(len(data))
	if err := p.w.WriteHeader(&tar.Header{Name: name, Mode: int64(info.Mode().Perm()), Size: int64(len(data))}); err != nil {
		return err
	}
	_, err = p.w.Write(data)
	return err
}

// Unpack extracts a packed disk into the folder. It omits links that would lead out of their drive.
func (d Folder) Unpack(packed []byte) error {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	return d.do(func(root *os.Root) error {
		files := tar.NewReader(io.LimitReader(z, 2*maxUnpacked)) // including the headers of empty files
		for {
			h, err := files.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := unpackEntry(root, h, files); err != nil {
				return err
			}
		}
	})
}

func unpackEntry(root *os.Root, h *tar.Header, content io.Reader) error {
	name := path.Clean(h.Name)
	switch h.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeSymlink:
		linking.Lock()
		defer linking.Unlock()
		folder, real, err := place(root, name)
		if err != nil {
			return err
		}
		if climbs(h.Linkname) >= depth(folder) { // the first folder of the path is the drive's
			return nil
		}
		return root.Symlink(h.Linkname, real)
	case tar.TypeReg:
		data, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		return writeAll(root, name, data, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fs.FileMode(h.Mode).Perm()|0o600)
	}
	return &fs.PathError{Op: "lay", Path: name, Err: syscall.EINVAL}
}
