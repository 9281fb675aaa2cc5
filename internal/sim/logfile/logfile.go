// Package logfile writes logs that are idle most of the time: a file is open only while it is
// written to, because a process with thousands of guests cannot keep each of their logs open.
//
// It rotates nothing and reads nothing. It imports nothing of the module; packages of the simulator
// may import it.
package logfile

import (
	"io/fs"
	"os"
	"sync"
	"time"
)

// idle is the time for which a file stays open after a write.
const idle = time.Second

// File is a log that is appended to. Its methods may be called concurrently.
type File struct {
	open func() (*os.File, error)

	mu   sync.Mutex
	file *os.File // nil while the file is closed
	// used is set if something was written since the last check.
	used   bool
	closed bool
}

// Open returns a log and creates its file if necessary; open must open the file for appending. The
// error is the error of open.
func Open(open func() (*os.File, error)) (*File, error) {
	f := &File{open: open}
	if _, err := f.Write(nil); err != nil {
		return nil, err
	}
	return f, nil
}

// At returns a function that opens a path of this computer for appending.
func At(path string, perm fs.FileMode) func() (*os.File, error) {
	return func() (*os.File, error) { return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, perm) }
}

// Write implements io.Writer: it appends to the file.
func (f *File) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, os.ErrClosed
	}
	if f.file == nil {
		file, err := f.open()
		if err != nil {
			return 0, err
		}
		f.file = file
		time.AfterFunc(idle, func() { f.rest(file) })
	}
	f.used = true
	return f.file.Write(p)
}

// rest closes a file to which nothing was written since the last check; otherwise it schedules the
// next check.
func (f *File) rest(file *os.File) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != file {
		return
	}
	if f.used {
		f.used = false
		time.AfterFunc(idle, func() { f.rest(file) })
		return
	}
	f.file = nil
	_ = file.Close() // writes are not buffered
}

// Close ends the log; a later write fails.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.file == nil {
		return nil
	}
	defer func() { f.file = nil }()
	return f.file.Close()
}
