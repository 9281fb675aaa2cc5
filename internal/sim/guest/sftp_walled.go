package guest

import (
	"errors"
	"io"

	"github.com/pkg/sftp"
)

// walledTree contains the panics of a tree, because the SFTP server calls the tree from its own goroutines.
type walledTree struct{ t *tree }

// errBroken is the error that a client gets after a panic.
var errBroken = errors.New("this is the simulation's own fault")

func walled[T any](w walledTree, do func() (T, error)) (out T, err error) {
	if p := w.t.m.Wall.Call("sftp", func() { out, err = do() }); p != nil {
		return out, errBroken
	}
	return out, err
}

// Fileread implements sftp.FileReader.
func (w walledTree) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	return walled(w, func() (io.ReaderAt, error) { return w.t.Fileread(r) })
}

// Filewrite implements sftp.FileWriter.
func (w walledTree) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	return walled(w, func() (io.WriterAt, error) { return w.t.Filewrite(r) })
}

// OpenFile implements sftp.OpenFileWriter.
func (w walledTree) OpenFile(r *sftp.Request) (sftp.WriterAtReaderAt, error) {
	return walled(w, func() (sftp.WriterAtReaderAt, error) { return w.t.OpenFile(r) })
}

// Filecmd implements sftp.FileCmder.
func (w walledTree) Filecmd(r *sftp.Request) error {
	_, err := walled(w, func() (struct{}, error) { return struct{}{}, w.t.Filecmd(r) })
	return err
}

// PosixRename implements sftp.PosixRenameFileCmder.
func (w walledTree) PosixRename(r *sftp.Request) error {
	_, err := walled(w, func() (struct{}, error) { return struct{}{}, w.t.PosixRename(r) })
	return err
}

// Filelist implements sftp.FileLister.
func (w walledTree) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	return walled(w, func() (sftp.ListerAt, error) { return w.t.Filelist(r) })
}

// Lstat implements sftp.LstatFileLister.
func (w walledTree) Lstat(r *sftp.Request) (sftp.ListerAt, error) {
	return walled(w, func() (sftp.ListerAt, error) { return w.t.Lstat(r) })
}

var _ interface {
	sftp.FileReader
	sftp.OpenFileWriter
	sftp.PosixRenameFileCmder
	sftp.LstatFileLister
} = walledTree{}
