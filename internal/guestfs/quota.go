package guestfs

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// maxKept is the maximum size of a guest's folder, in bytes on this computer's disk: beyond it, the guest's disk is full.
	maxKept = 4 << 30
	// block is the minimum size of each file, folder and link.
	block = 4 << 10
	// rest is the time for which a full folder is not measured again, in multiples of the duration of the last
	// measurement.
	rest = 10
	// slack is the fraction of the limit that must be free after a measurement, so that the next measurement is not due
	// immediately.
	slack = 64
)

// quota limits the size of a folder. It counts written bytes, and measures the folder when the count reaches the limit,
// because files are also replaced and removed.
type quota struct {
	bound   int64
	measure func() (int64, error)
	kept    atomic.Int64 // the last measured size plus all writes since

	mu   sync.Mutex
	next time.Time // the earliest time of the next measurement
}

// quotaOf returns the quota of the folder that open opens.
func quotaOf(open func() (*os.Root, error)) *quota {
	return &quota{bound: maxKept, measure: func() (size int64, err error) {
		root, err := open()
		if err != nil {
			return 0, err
		}
		defer root.Close()
		return measured(root)
	}}
}

// measured returns the size of a tree on the disk, in bytes, without files that disappear meanwhile.
func measured(root *os.Root) (size int64, err error) {
	err = fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		size += block
		if err != nil {
			if d != nil && d.IsDir() && !errors.Is(err, fs.ErrNotExist) { // the directory's mode denies access to the host's user
				return fs.SkipDir
			}
			return nil
		}
		if info, err := d.Info(); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				size += stat.Blocks * 512
			}
		}
		return nil
	})
	return size, err
}

// take counts bytes that are about to be written to p; it returns an error if they exceed the quota.
func (q *quota) take(p string, n int) error {
	if q.kept.Add(int64(n)) <= q.bound || q.hasRoom() {
		return nil
	}
	return &fs.PathError{Op: "write", Path: p, Err: syscall.ENOSPC}
}

// hasRoom measures the folder and reports whether more may be written.
func (q *quota) hasRoom() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	start := time.Now()
	if q.kept.Load() <= q.bound { // another goroutine has just measured it
		return true
	}
	if start.Before(q.next) {
		return false
	}
	size, err := q.measure()
	if err != nil {
		return false
	}
	q.kept.Store(size)
	if size <= q.bound-q.bound/slack {
		return true
	}
	q.kept.Store(q.bound + 1)
	q.next = time.Now().Add(rest * time.Since(start))
	return false
}

// File is an open file of a guest; its writes count for the guest's quota.
type File struct {
	f     *os.File
	path  string // the path in the guest
	quota *quota
}

func (f *File) Read(b []byte) (int, error)               { return f.f.Read(b) }
func (f *File) ReadAt(b []byte, at int64) (int, error)   { return f.f.ReadAt(b, at) }
func (f *File) Seek(at int64, whence int) (int64, error) { return f.f.Seek(at, whence) }
func (f *File) Stat() (fs.FileInfo, error)               { return f.f.Stat() }
func (f *File) Close() error                             { return f.f.Close() }

// Write implements io.Writer.
func (f *File) Write(b []byte) (int, error) {
	if err := f.quota.take(f.path, len(b)); err != nil {
		return 0, err
	}
	return f.f.Write(b)
}

// WriteAt implements io.WriterAt.
func (f *File) WriteAt(b []byte, at int64) (int, error) {
	if err := f.quota.take(f.path, len(b)); err != nil {
		return 0, err
	}
	return f.f.WriteAt(b, at)
}
