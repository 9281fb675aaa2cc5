package guest

import (
	"errors"
	"io"

	"github.com/pkg/sftp"
)

// recoveringTree is a tree whose methods recover from panics and return errBroken, because the SFTP server calls the tree from its
// own goroutines.
type recoveringTree struct{ t *tree }

// errBroken is the error that a client gets after a panic.
var errBroken = errors.New("this is the simulation's own fault")

func recovered[T any](w recoveringTree, do func() (T, error)) (out T, err error) {
	if p := w.t.m.Wall.Call("sftp", func() { out, err = do() }); p != nil {
		return out, errBroken
	}
	return out, err
}

// Fileread implements sftp.FileReader.
func (w recoveringTree) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	return recovered(w, func() (io.ReaderAt, error) { return w.t.Fileread(r) })
}

// Filewrite implements sftp.FileWriter.
func (w recoveringTree) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	return recovered(w, func() (io.WriterAt, error) { return w.t.Filewrite(r) })
}

// OpenFile implements sftp.OpenFileWriter.
func (w recoveringTree) OpenFile(r *sftp.Request) (sftp.WriterAtReaderAt, error) {
	return recovered(w, func() (sftp.WriterAtReaderAt, error) { return w.t.OpenFile(r) })
}

// Filecmd implements sftp.FileCmder.
func (w recoveringTree) Filecmd(r *sftp.Request) error {
	_, err := recovered(w, func() (struct{}, error) { return struct{}{}, w.t.Filecmd(r) })
	return err
}

// PosixRename implements sftp.PosixRenameFileCmder.
func (w recoveringTree) PosixRename(r *sftp.Request) error {
	_, err := recovered(w, func() (struct{}, error) { return struct{}{}, w.t.PosixRename(r) })
	return err
}

// Filelist implements sftp.FileLister.
func (w recoveringTree) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	return recovered(w, func() (sftp.ListerAt, error) { return w.t.Filelist(r) })
}

// Lstat implements sftp.LstatFileLister.
func (w recoveringTree) Lstat(r *sftp.Request) (sftp.ListerAt, error) {
	return recovered(w, func() (sftp.ListerAt, error) { return w.t.Lstat(r) })
}

var _ interface {
	sftp.FileReader
	sftp.OpenFileWriter
	sftp.PosixRenameFileCmder
	sftp.LstatFileLister
} = recoveringTree{}
