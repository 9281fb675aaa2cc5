package guest

import (
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/pkg/sftp"

	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/sim/guest/machine"
)

// tree serves a guest's files over SFTP. Paths on the wire are POSIX paths; a drive is /C:.
type tree struct{ m *machine.Machine }

// local converts a path on the wire into a guest path.
func (t *tree) local(wire string) string {
	clean := path.Clean("/" + wire)
	if t.m.OS == machine.Windows {
		return strings.TrimPrefix(clean, "/")
	}
	return clean
}

// wire converts a guest path into a path on the wire.
func (t *tree) wire(local string) string {
	return path.Clean("/" + strings.ReplaceAll(local, `\`, "/"))
}

// Fileread opens a file.
func (t *tree) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	return t.open(t.local(r.Filepath), os.O_RDONLY)
}

// Filewrite opens a file for writing, and creates a missing file.
func (t *tree) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	return t.OpenFile(r)
}

// OpenFile opens a file for reading and writing.
func (t *tree) OpenFile(r *sftp.Request) (sftp.WriterAtReaderAt, error) {
	want := r.Pflags()
	flag := os.O_RDWR
	for _, f := range []struct {
		on   bool
		flag int
	}{{want.Creat, os.O_CREATE}, {want.Trunc, os.O_TRUNC}, {want.Excl, os.O_EXCL}} {
		if f.on {
			flag |= f.flag
		}
	}
	return t.open(t.local(r.Filepath), flag)
}

// handle is an open file, which counts for its guest until the client closes it.
type handle struct {
	*guestfs.File
	release func()
}

// Close implements io.Closer.
func (h handle) Close() error {
	defer h.release()
	return h.File.Close()
}

func (t *tree) open(name string, flag int) (handle, error) {
	release, err := t.m.Usage.Open()
	if err != nil {
		return handle{}, err
	}
	f, err := t.m.Root.OpenFile(name, flag, 0o644)
	if err != nil {
		release()
		return handle{}, err
	}
	return handle{f, release}, nil
}

// Filecmd changes files: their attributes, names and links.
func (t *tree) Filecmd(r *sftp.Request) error {
	name := t.local(r.Filepath)
	switch r.Method {
	case "Setstat":
		if r.AttrFlags().Permissions {
			return t.m.Root.Chmod(name, r.Attributes().FileMode()|0o600)
		}
		return nil
	case "Rename":
		return t.m.Root.Rename(name, t.local(r.Target))
	case "Rmdir", "Remove":
		return t.m.Root.Remove(name)
	case "Mkdir":
		if t.m.Root.Exists(name) {
			return fs.ErrExist
		}
		return t.m.Root.MkdirAll(name)
	}
	return sftp.ErrSSHFxOpUnsupported
}

// PosixRename renames a file and replaces an existing one.
func (t *tree) PosixRename(r *sftp.Request) error {
	return t.m.Root.Rename(t.local(r.Filepath), t.local(r.Target))
}

// Filelist lists a directory or describes a file.
func (t *tree) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	name := t.local(r.Filepath)
	if r.Method != "List" {
		info, err := t.m.Root.Stat(name)
		return infos{info}, err
	}
	entries, err := t.m.Root.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var list infos
	for _, e := range entries {
		if i, err := e.Info(); err == nil {
			list = append(list, i)
		}
	}
	return list, nil
}

// Lstat describes a file, and does not follow a link.
func (t *tree) Lstat(r *sftp.Request) (sftp.ListerAt, error) {
	info, err := t.m.Root.Lstat(t.local(r.Filepath))
	return infos{info}, err
}

type infos []fs.FileInfo

// ListAt implements sftp.ListerAt.
func (l infos) ListAt(out []fs.FileInfo, offset int64) (int, error) {
	if offset >= int64(len(l)) {
		return 0, io.EOF
	}
	n := copy(out, l[offset:])
	if n < len(out) {
		return n, io.EOF
	}
	return n, nil
}
